// SPDX-License-Identifier: Apache-2.0
// What the hash tables of values that users give have in common: a secret factor, so that nobody can choose many values
// that lie in one place, and a measure of that.

package enum ValueHash {
    /// An odd number that is another one in each run of the program, as the seed of Swift's own sets is, and the same
    /// throughout the run: equal sets have equal hashes. Nothing that is stored or answered depends on it. A number that
    /// is added to values, or combined with them bit by bit, would not do: values that differ in certain bits only lie
    /// together whatever it is. Its upper bits are those of the golden ratio, which spreads sequences.
    package static let factor: UInt64 = {
        var hasher = Hasher()
        hasher.combine(0)
        let random = UInt64(truncatingIfNeeded: hasher.finalize()) & 0xFFFF_FFFF_FFFF
        return 0x9E37_0000_0000_0000 | random | 1
    }()

    /// The most places beside each other that are taken in an open table, whose last place stands beside its first:
    /// what the slowest look-up goes through. For tests.
    package static func longestRun(_ isTaken: [Bool]) -> Int {
        var (longest, run) = (0, 0)
        for place in isTaken + isTaken {
            run = place ? run + 1 : 0
            longest = max(longest, run)
        }
        return min(longest, isTaken.count)
    }
}
