// SPDX-License-Identifier: Apache-2.0
// The object 'repository': says how the other objects are stored, and has what their hashes and keys are made of.
//
//   u64 "RGNBKUP" · u32 format, 3 · u8 1 if the objects are compressed · u8 1 if they are encrypted · u16 0 · 32 bytes
//   salt · 16 bytes check of the key · 2 u64 seed of the hashes · i64 time · digest of all this, whose seed is 0
//
// With a key, the seed follows from the key and the field of the seed is zero. So the names of the objects, which have
// hashes of the content, say only which objects have equal content. Without a key, the salt and the check are zero.

internal import Foundation

struct RepositoryRecord {
    let bytes: [UInt8]
    let isCompressed: Bool
    /// Nil if the objects are not encrypted with a key of the repository.
    let key: RepositoryKey?
    let hasher: Hasher128

    static let magic: UInt64 = 0x50_554B_424E_4752
    static let format: UInt32 = 3
    private static let ownHasher = Hasher128(seedLow: 0, seedHigh: 0)

    /// The form of all other objects; nil if they are stored as they are.
    var coder: FrameCoder? {
        key == nil && !isCompressed ? nil : FrameCoder(isCompressed: isCompressed, key: key)
    }

    /// Makes a record. Throws `.unsupported` and `.wrongKey`.
    init(time: Int64, isCompressed: Bool, encryptionKey: Data?) throws {
        try Self.checkSupport(isCompressed: isCompressed)
        self.isCompressed = isCompressed
        let salt = [UInt8].random(count: encryptionKey == nil ? 0 : RepositoryKey.saltByteCount)
        key = try encryptionKey.map { try RepositoryKey($0, salt: salt) }
        let seed = key?.seed ?? (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
        hasher = Hasher128(seedLow: seed.0, seedHigh: seed.1)
        var writer = ObjectWriter()
        writer.integer(Self.magic)
        writer.integer(Self.format)
        writer.integer(UInt8(isCompressed ? 1 : 0))
        writer.integer(UInt8(key == nil ? 0 : 1))
        writer.integer(UInt16(0))
        writer.raw(key == nil ? [UInt8](repeating: 0, count: RepositoryKey.saltByteCount) : salt)
        writer.raw(key?.check ?? [UInt8](repeating: 0, count: RepositoryKey.checkByteCount))
        writer.integer(key == nil ? seed.0 : 0)
        writer.integer(key == nil ? seed.1 : 0)
        writer.integer(time)
        writer.seal(Self.ownHasher)
        bytes = writer.bytes
    }

    /// Reads a record. Throws `.damaged`, `.newerFormat`, `.unsupported` and `.wrongKey`.
    init(_ bytes: [UInt8], encryptionKey: Data?) throws {
        self.bytes = bytes
        var start = ObjectReader(bytes)
        guard let magic = try? start.integer(UInt64.self), magic == Self.magic else {
            throw BackupError.damaged("the object 'repository' is not that of a repository")
        }
        let format = try start.integer(UInt32.self)
        guard format <= Self.format else {
            throw BackupError(.newerFormat, "A newer version of the library has made the repository.")
        }
        if format == 1 || format == 2 {
            throw BackupError(
                .unsupported, "The repository was made before the first release, in another format: make a new one.")
        }
        guard format == Self.format else { throw BackupError.damaged("it has an unknown format") }
        guard var reader = ObjectReader(sealed: bytes, Self.ownHasher) else {
            throw BackupError.damaged("the object 'repository' does not match its hash")
        }
        _ = try (reader.integer(UInt64.self), reader.integer(UInt32.self))
        isCompressed = try reader.integer(UInt8.self) == 1
        let isEncrypted = try reader.integer(UInt8.self) == 1
        _ = try reader.integer(UInt16.self)
        let salt = try reader.raw(RepositoryKey.saltByteCount)
        let check = try reader.raw(RepositoryKey.checkByteCount)
        let seed = (try reader.integer(UInt64.self), try reader.integer(UInt64.self))
        try Self.checkSupport(isCompressed: isCompressed)
        switch (isEncrypted, encryptionKey) {
        case (true, let encryptionKey?):
            let key = try RepositoryKey(encryptionKey, salt: salt)
            guard key.check == check else {
                throw BackupError(.wrongKey, "The repository is encrypted with another key than this one.")
            }
            self.key = key
            hasher = Hasher128(seedLow: key.seed.0, seedHigh: key.seed.1)
        case (true, nil):
            throw BackupError(.wrongKey, "The repository is encrypted with a key of its own: specify it.")
        case (false, .some):
            throw BackupError(.wrongKey, "The repository is not encrypted with a key of its own: specify none.")
        case (false, nil):
            key = nil
            hasher = Hasher128(seedLow: seed.0, seedHigh: seed.1)
        }
    }

    private static func checkSupport(isCompressed: Bool) throws {
        if isCompressed, !FrameCoder.canCompress {
            throw BackupError(
                .unsupported, "Compressed repositories need the trait 'Compression' of the package, which is off.")
        }
    }
}

extension [UInt8] {
    static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
    }
}
