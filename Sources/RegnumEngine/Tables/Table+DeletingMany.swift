// SPDX-License-Identifier: Apache-2.0
// Deletes many objects at once: the same as single deletes, in an order that touches each block once.
//
//   1 links that point to the objects are cleared
//   2 trees that lose many entries are traversed once, leaf by leaf; from others each entry is removed separately
//   3 each row group closes its gaps once
//
// If very many objects are deleted, leaves and groups are packed immediately, while they are in the processor's cache.

import RegnumSystem

extension Session {
    /// Deletes objects with everything they own, regardless of delete rules; ignores objects that do not exist. O(k log
    /// n), or O(n) from a sixteenth of a table on, plus the collections that hold links to the objects.
    func deleteTogether(_ roots: [TableKey: [ObjectKey]]) throws(EngineError) {
        try change { () throws(EngineError) in
            let rows = try withOwned(roots)
            let gone = Dictionary(uniqueKeysWithValues: rows.map { ($0.table.definition.key, WordSet($0.keys)) })
            for (table, keys) in rows {
                for origin in table.origins { try table.clearLinks(to: keys, from: origin, except: gone[origin.table]) }
            }
            // Open collections belong to objects that stay, but rows may be removed only while none is open.
            for (table, _) in rows { try table.flushOpenCollections() }
            for (table, keys) in rows { try table.removeTogether(keys) }
        }
    }

    /// Returns the existing objects and everything they own, transitively: by table, keys ascending.
    private func withOwned(
        _ roots: [TableKey: [ObjectKey]]
    ) throws(EngineError) -> [(table: Table, keys: [UInt64])] {
        var rows: [TableKey: [UInt64]] = [:]
        var owned: [OwnedRow] = []
        for (tableKey, objects) in roots {
            guard let table = table(tableKey) else { continue }
            try table.flushOpenCollections()
            var keys: [UInt64] = []
            keys.reserveCapacity(objects.count)
            for key in objects where try table.contains(key) { keys.append(key.rawValue) }
            if zip(keys, keys.dropFirst()).contains(where: { $0 >= $1 }) { keys = Set(keys).sorted() }
            if table.ownsRows { for key in keys { try table.collectOwned(by: ObjectKey(key), into: &owned) } }
            rows[tableKey] = keys
        }
        if !owned.isEmpty { try add(&owned, to: &rows) }
        var found: [(table: Table, keys: [UInt64])] = []
        for (tableKey, keys) in rows where !keys.isEmpty {
            if let table = table(tableKey) { found.append((table, keys)) }
        }
        return found.sorted { $0.table.definition.key < $1.table.definition.key }
    }

    private func add(
        _ owned: inout [OwnedRow], to rows: inout [TableKey: [UInt64]]
    ) throws(EngineError) {
        var known: [TableKey: Set<UInt64>] = [:]
        while let row = owned.popLast() {
            let tableKey = row.table.definition.key
            if known[tableKey] == nil {
                known[tableKey] = Set(rows[tableKey] ?? [])
                try row.table.flushOpenCollections()
            }
            guard try row.table.contains(row.key), known[tableKey]?.insert(row.key.rawValue).inserted == true
            else { continue }
            try row.table.collectOwned(by: row.key, into: &owned)
        }
        for (tableKey, keys) in known { rows[tableKey] = keys.sorted() }
    }
}

extension Table {
    /// If at least one in this many objects is deleted, all leaves are traversed.
    private static let muchOf = 16

    /// Like `Session.deleteTogether`.
    func deletePlainly(_ objects: [ObjectKey]) throws(EngineError) {
        if objects.count != 1 { return try session.deleteTogether([definition.key: objects]) }
        if try contains(objects[0]) { try deletePlainly(objects[0]) }
    }

    /// Removes rows that no link points to, given by ascending keys.
    fileprivate func removeTogether(_ keys: [UInt64]) throws(EngineError) {
        let passed = hasGuards ? try removeInOnePass(keys) : TraversedTrees()
        try removeRows(keys, passed)
    }

    /// The columns and constraints whose trees no longer have entries of the objects.
    private struct TraversedTrees {
        var indexes: Set<Int> = []
        var backlinks: Set<Int> = []
        var uniques: Set<Int> = []
    }

    private func removeInOnePass(_ keys: [UInt64]) throws(EngineError) -> TraversedTrees {
        var passed = TraversedTrees()
        guard let set = KeySet(keys) else { return passed }
        let limit = keys.count * Self.muchOf
        let packs = isVeryMuch(keys)
        for column in definition.columns.indices {
            if let tree = indexes[column]?.tree, tree.count <= limit {
                try tree.removeAll(set, packing: packs)
                passed.indexes.insert(column)
            }
            if let tree = backlinkTrees[column], tree.count <= limit {
                try tree.settled().removeAll(set, packing: packs)
                passed.backlinks.insert(column)
            }
        }
        for (i, unique) in uniques.enumerated() {
            guard let tree = unique.tree, tree.count <= limit else { continue }
            try tree.removeAll(set, packing: packs)
            passed.uniques.insert(i)
        }
        return passed
    }

    /// True if so many objects are deleted that packing immediately pays off: at least the number of changes between
    /// two memory checks, and a sixteenth of the table. With fewer, the next call would pack the same blocks again.
    private func isVeryMuch(_ keys: [UInt64]) -> Bool {
        keys.count >= session.database.options.spillLimits.interval && count <= keys.count * Self.muchOf
    }

    private func removeRows(_ keys: [UInt64], _ passed: TraversedTrees) throws(EngineError) {
        precondition(openCollections.isEmpty, "a collection of a row that goes is open")
        let other = hasGuards ? entriesLeft(passed) : nil
        let packs = isVeryMuch(keys)
        var rows: [Int] = []
        func close(_ group: DirtyGroup) throws(EngineError) {
            groups.remove(rows, of: group)
            if packs { try groups.sealEarly(group) }
            rows.removeAll(keepingCapacity: true)
        }
        var open: DirtyGroup?
        for key in keys {
            guard let group = try groups.dirtyGroup(for: key) else { throw Self.missing(ObjectKey(key)) }
            if let open, open !== group {
                try close(open)
            }
            open = group
            let location = RowLocation(group: group.view, row: group.view.pointee.row(of: key))
            if let other { try other(location, key) }
            for column in byteColumns { try freeBlob(column, location) }
            guard count > 0 else { throw corrupted("table \(definition.name) has more objects than its record says") }
            rows.append(location.row)
            count -= 1
        }
        if let open { try close(open) }
        session.changeCount &+= UInt64(keys.count)
    }

    /// Returns a closure that removes a row from the trees that have not been traversed; nil if there are none.
    private func entriesLeft(
        _ passed: TraversedTrees
    ) -> ((RowLocation, UInt64) throws(EngineError) -> Void)? {
        let left = definition.columns.indices.filter {
            indexes[$0] != nil && !passed.indexes.contains($0)
                || backlinkTrees[$0] != nil && !passed.backlinks.contains($0) || contentIndexes[$0] != nil
        }
        let constraints = uniques.indices.filter { uniques[$0].tree != nil && !passed.uniques.contains($0) }
        if left.isEmpty && constraints.isEmpty { return nil }
        return { [unowned self] (location, key) throws(EngineError) in
            for i in constraints { try leave(location, key, from: uniques[i]) }
            for column in left {
                try leave(
                    location, key, column: column, index: !passed.indexes.contains(column),
                    backlinks: !passed.backlinks.contains(column))
            }
        }
    }
}
