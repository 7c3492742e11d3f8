// SPDX-License-Identifier: Apache-2.0
// Parses text and arguments into a predicate: the part of NSPredicate's grammar that RealmSwift supports.

/// Conditions are parsed without recursion. Operands are parsed by recursive descent, because a SUBQUERY contains
/// conditions; a nesting limit ensures that no text overflows the stack. O(length of the text).
package struct PredicateParser {
    /// The maximum nesting of parentheses and NOT.
    package static let nestingLimit = 20_000
    /// The maximum nesting of SUBQUERYs.
    package static let subqueryLimit = 16
    /// The maximum nesting of `{ }`.
    private static let listLimit = 100

    private var lexer: Lexer
    private var token = Token.end
    private var position = 0
    private var arguments: [Constant]
    private var argumentIndex = 0
    private var depth = 0
    private var subqueryDepth = 0
    private var listDepth = 0

    /// Parses `format`, whose placeholders stand for `arguments` in order. `%K` takes a string. Excess arguments are
    /// ignored.
    package static func parse(_ format: String, _ arguments: [Constant] = []) throws(QueryError) -> Predicate {
        var parser = PredicateParser(lexer: Lexer(format), arguments: arguments)
        try parser.advance()
        let predicate = try parser.disjunction()
        guard parser.token == .end else { throw parser.unexpected(["AND", "OR", "the end"]) }
        return predicate
    }

    private init(lexer: Lexer, arguments: [Constant]) {
        self.lexer = lexer
        self.arguments = arguments
    }

    // MARK: Tokens

    private mutating func advance() throws(QueryError) {
        position = lexer.skipBlanks()
        token = try lexer.next()
    }

    private func isKeyword(_ keyword: String) -> Bool {
        guard case .word(let word, false) = token else { return false }
        return word.utf8.count == keyword.utf8.count && word.uppercased() == keyword
    }

    private mutating func take(_ symbol: String) throws(QueryError) -> Bool {
        guard token == .symbol(symbol) else { return false }
        try advance()
        return true
    }

    private mutating func takeKeyword(_ keyword: String) throws(QueryError) -> Bool {
        guard isKeyword(keyword) else { return false }
        try advance()
        return true
    }

    private mutating func takeEither(_ symbol: String, _ keyword: String) throws(QueryError) -> Bool {
        if try take(symbol) { return true }
        return try takeKeyword(keyword)
    }

    private mutating func require(_ symbol: String) throws(QueryError) {
        guard try take(symbol) else { throw unexpected(["'\(symbol)'"]) }
    }

    private func unexpected(_ expected: [String]) -> QueryError {
        QueryError(
            .syntax,
            "Unable to parse the format string: \(token.shown) at position \(position), where "
                + expected.joined(separator: " or ") + " was expected.",
            position: position, expected: expected)
    }

    private mutating func enter() throws(QueryError) {
        depth += 1
        if depth > Self.nestingLimit { throw tooDeep(Self.nestingLimit) }
    }

    private func tooDeep(_ limit: Int) -> QueryError {
        QueryError(
            .syntax,
            "Unable to parse the format string: nested more than \(limit) deep at position \(position).",
            position: position)
    }

    package static let tooManySubqueries = QueryError(
        .unsupported, "SUBQUERYs are nested more than \(subqueryLimit) deep.")

    // MARK: Compounds

    /// The state of one parenthesized group during parsing.
    private struct Group {
        /// The number of terms, joined by OR.
        var termCount = 0
        /// The number of factors of the current term, joined by AND.
        var factorCount = 0
        /// The number of NOTs before the current factor.
        var notCount = 0
    }

    private mutating func disjunction() throws(QueryError) -> Predicate {
        var builder = ConditionBuilder<Predicate>()
        var groups = [Group()]
        while true {
            var notCount = 0
            while try takeEither("!", "NOT") {
                try enter()
                notCount += 1
            }
            groups[groups.count - 1].notCount = notCount
            if try take("(") {
                try enter()
                groups.append(Group())
                continue
            }
            try factor(&builder)
            if try end(&groups, &builder) { return builder.build() }
        }
    }

    /// Continues after a factor, up to the beginning of the next one; returns true if there is none.
    private mutating func end(
        _ groups: inout [Group], _ builder: inout ConditionBuilder<Predicate>
    ) throws(QueryError) -> Bool {
        while var group = groups.popLast() {
            for _ in 0..<group.notCount { builder.not() }
            depth -= group.notCount
            group.notCount = 0
            group.factorCount += 1
            if try takeEither("&&", "AND") {
                groups.append(group)
                return false
            }
            builder.and(group.factorCount)
            group.factorCount = 0
            group.termCount += 1
            if try takeEither("||", "OR") {
                groups.append(group)
                return false
            }
            builder.or(group.termCount)
            if groups.isEmpty { return true }
            try require(")")
            depth -= 1
        }
        return true
    }

    private mutating func factor(_ builder: inout ConditionBuilder<Predicate>) throws(QueryError) {
        if token == .placeholder("@"), argumentIndex < arguments.count,
            case .predicate(let predicate) = arguments[argumentIndex]
        {
            argumentIndex += 1
            try advance()
            builder.append(tree: predicate)
        } else if try takeKeyword("TRUEPREDICATE") {
            builder.append(.constant(true))
        } else if try takeKeyword("FALSEPREDICATE") {
            builder.append(.constant(false))
        } else {
            builder.append(.comparison(try comparison()))
        }
    }

    // MARK: Comparisons

    private mutating func comparison() throws(QueryError) -> Comparison {
        let start = position
        var modifier = try comparisonModifier()
        let left = try operand()
        let comparison = try comparisonOperator()
        let options = try comparisonOptions()
        // In `5 == ANY numbers` the constant comes first, and the modifier precedes the key path.
        if modifier == .direct, case .constant = left { modifier = try comparisonModifier() }
        let right = try operand()
        return Comparison(left, comparison, right, options: options, modifier: modifier, position: start)
    }

    /// ANY, SOME, NONE or ALL, unless it is the name of a property.
    private mutating func comparisonModifier() throws(QueryError) -> ComparisonModifier {
        let modifier: ComparisonModifier
        if isKeyword("ANY") || isKeyword("SOME") {
            modifier = .any
        } else if isKeyword("NONE") {
            modifier = .none
        } else if isKeyword("ALL") {
            modifier = .all
        } else {
            return .direct
        }
        let beforeIt = self
        try advance()
        guard isBehindOperand else { return modifier }
        self = beforeIt
        return .direct
    }

    /// True if the token can only follow an operand.
    private var isBehindOperand: Bool {
        switch token {
        case .end: return true
        case .symbol(let symbol): return symbol != "(" && symbol != "{" && symbol != "-"
        case .word(let word, false):
            let keyword = word.uppercased()
            // `text` is a common property name, and a full-text search on a property called `any` is unlikely.
            if let comparison = ComparisonOperator(rawValue: keyword) { return comparison != .text }
            return keyword == "AND" || keyword == "OR"
        default: return false
        }
    }

    private mutating func comparisonOperator() throws(QueryError) -> ComparisonOperator {
        let found: ComparisonOperator?
        switch token {
        case .symbol("="), .symbol("=="): found = .equal
        case .symbol("!="), .symbol("<>"): found = .notEqual
        case .symbol("<"): found = .less
        case .symbol(">"): found = .greater
        case .symbol("<="), .symbol("=<"): found = .lessOrEqual
        case .symbol(">="), .symbol("=>"): found = .greaterOrEqual
        case .word(let word, false):
            let upper = word.uppercased()
            found = ComparisonOperator(rawValue: upper)
        default: found = nil
        }
        guard let found else { throw unexpected(["an operator"]) }
        try advance()
        return found
    }

    private mutating func comparisonOptions() throws(QueryError) -> ComparisonOptions {
        guard token == .symbol("[") else { return [] }
        try advance()
        guard case .word(let letters, false) = token else { throw unexpected(["c", "d", "cd"]) }
        var options: ComparisonOptions = []
        for letter in letters.lowercased().utf8 {
            switch letter {
            case 0x63: options.insert(.caseInsensitive)
            case 0x64: options.insert(.diacriticInsensitive)
            default:
                throw QueryError(
                    .unsupported, "Only the modifiers [c], [d] and [cd] are supported, not [\(letters)].",
                    position: position, expected: ["c", "d", "cd"])
            }
        }
        try advance()
        try require("]")
        return options
    }

    // MARK: Operands

    private mutating func operand() throws(QueryError) -> Operand {
        let start = position
        switch token {
        case .int(let value):
            try advance()
            return .constant(.int(value))
        case .double(let value):
            try advance()
            return .constant(.double(value))
        case .string(let value):
            try advance()
            return .constant(.string(value))
        case .symbol("-"):
            try advance()
            return .constant(try negated())
        case .symbol("{"): return try list()
        case .placeholder("%"):
            // `%%` is a percent sign, as in other formats.
            try advance()
            return .constant(.string("%"))
        case .placeholder(let letters) where letters != "K": return .constant(try argument(letters))
        case .variable(let name):
            try advance()
            var path = KeyPathOperand(variable: name, [], position: start)
            while try take(".") { path.segments += try segments() }
            return .keyPath(path)
        case .symbol("."), .placeholder: return try keyPath(start)
        case .word(let word, let isEscaped):
            return isEscaped ? try keyPath(start) : try operand(word: word, start)
        default: throw unexpected(["a key path", "a value"])
        }
    }

    private mutating func operand(word: String, _ start: Int) throws(QueryError) -> Operand {
        switch word.uppercased() {
        case "TRUE", "YES":
            try advance()
            return .constant(.bool(true))
        case "FALSE", "NO":
            try advance()
            return .constant(.bool(false))
        case "NULL", "NIL":
            try advance()
            return .constant(.null)
        case "SUBQUERY": return try subquery()
        case "SELF":
            return try keyPath(start)
        default:
            // Before an operator these are property names; see `comparison`.
            let isModifier = ["ANY", "SOME", "NONE", "ALL"].contains(word.uppercased())
            if Keyword.isReserved(word), !isModifier { throw unexpected(["a key path", "a value"]) }
            return try keyPath(start)
        }
    }

    /// The number after a minus sign; more signs may precede it.
    private mutating func negated() throws(QueryError) -> Constant {
        var isNegative = true
        while try take("-") { isNegative.toggle() }
        switch token {
        case .int(let value):
            try advance()
            return .int(isNegative ? 0 &- value : value)
        case .double(let value):
            try advance()
            if !isNegative { return .double(value) }
            // The magnitude of the lowest Int64 is lexed as a double.
            return value == 9_223_372_036_854_775_808 ? .int(.min) : .double(-value)
        default: throw unexpected(["a number"])
        }
    }

    private mutating func list() throws(QueryError) -> Operand {
        listDepth += 1
        defer { listDepth -= 1 }
        if listDepth > Self.listLimit { throw tooDeep(Self.listLimit) }
        try advance()
        var operands: [Operand] = []
        if token != .symbol("}") {
            repeat { operands.append(try operand()) } while try take(",")
        }
        try require("}")
        var constants: [Constant] = []
        for operand in operands {
            guard case .constant(let constant) = operand else { return .list(operands) }
            constants.append(constant)
        }
        return .constant(.array(constants))
    }

    private mutating func argument(_ letters: String) throws(QueryError) -> Constant {
        let start = position
        guard argumentIndex < arguments.count else {
            throw QueryError(
                .argument, "Too few arguments: there is none for %\(letters) at position \(start).",
                position: start)
        }
        let argument = arguments[argumentIndex]
        argumentIndex += 1
        try advance()
        if letters == "@" || letters == "K" { return argument }
        switch argument {
        case .int, .double, .float, .bool, .null: return argument
        default:
            throw QueryError(
                .argument, "%\(letters) at position \(start) takes a number, not a \(argument.typeName).",
                position: start, expected: ["a number"])
        }
    }

    private mutating func subquery() throws(QueryError) -> Operand {
        subqueryDepth += 1
        defer { subqueryDepth -= 1 }
        if subqueryDepth > Self.subqueryLimit { throw tooDeep(Self.subqueryLimit) }
        try advance()
        try require("(")
        let start = position
        guard case .keyPath(let collection) = try operand() else { throw unexpected(["a key path"]) }
        try require(",")
        guard case .variable(let variable) = token else { throw unexpected(["a variable such as $item"]) }
        try advance()
        try require(",")
        let predicate = try disjunction()
        try require(")")
        var suffix: [KeyPathSegment] = []
        while try take(".") { suffix += try segments() }
        var path = collection
        path.position = start
        return .subquery(path, variable: variable, predicate, suffix: suffix)
    }

    // MARK: Key paths

    private mutating func keyPath(_ start: Int) throws(QueryError) -> Operand {
        var path = KeyPathOperand([], position: start)
        if token == .symbol(".") {
            path.segments.append(KeyPathSegment(""))
        } else {
            path.segments = try segments()
        }
        if token == .symbol("(") {
            throw QueryError(
                .unsupported,
                "Unable to parse the format string: functions are not supported (position \(start)).",
                position: start)
        }
        while try take(".") { path.segments += try segments() }
        return .keyPath(path)
    }

    /// One name with its subscripts; several if `%K` supplies a path; an empty one if there is no name.
    private mutating func segments() throws(QueryError) -> [KeyPathSegment] {
        var found: [KeyPathSegment]
        switch token {
        case .word(let word, _):
            try advance()
            found = [KeyPathSegment(word)]
        case .placeholder("K"):
            let start = position
            guard case .string(let path) = try argument("K") else {
                throw QueryError(
                    .argument, "%K at position \(start) takes a key path as a string.", position: start,
                    expected: ["a string"])
            }
            found = KeyPathSegment.split(path)
        default: return [KeyPathSegment("")]
        }
        while try take("[") {
            found[found.count - 1].subscripts.append(try keyPathSubscript())
            try require("]")
        }
        return found
    }

    private mutating func keyPathSubscript() throws(QueryError) -> KeyPathSubscript {
        switch token {
        case .string(let key):
            try advance()
            return .key(key)
        case .int(let index):
            try advance()
            return .index(index)
        case .word(let word, true) where word == "any":
            try advance()
            return .any
        case .placeholder("@"):
            switch try argument("@") {
            case .string(let key): return .key(key)
            case .int(let index): return .index(index)
            case let other: return .other(other.shown)
            }
        case .placeholder("K"):
            guard case .string("#any") = try argument("K") else { throw unexpected(["#any"]) }
            return .any
        case .placeholder(let letters) where letters != "%":
            guard case .int(let index) = try argument(letters) else { throw unexpected(["an index"]) }
            return .index(index)
        case .double, .word, .placeholder:
            let shown = token.shown
            try advance()
            return .other(shown)
        default: throw unexpected(["a key", "an index", "#any"])
        }
    }
}
