// SPDX-License-Identifier: Apache-2.0
// Each operator of type-safe queries for each type, on each property of TypedModels.swift, at the end of each form of
// path. Each entry makes random queries and their expected results.

import Foundation
import RealmSwift
import RegnumTestKit

extension Typed {
    enum Shape: String, CaseIterable {
        case own, link = "link.", links = "links.", back = "back.", subquery = "(links.).count"
        // With a property of the object itself on the other side, instead of a constant.
        case columns = "own, own", linkedColumns = "link., own"

        /// The path to a property.
        func path<V>(_ row: Query<Row>, _ keyPath: KeyPath<Row, V>) -> Query<V> {
            switch self {
            case .own, .columns: row[dynamicMember: keyPath]
            case .link, .linkedColumns: row.link[dynamicMember: keyPath]
            case .links, .subquery: row.links[dynamicMember: keyPath]
            case .back: row.back[dynamicMember: keyPath]
            }
        }
    }

    /// A cell of the table: the parts of a query.
    struct Cell: Hashable {
        var type: String
        var operation: String
        var isNull: Bool
        var isIndexed: Bool
        var shape: Shape
    }

    /// The values of an object that a query reads.
    struct Column {
        /// Empty, not null, across a null link.
        let isCollection: Bool
        let read: (Row) -> [Plain]
    }

    struct Question {
        let query: (Query<Row>) -> Query<Bool>
        /// Compares the values at the end of the path with those of the property on the other side.
        let holds: ([Plain], [Plain]) -> Bool
    }

    struct Entry {
        let cell: Cell
        let column: Int
        /// The property on the other side.
        var other: Int?
        let make: (inout SeededGenerator) -> Question
    }

    /// A property that queries use.
    struct Property<T> {
        let type: String
        let column: Int
        let keyPath: KeyPath<Row, T>
        /// The values to compare with, without nil.
        let values: [T]
        /// nil, if the property is optional.
        var null: T?
        var isIndexed = false
    }

    struct Deck {
        private(set) var entries: [Entry] = []
        private(set) var columns: [Column] = []
        private var fills: [(Row, inout SeededGenerator) -> Void] = []

        /// Sets other values in an object.
        func fill(_ row: Row, _ random: inout SeededGenerator) {
            for fill in fills { fill(row, &random) }
        }

        mutating func addColumn(
            isCollection: Bool = false, _ read: @escaping (Row) -> [Plain],
            fill: ((Row, inout SeededGenerator) -> Void)? = nil
        ) -> Int {
            columns.append(Column(isCollection: isCollection, read: read))
            if let fill { fills.append(fill) }
            return columns.count - 1
        }

        mutating func append(_ entry: Entry) { entries.append(entry) }
    }
}

// MARK: Properties of values

extension Typed.Deck {
    typealias Row = Typed.Row
    typealias Plain = Typed.Plain
    typealias Property = Typed.Property

    mutating func property<T: TypedForm>(
        _ type: String, _ keyPath: ReferenceWritableKeyPath<Row, T>, _ values: [T], null: T? = nil,
        isIndexed: Bool = false
    ) -> Property<T> {
        let stored: [T] = values + (null.map { [$0] } ?? [])
        let column = addColumn({ [$0[keyPath: keyPath].plain] }) { row, random in
            if let value = stored.randomElement(using: &random) { row[keyPath: keyPath] = value }
        }
        return Property(
            type: type, column: column, keyPath: keyPath, values: values, null: null, isIndexed: isIndexed)
    }

    mutating func optionalProperty<W: TypedForm>(
        _ type: String, _ keyPath: ReferenceWritableKeyPath<Row, W?>, _ values: [W], isIndexed: Bool = false
    ) -> Property<W?> {
        property(type + "?", keyPath, values.map { Optional.some($0) }, null: .some(nil), isIndexed: isIndexed)
    }

    /// Adds an entry for each form of path. Each of the tests must pass for some value at its end, in a subquery for
    /// the same one.
    private mutating func add<T>(
        _ property: Property<T>, _ operation: String, isNull: Bool = false,
        _ make: @escaping (inout SeededGenerator) -> (query: (Query<T>) -> Query<Bool>, tests: [(Plain) -> Bool])
    ) {
        let keyPath = property.keyPath
        for shape in [Typed.Shape.own, .link, .links, .back, .subquery] {
            let cell = Typed.Cell(
                type: property.type, operation: operation, isNull: isNull, isIndexed: property.isIndexed, shape: shape)
            append(
                Typed.Entry(cell: cell, column: property.column) { random in
                    let (query, tests) = make(&random)
                    guard shape == .subquery else {
                        return Typed.Question(query: { query(shape.path($0, keyPath)) }) { ends, _ in
                            tests.allSatisfy { test in ends.contains { test($0) } }
                        }
                    }
                    let least = Int.random(in: 0...2, using: &random)
                    return Typed.Question(query: { query(shape.path($0, keyPath)).count >= least }) { ends, _ in
                        ends.count { end in tests.allSatisfy { $0(end) } } >= least
                    }
                })
        }
    }

