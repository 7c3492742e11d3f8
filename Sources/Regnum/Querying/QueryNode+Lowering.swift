// SPDX-License-Identifier: Apache-2.0
// From the tree of a type-safe query to the predicate that is evaluated, without a detour through text.

internal import RegnumQuery

/// Foundation has a `Predicate` too; files that import both say this one.
typealias QueryPredicate = Predicate

extension QueryNode {
    /// The predicate for `realm`, which tells whether objects in it are its own.
    func lowered(for realm: RealmCore?) -> Predicate {
        var lowering = QueryLowering(realm: realm)
        return lowering.condition(self)
    }
}

private struct QueryLowering {
    let realm: RealmCore?
    var subqueries = 0
    var depth = 0

    mutating func condition(_ node: QueryNode) -> Predicate {
        depth += 1
        defer { depth -= 1 }
        if depth > QueryNode.nestingLimit { QueryNode.refuseDepth() }
        switch node {
        case .element, .property, .path: return isTrue(node.path ?? QueryPath(names: []), true)
        case .constant(let constant):
            guard let value = constant.value as? Bool else { misuse("A constant alone is no condition.") }
            return .constant(value)
        case .not(.not(let child)): return condition(child)
        case .not(let child):
            // As it is printed: `link.flag == false`, which no object without a link satisfies.
            if let path = child.path { return isTrue(path, false) }
            return .not(condition(child))
        case .and(let terms): return .and(terms.nodes.map { condition($0) })
        case .or(let terms): return .or(terms.nodes.map { condition($0) })
        case .comparison(let name, let left, let right, let options):
            if case .isIn = name, case .constant(let value) = left, let path = right.path {
                return .comparison(
                    Comparison(
                        operand(path), .equal, .constant(constant(value)), options: options.lowered, modifier: .any))
            }
            let first = operand(left)
            return .comparison(
                Comparison(
                    first, name.lowered, operand(right), options: options.lowered,
                    modifier: left.needsAny || right.needsAny ? .any : .direct))
        case .between(let subject, let lower, let upper):
            return .comparison(
                Comparison(
                    operand(subject), .between, .constant(.array([constant(lower), constant(upper)])),
                    modifier: subject.needsAny ? .any : .direct))
        case .subqueryCount: misuse("A count alone is no condition: compare it with a number.")
        }
    }

    private func isTrue(_ path: QueryPath, _ wanted: Bool) -> Predicate {
        .comparison(
            Comparison(operand(path), .equal, .constant(.bool(wanted)), modifier: path.needsAny ? .any : .direct))
    }

    private mutating func operand(_ node: QueryNode) -> Operand {
        if let path = node.path { return operand(path) }
        switch node {
        case .constant(let value): return .constant(constant(value))
        case .subqueryCount(let condition):
            subqueries += 1
            let variable = "col\(subqueries)"
            var collection = ""
            let inner = condition.asSubquery(of: "$" + variable, collection: &collection)
            return .subquery(
                KeyPathOperand(collection), variable: variable, self.condition(inner),
                suffix: [KeyPathSegment("@count")])
        default: misuse("Cannot apply a comparison to \(node.print().0)")
        }
    }

    private func operand(_ path: QueryPath) -> Operand { path.lowered ?? path.operand }

    private func constant(_ constant: QueryConstant) -> Constant {
        switch constant {
        case .text(let text): .string(text)
        case .number(let number): .int(Int64(number))
        case .other(let value): Constant(any: value, realm: realm)
        }
    }
}

extension QueryPath {
    /// As predicates have it.
    var operand: Operand {
        guard let first = names.first else { return .keyPath(KeyPathOperand("SELF")) }
        if first.utf8.first == UInt8(ascii: "$") {
            return .keyPath(
                KeyPathOperand(variable: String(first.dropFirst()), names.dropFirst().map { KeyPathSegment($0) }))
        }
        var segments = names.map { KeyPathSegment($0) }
        for part in subscripts {
            switch part {
            case .key(let key), .anyKey(let key): segments[segments.count - 1].subscripts.append(.key(key))
            case .anyIndex(let index): segments[segments.count - 1].subscripts.append(.index(Int64(index)))
            case .anyElement: segments[segments.count - 1].subscripts.append(.any)
            }
        }
        return .keyPath(KeyPathOperand(segments))
    }
}

extension QueryNode {
    fileprivate var needsAny: Bool {
        switch self {
        case .property(let member): member.path.needsAny
        case .path(let path): path.needsAny
        default: false
        }
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
        // An empty literal is made by code that is not specialized.
        var options = ComparisonOptions(rawValue: 0)
        if rawValue == 0 { return options }
        if contains(.caseInsensitive) { options.insert(.caseInsensitive) }
        if contains(.diacriticInsensitive) { options.insert(.diacriticInsensitive) }
        return options
    }
}
