// SPDX-License-Identifier: Apache-2.0
// A predicate whose names are columns and whose constants have the columns' types: ready to run on any version of
// the schema it was bound to.

package import RegnumEngine

package indirect enum BoundPredicate: Sendable, Hashable {
    case constant(Bool)
    case and([BoundPredicate])
    case or([BoundPredicate])
    case not(BoundPredicate)
    /// Some value at the end of the path passes the test.
    case test(BoundPath, ValueTest)
    /// The aggregate over the collection at the end of the path passes the test.
    case aggregate(BoundAggregate, ValueTest)
    case comparePaths(BoundPath, ComparisonOperator, BoundPath, ComparisonOptions)
    /// The aggregate compared with the value at the end of a path without collections.
    case compareAggregate(BoundAggregate, ComparisonOperator, BoundPath)
    /// The number of objects at the end of the path for which the predicate holds passes the test.
    case subquery(BoundPath, BoundPredicate, ValueTest)
    /// Some text at the end of the path, a column with a full-text index, fits the search.
    case text(BoundPath, TextSearch)
    /// Some embedded object at the end of the path lies in the area.
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
    /// It is made of tests of columns of the objects themselves. May be false for others that no other table decides
    /// about.
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
    /// A to-one link; the table it leads to.
    case link(column: Int, target: TableKey)
    /// A list or a set of links, or the values of a dictionary of links.
    case links(column: Int, target: TableKey)
    /// The link of one key of a dictionary.
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
    /// The value of one key of a dictionary; null where it has none.
    case entry(Int, String, ColumnType)
    /// What steps into the lists and dictionaries within a mixed value lead to, or those within the values of a
    /// dictionary of such; null where they lead nowhere.
    case nested(Int, [NestedStep])
    /// The key of the object that the steps lead to.
    case object
}

/// A step into a value that is a list or a dictionary.
package enum NestedStep: Sendable, Hashable {
    case key(String)
    case index(Int64)
    /// Each of its elements: some of them passes.
    case any
}

package struct BoundPath: Sendable, Hashable {
    package var steps: [PathStep]
    package var end: PathEnd
    /// Where the steps begin: 0 at the object that is asked about, else at the one for which so many SUBQUERYs ask
    /// about others.
    package var outer = 0

    package init(steps: [PathStep] = [], end: PathEnd) {
        self.steps = steps
        self.end = end
    }

    /// A step of it is `#any`.
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

    /// Leads to values of any type.
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
    /// Leads to the elements: `.object` for objects whose `column` is taken, `.elements` for values. A list of
    /// values whose `@count` is asked is `.elements` too.
    package var path: BoundPath
    /// Column of the objects that is taken; nil for `@count` and lists of values.
    package var column: Int?
    /// Of the values that are taken.
    package var type: ColumnType

    /// Its sum and average are decimals.
    var isDecimal: Bool { kind != .count && (type == .decimal128 || type == .mixed) }

    /// True where binary numbers meet what the aggregate comes to by their shortest digits, as they do in a column of
    /// decimals, whole ones too: those are what totals of values of any type are made of.
    static func isOfDigits(_ kind: AggregateKind, _ type: ColumnType) -> Bool {
        switch kind {
        case .count: false
        case .min, .max: type == .decimal128
        case .sum, .avg: type == .decimal128 || type == .mixed
        }
    }

    /// A property's value as the aggregate is compared with it: as with a constant of that worth.
    func counterpart(_ other: Value) -> Value { Self.isOfDigits(kind, type) ? other.byDigits : other }

    /// What it is where there are no objects.
    var empty: Value {
        switch kind {
        case .count: .int(0)
        case .sum: isDecimal ? .decimal128(DecimalBits.zero.low, DecimalBits.zero.high) : .int(0)
        case .min, .max, .avg: .null
        }
    }
}

/// A test of one value of the type of its column.
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
    /// String or data.
    case bytes(BytesTest)
    /// Int.
    case intSet(IntegerSet)
    case bytesSet(ByteStringSet)
    /// Date, double, float, object id, uuid: the words of `WideKey`.
    case wideSet(WideSet)
    case all([ValueTest])
    case any([ValueTest])
}