    /// Adds a comparison with a value, and with nil if the property is optional.
    private mutating func ask<T: TypedForm>(
        _ property: Property<T>, _ operation: String, _ options: StringOptions = [], isAny: Bool = false,
        _ build: @escaping (Query<T>, T) -> Query<Bool>
    ) {
        var choices = [(property.values, false)]
        if let null = property.null { choices.append(([null], true)) }
        for (values, isNull) in choices {
            add(property, operation + Self.suffix(options), isNull: isNull) { random in
                guard let value = values.randomElement(using: &random) else { preconditionFailure("no values") }
                let isNullLess = T.self != AnyRealmValue.self
                let test = { (end: Plain) in
                    Plain.holds(end, operation, value.plain, options, isAny: isAny, isNullLess: isNullLess)
                }
                return ({ build($0, value) }, [test])
            }
        }
    }

    private static func suffix(_ options: StringOptions) -> String {
        if options.isEmpty { return "" }
        let letters =
            (options.contains(.caseInsensitive) ? "c" : "") + (options.contains(.diacriticInsensitive) ? "d" : "")
        return "[\(letters)]"
    }

    mutating func equality<T: TypedForm>(_ property: Property<T>) {
        ask(property, "==") { $0 == $1 }
        ask(property, "!=") { $0 != $1 }
        var choices = [(property.values, false)]
        if let null = property.null { choices.append((property.values + [null], true)) }
        for (values, isNull) in choices {
            add(property, "in", isNull: isNull) { random in
                // The last value is nil if the query includes nil.
                let chosen: [T] = Array(values.shuffled(using: &random).prefix(2)) + values.suffix(isNull ? 1 : 0)
                let plain = chosen.map(\.plain)
                return ({ $0.in(chosen) }, [{ end in plain.contains { Plain.holds(end, "==", $0) } }])
            }
        }
    }

    mutating func order<T: TypedForm & _HasPersistedType>(_ property: Property<T>)
    where T.PersistedType: _QueryNumeric {
        ask(property, ">") { $0 > $1 }
        ask(property, ">=") { $0 >= $1 }
        ask(property, "<") { $0 < $1 }
        ask(property, "<=") { $0 <= $1 }
    }

    /// `isClosed`: also closed ranges.
    mutating func ranges<T: TypedForm & Comparable>(_ property: Property<T>, isClosed: Bool = true) {
        let values = property.values.filter { !$0.plain.isNaN }
        add(property, "contains(..<)") { random in
            let (low, high) = Self.bounds(values, &random)
            return ({ $0.contains(low..<high) }, Self.tests(low.plain, high.plain))
        }
        guard isClosed else { return }
        add(property, "contains(...)") { random in
            let (low, high) = Self.bounds(values, &random)
            return ({ $0.contains(low...high) }, [Self.test(low.plain, high.plain)])
        }
    }

    mutating func ranges<W: TypedForm & Comparable>(ofOptional property: Property<W?>, isClosed: Bool = true) {
        let values = property.values.compactMap { $0 }.filter { !$0.plain.isNaN }
        add(property, "contains(..<)") { random in
            let (low, high) = Self.bounds(values, &random)
            return ({ $0.contains(low..<high) }, Self.tests(low.plain, high.plain))
        }
        guard isClosed else { return }
        add(property, "contains(...)") { random in
            let (low, high) = Self.bounds(values, &random)
            return ({ $0.contains(low...high) }, [Self.test(low.plain, high.plain)])
        }
    }

    private static func bounds<T: Comparable>(_ values: [T], _ random: inout SeededGenerator) -> (T, T) {
        guard let a = values.randomElement(using: &random), let b = values.randomElement(using: &random) else {
            preconditionFailure("no values")
        }
        return a < b ? (a, b) : (b, a)
    }

    /// A half-open range: two comparisons.
    private static func tests(_ low: Plain, _ high: Plain) -> [(Plain) -> Bool] {
        [{ Plain.holds($0, ">=", low) }, { Plain.holds($0, "<", high) }]
    }

