// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a predicate, before it is bound to a schema.
//
// To add an operator:
//  1. `ComparisonOperator` below: its raw value is the word or sign of the language, and is in messages
//  2. the text: a word that may not name a property is in `Keyword` (`Lexer`), a sign in `Lexer` and
//     `PredicateParser.comparisonOperator`
//  3. types and constants: `ConstantBinder` (`checkOperator`, and `null`, `mixed`, `bytesTest`)
//  4. execution: `Evaluator.compare` and `BytesTest.init` (`Evaluator+Rows`), `MixedTest`, `scanOperator`; a kernel is in
//     Scans/ of RegnumEngine (`BytesMatch`, `CompareScan`)
//  5. an index that can answer it: `IndexAccess`, `IndexRanges`
//  6. Swift: `QueryNode.Operator`, its `lowered` (`QueryNode+Lowering`), a method of `Query` and of `Query+Any`;
//     `FoundationPredicate+Expressions` if `#Predicate` can express it
//  7. the reference of the random tests: `ReferenceEvaluator` and the conditions that they make

package indirect enum Predicate: Sendable {
    case constant(Bool)
    /// An empty list is true.
    case and([Predicate])
    /// An empty list is false.
    case or([Predicate])
    case not(Predicate)
    case comparison(Comparison)
    /// See `Condition`.
    case pieces([Predicate])
    case piece(Int)
}

extension Predicate: Condition {
    package static func makeAnd(_ parts: [Predicate]) -> Predicate { .and(parts) }
    package static func makeOr(_ parts: [Predicate]) -> Predicate { .or(parts) }
    package static func makeNot(_ part: Predicate) -> Predicate { .not(part) }
    package static func makePieces(_ pieces: [Predicate]) -> Predicate { .pieces(pieces) }
    package static func makePiece(_ index: Int) -> Predicate { .piece(index) }
    package var shape: ConditionShape<Predicate> {
        switch self {
        case .constant, .comparison: .leaf
        case .and(let parts): .and(parts)
        case .or(let parts): .or(parts)
        case .not(let part): .not(part)
        case .pieces(let pieces): .pieces(pieces)
        case .piece(let index): .piece(index)
        }
    }
}

package enum ComparisonOperator: String, Sendable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case between = "BETWEEN"
    case `in` = "IN"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case contains = "CONTAINS"
    case like = "LIKE"
    case matches = "MATCHES"
    /// Full-text search.
    case text = "TEXT"

    /// The equivalent operator with the sides exchanged. Throws if there is none.
    func turned() throws(QueryError) -> ComparisonOperator {
        switch self {
        case .equal, .notEqual: return self
        case .less: return .greater
        case .lessOrEqual: return .greaterOrEqual
        case .greater: return .less
        case .greaterOrEqual: return .lessOrEqual
        default:
            throw QueryError(.argument, "Operator '\(rawValue)' requires a keypath on the left side.")
        }
    }

    var isOrdering: Bool {
        self == .less || self == .lessOrEqual || self == .greater || self == .greaterOrEqual
    }

    var isTextSearch: Bool {
        self == .beginsWith || self == .endsWith || self == .contains || self == .like
    }
}

/// `[c]` and `[d]`.
package struct ComparisonOptions: OptionSet, Sendable, Hashable {
    package var rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let caseInsensitive = ComparisonOptions(rawValue: 1)
    package static let diacriticInsensitive = ComparisonOptions(rawValue: 2)
}

package enum ComparisonModifier: String, Sendable {
    case direct = ""
    case any = "ANY"
    case none = "NONE"
    case all = "ALL"
}

package struct Comparison: Sendable {
    package var left: Operand
    package var comparison: ComparisonOperator
    package var right: Operand
    package var options: ComparisonOptions
    package var modifier: ComparisonModifier
    /// The UTF-8 offset of its first character in the text, or nil if it was not parsed.
    package var position: Int?

    package init(
        _ left: Operand, _ comparison: ComparisonOperator, _ right: Operand, options: ComparisonOptions = [],
        modifier: ComparisonModifier = .direct, position: Int? = nil
    ) {
        self.left = left
        self.comparison = comparison
        self.right = right
        self.options = options
        self.modifier = modifier
        self.position = position
    }
}

package indirect enum Operand: Sendable {
    case keyPath(KeyPathOperand)
    case constant(Constant)
    /// `{a, b}` with at least one operand that is not a constant.
    case list([Operand])
    /// `SUBQUERY(collection, $variable, predicate)` and the path after it (`@count`).
    case subquery(KeyPathOperand, variable: String, Predicate, suffix: [KeyPathSegment])
}

package struct KeyPathOperand: Sendable {
    /// The name of the variable it starts with, without `$`.
    package var variable: String?
    /// An empty name represents a leading dot, a trailing dot, or the gap between two dots.
    package var segments: [KeyPathSegment]
    package var position: Int?

    package init(variable: String? = nil, _ segments: [KeyPathSegment], position: Int? = nil) {
        self.variable = variable
        self.segments = segments
        self.position = position
    }

    /// Splits `a.b.c` at its dots.
    package init(_ path: String) {
        self.init(KeyPathSegment.split(path))
    }
}

package struct KeyPathSegment: Sendable {
    /// The name; collection operators include their `@`.
    package var name: String
    package var subscripts: [KeyPathSubscript]

    package init(_ name: String, subscripts: [KeyPathSubscript] = []) {
        self.name = name
        self.subscripts = subscripts
    }

    static func split(_ path: String) -> [KeyPathSegment] {
        path.split(separator: ".", omittingEmptySubsequences: false).map { KeyPathSegment(String($0)) }
    }
}

package enum KeyPathSubscript: Sendable, Equatable {
    case key(String)
    /// A key that is never interpreted as `#any`.
    case exactKey(String)
    case index(Int64)
    /// `#any`
    case any
    /// A subscript of an unsupported type.
    case other(String)
}
