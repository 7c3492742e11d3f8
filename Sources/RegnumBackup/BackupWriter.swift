// SPDX-License-Identifier: Apache-2.0
// Makes one backup: finds the blocks that the previous one lacks, puts them in packs, puts the changed segments of the
// page map, and reads back everything that it has put.
//
// Blocks of the version that the previous backup has are found without reading them: its map contains them, and the
// record of free space says that their pages are in use. A backup also stores blocks again whose packs consist mostly
// of blocks that are no longer needed, so that those packs can be deleted. So the packs of a backup are never more than
// about twice as long as its blocks, without a process that rewrites the repository.

internal import RegnumEngine

struct BackupWriter {
    /// Bytes of old blocks that each backup may store again; more if it stores more new ones.
    private static let renewalByteCount = 1 << 20

    private let repository: BackupRepository
    private let image: VersionImage
    private let lease: Lease
    private let progress: (Int, Int) throws -> Void
    private let time: Int64
    private var pace: BackupPace
    /// The pack that is being filled.
    private var pack: [UInt8] = []
    private var waiting: [(ref: BlockRef, digest: Digest, offset: UInt32)] = []
    /// Blocks that this backup has put.
    private var stored: [BlockRecord] = []
    private var storedByteCount = 0
    /// Bytes of blocks to store, as far as they are known.
    private var wantedByteCount = 0
    /// The objects that this backup has put.
    private var objects: [(name: String, digest: Digest)] = []
    /// Their bytes.
    private var addedByteCount = 0

    init(
        _ repository: BackupRepository, _ image: VersionImage, _ lease: Lease, time: Int64, rate: Int?,
        progress: @escaping (Int, Int) throws -> Void
    ) {
        self.repository = repository
        self.image = image
        self.lease = lease
        self.time = time
        self.progress = progress
        pace = BackupPace(rate)
    }

    /// Puts everything that the backup needs, except its entry in the log. Returns its manifest.
    mutating func run(base: Manifest?, _ map: PageMap) throws -> Manifest {
        var kept = try addNewBlocks(map)
        try renew(&kept)
        try flush()
        let used = (kept + stored).map(\.extent).sorted { $0.page < $1.page }
        let ending = try image.makeEnding(used: used)
        let segments = try putMap(PageMap(kept + stored), base, map)
        try prove()
        var manifest = Manifest(
            file: image.fileIdentifier, version: image.version, time: time, storedByteCount: 0,
            isEncrypted: image.isEncrypted, catalogTag: SIMD2(image.catalog.tagLow, image.catalog.tagHigh),
            pageCount: ending.highWater,
            parts: ending.blocks.flatMap { Manifest.Part.parts($0.bytes, at: $0.ref.page << 12) }
                + ending.head.flatMap { Manifest.Part.parts($0.bytes, at: UInt64($0.offset)) },
            segments: segments)
        manifest.storedByteCount = Int64(addedByteCount + 2 * manifest.payload.count)
        return manifest
    }

    /// Called after each block, also of those that are only read: reports progress, keeps the lease, and waits until
    /// the bytes that were read are due.
    private mutating func step(reading byteCount: Int = 0) throws {
        let (progress, lease) = (progress, lease)
        let done = storedByteCount + pack.count
        let wanted = wantedByteCount
        func check() throws {
            try progress(done, wanted)
            try lease.keep()
        }
        try check()
        try pace.wait(after: byteCount, check: check)
    }

    // MARK: Blocks

    /// Puts the blocks that `map` lacks. Returns those of the map that the version needs.
    private mutating func addNewBlocks(_ map: PageMap) throws -> [BlockRecord] {
        let unused = try image.unusedPages()
        let image = image
        // Collected, 40 bytes each, because whether they are all is known only at the end.
        var found: [BlockRef] = []
        try image.visit(isKnown: { map.record(of: $0) != nil }) { ref in
            found.append(ref)
            try step(reading: image.isReadByVisit(ref) ? ref.byteCount : 0)
        }
        var kept = Self.stillUsed(map, unused, found)
        let pageCount = kept.reduce(0) { $0 + Int($1.pageCount) } + found.reduce(0) { $0 + $1.pageCount }
        if pageCount != unused.usedPageCount {
            // The record of free space does not agree with the trees: all of them are read.
            kept = []
            found = []
            try image.visit(isKnown: { _ in false }) { ref in
                if let record = map.record(of: ref) { kept.append(record) } else { found.append(ref) }
                try step(reading: image.isReadByVisit(ref) ? ref.byteCount : 0)
            }
        }
        wantedByteCount = found.reduce(0) { $0 + $1.byteCount }
        for ref in found { try add(ref, try image.bytes(ref)) }
        return kept
    }

    /// Returns the blocks of `map` whose pages are in use and not those of a block of `found`.
    private static func stillUsed(
        _ map: PageMap, _ unused: VersionImage.UnusedPages, _ found: [BlockRef]
    ) -> [BlockRecord] {
        let new = found.map { Extent(page: $0.page, pageCount: $0.pageCount) }.sorted { $0.page < $1.page }
        var next = 0
        var kept: [BlockRecord] = []
        for segment in map.segments {
            for record in segment where unused.isUsed(record.extent) {
                while next < new.count, new[next].end <= record.page { next += 1 }
                if next == new.count || new[next].page >= record.end { kept.append(record) }
            }
        }
        return kept
    }

