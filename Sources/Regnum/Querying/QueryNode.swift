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
    /// Of one condition.
    indirect case not(QueryTerms)
    /// The conditions from the left, `((a && b) && c)`.
    indirect case and(QueryTerms)
    indirect case or(QueryTerms)
    indirect case comparison(Operator, QueryNode, QueryNode, StringOptions)
    indirect case between(QueryNode, QueryConstant, QueryConstant)
    /// How many elements of the collection satisfy the one condition.
    indirect case subqueryCount(QueryTerms)

    /// What it is as a path; nil where it is none.
    var path: QueryPath? {
        switch self {
        case .element: QueryPath(names: [])
        case .property(let member): member.path
        case .path(let path): path
        default: nil
        }
    }

    /// True where it is true or false by itself and not a value that is compared.
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

    /// The terms within it, without those within these. A comparison has terms only where it compares counts.
    fileprivate var terms: [QueryTerms] {
        switch self {
        case .not(let terms), .and(let terms), .or(let terms), .subqueryCount(let terms): [terms]
        case .comparison(_, let left, let right, _): left.terms + right.terms
        case .between(let subject, _, _): subject.terms
        case .element, .property, .path, .constant: []
        }
    }

    /// How many terms are within each other.
    fileprivate var level: Int {
        switch self {
        case .not(let terms), .and(let terms), .or(let terms), .subqueryCount(let terms): terms.level
        case .comparison(_, let left, let right, _): max(left.level, right.level)
        case .between(let subject, _, _): subject.level
        case .element, .property, .path, .constant: 0
        }
    }
}

/// What && or || join, from the left. Appending to the longest chain is done in place, so that a chain made of
/// 10,000 conditions one after the other costs what its length says and is one level deep.
struct QueryTerms {
    private final class Storage {
        var nodes: [QueryNode]
        var level: Int

        init(_ nodes: [QueryNode]) {
            self.nodes = nodes
            level = 1
            for node in nodes { level = Swift.max(level, node.level + 1) }
        }

        /// Terms that are deeply nested are let go one after the other: not each by the one around it, which would take
        /// the stack of a small thread.
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

    /// The predicate as text with its arguments, as RealmSwift prints it.
    func print() -> (String, [Any]) {
        var printer = QueryPrinter()
        printer.append(self, in: nil)
        return (printer.text, printer.arguments)
    }
}

/// Where a condition of a subquery leads its paths through: the variable instead of the collection.
struct QueryScope {
    let variable: String
    let collection: String

    /// `number`: of the subquery in the whole query. The first path through a collection decides which one it is.
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

    /// A path of the condition. Those that do not go through a collection are of the object that the query is about.
    func path(_ path: QueryPath) -> QueryPath {
        guard path.startsWithCollection else { return path }
        var path = path
        path.names[0] = variable
        path.startsWithCollection = false
        path.collectionCount -= 1
        return path
    }
}

/// Turns a tree into text. The rules are RealmSwift's, but for NOT, which is never lost.
private struct QueryPrinter {
    private enum Item {
        case text(String)
        case condition(QueryNode, prefix: String)
    }

    var text = ""
    var arguments: [Any] = []
    var subqueries = 0
    var depth = 0

    /// Appends something that is true or false; a bare path means "is true". Without recursion, but for subqueries.
    mutating func append(_ node: QueryNode, in scope: QueryScope?) {
        // What comes next is last.
        var pending = [Item.condition(node, prefix: "")]
        while let item = pending.popLast() {
            switch item {
            case .text(let word): text += word
            case .condition(let node, let prefix): pending += parts(of: node, prefix, scope)
            }
        }
    }

    /// Appends what a condition begins with, and gives what is left of it, the next one last.
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
        // A nil of an optional type is `NSNull` too.
        arguments.append(constant.value.flatMap { unwrapped($0) } ?? NSNull())
    }
}
