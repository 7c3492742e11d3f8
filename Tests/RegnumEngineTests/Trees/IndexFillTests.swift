// SPDX-License-Identifier: Apache-2.0
// An index tree that is filled in bulk has the same content as one that is filled one entry at a time.

import RegnumEngine
import Testing

@Suite struct IndexFillTests {
    /// Values that are hard to order: equal ones, equal prefixes, zero bytes at the end, empty and long ones, nulls.
    private static func entries(_ kind: IndexTree.Kind, _ count: Int) -> [ModelEntry] {
        var random = SeededNumbers(kind == .fixed ? 5 : 6)
        let numbers: [UInt64] = [0, 1, .max, .max - 1, 1 << 63, 1 << 32]
        let words = ["", "a", "a\0", "a\0\0", "abcdefgh", "abcdefgh\0", "abcdefghijklmnop", "abcdefghijklmnopq"]
        return (1...UInt64(count)).map { key in
            let pick = random.next() % 8
            if pick == 0 { return ModelEntry(isNull: true, key: key) }
            let number = pick < 4 ? numbers[Int(random.next() % 6)] : random.next()
            if kind == .fixed { return ModelEntry(value: number, key: key) }
            var bytes = Array(words[Int(random.next() % 8)].utf8)
            if pick > 4 { bytes += Array("\(number)".utf8) }
            if pick == 7 { bytes += [UInt8](repeating: UInt8(key % 3), count: Int(key % 1200)) }
            return ModelEntry(bytes: bytes, key: key)
        }
    }

    private func fill(_ tree: IndexTree, _ entries: [ModelEntry], limit: Int) throws {
        var fill = IndexFill(tree, expecting: entries.count, limit: limit)
        for entry in entries {
            if entry.isNull {
                try fill.addNull(key: entry.key)
            } else if tree.kind == .fixed {
                try fill.add(value: entry.value, key: entry.key)
            } else {
                try entry.bytes.withUnsafeBytes { try fill.add(bytes: $0, key: entry.key) }
            }
        }
        try fill.enter()
    }

    @Test(
        "A bulk fill, in any number of parts, makes the tree that single inserts make",
        arguments: [IndexTree.Kind.fixed, .bytes], [1, 7, 1000, IndexFill.limit])
    func equal(_ kind: IndexTree.Kind, _ limit: Int) throws {
        let entries = Self.entries(kind, 5000)
        let (home, other) = (try IndexTreeHome(kind), try IndexTreeHome(kind))
        try fill(home.tree, entries, limit: limit)
        for entry in entries { try other.tree.insert(entry) }
        let wanted = try other.tree.entries()
        #expect(wanted.count == entries.count)
        #expect(try home.tree.entries() == wanted)
        #expect(try home.commit())
        try home.reopen()
        #expect(try home.tree.entries() == wanted)
        #expect(home.tree.count == 5000)
        #expect(try home.tree.findings() == [])
    }

    @Test("A bulk fill makes full leaves, and an empty one makes none")
    func full() throws {
        let home = try IndexTreeHome(.fixed)
        var random = SeededNumbers(8)
        try fill(home.tree, (1...100_000).map { ModelEntry(value: random.next(), key: $0) }, limit: IndexFill.limit)
        #expect(try home.commit())
        let statistics = try home.tree.statistics()
        #expect(statistics.leafByteCount * 100 >= statistics.leafCount * 4096 * 98)
        let empty = try IndexTreeHome(.bytes)
        try fill(empty.tree, [], limit: IndexFill.limit)
        #expect(try empty.commit() && empty.root.isNone)
    }
}
