// SPDX-License-Identifier: Apache-2.0
// Each bound of the checks that blocks pass before they are read: the last value that is accepted and the first that is
// refused, with the message of the refusal. Random damage seldom hits such a value, and if it does, another check often
// refuses it too.

import RegnumEngine
import RegnumSystem
import Testing

@Suite struct DecoderBoundsTests {
    /// A block and a ref to it.
    final class Block {
        let bytes: UnsafeMutableRawBufferPointer
        var ref: BlockRef

        init(_ kind: BlockKind, pages: Int = 1, rows: Int = 0) {
            bytes = .allocate(byteCount: pages << 12, alignment: 16)
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
            ref = BlockRef(
                location: 20 << 16 | UInt64(pages - 1), birth: 1, tagLow: 0, tagHigh: 0,
                info: BlockRef.info(kind, rows: rows))
        }

        deinit { bytes.deallocate() }

        func put<T>(_ value: T, _ offset: Int) { bytes.storeBytes(of: value, toByteOffset: offset, as: T.self) }

        /// A ref to a child at `offset`.
        func putRef(_ kind: BlockKind, _ offset: Int, rows: Int = 1, location: UInt64 = 30 << 16) {
            BlockRef(location: location, birth: 1, tagLow: 0, tagHigh: 0, info: BlockRef.info(kind, rows: rows))
                .write(to: bytes.baseAddress.unsafelyUnwrapped + offset)
        }

