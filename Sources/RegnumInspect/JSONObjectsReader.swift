// SPDX-License-Identifier: Apache-2.0
// Splits a text into its JSON objects: the elements of one array, or one value after another, such as one per line.

/// Memory: one object. **Unstable**, like `Inspector`.
public struct JSONObjectsReader {
    public struct Object: Equatable {
        public var json: [UInt8]
        /// The line on which the object begins, from 1.
        public var line: Int
    }

    public typealias Problem = CSVReader.Problem

    private var source: ByteSource
    private var line = 1
    private var isArray: Bool?

    public init(_ source: ByteSource) {
        self.source = source
        if self.source.peek(3) == [0xef, 0xbb, 0xbf] { self.source.skip(3) }
    }

    /// Returns the next object; nil at the end. Its text is not parsed, only delimited. Throws `Problem` if the text
    /// between the objects is not valid JSON, or if the last object is incomplete.
    public mutating func next() throws -> Object? {
        try skipBlanks()
        if isArray == nil {
            isArray = try source.peekByte() == UInt8(ascii: "[")
            if isArray == true {
                source.skip(1)
                try skipBlanks()
                if try source.peekByte() == UInt8(ascii: "]") { return try end() }
            }
        } else if isArray == true {
            switch try source.peekByte() {
            case UInt8(ascii: "]"): return try end()
            case UInt8(ascii: ","): source.skip(1)
            default: throw Problem(line: line, message: "the array lacks a comma or its end")
            }
            try skipBlanks()
        }
        guard try source.peekByte() != nil else {
            if isArray == true { throw Problem(line: line, message: "the array lacks its end") }
            return nil
        }
        return try object()
    }

    private mutating func end() throws -> Object? {
        source.skip(1)
        try skipBlanks()
        guard try source.peekByte() == nil else {
            throw Problem(line: line, message: "there is more text after the array")
        }
        // A further call finds the end of the text.
        isArray = false
        return nil
    }

    private mutating func skipBlanks() throws {
        while let byte = try source.peekByte(), byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
            if byte == 0x0a { line += 1 }
            source.skip(1)
        }
    }

    private mutating func object() throws -> Object {
        var object = Object(json: [], line: line)
        var depth = 0
        var isInString = false
        while let byte = try source.peekByte() {
            if depth == 0, !isInString, !object.json.isEmpty {
                // A number or a keyword ends before white space, a comma or a bracket.
                if byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") { return object }
            }
            source.skip(1)
            if byte == 0x0a { line += 1 }
            object.json.append(byte)
            guard object.json.count <= CSVReader.recordLimit else {
                throw Problem(line: object.line, message: "the object is longer than \(CSVReader.recordLimit) bytes")
            }
            if isInString {
                if byte == UInt8(ascii: "\\"), let next = try source.peekByte() {
                    source.skip(1)
                    object.json.append(next)
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                    if depth == 0 { return object }
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth <= 0 { return object }
            default: break
            }
        }
        if depth > 0 || isInString { throw Problem(line: object.line, message: "the object lacks its end") }
        return object
    }
}
