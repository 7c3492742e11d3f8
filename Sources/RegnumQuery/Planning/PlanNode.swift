// SPDX-License-Identifier: Apache-2.0
// A bound predicate in executable form: cheap and selective conditions come first, and each step of a path is a node.

import RegnumEngine

indirect enum PlanNode {
    case constant(Bool)
    case and([PlanNode])
    case or([PlanNode])
    case not(PlanNode)
    case column(Int, ColumnType, ValueTest)
    case elements(Int, ColumnType, ValueTest)
    /// At least one key of a dictionary passes.
    case dictionaryKeys(Int, ValueTest)
    /// The value stored under a dictionary's key passes.
    case entry(Int, String, ColumnType, ValueTest)
    /// At least one value within a mixed value passes.
    case nested(Int, [NestedStep], ValueTest)
    /// The object itself: its key passes the test.
    case key(ValueTest)
    /// At least one object one step away passes.
    case through(LinkTraversal)
    case aggregate(AggregateNode)
    case comparePaths(BoundPath, ComparisonOperator, BoundPath, ComparisonOptions)
    case compareAggregate(BoundAggregate, ComparisonOperator, BoundPath)
    /// `isCorrelated`: the inner node also refers to objects outside the SUBQUERY.
    case subquery(BoundPath, PlanNode, ValueTest, isCorrelated: Bool)
    /// The object at that number of SUBQUERY levels outwards passes.
    case outer(Int, PlanNode)
    /// The text of a column contains a term.
    case text(TextNode)
    /// The embedded object itself lies in an area.
    case geo(GeoTest)
    /// See `Condition`.
    case pieces([PlanNode])
    case piece(Int)
}

/// A traversal of one step of a path. A class, because it caches the results of one run for the objects at its other
/// end.
final class LinkTraversal {
    let step: PathStep
    let inner: PlanNode
    /// True if a null link passes.
    let matchesNull: Bool
    /// The objects that pass in this run: at the step's other end for links, at its near end for backlinks. Accessed
    /// once per group.
    @exclusivity(unchecked) var passing: KeyBitmap?
    /// The number of to-many steps from here on. With several in a row, many paths lead to the same object.
    let manyCount: Int
    /// Objects at the other end that have failed in this run, so that each is evaluated once; used if there are many
    /// paths.
    @exclusivity(unchecked) var failing: Set<UInt64> = []

    init(step: PathStep, inner: PlanNode, matchesNull: Bool) {
        self.step = step
        self.inner = inner
        self.matchesNull = matchesNull
        manyCount = inner.manyCount + (step.isToMany ? 1 : 0)
    }

    var hasManyWays: Bool { manyCount > 2 }
}

extension PlanNode {
    /// The maximum number of consecutive to-many steps in it.
    fileprivate var manyCount: Int {
        switch self {
        case .through(let through): through.manyCount
        case .and(let parts), .or(let parts), .pieces(let parts): parts.map(\.manyCount).max() ?? 0
        case .not(let part): part.manyCount
        default: 0
        }
    }
}

final class AggregateNode {
    let aggregate: BoundAggregate
    let test: ValueTest
    /// For `@count` of backlinks: the counts by key of the linked object.
    @exclusivity(unchecked) var counts: KeyCounts?

    init(_ aggregate: BoundAggregate, _ test: ValueTest) {
        self.aggregate = aggregate
        self.test = test
    }
}

final class TextNode {
    let column: Int
    let term: TextTerm
    /// The objects that contain the term, for this run.
    @exclusivity(unchecked) var passing: KeyBitmap?

    init(_ column: Int, _ term: TextTerm) {
        self.column = column
        self.term = term
    }
}

enum Planner {
    static func plan(_ predicate: BoundPredicate) -> PlanNode {
        switch predicate {
        case .constant(let value): return .constant(value)
        case .and(let parts): return .and(ordered(parts.flatMap { flatten($0, isAnd: true) }.map(plan)))
        case .or(let parts): return .or(ordered(parts.flatMap { flatten($0, isAnd: false) }.map(plan)))
        case .not(let part): return .not(plan(part))
        case .pieces(let pieces): return .pieces(pieces.map(plan))
        case .piece(let index): return .piece(index)
        case .test(let path, let test):
            return plan(path.steps[...], path.end, test, isToMany: path.isToMany).outward(path.outer)
        case .aggregate(var aggregate, let test):
            let levels = aggregate.path.outer
            aggregate.path.outer = 0
            return plan(aggregate, test).outward(levels)
        case .comparePaths(let left, let comparison, let right, let options):
            return .comparePaths(left, comparison, right, options)
        case .compareAggregate(let aggregate, let comparison, let path):
            return .compareAggregate(aggregate, comparison, path)
        case .subquery(let path, let inner, let test):
            return .subquery(path, plan(inner), test, isCorrelated: inner.asksOutward)
        case .text(let path, let search):
            guard case .column(let column, _) = path.end else { preconditionFailure("a search in no column") }
            // Null links on the path are only significant if no step is to-many.
            let matchesNull = !path.isToMany && search.matchesNothing
            let node = path.steps.reversed().reduce(search.plan(column)) { inner, step in
                .through(LinkTraversal(step: step, inner: inner, matchesNull: matchesNull))
            }
            return node.outward(path.outer)
        case .geo(let path, let test):
            let node = path.steps.reversed().reduce(PlanNode.geo(test)) { inner, step in
                .through(LinkTraversal(step: step, inner: inner, matchesNull: false))
            }
            return node.outward(path.outer)
        }
    }

