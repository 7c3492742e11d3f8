// SPDX-License-Identifier: Apache-2.0
// The values of objects in a file in Realm's format.

public import Foundation

/// A value of a property, or an element of a collection.
public enum RealmFileValue: Sendable, Hashable {
    /// No value, or a link to an object that was deleted on another device. Lists and sets of links omit such links.
    case null
    case bool(Bool)
    case int(Int64)
    case float(Float)
    case double(Double)
    /// A string. Bytes that are not valid UTF-8 are replaced by U+FFFD.
    case string(String)
    case data(Data)
    case date(RealmFileDate)
    case decimal(RealmFileDecimal)
    case objectId(RealmFileObjectId)
    case uuid(UUID)
    /// A link to an object, embedded or not.
    case link(RealmFileLink)
    case list([RealmFileValue])
    /// A set, in the order of the file, which differs between formats.
    case set([RealmFileValue])
    /// A dictionary, in the order of the file.
    case dictionary([RealmFileEntry])
    /// The rows of a table within a table (formats up to 9); each row holds the values of its columns in order. Lists
    /// of values in these formats are `.list`.
    case rows([[RealmFileValue]])
}

/// A point in time with nanosecond precision.
public struct RealmFileDate: Sendable, Hashable {
    /// Whole seconds since 1970-01-01 00:00 UTC.
    public let seconds: Int64
    /// Nanoseconds to add: of the same sign as `seconds`, and less than a second.
    public let nanoseconds: Int32

    public init(seconds: Int64, nanoseconds: Int32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The nearest `Date`.
    public var date: Date {
        // Counts from 2001, as Date does, so that a stored Date is read back unchanged.
        let whole = Double(seconds) - Date.timeIntervalBetween1970AndReferenceDate
        return Date(timeIntervalSinceReferenceDate: whole + Double(nanoseconds) / 1e9)
    }
}

/// The 12 bytes of an ObjectId.
public struct RealmFileObjectId: Sendable, Hashable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt32

    /// Reads the 12 bytes at `bytes`.
    package init(_ bytes: UnsafeRawPointer) {
        high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        low = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    }

    /// The bytes in order.
    public var bytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * UInt64($0))) }
            + (0..<4).map { UInt8(truncatingIfNeeded: low >> (24 - 8 * UInt32($0))) }
    }

    /// 24 hexadecimal digits.
    public var description: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// Refers to an object of the file.
public struct RealmFileLink: Sendable, Hashable {
    /// The index in `RealmFile.tables` of the table that holds the object; -1 for a link that names no table.
    public let tableIndex: Int
    /// The object's key; in formats up to 9 its row number.
    public let key: Int64

    public init(tableIndex: Int, key: Int64) {
        self.tableIndex = tableIndex
        self.key = key
    }
}

/// A key of a dictionary and its value.
public struct RealmFileEntry: Sendable, Hashable {
    public let key: RealmFileValue
    public let value: RealmFileValue

    public init(key: RealmFileValue, value: RealmFileValue) {
        self.key = key
        self.value = value
    }
}
