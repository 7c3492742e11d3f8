// SPDX-License-Identifier: Apache-2.0
// Brings file and classes together when a Realm is opened: makes the tables of new classes, and refuses every other
// difference with the list that RealmSwift's users know.

internal import Foundation
internal import RegnumEngine

struct SchemaUpdate {
    let core: RealmCore
    let settings: RealmSettings

    private var session: Session { core.session }
    private var configuration: Realm.Configuration { settings.configuration }
    private static let neverVersioned = UInt64.max

    /// Compares, and writes what is missing. Throws `Realm.Error`.
    func run() throws {
        try check()
        guard !configuration.readOnly, needsWrite else { return }
        do {
            try session.beginWrite()
        } catch { throw Realm.Error(opening: settings.place.name, readOnly: false, error) }
        do {
            // Another thread or process may have been faster: what counts is the file of now.
            try check()
            if needsWrite { try write() }
        } catch {
            if session.isWriting { session.rollbackWrite() }
            if let error = error as? EngineError {
                throw Realm.Error(opening: settings.place.name, readOnly: false, error)
            }
            throw error
        }
        do {
            try session.commitWrite()
        } catch { throw Realm.Error(opening: settings.place.name, readOnly: false, error) }
    }

    private var missing: [ClassSchema] { settings.schema.classes.filter { session.table(named: $0.name) == nil } }

    private var needsWrite: Bool { session.schemaVersion != configuration.schemaVersion || !missing.isEmpty }

    private func write() throws(EngineError) {
        let missing = missing
        for schema in missing { Logger.log(.debug, "DB: Add class '\(schema.name)'") }
        if !missing.isEmpty { try session.addTables(missing.map(\.newTable)) }
        if session.schemaVersion != configuration.schemaVersion {
            Logger.log(.debug, "DB: Set schema version \(configuration.schemaVersion)")
        }
        session.setSchemaVersion(configuration.schemaVersion)
    }

    /// Throws where the schema version or a class does not allow opening.
    private func check() throws {
        let stored = session.schemaVersion
        let wanted = configuration.schemaVersion
        if stored != Self.neverVersioned, !configuration.readOnly, wanted < stored {
            throw error(
                .fail, .newerSchemaVersion,
                "Provided schema version \(wanted) is less than last set version \(stored). Raise `schemaVersion` "
                    + "to \(stored) or more.")
        }
        let differences = settings.schema.classes.flatMap { schema in
            session.table(named: schema.name).map {
                SchemaDifferences(schema: schema, table: $0.definition, session: session).list(
                    toleratingColumns: configuration.readOnly)
            } ?? []
        }
        if !differences.isEmpty { throw migrationNeeded(differences, stored) }
        let isOlder = stored != Self.neverVersioned && wanted > stored
        if configuration.migrationBlock != nil, isOlder, !configuration.readOnly {
            throw configuration.unavailable(
                "migrationBlock",
                "migrations are not run, and the file is at schema "
                    + "version \(stored)")
        }
    }

    private func migrationNeeded(_ differences: [String], _ stored: UInt64) -> Realm.Error {
        let advice: String
        if configuration.deleteRealmIfMigrationNeeded {
            advice =
                "\nThis version does not support `deleteRealmIfMigrationNeeded`: delete the file with "
                + "`Realm.deleteFiles(for:)`."
        } else if configuration.migrationBlock != nil {
            advice =
                "\nThis version does not support `migrationBlock`: declare the classes as they are in the file, "
                + "or start with an empty file."
        } else {
            advice = "\nDeclare the classes as they are in the file, or start with an empty file."
        }
        return error(
            .schemaMismatch, .migrationNeeded,
            "Migration is required due to the following errors:\n"
                + differences.map { "- " + $0 }.joined(separator: "\n") + advice)
    }

    private func error(_ code: Realm.Error.Code, _ reason: Realm.Error.Reason, _ words: String) -> Realm.Error {
        Realm.Error(code, reason, words, fileURL: configuration.fileURL)
    }
}
