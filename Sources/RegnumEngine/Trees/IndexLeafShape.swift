// SPDX-License-Identifier: Apache-2.0
// How a run of entries would be packed into a leaf, each column looked at on its own.

struct LeafShape {
    let isBytes: Bool
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
    private var firstText = IndexText.empty
    private(set) var prefixByteCount = 0
    private var textByteCount = 0

    /// O(range).
    init(_ node: IndexNodePointer, _ range: Range<Int>, isBytes: Bool) {
        self.isBytes = isBytes
        count = range.count
        nullCount = max(0, min(node.pointee.nullCount, range.upperBound) - range.lowerBound)
        guard count > 0 else { return }
        let keys = UnsafePointer(node.pointee.keys + range.lowerBound)
        firstKey = keys[0]
        keyStride = count > 1 ? keys[1] &- keys[0] : 0
        isKeySequence = Self.isSequence(keys, count, keyStride)
        if !isKeySequence {
            for i in 0..<count {
                leastKey = min(leastKey, keys[i])
                greatestKey = max(greatestKey, keys[i])
            }
        }
        let n = count &- nullCount
        guard n > 0 else { return }
        let start = range.lowerBound + nullCount
        if let texts = node.pointee.texts {
            firstText = texts[start].text
            let last = texts[range.upperBound - 1].text
            // In order, so what the first and the last begin with all do.
            prefixByteCount = IndexKey.commonPrefix(
                firstText.address, last.address, limit: min(firstText.byteCount, last.byteCount))
            for i in start..<range.upperBound { textByteCount &+= texts[i].text.byteCount }
        } else {
            let values = UnsafePointer(node.pointee.values + start)
            firstValue = values[0]
            lastValue = values[n &- 1]
            valueStride = n > 1 ? values[1] &- values[0] : 0
            isValueSequence = Self.isSequence(values, n, valueStride)
        }
    }

    private static func isSequence(_ numbers: UnsafePointer<UInt64>, _ n: Int, _ stride: UInt64) -> Bool {
        var difference: UInt64 = 0
        var i = 1
        while i < n, difference == 0 {
            let end = min(i &+ 64, n)
            while i < end {
                difference |= (numbers[i] &- numbers[i &- 1]) ^ stride
                i &+= 1
            }
        }
        return difference == 0
    }

    /// How far, up to `limit`, the entries from `start` on are sequences in both columns, as the end of their range.
    static func sequenceEnd(_ node: IndexNodePointer, _ start: Int, limit: Int) -> Int {
        guard limit - start > 1 else { return limit }
        let keys = UnsafePointer(node.pointee.keys)
        let values = UnsafePointer(node.pointee.values)
        let keyStride = keys[start + 1] &- keys[start]
        // Those of nulls are all 0.
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

    /// Width of a value, 0 for an arithmetic sequence.
    var valueWidth: Int { isBytes || isValueSequence ? 0 : Self.width(lastValue &- firstValue) }
    var keyWidth: Int { isKeySequence ? 0 : Self.width(greatestKey &- leastKey) }

    var byteCount: Int {
        let values = count &- nullCount
        let keys = IndexNodeLayout.leafHeaderByteCount &+ IndexNodeLayout.roundedUp(count &* keyWidth)
        if !isBytes { return keys &+ values &* valueWidth }
        return keys &+ 2 &* values &+ prefixByteCount &+ textByteCount &- values &* prefixByteCount
    }
}
