// SPDX-License-Identifier: Apache-2.0
// The pages of the file that may be written. Owned by the holder of the writer lock. `FreeSpace+Placement.swift`
// decides which of them a commit takes.
//
// Laws
//  1. A page below the high-water mark is in exactly one state: reserved, live in some version that can still be
//     read, pending, or free. Blocks that only versions of the history need count as live (`History/History.swift`).
//  2. An extent written by commit `birth` and freed by commit `death` becomes free when `death` is durable and no
//     pinned version v has birth <= v < death. So a pinned old version keeps only the pages that it needs itself.
//  3. A transaction never takes pages that it freed itself.
//  4. No page before `barred` is taken.

import RegnumSystem

/// A run of pages.
package struct Extent: Hashable, Sendable {
    package var page: UInt64
    package var pageCount: Int
    package init(page: UInt64, pageCount: Int) {
        self.page = page
        self.pageCount = pageCount
    }
    package var end: UInt64 { page + UInt64(pageCount) }
}

/// A freed extent that some version may still need.
package struct PendingExtent: Hashable, Sendable {
    package var extent: Extent
    package var birth: UInt64
    package var death: UInt64
    package init(extent: Extent, birth: UInt64, death: UInt64) {
        self.extent = extent
        self.birth = birth
        self.death = death
    }
}

