// SPDX-License-Identifier: Apache-2.0
// Checks that the app imports its users' files in Realm's format completely, with its own schema.

public import Foundation
public import Regnum
internal import RegnumRealmImport
internal import RegnumSystem
public import Testing

/// Expects that each of `fixtures`, files that Realm wrote, is imported when the app opens it. Works on copies; the
/// fixtures are never changed.
///
/// The running test fails for each of these, with the name of the fixture:
/// - an error when opening it: it cannot be read, or the migration from its version fails,
/// - a value that could not be carried over,
/// - a schema version after opening that is not the configuration's, or a finding of the integrity check,
/// - a second import when the file is opened again,
/// - an issue that `check` records, or an error that it throws.
///
/// It also fails if `fixtures` is empty.
///
/// ```swift
/// try expectImport(of: fixtures, to: Database.configuration) { realm, fixture in
///     #expect(realm.objects(Person.self).count == 12)
/// }
/// ```
///
/// - Parameters:
///   - fixtures: Files in Realm's format, one of each schema version that was shipped.
///   - newest: The current configuration of the program. Its file is not used; its key opens the fixtures.
///   - sourceLocation: The location of failures.
///   - check: Called on the calling thread with the imported Realm and the URL of its fixture.
/// - Throws: An error if a fixture cannot be copied.
/// - Thread: Any.
/// - Complexity: O(size of the fixtures); each one is copied, imported and checked.
public func expectImport(
    of fixtures: [URL], to newest: Realm.Configuration, sourceLocation: SourceLocation = #_sourceLocation,
    _ check: (_ realm: Realm, _ fixture: URL) throws -> Void = { _, _ in }
) throws {
    if fixtures.isEmpty { Report.issue("There are no fixtures to import.", at: sourceLocation) }
    let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("regnum-imports-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for fixture in fixtures {
        let url = folder.appendingPathComponent("\(UUID().uuidString).realm")
        try FileManager.default.copyFixture(fixture, to: url)
        ImportTrial(fixture: fixture, url: url, newest: newest, location: sourceLocation).run(check)
    }
}

/// The check of one fixture.
private struct ImportTrial {
    let fixture: URL
    let url: URL
    let newest: Realm.Configuration
    let location: SourceLocation

    /// The number of losses that are reported one by one; the rest are only counted.
    private static let shownLosses = 20

    private func complain(_ text: String) { Report.issue("'\(fixture.lastPathComponent)': \(text)", at: location) }

    func run(_ check: (Realm, URL) throws -> Void) {
        let reports = Lock<[RealmFileImportReport]>([])
        var configuration = newest
        configuration.fileURL = url
        configuration.legacyFile = .importing(report: { report in reports.withLock { $0.append(report) } })
        do {
            let realm = try Realm(configuration: configuration)
            guard let report = reports.withLock({ $0.first }) else {
                return complain("is not a Realm file: nothing was imported")
            }
            for loss in report.losses.prefix(Self.shownLosses) { complain("not carried over: \(loss)") }
            if report.lossCount > Self.shownLosses { complain("\(report.lossCount) values were not carried over") }
            for table in report.classes {
                for property in table.dropped where property.values > 0 {
                    complain("\(table.name).\(property.name) was not carried over: \(property.reason)")
                }
            }
            if try schemaVersionAtURL(url, encryptionKey: newest.encryptionKey) != newest.schemaVersion {
                complain("was not migrated to version \(newest.schemaVersion)")
            }
            for finding in configuration.integrityFindings() { complain("Integrity: \(finding)") }
            do { try check(realm, fixture) } catch { complain("the check failed: \(error)") }
        } catch { return complain("cannot be imported: \(error)") }
        do { _ = try Realm(configuration: configuration) } catch { complain("cannot be opened again: \(error)") }
        if reports.withLock({ $0.count }) != 1 { complain("was imported again when it was opened again") }
    }
}
