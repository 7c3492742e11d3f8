// SPDX-License-Identifier: Apache-2.0
// A predicate bound to a schema: names are resolved to columns, and constants have the columns' types. It can run on
// any version with that schema.

package import RegnumEngine

package indirect enum BoundPredicate: Sendable, Hashable {
    case constant(Bool)
    case and([BoundPredicate])
    case or([BoundPredicate])
    case not(BoundPredicate)
    /// At least one value at the end of the path passes the test.
    case test(BoundPath, ValueTest)
    /// The aggregate over the collection at the end of the path passes the test.
    case aggregate(BoundAggregate, ValueTest)
    case comparePaths(BoundPath, ComparisonOperator, BoundPath, ComparisonOptions)
    /// The aggregate, compared with the value at the end of a path without collections.
    case compareAggregate(BoundAggregate, ComparisonOperator, BoundPath)
    /// The number of objects at the end of the path for which the predicate holds passes the test.
    case subquery(BoundPath, BoundPredicate, ValueTest)
    /// At least one text at the end of the path, a column with a full-text index, matches the search.
    case text(BoundPath, TextSearch)
    /// At least one embedded object at the end of the path lies in the area.
    case geo(BoundPath, GeoTest)
    /// See `Condition`.
    case pieces([BoundPredicate])
    case piece(Int)
}

extension BoundPredicate: Condition {
    package static func makeAnd(_ parts: [BoundPredicate]) -> BoundPredicate { .and(parts) }
    package static func makeOr(_ parts: [BoundPredicate]) -> BoundPredicate { .or(parts) }
    package static func makeNot(_ part: BoundPredicate) -> BoundPredicate { .not(part) }
    package static func makePieces(_ pieces: [BoundPredicate]) -> BoundPredicate { .pieces(pieces) }
    package static func makePiece(_ index: Int) -> BoundPredicate { .piece(index) }
    package var shape: ConditionShape<BoundPredicate> {
        switch self {
        case .and(let parts): .and(parts)
        case .or(let parts): .or(parts)
        case .not(let part): .not(part)
        case .pieces(let pieces): .pieces(pieces)
        case .piece(let index): .piece(index)
        default: .leaf
        }
    }
}

extension BoundPredicate {
    /// True if it consists of tests of columns of the queried objects. May be false for other predicates that do not
    /// depend on another table.
    var asksOwnColumnsOnly: Bool {
        switch self {
        case .constant, .piece: true
        case .and(let parts), .or(let parts), .pieces(let parts): parts.allSatisfy(\.asksOwnColumnsOnly)
        case .not(let part): part.asksOwnColumnsOnly
        case .test(let path, _): path.steps.isEmpty
        default: false
        }
    }
}

package enum PathStep: Sendable, Hashable {
    /// A to-one link and its target table.
    case link(column: Int, target: TableKey)
    /// A list or a set of links, or the values of a dictionary of links.
    case links(column: Int, target: TableKey)
    /// The link stored under one key of a dictionary.
    case entry(column: Int, key: String, target: TableKey)
    case backlinks(origin: TableKey, column: Int)

    package var target: TableKey {
        switch self {
        case .link(_, let target), .links(_, let target), .entry(_, _, let target): target
        case .backlinks(let origin, _): origin
        }
    }
    var isToMany: Bool {
        switch self {
        case .link, .entry: false
        case .links, .backlinks: true
        }
    }
}

package enum PathEnd: Sendable, Hashable {
    /// The value of a column.
    case column(Int, ColumnType)
    /// The elements of a list or a set of values, or the values of a dictionary.
    case elements(Int, ColumnType)
    /// The keys of a dictionary.
    case keys(Int)
    /// The value stored under one key of a dictionary; null if there is none.
    case entry(Int, String, ColumnType)
    /// The value reached by steps into the lists and dictionaries within a mixed value, or within the values of a
    /// dictionary of mixed values; null if the steps lead nowhere.
    case nested(Int, [NestedStep])
    /// The key of the object that the steps lead to.
    case object
}

