// SPDX-License-Identifier: Apache-2.0
// Previews a migration before a release: the plan compares the file with the classes and writes nothing; the rehearsal
// migrates a copy of the file and reports the result.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// The effect that opening a configuration would have on its file. Created by `Realm.migrationPlan(for:)`. A value; any
/// thread.
public struct MigrationPlan: Sendable, CustomStringConvertible {
    /// One difference between the file and the classes.
    public struct Change: Sendable, Equatable {
        /// The difference as a sentence, in RealmSwift's wording if it has one.
        public let text: String
        public let className: String
        /// The number of objects that the change affects; each value is checked. These are:
        ///
        /// - for a property that is removed or changes its type: objects with a value in it
        /// - for a property that becomes required: objects with a null in it
        /// - for a new property: all objects of the class
        /// - for a class that becomes embedded: objects that no other object links to, and objects that several link
        ///   to. Links from objects that are deleted for the same reason, and links from copies, do not count
        /// - for a primary key or constraint: objects that equal another one in it
        /// - for a property whose type cannot represent every stored value: objects that would hold such a value, for
        ///   example a new enum property without a case for 0 or an empty string
        /// - for a read-only configuration, or if `deleteRealmIfMigrationNeeded` deletes everything: all objects of the
        ///   class
        /// - for any other change: 0
        ///
        /// A value that was never set (null, or zero or empty if null is not allowed) does not count as a value.
        public let objectCount: Int
        /// The number of these objects that lose a value or a null unless the block preserves it, or that are deleted
        /// because nothing links to them or because everything is deleted.
        public let lossCount: Int
        /// True if `lossCount` is not 0.
        public var losesValues: Bool { lossCount > 0 }
        /// True if the schema version must be raised for the change. For a read-only configuration: true if the file
        /// cannot be opened with it.
        public let needsMigration: Bool
        let kind: Kind

        /// The objects that the numbers count.
        enum Kind: Sendable, Equatable {
            case others, values, nulls, owners
            /// Objects that equal another one although they must not: opening throws because of them.
            case conflicts
            /// Objects with a value that the property's type cannot represent.
            case unreadable
        }

        /// A sentence that says what happens to the objects.
        fileprivate var warning: String {
            if objectCount == 0 { return "" }
            switch kind {
            case .others: return ""
            case .values: return " Their values are lost unless the block keeps them."
            case .nulls: return " Nulls become zero or empty unless the block replaces them."
            case .conflicts: return " Opening throws unless the block changes them."
            case .unreadable: return " Reading the property ends the program unless the block sets it."
            case .owners:
                let shared = objectCount - lossCount
                return (lossCount > 0 ? " Deleted because they have no incoming link: \(lossCount)." : "")
                    + (shared > 0 ? " Copied because they have several incoming links: \(shared)." : "")
            }
        }
    }

    /// The schema version of the file; nil if it has none yet.
    public let fileVersion: UInt64?
    /// The schema version of the configuration.
    public let version: UInt64
    /// The changes, in the order of the classes.
    public let changes: [Change]
    /// The classes of the file that are not declared, with their numbers of objects: they are left unchanged unless the
    /// block changes them. Empty if `deletesEverything`.
    public let undeclaredCounts: [String: Int]
    /// True if opening would throw, because the version must be raised, or because objects have equal values that must
    /// be unique and there is no block to change them. A read-only configuration is refused if the file has another
    /// version, or classes that it cannot be read with: those files are not migrated.
    public let isRefused: Bool
    /// True if opening would call the migration block.
    public let callsBlock: Bool
    /// True if opening would delete all objects instead, because of `deleteRealmIfMigrationNeeded`.
    public let deletesEverything: Bool
    let isReadOnly: Bool

    /// One line for the versions, one for each change, and one for each class that is left unchanged.
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
            return "refused: " + (isOlder ? "objects have duplicate keys" : "raise schemaVersion")
        }
        return changes.isEmpty ? "nothing changes" : "can be opened"
    }
}