    /// A closed range: one comparison.
    private static func test(_ low: Plain, _ high: Plain) -> (Plain) -> Bool {
        { Plain.holds($0, ">=", low) && Plain.holds($0, "<=", high) }
    }

    static let options: [StringOptions] = [
        [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
    ]

    mutating func bytes<T: TypedForm & _HasPersistedType>(_ property: Property<T>)
    where T.PersistedType: _QueryBinary {
        ask(property, ">") { $0 > $1 }
        ask(property, ">=") { $0 >= $1 }
        ask(property, "<") { $0 < $1 }
        ask(property, "<=") { $0 <= $1 }
        for options in Self.options {
            ask(property, "CONTAINS", options) { $0.contains($1, options: options) }
            ask(property, "BEGINSWITH", options) { $0.starts(with: $1, options: options) }
            ask(property, "ENDSWITH", options) { $0.ends(with: $1, options: options) }
            if options.isEmpty { continue }
            ask(property, "==", options) { $0.equals($1, options: options) }
            ask(property, "!=", options) { $0.notEquals($1, options: options) }
        }
    }

    mutating func patterns<T: TypedForm & _HasPersistedType>(_ property: Property<T>)
    where T.PersistedType: _QueryString {
        ask(property, "LIKE") { $0.like($1) }
        ask(property, "LIKE", .caseInsensitive) { $0.like($1, caseInsensitive: true) }
    }

    mutating func parts(ofAny property: Property<AnyRealmValue>) {
        for options in Self.options {
            ask(property, "CONTAINS", options, isAny: true) { $0.contains($1, options: options) }
            ask(property, "BEGINSWITH", options, isAny: true) { $0.starts(with: $1, options: options) }
            ask(property, "ENDSWITH", options, isAny: true) { $0.ends(with: $1, options: options) }
            if options.isEmpty { continue }
            ask(property, "==", options, isAny: true) { $0.equals($1, options: options) }
            ask(property, "!=", options, isAny: true) { $0.notEquals($1, options: options) }
        }
        ask(property, "LIKE", isAny: true) { $0.like($1) }
        ask(property, "LIKE", .caseInsensitive, isAny: true) { $0.like($1, caseInsensitive: true) }
    }
}

// MARK: Two properties

extension Typed.Deck {
    private mutating func pair<T>(
        _ left: Property<T>, _ right: Property<T>, _ operation: String, _ options: StringOptions = [],
        _ build: @escaping (Query<T>, Query<T>) -> Query<Bool>
    ) {
        for shape in [Typed.Shape.columns, .linkedColumns] {
            let cell = Typed.Cell(
                type: left.type, operation: operation + Self.suffix(options), isNull: left.null != nil,
                isIndexed: left.isIndexed, shape: shape)
            append(
                Typed.Entry(cell: cell, column: left.column, other: right.column) { _ in
                    Typed.Question(
                        query: { build(shape.path($0, left.keyPath), $0[dynamicMember: right.keyPath]) }
                    ) { ends, others in
                        ends.contains { end in others.contains { Plain.holds(end, operation, $0, options) } }
                    }
                })
        }
    }

    mutating func same<T: TypedForm>(_ left: Property<T>, _ right: Property<T>) {
        pair(left, right, "==") { $0 == $1 }
        pair(left, right, "!=") { $0 != $1 }
    }

    mutating func ordered<T: TypedForm & _HasPersistedType>(_ left: Property<T>, _ right: Property<T>)
    where T.PersistedType: _QueryNumeric {
        pair(left, right, ">") { $0 > $1 }
        pair(left, right, ">=") { $0 >= $1 }
        pair(left, right, "<") { $0 < $1 }
        pair(left, right, "<=") { $0 <= $1 }
    }

