// SPDX-License-Identifier: Apache-2.0
// Copies the readable content of a damaged file into a new file, in two passes: first the objects with their values,
// then the links between them, which need the keys of the new objects.

public import Foundation
package import RegnumEngine
internal import RegnumSystem

/// The objects that were salvaged from a damaged file, and the losses. **Unstable**, like `Inspector`.
public struct SalvageReport: Sendable, Equatable {
    /// One class of objects.
    public struct Table: Sendable, Equatable {
        public internal(set) var name = ""
        /// The number of objects in the new file.
        public internal(set) var objects = 0
        /// The number of objects that the damaged file is supposed to have.
        public internal(set) var expected = 0
        /// The number of embedded objects that could be read but are not in the new file, because their owners are
        /// lost. `losses` has their values.
        public internal(set) var ownerless = 0
    }

    public internal(set) var tables: [Table] = []
    /// The losses, one sentence each with the path to the damaged block; at most 1,000.
    public internal(set) var losses: [String] = []
    /// The number of all losses, including those after the first 1,000.
    public internal(set) var lossCount = 0

    public var isComplete: Bool { lossCount == 0 && tables.allSatisfy { $0.objects == $0.expected } }

    mutating func lose(_ text: String) {
        lossCount += 1
        if losses.count < 1000 { losses.append(text) }
    }
}

extension Inspector {
    /// Writes every object that can be read into a new file at `path`, and reports what is missing. The inspected file
    /// is not changed.
    ///
    /// Values that cannot be read become null, zero or empty. Links to lost objects become null, and are removed from
    /// lists and sets. Embedded objects whose owners are lost cannot be stored: `losses` has each as JSON, with the
    /// objects that it owns.
    ///
    /// If the catalog or the schema of the newest commit is damaged and the inspector is read-only, the commit before
    /// it is salvaged. If a file was truncated, or has lost its commit slots, the readable rest is salvaged. Without a
    /// catalog and a schema nothing can be salvaged, because the bytes have no known meaning.
    ///
    /// `encryptionKey` encrypts the new file. Throws `InspectionError` if something already exists at `path`, if no
    /// catalog can be read, or if the new file cannot be written. O(file).
    public func salvage(to path: String, encryptionKey: Data? = nil) throws -> SalvageReport {
        let key = try Self.engineKey(encryptionKey, path)
        let source = try inspecting(database.path) { () throws(EngineError) in try database.makeSession() }
        return try inspecting(path) { () throws(EngineError) in
            let fileSystem = PosixFileSystem.shared
            do throws(SystemError) {
                guard try fileSystem.status(path) == nil else { throw SystemError(.exists, "make", path) }
            } catch { throw .system(error) }
            var options = Database.OpenOptions()
            options.encryptionKey = key
            try Self.makeFile(path, like: database.path, fileSystem)
            let target = try Database.openAsOtherProcess(path: path, fileSystem: fileSystem, options: options)
            var salvage = Salvage(source: source, target: try target.makeSession())
            try salvage.run()
            return salvage.report
        }
    }
}

extension Inspector {
    /// Creates an empty file that only users who may read the damaged one may read.
    private static func makeFile(
        _ path: String, like source: String, _ fileSystem: PosixFileSystem
    ) throws(EngineError) {
        do throws(SystemError) {
            let made = try fileSystem.open(path, .createNew(permissions: 0o600))
            made.takeAccess(of: try fileSystem.open(source, .readOnly), asReplacement: false)
            made.close()
        } catch { throw .system(error) }
    }
}

