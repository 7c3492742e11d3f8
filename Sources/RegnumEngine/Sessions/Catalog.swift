// SPDX-License-Identifier: Apache-2.0
// The root of a version: its tables and the blocks where their trees begin. Names and columns change rarely, so they
// have a schema block of their own.
//
//   catalog, after the block header (all integers little endian, packed)
//     ref of the schema · u64 schema version (all ones = never set) · u64 next table key · u32 tables · per table:
//       u32 table key · u32 trees · u64 next object key · u64 objects · ref of the row groups · per tree:
//         u32 column key · u32 role (1 index, 2 backlinks, 3 content index, 4 unique) · u64 entries · ref
//
//   schema, after the block header
//     u32 features · per feature: u8 1 = required · string
//     u32 tables · per table: u32 key · u32 next column key · u16 flags (1 embedded) · string name · u16 columns ·
//       per column: u32 key · u8 type · u8 collection · u8 flags (1 nullable, 2 indexed, 4 primary key, 8 hidden,
//         16 content index) · u8 delete rules (bits 0-1 when the object that holds the link is deleted, bits 2-3 when
//         the object it links to is: 0 nullify, 1 cascade, 2 deny) · u32 target table (all ones = none) · string name
//     with the feature "unique": u32 constraints · per constraint: u32 table key · u32 key, from the same number space
//       as the table's column keys · u16 columns · u32 column key each
//   string: u16 byte count, UTF-8
//
// A unique tree has an entry for each object that has no null in the columns of its constraint: the column values one
// after another, and the object's key. Bool, Int and links take 8 bytes, big endian; Date, ObjectId and UUID are
// encoded as in an index; String is a u32 byte count (little endian) and UTF-8. A constraint on one indexed column has
// no tree of its own: it uses the index.

package struct Feature: Sendable, Equatable {
    package var name: String
    /// A reader that does not know a required feature must not open the file.
    package var isRequired: Bool
    package init(name: String, isRequired: Bool) {
        self.name = name
        self.isRequired = isRequired
    }
}

extension Feature {
    /// Unique constraints, which writers must enforce.
    package static let unique = Feature(name: "unique", isRequired: true)
    /// Delete rules, which writers must apply.
    package static let deleteRules = Feature(name: "delete rules", isRequired: true)
    /// Full-text and geospatial indexes, which writers must maintain.
    package static let contentIndexes = Feature(name: "content indexes", isRequired: true)
    /// Older versions are kept, and commits must maintain the record of them.
    package static let history = Feature(name: "history", isRequired: true)
    /// The features that this version of the library supports.
    package static let known = [unique, deleteRules, contentIndexes, history]
}

package enum TreeRole: UInt32, Sendable { case index = 1, backlinks = 2, content = 3, unique = 4 }

package struct TreeRecord: Sendable, Equatable {
    package var column: ColumnKey
    package var role: TreeRole
    package var count: UInt64
    package var root: BlockRef
}

package struct TableRecord: Sendable, Equatable {
    package var key: TableKey
    package var nextObjectKey: UInt64
    package var count: UInt64
    package var root: BlockRef
    package var trees: [TreeRecord]
}

