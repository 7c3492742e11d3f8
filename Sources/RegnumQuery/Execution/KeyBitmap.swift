// SPDX-License-Identifier: Apache-2.0
// Sets and counts of objects by their keys, where keys lie close enough together.

import RegnumEngine

/// One bit for each key below a limit. Freed with its last reference.
final class KeyBitmap {
    private let words: UnsafeMutablePointer<UInt64>
    private let limit: UInt64

    init(limit: UInt64) {
        self.limit = limit
        let count = Int((limit + 63) / 64) + 1
        words = .allocate(capacity: count)
        words.initialize(repeating: 0, count: count)
    }

    deinit { words.deallocate() }

    @inline(__always)
    func contains(_ key: UInt64) -> Bool {
        key < limit && words[Int(key &>> 6)] &>> (key & 63) & 1 != 0
    }

    @inline(__always)
    func insert(_ key: UInt64) {
        if key < limit { words[Int(key &>> 6)] |= 1 &<< (key & 63) }
    }
}

/// A count for each key below a limit.
final class KeyCounts {
    private let counts: UnsafeMutablePointer<UInt32>
    private let limit: UInt64

    init(limit: UInt64) {
        self.limit = limit
        counts = .allocate(capacity: Int(limit) + 1)
        counts.initialize(repeating: 0, count: Int(limit) + 1)
    }

    deinit { counts.deallocate() }

    @inline(__always)
    func count(_ key: UInt64) -> Int { key < limit ? Int(counts[Int(key)]) : 0 }

    @inline(__always)
    func add(_ key: UInt64) {
        if key < limit { counts[Int(key)] &+= 1 }
    }
}

extension Table {
    /// The first key beyond all, or nil where keys lie so far apart that a bit for each is too much.
    func keyLimit() throws(EngineError) -> UInt64? {
        guard count > 0 else { return 1 }
        let limit = try key(atPosition: count - 1).rawValue + 1
        return limit <= UInt64(count) * 64 + 65_536 ? limit : nil
    }
}
