// SPDX-License-Identifier: Apache-2.0
// Which observers of a Realm a commit concerns, so that it costs nothing for the others.

internal import RegnumEngine

/// Which observers look at which tables, by their places among the entries and the schema of then.
struct WatchedTables {
    let schema: BlockRef
    private var ofTable: [TableKey: [Int]] = [:]
    /// Of those who look at all tables.
    private var ofAll: [Int] = []

    init(schema: BlockRef) { self.schema = schema }

    /// Places come ascending. `tables`: nil for all.
    mutating func add(_ place: Int, _ tables: Set<TableKey>?) {
        guard let tables else { return ofAll.append(place) }
        for table in tables { ofTable[table, default: []].append(place) }
    }

    /// True where somebody looks at the table.
    func contains(_ table: TableKey) -> Bool { !ofAll.isEmpty || ofTable[table] != nil }

    /// The places of those who look at one of the tables, ascending. Costs what they are, not what the others are.
    func places(of changed: some Collection<TableKey>) -> [Int] {
        guard let first = changed.first else { return [] }
        if changed.count == 1, ofAll.isEmpty { return ofTable[first] ?? [] }
        return changed.reduce(into: Set(ofAll)) { $0.formUnion(ofTable[$1] ?? []) }.sorted()
    }

    /// Nil where somebody looks at all.
    var tables: Set<TableKey>? { ofAll.isEmpty ? Set(ofTable.keys) : nil }
}
