// SPDX-License-Identifier: Apache-2.0
// Finds the filters of tests in the scripts, and the alternatives of each that match no test. Such an alternative fails
// nothing: the script silently runs fewer tests.

import Foundation

enum TestFilters {
    struct Filter: Equatable {
        let line: Int
        let pattern: String
    }

    /// The alternatives in a script's filters that match none of `tests`, the text of `identifiers`.
    static func findings(inScript path: String, text: String, tests: String) -> [Finding] {
        filters(in: text).flatMap { filter in
            alternatives(of: filter.pattern).filter { !matches($0, tests) }.map {
                Finding("test-filter", path, filter.line, "no test matches \($0)")
            }
        }
    }

    private static func matches(_ pattern: String, _ tests: String) -> Bool {
        guard let expression = try? NSRegularExpression(pattern: pattern, options: .anchorsMatchLines) else {
            return false
        }
        let all = NSRange(location: 0, length: tests.utf16.count)
        return expression.firstMatch(in: tests, range: all) != nil
    }

    // MARK: Scripts

    /// The arguments of `--filter` and `--skip`, and other strings that name suites of a target. Variables of the shell
    /// that are set to a string are replaced by it; a filter with any other variable is left out.
    static func filters(in text: String) -> [Filter] {
        var values: [String: String] = [:]
        var result: [Filter] = []
        // Python joins raw strings that follow one another.
        let joined = text.replacing(#/'\s*\n\s*r'/#, with: "")
        for (number, line) in joined.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.drop(while: { $0 == " " }).hasPrefix("#") { continue }
            if let match = line.firstMatch(of: #/^\s*(\w+)(\+?)=(?:\$\{\w+:-)?(['\x22])(.*)\3\}?$/#) {
                let name = String(match.1)
                let before = match.2.isEmpty ? "" : values[name] ?? ""
                values[name] = before + expanded(String(match.4), values)
            }
            for quoted in quotedFilters(in: line) {
                let pattern = expanded(quoted, values)
                if pattern.contains(#/\$[\w(\x7B]/#) || result.contains(where: { $0.pattern == pattern }) { continue }
                result.append(Filter(line: number + 1, pattern: pattern))
            }
        }
        return result
    }

    /// `\x22` is the double quote, which `SourceText` does not expect in a regex literal.
    private static func quotedFilters(in line: Substring) -> [String] {
        let arguments = line.matches(of: #/--(?:filter|skip)[ =](['\x22])(.*?)\1/#).map { String($0.2) }
        let others = line.matches(of: #/'([^']*)'|\x22([^\x22]*)\x22/#).map { String($0.1 ?? $0.2 ?? "") }
        return arguments + others.filter { $0.hasPrefix("^") && $0.contains(#/Tests\)?(?:\\\.|\[\.\])/#) }
    }

    private static func expanded(_ text: String, _ values: [String: String]) -> String {
        text.replacing(#/\$\{?(\w+)\}?/#) { match in values[String(match.1)] ?? String(match.0) }
    }

    // MARK: Alternatives

    /// The pattern once for each alternative in it: all other alternatives of the groups around that one are removed,
    /// and all other groups are complete.
    static func alternatives(of pattern: String) -> [String] {
        var rest = pattern[...]
        return choice(&rest).variants
    }

    private enum Piece {
        case text(String)
        case group(Choice)

        var text: String {
            switch self {
            case .text(let text): text
            case .group(let choice): "(?:\(choice.text))"
            }
        }
    }

    /// Alternatives, each a sequence of pieces.
    private struct Choice {
        var sequences: [[Piece]]

        var text: String {
            sequences.map { sequence in sequence.map(\.text).joined() }.joined(separator: "|")
        }

        var variants: [String] { sequences.flatMap { Self.variants(of: $0) } }

        static func variants(of sequence: [Piece]) -> [String] {
            let texts = sequence.map(\.text)
            var result: [String] = []
            for (index, piece) in sequence.enumerated() {
                guard case .group(let choice) = piece else { continue }
                let before = texts[..<index].joined()
                let after = texts[(index + 1)...].joined()
                result += choice.variants.map { "\(before)(?:\($0))\(after)" }
            }
            return result.isEmpty ? [texts.joined()] : result
        }
    }

    /// Reads to the end of the group, or of the pattern.
    private static func choice(_ rest: inout Substring) -> Choice {
        var sequences: [[Piece]] = []
        var sequence: [Piece] = []
        while let character = rest.popFirst() {
            switch character {
            case ")": return Choice(sequences: sequences + [sequence])
            case "|":
                sequences.append(sequence)
                sequence = []
            case "(":
                if rest.hasPrefix("?:") { rest = rest.dropFirst(2) }
                sequence.append(.group(choice(&rest)))
            case "\\":
                sequence.append(.text("\\" + (rest.popFirst().map { String($0) } ?? "")))
            case "[":
                let set = rest.prefix { $0 != "]" }
                rest = rest.dropFirst(set.count + 1)
                sequence.append(.text("[\(set)]"))
            default: sequence.append(.text(String(character)))
            }
        }
        return Choice(sequences: sequences + [sequence])
    }

    // MARK: Tests

    /// One line for each test, as the testing library names it, without its parameters: `Target.Suite/function(`.
    static func identifiers(of files: [SourceText]) -> String {
        files.flatMap { identifiers(of: $0) }.joined(separator: "\n")
    }

    private static func identifiers(of file: SourceText) -> [String] {
        let folders = file.path.split(separator: "/")
        guard folders.count > 2, folders[0] == "Tests" else { return [] }
        var types: [(indentation: Int, name: Substring)] = []
        var isTest = false
        var result: [String] = []
        for line in file.code {
            let indentation = line.prefix { $0 == " " }.count
            if line.contains("@Test") { isTest = true }
            if line.contains("func "), let match = line.firstMatch(of: #/\bfunc (\w+|`[^`]+`)/#) {
                types.removeAll { $0.indentation >= indentation }
                // XCTest finds its tests by their names.
                if isTest || match.1.hasPrefix("test") {
                    let path = types.map { "\($0.name)/" }.joined()
                    result.append("\(folders[1]).\(path)\(match.1)(")
                }
                isTest = false
            } else if let match = line.firstMatch(of: #/\b(?:struct|class|enum|actor|extension) (\w+)/#) {
                types.removeAll { $0.indentation >= indentation }
                types.append((indentation, match.1))
            }
        }
        return result
    }
}
