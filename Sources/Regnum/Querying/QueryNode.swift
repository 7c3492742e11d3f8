// SPDX-License-Identifier: Apache-2.0
// The tree behind the type-safe `Query<T>`, and its printing. The printed form is part of the contract with
// RealmSwift: code compares it with text. What is evaluated is not the print but `QueryNode+Lowering.swift`.

internal import Foundation
internal import RegnumQuery

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
    var names: [String] { didSet { lowered = nil } }
    /// How many of the properties are collections.
    var collectionCount = 0
    /// True where an operator stands for the whole collection, so that no `ANY` is written.
    var isWhole = false
    /// What stands in brackets behind the last name.
    var subscripts: [QuerySubscript] = [] { didSet { lowered = nil } }
    /// The last property is a collection.
    var endsInCollection = false
    /// The first property is a collection, so that the path can be the subject of a subquery.
    var startsWithCollection = false
    /// As predicates have it, where that is made already.
    var lowered: Operand?

    var text: String { names.joined(separator: ".") }
    /// A comparison of the path means any of its elements.
    var needsAny: Bool { collectionCount > 0 && !isWhole }

    func appending(_ more: [String], isCollection: Bool) -> QueryPath {
        var path = self
        if names.isEmpty { path.startsWithCollection = isCollection }
        path.names += more
        path.collectionCount += isCollection ? 1 : 0
        path.endsInCollection = isCollection
        return path
    }
}

enum QuerySubscript {
    /// The key of a map.
    case key(String)
    /// Into a value of any type: the key of a dictionary, the position in a list, or each element of either.
    case anyKey(String)
    case anyIndex(Int)
    case anyElement

    var placeholder: String {
        if case .anyElement = self { return "[%K]" }
        return "[%@]"
    }

    var argument: Any {
        switch self {
        case .key(let key), .anyKey(let key): key
        case .anyIndex(let index): index
        case .anyElement: "#any"
        }
    }

    var isIntoAny: Bool {
        if case .key = self { return false }
        return true
    }
}

/// A constant of a query as the user gave it. What most are needs neither a box nor casts.
enum QueryConstant {
    case text(String)
    case number(Int)
    /// Nil for NULL.
    case other(Any?)

    init<Constant>(_ value: Constant) {
        if Constant.self == String.self {
            self = .text(unsafeBitCast(value, to: String.self))
        } else if Constant.self == Int.self {
            self = .number(unsafeBitCast(value, to: Int.self))
        } else if Constant.self == String?.self, let text = unsafeBitCast(value, to: String?.self) {
            self = .text(text)
        } else if Constant.self == Int?.self, let number = unsafeBitCast(value, to: Int?.self) {
            self = .number(number)
        } else {
            self = .other(value)
        }
    }

    var value: Any? {
        switch self {
        case .text(let text): text
        case .number(let number): number
        case .other(let value): value
        }
    }
}

enum QueryNode {
    enum Operator: String {
        case equal = "==", notEqual = "!=", less = "<", lessOrEqual = "<=", greater = ">", greaterOrEqual = ">="
        case isIn = "IN", contains = "CONTAINS", beginsWith = "BEGINSWITH", endsWith = "ENDSWITH", like = "LIKE", text =
            "TEXT"
    }

    /// The element that is asked about.
    case element
    /// A property of it: what most queries ask of, so that no path is made for it.
    case property(QueryMember)
    indirect case path(QueryPath)
    indirect case constant(QueryConstant)
    indirect case not(QueryNode)
    /// The conditions from the left, `((a && b) && c)`.
    indirect case and(QueryTerms)
    indirect case or(QueryTerms)
    indirect case comparison(Operator, QueryNode, QueryNode, StringOptions)
    indirect case between(QueryNode, QueryConstant, QueryConstant)
    /// How many elements of the collection satisfy the condition.
    indirect case subqueryCount(QueryNode)

    /// What it is as a path; nil where it is none.
    var path: QueryPath? {
        switch self {
        case .element: QueryPath(names: [])
        case .property(let member): member.path
        case .path(let path): path
        default: nil
        }
    }
}

/// What && or || join, from the left. Appending to the longest chain is done in place, so that a chain made of
/// 10,000 conditions one after the other costs what its length says and is one level deep.
struct QueryTerms {
    private final class Storage {
        var nodes: [QueryNode]
        init(_ nodes: [QueryNode]) { self.nodes = nodes }
    }
    private let storage: Storage
    private let count: Int

