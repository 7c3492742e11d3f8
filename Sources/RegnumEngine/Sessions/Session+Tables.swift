// SPDX-License-Identifier: Apache-2.0
// Operations on all tables of a session: lookup by key, and which columns link to which table. Their cost depends on
// counts that the file states, so nothing here visits every table once per table.

/// A column of a table, by index.
typealias LinkOrigin = (table: TableKey, column: Int)

extension Session {
    package func table(_ key: TableKey) -> Table? {
        let index = Int(key.rawValue) - 1
        if index >= 0, index < tables.count, tables[index].definition.key == key { return tables[index] }
        var (low, high) = (0, tables.count)
        while low < high {
            let middle = (low + high) / 2
            if tables[middle].definition.key < key { low = middle + 1 } else { high = middle }
        }
        return low < tables.count && tables[low].definition.key == key ? tables[low] : nil
    }

    /// In a write: writes back modified collections of tables with a content index or backlinks, which may be queried
    /// only afterwards. Rows may move: call this before a query reads its first row.
    package func writeBackIndexed() throws(EngineError) {
        guard state.pointee.isWriting else { return }
        for table in tables { try table.flushIndexedCollections() }
    }

    /// Gives each table the list of columns that link to it.
    func resolveOrigins() {
        let (links, mixed) = columnsWithLinks()
        for table in tables { table.resolveOrigins(links[table.definition.key] ?? [], mixed) }
    }

    /// Returns the link columns grouped by target table, and the columns of mixed values, both in table order.
    private func columnsWithLinks() -> (links: [TableKey: [LinkOrigin]], mixed: [LinkOrigin]) {
        var links: [TableKey: [LinkOrigin]] = [:]
        var mixed: [LinkOrigin] = []
        for table in tables {
            for (i, column) in table.definition.columns.enumerated() where column.hasBacklinks {
                if column.type == .mixed {
                    mixed.append((table.definition.key, i))
                } else if let target = column.target {
                    links[target, default: []].append((table.definition.key, i))
                }
            }
        }
        return (links, mixed)
    }
}

extension SchemaBlock {
    /// Throws if the number of link targets times the number of mixed columns would take more memory than any real
    /// schema needs.
    func checkOrigins() throws(EngineError) {
        var targets: Set<TableKey> = []
        var mixed = 0
        for table in tables {
            for column in table.columns {
                if column.type == .mixed { mixed += 1 } else if let target = column.target { targets.insert(target) }
            }
        }
        let (product, overflow) = targets.count.multipliedReportingOverflow(by: mixed)
        guard !overflow, product <= 1 << 24 else {
            throw corrupted("a schema has too many link targets and mixed columns")
        }
    }
}

/// The trees of a table's record; looks one up without scanning all of them for each column.
struct TreeRecords {
    private let trees: [TreeRecord]
    /// Nil if there are so few trees that a linear search is faster than a dictionary.
    private let places: [UInt64: Int]?

    init(_ record: TableRecord) {
        trees = record.trees
        if record.trees.count <= 32 {
            self.places = nil
            return
        }
        var found: [UInt64: Int] = [:]
        for (i, tree) in record.trees.enumerated() {
            let word = Self.word(tree.column, tree.role)
            if found[word] == nil { found[word] = i }
        }
        self.places = found
    }

    private static func word(_ column: ColumnKey, _ role: TreeRole) -> UInt64 {
        UInt64(column.rawValue) << 32 | UInt64(role.rawValue)
    }

    func first(_ column: ColumnKey, _ role: TreeRole) -> TreeRecord? {
        if let places { return places[Self.word(column, role)].map { trees[$0] } }
        return trees.first { $0.column == column && $0.role == role }
    }
}
