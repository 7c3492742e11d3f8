// SPDX-License-Identifier: Apache-2.0
// Turns changed nodes into blocks. Changed neighbours are concatenated and cut into full blocks. Only the last two
// blocks of a run share the rest evenly, and at the end of the tree not even those, so that ascending inserts leave
// full leaves. A run that is less than a quarter full absorbs a neighbour if both fit one block, except the leaf at the
// end of a `fixed` tree.
// Separators of `fixed` trees cost 64 bytes per child. Sequences get leaves of their own, which hold more entries.
//
// Ascending values arrive at the end of a `fixed` tree a few at a time. So a transaction leaves a small last leaf, and
// the next one unpacks and packs no more than 64 entries. When the small leaf has grown, it is merged into the leaf
// before it under the same branch; without such a leaf there is no small one. A transaction that adds more than 64
// entries leaves none, because the next one would have to unpack and write two leaves.

extension IndexTree {
    /// Writes the changes into `sealer`, children before parents, frees the blocks that are no longer part of the tree,
    /// and returns the new root, pending until the sealer places it. O(changed).
    package func seal(into sealer: Sealer) throws(EngineError) -> BlockRef {
        guard let node = state.pointee.rootNode else { return state.pointee.root }
        var list: IndexNodePointer
        if node.pointee.level == 0 {
            list = IndexNode.make(level: 1, isBytes: isBytes, capacity: 16)
            writePieces(node, first: .null(key: 0), isEnd: true, into: list, sealer)
        } else {
            list = try sealedChildren(node, isEnd: true, sealer)
        }
        defer { IndexNode.free(list) }
        while list.pointee.count > 1 {
            if list.pointee.level == FormatLimits.treeDepth { throw .limit("an index tree is too deep") }
            let next = IndexNode.make(level: list.pointee.level + 1, isBytes: isBytes, capacity: 16)
            writePieces(list, first: .null(key: 0), isEnd: true, into: next, sealer)
            IndexNode.free(list)
            list = next
        }
        var root = list.pointee.count == 0 ? BlockRef.none : list.pointee.links.unsafelyUnwrapped[0].ref
        // Drop roots with a single child.
        var level = list.pointee.level - 1
        while level > 0, !root.isNone {
            let top = try view(root, parentLevel: level + 1)
            guard top.count == 1 else { break }
            let child = IndexBranchView(top.bytes).ref(0)
            space.free(root)
            root = child
            level -= 1
        }
        setSealed(root)
        assertInvariants()
        return root
    }

    /// Calls `change`, which changes the leaves of this branch only, and seals them immediately. The branch, which is
    /// not the last of the tree, stays in memory; only its children change.
    func packLeaves(
        of node: IndexNodePointer, behind change: () throws(EngineError) -> Int
    ) throws(EngineError) -> Int {
        let (result, list) = try inLeafArena { () throws(EngineError) in
            (try change(), try sealedChildren(node, isEnd: false, space.sealer))
        }
        defer { IndexNode.free(list) }
        // An empty branch is removed with its parent.
        if list.pointee.count > 0 {
            list.pointee.copyTexts(to: &state.pointee.arena)
            list.pointee.setFirstSeparator(node.pointee.entry(0))
            swap(&node.pointee, &list.pointee)
        }
        state.pointee.leafArena.reuse()
        return result
    }

