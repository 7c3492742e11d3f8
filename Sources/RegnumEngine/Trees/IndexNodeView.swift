// SPDX-License-Identifier: Apache-2.0
// Reads and searches sealed index nodes in place, without unpacking or allocating. Layout: IndexNodeLayout.swift; its
// check makes these unchecked loads safe.

/// A sealed leaf of either form.
struct IndexLeafView {
    let bytes: UnsafeRawPointer
    let count: Int
    let nullCount: Int
    let keyWidth: Int

    @inline(__always)
    init(_ bytes: UnsafeRawPointer) {
        self.bytes = bytes
        count = Int(bytes.load(fromByteOffset: IndexNodeLayout.countOffset, as: UInt16.self))
        nullCount = Int(bytes.load(fromByteOffset: IndexNodeLayout.nullCountOffset, as: UInt16.self))
        keyWidth = Int(bytes.load(fromByteOffset: IndexNodeLayout.keyWidthOffset, as: UInt8.self))
    }

    @inline(__always) var valueWidth: Int {
        Int(bytes.load(fromByteOffset: IndexNodeLayout.valueWidthOffset, as: UInt8.self))
    }
    @inline(__always) var valueBase: UInt64 {
        bytes.load(fromByteOffset: IndexNodeLayout.valueBaseOffset, as: UInt64.self)
    }
    @inline(__always) var valueStride: UInt64 {
        bytes.load(fromByteOffset: IndexNodeLayout.valueStrideOffset, as: UInt64.self)
    }
    /// The start of the values (form 0) or of the end offsets of the values (form 1).
    @inline(__always) var values: UnsafeRawPointer {
        bytes + (IndexNodeLayout.leafHeaderByteCount &+ IndexNodeLayout.roundedUp(count &* keyWidth))
    }

    @inline(__always)
    private static func load(_ p: UnsafeRawPointer, _ i: Int, _ width: Int) -> UInt64 {
        switch width {
        case 1: UInt64(p.load(fromByteOffset: i, as: UInt8.self))
        case 2: UInt64(p.load(fromByteOffset: i &<< 1, as: UInt16.self))
        case 4: UInt64(p.load(fromByteOffset: i &<< 2, as: UInt32.self))
        default: p.load(fromByteOffset: i &<< 3, as: UInt64.self)
        }
    }

    @inline(__always)
    func key(_ i: Int) -> UInt64 {
        let base = bytes.load(fromByteOffset: IndexNodeLayout.keyBaseOffset, as: UInt64.self)
        if keyWidth == 0 {
            return base &+ UInt64(i)
                &* bytes.load(fromByteOffset: IndexNodeLayout.keyStrideOffset, as: UInt64.self)
        }
        return base &+ Self.load(bytes + IndexNodeLayout.leafHeaderByteCount, i, keyWidth)
    }

    /// Form 0: the value of a non-null entry.
    @inline(__always)
    func value(_ i: Int) -> UInt64 {
        let width = valueWidth
        if width == 0 { return valueBase &+ UInt64(i &- nullCount) &* valueStride }
        return valueBase &+ Self.load(values, i &- nullCount, width)
    }

    /// Form 1: the common prefix of all values.
    @inline(__always)
    var prefix: IndexText {
        let byteCount = Int(bytes.load(fromByteOffset: IndexNodeLayout.valueBaseOffset, as: UInt16.self))
        return IndexText(values + (count &- nullCount) &<< 1, byteCount)
    }

    /// Form 1: the rest of the value of a non-null entry.
    @inline(__always)
    func suffix(_ i: Int) -> IndexText {
        let ends = values
        let slot = i &- nullCount
        let prefix = prefix
        let start = slot == 0 ? 0 : Int(ends.loadUnaligned(fromByteOffset: slot &<< 1 &- 2, as: UInt16.self))
        let end = Int(ends.loadUnaligned(fromByteOffset: slot &<< 1, as: UInt16.self))
        return IndexText(prefix.address + (prefix.byteCount &+ start), end &- start)
    }

    /// The first entry at or after `probe`, or `count`.
    @inline(__always)
    func lowerBound(_ probe: IndexProbe, isBytes: Bool) -> Int {
        if probe.isNull { return keyLowerBound(probe.key, 0, nullCount) }
        if isBytes { return bytesLowerBound(probe) }
        let low = valueLowerBound(probe.value)
        if probe.key == 0 || low == count || value(low) != probe.value { return low }
        let high = probe.value == .max ? count : valueLowerBound(probe.value &+ 1)
        return keyLowerBound(probe.key, low, high)
    }

