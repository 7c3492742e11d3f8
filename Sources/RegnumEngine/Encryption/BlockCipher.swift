// SPDX-License-Identifier: Apache-2.0
// AES-256-GCM for blocks and commit slots. An encrypted block is as long as the plain one:
//
//   offset size  meaning
//        0   12  nonce, random for each encryption
//       12    4  zero
//       16       ciphertext of the plain block from byte 16 on (bytes 0 ..< 16 follow from its ref)
//
// The 16-byte GCM tag is the tag in the block's ref. So the parent authenticates the content and, because the
// associated data are the file's UUID, location, birth and kind, the location too. A slot's tag is in the slot's last
// 16 bytes.
//
//   key of the file  = HKDF-SHA256 extract of the user's 64 bytes, salt from the header
//   key of a block   = expand "regnum block" · u64 birth / 128: no key seals more than 2^31 blocks, as a commit has
//                      at most 2^24 pages, so random nonces do not collide
//   key of slots     = expand "regnum slot"; key of the header's check = expand "regnum head"
//
// Any thread. Keys are held in `SymmetricKey`, which overwrites its bytes when it is released. The crypto library leaves
// other copies in memory that it releases: the rounds of AES, which begin with the key, in the object that encrypts,
// and derived keys on the stack. So each derivation, and each use of the key of slots, is repeated with a key of zeros,
// which gets the same memory and overwrites it. `deinit` does so for the last key of a block that its thread has used.

