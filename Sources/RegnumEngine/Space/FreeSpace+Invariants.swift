// SPDX-License-Identifier: Apache-2.0
// Checks of the laws that `FreeSpace` maintains on its own. Which pages are live is the subject of `IntegrityCheck`;
// where each page came from is that of `PageLedger`.

extension FreeSpace {
    /// Files of more pages than this (256 MiB) are not checked at each commit.
    private static let checkedPages: UInt64 = 1 << 16

    /// Returns a description of each violated invariant; empty if all hold. O(pages / 64 + n log n) for n pending
    /// extents.
    func findings() -> [String] {
        var findings: [String] = []
        let extents = freeExtents
        let count = extents.reduce(0) { $0 + $1.pageCount }
        if count != freePages { findings.append("\(freePages) pages are counted as free, but \(count) are free") }
        if let first = firstFreePage, first < lowest { findings.append("page \(first) is free below \(lowest)") }
        if let first = extents.first, first.page < FormatLimits.reservedPages {
            findings.append("page \(first.page) is reserved and free")
        }
        if let last = extents.last, last.end > highWater {
            findings.append("page \(last.end - 1) is free beyond the end")
        }
        var end = FormatLimits.reservedPages
        for entry in pending.sorted(by: { $0.extent.page < $1.extent.page }) {
            let extent = entry.extent
            if extent.page < end { findings.append("page \(extent.page) is pending twice, or reserved") }
            if !isTaken(extent) { findings.append("page \(extent.page) is pending and free, or beyond the end") }
            end = extent.end
        }
        return findings
    }

    /// The full check at the end of a commit or of a reclaim. Throws if a law is broken. Does not trap, because a
    /// maliciously crafted file can refer to a block twice, which is then freed twice. Seeded bugs break the laws on
    /// purpose.
    func checkInvariants(_ mutant: ProtocolMutant?) throws(EngineError) {
        guard Invariants.areChecked else { return }
        if highWater > Self.checkedPages { return }
        if mutant == nil, let finding = findings().first {
            throw corrupted("the free space is inconsistent: \(finding)")
        }
        guard Invariants.isDue(oneIn: Invariants.rate(of: Int(highWater))) else { return }
        Invariants.require("page ledger", isSeeded: mutant != nil, ledger.findings(self))
    }

    /// Returns what is wrong with pages that were just taken or freed; empty if nothing is. O(pages of the extent).
    func findings(_ extent: Extent, isFreed: Bool) -> [String] {
        var findings: [String] = []
        if extent.end > highWater { findings.append("page \(extent.end - 1) lies beyond the end") }
        for page in extent.page..<extent.end where isFree(page) != isFreed {
            findings.append("page \(page) was \(isFreed ? "freed" : "taken") and is not")
        }
        if isFreed, extent.page < lowest { findings.append("page \(extent.page) is free below \(lowest)") }
        if freePages < 0 || UInt64(freePages) > highWater { findings.append("\(freePages) pages count as free") }
        return findings
    }

    /// The local check at the end of a mutation.
    @inline(__always)
    func assertInvariants(_ extent: Extent, isFreed: Bool) {
        guard Invariants.isDue(oneIn: max(Invariants.localRate, extent.pageCount / 4)) else { return }
        Invariants.require("free space", findings(extent, isFreed: isFreed))
    }
}
