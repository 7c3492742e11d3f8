// SPDX-License-Identifier: Apache-2.0
// The subcommand shell: queries and commands, one per line, from a terminal or a pipe.

import ArgumentParser
import Foundation
import RegnumInspect

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

struct ShellSubcommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shell", abstract: "Answers queries and commands, one per line.",
        discussion: """
            regnum shell people.realm
            echo 'Person age > 30 SORT(name ASC)' | regnum shell people.realm --mode csv

            A line is a class and a query as for `regnum query`, or a command such as .tables, .schema and .mode; .help \
            lists them. In a terminal, tab completes the names of classes and properties. Each line sees the newest \
            version of the file, which is only read.

            Exits with status 1 if a line from a pipe or of --command had an error; --bail ends it at the first one.
            """)

    @OptionGroup var arguments: FileArguments
    @Option(name: [.short, .long], help: "Run this line instead of reading lines; may be given several times.")
    var command: [String] = []
    @Option(help: "How objects are shown: text, table, json, csv or line; by default table in a terminal, else text.")
    var mode: OutputMode?
    @Flag(help: "The same as --mode json.") var json = false
    @Flag(help: "End at the first error.") var bail = false

    func run() throws {
        try reporting(on: arguments) {
            _ = try arguments.readingInspector()
            let isInteractive = command.isEmpty && LineEditor.isPossible
            var shell = Shell(
                arguments: arguments, mode: json ? .json : mode ?? (isInteractive ? .table : .text),
                isInteractive: isInteractive)
            if isInteractive { return runInteractively(&shell) }
            var hasFailed = false
            var lines = command[...]
            func next() -> String? { command.isEmpty ? readLine() : lines.popFirst() }
            while let line = next() {
                switch shell.run(line) {
                case .done: break
                case .failed:
                    hasFailed = true
                    if bail { throw Ending.failure }
                case .quit: lines = []; if hasFailed { throw Ending.failure } else { return }
                }
            }
            if hasFailed { throw Ending.failure }
        }
    }

    private func runInteractively(_ shell: inout Shell) {
        Interruption.watch()
        let file = arguments
        let editor = LineEditor(prompt: "regnum> ", historyPath: Self.historyPath) { before in
            let classes = (try? file.readingInspector().classes()) ?? []
            return Completion(classes).candidates(before)
        }
        Output().line("\(arguments.file), read only. .help lists the commands, .quit ends.")
        while true {
            switch editor.read() {
            case .end: return
            case .cancelled: continue
            case .text(let line):
                // A second control-C ends the shell, if the line cannot be given up.
                Interruption.watch()
                if shell.run(line) == .quit { return }
            }
        }
    }

    private static var historyPath: String? {
        ProcessInfo.processInfo.environment["HOME"].map { $0 + "/.regnum_history" }
    }
}

/// Runs lines. Each line opens the file again, so it sees the newest version, and no version is pinned between lines.
struct Shell {
    enum Outcome { case done, failed, quit }

    let arguments: FileArguments
    var mode: OutputMode
    let isInteractive: Bool
    private var limit: Int?
    private var showsTime = false
    private var number = 0
    /// Set by control-C while an interactive line runs.
    private var stop: InspectionStop?

    private struct Interrupted: Error {}

    init(arguments: FileArguments, mode: OutputMode, isInteractive: Bool) {
        self.arguments = arguments
        self.mode = mode
        self.isInteractive = isInteractive
    }

    mutating func run(_ text: String) -> Outcome {
        number += 1
        let line = ShellLine(text)
        if line.isEmpty || text.hasPrefix("#") { return .done }
        if line.command == .quit || line.command == .exit { return .quit }
        let start = ContinuousClock.now
        do { try runStopping(line) } catch is Interrupted {
            Output.complain("interrupted")
        } catch let error as InspectionError where error.reason == .stopped {
            Output.complain("interrupted")
        } catch {
            let failure = Failure(error, arguments, isCheck: false, advice: Failure.advice)
            let sentence = TerminalText.shown(failure.sentence)
            Output.complain(isInteractive ? sentence : "regnum: line \(number): \(sentence)")
            if isInteractive, let lines = QueryCaret.lines(error) { Output.complain(lines) }
            return .failed
        }
        if showsTime {
            let (seconds, attoseconds) = (ContinuousClock.now - start).components
            Output.complain("\(seconds * 1000 + attoseconds / 1_000_000_000_000_000) ms")
        }
        Output.flush()
        return .done
    }

