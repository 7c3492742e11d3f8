// SPDX-License-Identifier: Apache-2.0
// From a ref to bytes that can be believed. A block is hashed against the tag in its ref at the first touch in
// this process and remembered by the low 32 bits of its birth, one word a page: nothing needs invalidation,
// because a page that is used again has another birth.
//
// Shared by all sessions of a database. State: `verified`, one word a page, written without a lock: the word is
// only ever set to a value that is true, and setting it twice is harmless.

package import RegnumSystem
import Synchronization

package final class BlockReader: @unchecked Sendable {
    // Sendable: `verified` is a table of aligned words with idempotent stores; `readablePages` is atomic.
    package let region: any MappedRegion
    package let hash: ContentHash
    package let base: UnsafeRawPointer
    /// 32 bits of birth a page; 0 = not verified. Reserved for the region's capacity, touched where used.
    private let verified: UnsafeMutablePointer<UInt32>
    private let verifiedMemory: ReservedMemory
    private let extending = Mutex(())
    /// Pages that may be read: grows with the file, below `extending`.
    private let readable = Atomic<UInt64>(0)

    package init(region: any MappedRegion, hash: ContentHash) throws(SystemError) {
        self.region = region
        self.hash = hash
        base = region.base
        verifiedMemory = try ReservedMemory(byteCount: max(region.capacity >> 10, 4096))
        verified = verifiedMemory.base.assumingMemoryBound(to: UInt32.self)
        readable.store(UInt64(region.byteCount >> 12), ordering: .releasing)
    }

    /// Pages that are mapped.
    package var readablePages: UInt64 { readable.load(ordering: .acquiring) }

    /// Maps the file up to `pages`. Any thread.
    package func extend(toPages pages: UInt64) throws(EngineError) {
        try extending.withLock { _ throws(EngineError) in
            guard pages > readable.load(ordering: .acquiring) else { return }
            do throws(SystemError) {
                try region.extend(to: Int(pages) << 12)
            } catch { throw EngineError.system(error) }
            readable.store(pages, ordering: .releasing)
        }
    }

    /// The bytes of a committed block, header included, good while the version they belong to is pinned.
    /// Throws `.corrupted` where they do not hash to the ref's tag. 1 ns after the first touch.
    @inline(__always)
    package func bytes(_ ref: BlockRef) throws(EngineError) -> UnsafeRawPointer {
        let page = ref.page
        if page < readable.load(ordering: .acquiring),
            verified[Int(page)] == UInt32(truncatingIfNeeded: ref.birth) | 1 << 31
        {
            return base + Int(page) << 12
        }
        return try verify(ref)
    }

    /// Says that a block just written by this process needs no check.
    package func markVerified(_ ref: BlockRef) {
        if ref.page < readable.load(ordering: .acquiring) {
            verified[Int(ref.page)] = UInt32(truncatingIfNeeded: ref.birth) | 1 << 31
        }
    }

    @inline(never)
    private func verify(_ ref: BlockRef) throws(EngineError) -> UnsafeRawPointer {
        let (end, overflow) = ref.page.addingReportingOverflow(UInt64(ref.pageCount))
        guard !ref.isPending, !overflow, ref.page >= FormatLimits.reservedPages,
            end <= readable.load(ordering: .acquiring)
        else {
            throw corrupted("a reference points outside the file", page: ref.isPending ? nil : ref.page)
        }
        let bytes = base + Int(ref.page) << 12
        let tag = hash.tag(bytes, ref.byteCount)
        guard tag.low == ref.tagLow, tag.high == ref.tagHigh else {
            throw corrupted("a block does not match its checksum", page: ref.page)
        }
        guard BlockHeader.matches(bytes, ref) else {
            throw corrupted("a block is not what its parent expects", page: ref.page)
        }
        try BlockLayout.check(ref, bytes)
        verified[Int(ref.page)] = UInt32(truncatingIfNeeded: ref.birth) | 1 << 31
        return bytes
    }
}
