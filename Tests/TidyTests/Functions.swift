// SPDX-License-Identifier: Apache-2.0
// Finds the functions of a file and their lengths, by words and braces: enough for a length rule, not a parser.

/// A function, initialiser, subscript or computed property with a body.
struct FunctionExtent: Equatable {
    let name: String
    /// One-based line of the declaration, and the number of lines to its closing brace, both included.
    let line: Int
    let lineCount: Int
}

/// All declarations with a body, in order; nested functions are listed besides the ones around them.
func functionExtents(of source: SourceText) -> [FunctionExtent] {
    let tokens = Token.all(of: source.code)
    var result: [FunctionExtent] = []
    for (index, token) in tokens.enumerated() where token.isDeclarationKeyword {
        if index > 0, tokens[index - 1].text == "." { continue }
        guard let name = declaredName(tokens, index),
            let open = bodyStart(tokens, after: index),
            let close = matchingBrace(tokens, from: open)
        else { continue }
        result.append(
            FunctionExtent(
                name: name, line: token.line, lineCount: tokens[close].line - token.line + 1))
    }
    return result
}

private struct Token {
    let text: String
    let line: Int

    var isDeclarationKeyword: Bool {
        ["func", "init", "deinit", "subscript", "var"].contains(text)
    }

    /// Words that begin another declaration: a body cannot start after one of them.
    var startsAnother: Bool {
        isDeclarationKeyword
            || [
                "let", "case", "struct", "class", "enum", "extension", "protocol", "actor", "typealias",
                "associatedtype", "import", "return",
            ].contains(text)
    }

    /// Words and single punctuation marks of the code.
    static func all(of code: [Substring]) -> [Token] {
        var result: [Token] = []
        for (number, line) in code.enumerated() {
            var word = ""
            for scalar in line.unicodeScalars {
                if scalar == "_" || scalar.properties.isAlphabetic || scalar.properties.numericType != nil {
                    word.unicodeScalars.append(scalar)
                    continue
                }
                if !word.isEmpty { result.append(Token(text: word, line: number + 1)) }
                word = ""
                if scalar != " " { result.append(Token(text: String(scalar), line: number + 1)) }
            }
            if !word.isEmpty { result.append(Token(text: word, line: number + 1)) }
        }
        return result
    }
}

private func declaredName(_ tokens: [Token], _ index: Int) -> String? {
    let keyword = tokens[index].text
    guard keyword == "func" || keyword == "var" else { return keyword }
    var name = ""
    for token in tokens[(index + 1)...].prefix(4) {
        let isWord = name.first.map { $0.isLetter || $0 == "_" } ?? false
        if token.text == "(" && !name.isEmpty || isWord { break }
        if token.text != "`" { name += token.text }
    }
    return name.isEmpty ? nil : name
}

/// The token of the `{` that opens the body; nil for a requirement or a stored property.
private func bodyStart(_ tokens: [Token], after index: Int) -> Int? {
    var depth = 0
    var position = index + 1
    while position < tokens.count {
        let token = tokens[position]
        switch token.text {
        case "(", "[": depth += 1
        case ")", "]": depth -= 1
        case "{" where depth == 0: return position
        case "}" where depth == 0: return nil
        case "=" where depth == 0 && tokens[index].text == "var": return nil
        default:
            let isLabelOrMember = depth > 0 || tokens[position - 1].text == "."
            let isName = position == index + 1
            if !isLabelOrMember, !isName, token.startsAnother { return nil }
        }
        position += 1
    }
    return nil
}

private func matchingBrace(_ tokens: [Token], from open: Int) -> Int? {
    var depth = 0
    for position in open..<tokens.count {
        if tokens[position].text == "{" { depth += 1 }
        if tokens[position].text == "}" {
            depth -= 1
            if depth == 0 { return position }
        }
    }
    return nil
}