    private mutating func runStopping(_ line: ShellLine) throws {
        guard isInteractive else { return try run(line) }
        defer { stop = nil }
        try Interruption.stopping { stop in
            self.stop = stop
            try run(line)
        }
    }

    /// Opens the file for one line.
    private func inspector() throws -> Inspector {
        let inspector = try arguments.readingInspector()
        inspector.stop = stop
        return inspector
    }

    private mutating func run(_ line: ShellLine) throws {
        if let unknown = line.unknown { throw Refusal("There is no command '.\(unknown)': .help lists them.") }
        switch line.command {
        case nil: try query(line)
        case .aggregate:
            let name = try className(line)
            guard let (property, query) = line.property else {
                throw Refusal(".aggregate needs a class and a property, as in .aggregate Person age name == 'Ann'.")
            }
            let found = try inspector().aggregates(name, property: property, matching: query)
            AggregateText.write(found, name, property, asJSON: mode == .json)
        case .count:
            let name = try className(line)
            Output().line("\(try inspector().count(name, where: line.query))")
        case .explain:
            let name = try className(line)
            Explanation.write(
                try inspector().explain(name, matching: line.query), asJSON: mode == .json)
        case .help: help()
        case .limit:
            guard let number = Int(line.argument), number >= 0 else {
                throw Refusal(".limit needs a number of objects, as in .limit 20; 0 shows all.")
            }
            limit = number == 0 ? nil : number
        case .mode:
            guard let mode = OutputMode(rawValue: line.argument.lowercased()) else {
                throw Refusal(".mode needs text, table, json, csv or line.")
            }
            self.mode = mode
        case .pins: try Statistics.writePins(try inspector(), asJSON: mode == .json)
        case .schema: try schema(line.className)
        case .stats: try Statistics.writeSpace(try inspector(), asJSON: mode == .json)
        case .tables: try tables()
        case .timer:
            guard line.argument == "on" || line.argument == "off" else { throw Refusal(".timer needs on or off.") }
            showsTime = line.argument == "on"
        case .quit, .exit: break
        }
    }

    private func className(_ line: ShellLine) throws -> String {
        guard let name = line.className else {
            throw Refusal("\(line.command?.name ?? "") needs a class, and a query if not all objects are meant.")
        }
        return name
    }

    private func query(_ line: ShellLine) throws {
        let inspector = try inspector()
        let name = try className(line)
        let writer = ObjectsWriter(mode, try inspector.classDescription(name))
        let count = try inspector.forEachObject(of: name, matching: line.query, limit: limit ?? .max) { object in
            if isInteractive, Interruption.isRequested { throw Interrupted() }
            try writer.write(object)
        }
        writer.end(all: count)
    }

    private func help() {
        Output().line("CLASS QUERY".padded + "the objects that match, as in: Person age > 30 SORT(name ASC) LIMIT(10)")
        for command in ShellCommand.allCases {
            let (arguments, text) = command.help
            Output().line("\(command.name) \(arguments)".padded + text)
        }
    }

    private func schema(_ name: String?) throws {
        let inspector = try inspector()
        let classes = try name.map { [try inspector.classDescription($0)] } ?? inspector.classes()
        for description in classes {
            Output().line(
                "\(description.isEmbedded ? "embedded class" : "class") \(TerminalText.shown(description.name))")
            for property in description.properties {
                Output().line("  \(TerminalText.shown(property.name)): \(TerminalText.shown(property.text))")
            }
            for names in description.uniqueConstraints {
                Output().line("  unique: \(TerminalText.shown(names.joined(separator: ", ")))")
            }
        }
    }

    private func tables() throws {
        let classes = try inspector().classes()
        if mode == .json {
            let list = classes.map { JSONLine.object([("name", .string($0.name)), ("objects", .number($0.objects))]) }
            return Output().line(JSONLine.array(list).text)
        }
        var table = TableWriter(["class", "objects"])
        for description in classes { table.add([description.name, "\(description.objects)"]) }
        table.end()
    }
}

extension String {
    fileprivate var padded: String { TerminalText.padding(self, to: 24) }
}
