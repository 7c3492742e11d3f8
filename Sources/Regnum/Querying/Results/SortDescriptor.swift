// SPDX-License-Identifier: Apache-2.0
// Sort orders of collections.

internal import RegnumEngine
internal import RegnumQuery

/// A key path and a direction to sort by.
///
/// ```swift
/// let sorted = people.sorted(by: [SortDescriptor(keyPath: "age", ascending: false), "name"])
/// ```
///
/// Foundation has a type of the same name. In a file that imports Foundation itself, write `RealmSwift.SortDescriptor`,
/// as in `[] as [RealmSwift.SortDescriptor]`, or `Regnum.SortDescriptor` if the file imports Regnum. In a file that
/// imports only RealmSwift the bare name is enough.
public struct SortDescriptor: Equatable, Sendable {
    /// Property names, joined by dots; "self" for the elements of a collection of values.
    public let keyPath: String
    /// True to sort the smallest first.
    public let ascending: Bool
    /// The order of strings.
    public let collation: SortCollation

    /// Creates a descriptor for the property at `keyPath`.
    public init(keyPath: String, ascending: Bool = true) {
        self.init(keyPath: keyPath, ascending: ascending, collation: .bytes)
    }

    /// Creates a descriptor for the property at `keyPath`, with strings ordered by `collation`.
    public init(keyPath: String, ascending: Bool = true, collation: SortCollation) {
        self.keyPath = keyPath
        self.ascending = ascending
        self.collation = collation
    }

    /// Creates a descriptor for the property at `keyPath`.
    public init<T: ObjectBase>(keyPath: PartialKeyPath<T>, ascending: Bool = true) {
        self.init(keyPath: _name(for: keyPath), ascending: ascending)
    }

    /// Creates a descriptor for the root's property that the projected property leads to.
    public init<T: ProjectionObservable>(keyPath: PartialKeyPath<T>, ascending: Bool = true) {
        self.init(keyPath: _name(for: keyPath), ascending: ascending)
    }

    /// Returns a descriptor for the same key path in the opposite direction.
    public func reversed() -> SortDescriptor {
        SortDescriptor(keyPath: keyPath, ascending: !ascending, collation: collation)
    }
}

/// The order of strings.
public enum SortCollation: Sendable, Hashable {
    /// The order of the UTF-8 bytes: upper case before lower case, accented letters after all of ASCII. Fast, and
    /// supported by indexes.
    case bytes
    /// A natural order for lists that people read: case and diacritics matter only between strings that are otherwise
    /// equal, and numbers are ordered by value ("Item 9" before "Item 10"). The same for all languages. About five
    /// times slower than `bytes`.
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
    /// Creates a descriptor for the named property, smallest first.
    public init(stringLiteral value: String) { self.init(keyPath: value) }
}
