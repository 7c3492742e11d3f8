// SPDX-License-Identifier: Apache-2.0
// Adapts the file to the classes when a Realm is opened: creates the tables of new classes, builds and drops indexes,
// and migrates a file with an older schema version. Any other difference is an error, which lists the differences as
// RealmSwift does. Runs in one write transaction, all or nothing. If several processes open the file at once, one of
// them does it.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

struct OpeningMigration {
    let core: RealmCore
    let settings: RealmSettings
    /// The thread, queue or actor that opens the Realm.
    let confinement: Confinement

    private var session: Session { core.session }
    private var configuration: Realm.Configuration { settings.configuration }
    private static let neverVersioned = UInt64.max
    /// The files whose migration blocks are running, and the threads that run them.
    private static let migrating = Lock<[Realm.Configuration.Place: UInt]>([:])

    /// It is a programmer error to open the file within its own migration block: it would wait for its own thread.
    static func refuseOwnMigration(_ place: Realm.Configuration.Place) {
        if migrating.withLock({ $0[place] }) == CurrentThread.id {
            misuse(
                "Realm at path '\(place.name)' cannot be opened within its own migration block: use the `migration` "
                    + "that the block is given.")
        }
    }

    /// Call on the thread whose migration block was abandoned.
    static func endAbandonedMigration(_ place: Realm.Configuration.Place) {
        migrating.withLock { if $0[place] == CurrentThread.id { $0[place] = nil } }
    }

    /// The work that opening the Realm requires.
    private enum Need {
        case nothing
        /// Adds classes or indexes, or sets the version of a file that has none, or the older versions that it keeps.
        case additions
        case migration(from: UInt64)
        /// Deletes everything, because the configuration says so.
        case reset
    }

    /// Compares the file with the classes, and writes the changes. Throws `Realm.Error`.
    func run() throws {
        if configuration.readOnly { return try checkReadOnly() }
        let first: Need
        do { first = try need() } catch let error as EngineError {
            throw Realm.Error(opening: settings.place.name, readOnly: false, error)
        }
        if case .nothing = first {
            return MigrationBackup.removeAfterGoodOpening(
                configuration, settings.place, version: session.schemaVersion)
        }
        if session.database.isTellingHere {
            misuse(
                "Realm at path '\(settings.place.name)' cannot be opened with classes that change the file in an "
                    + "observer's block that is called because a write of the same file begins on this thread: it "
                    + "would deadlock. Open it before that write, or later.")
        }
        let writer = RealmCache.shared.writerHere(session.database, confinement)?.settings.home
        if let writer = writer ?? (OrphanedWrites.isKeptHere(session.database) ? "this thread, queue or actor" : nil) {
            throw error(
                .alreadyOpen, .inUse,
                "Realm at path '\(settings.place.name)' cannot be opened here with classes or a schema version that "
                    + "the file does not have yet: that requires a write, which would wait forever for the write "
                    + "transaction that is open on \(writer). Open it before that transaction begins, or "
                    + "when it has ended.")
        }
        do {
            try session.beginWrite()
        } catch { throw Realm.Error(opening: settings.place.name, readOnly: false, error) }
        // A test kit that abandons the migration block also ends the write.
        WriteHook.didBegin?(core)
        var operation: (any RunningOperation)?
        do {
            // Another thread or process may have been faster: compare with the current file.
            let need = try need()
            if case .migration(let old) = need {
                operation = core.beginOperation(.migration(from: old, to: configuration.schemaVersion))
            }
            try update(need)
        } catch {
            if session.isWriting { session.rollbackWrite() }
            operation?.end(.failed(error))
            Logger.log(.debug, "DB: Leave the schema as it was: \(error)")
            if let error = error as? EngineError {
                throw Realm.Error(opening: settings.place.name, readOnly: false, error)
            }
            throw error
        }
        do {
            try session.commitWrite()
            // If the disk keeps failing, it is unknown which version the file has, so a backup is kept.
        } catch {
            operation?.end(.failed(error))
            throw Realm.Error(opening: settings.place.name, readOnly: false, error)
        }
        operation?.end(.migrated)
    }

    /// Throws unless the file of a read-only Realm fits the classes. The schema versions must be equal too, because a
    /// program of another version would read values that a migration has yet to change, or has already changed.
    private func checkReadOnly() throws {
        let (stored, wanted) = (session.schemaVersion, configuration.schemaVersion)
        if stored != Self.neverVersioned {
            if wanted < stored { throw lowerVersion(wanted, stored) }
            if wanted > stored {
                throw error(
                    .fail, .migrationNeeded,
                    "Provided schema version \(wanted) does not equal last set version \(stored). Read-only files are "
                        + "not migrated: open the file once for writing, or set `schemaVersion` to \(stored).")
            }
        }
        let differences = differences(toleratingColumns: true)
        if !differences.isEmpty { throw migrationNeeded(differences) }
    }

    private func lowerVersion(_ wanted: UInt64, _ stored: UInt64) -> Realm.Error {
        error(
            .fail, .newerSchemaVersion,
            "Provided schema version \(wanted) is less than last set version \(stored). Raise `schemaVersion` to "
                + "\(stored) or more.")
    }

