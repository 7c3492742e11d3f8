// SPDX-License-Identifier: Apache-2.0
// Lowering of each expression of `#Predicate`, in the order of Foundation's documentation.

internal import Foundation
internal import RegnumQuery

extension PredicateExpressions.Variable: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        switch lowering.variables[key] {
        case .element: return .path(KeyPathOperand([]), hasCollection: false, isCollection: false)
        case .named(let name):
            return .path(KeyPathOperand(variable: name, []), hasCollection: false, isCollection: false)
        case .value(let value): return value
        case nil: throw lowering.refusal(self, "it does not refer to anything that a query knows.")
        }
    }
}

extension PredicateExpressions.KeyPath: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        let start = try lowering.expression(root)
        guard case .path(var path, let hasCollection, let isCollection) = start else {
            // A property of a captured value: its value is already known.
            if case .constant(let value?) = start, let value = value as? Root.Output {
                return .constant(value[keyPath: keyPath])
            }
            // The elements that satisfy a condition: their count, or whether there are none.
            if case .count(let path, let variable, let test) = start,
                let array = Root.Output.self as? any FilteredArray.Type
            {
                if array.isCount(keyPath) { return start }
                if array.isEmptiness(keyPath) {
                    return .condition(ExpressionLowering.counted((path: path, variable: variable, test: test), .equal))
                }
            }
            throw lowering.refusal(self, "only properties of objects can be used.")
        }
        if let type = Root.Output.self as? ObjectBase.Type, let name = tracedName(of: keyPath, type) {
            path.segments += name.split(separator: ".").map { KeyPathSegment(String($0)) }
            let isList = Output.self is any RealmCollectionBase.Type
            return .path(path, hasCollection: hasCollection || isList, isCollection: isList)
        }
        // Key paths have no names: evaluating one on an empty value identifies it.
        if isCollection, Output.self == Int.self {
            path.segments.append(KeyPathSegment("@count"))
            return .path(path, hasCollection: false, isCollection: false)
        }
        if isCollection, let list = (Root.Output.self as? any AnyList.Type)?.init() as? Root.Output,
            list[keyPath: keyPath] as? Bool == true
        {
            path.segments.append(KeyPathSegment("@count"))
            return .condition(.comparison(QueryComparison(.keyPath(path), .equal, .constant(.int(0)))))
        }
        if let empty = "" as? Root.Output, let full = "a" as? Root.Output,
            empty[keyPath: keyPath] as? Bool == true, full[keyPath: keyPath] as? Bool == false
        {
            return .condition(.comparison(QueryComparison(.keyPath(path), .equal, .constant(.string("")))))
        }
        throw lowering.refusal(self, "only stored properties, count and isEmpty can be used.")
    }
}

/// The result of `filter`: its key paths can be identified only by comparing them.
private protocol FilteredArray {
    static func isCount(_ keyPath: AnyKeyPath) -> Bool
    static func isEmptiness(_ keyPath: AnyKeyPath) -> Bool
}

extension Array: FilteredArray {
    fileprivate static func isCount(_ keyPath: AnyKeyPath) -> Bool { keyPath == \[Element].count }
    fileprivate static func isEmptiness(_ keyPath: AnyKeyPath) -> Bool { keyPath == \[Element].isEmpty }
}

extension PredicateExpressions.Value: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression { .constant(value) }
}

extension PredicateExpressions.NilLiteral: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression { .constant(nil) }
}

extension PredicateExpressions.Conjunction: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        let left = try lowering.condition(lhs)
        return .condition(.and([left, try lowering.condition(rhs)]))
    }
}

extension PredicateExpressions.Disjunction: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        let left = try lowering.condition(lhs)
        return .condition(.or([left, try lowering.condition(rhs)]))
    }
}

extension PredicateExpressions.Negation: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        .condition(.not(try lowering.condition(wrapped)))
    }
}

extension PredicateExpressions.Equal: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        try lowering.compare(self, lhs, .equal, rhs)
    }
}

extension PredicateExpressions.NotEqual: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        try lowering.compare(self, lhs, .notEqual, rhs)
    }
}

extension PredicateExpressions.Comparison: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        switch op {
        case .lessThan: return try lowering.compare(self, lhs, .less, rhs)
        case .lessThanOrEqual: return try lowering.compare(self, lhs, .lessOrEqual, rhs)
        case .greaterThan: return try lowering.compare(self, lhs, .greater, rhs)
        case .greaterThanOrEqual: return try lowering.compare(self, lhs, .greaterOrEqual, rhs)
        @unknown default: throw lowering.refusal(self, "the operator is not known.")
        }
    }
}

// MARK: Optionals

extension PredicateExpressions.OptionalFlatMap: QueryExpression {
    /// `$0.dog?.name == "Rex"`: properties of a null link are null in queries too.
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        lowering.variables[variable.key] = .value(try lowering.expression(wrapped))
        defer { lowering.variables[variable.key] = nil }
        return try lowering.expression(transform)
    }
}

extension PredicateExpressions.ForcedUnwrap: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        try lowering.expression(inner)
    }
}

extension PredicateExpressions.NilCoalesce: QueryExpression {
    /// `condition ?? false`: null satisfies no comparison except those with null.
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        guard case .constant(let value) = try lowering.expression(rhs), value as? Bool == false else {
            throw lowering.refusal(
                self, "only `?? false` after a condition is supported; compare with nil instead.")
        }
        return .condition(try lowering.condition(lhs))
    }
}