    /// The first of `low..<high` whose key is at least `key`, or `high`.
    private func keyLowerBound(_ key: UInt64, _ low: Int, _ high: Int) -> Int {
        var low = low
        var high = high
        while low < high {
            let middle = (low &+ high) &>> 1
            if self.key(middle) < key { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    @inline(__always)
    func valueLowerBound(_ value: UInt64) -> Int {
        let n = count &- nullCount
        guard n > 0, value > valueBase else { return nullCount }
        let distance = value &- valueBase
        let span = valueStride
        let width = valueWidth
        if width == 0 {
            guard span != 0 else { return count }
            let (quotient, rest) = distance.quotientAndRemainder(dividingBy: span)
            let slot = rest == 0 ? quotient : quotient &+ 1
            return slot >= UInt64(n) ? count : nullCount &+ Int(slot)
        }
        if distance > span { return count }
        let p = values
        switch width {
        case 1: return nullCount &+ Self.search(p, n, UInt8(truncatingIfNeeded: distance))
        case 2: return nullCount &+ Self.search(p, n, UInt16(truncatingIfNeeded: distance))
        case 4:
            return nullCount &+ Self.interpolate(p, n, UInt32(truncatingIfNeeded: distance), distance, span)
        default: return nullCount &+ Self.interpolate(p, n, distance, distance, span)
        }
    }

    /// The first of `n` (at least 1) numbers that is at least `target`, or `n`.
    @inline(__always)
    private static func search<T: FixedWidthInteger & UnsignedInteger>(
        _ p: UnsafeRawPointer, _ n: Int, _ target: T
    ) -> Int {
        let numbers = p.assumingMemoryBound(to: T.self)
        var low = 0
        var length = n
        while length > 1 {
            let half = length &>> 1
            low = numbers[low &+ half &- 1] < target ? low &+ half : low
            length &-= half
        }
        return numbers[low] < target ? low &+ 1 : low
    }

    /// Like `search`, for numbers that may be evenly spread: first searches a window of 32 around an interpolated
    /// guess, which saves the distant loads of a binary search in an uncached leaf.
    @inline(__always)
    private static func interpolate<T: FixedWidthInteger & UnsignedInteger>(
        _ p: UnsafeRawPointer, _ n: Int, _ target: T, _ distance: UInt64, _ span: UInt64
    ) -> Int {
        if n > 48 {
            let numbers = p.assumingMemoryBound(to: T.self)
            let guess = Int(Double(distance) / Double(span) * Double(n &- 1))
            let low = min(max(guess &- 16, 0), n &- 32)
            let high = low &+ 31
            if numbers[high] >= target, low == 0 || numbers[low &- 1] < target {
                return low &+ search(p + low &* MemoryLayout<T>.stride, 32, target)
            }
        }
        return search(p, n, target)
    }

    /// Like `lowerBound`, if all entries before `start` are known to be before `probe` and the result is likely to be
    /// near.
    func lowerBound(_ probe: IndexProbe, from start: Int, isBytes: Bool) -> Int {
        guard isBytes, !probe.isNull, start >= nullCount else { return lowerBound(probe, isBytes: isBytes) }
        return bytesLowerBound(probe, from: start)
    }

    private func bytesLowerBound(_ probe: IndexProbe, from start: Int? = nil) -> Int {
        guard nullCount < count else { return count }
        let prefix = prefix
        let shared = min(prefix.byteCount, probe.text.byteCount)
        let order = IndexKey.compare(probe.text.address, shared, prefix.address, shared)
        if order > 0 { return count }
        if order < 0 || shared < prefix.byteCount { return nullCount }
        let rest = probe.text.address + shared
        let restCount = probe.text.byteCount &- shared
        let head = IndexKey.head(rest, restCount)
        var low = start ?? nullCount
        var high = count
        var stride = start == nil ? 0 : 1
        while low < high {
            // With a start: gallop in doubling steps until one goes too far, then search by halves.
            let middle = stride == 0 ? (low &+ high) &>> 1 : min(low &+ stride &- 1, high &- 1)
            stride = stride &<< 1
            let suffix = suffix(middle)
            let own = self.head(suffix)
            let order =
                own == head
                ? IndexKey.compare(suffix.address, suffix.byteCount, rest, restCount) : own < head ? -1 : 1
            if order < 0 || order == 0 && key(middle) < probe.key {
                low = middle &+ 1
            } else {
                high = middle
                stride = 0
            }
        }
        return low
    }

    /// `IndexKey.head` of a suffix, with a single load except near the end of the leaf.
    @inline(__always)
    private func head(_ suffix: IndexText) -> UInt64 {
        if suffix.address + 8 > bytes + FormatLimits.pageByteCount {
            return IndexKey.head(suffix.address, suffix.byteCount)
        }
        let word = UInt64(bigEndian: suffix.address.loadUnaligned(as: UInt64.self))
        // Masks out bytes after the suffix.
        return suffix.byteCount >= 8 ? word : word & ~(UInt64.max >> UInt64(8 &* suffix.byteCount))
    }

    /// True if the value of an entry equals that of `probe`.
    @inline(__always)
    func hasValue(_ i: Int, _ probe: IndexProbe, isBytes: Bool) -> Bool {
        if (i < nullCount) != probe.isNull { return false }
        if probe.isNull { return true }
        if !isBytes { return value(i) == probe.value }
        let prefix = prefix
        let suffix = suffix(i)
        guard prefix.byteCount &+ suffix.byteCount == probe.text.byteCount else { return false }
        return IndexKey.compare(prefix.address, prefix.byteCount, probe.text.address, prefix.byteCount) == 0
            && IndexKey.compare(
                suffix.address, suffix.byteCount, probe.text.address + prefix.byteCount, suffix.byteCount)
                == 0
    }
}

/// A sealed branch of either form.
struct IndexBranchView {
    let bytes: UnsafeRawPointer
    let count: Int
    let nullCount: Int

    @inline(__always)
    init(_ bytes: UnsafeRawPointer) {
        self.bytes = bytes
        count = Int(bytes.load(fromByteOffset: IndexNodeLayout.countOffset, as: UInt16.self))
        nullCount = Int(bytes.load(fromByteOffset: IndexNodeLayout.nullCountOffset, as: UInt16.self))
    }

    @inline(__always) private var words: UnsafePointer<UInt64> {
        (bytes + IndexNodeLayout.branchHeaderByteCount).assumingMemoryBound(to: UInt64.self)
    }
    /// The values of the separators.
    @inline(__always) var values: UnsafePointer<UInt64> { words }
    @inline(__always) var keys: UnsafePointer<UInt64> { words + count }
    @inline(__always) func entryCount(_ i: Int) -> UInt64 { words[2 &* count &+ i] }
    @inline(__always) func ref(_ i: Int) -> BlockRef {
        BlockRef(reading: UnsafeRawPointer(words + (3 &* count &+ 5 &* i)))
    }
    /// The offset of ref `i` in the block.
    func refOffset(_ i: Int) -> Int { IndexNodeLayout.branchHeaderByteCount + 8 * (3 * count + 5 * i) }

    /// The text of separator `i`, in a `bytes` tree.
    @inline(__always)
    func text(_ i: Int) -> IndexText {
        let ends = UnsafeRawPointer(words + 8 &* count)
        let start = i == 0 ? 0 : Int(ends.loadUnaligned(fromByteOffset: i &<< 2 &- 4, as: UInt32.self))
        let end = Int(ends.loadUnaligned(fromByteOffset: i &<< 2, as: UInt32.self))
        return IndexText(ends + (count &<< 2 &+ start), end &- start)
    }

    @inline(__always)
    func separator(_ i: Int, isBytes: Bool) -> IndexProbe {
        IndexProbe(
            value: words[i], key: words[count &+ i], text: isBytes ? text(i) : .empty, isNull: i < nullCount)
    }

    /// The last child whose separator is before `probe`, or 0.
    @inline(__always)
    func child(_ probe: IndexProbe, isBytes: Bool) -> Int {
        if probe.isNull { return nullChild(probe.key) }
        let (values, keys) = (self.values, self.keys)
        var low = nullCount
        var length = count &- nullCount
        // Branch-free binary search by value, then by the remaining bytes and the key among equal values.
        while length > 0 {
            let half = length &>> 1
            let isBefore = values[low &+ half] < probe.value
            low = isBefore ? low &+ half &+ 1 : low
            length = isBefore ? length &- half &- 1 : half
        }
        if low < count, values[low] == probe.value, isBytes || probe.key > 0 {
            var high = count
            while low < high {
                let middle = (low &+ high) &>> 1
                let isBefore =
                    values[middle] == probe.value
                    && (isBytes
                        ? separator(middle, isBytes: true).compare(probe, isBytes: true) < 0
                        : keys[middle] < probe.key)
                if isBefore { low = middle &+ 1 } else { high = middle }
            }
        }
        return max(low &- 1, 0)
    }

    /// Like `child` for a null probe: by key among the null separators.
    private func nullChild(_ key: UInt64) -> Int {
        let keys = words + count
        var low = 0
        var high = nullCount
        while low < high {
            let middle = (low &+ high) &>> 1
            if keys[middle] < key { low = middle &+ 1 } else { high = middle }
        }
        return max(low &- 1, 0)
    }
}
