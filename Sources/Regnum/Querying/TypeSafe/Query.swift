// SPDX-License-Identifier: Apache-2.0
// The type-safe query: `results.where { $0.age >= 18 && $0.dog.name == "Rex" }`. The closure is called once with a
// `Query` of the element's class; members and operators build a tree (`QueryNode`).

/// A part of a query whose values are of type `T`; created only inside the closure of `where`.
@dynamicMemberLookup
public struct Query<T> {
    let node: QueryNode

    init(_ node: QueryNode) { self.node = node }

    /// Creates a query for the element itself.
    init() { node = .element }

    /// Creates a query without a collection, for tests.
    public static func _constructForTesting() -> Query<T> { Query<T>() }

    /// Returns the predicate as text, and its arguments.
    public func _constructPredicate() -> (String, [Any]) { node.print() }

    /// The path of this query. Any other query is a programmer error.
    var path: QueryPath {
        guard let path = node.path else { misuse("Cannot apply a keypath to \(node.print().0)") }
        return path
    }

    func comparison<V>(_ name: QueryNode.Operator, _ value: V, _ options: StringOptions = []) -> Query<Bool> {
        if node.isCompound { refuseComparison(of: node) }
        return Query<Bool>(.comparison(name, node, .constant(QueryConstant(value)), options))
    }

    private func refuseComparison(of node: QueryNode) -> Never {
        misuse("Cannot apply a comparison to \(node.print().0)")
    }

    func comparison<U>(_ name: QueryNode.Operator, _ other: Query<U>, _ options: StringOptions = []) -> Query<Bool> {
        if let left = node.path, let right = other.node.path, left.endsInCollection, right.endsInCollection {
            misuse("Comparing two collection columns is not permitted.")
        }
        if node.isCompound { refuseComparison(of: node) }
        if other.node.isCompound { refuseComparison(of: other.node) }
        return Query<Bool>(.comparison(name, node, other.node, options))
    }

    func appending<V>(_ member: QueryMember) -> Query<V> {
        if case .element = node { return Query<V>(.property(member)) }
        let path = path
        if !path.subscripts.isEmpty { misuse("Cannot apply key path to Map subscripts.") }
        return Query<V>(.path(path.appending(member.names, isCollection: member.isCollection)))
    }

    /// Returns the collection itself instead of its elements, followed by `suffix`.
    func whole<V>(_ suffix: String? = nil) -> Query<V> {
        var path = path
        if let suffix { path.names.append(suffix) }
        path.isWhole = true
        return Query<V>(.path(path))
    }

    /// Returns an operator over the collection. For a property of its elements, the operator precedes the property.
    func aggregate<V>(_ name: String) -> Query<V> {
        var path = path
        path.names.insert(name, at: path.endsInCollection ? path.names.count : Swift.max(path.names.count - 1, 0))
        path.isWhole = true
        return Query<V>(.path(path))
    }
}

extension Query where T: ObjectBase {
    /// The property at the key path.
    public subscript<V>(dynamicMember member: KeyPath<T, V>) -> Query<V> { appending(QueryMember.of(member)) }
}

extension Query where T: OptionalProtocol, T.Wrapped: ObjectBase {
    /// A property of the linked object.
    public subscript<V>(dynamicMember member: KeyPath<T.Wrapped, V>) -> Query<V> { appending(QueryMember.of(member)) }
}

extension Query where T: RealmCollection, T.Element: ObjectBase {
    /// A property of any element.
    public subscript<V>(dynamicMember member: KeyPath<T.Element, V>) -> Query<V> { appending(QueryMember.of(member)) }
}

extension Query {
    public static func == (left: Query, right: T) -> Query<Bool> { left.comparison(.equal, right) }
    public static func == (left: Query, right: Query) -> Query<Bool> { left.comparison(.equal, right) }
    /// Returns whether the two sides differ; null differs from every value.
    public static func != (left: Query, right: T) -> Query<Bool> { left.comparison(.notEqual, right) }
    /// Returns whether the two sides differ; null differs from every value.
    public static func != (left: Query, right: Query) -> Query<Bool> { left.comparison(.notEqual, right) }

    /// Returns whether the value is one of `values`.
    public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element == T {
        comparison(.isIn, Array(values))
    }
}

