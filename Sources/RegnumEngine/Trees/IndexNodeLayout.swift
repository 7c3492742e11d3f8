// SPDX-License-Identifier: Apache-2.0
// The layout of index tree nodes in the file, and the check that makes reading them safe. All numbers are little
// endian; the block header takes the first 32 bytes; bytes not listed are zero.
//
//   leaf, one page
//   offset size  meaning
//       32    2  entries, 1...1,024; form 0 with both widths 0, and no entry null or all of them: up to 4,096. Among
//                entries with equal values the keys ascend
//       34    2  leading entries that are null (n = entries - nulls is the number of values)
//       36    1  valueWidth: 0, 1, 2, 4 or 8 bytes (form 1: 0)
//       37    1  keyWidth: 0, 1, 2, 4 or 8 bytes
//       38    1  form: 0 fixed, 1 bytes
//       39    1  level: 0
//       40    8  form 0: the first value; form 1: u16 byte count of the common prefix
//       48    8  form 0: valueWidth 0: the stride, value i = base + i * stride; else the last value - base
//       56    8  keyWidth 0: the first key; else the smallest key
//       64    8  keyWidth 0: the stride, key i = base + i * stride modulo 2^64; else 0
//       72       keys: keyWidth bytes per entry, key - base; then zeros up to a multiple of 8
//                form 0: values: valueWidth bytes per non-null value, value - base
//                form 1: u16 end of each value in the heap [n]; the common prefix; the heap
//
//   branch, one page (form 1: more if separators are long), c children
//       32    2  children, 1...64
//       34    2  leading separators that are null, at least 1
//       38    1  form
//       39    1  level: 1 over leaves, at most FormatLimits.treeDepth - 1
//       40   8c  separator values (form 1: the first 8 bytes as a big-endian number, padded with zeros)
//            8c  separator keys
//            8c  entries below each child
//           40c  refs; their info: rows = entries or children, aux = bytes used
//            4c  form 1: end of each separator in the heap; then the heap
//
// A separator is not above any entry of its child and not below any entry of the child before. The first is (null, 0).

