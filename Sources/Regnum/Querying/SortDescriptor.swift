// SPDX-License-Identifier: Apache-2.0
// By what a collection is sorted.

internal import RegnumEngine
internal import RegnumQuery

/// A key path and a direction to sort by.
///
/// ```swift
/// let sorted = people.sorted(by: [SortDescriptor(keyPath: "age", ascending: false), "name"])
/// ```
///
/// Foundation has a type of the same name. A file that imports Foundation itself writes `RealmSwift.SortDescriptor` for
/// the type, as in `[] as [RealmSwift.SortDescriptor]`, or `Regnum.SortDescriptor` where it imports Regnum. A file that
/// imports RealmSwift alone may write the bare name.
public struct SortDescriptor: Equatable, Sendable {
    /// Property names, joined by dots; "self" for the elements of a collection of values.
    public let keyPath: String
    /// True for smallest first.
    public let ascending: Bool
    /// How strings are ordered.
    public let collation: SortCollation

    /// Sorts by the property at `keyPath`.
    public init(keyPath: String, ascending: Bool = true) {
        self.init(keyPath: keyPath, ascending: ascending, collation: .bytes)
    }

    /// Sorts by the property at `keyPath`, strings by `collation`.
    public init(keyPath: String, ascending: Bool = true, collation: SortCollation) {
        self.keyPath = keyPath
        self.ascending = ascending
        self.collation = collation
    }

    /// Sorts by the property at `keyPath`.
    public init<T: ObjectBase>(keyPath: PartialKeyPath<T>, ascending: Bool = true) {
        self.init(keyPath: _name(for: keyPath), ascending: ascending)
    }

    /// Sorts by the root's property that the projected property shows.
    public init<T: ProjectionObservable>(keyPath: PartialKeyPath<T>, ascending: Bool = true) {
        self.init(keyPath: _name(for: keyPath), ascending: ascending)
    }

    /// The same key path in the other direction.
    public func reversed() -> SortDescriptor {
        SortDescriptor(keyPath: keyPath, ascending: !ascending, collation: collation)
    }
}

/// How strings are ordered.
public enum SortCollation: Sendable, Hashable {
    /// By their UTF-8 bytes: upper case before lower case, accents behind all of ASCII. Fast, and served by indexes.
    case bytes
    /// As in a list for people: accents and case decide only between names that are equal without them, numbers go by
    /// their value ("Item 9" before "Item 10"). The same for all languages. About five times slower than bytes.
    case natural
}

extension SortDescriptor {
    func key(for table: TableKey, in schema: RealmQuerySchema) throws(QueryError) -> SortKey {
        var key = try SortKey.bind(keyPath, isAscending: ascending, to: table, in: schema)
        key.isFolded = collation == .natural && key.type == .string
        return key
    }
}

extension SortDescriptor: CustomStringConvertible {
    public var description: String {
        "SortDescriptor(keyPath: \(keyPath), direction: \(ascending ? "ascending" : "descending"))"
    }
}

extension SortDescriptor: ExpressibleByStringLiteral {
    /// Sorts by the named property, smallest first.
    public init(stringLiteral value: String) { self.init(keyPath: value) }
}