extension Query where T: OptionalProtocol {
    /// Returns whether the value is one of `values`.
    public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element == T.Wrapped {
        comparison(.isIn, Array(values))
    }
}

extension Query where T == Bool {
    /// Returns true if the condition is false.
    public static prefix func ! (query: Query) -> Query<Bool> { Query(.not(query.node)) }
    /// Returns true if both conditions are true.
    public static func && (left: Query, right: Query) -> Query<Bool> { Query(.and(left.node, right.node)) }
    /// Returns true if at least one of the conditions is true.
    public static func || (left: Query, right: Query) -> Query<Bool> { Query(.or(left.node, right.node)) }

    /// The number of elements of the collection that satisfy the condition.
    public var count: Query<Int> { Query<Int>(.count(node)) }
}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryNumeric {
    /// Returns whether the left side is greater; false if either side is null.
    public static func > (left: Query, right: T) -> Query<Bool> { left.comparison(.greater, right) }
    /// Returns whether the left side is greater; false if either side is null.
    public static func > (left: Query, right: Query) -> Query<Bool> { left.comparison(.greater, right) }
    /// Returns whether the left side is greater or equal.
    public static func >= (left: Query, right: T) -> Query<Bool> { left.comparison(.greaterOrEqual, right) }
    /// Returns whether the left side is greater or equal.
    public static func >= (left: Query, right: Query) -> Query<Bool> { left.comparison(.greaterOrEqual, right) }
    /// Returns whether the left side is less; false if either side is null.
    public static func < (left: Query, right: T) -> Query<Bool> { left.comparison(.less, right) }
    /// Returns whether the left side is less; false if either side is null.
    public static func < (left: Query, right: Query) -> Query<Bool> { left.comparison(.less, right) }
    /// Returns whether the left side is less or equal.
    public static func <= (left: Query, right: T) -> Query<Bool> { left.comparison(.lessOrEqual, right) }
    /// Returns whether the left side is less or equal.
    public static func <= (left: Query, right: Query) -> Query<Bool> { left.comparison(.lessOrEqual, right) }

    /// The smallest value over the collection in the path.
    public var min: Query { aggregate("@min") }
    /// The largest value over the collection in the path.
    public var max: Query { aggregate("@max") }
    /// The average over the collection in the path.
    public var avg: Query { aggregate("@avg") }
    /// The sum over the collection in the path.
    public var sum: Query { aggregate("@sum") }
}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryBinary {
    /// Returns whether the left side is greater; false if either side is null.
    public static func > (left: Query, right: T) -> Query<Bool> { left.comparison(.greater, right) }
    /// Returns whether the left side is greater; false if either side is null.
    public static func > (left: Query, right: Query) -> Query<Bool> { left.comparison(.greater, right) }
    /// Returns whether the left side is greater or equal.
    public static func >= (left: Query, right: T) -> Query<Bool> { left.comparison(.greaterOrEqual, right) }
    /// Returns whether the left side is greater or equal.
    public static func >= (left: Query, right: Query) -> Query<Bool> { left.comparison(.greaterOrEqual, right) }
    /// Returns whether the left side is less; false if either side is null.
    public static func < (left: Query, right: T) -> Query<Bool> { left.comparison(.less, right) }
    /// Returns whether the left side is less; false if either side is null.
    public static func < (left: Query, right: Query) -> Query<Bool> { left.comparison(.less, right) }
    /// Returns whether the left side is less or equal.
    public static func <= (left: Query, right: T) -> Query<Bool> { left.comparison(.lessOrEqual, right) }
    /// Returns whether the left side is less or equal.
    public static func <= (left: Query, right: Query) -> Query<Bool> { left.comparison(.lessOrEqual, right) }

    /// Returns whether the value contains `value`.
    public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.contains, value, options)
    }
    /// Returns whether the text contains the other one. `options` allow case- and diacritic-insensitive comparison.
    public func contains<U>(_ other: Query<U>, options: StringOptions = []) -> Query<Bool> {
        comparison(.contains, other, options)
    }
    /// Returns whether the value begins with `value`.
    public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.beginsWith, value, options)
    }
    /// Returns whether the text begins with the other one. `options` as in `contains`.
    public func starts<U>(with other: Query<U>, options: StringOptions = []) -> Query<Bool> {
        comparison(.beginsWith, other, options)
    }
    /// Returns whether the value ends with `value`.
    public func ends(with value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.endsWith, value, options)
    }
    /// Returns whether the text ends with the other one. `options` as in `contains`.
    public func ends<U>(with other: Query<U>, options: StringOptions = []) -> Query<Bool> {
        comparison(.endsWith, other, options)
    }
    /// Returns whether both are equal under the options.
    public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.equal, value, options)
    }
    /// Returns whether the texts are equal under `options`.
    public func equals<U>(_ other: Query<U>, options: StringOptions = []) -> Query<Bool> {
        comparison(.equal, other, options)
    }
    /// Returns whether both differ under the options.
    public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.notEqual, value, options)
    }
    /// Returns whether the texts differ under `options`.
    public func notEquals<U>(_ other: Query<U>, options: StringOptions = []) -> Query<Bool> {
        comparison(.notEqual, other, options)
    }
}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryString {
    /// Returns whether the whole text matches the pattern: `*` matches any run of characters, `?` a single character.
    public func like(_ pattern: T, caseInsensitive: Bool = false) -> Query<Bool> {
        comparison(.like, pattern, caseInsensitive ? .caseInsensitive : [])
    }
    /// Returns whether the whole text matches the pattern: `*` matches any run of characters, `?` a single character.
    public func like<U>(_ other: Query<U>, caseInsensitive: Bool = false) -> Query<Bool> {
        comparison(.like, other, caseInsensitive ? .caseInsensitive : [])
    }
}

