// SPDX-License-Identifier: Apache-2.0
// Compares offenders with the list of tolerated ones (Ratchet.txt), which may only shrink.

struct Ratchet {
    let tolerated: [String]

    /// Offenders that are not in the list.
    func newOffenders(_ findings: [Finding]) -> [Finding] {
        findings.filter { !tolerated.contains($0.key) }
    }

    /// Entries to remove, because they no longer offend, or because they are duplicates.
    func staleEntries(_ findings: [Finding]) -> [String] {
        let keys = Set(findings.map(\.key))
        var seen: Set<String> = []
        return tolerated.filter { !keys.contains($0) || !seen.insert($0).inserted }
    }
}
