// SPDX-License-Identifier: Apache-2.0
// By what a collection is sorted.

/// A key path and a direction to sort by.
///
/// ```swift
/// let sorted = people.sorted(by: [SortDescriptor(keyPath: "age", ascending: false), "name"])
/// ```
public struct SortDescriptor: Equatable, Sendable {
    /// Property names, joined by dots; "self" for the elements of a collection of values.
    public let keyPath: String
    /// True for smallest first.
    public let ascending: Bool

    /// Sorts by the property at `keyPath`.
    public init(keyPath: String, ascending: Bool = true) {
        self.keyPath = keyPath
        self.ascending = ascending
    }

    /// Sorts by the property at `keyPath`.
    public init<T: ObjectBase>(keyPath: PartialKeyPath<T>, ascending: Bool = true) {
        self.init(keyPath: _name(for: keyPath), ascending: ascending)
    }

    /// The same key path in the other direction.
    public func reversed() -> SortDescriptor { SortDescriptor(keyPath: keyPath, ascending: !ascending) }
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
