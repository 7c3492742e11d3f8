// SPDX-License-Identifier: Apache-2.0
// The 64 bytes that a user passes as the encryption key, held during an opening. They are a private copy, overwritten
// when the last reference is released. Keys derived from it are in `BlockCipher`.

import RegnumSystem

package final class EncryptionKey: Sendable {
    package static let byteCount = 64

    /// Immutable after `init`, overwritten by `deinit`.
    private nonisolated(unsafe) let storage: UnsafeMutableRawPointer
    /// Frees the overwritten memory.
    private let release: @Sendable (UnsafeMutableRawPointer) -> Void

    /// Copies the key. `bytes` must be 64 bytes long. `release` frees the memory of the copy, on any thread: tests
    /// inspect it before it is freed.
    package init(
        _ bytes: UnsafeRawBufferPointer,
        release: @escaping @Sendable (UnsafeMutableRawPointer) -> Void = { $0.deallocate() }
    ) {
        self.release = release
        precondition(bytes.count == Self.byteCount, "an encryption key of \(bytes.count) bytes")
        storage = .allocate(byteCount: Self.byteCount, alignment: 16)
        storage.copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: Self.byteCount)
    }

    deinit {
        Memory.wipe(storage, Self.byteCount)
        release(storage)
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: storage, count: Self.byteCount) }
}

/// The reason why a key does not match a file, in `EngineError.encryption`.
package enum EncryptionProblem: String, Sendable {
    /// The file is encrypted and no key was given.
    case keyMissing
    /// The file was encrypted with another key.
    case wrongKey
    /// A key was given and the file is not encrypted.
    case notEncrypted
    /// The file is open in this process with another key, or with none.
    case otherKeyInUse
    /// This build has no encryption (the package trait `Encryption` is off).
    case unavailable
}

/// The encryption fields of a file's header; `FileHeader` has their offsets.
package struct EncryptionFacts: Sendable, Equatable {
    /// The salt of the key derivation, random for each file.
    package var salt: SIMD4<UInt64>
    /// HMAC-SHA256 of the header's bytes before it: detects a wrong key, and a header that was tampered with.
    package var check: SIMD4<UInt64>
}

/// How the bytes of one file are verified: by checksums, or by authenticated encryption.
package struct FileSeal: Sendable {
    package let hash: ContentHash
    /// Nil if the file is not encrypted.
    package let cipher: BlockCipher?

    package init(hash: ContentHash, cipher: BlockCipher? = nil) {
        self.hash = hash
        self.cipher = cipher
    }

    /// Creates the seal of the file with `header`. Throws `.encryption` if the key does not match the file.
    package init(_ header: FileHeader, _ key: EncryptionKey?, path: String) throws(EngineError) {
        hash = header.hash
        guard let facts = header.encryption else {
            guard key == nil else { throw .encryption(path: path, .notEncrypted) }
            cipher = nil
            return
        }
        guard BlockCipher.isAvailable else { throw .encryption(path: path, .unavailable) }
        guard let key else { throw .encryption(path: path, .keyMissing) }
        let made = BlockCipher(key, header)
        guard made.check(of: header) == facts.check else { throw .encryption(path: path, .wrongKey) }
        cipher = made
    }
}
