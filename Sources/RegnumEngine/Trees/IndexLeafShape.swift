// SPDX-License-Identifier: Apache-2.0
// The size and encoding of a run of entries packed into a leaf; each column is measured on its own.

struct LeafShape {
    let isBytes: Bool
    /// The slot in its node at which the run begins.
    let start: Int
    private(set) var count = 0
    private(set) var nullCount = 0
    private(set) var firstValue: UInt64 = 0
    private(set) var lastValue: UInt64 = 0
    private(set) var valueStride: UInt64 = 0
    private var isValueSequence = true
    private(set) var firstKey: UInt64 = 0
    private(set) var leastKey = UInt64.max
    private var greatestKey: UInt64 = 0
    private(set) var keyStride: UInt64 = 0
    private var isKeySequence = true
    private(set) var prefixByteCount = 0
    private var textByteCount = 0

    /// An empty run.
    init(start: Int, isBytes: Bool) {
        self.start = start
        self.isBytes = isBytes
    }

    /// O(range).
    init(_ node: IndexNodePointer, _ range: Range<Int>, isBytes: Bool) {
        self.init(start: range.lowerBound, isBytes: isBytes)
        extend(node, to: range.upperBound)
    }

    /// The slot after the last entry.
    var end: Int { start &+ count }

    /// Adds the entries up to `end`. O(new entries).
    mutating func extend(_ node: IndexNodePointer, to end: Int) {
        let from = self.end
        guard end > from else { return }
        count = end - start
        extendKeys(UnsafePointer(node.pointee.keys), from..<end)
        nullCount = max(0, min(node.pointee.nullCount, end) - start)
        // The first value of the run, and the first new value.
        let first = start + nullCount
        guard first < end else { return }
        let new = max(from, first)
        if let texts = node.pointee.texts {
            let (one, last) = (texts[first].text, texts[end - 1].text)
            // The texts are sorted, so the common prefix of the first and the last is shared by all.
            prefixByteCount = IndexKey.commonPrefix(
                one.address, last.address, limit: min(one.byteCount, last.byteCount))
            for i in new..<end { textByteCount &+= texts[i].text.byteCount }
        } else {
            let values = UnsafePointer(node.pointee.values)
            firstValue = values[first]
            lastValue = values[end - 1]
            guard end - first > 1 else { return }
            valueStride = values[first + 1] &- values[first]
            isValueSequence =
                isValueSequence && Self.isSequence(values, max(new, first + 1)..<end, valueStride)
        }
    }

    private mutating func extendKeys(_ keys: UnsafePointer<UInt64>, _ new: Range<Int>) {
        firstKey = keys[start]
        guard count > 1 else { return }
        keyStride = keys[start + 1] &- keys[start]
        var new = new
        if isKeySequence {
            if Self.isSequence(keys, max(new.lowerBound, start + 1)..<new.upperBound, keyStride) { return }
            isKeySequence = false
            new = start..<new.upperBound
        }
        for i in new {
            leastKey = min(leastKey, keys[i])
            greatestKey = max(greatestKey, keys[i])
        }
    }

    /// True if each number exceeds the one before it by `stride`.
    private static func isSequence(_ numbers: UnsafePointer<UInt64>, _ range: Range<Int>, _ stride: UInt64) -> Bool {
        var difference: UInt64 = 0
        var i = range.lowerBound
        while i < range.upperBound, difference == 0 {
            let end = min(i &+ 64, range.upperBound)
            while i < end {
                difference |= (numbers[i] &- numbers[i &- 1]) ^ stride
                i &+= 1
            }
        }
        return difference == 0
    }

    /// The end, at most `limit`, of the longest range from `start` in which both columns are arithmetic sequences.
    static func sequenceEnd(_ node: IndexNodePointer, _ start: Int, limit: Int) -> Int {
        guard limit - start > 1 else { return limit }
        let keys = UnsafePointer(node.pointee.keys)
        let values = UnsafePointer(node.pointee.values)
        let keyStride = keys[start + 1] &- keys[start]
        // The values of nulls are all 0.
        let valueStride = values[start + 1] &- values[start]
        var end = start + 2
        while end < limit, keys[end] &- keys[end &- 1] == keyStride, values[end] &- values[end &- 1] == valueStride {
            end &+= 1
        }
        return end
    }

    private static func width(_ span: UInt64) -> Int {
        span == 0 ? 0 : span <= 0xff ? 1 : span <= 0xffff ? 2 : span <= 0xffff_ffff ? 4 : 8
    }

    /// Bytes per value; 0 for an arithmetic sequence.
    var valueWidth: Int { isBytes || isValueSequence ? 0 : Self.width(lastValue &- firstValue) }
    var keyWidth: Int { isKeySequence ? 0 : Self.width(greatestKey &- leastKey) }

    var byteCount: Int {
        let values = count &- nullCount
        let keys = IndexNodeLayout.leafHeaderByteCount &+ IndexNodeLayout.roundedUp(count &* keyWidth)
        if !isBytes { return keys &+ values &* valueWidth }
        return keys &+ 2 &* values &+ prefixByteCount &+ textByteCount &- values &* prefixByteCount
    }
}
