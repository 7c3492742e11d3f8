// SPDX-License-Identifier: Apache-2.0
// The form of objects that are compressed or encrypted: frames of 64 KiB, so that a part of an object can be read
// without the rest.
//
//   object    u32 "RGBF" · u32 frames · u64 bytes of the content · with a key 32 bytes salt · per frame: u32 its bytes,
//             and the highest bit if they are compressed · the frames
//   frame     64 KiB of the content, less at its end: as they are, or as a zlib stream (RFC 1950); with a key
//             encrypted (RepositoryKey). Associated data: u32 number of the frame · its u32 in the table · u32 frames ·
//             u64 bytes of the content · the name of the object
//
// Bytes from outside that are not of this form give a content that matches no hash: zeros for a frame, and nothing if
// the table is damaged. The repository compares every content with a hash.

#if Compression
    internal import CZlib
#endif

/// What the start of an object says of its frames.
struct FrameTable: Equatable {
    struct Frame: Equatable {
        /// Its place in the object.
        var range: Range<Int>
        var isCompressed: Bool
        /// As in the table.
        var word: UInt32
    }

    static let frameByteCount = 64 << 10
    private static let magic: UInt32 = 0x4642_4752
    private static let compressed: UInt32 = 1 << 31
    /// An object is shorter than 4 GiB: see `PackName`.
    private static let longest: UInt64 = 1 << 32
    /// No zlib stream is shorter than its content by a greater factor (zlib.net/zlib_tech.html).
    private static let greatestFactor = 1032

    let byteCount: Int
    /// Empty without a key.
    let salt: [UInt8]
    let frames: [Frame]

    /// The bytes of the table of an object that begins with `start`, of which 16 are enough. Throws `.damaged`.
    static func tableByteCount(_ start: [UInt8], isEncrypted: Bool) throws -> Int {
        var reader = ObjectReader(start)
        return tableByteCount(try counts(&reader).frames, isEncrypted: isEncrypted)
    }

    static func tableByteCount(_ frames: Int, isEncrypted: Bool) -> Int {
        16 + (isEncrypted ? RepositoryKey.saltByteCount : 0) + 4 * frames
    }

    private static func counts(_ reader: inout ObjectReader) throws -> (frames: Int, bytes: Int) {
        let start = try reader.integer(UInt32.self)
        let frames = try reader.integer(UInt32.self)
        let bytes = try reader.integer(UInt64.self)
        guard start == magic, bytes < longest, Int(frames) == frameCount(Int(bytes)) else {
            throw BackupError.damaged("an object has an impossible table of frames")
        }
        return (Int(frames), Int(bytes))
    }

    static func frameCount(_ byteCount: Int) -> Int { (byteCount + frameByteCount - 1) / frameByteCount }

    /// Reads the table of an object that begins with `start`. Throws `.damaged`.
    init(_ start: [UInt8], isEncrypted: Bool) throws {
        var reader = ObjectReader(start)
        let counts = try Self.counts(&reader)
        byteCount = counts.bytes
        salt = isEncrypted ? try reader.raw(RepositoryKey.saltByteCount) : []
        var end = Self.tableByteCount(counts.frames, isEncrypted: isEncrypted)
        var frames: [Frame] = []
        for number in 0..<counts.frames {
            let word = try reader.integer(UInt32.self)
            let isCompressed = word & Self.compressed != 0
            let count = Int(word & ~Self.compressed)
            let own = count - (isEncrypted ? RepositoryKey.ObjectKey.tagByteCount : 0)
            let content = Self.content(number, of: byteCount).count
            // So a short object never has a long content.
            guard isCompressed ? own < content && own * Self.greatestFactor >= content : own == content else {
                throw BackupError.damaged("an object has a frame of an impossible length")
            }
            frames.append(Frame(range: end..<end + count, isCompressed: isCompressed, word: word))
            end += count
        }
        self.frames = frames
    }

    /// The bytes of the content that a frame has.
    func content(_ frame: Int) -> Range<Int> { Self.content(frame, of: byteCount) }

    private static func content(_ frame: Int, of byteCount: Int) -> Range<Int> {
        frame * frameByteCount..<min((frame + 1) * frameByteCount, byteCount)
    }

    /// The frames that have these bytes of the content.
    func frames(of range: Range<Int>) -> Range<Int> {
        range.isEmpty ? 0..<0 : range.lowerBound / Self.frameByteCount..<Self.frameCount(range.upperBound)
    }

    /// A table of frames with that content and these words.
    static func bytes(_ words: [UInt32], byteCount: Int, salt: [UInt8]) -> [UInt8] {
        var writer = ObjectWriter()
        writer.integer(magic)
        writer.integer(UInt32(words.count))
        writer.integer(UInt64(byteCount))
        writer.raw(salt)
        for word in words { writer.integer(word) }
        return writer.bytes
    }

