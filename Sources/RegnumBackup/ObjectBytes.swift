// SPDX-License-Identifier: Apache-2.0
// Hashes, names and byte order of the objects of a repository.

internal import RegnumEngine
internal import RegnumSystem

/// The XXH3-128 of some bytes under the seed of a repository, by which objects and blocks are addressed and verified.
/// The seed is random, so content cannot be crafted to collide without it. It does not authenticate.
struct Digest: Hashable, Sendable {
    var low: UInt64
    var high: UInt64
    static let byteCount = 16

    /// 32 hexadecimal digits.
    var text: String { hexadecimal(high) + hexadecimal(low) }
}

/// 16 digits, so that names and numbers have the same order.
func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}

struct Hasher128: Sendable {
    private static let shortest = 256
    private let hash: ContentHash

    init(seedLow: UInt64, seedHigh: UInt64) { hash = ContentHash(seedLow: seedLow, seedHigh: seedHigh) }

    func digest(_ bytes: UnsafeRawBufferPointer) -> Digest {
        if let base = bytes.baseAddress, bytes.count >= Self.shortest {
            let tag = hash.tag(base, bytes.count)
            return Digest(low: tag.low, high: tag.high)
        }
        // The hash is defined for longer inputs only: the length distinguishes the zeros from content.
        var padded = [UInt8](bytes)
        padded.append(contentsOf: repeatElement(0, count: Self.shortest - bytes.count))
        padded.append(UInt8(truncatingIfNeeded: bytes.count))
        return padded.withUnsafeBytes { digest($0) }
    }

    func digest(_ bytes: [UInt8]) -> Digest { bytes.withUnsafeBytes { digest($0) } }
}

/// An object with the blocks of a database, or with segments of page maps. Its name has the token of the process that
/// put it: an object of an earlier token that no backup needs is garbage, because a backup of that token can no longer
/// appear.
struct PackName: Hashable, Sendable {
    var token: UInt64
    var digest: Digest
    var byteCount: UInt32

    var packName: String { ObjectName.packs + hexadecimal(token) + "-" + digest.text }
    var mapName: String { ObjectName.maps + hexadecimal(token) + "-" + digest.text }
}

enum ObjectName {
    static let repository = "repository"
    static let log = "log/"
    static let packs = "packs/"
    static let maps = "maps/"
    /// A second copy of an object has this prefix before its name.
    static let copies = "copies/"
    /// A third copy of a pack, while its second one is replaced by one in which more blocks are good.
    static let healing = "copies/healing/"

    static func entry(_ number: UInt64) -> String { log + hexadecimal(number) }

    /// The number at the start of the last component of a name: that of a log entry, or the token of a pack or map.
    static func number(_ name: String) -> UInt64? {
        let last = name.split(separator: "/").last ?? ""
        guard last.utf8.count >= 16, let number = UInt64(last.prefix(16), radix: 16) else { return nil }
        return number < 1 << 62 ? number : nil
    }
}

/// Writes integers, little endian, one after another.
struct ObjectWriter {
    private(set) var bytes: [UInt8] = []

    mutating func integer<T: FixedWidthInteger>(_ value: T) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func digest(_ digest: Digest) {
        integer(digest.low)
        integer(digest.high)
    }

    mutating func pack(_ name: PackName) {
        integer(name.token)
        digest(name.digest)
        integer(name.byteCount)
    }

    mutating func raw(_ more: [UInt8]) { bytes.append(contentsOf: more) }

    mutating func blob(_ blob: [UInt8]) {
        integer(UInt32(blob.count))
        raw(blob)
    }

    /// Appends the digest of everything so far.
    mutating func seal(_ hasher: Hasher128) { digest(hasher.digest(bytes)) }
}

/// Reads what `ObjectWriter` has written; throws `.damaged` at the end of the bytes.
struct ObjectReader {
    private let bytes: [UInt8]
    private var offset = 0
    private let end: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        end = bytes.count
    }

    /// Reads an object that ends with the digest of its bytes; nil if that is not correct.
    init?(sealed bytes: [UInt8], _ hasher: Hasher128) {
        let end = bytes.count - Digest.byteCount
        guard end >= 0 else { return nil }
        var tail = ObjectReader(Array(bytes[end...]))
        guard let stored = try? tail.digest(), stored == hasher.digest(Array(bytes[..<end])) else { return nil }
        self.bytes = bytes
        self.end = end
    }

    mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws -> T {
        let size = MemoryLayout<T>.size
        guard end - offset >= size else { throw BackupError.damaged("an object ends too soon") }
        defer { offset += size }
        return T(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: T.self) })
    }

    mutating func digest() throws -> Digest {
        Digest(low: try integer(UInt64.self), high: try integer(UInt64.self))
    }

    mutating func pack() throws -> PackName {
        PackName(token: try integer(UInt64.self), digest: try digest(), byteCount: try integer(UInt32.self))
    }

    mutating func blob() throws -> [UInt8] { try raw(Int(try integer(UInt32.self))) }

    mutating func raw(_ count: Int) throws -> [UInt8] {
        guard end - offset >= count else { throw BackupError.damaged("an object ends too soon") }
        defer { offset += count }
        return Array(bytes[offset..<offset + count])
    }

    /// The number of items of at least `size` bytes that follow.
    mutating func count(of size: Int) throws -> Int {
        let count = Int(try integer(UInt32.self))
        guard count <= (end - offset) / size else { throw BackupError.damaged("the count of an object is too large") }
        return count
    }
}
