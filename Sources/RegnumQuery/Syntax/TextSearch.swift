// SPDX-License-Identifier: Apache-2.0
// The syntax of full-text search, as typed into a search field.
//
//   one two          both words              "one two"   the two words in sequence
//   one OR two       either word             wor*        words with that prefix; also at the end of a phrase
//   -one  NOT one    texts without it        ( ... )     groups
//
// OR, AND and NOT are operators only in capitals. Any input is a valid search: unmatched quotation marks and
// parentheses, and operators without operands, are ignored.

package import RegnumEngine

/// A search with folded words.
package indirect enum TextSearch: Sendable, Hashable {
    case term(TextTerm)
    /// If empty, matches every text, and objects without text.
    case all([TextSearch])
    case any([TextSearch])
    case without(TextSearch)

    /// Parses a search. Ignores tokens after the first 2,000, and opening parentheses below 100 levels. O(length).
    package init(_ typed: String) {
        var parser = TextSearchParser(typed)
        self = parser.disjunction()
    }

    /// The terms that a text may contain, without the excluded ones: used for ranking and for excerpts.
    package var wantedTerms: [TextTerm] {
        switch self {
        case .term(let term): [term]
        case .all(let parts), .any(let parts): parts.flatMap(\.wantedTerms)
        case .without: []
        }
    }

    /// True if an object without text passes.
    var matchesNothing: Bool {
        switch self {
        case .term: false
        case .all(let parts): parts.allSatisfy(\.matchesNothing)
        case .any(let parts): parts.contains(where: \.matchesNothing)
        case .without(let part): !part.matchesNothing
        }
    }
}

private struct TextSearchParser {
    private enum Token { case word(String, isOpen: Bool), phrase(String, isOpen: Bool), or, and, not, open, close }

    private var tokens: [Token] = []
    private var next = 0
    private var depth = 0
    /// Opening parentheses beyond the depth limit, which group nothing and whose closing ones are still to come.
    private var ignoredCount = 0

    init(_ typed: String) {
        var rest = typed[...]
        while let first = rest.first, tokens.count < 2000 {
            switch first {
            case "(", ")":
                tokens.append(first == "(" ? .open : .close)
                rest.removeFirst()
            case "\"", "\u{201C}", "\u{201D}", "\u{201E}":
                rest.removeFirst()
                let phrase = rest.prefix { !Self.isQuote($0) }
                rest = rest[phrase.endIndex...].dropFirst()
                let isOpen = rest.first == "*" || phrase.last == "*"
                if rest.first == "*" { rest.removeFirst() }
                tokens.append(.phrase(String(phrase), isOpen: isOpen))
            case "-" where rest.dropFirst().first.map({ !$0.isWhitespace }) ?? false:
                tokens.append(.not)
                rest.removeFirst()
            case _ where first.isWhitespace: rest.removeFirst()
            default:
                let word = rest.prefix { !$0.isWhitespace && !Self.isQuote($0) && $0 != "(" && $0 != ")" }
                rest = rest[word.endIndex...]
                switch word {
                case "OR": tokens.append(.or)
                case "AND": tokens.append(.and)
                case "NOT": tokens.append(.not)
                default: tokens.append(.word(String(word), isOpen: word.last == "*"))
                }
            }
        }
    }

    private static func isQuote(_ character: Character) -> Bool {
        character == "\"" || character == "\u{201C}" || character == "\u{201D}" || character == "\u{201E}"
    }

    mutating func disjunction() -> TextSearch {
        var parts = [conjunction()]
        while next < tokens.count {
            guard case .or = tokens[next] else { break }
            next += 1
            parts.append(conjunction())
        }
        // Drop an "OR" without operands.
        parts.removeAll { $0 == .all([]) }
        return parts.count == 1 ? parts[0] : parts.isEmpty ? .all([]) : .any(parts)
    }

    private mutating func conjunction() -> TextSearch {
        var parts: [TextSearch] = []
        var isNot = false
        while next < tokens.count {
            var found: TextSearch?
            switch tokens[next] {
            case .or: return Self.joined(parts)
            case .close:
                if ignoredCount > 0 {
                    ignoredCount -= 1
                } else if depth > 0 {
                    return Self.joined(parts)
                }
                next += 1
                continue
            case .and:
                next += 1
                continue
            case .not:
                next += 1
                isNot.toggle()
                continue
            case .open:
                next += 1
                if depth >= 100 {
                    ignoredCount += 1
                    continue
                }
                depth += 1
                let group = disjunction()
                depth -= 1
                if next < tokens.count { next += 1 }
                found = group == .all([]) ? nil : group
            case .word(let text, let isOpen), .phrase(let text, let isOpen):
                next += 1
                found = Self.term(text, isOpen: isOpen)
            }
            if let found { parts.append(isNot ? .without(found) : found) }
            isNot = false
        }
        return Self.joined(parts)
    }

    private static func joined(_ parts: [TextSearch]) -> TextSearch { parts.count == 1 ? parts[0] : .all(parts) }

    private static func term(_ text: String, isOpen: Bool) -> TextSearch? {
        let words = TextWords.words(text)
        guard let last = words.last else { return nil }
        if words.count > 1 { return .term(.phrase(words, isOpen: isOpen)) }
        return .term(isOpen ? .prefix(last) : .word(last))
    }
}