package struct SchemaBlock: Sendable, Equatable {
    package var features: [Feature] = []
    package var tables: [TableDefinition] = []

    package init() {}

    /// True if the file keeps older versions.
    package var keepsHistory: Bool {
        get { features.contains(.history) }
        set {
            features.removeAll { $0 == .history }
            if newValue { features.append(.history) }
        }
    }

    /// Replaces the features known to this version with those that the tables use; keeps unknown ones, and the history.
    package mutating func settleFeatures() {
        let keepsHistory = keepsHistory
        defer { self.keepsHistory = keepsHistory }
        features.removeAll { Feature.known.contains($0) }
        if tables.contains(where: { !$0.uniques.isEmpty }) { features.append(.unique) }
        let hasRules = tables.contains { table in
            table.columns.contains { $0.deleteRule != .nullify || $0.originRule != .nullify }
        }
        if hasRules { features.append(.deleteRules) }
        if tables.contains(where: { $0.columns.contains(where: \.isContentIndexed) }) {
            features.append(.contentIndexes)
        }
    }

    /// Throws `.unsupported` if the file requires a feature that this version does not know.
    package func requireKnownFeatures(_ path: String) throws(EngineError) {
        for feature in features where feature.isRequired && !Feature.known.contains(feature) {
            throw .unsupported(path: path, feature: feature.name)
        }
    }

    package func write(_ writer: inout ByteWriter) {
        writer.integer(UInt32(features.count))
        for feature in features {
            writer.integer(UInt8(feature.isRequired ? 1 : 0))
            writer.string(feature.name)
        }
        writer.integer(UInt32(tables.count))
        for table in tables {
            writer.integer(table.key.rawValue)
            writer.integer(table.nextColumnKey)
            writer.integer(UInt16(table.isEmbedded ? 1 : 0))
            writer.string(table.name)
            writer.integer(UInt16(table.columns.count))
            for column in table.columns {
                writer.integer(column.key.rawValue)
                writer.integer(column.type.rawValue)
                writer.integer(column.collection.rawValue)
                writer.integer(
                    UInt8(
                        (column.isNullable ? 1 : 0) | (column.isIndexed ? 2 : 0) | (column.isPrimaryKey ? 4 : 0)
                            | (column.isHidden ? 8 : 0) | (column.isContentIndexed ? 16 : 0)))
                writer.integer(column.deleteRule.rawValue | column.originRule.rawValue << 2)
                writer.integer(column.target?.rawValue ?? .max)
                writer.string(column.name)
            }
        }
        if features.contains(.unique) { writeUniques(&writer) }
    }

    private func writeUniques(_ writer: inout ByteWriter) {
        writer.integer(UInt32(tables.reduce(0) { $0 + $1.uniques.count }))
        for table in tables {
            for unique in table.uniques {
                writer.integer(table.key.rawValue)
                writer.integer(unique.key.rawValue)
                writer.integer(UInt16(unique.columns.count))
                for column in unique.columns { writer.integer(column.rawValue) }
            }
        }
    }

    package static func read(_ ref: BlockRef, _ bytes: UnsafeRawPointer) throws(EngineError) -> SchemaBlock {
        guard ref.kind == BlockKind.schema.rawValue else {
            throw corrupted("the schema is a block of another kind", page: ref.page)
        }
        var reader = ByteReader(bytes, from: BlockHeader.byteCount, to: ref.byteCount, page: ref.page)
        var schema = SchemaBlock()
        let features = Int(try reader.integer(UInt32.self))
        try reader.require(features, of: 3)
        for _ in 0..<features {
            let required = try reader.integer(UInt8.self)
            schema.features.append(Feature(name: try reader.string(), isRequired: required & 1 != 0))
        }
        let tables = Int(try reader.integer(UInt32.self))
        try reader.require(tables, of: 14)
        for _ in 0..<tables { schema.tables.append(try table(&reader, page: ref.page)) }
        if schema.features.contains(.unique) { try schema.readUniques(&reader, page: ref.page) }
        // A newer version may allow what this one forbids; such a file is refused because of its feature, not as
        // damaged.
        let isKnown = schema.features.allSatisfy { !$0.isRequired || Feature.known.contains($0) }
        if isKnown { try schema.check(page: ref.page) }
        return schema
    }

    /// Throws if a writer could not have produced these tables. Code that uses them does not check again.
    private func check(page: UInt64) throws(EngineError) {
        let keys = Set(tables.map(\.key))
        var names: Set<String> = []
        var last = TableKey(0)
        for table in tables {
            guard table.key > last, names.insert(table.name).inserted else {
                throw corrupted("two tables share a key or a name", page: page)
            }
            last = table.key
            try table.check(among: keys, page: page)
        }
    }

    private mutating func readUniques(_ reader: inout ByteReader, page: UInt64) throws(EngineError) {
        var places: [TableKey: Int] = [:]
        for (i, table) in tables.enumerated() { places[table.key] = i }
        var columnKeys: [TableKey: Set<ColumnKey>] = [:]
        let count = Int(try reader.integer(UInt32.self))
        try reader.require(count, of: 14)
        for _ in 0..<count {
            let key = TableKey(try reader.integer(UInt32.self))
            var unique = UniqueDefinition(key: ColumnKey(try reader.integer(UInt32.self)), columns: [])
            let columns = Int(try reader.integer(UInt16.self))
            try reader.require(columns, of: 4)
            for _ in 0..<columns { unique.columns.append(ColumnKey(try reader.integer(UInt32.self))) }
            guard let place = places[key] else {
                throw corrupted("a unique constraint of no table", page: page)
            }
            // Computed once per table: there may be as many constraints as columns.
            let allowed = columnKeys[key] ?? tables[place].uniqueColumns
            columnKeys[key] = allowed
            guard !unique.columns.isEmpty, Set(unique.columns).count == columns,
                unique.columns.allSatisfy({ allowed.contains($0) })
            else { throw corrupted("a unique constraint of columns that it cannot have", page: page) }
            tables[place].uniques.append(unique)
        }
    }

    private static func table(_ reader: inout ByteReader, page: UInt64) throws(EngineError) -> TableDefinition {
        var table = TableDefinition(
            key: TableKey(try reader.integer(UInt32.self)), name: "", isEmbedded: false, columns: [],
            nextColumnKey: try reader.integer(UInt32.self))
        table.isEmbedded = try reader.integer(UInt16.self) & 1 != 0
        table.name = try reader.string()
        let columns = Int(try reader.integer(UInt16.self))
        try reader.require(columns, of: 14)
        for _ in 0..<columns {
            let key = ColumnKey(try reader.integer(UInt32.self))
            let type = ColumnType(rawValue: try reader.integer(UInt8.self))
            let collection = CollectionKind(rawValue: try reader.integer(UInt8.self))
            let flags = try reader.integer(UInt8.self)
            let rules = try reader.integer(UInt8.self)
            let target = try reader.integer(UInt32.self)
            let name = try reader.string()
            guard let type, let collection else { throw corrupted("a column has an unknown type", page: page) }
            guard let deleteRule = LinkRule(rawValue: rules & 3), let originRule = LinkRule(rawValue: rules >> 2),
                rules == 0 || type == .link
            else { throw corrupted("a column has an unknown delete rule", page: page) }
            let hasContents =
                type == .string && collection == .none
                || collection == .list && (type == .string || type == .double)
            var column = ColumnDefinition(
                key: key, name: name, type: type, collection: collection, isNullable: flags & 1 != 0,
                isIndexed: flags & 2 != 0, isPrimaryKey: flags & 4 != 0, isHidden: flags & 8 != 0,
                isContentIndexed: hasContents && flags & 16 != 0, target: target == .max ? nil : TableKey(target))
            column.deleteRule = deleteRule
            column.originRule = originRule
            table.columns.append(column)
        }
        return table
    }
}

