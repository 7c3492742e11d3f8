// SPDX-License-Identifier: Apache-2.0
// ObjectId: 12 bytes that are unique without coordination: time, a random part per process, and a counter.

public import Foundation
internal import Synchronization

/// A 12-byte identifier: 4 bytes of seconds since 1970, 5 bytes that identify the process, and a 3-byte counter, all
/// big endian, so that identifiers generated one after another are in ascending order.
public final class ObjectId: Sendable {
    // Atomic only for `RecycledValues`: an instance that nothing references any more may be given another value.
    private let lowWord: Atomic<UInt64>
    private let highWord: Atomic<UInt32>

    /// The first 8 bytes, loaded little endian.
    var low: UInt64 { lowWord.load(ordering: .relaxed) }
    /// The last 4 bytes.
    var high: UInt32 { highWord.load(ordering: .relaxed) }

    init(low: UInt64, high: UInt32) {
        lowWord = Atomic(low)
        highWord = Atomic(high)
    }

    /// Changes the value. Only for `RecycledValues`.
    func become(low: UInt64, high: UInt32) {
        lowWord.store(low, ordering: .relaxed)
        highWord.store(high, ordering: .relaxed)
    }

    /// Creates an identifier of twelve zero bytes.
    public convenience init() { self.init(low: 0, high: 0) }

    /// Creates an identifier from 24 hexadecimal digits. Throws `Realm.Error` (`.invalidInput`) for other text.
    public convenience init(string: String) throws {
        guard let bytes = ObjectId.parse(string) else {
            throw Realm.Error(
                .invalidInput, .unspecified, "Invalid Object ID string '\(string)': must be 24 hex digits")
        }
        self.init(bytes)
    }

    /// Creates an identifier from a literal of 24 hexadecimal digits. Any other literal is a programmer error.
    public convenience init(_ string: StaticString) {
        let text = string.description
        guard let bytes = ObjectId.parse(text) else {
            misuse("Invalid Object ID string '\(text)': must be 24 hex digits")
        }
        self.init(bytes)
    }

    /// Creates an identifier from a time (in whole seconds), a machine (3 bytes) and a process (2 bytes), and the next
    /// value of the counter.
    public convenience init(timestamp: Date, machineId: Int, processId: Int) {
        let seconds = UInt32(truncatingIfNeeded: Int64(timestamp.timeIntervalSince1970))
        let process =
            UInt64(truncatingIfNeeded: machineId & 0xff_ffff) << 16
            | UInt64(truncatingIfNeeded: processId & 0xffff)
        self.init(seconds: seconds, process: process)
    }

    /// Returns a new unique identifier, or the next one of the current `IdentifierGenerator`.
    public static func generate() -> ObjectId {
        if let generator = IdentifierGenerator.current { return generator.objectId() }
        return ObjectId(
            seconds: UInt32(truncatingIfNeeded: Int64(Date().timeIntervalSince1970)), process: processPart)
    }

    private convenience init(seconds: UInt32, process: UInt64) {
        let count = ObjectId.counter.wrappingAdd(1, ordering: .relaxed).newValue & 0xff_ffff
        let first = UInt64(seconds) << 32 | process >> 8
        let last = UInt32(truncatingIfNeeded: process & 0xff) << 24 | count
        self.init(low: first.byteSwapped, high: last.byteSwapped)
    }

    private convenience init(_ bytes: [UInt8]) {
        var first: UInt64 = 0
        var last: UInt32 = 0
        for index in (0..<8).reversed() { first = first << 8 | UInt64(bytes[index]) }
        for index in (8..<12).reversed() { last = last << 8 | UInt32(bytes[index]) }
        self.init(low: first, high: last)
    }

    private static let processPart = UInt64.random(in: 0..<(1 << 40))
    private static let counter = Atomic<UInt32>(UInt32.random(in: 0..<(1 << 24)))

    private static func parse(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count == 24 else { return nil }
        var bytes: [UInt8] = []
        for position in stride(from: 0, to: 24, by: 2) {
            guard let upper = hexValue(digits[position]), let lower = hexValue(digits[position + 1]) else {
                return nil
            }
            bytes.append(upper << 4 | lower)
        }
        return bytes
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The identifier as 24 lower-case hexadecimal digits.
    public var stringValue: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for index in 0..<12 {
            let byte =
                index < 8
                ? UInt8(truncatingIfNeeded: low >> UInt64(index * 8))
                : UInt8(truncatingIfNeeded: high >> UInt32((index - 8) * 8))
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The time of creation, in whole seconds.
    public var timestamp: Date { Date(timeIntervalSince1970: Double(low.byteSwapped >> 32)) }
}

extension ObjectId: Hashable, Comparable, CustomStringConvertible {
    public static func == (left: ObjectId, right: ObjectId) -> Bool {
        left.low == right.low && left.high == right.high
    }

    /// Compares the bytes.
    public static func < (left: ObjectId, right: ObjectId) -> Bool {
        left.low == right.low
            ? left.high.byteSwapped < right.high.byteSwapped : left.low.byteSwapped < right.low.byteSwapped
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(low)
        hasher.combine(high)
    }

    public var description: String { stringValue }
}

extension ObjectId: Codable {
    /// Decodes a string of 24 hexadecimal digits.
    public convenience init(from decoder: any Decoder) throws {
        try self.init(string: try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the identifier as a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(stringValue)
    }
}