package struct FreeSpace: Sendable {
    /// One bit per page, set if free. Words cover pages from 0.
    private var words: [UInt64] = []
    /// Lower bound of the free pages.
    private(set) var lowest: UInt64 = FormatLimits.reservedPages
    package private(set) var freePages = 0
    package private(set) var pending: [PendingExtent] = []
    /// First page never yet allocated.
    package private(set) var highWater: UInt64
    /// Quarantine: free pages below this one are not taken, because another process still shows failed commits there.
    var barred: UInt64 = 0
    /// Where each page came from, if that is recorded.
    var ledger = PageLedger()

    package init(highWater: UInt64) { self.highWater = highWater }

    /// The first free page, whatever `lowest` says; for checks.
    var firstFreePage: UInt64? { nextRun(from: 0)?.page }

    func isFree(_ page: UInt64) -> Bool {
        let word = Int(page >> 6)
        return word < words.count && words[word] >> (page & 63) & 1 != 0
    }

    /// True if no page of the extent is free and all lie below the high-water mark.
    package func isTaken(_ extent: Extent) -> Bool {
        guard extent.end <= highWater else { return false }
        return !(extent.page..<extent.end).contains { isFree($0) }
    }

    /// Allocates new pages at the end of the file. Blocks do not cross section boundaries; pages skipped for that
    /// become free.
    mutating func appended(_ blocks: [Int], _ pages: inout [UInt64]) -> [Extent] {
        var runs: [Extent] = []
        if highWater < barred {
            skipped.append(Extent(page: highWater, pageCount: Int(barred - highWater)))
            highWater = barred
        }
        for block in blocks {
            var page = highWater
            let section = (page / FormatLimits.sectionPages + 1) * FormatLimits.sectionPages
            if page + UInt64(block) > section, UInt64(block) <= FormatLimits.sectionPages {
                highWater = section
                // Skipped pages are recorded as free and used like any other.
                skipped.append(Extent(page: page, pageCount: Int(section - page)))
                page = section
            }
            pages.append(page)
            highWater = page + UInt64(block)
            if let last = runs.last, last.end == page {
                runs[runs.count - 1].pageCount += block
            } else {
                runs.append(Extent(page: page, pageCount: block))
            }
        }
        ledger.append(to: highWater)
        return runs
    }

    /// Marks an extent free. Throws if part of it is free already, which means that the records are damaged.
    package mutating func release(_ extent: Extent) throws(EngineError) {
        try setFree(extent)
        ledger.release(extent)
    }

    private mutating func setFree(_ extent: Extent) throws(EngineError) {
        guard extent.page >= FormatLimits.reservedPages, extent.end <= highWater else {
            throw corrupted("free space lies outside the file", page: extent.page)
        }
        let lastWord = Int((extent.end - 1) >> 6)
        if lastWord >= words.count { words.append(contentsOf: repeatElement(0, count: lastWord + 1 - words.count)) }
        for page in extent.page..<extent.end {
            guard !isFree(page) else { throw corrupted("a page is free twice", page: page) }
            words[Int(page >> 6)] |= 1 << (page & 63)
        }
        freePages += extent.pageCount
        lowest = min(lowest, extent.page)
        assertInvariants(extent, isFreed: true)
    }

    /// Takes an extent that is free or beyond the high-water mark, replaying a recorded commit.
    package mutating func take(_ extent: Extent) throws(EngineError) {
        ledger.take(extent)
        if extent.end > highWater { highWater = extent.end }
        for page in extent.page..<extent.end where isFree(page) {
            words[Int(page >> 6)] &= ~(1 << (page & 63))
            freePages -= 1
        }
        assertInvariants(extent, isFreed: false)
    }

    package mutating func addPending(_ entry: PendingExtent) {
        pending.append(entry)
        ledger.retire(entry)
    }

    /// Frees the pending extents that no pinned version needs. `pins` ascending; every version from `floor` on counts
    /// as pinned; `durable` is the newest durable commit. Extents written after `covered` are kept, because the
    /// manifest of the durable slot covers them.
    package mutating func reclaim(
        pins: [UInt64], floor: UInt64? = nil, durable: UInt64, covered: UInt64 = .max
    ) throws(EngineError) {
        guard !pending.isEmpty else { return }
        var kept: [PendingExtent] = []
        for entry in pending {
            if entry.death <= durable, entry.birth <= covered, entry.death <= floor ?? .max,
                !Self.isNeeded(entry, pins)
            {
                try setFree(entry.extent)
                ledger.reclaim(entry.extent)
            } else {
                kept.append(entry)
            }
        }
        pending = kept
    }

    /// True if a pinned version lies in [birth, death).
    static func isNeeded(_ entry: PendingExtent, _ pins: [UInt64]) -> Bool {
        var low = 0
        var high = pins.count
        while low < high {
            let middle = (low + high) / 2
            if pins[middle] < entry.birth { low = middle + 1 } else { high = middle }
        }
        return low < pins.count && pins[low] < entry.death
    }

    /// All free runs in page order; no run crosses a section boundary.
    package var freeExtents: [Extent] { runs(from: lowest) }

    func runs(from start: UInt64) -> [Extent] {
        var extents: [Extent] = []
        extents.reserveCapacity(32)
        var page = start
        while let run = nextRun(from: page) {
            extents.append(run)
            page = run.end
        }
        return extents
    }

    /// Counts the free runs; may stop at `limit` or slightly above it. O(pages / 64).
    package func countFreeExtents(upTo limit: Int = .max) -> Int {
        var count = 0
        let wordsPerSection = Int(FormatLimits.sectionPages / 64)
        var word = Int(lowest >> 6)
        var before: UInt64 = 0
        while count < limit {
            let next = firstWord(from: word)
            guard next < words.count else { break }
            // A run ends at its section boundary.
            if next > word || next % wordsPerSection == 0 { before = 0 }
            let free = words[next]
            count += (free & ~(free << 1 | before)).nonzeroBitCount
            before = free >> 63
            word = next + 1
        }
        return count
    }

    /// Index of the first non-zero word at or after `start`; `words.count` if there is none.
    private func firstWord(from start: Int) -> Int {
        words.withUnsafeBufferPointer { words in
            var word = start
            while word < words.count, words[word] == 0 { word &+= 1 }
            return word
        }
    }

    /// Length of the first free run below page `end` that has at least `wanted` pages, otherwise of the longest one.
    func run(of wanted: Int, below end: UInt64) -> Int {
        var page = max(lowest, barred)
        var longest = 0
        while longest < wanted, let run = nextRun(from: page), run.page < end {
            longest = max(longest, Int(min(run.end, end) - run.page))
            page = run.end
        }
        return longest
    }

    /// The first free run at or after a page.
    func nextRun(from start: UInt64) -> Extent? {
        var page = start
        let end = UInt64(words.count) << 6
        while page < end {
            let word = words[Int(page >> 6)] >> (page & 63)
            if word == 0 {
                page = UInt64(firstWord(from: Int(page >> 6) + 1)) << 6
                continue
            }
            page += UInt64(word.trailingZeroBitCount)
            let limit = min(end, (page / FormatLimits.sectionPages + 1) * FormatLimits.sectionPages)
            return Extent(page: page, pageCount: Int(endOfRun(from: page, limit: limit) - page))
        }
        return nil
    }

    private func endOfRun(from start: UInt64, limit: UInt64) -> UInt64 {
        var page = start
        while page < limit {
            let word = ~(words[Int(page >> 6)] >> (page & 63))
            let ones = UInt64(word.trailingZeroBitCount)
            let left = 64 - (page & 63)
            if ones < left { return min(page + ones, limit) }
            page += left
        }
        return limit
    }

    var isMostlyFree: Bool { UInt64(freePages) > highWater / 2 }

    /// The free runs within `extents`.
    func extents(in extents: [Extent]) -> [Extent] {
        var found: [Extent] = []
        for extent in extents {
            var page = extent.page
            while let run = nextRun(from: page), run.page < extent.end {
                found.append(Extent(page: run.page, pageCount: Int(min(run.end, extent.end) - run.page)))
                page = run.end
            }
        }
        return found
    }

    /// The extents in page order; those that touch or overlap are merged.
    static func joined(_ extents: [Extent]) -> [Extent] {
        var runs: [Extent] = []
        for extent in extents.sorted(by: { $0.page < $1.page }) {
            if let last = runs.last, last.end >= extent.page {
                runs[runs.count - 1].pageCount = Int(max(last.end, extent.end) - last.page)
            } else {
                runs.append(extent)
            }
        }
        return runs
    }

    /// Removes the free pages at the end of the file, so that it can be truncated and the next commits append there.
    package mutating func trim() {
        var end = highWater
        while end > FormatLimits.reservedPages, isFree(end - 1) { end -= 1 }
        cut(to: end)
    }

    /// Drops the free pages from `end` on, and makes it the high-water mark.
    mutating func cut(to end: UInt64) {
        for page in end..<max(end, min(highWater, UInt64(words.count) << 6)) where isFree(page) {
            words[Int(page >> 6)] &= ~(1 << (page & 63))
            freePages -= 1
        }
        highWater = end
        ledger.cut(to: end)
    }

    mutating func raise(to end: UInt64) { highWater = max(highWater, end) }

    /// Pages that the current commit has skipped, at section boundaries or because they are quarantined.
    package private(set) var skipped: [Extent] = []
    package mutating func takeSkipped() -> [Extent] {
        defer { skipped = [] }
        return skipped
    }

    mutating func raiseLowest() {
        while lowest < highWater, !isFree(lowest) {
            let word = Int(lowest >> 6)
            if word >= words.count {
                lowest = highWater
                return
            }
            if words[word] >> (lowest & 63) == 0 { lowest = (lowest | 63) + 1 } else { lowest += 1 }
        }
    }
}
