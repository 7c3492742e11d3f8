// SPDX-License-Identifier: Apache-2.0
// Detects that the file was overwritten in place by a program that knows nothing of Regnum (`cp other.realm x.realm`).
// Blocks that were verified once are not checked against their tags again, so the session would show the bytes of
// another file. Three things reveal this: the identity in the header, the two slots, and the first bytes of the catalog
// of the version shown, which no writer changes while the version is pinned. The last two also differ in a copy of the
// same database.

import RegnumSystem

extension BlockReader {
    /// The first bytes of a block as stored in the file: its birth and the nonce of its commit, or, in an encrypted
    /// file, the nonce of its encryption.
    func mark(_ ref: BlockRef) -> SIMD4<UInt64> {
        guard !ref.isPending, ref.page < readablePages else { return .zero }
        return (fileBase + Int(ref.page) << 12).loadUnaligned(as: SIMD4<UInt64>.self)
    }

    /// The words of the slot at `offset` that change with each commit.
    func slotMark(at offset: Int) -> SIMD2<UInt64> {
        (fileBase + offset + 8).loadUnaligned(as: SIMD2<UInt64>.self)
    }
}

extension Database {
    /// Throws `.overwritten` if the file is not the one that was opened, or no longer holds `version`, which is pinned.
    func checkUntouched(_ version: Version) throws(EngineError) {
        if isVolatile || options.mutant == .overwrittenNotNoticed { return }
        // If the system does not report the length, nothing is known: the next read reports its own error.
        guard let byteCount = try? file.byteCount() else { return }
        let end = max(FormatLimits.reservedPages, version.catalog.page + UInt64(version.catalog.pageCount))
        guard end <= UInt64(byteCount >> 12),
            isIdentified
        else { throw .overwritten(path: path) }
        if reader.mark(version.catalog) == version.mark, !hasLaterSlots { return }
        // After a failed sync the system may have dropped the written pages, and show their earlier contents.
        if hasSyncFailed { return }
        throw .overwritten(path: path)
    }

    /// True if a copy of the header has this file's identifier. One of the two may be damaged; it is rewritten when the
    /// file is opened for writing.
    var isIdentified: Bool {
        isVolatile || options.mutant == .overwrittenNotNoticed || header.isIdentified(at: reader.fileBase)
            || header.isIdentified(at: reader.fileBase + FormatLimits.headerCopyByteOffset)
    }

    /// True if a sync of this process, or of another one that has the file open, is known to have failed.
    private var hasSyncFailed: Bool {
        queue.monitor.withLock {
            let failures = self.failures
            return failures.own > 0 || (failures.all?.failed ?? 0) > 0 || queue.failure != nil
        }
    }

    /// True if both slots are later than the newest version. An unpublished commit explains only one of them, because
    /// the other slot has the commit before it. If both are later, pages of the version shown may have been reused.
    /// Always false for an encrypted file: its slots cannot be read this way, and pages read before are decrypted
    /// copies in private memory.
    private var hasLaterSlots: Bool {
        // Checked twice: a single inconsistent read must not end the program.
        seesLaterSlots && seesLaterSlots
    }

    private var seesLaterSlots: Bool {
        guard let shared, !isEncrypted else { return false }
        let (a, b) = (
            reader.slotMark(at: FormatLimits.slotAByteOffset)[0], reader.slotMark(at: FormatLimits.slotBByteOffset)[0]
        )
        // Read the slots first, then the newest version: others may be writing.
        guard let published = shared.newest else { return false }
        let newest = max(published, versions.newest.number)
        guard a > newest, b > newest else { return false }
        // The slots may be damaged, and then prove nothing.
        return (try? CommitSlot.readAll(file, protection: protection))?.filter { $0.slot.version > newest }.count == 2
    }

    /// Throws `.overwritten` if `slot` has the number of the newest known version but belongs to another commit.
    func checkKnown(_ slot: CommitSlot) throws(EngineError) {
        let known = versions.newest
        let isOther = slot.version == known.number && slot.catalog != known.catalog
        if isOther, !isVolatile, options.mutant != .overwrittenNotNoticed { throw .overwritten(path: path) }
    }

    /// Throws `.overwritten` if the slot of the last durable commit is not as it was written. Requires the writer lock,
    /// within and among processes, and that this process was the last to write.
    func checkDurableSlot() throws(EngineError) {
        // Tests of seeded bugs must find them by their effects, not by this check.
        if isVolatile || options.mutant != nil { return }
        // Within the monitor: a sync that ends makes another slot the durable one, and the next one writes this one.
        let isAsWritten = queue.monitor.withLock {
            queue.durableMark.map { $0 == reader.slotMark(at: queue.durableSlot) } ?? true
        }
        if !isAsWritten { throw .overwritten(path: path) }
    }
}
