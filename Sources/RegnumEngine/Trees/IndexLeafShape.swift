// SPDX-License-Identifier: Apache-2.0
// How a run of entries would be packed into a leaf: grows by one entry at a time until a page is full.

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
    private var lastKey: UInt64 = 0
    private(set) var keyStride: UInt64 = 0
    private var isKeySequence = true
    private var firstText = IndexText.empty
    private(set) var prefixByteCount = 0
    private var textByteCount = 0

    init(isBytes: Bool) { self.isBytes = isBytes }

    /// The shape of entries that are known to fit.
    init(_ node: IndexNodePointer, _ range: Range<Int>, isBytes: Bool) {
        self.init(isBytes: isBytes)
        for i in range { grow(node.pointee.entry(i)) }
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

    /// Takes in the next entry; false, and no further use, where the page would be over-full.
    mutating func add(_ entry: IndexProbe) -> Bool {
        if count == IndexNodeLayout.entryLimit { return false }
        grow(entry)
        return byteCount <= FormatLimits.pageByteCount
    }

    private mutating func grow(_ entry: IndexProbe) {
        addKey(entry.key)
        if entry.isNull {
            nullCount &+= 1
        } else if isBytes {
            addText(entry.text)
        } else {
            addValue(entry.value)
        }
        count &+= 1
    }

    private mutating func addKey(_ key: UInt64) {
        if count == 0 { firstKey = key }
        if count == 1 { keyStride = key &- lastKey }
        isKeySequence = isKeySequence && (count < 1 || key &- lastKey == keyStride)
        leastKey = min(leastKey, key)
        greatestKey = max(greatestKey, key)
        lastKey = key
    }

    private mutating func addValue(_ value: UInt64) {
        let n = count &- nullCount
        if n == 0 { firstValue = value } else if n == 1 { valueStride = value &- firstValue }
        isValueSequence = isValueSequence && (n < 1 || value &- lastValue == valueStride)
        lastValue = value
    }

    private mutating func addText(_ text: IndexText) {
        if count == nullCount {
            firstText = text
            prefixByteCount = text.byteCount
        } else {
            // In order, so what the first and the last begin with all do.
            prefixByteCount = IndexKey.commonPrefix(
                firstText.address, text.address, limit: min(prefixByteCount, text.byteCount))
        }
        textByteCount &+= text.byteCount
    }
}
