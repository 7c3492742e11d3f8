// SPDX-License-Identifier: Apache-2.0
// The description of one backup: the version, the parts of its file that are not blocks of the database
// (`VersionImage`), and the segments of its page map. It is the payload of a log entry.
//
//   u32 format, 2 · 2 u64 identifier of the file · u64 version · i64 time at which the version was the newest, in
//   microseconds since 1970 · i64 bytes that the backup has stored · u8 1 if encrypted · 2 u64 tag of the catalog ·
//   u64 pages · u32 parts · per part: u64 offset · u32 byte count and bytes · u32 map objects · per object: name (u64
//   token, digest, u32 byte count) · u32 segments · per segment: u32 number of its object (all ones: the segment is
//   empty) · u32 offset · u32 byte count · digest

struct Manifest: Sendable, Equatable {
    struct Segment: Sendable, Hashable {
        var object: PackName
        var offset: UInt32
        var byteCount: UInt32
        var digest: Digest
    }

    struct Part: Sendable, Equatable {
        var offset: UInt64
        var bytes: [UInt8]
    }

    var file: SIMD2<UInt64>
    var version: UInt64
    /// The version was the newest at that time, in microseconds since 1970.
    var time: Int64
    /// Of packs, page maps and the manifest, with their copies.
    var storedByteCount: Int64
    var isEncrypted: Bool
    var catalogTag: SIMD2<UInt64>
    /// The length of the file in pages.
    var pageCount: UInt64
    /// Blocks made for the backup, then the slot, the header's copy and the header, in the order of writing. The rest of
    /// their pages is zero.
    var parts: [Part]
    /// By number; nil if no block begins in a segment.
    var segments: [Segment?]

    private static let format: UInt32 = 2
    private static let none = UInt32.max

    var payload: [UInt8] {
        var writer = ObjectWriter()
        writer.integer(Self.format)
        for value in [file.x, file.y, version] { writer.integer(value) }
        writer.integer(time)
        writer.integer(storedByteCount)
        writer.integer(UInt8(isEncrypted ? 1 : 0))
        for value in [catalogTag.x, catalogTag.y, pageCount] { writer.integer(value) }
        writer.integer(UInt32(parts.count))
        for part in parts {
            writer.integer(part.offset)
            writer.blob(part.bytes)
        }
        var objects: [PackName] = []
        var numbers: [PackName: UInt32] = [:]
        for segment in segments.compactMap({ $0 }) where numbers[segment.object] == nil {
            numbers[segment.object] = UInt32(objects.count)
            objects.append(segment.object)
        }
        writer.integer(UInt32(objects.count))
        for object in objects { writer.pack(object) }
        writer.integer(UInt32(segments.count))
        for segment in segments {
            writer.integer(segment.flatMap { numbers[$0.object] } ?? Self.none)
            writer.integer(segment?.offset ?? 0)
            writer.integer(segment?.byteCount ?? 0)
            writer.digest(segment?.digest ?? Digest(low: 0, high: 0))
        }
        return writer.bytes
    }

    init(
        file: SIMD2<UInt64>, version: UInt64, time: Int64, storedByteCount: Int64, isEncrypted: Bool,
        catalogTag: SIMD2<UInt64>, pageCount: UInt64, parts: [Part], segments: [Segment?]
    ) {
        self.file = file
        self.version = version
        self.time = time
        self.storedByteCount = storedByteCount
        self.isEncrypted = isEncrypted
        self.catalogTag = catalogTag
        self.pageCount = pageCount
        self.parts = parts
        self.segments = segments
    }

    init(_ payload: [UInt8]) throws {
        var reader = ObjectReader(payload)
        let format = try reader.integer(UInt32.self)
        guard format <= Self.format else {
            throw BackupError(.newerFormat, "A newer version of the library has written to the repository.")
        }
        guard format == Self.format else { throw BackupError.damaged("a manifest has an unknown format") }
        file = SIMD2(try reader.integer(UInt64.self), try reader.integer(UInt64.self))
        version = try reader.integer(UInt64.self)
        time = try reader.integer(Int64.self)
        storedByteCount = try reader.integer(Int64.self)
        isEncrypted = try reader.integer(UInt8.self) == 1
        catalogTag = SIMD2(try reader.integer(UInt64.self), try reader.integer(UInt64.self))
        pageCount = try reader.integer(UInt64.self)
        parts = []
        for _ in 0..<(try reader.count(of: 12)) {
            parts.append(Part(offset: try reader.integer(UInt64.self), bytes: try reader.blob()))
        }
        var objects: [PackName] = []
        for _ in 0..<(try reader.count(of: 28)) { objects.append(try reader.pack()) }
        segments = []
        for _ in 0..<(try reader.count(of: 28)) {
            let object = try reader.integer(UInt32.self)
            let offset = try reader.integer(UInt32.self)
            let byteCount = try reader.integer(UInt32.self)
            let digest = try reader.digest()
            guard object == Self.none || object < objects.count else {
                throw BackupError.damaged("a manifest names an object that it does not list")
            }
            segments.append(
                object == Self.none
                    ? nil
                    : Segment(object: objects[Int(object)], offset: offset, byteCount: byteCount, digest: digest))
        }
        guard pageCount < 1 << 47,
            parts.allSatisfy({ $0.offset < 1 << 60 && $0.offset + UInt64($0.bytes.count) <= pageCount << 12 })
        else {
            throw BackupError.damaged("a manifest has impossible numbers")
        }
    }
}

extension Manifest.Part {
    /// The parts of some bytes without long runs of zeros, of which most pages consist: a new file has zeros there.
    static func parts(_ bytes: [UInt8], at offset: UInt64) -> [Manifest.Part] {
        var pieces: [Range<Int>] = []
        for index in bytes.indices where bytes[index] != 0 {
            if let last = pieces.last, index - last.upperBound < 64 {
                pieces[pieces.count - 1] = last.lowerBound..<index + 1
            } else {
                pieces.append(index..<index + 1)
            }
        }
        return pieces.map { Manifest.Part(offset: offset + UInt64($0.lowerBound), bytes: Array(bytes[$0])) }
    }
}
