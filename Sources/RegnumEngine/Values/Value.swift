// SPDX-License-Identifier: Apache-2.0
// One value of a column or of a collection, as it is passed in and out.

/// One value on the slow path. Hot paths read and write columns directly.
///
/// `==` follows Swift (NaN differs from itself, texts are equal if their characters are); storage uses
/// `MixedOrder.compare`.
package enum Value: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case float(Float)
    case double(Double)
    case string(String)
    case data([UInt8])
    case date(Timestamp)
    /// The 12 bytes: the first 8 loaded little endian, then the last 4.
    case objectID(UInt64, UInt32)
    /// The 16 bytes as two words, loaded little endian.
    case uuid(UInt64, UInt64)
    case link(ObjectKey)
    /// IEEE 754 decimal128 in binary integer encoding: the low word, the high word.
    case decimal128(UInt64, UInt64)
    /// In mixed columns only: an object of any table.
    case typedLink(TableKey, ObjectKey)
    /// In mixed columns only.
    case list([Value])
    /// In mixed columns only: ascending by the UTF-8 bytes of the keys, without duplicates.
    case dictionary([DictionaryEntry])
}

/// An entry of a dictionary.
package struct DictionaryEntry: Hashable, Sendable {
    package var key: String
    package var value: Value
    package init(key: String, value: Value) {
        self.key = key
        self.value = value
    }
}

extension Value {
    /// The target word of a link, the form that backlink trees store. For a link column it is the object's key; for a
    /// mixed column it has the number of the table in its upper 16 bits.
    package static func targetWord(_ table: TableKey, _ object: ObjectKey) -> UInt64 {
        UInt64(table.rawValue) << 48 | object.rawValue
    }

    /// Calls `body` with the target word of each link in the value, including nested ones.
    func forEachLink(_ body: (UInt64) throws(EngineError) -> Void) throws(EngineError) {
        switch self {
        case .link(let key): try body(key.rawValue)
        case .typedLink(let table, let key): try body(Value.targetWord(table, key))
        case .list(let values): for value in values { try value.forEachLink(body) }
        case .dictionary(let entries): for entry in entries { try entry.value.forEachLink(body) }
        default: break
        }
    }

    /// True for a link to one of the targets itself, not for a collection that contains one.
    func isLink(to targets: WordSet) -> Bool {
        switch self {
        case .link(let key): targets.contains(key.rawValue)
        case .typedLink(let table, let key): targets.contains(Value.targetWord(table, key))
        default: false
        }
    }

    /// The number of links in the value, including nested ones, that point to the targets.
    func linkCount(to targets: WordSet) -> Int {
        switch self {
        case .link, .typedLink: isLink(to: targets) ? 1 : 0
        case .list(let values): values.reduce(0) { $0 + $1.linkCount(to: targets) }
        case .dictionary(let entries): entries.reduce(0) { $0 + $1.value.linkCount(to: targets) }
        default: 0
        }
    }

    /// Returns the value without the links to the targets: lists drop them, elsewhere they become null.
    func clearingLinks(to targets: WordSet) -> Value {
        switch self {
        case .link, .typedLink: isLink(to: targets) ? .null : self
        case .list(let values):
            .list(values.compactMap { $0.isLink(to: targets) ? nil : $0.clearingLinks(to: targets) })
        case .dictionary(let entries):
            .dictionary(
                entries.map { DictionaryEntry(key: $0.key, value: $0.value.clearingLinks(to: targets)) })
        default: self
        }
    }
}
