// SPDX-License-Identifier: Apache-2.0
// The static header of a file, written once when the file is created, at byte 0 and again at byte 49,152.
//
//   offset size  meaning
//        0    8  magic "RGN" 1A 0D 0A A9 00 (reveals text-mode transfers and truncation)
//        8    4  format version, 1
//       12    4  minimum reader version, 1
//       16   16  file UUID
//       32   16  hash seed
//       48    4  page size, 4,096
//       52    4  flags: 1 encrypted
//       56    4  of an encrypted file: cipher, 1 = AES-256-GCM with keys by HKDF-SHA256; else zero, as the fields below
//       60    4  zero
//       64   32  salt of the key derivation, random
//       96   32  check of the key: HMAC-SHA256 of bytes 0 ..< 96
//     4080   16  XXH3-128 of bytes 0 ..< 4,080 under seed 0

package import RegnumSystem

package struct FileHeader: Sendable, Equatable {
    package static let byteCount = 4096
    package static let magic: UInt64 = 0x00A9_0A0D_1A4E_4752
    package static let formatVersion: UInt32 = 1

    package var identifierLow: UInt64
    package var identifierHigh: UInt64
    package var seedLow: UInt64
    package var seedHigh: UInt64
    /// Nil if the file is not encrypted.
    package var encryption: EncryptionFacts?

    private static let checkOffset = 96
    private static let cipherNumber: UInt32 = 1

    /// Creates a header for a new file, encrypted if there is a key. A file that copies blocks of `origin` has its seed
    /// too, because indexes hold digests of long values.
    package init(fileSystem: any FileSystem, key: EncryptionKey?, origin: FileHeader? = nil) {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &words) { fileSystem.fillRandom($0) }
        (identifierLow, identifierHigh, seedLow, seedHigh) = words
        if let origin { (seedLow, seedHigh) = (origin.seedLow, origin.seedHigh) }
        guard let key else { return }
        var facts = EncryptionFacts(salt: .zero, check: .zero)
        withUnsafeMutableBytes(of: &facts.salt) { fileSystem.fillRandom($0) }
        encryption = facts
        facts.check = BlockCipher(key, self).check(of: self)
        encryption = facts
    }

    /// Calls `body` with the bytes that the key's check value covers.
    func withCheckedBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        let page = UnsafeMutableRawPointer.allocate(byteCount: Self.byteCount, alignment: 16)
        defer { page.deallocate() }
        write(to: page)
        return body(UnsafeRawBufferPointer(start: page, count: Self.checkOffset))
    }

    package var hash: ContentHash { ContentHash(seedLow: seedLow, seedHigh: seedHigh) }
    private static let ownHash = ContentHash(seedLow: 0, seedHigh: 0)

    package func write(to p: UnsafeMutableRawPointer) {
        Memory.zero(p, Self.byteCount)
        p.storeBytes(of: Self.magic, as: UInt64.self)
        p.storeBytes(of: Self.formatVersion, toByteOffset: 8, as: UInt32.self)
        p.storeBytes(of: Self.formatVersion, toByteOffset: 12, as: UInt32.self)
        p.storeBytes(of: identifierLow, toByteOffset: 16, as: UInt64.self)
        p.storeBytes(of: identifierHigh, toByteOffset: 24, as: UInt64.self)
        p.storeBytes(of: seedLow, toByteOffset: 32, as: UInt64.self)
        p.storeBytes(of: seedHigh, toByteOffset: 40, as: UInt64.self)
        p.storeBytes(of: UInt32(FormatLimits.pageByteCount), toByteOffset: 48, as: UInt32.self)
        if let encryption {
            p.storeBytes(of: 1, toByteOffset: 52, as: UInt32.self)
            p.storeBytes(of: Self.cipherNumber, toByteOffset: 56, as: UInt32.self)
            p.storeBytes(of: encryption.salt, toByteOffset: 64, as: SIMD4<UInt64>.self)
            p.storeBytes(of: encryption.check, toByteOffset: Self.checkOffset, as: SIMD4<UInt64>.self)
        }
        let tag = Self.ownHash.tag(p, 4080)
        p.storeBytes(of: tag.low, toByteOffset: 4080, as: UInt64.self)
        p.storeBytes(of: tag.high, toByteOffset: 4088, as: UInt64.self)
    }

    /// Reads the header of the file at `path` from its first 4,096 bytes.
    package init(reading p: UnsafeRawPointer, path: String) throws(EngineError) {
        guard p.load(as: UInt64.self) == Self.magic else {
            // realm-core: "T-DB" at byte 16.
            let isOldCore = p.load(fromByteOffset: 16, as: UInt32.self) == 0x4244_2D54
            throw .notADatabase(path: path, why: isOldCore ? .oldRealmCore : .wrongMagic)
        }
        let tag = Self.ownHash.tag(p, 4080)
        guard tag.low == p.load(fromByteOffset: 4080, as: UInt64.self),
            tag.high == p.load(fromByteOffset: 4088, as: UInt64.self)
        else { throw corrupted("the file header does not match its checksum", page: 0) }
        guard p.load(fromByteOffset: 12, as: UInt32.self) <= Self.formatVersion else {
            throw .unsupported(path: path, feature: "file format \(p.load(fromByteOffset: 8, as: UInt32.self))")
        }
        guard p.load(fromByteOffset: 48, as: UInt32.self) == UInt32(FormatLimits.pageByteCount) else {
            throw .unsupported(path: path, feature: "pages of another size")
        }
        let flags = p.load(fromByteOffset: 52, as: UInt32.self)
        guard flags <= 1 else { throw .unsupported(path: path, feature: "header flags \(flags)") }
        if flags == 1 {
            guard p.load(fromByteOffset: 56, as: UInt32.self) == Self.cipherNumber else {
                throw .unsupported(path: path, feature: "another cipher")
            }
            encryption = EncryptionFacts(
                salt: p.loadUnaligned(fromByteOffset: 64, as: SIMD4<UInt64>.self),
                check: p.loadUnaligned(fromByteOffset: Self.checkOffset, as: SIMD4<UInt64>.self))
        }
        identifierLow = p.load(fromByteOffset: 16, as: UInt64.self)
        identifierHigh = p.load(fromByteOffset: 24, as: UInt64.self)
        seedLow = p.load(fromByteOffset: 32, as: UInt64.self)
        seedHigh = p.load(fromByteOffset: 40, as: UInt64.self)
    }
}
