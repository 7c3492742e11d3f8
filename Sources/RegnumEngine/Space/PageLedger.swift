// SPDX-License-Identifier: Apache-2.0
// A second record of what each page of a small file is, kept only where `Invariants` are checked, and only for files
// whose trees they judge. `FreeSpace` says which pages may be taken; the ledger says where each page came from, and
// finds a page that is taken or freed twice when that happens.
//
//     free ──take──▶ taken ──commit──▶ live ──retire──▶ pending ──reclaim──▶ free
//       ▲             │ ▲
//       └───release───┘ └── append: new pages at the end of the file
//
// `release` is for blocks that were dropped before the commit, and for skipped pages. `cut` drops free pages at the end
// of the file. A transaction may retire blocks that it has spilled itself.

struct PageLedger: Sendable {
    enum Use: UInt8, Sendable {
        /// In a version that was committed.
        case live
        /// Taken by the running transaction: in no version yet.
        case taken
        case pending
        case free
    }

    /// Larger files have no ledger: 256 MiB.
    static let pageLimit: UInt64 = 1 << 16

    // Without checks the ledger has no size, so that copies of the free space cost nothing more.
    #if DEBUG || REGNUM_CHECKS
        private var uses: [Use] = []
        private var isOn = false
        /// The pages taken since the last commit; some of them may be free again.
        private var taken: [Extent] = []
        /// True if a seeded bug is to break the rules.
        private var isSeeded = false
    #endif

    init() {}

    /// Begins with the state of `free`, as it was read.
    init(_ free: FreeSpace, isSeeded: Bool) {
        #if DEBUG || REGNUM_CHECKS
            guard free.highWater <= Self.pageLimit else { return }
            (isOn, self.isSeeded) = (true, isSeeded)
            uses = [Use](repeating: .live, count: Int(free.highWater))
            for extent in free.freeExtents { set(extent, .free) }
            for entry in free.pending { set(entry.extent, .pending) }
        #endif
    }

    #if DEBUG || REGNUM_CHECKS
        /// The use of a page; nil if it lies beyond the high-water mark.
        private func use(_ page: UInt64) -> Use? { page < UInt64(uses.count) ? uses[Int(page)] : nil }

        private mutating func set(_ extent: Extent, _ use: Use) {
            for page in extent.page..<max(extent.page, min(extent.end, UInt64(uses.count))) { uses[Int(page)] = use }
        }

        /// Moves pages from one use to another. Any other use is a finding.
        private mutating func move(_ extent: Extent, from expected: Use, to use: Use, _ act: StaticString) {
            guard isOn else { return }
            Invariants.require("page ledger", isSeeded: isSeeded, findings(extent, expected, act))
            set(extent, use)
        }

        private func findings(_ extent: Extent, _ expected: Use, _ act: StaticString) -> [String] {
            for page in extent.page..<extent.end {
                guard let use = use(page) else { return ["page \(page) is \(act) and lies beyond the end"] }
                if use != expected { return ["page \(page) is \(act) and was \(use)"] }
            }
            return []
        }
    #endif

    @inline(__always)
    mutating func take(_ extent: Extent) {
        #if DEBUG || REGNUM_CHECKS
            move(extent, from: .free, to: .taken, "taken")
            if isOn { taken.append(extent) }
        #endif
    }

    /// Adds the new pages before `end`.
    @inline(__always)
    mutating func append(to end: UInt64) {
        #if DEBUG || REGNUM_CHECKS
            if end > Self.pageLimit { self = PageLedger() }
            guard isOn, end > UInt64(uses.count) else { return }
            taken.append(Extent(page: UInt64(uses.count), pageCount: Int(end) - uses.count))
            uses.append(contentsOf: repeatElement(.taken, count: Int(end) - uses.count))
        #endif
    }

    /// Frees pages that the running transaction has taken and no version needs.
    @inline(__always)
    mutating func release(_ extent: Extent) {
        #if DEBUG || REGNUM_CHECKS
            move(extent, from: .taken, to: .free, "freed at once")
        #endif
    }

    @inline(__always)
    mutating func reclaim(_ extent: Extent) {
        #if DEBUG || REGNUM_CHECKS
            move(extent, from: .pending, to: .free, "reclaimed")
        #endif
    }

    /// Makes the pages of a version pending.
    @inline(__always)
    mutating func retire(_ entry: PendingExtent) {
        #if DEBUG || REGNUM_CHECKS
            move(entry.extent, from: entry.birth == entry.death ? .taken : .live, to: .pending, "freed")
        #endif
    }

    /// Drops the pages from `end` on, which are free.
    @inline(__always)
    mutating func cut(to end: UInt64) {
        #if DEBUG || REGNUM_CHECKS
            guard isOn, end < UInt64(uses.count) else { return }
            move(Extent(page: end, pageCount: uses.count - Int(end)), from: .free, to: .free, "cut off")
            uses.removeLast(uses.count - Int(end))
        #endif
    }

    /// Records that the transaction is committed.
    @inline(__always)
    mutating func commit() {
        #if DEBUG || REGNUM_CHECKS
            for extent in taken {
                for page in extent.page..<extent.end where use(page) == .taken { uses[Int(page)] = .live }
            }
            taken = []
        #endif
    }

    /// Returns where the ledger and the free space disagree. O(pages).
    func findings(_ free: FreeSpace) -> [String] {
        #if DEBUG || REGNUM_CHECKS
            guard isOn else { return [] }
            if UInt64(uses.count) != free.highWater { return ["the ledger ends at page \(uses.count)"] }
            let count = uses.count { $0 == .free }
            if count != free.freePages { return ["\(free.freePages) pages count as free, the ledger has \(count)"] }
            for extent in free.freeExtents {
                if let page = (extent.page..<extent.end).first(where: { use($0) != .free }) {
                    return ["page \(page) is free, the ledger says \(uses[Int(page)])"]
                }
            }
        #endif
        return []
    }
}
