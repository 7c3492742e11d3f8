// SPDX-License-Identifier: Apache-2.0
// The inner nodes of a tree of row groups that the running transaction changes.

extension GroupTree {
    /// A child of a node. Without a reference to what is in memory: nodes of 64 are copied as they are.
    struct Entry {
        /// Lower bound of the keys below.
        var firstKey: UInt64
        /// Rows below; of a child in memory only `Node.count(_:)` knows.
        var count: UInt64
        /// Of a child that is sealed.
        var ref: BlockRef
        /// Number in the node's `changed`; -1 of a child that is sealed.
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
        /// The children in memory; nil where one has been sealed or has gone.
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

        /// Puts a node or a group in the place of the child.
        func set(_ child: Child, at i: Int) {
            if entries[i].isSealed {
                entries[i].place = changed.count
                changed.append(child)
            } else {
                changed[entries[i].place] = child
            }
        }

        /// Puts sealed children in the place of one.
        func set(_ sealed: [Entry], at i: Int) {
            if !entries[i].isSealed {
                // Groups that are appended and packed one after the other leave no gaps.
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

        /// Rows below a child.
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
            // Keys are handed out in sequence: a guess between the ends is mostly right.
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
