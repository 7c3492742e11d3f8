// SPDX-License-Identifier: Apache-2.0
// Foundation's `#Predicate` as a way to write queries. Its macro builds a tree of generic expressions whose parts are
// public; each kind that a query can express declares how it is lowered. An expression that cannot be lowered is thrown
// by name. An addition to RealmSwift's API.

public import Foundation
internal import RegnumEngine
internal import RegnumQuery

/// The error for a `#Predicate` that cannot be turned into a query.
public struct UnsupportedPredicateError: Swift.Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
    /// The first operator that a query cannot express, as Foundation names it.
    public let expression: String
    /// An alternative, or the reason why a query cannot express the operator.
    public let advice: String

    public var description: String {
        "This #Predicate cannot be turned into a query because of \(expression): \(advice)"
    }
    public var errorDescription: String? { description }
}

extension RealmCollection where Element: ObjectBase {
    /// Returns the elements that satisfy a `#Predicate`.
    ///
    /// ```swift
    /// let adults = try people.filter(#Predicate<Person> { $0.age >= 18 && $0.name.starts(with: "A") })
    /// ```
    ///
    /// The predicate runs like any other query, with indexes; the closure itself is never called. Throws
    /// `UnsupportedPredicateError`, which names the first operator that a query cannot express (arithmetic, casts,
    /// conditional expressions), or `ParsedPredicate.Error` if values cannot be compared.
    public func filter(_ predicate: Foundation.Predicate<Element>) throws -> Results<Element> {
        let state = managed()
        var lowering = ExpressionLowering(realm: state.realm)
        lowering.variables[predicate.variable.key] = .element
        let lowered = try lowering.condition(predicate.expression).withoutDepth
        do throws(QueryError) { return Results(state: try state.appending(.filter(lowered))) } catch {
            throw ParsedPredicate.Error(error, in: "")
        }
    }
}

/// The result of lowering an expression.
enum LoweredExpression {
    case condition(QueryPredicate)
    case path(KeyPathOperand, hasCollection: Bool, isCollection: Bool)
    case constant(Any?)
    /// The bounds of a range; a nil bound is open.
    case range(lower: Any?, upper: Any?, isClosed: Bool)
    /// The number of elements that satisfy a condition.
    case count(KeyPathOperand, variable: String, QueryPredicate)
}

/// An expression that a query can express.
protocol QueryExpression {
    func lowered(_ lowering: inout ExpressionLowering) throws -> LoweredExpression
}

struct ExpressionLowering {
    enum Variable {
        case element
        case named(String)
        /// The value inside an optional.
        case value(LoweredExpression)
    }

    let realm: RealmCore
    var variables: [PredicateExpressions.VariableID: Variable] = [:]
    private static let nestingLimit = 100
    private var depth = 0
    private var subqueries = 0

    init(realm: RealmCore) { self.realm = realm }

    mutating func expression(_ expression: Any) throws -> LoweredExpression {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.nestingLimit else {
            throw refusal(expression, "it is nested more than \(Self.nestingLimit) deep.")
        }
        guard let known = expression as? any QueryExpression else {
            throw refusal(expression, "compute it before the query, or filter the elements in Swift.")
        }
        return try known.lowered(&self)
    }

    mutating func condition(_ expression: Any) throws -> QueryPredicate {
        switch try self.expression(expression) {
        case .condition(let predicate): return predicate
        case .path(let path, let hasCollection, _):
            return .comparison(
                Comparison(.keyPath(path), .equal, .constant(.bool(true)), modifier: hasCollection ? .any : .direct))
        case .constant(let value as Bool): return .constant(value)
        default: throw refusal(expression, "a condition is needed here.")
        }
    }

    func refusal(_ expression: Any, _ advice: String) -> UnsupportedPredicateError {
        var name = "\(type(of: expression))"
        if let end = name.firstIndex(of: "<") { name = String(name[..<end]) }
        return UnsupportedPredicateError(expression: name, advice: advice)
    }

    func constant(_ value: Any?) -> Constant { Constant(any: value, realm: realm) }

    /// Lowers a comparison; the path may be on either side.
    mutating func compare(
        _ expression: Any, _ left: Any, _ comparison: ComparisonOperator, _ right: Any,
        options: ComparisonOptions = []
    ) throws -> LoweredExpression {
        let first = try self.expression(left)
        let second = try self.expression(right)
        if case .condition(let predicate) = first, case .constant(let value) = second {
            return .condition(try truth(expression, predicate, comparison, value))
        }
        if case .condition(let predicate) = second, case .constant(let value) = first {
            return .condition(try truth(expression, predicate, comparison, value))
        }
        if case .constant(let a) = first, case .constant(let b) = second,
            let a = a as? AnyHashable, let b = b as? AnyHashable, comparison == .equal || comparison == .notEqual
        {
            return .condition(.constant((a == b) == (comparison == .equal)))
        }
        var modifier = ComparisonModifier.direct
        for side in [first, second] {
            if case .path(_, true, _) = side { modifier = .any }
        }
        return .condition(
            .comparison(
                Comparison(
                    try operand(expression, first), comparison, try operand(expression, second),
                    options: options, modifier: modifier)))
    }

    /// Lowers a comparison of a condition with a constant: `(a && b) == true`.
    private func truth(
        _ expression: Any, _ predicate: QueryPredicate, _ comparison: ComparisonOperator, _ value: Any?
    ) throws -> QueryPredicate {
        guard let value = value as? Bool, comparison == .equal || comparison == .notEqual else {
            throw refusal(expression, "a condition can only be compared with true and false.")
        }
        return value == (comparison == .equal) ? predicate : .not(predicate)
    }

    private func operand(_ expression: Any, _ lowered: LoweredExpression) throws -> Operand {
        switch lowered {
        case .path(let path, _, _): return .keyPath(path)
        case .constant(let value): return .constant(constant(value))
        case .count(let path, let variable, let predicate):
            return .subquery(path, variable: variable, predicate, suffix: [KeyPathSegment("@count")])
        case .condition, .range:
            throw refusal(expression, "only properties and constants can be compared.")
        }
    }

    /// Lowers a condition on the elements of a collection.
    mutating func elements<ID>(
        _ expression: Any, of sequence: Any, _ variable: PredicateExpressions.Variable<ID>, _ test: Any
    ) throws -> (path: KeyPathOperand, variable: String, test: QueryPredicate) {
        guard case .path(let path, _, true) = try self.expression(sequence) else {
            throw refusal(expression, "only lists of objects support conditions on their elements.")
        }
        subqueries += 1
        let name = "item\(subqueries)"
        variables[variable.key] = .named(name)
        defer { variables[variable.key] = nil }
        return (path, name, try condition(test))
    }

    static func counted(
        _ found: (path: KeyPathOperand, variable: String, test: QueryPredicate), _ comparison: ComparisonOperator
    ) -> QueryPredicate {
        .comparison(
            Comparison(
                .subquery(found.path, variable: found.variable, found.test, suffix: [KeyPathSegment("@count")]),
                comparison, .constant(.int(0))))
    }
}
