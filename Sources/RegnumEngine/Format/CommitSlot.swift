// SPDX-License-Identifier: Apache-2.0
// One of the two root records of a file. Everything that changes with a commit is in the slot, so the two share
// nothing; a commit never writes the slot of the last durable commit.
//
//   offset size  meaning
//        0    4  magic "RSLT"
//        4    2  format, 1
//        6    2  flags: 1 two-step commit (no manifest: data was durable before the slot was written)
//        8    8  number of the commit
//       16    8  nonce of the commit, random
//       24    8  number of the durable commit before it
//       32    8  high-water mark: first page never allocated
//       40   40  ref of the catalog
//       80   40  ref of the newest free log
//      120   40  ref of the head of the history; none if the file keeps no older versions
//      160    4  runs in the manifest, 0 ... 160
//      164    4  zero
//      168  24r  manifest: start page and page count packed as page << 16 | (pages - 1), then XXH3-128 of the run
//     4080   16  XXH3-128 of bytes 0 ..< 4,080 under the file's seed
//
// In an encrypted file: nonce, ciphertext of bytes 0 ..< 4,064, GCM tag (`Encryption/BlockCipher.swift`). The hashes of
// the runs are those of the encrypted bytes in the file.
//
// The manifest names all pages written since the durable commit before it: several commits may have become durable
// together, or may not be durable yet. A commit is complete if its slot's hash is correct and each run of its manifest
// matches its hash in the slot: so one sync for data and slot together is enough.
//
// The clean-shutdown record, at byte 57,344, is a copy of the slot of a commit that is on stable storage, as a two-step
// commit without a manifest. A process that has written to the file writes it when it closes the file, and does not
// sync it: it is either complete, or its hash is wrong. From then on any mismatch with the manifest of that commit is
// damage, not an interrupted commit; and if its slot is damaged, the record replaces it. The next commit clears the
// record, with the sync of that commit; until then the record may exist beside a newer slot, and is ignored. A second
// copy is at byte 8,192, because a run of pages may be damaged together; of the two, the one with the higher number
// counts.

import RegnumSystem