extension Query where T: RealmCollection {
    public static func == (left: Query, right: T.Element) -> Query<Bool> { left.comparison(.equal, right) }
    /// Returns whether the two sides differ; null differs from every value.
    public static func != (left: Query, right: T.Element) -> Query<Bool> { left.comparison(.notEqual, right) }

    /// The number of elements in the collection.
    public var count: Query<Int> { whole("@count") }

    /// Returns whether the collection contains `value`.
    public func contains(_ value: T.Element) -> Query<Bool> {
        let collection: Query = whole()
        return Query<Bool>(.comparison(.isIn, .constant(QueryConstant(value)), collection.node, []))
    }

    /// Returns whether the collection contains any of `values`.
    public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Element {
        comparison(.isIn, Array(values))
    }
}

extension Query where T: RealmCollection, T.Element.PersistedType: _QueryNumeric {
    /// Returns whether the left side is greater; false if either side is null.
    public static func > (left: Query, right: T.Element) -> Query<Bool> { left.comparison(.greater, right) }
    /// Returns whether the left side is greater or equal.
    public static func >= (left: Query, right: T.Element) -> Query<Bool> { left.comparison(.greaterOrEqual, right) }
    /// Returns whether the left side is less; false if either side is null.
    public static func < (left: Query, right: T.Element) -> Query<Bool> { left.comparison(.less, right) }
    /// Returns whether the left side is less or equal.
    public static func <= (left: Query, right: T.Element) -> Query<Bool> { left.comparison(.lessOrEqual, right) }

    /// The smallest element.
    public var min: Query<T.Element> { aggregate("@min") }
    /// The largest element.
    public var max: Query<T.Element> { aggregate("@max") }
    /// The average of the elements.
    public var avg: Query<T.Element> { aggregate("@avg") }
    /// The sum of the elements.
    public var sum: Query<T.Element> { aggregate("@sum") }
}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryString {
    /// Returns whether the text matches the words of `search`: `"one -two thr* \"four five\" OR six"`; see
    /// `search(_:in:limit:)`. The property must be declared `@Persisted(indexed: .fullText)`. An addition to
    /// RealmSwift's API.
    public func fullTextSearch(_ search: String) -> Query<Bool> {
        Query<Bool>(.comparison(.text, node, .constant(QueryConstant(search)), []))
    }
}

extension Query where T: RealmCollection, T.Element.PersistedType: _QueryString {
    /// Returns whether the texts of the list, taken together, match the words of `search`. The property must be
    /// declared `@Persisted(indexed: .fullText)`. An addition to RealmSwift's API.
    public func fullTextSearch(_ search: String) -> Query<Bool> {
        Query<Bool>(.comparison(.text, node, .constant(QueryConstant(search)), []))
    }
}
