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
        /// Objects that the change affects, each value looked at: those with a value in a property that goes or gets
        /// another type; those with a null where none is allowed any more; all of the class where a property comes; of
        /// a class that comes to be embedded those to which no other object links and those to which several do, not
        /// counting links from objects that go for that themselves, nor those of copies; those that are like another
        /// one in a primary key or constraint; those that would hold a value that the type of the property has no form
        /// for, as an enum that comes without a case for 0 or an empty text. Others change no object: 0. What nobody has given a value, null, or zero
        /// or empty where null is none, is not counted as one. Of read-only configurations and of what
        /// `deleteRealmIfMigrationNeeded` deletes, all objects of the class.
        public let objectCount: Int
        /// Of them those that lose something unless the block takes it over: a value, a null, or, where nothing links
        /// to them or all is deleted, themselves.
        public let lossCount: Int
        /// True where `lossCount` is not 0.
        public var losesValues: Bool { lossCount > 0 }
        /// True where the schema version has to be raised for it. Of a read-only configuration: where the file cannot
        /// be opened with it.
        public let needsMigration: Bool
        let kind: Kind

        /// What the numbers are about.
        enum Kind: Sendable, Equatable {
            case others, values, nulls, owners
            /// Objects that are like another one where they may not: opening throws for them.
            case conflicts
            /// Objects with a value that the property's type has no form for.
            case unreadable
        }

        /// For people: what becomes of the objects.
        fileprivate var warning: String {
            if objectCount == 0 { return "" }
            switch kind {
            case .others: return ""
            case .values: return " Their values go unless the block keeps them."
            case .nulls: return " Nulls become zero or empty unless the block replaces them."
            case .conflicts: return " Opening throws unless the block changes them."
            case .unreadable: return " Reading the property ends the program unless the block sets it."
            case .owners:
                let shared = objectCount - lossCount
                return (lossCount > 0 ? " To \(lossCount) no other object links: they go." : "")
                    + (shared > 0 ? " To \(shared) several link: they are copied for each." : "")
            }
        }
    }

    /// The schema version of the file; nil where it has none yet.
    public let fileVersion: UInt64?
    /// The schema version of the configuration.
    public let version: UInt64
    /// In the order of the classes.
    public let changes: [Change]
    /// Classes of the file that are not declared, with the numbers of their objects: they stay as they are, unless the
    /// block does something about them. Empty where `deletesEverything`.
    public let undeclaredCounts: [String: Int]
    /// True where opening would throw, because the version would have to be higher, or because objects are alike that
    /// must not be and there is no block that could change them. A read-only configuration is refused where the file
    /// has another version, or other classes than it can be read with: those files are not migrated.
    public let isRefused: Bool
    /// True where opening would call the migration block.
    public let callsBlock: Bool
    /// True where opening would delete all objects instead, because of `deleteRealmIfMigrationNeeded`.
    public let deletesEverything: Bool
    let isReadOnly: Bool

    /// One line for the versions, one for each change, one for each class that is left alone.
    public var description: String {
        let versions = "schema version \(fileVersion.map { "\($0)" } ?? "none") to \(version)"
        let lines = changes.map { change in
            "- \(change.text)" + (change.objectCount > 0 ? " \(change.objectCount) objects." : "") + change.warning
        }
        let left = undeclaredCounts.sorted { $0.key < $1.key }.map { name, count in
            "- Class '\(name)' is not declared and stays as it is. \(count) objects."
        }
        return (["\(versions): \(verdict)"] + lines + left).joined(separator: "\n")
    }

    private var verdict: String {
        if deletesEverything { return "deleteRealmIfMigrationNeeded deletes all objects" }
        if isRefused {
            if isReadOnly { return "refused: read-only files are not migrated" }
            let isOlder = fileVersion.map { $0 < version } ?? false
            return "refused: " + (isOlder ? "objects are alike that must not be" : "raise schemaVersion")
        }
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
    /// Objects that have a value after the migration that the property's type has no form for, as a raw value without a
    /// case of the enum, by `Class.property`: reading the property ends the program. A migration that adds a property
    /// gives its objects 0 or an empty text. Empty after an error.
    public let unreadableCounts: [String: Int]
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
    /// cannot be read. Any thread. Goes once through the objects for each property that goes, changes its type or comes
    /// to be required, and for each class that comes to be embedded or has a new key or constraint: O(n) each, and O(n)
    /// memory for keys and constraints.
    public static func migrationPlan(for configuration: Realm.Configuration) throws -> MigrationPlan {
        let path = try migrationPath(configuration)
        let schema = configuration.objectTypes.map { SchemaSet.of($0) } ?? SchemaSet.all()
        do {
            let session = try readingSession(path, configuration)
            let stored = session.schemaVersion == UInt64.max ? nil : session.schemaVersion
            let wanted = configuration.schemaVersion
            let undeclared = undeclared(session, schema.classes)
            if configuration.readOnly {
                let changes = schema.classes.flatMap { obstacles($0, session, schema.classes) }
                return MigrationPlan(
                    fileVersion: stored, version: wanted, changes: changes, undeclaredCounts: undeclared,
                    isRefused: !changes.isEmpty || stored.map { $0 != wanted } ?? false, callsBlock: false,
                    deletesEverything: false, isReadOnly: true)
            }
            let changes: [MigrationPlan.Change] = try schema.classes.flatMap {
                try differences($0, session, schema.classes)
            }
            let isDifferent = stored.map { $0 != wanted || changes.contains { $0.needsMigration } } ?? false
            if configuration.deleteRealmIfMigrationNeeded, isDifferent {
                let reasons = changes.filter { $0.kind != .conflicts && $0.kind != .unreadable }.map(\.reason)
                return MigrationPlan(
                    fileVersion: stored, version: wanted, changes: reasons + deletions(session), undeclaredCounts: [:],
                    isRefused: false, callsBlock: false, deletesEverything: true, isReadOnly: false)
            }
            let isOlder = stored.map { $0 < wanted } ?? false
            let hasBlock = configuration.migrationBlock != nil
            let isAlike = isOlder && !hasBlock && changes.contains { $0.kind == .conflicts }
            return MigrationPlan(
                fileVersion: stored, version: wanted, changes: changes, undeclaredCounts: undeclared,
                isRefused: isDifferent && !isOlder || isAlike, callsBlock: isOlder && hasBlock,
                deletesEverything: false, isReadOnly: false)
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
            var unreadable: [String: Int] = [:]
            do {
                try losses.find(from: original, to: core.session)
                for schema in core.settings.schema.classes {
                    guard let table = core.session.table(named: schema.name) else { continue }
                    for (property, count) in try UnformedValues(schema: schema, table: table).counts() {
                        unreadable["\(schema.name).\(property.name)"] = count
                    }
                }
            } catch { throw Realm.Error(opening: path, readOnly: true, error) }
            return MigrationRehearsal(
                error: nil, duration: duration, countsBefore: before, countsAfter: counts(core.session),
                unconverted: losses.values, unconvertedCounts: losses.counts, unreadableCounts: unreadable)
        } catch {
            return MigrationRehearsal(
                error: error, duration: clock.now - start, countsBefore: before, countsAfter: [:], unconverted: [],
                unconvertedCounts: [:], unreadableCounts: [:])
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

    private static func undeclared(_ session: Session, _ classes: [ClassSchema]) -> [String: Int] {
        let declared = Set(classes.map(\.name))
        return counts(session).filter { !declared.contains($0.key) }
    }

    private static func differences(
        _ schema: ClassSchema, _ session: Session, _ classes: [ClassSchema]
    ) throws(EngineError) -> [MigrationPlan.Change] {
        func change(
            _ text: String, _ count: MigrationEffects.Count = (0, 0), _ kind: MigrationPlan.Change.Kind = .others,
            needs: Bool = true
        ) -> MigrationPlan.Change {
            MigrationPlan.Change(
                text: text, className: schema.name, objectCount: count.affected, lossCount: count.lost,
                needsMigration: needs, kind: kind)
        }
        guard let table = session.table(named: schema.name) else {
            return [change("Class '\(schema.name)' has been added.", needs: false)]
        }
        let differences = SchemaDifferences(
            schema: schema, table: table.definition, session: session, classes: classes)
        let effects = MigrationEffects(schema: schema, table: table, session: session, classes: classes)
        var changes: [MigrationPlan.Change] = []
        for difference in differences.found(toleratingColumns: false) {
            let kind: MigrationPlan.Change.Kind =
                switch difference.effect {
                case .nothing, .addition: .others
                case .values: .values
                case .nulls: .nulls
                case .owners: .owners
                }
            changes.append(change(difference.text, try effects.count(difference.effect), kind))
        }
        for (property, count) in try UnformedValues(schema: schema, table: table).counts() {
            let text =
                "Property '\(schema.name).\(property.name)' would hold values that its type "
                + "'\(property.formName)' has no form for."
            changes.append(change(text, (count, 0), .unreadable, needs: false))
        }
        for (text, count) in try effects.conflicts() { changes.append(change(text, (count, 0), .conflicts)) }
        for property in schema.properties where !property.isComputed && !property.isPrimaryKey {
            guard let column = table.definition.columns.first(where: { $0.name == property.columnName }),
                column.isIndexed != property.isIndexed || column.isContentIndexed != property.isContentIndexed
            else { continue }
            let made =
                property.isContentIndexed
                ? property.columnType == .string ? "searchable by its words" : "indexed by places"
                : property.isIndexed ? "indexed" : "unindexed"
            changes.append(
                change("Property '\(schema.name).\(property.name)' has been made \(made).", needs: false))
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
                    text: $0, className: schema.name, objectCount: table.count, lossCount: 0, needsMigration: true,
                    kind: .others)
            }
    }

    /// What emptying the file deletes, declared or not.
    private static func deletions(_ session: Session) -> [MigrationPlan.Change] {
        session.tables.map { table in
            MigrationPlan.Change(
                text: "All objects of class '\(table.definition.name)' are deleted.",
                className: table.definition.name, objectCount: table.count, lossCount: table.count,
                needsMigration: false, kind: .others)
        }
    }
}

extension MigrationPlan.Change {
    /// The difference as a reason to delete everything: what goes is told of each class.
    fileprivate var reason: MigrationPlan.Change {
        MigrationPlan.Change(
            text: text, className: className, objectCount: objectCount, lossCount: 0, needsMigration: needsMigration,
            kind: .others)
    }
}
