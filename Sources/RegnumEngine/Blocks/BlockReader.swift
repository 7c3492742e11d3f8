// SPDX-License-Identifier: Apache-2.0
// Resolves refs to verified bytes. A block is checked against the tag in its ref when this process first reads it. One
// word per page, computed from everything that the ref says about the block, records the result. Nothing needs to be
// invalidated, because a reused page has a new birth. A ref that says something different about a verified block
// (another kind or length) has another word, so the block is checked against it, and refused.
//
// Blocks of a plain file are read from the mapped file. Those of an encrypted file are decrypted at their first access,
// to the same offset in private memory of the same size, so that all other code is the same for both.
//
// Shared by all sessions of a database. State: `verified`, one word per page, set when the block can be read; private
// memory, written while holding `touching`, before the word is set.

package import RegnumSystem
import Synchronization

package final class BlockReader: @unchecked Sendable {
    // Sendable: see above; `readable` is atomic.
    package let region: any MappedRegion
    package let protection: FileProtection
    /// The path of the file, for errors.
    private let path: String?
    package var hash: ContentHash { protection.hash }
    /// The address of page 0 for reading verified blocks.
    package let base: UnsafeRawPointer
    /// The mapped file.
    var fileBase: UnsafeRawPointer { region.base }
    /// Decrypted blocks; nil for a plain file.
    private let decrypted: ReservedMemory?
    /// Per page, 63 bits computed from the ref and one bit that is always set; 0 = not verified. Reserved for the
    /// region's capacity; only the parts in use are touched.
    private let verified: UnsafeMutablePointer<Atomic<UInt64>>
    private let verifiedMemory: ReservedMemory
    /// Random factors of the words: unpredictable, so that no file can be crafted with two refs that have the same
    /// word. Odd, so that no bit of a number is lost.
    private let keys = (
        UInt64.random(in: 0 ... .max) | 1, UInt64.random(in: 0 ... .max) | 1, UInt64.random(in: 0 ... .max) | 1,
        UInt64.random(in: 0 ... .max) | 1
    )
    private let extending = Lock(())
    /// Held while private memory is written.
    private let touching = Lock(())
    /// The number of pages that may be read: grows with the file, while holding `extending`.
    private let readable = Atomic<UInt64>(0)
    private let trusted = Atomic<Bool>(false)

    package init(region: any MappedRegion, protection: FileProtection, path: String? = nil) throws(SystemError) {
        self.region = region
        self.protection = protection
        self.path = path
        decrypted = protection.cipher == nil ? nil : try ReservedMemory(byteCount: region.capacity)
        base = decrypted.map { UnsafeRawPointer($0.base) } ?? region.base
        verifiedMemory = try ReservedMemory(byteCount: max(region.capacity >> 9, 4096))
        verified = verifiedMemory.base.assumingMemoryBound(to: Atomic<UInt64>.self)
        let pages = region.byteCount >> 12
        try verifiedMemory.ensure(pages << 3)
        try decrypted?.ensure(pages << 12)
        readable.store(UInt64(pages), ordering: .releasing)
    }

    /// The number of mapped pages that may be read.
    package var readablePages: UInt64 { readable.load(ordering: .acquiring) }

    /// True while everything in the file is certain to be what this process has written; see `Invariants`. Any thread.
    package var isTrusted: Bool { trusted.load(ordering: .relaxed) }
    package func setTrusted(_ isTrusted: Bool) { trusted.store(isTrusted, ordering: .relaxed) }

    /// Maps the file up to `pages`. Any thread.
    package func extend(toPages pages: UInt64) throws(EngineError) {
        try extending.withLock { _ throws(EngineError) in
            guard pages > readable.load(ordering: .acquiring) else { return }
            do throws(SystemError) {
                try region.extend(to: Int(pages) << 12)
                try verifiedMemory.ensure(Int(pages) << 3)
                try decrypted?.ensure(Int(pages) << 12)
            } catch { throw EngineError.system(error) }
            readable.store(pages, ordering: .releasing)
        }
    }

    /// Sets the end of the file to `pages`. The mapping beyond it stays, for when the file grows again.
    package func shrink(toPages pages: UInt64) {
        extending.withLock { _ in
            if pages < readable.load(ordering: .acquiring) { readable.store(pages, ordering: .releasing) }
        }
    }

    /// Returns the bytes of a committed block, including its header, valid while the version they belong to is pinned.
    /// Throws `.corrupted` if they do not match the ref's tag. 1 ns after the first access.
    @inline(__always)
    package func bytes(_ ref: BlockRef) throws(EngineError) -> UnsafeRawPointer {
        let page = ref.page
        if page < readable.load(ordering: .acquiring), isVerified(ref) { return base + Int(page) << 12 }
        return try verify(ref)
    }

    /// Returns a word computed from everything that a block is checked against; the page is the index of the word.
    @inline(__always)
    private func word(_ ref: BlockRef) -> UInt64 {
        ref.birth &* keys.0 &+ (ref.tagLow ^ ref.tagHigh) &* keys.1 &+ ref.info &* keys.2
            &+ (ref.location & 0xffff) &* keys.3 | 1
    }

    @inline(__always)
    private func isVerified(_ ref: BlockRef) -> Bool {
        verified[Int(ref.page)].load(ordering: .acquiring) == word(ref)
    }

    private func setVerified(_ ref: BlockRef) { verified[Int(ref.page)].store(word(ref), ordering: .releasing) }

    /// Marks a block that this process has just written as verified; `bytes` are the plain bytes.
    package func keep(_ ref: BlockRef, _ bytes: UnsafeRawPointer) {
        guard ref.page < readable.load(ordering: .acquiring) else { return }
        guard let decrypted else { return setVerified(ref) }
        touching.withLock { _ in
            Memory.copy(decrypted.base + Int(ref.page) << 12, bytes, ref.byteCount)
            setVerified(ref)
        }
    }

    /// Marks the blocks of a run as not verified, so that the next access checks them.
    func forget(_ run: Extent) {
        for page in run.page..<run.end { verified[Int(page)].store(0, ordering: .releasing) }
    }

    @inline(never)
    private func verify(_ ref: BlockRef) throws(EngineError) -> UnsafeRawPointer {
        do throws(EngineError) { return try readAnew(ref) } catch {
            guard case .corrupted(var damage) = error else { throw error }
            damage.path = path
            throw .corrupted(damage)
        }
    }

    private func readAnew(_ ref: BlockRef) throws(EngineError) -> UnsafeRawPointer {
        let (end, overflow) = ref.page.addingReportingOverflow(UInt64(ref.pageCount))
        guard !ref.isPending, !overflow, ref.page >= FormatLimits.reservedPages,
            end <= readable.load(ordering: .acquiring)
        else {
            throw corrupted("a reference points outside the file", page: ref.isPending ? nil : ref.page)
        }
        let bytes = base + Int(ref.page) << 12
        guard let cipher = protection.cipher, let decrypted else {
            let tag = hash.tag(bytes, ref.byteCount)
            guard tag.low == ref.tagLow, tag.high == ref.tagHigh else {
                throw corrupted("a block does not match its checksum", page: ref.page)
            }
            try check(ref, bytes)
            setVerified(ref)
            return bytes
        }
        try touching.withLock { _ throws(EngineError) in
            if isVerified(ref) { return }
            try decrypt(ref, cipher, to: decrypted.base + Int(ref.page) << 12)
        }
        return bytes
    }

    /// Decrypts and verifies a block. Call while holding `touching`.
    private func decrypt(
        _ ref: BlockRef, _ cipher: BlockCipher, to target: UnsafeMutableRawPointer
    ) throws(EngineError) {
        // Other threads may be reading bytes that were decrypted there before: those stay until this block has passed
        // every check.
        let isUsed = (ref.page..<ref.page + UInt64(ref.pageCount)).contains {
            verified[Int($0)].load(ordering: .acquiring) != 0
        }
        let plain = isUsed ? UnsafeMutableRawPointer.allocate(byteCount: ref.byteCount, alignment: 16) : target
        defer { if isUsed { plain.deallocate() } }
        guard cipher.open(fileBase + Int(ref.page) << 12, ref, to: plain) else {
            throw corrupted("an encrypted block does not match its tag", page: ref.page)
        }
        try check(ref, UnsafeRawPointer(plain))
        if isUsed { Memory.copy(target, UnsafeRawPointer(plain), ref.byteCount) }
        setVerified(ref)
    }

    private func check(_ ref: BlockRef, _ bytes: UnsafeRawPointer) throws(EngineError) {
        guard BlockHeader.matches(bytes, ref) else {
            throw corrupted("a block is not what its parent expects", page: ref.page)
        }
        try BlockLayout.check(ref, bytes)
    }
}
