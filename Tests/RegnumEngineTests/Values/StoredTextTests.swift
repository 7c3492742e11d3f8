// SPDX-License-Identifier: Apache-2.0
// Strings made from stored bytes equal those that Swift makes from the same bytes, for any count, and also if the bytes
// are not UTF-8.

import Testing

@testable import RegnumEngine

@Suite struct StoredTextTests {
    /// Checks `bytes` at each of eight positions within a word, among other bytes.
    private func check(_ bytes: [UInt8], line: Int = #line) {
        let swifts = String(decoding: bytes, as: UTF8.self)
        for shift in 0..<8 {
            let amid = [UInt8](repeating: 0xc3, count: 8 + shift) + bytes + [UInt8](repeating: 0xa9, count: 16)
            let text = amid.withUnsafeBytes {
                StoredText.string(.init(rebasing: $0[(8 + shift)...].prefix(bytes.count)))
            }
            #expect(Array(text.utf8) == Array(swifts.utf8), "\(bytes) at \(shift)")
            #expect(text == swifts && text.hashValue == swifts.hashValue)
        }
    }

    @Test func ascii() {
        for count in 0...40 { check((0..<count).map { UInt8(0x21 + $0) }) }
        #expect(StoredText.string(UnsafeRawBufferPointer(start: nil, count: 0)).isEmpty)
    }

    @Test func zeroBytes() {
        for count in 1...17 { check([UInt8](repeating: 0, count: count)) }
    }

    @Test(arguments: ["é", "€", "😀", "e\u{301}", "aé", "日本語"]) func longScalars(_ part: String) {
        for times in 1...6 {
            for head in 0..<8 {
                check(Array((String(repeating: "x", count: head) + String(repeating: part, count: times)).utf8))
            }
        }
    }

    /// Cut scalars, bytes that are never UTF-8, surrogates: at each position of a text of each short count.
    @Test func notUTF8() {
        for wrong: [UInt8] in [[0x80], [0xff], [0xc0, 0x80], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]] {
            for count in wrong.count...17 {
                for place in 0...(count - wrong.count) {
                    var bytes = [UInt8](repeating: 0x61, count: count)
                    bytes.replaceSubrange(place..<place + wrong.count, with: wrong)
                    check(bytes)
                }
            }
        }
    }

    @Test func anyBytes() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            check((0..<Int.random(in: 0...17, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
        }
    }
}
