// SPDX-License-Identifier: Apache-2.0
// What a migration would do, asked before it is shipped: the plan compares file and classes and writes nothing, the
// rehearsal migrates a copy of the file and tells how it went.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// What opening a configuration would do to its file. Made by `Realm.migrationPlan(for:)`. A value; any thread.
public struct MigrationPlan: Sendable, CustomStringConvertible {
    /// One difference between the file and the classes.
    public struct Change: Sendable, Equatable {
        /// The sentence, in RealmSwift's words where it has some.
        public let text: String
        public let className: String
        /// Objects of the class in the file.
        public let objectCount: Int
        /// True where values go unless the block takes them over: those of properties that go or get another type,
        /// nulls of properties that become required, objects without an owner that become embedded, and whatever
        /// `deleteRealmIfMigrationNeeded` deletes.
        public var losesValues: Bool { loss != .nothing }
        /// True where the schema version has to be raised for it. Of a read-only configuration: where the file cannot
        /// be opened with it.
        public let needsMigration: Bool
        let loss: SchemaDifference.Loss

        /// For people: what goes.
        fileprivate var warning: String {
            if objectCount == 0 { return "" }
            return switch loss {
            case .nothing, .objects: ""
            case .values: " Their values go unless the block keeps them."
            case .nulls: " Nulls become zero or empty unless the block replaces them."
            case .owners: " Those to which no other object links go."
            }
        }
    }

    /// The schema version of the file; nil where it has none yet.
    public let fileVersion: UInt64?
    /// The schema version of the configuration.
    public let version: UInt64
    /// In the order of the classes.
    public let changes: [Change]
    /// True where opening would throw, because the version would have to be higher. A read-only configuration is refused
    /// where the file has another version, or other classes than it can be read with: those files are not migrated.
    public let isRefused: Bool
    /// True where opening would call the migration block.
    public let callsBlock: Bool
    /// True where opening would delete all objects instead, because of `deleteRealmIfMigrationNeeded`.
    public let deletesEverything: Bool
    let isReadOnly: Bool

    /// One line for the versions, one for each change.
    public var description: String {
        let versions = "schema version \(fileVersion.map { "\($0)" } ?? "none") to \(version)"
        let lines = changes.map { change in
            "- \(change.text)" + (change.objectCount > 0 ? " \(change.objectCount) objects." : "") + change.warning
        }
        return (["\(versions): \(verdict)"] + lines).joined(separator: "\n")
    }

    private var verdict: String {
        if deletesEverything { return "deleteRealmIfMigrationNeeded deletes all objects" }
        if isRefused { return "refused: " + (isReadOnly ? "read-only files are not migrated" : "raise schemaVersion") }
        return changes.isEmpty ? "nothing changes" : "can be opened"
    }
}

/// How a migration of a copy went. Made by `Realm.rehearseMigration(for:)`. A value; any thread.
public struct MigrationRehearsal: Sendable {
    /// What opening the copy threw; nil where it went well.
    public let error: (any Error)?
    /// How long opening took, the copying not counted.
    public let duration: Duration
    /// Objects of each class before, by name.
    public let countsBefore: [String: Int]
    /// Objects of each class afterwards, by name; empty after an error.
    public let countsAfter: [String: Int]
    /// Values that the migration has not converted: the type of their property changed, or nulls are not allowed any
    /// more, and their objects have zero, empty or null now. At most 1,000; empty after an error.
    public let unconverted: [UnconvertedValue]
    /// All of them, by `Class.property`.
    public let unconvertedCounts: [String: Int]
}

/// A value that a rehearsed migration did not carry over.
public struct UnconvertedValue: Sendable, Equatable, CustomStringConvertible {
    /// The class, as it was called before.
    public let className: String
    /// The column, as it was called before.
    public let property: String
    /// The primary key of the object before, or its number in the file.
    public let object: String
    /// The value before, cut where it is long.
    public let value: String

    public var description: String { "\(className).\(property) of \(object): \(value)" }
}

