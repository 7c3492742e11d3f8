// SPDX-License-Identifier: Apache-2.0
// A line of the shell: a command that begins with a dot, or a class and its query.

enum ShellCommand: String, CaseIterable {
    case aggregate, count, exit, explain, help, limit, mode, pins, quit, schema, stats, tables, timer

    var name: String { "." + rawValue }

    /// The arguments of the command, and a description.
    var help: (arguments: String, text: String) {
        switch self {
        case .aggregate: ("CLASS PROPERTY QUERY", "the minimum, maximum, sum and average of a property")
        case .count: ("CLASS QUERY", "the number of objects that match")
        case .exit: ("", "ends the shell, as .quit")
        case .explain: ("CLASS QUERY", "how a query runs, and which index would help")
        case .help: ("", "this list")
        case .limit: ("NUMBER", "show at most this number of objects; 0 for all")
        case .mode: ("MODE", "text, table, json, csv or line")
        case .pins: ("", "the processes that have the file open, and the versions that they keep")
        case .quit: ("", "ends the shell, as control-D")
        case .schema: ("CLASS", "the properties of a class, or of all")
        case .stats: ("", "the space of each class and property")
        case .tables: ("", "the classes and the numbers of their objects")
        case .timer: ("on|off", "show how long each query takes")
        }
    }
}

struct ShellLine: Equatable {
    /// Nil for a query, and for an unknown command.
    private(set) var command: ShellCommand?
    /// The word after the dot, if it is not a command.
    private(set) var unknown: String?
    /// The rest of the line.
    private(set) var argument: String
    /// The first word of the query, or of the argument.
    private(set) var className: String?
    /// The text after the class.
    private(set) var query = ""
    /// True if there is white space after the class.
    private(set) var hasQuery = false

    init(_ line: String) {
        var rest = line[...].drop(while: \.isWhitespace)
        if rest.hasPrefix(".") {
            let word = rest.dropFirst().prefix { !$0.isWhitespace }
            command = ShellCommand(rawValue: word.lowercased())
            if command == nil { unknown = String(word) }
            rest = rest.dropFirst(1 + word.count).drop(while: \.isWhitespace)
        }
        while let last = rest.last, last.isWhitespace || last == ";" {
            // White space at the end shows that the class name is complete.
            if last.isWhitespace { hasQuery = true }
            rest.removeLast()
        }
        argument = String(rest)
        guard let first = rest.first else {
            hasQuery = false
            return
        }
        // A class name that contains spaces is in quotation marks.
        if first == "\"" || first == "'", let end = rest.dropFirst().firstIndex(of: first) {
            className = String(rest[rest.index(after: rest.startIndex)..<end])
            rest = rest[rest.index(after: end)...]
        } else {
            let word = rest.prefix { !$0.isWhitespace }
            className = String(word)
            rest = rest[word.endIndex...]
        }
        if !rest.isEmpty { hasQuery = true }
        query = String(rest.drop(while: \.isWhitespace))
    }

    /// For a command that names a property: the first word of the query, and the rest.
    var property: (name: String, query: String)? {
        let rest = ShellLine(query)
        return rest.className.map { ($0, rest.query) }
    }

    var isEmpty: Bool { command == nil && unknown == nil && argument.isEmpty }
}
