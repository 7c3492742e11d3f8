// SPDX-License-Identifier: Apache-2.0
// The key of a repository that is encrypted with a key of its own, and the encryption of frames: AES-256-GCM.
//
//   key of the repository  = HKDF-SHA256 extract of the user's 64 bytes, salt from the object 'repository'
//   seed of the hashes     = expand "regnum backup seed", 16 bytes
//   check                  = expand "regnum backup check", 16 bytes
//   key of an object       = expand "regnum backup object" and the object's salt, random for each put
//   nonce of a frame       = u32 number of the frame, and 8 bytes zero: no other frame has this key
//   associated data        = name of the object and what its table says of the frame (FrameCoder)

internal import Foundation

#if Encryption
    internal import Crypto

    struct RepositoryKey: Sendable {
        static let byteCount = 64
        static let saltByteCount = 32
        static let checkByteCount = 16

        private let key: SymmetricKey
        let check: [UInt8]
        let seed: (UInt64, UInt64)

        /// Throws `.wrongKey` unless the key has 64 bytes.
        init(_ bytes: Data, salt: [UInt8]) throws {
            guard bytes.count == Self.byteCount else {
                throw BackupError(.wrongKey, "The key of a repository has \(Self.byteCount) bytes.")
            }
            let extracted = HKDF<SHA256>.extract(inputKeyMaterial: SymmetricKey(data: bytes), salt: salt)
            key = SymmetricKey(data: extracted)
            check = Self.expand(key, "regnum backup check", byteCount: Self.checkByteCount) { [UInt8]($0) }
            seed = Self.expand(key, "regnum backup seed", byteCount: 16) {
                (
                    UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)),
                    UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
        }

        private static func expand<Result>(
            _ key: SymmetricKey, _ purpose: String, byteCount: Int, _ body: (UnsafeRawBufferPointer) -> Result
        ) -> Result {
            HKDF<SHA256>.expand(pseudoRandomKey: key, info: Array(purpose.utf8), outputByteCount: byteCount)
                .withUnsafeBytes(body)
        }

        /// The key of the object with that salt.
        func objectKey(salt: [UInt8]) -> ObjectKey {
            ObjectKey(
                key: HKDF<SHA256>.expand(
                    pseudoRandomKey: key, info: Array("regnum backup object".utf8) + salt, outputByteCount: 32))
        }

        /// Encrypts the frames of one object.
        struct ObjectKey {
            static let tagByteCount = 16
            fileprivate let key: SymmetricKey

            private func nonce(_ number: Int) throws -> AES.GCM.Nonce {
                var bytes = [UInt8](repeating: 0, count: 12)
                for byte in 0..<4 { bytes[byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
                return try AES.GCM.Nonce(data: bytes)
            }

            /// The ciphertext of frame `number`, and its tag.
            func seal(_ frame: some DataProtocol, _ number: Int, _ associated: [UInt8]) -> [UInt8] {
                do {
                    let box = try AES.GCM.seal(frame, using: key, nonce: nonce(number), authenticating: associated)
                    return [UInt8](box.ciphertext) + [UInt8](box.tag)
                } catch {
                    // Only keys and nonces of a wrong length are refused.
                    fatalError("AES-GCM refused to seal: \(error)")
                }
            }

            /// The content of frame `number`; nil if the bytes, the number or the associated data are others.
            func open(_ sealed: ArraySlice<UInt8>, _ number: Int, _ associated: [UInt8]) -> [UInt8]? {
                guard sealed.count >= Self.tagByteCount, let nonce = try? nonce(number),
                    let box = try? AES.GCM.SealedBox(
                        nonce: nonce, ciphertext: sealed.dropLast(Self.tagByteCount),
                        tag: sealed.suffix(Self.tagByteCount)),
                    let content = try? AES.GCM.open(box, using: key, authenticating: associated)
                else { return nil }
                return [UInt8](content)
            }
        }
    }
#else
    /// Without the trait `Encryption` there is none.
    struct RepositoryKey: Sendable {
        static let saltByteCount = 32
        static let checkByteCount = 16

        private let none: Never
        var check: [UInt8] { switch none {} }
        var seed: (UInt64, UInt64) { switch none {} }

        init(_ bytes: Data, salt: [UInt8]) throws {
            throw BackupError(
                .unsupported,
                "Repositories with a key of their own need the trait 'Encryption' of the package, which is off.")
        }

        func objectKey(salt: [UInt8]) -> ObjectKey { switch none {} }

        struct ObjectKey {
            static let tagByteCount = 16
            private let none: Never
            func seal(_ frame: some DataProtocol, _ number: Int, _ associated: [UInt8]) -> [UInt8] { switch none {} }
            func open(_ sealed: ArraySlice<UInt8>, _ number: Int, _ associated: [UInt8]) -> [UInt8]? {
                switch none {}
            }
        }
    }
#endif
