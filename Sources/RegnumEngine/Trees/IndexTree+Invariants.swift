// SPDX-License-Identifier: Apache-2.0
// The invariants between the nodes of an index tree. Those within one block are checked when the block is first read
// (IndexNodeLayout.check).

extension IndexTree {
    /// Returns a description of each violated invariant; empty if the tree is intact. Reads every node. Throws if a
    /// block cannot be read at all.
    package func findings() throws(EngineError) -> [String] {
        var result: [String] = []
        var left = blockLimit
        let total =
            try rootView().map { (root) throws(EngineError) -> Int in
                try check(root, path: "root", lower: .null(key: 0), upper: nil, isRoot: true, &left, &result)
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
        _ view: IndexNodeView, path: String, lower: IndexProbe, upper: IndexProbe?, isRoot: Bool,
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
            let own = i == 0 ? lower : separator(view, i)
            let next = i + 1 < view.count ? separator(view, i + 1) : upper
            if own.compare(lower, isBytes: isBytes) < 0 {
                result.append("\(path): separator \(i) is below that of the parent")
            }
            if let upper, own.compare(upper, isBytes: isBytes) > 0 {
                result.append("\(path): separator \(i) is above the next of the parent")
            }
            let child = try childView(view, i)
            let n = try check(child, path: "\(path)/\(i)", lower: own, upper: next, isRoot: false, &left, &result)
            if n != view.entryCount(i) {
                result.append("\(path): child \(i) should have \(view.entryCount(i)) entries and has \(n)")
            }
            total += n
        }
        if isRoot, view.node == nil, view.count < 2 { result.append("the root has only one child") }
        return total
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
