// SPDX-License-Identifier: Apache-2.0
// JSON values as text: what is written is parsed again as the same value.

import RegnumSystem
import Testing

@Suite("JSON as text") struct JSONWritingTests {
    @Test(
        "A value is written in one line, and parsed again as it was",
        arguments: [
            #"null"#, #"true"#, #"[]"#, #"{}"#, #"[1,-0,1.50,1E+9,123456789012345678901234567890.125]"#,
            #"{"b":1,"a":{"":[false,"x"]}}"#, #""a \"quoted\" \\ line\n""#, #"["\u0000\u001f\u007f😀"]"#,
        ])
    func roundTrips(_ text: String) throws {
        let value = try JSONParser.parse(Array(text.utf8))
        #expect(value.text == text)
        let again = try JSONParser.parse(Array(value.text.utf8))
        #expect(again == value)
    }

    @Test("Whole numbers keep all their digits", arguments: [.min, -1, 0, 1 << 53 + 1, .max] as [Int64])
    func integers(_ number: Int64) throws {
        #expect(JSONValue.int(number).text == "\(number)")
        #expect(JSONValue.int(UInt64.max).text == "18446744073709551615")
        let parsed = try JSONParser.parse(Array(JSONValue.int(number).text.utf8))
        #expect(parsed == .number("\(number)"))
    }

    @Test("Numbers that JSON lacks are strings, others are exact")
    func doubles() throws {
        #expect(JSONValue.double(.nan).text == #""nan""#)
        #expect(JSONValue.double(.infinity).text == #""inf""# && JSONValue.double(-.infinity).text == #""-inf""#)
        for number in [0.1, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 1e-5, 1e22, 123_456_789.123] {
            guard case .number(let text) = try JSONParser.parse(Array(JSONValue.double(number).text.utf8)) else {
                Issue.record("\(number) is no number")
                continue
            }
            #expect(Double(text)?.bitPattern == number.bitPattern)
        }
    }

    @Test("As many levels as are parsed are written")
    func depth() throws {
        let text = String(repeating: #"{"a":["#, count: 255) + "1" + String(repeating: "]}", count: 255)
        let value = try JSONParser.parse(Array(text.utf8))
        #expect(value.text == text)
    }
}
