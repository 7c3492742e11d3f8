// SPDX-License-Identifier: Apache-2.0
// Turns a sealed block into a node that can be changed: the columns of a leaf are unpacked one after another, those of
// a branch are copied.

import RegnumSystem

extension IndexTree {
    /// Loads a sealed node as a changed one and frees its block.
    func load(_ ref: BlockRef, parentLevel: Int?) throws(EngineError) -> IndexNodePointer {
        let view = try view(ref, parentLevel: parentLevel)
        let n = view.count
        let node = IndexNode.make(
            level: view.level, isBytes: isBytes,
            capacity: max(n + 8, view.level == 0 ? Self.leafLimit : n + 8))
        if let links = node.pointee.links {
            let branch = IndexBranchView(view.bytes)
            node.pointee.values.update(from: branch.values, count: n)
            node.pointee.keys.update(from: branch.keys, count: n)
            for i in 0..<n {
                links[i] = IndexLink(ref: branch.ref(i), node: nil, entryCount: Int(clamping: branch.entryCount(i)))
            }
            if let texts = node.pointee.texts {
                for i in 0..<n { texts[i] = IndexNodeText(state.pointee.arena.copy(branch.text(i))) }
            }
            node.pointee.setCount(n, nullCount: branch.nullCount)
        } else {
            let leaf = IndexLeafView(view.bytes)
            leaf.copyKeys(to: node.pointee.keys)
            if let texts = node.pointee.texts {
                copyTexts(leaf, to: texts, heads: node.pointee.values)
            } else {
                leaf.copyValues(to: node.pointee.values)
            }
            node.pointee.setCount(n, nullCount: leaf.nullCount)
        }
        space.free(ref)
        return node
    }

    /// Assembles the values of a leaf of a `bytes` tree in the arena, and computes their heads.
    private func copyTexts(
        _ leaf: IndexLeafView, to texts: UnsafeMutablePointer<IndexNodeText>, heads: UnsafeMutablePointer<UInt64>
    ) {
        for i in 0..<leaf.nullCount {
            heads[i] = 0
            texts[i] = IndexNodeText(.empty)
        }
        guard leaf.count > leaf.nullCount else { return }
        let prefix = leaf.prefix
        let ends = leaf.values
        let count = leaf.count - leaf.nullCount
        let rests = Int(ends.loadUnaligned(fromByteOffset: (count - 1) << 1, as: UInt16.self))
        // One allocation for all values, up to 64 KiB: most leaves need about a page.
        let byteCount = count * prefix.byteCount + rests
        var target = byteCount <= 1 << 16 && byteCount > 0 ? state.pointee.arena.allocate(byteCount) : nil
        var source = prefix.address + prefix.byteCount
        var start = 0
        for i in leaf.nullCount..<leaf.count {
            let end = Int(ends.loadUnaligned(fromByteOffset: (i &- leaf.nullCount) &<< 1, as: UInt16.self))
            let rest = end &- start
            let byteCount = prefix.byteCount &+ rest
            var text = IndexText.empty
            if byteCount > 0 {
                let place = target ?? state.pointee.arena.allocate(byteCount)
                if target != nil { target = place + byteCount }
                StoredText.copyAny(prefix.address, to: place, prefix.byteCount)
                StoredText.copyAny(source, to: place + prefix.byteCount, rest)
                text = IndexText(UnsafeRawPointer(place), byteCount)
            }
            heads[i] = byteCount > 0 ? IndexKey.head(text.address, byteCount) : 0
            texts[i] = IndexNodeText(text)
            source += rest
            start = end
        }
    }
}

extension IndexLeafView {
    /// Unpacks the keys of all entries.
    func copyKeys(to target: UnsafeMutablePointer<UInt64>) {
        let base = bytes.load(fromByteOffset: IndexNodeLayout.keyBaseOffset, as: UInt64.self)
        let stride = bytes.load(fromByteOffset: IndexNodeLayout.keyStrideOffset, as: UInt64.self)
        Self.unpack(
            bytes + IndexNodeLayout.leafHeaderByteCount, count, width: keyWidth, base: base, stride: stride, to: target)
    }

    /// Form 0: unpacks the values of all entries, 0 if null.
    func copyValues(to target: UnsafeMutablePointer<UInt64>) {
        target.update(repeating: 0, count: nullCount)
        Self.unpack(
            values, count &- nullCount, width: valueWidth, base: valueBase, stride: valueStride,
            to: target + nullCount)
    }

    private static func unpack(
        _ source: UnsafeRawPointer, _ n: Int, width: Int, base: UInt64, stride: UInt64,
        to target: UnsafeMutablePointer<UInt64>
    ) {
        switch width {
        case 0: for i in 0..<n { target[i] = base &+ UInt64(truncatingIfNeeded: i) &* stride }
        case 1: for i in 0..<n { target[i] = base &+ UInt64(source.load(fromByteOffset: i, as: UInt8.self)) }
        case 2:
            for i in 0..<n { target[i] = base &+ UInt64(source.load(fromByteOffset: i &<< 1, as: UInt16.self)) }
        case 4:
            for i in 0..<n { target[i] = base &+ UInt64(source.load(fromByteOffset: i &<< 2, as: UInt32.self)) }
        default: for i in 0..<n { target[i] = base &+ source.load(fromByteOffset: i &<< 3, as: UInt64.self) }
        }
    }
}
