// SPDX-License-Identifier: Apache-2.0
// Whether another version may have been published, without a system call: a process that looks at the shared file has
// to ask for its length first, but a commit is in its slot before it is published, and the slots are mapped anyway.

import Synchronization

/// What of the two slots changes with each commit: number and nonce.
struct SlotWatch {
    private let base: UnsafeRawPointer
    private var seen = SIMD4<UInt64>.zero

    /// Nil where the slots cannot be read as they are, or no other process can write them.
    init?(_ database: Database) {
        guard database.shared != nil, !database.isEncrypted else { return nil }
        base = database.reader.fileBase
    }

    private func word(_ offset: Int) -> UInt64 {
        // Other processes may store to it.
        (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(ordering: .acquiring)
    }

    @inline(__always)
    var words: SIMD4<UInt64> {
        let (a, b) = (FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset)
        return SIMD4(word(a + 8), word(a + 16), word(b + 8), word(b + 16))
    }

    /// True where `words` are those of the last `note`: nothing has been published since they were read.
    func isSeen(_ words: SIMD4<UInt64>) -> Bool { words == seen }

    /// Stores words that were read before `number` was found to be the newest version. Ignored if a slot has a later
    /// commit: publishing that one does not change its slot again.
    mutating func note(_ words: SIMD4<UInt64>, newest number: UInt64) {
        if words[0] <= number, words[2] <= number { seen = words }
    }
}
