// SPDX-License-Identifier: Apache-2.0
// What a session compares when it begins to read: whether a newer version may have been published, and whether the file
// under it is still the one that was opened. Both without a system call where nothing has changed.
//
// A process that looks at the shared file has to ask for its length first, but a commit is in its slot before it is
// published, and the slots are mapped anyway.
//
// A file may be overwritten in place by a program that knows nothing of us (`cp other.realm x.realm`). Blocks that were
// verified before are not read against their tags again, so the session would show the bytes of another file. Three
// things tell: the identity in the header, the two slots, and the first bytes of the catalog of the version that is
// shown, which no writer touches while the version is pinned. The last two differ in a copy of the same database too.

import RegnumSystem
import Synchronization

/// What of the two slots changes with each commit: number and nonce, or encrypted bytes that are as random.
struct SlotWatch {
    private let base: UnsafeRawPointer
    private let header: FileHeader
    /// True where the words tell numbers of commits, and other processes may write them.
    private let canSee: Bool
    private var seen = SIMD4<UInt64>.zero
    /// The words at which the file was found to be the one that was opened, and the version of which that is known.
    private var checked = SIMD4<UInt64>.zero
    private var checkedNumber: UInt64 = 0

    /// Nil for a database in memory, which nobody else can write.
    init?(_ database: Database) {
        if database.isVolatile { return nil }
        base = database.reader.fileBase
        header = database.header
        canSee = database.shared != nil && !database.isEncrypted
    }

    private func word(_ offset: Int) -> UInt64 {
        // Other processes write it.
        (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(ordering: .acquiring)
    }

    @inline(__always)
    var words: SIMD4<UInt64> {
        let (a, b) = (FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset)
        return SIMD4(word(a + 8), word(a + 16), word(b + 8), word(b + 16))
    }

    /// True where `words` are those of the last `note`: nothing has been published since they were read.
    func isSeen(_ words: SIMD4<UInt64>) -> Bool { canSee && words == seen }

    /// Takes down words that were read before `number` was found to be the newest. Not while a slot has a later
    /// commit: that is published without another change to the slot.
    mutating func note(_ words: SIMD4<UInt64>, newest number: UInt64) {
        if words[0] <= number, words[2] <= number { seen = words }
    }

    /// Throws `.overwritten` where the file is not the one that was opened, or has lost what `version`, which the session
    /// shows, is made of. A few loads where the slots are as they were at the last call.
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
    /// True where the first page, which lies at `base`, has this file's identifier and seed.
    @inline(__always)
    func isIdentified(at base: UnsafeRawPointer) -> Bool {
        (base + 16).loadUnaligned(as: SIMD4<UInt64>.self)
            == SIMD4(identifierLow, identifierHigh, seedLow, seedHigh)
    }
}

extension BlockReader {
    /// The first bytes of a block as they lie in the file: its birth and the nonce of its commit, or, in an encrypted
    /// file, the nonce that it was encrypted with.
    func mark(_ ref: BlockRef) -> SIMD4<UInt64> {
        guard !ref.isPending, ref.page < readablePages else { return .zero }
        return (fileBase + Int(ref.page) << 12).loadUnaligned(as: SIMD4<UInt64>.self)
    }

    /// What of the slot at `offset` changes with each commit.
    func slotMark(at offset: Int) -> SIMD2<UInt64> {
        (fileBase + offset + 8).loadUnaligned(as: SIMD2<UInt64>.self)
    }
}

extension Database {
    /// Throws `.overwritten` where the file is not the one that was opened, or has lost what `version`, which is pinned,
    /// is made of.
    func checkUntouched(_ version: Version) throws(EngineError) {
        if isVolatile || options.mutant == .overwrittenNotNoticed { return }
        // Where the system does not tell the length, nothing is known: what is read next says what is wrong.
        guard let byteCount = try? file.byteCount() else { return }
        let end = max(FormatLimits.reservedPages, version.catalog.page + UInt64(version.catalog.pageCount))
        guard end <= UInt64(byteCount >> 12),
            // One of the two may be damaged, and is written again when the file is opened to write.
            header.isIdentified(at: reader.fileBase)
                || header.isIdentified(at: reader.fileBase + FormatLimits.headerCopyByteOffset),
            reader.mark(version.catalog) == version.mark, !hasLaterSlots
        else { throw .overwritten(path: path) }
    }

    /// True where both slots are later than the newest version: the one before a commit that is not published yet is.
    /// Pages of what is shown may have been used again by then. Of an encrypted file nothing can be read; what was read
    /// before lies decrypted in private memory.
    private var hasLaterSlots: Bool {
        guard let shared, !isEncrypted else { return false }
        let (a, b) = (
            reader.slotMark(at: FormatLimits.slotAByteOffset)[0], reader.slotMark(at: FormatLimits.slotBByteOffset)[0]
        )
        // In this order: others may be writing.
        guard shared.newest != nil else { return false }
        let newest = versions.latestNumber
        guard a > newest, b > newest else { return false }
        // They may be damaged, and then tell nothing.
        return (try? CommitSlot.readAll(file, seal: seal))?.filter { $0.slot.version > newest }.count == 2
    }

    /// Throws `.overwritten` where a slot has the number of the newest version that is known, and is of another commit.
    func checkKnown(_ slot: CommitSlot) throws(EngineError) {
        let known = versions.newest
        let isOther = slot.version == known.number && slot.catalog != known.catalog
        if isOther, !isVolatile, options.mutant != .overwrittenNotNoticed { throw .overwritten(path: path) }
    }

    /// For the holder of the gate and the writer's lock, where this process was the last to write: throws `.overwritten`
    /// where the slot of the last durable commit is not as it was written.
    func checkDurableSlot() throws(EngineError) {
        let (mark, offset) = line.monitor.withLock { (line.durableMark, line.durableSlot) }
        guard let mark, options.mutant != .overwrittenNotNoticed, !isVolatile else { return }
        if reader.slotMark(at: offset) != mark { throw .overwritten(path: path) }
    }
}
