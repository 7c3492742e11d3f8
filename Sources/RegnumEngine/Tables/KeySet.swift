// SPDX-License-Identifier: Apache-2.0
// Sets of object keys, and of words that identify link targets.

/// A set of object keys that are close together.
struct KeySet {
    private let first: UInt64
    private let words: [UInt64]

    /// Makes a set of ascending keys; nil if they are so far apart that the set would be large.
    init?(_ keys: [UInt64]) {
        guard let first = keys.first, let last = keys.last else { return nil }
        let span = last &- first
        guard span < 64 &* UInt64(keys.count) else { return nil }
        var words = [UInt64](repeating: 0, count: Int(span >> 6) + 1)
        for key in keys {
            let place = key &- first
            words[Int(place >> 6)] |= 1 << (place & 63)
        }
        self.first = first
        self.words = words
    }

    @inline(__always)
    func contains(_ key: UInt64) -> Bool {
        let place = key &- first
        let word = Int(truncatingIfNeeded: place &>> 6)
        guard place &>> 6 < UInt64(words.count) else { return false }
        return words[word] &>> (place & 63) & 1 == 1
    }
}

/// A set of arbitrary words. O(1) per lookup.
struct WordSet {
    private let close: KeySet?
    private let scattered: Set<UInt64>

    /// Makes a set of ascending words.
    init(_ words: [UInt64]) {
        close = KeySet(words)
        scattered = close == nil ? Set(words) : []
    }

    @inline(__always)
    func contains(_ word: UInt64) -> Bool {
        if let close { return close.contains(word) }
        return scattered.contains(word)
    }
}
