// SPDX-License-Identifier: Apache-2.0
// Shared by the hash tables of user-supplied values: a secret factor, so that an attacker cannot construct many values
// that collide, and a measure of collisions.

package enum ValueHash {
    /// A random odd number, different in each run of the program, as the seed of Swift's own sets is, and constant
    /// during the run: equal sets have equal hashes. Nothing that is stored or returned depends on it. Adding a number
    /// to the values, or combining it with them bitwise, would not suffice: values that differ only in certain bits
    /// would collide for any such number. The upper bits are those of the golden ratio, which spreads sequences.
    package static let factor: UInt64 = {
        var hasher = Hasher()
        hasher.combine(0)
        let random = UInt64(truncatingIfNeeded: hasher.finalize()) & 0xFFFF_FFFF_FFFF
        return 0x9E37_0000_0000_0000 | random | 1
    }()

    /// The longest run of occupied slots in a circular open-addressing table, which the slowest lookup traverses. For
    /// tests.
    package static func longestRun(_ isTaken: [Bool]) -> Int {
        var (longest, run) = (0, 0)
        for place in isTaken + isTaken {
            run = place ? run + 1 : 0
            longest = max(longest, run)
        }
        return min(longest, isTaken.count)
    }
}