/// A step into a value that is a list or a dictionary.
package enum NestedStep: Sendable, Hashable {
    case key(String)
    case index(Int64)
    /// Each element: at least one of them passes.
    case any
}

package struct BoundPath: Sendable, Hashable {
    package var steps: [PathStep]
    package var end: PathEnd
    /// The object at which the steps begin: 0 for the object being evaluated, otherwise the number of SUBQUERY levels
    /// outwards.
    package var outer = 0

    package init(steps: [PathStep] = [], end: PathEnd) {
        self.steps = steps
        self.end = end
    }

    /// True if one of its steps is `#any`.
    var hasAny: Bool {
        if case .nested(_, let steps) = end { return steps.contains(.any) }
        return false
    }

    package var isToMany: Bool {
        switch end {
        case .elements, .keys: return true
        case .column, .entry, .nested, .object: break
        }
        return steps.contains { $0.isToMany }
    }

    /// True if it leads to values of any type.
    var isMixed: Bool {
        switch end {
        case .column(_, let type), .entry(_, _, let type): type == .mixed
        case .nested: true
        case .elements, .keys, .object: false
        }
    }
}

package enum AggregateKind: String, Sendable {
    case count = "@count", min = "@min", max = "@max", sum = "@sum", avg = "@avg"
}

package struct BoundAggregate: Sendable, Hashable {
    package var kind: AggregateKind
    /// The path to the elements: it ends with `.object` for objects whose `column` is aggregated, and with `.elements`
    /// for values, including `@count` of a list of values.
    package var path: BoundPath
    /// The column of the objects that is aggregated; nil for `@count` and lists of values.
    package var column: Int?
    /// The type of the aggregated values.
    package var type: ColumnType

    /// True if its sum and average are decimals.
    var isDecimal: Bool { kind != .count && (type == .decimal128 || type == .mixed) }

    /// True if binary numbers, including whole ones, are compared with the result by their shortest decimal digits, as
    /// in a column of decimals. This applies to decimals, and to sums and averages of values of any type.
    static func isOfDigits(_ kind: AggregateKind, _ type: ColumnType) -> Bool {
        switch kind {
        case .count: false
        case .min, .max: type == .decimal128
        case .sum, .avg: type == .decimal128 || type == .mixed
        }
    }

    /// Converts the value of a property for comparison with the aggregate, as a constant of the same value would be.
    func counterpart(_ other: Value) -> Value { Self.isOfDigits(kind, type) ? other.byDigits : other }

    /// The result if there are no objects.
    var empty: Value {
        switch kind {
        case .count: .int(0)
        case .sum: isDecimal ? .decimal128(DecimalBits.zero.low, DecimalBits.zero.high) : .int(0)
        case .min, .max, .avg: .null
        }
    }
}

/// A test of one value of its column's type.
package indirect enum ValueTest: Sendable, Hashable {
    case isNull
    case isNotNull
    case never
    case always
    case bool(ComparisonOperator, Bool)
    case int(ComparisonOperator, Int64)
    case float(ComparisonOperator, Float)
    case double(ComparisonOperator, Double)
    case date(ComparisonOperator, Timestamp)
    case objectID(ComparisonOperator, UInt64, UInt32)
    case uuid(ComparisonOperator, UInt64, UInt64)
    case decimal(ComparisonOperator, DecimalBits)
    case mixed(MixedTest)
    case link(ComparisonOperator, ObjectKey)
    /// Strings and data.
    case bytes(BytesTest)
    /// Integers.
    case intSet(IntegerSet)
    case bytesSet(ByteStringSet)
    /// Dates, doubles, floats, object ids and UUIDs, as `WideKey`.
    case wideSet(WideSet)
    case all([ValueTest])
    case any([ValueTest])
}
