// SPDX-License-Identifier: Apache-2.0
// The tree of the type-safe `Query<T>`, and its text form. The text is part of the contract with RealmSwift, because
// code compares it. The text itself is not evaluated; see `QueryNode+Lowering.swift`.

internal import Foundation
internal import RegnumQuery

/// Modifiers of string comparisons.
public struct StringOptions: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    /// Ignores case.
    public static let caseInsensitive = StringOptions(rawValue: 1)
    /// Ignores diacritics.
    public static let diacriticInsensitive = StringOptions(rawValue: 2)

    /// The options as a modifier of an operator: "", "[c]", "[d]" or "[cd]".
    var modifier: String {
        guard !isEmpty else { return "" }
        return "[" + (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "") + "]"
    }
}

/// A path of property names, as built by a `Query`.
struct QueryPath {
    var names: [String] { didSet { lowered = nil } }
    /// The number of properties in the path that are collections.
    var collectionCount = 0
    /// True if an operator applies to the whole collection, so that no `ANY` is printed.
    var isWhole = false
    /// The subscripts in brackets after the last name.
    var subscripts: [QuerySubscript] = [] { didSet { lowered = nil } }
    /// True if the last property is a collection.
    var endsInCollection = false
    /// True if the first property is a collection, so that the path can be the subject of a subquery.
    var startsWithCollection = false
    /// The path as an operand of a predicate, if it has been created already.
    var lowered: Operand?

    var text: String { names.joined(separator: ".") }
    /// True if a comparison of the path applies to any of its elements.
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
    /// A key of a map.
    case key(String)
    /// A part of a value of any type: a key of a dictionary, a position in a list, or each element of either.
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

/// A constant of a query as given by the user. The most common types need neither an existential nor a cast.
enum QueryConstant {
    case text(String)
    case number(Int)
    /// Nil represents NULL.
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

    /// The queried element.
    case element
    /// A property of the queried element. Most queries use one, so no path is created for it.
    case property(QueryMember)
    indirect case path(QueryPath)
    indirect case constant(QueryConstant)
    /// The negation of a single condition.
    indirect case not(QueryTerms)
    /// The conditions from left to right, `((a && b) && c)`.
    indirect case and(QueryTerms)
    indirect case or(QueryTerms)
    indirect case comparison(Operator, QueryNode, QueryNode, StringOptions)
    indirect case between(QueryNode, QueryConstant, QueryConstant)
    /// The number of elements of the collection that satisfy the single condition.
    indirect case subqueryCount(QueryTerms)

    /// The node as a path; nil if it is not one.
    var path: QueryPath? {
        switch self {
        case .element: QueryPath(names: [])
        case .property(let member): member.path
        case .path(let path): path
        default: nil
        }
    }

    /// True for a condition, as opposed to a value that is compared.
    var isCompound: Bool {
        switch self {
        case .not, .and, .or, .comparison, .between: true
        case .element, .property, .path, .constant, .subqueryCount: false
        }
    }

    static func and(_ left: QueryNode, _ right: QueryNode) -> QueryNode {
        if case .and(let terms) = left { return .and(terms.appending(right)) }
        return .and(QueryTerms([left, right]))
    }

    static func or(_ left: QueryNode, _ right: QueryNode) -> QueryNode {
        if case .or(let terms) = left { return .or(terms.appending(right)) }
        return .or(QueryTerms([left, right]))
    }

    static func not(_ node: QueryNode) -> QueryNode { .not(QueryTerms([node])) }

    static func count(_ node: QueryNode) -> QueryNode { .subqueryCount(QueryTerms([node])) }

    /// The terms directly inside this node, without those nested in them. A comparison has terms only if it compares
    /// counts.
    fileprivate var terms: [QueryTerms] {
        switch self {
        case .not(let terms), .and(let terms), .or(let terms), .subqueryCount(let terms): [terms]
        case .comparison(_, let left, let right, _): left.terms + right.terms
        case .between(let subject, _, _): subject.terms
        case .element, .property, .path, .constant: []
        }
    }

    /// The nesting depth of the terms.
    fileprivate var level: Int {
        switch self {
        case .not(let terms), .and(let terms), .or(let terms), .subqueryCount(let terms): terms.level
        case .comparison(_, let left, let right, _): max(left.level, right.level)
        case .between(let subject, _, _): subject.level
        case .element, .property, .path, .constant: 0
        }
    }
}

/// The conditions joined by && or ||, from left to right. Appending to the longest chain happens in place, so that a
/// chain of 10,000 conditions takes time proportional to its length and is one level deep.
struct QueryTerms {
    private final class Storage {
        var nodes: [QueryNode]
        var level: Int

        init(_ nodes: [QueryNode]) {
            self.nodes = nodes
            level = 1
            for node in nodes { level = Swift.max(level, node.level + 1) }
        }

        /// Releases deeply nested terms one after the other. If each level released the next, that would exhaust the
        /// stack of a small thread.
        deinit {
            if level < 16 { return }
            var pending = nodes.flatMap(\.terms).map(\.storage)
            nodes = []
            while var storage = pending.popLast() {
                guard isKnownUniquelyReferenced(&storage) else { continue }
                pending += storage.nodes.flatMap(\.terms).map(\.storage)
                storage.nodes = []
            }
        }
    }
    private let storage: Storage
    private let count: Int

    private init(_ storage: Storage, _ count: Int) {
        self.storage = storage
        self.count = count
    }

    init(_ nodes: [QueryNode]) { self.init(Storage(nodes), nodes.count) }

