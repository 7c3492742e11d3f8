// SPDX-License-Identifier: Apache-2.0
// Clearing the links that lead to objects that are about to be deleted. The backlink tree says which objects hold them,
// and how many each; each value and each collection that holds some is passed over once.

/// Where the element lay that was cleared out of a list last.
struct LastCleared {
    var column: Int
    var key: ObjectKey
    var index: Int
}

extension Table {
    /// Clears the links of a column of some table that lead to objects of this one, whose keys ascend. Objects of that
    /// table that are in `deleted` keep theirs, because they go too. Rows that lose their owner stay. O(k log n), and the
    /// values and collections that hold such links.
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

    /// Clears the links to the targets, which are `links`; the backlink tree knows them no more.
    private func clearLinks(
        _ column: Int, to targets: WordSet, _ links: Int, of key: ObjectKey
    ) throws(EngineError) {
        if definition.columns[column].collection == .none {
            let value = try value(column, of: key).clearingLinks(to: targets)
            return try replace(value, column, of: key, withBacklinks: false)
        }
        let open = try open(column, key)
        try session.change { () throws(EngineError) in
            if links == 1, try clearNearLast(open, targets) { return }
            var pass = ElementPass(
                targets: targets, linksLeft: links, kind: definition.columns[column].collection,
                blocksLeft: ElementTree.blockLimit(session.space))
            try open.clear(&pass)
            if let first = pass.firstCleared { lastCleared = LastCleared(column: column, key: key, index: first) }
            session.changeCount &+= UInt64(max(pass.clearedCount, 1))
        }
    }

    /// Programs delete the objects of a list one by one, from its beginning or its end: the next one lies beside the last.
    private func clearNearLast(_ open: OpenCollection, _ targets: WordSet) throws(EngineError) -> Bool {
        guard let last = lastCleared, last.key == open.key, last.column == open.column,
            definition.columns[open.column].collection == .list
        else { return false }
        for index in [last.index, last.index - 1] where index >= 0 && index < open.count {
            guard try open.value(index).isLink(to: targets) else { continue }
            try open.remove(index..<index + 1) { _ in }
            lastCleared?.index = index
            session.changeCount &+= 1
            return true
        }
        return false
    }
}
