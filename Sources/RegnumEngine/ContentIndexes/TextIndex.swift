// SPDX-License-Identifier: Apache-2.0
// The full-text index of one column: a tree of bytes with one entry for each word of each object's text, and one for
// each text that has words.
//
//   value         key
//   folded word   object key << 16 | position of the word, from 0; at most 65,535
//   null          object key << 16 | number of words; at most 65,535
//
// So the entries of a word are adjacent, ordered by object and position, which is all that word search, phrase search
// and ranking need. The text of a list is that of its elements; one position is left free between two of them.

import RegnumSystem

enum TextIndex {
    static func entryKey(_ key: UInt64, _ place: Int) -> UInt64 { key << 16 | UInt64(min(place, TextWords.lastPlace)) }

    /// Calls `body` with each word of an object's stored text and its position.
    static func forEachWord(
        _ location: RowLocation, _ column: Int, _ table: Table,
        _ body: (UnsafeRawBufferPointer, Int) throws(EngineError) -> Void
    ) throws(EngineError) {
        var place = 0
        let view = location.group.columns[column]
        if table.definition.columns[column].collection == .none {
            if view.isNull(location.row) { return }
            var bytes = view.bytes(location.row)
            if view.isBlob(location.row) { bytes = try table.blob(bytes) }
            try TextWords.forEach(in: bytes) { (word, _) throws(EngineError) in
                try body(word, place)
                place += 1
                return true
            }
            return
        }
        let tree = table.elementTree(column)
        _ = try tree.forEachLeaf(try table.storedCollection(column, location)) { leaf throws(EngineError) in
            guard case .stored(let stored) = leaf else { preconditionFailure("a stored collection that has changed") }
            for i in 0..<stored.values.count where !stored.values.isNull(i) {
                let before = place
                try TextWords.forEach(in: stored.values.bytes(i)) { (word, _) throws(EngineError) in
                    try body(word, place)
                    place += 1
                    return true
                }
                if place > before { place += 1 }
            }
            return true
        }
    }
}

/// A search term. Words are folded, as by `TextWords`.
package enum TextTerm: Sendable, Hashable {
    case word([UInt8])
    /// All words with this prefix.
    case prefix([UInt8])
    /// Consecutive words; the last one is a prefix if `isOpen`.
    case phrase([[UInt8]], isOpen: Bool)
}

extension Table {
    package func hasTextIndex(_ column: Int) -> Bool {
        contentIndexes[column] != nil && definition.columns[column].type == .string
    }

    func textTree(_ column: Int) throws(EngineError) -> IndexTree {
        guard let index = contentIndexes[column] else { preconditionFailure("no full-text index") }
        try flushOpenCollections()
        return index.tree
    }

    /// Returns an upper bound of the number of objects with the term, usually close to it. O(log n).
    package func textEstimate(_ term: TextTerm, inTextIndexOf column: Int) throws(EngineError) -> Int {
        let tree = try textTree(column)
        switch term {
        case .word(let word):
            return try IndexBytes.borrow(word) { bytes throws(EngineError) in try tree.count(bytes: bytes) }
        case .prefix(let prefix): return try count(inPrefix: prefix, tree)
        case .phrase(let words, let isOpen):
            var least = Int.max
            for (i, word) in words.enumerated() {
                let isPrefix = isOpen && i == words.count - 1
                least = min(least, try textEstimate(isPrefix ? .prefix(word) : .word(word), inTextIndexOf: column))
            }
            return least
        }
    }

    private func count(inPrefix prefix: [UInt8], _ tree: IndexTree) throws(EngineError) -> Int {
        let first = try IndexBytes.borrow(prefix) { bytes throws(EngineError) in try tree.rank(bytes: bytes, key: 0) }
        guard let after = IndexBytes.successor(prefix) else { return Int(clamping: tree.count) - first }
        return try IndexBytes.borrow(after) { bytes throws(EngineError) in try tree.rank(bytes: bytes, key: 0) } - first
    }

    /// Returns the objects whose text has the term, ascending. O(entries of the term).
    package func keys(with term: TextTerm, inTextIndexOf column: Int) throws(EngineError) -> [ObjectKey] {
        guard case .word(let word) = term else { return Self.unique(try textPlaces(term, column)) }
        var keys: [ObjectKey] = []
        var last: UInt64 = 0
        try forEachEntry(word, column) { entry in
            if entry >> 16 != last { keys.append(ObjectKey(entry >> 16)) }
            last = entry >> 16
        }
        return keys
    }

    /// Returns the positions of the term, or of its first word: object key << 16 | position, ascending.
    func textPlaces(_ term: TextTerm, _ column: Int) throws(EngineError) -> [UInt64] {
        switch term {
        case .word(let word):
            var entries: [UInt64] = []
            try forEachEntry(word, column) { entries.append($0) }
            return entries
        case .prefix(let prefix): return try entries(inPrefix: prefix, column)
        case .phrase(let words, let isOpen): return try entries(ofPhrase: words, isOpen: isOpen, column)
        }
    }