    static func word(_ byteCount: Int, isCompressed: Bool) -> UInt32 {
        UInt32(byteCount) | (isCompressed ? compressed : 0)
    }
}

/// Converts objects to frames and back. Any thread.
struct FrameCoder: Sendable {
    let isCompressed: Bool
    let key: RepositoryKey?
    /// After a frame that does not become an eighth shorter, so many others are not tried.
    private static let pause = 7

    /// The table of an object that begins with `start`; nil if it is damaged.
    func table(_ start: [UInt8]) -> FrameTable? { try? FrameTable(start, isEncrypted: key != nil) }

    /// The bytes to store for an object.
    func encoded(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let count = FrameTable.frameCount(content.count)
        let salt = key == nil ? [] : [UInt8].random(count: RepositoryKey.saltByteCount)
        let objectKey = key?.objectKey(salt: salt)
        let tagByteCount = key == nil ? 0 : RepositoryKey.ObjectKey.tagByteCount
        let tableByteCount = FrameTable.tableByteCount(count, isEncrypted: key != nil)
        var stored = [UInt8](repeating: 0, count: tableByteCount)
        stored.reserveCapacity(tableByteCount + content.count + count * tagByteCount)
        var words: [UInt32] = []
        var wait = 0
        for number in 0..<count {
            let start = number * FrameTable.frameByteCount
            var frame = content[start..<min(start + FrameTable.frameByteCount, content.count)]
            let short = isCompressed && wait == 0 ? Self.compress(frame) : nil
            if let short { frame = short[...] }
            if isCompressed, short == nil { wait = wait == 0 ? Self.pause : wait - 1 }
            let word = FrameTable.word(frame.count + tagByteCount, isCompressed: short != nil)
            words.append(word)
            if let objectKey {
                stored += objectKey.seal(frame, number, Self.associated(name, number, word, count, content.count))
            } else {
                stored += frame
            }
        }
        stored.replaceSubrange(
            ..<tableByteCount, with: FrameTable.bytes(words, byteCount: content.count, salt: salt))
        return stored
    }

    /// The content of a frame whose bytes are `bytes`: nil if they are damaged.
    func content(_ name: String, _ table: FrameTable, _ number: Int, _ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        let frame = table.frames[number]
        let wanted = table.content(number).count
        var content = bytes
        if let key {
            let associated = Self.associated(name, number, frame.word, table.frames.count, table.byteCount)
            guard let opened = key.objectKey(salt: table.salt).open(bytes, number, associated) else { return nil }
            content = opened[...]
        }
        if frame.isCompressed { return Self.expand(content, byteCount: wanted) }
        return content.count == wanted ? Array(content) : nil
    }

    private static func associated(
        _ name: String, _ number: Int, _ word: UInt32, _ count: Int, _ byteCount: Int
    ) -> [UInt8] {
        var writer = ObjectWriter()
        writer.integer(UInt32(number))
        writer.integer(word)
        writer.integer(UInt32(count))
        writer.integer(UInt64(byteCount))
        writer.raw(Array(name.utf8))
        return writer.bytes
    }

    // MARK: Compression

    #if Compression
        static let canCompress = true

        /// A zlib stream of some bytes; nil unless it is an eighth shorter.
        private static func compress(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
            let limit = bytes.count - bytes.count / 8
            if limit == 0 { return nil }
            let stream = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
                var length = uLongf(limit)
                let result = bytes.withUnsafeBufferPointer {
                    compress2(buffer.baseAddress, &length, $0.baseAddress, uLong($0.count), Z_BEST_SPEED)
                }
                // Z_BUF_ERROR says that the stream is longer.
                count = result == Z_OK ? Int(length) : 0
            }
            return stream.isEmpty ? nil : stream
        }

        /// The content of a zlib stream; nil if it is damaged or has another length.
        private static func expand(_ stream: ArraySlice<UInt8>, byteCount: Int) -> [UInt8]? {
            let content = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
                var length = uLongf(byteCount)
                let result = stream.withUnsafeBufferPointer {
                    uncompress(buffer.baseAddress, &length, $0.baseAddress, uLong($0.count))
                }
                count = result == Z_OK ? Int(length) : 0
            }
            return content.count == byteCount ? content : nil
        }
    #else
        static let canCompress = false
        private static func compress(_ bytes: ArraySlice<UInt8>) -> [UInt8]? { nil }
        private static func expand(_ stream: ArraySlice<UInt8>, byteCount: Int) -> [UInt8]? { nil }
    #endif
}
