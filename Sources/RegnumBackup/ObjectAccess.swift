// SPDX-License-Identifier: Apache-2.0
// Reads the objects of a repository and compares them with their hashes, falling back to their copies. Keeps the
// segments of page maps that were read last, which consecutive backups share. Confined to one thread.

internal import RegnumEngine

final class ObjectAccess {
    private static let keptSegments = 4096

    let store: any BackupStore
    let hasher: Hasher128
    private var segments: [Manifest.Segment: [BlockRecord]] = [:]
    /// Map objects that were read to get the segments of one map.
    private var maps: [PackName: [UInt8]] = [:]

    init(_ store: any BackupStore, _ hasher: Hasher128) {
        self.store = store
        self.hasher = hasher
    }

    // MARK: Maps

    /// Returns the page map of a backup. Throws `.damaged`.
    func map(_ manifest: Manifest) throws -> PageMap {
        defer { maps = [:] }
        var found: [[BlockRecord]] = []
        for (number, segment) in manifest.segments.enumerated() {
            found.append(try segment.map { try records($0, number) } ?? [])
        }
        return PageMap(segments: found)
    }

    /// Calls `body` with each segment of a page map that is not in `seen`, and its blocks. Adds them to `seen`. Throws
    /// `.damaged`.
    func visitSegments(
        _ manifest: Manifest, except seen: inout Set<Manifest.Segment>,
        _ body: (Manifest.Segment, [BlockRecord]) throws -> Void
    ) throws {
        defer { maps = [:] }
        for (number, segment) in manifest.segments.enumerated() {
            guard let segment, !seen.contains(segment) else { continue }
            try body(segment, try records(segment, number))
            seen.insert(segment)
        }
    }

    private func records(_ segment: Manifest.Segment, _ number: Int) throws -> [BlockRecord] {
        if let known = segments[segment] { return known }
        for name in [segment.object.mapName, ObjectName.copies + segment.object.mapName] {
            guard let bytes = try part(segment, name), hasher.digest(bytes) == segment.digest else { continue }
            let records = try PageMap.segment(bytes, number: number)
            keep(records, segment)
            return records
        }
        throw BackupError.damaged("the page map '\(segment.object.mapName)' and its copy cannot be read")
    }

    func keep(_ records: [BlockRecord], _ segment: Manifest.Segment) {
        if segments.count >= Self.keptSegments { segments.removeAll(keepingCapacity: true) }
        segments[segment] = records
    }

    private func part(_ segment: Manifest.Segment, _ name: String) throws -> [UInt8]? {
        let isCopy = name.hasPrefix(ObjectName.copies)
        let kept = isCopy ? nil : maps[segment.object]
        guard let bytes = try kept ?? store.get(name) else { return nil }
        if !isCopy { maps[segment.object] = bytes }
        let end = Int(segment.offset) + Int(segment.byteCount)
        return end <= bytes.count ? Array(bytes[Int(segment.offset)..<end]) : nil
    }

    // MARK: Packs

    /// Calls `body` with the bytes of each block, all of which are in one pack, after comparing them with their
    /// digests. Calls `lost` with a block whose bytes neither the pack nor its copy has.
    func read(
        _ records: [BlockRecord], in pack: PackName, lost: (BlockRecord) throws -> Void,
        _ body: (BlockRecord, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let wanted = records.reduce(0) { $0 + $1.byteCount }
        var copy: [UInt8]??
        // The whole pack, unless most of it is not needed.
        let whole = wanted * 2 >= Int(pack.byteCount) ? try store.get(pack.packName) : nil
        for record in records {
            let range = Int(record.offset)..<Int(record.offset) + record.byteCount
            var bytes: [UInt8]?
            if let whole {
                bytes = range.upperBound <= whole.count ? Array(whole[range]) : nil
            } else {
                bytes = try store.get(pack.packName, range: range)
            }
            if let bytes, try deliver(record, bytes, body) { continue }
            let second: [UInt8]? = try copy ?? store.get(ObjectName.copies + pack.packName)
            copy = .some(second)
            if let second, range.upperBound <= second.count, try deliver(record, Array(second[range]), body) {
                continue
            }
            try lost(record)
        }
    }

    /// Returns false if the bytes are not those of the block.
    private func deliver(
        _ record: BlockRecord, _ bytes: [UInt8], _ body: (BlockRecord, UnsafeRawBufferPointer) throws -> Void
    ) throws -> Bool {
        guard bytes.count == record.byteCount, hasher.digest(bytes) == record.digest else { return false }
        try bytes.withUnsafeBytes { try body(record, $0) }
        return true
    }
}