extension RealmCare where Self == Realm {
    /// Compares the file of `configuration` with its classes, and writes nothing. Throws `Realm.Error` where the file
    /// cannot be read. Any thread; takes as long as opening.
    public static func migrationPlan(for configuration: Realm.Configuration) throws -> MigrationPlan {
        let path = try migrationPath(configuration)
        let schema = configuration.objectTypes.map { SchemaSet.of($0) } ?? SchemaSet.all()
        do {
            let session = try readingSession(path, configuration)
            let stored = session.schemaVersion == UInt64.max ? nil : session.schemaVersion
            let wanted = configuration.schemaVersion
            if configuration.readOnly {
                let changes = schema.classes.flatMap { obstacles($0, session, schema.classes) }
                return MigrationPlan(
                    fileVersion: stored, version: wanted, changes: changes,
                    isRefused: !changes.isEmpty || stored.map { $0 != wanted } ?? false, callsBlock: false,
                    deletesEverything: false, isReadOnly: true)
            }
            let changes: [MigrationPlan.Change] = schema.classes.flatMap {
                differences($0, session, schema.classes)
            }
            let isDifferent = stored.map { $0 != wanted || changes.contains { $0.needsMigration } } ?? false
            if configuration.deleteRealmIfMigrationNeeded, isDifferent {
                return MigrationPlan(
                    fileVersion: stored, version: wanted, changes: changes.map(\.reason) + deletions(session),
                    isRefused: false, callsBlock: false, deletesEverything: true, isReadOnly: false)
            }
            let isOlder = stored.map { $0 < wanted } ?? false
            return MigrationPlan(
                fileVersion: stored, version: wanted, changes: changes, isRefused: isDifferent && !isOlder,
                callsBlock: isOlder && configuration.migrationBlock != nil, deletesEverything: false,
                isReadOnly: false)
        } catch let error as EngineError { throw Realm.Error(opening: path, readOnly: true, error) }
    }

    /// Migrates a copy of the file of `configuration`, beside it, and deletes the copy. The file itself is not
    /// touched. Throws `Realm.Error` where the file cannot be copied; what goes wrong in the migration is in the
    /// result. Any thread; takes the time of a migration and, where the file system cannot clone files (Btrfs, XFS and
    /// bcachefs can), that of a copy and the space of the file once more.
    public static func rehearseMigration(for configuration: Realm.Configuration) throws -> MigrationRehearsal {
        let path = try migrationPath(configuration)
        let claim: TemporaryFile
        do throws(SystemError) {
            claim = try TemporaryFile.make(
                beside: path + SideFiles.rehearsal, permissions: 0o600, in: PosixFileSystem.shared,
                removeCompanions: SideFiles.removeCompanions)
        } catch { throw Realm.Error(opening: path, readOnly: true, .system(error)) }
        defer { claim.remove() }
        let url = URL(fileURLWithPath: claim.path + ".realm")
        let before: [String: Int]
        let original: Session
        do {
            // A clone is the file of one moment, as after a loss of power, and opens as such: its last commit is there.
            // What it was before is read from the clone too: meanwhile the file may go on.
            let isClone = PosixFileSystem.shared.clone(path, to: url.path)
            original = try readingSession(isClone ? url.path : path, configuration)
            before = counts(original)
            if !isClone {
                try original.writeCopy(to: url.path, in: PosixFileSystem.shared, key: configuration.engineKey)
            }
        } catch let error as EngineError { throw Realm.Error(opening: path, readOnly: true, error) }
        var copy = configuration
        copy.fileURL = url
        copy.extras.backsUp = false
        let clock = ContinuousClock()
        let start = clock.now
        do {
            let core = try RealmOpening.open(copy, queue: nil, origin: nil)
            let duration = clock.now - start
            var losses = MigrationLosses()
            do { try losses.find(from: original, to: core.session) } catch {
                throw Realm.Error(opening: path, readOnly: true, error)
            }
            return MigrationRehearsal(
                error: nil, duration: duration, countsBefore: before, countsAfter: counts(core.session),
                unconverted: losses.values, unconvertedCounts: losses.counts)
        } catch {
            return MigrationRehearsal(
                error: error, duration: clock.now - start, countsBefore: before, countsAfter: [:], unconverted: [],
                unconvertedCounts: [:])
        }
    }