#if Encryption
    import Crypto
    import RegnumSystem

    package final class BlockCipher: Sendable {
        package static let isAvailable = true

        /// The offset of the ciphertext in a block.
        private static let byteOffset = 16
        private static let slotTagOffset = CommitSlot.byteCount - 16
        private static let keptKeys = 1024

        private let fileKey: SymmetricKey
        private let slotKey: SymmetricKey
        private let identifier: (low: UInt64, high: UInt64)
        /// Keyed by birth / 128.
        private let blockKeys = Lock<[UInt64: SymmetricKey]>([:])

        init(_ key: EncryptionKey, _ header: FileHeader) {
            fileKey = Self.extract(key, header.encryption?.salt ?? .zero)
            slotKey = Self.expand(fileKey, "regnum slot", 0)
            identifier = (header.identifierLow, header.identifierHigh)
        }

        deinit { Self.overwriteCipher() }

        private static func extract(_ key: EncryptionKey, _ salt: SIMD4<UInt64>) -> SymmetricKey {
            defer {
                _ = [UInt8](repeating: 0, count: EncryptionKey.byteCount).withUnsafeBytes { extracted($0, .zero) }
                wipeStack(16)
            }
            return extracted(key.bytes, salt)
        }

        private static func expand(_ key: SymmetricKey, _ purpose: String, _ number: UInt64) -> SymmetricKey {
            defer {
                _ = expanded(zeroKey, purpose, number)
                wipeStack(16)
            }
            return expanded(key, purpose, number)
        }

        // Never inlined: the calls with the key and those with zeros use the same part of the stack.
        @inline(never)
        private static func extracted(_ key: UnsafeRawBufferPointer, _ salt: SIMD4<UInt64>) -> SymmetricKey {
            withUnsafeBytes(of: salt) { salt in
                SymmetricKey(
                    data: HKDF<SHA256>.extract(
                        inputKeyMaterial: SymmetricKey(data: key), salt: UnsafeRawBufferPointer(salt)))
            }
        }

        @inline(never)
        private static func expanded(_ key: SymmetricKey, _ purpose: String, _ number: UInt64) -> SymmetricKey {
            var info = Array(purpose.utf8)
            withUnsafeBytes(of: number.littleEndian) { info.append(contentsOf: $0) }
            return HKDF<SHA256>.expand(pseudoRandomKey: key, info: info, outputByteCount: 32)
        }

        private static let zeroKey = SymmetricKey(data: [UInt8](repeating: 0, count: 32))

        /// Overwrites the AES rounds of the key that this thread has used last.
        private static func overwriteCipher() {
            do { _ = try AES.GCM.seal([UInt8](), using: zeroKey) } catch {
                // Only a key of a wrong length is refused.
                fatalError("AES-GCM refused to seal: \(error)")
            }
            wipeStack(16)
        }

        /// Overwrites that many KiB of the stack below the caller, except for some bytes in each.
        @inline(never)
        private static func wipeStack(_ count: Int) {
            withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 16) { buffer in
                if let base = buffer.baseAddress { Memory.wipe(base, buffer.count) }
                if count > 1 { wipeStack(count - 1) }
            }
        }

        private func blockKey(birth: UInt64) -> SymmetricKey {
            blockKeys.withLock { keys in
                let epoch = birth >> 7
                if let key = keys[epoch] { return key }
                if keys.count >= Self.keptKeys { keys.removeAll(keepingCapacity: true) }
                let key = Self.expand(fileKey, "regnum block", epoch)
                keys[epoch] = key
                return key
            }
        }

        /// Returns the check value of a header that was written with this key.
        func check(of header: FileHeader) -> SIMD4<UInt64> {
            let key = Self.expand(fileKey, "regnum head", 0)
            let code = header.withCheckedBytes { HMAC<SHA256>.authenticationCode(for: $0, using: key) }
            return code.withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
        }

        // MARK: Blocks

        /// Encrypts the block at `plain` to `sealed`. Returns the tag for its ref.
        func seal(_ plain: UnsafeRawPointer, _ ref: BlockRef, to sealed: UnsafeMutableRawPointer) -> ContentHash.Tag {
            let count = ref.byteCount - Self.byteOffset
            let box = seal(
                UnsafeRawBufferPointer(start: plain + Self.byteOffset, count: count), blockKey(birth: ref.birth),
                (identifier.low, identifier.high, ref.location, ref.birth, UInt64(ref.kind)))
            Memory.zero(sealed, Self.byteOffset)
            Self.put(box, in: UnsafeMutableRawBufferPointer(start: sealed, count: ref.byteCount))
            return Self.tag(box)
        }

        /// Decrypts the block at `sealed` to `plain`. Returns false if it does not authenticate under `ref`.
        func open(_ sealed: UnsafeRawPointer, _ ref: BlockRef, to plain: UnsafeMutableRawPointer) -> Bool {
            let isOpened = open(
                sealed, ref.byteCount - Self.byteOffset, (ref.tagLow, ref.tagHigh), blockKey(birth: ref.birth),
                (identifier.low, identifier.high, ref.location, ref.birth, UInt64(ref.kind)),
                to: plain + Self.byteOffset)
            if isOpened { BlockHeader.writeStart(to: plain, kind: ref.kind, pageCount: ref.pageCount, page: ref.page) }
            return isOpened
        }

        // MARK: Slots

        /// Encrypts a slot in place: nonce, ciphertext of its first 4,064 bytes, tag.
        func sealSlot(_ slot: UnsafeMutableRawPointer) {
            defer { Self.overwriteCipher() }
            let count = Self.slotTagOffset - Self.byteOffset
            let box = seal(
                UnsafeRawBufferPointer(start: slot, count: count), slotKey, (identifier.low, identifier.high, 0, 0, 0))
            Memory.zero(slot, CommitSlot.byteCount)
            let tag = Self.tag(box)
            Self.put(box, in: UnsafeMutableRawBufferPointer(start: slot, count: Self.slotTagOffset))
            slot.storeBytes(of: tag.low, toByteOffset: Self.slotTagOffset, as: UInt64.self)
            slot.storeBytes(of: tag.high, toByteOffset: Self.slotTagOffset + 8, as: UInt64.self)
        }

        /// Decrypts the slot at `sealed` to `plain`, which has room for a slot. Returns false if the slot is empty or
        /// damaged.
        func openSlot(_ sealed: UnsafeRawPointer, to plain: UnsafeMutableRawPointer) -> Bool {
            defer { Self.overwriteCipher() }
            let tag = (
                sealed.loadUnaligned(fromByteOffset: Self.slotTagOffset, as: UInt64.self),
                sealed.loadUnaligned(fromByteOffset: Self.slotTagOffset + 8, as: UInt64.self)
            )
            Memory.zero(plain, CommitSlot.byteCount)
            return open(
                sealed, Self.slotTagOffset - Self.byteOffset, tag, slotKey, (identifier.low, identifier.high, 0, 0, 0),
                to: plain)
        }

        // MARK: AES-GCM

        private typealias Context = (UInt64, UInt64, UInt64, UInt64, UInt64)

        private func seal(_ plain: UnsafeRawBufferPointer, _ key: SymmetricKey, _ context: Context) -> AES.GCM.SealedBox
        {
            withUnsafeBytes(of: context) { context in
                do {
                    return try AES.GCM.seal(plain, using: key, nonce: AES.GCM.Nonce(), authenticating: context)
                } catch {
                    // Only a key or a nonce of a wrong length is refused; both are created here.
                    fatalError("AES-GCM refused to seal: \(error)")
                }
            }
        }

        /// Writes the nonce at the start and the ciphertext at byte 16.
        private static func put(_ box: AES.GCM.SealedBox, in target: UnsafeMutableRawBufferPointer) {
            target.copyBytes(from: Array(box.nonce))
            UnsafeMutableRawBufferPointer(rebasing: target[byteOffset...]).copyBytes(from: box.ciphertext)
        }

        private static func tag(_ box: AES.GCM.SealedBox) -> ContentHash.Tag {
            Array(box.tag).withUnsafeBytes {
                ContentHash.Tag(
                    low: $0.loadUnaligned(as: UInt64.self),
                    high: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
        }

        private func open(
            _ sealed: UnsafeRawPointer, _ count: Int, _ tag: (UInt64, UInt64), _ key: SymmetricKey, _ context: Context,
            to plain: UnsafeMutableRawPointer
        ) -> Bool {
            withUnsafeBytes(of: context) { context in
                withUnsafeBytes(of: tag) { tag in
                    do {
                        let box = try AES.GCM.SealedBox(
                            nonce: AES.GCM.Nonce(data: UnsafeRawBufferPointer(start: sealed, count: 12)),
                            ciphertext: UnsafeRawBufferPointer(start: sealed + Self.byteOffset, count: count), tag: tag)
                        let opened = try AES.GCM.open(box, using: key, authenticating: context)
                        UnsafeMutableRawBufferPointer(start: plain, count: count).copyBytes(from: opened)
                        return true
                    } catch {
                        // The tag does not match; all lengths are fixed, so nothing else can be wrong.
                        return false
                    }
                }
            }
        }
    }
#else
    /// A build without the trait `Encryption` has no cipher: opening refuses keys and encrypted files before one is
    /// created.
    package final class BlockCipher: Sendable {
        package static let isAvailable = false

        init(_ key: EncryptionKey, _ header: FileHeader) { Self.refuse() }

        private static func refuse() -> Never { preconditionFailure("a build without encryption") }

        func check(of header: FileHeader) -> SIMD4<UInt64> { Self.refuse() }
        func seal(_ plain: UnsafeRawPointer, _ ref: BlockRef, to sealed: UnsafeMutableRawPointer) -> ContentHash.Tag {
            Self.refuse()
        }
        func open(_ sealed: UnsafeRawPointer, _ ref: BlockRef, to plain: UnsafeMutableRawPointer) -> Bool {
            Self.refuse()
        }
        func sealSlot(_ slot: UnsafeMutableRawPointer) { Self.refuse() }
        func openSlot(_ sealed: UnsafeRawPointer, to plain: UnsafeMutableRawPointer) -> Bool { Self.refuse() }
    }
#endif
