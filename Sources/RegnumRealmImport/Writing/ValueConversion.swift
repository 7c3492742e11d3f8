// SPDX-License-Identifier: Apache-2.0
// Converts the values of a source to the engine's values. A value that a column cannot hold becomes null, zero or
// empty, and is reported as a loss.

internal import Foundation
internal import RegnumEngine
internal import RegnumRealmFile

/// Functions that convert values. They call `lose` with the reason if a value cannot be carried over unchanged.
struct ValueConversion {
    /// Returns the imported object to which a link points; nil if there is none.
    typealias Resolve = (RealmFileLink) throws -> (classIndex: Int, table: TableKey, key: ObjectKey)?

    /// Returns the value that replaces a lost one: null if the column allows it, otherwise zero or empty.
    static func nothing(_ column: ColumnDefinition) -> Value {
        if column.isNullable || column.type == .link || column.type == .mixed { return .null }
        switch column.type {
        case .bool: return .bool(false)
        case .int: return .int(0)
        case .float: return .float(0)
        case .double: return .double(0)
        case .string: return .string("")
        case .data: return .data([])
        case .date: return .date(Timestamp(seconds: 0, nanoseconds: 0))
        case .objectID: return .objectID(0, 0)
        case .uuid: return .uuid(0, 0)
        case .decimal128: return .decimal128(0, 0)
        case .link, .mixed: return .null
        }
    }

    /// Converts a single value, or an element of a collection, of a column that holds neither links nor mixed values.
    static func scalar(_ value: RealmFileValue, _ column: ColumnDefinition, _ lose: (String) -> Void) -> Value {
        switch (column.type, value) {
        case (_, .null):
            if !column.isNullable { lose("it is null, which the property does not allow") }
            return nothing(column)
        case (.bool, .bool(let bit)): return .bool(bit)
        case (.int, .int(let number)): return .int(number)
        case (.float, .float(let number)): return .float(number)
        case (.double, .double(let number)): return .double(number)
        case (.string, .string), (.data, .data), (.date, .date), (.decimal128, .decimal), (.objectID, .objectId),
            (.uuid, .uuid):
            return plain(value, lose) ?? nothing(column)
        default:
            lose("it is \(name(value)), and the property is of type \(column.type)")
            return nothing(column)
        }
    }

    /// Converts a mixed value, with its links by `resolve`. `depth` is the number of collections around the value.
    static func any(
        _ value: RealmFileValue, depth: Int = 0, _ resolve: Resolve, _ lose: (String) -> Void
    ) rethrows -> Value {
        switch value {
        case .null: return .null
        case .link(let link):
            guard let target = try resolve(link) else {
                lose("it links to an object that is not in the new file")
                return .null
            }
            return .typedLink(target.table, target.key)
        case .list(let values), .set(let values):
            guard depth < MixedCodec.depthLimit else { return tooDeep(lose) }
            if case .set = value { lose("a set within a value of any type becomes a list") }
            return .list(try values.map { try any($0, depth: depth + 1, resolve, lose) })
        case .dictionary(let entries):
            guard depth < MixedCodec.depthLimit else { return tooDeep(lose) }
            return .dictionary(
                try self.entries(entries, lose).map { entry in
                    DictionaryEntry(key: entry.key, value: try any(entry.value, depth: depth + 1, resolve, lose))
                })
        case .rows:
            lose("a table within a value cannot be stored")
            return .null
        default: return plain(value, lose) ?? .null
        }
    }

    private static func tooDeep(_ lose: (String) -> Void) -> Value {
        lose("collections are nested more than \(MixedCodec.depthLimit) levels deep")
        return .null
    }

    /// Converts the key of a dictionary to text. Returns nil, and reports the loss, if it is too long, or neither a
    /// text nor an integer.
    static func key(_ value: RealmFileValue, _ lose: (String) -> Void) -> String? {
        if case .string(let text) = value {
            if text.utf8.count <= FormatLimits.stringByteCount { return text }
            lose("a key of a dictionary is too long")
            return nil
        }
        if case .int(let number) = value {
            lose("the dictionary key \(number) is not a text, and becomes one")
            return "\(number)"
        }
        lose("a key of a dictionary is \(name(value)), not a text")
        return nil
    }

    /// Returns the entries with their keys as texts, in ascending order of the UTF-8 bytes of the keys. Omits and
    /// reports entries whose key is not a text, and all but one of those with the same key. O(n log n).
    static func entries(
        _ entries: [RealmFileEntry], _ lose: (String) -> Void
    ) -> [(key: String, value: RealmFileValue)] {
        var sorted: [(key: String, value: RealmFileValue)] = []
        sorted.reserveCapacity(entries.count)
        for entry in entries {
            guard let key = key(entry.key, lose) else { continue }
            sorted.append((key, entry.value))
        }
        sorted.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        var found: [(key: String, value: RealmFileValue)] = []
        found.reserveCapacity(sorted.count)
        for entry in sorted {
            if let last = found.last, last.key.utf8.elementsEqual(entry.key.utf8) {
                lose("a dictionary contains a key twice")
                continue
            }
            found.append(entry)
        }
        return found
    }

