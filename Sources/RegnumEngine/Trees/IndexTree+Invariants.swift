// SPDX-License-Identifier: Apache-2.0
// The invariants between the nodes of an index tree. Those within one block are checked when the block is first read
// (IndexNodeLayout.check).
//
//   local   `findings(_:done:depth:)`: the neighbours of an entry that was inserted or removed, and the path to it
//   full    `findings(isChangedOnly: true)`: the nodes and blocks that the transaction has made; at each seal
//           `findings()`: the whole tree, for the integrity check

extension IndexTree {
    /// Returns a description of each violated invariant; empty if the tree is intact. Reads every node; with
    /// `isChangedOnly` only those that the transaction has made, and compares each with its parent only. Throws if a
    /// block cannot be read at all.
    package func findings(isChangedOnly: Bool = false) throws(EngineError) -> [String] {
        var result: [String] = []
        var left = blockLimit
        let total =
            try rootView().map { (root) throws(EngineError) -> Int in
                if isChangedOnly, !isDirty, !state.pointee.root.isPending { return state.pointee.count }
                return try check(
                    root, path: "root", lower: .null(key: 0), upper: nil, isChangedOnly: isChangedOnly, isRoot: true,
                    &left, &result)
            } ?? 0
        if total != state.pointee.count {
            result.append("the tree should have \(state.pointee.count) entries and has \(total)")
        }
        return result
    }

    /// Throws the first finding.
    package func check() throws(EngineError) {
        if let finding = try findings().first { throw corrupted("an index tree: \(finding)") }
    }

    /// Returns the number of entries below. All of them must lie between `lower` and `upper`, inclusive.
    private func check(
        _ view: IndexNodeView, path: String, lower: IndexProbe, upper: IndexProbe?, isChangedOnly: Bool, isRoot: Bool,
        _ left: inout Int, _ result: inout [String]
    ) throws(EngineError) -> Int {
        if view.node == nil { try visit(&left) }
        if view.count == 0, view.node == nil { result.append("\(path) is empty") }
        if view.level == 0 {
            checkLeaf(view, path: path, lower: lower, upper: upper, &result)
            return view.count
        }
        var total = 0
        for i in 0..<view.count {
            let own = i == 0 ? isChangedOnly ? .null(key: 0) : lower : separator(view, i)
            let next = i + 1 < view.count ? separator(view, i + 1) : isChangedOnly ? nil : upper
            if i > 0, own.compare(lower, isBytes: isBytes) < 0 {
                result.append("\(path): separator \(i) is below that of the parent")
            }
            if let upper, own.compare(upper, isBytes: isBytes) > 0 {
                result.append("\(path): separator \(i) is above the next of the parent")
            }
            if isChangedOnly, !isChanged(view, i) {
                total += view.entryCount(i)
                continue
            }
            let child = try childView(view, i)
            let n = try check(
                child, path: "\(path)/\(i)", lower: own, upper: next, isChangedOnly: isChangedOnly, isRoot: false,
                &left, &result)
            if n != view.entryCount(i) {
                result.append("\(path): child \(i) should have \(view.entryCount(i)) entries and has \(n)")
            }
            total += n
        }
        if isRoot, view.node == nil, view.count < 2 { result.append("the root has only one child") }
        return total
    }

    /// True if the transaction has made the child.
    private func isChanged(_ view: IndexNodeView, _ i: Int) -> Bool {
        guard let links = view.node?.pointee.links else { return IndexBranchView(view.bytes).ref(i).isPending }
        return links[i].node != nil || links[i].ref.isPending
    }

    private func separator(_ view: IndexNodeView, _ i: Int) -> IndexProbe {
        view.node.map { $0.pointee.entry(i) } ?? IndexBranchView(view.bytes).separator(i, isBytes: isBytes)
    }

    private func checkLeaf(
        _ view: IndexNodeView, path: String, lower: IndexProbe, upper: IndexProbe?, _ result: inout [String]
    ) {
        guard view.count > 0 else { return }
        let buffers = UnsafeMutableRawPointer.allocate(byteCount: 2 * IndexKey.storedByteCount, alignment: 16)
        defer { buffers.deallocate() }
        var previous = lower
        for i in 0..<view.count {
            let entry = entry(view, i, buffers + (i & 1) * IndexKey.storedByteCount)
            if entry.compare(previous, isBytes: isBytes) < 0 {
                result.append(
                    i == 0 ? "\(path) begins below its separator" : "\(path): entry \(i) is out of order")
            }
            previous = entry
        }
        if let upper, previous.compare(upper, isBytes: isBytes) > 0 {
            result.append("\(path) ends above the next separator")
        }
    }