/// The result of migrating a copy of a file. Created by `Realm.rehearseMigration(for:)`. A value; any thread.
public struct MigrationRehearsal: Sendable {
    /// The error of opening the copy; nil if it succeeded.
    public let error: (any Error)?
    /// The time that opening took, excluding the time to copy the file.
    public let duration: Duration
    /// The number of objects of each class before the migration, by class name.
    public let countsBefore: [String: Int]
    /// The number of objects of each class after the migration, by class name; empty after an error.
    public let countsAfter: [String: Int]
    /// Values that the migration has not converted: the type of their property has changed, or nulls are no longer
    /// allowed, and their objects now have zero, empty or null. At most 1,000; empty after an error.
    public let unconverted: [UnconvertedValue]
    /// The numbers of all such values, by `Class.property`.
    public let unconvertedCounts: [String: Int]
    /// The numbers of objects, by `Class.property`, that have a value after the migration which the property's type
    /// cannot represent, such as a raw value without a case of the enum: reading the property ends the program. A
    /// migration that adds a property gives its objects 0 or an empty string. Empty after an error.
    public let unreadableCounts: [String: Int]
}

/// A value that a rehearsed migration has not carried over.
public struct UnconvertedValue: Sendable, Equatable, CustomStringConvertible {
    /// The name of the class before the migration.
    public let className: String
    /// The name of the column before the migration.
    public let property: String
    /// The object's primary key before the migration, or its number in the file.
    public let object: String
    /// The value before the migration, truncated if it is long.
    public let value: String

    public var description: String { "\(className).\(property) of \(object): \(value)" }
}

extension RealmAdditions where Self == Realm {
    /// Compares the file of `configuration` with its classes; writes nothing. Throws `Realm.Error` if the file cannot
    /// be read. Any thread. Passes over the objects once for each property that is removed, changes its type or becomes
    /// required, and once for each class that becomes embedded or has a new key or constraint: O(n) each, and O(n)
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

    /// Migrates a copy of the file of `configuration`, and deletes the copy, which is made beside the file. The file
    /// itself is not touched. Throws `Realm.Error` if the file cannot be copied; errors of the migration are in the
    /// result. Any thread. Takes as long as a migration and, if the file system cannot clone files (Btrfs, XFS and
    /// bcachefs can), the time and space of a copy of the file.
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
            // A clone has the file's bytes at one moment, as after a power loss, and opens like such a file: it
            // contains the last commit. The state before the migration is read from the clone too, because the file may
            // change in the meantime.
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
                    for (property, count) in try UnrepresentableValues(schema: schema, table: table).counts() {
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

    /// The classes of the configuration's file, by column names, whatever classes the program has: compare it with the
    /// `goldenText` of a shipped version. Throws `Realm.Error` if the file cannot be read. Any thread.
    public static func fileSchema(for configuration: Realm.Configuration) throws -> Schema {
        let path = try migrationPath(configuration)
        do {
            let session = try readingSession(path, configuration)
            return Schema(session.tables.map { ClassSchema.dynamic($0.definition, known: nil, in: session) })
        } catch let error as EngineError { throw Realm.Error(opening: path, readOnly: true, error) }
    }

    private static func migrationPath(_ configuration: Realm.Configuration) throws -> String {
        guard case .file(let path) = try configuration.validated() else {
            misuse("A migration can be planned only for a file: set fileURL in the configuration.")
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
            _ text: String, _ count: MigrationCounts.Count = (0, 0), _ kind: MigrationPlan.Change.Kind = .others,
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
        let effects = MigrationCounts(schema: schema, table: table, session: session, classes: classes)
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
        for (property, count) in try UnrepresentableValues(schema: schema, table: table).counts() {
            let text =
                "Property '\(schema.name).\(property.name)' would hold values that its type "
                + "'\(property.formName)' cannot represent."
            changes.append(change(text, (count, 0), .unreadable, needs: false))
        }
        for (text, count) in try effects.conflicts() { changes.append(change(text, (count, 0), .conflicts)) }
        for property in schema.properties where !property.isComputed && !property.isPrimaryKey {
            guard let column = table.definition.columns.first(where: { $0.name == property.columnName }),
                column.isIndexed != property.isIndexed || column.isContentIndexed != property.isContentIndexed
            else { continue }
            let made =
                property.isContentIndexed
                ? property.columnType == .string ? "full-text indexed" : "geospatially indexed"
                : property.isIndexed ? "indexed" : "unindexed"
            changes.append(
                change("Property '\(schema.name).\(property.name)' has been made \(made).", needs: false))
        }
        return changes
    }

    /// The differences that prevent a read-only Realm from reading the class. Nothing is written, so nothing is lost.
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

    /// The deletions made when the file is emptied, for declared and undeclared classes.
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
    /// The difference as a reason to delete everything: the losses are listed for each class.
    fileprivate var reason: MigrationPlan.Change {
        MigrationPlan.Change(
            text: text, className: className, objectCount: objectCount, lossCount: 0, needsMigration: needsMigration,
            kind: .others)
    }
}