extension TableDefinition {
    /// Upper bound (exclusive) for table and column keys, so that there is always a next key.
    fileprivate static let keyLimit: UInt32 = 1 << 31

    /// Throws if two columns share a key or a name, or a column's definition is impossible.
    fileprivate func check(among tables: Set<TableKey>, page: UInt64) throws(EngineError) {
        guard nextColumnKey < Self.keyLimit else { throw corrupted("a table has no next column key", page: page) }
        var keys: Set<ColumnKey> = []
        var names: Set<String> = []
        for column in columns {
            guard column.key.rawValue < nextColumnKey, keys.insert(column.key).inserted else {
                throw corrupted("a column has a key that is not its own", page: page)
            }
            guard column.isHidden || names.insert(column.name).inserted else {
                throw corrupted("two columns share a name", page: page)
            }
            guard !column.isIndexed && !column.isPrimaryKey || column.mayBeIndexed else {
                throw corrupted("a column that cannot have an index has one", page: page)
            }
            guard column.type != .link || column.target.map({ tables.contains($0) }) ?? false else {
                throw corrupted("a column links to no table", page: page)
            }
        }
        for unique in uniques {
            guard unique.key.rawValue < nextColumnKey, keys.insert(unique.key).inserted else {
                throw corrupted("a unique constraint has a key that is not its own", page: page)
            }
        }
    }