    private static func unique(_ entries: [UInt64]) -> [ObjectKey] {
        var keys: [ObjectKey] = []
        for entry in entries where keys.last?.rawValue != entry >> 16 { keys.append(ObjectKey(entry >> 16)) }
        return keys
    }

    private func entries(
        ofPhrase words: [[UInt8]], isOpen: Bool, _ column: Int
    ) throws(EngineError) -> [UInt64] {
        var found: [UInt64]?
        for (i, word) in words.enumerated() {
            let isPrefix = isOpen && i == words.count - 1
            let entries = try textPlaces(isPrefix ? .prefix(word) : .word(word), column)
            guard let before = found else {
                found = entries
                continue
            }
            found = Self.followed(before, by: entries, distance: UInt64(i))
            if found?.isEmpty == true { return [] }
        }
        return found ?? []
    }

    /// Returns those of `starts` that have an entry `distance` positions later. Words beyond the last position count as
    /// adjacent.
    private static func followed(_ starts: [UInt64], by entries: [UInt64], distance: UInt64) -> [UInt64] {
        var kept: [UInt64] = []
        var j = 0
        for start in starts {
            let place = min(start & 0xFFFF + distance, UInt64(TextWords.lastPlace))
            let wanted = start & ~0xFFFF | place
            while j < entries.count, entries[j] < wanted { j += 1 }
            if j < entries.count, entries[j] == wanted { kept.append(start) }
        }
        return kept
    }

    private func entries(inPrefix prefix: [UInt8], _ column: Int) throws(EngineError) -> [UInt64] {
        let tree = try textTree(column)
        var left = try count(inPrefix: prefix, tree)
        var entries: [UInt64] = []
        // The count may be damaged: allocate only as entries are found.
        entries.reserveCapacity(min(left, 1 << 16))
        var cursor = IndexCursor(tree)
        var isThere = try IndexBytes.seek(&cursor, prefix, key: 0)
        while isThere, left > 0 {
            entries.append(cursor.key)
            left -= 1
            isThere = try cursor.next()
        }
        entries.sort()
        return entries
    }

    /// Calls `body` with each entry of a word, ascending: object key << 16 | position.
    private func forEachEntry(_ word: [UInt8], _ column: Int, _ body: (UInt64) -> Void) throws(EngineError) {
        let tree = try textTree(column)
        try IndexBytes.borrow(word) { bytes throws(EngineError) in
            var left = try tree.count(bytes: bytes)
            var cursor = IndexCursor(tree)
            var isThere = left > 0 ? try cursor.seek(bytes: bytes) : false
            while isThere, left > 0 {
                body(cursor.key)
                left -= 1
                isThere = try cursor.next()
            }
        }
    }

    /// Returns whether an object's text has the term. Prefixes are matched against the object's text; other terms read
    /// only the object's entries. O(log n) and the object's entries.
    package func hasTerm(_ term: TextTerm, _ key: ObjectKey, inTextIndexOf column: Int) throws(EngineError) -> Bool {
        switch term {
        case .word(let word): return try !places(of: word, key, column).isEmpty
        case .prefix(let prefix):
            var found = false
            // First, because it may move the row.
            try flushOpenCollections()
            guard let location = try locate(key) else { return false }
            try TextIndex.forEachWord(location, column, self) { word, _ in
                if word.starts(with: prefix) { found = true }
            }
            return found
        case .phrase(let words, let isOpen):
            var starts: [UInt64]?
            for (i, word) in words.enumerated() {
                let isPrefix = isOpen && i == words.count - 1
                let entries = isPrefix ? try placesOfPrefix(word, key, column) : try places(of: word, key, column)
                starts = starts.map { Self.followed($0, by: entries, distance: UInt64(i)) } ?? entries
                if starts?.isEmpty == true { return false }
            }
            return true
        }
    }

    private func places(of word: [UInt8], _ key: ObjectKey, _ column: Int) throws(EngineError) -> [UInt64] {
        let tree = try textTree(column)
        return try IndexBytes.borrow(word) { bytes throws(EngineError) in
            var entries: [UInt64] = []
            let low = try tree.rank(bytes: bytes, key: key.rawValue << 16)
            var left = try tree.rank(bytes: bytes, key: (key.rawValue + 1) << 16) - low
            var cursor = IndexCursor(tree)
            var isThere = left > 0 ? try cursor.seek(bytes: bytes, key: key.rawValue << 16) : false
            while isThere, left > 0 {
                entries.append(cursor.key)
                left -= 1
                isThere = try cursor.next()
            }
            return entries
        }
    }

    private func placesOfPrefix(_ prefix: [UInt8], _ key: ObjectKey, _ column: Int) throws(EngineError) -> [UInt64] {
        try flushOpenCollections()
        guard let location = try locate(key) else { return [] }
        var entries: [UInt64] = []
        try TextIndex.forEachWord(location, column, self) { word, place in
            if word.starts(with: prefix) { entries.append(TextIndex.entryKey(key.rawValue, place)) }
        }
        return entries
    }
}
