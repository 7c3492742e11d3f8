// SPDX-License-Identifier: Apache-2.0
// Type-safe queries on values of any type: what they compare as texts or data.

extension Query where T == AnyRealmValue {
    /// True where `value` is a part of the text or data.
    public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.contains, value, options)
    }
    /// True where the text or data begins with `value`.
    public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.beginsWith, value, options)
    }
    /// True where the text or data ends with `value`.
    public func ends(with value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.endsWith, value, options)
    }
    /// True where both are equal under the options.
    public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.equal, value, options)
    }
    /// True where both differ under the options.
    public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.notEqual, value, options)
    }
    /// True where the whole text matches the pattern: `*` stands for any run, `?` for one character.
    public func like(_ pattern: T, caseInsensitive: Bool = false) -> Query<Bool> {
        comparison(.like, pattern, caseInsensitive ? .caseInsensitive : [])
    }
}

extension Query where T == AnyRealmValue {
    /// The value of a key of the dictionary that the value is; nil where it is none, or has no such key.
    public subscript(key: String) -> Query<AnyRealmValue> { within(.anyKey(key)) }

    /// The element at a position of the list that the value is; nil where it is none, or shorter.
    public subscript(position: Int) -> Query<AnyRealmValue> { within(.anyIndex(position)) }

    /// Any element of the list or dictionary that the value is.
    public var any: Query<AnyRealmValue> { within(.anyElement) }

    private func within(_ part: QuerySubscript) -> Query<AnyRealmValue> {
        guard var path = node.path else { misuse("Cannot add subscript to \(node.print().0)") }
        path.subscripts.append(part)
        return Query<AnyRealmValue>(.path(path))
    }
}
