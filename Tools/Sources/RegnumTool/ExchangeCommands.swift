// SPDX-License-Identifier: Apache-2.0
// The subcommands `export` and `import`: write and read the objects of one class as CSV or JSON.

import ArgumentParser
import Foundation
import RegnumInspect

enum ExchangeFormat: String, ExpressibleByArgument, CaseIterable {
    case csv, json
    /// One JSON object per line.
    case jsonl

    /// The given format, or else the one of the file name's extension; CSV if the extension is not a format.
    static func of(_ path: String?, _ given: ExchangeFormat?, json: Bool = false) -> ExchangeFormat {
        if json { return .json }
        if let given { return given }
        let ending = path.map { URL(fileURLWithPath: $0).pathExtension.lowercased() }
        return ending.flatMap { $0 == "ndjson" ? .jsonl : ExchangeFormat(rawValue: $0) } ?? .csv
    }
}

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Writes the objects of a class that match a predicate as CSV or JSON.",
        discussion: """
            regnum export people.realm Person "age > 30" --output people.csv

            `regnum import` restores the objects, with every value as it was. Links are written as the primary keys of \
            their objects, embedded objects and collections as JSON.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The class, as it is named in the file.") var className: String
    @Argument(help: "As for `regnum query`; all objects if omitted.") var predicate = "TRUEPREDICATE"
    @Option(help: "csv, json (one array) or jsonl (one object a line); by default as --output ends, or csv.")
    var format: ExchangeFormat?
    @Flag(help: "One JSON array of objects; the same as --format json.") var json = false
    @Option(help: "Write to this file, which must not be there, instead of standard output.", completion: .file())
    var output: String?

    func run() throws {
        try reporting(on: arguments) {
            let inspector = try arguments.readingInspector()
            let description = try inspector.classDescription(className)
            let format = ExchangeFormat.of(output, format, json: json)
            if output != nil { Interruption.watch() }
            let file = try output.map { try NewTextFile($0) }
            // An incomplete file could be mistaken for a complete one.
            defer { file?.removeIfIncomplete() }
            var buffer = ""
            func write(_ text: String) throws {
                guard let file else { return Output().write(text) }
                buffer += text
                if buffer.utf8.count > 1 << 18 {
                    try file.write(Data(buffer.utf8))
                    buffer = ""
                }
            }
            let shows = output != nil
            var count = 0
            if format == .csv { try write(CSVText.record(description.properties.map(\.name))) }
            try inspector.forEachObject(of: className, matching: predicate) { object in
                switch format {
                case .csv: try write(CSVText.record(try object.cells()))
                case .json: try write((count == 0 ? "[\n" : ",\n") + (try object.taggedJSON()))
                case .jsonl: try write(try object.taggedJSON() + "\n")
                }
                count += 1
                if shows { try Interruption.check() }
                if shows, count % 10_000 == 0 { Output.progress("\(count) objects") }
            }
            if format == .json { try write(count == 0 ? "[]\n" : "\n]\n") }
            try file?.write(Data(buffer.utf8))
            try file?.finish()
            Output.progress(nil)
        }
    }
}

struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Adds objects of a class from CSV or JSON, or updates those with the same primary key.",
        discussion: """
            regnum import people.realm Person people.csv --dry-run

            CSV needs a head with the names of properties; a property that is not named keeps its value, or is null, zero \
            or empty in a new object. JSON is one array of objects, or one object after another.

            All objects are written in one transaction. If one is refused, nothing is written and the exit status is 1, \
            unless --skip-refused is given, which makes it 2. Refused objects are named on standard error with their \
            line and the reason. --dry-run makes the same report and writes nothing.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The class, as it is named in the file.") var className: String
    @Argument(help: "The CSV or JSON; - for standard input.", completion: .file()) var source: String
    @Option(help: "csv, json or jsonl; by default as the source's name ends, or csv.") var format: ExchangeFormat?
    @Option(help: "The character between the fields of CSV; tab for a tab.") var separator = ","
    @Flag(help: "Write nothing; report what would be written, and what would be refused.") var dryRun = false
    @Flag(help: "Write the other objects if some are refused.") var skipRefused = false
    @Flag(help: "Print the result as one JSON object.") var json = false

    func validate() throws { _ = try separatorByte() }

    private func separatorByte() throws -> UInt8 {
        if separator == "tab" || separator == "\\t" { return 0x09 }
        guard let byte = separator.utf8.first, separator.utf8.count == 1, byte != 0x22, byte != 0x0a, byte != 0x0d
        else {
            throw ValidationError("--separator is one ASCII character, or tab.")
        }
        return byte
    }

    func run() throws {
        try reporting(on: arguments) {
            let spool = try Spool(of: source)
            let report = RefusalReport()
            let (editor, counts) = try ObjectImport.run(
                skippingRefused: skipRefused,
                begin: {
                    report.clear()
                    // No writer of the file waits for a dry run.
                    return dryRun
                        ? try arguments.readingInspector().previewEditing(className)
                        : try WriterWait.noticing(arguments) {
                            try arguments.writingInspector().beginEditing(className)
                        }
                },
                refused: { report.add($0, $1) }, progress: { Output.progress("\($0) objects") },
                put: { run in try put(try spool?.bytes() ?? ByteSource(path: source), &run) })
            report.end()
            let isKept = !dryRun && (counts.refused == 0 || skipRefused)
            if isKept { try editor.commit() } else { editor.rollback() }
            counts.write(asJSON: json, isKept: isKept, isDryRun: dryRun)
            if counts.refused > 0 { throw skipRefused ? Ending.damage : Ending.failure }
        }
    }

    private func put(_ bytes: ByteSource, _ run: inout ObjectImport) throws {
        do {
            switch ExchangeFormat.of(source == "-" ? nil : source, format) {
            case .csv: try run.putCSV(CSVReader(bytes, separator: try separatorByte()))
            case .json, .jsonl: try run.putJSON(JSONObjectsReader(bytes))
            }
        } catch let problem as ObjectImport.HeadProblem { throw Refusal(problem.description) }
    }
}

/// Reports the refused objects of an import on standard error when it ends. Confined to one thread.
private final class RefusalReport {
    private var count = 0
    private var lines: [String] = []
    /// More refused objects are counted only.
    private static let shownRefusals = 100

    func add(_ line: Int, _ reason: String) {
        count += 1
        if count <= Self.shownRefusals { lines.append(TerminalText.shown("line \(line): \(reason)")) }
    }

    func clear() { (count, lines) = (0, []) }

    func end() {
        Output.progress(nil)
        for line in lines { Output.complain(line) }
        if count > Self.shownRefusals {
            Output.complain("\(count - Self.shownRefusals) more lines were refused")
        }
    }
}

extension ObjectImport.Counts {
    fileprivate func write(asJSON: Bool, isKept: Bool, isDryRun: Bool) {
        if asJSON {
            return Output().write(
                JSONLine.text([
                    ("inserted", .number(inserted)), ("updated", .number(updated)),
                    ("unchanged", .number(unchanged)), ("refused", .number(refused)), ("written", .bool(isKept)),
                ]))
        }
        Output().line("\(inserted) new, \(updated) updated, \(unchanged) unchanged, \(refused) refused")
        if isDryRun { return Output().line("nothing was written: this was a dry run") }
        if !isKept { Output().line("nothing was written: correct the refused lines, or give --skip-refused") }
    }
}
