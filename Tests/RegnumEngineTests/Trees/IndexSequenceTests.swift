// SPDX-License-Identifier: Apache-2.0
// Leaves of index trees that are sequences, as incrementing primary keys make them: they hold up to 4,096 entries
// instead of 1,024, and are split if another entry comes between.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct IndexSequenceTests {
    /// A committed tree of the entries (value `stride * i`, key `i`), or of as many nulls.
    static func home(_ count: Int, stride: UInt64 = 1, isNull: Bool = false) throws -> (IndexTreeHome, [ModelEntry]) {
        let home = try IndexTreeHome(.fixed)
        let entries = (1...UInt64(count)).map {
            ModelEntry(isNull: isNull, value: isNull ? 0 : $0 * stride, key: $0)
        }
        for entry in entries { try home.tree.insert(entry) }
        #expect(try home.commit())
        return (home, entries)
    }

    @Test(
        "A sequence takes few leaves, and the last one is short",
        arguments: [
            (1024, 1), (1025, 2), (2049, 2), (4096, 2), (4097, 2), (4700, 2), (5120, 2), (5121, 3), (10_000, 4),
        ])
    func leaves(_ count: Int, _ leafCount: Int) throws {
        for (stride, isNull) in [(1, false), (7, false), (0, false), (0, true)] as [(UInt64, Bool)] {
            let (home, entries) = try Self.home(count, stride: stride, isNull: isNull)
            #expect(try home.tree.statistics().leafCount == leafCount)
            #expect(try home.tree.findings() == [])
            try home.reopen()
            #expect(try home.tree.entries() == entries)
            // An insert at the end unpacks the last leaf only: the others stay unchanged.
            let before = home.live.count
            let key = UInt64(count + 1)
            let last = ModelEntry(isNull: isNull, value: isNull ? 0 : key * stride, key: key)
            try home.tree.insert(last)
            #expect(home.tree.changedByteCount < 100_000)
            #expect(try home.commit())
            #expect(home.live.count <= before + 2)
            #expect(try home.tree.entries() == entries + [last])
        }
    }

    /// The number of entries of each leaf, in order.
    static func leafRows(_ home: IndexTreeHome) throws -> [Int] {
        var rows: [Int] = []
        try home.tree.forEachBlock { ref in
            if ref.kind == BlockKind.indexLeaf.rawValue { rows.append(ref.rows) }
        }
        return rows
    }

    /// Not a sequence.
    static func uneven(_ key: UInt64) -> ModelEntry { ModelEntry(isNull: false, value: 3 * key + key % 2, key: key) }

    // Each commit once unpacked and packed the last leaf, on average half full, for its single entry.
    @Test(
        "Values appended a few at a time go to a small leaf, which then fills up the one before it",
        arguments: [1, 10, 64, 65, 128, 1000])
    func tail(_ step: UInt64) throws {
        let home = try IndexTreeHome(.fixed)
        var entries = (1...2000).map { Self.uneven($0) }
        for entry in entries { try home.tree.insert(entry) }
        #expect(try home.commit())
        for _ in 0..<(3000 / Int(step)) {
            for _ in 0..<step {
                entries.append(Self.uneven(UInt64(entries.count + 1)))
                try home.tree.insert(entries[entries.count - 1])
            }
            #expect(try home.commit())
            let rows = try Self.leafRows(home)
            #expect(rows.dropLast(2).allSatisfy { $0 > 900 }, "\(rows)")
            let last = rows[rows.count - 1]
            // None is made for a bulk insert: the next one would unpack two leaves instead of one.
            if step > 64 { #expect(rows.count == (entries.count + 1023) / 1024, "\(rows)") }
            if step <= 64 { #expect(last <= 64 || last % 64 == 0, "\(rows)") }
        }
        #expect(try home.tree.findings() == [])
        try home.reopen()
        #expect(try home.tree.entries() == entries)
    }

    @Test("The end of a tree stays valid if a branch is full, values become wide, or entries are removed")
    func tailCorners() throws {
        // A branch has 63 leaves.
        let home = try IndexTreeHome(.fixed)
        var entries = (1...64_400).map { Self.uneven($0) }
        for entry in entries { try home.tree.insert(entry) }
        #expect(try home.commit())
        #expect(try home.tree.statistics().branchCount == 1)
        for _ in 0..<300 {
            entries.append(Self.uneven(UInt64(entries.count + 1)))
            try home.tree.insert(entries[entries.count - 1])
            #expect(try home.commit())
        }
        #expect(try home.tree.statistics().branchCount == 3)
        #expect(try home.tree.findings() == [])
        #expect(try home.tree.entries() == entries)
        for _ in 0..<150 {
            let key = UInt64(entries.count + 1)
            entries.append(ModelEntry(isNull: false, value: key << 40, key: key))
            try home.tree.insert(entries[entries.count - 1])
            #expect(try home.commit())
        }
        #expect(try home.tree.findings() == [])
        #expect(try home.tree.statistics().leafCount <= 66)
        for turn in 0..<40 {
            for _ in 0..<(turn % 2 == 0 ? 70 : 9) { #expect(try home.tree.remove(entries.removeLast())) }
            #expect(try home.commit())
            entries.append(Self.uneven(UInt64(100_000 + turn)))
            entries[entries.count - 1].value &+= 1 << 62
            try home.tree.insert(entries[entries.count - 1])
            #expect(try home.commit())
        }
        #expect(try home.tree.findings() == [])
        #expect(try home.tree.statistics().leafCount <= 66)
        try home.reopen()
        #expect(try home.tree.entries() == entries)
    }

    @Test("A broken sequence ends a leaf, and no leaf has few entries")
    func broken() throws {
        let (home, entries) = try Self.home(30_000)
        var left = entries
        for hole in [29_990, 20_000, 8195, 8185, 4000, 5, 0] {
            #expect(try home.tree.remove(left.remove(at: hole)))
            #expect(try home.commit())
            #expect(try home.tree.findings() == [])
            #expect(try home.tree.entries() == left)
        }
        let statistics = try home.tree.statistics()
        #expect(statistics.leafCount <= 16)
        // Many at one position of a long leaf, in one transaction.
        try home.reopen()
        for _ in 0..<200 { #expect(try home.tree.remove(left.remove(at: left.count / 3))) }
        #expect(try home.tree.entries() == left)
        #expect(try home.commit())
        #expect(try home.tree.entries() == left)
        #expect(try home.tree.findings() == [])
    }

    static let cases: [(Bool, UInt64, RunSeed)] = RunSeed.list(1...(RunScale.isOptimized ? 4 : 1)).flatMap { seed in
        [(false, 1, seed), (false, 3, seed), (false, 0, seed), (true, 0, seed)]
    }

    @Test("A tree of sequences matches a sorted array after inserts and removals anywhere", arguments: cases)
    func agreesWithModel(_ isNull: Bool, _ stride: UInt64, _ seed: RunSeed) throws {
        var random = SeededNumbers(seed.value)
        let (home, entries) = try Self.home(6000 + Int(random.next() % 10_000), stride: stride, isNull: isNull)
        var model = entries
        var committed = model
        for _ in 0..<(RunScale.isOptimized ? 30 : 6) {
            let operations = [1, 3, 50, 2000][Int(random.next() % 4)]
            for _ in 0..<operations {
                let slot = Int(random.next() % UInt64(model.count))
                if random.next() % 2 == 0 {
                    #expect(try home.tree.remove(model.remove(at: slot)))
                } else {
                    var entry = model[slot]
                    if random.next() % 4 == 0 { entry.isNull = !entry.isNull }
                    entry.value = entry.isNull ? 0 : random.next() % 3 == 0 ? 100_000 + entry.key : entry.value
                    entry.key += random.next() % 3
                    try home.tree.insert(entry)
                    model.insert(entry, at: IndexTreeModelTests.bound(model, entry))
                }
            }
            if random.next() % 6 == 0 {
                home.rollback()
                model = committed
            } else {
                #expect(try home.commit(), "blocks in use and blocks not freed differ")
                committed = model
            }
            if random.next() % 2 == 0 { try home.reopen() }
            #expect(try home.tree.findings() == [])
            try #require(try home.tree.entries() == model)
            for _ in 0..<20 {
                let entry = model[Int(random.next() % UInt64(model.count))]
                #expect(try home.tree.contains(entry))
                #expect(try entry.isNull || home.tree.rank(entry) == IndexTreeModelTests.bound(model, entry))
            }
        }
    }

    @Test(
        "Damage of a long leaf under a recomputed tag is refused or read within the block",
        arguments: RunSeed.list(0...(RunScale.isOptimized ? 11 : 2)))
    func craftedDamage(_ seed: RunSeed) throws {
        let (home, _) = try Self.home(40_000, stride: seed.value % 3, isNull: seed.value % 4 == 3)
        try IndexTreeDamageTests.damage(home, .fixed, seed)
    }

    @Test("No more entries are collected than the tree's record has")
    func moreThanRecorded() throws {
        let (home, _) = try Self.home(40_000, stride: 0)
        home.count = 20_000
        try home.reopen()
        var count = 0
        let error = try #require(throws: EngineError.self) { try home.tree.forEachKey(value: 0) { _ in count += 1 } }
        #expect("\(error)".contains("an index tree is too large") && count < 25_000)
    }

    /// A value stored into the header of a long leaf, and the expected error.
    static let heads: [(offset: Int, byte: UInt8, words: String)] = [
        (33, 0xff, "an index node has a wrong number of entries"),
        (34, 1, "an index leaf is too large"),
        (36, 1, "an index leaf runs over its page"),
        (37, 1, "an index leaf runs over its page"),
        (54, 0xff, "an index leaf has a frame that is too wide"),
        (55, 0x80, "an index leaf has a frame that is too wide"),
    ]

    @Test("An invalid long leaf is refused", arguments: heads.indices)
    func refused(_ number: Int) throws {
        let (home, _) = try Self.home(20_000)
        try expectRefusal(home, Self.heads[number].offset, Self.heads[number].byte, Self.heads[number].words)
    }

    @Test("Equal values of a long leaf whose keys do not ascend are refused", arguments: [false, true])
    func keysOutOfOrder(_ isNull: Bool) throws {
        let (home, _) = try Self.home(20_000, stride: 0, isNull: isNull)
        // The highest byte of the stride of the keys.
        try expectRefusal(home, 71, 0xff, "an index leaf is out of order")
    }

    @Test("A leaf of bytes of the same length is refused")
    func longLeafOfBytes() throws {
        let (home, _) = try Self.home(5000, isNull: true)
        var refs: [BlockRef] = []
        try home.tree.forEachBlock { (ref) throws(EngineError) in refs.append(ref) }
        let leaf = try #require(refs.first { $0.kind == BlockKind.indexLeaf.rawValue && $0.rows > 1024 })
        let block = home.region.memory.base + Int(leaf.page) << 12
        try IndexNodeLayout.check(leaf, block)
        block.storeBytes(of: 1, toByteOffset: 38, as: UInt8.self)
        let error = try #require(throws: EngineError.self) { try IndexNodeLayout.check(leaf, block) }
        #expect("\(error)".contains("an index leaf is too large"))
    }

    private func expectRefusal(_ home: IndexTreeHome, _ offset: Int, _ byte: UInt8, _ words: String) throws {
        var refs: [BlockRef] = []
        try home.tree.forEachBlock { (ref) throws(EngineError) in refs.append(ref) }
        let leaf = try #require(refs.first { $0.kind == BlockKind.indexLeaf.rawValue && $0.rows > 1024 })
        (home.region.memory.base + Int(leaf.page) << 12).storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
        home.root = IndexTreeDamageTests.retagged(home, refs)
        try home.reopen()
        let error = try #require(throws: EngineError.self) { try home.tree.entries() }
        #expect("\(error)".contains(words), "\(error)")
    }
}
