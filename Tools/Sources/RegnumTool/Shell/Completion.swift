// SPDX-License-Identifier: Apache-2.0
// Completes the commands, classes, properties and keywords of a line of the shell.

import RegnumInspect

struct Completion {
    /// A class, with the types of its properties by name.
    struct Class {
        var name: String
        var properties: [String: String]
    }

    private static let keywords = [
        "AND", "OR", "NOT", "IN", "BETWEEN", "BEGINSWITH", "CONTAINS", "ENDSWITH", "LIKE", "MATCHES", "ANY", "ALL",
        "NONE", "SUBQUERY", "TRUEPREDICATE", "FALSEPREDICATE", "SORT(", "DISTINCT(", "LIMIT(", "ASC", "DESC", "NULL",
        "TRUE", "FALSE",
    ]

    let classes: [Class]

    init(_ classes: [Class]) { self.classes = classes }

    init(_ classes: [ClassDescription]) {
        self.classes = classes.map { description in
            let types = description.properties.map { ($0.name, $0.type) }
            return Class(name: description.name, properties: Dictionary(types, uniquingKeysWith: { first, _ in first }))
        }
    }

    /// The candidates for the word before the cursor, and the number of its characters that they replace.
    func candidates(_ before: String) -> (count: Int, candidates: [String]) {
        let line = ShellLine(before)
        if before.hasPrefix("."), !before.contains(" ") {
            return matching(before, ShellCommand.allCases.map(\.name))
        }
        let word = String(
            before.reversed().prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }.reversed())
        if line.command == .mode { return matching(word, OutputMode.allCases.map(\.rawValue)) }
        // The first word of a query is its class.
        guard let className = line.className, line.hasQuery else { return matching(word, classes.map(\.name)) }
        return path(word, className)
    }

    /// Completes a key path through links.
    private func path(_ word: String, _ className: String) -> (count: Int, candidates: [String]) {
        var current = classes.first { $0.name == className }
        let parts = word.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        for part in parts.dropLast() {
            let type = current?.properties[part]
            current = classes.first { $0.name == type }
        }
        let names = current.map { Array($0.properties.keys) } ?? []
        return matching(parts.last ?? "", parts.count > 1 ? names : names + Self.keywords)
    }

    private func matching(_ word: String, _ names: [String]) -> (count: Int, candidates: [String]) {
        let exact = names.filter { $0.hasPrefix(word) }
        let found = exact.isEmpty ? names.filter { $0.lowercased().hasPrefix(word.lowercased()) } : exact
        return (word.count, found.sorted())
    }
}
