// SPDX-License-Identifier: Apache-2.0
// Clears the links to objects that are about to be deleted. The backlink tree has the objects that hold such links, and
// the number of links in each; each value and each collection that holds some is traversed once.

/// The positions of the elements last cleared from a few collections; hints only.
struct LastCleared {
    private var places: [(column: Int, key: ObjectKey, index: Int)] = []
    private static let limit = 8

    subscript(column: Int, key: ObjectKey) -> Int? {
        get { places.first { $0.key == key && $0.column == column }?.index }
        set {
            places.removeAll { $0.key == key && $0.column == column }
            if places.count == Self.limit { places.removeFirst() }
            if let newValue { places.append((column, key, newValue)) }
        }
    }
}

extension Table {
    /// Clears the links in a column of some table that point to objects of this one, given by ascending keys. Objects
    /// in `deleted` keep their links, because they are deleted too. Rows that lose their owner stay. O(k log n), plus
    /// the values and collections that hold such links.
    func clearLinks(
        to keys: [UInt64], from origin: LinkOrigin, except deleted: WordSet? = nil
    ) throws(EngineError) {
        guard let table = session.table(origin.table), let tree = table.backlinkTrees[origin.column], tree.count > 0
        else { return }
        let words = keys.map { targetWord(ObjectKey($0), in: table, origin.column) }
        var holders: [UInt64] = []
        for word in words { try tree.removeAll(target: word, into: &holders) }
        if holders.isEmpty { return }
        if words.count > 1 { holders.sort() }
        let targets = WordSet(words)
        var start = 0
        while start < holders.count {
            let holder = holders[start]
            var end = start + 1
            while end < holders.count, holders[end] == holder { end += 1 }
            if !(deleted?.contains(holder) ?? false) {
                try table.clearLinks(origin.column, to: targets, end - start, of: ObjectKey(holder))
            }
            start = end
        }
    }

    /// Clears the links to the targets, `links` in number, which the backlink tree no longer has.
    private func clearLinks(
        _ column: Int, to targets: WordSet, _ links: Int, of key: ObjectKey
    ) throws(EngineError) {
        if definition.columns[column].collection == .none {
            let value = try value(column, of: key).clearingLinks(to: targets)
            return try replace(value, column, of: key, withBacklinks: false)
        }
        let open = try open(column, key)
        try session.change { () throws(EngineError) in
            let left = try clearNearLast(open, targets, links)
            if left == 0 { return }
            var pass = ElementPass(
                targets: targets, linksLeft: left, kind: definition.columns[column].collection,
                blocksLeft: ElementTree.blockLimit(session.space))
            try open.clear(&pass)
            if let first = pass.firstCleared { lastCleared[column, key] = first }
            session.changeCount &+= UInt64(max(pass.clearedCount, 1))
        }
    }

    /// Clears links next to the last cleared element, because programs often delete the objects of a collection one by
    /// one or a few at a time, from its beginning or its end. Returns the number of links left.
    private func clearNearLast(_ open: OpenCollection, _ targets: WordSet, _ links: Int) throws(EngineError) -> Int {
        guard var last = lastCleared[open.column, open.key] else { return links }
        // A dictionary keeps the key of a cleared link.
        let keepsKeys = definition.columns[open.column].collection == .dictionary
        var left = links
        while left > 0 {
            var next: Int?
            for index in [keepsKeys ? last + 1 : last, last - 1] where index >= 0 && index < open.count {
                guard try open.value(index).isLink(to: targets) else { continue }
                next = index
                break
            }
            guard let index = next else { break }
            if keepsKeys { _ = try open.replace(index, .null) } else { try open.remove(index..<index + 1) { _ in } }
            session.changeCount &+= 1
            (last, left) = (index, left - 1)
        }
        if left < links { lastCleared[open.column, open.key] = last }
        return left
    }
}
