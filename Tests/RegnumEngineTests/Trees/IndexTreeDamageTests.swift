// SPDX-License-Identifier: Apache-2.0
// Damaged nodes: without a matching tag they are refused by their hash; with one, by the layout check, or they are read
// without leaving the block.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct IndexTreeDamageTests {
    static func home(_ kind: IndexTree.Kind, _ seed: UInt64) throws -> IndexTreeHome {
        let home = try IndexTreeHome(kind)
        var random = SeededNumbers(seed)
        for key in 1...UInt64(600 + seed % 1500) {
            let value = seed % 3 == 0 ? key : random.next() >> (seed % 60)
            if random.next() % 9 == 0 {
                try home.tree.insertNull(key: key)
            } else {
                try home.tree.insert(
                    ModelEntry(
                        value: kind == .fixed ? value : 0,
                        bytes: kind == .bytes ? Array("name \(value)".utf8) : [], key: key))
            }
        }
        _ = try home.commit()
        return home
    }

    @Test("The tag detects a flipped byte in any block", arguments: [IndexTree.Kind.fixed, .bytes])
    func flippedByte(_ kind: IndexTree.Kind) throws {
        let home = try Self.home(kind, 5)
        var random = SeededNumbers(1)
        for page in home.live {
            let byte = home.region.memory.base + Int(page) << 12 + Int(random.next() % 4096)
            let old = byte.load(as: UInt8.self)
            byte.storeBytes(of: old ^ 0x10, as: UInt8.self)
            try home.reopen()
            #expect(throws: EngineError.self) { try home.tree.entries() }
            byte.storeBytes(of: old, as: UInt8.self)
        }
        try home.reopen()
        #expect(try home.tree.findings() == [])
    }

    static let seeds: [(IndexTree.Kind, RunSeed)] = RunSeed.list(0...(RunScale.isOptimized ? 23 : 2)).flatMap {
        [(.fixed, $0), (.bytes, $0)]
    }

    @Test("Damage under a recomputed tag is refused or read within the block", arguments: seeds)
    func craftedDamage(_ kind: IndexTree.Kind, _ seed: RunSeed) throws {
        try Self.damage(try Self.home(kind, seed.value), kind, seed)
    }

    /// Damages blocks of the tree, uses it each time, and restores them.
    static func damage(_ home: IndexTreeHome, _ kind: IndexTree.Kind, _ seed: RunSeed) throws {
        var random = SeededNumbers(seed.value &+ 77)
        var refs: [BlockRef] = []
        try home.tree.forEachBlock { (ref) throws(EngineError) in refs.append(ref) }
        for _ in 0..<(RunScale.isOptimized ? 60 : 20) {
            let target = refs[Int(random.next() % UInt64(refs.count))]
            let block = home.region.memory.base + Int(target.page) << 12
            let saved = (0..<target.byteCount).map { block.load(fromByteOffset: $0, as: UInt8.self) }
            for _ in 0...(random.next() % 3) {
                let offset = random.next() % 2 == 0 ? 32 + Int(random.next() % 42) : Int(random.next() % 4096)
                let byte = [0, 1, 0xff, 0x7f, UInt8(truncatingIfNeeded: random.next())].randomElement(
                    using: &random)
                block.storeBytes(of: byte ?? 0, toByteOffset: offset, as: UInt8.self)
            }
            let root = Self.retagged(home, refs)
            Self.use(home, root, kind, &random)
            block.copyMemory(from: saved, byteCount: saved.count)
        }
        _ = Self.retagged(home, refs)
        home.root = Self.retagged(home, refs)
        try home.reopen()
        #expect(try home.tree.findings() == [])
    }

    /// Recomputes the tags of all blocks, children first, as an attacker could; returns the root's ref.
    static func retagged(_ home: IndexTreeHome, _ refs: [BlockRef]) -> BlockRef {
        var tags: [UInt64: BlockRef] = [:]
        var last = BlockRef.none
        for ref in refs.reversed() {
            let block = home.region.memory.base + Int(ref.page) << 12
            if ref.kind == BlockKind.indexBranch.rawValue {
                let count = Int(block.load(fromByteOffset: 32, as: UInt16.self))
                for i in 0..<count where 40 + 24 * count + 40 * (i + 1) <= ref.byteCount {
                    let place = block + (40 + 24 * count + 40 * i)
                    if let child = tags[BlockRef(reading: place).page] {
                        place.storeBytes(of: child.tagLow, toByteOffset: 16, as: UInt64.self)
                        place.storeBytes(of: child.tagHigh, toByteOffset: 24, as: UInt64.self)
                    }
                }
            }
            let tag = home.hash.tag(block, ref.byteCount)
            last = ref
            last.tagLow = tag.low
            last.tagHigh = tag.high
            tags[ref.page] = last
        }
        return last
    }

    /// Every operation of a session on a tree. Errors are allowed, reads outside the block are not.
    static func use(
        _ home: IndexTreeHome, _ root: BlockRef, _ kind: IndexTree.Kind, _ random: inout SeededNumbers
    ) {
        do {
            let space = BlockSpace(
                reader: try BlockReader(region: home.region, protection: FileProtection(hash: home.hash)))
            let tree = IndexTree(space: space, kind: kind, root: root, count: home.count)
            _ = try? tree.entries(limit: 5000)
            _ = try? tree.findings()
            _ = try? tree.statistics()
            for _ in 0..<20 {
                let entry = ModelEntry(
                    isNull: random.next() % 8 == 0,
                    value: kind == .fixed ? random.next() >> (random.next() % 64) : 0,
                    bytes: kind == .bytes ? Array("name \(random.next() >> (random.next() % 64))".utf8) : [],
                    key: random.next() % 2000)
                _ = try? tree.firstKey(entry)
                _ = try? tree.count(entry)
                _ = try? tree.keys(entry)
            }
            for _ in 0..<20 {
                let value = random.next() >> (random.next() % 64)
                try tree.insert(
                    ModelEntry(
                        value: kind == .fixed ? value : 0,
                        bytes: kind == .bytes ? Array("name \(value)".utf8) : [], key: 1))
                let entries = (try? tree.entries(limit: 50)) ?? []
                if let victim = entries.randomElement(using: &random) { _ = try tree.remove(victim) }
            }
            _ = try tree.seal(into: space.sealer)
            _ = try tree.entries(limit: 5000)
        } catch {}
    }

    @Test("A value may end with its page but not after it")
    func valueEnd() throws {
        let home = try IndexTreeHome(.bytes)
        for i in 0..<9 { try home.tree.insert(ModelEntry(bytes: Array("v\(i)".utf8), key: UInt64(i * i))) }
        #expect(try home.commit())
        let leaf = home.region.memory.base + Int(home.root.page) << 12
        // Header 72, nine keys of a byte in 16, nine ends of 2, a prefix of 1.
        let heap = 72 + 16 + 18 + 1
        #expect(leaf.load(fromByteOffset: 40, as: UInt16.self) == 1)
        leaf.storeBytes(
            of: UInt16(IndexKey.storedByteCount - 1 + 8), toByteOffset: 72 + 16 + 16, as: UInt16.self)
        try IndexNodeLayout.check(home.root, leaf)
        leaf.storeBytes(of: UInt16(IndexKey.storedByteCount + 8), toByteOffset: 72 + 16 + 16, as: UInt16.self)
        #expect(throws: EngineError.self) { try IndexNodeLayout.check(home.root, leaf) }
        for i in 0..<9 {
            let end = 4096 - heap - (8 - i) * 400
            leaf.storeBytes(of: UInt16(end), toByteOffset: 72 + 16 + 2 * i, as: UInt16.self)
            leaf.storeBytes(of: UInt8(i), toByteOffset: heap + (i == 0 ? 0 : end - 400), as: UInt8.self)
        }
        // The first value now takes the space that the others leave.
        try IndexNodeLayout.check(home.root, leaf)
        leaf.storeBytes(of: UInt16(4096 - heap + 1), toByteOffset: 72 + 16 + 16, as: UInt16.self)
        #expect(throws: EngineError.self) { try IndexNodeLayout.check(home.root, leaf) }
    }

    /// Kind of tree, whether its root branch is damaged (otherwise its first leaf), byte offset, byte.
    static let fields: [(IndexTree.Kind, Bool, Int, UInt8)] = [
        (.fixed, false, 33, 4), (.fixed, false, 35, 0xff), (.fixed, false, 36, 3), (.fixed, false, 37, 5),
        (.fixed, false, 38, 2), (.fixed, false, 39, 1), (.fixed, false, 55, 0xff),
        (.bytes, false, 33, 9), (.bytes, false, 36, 1), (.bytes, false, 37, 16), (.bytes, false, 41, 0xff),
        (.fixed, true, 32, 0), (.fixed, true, 32, 64), (.fixed, true, 34, 0), (.fixed, true, 39, 0),
        (.fixed, true, 39, 12), (.fixed, true, 40, 1), (.bytes, true, 32, 65), (.bytes, true, 39, 0xff),
    ]

    @Test("An impossible field of a node is refused", arguments: fields)
    func badField(_ kind: IndexTree.Kind, _ isBranch: Bool, _ offset: Int, _ byte: UInt8) throws {
        let home = try Self.home(kind, 1400)
        var refs: [BlockRef] = []
        try home.tree.forEachBlock { (ref) throws(EngineError) in refs.append(ref) }
        var ref = refs[isBranch ? 0 : 1]
        let block = home.region.memory.base + Int(ref.page) << 12
        try IndexNodeLayout.check(ref, block)
        block.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
        // The parent agrees with the damaged count.
        let rows = Int(block.load(fromByteOffset: 32, as: UInt16.self))
        ref.info = BlockRef.info(isBranch ? .indexBranch : .indexLeaf, rows: rows)
        #expect(throws: EngineError.self) { try IndexNodeLayout.check(ref, block) }
    }

    @Test(
        "The layout check survives blocks of random bytes",
        arguments: 0..<(RunScale.isOptimized ? 20 : 3) as Range<UInt64>)
    func randomBytes(_ seed: UInt64) throws {
        var random = SeededNumbers(seed)
        let page = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 4096)
        defer { page.deallocate() }
        var refused = 0
        for _ in 0..<500 {
            for i in 0..<512 { page.storeBytes(of: random.next(), toByteOffset: 8 * i, as: UInt64.self) }
            let count = Int(random.next() % 4500)
            page.storeBytes(of: UInt16(count), toByteOffset: 32, as: UInt16.self)
            page.storeBytes(of: UInt16(random.next() % UInt64(count + 2)), toByteOffset: 34, as: UInt16.self)
            page.storeBytes(of: [0, 1, 2, 4, 8, 3][Int(random.next() % 6)], toByteOffset: 36, as: UInt8.self)
            page.storeBytes(of: [0, 1, 2, 4, 8, 3][Int(random.next() % 6)], toByteOffset: 37, as: UInt8.self)
            page.storeBytes(of: UInt8(random.next() % 3), toByteOffset: 38, as: UInt8.self)
            let isLeaf = random.next() % 2 == 0
            page.storeBytes(of: isLeaf ? 0 : UInt8(random.next() % 14), toByteOffset: 39, as: UInt8.self)
            let info = BlockRef.info(isLeaf ? .indexLeaf : .indexBranch, rows: count)
            let ref = BlockRef(location: 20 << 16, birth: 1, tagLow: 0, tagHigh: 0, info: info)
            do { try IndexNodeLayout.check(ref, page) } catch { refused += 1 }
        }
        #expect(refused >= 490)
    }
}