    /// Puts blocks again whose packs are mostly unused, and removes them from `kept`.
    private mutating func renew(_ kept: inout [BlockRecord]) throws {
        var live: [PackName: Int] = [:]
        for record in kept { live[record.pack, default: 0] += record.byteCount }
        var left = max(Self.renewalByteCount, storedByteCount)
        var renewed: Set<PackName> = []
        for (pack, byteCount) in live.sorted(by: { $0.key.token < $1.key.token })
        where byteCount * 2 < Int(pack.byteCount) {
            if byteCount > left { continue }
            left -= byteCount
            renewed.insert(pack)
        }
        if renewed.isEmpty { return }
        let old = kept.filter { renewed.contains($0.pack) }
        kept.removeAll { renewed.contains($0.pack) }
        wantedByteCount += old.reduce(0) { $0 + $1.byteCount }
        for record in old { try add(record.ref, try image.bytes(record.ref)) }
    }

    private mutating func add(_ ref: BlockRef, _ bytes: UnsafeRawBufferPointer) throws {
        if !pack.isEmpty, pack.count + bytes.count > repository.options.packByteCount { try flush() }
        let start = pack.count
        pack.append(contentsOf: bytes)
        // The copy is hashed, and compared with the tag again: the file is mapped, and its disk may fail in between.
        let digest = try pack.withUnsafeBytes { (all: UnsafeRawBufferPointer) throws -> Digest in
            let copy = UnsafeRawBufferPointer(rebasing: all[start...])
            try image.check(copy, ref)
            return repository.hasher.digest(copy)
        }
        waiting.append((ref, digest, UInt32(start)))
        try step(reading: bytes.count)
    }

    /// Puts the pack.
    private mutating func flush() throws {
        if waiting.isEmpty { return }
        let name = PackName(
            token: lease.token, digest: repository.hasher.digest(pack), byteCount: UInt32(pack.count))
        try put(name.packName, pack, name.digest)
        for block in waiting {
            stored.append(BlockRecord(block.ref, digest: block.digest, pack: name, offset: block.offset))
        }
        storedByteCount += pack.count
        pack.removeAll(keepingCapacity: true)
        waiting = []
    }

    /// Puts an object that may be there already, from an earlier attempt of this lease, and may be damaged there.
    private mutating func put(_ name: String, _ bytes: [UInt8], _ digest: Digest) throws {
        let store = repository.store
        let before = store.putByteCount
        if try !store.putIfAbsent(name, bytes), try store.get(name) != bytes {
            try store.delete(name)
            _ = try store.putIfAbsent(name, bytes)
        }
        objects.append((name, digest))
        addedByteCount += store.putByteCount - before
        try lease.keep()
    }

    /// Reads back what was put. A backup counts only if the store has it.
    private mutating func prove() throws {
        for (name, digest) in objects {
            guard let bytes = try repository.store.get(name), repository.hasher.digest(bytes) == digest else {
                // A process that has taken over may have deleted it: that is the error then.
                try lease.append(.beat)
                throw BackupError(.storage, "The store does not return the object '\(name)' as it was put.")
            }
            try step(reading: bytes.count)
        }
    }

    // MARK: The map

    /// Puts the segments that differ from those of `base`, whose map is `old`. Returns all segments.
    private mutating func putMap(_ map: PageMap, _ base: Manifest?, _ old: PageMap) throws -> [Manifest.Segment?] {
        var segments: [Manifest.Segment?] = []
        var object: [UInt8] = []
        var waiting: [(number: Int, offset: UInt32, byteCount: UInt32, digest: Digest)] = []
        func flush() throws {
            if waiting.isEmpty { return }
            let name = PackName(
                token: lease.token, digest: repository.hasher.digest(object), byteCount: UInt32(object.count))
            try put(name.mapName, object, name.digest)
            try put(ObjectName.copies + name.mapName, object, name.digest)
            for part in waiting {
                let segment = Manifest.Segment(
                    object: name, offset: part.offset, byteCount: part.byteCount, digest: part.digest)
                segments[part.number] = segment
                repository.objects.keep(map.segments[part.number], segment)
            }
            object = []
            waiting = []
        }
        for (number, records) in map.segments.enumerated() {
            segments.append(nil)
            if records.isEmpty { continue }
            if let base, number < old.segments.count, old.segments[number] == records {
                segments[number] = base.segments[number]
                continue
            }
            let bytes = PageMap.bytes(ofSegment: records)
            if !object.isEmpty, object.count + bytes.count > repository.options.packByteCount { try flush() }
            waiting.append(
                (number, UInt32(object.count), UInt32(bytes.count), repository.hasher.digest(bytes)))
            object += bytes
        }
        try flush()
        return segments
    }
}
