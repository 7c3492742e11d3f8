// SPDX-License-Identifier: Apache-2.0
// Deleting many objects at once: what one object's delete does, in an order that touches each block once.
//
//   1 links that lead to the objects are cleared
//   2 trees of which much goes are passed through once, leaf by leaf; of others each entry is removed on its own
//   3 each row group closes its gaps once
//
// Where very much goes, leaves and groups are packed at once, while they are in the processor's cache.

import RegnumSystem

/// Object keys that lie close together.
struct KeySet {
    private let first: UInt64
    private let words: [UInt64]

    /// Of ascending keys; nil where they lie so far apart that the set would be large.
    init?(_ keys: [UInt64]) {
        guard let first = keys.first, let last = keys.last else { return nil }
        let span = last &- first
        guard span < 64 &* UInt64(keys.count) else { return nil }
        var words = [UInt64](repeating: 0, count: Int(span >> 6) + 1)
        for key in keys {
            let place = key &- first
            words[Int(place >> 6)] |= 1 << (place & 63)
        }
        self.first = first
        self.words = words
    }

    @inline(__always)
    func contains(_ key: UInt64) -> Bool {
        let place = key &- first
        let word = Int(truncatingIfNeeded: place &>> 6)
        guard place &>> 6 < UInt64(words.count) else { return false }
        return words[word] &>> (place & 63) & 1 == 1
    }
}

extension Table {
    /// Fewer are deleted one by one.
    private static let manyCount = 32
    /// One of so many is much: then all leaves and groups are gone through.
    private static let muchOf = 16

    /// Deletes objects that are there, whatever the rules say. O(k log n), of a sixteenth of the table O(n).
    func deletePlainly(_ objects: [ObjectKey]) throws(EngineError) {
        try session.change { () throws(EngineError) in
            if ownsRows || objects.count < Self.manyCount {
                for key in objects where try contains(key) { try deletePlainly(key) }
            } else {
                try deleteMany(objects)
            }
        }
    }

    private func deleteMany(_ objects: [ObjectKey]) throws(EngineError) {
        try flushOpenCollections()
        var keys: [UInt64] = []
        keys.reserveCapacity(objects.count)
        for key in objects where try contains(key) { keys.append(key.rawValue) }
        if zip(keys, keys.dropFirst()).contains(where: { $0 >= $1 }) { keys = Set(keys).sorted() }
        for origin in origins where session.table(origin.table)?.backlinkTrees[origin.column]?.count ?? 0 > 0 {
            for key in keys { try clearLinks(to: ObjectKey(key), from: origin) }
        }
        // Links of these objects to each other: what was cleared of them must not be written into rows that are gone.
        try flushOpenCollections()
        let passed = hasGuards ? try removeInOnePass(keys) : PassedTrees()
        try removeRows(keys, passed)
    }

    /// The columns and constraints whose trees hold nothing of the objects any more.
    private struct PassedTrees {
        var indexes: Set<Int> = []
        var backlinks: Set<Int> = []
        var uniques: Set<Int> = []
    }

    private func removeInOnePass(_ keys: [UInt64]) throws(EngineError) -> PassedTrees {
        var passed = PassedTrees()
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

    /// As many changes as memory is looked at after; and blocks that the next call changes too would be packed again and
    /// again.
    private func isVeryMuch(_ keys: [UInt64]) -> Bool {
        keys.count >= session.database.options.spillLimits.interval && count <= keys.count * Self.muchOf
    }

    private func removeRows(_ keys: [UInt64], _ passed: PassedTrees) throws(EngineError) {
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

    /// What takes a row out of the trees that have not been passed; nil where there are none.
    private func entriesLeft(
        _ passed: PassedTrees
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
