// SPDX-License-Identifier: Apache-2.0
// Reads the records of a CSV text (RFC 4180) one by one. Lines may end with CRLF, LF or CR; a byte order mark at the
// start is skipped; quoted fields may contain line breaks.

/// Reads the records of a source of bytes. Memory: one record. **Unstable**, like `Inspector`.
public struct CSVReader {
    public struct Record: Equatable {
        public var fields: [CSVField]
        /// The line on which the record begins, from 1.
        public var line: Int
    }

    public struct Problem: Error, Equatable {
        public var line: Int
        public var message: String
    }

    /// The maximum number of bytes in a record. A longer record most likely lacks a closing quotation mark.
    public static let recordLimit = 64 << 20
    /// The number of bytes that a field counts for beside those of its text: empty fields take memory, too.
    private static let fieldByteCount = 32
    private static let tooLong = "the record is longer than \(recordLimit) bytes"

    private var source: ByteSource
    private let separator: UInt8
    private let limit: Int
    private var line = 1

    /// `limit` is for tests.
    public init(_ source: ByteSource, separator: UInt8 = UInt8(ascii: ","), limit: Int = CSVReader.recordLimit) {
        self.source = source
        self.separator = separator
        self.limit = limit
        if self.source.peek(3) == [0xef, 0xbb, 0xbf] { self.source.skip(3) }
    }

    /// The next record; nil at the end. Empty lines are skipped. Throws `Problem`, after which the reader continues
    /// with the next line.
    public mutating func next() throws -> Record? {
        while let byte = try source.peekByte() {
            guard byte == 0x0a || byte == 0x0d else { return try record() }
            try skipLineEnd()
        }
        return nil
    }

    private mutating func record() throws -> Record {
        var record = Record(fields: [], line: line)
        var length = 0
        while true {
            record.fields.append(try field(&length, record.line))
            length += Self.fieldByteCount
            guard length <= limit else { throw try problem(Self.tooLong, record.line) }
            guard let byte = try source.peekByte() else { return record }
            if byte == separator {
                source.skip(1)
                continue
            }
            try skipLineEnd()
            return record
        }
    }

    private mutating func skipLineEnd() throws {
        let isReturn = try source.peekByte() == 0x0d
        source.skip(1)
        if isReturn, try source.peekByte() == 0x0a { source.skip(1) }
        line += 1
    }

    private mutating func field(_ length: inout Int, _ start: Int) throws -> CSVField {
        if try source.peekByte() == UInt8(ascii: "\"") { return try quotedField(&length, start) }
        var bytes: [UInt8] = []
        while let byte = try source.peekByte(), byte != separator, byte != 0x0a, byte != 0x0d {
            guard byte != UInt8(ascii: "\"") else {
                throw try problem("a quotation mark is within a field that does not begin with one", start)
            }
            bytes.append(byte)
            source.skip(1)
            guard length + bytes.count <= limit else { throw try problem(Self.tooLong, start) }
        }
        length += bytes.count
        return CSVField(try text(bytes, start), isQuoted: false)
    }

    private mutating func quotedField(_ length: inout Int, _ start: Int) throws -> CSVField {
        source.skip(1)
        var bytes: [UInt8] = []
        while let byte = try source.peekByte() {
            source.skip(1)
            if byte == UInt8(ascii: "\"") {
                guard try source.peekByte() == UInt8(ascii: "\"") else {
                    let next = try source.peekByte()
                    guard next == nil || next == separator || next == 0x0a || next == 0x0d else {
                        throw try problem("there is text after the closing quotation mark of a field", start)
                    }
                    length += bytes.count
                    return CSVField(try text(bytes, start), isQuoted: true)
                }
                source.skip(1)
            }
            if byte == 0x0a { line += 1 }
            if byte == 0x0d, try source.peekByte() != 0x0a { line += 1 }
            bytes.append(byte)
            guard length + bytes.count <= limit else {
                throw try problem(Self.tooLong, start)
            }
        }
        throw Problem(line: start, message: "a quotation mark is not closed")
    }

    private mutating func text(_ bytes: [UInt8], _ start: Int) throws -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw try problem("it is not valid UTF-8", start)
        }
        return text
    }

    /// Skips the rest of the line, and returns the problem.
    private mutating func problem(_ message: String, _ start: Int) throws -> Problem {
        while let byte = try source.peekByte(), byte != 0x0a, byte != 0x0d { source.skip(1) }
        if try source.peekByte() != nil { try skipLineEnd() }
        return Problem(line: start, message: message)
    }
}
