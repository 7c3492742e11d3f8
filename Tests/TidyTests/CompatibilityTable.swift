// SPDX-License-Identifier: Apache-2.0
// Reads COMPATIBILITY.md and the public declarations of the users' modules, and reports disagreements.

/// One row: | `symbol` | status | remark |
struct CompatibilityRow: Equatable {
    let symbol: String
    let status: String
    let line: Int
    var remark = ""

    /// The tests that the remark names: `ListsTests`, or `PublisherTests.willChange` with one of its functions.
    var citations: [(suite: String, function: String?)] {
        remark.matches(of: #/\b([A-Z]\w*Tests)(?:\.(\w+))?\b/#).map { (String($0.1), $0.2.map(String.init)) }
    }

    /// The last name of a symbol: `write` of `Realm.write(withoutNotifying:_:)`, `Realm` of `Realm.init(queue:)`. Nil
    /// for operators, points of behaviour and language features, which are not names.
    var baseName: String? {
        let head = symbol.split(separator: "(")[0].split(separator: " ")[0]
        if head.hasSuffix(":") || head == "semantics" { return nil }
        let parts = head.split(separator: ".").map(String.init)
        guard let last = parts.last else { return nil }
        if last == "init" { return parts.dropLast().last }
        return last.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } ? last : nil
    }
}

enum CompatibilityTable {
    static let parts: Set = [
        "foundation", "trust", "types", "query", "migrations", "live", "test kit", "speed",
    ]

    /// The rows of a Markdown text whose first cell is code.
    static func rows(of text: String) -> [CompatibilityRow] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.enumerated().compactMap { number, line in
            guard line.hasPrefix("| `") else { return nil }
            let cells = cells(of: line)
            let symbol = cells[0].split(separator: "`").first.map(String.init) ?? ""
            return CompatibilityRow(
                symbol: symbol, status: cells.count > 1 ? cells[1] : "", line: number + 1,
                remark: cells.dropFirst(2).joined(separator: " "))
        }
    }

    /// The cells of a row, trimmed; `\|` stands for a bar inside a cell.
    private static func cells(of line: Substring) -> [String] {
        let bar = "\u{1}"
        return line.dropFirst().replacing("\\|", with: bar).split(separator: "|").map { cell in
            cell.split(separator: " ").joined(separator: " ").replacing(bar, with: "|")
        }
    }

    static func isKnown(status: String) -> Bool {
        if status == "done" { return true }
        guard let match = status.wholeMatch(of: #/(differs|later|never|out of scope) \((.+)\)/#) else { return false }
        return match.1 != "later" || parts.contains(String(match.2))
    }

    /// Features that only Apple's systems have: the only valid reason for never.
    static let appleOnly = ["SwiftUI", "Objective-C"]

    /// The disagreements between the list of symbols and the table: symbols without a row, rows of no symbol, duplicate
    /// rows, unknown statuses, and rows that are never for an invalid reason.
    static func complaints(symbols: [String], rows: [CompatibilityRow]) -> [String] {
        let named = Dictionary(grouping: rows, by: \.symbol)
        let listed = Set(symbols)
        var result = symbols.filter { named[$0] == nil }.map { "no row for \($0)" }
        for row in rows {
            if !listed.contains(row.symbol) { result.append("line \(row.line): \(row.symbol) is not listed") }
            if !isKnown(status: row.status) {
                result.append("line \(row.line): \(row.symbol): unknown status \"\(row.status)\"")
            }
            if row.status.hasPrefix("never"), !appleOnly.contains(where: { row.status.contains($0) }) {
                result.append("line \(row.line): \(row.symbol): never, but for nothing that only Apple's systems have")
            }
        }
        result += named.filter { $0.value.count > 1 }.keys.sorted().map { "\($0) stands twice" }
        return result
    }

    /// Rows with status done although no public declaration has the name.
    static func unfounded(rows: [CompatibilityRow], declared: Set<String>) -> [String] {
        rows.filter { row in
            row.status == "done" && row.baseName.map { !declared.contains($0) } ?? false
        }.map { "line \($0.line): \($0.symbol) is done, but nothing public is called \($0.baseName ?? "")" }
    }

    /// Rows that are done or differ and name no test, and rows that name a missing test. `suites` has the functions of
    /// each test suite.
    static func unshown(rows: [CompatibilityRow], suites: [String: Set<String>]) -> [String] {
        rows.flatMap { row in
            let cited = row.citations
            let isHere = row.status == "done" || row.status.hasPrefix("differs")
            var complaints = isHere && cited.isEmpty ? ["no test is named"] : []
            for (suite, function) in cited {
                guard let functions = suites[suite] else {
                    complaints.append("there is no \(suite)")
                    continue
                }
                if let function, !functions.contains(function) {
                    complaints.append("\(suite) has no \(function)")
                }
            }
            return complaints.map { "line \(row.line): \(row.symbol): \($0)" }
        }
    }

    /// The suites of tests that a file declares, with all functions of the file that have a `@Test`.
    static func suites(of source: SourceText) -> [String: Set<String>] {
        var names: [String] = []
        var functions: Set<String> = []
        var isTest = false
        for line in source.code where !line.isEmpty {
            // Searches the words of relevant lines only: regular expressions over all lines of all tests take a minute.
            let text = line.drop { $0 == " " }
            let starts = ["struct ", "final class ", "class ", "extension ", "enum ", "actor ", "@Suite"]
            if starts.contains(where: text.hasPrefix),
                let match = text.firstMatch(of: #/\b(?:struct|class|extension|enum|actor)\s+([A-Z]\w*Tests)\b/#)
            {
                names.append(String(match.1))
            }
            if text.hasPrefix("@Test") { isTest = true }
            if isTest, let match = text.firstMatch(of: #/\bfunc\s+`?(\w+)/#) {
                functions.insert(String(match.1))
                isTest = false
            }
        }
        return Dictionary(names.map { ($0, functions) }) { $0.union($1) }
    }

    /// Names that a file declares for users: after `public` or `open`, enum cases, and everything inside a public
    /// protocol or extension.
    static func publicNames(of source: SourceText) -> Set<String> {
        var result: Set<String> = []
        var depth = 0
        var openAt: Int?
        for line in source.code {
            let isPublic = line.contains(#/\b(public|open)\b/#)
            if isPublic || openAt != nil { result.formUnion(declaredNames(line)) }
            if let names = line.wholeMatch(of: #/\s*(?:indirect )?case (.+)/#) {
                for name in names.1.split(separator: ",") {
                    result.formUnion(name.prefixMatch(of: #/\s*`?(\w+)/#).map { [String($0.1)] } ?? [])
                }
            }
            if openAt == nil, isPublic, line.contains(#/\b(protocol|extension)\b/#) { openAt = depth }
            depth += line.count { $0 == "{" } - line.count { $0 == "}" }
            if let start = openAt, depth <= start, line.contains("}") { openAt = nil }
        }
        return result
    }

    private static func declaredNames(_ line: Substring) -> [String] {
        let pattern =
            #/\b(?:func|var|let|class(?!\s+(?:func|var))|struct|enum|protocol|typealias|actor|macro|associatedtype)\s+`?(\w+)/#
        var names = line.firstMatch(of: pattern).map { [String($0.1)] } ?? []
        if line.contains(#/\bsubscript\b/#) { names.append("subscript") }
        return names
    }
}
