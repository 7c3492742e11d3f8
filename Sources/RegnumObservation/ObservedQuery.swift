// SPDX-License-Identifier: Apache-2.0
// The observed objects of a table: what a query found in the version that observers were told of last, and how it
// differs now. Where a change cannot have moved anything, or each object decides for itself, only changed objects
// are looked at; else the query runs again and the two orders are compared.

package import RegnumEngine
package import RegnumQuery

/// Confined to the session's thread.
package final class ObservedQuery {
    private let table: TableKey
    /// Nil for all objects of the table, in key order.
    private let query: ObjectQuery?
    private let queryRegion: QueryRegion?
    /// What was found last; of a whole table nothing is kept.
    private var keys: [ObjectKey] = []

    /// Runs the query on the session's version of now.
    package init(table: TableKey, query: ObjectQuery?) throws(EngineError) {
        self.table = table
        self.query = query
        queryRegion = query.map { QueryRegion($0) }
        if let query { keys = try query.keys() }
    }

    /// What a delivery tells, and moves on to the newer version. `modified` are the objects that count as changed.
    package func advance(_ walk: RegionWalk, modified: Set<ObjectKey>) throws(EngineError) -> CollectionChanges {
        let changes = walk.changes[table] ?? TableChanges(table: table)
        guard let query, let region = queryRegion else { return try advanceTable(walk, changes, modified) }
        if region.otherTables.contains(where: { walk.changes[$0] != nil }) || mayReorder(changes, region, query) {
            let old = keys
            keys = try query.keys()
            return CollectionDiff.between(old, keys) { modified.contains($0) }
        }
        if region.isPlainFilter { return try advanceFilter(changes, query, region, modified) }
        // Nothing has moved: only where the modified ones are is to be told.
        var result = CollectionChanges()
        if !modified.isEmpty {
            for (i, key) in keys.enumerated() where modified.contains(key) { result.modifications.append(i) }
        }
        return result
    }

    /// True where the query must run again.
    private func mayReorder(_ changes: TableChanges, _ region: QueryRegion, _ query: ObjectQuery) -> Bool {
        if region.isPlainFilter { return false }
        if !changes.inserted.isEmpty || !changes.deleted.isEmpty { return true }
        return changes.columns.contains { region.dependsOn($0) }
    }

    private func advanceTable(
        _ walk: RegionWalk, _ changes: TableChanges, _ modified: Set<ObjectKey>
    ) throws(EngineError) -> CollectionChanges {
        var result = CollectionChanges()
        guard let before = walk.older.table(table), let after = walk.newer.table(table) else { return result }
        for key in changes.deleted { if let at = try before.position(of: key) { result.deletions.append(at) } }
        for key in changes.inserted { if let at = try after.position(of: key) { result.insertions.append(at) } }
        for key in modified.sorted() {
            if let at = try before.position(of: key) { result.modifications.append(at) }
        }
        return result
    }

    /// Of an unsorted filter: keys ascend, and each object is in or out by itself.
    private func advanceFilter(
        _ changes: TableChanges, _ query: ObjectQuery, _ region: QueryRegion, _ modified: Set<ObjectKey>
    ) throws(EngineError) -> CollectionChanges {
        var result = CollectionChanges()
        var left: [Int] = []
        var came: [ObjectKey] = []
        var changed = modified
        for key in changes.deleted { if let at = index(of: key) { left.append(at) } }
        for key in changes.inserted where try query.contains(key) { came.append(key) }
        for (key, columns) in zip(changes.modified, changes.columns) where columns.intersects(region.filterColumns) {
            let at = index(of: key)
            let isIn = try query.contains(key)
            if let at, !isIn {
                left.append(at)
                changed.remove(key)
            } else if at == nil, isIn {
                came.append(key)
                changed.remove(key)
            }
        }
        for key in changed { if let at = index(of: key) { result.modifications.append(at) } }
        result.modifications.sort()
        result.deletions = left.sorted()
        came.sort()
        replace(result.deletions, came)
        result.insertions = came.compactMap { index(of: $0) }
        return result
    }

    /// Takes out positions and merges ascending keys in.
    private func replace(_ left: [Int], _ came: [ObjectKey]) {
        if left.isEmpty, came.isEmpty { return }
        if left.count + came.count <= 4 {
            for at in left.reversed() { keys.remove(at: at) }
            for key in came { keys.insert(key, at: lowerBound(key)) }
            return
        }
        var merged: [ObjectKey] = []
        merged.reserveCapacity(keys.count - left.count + came.count)
        var nextLeft = 0
        var next = 0
        for (i, key) in keys.enumerated() {
            if nextLeft < left.count, left[nextLeft] == i {
                nextLeft += 1
                continue
            }
            while next < came.count, came[next] < key {
                merged.append(came[next])
                next += 1
            }
            merged.append(key)
        }
        merged += came[next...]
        keys = merged
    }

    private func index(of key: ObjectKey) -> Int? {
        let at = lowerBound(key)
        return at < keys.count && keys[at] == key ? at : nil
    }

    private func lowerBound(_ key: ObjectKey) -> Int {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
