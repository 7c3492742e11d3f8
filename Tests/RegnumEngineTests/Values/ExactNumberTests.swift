// SPDX-License-Identifier: Apache-2.0
// The exact comparison of numbers of different types: its result, and the size of the numbers that it makes.

import Testing

@testable import RegnumEngine

@Suite("Exact numbers") struct ExactNumberTests {
    /// The decimal number with that coefficient and exponent.
    private func decimal(_ coefficient: UInt64, _ exponent: Int) throws -> ExactNumber {
        try #require(ExactNumber(.decimal128(coefficient, UInt64(exponent + 6176) << 49)))
    }

    @Test("Two large decimals are compared without their common power of ten", arguments: [6000, 20, 0, -20, -6000])
    func commonExponent(_ exponent: Int) throws {
        let (small, large) = (try decimal(11, exponent), try decimal(12, exponent))
        #expect(small.compare(large) < 0 && large.compare(small) > 0 && small.compare(small) == 0)
        let (left, right) = small.scaled(with: large)
        #expect(left.wordCount == 1 && right.wordCount == 1)
    }

    @Test("Two large doubles are compared without their common power of two")
    func commonBinaryExponent() throws {
        let small = try #require(ExactNumber(.double(0x1p1000)))
        let large = try #require(ExactNumber(.double(0x1.8p1000)))
        #expect(small.compare(large) < 0)
        #expect(small.scaled(with: large).0.wordCount <= 2)
    }

    @Test("Numbers of different types and exponents are compared exactly")
    func differentTypes() throws {
        let million = try #require(ExactNumber(.int(1_000_000)))
        #expect(million.compare(try decimal(1, 6)) == 0)
        #expect(million.compare(try decimal(10_000_001, -1)) < 0)
        let half = try #require(ExactNumber(.double(0.5)))
        #expect(half.compare(try decimal(5, -1)) == 0)
        #expect(half.compare(try decimal(51, -2)) < 0)
    }
}
