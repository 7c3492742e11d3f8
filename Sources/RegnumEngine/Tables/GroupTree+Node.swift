// SPDX-License-Identifier: Apache-2.0
// The inner nodes of a tree of row groups that the running transaction has changed.

extension GroupTree {
    /// A child of a node. Holds no reference to a child in memory, so that arrays of 64 are copied as plain bytes.
    struct Entry {
        /// Lower bound of the keys below.
        var firstKey: UInt64
        /// Rows below; for a child in memory use `Node.count(_:)` instead.
        var count: UInt64
        /// The block of a sealed child.
        var ref: BlockRef
        /// Index in the node's `changed`; -1 for a sealed child.
        fileprivate(set) var place = -1

        var isSealed: Bool { place < 0 }

        init(firstKey: UInt64, count: UInt64, ref: BlockRef) {
            self.firstKey = firstKey
            self.count = count
            self.ref = ref
        }
    }

    /// An inner node in memory. Level 1: the children are groups.
    final class Node {
        let level: Int
        @exclusivity(unchecked) private(set) var entries: [Entry]
        /// The children in memory; nil if the child has been sealed or removed.
        @exclusivity(unchecked) private(set) var changed: [Child?] = []
        /// Rows before each entry, as of `stamp` (GroupTree.rowStamp).
        @exclusivity(unchecked) var rowsBefore: [Int] = []
        @exclusivity(unchecked) var stamp = -1
        init(level: Int, entries: [Entry] = []) {
            self.level = level
            self.entries = entries
        }

        var count: Int { entries.count }

        func child(_ i: Int) -> Child {
            let entry = entries[i]
            if entry.isSealed { return .ref(entry.ref) }
            guard let child = changed[entry.place] else { preconditionFailure("a child that has gone") }
            return child
        }

        /// Replaces a child by a node or group in memory.
        func set(_ child: Child, at i: Int) {
            if entries[i].isSealed {
                entries[i].place = changed.count
                changed.append(child)
            } else {
                changed[entries[i].place] = child
            }
        }

        /// Replaces a child by sealed children.
        func set(_ sealed: [Entry], at i: Int) {
            if !entries[i].isSealed {
                // Groups that are appended and packed in turn leave no gaps.
                let place = entries[i].place
                if place == changed.count - 1 { changed.removeLast() } else { changed[place] = nil }
            }
            if sealed.count == 1 { entries[i] = sealed[0] } else { entries.replaceSubrange(i...i, with: sealed) }
        }

        func append(_ child: Child, firstKey: UInt64) {
            entries.append(Entry(firstKey: firstKey, count: 0, ref: .none))
            set(child, at: entries.count - 1)
        }

        func remove(at i: Int) { set([], at: i) }

        /// The number of rows below a child.
        func count(_ i: Int) -> Int {
            let entry = entries[i]
            if entry.isSealed { return Int(entry.count) }
            switch changed[entry.place] {
            case .group(let group): return group.view.pointee.count
            case .node(let node): return node.entries.indices.reduce(0) { $0 + node.count($1) }
            case .ref, nil: preconditionFailure("a child that has gone")
            }
        }

        /// The child whose keys may include `key`.
        func child(for key: UInt64) -> Int {
            var a = 0
            var b = entries.count
            let low = entries[0].firstKey
            let high = entries[b - 1].firstKey
            if high <= key { return b - 1 }
            if key <= low { return 0 }
            // Keys are assigned in sequence, so an interpolated guess is usually right.
            let guess = Int(Double(key - low) / Double(high - low) * Double(b - 1))
            if guess + 1 < b, entries[guess].firstKey <= key, key < entries[guess + 1].firstKey { return guess }
            while b - a > 1 {
                let middle = (a + b) / 2
                if entries[middle].firstKey <= key { a = middle } else { b = middle }
            }
            return a
        }
    }
}