extension PredicateExpressions.UnaryMinus: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        switch try lowering.expression(wrapped) {
        case .constant(let value as Int): return .constant(0 &- value)
        case .constant(let value as Double): return .constant(-value)
        case .constant(let value as Float): return .constant(-value)
        default: throw lowering.refusal(self, "queries cannot do arithmetic with properties.")
        }
    }
}

// MARK: Sequences, ranges and strings

extension PredicateExpressions.SequenceContains: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        let collection = try lowering.expression(sequence)
        let item = try lowering.expression(element)
        switch (collection, item) {
        case (.path(let path, _, true), .constant(let value)):
            return .condition(
                .comparison(
                    QueryComparison(
                        .keyPath(path), .equal, .constant(lowering.constant(value)), modifier: .any)))
        case (.constant(let values), .path(let path, let hasCollection, _)):
            return .condition(
                .comparison(
                    QueryComparison(
                        .keyPath(path), .in, .constant(lowering.constant(values)),
                        modifier: hasCollection ? .any : .direct)))
        default:
            throw lowering.refusal(
                self, "test whether a list contains a constant, or whether constants contain a property.")
        }
    }
}

extension PredicateExpressions.SequenceContainsWhere: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        let found = try lowering.elements(self, of: sequence, variable, test)
        return .condition(ExpressionLowering.counted(found, .greater))
    }
}

extension PredicateExpressions.SequenceAllSatisfy: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        var found = try lowering.elements(self, of: sequence, variable, test)
        found.test = .not(found.test)
        return .condition(ExpressionLowering.counted(found, .equal))
    }
}

extension PredicateExpressions.Filter: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        let found = try lowering.elements(self, of: sequence, variable, filter)
        return .count(found.path, variable: found.variable, found.test)
    }
}

extension PredicateExpressions.CollectionContainsCollection: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        try lowering.compare(self, base, .contains, other)
    }
}

extension PredicateExpressions.SequenceStartsWith: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        try lowering.compare(self, base, .beginsWith, prefix)
    }
}

extension PredicateExpressions.Range: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        guard case .constant(let low) = try lowering.expression(lower),
            case .constant(let high) = try lowering.expression(upper)
        else { throw lowering.refusal(self, "the bounds must be constants.") }
        return .range(lower: low, upper: high, isClosed: false)
    }
}

extension PredicateExpressions.ClosedRange: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        guard case .constant(let low) = try lowering.expression(lower),
            case .constant(let high) = try lowering.expression(upper)
        else { throw lowering.refusal(self, "the bounds must be constants.") }
        return .range(lower: low, upper: high, isClosed: true)
    }
}

extension PredicateExpressions.RangeExpressionContains: QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression {
        guard case .path(let path, let hasCollection, _) = try lowering.expression(element) else {
            throw lowering.refusal(self, "only a property can be tested against a range.")
        }
        let modifier: ComparisonModifier = hasCollection ? .any : .direct
        func bound(_ comparison: ComparisonOperator, _ value: Any?) -> QueryPredicate {
            .comparison(
                QueryComparison(
                    .keyPath(path), comparison, .constant(lowering.constant(value)), modifier: modifier))
        }
        let found: LoweredExpression
        if let value = try? lowering.expression(range) {
            found = value
        } else {
            throw lowering.refusal(self, "the range must be a constant.")
        }
        switch found {
        case .range(let lower, let upper, let isClosed):
            return .condition(.and([bound(.greaterOrEqual, lower), bound(isClosed ? .lessOrEqual : .less, upper)]))
        case .constant(let value):
            guard let range = value as? any QueryRange else {
                throw lowering.refusal(self, "the range must be a constant.")
            }
            var parts: [QueryPredicate] = []
            if let lower = range.queryLower { parts.append(bound(.greaterOrEqual, lower)) }
            if let (upper, isClosed) = range.queryUpper {
                parts.append(bound(isClosed ? .lessOrEqual : .less, upper))
            }
            return .condition(.and(parts))
        default: throw lowering.refusal(self, "the range must be a constant.")
        }
    }
}

/// Named because `PredicateExpressions.Comparison` shadows it in extensions of `PredicateExpressions`.
private typealias QueryComparison = RegnumQuery.Comparison

/// A captured range.
private protocol QueryRange {
    var queryLower: Any? { get }
    var queryUpper: (Any, isClosed: Bool)? { get }
}
extension Range: QueryRange {
    fileprivate var queryLower: Any? { lowerBound }
    fileprivate var queryUpper: (Any, isClosed: Bool)? { (upperBound, false) }
}
extension ClosedRange: QueryRange {
    fileprivate var queryLower: Any? { lowerBound }
    fileprivate var queryUpper: (Any, isClosed: Bool)? { (upperBound, true) }
}
extension PartialRangeFrom: QueryRange {
    fileprivate var queryLower: Any? { lowerBound }
    fileprivate var queryUpper: (Any, isClosed: Bool)? { nil }
}
extension PartialRangeThrough: QueryRange {
    fileprivate var queryLower: Any? { nil }
    fileprivate var queryUpper: (Any, isClosed: Bool)? { (upperBound, true) }
}
extension PartialRangeUpTo: QueryRange {
    fileprivate var queryLower: Any? { nil }
    fileprivate var queryUpper: (Any, isClosed: Bool)? { (upperBound, false) }
}
