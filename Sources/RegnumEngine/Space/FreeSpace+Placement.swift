// SPDX-License-Identifier: Apache-2.0
// Placement: which pages the blocks of a commit get. One contiguous free run if there is one; otherwise several runs if
// much is free; otherwise new pages at the end of the file.

extension FreeSpace {
    /// The largest number of free runs that one commit's own blocks are scattered over. Together with the runs at the
    /// end they fit into a slot's manifest. Blocks that the commit moves in a mostly free file usually go to one more
    /// run.
    package static let runLimit = 128

    /// If no more pages than this are free, scattered writes cost more than the space saved: 256 KiB, or a 32nd of the
    /// pages taken. Less than the eighth of the file that may be wasted, because some runs are always too small for a
    /// large block.
    private var wasteLimit: Int { max(64, (Int(highWater) - freePages) / 32) }

    /// True if `place` would put that many pages into one run, free or at the end of the file. O(free runs).
    func takesInOneRun(_ pages: Int) -> Bool { freePages <= wasteLimit || run(of: pages, below: highWater) >= pages }

    /// Allocates pages for blocks of the given sizes, in order: one contiguous run if there is one; otherwise several
    /// runs if much is free; otherwise, and for blocks that fit into no run, new pages at the end of the file. Also
    /// returns the runs used, ascending.
    package mutating func place(
        _ blocks: [Int], runLimit: Int = runLimit
    ) throws(EngineError) -> (pages: [UInt64], runs: [Extent]) {
        // An empty run would be recorded, and a free log with an empty run is refused.
        if blocks.isEmpty { return ([], []) }
        let total = blocks.reduce(0, +)
        var pages: [UInt64] = []
        pages.reserveCapacity(blocks.count)
        if total <= freePages, let start = findRun(total) {
            var next = start
            for block in blocks {
                pages.append(next)
                next += UInt64(block)
            }
            let run = Extent(page: start, pageCount: total)
            try take(run)
            raiseLowest()
            return (pages, [run])
        }
        guard freePages > wasteLimit else {
            let used = appended(blocks, &pages)
            return (pages, used)
        }
        let used = try scattered(blocks, &pages, runLimit)
        raiseLowest()
        return (pages, used)
    }

    /// Like `place`, but the blocks of `range` are placed separately, before the others, unless one run in the lower
    /// half of the file takes all blocks.
    mutating func place(
        _ blocks: [Int], first range: Range<Int>
    ) throws(EngineError) -> (pages: [UInt64], runs: [Extent]) {
        let total = blocks.reduce(0, +)
        if range.isEmpty || run(of: total, below: highWater / 2) >= total { return try place(blocks) }
        let first = try place(Array(blocks[range]))
        var (pages, runs) = try place(Array(blocks[..<range.lowerBound] + blocks[range.upperBound...]))
        pages.insert(contentsOf: first.pages, at: range.lowerBound)
        return (pages, Self.joined(first.runs + runs))
    }

    /// Like `place`, but uses free pages even if few are free: for a full disk.
    mutating func placeScattered(_ blocks: [Int]) throws(EngineError) -> (pages: [UInt64], runs: [Extent]) {
        var pages: [UInt64] = []
        let used = try scattered(blocks, &pages, Self.runLimit)
        raiseLowest()
        return (pages, used)
    }

    /// Distributes blocks over free runs, large blocks first and each into the smallest run that holds it, so that
    /// large runs stay available for large blocks. If there are more blocks than `runLimit`, only the largest runs are
    /// used. Blocks that fit into no run go to the end of the file.
    private mutating func scattered(
        _ blocks: [Int], _ pages: inout [UInt64], _ runLimit: Int
    ) throws(EngineError) -> [Extent] {
        var left = runs(from: max(lowest, barred)).sorted { ($0.pageCount, $0.page) < ($1.pageCount, $1.page) }
        if blocks.count > runLimit { left = left.suffix(runLimit) }
        pages.append(contentsOf: repeatElement(0, count: blocks.count))
        var used: [Extent] = []
        var late: [Int] = []
        for i in blocks.indices.sorted(by: { (blocks[$1], $0) < (blocks[$0], $1) }) {
            let place = Self.firstIndex(in: left, ofAtLeast: blocks[i])
            guard place < left.count else {
                late.append(i)
                continue
            }
            var run = left.remove(at: place)
            pages[i] = run.page
            used.append(Extent(page: run.page, pageCount: blocks[i]))
            run.page += UInt64(blocks[i])
            run.pageCount -= blocks[i]
            if run.pageCount > 0 { left.insert(run, at: Self.firstIndex(in: left, ofAtLeast: run.pageCount)) }
        }
        for run in used { try take(run) }
        if !late.isEmpty {
            late.sort()
            var ends: [UInt64] = []
            used += appended(late.map { blocks[$0] }, &ends)
            for (i, page) in zip(late, ends) { pages[i] = page }
        }
        return Self.joined(used)
    }

    /// Index of the first run with at least `count` pages in `runs`, which is sorted by size.
    private static func firstIndex(in runs: [Extent], ofAtLeast count: Int) -> Int {
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].pageCount < count { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The lowest run of at least `count` pages within a section.
    private func findRun(_ count: Int) -> UInt64? {
        guard UInt64(count) <= FormatLimits.sectionPages else { return nil }
        var page = max(lowest, barred)
        while let run = nextRun(from: page) {
            if run.pageCount >= count { return run.page }
            page = run.end
        }
        return nil
    }
}