    /// Returns the values that are stored for a value of a link column: the elements of a collection, or the value.
    static func elements(_ value: RealmFileValue) -> [RealmFileValue] {
        switch value {
        case .list(let values), .set(let values): values
        case .dictionary(let entries): Self.entries(entries, { _ in }).map(\.value)
        default: [value]
        }
    }

    /// Converts a value that is neither a link nor a collection, in the same way for a column of its type and for a
    /// mixed column. Returns nil if it cannot be stored.
    private static func plain(_ value: RealmFileValue, _ lose: (String) -> Void) -> Value? {
        switch value {
        case .bool(let bit): return .bool(bit)
        case .int(let number): return .int(number)
        case .float(let number): return .float(number)
        case .double(let number): return .double(number)
        case .string(let text):
            if text.utf8.count <= FormatLimits.stringByteCount { return .string(text) }
            lose("a text of \(text.utf8.count) bytes is longer than \(FormatLimits.stringByteCount)")
            return nil
        case .data(let data):
            if data.count <= FormatLimits.dataByteCount { return .data([UInt8](data)) }
            lose("data of \(data.count) bytes are more than \(FormatLimits.dataByteCount)")
            return nil
        case .date(let date):
            let isFraction = abs(Int64(date.nanoseconds)) < 1_000_000_000
            let isOneSided = date.seconds == 0 || date.nanoseconds == 0 || (date.seconds < 0) == (date.nanoseconds < 0)
            if isFraction, isOneSided {
                return .date(Timestamp(seconds: date.seconds, nanoseconds: date.nanoseconds))
            }
            lose("\(date.seconds) seconds and \(date.nanoseconds) nanoseconds are not a valid date")
            return nil
        case .decimal(let decimal):
            if let bits = DecimalBits(decimal) { return .decimal128(bits.low, bits.high) }
            lose("the decimal \(decimal) has more digits than 34, or an exponent out of range")
            return nil
        case .objectId(let id): return objectID(id)
        case .uuid(let uuid): return self.uuid(uuid)
        case .null: return .null
        default: return nil
        }
    }

    private static func objectID(_ id: RealmFileObjectId) -> Value {
        id.bytes.withUnsafeBytes { bytes in
            .objectID(
                UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
        }
    }

    private static func uuid(_ uuid: UUID) -> Value {
        withUnsafeBytes(of: uuid.uuid) { bytes in
            .uuid(
                UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    /// The kind of a value, for the reasons of losses.
    static func name(_ value: RealmFileValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "a Bool"
        case .int: "an Int"
        case .float: "a Float"
        case .double: "a Double"
        case .string: "a String"
        case .data: "Data"
        case .date: "a Date"
        case .decimal: "a Decimal128"
        case .objectId: "an ObjectId"
        case .uuid: "a UUID"
        case .link: "a link"
        case .list: "a list"
        case .set: "a set"
        case .dictionary: "a dictionary"
        case .rows: "a table"
        }
    }

    /// True if the value is or contains a link.
    static func hasLink(_ value: RealmFileValue) -> Bool {
        switch value {
        case .link: true
        case .list(let values), .set(let values): values.contains { hasLink($0) }
        case .dictionary(let entries): entries.contains { hasLink($0.value) }
        default: false
        }
    }
}

extension DecimalBits {
    /// Creates the engine's canonical form of the number, without trailing zeros (1.00 becomes 1) and without the sign
    /// of zero. Returns nil for a number out of range.
    init?(_ decimal: RealmFileDecimal) {
        let sign: UInt64 = decimal.isNegative ? 1 << 63 : 0
        switch decimal.kind {
        case .notANumber: self = .nan
        case .infinity: self = DecimalBits(low: 0, high: DecimalBits.infinity.high | sign)
        case .finite:
            let (high, low) = decimal.coefficient
            let whole = UInt128(high) << 64 | UInt128(low)
            guard whole < DecimalBits.firstTooLarge, decimal.exponent >= -6176, decimal.exponent <= 6111 else {
                return nil
            }
            self = DecimalBits(low: low, high: sign | UInt64(decimal.exponent + 6176) << 49 | high).canonical
        }
    }

    /// 10^34.
    private static let firstTooLarge = UInt128(10_000_000_000_000_000) * UInt128(1_000_000_000_000_000_000)
}