/// A salvage operation, from any file system to any other.
package struct Salvage {
    private let source: Session
    private let target: Session
    package private(set) var report = SalvageReport()
    /// For each table, the new keys of its objects by their old keys.
    private var keys: [TableKey: [ObjectKey: ObjectKey]] = [:]
    /// The embedded objects that have an owner in the new file, by the table of the old file.
    private var owned: [TableKey: Set<ObjectKey>] = [:]

    /// `target` is a snapshot of a new database without tables.
    package init(source: Session, target: Session) {
        self.source = source
        self.target = target
    }

    /// Writes the readable content into the target, in one transaction. Throws if the target cannot be written.
    package mutating func run() throws(EngineError) {
        if let passed = source.database.passedOver { report.lose(passed.words) }
        try target.beginWrite()
        do throws(EngineError) {
            try target.addTables(source.tables.map { newTable($0.definition) })
            // Older versions are not copied.
            for feature in source.features where feature != .history { target.addFeature(feature) }
            if source.schemaVersion != Catalog.neverSet { target.setSchemaVersion(source.schemaVersion) }
            try copyRules()
            for table in source.tables { try copyObjects(table) }
            for table in source.tables { try copyLinks(table) }
            try dropOwnerless()
            try dropBrokenConstraints()
            try target.commitWrite()
        } catch {
            if target.isWriting { target.rollbackWrite() }
            throw error
        }
    }

    private func newTable(_ definition: TableDefinition) -> NewTable {
        NewTable(
            name: definition.name, isEmbedded: definition.isEmbedded,
            columns: definition.columns.map { column in
                NewColumn(
                    name: column.name, type: column.type, collection: column.collection,
                    isNullable: column.isNullable, isIndexed: column.isIndexed, isPrimaryKey: column.isPrimaryKey,
                    isHidden: column.isHidden, isContentIndexed: column.isContentIndexed,
                    targetName: column.target.flatMap { source.table($0)?.definition.name })
            })
    }

    /// Copies the unique constraints and delete rules of the tables. Columns of the new file have the same indexes as
    /// the old ones, but other keys.
    private func copyRules() throws(EngineError) {
        var definitions: [TableDefinition] = []
        for table in source.tables {
            guard var copy = target.table(named: table.definition.name)?.definition else { continue }
            let old = table.definition
            for i in copy.columns.indices {
                copy.columns[i].deleteRule = old.columns[i].deleteRule
                copy.columns[i].originRule = old.columns[i].originRule
            }
            for unique in old.uniques {
                let columns = unique.columns.compactMap { key in
                    old.columns.firstIndex { $0.key == key }.map { copy.columns[$0].key }
                }
                copy.uniques.append(UniqueDefinition(key: ColumnKey(copy.nextColumnKey), columns: columns))
                copy.nextColumnKey += 1
            }
            if copy != target.table(copy.key)?.definition { definitions.append(copy) }
        }
        if !definitions.isEmpty { try target.reshape(definitions) }
    }

    /// Removes unique constraints that are violated because lost values have made objects equal.
    private mutating func dropBrokenConstraints() throws(EngineError) {
        for table in target.tables {
            let broken = try table.brokenConstraints()
            if broken.isEmpty { continue }
            var definition = table.definition
            definition.uniques.removeAll { unique in broken.contains { $0.key == unique.key } }
            report.lose("\(definition.name) > \(broken.count) unique constraints: objects have the same values")
            try target.reshape([definition])
        }
    }

    /// Deletes embedded objects without an owner, which could never be reached. Before that, each is added to `losses`
    /// with the objects that it owns.
    private mutating func dropOwnerless() throws(EngineError) {
        let formatter = ObjectFormatter(session: target)
        for table in target.tables where table.definition.isEmbedded {
            let ownerless = try table.ownerlessRows()
            if ownerless.isEmpty { continue }
            let old = source.tables.first { $0.definition.name == table.definition.name }?.definition.key
            let known = Dictionary(uniqueKeysWithValues: (old.flatMap { keys[$0] } ?? [:]).map { ($1, $0) })
            for key in ownerless {
                let number = (known[key] ?? key).rawValue
                let json = try formatter.json(table, key)
                report.lose("\(table.definition.name) of object \(number): its owner is lost; it was \(json)")
            }
            try table.deleteOwnerless(ownerless)
        }
        for i in report.tables.indices {
            guard let count = target.table(named: report.tables[i].name)?.count else { continue }
            report.tables[i].ownerless = report.tables[i].objects - count
            report.tables[i].objects = count
        }
    }

    // MARK: Objects

    private mutating func copyObjects(_ table: Table) throws(EngineError) {
        guard let copy = target.table(named: table.definition.name) else { return }
        var made: [ObjectKey: ObjectKey] = [:]
        var losses: [String] = []
        // The unreadable columns of the next group.
        var unreadable: [Int] = []
        try table.forEachReadableGroup(
            { group throws(EngineError) in
                defer { unreadable = [] }
                if let primary = table.definition.primaryKey, unreadable.contains(primary) {
                    // Without their primary keys the objects would lose their identity.
                    losses.append("\(table.definition.name): \(group.pointee.count) objects without their primary keys")
                    return
                }
                for row in 0..<group.pointee.count {
                    let location = RowLocation(group: group, row: row)
                    guard made[location.key] == nil else { continue }
                    if let key = try copyObject(location, table, copy, &losses) { made[location.key] = key }
                }
            },
            lost: { part in
                unreadable = part.columns ?? []
                let columns = part.columns.map {
                    " (\($0.map { table.definition.columns[$0].name }.joined(separator: ", ")))"
                }
                losses.append("\(part.path)\(columns ?? ""): \(part.why.damage)")
            })
        keys[table.definition.key] = made
        for loss in losses { report.lose(loss) }
        report.tables.append(
            SalvageReport.Table(name: table.definition.name, objects: made.count, expected: table.count))
    }

    /// The key of the new object; nil if another object already has its primary key.
    private func copyObject(
        _ location: RowLocation, _ table: Table, _ copy: Table, _ losses: inout [String]
    ) throws(EngineError) -> ObjectKey? {
        if let primary = table.definition.primaryKey {
            let value = try? table.value(primary, at: location)
            if let value, try copy.key(forPrimaryKey: value) != nil {
                losses.append("\(name(table, location)): duplicate primary key")
                return nil
            }
        }
        let row = try copy.insertRow()
        let key = row.key
        try copy.finishInsert(row)
        for (column, definition) in table.definition.columns.enumerated() {
            if definition.collection != .none || definition.type == .link || definition.type == .mixed { continue }
            do throws(EngineError) {
                try copy.set(try table.value(column, at: location), column, of: key)
            } catch { losses.append("\(name(table, location, column)): \(error.damage)") }
        }
        return key
    }

    // MARK: Links and collections

    private mutating func copyLinks(_ table: Table) throws(EngineError) {
        guard let copy = target.table(named: table.definition.name) else { return }
        let columns = table.definition.columns.indices.filter {
            let column = table.definition.columns[$0]
            return column.collection != .none || column.type == .link || column.type == .mixed
        }
        if columns.isEmpty { return }
        var losses: [String] = []
        try table.forEachReadableGroup(
            { group throws(EngineError) in
                for row in 0..<group.pointee.count {
                    let location = RowLocation(group: group, row: row)
                    guard let key = keys[table.definition.key]?[location.key] else { continue }
                    for column in columns {
                        do throws(EngineError) {
                            try copyMany(column, location, table, copy, key, &losses)
                        } catch { losses.append("\(name(table, location, column)): \(error.damage)") }
                    }
                }
            }, lost: { _ in })
        for loss in losses { report.lose(loss) }
    }

    private mutating func copyMany(
        _ column: Int, _ location: RowLocation, _ table: Table, _ copy: Table, _ key: ObjectKey,
        _ losses: inout [String]
    ) throws(EngineError) {
        let definition = table.definition.columns[column]
        var lost = 0
        var taken = 0
        func moved(_ value: Value) -> Value {
            let new = self.moved(value, definition, &lost)
            guard copy.ownsTargets(of: column), case .link(let target) = new, let owned = definition.target,
                !self.owned[owned, default: []].insert(target).inserted
            else { return new }
            taken += 1
            return .null
        }
        switch definition.collection {
        case .none:
            try copy.set(moved(try table.value(column, at: location)), column, of: key)
        case .list:
            let values = try table.listValues(column, at: location).map { ($0, moved($0)) }
                .filter { $0.0 == .null || $0.1 != .null || definition.type != .link }.map(\.1)
            if !values.isEmpty { try copy.listInsert(values, column, of: key, at: 0) }
        case .set:
            for value in try table.listValues(column, at: location) {
                let new = moved(value)
                if value == .null || new != .null { _ = try copy.setInsert(new, column, of: key) }
            }
        case .dictionary:
            var entries: [DictionaryEntry] = []
            try table.forEachDictionaryLeaf(column, location) { leaf in
                for i in 0..<leaf.keys.count {
                    guard case .string(let name) = leaf.keys.value(i) else { continue }
                    entries.append(DictionaryEntry(key: name, value: leaf.values.value(i)))
                }
                return true
            }
            for entry in entries { try copy.dictionarySet(entry.key, moved(entry.value), column, of: key) }
        }
        if taken > 0 {
            losses.append("\(name(table, location, column)): \(taken) embedded objects that have another owner")
        }
        if lost > 0 { losses.append("\(name(table, location, column)): \(lost) links to objects that are lost") }
    }

    /// The value with its links redirected to the new objects.
    private func moved(_ value: Value, _ column: ColumnDefinition, _ lost: inout Int) -> Value {
        switch value {
        case .link(let key):
            if key == .none { return .null }
            if let new = column.target.flatMap({ keys[$0]?[key] }) { return .link(new) }
            lost += 1
            return .null
        case .typedLink(let table, let key):
            if let new = keys[table]?[key],
                let name = source.table(table)?.definition.name, let there = target.table(named: name)
            {
                return .typedLink(there.definition.key, new)
            }
            lost += 1
            return .null
        case .list(let values):
            return .list(values.map { moved($0, column, &lost) })
        case .dictionary(let entries):
            return .dictionary(
                entries.map { DictionaryEntry(key: $0.key, value: moved($0.value, column, &lost)) })
        default: return value
        }
    }

    private func name(_ table: Table, _ location: RowLocation, _ column: Int? = nil) -> String {
        let property = column.map { "." + table.definition.columns[$0].name } ?? ""
        return "\(table.definition.name)\(property) of object \(location.key.rawValue)"
    }
}
