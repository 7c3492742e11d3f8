// SPDX-License-Identifier: Apache-2.0
// Type-safe queries on values of any type: text and data operators, and access to nested collections.

extension Query where T == AnyRealmValue {
    /// Returns whether the text or data contains `value`.
    public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.contains, value, options)
    }
    /// Returns whether the text or data begins with `value`.
    public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.beginsWith, value, options)
    }
    /// Returns whether the text or data ends with `value`.
    public func ends(with value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.endsWith, value, options)
    }
    /// Returns whether both are equal under the options.
    public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.equal, value, options)
    }
    /// Returns whether both differ under the options.
    public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.notEqual, value, options)
    }
    /// Returns whether the whole text matches the pattern: `*` matches any run of characters, `?` a single character.
    public func like(_ pattern: T, caseInsensitive: Bool = false) -> Query<Bool> {
        comparison(.like, pattern, caseInsensitive ? .caseInsensitive : [])
    }
}

extension Query where T == AnyRealmValue {
    /// The value of a key, if the value is a dictionary; nil if it is not, or has no such key.
    public subscript(key: String) -> Query<AnyRealmValue> { within(.anyKey(key)) }

    /// The element at a position, if the value is a list; nil if it is not, or is shorter.
    public subscript(position: Int) -> Query<AnyRealmValue> { within(.anyIndex(position)) }

    /// Any element of the list or dictionary in the value.
    public var any: Query<AnyRealmValue> { within(.anyElement) }

    private func within(_ part: QuerySubscript) -> Query<AnyRealmValue> {
        guard var path = node.path else { misuse("Cannot add subscript to \(node.print().0)") }
        path.subscripts.append(part)
        return Query<AnyRealmValue>(.path(path))
    }
}
