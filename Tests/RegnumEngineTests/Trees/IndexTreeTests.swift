// SPDX-License-Identifier: Apache-2.0
// Single behaviours of the index tree: fill, sizes, boundaries, long values.

import RegnumEngine
import Testing

@Suite struct IndexTreeTests {
    @Test("Numbers keep their order when encoded", arguments: [Int64.min, -2, -1, 0, 1, .max - 1] as [Int64])
    func encodes(_ value: Int64) {
        #expect(IndexKey.encode(value) < IndexKey.encode(value + 1))
        #expect(IndexKey.decode(IndexKey.encode(value)) == value)
    }

    @Test("An empty tree finds nothing and seals to no block", arguments: [IndexTree.Kind.fixed, .bytes])
    func empty(_ kind: IndexTree.Kind) throws {
        let home = try IndexTreeHome(kind)
        #expect(try home.tree.entries().isEmpty)
        #expect(try home.tree.firstNullKey() == nil)
        #expect(try home.tree.countNull() == 0)
        #expect(try home.tree.removeNull(key: 1) == false)
        #expect(try home.commit())
        #expect(home.root.isNone)
        try home.tree.insertNull(key: 4)
        #expect(try home.tree.removeNull(key: 4))
        #expect(try home.commit())
        #expect(home.root.isNone)
    }

    @Test(
        "Ascending inserts make full leaves, and long ones if many are committed at once",
        arguments: [(1, 26, 2), (10, 31, 2), (1000, 98, 3)])
    func ascendingFill(_ commits: Int, _ leafCount: Int, _ depth: Int) throws {
        let home = try IndexTreeHome(.fixed)
        var id: UInt64 = 0
        for _ in 0..<commits {
            for _ in 0..<(100_000 / commits) {
                id += 1
                try home.tree.insert(value: id, key: id)
            }
            #expect(try home.commit())
        }
        let statistics = try home.tree.statistics()
        #expect(statistics.leafCount == leafCount)
        #expect(statistics.depth == depth)
        #expect(try home.tree.findings() == [])
    }

    @Test("Inserts in any order, committed at once, make leaves that are at least nine tenths full")
    func randomFill() throws {
        let home = try IndexTreeHome(.fixed)
        var random = SeededNumbers(3)
        for key in 1...100_000 { try home.tree.insert(value: random.next(), key: UInt64(key)) }
        #expect(try home.commit())
        let statistics = try home.tree.statistics()
        #expect(statistics.leafByteCount * 10 >= statistics.leafCount * 4096 * 9)
    }

    @Test(
        "Removing most entries merges leaves and lowers the tree", arguments: [IndexTree.Kind.fixed, .bytes])
    func merges(_ kind: IndexTree.Kind) throws {
        let home = try IndexTreeHome(kind)
        var random = SeededNumbers(11)
        var entries: [ModelEntry] = (1...30_000).map { key in
            let value = random.next()
            return ModelEntry(
                value: kind == .fixed ? value : 0, bytes: kind == .bytes ? Array("\(value)".utf8) : [],
                key: UInt64(key))
        }
        for entry in entries { try home.tree.insert(entry) }
        #expect(try home.commit())
        entries.shuffle(using: &random)
        while entries.count > 100 {
            for _ in 0..<min(500, entries.count - 100) { #expect(try home.tree.remove(entries.removeLast())) }
            #expect(try home.commit())
        }
        let statistics = try home.tree.statistics()
        #expect(statistics.leafCount <= 2 && statistics.depth <= 2)
        #expect(try home.tree.findings() == [])
        #expect(try home.tree.entries() == entries.sorted())
    }

    @Test("A bulk insert of sorted entries makes the tree of single inserts", arguments: [0, 1, 511, 512, 513, 5000])
    func bulk(_ n: Int) throws {
        let home = try IndexTreeHome(.fixed)
        try home.tree.insertNull(key: 9)
        let values = (0..<n).map { UInt64($0 / 3) }
        let keys = (0..<n).map { UInt64($0) }
        try home.tree.insertSorted(values: values, keys: keys, count: n)
        #expect(home.tree.count == UInt64(n + 1))
        try home.tree.insertSorted(values: values, keys: keys, count: n)
        #expect(home.tree.count == UInt64(2 * n + 1))
        #expect(try home.tree.findings() == [])
        #expect(try home.commit())
        let model =
            ([ModelEntry(isNull: true, key: 9)] + (0..<n).map { ModelEntry(value: values[$0], key: keys[$0]) }
            + (0..<n).map { ModelEntry(value: values[$0], key: keys[$0]) }).sorted()
        #expect(try home.tree.entries() == model)
    }

    @Test("Values at both ends of the range are stored and found")
    func extremes() throws {
        let home = try IndexTreeHome(.fixed)
        for value in [0, 1, UInt64.max - 1, .max] {
            for key in [0, 1, UInt64.max - 1] { try home.tree.insert(value: value, key: key) }
        }
        try home.tree.insertNull(key: UInt64.max - 1)
        for _ in 0..<2 {
            #expect(try home.tree.count(value: .max) == 3)
            #expect(try home.tree.firstKey(value: .max) == 0)
            #expect(try home.tree.firstKey(value: 2) == nil)
            #expect(try home.tree.countNull() == 1)
            #expect(try home.tree.contains(value: .max, key: UInt64.max - 1))
            #expect(try home.commit())
            try home.reopen()
        }
    }

    @Test(
        "Long values that differ only in their last byte are distinguished",
        arguments: [999, 1000, 1001, 5000, 1 << 20])
    func longValues(_ byteCount: Int) throws {
        let home = try IndexTreeHome(.bytes)
        let values: [[UInt8]] = (0..<40).map { last in
            var bytes = [UInt8](repeating: 120, count: byteCount)
            bytes[byteCount - 1] = UInt8(last)
            return bytes
        }
        for (i, bytes) in values.enumerated() {
            try bytes.withUnsafeBytes { try home.tree.insert(bytes: $0, key: UInt64(i)) }
        }
        #expect(try home.commit())
        try home.reopen()
        for (i, bytes) in values.enumerated() {
            #expect(try home.tree.keys(ModelEntry(bytes: bytes, key: 0)) == [UInt64(i)])
        }
        #expect(IndexKey.isExact(byteCount: byteCount) == (byteCount <= 1000))
        #expect(try home.tree.findings() == [])
    }

    @Test("A change of one entry rewrites one path")
    func rewritesPath() throws {
        let home = try IndexTreeHome(.fixed)
        for id in 1...200_000 {
            try home.tree.insert(value: UInt64(id) &* 0x9E37_79B9_7F4A_7C15, key: UInt64(id))
        }
        #expect(try home.commit())
        let before = home.nextPage
        #expect(try home.tree.remove(value: 77 &* 0x9E37_79B9_7F4A_7C15, key: 77))
        #expect(try home.commit())
        #expect(home.nextPage - before == 3)
    }

    @Test("A cursor ends a range by its upper bound")
    func range() throws {
        let home = try IndexTreeHome(.fixed)
        for id in 1...5000 { try home.tree.insert(value: UInt64(id), key: UInt64(id)) }
        for _ in 0..<2 {
            var cursor = IndexCursor(home.tree)
            var found = 0
            var isThere = try cursor.seek(value: 1000)
            while isThere, cursor.isBefore(value: 2000) {
                found += 1
                isThere = try cursor.next()
            }
            #expect(found == 1000)
            let low = try home.tree.rank(value: 1000, key: 0)
            #expect(try home.tree.rank(value: 2000, key: 0) - low == 1000)
            #expect(try home.commit())
        }
    }
}
