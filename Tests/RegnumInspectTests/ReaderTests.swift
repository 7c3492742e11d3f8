// SPDX-License-Identifier: Apache-2.0
// The readers of CSV and of JSON objects, with every length of the chunks they read.

import Testing

@testable import RegnumInspect

@Suite struct ReaderTests {
    @Test("A record without a line end is refused at its limit, however many or long its fields are")
    func longRecords() throws {
        let long = 1_001
        for text in [Array(repeating: UInt8(ascii: ","), count: long / 32 + 1), Array(repeating: 0x61, count: long)] {
            var reader = CSVReader(ByteSource(text + Array("\nlast\n".utf8)), limit: 1_000)
            #expect(throws: CSVReader.Problem.self) { try reader.next() }
            #expect(try reader.next()?.fields.map(\.text) == ["last"])
        }
    }

    @Test("After a quoted field that is too long, reading continues with the next line, not within the field")
    func longQuotedField() throws {
        let long = [UInt8(ascii: "\"")] + Array(repeating: 0x61, count: 1_001)
        var reader = CSVReader(ByteSource(long + Array(",rest\nlast\n".utf8)), limit: 1_000)
        #expect(throws: CSVReader.Problem.self) { try reader.next() }
        #expect(try reader.next()?.fields.map(\.text) == ["last"])
    }

    private func records(_ text: String, _ chunk: Int = .max) throws -> [[String]] {
        var reader = CSVReader(ByteSource(Array(text.utf8), chunkLength: chunk))
        var records: [[String]] = []
        while let record = try reader.next() { records.append(record.fields.map(\.text)) }
        return records
    }

    @Test(
        "CSV is read as RFC 4180 describes it",
        arguments: [
            ("a,b\nc,d", [["a", "b"], ["c", "d"]]), ("a,b\r\nc,d\r\n", [["a", "b"], ["c", "d"]]),
            ("a\rb\r", [["a"], ["b"]]), ("\u{FEFF}a,b", [["a", "b"]]), ("\"a\nb\r\nc\",d", [["a\nb\r\nc", "d"]]),
            ("\"a\"\"b\",\"\"", [["a\"b", ""]]), (",\n,,", [["", ""], ["", "", ""]]), ("a\n\n\r\nb", [["a"], ["b"]]),
            ("", []), ("\n", []), ("\"\"", [[""]]), (" a , b ", [[" a ", " b "]]),
            ("é,😀\n\"😀\"", [["é", "😀"], ["😀"]]),
            ("\"\u{FEFF}a\"", [["\u{FEFF}a"]]),
        ] as [(String, [[String]])])
    func csv(_ text: String, _ wanted: [[String]]) throws {
        for chunk in [1, 2, 3, 1000] { #expect(try records(text, chunk) == wanted, "chunks of \(chunk)") }
    }

    @Test("An empty field records whether it was quoted, and a record has its line")
    func fieldsAndLines() throws {
        var reader = CSVReader(ByteSource(Array(",\"\"\n\"x\ny\",z\r\nlast,one".utf8)))
        #expect(try reader.next() == .init(fields: [.init(""), .init("", isQuoted: true)], line: 1))
        #expect(try reader.next() == .init(fields: [.init("x\ny", isQuoted: true), .init("z")], line: 2))
        #expect(try reader.next() == .init(fields: [.init("last"), .init("one")], line: 4))
        #expect(try reader.next() == nil)
    }

    @Test("After a broken record the next line is read")
    func problems() throws {
        for (text, line) in [("a\nb\"c,d\ne", 2), ("a\n\"b\"c\ne", 2)] {
            var reader = CSVReader(ByteSource(Array(text.utf8)))
            #expect(try reader.next()?.fields.first?.text == "a")
            let problem = #expect(throws: CSVReader.Problem.self) { try reader.next() }
            #expect(problem?.line == line)
            #expect(try reader.next()?.fields.first?.text == "e")
        }
        var open = CSVReader(ByteSource(Array("a\n\"b\n\n".utf8)))
        _ = try open.next()
        let problem = #expect(throws: CSVReader.Problem.self) { try open.next() }
        #expect(problem == .init(line: 2, message: "a quotation mark is not closed"))
        var bytes = CSVReader(ByteSource([0xff, 0x0a, 0x61]))
        #expect(throws: CSVReader.Problem.self) { try bytes.next() }
        #expect(try bytes.next()?.fields.first?.text == "a")
    }

    @Test("Values written as CSV are read back unchanged")
    func roundTrip() throws {
        let samples: [[String?]] = [
            ["a", nil, ""], [nil], [""], ["a,b", "a\"b", "a\nb", "a\rb", " a ", "\u{FEFF}", "é"], [nil, nil],
        ]
        let text = samples.map { CSVText.record($0) }.joined()
        var reader = CSVReader(ByteSource(Array(text.utf8), chunkLength: 3))
        for sample in samples {
            let fields = try #require(try reader.next()).fields
            let found = fields.map { $0.text.isEmpty && !$0.isQuoted ? nil : $0.text }
            // A record of a single null has a second one, as it would be an empty line.
            #expect(found == (sample == [nil] ? [nil, nil] : sample))
        }
        #expect(try reader.next() == nil)
    }

    private func objects(_ text: String, _ chunk: Int = .max) throws -> [String] {
        var reader = JSONObjectsReader(ByteSource(Array(text.utf8), chunkLength: chunk))
        var objects: [String] = []
        while let object = try reader.next() { objects.append(String(decoding: object.json, as: UTF8.self)) }
        return objects
    }

    @Test(
        "An array and lines are split into their objects",
        arguments: [
            ("[]", []), ("", []), (" [ {\"a\": 1} , {\"b\": [1, {}]} ] ", ["{\"a\": 1}", "{\"b\": [1, {}]}"]),
            ("{}\n{}{}", ["{}", "{}", "{}"]), ("{\"a\": \"}\\\"]\"}\n", ["{\"a\": \"}\\\"]\"}"]),
            ("[1,2]", ["1", "2"]), ("\u{FEFF}{}", ["{}"]), ("1 \"a b\" x", ["1", "\"a b\"", "x"]),
        ] as [(String, [String])])
    func json(_ text: String, _ wanted: [String]) throws {
        for chunk in [1, 2, 1000] { #expect(try objects(text, chunk) == wanted, "chunks of \(chunk)") }
    }

    @Test(
        "An incomplete array or object is a problem",
        arguments: ["[", "[{}", "[{},", "{", "{\"a", "[{} {}]", "[] []"])
    func brokenJSON(_ text: String) { #expect(throws: CSVReader.Problem.self) { try objects(text) } }

    @Test("An object has its line")
    func jsonLines() throws {
        var reader = JSONObjectsReader(ByteSource(Array("[\n{\n},\n\n{}]".utf8)))
        #expect(try reader.next()?.line == 2)
        #expect(try reader.next()?.line == 5)
    }
}
