// SPDX-License-Identifier: Apache-2.0
// The tag of a block: XXH3-128 (xxHash specification 0.8, the variant for inputs over 240 bytes) under a secret derived
// from the file's 128-bit seed, so that content cannot be crafted to collide. If both halves of the seed are equal, it
// is the published hash with that seed, which the tests check against published values. It does not authenticate:
// encryption has its own tags.

/// The hash function of one file. Holds a pointer to 192 bytes that live as long as the object.
package final class ContentHash: Sendable {
    package struct Tag: Equatable, Sendable {
        package var low: UInt64
        package var high: UInt64
        package init(low: UInt64, high: UInt64) { self.low = low; self.high = high }
    }

    /// The secret; 24 words, immutable after `init`.
    private nonisolated(unsafe) let secret: UnsafeMutablePointer<UInt64>

    private static let baseSecret: [UInt64] = [
        0xbe4b_a423_396c_feb8, 0x1cad_21f7_2c81_017c, 0xdb97_9083_e96d_d4de, 0x1f67_b3b7_a4a4_4072,
        0x78e5_c0cc_4ee6_79cb, 0x2172_ffcc_7dd0_5a82, 0x8e24_43f7_7446_08b8, 0x4c26_3a81_e690_35e0,
        0xcb00_c391_bb52_283c, 0xa32e_531b_8b65_d088, 0x4ef9_0da2_9748_6471, 0xd8ac_dea9_46ef_1938,
        0x3f34_9ce3_3f76_faa8, 0x1d4f_0bc7_c7bb_dcf9, 0x3159_b4cd_4be0_518a, 0x6473_78d9_c97e_9fc8,
        0xc3eb_d334_83ac_c5ea, 0xeb63_13fa_ffa0_81c5, 0x49da_f0b7_51dd_0d17, 0x9e68_d429_2655_16d3,
        0xfca1_477d_58be_162b, 0xce31_d07a_d1b8_f88f, 0x2804_1695_8f3a_cb45, 0x7e40_4bbb_cafb_d7af,
    ]

    package init(seedLow: UInt64, seedHigh: UInt64) {
        secret = .allocate(capacity: 24)
        for i in 0..<12 {
            secret[2 * i] = Self.baseSecret[2 * i] &+ seedLow
            secret[2 * i + 1] = Self.baseSecret[2 * i + 1] &- seedHigh
        }
    }

    deinit { secret.deallocate() }

    private static let prime32x1: UInt64 = 0x9E37_79B1
    private static let prime64x1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime64x2: UInt64 = 0xC2B2_AE3D_27D4_EB4F

    /// Hashes `byteCount` bytes, which must be more than 240. About 20 GB/s on one core.
    package func tag(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> Tag {
        precondition(byteCount > 240)
        var acc = SIMD8<UInt64>(
            0xC2B2_AE3D, Self.prime64x1, Self.prime64x2, 0x1656_67B1_9E37_79F9,
            0x85EB_CA77_C2B2_AE63, 0x85EB_CA77, 0x27D4_EB2F_1656_67C5, Self.prime32x1)
        let secret = UnsafeRawPointer(self.secret)
        let blocks = (byteCount &- 1) / 1024
        var p = bytes
        for _ in 0..<blocks {
            for stripe in 0..<16 { Self.accumulate(&acc, p + stripe &* 64, secret + stripe &* 8) }
            let key = (secret + 128).loadUnaligned(as: SIMD8<UInt64>.self)
            acc = (acc ^ (acc &>> 47) ^ key) &* SIMD8(repeating: Self.prime32x1)
            p += 1024
        }
        for stripe in 0..<((byteCount &- 1 &- blocks &* 1024) / 64) {
            Self.accumulate(&acc, p + stripe &* 64, secret + stripe &* 8)
        }
        Self.accumulate(&acc, bytes + (byteCount &- 64), secret + 121)
        let length = UInt64(byteCount)
        return Tag(
            low: Self.merge(acc, secret + 11, length &* Self.prime64x1),
            high: Self.merge(acc, secret + 117, ~(length &* Self.prime64x2)))
    }

    @inline(__always)
    private static func accumulate(_ acc: inout SIMD8<UInt64>, _ p: UnsafeRawPointer, _ secret: UnsafeRawPointer) {
        let data = p.loadUnaligned(as: SIMD8<UInt64>.self)
        let key = data ^ secret.loadUnaligned(as: SIMD8<UInt64>.self)
        acc &+= SIMD8(data[1], data[0], data[3], data[2], data[5], data[4], data[7], data[6])
        acc &+= (key & SIMD8(repeating: 0xffff_ffff)) &* (key &>> 32)
    }

    private static func merge(_ acc: SIMD8<UInt64>, _ secret: UnsafeRawPointer, _ start: UInt64) -> UInt64 {
        var result = start
        for i in 0..<4 {
            let keyA = secret.loadUnaligned(fromByteOffset: 16 * i, as: UInt64.self)
            let keyB = secret.loadUnaligned(fromByteOffset: 16 * i + 8, as: UInt64.self)
            let a: UInt64 = acc[2 * i] ^ keyA
            let b: UInt64 = acc[2 * i + 1] ^ keyB
            let product = a.multipliedFullWidth(by: b)
            result &+= product.low ^ product.high
        }
        result ^= result &>> 37
        result &*= 0x1656_6791_9E37_79F9
        return result ^ (result &>> 32)
    }
}
