// SPDX-License-Identifier: Apache-2.0
// Compares the tag with values of XXH3-128 computed with the reference implementation (input byte i = 7 i + 3).

import RegnumEngine
import Testing

@Suite struct ContentHashTests {
    @Test(
        "Tags are XXH3-128",
        arguments: [
            (241, UInt64(0), UInt64(0xac6c_3492_c3d6_b45d), UInt64(0x8bea_dd3a_8874_fe17)),
            (241, 12345, 0xec1c_2158_46fc_361e, 0x0255_751e_1047_6213),
            (1024, 0, 0x18bc_0eac_a9a3_3636, 0x9b81_661c_641c_72b1),
            (1025, 0, 0xbf44_7251_cfa9_8d7c, 0x806c_2072_ed71_3576),
            (4080, 12345, 0x4444_c413_c6da_c521, 0xdc80_baf4_629c_0095),
            (4096, 0, 0x1546_8674_2310_5cd5, 0xd742_8746_842b_e37e),
            (16384, 12345, 0xa742_2336_7cc0_2f37, 0x354c_79c8_71af_480a),
        ])
    func published(count: Int, seed: UInt64, high: UInt64, low: UInt64) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) }
        let tag = bytes.withUnsafeBytes {
            ContentHash(seedLow: seed, seedHigh: seed).tag($0.baseAddress.unsafelyUnwrapped, count)
        }
        #expect(tag == ContentHash.Tag(low: low, high: high))
    }

    @Test("Both halves of the seed change the tag")
    func seeds() {
        let bytes = [UInt8](repeating: 1, count: 4096)
        let tags = [(0, 0), (1, 0), (0, 1), (1, 1)].map { low, high in
            bytes.withUnsafeBytes {
                ContentHash(seedLow: low, seedHigh: high).tag($0.baseAddress.unsafelyUnwrapped, 4096)
            }
        }
        for (i, a) in tags.enumerated() { for b in tags[(i + 1)...] { #expect(a != b) } }
    }
}