    func appending(_ node: QueryNode) -> QueryTerms {
        guard storage.nodes.count == count else { return QueryTerms(Array(nodes) + [node]) }
        storage.nodes.append(node)
        storage.level = Swift.max(storage.level, node.level + 1)
        return QueryTerms(storage, count + 1)
    }

    var nodes: ArraySlice<QueryNode> { storage.nodes[..<count] }
    var first: QueryNode { storage.nodes[0] }
    fileprivate var level: Int { storage.level }
}

extension QueryNode {
    static func refuseSubqueries() -> Never {
        misuse("Subqueries are nested more than \(PredicateParser.subqueryLimit) deep.")
    }

    /// Returns the predicate as text with its arguments, in RealmSwift's format.
    func print() -> (String, [Any]) {
        var printer = QueryPrinter()
        printer.append(self, in: nil)
        return (printer.text, printer.arguments)
    }
}

/// The scope of a subquery: maps paths in its condition from the collection to the variable.
struct QueryScope {
    let variable: String
    let collection: String

    /// `number`: the number of the subquery in the whole query. The first path through a collection determines the
    /// collection.
    init(_ condition: QueryNode, number: Int) {
        variable = "$col\(number)"
        collection = Self.collection(of: condition)
    }

    private static func collection(of condition: QueryNode) -> String {
        var found: String?
        var pending = [condition]
        while let node = pending.popLast() {
            switch node {
            case .constant, .subqueryCount: break
            case .not(let terms), .and(let terms), .or(let terms): pending += terms.nodes.reversed()
            case .comparison(_, let left, let right, _): pending += [right, left]
            case .between(let subject, _, _): pending.append(subject)
            case .element, .property, .path:
                guard let path = node.path else { continue }
                if let first = path.subscripts.first {
                    misuse("Subqueries do not support \(first.isIntoAny ? "AnyRealmValue" : "map") subscripts.")
                }
                guard path.startsWithCollection, let first = path.names.first else { continue }
                if let found, found != first {
                    misuse(
                        "Subqueries must contain a keypath starting with a collection. All key paths of a subquery "
                            + "that go through a collection must go through '\(found)'; '\(path.text)' does not.")
                }
                found = first
            }
        }
        guard let found else { misuse("Subqueries must contain a keypath starting with a collection.") }
        return found
    }

    /// Maps a path of the condition. A path that does not go through a collection belongs to the object that is
    /// queried.
    func path(_ path: QueryPath) -> QueryPath {
        guard path.startsWithCollection else { return path }
        var path = path
        path.names[0] = variable
        path.startsWithCollection = false
        path.collectionCount -= 1
        return path
    }
}

/// Prints a tree as text. The rules are RealmSwift's, except that NOT is never dropped.
private struct QueryPrinter {
    private enum Item {
        case text(String)
        case condition(QueryNode, prefix: String)
    }

    var text = ""
    var arguments: [Any] = []
    var subqueries = 0
    var depth = 0

    /// Appends a condition; a path alone means "is true". Not recursive, except for subqueries.
    mutating func append(_ node: QueryNode, in scope: QueryScope?) {
        // The next item is the last one.
        var pending = [Item.condition(node, prefix: "")]
        while let item = pending.popLast() {
            switch item {
            case .text(let word): text += word
            case .condition(let node, let prefix): pending += parts(of: node, prefix, scope)
            }
        }
    }

    /// Appends the start of a condition, and returns its remaining items, the next one last.
    private mutating func parts(of node: QueryNode, _ prefix: String, _ scope: QueryScope?) -> [Item] {
        switch node {
        case .element, .property, .path:
            appendOperand(node, scope)
            text += prefix.isEmpty ? " == true" : " == false"
        case .constant(let constant): append(constant)
        case .not(let terms):
            if case .not(let inner) = terms.first { return [.condition(inner.first, prefix: prefix)] }
            return [.condition(terms.first, prefix: prefix.isEmpty ? "NOT " : "")]
        case .and(let terms): return parts(of: terms, " && ", prefix)
        case .or(let terms): return parts(of: terms, " || ", prefix)
        case .comparison(let name, let left, let right, let options):
            text += "(" + prefix
            appendOperand(left, scope)
            text += " " + name.rawValue + options.modifier + " "
            appendOperand(right, scope)
            text += ")"
        case .between(let subject, let lower, let upper):
            text += "(" + prefix
            appendOperand(subject, scope)
            text += " BETWEEN {"
            append(lower)
            text += ", "
            append(upper)
            text += "})"
        case .subqueryCount: appendOperand(node, scope)
        }
        return []
    }

    private func parts(of terms: QueryTerms, _ name: String, _ prefix: String) -> [Item] {
        var items = [Item.text(prefix + String(repeating: "(", count: terms.nodes.count - 1))]
        for (index, node) in terms.nodes.enumerated() {
            if index > 0 { items.append(.text(name)) }
            items.append(.condition(node, prefix: ""))
            if index > 0 { items.append(.text(")")) }
        }
        return items.reversed()
    }

    private mutating func appendOperand(_ node: QueryNode, _ scope: QueryScope?) {
        if let path = node.path { return appendPath(scope?.path(path) ?? path) }
        switch node {
        case .constant(let constant): append(constant)
        case .subqueryCount(let terms):
            subqueries += 1
            depth += 1
            if depth > PredicateParser.subqueryLimit { QueryNode.refuseSubqueries() }
            let inner = QueryScope(terms.first, number: subqueries)
            text += "SUBQUERY(\(inner.collection), \(inner.variable), "
            append(terms.first, in: inner)
            text += ").@count"
            depth -= 1
        default: append(node, in: scope)
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
        // A nil value of an optional type also becomes `NSNull`.
        arguments.append(constant.value.flatMap { unwrapped($0) } ?? NSNull())
    }
}
