// SPDX-License-Identifier: Apache-2.0
// Tests which texts or data of a column are in a set.

/// A set of byte strings for many lookups: the concatenated strings, and an open-addressing hash table that holds half
/// of each hash, so that a lookup hardly ever compares a different string.
package struct ByteStringSet: Sendable {
    package let isFolded: Bool
    /// The strings in insertion order, each once.
    private let heap: [UInt8]
    /// The end offset of each string.
    private let ends: [Int]
    /// The upper half of a string's hash, and below it the number of the string + 1; 0 if empty. The size is a power of
    /// two.
    private let table: [UInt64]
    /// A copy of `ValueHash.factor`, for fast access.
    private let factor: UInt64
    /// The sum of the hashes of all strings: independent of their order.
    private let sum: UInt64

    /// Folds `values` if `isFolded`. O(total bytes).
    package init(_ values: [[UInt8]], isFolded: Bool = false) {
        let factor = ValueHash.factor
        var sum: UInt64 = 0
        var capacity = 8
        while capacity < values.count * 2 { capacity *= 2 }
        var table = [UInt64](repeating: 0, count: capacity)
        var heap: [UInt8] = []
        var ends: [Int] = []
        heap.reserveCapacity(values.reduce(0) { $0 + $1.count })
        ends.reserveCapacity(values.count)
        for value in values {
            let folded = isFolded ? TextFolding.lower(value) : value
            let hash = folded.withUnsafeBytes { Self.hash(Self.start($0), $0.count, isFolded: isFolded, factor) }
            var place = Int(truncatingIfNeeded: hash) & (capacity - 1)
            var isKnown = false
            while table[place] != 0, !isKnown {
                let number = Int(truncatingIfNeeded: table[place] & 0xFFFF_FFFF) - 1
                let start = number == 0 ? 0 : ends[number - 1]
                isKnown = table[place] >> 32 == hash >> 32 && heap[start..<ends[number]].elementsEqual(folded)
                place = (place + 1) & (capacity - 1)
            }
            if isKnown { continue }
            heap += folded
            ends.append(heap.count)
            table[place] = hash & ~0xFFFF_FFFF | UInt64(ends.count)
            sum &+= hash
        }
        (self.isFolded, self.heap, self.ends, self.table) = (isFolded, heap, ends, table)
        (self.factor, self.sum) = (factor, sum)
    }

    package var count: Int { ends.count }

    /// The strings in insertion order, each once.
    package subscript(number: Int) -> [UInt8] { Array(heap[(number == 0 ? 0 : ends[number - 1])..<ends[number]]) }

    /// True if all strings are shorter than `byteCount`. O(count).
    package func areShorter(than byteCount: Int) -> Bool {
        var start = 0
        for end in ends {
            if end - start >= byteCount { return false }
            start = end
        }
        return true
    }

    /// See `ValueHash.longestRun`. O(count).
    package var longestRun: Int { ValueHash.longestRun(table.map { $0 != 0 }) }

    package func contains(_ value: UnsafeRawBufferPointer) -> Bool {
        withLookup { $0.contains(Self.start(value), value.count) }
    }

    /// Unsafe pointers to the set, for loops over many values.
    struct Lookup {
        fileprivate let heap: UnsafeBufferPointer<UInt8>
        fileprivate let ends: UnsafeBufferPointer<Int>
        fileprivate let table: UnsafeBufferPointer<UInt64>
        fileprivate let isFolded: Bool
        fileprivate let factor: UInt64

        @inline(__always)
        func contains(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> Bool {
            let hash = ByteStringSet.hash(bytes, byteCount, isFolded: isFolded, factor)
            let mask = table.count &- 1
            var place = Int(truncatingIfNeeded: hash) & mask
            while table[place] != 0 {
                let entry = table[place]
                let number = Int(truncatingIfNeeded: entry & 0xFFFF_FFFF) &- 1
                if entry &>> 32 == hash &>> 32, isEqual(number, bytes, byteCount) { return true }
                place = (place &+ 1) & mask
            }
            return false
        }

        @inline(__always)
        private func isEqual(_ number: Int, _ bytes: UnsafeRawPointer, _ byteCount: Int) -> Bool {
            let start = number == 0 ? 0 : ends[number &- 1]
            guard ends[number] &- start == byteCount else { return false }
            let own = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(heap)[start..<ends[number]])
            let value = UnsafeRawBufferPointer(start: bytes, count: byteCount)
            return BytesMatch.isEqual(value, 0, own, isFolded)
        }
    }

    func withLookup<R>(_ body: (Lookup) -> R) -> R {
        heap.withUnsafeBufferPointer { heap in
            ends.withUnsafeBufferPointer { ends in
                table.withUnsafeBufferPointer { table in
                    body(Lookup(heap: heap, ends: ends, table: table, isFolded: isFolded, factor: factor))
                }
            }
        }
    }

    // MARK: Hashing

    /// The address of the bytes; any valid address if there are none.
    private static func start(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer {
        bytes.baseAddress ?? IndexText.empty.address
    }

    /// Hashes eight bytes at a time, as they are or folded. Folding is idempotent.
    @inline(__always)
    fileprivate static func hash(
        _ bytes: UnsafeRawPointer, _ byteCount: Int, isFolded: Bool, _ factor: UInt64
    ) -> UInt64 {
        var hash = UInt64(truncatingIfNeeded: byteCount) &* 0x9E37_79B9_7F4A_7C15
        if isFolded {
            var previous: UInt8 = 0
            var word: UInt64 = 0
            for index in 0..<byteCount {
                let byte = bytes.load(fromByteOffset: index, as: UInt8.self)
                word = word &<< 8 | UInt64(TextFolding.lower(byte, after: previous))
                previous = byte
                if index & 7 == 7 {
                    hash = mixed(hash ^ word, factor)
                    word = 0
                }
            }
            return mixed(hash ^ word, factor)
        }
        var index = 0
        while index &+ 8 <= byteCount {
            hash = mixed(hash ^ bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self), factor)
            index &+= 8
        }
        if index == byteCount { return mixed(hash, factor) }
        // The last eight bytes, which may overlap those before; or all of them if there are fewer.
        var rest: UInt64 = 0
        if byteCount >= 8 {
            rest = bytes.loadUnaligned(fromByteOffset: byteCount &- 8, as: UInt64.self)
        } else {
            while index < byteCount {
                rest = rest &<< 8 | UInt64(bytes.load(fromByteOffset: index, as: UInt8.self))
                index &+= 1
            }
        }
        return mixed(hash ^ rest, factor)
    }

    /// Every bit of the result depends on every bit of the word.
    @inline(__always)
    private static func mixed(_ word: UInt64, _ factor: UInt64) -> UInt64 {
        let product = word.multipliedFullWidth(by: factor)
        let mixed = (product.high ^ product.low) &* 0xD6E8_FEB8_6659_FD93
        return mixed ^ mixed &>> 32
    }
}

extension ByteStringSet: Hashable {
    /// True for sets of the same strings in any order. O(total bytes).
    package static func == (a: ByteStringSet, b: ByteStringSet) -> Bool {
        guard a.isFolded == b.isFolded, a.sum == b.sum, a.ends.count == b.ends.count, a.heap.count == b.heap.count
        else { return false }
        if a.ends == b.ends, a.heap == b.heap { return true }
        // Strings are unique, so it is enough that all of `a` are in `b`.
        return a.heap.withUnsafeBytes { heap in
            b.withLookup { lookup in
                var start = 0
                for end in a.ends {
                    let string = UnsafeRawBufferPointer(rebasing: heap[start..<end])
                    if !lookup.contains(Self.start(string), string.count) { return false }
                    start = end
                }
                return true
            }
        }
    }

    /// O(1).
    package func hash(into hasher: inout Hasher) {
        hasher.combine(isFolded)
        hasher.combine(ends.count)
        hasher.combine(sum)
    }
}
