// SPDX-License-Identifier: Apache-2.0
// The check of what `SpaceManager` has made free.

extension SpaceManager {
    /// Returns the reclaimed pages that a version which may still be read needs, or an opening after a power loss;
    /// empty if there are none. Reclaimed are the pending extents that are in `before` and not in `after`. O(pending).
    static func findings(
        reclaimed before: [PendingExtent], but after: [PendingExtent], pins: [UInt64], floors: [UInt64],
        _ limits: (durable: UInt64, covered: UInt64)
    ) -> [String] {
        if before.count == after.count { return [] }
        let kept = Set(after)
        var findings: [String] = []
        for entry in before where !kept.contains(entry) {
            let page = entry.extent.page
            if let pin = pins.first(where: { entry.birth <= $0 && $0 < entry.death }) {
                findings.append("page \(page) was reclaimed, and the pinned version \(pin) needs it")
            }
            if floors.contains(where: { $0 < entry.death }) {
                findings.append("page \(page) was reclaimed, and another process may need it")
            }
            if entry.death > limits.durable {
                findings.append("page \(page) was reclaimed before commit \(entry.death) is durable")
            }
            if entry.birth > limits.covered {
                findings.append("page \(page) was reclaimed, and the manifest of the durable slot covers it")
            }
        }
        return findings
    }
}
