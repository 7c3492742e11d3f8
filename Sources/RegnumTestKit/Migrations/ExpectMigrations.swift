// SPDX-License-Identifier: Apache-2.0
// Tests the migration of every file version that was shipped to the newest schema: rehearsed, direct, and step by step.

public import Foundation
public import Regnum
public import Testing

/// Expects that each of `fixtures`, which are files of older versions, migrates correctly to the newest version. Each
/// is copied; the fixtures are never changed.
///
/// For each fixture, these are failures of the running test:
/// - an error in the rehearsal, or numbers of objects that differ from those in the rehearsal,
/// - an error in the migration, a wrong schema version afterwards, or a file that fails the integrity check,
/// - different contents after migration through the versions of `steps` and after migration straight to the newest,
/// - a migration that takes longer than `budget`,
/// - issues that `check` records, and errors that it throws.
///
/// ```swift
/// try expectMigrations(
///     of: fixtures, to: Database.configuration,
///     through: [Database.version2, Database.version5]) { realm, fixture in
///     #expect(realm.objects(Person.self).count == 12)
/// }
/// ```
///
/// - Parameters:
///   - fixtures: Files of the versions that were shipped; they are copied.
///   - newest: The current configuration of the program; its file is not used.
///   - steps: Configurations of intermediate versions, with their classes and migration blocks. Those that are newer
///     than the fixture are opened in order.
///   - budget: The time for the direct migration of one fixture, including opening it.
///   - sourceLocation: The location of failures.
///   - check: Receives the migrated realm and the URL of its fixture, once for each migration path.
/// - Throws: An error if a fixture cannot be copied.
/// - Thread: Any.
public func expectMigrations(
    of fixtures: [URL], to newest: Realm.Configuration, through steps: [Realm.Configuration] = [],
    budget: Duration? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ check: (_ realm: Realm, _ fixture: URL) throws -> Void = { _, _ in }
) throws {
    if fixtures.isEmpty { Report.issue("There are no fixtures to migrate.", at: sourceLocation) }
    let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("regnum-migrations-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for fixture in fixtures {
        let trial = MigrationTrial(
            fixture: fixture, newest: newest, folder: folder, budget: budget, location: sourceLocation)
        try trial.run(steps, check)
    }
}

/// The migrations of one fixture.
private struct MigrationTrial {
    let fixture: URL
    let newest: Realm.Configuration
    let folder: URL
    let budget: Duration?
    let location: SourceLocation

    private func complain(_ text: String) { Report.issue("'\(fixture.lastPathComponent)': \(text)", at: location) }

    func run(_ steps: [Realm.Configuration], _ check: (Realm, URL) throws -> Void) throws {
        let direct = try copy("direct")
        let version: UInt64
        do { version = try schemaVersionAtURL(direct, encryptionKey: newest.encryptionKey) } catch {
            return complain("cannot be read: \(error)")
        }
        let counts = rehearse(direct)
        let text = migrate(direct, [], counts, check)
        let later = steps.filter { $0.schemaVersion > version && $0.schemaVersion < newest.schemaVersion }
            .sorted { $0.schemaVersion < $1.schemaVersion }
        if later.isEmpty { return }
        let stepped = migrate(try copy("stepped"), later, nil, check)
        if let text, let stepped, let difference = TextDifference.between(text, and: stepped) {
            let way = later.map { "\($0.schemaVersion)" }.joined(separator: ", ")
            complain("differs between migration through version \(way) (+) and direct migration (-):\n\(difference)")
        }
    }

    private func copy(_ way: String) throws -> URL {
        let url = folder.appendingPathComponent("\(way)-\(UUID().uuidString).realm")
        try FileManager.default.copyFixture(fixture, to: url)
        return url
    }

    private func placed(_ configuration: Realm.Configuration, _ url: URL) -> Realm.Configuration {
        var configuration = configuration
        configuration.fileURL = url
        return configuration
    }

    /// The numbers of objects after the migration, according to a rehearsal.
    private func rehearse(_ url: URL) -> [String: Int]? {
        do {
            let rehearsal = try Realm.rehearseMigration(for: placed(newest, url))
            if let error = rehearsal.error {
                complain("the rehearsal failed: \(error)")
                return nil
            }
            for (property, count) in rehearsal.unreadableCounts.sorted(by: { $0.key < $1.key }) {
                complain(
                    "\(count) objects have a value in '\(property)' that its type cannot represent: the block must set "
                        + "it, or reading it ends the program")
            }
            return rehearsal.countsAfter
        } catch {
            complain("cannot be rehearsed: \(error)")
            return nil
        }
    }

    /// The contents after the migration; nil after a failure.
    private func migrate(
        _ url: URL, _ steps: [Realm.Configuration], _ counts: [String: Int]?, _ check: (Realm, URL) throws -> Void
    ) -> String? {
        let configuration = placed(newest, url)
        do {
            for step in steps { try Realm.performMigration(for: placed(step, url)) }
            let clock = ContinuousClock()
            let start = clock.now
            let realm = try Realm(configuration: configuration)
            let duration = clock.now - start
            if steps.isEmpty, let budget, duration > budget {
                complain("the migration took \(duration), more than \(budget)")
            }
            if try schemaVersionAtURL(url, encryptionKey: newest.encryptionKey) != newest.schemaVersion {
                complain("was not migrated to version \(newest.schemaVersion)")
            }
            for (name, count) in counts ?? [:] where realm.schema[name] != nil {
                let found = realm.dynamicObjects(name).count
                if found != count { complain("has \(found) objects of '\(name)', the rehearsal had \(count)") }
            }
            for finding in configuration.integrityFindings() { complain("Integrity: \(finding)") }
            do { try check(realm, fixture) } catch { complain("the check failed: \(error)") }
            return realm.snapshotText()
        } catch {
            complain(steps.isEmpty ? "cannot be migrated: \(error)" : "cannot be migrated step by step: \(error)")
            return nil
        }
    }
}

/// Expects that the classes still have the schema whose hash was recorded: a schema that has been shipped never changes
/// without a new schema version. If the hash differs, the failure shows the new hash, and the whole schema as text for
/// review.
///
/// ```swift
/// expectSchema(of: [Dog.self, Person.self], hash: "5f0b2c61a9d40e17")
/// ```
public func expectSchema(
    of types: [ObjectBase.Type], hash: String, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let realm = try Realm(
        configuration: Realm.Configuration(inMemoryIdentifier: "schema-\(UUID().uuidString)", objectTypes: types))
    let schema = realm.schema
    if schema.goldenHash == hash { return }
    Report.issue(
        "The schema has changed: its hash is \(schema.goldenHash), not \(hash). Raise the schema version, and add a "
            + "fixture of the old one to the migration tests.\n\(schema.goldenText)", at: sourceLocation)
}
