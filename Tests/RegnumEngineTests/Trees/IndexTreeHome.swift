// SPDX-License-Identifier: Apache-2.0
// A tree in a simulated file: commits go to a memory region through the sealer and are read back through the block
// reader, and every block is hashed and checked again.

import RegnumEngine
import RegnumSystem

/// A file in memory, always readable as a whole.
final class TreeRegion: MappedRegion {
    let memory: ReservedMemory
    let capacity = 1 << 28
    var base: UnsafeRawPointer { UnsafeRawPointer(memory.base) }
    var byteCount: Int { capacity }

    init() throws { memory = try ReservedMemory(byteCount: 1 << 28) }
    func extend(to byteCount: Int) throws(SystemError) {}
}

/// Small numbers that repeat for a seed (splitmix64).
struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64
    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

final class IndexTreeHome {
    let region: TreeRegion
    let hash = ContentHash(seedLow: 7, seedHigh: 9)
    let kind: IndexTree.Kind
    var space: BlockSpace
    var tree: IndexTree
    var nextPage: UInt64 = 16
    var birth: UInt64 = 1
    var root = BlockRef.none
    var count: UInt64 = 0
    /// Blocks of the committed tree.
    var live: Set<UInt64> = []

    init(_ kind: IndexTree.Kind) throws {
        self.kind = kind
        region = try TreeRegion()
        space = BlockSpace(reader: try BlockReader(region: region, protection: FileProtection(hash: hash)))
        space.reader.setTrusted(true)
        tree = IndexTree(space: space, kind: kind, root: .none, count: 0)
    }

    /// Seals, writes, adopts; checks that exactly the blocks that went out of use were freed.
    func commit() throws -> Bool {
        _ = try tree.seal(into: space.sealer)
        let sealer = space.sealer
        var pages: [UInt64] = []
        for n in sealer.pageCounts {
            pages.append(nextPage)
            nextPage += UInt64(n)
        }
        sealer.place(at: pages, birth: birth, nonce: 1, protection: FileProtection(hash: hash))
        birth += 1
        var isRight = true
        try sealer.forEachPlaced { (ref, bytes) in
            (region.memory.base + Int(ref.page) << 12).copyMemory(from: bytes, byteCount: ref.byteCount)
            isRight = live.insert(ref.page).inserted && isRight
        }
        for ref in space.freed { isRight = live.remove(ref.page) != nil && isRight }
        tree.adopt(sealer)
        space.reset()
        root = tree.root
        count = tree.count
        var reached: Set<UInt64> = []
        try tree.forEachBlock { (ref) throws(EngineError) in reached.insert(ref.page) }
        return isRight && reached == live
    }

    /// A new session over the same bytes: no block counts as verified.
    func reopen() throws {
        space = BlockSpace(reader: try BlockReader(region: region, protection: FileProtection(hash: hash)))
        space.reader.setTrusted(true)
        tree = IndexTree(space: space, kind: kind, root: root, count: count)
    }

    func rollback() {
        tree.rollback(root: root, count: count)
        space.reset()
    }
}

/// An entry of the model, and its order.
struct ModelEntry: Comparable, CustomStringConvertible {
    var isNull = false
    var value: UInt64 = 0
    var bytes: [UInt8] = []
    var key: UInt64

    var description: String {
        isNull ? "null/\(key)" : bytes.isEmpty ? "\(value)/\(key)" : "\(bytes.prefix(20))/\(key)"
    }

    func hasValue(of other: ModelEntry) -> Bool {
        isNull == other.isNull && (isNull || value == other.value && bytes == other.bytes)
    }

    static func < (a: ModelEntry, b: ModelEntry) -> Bool {
        if a.isNull != b.isNull { return a.isNull }
        if a.value != b.value { return a.value < b.value }
        if a.bytes != b.bytes { return a.bytes.lexicographicallyPrecedes(b.bytes) }
        return a.key < b.key
    }
}

/// The tree's operations on a model entry.
extension IndexTree {
    func insert(_ entry: ModelEntry) throws {
        if entry.isNull { return try insertNull(key: entry.key) }
        if kind == .fixed { return try insert(value: entry.value, key: entry.key) }
        try entry.bytes.withUnsafeBytes { try insert(bytes: $0, key: entry.key) }
    }

    func remove(_ entry: ModelEntry) throws -> Bool {
        if entry.isNull { return try removeNull(key: entry.key) }
        if kind == .fixed { return try remove(value: entry.value, key: entry.key) }
        return try entry.bytes.withUnsafeBytes { try remove(bytes: $0, key: entry.key) }
    }

    func contains(_ entry: ModelEntry) throws -> Bool {
        if entry.isNull { return try containsNull(key: entry.key) }
        if kind == .fixed { return try contains(value: entry.value, key: entry.key) }
        return try entry.bytes.withUnsafeBytes { try contains(bytes: $0, key: entry.key) }
    }

    func firstKey(_ entry: ModelEntry) throws -> UInt64? {
        if entry.isNull { return try firstNullKey() }
        if kind == .fixed { return try firstKey(value: entry.value) }
        return try entry.bytes.withUnsafeBytes { try firstKey(bytes: $0) }
    }

    func keys(_ entry: ModelEntry) throws -> [UInt64] {
        var keys: [UInt64] = []
        if entry.isNull {
            try forEachNullKey { keys.append($0) }
        } else if kind == .fixed {
            try forEachKey(value: entry.value) { keys.append($0) }
        } else {
            try entry.bytes.withUnsafeBytes { try forEachKey(bytes: $0) { keys.append($0) } }
        }
        return keys
    }

    func count(_ entry: ModelEntry) throws -> Int {
        if entry.isNull { return try countNull() }
        if kind == .fixed { return try count(value: entry.value) }
        return try entry.bytes.withUnsafeBytes { try count(bytes: $0) }
    }

    func rank(_ entry: ModelEntry) throws -> Int {
        if kind == .fixed { return try rank(value: entry.value, key: entry.key) }
        return try entry.bytes.withUnsafeBytes { try rank(bytes: $0, key: entry.key) }
    }

    /// At most `limit` entries from `start` (nil: the first).
    func entries(from start: ModelEntry? = nil, limit: Int = .max) throws -> [ModelEntry] {
        var cursor = IndexCursor(self)
        var result: [ModelEntry] = []
        var isThere = false
        if let start, !start.isNull {
            if kind == .fixed {
                isThere = try cursor.seek(value: start.value, key: start.key)
            } else {
                let copy = start.bytes + [0]
                let buffer = UnsafeMutableRawPointer.allocate(byteCount: copy.count, alignment: 8)
                defer { buffer.deallocate() }
                copy.withUnsafeBytes {
                    if let p = $0.baseAddress { buffer.copyMemory(from: p, byteCount: $0.count) }
                }
                isThere = try cursor.seek(
                    bytes: UnsafeRawBufferPointer(start: buffer, count: start.bytes.count), key: start.key)
            }
        } else {
            isThere = try cursor.seekFirst()
        }
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: IndexKey.storedByteCount, alignment: 8)
        defer { buffer.deallocate() }
        while isThere, result.count < limit {
            var entry = ModelEntry(isNull: cursor.isNull, key: cursor.key)
            if kind == .fixed {
                entry.value = cursor.value
            } else {
                let n = cursor.copyBytes(to: buffer)
                entry.bytes = Array(UnsafeRawBufferPointer(start: buffer, count: n))
            }
            result.append(entry)
            isThere = try cursor.next()
        }
        return result
    }
}