    /// Calls `body` with the leaf arena swapped in. If it throws, leaves may remain that use that arena, so the main
    /// arena takes over its memory.
    private func inLeafArena<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
        swap(&state.pointee.arena, &state.pointee.leafArena)
        do throws(EngineError) {
            let result = try body()
            swap(&state.pointee.arena, &state.pointee.leafArena)
            return result
        } catch {
            swap(&state.pointee.arena, &state.pointee.leafArena)
            state.pointee.arena.absorb(&state.pointee.leafArena)
            throw error
        }
    }

    /// Returns the children of a changed branch, all sealed, as a list with separators. The branch still owns the nodes
    /// below it.
    private func sealedChildren(
        _ node: IndexNodePointer, isEnd: Bool, _ sealer: Sealer
    ) throws(EngineError) -> IndexNodePointer {
        let level = node.pointee.level
        let links = node.pointee.links.unsafelyUnwrapped
        let count = node.pointee.count
        let done = IndexNode.make(level: level, isBytes: isBytes, capacity: count)
        var run = IndexNode.make(level: level - 1, isBytes: isBytes, capacity: 64)
        var isKept = false
        defer {
            IndexNode.free(run)
            if !isKept { IndexNode.free(done) }
        }
        var first = IndexProbe.null(key: 0)
        var isRunning = false
        var i = 0
        while i < count {
            if links[i].node == nil, isRunning, run.pointee.count > 0 {
                if try !takesIn(run, links[i]) {
                    try flush(&run, first: first, isEnd: false, into: done, sealer)
                    isRunning = false
                } else {
                    _ = try dirtyChild(node, i)
                }
            }
            guard let child = links[i].node else {
                isRunning = false
                let start = i
                while i < count, links[i].node == nil { i += 1 }
                done.pointee.append(node, start..<i)
                continue
            }
            if !isRunning {
                first = node.pointee.entry(i)
                isRunning = true
            }
            try append(
                child, separator: node.pointee.entry(i), to: run, isEnd: isEnd && i == count - 1, sealer)
            i += 1
        }
        if isRunning { try flush(&run, first: first, isEnd: isEnd, into: done, sealer) }
        isKept = true
        return done
    }

    /// Appends the content of a changed child (of a branch: its children, sealed) to `run`.
    private func append(
        _ child: IndexNodePointer, separator: IndexProbe, to run: IndexNodePointer, isEnd: Bool,
        _ sealer: Sealer
    ) throws(EngineError) {
        if child.pointee.level == 0 {
            try join(run, child)
            return
        }
        let list = try sealedChildren(child, isEnd: isEnd, sealer)
        defer { IndexNode.free(list) }
        if list.pointee.count > 0 {
            // Entries may have been inserted below the first separator, but never below the parent's.
            list.pointee.setFirstSeparator(separator)
            try join(run, list)
        }
    }

    /// Appends `next` to `run`. Throws if they are out of order, which only damage can cause, because they must not
    /// share a block.
    private func join(_ run: IndexNodePointer, _ next: IndexNodePointer) throws(EngineError) {
        let (n, m) = (run.pointee.count, next.pointee.count)
        guard
            n == 0 || m == 0
                || run.pointee.entry(n - 1).compare(next.pointee.entry(0), isBytes: isBytes) <= 0
        else { throw corrupted("neighbouring nodes of an index tree are out of order") }
        run.pointee.append(next, 0..<m)
        run.pointee.addSealedCount(of: next)
    }

    /// The maximum number of entries in the small leaf at the end.
    private static let tailEntryLimit = 64

    /// True if `run` is so small that it should share one block with the sealed child `link`, and can. At the end of
    /// the tree: true if the new entries should fill up the leaf before them.
    private func takesIn(
        _ run: IndexNodePointer, _ link: IndexLink, isEnd: Bool = false
    ) throws(EngineError) -> Bool {
        let n = run.pointee.count
        if isEnd, run.pointee.level == 0, !isBytes {
            let used = Int(UInt32(truncatingIfNeeded: link.ref.info))
            return n >= Self.tailEntryLimit && link.ref.rows <= IndexNodeLayout.entryLimit - Self.tailEntryLimit
                && used <= FormatLimits.pageByteCount / 16 * 15
        }
        if run.pointee.level > 0 {
            let limit = isBytes ? IndexNodeLayout.bytesChildLimit : IndexNodeLayout.fixedChildLimit
            return n < limit / 4 && n + link.ref.rows <= limit
        }
        guard n < IndexNodeLayout.entryLimit / 4 else { return false }
        let shape = LeafShape(run, 0..<n, isBytes: isBytes)
        let used = Int(UInt32(truncatingIfNeeded: link.ref.info))
        return shape.byteCount < FormatLimits.pageByteCount / 4
            && n + link.ref.rows <= IndexNodeLayout.entryLimit
            && used + shape.byteCount - IndexNodeLayout.leafHeaderByteCount <= FormatLimits.pageByteCount
    }

    /// Writes `run` and empties it. A small run first absorbs the sealed child before it.
    private func flush(
        _ run: inout IndexNodePointer, first: IndexProbe, isEnd: Bool, into done: IndexNodePointer,
        _ sealer: Sealer
    ) throws(EngineError) {
        guard run.pointee.count > 0 else { return }
        var first = first
        let last = done.pointee.count - 1
        if last >= 0, try takesIn(run, done.pointee.links.unsafelyUnwrapped[last], isEnd: isEnd) {
            let separator = done.pointee.entry(last)
            var joined = try load(
                done.pointee.links.unsafelyUnwrapped[last].ref, parentLevel: done.pointee.level)
            done.pointee.remove(at: last)
            if joined.pointee.level > 0 { joined.pointee.setFirstSeparator(separator) }
            swap(&run, &joined)
            defer { IndexNode.free(joined) }
            try join(run, joined)
            first = separator
        }
        writePieces(run, first: first, isEnd: isEnd, into: done, sealer)
        run.pointee.truncate(0)
    }

    // MARK: Cutting and writing

    /// Writes entries of leaves or children of branches as blocks, and appends those to `list`.
    private func writePieces(
        _ node: IndexNodePointer, first: IndexProbe, isEnd: Bool, into list: IndexNodePointer,
        _ sealer: Sealer
    ) {
        let n = node.pointee.count
        var start = 0
        var shape: LeafShape?
        var next = n == 0 ? 0 : pieceEnd(node, 0, isEnd: isEnd, &shape)
        if next == n, isEnd, list.pointee.count > 0 { next = withoutTail(node, 0) }
        while start < n {
            var end = next
            let known = shape
            next = end < n ? pieceEnd(node, end, isEnd: isEnd, guess: end - start, &shape) : n
            if next == n, isEnd { next = withoutTail(node, end) }
            if end < n, !isEnd, next == n {
                // The last two blocks share the entries evenly if both halves fit.
                let middle = start + (n - start + 1) / 2
                if middle < end, fits(node, middle..<n) { end = middle }
            }
            var separator = first
            if start > 0 {
                separator = shortened(
                    node.pointee.entry(start), after: node.pointee.entry(start - 1),
                    isLeaf: node.pointee.level == 0)
            }
            let link =
                node.pointee.level == 0
                ? writeLeaf(node, start..<end, known, sealer) : writeBranch(node, start..<end, sealer)
            list.pointee.insert(separator, link, at: list.pointee.count)
            space.spillIfLarge()
            start = end
        }
    }

    private func fits(_ node: IndexNodePointer, _ range: Range<Int>) -> Bool {
        var shape: LeafShape?
        return pieceEnd(node, range.lowerBound, isEnd: false, &shape) >= range.upperBound
    }

    /// The end of the largest block that can begin at `start`. `guess`: the number of entries in the block before.
    /// `shape`: receives the shape of a leaf, if it was computed.
    private func pieceEnd(
        _ node: IndexNodePointer, _ start: Int, isEnd: Bool, guess: Int = .max, _ shape: inout LeafShape?
    ) -> Int {
        let n = node.pointee.count
        shape = nil
        if node.pointee.level == 0 {
            if let end = sequenceLeafEnd(node, start, isEnd: isEnd) { return end }
            let found = leafShape(node, start, min(n, start + IndexNodeLayout.entryLimit), guess)
            shape = found
            return found.end
        }
        if !isBytes { return min(start + IndexNodeLayout.fixedChildLimit, n) }
        var end = start
        var byteCount = IndexNodeLayout.branchHeaderByteCount
        while end < n, end - start < IndexNodeLayout.bytesChildLimit {
            byteCount += 68 + (end == start ? 0 : node.pointee.entry(end).text.byteCount)
            let isOver = byteCount > FormatLimits.pageByteCount
            if isOver, end - start >= IndexNodeLayout.longChildMinimum { break }
            end += 1
        }
        return end
    }

    /// The end of the last leaf but one, if a small leaf is to follow it.
    private func withoutTail(_ node: IndexNodePointer, _ start: Int) -> Int {
        let n = node.pointee.count
        if node.pointee.level > 0 || isBytes || n - start <= Self.tailEntryLimit { return n }
        if n - node.pointee.sealedCount > Self.tailEntryLimit { return n }
        return n - (n - start) % Self.tailEntryLimit
    }

    /// The end of a leaf that is a sequence and longer than other leaves may be; nil if there is none at `start`.
    private func sequenceLeafEnd(_ node: IndexNodePointer, _ start: Int, isEnd: Bool) -> Int? {
        let n = node.pointee.count
        let limit = IndexNodeLayout.entryLimit
        guard !isBytes, n - start > limit else { return nil }
        let last = start < node.pointee.nullCount ? node.pointee.nullCount : n
        var end = LeafShape.sequenceEnd(node, start, limit: min(last, start + IndexNodeLayout.sequenceEntryLimit))
        if isEnd, end == n {
            // The last leaf of a tree is the one that grows, and an insert should not have to unpack a long one.
            end = start + (n - start - 1) / limit * limit
        } else if end < n, n - end < limit / 4 {
            // Leave enough entries for the next leaf.
            end -= limit / 4
        }
        return end - start > limit ? end : nil
    }

    /// The longest leaf that begins at `start`, up to `limit`. The size of a leaf grows monotonically and about evenly
    /// with its entries, so a few guesses find the end.
    private func leafShape(_ node: IndexNodePointer, _ start: Int, _ limit: Int, _ guess: Int) -> LeafShape {
        let page = FormatLimits.pageByteCount
        var fitting = LeafShape(start: start, isBytes: isBytes)
        func reaching(_ end: Int) -> LeafShape {
            var shape = fitting
            shape.extend(node, to: end)
            return shape
        }
        // Slightly more than the previous leaf is usually too much, or everything. One entry always fits.
        var over = reaching(guess < limit - start ? min(limit, start + guess + guess / 8 + 1) : limit)
        if over.byteCount <= page, over.end < limit {
            fitting = over
            over = reaching(limit)
        }
        if over.byteCount <= page { return over }
        if fitting.count == 0 { fitting = reaching(start + 1) }
        var guesses = 0
        while over.end - fitting.end > 1 {
            let room = over.end - fitting.end
            var step = room / 2
            if guesses < 6 {
                step = room * (page - fitting.byteCount) / (over.byteCount - fitting.byteCount)
            }
            let shape = reaching(min(max(fitting.end + step, fitting.end + 1), over.end - 1))
            if shape.byteCount <= page { fitting = shape } else { over = shape }
            guesses += 1
        }
        return fitting
    }

    func writeHeader(
        _ bytes: UnsafeMutableRawPointer, count: Int, nullCount: Int, level: Int
    ) {
        bytes.storeBytes(of: UInt16(count), toByteOffset: IndexNodeLayout.countOffset, as: UInt16.self)
        bytes.storeBytes(
            of: UInt16(nullCount), toByteOffset: IndexNodeLayout.nullCountOffset, as: UInt16.self)
        bytes.storeBytes(of: kind.rawValue, toByteOffset: IndexNodeLayout.formOffset, as: UInt8.self)
        bytes.storeBytes(of: UInt8(level), toByteOffset: IndexNodeLayout.levelOffset, as: UInt8.self)
    }

    /// `known`: the shape of this leaf, or of a different range, which is ignored.
    private func writeLeaf(
        _ node: IndexNodePointer, _ range: Range<Int>, _ known: LeafShape?, _ sealer: Sealer
    ) -> IndexLink {
        var shape = known ?? LeafShape(start: range.lowerBound, isBytes: isBytes)
        if shape.start != range.lowerBound || shape.end != range.upperBound {
            shape = LeafShape(node, range, isBytes: isBytes)
        }
        let block = sealer.addBlock(
            .indexLeaf, byteCount: shape.byteCount, rows: range.count, aux: UInt32(shape.byteCount))
        let bytes = block.bytes
        writeHeader(bytes, count: range.count, nullCount: shape.nullCount, level: 0)
        bytes.storeBytes(
            of: UInt8(shape.keyWidth), toByteOffset: IndexNodeLayout.keyWidthOffset, as: UInt8.self)
        let keyBase = shape.keyWidth == 0 ? shape.firstKey : shape.leastKey
        bytes.storeBytes(of: keyBase, toByteOffset: IndexNodeLayout.keyBaseOffset, as: UInt64.self)
        if shape.keyWidth == 0 {
            bytes.storeBytes(
                of: shape.keyStride, toByteOffset: IndexNodeLayout.keyStrideOffset, as: UInt64.self)
        }
        var p = bytes + IndexNodeLayout.leafHeaderByteCount
        Self.pack(node.pointee.keys + range.lowerBound, range.count, keyBase, shape.keyWidth, to: p)
        p += IndexNodeLayout.roundedUp(range.count * shape.keyWidth)
        let start = range.lowerBound + shape.nullCount
        let n = range.upperBound - start
        if isBytes {
            writeTexts(node, start..<range.upperBound, shape, bytes, to: p)
        } else {
            bytes.storeBytes(
                of: UInt8(shape.valueWidth), toByteOffset: IndexNodeLayout.valueWidthOffset, as: UInt8.self)
            bytes.storeBytes(
                of: shape.firstValue, toByteOffset: IndexNodeLayout.valueBaseOffset, as: UInt64.self)
            let stride = shape.valueWidth == 0 ? shape.valueStride : shape.lastValue &- shape.firstValue
            bytes.storeBytes(of: stride, toByteOffset: IndexNodeLayout.valueStrideOffset, as: UInt64.self)
            Self.pack(node.pointee.values + start, n, shape.firstValue, shape.valueWidth, to: p)
        }
        return IndexLink(ref: block.ref, node: nil, entryCount: range.count)
    }

    private func writeTexts(
        _ node: IndexNodePointer, _ range: Range<Int>, _ shape: LeafShape, _ bytes: UnsafeMutableRawPointer,
        to ends: UnsafeMutableRawPointer
    ) {
        guard let texts = node.pointee.texts, !range.isEmpty else { return }
        let prefix = shape.prefixByteCount
        bytes.storeBytes(of: UInt16(prefix), toByteOffset: IndexNodeLayout.valueBaseOffset, as: UInt16.self)
        var heap = ends + 2 * range.count
        heap.copyMemory(from: texts[range.lowerBound].text.address, byteCount: prefix)
        heap += prefix
        var end = 0
        for (slot, i) in range.enumerated() {
            let text = texts[i].text
            let rest = text.byteCount - prefix
            StoredText.copyAny(text.address + prefix, to: heap + end, rest)
            end += rest
            ends.storeBytes(of: UInt16(end), toByteOffset: 2 * slot, as: UInt16.self)
        }
    }

    private static func pack(
        _ source: UnsafePointer<UInt64>, _ n: Int, _ base: UInt64, _ width: Int, to p: UnsafeMutableRawPointer
    ) {
        switch width {
        case 0: break
        case 1:
            for i in 0..<n {
                p.storeBytes(
                    of: UInt8(truncatingIfNeeded: source[i] &- base), toByteOffset: i, as: UInt8.self)
            }
        case 2:
            for i in 0..<n {
                p.storeBytes(
                    of: UInt16(truncatingIfNeeded: source[i] &- base), toByteOffset: 2 &* i, as: UInt16.self)
            }
        case 4:
            for i in 0..<n {
                p.storeBytes(
                    of: UInt32(truncatingIfNeeded: source[i] &- base), toByteOffset: 4 &* i, as: UInt32.self)
            }
        default: for i in 0..<n { p.storeBytes(of: source[i] &- base, toByteOffset: 8 &* i, as: UInt64.self) }
        }
    }

    private func writeBranch(_ node: IndexNodePointer, _ range: Range<Int>, _ sealer: Sealer) -> IndexLink {
        let n = range.count
        let links = node.pointee.links.unsafelyUnwrapped
        var byteCount = IndexNodeLayout.branchHeaderByteCount + n * (isBytes ? 68 : 64)
        if isBytes {
            for i in range.dropFirst() where i >= node.pointee.nullCount {
                byteCount += node.pointee.entry(i).text.byteCount
            }
        }
        let block = sealer.addBlock(.indexBranch, byteCount: byteCount, rows: n, aux: UInt32(byteCount))
        let nulls = max(1, min(node.pointee.nullCount, range.upperBound) - range.lowerBound)
        writeHeader(block.bytes, count: n, nullCount: nulls, level: node.pointee.level)
        let words = block.bytes + IndexNodeLayout.branchHeaderByteCount
        let heap = words + 68 * n
        var total = 0
        var end = 0
        for (slot, i) in range.enumerated() {
            let separator = slot == 0 ? IndexProbe.null(key: 0) : node.pointee.entry(i)
            words.storeBytes(
                of: separator.isNull ? 0 : separator.value, toByteOffset: 8 * slot, as: UInt64.self)
            words.storeBytes(of: separator.key, toByteOffset: 8 * (n + slot), as: UInt64.self)
            // Counts from a damaged file must not trap.
            words.storeBytes(
                of: UInt64(clamping: links[i].entryCount), toByteOffset: 8 * (2 * n + slot), as: UInt64.self)
            total &+= links[i].entryCount
            let offset = IndexNodeLayout.branchHeaderByteCount + 8 * (3 * n + 5 * slot)
            sealer.setRef(links[i].ref, in: block, at: offset)
            guard isBytes else { continue }
            if !separator.isNull, separator.text.byteCount > 0 {
                (heap + end).copyMemory(from: separator.text.address, byteCount: separator.text.byteCount)
                end += separator.text.byteCount
            }
            words.storeBytes(of: UInt32(end), toByteOffset: 64 * n + 4 * slot, as: UInt32.self)
        }
        return IndexLink(ref: block.ref, node: nil, entryCount: total)
    }
}