    mutating func texts<T: TypedForm & _HasPersistedType>(_ left: Property<T>, _ right: Property<T>)
    where T.PersistedType: _QueryString {
        pair(left, right, ">") { $0 > $1 }
        pair(left, right, "<=") { $0 <= $1 }
        pair(left, right, "LIKE") { $0.like($1) }
        for options in Self.options {
            pair(left, right, "CONTAINS", options) { $0.contains($1, options: options) }
            pair(left, right, "BEGINSWITH", options) { $0.starts(with: $1, options: options) }
            pair(left, right, "ENDSWITH", options) { $0.ends(with: $1, options: options) }
            if options.isEmpty { continue }
            pair(left, right, "==", options) { $0.equals($1, options: options) }
            pair(left, right, "!=", options) { $0.notEquals($1, options: options) }
        }
    }
}

// MARK: Collections

extension Typed.Deck {
    /// Adds an entry for each form of path that can end in a collection, for its elements.
    private mutating func whole<C>(
        _ type: String, _ column: Int, _ keyPath: KeyPath<Row, C>, _ operation: String,
        _ make: @escaping (inout SeededGenerator) -> (query: (Query<C>) -> Query<Bool>, holds: ([Plain]) -> Bool)
    ) {
        for shape in [Typed.Shape.own, .link] {
            let cell = Typed.Cell(type: type, operation: operation, isNull: false, isIndexed: false, shape: shape)
            append(
                Typed.Entry(cell: cell, column: column) { random in
                    let (query, holds) = make(&random)
                    return Typed.Question(query: { query(shape.path($0, keyPath)) }) { ends, _ in holds(ends) }
                })
        }
    }

    /// Adds a query for the elements with one value.
    private mutating func ask<C, V: TypedForm>(
        _ collection: Typed.Collection<C, V>, _ operation: String, _ build: @escaping (Query<C>, V) -> Query<Bool>,
        _ holds: @escaping ([Plain], Plain) -> Bool
    ) {
        whole(collection.type, collection.column, collection.keyPath, operation) { random in
            guard let value = collection.values.randomElement(using: &random) else { preconditionFailure("no values") }
            return ({ build($0, value) }, { holds($0, value.plain) })
        }
    }

    private static func isAmong(_ ends: [Plain], _ value: Plain) -> Bool {
        ends.contains { Plain.holds($0, "==", value) }
    }

    /// Adds an aggregate of the elements, compared with one value.
    private mutating func figure<C, V: TypedForm>(
        _ collection: Typed.Collection<C, V>, _ figure: String, _ operation: String,
        _ build: @escaping (Query<C>, V) -> Query<Bool>
    ) {
        ask(collection, "\(figure) \(operation)", build) {
            Plain.holds(Plain.figure(figure, $0), operation, $1)
        }
    }

    private mutating func someElement<C, V: TypedForm>(
        _ collection: Typed.Collection<C, V>, _ operation: String, _ build: @escaping (Query<C>, V) -> Query<Bool>
    ) {
        ask(collection, "any \(operation)", build) { ends, value in
            ends.contains { Plain.holds($0, operation, value) }
        }
    }

    private mutating func counts<C, V: TypedForm>(
        _ collection: Typed.Collection<C, V>, _ count: @escaping (Query<C>) -> Query<Int>
    ) {
        whole(collection.type, collection.column, collection.keyPath, "count") { random in
            let wanted = Int.random(in: 0...3, using: &random)
            return ({ count($0) >= wanted }, { $0.count >= wanted })
        }
    }

    mutating func elements<C: RealmCollection>(_ collection: Typed.Collection<C, C.Element>)
    where C.Element: TypedForm {
        someElement(collection, "==") { $0 == $1 }
        someElement(collection, "!=") { $0 != $1 }
        ask(collection, "contains", { $0.contains($1) }, Self.isAmong)
        ask(collection, "containsAny", { $0.containsAny(in: [$1]) }, Self.isAmong)
        counts(collection) { $0.count }
    }

    mutating func figures<C: RealmCollection>(_ collection: Typed.Collection<C, C.Element>)
    where C.Element: TypedForm, C.Element.PersistedType: _QueryNumeric {
        someElement(collection, ">") { $0 > $1 }
        someElement(collection, ">=") { $0 >= $1 }
        someElement(collection, "<") { $0 < $1 }
        someElement(collection, "<=") { $0 <= $1 }
        figure(collection, "@min", "==") { $0.min == $1 }
        figure(collection, "@min", "<") { $0.min < $1 }
        figure(collection, "@max", "!=") { $0.max != $1 }
        figure(collection, "@max", ">=") { $0.max >= $1 }
    }

    mutating func sums<C: RealmCollection>(_ collection: Typed.Collection<C, C.Element>)
    where C.Element: TypedForm, C.Element.PersistedType: _QueryNumeric & AddableType {
        figure(collection, "@sum", "==") { $0.sum == $1 }
        figure(collection, "@sum", ">") { $0.sum > $1 }
        figure(collection, "@avg", "<=") { $0.avg <= $1 }
        figure(collection, "@avg", "!=") { $0.avg != $1 }
    }

