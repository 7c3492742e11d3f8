// SPDX-License-Identifier: Apache-2.0
// The 64 bytes that a user gives to encrypt a file with, held for the time of an opening. The bytes are ours: they
// are overwritten when the last holder lets go. What derives from them lives in `BlockCipher`.

import RegnumSystem

package final class EncryptionKey: Sendable {
    package static let byteCount = 64

    /// Immutable after `init`, overwritten by `deinit`.
    private nonisolated(unsafe) let storage: UnsafeMutableRawPointer
    /// Gives the overwritten memory back.
    private let release: @Sendable (UnsafeMutableRawPointer) -> Void

    /// Copies the key. `bytes` must be 64. `release` gives the memory back that held the copy, on any thread: tests
    /// look at what is left in it before.
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

/// Why a file and a key do not fit, in `EngineError.encryption`.
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

/// What a file's header says about its encryption, `FileHeader` has the places.
package struct EncryptionFacts: Sendable, Equatable {
    /// Of the key derivation, random for each file.
    package var salt: SIMD4<UInt64>
    /// HMAC-SHA256 of the header's bytes before it: tells a wrong key, and a header that somebody has changed.
    package var check: SIMD4<UInt64>
}

/// How the bytes of one file are vouched for: by checksums, or encrypted and authenticated.
package struct FileSeal: Sendable {
    package let hash: ContentHash
    /// Nil where the file is not encrypted.
    package let cipher: BlockCipher?

    package init(hash: ContentHash, cipher: BlockCipher? = nil) {
        self.hash = hash
        self.cipher = cipher
    }

    /// For the file of `header`. Throws `.encryption` where key and file do not fit.
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
