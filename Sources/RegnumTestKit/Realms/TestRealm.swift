// SPDX-License-Identifier: Apache-2.0
// `TestRealm`: a realm that belongs to a single test, and checks the state in which the test has left it.

public import Foundation
public import Regnum
public import Testing

/// A realm that belongs to one test. Each has its own data, so tests may run concurrently. When it is released, it
/// checks the integrity of the data, and deletes the file unless there are findings.
///
/// ```swift
/// let test = try TestRealm(Dog.self, Person.self)
/// try test.realm.write { test.realm.add(Dog()) }
/// ```
///
/// `withTestRealm` and the trait `.realm` also find leaks. This object cannot do so when it is released, because the
/// test's other variables may still be alive. Call `finish()` when they no longer are.
///
/// Confined to the thread that created it, like its realm.
public final class TestRealm {
    private let store: TestStore
    private let location: SourceLocation
    private var open: Realm?
    private var report: TestRealmReport?

    /// Creates a realm for these classes, or for all classes of the program if none is given.
    ///
    /// - Parameters:
    ///   - types: The classes.
    ///   - storage: In memory, or a file in a folder of its own.
    ///   - schemaVersion: The version of the schema.
    ///   - migrationBlock: The migration of a copied file.
    ///   - fixture: A realm file to start with; it is copied, so `storage` is ignored.
    ///   - sourceLocation: The location of findings.
    /// - Throws: `Realm.Error`, or the system's error if the file cannot be created.
    public convenience init(
        _ types: ObjectBase.Type..., storage: TestStorage = .memory, schemaVersion: UInt64 = 0,
        migrationBlock: MigrationBlock? = nil, copyOf fixture: URL? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let configuration = Realm.Configuration(
            schemaVersion: schemaVersion, migrationBlock: migrationBlock, objectTypes: types.isEmpty ? nil : types)
        try self.init(
            configuration: configuration, storage: storage, copyOf: fixture, sourceLocation: sourceLocation)
    }

    /// Creates a realm with these settings at a location of its own; the location in `configuration` is ignored.
    public init(
        configuration: Realm.Configuration, storage: TestStorage = .memory, copyOf fixture: URL? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        KitHooks.begin()
        location = sourceLocation
        store = try TestStore(configuration, storage, name: Test.current?.name ?? "test", copyOf: fixture)
        do { open = try Realm(configuration: store.configuration) } catch {
            store.delete()
            throw error
        }
    }

    /// The settings with which other threads and code under test open the same data.
    public var configuration: Realm.Configuration { store.configuration }

    /// The realm, on the thread that created this object. Use after `finish()` is a programmer error.
    public var realm: Realm {
        guard let open else { preconditionFailure("a TestRealm is not used after finish()") }
        return open
    }

    /// Ends the realm: rolls back a write transaction that was left open (a finding), checks the integrity, and looks
    /// for Realms and notification tokens of this data that are still alive. Each finding is recorded as a failure of
    /// the running test, and the file is kept. Later calls do nothing and return the same report.
    ///
    /// - Parameter checksLeaks: False if variables of the test still hold objects, results or Realms.
    /// - Returns: The findings.
    @discardableResult
    public func finish(checksLeaks: Bool = true) -> TestRealmReport {
        if let report { return report }
        var result = TestRealmReport()
        if let core = open?.core, core.isWriting {
            result.findings.append("A write transaction was left open; it was rolled back.")
            core.cancelAnyWrite()
        }
        result.findings += store.damage()
        if !result.findings.isEmpty { result.keptFile = store.keep() }
        open = nil
        if checksLeaks {
            let leaks = store.leaks()
            result.findings += leaks.findings
            result.abandonedRealms = leaks.abandoned
        }
        end(&result)
        return result
    }

    private func end(_ result: inout TestRealmReport) {
        report = result
        if result.findings.isEmpty { return store.delete() }
        let kept = result.keptFile.map { " The realm is kept at '\($0.path)'." } ?? ""
        for finding in result.findings { Report.issue(finding + kept, at: location) }
        if result.keptFile == nil { store.delete() }
    }

    /// Keeps the data in a file at the end, whatever is found, for inspection by a person. Returns its URL, or nil if
    /// it cannot be written.
    @discardableResult
    public func keepFile() -> URL? {
        if let report { return report.keptFile }
        guard let url = store.keep() else { return nil }
        var result = TestRealmReport()
        result.keptFile = url
        report = result
        return url
    }

    deinit { finish(checksLeaks: false) }
}

/// Runs `body` with a realm of its own, then checks the integrity of the data and looks for Realms and notification
/// tokens that are still alive. Findings are failures of the running test.
///
/// ```swift
/// try withTestRealm(Dog.self) { realm in
///     try realm.write { realm.add(Dog()) }
///     #expect(realm.objects(Dog.self).count == 1)
/// }
/// ```
///
/// - Throws: The error that `body` throws, in which case the file is kept; `Realm.Error` if the realm cannot be opened.
/// - Thread: `body` runs on the calling thread.
@discardableResult
public func withTestRealm<Result>(
    _ types: ObjectBase.Type..., storage: TestStorage = .memory, copyOf fixture: URL? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (Realm) throws -> Result
) throws -> Result {
    let configuration = Realm.Configuration(objectTypes: types.isEmpty ? nil : types)
    let test = try TestRealm(
        configuration: configuration, storage: storage, copyOf: fixture, sourceLocation: sourceLocation)
    do {
        let result = try body(test.realm)
        test.finish()
        return result
    } catch {
        if let url = test.keepFile() { Report.note("the realm of the failed test is kept at '\(url.path)'") }
        throw error
    }
}
