// SPDX-License-Identifier: Apache-2.0
// Lowers the tree of a type-safe query directly to the predicate that is evaluated, without going through text.

internal import RegnumQuery

/// Foundation also has a `Predicate`; files that import both use this name.
typealias QueryPredicate = Predicate

extension QueryNode {
    /// Returns the predicate for `realm`, which determines whether an object in it belongs to another Realm.
    func lowered(for realm: RealmCore?) -> Predicate {
        var lowering = QueryLowering(realm: realm)
        return lowering.condition(self, in: nil)
    }
}

private struct QueryLowering {
    private enum Item {
        case condition(QueryNode)
        case not
        case and(Int)
        case or(Int)
    }

    let realm: RealmCore?
    var subqueries = 0
    var depth = 0

    /// Lowers a condition. Not recursive, except for subqueries.
    mutating func condition(_ node: QueryNode, in scope: QueryScope?) -> Predicate {
        // Most conditions are a single comparison.
        if case .comparison(let name, let left, let right, let options) = node {
            return comparison(name, left, right, options, scope)
        }
        var builder = ConditionBuilder<Predicate>()
        // The next item is the last one.
        var pending = [Item.condition(node)]
        while let item = pending.popLast() {
            switch item {
            case .not: builder.not()
            case .and(let count): builder.and(count)
            case .or(let count): builder.or(count)
            case .condition(.and(let terms)):
                pending.append(.and(terms.nodes.count))
                pending += terms.nodes.reversed().map { .condition($0) }
            case .condition(.or(let terms)):
                pending.append(.or(terms.nodes.count))
                pending += terms.nodes.reversed().map { .condition($0) }
            case .condition(.not(let terms)):
                if case .not(let inner) = terms.first {
                    pending.append(.condition(inner.first))
                } else if let path = terms.first.path {
                    // As printed: `link.flag == false`, which no object without a link satisfies.
                    builder.append(isTrue(scope?.path(path) ?? path, false))
                } else {
                    pending += [.not, .condition(terms.first)]
                }
            case .condition(let node): builder.append(leaf(node, scope))
            }
        }
        return builder.build()
    }

    private mutating func leaf(_ node: QueryNode, _ scope: QueryScope?) -> Predicate {
        switch node {
        case .element, .property, .path:
            let path = node.path ?? QueryPath(names: [])
            return isTrue(scope?.path(path) ?? path, true)
        case .constant(let constant):
            guard let value = constant.value as? Bool else { misuse("A constant alone is not a condition.") }
            return .constant(value)
        case .comparison(let name, let left, let right, let options):
            return comparison(name, left, right, options, scope)
        case .between(let subject, let lower, let upper):
            return .comparison(
                Comparison(
                    operand(subject, scope), .between, .constant(.array([constant(lower), constant(upper)])),
                    modifier: needsAny(subject, scope) ? .any : .direct))
        case .subqueryCount: misuse("A count alone is not a condition: compare it with a number.")
        case .not, .and, .or: preconditionFailure("conditions within a condition")
        }
    }

    private mutating func comparison(
        _ name: QueryNode.Operator, _ left: QueryNode, _ right: QueryNode, _ options: StringOptions,
        _ scope: QueryScope?
    ) -> Predicate {
        if case .isIn = name, case .constant(let value) = left, right.path != nil {
            return .comparison(
                Comparison(
                    operand(right, scope), .equal, .constant(constant(value)), options: options.lowered, modifier: .any)
            )
        }
        let first = operand(left, scope)
        return .comparison(
            Comparison(
                first, name.lowered, operand(right, scope), options: options.lowered,
                modifier: needsAny(left, scope) || needsAny(right, scope) ? .any : .direct))
    }

    private func isTrue(_ path: QueryPath, _ wanted: Bool) -> Predicate {
        .comparison(
            Comparison(operand(path), .equal, .constant(.bool(wanted)), modifier: path.needsAny ? .any : .direct))
    }

    private mutating func operand(_ node: QueryNode, _ scope: QueryScope?) -> Operand {
        if let path = node.path { return operand(scope?.path(path) ?? path) }
        switch node {
        case .constant(let value): return .constant(constant(value))
        case .subqueryCount(let terms):
            subqueries += 1
            depth += 1
            defer { depth -= 1 }
            if depth > PredicateParser.subqueryLimit { QueryNode.refuseSubqueries() }
            let inner = QueryScope(terms.first, number: subqueries)
            return .subquery(
                KeyPathOperand(inner.collection), variable: String(inner.variable.dropFirst()),
                condition(terms.first, in: inner), suffix: [KeyPathSegment("@count")])
        default: misuse("Cannot apply a comparison to \(node.print().0)")
        }
    }

    private func operand(_ path: QueryPath) -> Operand { path.lowered ?? path.operand }

    private func needsAny(_ node: QueryNode, _ scope: QueryScope?) -> Bool {
        switch node {
        case .property(let member): scope?.path(member.path).needsAny ?? member.path.needsAny
        case .path(let path): scope?.path(path).needsAny ?? path.needsAny
        default: false
        }
    }

    private func constant(_ constant: QueryConstant) -> Constant {
        switch constant {
        case .text(let text): .string(text)
        case .number(let number): .int(Int64(number))
        case .other(let value): Constant(any: value, realm: realm)
        }
    }
}

extension QueryPath {
    /// The path as an operand of a predicate.
    var operand: Operand {
        guard let first = names.first else { return .keyPath(KeyPathOperand("SELF")) }
        if first.utf8.first == UInt8(ascii: "$") {
            return .keyPath(
                KeyPathOperand(variable: String(first.dropFirst()), names.dropFirst().map { KeyPathSegment($0) }))
        }
        var segments = names.map { KeyPathSegment($0) }
        for part in subscripts {
            switch part {
            case .key(let key), .anyKey(let key): segments[segments.count - 1].subscripts.append(.exactKey(key))
            case .anyIndex(let index): segments[segments.count - 1].subscripts.append(.index(Int64(index)))
            case .anyElement: segments[segments.count - 1].subscripts.append(.any)
            }
        }
        return .keyPath(KeyPathOperand(segments))
    }
}

extension QueryNode.Operator {
    fileprivate var lowered: ComparisonOperator {
        switch self {
        case .equal: .equal
        case .notEqual: .notEqual
        case .less: .less
        case .lessOrEqual: .lessOrEqual
        case .greater: .greater
        case .greaterOrEqual: .greaterOrEqual
        case .isIn: .in
        case .contains: .contains
        case .beginsWith: .beginsWith
        case .endsWith: .endsWith
        case .like: .like
        case .text: .text
        }
    }
}

extension StringOptions {
    fileprivate var lowered: ComparisonOptions {
        // An empty option-set literal is created by unspecialised code.
        var options = ComparisonOptions(rawValue: 0)
        if rawValue == 0 { return options }
        if contains(.caseInsensitive) { options.insert(.caseInsensitive) }
        if contains(.diacriticInsensitive) { options.insert(.diacriticInsensitive) }
        return options
    }
}