        /// The message of the check that refuses the block; nil if the block is accepted.
        var refusal: String? {
            do throws(EngineError) {
                try BlockLayout.check(ref, UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped))
                return nil
            } catch {
                guard case .corrupted(let corruption) = error else { return "\(error)" }
                return corruption.what
            }
        }
    }

    /// One change to an accepted block, and the beginning of the error message; nil if the block is still accepted.
    struct Case: CustomTestStringConvertible, Sendable {
        let name: String
        let words: String?
        let change: @Sendable (Block) -> Void
        init(_ name: String, _ words: String?, _ change: @escaping @Sendable (Block) -> Void) {
            self.name = name
            self.words = words
            self.change = change
        }
        var testDescription: String { name }
    }

    private static func expect(_ one: Case, _ block: Block) {
        #expect(block.refusal == nil)
        one.change(block)
        #expect(block.refusal == one.words)
    }

    // MARK: Nodes of row groups

    private static func groupNode() -> Block {
        let block = Block(.groupNode)
        block.put(UInt16(3), 32)
        block.put(UInt8(1), 34)
        for i in 0..<64 {
            block.put(UInt64(i * 10 + 1), GroupNodeLayout.firstKeys + i * 8)
            block.put(UInt64(1), GroupNodeLayout.counts + i * 8)
            block.putRef(.rowGroup, GroupNodeLayout.refs + i * 40)
        }
        return block
    }

    private static let counts = "a node has impossible counts"
    private static let child = "a node's child is of the wrong kind"
    private static let order = "a node's keys are out of order"
    private static let rowCounts = "a node has impossible row counts"

    static let groupNodes: [Case] = [
        Case("1 child", nil) { $0.put(UInt16(1), 32) },
        Case("64 children", nil) { $0.put(UInt16(64), 32) },
        Case("0 children", counts) { $0.put(UInt16(0), 32) },
        Case("65 children", counts) { $0.put(UInt16(65), 32) },
        Case("level 0", counts) { $0.put(UInt8(0), 34) },
        Case("the highest level", nil) {
            $0.put(UInt8(FormatLimits.treeDepth), 34)
            for i in 0..<3 { $0.putRef(.groupNode, GroupNodeLayout.refs + i * 40) }
        },
        Case("a level too high", counts) {
            $0.put(UInt8(FormatLimits.treeDepth + 1), 34)
            for i in 0..<3 { $0.putRef(.groupNode, GroupNodeLayout.refs + i * 40) }
        },
        Case("a node over nodes", child) { $0.put(UInt8(2), 34) },
        Case("two pages", counts) { $0.ref.location |= 1 },
        Case("a child of another kind", child) { $0.putRef(.blob, GroupNodeLayout.refs + 80) },
        Case("no child", child) { $0.putRef(.rowGroup, GroupNodeLayout.refs + 80, location: 0) },
        Case("a pending child", child) { $0.putRef(.rowGroup, GroupNodeLayout.refs + 80, location: 1 << 63) },
        Case("a key twice", order) { $0.put(UInt64(11), GroupNodeLayout.firstKeys + 16) },
        Case("the next key", nil) { $0.put(UInt64(12), GroupNodeLayout.firstKeys + 16) },
        Case("no rows", rowCounts) { $0.put(UInt64(0), GroupNodeLayout.counts + 16) },
        Case("the most rows", nil) { $0.put(UInt64(1 << 48 - 1), GroupNodeLayout.counts + 16) },
        Case("too many rows", rowCounts) { $0.put(UInt64(1 << 48), GroupNodeLayout.counts + 16) },
    ]

    @Test("A node of row groups is refused beyond each bound", arguments: groupNodes)
    func groupNode(_ one: Case) { Self.expect(one, Self.groupNode()) }

    // MARK: Nodes of elements

    private static func elementNode() -> Block {
        let block = Block(.elementNode)
        block.put(UInt16(3), 32)
        block.put(UInt8(1), 34)
        for i in 0..<84 {
            block.put(UInt64(i + 1), ElementNodeLayout.ends + i * 8)
            block.putRef(.blob, ElementNodeLayout.refs + i * 40)
        }
        return block
    }

    private static let elementCounts = "a node of elements has impossible counts"
    private static let elementChild = "a child of a node of elements is of the wrong kind"
    private static let ends = "the counts of a node of elements do not ascend"

    static let elementNodes: [Case] = [
        Case("1 child", nil) { $0.put(UInt16(1), 32) },
        Case("84 children", nil) { $0.put(UInt16(84), 32) },
        Case("0 children", elementCounts) { $0.put(UInt16(0), 32) },
        Case("85 children", elementCounts) { $0.put(UInt16(85), 32) },
        Case("level 0", elementCounts) { $0.put(UInt8(0), 34) },
        Case("the highest level", nil) {
            $0.put(UInt8(FormatLimits.treeDepth), 34)
            for i in 0..<3 { $0.putRef(.elementNode, ElementNodeLayout.refs + i * 40) }
        },
        Case("a level too high", elementCounts) {
            $0.put(UInt8(FormatLimits.treeDepth + 1), 34)
            for i in 0..<3 { $0.putRef(.elementNode, ElementNodeLayout.refs + i * 40) }
        },
        Case("a node over nodes", elementChild) { $0.put(UInt8(2), 34) },
        Case("two pages", elementCounts) { $0.ref.location |= 1 },
        Case("a child of another kind", elementChild) { $0.putRef(.rowGroup, ElementNodeLayout.refs + 80) },
        Case("no child", elementChild) { $0.putRef(.blob, ElementNodeLayout.refs + 80, location: 0) },
        Case("a pending child", elementChild) { $0.putRef(.blob, ElementNodeLayout.refs + 80, location: 1 << 63) },
        Case("an empty first child", ends) { $0.put(UInt64(0), ElementNodeLayout.ends) },
        Case("an empty child", ends) { $0.put(UInt64(2), ElementNodeLayout.ends + 16) },
        Case("the most elements", nil) { $0.put(UInt64(1 << 48 - 1), ElementNodeLayout.ends + 16) },
        Case("too many elements", ends) { $0.put(UInt64(1 << 48), ElementNodeLayout.ends + 16) },
    ]

    @Test("A node of a large collection is refused beyond each bound", arguments: elementNodes)
    func elementNode(_ one: Case) { Self.expect(one, Self.elementNode()) }

    // MARK: Row groups without columns

    /// `keys` in the given form, after the header.
    private static func rowGroup(_ form: KeyForm, _ keys: [UInt64], pages: Int = 1) -> Block {
        let block = Block(.rowGroup, pages: pages, rows: keys.count)
        let first: UInt64 = keys.first ?? 1
        let span: UInt64 = (keys.last ?? first) - first + 1
        block.put(UInt16(keys.count), 32)
        block.put(form.rawValue, 34)
        block.put(first, 40)
        block.put(span, 48)
        if form == .dense { return block }
        block.put(UInt32(64), 56)
        if form == .sorted {
            for (i, key) in keys.enumerated() { block.put(key, 64 + i * 8) }
            return block
        }
        let words = Int((span + 63) / 64)
        for key in keys {
            let at = 64 + Int((key - first) / 64) * 8
            let bit = UInt64(1) << ((key - first) % 64)
            block.put(block.bytes.load(fromByteOffset: at, as: UInt64.self) | bit, at)
        }
        var seen = 0
        for i in 0..<words {
            block.put(UInt16(seen), 64 + words * 8 + i * 2)
            seen += block.bytes.load(fromByteOffset: 64 + i * 8, as: UInt64.self).nonzeroBitCount
        }
        return block
    }

    private static let groupCounts = "a row group has impossible counts"
    private static let keys = "a row group has impossible keys"
    private static let outside = "a row group's keys lie outside of it"

    /// 65,536 keys are 1,024 words and as many ranks.
    private static let far: [UInt64] = [3, 900, 65_538]
    private static let farther: [UInt64] = [3, 900, 1 << 40]

    static let oneRowCases: [Case] = [
        Case("no rows", groupCounts) { $0.put(UInt16(0), 32) },
        Case("key 0", keys) { $0.put(UInt64(0), 40) },
        Case("the last key that there is", nil) { $0.put(UInt64.max - 1, 40) },
        Case("a key behind the last", keys) { $0.put(UInt64.max, 40) },
        Case("an unknown form", keys) { $0.put(UInt8(3), 34) },
        Case("columns up to the end", "a column of a row group has an unknown form") {
            $0.put(UInt16(84), 36)
            for i in 0..<84 { $0.put(UInt8(0xff), 64 + i * 48) }
        },
        Case("columns over the end", "a row group's head is longer than its block") {
            $0.put(UInt16(85), 36)
        },
        Case("64 older blocks", nil) { block in
            block.put(UInt16(64), 38)
            for i in 0..<64 { block.putRef(.rowGroup, 64 + i * 40) }
        },
        Case("65 older blocks", groupCounts) { block in
            block.put(UInt16(65), 38)
            for i in 0..<65 { block.putRef(.rowGroup, 64 + i * 40) }
        },
        Case("an older block of another kind", "a row group's older block is of another kind") {
            $0.put(UInt16(1), 38)
            $0.putRef(.blob, 64)
        },
        Case("a pending older block", "a row group's older block is of another kind") {
            $0.put(UInt16(1), 38)
            $0.putRef(.rowGroup, 64, location: 1 << 63)
        },
    ]

    static let twoRowCases: [Case] = [
        Case("fewer keys than rows", keys) { $0.put(UInt64(1), 48) },
        Case("more keys than rows", "a dense row group has gaps") { $0.put(UInt64(3), 48) },
    ]

    static let bitmaps: [Case] = [
        Case("the widest bitmap", nil) { _ in },
        Case("a bitmap up to the end", nil) { block in
            for i in stride(from: 1024 * 10 - 8, through: 0, by: -8) {
                block.put(block.bytes.load(fromByteOffset: 64 + i, as: UInt64.self), 2048 + i)
            }
            block.put(UInt32(2048), 56)
        },
        Case("a bitmap over the end", outside) { $0.put(UInt32(2056), 56) },
        Case("a bitmap in the head", outside) { $0.put(UInt32(56), 56) },
        Case("a bitmap beside its place", outside) { $0.put(UInt32(68), 56) },
        Case("a wrong rank", "a row group's ranks are wrong") {
            $0.put(UInt16(9), 64 + 1024 * 8 + 2)
        },
        Case("a key more", "a row group's keys do not match its rows") {
            let at = 64 + 1023 * 8
            let word = $0.bytes.load(fromByteOffset: at, as: UInt64.self)
            $0.put(word | 1, at)
        },
    ]

    static let lists: [Case] = [
        Case("keys far apart", nil) { _ in },
        Case("a key twice", "a row group's keys are out of order") {
            $0.put(UInt64(3), 72)
        },
        Case("the last key twice", "a row group's keys are out of order") {
            $0.put(UInt64(1 << 40), 72)
        },
        Case("a wrong first key", "a row group's key span is wrong") {
            $0.put(UInt64(4), 64)
        },
        Case("a wrong last key", "a row group's key span is wrong") {
            $0.put(UInt64(1 << 40 - 1), 80)
        },
        Case("keys up to the end", nil) { block in
            for (i, key) in farther.enumerated() { block.put(key, 4072 + i * 8) }
            block.put(UInt32(4072), 56)
        },
        Case("keys over the end", outside) { $0.put(UInt32(4080), 56) },
        Case("keys in the head", outside) { $0.put(UInt32(56), 56) },
        Case("keys beside their place", outside) { $0.put(UInt32(68), 56) },
    ]

    @Test("A row group of one row is refused beyond each bound", arguments: oneRowCases)
    func oneRow(_ one: Case) { Self.expect(one, Self.rowGroup(.dense, [1])) }

    @Test("A row group of two rows is refused beyond each bound", arguments: twoRowCases)
    func twoRows(_ one: Case) { Self.expect(one, Self.rowGroup(.dense, [1, 2])) }

    @Test("A row group with a bitmap of keys is refused beyond each bound", arguments: bitmaps)
    func bitmap(_ one: Case) { Self.expect(one, Self.rowGroup(.bitmap, Self.far, pages: 3)) }

    @Test("A row group with a list of keys is refused beyond each bound", arguments: lists)
    func list(_ one: Case) { Self.expect(one, Self.rowGroup(.sorted, Self.farther)) }

    @Test("A row group has at most 1,024 rows, and bits for 65,536 keys")
    func largest() {
        let rows = Self.rowGroup(.dense, Array(1...1024))
        Self.expect(Case("a row more", Self.groupCounts) { $0.put(UInt16(1025), 32) }, rows)
        #expect(Self.rowGroup(.bitmap, [3, 900, 65_539], pages: 3).refusal == Self.outside)
    }

    // MARK: Branches of an index

    /// Of form 0: separators (null, 0), 10, 20, ...
    private static func branch(_ count: Int = 3) -> Block {
        let block = Block(.indexBranch, rows: count)
        block.put(UInt16(count), 32)
        block.put(UInt16(1), 34)
        block.put(UInt8(1), 39)
        for i in 0..<count {
            block.put(UInt64(i * 10), 40 + i * 8)
            block.put(UInt64(i == 0 ? 0 : 7), 40 + (count + i) * 8)
            block.put(UInt64(5), 40 + (2 * count + i) * 8)
            block.putRef(.indexLeaf, 40 + 3 * count * 8 + i * 40, rows: 5)
        }
        return block
    }

    private static let level = "an index branch has a wrong level"
    private static let entries = "an index node has a wrong number of entries"
    private static let branchChild = "an index branch refers to something other than its children"
    private static let branchCounts = "an index branch has wrong counts"

    static let branches: [Case] = [
        Case("level 0", level) { $0.put(UInt8(0), 39) },
        Case("the highest level", nil) {
            $0.put(UInt8(FormatLimits.treeDepth - 1), 39)
            for i in 0..<3 { $0.putRef(.indexBranch, 112 + i * 40) }
        },
        Case("a level too high", level) {
            $0.put(UInt8(FormatLimits.treeDepth), 39)
            for i in 0..<3 { $0.putRef(.indexBranch, 112 + i * 40) }
        },
        Case("an unknown form", "an index node has an unknown form") { $0.put(UInt8(2), 38) },
        Case("no entry", entries) { $0.put(UInt16(0), 32) },
        Case("more nulls than entries", entries) { $0.put(UInt16(4), 34) },
        Case("another number than its parent says", entries) { $0.put(UInt16(2), 32) },
        Case("no null separator", "an index branch has a wrong number of children") { $0.put(UInt16(0), 34) },
        Case("a first separator that is not the least", "an index branch does not begin with the least separator") {
            $0.put(UInt64(1), 64)
        },
        Case("a child of another kind", branchChild) { $0.putRef(.rowGroup, 152, rows: 5) },
        Case("no child", branchChild) { $0.putRef(.indexLeaf, 152, rows: 5, location: 0) },
        Case("a pending child", branchChild) { $0.putRef(.indexLeaf, 152, rows: 5, location: 1 << 63) },
        Case("a leaf with another count", branchCounts) { $0.put(UInt64(6), 96) },
        Case("a branch with another count", nil) {
            $0.put(UInt8(2), 39)
            for i in 0..<3 { $0.putRef(.indexBranch, 112 + i * 40) }
            $0.put(UInt64(6), 96)
        },
        Case("the most entries", nil) {
            $0.put(UInt8(2), 39)
            for i in 0..<3 { $0.putRef(.indexBranch, 112 + i * 40) }
            $0.put(FormatLimits.treeEntryCount - 10, 96)
        },
        Case("too many entries", branchCounts) {
            $0.put(UInt8(2), 39)
            for i in 0..<3 { $0.putRef(.indexBranch, 112 + i * 40) }
            $0.put(FormatLimits.treeEntryCount - 9, 96)
        },
        Case("an overflow of entries", branchCounts) {
            $0.put(UInt8(2), 39)
            for i in 0..<3 { $0.putRef(.indexBranch, 112 + i * 40) }
            $0.put(UInt64.max, 96)
        },
        Case("the same separator twice", nil) { $0.put(UInt64(10), 56) },
        Case("separators out of order", "an index branch is out of order") { $0.put(UInt64(9), 56) },
    ]

    @Test("A branch of an index is refused beyond each bound", arguments: branches)
    func branch(_ one: Case) { Self.expect(one, Self.branch()) }

    @Test("A branch of an index has at most 63 children", arguments: [63, 64])
    func children(count: Int) {
        // With 64 children they would end after the page; their number is reported first.
        let block = Block(.indexBranch, pages: 2, rows: count)
        let made = Self.branchBytes(count)
        for (i, byte) in made.enumerated() { block.put(byte, i) }
        #expect(block.refusal == (count == 63 ? nil : "an index branch has a wrong number of children"))
    }

    private static func branchBytes(_ count: Int) -> [UInt8] {
        let block = Block(.indexBranch, pages: 2, rows: count)
        block.put(UInt16(count), 32)
        block.put(UInt16(1), 34)
        block.put(UInt8(1), 39)
        for i in 0..<count {
            block.put(UInt64(i * 10), 40 + i * 8)
            block.put(UInt64(5), 40 + (2 * count + i) * 8)
            block.putRef(.indexLeaf, 40 + 3 * count * 8 + i * 40, rows: 5)
        }
        return Array(block.bytes)
    }

    @Test("A branch of an index of texts fits its block", arguments: [59, 60])
    func textChildren(count: Int) {
        let block = Block(.indexBranch, rows: count)
        block.put(UInt16(count), 32)
        block.put(UInt16(1), 34)
        block.put(UInt8(1), 38)
        block.put(UInt8(1), 39)
        for i in 0..<min(count, 59) {
            block.put(UInt64(5), 40 + (2 * count + i) * 8)
            block.putRef(.indexLeaf, 40 + 3 * count * 8 + i * 40, rows: 5)
        }
        #expect(block.refusal == (count == 59 ? nil : "an index branch runs over its block"))
    }

    // MARK: Leaves of an index

    /// Of form 0: a null, then 10, 20, 30, 40 in one byte each, keys 1 ... 5 by stride.
    private static func leaf() -> Block {
        let block = Block(.indexLeaf, rows: 5)
        block.put(UInt16(5), 32)
        block.put(UInt16(1), 34)
        block.put(UInt8(1), 36)
        block.put(UInt64(10), 40)
        block.put(UInt64(30), 48)
        block.put(UInt64(1), 56)
        block.put(UInt64(1), 64)
        for i in 0..<4 { block.put(UInt8(i * 10), 72 + i) }
        return block
    }

    static let leaves: [Case] = [
        Case("a level", "an index leaf is too large") { $0.put(UInt8(1), 39) },
        Case("two pages", "an index leaf is too large") { $0.ref.location |= 1 },
        Case("a width of 3", "an index leaf has an unknown width") { $0.put(UInt8(3), 36) },
        Case("a width of 9", "an index leaf has an unknown width") { $0.put(UInt8(9), 37) },
        Case("a frame up to the last number", nil) { $0.put(UInt64.max - 30, 40) },
        Case("a frame behind it", "an index leaf has a frame that is too wide") { $0.put(UInt64.max - 29, 40) },
        Case("another last value", "an index leaf does not end with its last value") { $0.put(UInt64(29), 48) },
        Case("the same value twice", nil) { $0.put(UInt8(10), 74) },
        Case("values out of order", "an index leaf is out of order") { $0.put(UInt8(9), 74) },
        Case("the same value twice, keys out of order", "an index leaf is out of order") {
            $0.put(UInt8(10), 74)
            $0.put(UInt64.max, 64)
        },
        Case("1,025 entries", "an index leaf is too large") {
            $0.put(UInt16(1025), 32)
            $0.ref.info = BlockRef.info(.indexLeaf, rows: 1025)
        },
    ]

    @Test("A leaf of an index is refused beyond each bound", arguments: leaves)
    func leaf(_ one: Case) { Self.expect(one, Self.leaf()) }

    /// Of form 1: a null, then "ab", "ac", "ad", keys 1 ... 4 in one byte each.
    private static func textLeaf() -> Block {
        let block = Block(.indexLeaf, rows: 4)
        block.put(UInt16(4), 32)
        block.put(UInt16(1), 34)
        block.put(UInt8(1), 37)
        block.put(UInt8(1), 38)
        block.put(UInt16(1), 40)
        for i in 0..<4 { block.put(UInt8(i + 1), 72 + i) }
        for i in 0..<3 { block.put(UInt16(i + 1), 80 + i * 2) }
        for (i, letter) in "abcd".utf8.enumerated() { block.put(letter, 86 + i) }
        return block
    }

    private static let unordered = "an index leaf is out of order"
    private static let valueOutside = "an index leaf has a value outside its page"

    static let textLeaves: [Case] = [
        Case("a width of 3", "an index leaf has an unknown width") { $0.put(UInt8(3), 37) },
        Case("a width of values", "an index leaf has an unknown width") { $0.put(UInt8(1), 36) },
        Case("the same text twice", nil) { $0.put(UInt8(ascii: "b"), 88) },
        Case("the same text twice, keys out of order", unordered) {
            $0.put(UInt8(ascii: "b"), 88)
            $0.put(UInt8(1), 74)
        },
        Case("texts out of order", unordered) { $0.put(UInt8(ascii: "a"), 88) },
        Case("ends out of order", valueOutside) { $0.put(UInt16(0), 82) },
        Case("two nulls", nil) {
            // The ends begin at the same offset, and there is one text less.
            $0.put(UInt16(2), 34)
            $0.put(UInt16(1), 80)
            $0.put(UInt16(2), 82)
            for (i, letter) in "abc".utf8.enumerated() { $0.put(letter, 84 + i) }
        },
        Case("two nulls, keys out of order", unordered) {
            $0.put(UInt16(2), 34)
            $0.put(UInt16(1), 80)
            $0.put(UInt16(2), 82)
            for (i, letter) in "abc".utf8.enumerated() { $0.put(letter, 84 + i) }
            $0.put(UInt8(0), 73)
        },
        Case("a text up to the end of the page", nil) {
            $0.put(UInt16(1), 80)
            $0.put(UInt16(2), 82)
            $0.put(UInt16(2 + IndexKey.storedByteCount - 1), 84)
        },
        Case("a text that is too long", valueOutside) { $0.put(UInt16(2 + IndexKey.storedByteCount), 84) },
        Case("a prefix over the end", "an index leaf runs over its page") { $0.put(UInt16(4096 - 86 + 1), 40) },
    ]

    @Test("A leaf of an index of texts is refused beyond each bound", arguments: textLeaves)
    func textLeaf(_ one: Case) { Self.expect(one, Self.textLeaf()) }

    @Test("A leaf of an index may fill its page", arguments: [503, 504])
    func fullLeaf(count: Int) {
        let block = Block(.indexLeaf, rows: count)
        block.put(UInt16(count), 32)
        block.put(UInt8(8), 36)
        block.put(UInt64(count - 1), 48)
        block.put(UInt64(1), 64)
        for i in 0..<min(count, 503) { block.put(UInt64(i), 72 + i * 8) }
        #expect(block.refusal == (count == 503 ? nil : "an index leaf runs over its page"))
    }

    // MARK: Lists

    @Test("The header of a list is refused beyond each bound")
    func listHead() throws {
        func refusal(_ bytes: [UInt8]) -> String? {
            do {
                _ = try bytes.withUnsafeBytes { try ListCodec.Reader($0, .int).count }
                return nil
            } catch EngineError.corrupted(let corruption) {
                return corruption.what
            } catch {
                return "\(error)"
            }
        }
        let good = ListCodec.encode([.int(1), .null], .int)
        #expect(good[1] == 1)
        #expect(refusal(good) == nil && refusal([]) == nil)
        for count in [1, 7] { #expect(refusal(Array(good.prefix(count))) == "a list of unknown form") }
        for flags in [UInt8(2), 3, 255] {
            var bytes = good
            bytes[1] = flags
            #expect(refusal(bytes) == "a list of unknown form")
        }
    }

    // MARK: Blobs

    @Test("A blob may fill its block", arguments: [4056, 4057])
    func blob(count: Int) {
        let block = Block(.blob)
        block.put(UInt64(count), 32)
        #expect(block.refusal == (count == 4056 ? nil : "a blob is longer than its block"))
    }
}
