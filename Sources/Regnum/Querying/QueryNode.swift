// SPDX-License-Identifier: Apache-2.0
// The tree behind the type-safe `Query<T>`, and its printing. The printed form is part of the contract with
// RealmSwift: code compares it with text. What is evaluated is not the print but `QueryNode+Lowering.swift`.

internal import Foundation

/// Modifiers of string comparisons.
public struct StringOptions: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    /// Upper and lower case are equal.
    public static let caseInsensitive = StringOptions(rawValue: 1)
    /// Letters with and without accents are equal.
    public static let diacriticInsensitive = StringOptions(rawValue: 2)

    /// As a modifier of an operator: "", "[c]", "[d]" or "[cd]".
    var modifier: String {
        guard !isEmpty else { return "" }
        return "[" + (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "") + "]"
    }
}

/// A path of property names as a `Query` collects it.
struct QueryPath {
    var names: [String]
    /// How many of the properties are collections.
    var collectionCount = 0
    /// True where an operator stands for the whole collection, so that no `ANY` is written.
    var isWhole = false
    /// The last property is a collection.
    var endsInCollection = false
    /// The first property is a collection, so that the path can be the subject of a subquery.
    var startsWithCollection = false

    var text: String { names.joined(separator: ".") }
    /// A comparison of the path means any of its elements.
    var needsAny: Bool { collectionCount > 0 && !isWhole }
}

/// A constant of a query as the user gave it; nil for NULL.
struct QueryConstant {
    var value: Any?
}

indirect enum QueryNode {
    enum Operator: String {
        case equal = "==", notEqual = "!=", less = "<", lessOrEqual = "<=", greater = ">", greaterOrEqual = ">="
        case isIn = "IN", contains = "CONTAINS", beginsWith = "BEGINSWITH", endsWith = "ENDSWITH", like = "LIKE"
    }

    case path(QueryPath)
    case constant(QueryConstant)
    case not(QueryNode)
    case and(QueryNode, QueryNode)
    case or(QueryNode, QueryNode)
    case comparison(Operator, QueryNode, QueryNode, StringOptions)
    case between(QueryNode, QueryConstant, QueryConstant)
    /// How many elements of the collection satisfy the condition.
    case subqueryCount(QueryNode)
}

extension QueryNode {
    /// The predicate as text with its arguments, as RealmSwift prints it.
    func print() -> (String, [Any]) {
        var printer = QueryPrinter()
        printer.appendCondition(self)
        return (printer.text, printer.arguments)
    }
}

/// Turns a tree into text. The rules are RealmSwift's, but for NOT, which is never lost.
private struct QueryPrinter {
    var text = ""
    var arguments: [Any] = []
    var subqueries = 0

    /// Appends something that is true or false; a bare path means "is true".
    mutating func appendCondition(_ node: QueryNode, prefix: String = "") {
        switch node {
        case .path(let path):
            appendPath(path)
            text += prefix.isEmpty ? " == true" : " == false"
        case .constant(let constant): append(constant)
        case .not(let child):
            if case .not(let inner) = child { return appendCondition(inner, prefix: prefix) }
            appendCondition(child, prefix: prefix.isEmpty ? "NOT " : "")
        case .and(let left, let right): appendCompound(left, "&&", right, prefix)
        case .or(let left, let right): appendCompound(left, "||", right, prefix)
        case .comparison(let name, let left, let right, let options):
            text += "(" + prefix
            appendOperand(left)
            text += " " + name.rawValue + options.modifier + " "
            appendOperand(right)
            text += ")"
        case .between(let subject, let lower, let upper):
            text += "(" + prefix
            appendOperand(subject)
            text += " BETWEEN {"
            append(lower)
            text += ", "
            append(upper)
            text += "})"
        case .subqueryCount: appendOperand(node)
        }
    }

    private mutating func appendCompound(_ left: QueryNode, _ name: String, _ right: QueryNode, _ prefix: String) {
        text += prefix + "("
        appendCondition(left)
        text += " " + name + " "
        appendCondition(right)
        text += ")"
    }

    private mutating func appendOperand(_ node: QueryNode) {
        switch node {
        case .path(let path): appendPath(path)
        case .constant(let constant): append(constant)
        case .subqueryCount(let condition):
            subqueries += 1
            let variable = "$col\(subqueries)"
            var collection = ""
            let inner = condition.asSubquery(of: variable, collection: &collection)
            text += "SUBQUERY(\(collection), \(variable), "
            appendCondition(inner)
            text += ").@count"
        default: appendCondition(node)
        }
    }

    private mutating func appendPath(_ path: QueryPath) { text += (path.needsAny ? "ANY " : "") + path.text }

    private mutating func append(_ constant: QueryConstant) {
        text += "%@"
        arguments.append(constant.value ?? NSNull())
    }
}

extension QueryNode {
    /// The condition with every path through `collection` led through the variable instead. The first path decides
    /// which collection it is.
    func asSubquery(of variable: String, collection: inout String) -> QueryNode {
        switch self {
        case .path(var path):
            guard path.startsWithCollection, let first = path.names.first else {
                misuse("Subqueries must contain a keypath starting with a collection.")
            }
            if collection.isEmpty { collection = first }
            guard collection == first else {
                misuse(
                    "Subqueries must contain a keypath starting with a collection. All key paths of a subquery "
                        + "must go through '\(collection)'; '\(path.text)' does not.")
            }
            path.names[0] = variable
            path.startsWithCollection = false
            path.collectionCount -= 1
            return .path(path)
        case .constant: return self
        case .not(let child): return .not(child.asSubquery(of: variable, collection: &collection))
        case .and(let left, let right):
            let first = left.asSubquery(of: variable, collection: &collection)
            return .and(first, right.asSubquery(of: variable, collection: &collection))
        case .or(let left, let right):
            let first = left.asSubquery(of: variable, collection: &collection)
            return .or(first, right.asSubquery(of: variable, collection: &collection))
        case .comparison(let name, let left, let right, let options):
            let first = left.asSubquery(of: variable, collection: &collection)
            return .comparison(name, first, right.asSubquery(of: variable, collection: &collection), options)
        case .between(let subject, let lower, let upper):
            return .between(subject.asSubquery(of: variable, collection: &collection), lower, upper)
        case .subqueryCount(let condition):
            return .subqueryCount(condition)
        }
    }
}