    /// Returns an entry of a leaf, with its bytes assembled in `buffer`.
    private func entry(_ view: IndexNodeView, _ i: Int, _ buffer: UnsafeMutableRawPointer) -> IndexProbe {
        if let node = view.node { return node.pointee.entry(i) }
        let leaf = IndexLeafView(view.bytes)
        if i < leaf.nullCount { return .null(key: leaf.key(i)) }
        guard isBytes else { return IndexProbe(value: leaf.value(i), key: leaf.key(i)) }
        let (prefix, suffix) = (leaf.prefix, leaf.suffix(i))
        buffer.copyMemory(from: prefix.address, byteCount: prefix.byteCount)
        (buffer + prefix.byteCount).copyMemory(from: suffix.address, byteCount: suffix.byteCount)
        let text = IndexText(UnsafeRawPointer(buffer), prefix.byteCount + suffix.byteCount)
        return IndexProbe(value: IndexKey.head(text.address, text.byteCount), key: leaf.key(i), text: text)
    }
}

// MARK: Local checks

extension IndexTree {
    /// Branches of at most this many children are summed up after each mutation.
    private static let smallBranch = 8

    /// Returns what is wrong around entry `slot` of a leaf, which was inserted there, or removed from there. The first
    /// `depth` steps lead to the leaf. O(depth); of a branch that is due also its children.
    func findings(_ leaf: IndexNodePointer, done slot: Int, depth: Int) -> [String] {
        var result: [String] = []
        let count = leaf.pointee.count
        if leaf.pointee.nullCount > count || count > leaf.pointee.capacity || leaf.pointee.level != 0 {
            result.append("a leaf has impossible counts")
        }
        for i in max(slot - 1, 1)..<max(slot + 3, 1) where i < count {
            if leaf.pointee.entry(i).compare(leaf.pointee.entry(i - 1), isBytes: isBytes) < 0 {
                result.append("entry \(i) of a leaf is out of order")
            }
        }
        var (child, entries) = (leaf, count)
        for i in (0..<depth).reversed() {
            let (node, place) = steps[i]
            guard let links = node.pointee.links, place < node.pointee.count, links[place].node == child,
                node.pointee.level == child.pointee.level + 1
            else { return result + ["the path does not lead to the leaf"] }
            if links[place].entryCount != entries {
                result.append("child \(place) should have \(links[place].entryCount) entries and has \(entries)")
            }
            if i == depth - 1 { checkBounds(leaf, below: node, place, &result) }
            // Summing up what lies above would cost more than the mutation.
            guard Invariants.isDue(oneIn: node.pointee.count / Self.smallBranch) else { return result }
            (child, entries) = (node, node.pointee.entryCount)
        }
        if state.pointee.rootNode != child { result.append("the path does not begin at the root") }
        if entries != state.pointee.count {
            result.append("the tree should have \(state.pointee.count) entries and has \(entries)")
        }
        return result
    }

    private func checkBounds(
        _ child: IndexNodePointer, below node: IndexNodePointer, _ slot: Int, _ result: inout [String]
    ) {
        let (count, first) = (child.pointee.count, child.pointee.level == 0 ? 0 : 1)
        guard count > first else { return }
        if slot > 0, child.pointee.entry(first).compare(node.pointee.entry(slot), isBytes: isBytes) < 0 {
            result.append("child \(slot) begins below its separator")
        }
        if slot + 1 < node.pointee.count,
            child.pointee.entry(count - 1).compare(node.pointee.entry(slot + 1), isBytes: isBytes) > 0
        {
            result.append("child \(slot) ends above the next separator")
        }
    }

    /// The local check at the end of a mutation.
    @inline(__always)
    func assertInvariants(_ leaf: IndexNodePointer, done slot: Int, depth: Int) {
        guard space.isCheckDue() else { return }
        Invariants.require("index tree", findings(leaf, done: slot, depth: depth))
    }

    /// The full check at the end of a mutation of many entries, and of a seal.
    @inline(__always)
    func assertInvariants() {
        guard space.isCheckDue(oneIn: Invariants.rate(of: state.pointee.count)) else { return }
        // A block that cannot be read is no bug.
        Invariants.require("index tree", (try? findings(isChangedOnly: true)) ?? [])
    }
}