    mutating func ranges<C: RealmCollection>(of collection: Typed.Collection<C, C.Element>)
    where C.Element: TypedForm & Comparable {
        whole(collection.type, collection.column, collection.keyPath, "contains(...)") { random in
            let (low, high) = Self.bounds(collection.values, &random)
            let (least, most) = (low.plain, high.plain)
            return (
                { $0.contains(low...high) },
                {
                    Plain.holds(Plain.figure("@min", $0), ">=", least)
                        && Plain.holds(Plain.figure("@max", $0), "<=", most)
                }
            )
        }
    }

    mutating func list<E: TypedForm & RealmCollectionValue>(
        _ type: String, _ keyPath: KeyPath<Row, List<E>>, _ stored: [E], asked: [E]? = nil
    ) -> Typed.Collection<List<E>, E> {
        let column = addColumn(isCollection: true, { $0[keyPath: keyPath].map(\.plain) }) { row, random in
            let list = row[keyPath: keyPath]
            list.removeAll()
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                if let value = stored.randomElement(using: &random) { list.append(value) }
            }
        }
        return Typed.Collection(type: type, column: column, keyPath: keyPath, values: asked ?? stored)
    }

    mutating func set<E: TypedForm & RealmCollectionValue>(
        _ type: String, _ keyPath: KeyPath<Row, MutableSet<E>>, _ stored: [E]
    ) -> Typed.Collection<MutableSet<E>, E> {
        let column = addColumn(isCollection: true, { $0[keyPath: keyPath].map(\.plain) }) { row, random in
            let set = row[keyPath: keyPath]
            set.removeAll()
            set.insert(objectsIn: stored.filter { _ in Int.random(in: 0..<3, using: &random) == 0 })
        }
        return Typed.Collection(type: type, column: column, keyPath: keyPath, values: stored)
    }

    @discardableResult
    mutating func map<V: TypedForm & RealmCollectionValue>(
        _ type: String, _ keyPath: KeyPath<Row, Map<String, V>>, _ values: [V]
    ) -> Typed.Collection<Map<String, V>, V> {
        let names = ["a", "b", "é"]
        let column = addColumn(isCollection: true, { $0[keyPath: keyPath].values.map(\.plain) }) { row, random in
            let map = row[keyPath: keyPath]
            map.removeAll()
            for name in names where Bool.random(using: &random) {
                if let value = values.randomElement(using: &random) { map.updateValue(value, forKey: name) }
            }
        }
        let entry = addColumn({ [$0[keyPath: keyPath]["a"].map(\.plain) ?? .null] })
        let keys = addColumn(isCollection: true, { $0[keyPath: keyPath].keys.map(\.plain) })
        let map = Typed.Collection<Map<String, V>, V>(type: type, column: column, keyPath: keyPath, values: values)
        let ofEntry = Typed.Collection(type: type, column: entry, keyPath: keyPath, values: values)
        let ofKeys = Typed.Collection(type: type, column: keys, keyPath: keyPath, values: names + ["A", "c"])
        someElement(map, "==") { $0.values == $1 }
        someElement(map, "!=") { $0.values != $1 }
        ask(map, "contains", { $0.contains($1) }, Self.isAmong)
        ask(map, "containsAny", { $0.containsAny(in: [$1]) }, Self.isAmong)
        counts(map) { $0.count }
        ask(ofEntry, "['a'] ==", { $0["a"] == $1 }) { Plain.holds($0[0], "==", $1) }
        ask(ofEntry, "['a'] !=", { $0["a"] != $1 }) { Plain.holds($0[0], "!=", $1) }
        ask(ofKeys, "keys ==", { $0.keys == $1 }, Self.isAmong)
        ask(ofKeys, "keys BEGINSWITH[c]", { $0.keys.starts(with: $1, options: .caseInsensitive) }) { ends, value in
            ends.contains { Plain.holds($0, "BEGINSWITH", value, .caseInsensitive) }
        }
        return map
    }

    mutating func figures<V: TypedForm & RealmCollectionValue>(ofMap map: Typed.Collection<Map<String, V>, V>)
    where V.PersistedType: _QueryNumeric {
        someElement(map, ">") { $0.values > $1 }
        someElement(map, "<=") { $0.values <= $1 }
        figure(map, "@min", "==") { $0.min == $1 }
        figure(map, "@max", "<") { $0.max < $1 }
        figure(map, "@sum", ">=") { $0.sum >= $1 }
        figure(map, "@avg", "==") { $0.avg == $1 }
    }
}

extension Typed {
    /// A collection that queries use, and the values to compare its elements with.
    struct Collection<C, V> {
        let type: String
        let column: Int
        let keyPath: KeyPath<Row, C>
        let values: [V]
    }
}