    init(_ left: QueryNode, _ right: QueryNode) {
        storage = Storage([left, right])
        count = 2
    }

    private init(_ storage: Storage, _ count: Int) {
        self.storage = storage
        self.count = count
    }

    init(_ nodes: [QueryNode]) { self.init(Storage(nodes), nodes.count) }

    func appending(_ node: QueryNode) -> QueryTerms {
        guard storage.nodes.count == count else { return QueryTerms(Array(nodes) + [node]) }
        storage.nodes.append(node)
        return QueryTerms(storage, count + 1)
    }

    var nodes: ArraySlice<QueryNode> { storage.nodes[..<count] }
}

extension QueryNode {
    /// How deep conditions may be nested in each other.
    static let nestingLimit = 100
    static func and(_ left: QueryNode, _ right: QueryNode) -> QueryNode {
        if case .and(let terms) = left { return .and(terms.appending(right)) }
        return .and(QueryTerms(left, right))
    }

    static func or(_ left: QueryNode, _ right: QueryNode) -> QueryNode {
        if case .or(let terms) = left { return .or(terms.appending(right)) }
        return .or(QueryTerms(left, right))
    }

    static func refuseDepth() -> Never {
        misuse(
            "The query is nested more than \(nestingLimit) deep. Join conditions from the left, as "
                + "`a || b || c` does, or ask for several values with `in`.")
    }

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
    var depth = 0

    /// Appends something that is true or false; a bare path means "is true".
    mutating func appendCondition(_ node: QueryNode, prefix: String = "") {
        depth += 1
        defer { depth -= 1 }
        if depth > QueryNode.nestingLimit { QueryNode.refuseDepth() }
        switch node {
        case .element, .property, .path:
            appendOperand(node)
            text += prefix.isEmpty ? " == true" : " == false"
        case .constant(let constant): append(constant)
        case .not(let child):
            if case .not(let inner) = child { return appendCondition(inner, prefix: prefix) }
            appendCondition(child, prefix: prefix.isEmpty ? "NOT " : "")
        case .and(let terms): appendCompound(terms, " && ", prefix)
        case .or(let terms): appendCompound(terms, " || ", prefix)
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

    private mutating func appendCompound(_ terms: QueryTerms, _ name: String, _ prefix: String) {
        text += prefix + String(repeating: "(", count: terms.nodes.count - 1)
        for (index, node) in terms.nodes.enumerated() {
            if index > 0 { text += name }
            appendCondition(node)
            if index > 0 { text += ")" }
        }
    }

    private mutating func appendOperand(_ node: QueryNode) {
        if let path = node.path { return appendPath(path) }
        switch node {
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

    private mutating func appendPath(_ path: QueryPath) {
        text += (path.needsAny ? "ANY " : "") + path.text
        for part in path.subscripts {
            text += part.placeholder
            arguments.append(part.argument)
        }
    }

    private mutating func append(_ constant: QueryConstant) {
        text += "%@"
        // A nil of an optional type is `NSNull` too.
        arguments.append(constant.value.flatMap { unwrapped($0) } ?? NSNull())
    }
}

extension QueryNode {
    /// The condition with every path through `collection` led through the variable instead. The first path decides
    /// which collection it is.
    func asSubquery(of variable: String, collection: inout String, depth: Int = 0) -> QueryNode {
        if depth > Self.nestingLimit { Self.refuseDepth() }
        let depth = depth + 1
        switch self {
        case .element, .property, .path:
            guard var path else { return self }
            if let first = path.subscripts.first {
                misuse("Subqueries do not support \(first.isIntoAny ? "AnyRealmValue" : "map") subscripts.")
            }
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
        case .not(let child):
            return .not(child.asSubquery(of: variable, collection: &collection, depth: depth))
        case .and(let terms):
            return .and(
                QueryTerms(
                    terms.nodes.map { $0.asSubquery(of: variable, collection: &collection, depth: depth) }))
        case .or(let terms):
            return .or(
                QueryTerms(
                    terms.nodes.map { $0.asSubquery(of: variable, collection: &collection, depth: depth) }))
        case .comparison(let name, let left, let right, let options):
            let first = left.asSubquery(of: variable, collection: &collection, depth: depth)
            return .comparison(
                name, first, right.asSubquery(of: variable, collection: &collection, depth: depth), options)
        case .between(let subject, let lower, let upper):
            return .between(
                subject.asSubquery(of: variable, collection: &collection, depth: depth), lower, upper)
        case .subqueryCount(let condition):
            return .subqueryCount(condition)
        }
    }
}
