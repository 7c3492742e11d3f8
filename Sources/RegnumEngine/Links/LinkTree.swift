// SPDX-License-Identifier: Apache-2.0
// The backlinks of one link column: a tree of (target key, origin key), one entry per link. New entries of the running
// transaction are collected, and inserted in order when the tree is next read: setting a link on every object of a
// table would otherwise visit the tree's leaves at random, once per link.

package final class LinkTree {
    private let tree: IndexTree
    @exclusivity(unchecked) private var targets: [UInt64] = []
    @exclusivity(unchecked) private var origins: [UInt64] = []
    /// The maximum number of collected entries, which take 16 MiB.
    private static let limit = 1 << 20

    init(space: BlockSpace, root: BlockRef, count: UInt64) {
        tree = IndexTree(space: space, kind: .fixed, root: root, count: count)
    }

    var count: UInt64 { tree.count + UInt64(targets.count) }

    /// Like `IndexTree.changedByteCount`.
    var changedByteCount: Int { tree.changedByteCount + targets.count * 16 }

    /// Adds a link; the entry is in the tree after the next `settled`.
    @inline(__always)
    func insert(target: UInt64, origin: UInt64) throws(EngineError) {
        targets.append(target)
        origins.append(origin)
        if targets.count >= Self.limit { _ = try settled() }
    }

    /// Removes one link. Returns false if there is none.
    func remove(target: UInt64, origin: UInt64) throws(EngineError) -> Bool {
        try settled().remove(value: target, key: origin)
    }

    /// Removes every link to the target, and appends the objects that hold them, ascending, each once per link.
    func removeAll(target: UInt64, into origins: inout [UInt64]) throws(EngineError) {
        try settled().removeAll(value: target, into: &origins)
    }

    /// Returns the tree with all collected entries inserted.
    @discardableResult
    func settled() throws(EngineError) -> IndexTree {
        if targets.isEmpty { return tree }
        // The caller may only read, but a failure must be recorded in the transaction nevertheless.
        do throws(EngineError) { try settle() } catch { throw tree.space.unfinished(error) }
        return tree
    }

    private func settle() throws(EngineError) {
        let count = targets.count
        if count <= 64 {
            for i in 0..<count { try tree.insert(value: targets[i], key: origins[i]) }
            targets.removeAll(keepingCapacity: true)
            origins.removeAll(keepingCapacity: true)
            return
        }
        PairSort.sort(&targets, &origins)
        // Typed throws do not pass through the arrays' closures.
        var failure: EngineError?
        targets.withUnsafeBufferPointer { targets in
            origins.withUnsafeBufferPointer { origins in
                guard let values = targets.baseAddress, let keys = origins.baseAddress else { return }
                do throws(EngineError) {
                    try tree.insertSorted(values: values, keys: keys, count: count)
                } catch { failure = error }
            }
        }
        targets.removeAll(keepingCapacity: count < 4096)
        origins.removeAll(keepingCapacity: count < 4096)
        if let failure { throw failure }
    }

    /// Discards the changes of the transaction and shows that root.
    func rollback(root: BlockRef, count: UInt64) {
        targets.removeAll()
        origins.removeAll()
        tree.rollback(root: root, count: count)
    }

    func freeAll() throws(EngineError) {
        targets.removeAll()
        origins.removeAll()
        try tree.freeAll()
    }
}

/// Sorts pairs of words by the first word, then the second: radix sort from the least significant byte, without the
/// passes over bytes that are equal in all pairs. O(n) per pass; keys of a million objects take five.
enum PairSort {
    static func sort(_ first: inout [UInt64], _ second: inout [UInt64]) {
        let count = first.count
        var otherFirst = [UInt64](repeating: 0, count: count)
        var otherSecond = otherFirst
        // The second words need sorting only if they do not ascend already.
        if !isAscending(second) {
            for shift in stride(from: 0, to: 64, by: 8)
            where pass(by: second, first, second, shift, &otherFirst, &otherSecond) {
                swap(&first, &otherFirst)
                swap(&second, &otherSecond)
            }
        }
        for shift in stride(from: 0, to: 64, by: 8)
        where pass(by: first, first, second, shift, &otherFirst, &otherSecond) {
            swap(&first, &otherFirst)
            swap(&second, &otherSecond)
        }
    }

    private static func isAscending(_ words: [UInt64]) -> Bool {
        for i in 1..<words.count where words[i] < words[i - 1] { return false }
        return true
    }

    /// Runs one stable pass. Returns false, without moving anything, if the byte is the same in all pairs.
    private static func pass(
        by key: [UInt64], _ first: [UInt64], _ second: [UInt64], _ shift: Int, _ toFirst: inout [UInt64],
        _ toSecond: inout [UInt64]
    ) -> Bool {
        let moved = UInt64(shift)
        var starts = [Int](repeating: 0, count: 257)
        for word in key { starts[Int(word >> moved & 0xff) + 1] += 1 }
        if starts.contains(key.count) { return false }
        for i in 1..<257 { starts[i] += starts[i - 1] }
        for i in 0..<key.count {
            let bucket = Int(key[i] >> moved & 0xff)
            let place = starts[bucket]
            starts[bucket] = place + 1
            toFirst[place] = first[i]
            toSecond[place] = second[i]
        }
        return true
    }
}
