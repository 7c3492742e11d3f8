// SPDX-License-Identifier: Apache-2.0
// HMAC-SHA-224, which swift-crypto does not offer: SHA-256 with other initial values, truncated to 28 bytes (FIPS
// 180-4, section 5.3.2; HMAC as in FIPS 198-1).

#if Encryption
    /// Computes the HMACs of pages under one key.
    struct PageAuthentication {
        private let inner: SHA224
        private let outer: SHA224

        init(key: [UInt8]) {
            precondition(key.count <= SHA224.blockByteCount, "the key is longer than a block")
            let padded = key + [UInt8](repeating: 0, count: SHA224.blockByteCount - key.count)
            var (inner, outer) = (SHA224(), SHA224())
            padded.map { $0 ^ 0x36 }.withUnsafeBytes { inner.update($0) }
            padded.map { $0 ^ 0x5c }.withUnsafeBytes { outer.update($0) }
            (self.inner, self.outer) = (inner, outer)
        }

        /// The HMAC of `message`, 28 bytes.
        func code(of message: UnsafeRawBufferPointer) -> [UInt8] {
            inner.digest(of: message).withUnsafeBytes { outer.digest(of: $0) }
        }
    }

    /// The hash function SHA-224. The state after whole blocks can be used many times.
    struct SHA224 {
        static let blockByteCount = 64

        private var state = SIMD8<UInt32>(
            0xc105_9ed8, 0x367c_d507, 0x3070_dd17, 0xf70e_5939, 0xffc0_0b31, 0x6858_1511, 0x64f9_8fa7, 0xbefa_4fa4)
        private var byteCount = 0

        /// Adds whole blocks.
        mutating func update(_ blocks: UnsafeRawBufferPointer) {
            precondition(blocks.count % Self.blockByteCount == 0, "the last block is not whole")
            byteCount += blocks.count
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: Self.constants.count) { words in
                Self.constants.withUnsafeBufferPointer { constants in
                    for start in stride(from: 0, to: blocks.count, by: Self.blockByteCount) {
                        Self.expand(blocks, start, words)
                        mix(words, constants)
                    }
                }
            }
        }

        /// The hash of the blocks before and of `rest`, 28 bytes.
        func digest(of rest: UnsafeRawBufferPointer) -> [UInt8] {
            var copy = self
            let wholeByteCount = rest.count - rest.count % Self.blockByteCount
            copy.update(UnsafeRawBufferPointer(rebasing: rest[..<wholeByteCount]))
            let bitCount = UInt64(copy.byteCount + rest.count - wholeByteCount) * 8
            var tail = Array(rest[wholeByteCount...]) + [0x80]
            tail += [UInt8](repeating: 0, count: (120 - tail.count) % Self.blockByteCount)
            tail += (0..<8).map { UInt8(truncatingIfNeeded: bitCount >> (56 - 8 * UInt64($0))) }
            tail.withUnsafeBytes { copy.update($0) }
            return (0..<28).map { UInt8(truncatingIfNeeded: copy.state[$0 / 4] >> (24 - 8 * UInt32($0 % 4))) }
        }

        /// Fills the 64 words of the block at `start`.
        private static func expand(
            _ blocks: UnsafeRawBufferPointer, _ start: Int, _ words: UnsafeMutableBufferPointer<UInt32>
        ) {
            for index in 0..<16 {
                words[index] = UInt32(
                    bigEndian: blocks.loadUnaligned(fromByteOffset: start + index * 4, as: UInt32.self))
            }
            for index in 16..<64 {
                let (a, b) = (words[index - 15], words[index - 2])
                let first = rotate(a, 7) ^ rotate(a, 18) ^ (a &>> 3)
                let second = rotate(b, 17) ^ rotate(b, 19) ^ (b &>> 10)
                words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
            }
        }

        private mutating func mix(
            _ words: UnsafeMutableBufferPointer<UInt32>, _ constants: UnsafeBufferPointer<UInt32>
        ) {
            var (a, b, c, d) = (state[0], state[1], state[2], state[3])
            var (e, f, g, h) = (state[4], state[5], state[6], state[7])
            for index in 0..<64 {
                let sum1 = Self.rotate(e, 6) ^ Self.rotate(e, 11) ^ Self.rotate(e, 25)
                let choice = (e & f) ^ (~e & g)
                let first = h &+ sum1 &+ choice &+ constants[index] &+ words[index]
                let sum0 = Self.rotate(a, 2) ^ Self.rotate(a, 13) ^ Self.rotate(a, 22)
                let majority = (a & b) ^ (a & c) ^ (b & c)
                (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ sum0 &+ majority)
            }
            state &+= SIMD8(a, b, c, d, e, f, g, h)
        }

        private static func rotate(_ value: UInt32, _ count: UInt32) -> UInt32 {
            value &>> count | value &<< (32 - count)
        }

        /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
        private static let constants: [UInt32] = [
            0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
            0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
            0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
            0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
            0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
            0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
            0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
            0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
        ]
    }
#endif