    /// The classes of the file of `configuration` by the names of columns, whatever classes the program has: what to
    /// compare `goldenText` of a shipped version with. Throws `Realm.Error` where the file cannot be read. Any thread.
    public static func fileSchema(for configuration: Realm.Configuration) throws -> Schema {
        let path = try migrationPath(configuration)
        do {
            let session = try readingSession(path, configuration)
            return Schema(session.tables.map { ClassSchema.dynamic($0.definition, known: nil, in: session) })
        } catch let error as EngineError { throw Realm.Error(opening: path, readOnly: true, error) }
    }

    private static func migrationPath(_ configuration: Realm.Configuration) throws -> String {
        guard case .file(let path) = try configuration.validated() else {
            misuse("A migration is planned for a file: set fileURL in the configuration.")
        }
        return path
    }

    private static func readingSession(_ path: String, _ configuration: Realm.Configuration) throws -> Session {
        try Database.openToRead(
            path: path, fileSystem: PosixFileSystem.shared, encryptionKey: configuration.engineKey
        ).makeSession()
    }

    private static func counts(_ session: Session) -> [String: Int] {
        var counts: [String: Int] = [:]
        for table in session.tables { counts[table.definition.name] = table.count }
        return counts
    }

    private static func differences(
        _ schema: ClassSchema, _ session: Session, _ classes: [ClassSchema]
    ) -> [MigrationPlan.Change] {
        func change(
            _ text: String, _ count: Int, loses loss: SchemaDifference.Loss = .nothing, needs: Bool = true
        ) -> MigrationPlan.Change {
            MigrationPlan.Change(
                text: text, className: schema.name, objectCount: count, needsMigration: needs, loss: loss)
        }
        guard let table = session.table(named: schema.name) else {
            return [change("Class '\(schema.name)' has been added.", 0, needs: false)]
        }
        var changes = SchemaDifferences(
            schema: schema, table: table.definition, session: session, classes: classes
        )
        .found(toleratingColumns: false).map { change($0.text, table.count, loses: $0.loss) }
        for property in schema.properties where !property.isComputed && !property.isPrimaryKey {
            guard let column = table.definition.columns.first(where: { $0.name == property.columnName }),
                column.isIndexed != property.isIndexed || column.isContentIndexed != property.isContentIndexed
            else { continue }
            let made =
                property.isContentIndexed
                ? property.columnType == .string ? "searchable by its words" : "indexed by places"
                : property.isIndexed ? "indexed" : "unindexed"
            changes.append(
                change("Property '\(schema.name).\(property.name)' has been made \(made).", table.count, needs: false))
        }
        return changes
    }

    /// What keeps a class from being read where nothing may be written. As nothing is, nothing goes.
    private static func obstacles(
        _ schema: ClassSchema, _ session: Session, _ classes: [ClassSchema]
    ) -> [MigrationPlan.Change] {
        guard let table = session.table(named: schema.name) else { return [] }
        return SchemaDifferences(schema: schema, table: table.definition, session: session, classes: classes)
            .list(toleratingColumns: true).map {
                MigrationPlan.Change(
                    text: $0, className: schema.name, objectCount: table.count, needsMigration: true, loss: .nothing)
            }
    }

    /// What emptying the file deletes, declared or not.
    private static func deletions(_ session: Session) -> [MigrationPlan.Change] {
        session.tables.map { table in
            MigrationPlan.Change(
                text: "All objects of class '\(table.definition.name)' are deleted.",
                className: table.definition.name, objectCount: table.count, needsMigration: false, loss: .objects)
        }
    }
}

extension MigrationPlan.Change {
    /// The difference as a reason to delete everything: what goes is told of each class.
    fileprivate var reason: MigrationPlan.Change {
        MigrationPlan.Change(
            text: text, className: className, objectCount: objectCount, needsMigration: needsMigration, loss: .nothing)
    }
}
