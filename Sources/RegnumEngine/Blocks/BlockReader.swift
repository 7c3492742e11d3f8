// SPDX-License-Identifier: Apache-2.0
// From a ref to bytes that can be believed. A block is checked against the tag in its ref at the first touch in
// this process and remembered by a word that is made of all that the ref says of it, one word a page: nothing needs
// invalidation, because a page that is used again has another birth. A ref that says anything else of a block that
// was checked (its kind, its length) makes another word, so it is checked itself, and refused.
//
// Blocks of a plain file are read where the file is mapped. Those of an encrypted file are decrypted at the first
// touch, to the same place in private memory of the same shape, so that all other code is the same for both.
//
// Shared by all sessions of a database. State: `verified`, one word a page, set when the block can be read; private
// memory, written below `touching` before the word is set.

package import RegnumSystem
import Synchronization

package final class BlockReader: @unchecked Sendable {
    // Sendable: see above; `readable` is atomic.
    package let region: any MappedRegion
    package let seal: FileSeal
    /// The file, for errors.
    private let path: String?
    package var hash: ContentHash { seal.hash }
    /// Where blocks can be read once they are verified.
    package let base: UnsafeRawPointer
    /// The file as it is.
    var fileBase: UnsafeRawPointer { region.base }
    /// Decrypted blocks; nil for a plain file.
    private let decrypted: ReservedMemory?
    /// 63 bits made of the ref a page and a bit that is set; 0 = not verified. Reserved for the region's capacity,
    /// touched where used.
    private let verified: UnsafeMutablePointer<Atomic<UInt64>>
    private let verifiedMemory: ReservedMemory
    /// What words are made with. Nobody knows them, so no file can be made with refs that lead to the same word. Odd,
    /// so that none of a number's bits is lost.
    private let keys = (
        UInt64.random(in: 0 ... .max) | 1, UInt64.random(in: 0 ... .max) | 1, UInt64.random(in: 0 ... .max) | 1,
        UInt64.random(in: 0 ... .max) | 1
    )
    private let extending = Lock(())
    /// Held while private memory is written.
    private let touching = Lock(())
    /// Pages that may be read: grows with the file, below `extending`.
    private let readable = Atomic<UInt64>(0)

    package init(region: any MappedRegion, seal: FileSeal, path: String? = nil) throws(SystemError) {
        self.region = region
        self.seal = seal
        self.path = path
        decrypted = seal.cipher == nil ? nil : try ReservedMemory(byteCount: region.capacity)
        base = decrypted.map { UnsafeRawPointer($0.base) } ?? region.base
        verifiedMemory = try ReservedMemory(byteCount: max(region.capacity >> 9, 4096))
        verified = verifiedMemory.base.assumingMemoryBound(to: Atomic<UInt64>.self)
        let pages = region.byteCount >> 12
        try verifiedMemory.ensure(pages << 3)
        try decrypted?.ensure(pages << 12)
        readable.store(UInt64(pages), ordering: .releasing)
    }

    /// Pages that are mapped.
    package var readablePages: UInt64 { readable.load(ordering: .acquiring) }

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

    /// The file ends at `pages` from now on. What is mapped behind it stays so, for when the file grows again.
    package func shrink(toPages pages: UInt64) {
        extending.withLock { _ in
            if pages < readable.load(ordering: .acquiring) { readable.store(pages, ordering: .releasing) }
        }
    }

    /// The bytes of a committed block, header included, good while the version they belong to is pinned.
    /// Throws `.corrupted` where they do not fit the ref's tag. 1 ns after the first touch.
    @inline(__always)
    package func bytes(_ ref: BlockRef) throws(EngineError) -> UnsafeRawPointer {
        let page = ref.page
        if page < readable.load(ordering: .acquiring), isVerified(ref) { return base + Int(page) << 12 }
        return try verify(ref)
    }

    /// All that a block is checked against; the page is the word's place.
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

    /// Says that a block just written by this process needs no check; `bytes` are the plain ones.
    package func keep(_ ref: BlockRef, _ bytes: UnsafeRawPointer) {
        guard ref.page < readable.load(ordering: .acquiring) else { return }
        guard let decrypted else { return setVerified(ref) }
        touching.withLock { _ in
            Memory.copy(decrypted.base + Int(ref.page) << 12, bytes, ref.byteCount)
            setVerified(ref)
        }
    }

    /// Blocks there are to be verified again at the next touch.
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
        guard let cipher = seal.cipher, let decrypted else {
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

    /// Inside `touching`.
    private func decrypt(
        _ ref: BlockRef, _ cipher: BlockCipher, to target: UnsafeMutableRawPointer
    ) throws(EngineError) {
        // Others may be reading what was decrypted there before: it stays until this block has passed every check.
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
