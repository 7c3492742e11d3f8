// SPDX-License-Identifier: Apache-2.0
// `@Test(.realm(Dog.self, Person.self))`: gives each test, and each case of a parameterised test, a default realm of
// its own.

public import Foundation
public import Regnum
internal import Synchronization
public import Testing

/// Gives each test a default configuration of its own. Created by `.realm(...)`.
public struct RealmTrait: TestTrait, SuiteTrait, TestScoping {
    let configuration: Realm.Configuration
    let storage: TestStorage
    let fixture: URL?
    let checksLeaks: Bool

    /// True: on a suite, the trait applies to each of its tests.
    public var isRecursive: Bool { true }

    /// Runs a test with its realm. Called by Swift Testing.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        KitHooks.begin()
        let store = try TestStore(configuration, storage, name: test.name, copyOf: fixture)
        let scope = DefaultConfiguration(store.configuration)
        let hasFailed = Atomic(false)
        let place = Comment(rawValue: "The realm of this test is kept at '\(store.file.path)'.")
        let listener = IssueHandlingTrait.compactMapIssues { issue in
            guard issue.isFailure else { return issue }
            hasFailed.store(true, ordering: .relaxed)
            var issue = issue
            issue.comments.append(place)
            return issue
        }
        do {
            try await listener.provideScope(for: test, testCase: testCase) {
                try await DefaultConfiguration.$scoped.withValue(scope) {
                    try await function()
                    for finding in store.damage() { Report.issue(finding, at: test.sourceLocation) }
                    let leaks = checksLeaks ? await store.leaksAsync().findings : []
                    for finding in leaks { Report.issue(finding, at: test.sourceLocation) }
                    if hasFailed.load(ordering: .relaxed) { _ = store.keep() }
                }
            }
        } catch {
            if let url = store.keep() { Report.note("the realm of '\(test.name)' is kept at '\(url.path)'") }
            throw error
        }
        if !hasFailed.load(ordering: .relaxed) { store.delete() }
    }
}

extension Trait where Self == RealmTrait {
    /// Gives each test a realm of its own, which `Realm()` and code under test that uses the default configuration
    /// open.
    ///
    /// ```swift
    /// @Test(.realm(Dog.self, Person.self))
    /// func adding() throws {
    ///     let realm = try Realm()
    ///     try realm.write { realm.add(Dog()) }
    ///     #expect(realm.objects(Dog.self).count == 1)
    /// }
    /// ```
    ///
    /// At the end of the test the integrity of the data is checked, and Realms and notification tokens that are still
    /// alive are failures. If the test fails, the data is kept and each failure names the file.
    ///
    /// Applies to the test's task and its child tasks. A thread, a queue or a detached task that the test starts uses
    /// the configuration of the process: pass `Realm.Configuration.defaultConfiguration` to it.
    ///
    /// - Parameters:
    ///   - types: The classes; all classes of the program if none is given.
    ///   - storage: In memory, or a file in a folder of its own.
    ///   - fixture: A realm file to start with; it is copied, so `storage` is ignored.
    ///   - checksLeaks: False if Realms and tokens that the test leaves alive are not to be reported.
    public static func realm(
        _ types: ObjectBase.Type..., storage: TestStorage = .memory, copyOf fixture: URL? = nil,
        checksLeaks: Bool = true
    ) -> Self {
        let configuration = Realm.Configuration(objectTypes: types.isEmpty ? nil : types)
        return RealmTrait(
            configuration: configuration, storage: storage, fixture: fixture, checksLeaks: checksLeaks)
    }

    /// Same as `realm(_:storage:copyOf:checksLeaks:)`, with these settings. The location in `configuration` is ignored.
    public static func realm(
        configuration: Realm.Configuration, storage: TestStorage = .memory, copyOf fixture: URL? = nil,
        checksLeaks: Bool = true
    ) -> Self {
        RealmTrait(configuration: configuration, storage: storage, fixture: fixture, checksLeaks: checksLeaks)
    }
}
