// SPDX-License-Identifier: Apache-2.0
// The tables of a session as a whole: found by key, and who leads where. What a file says of them decides how long this
// takes, so nothing here looks at all tables for each.

/// A column of a table.
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

    /// In a write: writes back the collections that are being changed of tables with an index of contents or
    /// backlinks, which are asked only then. Rows may move: to be called before a query looks at the first one.
    package func writeBackIndexed() throws(EngineError) {
        guard state.pointee.isWriting else { return }
        for table in tables { try table.flushIndexedCollections() }
    }

    /// Tells every table which columns lead to it.
    func resolveOrigins() {
        let (links, mixed) = columnsWithLinks()
        for table in tables { table.resolveOrigins(links[table.definition.key] ?? [], mixed) }
    }

    /// Columns of links by the table that they lead to, and columns of mixed values, in order.
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
    /// Throws where tables that are linked to, times columns of mixed values, would take more memory than any program's
    /// classes need.
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
            throw corrupted("a schema has more tables and columns than can be told apart")
        }
    }
}

/// The trees of a table's record, found without a look at all of them for each column.
struct TreeRecords {
    private let trees: [TreeRecord]
    /// Nil where there are so few that a dictionary takes longer.
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
