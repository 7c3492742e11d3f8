// SPDX-License-Identifier: Apache-2.0
// Binds a predicate to a schema: resolves names to columns and converts constants to the columns' types.

package import RegnumEngine

/// Binds predicates to a schema. Error messages begin with the text of RealmSwift's exceptions.
package struct PredicateBinder {
    let schema: any QuerySchema
    /// The enclosing SUBQUERYs, innermost last.
    var scopes: [Scope] = []
    /// The queried class, inside SUBQUERYs.
    var root: QueryClass?

    /// The variable of a SUBQUERY and the class of the objects it ranges over.
    struct Scope {
        let variable: String
        let queryClass: QueryClass
    }

    package init(_ schema: any QuerySchema) { self.schema = schema }

    /// Binds the predicate to `table`. Throws if it names an unknown property or compares incompatible types. O(size of
    /// the predicate).
    package static func bind(
        _ predicate: Predicate, to table: TableKey, in schema: any QuerySchema
    ) throws(QueryError) -> BoundPredicate {
        let binder = PredicateBinder(schema)
        guard let queryClass = schema.queryClass(table) else {
            throw QueryError(.keyPath, "The class queried is not in the schema.")
        }
        return try binder.bind(predicate, queryClass)
    }

    func bind(_ predicate: Predicate, _ queryClass: QueryClass) throws(QueryError) -> BoundPredicate {
        switch predicate {
        case .constant(let value): return .constant(value)
        case .and(let parts): return .and(try bindAll(parts, queryClass))
        case .or(let parts): return .or(try bindAll(parts, queryClass))
        case .not(let part): return .not(try bind(part, queryClass))
        case .pieces(let pieces): return .pieces(try bindAll(pieces, queryClass))
        case .piece(let index): return .piece(index)
        case .comparison(let comparison):
            do {
                return try bind(comparison, queryClass)
            } catch {
                var placed = error
                placed.position = error.position ?? comparison.position
                throw placed
            }
        }
    }

    private func bindAll(_ parts: [Predicate], _ queryClass: QueryClass) throws(QueryError) -> [BoundPredicate] {
        var bound: [BoundPredicate] = []
        bound.reserveCapacity(parts.count)
        for part in parts { bound.append(try bind(part, queryClass)) }
        return bound
    }

    // MARK: Comparisons

    private func bind(_ written: Comparison, _ queryClass: QueryClass) throws(QueryError) -> BoundPredicate {
        if written.modifier == .all { throw QueryError(.unsupported, "ALL modifier not supported.") }
        if written.comparison == .matches {
            throw QueryError(.unsupported, "Operator 'MATCHES' not supported for type 'string'.")
        }
        if written.modifier == .none {
            var some = written
            some.modifier = .any
            return .not(try bindSides(some, queryClass))
        }
        return try bindSides(written, queryClass)
    }

    private func bindSides(_ written: Comparison, _ queryClass: QueryClass) throws(QueryError)
        -> BoundPredicate
    {
        switch (written.left, written.right) {
        case (.list, _), (_, .list):
            throw QueryError(.argument, "Expressions within predicate aggregates must be constant values.")
        case (.subquery(let path, let variable, let predicate, let suffix), let right):
            return try subquery(path, variable, predicate, suffix, written, right, queryClass)
        case (.constant, .subquery(let path, let variable, let predicate, let suffix)):
            let turned = try Self.turned(written)
            return try subquery(path, variable, predicate, suffix, turned, written.left, queryClass)
        case (_, .subquery):
            throw Self.badSubquery
        case (.constant, .constant):
            throw QueryError(
                .argument,
                "Predicate expressions must compare a keypath and another keypath or a constant value.")
        case (.keyPath(let left), .keyPath(let right)):
            return try comparePaths(left, right, written, queryClass)
        case (.keyPath(let path), .constant(let constant)):
            return try compare(path, written, constant, queryClass)
        case (.constant(let constant), .keyPath(let path)):
            return try compare(path, try Self.turned(written), constant, queryClass)
        }
    }

    /// Swaps the sides of a comparison with a constant on the left.
    private static func turned(_ written: Comparison) throws(QueryError) -> Comparison {
        var turned = written
        if written.comparison == .in, case .keyPath = written.right {
            // `value IN list` tests whether the list contains the value.
            turned.comparison = .equal
            turned.options = []
            turned.modifier = .any
            return turned
        }
        if written.comparison == .between {
            throw QueryError(
                .argument,
                "Predicate with BETWEEN operator must compare a KeyPath with an aggregate with two values.")
        }
        turned.comparison = try turned.comparison.turned()
        return turned
    }

    private func compare(
        _ written: KeyPathOperand, _ comparison: Comparison, _ constant: Constant, _ queryClass: QueryClass
    ) throws(QueryError) -> BoundPredicate {
        if let bound = ownValue(written, comparison, constant, queryClass) { return bound }
        if let bound = try elementItself(written, comparison, constant, queryClass) { return bound }
        let path = try resolve(written, queryClass)
        if let aggregate = path.aggregate { return try compare(aggregate, path, comparison, constant) }
        if comparison.comparison == .text { return try search(path, comparison, constant) }
        try checkModifier(path, comparison)
        if comparison.comparison == .in, case .geo(let shape) = constant { return try within(shape, path) }
        if path.type == .link, let bound = try memberwise(path, comparison, constant) { return bound }
        let constants = ConstantBinder(path: path, options: comparison.options)
        if comparison.comparison == .between, case .elements = path.end {
            // For collections of values, each bound has its own ANY.
            let bounds = try constants.bounds(constant)
            return .and([
                .test(path.bound, try constants.test(.greaterOrEqual, bounds.low)),
                .test(path.bound, try constants.test(.lessOrEqual, bounds.high)),
            ])
        }
        return .test(path.bound, try constants.test(comparison.comparison, constant))
    }

    /// A fast path for the most frequent comparison: an integer or string property of the object itself with a constant
    /// of its type. Avoids resolving a path. Nil for all other comparisons.
    private func ownValue(
        _ written: KeyPathOperand, _ comparison: Comparison, _ constant: Constant, _ queryClass: QueryClass
    ) -> BoundPredicate? {
        guard scopes.isEmpty, written.variable == nil, written.segments.count == 1, comparison.modifier == .direct,
            comparison.options.isEmpty, comparison.comparison == .equal || comparison.comparison.isOrdering
        else { return nil }
        guard written.segments[0].subscripts.isEmpty,
            case .column(let number, let definition)? = queryClass.properties[written.segments[0].name],
            definition.collection == .none
        else { return nil }
        let test: ValueTest
        switch (definition.type, constant) {
        case (.int, .int(let value)): test = .int(comparison.comparison, value)
        case (.string, .string(let text)):
            test = .bytes(BytesTest(comparison.comparison, Array(text.utf8), comparison.options))
        default: return nil
        }
        return .test(BoundPath(end: .column(number, definition.type)), test)
    }

    func checkModifier(_ path: ResolvedPath, _ comparison: Comparison) throws(QueryError) {
        if path.needsAny, comparison.modifier == .direct {
            throw QueryError(
                .keyPath,
                "Key paths that include a collection property must use aggregate operations: write "
                    + "ANY \(path.written).")
        }
        if !path.isToMany, comparison.modifier == .any, path.type != .mixed {
            throw QueryError(
                .keyPath,
                "Aggregate operations can only be used on key paths that include an collection property: "
                    + "'\(path.written)' includes none.")
        }
    }

    private func compare(
        _ aggregate: ResolvedAggregate, _ path: ResolvedPath, _ comparison: Comparison, _ constant: Constant
    ) throws(QueryError) -> BoundPredicate {
        let bound = BoundAggregate(aggregate, path.bound)
        let test = try ConstantBinder.aggregateTest(aggregate, comparison.comparison, constant)
        return .aggregate(bound, test)
    }

    /// Binds a comparison of an aggregate with a property of the object itself.
    private func compare(
        _ aggregate: ResolvedAggregate, _ path: ResolvedPath, _ comparison: ComparisonOperator,
        _ other: ResolvedPath
    ) throws(QueryError) -> BoundPredicate {
        if other.isToMany {
            throw QueryError(.unsupported, "Comparing two collection columns is not permitted.")
        }
        let isNumber = [.int, .float, .double, .decimal128].contains(other.type)
        let fits = aggregate.type == .date ? other.type == .date : isNumber
        guard fits || other.type == .mixed else {
            throw QueryError(
                .value,
                aggregate.kind == .count
                    ? "@count can only be compared with a numeric value."
                    : "\(aggregate.kind.rawValue) on a property of type \(aggregate.type.shown) cannot be "
                        + "compared with '\(other.written)'.")
        }
        guard comparison == .equal || comparison == .notEqual || comparison.isOrdering else {
            throw QueryError(
                .unsupported,
                "Operator '\(comparison.rawValue)' not supported for type '\(aggregate.type.shown)'")
        }
        let bound = BoundAggregate(aggregate, path.bound)
        return .compareAggregate(bound, comparison, other.bound)
    }

    private func comparePaths(
        _ leftWritten: KeyPathOperand, _ rightWritten: KeyPathOperand, _ comparison: Comparison,
        _ queryClass: QueryClass
    ) throws(QueryError) -> BoundPredicate {
        let left = try resolve(leftWritten, queryClass)
        let right = try resolve(rightWritten, queryClass)
        switch (left.aggregate, right.aggregate) {
        case (nil, nil): break
        case (let aggregate?, nil): return try compare(aggregate, left, comparison.comparison, right)
        case (nil, let aggregate?):
            return try compare(aggregate, right, try comparison.comparison.turned(), left)
        default:
            throw QueryError(
                .unsupported,
                "Key paths including aggregate operations cannot be compared with other aggregate operations."
            )
        }
        if left.isToMany || right.isToMany || left.bound.hasAny || right.bound.hasAny {
            throw QueryError(.unsupported, "Comparing two collection columns is not permitted.")
        }
        try checkModifier(left, comparison)
        guard left.typeName == right.typeName else {
            throw QueryError(
                .value,
                "Property type mismatch between \(left.typeName) and \(right.typeName): '\(left.written)' and "
                    + "'\(right.written)'.")
        }
        try ConstantBinder(path: left, options: comparison.options).checkOperator(comparison.comparison)
        if comparison.comparison == .in || comparison.comparison == .between {
            throw QueryError(
                .argument,
                comparison.comparison == .in
                    ? "IN clause requires an array of items."
                    : "Predicate with BETWEEN operator must compare a KeyPath with an aggregate with two values."
            )
        }
        return .comparePaths(left.bound, comparison.comparison, right.bound, comparison.options)
    }

    // MARK: SUBQUERY

    private static let badSubquery = QueryError(
        .unsupported,
        "SUBQUERY is only supported when immediately followed by .@count that is compared with a constant number."
    )

    private func subquery(
        _ written: KeyPathOperand, _ variable: String, _ predicate: Predicate, _ suffix: [KeyPathSegment],
        _ comparison: Comparison, _ right: Operand, _ queryClass: QueryClass
    ) throws(QueryError) -> BoundPredicate {
        guard suffix.count == 1, suffix[0].name == "@count", suffix[0].subscripts.isEmpty,
            case .constant(let constant) = right, comparison.modifier == .direct
        else { throw Self.badSubquery }
        switch constant {
        case .int, .double, .float: break
        default: throw Self.badSubquery
        }
        let path = try resolve(written, queryClass)
        guard path.aggregate == nil, case .object = path.end, path.isToMany,
            let target = path.bound.steps.last?.target,
            let targetClass = schema.queryClass(target)
        else {
            throw QueryError(.keyPath, "Subqueries must contain a keypath starting with a collection.")
        }
        guard scopes.count < PredicateParser.subqueryLimit else { throw PredicateParser.tooManySubqueries }
        var inner = self
        if scopes.isEmpty { inner.root = queryClass }
        inner.scopes.append(Scope(variable: variable, queryClass: targetClass))
        let bound = try inner.bind(predicate, targetClass)
        let count = ResolvedAggregate(kind: .count, column: nil, type: .int, property: path.written)
        let test = try ConstantBinder.aggregateTest(count, comparison.comparison, constant)
        return .subquery(path.bound, bound, test)
    }
}
