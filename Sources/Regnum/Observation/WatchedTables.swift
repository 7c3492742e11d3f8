// SPDX-License-Identifier: Apache-2.0
// Maps each table to the observers of a Realm that watch it, so that a commit costs nothing for all others.

internal import RegnumEngine

/// The observers that watch each table, as indices into the entries; valid for one schema.
struct WatchedTables {
    let schema: BlockRef
    private var ofTable: [TableKey: [Int]] = [:]
    /// The observers that watch all tables.
    private var ofAll: [Int] = []

    init(schema: BlockRef) { self.schema = schema }

    /// Adds an observer. Indices must be added in ascending order. `tables`: nil for all.
    mutating func add(_ place: Int, _ tables: Set<TableKey>?) {
        guard let tables else { return ofAll.append(place) }
        for table in tables { ofTable[table, default: []].append(place) }
    }

    /// True if an observer watches the table.
    func contains(_ table: TableKey) -> Bool { !ofAll.isEmpty || ofTable[table] != nil }

    /// Returns the indices of the observers that watch one of the tables, ascending. The cost depends on the number of
    /// these observers only.
    func places(of changed: some Collection<TableKey>) -> [Int] {
        guard let first = changed.first else { return [] }
        if changed.count == 1, ofAll.isEmpty { return ofTable[first] ?? [] }
        return changed.reduce(into: Set(ofAll)) { $0.formUnion(ofTable[$1] ?? []) }.sorted()
    }

    /// All watched tables; nil if an observer watches all tables.
    var tables: Set<TableKey>? { ofAll.isEmpty ? Set(ofTable.keys) : nil }
}
