// SPDX-License-Identifier: Apache-2.0
// The checks of a session that begins to read: whether a newer version may have been published, and whether the file is
// still the one that was opened. Neither needs a system call if nothing has changed. Only for a session that refreshes;
// observers are woken by `CommitNotifications` of Regnum.
//
// Reading the lock file requires a check of its length first. But a commit is in its slot before it is published, and
// the slots are mapped anyway. `Database+OverwrittenFile.swift` has the checks that follow if something has changed.

import RegnumSystem
import Synchronization

/// The words of the two slots that change with each commit: number and nonce, or encrypted bytes that are as random.
struct NewerVersionCheck {
    private let base: UnsafeRawPointer
    private let header: FileHeader
    /// True if the words are plain commit numbers and other processes may write them.
    private let canSee: Bool
    private var seen = SIMD4<UInt64>.zero
    /// The words for which the file was last verified to be the one opened, and the version that this was verified for.
    private var checked = SIMD4<UInt64>.zero
    private var checkedNumber: UInt64 = 0

    /// Nil for an in-memory database, which no other process can write.
    init?(_ database: Database) {
        if database.isVolatile { return nil }
        base = database.reader.fileBase
        header = database.header
        canSee = database.shared != nil && !database.isEncrypted
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

    /// True if `words` equal those of the last `note`: nothing has been published since they were read.
    func isSeen(_ words: SIMD4<UInt64>) -> Bool { canSee && words == seen }

    /// Stores words that were read before `number` was found to be the newest version. Ignored if a slot has a later
    /// commit: publishing that one does not change its slot again.
    mutating func note(_ words: SIMD4<UInt64>, newest number: UInt64) {
        if words[0] <= number, words[2] <= number { seen = words }
    }

    /// Throws `.overwritten` if the file is not the one that was opened, or no longer holds `version`, which the
    /// session shows. Costs a few loads if the slots are unchanged since the last call.
    @inline(__always)
    mutating func check(_ words: SIMD4<UInt64>, _ database: Database, _ version: Version) throws(EngineError) {
        let isKnown = words == checked && version.number == checkedNumber
        if isKnown, header.isIdentified(at: base) { return }
        try database.checkUntouched(version)
        checked = words
        checkedNumber = version.number
    }
}

extension FileHeader {
    /// True if the header at `base` has this file's identifier and seed.
    @inline(__always)
    func isIdentified(at base: UnsafeRawPointer) -> Bool {
        (base + 16).loadUnaligned(as: SIMD4<UInt64>.self)
            == SIMD4(identifierLow, identifierHigh, seedLow, seedHigh)
    }
}
