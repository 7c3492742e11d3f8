// SPDX-License-Identifier: Apache-2.0
// The base class for XCTest tests.

#if canImport(XCTest)
    public import Regnum
    public import XCTest
    internal import Testing

    /// An XCTest test case whose default realm belongs to the running test.
    ///
    /// ```swift
    /// final class DogTests: RealmTestCase {
    ///     override class var realmTypes: [ObjectBase.Type] { [Dog.self] }
    ///
    ///     func testAdding() throws {
    ///         try realm.write { realm.add(Dog()) }
    ///         XCTAssertEqual(try Realm().objects(Dog.self).count, 1)
    ///     }
    /// }
    /// ```
    ///
    /// After each test the integrity of the data is checked, and Realms and notification tokens that are still alive
    /// are failures. XCTest keeps test cases until the end of the process, so set properties that hold objects to nil
    /// in `tearDown`. If a test fails, its data is kept and its path is written to standard error.
    open class RealmTestCase: XCTestCase {
        /// The classes of the realm; if empty, all classes of the program.
        open class var realmTypes: [ObjectBase.Type] { [] }
        /// Whether the data is in memory or in a file in a folder of its own.
        open class var realmStorage: TestStorage { .memory }
        /// False if Realms and tokens that a test leaves alive are not to be reported.
        open class var checksLeaks: Bool { true }

        private var current: TestRealm?
        private var previous: Realm.Configuration?
        // unsafe: XCTest runs the tests of a process one after the other.
        nonisolated(unsafe) private(set) static weak var running: RealmTestCase?

        /// The realm of the running test, with its configuration. Use before `setUp` or after `tearDown` is a
        /// programmer error.
        public var testRealm: TestRealm {
            guard let current else { preconditionFailure("the realm of a test case exists only while a test runs") }
            return current
        }

        /// The realm of the running test, on the main thread.
        public var realm: Realm { testRealm.realm }

        /// Creates the realm and makes it the default configuration. Runs before `setUp`.
        open override func setUpWithError() throws {
            try super.setUpWithError()
            Self.running = self
            let types = Self.realmTypes
            let test = try TestRealm(
                configuration: Realm.Configuration(objectTypes: types.isEmpty ? nil : types),
                storage: Self.realmStorage)
            previous = .defaultConfiguration
            Realm.Configuration.defaultConfiguration = test.configuration
            current = test
        }

        /// Checks the state in which the test has left its realm. Runs after `tearDown`.
        open override func tearDownWithError() throws {
            if let test = current {
                if (testRun?.totalFailureCount ?? 0) > 0, let url = test.keepFile() {
                    Report.note("the realm of '\(name)' is kept at '\(url.path)'")
                }
                test.finish(checksLeaks: Self.checksLeaks)
            }
            current = nil
            if let previous { Realm.Configuration.defaultConfiguration = previous }
            Self.running = nil
            try super.tearDownWithError()
        }
    }
#endif