    private static func flatten(_ predicate: BoundPredicate, isAnd: Bool) -> [BoundPredicate] {
        switch predicate {
        case .and(let parts) where isAnd: parts.flatMap { flatten($0, isAnd: isAnd) }
        case .or(let parts) where !isAnd: parts.flatMap { flatten($0, isAnd: isAnd) }
        default: [predicate]
        }
    }

    private static func plan(
        _ steps: ArraySlice<PathStep>, _ end: PathEnd, _ test: ValueTest, isToMany: Bool
    ) -> PlanNode {
        guard let step = steps.first else {
            switch end {
            case .column(let number, let type): return .column(number, type, test)
            case .elements(let number, let type): return .elements(number, type, test)
            case .keys(let number): return .dictionaryKeys(number, test)
            case .entry(let number, let key, let type): return .entry(number, key, type, test)
            case .nested(let number, let nested): return .nested(number, nested, test)
            case .object: return .key(test)
            }
        }
        let rest = steps.dropFirst()
        if case .object = end, rest.isEmpty {
            // The link column contains the key to be tested.
            switch step {
            case .link(let column, _): return .column(column, .link, test)
            case .links(let column, _): return .elements(column, .link, test)
            case .entry(let column, let key, _): return .entry(column, key, .link, test)
            case .backlinks: break
            }
        }
        let inner = plan(rest, end, test, isToMany: isToMany)
        return .through(LinkTraversal(step: step, inner: inner, matchesNull: !isToMany && test.matchesNull))
    }

    /// To-one links before the collection become separate steps.
    private static func plan(_ aggregate: BoundAggregate, _ test: ValueTest) -> PlanNode {
        guard case .link? = aggregate.path.steps.first, let step = aggregate.path.steps.first else {
            if let existence = existence(aggregate, test) { return existence }
            return .aggregate(AggregateNode(aggregate, test))
        }
        var rest = aggregate
        rest.path.steps.removeFirst()
        return .through(LinkTraversal(step: step, inner: plan(rest, test), matchesNull: test.matches(aggregate.empty)))
    }

    /// Converts a comparison of a backlink count with 0 to an existence test: the first backlink decides.
    private static func existence(_ aggregate: BoundAggregate, _ test: ValueTest) -> PlanNode? {
        guard aggregate.kind == .count, aggregate.path.steps.count == 1, case .object = aggregate.path.end,
            case .backlinks? = aggregate.path.steps.first
        else { return nil }
        let isWanted: Bool
        switch test {
        case .int(.greater, 0), .int(.notEqual, 0), .int(.greaterOrEqual, 1): isWanted = true
        case .int(.equal, 0), .int(.lessOrEqual, 0), .int(.less, 1): isWanted = false
        default: return nil
        }
        let any = PlanNode.through(
            LinkTraversal(step: aggregate.path.steps[0], inner: .constant(true), matchesNull: false))
        return isWanted ? any : .not(any)
    }

    // MARK: Order

    private static func ordered(_ parts: [PlanNode]) -> [PlanNode] {
        let costs = parts.map(\.cost)
        return parts.indices.sorted { (costs[$0], $0) < (costs[$1], $1) }.map { parts[$0] }
    }
}

extension BoundPredicate {
    /// True if a part of it refers to an object outside its SUBQUERY.
    fileprivate var asksOutward: Bool {
        switch self {
        case .constant, .piece: false
        case .and(let parts), .or(let parts), .pieces(let parts): parts.contains(where: \.asksOutward)
        case .not(let part): part.asksOutward
        case .test(let path, _), .text(let path, _), .geo(let path, _): path.outer > 0
        case .aggregate(let aggregate, _): aggregate.path.outer > 0
        case .comparePaths(let left, _, let right, _): left.outer > 0 || right.outer > 0
        case .compareAggregate(let aggregate, _, let path): aggregate.path.outer > 0 || path.outer > 0
        case .subquery(let path, let inner, _): path.outer > 0 || inner.asksOutward
        }
    }
}

extension PlanNode {
    /// The node, evaluated on the object `levels` SUBQUERY levels outwards.
    fileprivate func outward(_ levels: Int) -> PlanNode { levels == 0 ? self : .outer(levels, self) }

    /// The approximate cost in ns per row, slightly less for selective conditions.
    var cost: Double {
        switch self {
        case .constant, .piece: 0
        case .and(let parts), .or(let parts), .pieces(let parts): parts.reduce(0) { $0 + $1.cost }
        case .not(let part): part.cost
        case .column(_, let type, let test): Self.cost(type, test)
        case .key: 2
        case .elements, .dictionaryKeys, .entry: 30
        case .through(let through): 10 + through.inner.cost
        case .aggregate, .comparePaths, .compareAggregate, .nested: 100
        case .subquery(_, let inner, _, _): 100 + inner.cost
        case .outer(_, let node): node.cost
        case .text: 20
        case .geo: 150
        }
    }

    private static func cost(_ type: ColumnType, _ test: ValueTest) -> Double {
        switch test {
        case .bytes(let test):
            switch test.operation {
            case .equal: test.isDiacriticInsensitive ? 200 : 2
            case .prefix: test.isDiacriticInsensitive ? 200 : 3
            default: test.isDiacriticInsensitive ? 200 : 8
            }
        case .all(let tests), .any(let tests): tests.reduce(0) { $0 + cost(type, $1) }
        case .intSet, .bytesSet, .wideSet: 8
        case .int(.equal, _), .date(.equal, _): 0.3
        case .bool: 0.1
        case .double, .float: 0.6
        default: 0.5
        }
    }
}