package enum IndexNodeLayout {
    static let entryLimit = 1024
    /// The limit of a leaf whose values and keys are arithmetic sequences, such as sequential primary keys. Not larger,
    /// because changing such a leaf unpacks it, and a damaged file may claim this many entries in each page.
    static let sequenceEntryLimit = 4096
    static let fixedChildLimit = 63
    static let bytesChildLimit = 64
    /// The number of children that a branch with long separators takes even if they need more than one page.
    static let longChildMinimum = 16

    static let countOffset = 32
    static let nullCountOffset = 34
    static let valueWidthOffset = 36
    static let keyWidthOffset = 37
    static let formOffset = 38
    static let levelOffset = 39
    static let branchHeaderByteCount = 40
    static let valueBaseOffset = 40
    static let valueStrideOffset = 48
    static let keyBaseOffset = 56
    static let keyStrideOffset = 64
    static let leafHeaderByteCount = 72

    @inline(__always) static func roundedUp(_ byteCount: Int) -> Int { (byteCount &+ 7) & ~7 }

    /// Checks the order of a leaf or branch, and that no read of it can leave its block. The header must have been
    /// checked. About 1 µs; throws `.corrupted`.
    package static func check(_ ref: BlockRef, _ bytes: UnsafeRawPointer) throws(EngineError) {
        let form = bytes.load(fromByteOffset: formOffset, as: UInt8.self)
        let level = bytes.load(fromByteOffset: levelOffset, as: UInt8.self)
        let count = Int(bytes.load(fromByteOffset: countOffset, as: UInt16.self))
        let nulls = Int(bytes.load(fromByteOffset: nullCountOffset, as: UInt16.self))
        guard form <= 1 else { throw corrupted("an index node has an unknown form", page: ref.page) }
        guard count >= 1, nulls <= count, ref.rows == count else {
            throw corrupted("an index node has a wrong number of entries", page: ref.page)
        }
        if ref.kind == BlockKind.indexLeaf.rawValue {
            guard level == 0, count <= sequenceEntryLimit, ref.pageCount == 1 else {
                throw corrupted("an index leaf is too large", page: ref.page)
            }
            try form == 0
                ? checkFixedLeaf(ref, bytes, count, nulls) : checkBytesLeaf(ref, bytes, count, nulls)
            return
        }
        guard ref.kind == BlockKind.indexBranch.rawValue, level >= 1, Int(level) < FormatLimits.treeDepth
        else {
            throw corrupted("an index branch has a wrong level", page: ref.page)
        }
        guard nulls >= 1, count <= (form == 0 ? fixedChildLimit : bytesChildLimit) else {
            throw corrupted("an index branch has a wrong number of children", page: ref.page)
        }
        try checkBranch(ref, bytes, count, nulls, isBytes: form == 1, level: Int(level))
    }

    private static func isWidth(_ width: Int) -> Bool {
        width == 0 || width == 1 || width == 2 || width == 4 || width == 8
    }

    private static func checkFixedLeaf(
        _ ref: BlockRef, _ bytes: UnsafeRawPointer, _ count: Int, _ nulls: Int
    ) throws(EngineError) {
        let valueWidth = Int(bytes.load(fromByteOffset: valueWidthOffset, as: UInt8.self))
        let keyWidth = Int(bytes.load(fromByteOffset: keyWidthOffset, as: UInt8.self))
        guard isWidth(valueWidth), isWidth(keyWidth) else {
            throw corrupted("an index leaf has an unknown width", page: ref.page)
        }
        let used = leafHeaderByteCount + roundedUp(count * keyWidth) + (count - nulls) * valueWidth
        guard used <= ref.byteCount else {
            throw corrupted("an index leaf runs over its page", page: ref.page)
        }
        guard count <= entryLimit || valueWidth == 0 && keyWidth == 0 && (nulls == 0 || nulls == count) else {
            throw corrupted("an index leaf is too large", page: ref.page)
        }
        let leaf = IndexLeafView(bytes)
        let steps = UInt64(max(count - nulls - 1, 0))
        let (length, longOverflow) =
            valueWidth == 0
            ? leaf.valueStride.multipliedReportingOverflow(by: steps) : (leaf.valueStride, false)
        let (last, overflow) = leaf.valueBase.addingReportingOverflow(length)
        guard !longOverflow, !overflow else {
            throw corrupted("an index leaf has a frame that is too wide", page: ref.page)
        }
        guard nulls == count || leaf.value(count - 1) == last else {
            throw corrupted("an index leaf does not end with its last value", page: ref.page)
        }
        if count > entryLimit {
            try checkSequence(ref, leaf, isSame: nulls == count || leaf.valueStride == 0)
            return
        }
        var i = 1
        while i < count {
            let isSame = i < nulls || i > nulls && leaf.value(i) == leaf.value(i - 1)
            guard i <= nulls || leaf.value(i) >= leaf.value(i - 1), !isSame || leaf.key(i) >= leaf.key(i - 1)
            else {
                throw corrupted("an index leaf is out of order", page: ref.page)
            }
            i += 1
        }
    }

    /// Checks the keys of a long leaf, which must ascend if its values are all equal. O(1).
    private static func checkSequence(
        _ ref: BlockRef, _ leaf: IndexLeafView, isSame: Bool
    ) throws(EngineError) {
        guard isSame else { return }
        let stride = leaf.bytes.load(fromByteOffset: keyStrideOffset, as: UInt64.self)
        let (length, longOverflow) = stride.multipliedReportingOverflow(by: UInt64(leaf.count - 1))
        guard !longOverflow, !leaf.key(0).addingReportingOverflow(length).overflow else {
            throw corrupted("an index leaf is out of order", page: ref.page)
        }
    }

    private static func checkBytesLeaf(
        _ ref: BlockRef, _ bytes: UnsafeRawPointer, _ count: Int, _ nulls: Int
    ) throws(EngineError) {
        guard count <= entryLimit else { throw corrupted("an index leaf is too large", page: ref.page) }
        let keyWidth = Int(bytes.load(fromByteOffset: keyWidthOffset, as: UInt8.self))
        let prefix = Int(bytes.load(fromByteOffset: valueBaseOffset, as: UInt16.self))
        guard isWidth(keyWidth), bytes.load(fromByteOffset: valueWidthOffset, as: UInt8.self) == 0 else {
            throw corrupted("an index leaf has an unknown width", page: ref.page)
        }
        let values = count - nulls
        let ends = leafHeaderByteCount + roundedUp(count * keyWidth)
        let heap = ends + 2 * values + prefix
        guard heap <= ref.byteCount else {
            throw corrupted("an index leaf runs over its page", page: ref.page)
        }
        var start = 0
        for i in 0..<values {
            let end = Int(bytes.loadUnaligned(fromByteOffset: ends + 2 * i, as: UInt16.self))
            guard start <= end, heap + end <= ref.byteCount, prefix + end - start <= IndexKey.storedByteCount
            else {
                throw corrupted("an index leaf has a value outside its page", page: ref.page)
            }
            start = end
        }
        let leaf = IndexLeafView(bytes)
        var i = 1
        while i < count {
            var order = -1
            if i < nulls { order = 0 }
            if i > nulls {
                let a = leaf.suffix(i - 1)
                let b = leaf.suffix(i)
                order = IndexKey.compare(a.address, a.byteCount, b.address, b.byteCount)
            }
            guard order < 0 || order == 0 && leaf.key(i) >= leaf.key(i - 1) else {
                throw corrupted("an index leaf is out of order", page: ref.page)
            }
            i += 1
        }
    }

    private static func checkBranch(
        _ ref: BlockRef, _ bytes: UnsafeRawPointer, _ count: Int, _ nulls: Int, isBytes: Bool, level: Int
    ) throws(EngineError) {
        let heap = branchHeaderByteCount + count * (isBytes ? 68 : 64)
        guard heap <= ref.byteCount else {
            throw corrupted("an index branch runs over its block", page: ref.page)
        }
        let branch = IndexBranchView(bytes)
        var start = 0
        for i in 0..<count where isBytes {
            let end = Int(bytes.loadUnaligned(fromByteOffset: heap - 4 * (count - i), as: UInt32.self))
            guard start <= end, end <= ref.byteCount - heap, end - start <= IndexKey.storedByteCount,
                i >= nulls || end == 0
            else {
                throw corrupted("an index branch has a separator outside its block", page: ref.page)
            }
            start = end
        }
        guard branch.separator(0, isBytes: isBytes).compare(.null(key: 0), isBytes: isBytes) == 0 else {
            throw corrupted("an index branch does not begin with the least separator", page: ref.page)
        }
        var total: UInt64 = 0
        for i in 0..<count {
            let child = branch.ref(i)
            let kind: BlockKind = level == 1 ? .indexLeaf : .indexBranch
            guard !child.isNone, !child.isPending, child.kind == kind.rawValue else {
                throw corrupted("an index branch refers to something other than its children", page: ref.page)
            }
            let (sum, overflow) = total.addingReportingOverflow(branch.entryCount(i))
            guard !overflow, sum <= FormatLimits.treeEntryCount, level > 1 || branch.entryCount(i) == UInt64(child.rows)
            else {
                throw corrupted("an index branch has wrong counts", page: ref.page)
            }
            total = sum
            let separator = branch.separator(i, isBytes: isBytes)
            guard
                separator.value
                    == (i < nulls
                        ? 0
                        : isBytes
                            ? IndexKey.head(separator.text.address, separator.text.byteCount)
                            : separator.value)
            else {
                throw corrupted("an index branch has a wrong separator head", page: ref.page)
            }
            guard
                i == 0 || branch.separator(i - 1, isBytes: isBytes).compare(separator, isBytes: isBytes) <= 0
            else {
                throw corrupted("an index branch is out of order", page: ref.page)
            }
        }
    }
}
