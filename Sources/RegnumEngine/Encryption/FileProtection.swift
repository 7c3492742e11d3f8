// SPDX-License-Identifier: Apache-2.0
// Protects the bytes of a file with checksums or authenticated encryption. An opening finds here that its key is wrong,
// missing or superfluous (`EncryptionProblem`). After that, bytes that do not match are damage.

/// How the bytes of one file are protected when they are written, and verified when they are read: by checksums, or by
/// authenticated encryption.
package struct FileProtection: Sendable {
    package let hash: ContentHash
    /// Nil if the file is not encrypted.
    package let cipher: BlockCipher?

    package init(hash: ContentHash, cipher: BlockCipher? = nil) {
        self.hash = hash
        self.cipher = cipher
    }

    /// Creates the protection of the file with `header`. Throws `.encryption` if the key does not match the file.
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

/// The encryption fields of a file's header; `FileHeader` has their offsets.
package struct EncryptionFacts: Sendable, Equatable {
    /// The salt of the key derivation, random for each file.
    package var salt: SIMD4<UInt64>
    /// HMAC-SHA256 of the header's bytes before it: detects a wrong key, and a header that was tampered with.
    package var check: SIMD4<UInt64>
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