    /// The columns that a unique constraint may name.
    fileprivate var uniqueColumns: Set<ColumnKey> {
        Set(columns.filter(\.mayBeUnique).map(\.key))
    }
}

package struct Catalog: Sendable, Equatable {
    package static let neverSet = UInt64.max
    package var schema = BlockRef.none
    package var schemaVersion = Catalog.neverSet
    package var nextTableKey: UInt32 = 1
    package var tables: [TableRecord] = []

    package init() {}

    /// The number of objects of all tables. O(tables).
    var objectCount: Int { tables.reduce(0) { $0 &+ Int(truncatingIfNeeded: $1.count) } }

    package func write(_ writer: inout ByteWriter) {
        writer.ref(schema)
        writer.integer(schemaVersion)
        writer.integer(UInt64(nextTableKey))
        writer.integer(UInt32(tables.count))
        for table in tables {
            writer.integer(table.key.rawValue)
            writer.integer(UInt32(table.trees.count))
            writer.integer(table.nextObjectKey)
            writer.integer(table.count)
            writer.ref(table.root)
            for tree in table.trees {
                writer.integer(tree.column.rawValue)
                writer.integer(tree.role.rawValue)
                writer.integer(tree.count)
                writer.ref(tree.root)
            }
        }
    }

    package static func read(_ ref: BlockRef, _ bytes: UnsafeRawPointer) throws(EngineError) -> Catalog {
        guard ref.kind == BlockKind.catalog.rawValue else {
            throw corrupted("the catalog is a block of another kind", page: ref.page)
        }
        var reader = ByteReader(bytes, from: BlockHeader.byteCount, to: ref.byteCount, page: ref.page)
        var catalog = Catalog()
        catalog.schema = try reader.ref()
        catalog.schemaVersion = try reader.integer(UInt64.self)
        let nextTableKey = try reader.integer(UInt64.self)
        guard nextTableKey < UInt64(TableDefinition.keyLimit) else {
            throw corrupted("the catalog has no next table key", page: ref.page)
        }
        catalog.nextTableKey = UInt32(nextTableKey)
        let tables = Int(try reader.integer(UInt32.self))
        try reader.require(tables, of: 64)
        var last = TableKey(0)
        for _ in 0..<tables {
            let key = TableKey(try reader.integer(UInt32.self))
            guard key > last, key.rawValue < catalog.nextTableKey else {
                throw corrupted("a table has a key that is not its own", page: ref.page)
            }
            last = key
            let trees = Int(try reader.integer(UInt32.self))
            var table = TableRecord(
                key: key, nextObjectKey: try reader.integer(UInt64.self), count: try reader.integer(UInt64.self),
                root: try reader.ref(), trees: [])
            try reader.require(trees, of: 56)
            for _ in 0..<trees {
                let column = ColumnKey(try reader.integer(UInt32.self))
                guard let role = TreeRole(rawValue: try reader.integer(UInt32.self)) else {
                    throw corrupted("a tree has an unknown role", page: ref.page)
                }
                let count = try reader.integer(UInt64.self)
                guard count <= FormatLimits.treeEntryCount else {
                    throw corrupted("a tree has impossible counts", page: ref.page)
                }
                table.trees.append(TreeRecord(column: column, role: role, count: count, root: try reader.ref()))
            }
            guard table.nextObjectKey >= 1, table.nextObjectKey < 1 << 62, table.count < 1 << 56 else {
                throw corrupted("a table has impossible counts", page: ref.page)
            }
            catalog.tables.append(table)
        }
        return catalog
    }
    /// Throws if a table or an index claims more objects than a file of `highWater` pages can hold, because memory is
    /// allocated for the claimed count.
    func checkCounts(highWater: UInt64) throws(EngineError) {
        let limit = UInt64(FormatLimits.rowsPerGroup)
        for table in tables {
            guard table.count / limit < highWater else {
                throw corrupted("a table has more objects than the file can hold")
            }
            for tree in table.trees where tree.role == .index && tree.count / limit >= highWater {
                throw corrupted("an index has more entries than the file can hold objects")
            }
        }
    }
}
