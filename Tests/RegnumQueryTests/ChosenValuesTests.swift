// SPDX-License-Identifier: Apache-2.0
// Values chosen by an attacker who knows the hash function: all of them once collided, so that a lookup visited them
// one by one, and a set of 40,000 received values took seconds to build. A secret factor now spreads them.

import RegnumEngine
import Testing

@testable import RegnumQuery

@Suite struct ChosenValuesTests {
    private static let count = 2000
    /// The longest run for 2,000 random values in 4,096 slots is about fifty.
    private static let longest = 200

    /// The number whose product with `factor`, which is odd, is 1.
    private static func inverse(_ factor: UInt64) -> UInt64 {
        var inverse = factor
        for _ in 0..<6 { inverse = inverse &* (2 &- factor &* inverse) }
        return inverse
    }

    @Test("Chosen integers do not collide")
    func numbers() {
        let step = Self.inverse(0x9E37_79B9_7F4A_7C15)
        let numbers = (0..<UInt64(Self.count)).map { Int64(bitPattern: $0 &* step) }
        let set = IntegerSet(numbers)
        #expect(set.longestRun > 0 && set.longestRun < Self.longest)
        #expect(numbers.allSatisfy { set.contains($0) } && !set.contains(numbers[1] &+ 1))
    }

    /// All numbers that have no other bits than these.
    private static func span(_ bits: [UInt64]) -> [UInt64] {
        bits.reduce([0]) { numbers, bit in numbers + numbers.map { $0 | 1 << bit } }
    }

    // A secret combined with the values bit by bit only shifts them all: 53,000 were adjacent.
    @Test("Values that differ in a few bits do not collide")
    func spans() {
        let numbers = Self.span([3, 7, 13, 17, 18, 26, 33, 34, 35, 36, 37, 49, 50, 54, 55, 56])
        let set = IntegerSet(numbers.map { Int64(bitPattern: $0) })
        #expect(set.longestRun > 0 && set.longestRun < 1000)
        let ids = Self.span([16, 24, 25, 26, 27, 33, 34, 35, 36, 44, 51, 52, 53, 62, 63])
        #expect(WideSet(ids.map { WideKey(low: 12_345, high: $0) }).longestRun < 1000)
        #expect(WideSet(ids.map { WideKey(low: $0, high: 12_345) }).longestRun < 1000)
        let texts = numbers.map { number in withUnsafeBytes(of: number) { Array($0) } }
        #expect(ByteStringSet(texts).longestRun < 1000)
    }

    @Test("Sequences with a stride do not collide")
    func sequences() {
        for step in [1000, 1 << 12, 1 << 33] {
            #expect(IntegerSet((0..<65_536).map { Int64($0 * step) }).longestRun < Self.longest)
        }
    }

    @Test("Chosen texts do not collide, folded or not", arguments: [false, true])
    func texts(isFolded: Bool) {
        let texts = isFolded ? Self.textsOfOneFoldedPlace() : Self.textsOfOnePlace()
        let set = ByteStringSet(texts, isFolded: isFolded)
        #expect(set.count == texts.count)
        #expect(set.longestRun > 0 && set.longestRun < Self.longest)
        #expect(texts.allSatisfy { text in text.withUnsafeBytes { set.contains($0) } })
    }

    /// Texts of eight bytes each, computed by inverting the hash function.
    private static func textsOfOnePlace() -> [[UInt8]] {
        let factor = inverse(0xD6E8_FEB8_6659_FD93)
        func back(_ word: UInt64) -> UInt64 {
            let half = (word ^ word >> 32) &* factor
            return (half ^ half >> 32) &* factor
        }
        let start: UInt64 = 8 &* 0x9E37_79B9_7F4A_7C15
        return (1...UInt64(count)).map { number in
            let word = back(back(number << 32)) ^ start
            return withUnsafeBytes(of: word.littleEndian) { Array($0) }
        }
    }

    /// Numbers in hexadecimal digits, selected so that they hash to one of four adjacent slots.
    private static func textsOfOneFoldedPlace() -> [[UInt8]] {
        var texts: [[UInt8]] = []
        var number: UInt64 = 0
        let factor: UInt64 = 0xD6E8_FEB8_6659_FD93
        while texts.count < 500 {
            number += 1
            let text = Array(String(number, radix: 16).utf8)
            var hash = UInt64(text.count) &* 0x9E37_79B9_7F4A_7C15
            for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            hash = (hash ^ hash >> 29) &* factor
            hash = (hash ^ hash >> 32) &* factor
            hash ^= hash >> 32
            if hash & 1023 < 4 { texts.append(text) }
        }
        return texts
    }

    @Test("Chosen ids, and doubles with whole values, do not collide")
    func wide() {
        let ids = (1...UInt64(Self.count)).map { WideKey(low: $0 &* 0xC2B2_AE3D_27D4_EB4F, high: $0) }
        // These are not chosen to collide: their low bits are all 0.
        let doubles = (0..<Self.count).map { WideKey(Double($0)) }
        for keys in [ids, doubles] {
            let set = WideSet(keys)
            #expect(set.longestRun > 0 && set.longestRun < Self.longest)
            #expect(keys.allSatisfy { set.contains($0) } && !set.contains(WideKey(low: 1, high: 2)))
        }
    }

    @Test("Chosen values do not collide in a distinct query")
    func distinct() {
        var words: [UInt64] = []
        var word: UInt64 = 0
        while words.count < 400 {
            word += 1
            let product = (0x9E37_79B9_7F4A_7C15 ^ word).multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
            let hash = product.high ^ product.low
            if (hash ^ hash >> 29) & 1023 < 4 { words.append(word) }
        }
        var rows = DistinctRows([.words(words + words)])
        let areFirst = (0..<800).map { rows.insert($0) }
        #expect(areFirst == (0..<800).map { $0 < 400 })
        #expect(rows.longestRun > 0 && rows.longestRun < Self.longest)
    }
}
