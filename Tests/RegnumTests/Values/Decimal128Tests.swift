// SPDX-License-Identifier: Apache-2.0
// Decimal128 compared with results of another library (Decimal128Cases.txt, written by Scripts/decimal-cases with
// Python's decimal module), with laws of arithmetic, and with the behaviour that RealmSwift's users expect.

import Foundation
import Testing

@testable import Regnum
@testable import RegnumEngine

private func decimal(_ text: String) -> Decimal128 { Decimal128(stringLiteral: text) }

struct Decimal128Tests {
    private static let cases: [[String]] = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Decimal128Cases.txt")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    }()

    private func hex(_ number: Decimal128) -> String {
        func digits(_ word: UInt64) -> String {
            let text = String(word, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        return digits(number.bits.high) + digits(number.bits.low)
    }

    private func cases(_ operation: String) -> [[String]] { Self.cases.filter { $0[0] == operation } }

    @Test(arguments: ["+", "-", "*", "/"])
    func `arithmetic gives the correctly rounded result, bit for bit`(_ symbol: String) throws {
        let cases = cases(symbol)
        #expect(cases.count >= 700)
        for line in cases {
            let (a, b) = (decimal(line[1]), decimal(line[2]))
            let result =
                switch symbol {
                case "+": a + b
                case "-": a - b
                case "*": a * b
                default: a / b
                }
            try #require(hex(result) == line[3], "\(line)")
        }
    }

    @Test func `text is read with correct rounding`() throws {
        #expect(cases("text").count == 500)
        for line in cases("text") { try #require(hex(decimal(line[1])) == line[2], "\(line)") }
    }

    @Test func `doubleValue is the nearest Double`() throws {
        #expect(cases("double").count == 400)
        for line in cases("double") {
            let bits = String(decimal(line[1]).doubleValue.bitPattern, radix: 16)
            try #require(bits == String(UInt64(line[2], radix: 16) ?? 0, radix: 16), "\(line)")
        }
    }

    @Test func `numbers compare by value`() throws {
        #expect(cases("order").count == 400)
        for line in cases("order") {
            let (a, b) = (decimal(line[1]), decimal(line[2]))
            let order = a < b ? "<" : a > b ? ">" : "="
            try #require(order == line[3], "\(line)")
            try #require((a == b) == (line[3] == "="), "\(line)")
            if a == b { try #require(a.hashValue == b.hashValue, "\(line)") }
        }
    }

    @Test func `random numbers keep the laws of arithmetic and survive their own text`() throws {
        var random = SystemRandomNumberGenerator()
        func number(_ exponent: ClosedRange<Int>) -> Decimal128 {
            var digits = ""
            for _ in 0..<Int.random(in: 1...34, using: &random) { digits += "\(Int.random(in: 0...9, using: &random))" }
            let sign = Bool.random(using: &random) ? "-" : ""
            return decimal("\(sign)\(digits)E\(Int.random(in: exponent, using: &random))")
        }
        for _ in 0..<3000 {
            let (a, b) = (number(-60...60), number(-60...60))
            try #require(a + b == b + a && a * b == b * a, "\(a) \(b)")
            try #require(a - b == -(b - a) && (a - a) == 0 && a + 0 == a && a * 1 == a && a / 1 == a, "\(a) \(b)")
            try #require((a < b) == (a - b < 0), "\(a) \(b)")
            if b != 0 { try #require((a * b).magnitude == a.magnitude * b.magnitude && b / b == 1, "\(a) \(b)") }
            let wide = number(-6176...6111)
            try #require(hex(decimal(wide.description)) == hex(wide), "\(wide)")
        }
    }

    @Test func `any 128 bits are read without harm and equal their one form`() {
        for _ in 0..<3000 {
            let bits = DecimalBits(low: .random(in: 0 ... .max), high: .random(in: 0 ... .max))
            let number = Decimal128(bits: bits)
            let form = Decimal128(bits: bits.canonical)
            #expect(number == form && number.hashValue == form.hashValue && number.description == form.description)
            #expect(number + 0 == form || number.isNaN)
        }
    }

    @Test func `nonstandard encodings of a number are that number`() {
        // 10, once as 1E1 and once as 10E0; a coefficient of 10^34, which counts as 0; the large form.
        let ten = DecimalBits(false, 10, 0)
        #expect(Decimal128(bits: ten) == 10)
        #expect(Decimal128(bits: ten).hashValue == Decimal128(10).hashValue)
        #expect(Decimal128(bits: ten) + 1 == 11)
        #expect(Decimal128(bits: DecimalBits(false, DecimalBits.coefficientLimit, 0)) == 0)
        #expect(Decimal128(bits: DecimalBits(low: 5, high: 0x6000_0000_0000_0000)) == 0)
    }

    @Test(arguments: [
        ("9.876543", "9.876543"), ("9.8765430", "9.876543"), ("1.23456789E132", "1.23456789E132"),
        ("1.234567890E+132", "1.23456789E132"), ("-0.5", "-0.5"), ("100", "100"), ("1E3", "1E3"),
        ("123e4", "1.23E6"), ("-12.30E+5", "-1.23E6"), ("12.3e1", "123"), ("1e0", "1"), ("0E5", "0"),
        ("1000000000000000000000000000000000", "1000000000000000000000000000000000"), ("1E34", "1E34"),
        ("0.000001", "0.000001"), ("0.0000001", "1E-7"), ("-0", "0"), ("0.000", "0"), ("+7", "7"), (".5", "0.5"),
        ("5.", "5"),
        ("nan", "NaN"), ("NaN", "NaN"), ("snan", "NaN"), ("inf", "Inf"), ("-Infinity", "-Inf"), ("1E6145", "Inf"),
        ("-1E99999999999999999999", "-Inf"), ("1E-99999999999999999999", "0"),
        ("9999999999999999999999999999999999.5", "1E34"), ("", "NaN"), ("x", "NaN"), ("1x", "NaN"),
        ("1E", "NaN"), ("1E+", "NaN"), (".", "NaN"), ("--1", "NaN"), ("1.2.3", "NaN"), (" 1", "NaN"), ("-", "NaN"),
    ])
    func `text is read and shown`(_ text: String, _ shown: String) throws {
        #expect(try Decimal128(string: text).description == shown)
        #expect(try Decimal128(string: text).stringValue == shown)
    }

    // RealmSwift prints a number with the exponent of its text. Here equal numbers have equal bits, so only a number
    // that has not been stored or computed keeps the exponent of its text.
    @Test func `an exponent is shown as long as the number is the one that the text gave`() throws {
        let number: Decimal128 = "123e4"
        #expect("\(number)" == "1.23E6" && number.stringValue == "1.23E6")
        #expect(Decimal128(value: number).description == "1.23E6")
        #expect(number == 1_230_000 && number.hashValue == Decimal128(1_230_000).hashValue)
        #expect(Decimal128(1_230_000).description == "1230000" && (number + 0).description == "1230000")
        #expect(Decimal128(value: "1E2").description == "1E2" && Decimal128(value: "nan").description == "NaN")
        let coded = try JSONEncoder().encode([number])
        #expect(try JSONDecoder().decode([Decimal128].self, from: coded).first?.description == "1.23E6")
    }

    @Test func `numbers of all types are taken`() throws {
        #expect(Decimal128() == 0)
        #expect(Decimal128(value: 0.1) == "0.1")
        #expect(Decimal128(value: Float(1.7)) == "1.7")
        #expect(Decimal128(value: Int8(-3)) == -3)
        #expect(Decimal128(value: UInt64.max) == "18446744073709551615")
        #expect(Decimal128(value: Int64.min) == "-9223372036854775808")
        #expect(Decimal128(value: "1.5") == 1.5)
        #expect(Decimal128(value: try #require(Decimal(string: "123.456"))) == "123.456")
        #expect(Decimal128(value: NSNumber(value: 2.5)) == 2.5)
        #expect(Decimal128(number: 7) == 7)
        #expect(Decimal128(number: NSDecimalNumber(string: "0.001")) == "0.001")
        #expect(Decimal128(value: NSNull()).isNaN)
        #expect(Decimal128(value: [1]).isNaN)
        #expect(Decimal128(value: Double.nan).isNaN)
        #expect(Decimal128(value: -Double.infinity) == "-inf")
        #expect(Decimal128(1).isEqual(NSNumber(value: 1.0)))
        #expect(!Decimal128(1).isEqual(NSNumber(value: 2)))
        #expect(!Decimal128(1).isEqual(nil))
        #expect(Decimal128(exactly: 12) == 12)
        #expect(Decimal128(exactly: UInt128.max) == nil)
        #expect(Decimal128(exactly: UInt128(10) << 100) != nil)
        #expect(Decimal128("123.456").decimalValue == Decimal(string: "123.456"))
        #expect(Decimal128("1E-400").doubleValue == 0 && Decimal128("-1E400").doubleValue == -.infinity)
    }

    @Test func `NaN is less than all numbers and equal to itself`() {
        let nan = decimal("nan")
        #expect(nan < Decimal128.min && nan < decimal("-inf") && !(Decimal128.min < nan))
        #expect(nan == decimal("nan") && nan == decimal("snan") && nan.hashValue == decimal("snan").hashValue)
        #expect(decimal("snan").isSignaling && !nan.isSignaling && !(decimal("snan") + 1).isSignaling)
        #expect(Decimal128.min < 0 && Decimal128.max > "9.99E6144" && Decimal128.max * 2 == "inf")
    }

    @Test func `numbers work where Swift's numbers do`() {
        var sum = Decimal128()
        for number in stride(from: 1 as Decimal128, through: 2, by: 0.25) { sum += number }
        #expect(sum == 7.5)
        sum *= 2
        sum -= 1
        sum /= 4
        #expect(sum == 3.5)
        sum.negate()
        #expect(sum == -3.5 && sum.magnitude == 3.5)
        #expect(sum.distance(to: 1) == 4.5 && sum.advanced(by: 0.5) == -3)
    }

    @Test func `a number is coded as a string and decoded from strings and numbers`() throws {
        let text = String(decoding: try JSONEncoder().encode([Decimal128("1.50"), 7]), as: UTF8.self)
        #expect(text == #"["1.5","7"]"#)
        let numbers = try JSONDecoder().decode([Decimal128].self, from: Data(#"["1E3", 12, 0.1, "nan"]"#.utf8))
        #expect(numbers == ["1000", "12", "0.1", "nan"])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([Decimal128].self, from: Data("[true]".utf8)) }
    }
}