    private func need() throws -> Need {
        let stored = session.schemaVersion
        let wanted = configuration.schemaVersion
        let work = SchemaMigrator(session: session, classes: settings.schema.classes)
        if stored == Self.neverVersioned { return .additions }
        if configuration.deleteRealmIfMigrationNeeded, stored != wanted || !differences().isEmpty {
            if RealmCache.shared.isOpen(settings.place) {
                throw error(
                    .alreadyOpen, .inUse,
                    "Cannot delete files of an open Realm: '\(settings.place.name)' is still in use, and "
                        + "`deleteRealmIfMigrationNeeded` is set. Release all Realms, objects and collections of it "
                        + "first.")
            }
            return .reset
        }
        if wanted < stored { throw lowerVersion(wanted, stored) }
        if wanted > stored { return .migration(from: stored) }
        let differences = differences()
        if !differences.isEmpty { throw migrationNeeded(differences) }
        let needsHistory = try session.needsHistory(configuration.storedHistory)
        return work.isNeeded || needsHistory ? .additions : .nothing
    }

    /// Runs within the write.
    private func update(_ need: Need) throws {
        let work = SchemaMigrator(session: session, classes: settings.schema.classes)
        switch need {
        case .nothing: return
        case .additions: try work.begin()
        case .reset:
            Logger.log(.debug, "DB: Delete all classes: \(settings.place.name)")
            try session.removeAllTables()
            try work.begin()
        case .migration(let old): try migrate(from: old, work)
        }
        if session.schemaVersion != configuration.schemaVersion {
            Logger.log(.debug, "DB: Set schema version \(configuration.schemaVersion)")
            session.setSchemaVersion(configuration.schemaVersion)
        }
        if let history = configuration.storedHistory, try session.needsHistory(history) {
            session.setHistory(history.limits)
        }
    }

    private func migrate(from old: UInt64, _ work: SchemaMigrator) throws {
        Logger.log(.detail, "DB: Migrate from schema version \(old): \(settings.place.name)")
        let control = configuration.extras.control
        control?.report(.preparing)
        let backup = try MigrationBackup.make(of: session, configuration, settings.place)
        session.watch = control.map { BuildingWatch($0).goesOn }
        defer { session.watch = nil }
        do {
            try change(from: old, work)
            if let control {
                // The migration cannot be cancelled once the commit has begun, so the long part of the commit is done
                // before that.
                if !control.isCancelled { try session.prepareCommit() }
                if !control.beginCommit() { throw CancellationError() }
                control.report(.committing)
            }
        } catch {
            // The file is unchanged, so there is nothing to go back to.
            backup?.remove()
            throw error
        }
    }

    private func change(from old: UInt64, _ work: SchemaMigrator) throws {
        // A Realm of a queue or an actor may have no owning thread: the migration runs on this one.
        let owner = session.state.pointee.owner
        session.state.pointee.owner = CurrentThread.id
        defer { session.state.pointee.owner = owner }
        do {
            if let block = configuration.migrationBlock {
                Self.migrating.withLock { $0[settings.place] = CurrentThread.id }
                defer { Self.migrating.withLock { _ = $0.removeValue(forKey: settings.place) } }
                let migration = Migration(work, before: try session.freeze(), settings: settings)
                block(migration, old)
                try migration.end()
            } else {
                try work.begin()
            }
            if let control = configuration.extras.control {
                // A cancelled migration is only partly done.
                if control.isCancelled { throw CancellationError() }
                control.report(.finishing)
            }
            try work.finish()
        } catch SchemaMigrator.Failure.differences(let lines) {
            throw migrationNeeded(lines)
        } catch SchemaMigrator.Failure.sharedKey(let words) {
            throw error(
                .fail, .migrationFailed,
                words + " The file is as it was. Give each object a key of its own in the `migrationBlock`.")
        } catch Migration.Failure.refused(let words) {
            throw error(.fail, .migrationFailed, words + " The file is as it was.")
        }
    }

    /// One sentence for each difference that requires a new schema version.
    private func differences(toleratingColumns: Bool = false) -> [String] {
        settings.schema.classes.sorted { $0.name < $1.name }.flatMap { schema in
            session.table(named: schema.name).map {
                SchemaDifferences(
                    schema: schema, table: $0.definition, session: session, classes: settings.schema.classes
                ).list(toleratingColumns: toleratingColumns)
            } ?? []
        }
    }

    private func migrationNeeded(_ differences: [String]) -> Realm.Error {
        let advice =
            configuration.readOnly
            ? "\nRead-only files are not migrated: declare the classes as they are in the file."
            : "\nRaise `schemaVersion` above \(session.schemaVersion), and convert the values in a "
                + "`migrationBlock`; or set `deleteRealmIfMigrationNeeded` if nothing in the file is needed."
        return error(
            .schemaMismatch, .migrationNeeded,
            "Migration is required due to the following errors:\n"
                + differences.map { "- " + $0 }.joined(separator: "\n") + advice)
    }

    private func error(_ code: Realm.Error.Code, _ reason: Realm.Error.Reason, _ words: String) -> Realm.Error {
        Realm.Error(code, reason, words, fileURL: configuration.fileURL)
    }
}