package struct CommitSlot: Sendable, Equatable {
    package static let byteCount = 4096
    package static let magic: UInt32 = 0x544C_5352
    package static let manifestLimit = 160
    /// All commit numbers are below it: the lock file has 48 bits for one.
    package static let versionLimit: UInt64 = 1 << 47

    package struct Run: Sendable, Equatable {
        package var extent: Extent
        package var low: UInt64
        package var high: UInt64
        package init(extent: Extent, low: UInt64, high: UInt64) {
            self.extent = extent
            self.low = low
            self.high = high
        }
    }

    package var isTwoStep = false
    package var version: UInt64
    package var nonce: UInt64
    package var previousDurable: UInt64
    package var highWater: UInt64
    package var catalog: BlockRef
    package var freeLog: BlockRef
    package var history = BlockRef.none
    package var manifest: [Run] = []

    package init(
        version: UInt64, nonce: UInt64, previousDurable: UInt64, highWater: UInt64, catalog: BlockRef,
        freeLog: BlockRef,
        history: BlockRef = .none
    ) {
        self.version = version
        self.nonce = nonce
        self.previousDurable = previousDurable
        self.highWater = highWater
        self.catalog = catalog
        self.freeLog = freeLog
        self.history = history
    }

    package func write(to p: UnsafeMutableRawPointer, protection: FileProtection) {
        precondition(manifest.count <= Self.manifestLimit)
        Memory.zero(p, Self.byteCount)
        p.storeBytes(of: Self.magic, as: UInt32.self)
        p.storeBytes(of: 1, toByteOffset: 4, as: UInt16.self)
        p.storeBytes(of: isTwoStep ? 1 : 0, toByteOffset: 6, as: UInt16.self)
        p.storeBytes(of: version, toByteOffset: 8, as: UInt64.self)
        p.storeBytes(of: nonce, toByteOffset: 16, as: UInt64.self)
        p.storeBytes(of: previousDurable, toByteOffset: 24, as: UInt64.self)
        p.storeBytes(of: highWater, toByteOffset: 32, as: UInt64.self)
        catalog.write(to: p + 40)
        freeLog.write(to: p + 80)
        history.write(to: p + 120)
        p.storeBytes(of: UInt32(manifest.count), toByteOffset: 160, as: UInt32.self)
        for (i, run) in manifest.enumerated() {
            let at = 168 + i * 24
            p.storeBytes(
                of: run.extent.page << 16 | UInt64(run.extent.pageCount - 1), toByteOffset: at, as: UInt64.self)
            p.storeBytes(of: run.low, toByteOffset: at + 8, as: UInt64.self)
            p.storeBytes(of: run.high, toByteOffset: at + 16, as: UInt64.self)
        }
        if let cipher = protection.cipher {
            cipher.sealSlot(p)
            return
        }
        let tag = protection.hash.tag(p, 4080)
        p.storeBytes(of: tag.low, toByteOffset: 4080, as: UInt64.self)
        p.storeBytes(of: tag.high, toByteOffset: 4088, as: UInt64.self)
    }

    /// Reads the slot in `p`; nil if it is empty or damaged.
    package init?(reading p: UnsafeRawPointer, protection: FileProtection) {
        guard let cipher = protection.cipher else {
            let tag = protection.hash.tag(p, 4080)
            guard tag.low == p.load(fromByteOffset: 4080, as: UInt64.self),
                tag.high == p.load(fromByteOffset: 4088, as: UInt64.self)
            else { return nil }
            self.init(verified: p)
            return
        }
        let plain = UnsafeMutableRawPointer.allocate(byteCount: Self.byteCount, alignment: 16)
        defer { plain.deallocate() }
        guard cipher.openSlot(p, to: plain) else { return nil }
        self.init(verified: plain)
    }

    private init?(verified p: UnsafeRawPointer) {
        guard p.load(as: UInt32.self) == Self.magic, p.load(fromByteOffset: 4, as: UInt16.self) == 1 else { return nil }
        isTwoStep = p.load(fromByteOffset: 6, as: UInt16.self) & 1 != 0
        version = p.load(fromByteOffset: 8, as: UInt64.self)
        nonce = p.load(fromByteOffset: 16, as: UInt64.self)
        previousDurable = p.load(fromByteOffset: 24, as: UInt64.self)
        highWater = p.load(fromByteOffset: 32, as: UInt64.self)
        catalog = BlockRef(reading: p + 40)
        freeLog = BlockRef(reading: p + 80)
        history = BlockRef(reading: p + 120)
        let count = Int(p.load(fromByteOffset: 160, as: UInt32.self))
        guard count <= Self.manifestLimit, version > 0, version < Self.versionLimit, previousDurable < version,
            highWater >= FormatLimits.reservedPages, highWater < 1 << 47
        else { return nil }
        for i in 0..<count {
            let location = p.load(fromByteOffset: 168 + i * 24, as: UInt64.self)
            manifest.append(
                Run(
                    extent: Extent(page: location >> 16, pageCount: Int(location & 0xffff) + 1),
                    low: p.load(fromByteOffset: 176 + i * 24, as: UInt64.self),
                    high: p.load(fromByteOffset: 184 + i * 24, as: UInt64.self)))
        }
    }

    func isSameCommit(as other: CommitSlot) -> Bool { version == other.version && nonce == other.nonce }

    /// The byte offsets of the two slots.
    package static let byteOffsets = [FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset]

    /// Returns the byte offset of the slot that is not at `offset`.
    package static func otherByteOffset(_ offset: Int) -> Int {
        offset == FormatLimits.slotAByteOffset ? FormatLimits.slotBByteOffset : FormatLimits.slotAByteOffset
    }

    /// Reads the slots of the file whose hash is correct, with their byte offsets.
    static func readAll(_ file: any File, protection: FileProtection) throws(SystemError) -> [Placed] {
        let page = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
        defer { page.deallocate() }
        var slots: [Placed] = []
        for offset in byteOffsets {
            if let placed = try read(file, at: offset, page, protection) { slots.append(placed) }
        }
        return slots
    }

    /// The byte offsets of the two copies of the clean-shutdown record, outside the slots of commits.
    package static let settledByteOffsets = [
        FormatLimits.settledSlotByteOffset, FormatLimits.settledSlotCopyByteOffset,
    ]

    /// Reads the clean-shutdown record; nil if neither copy is valid.
    static func readSettled(_ file: any File, protection: FileProtection) throws(SystemError) -> Placed? {
        let page = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
        defer { page.deallocate() }
        var newest: Placed?
        for offset in settledByteOffsets {
            guard let found = try read(file, at: offset, page, protection), found.slot.isTwoStep,
                found.slot.manifest.isEmpty
            else { continue }
            if found.slot.version > newest?.slot.version ?? 0 { newest = found }
        }
        return newest
    }

    private static func read(
        _ file: any File, at offset: Int, _ page: UnsafeMutableRawBufferPointer, _ protection: FileProtection
    ) throws(SystemError) -> Placed? {
        guard try file.read(page, at: offset) == byteCount, let base = page.baseAddress,
            let slot = CommitSlot(reading: base, protection: protection)
        else { return nil }
        return Placed(slot: slot, byteOffset: offset, bytes: [UInt8](page))
    }

    struct Placed: Sendable {
        var slot: CommitSlot
        var byteOffset: Int
        /// The bytes of the slot in the file, encrypted if the file is.
        var bytes: [UInt8]
        /// The `BlockReader.slotMark` of the bytes.
        var mark: SIMD2<UInt64> {
            bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: SIMD2<UInt64>.self) }
        }
    }
}
