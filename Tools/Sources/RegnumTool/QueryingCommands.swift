// SPDX-License-Identifier: Apache-2.0
// The subcommands that run a query: query and explain.

import ArgumentParser
import Foundation
import RegnumInspect

struct QueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Shows the objects of a class for which a predicate holds.",
        discussion: """
            regnum query people.realm Person "age > 30 AND name BEGINSWITH 'A' SORT(name ASC) LIMIT(10)" --mode table

            SORT(name ASC, age DESC), DISTINCT(city) and LIMIT(10) may follow the predicate, and are applied in their \
            order. The modes: text has a line an object, line has a line a value, json is one array of objects, csv is \
            RFC 4180 with a head. A property whose name has spaces is in quotation marks: SORT("first name"). Exits \
            with status 0 also if no object matches.

            regnum query people.realm Person "age > 30" --aggregate score
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The class, as it is named in the file.") var className: String
    @Argument(help: "As in `filter(_:)`; all objects if omitted.") var predicate = "TRUEPREDICATE"
    @Option(help: "How the objects are shown: text, table, json, csv or line.") var mode: OutputMode?
    @Flag(help: "One JSON array of objects; the same as --mode json.") var json = false
    @Option(help: "Show at most this number of objects.") var limit = Int.max
    @Flag(help: "Show how the query runs instead of its objects.") var explain = false
    @Option(help: "Show the number of the objects, and the minimum, maximum, sum and average of this property of them.")
    var aggregate: String?

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit is a number of objects, 0 or more.") }
        if json, let mode, mode != .json { throw ValidationError("Use either --json or --mode.") }
        if aggregate != nil, explain || limit != .max {
            throw ValidationError("Use --aggregate without --explain and --limit; LIMIT(10) may follow the predicate.")
        }
    }

    func run() throws {
        try reporting(on: arguments) {
            let inspector = try arguments.readingInspector()
            if explain {
                let run = try inspector.explain(className, matching: predicate)
                return Explanation.write(run, asJSON: json || mode == .json)
            }
            if let aggregate {
                let found = try inspector.aggregates(className, property: aggregate, matching: predicate)
                return AggregateText.write(found, className, aggregate, asJSON: json || mode == .json)
            }
            let writer = ObjectsWriter(
                json ? .json : mode ?? .text, try inspector.classDescription(className))
            let count = try inspector.forEachObject(of: className, matching: predicate, limit: limit) {
                try writer.write($0)
            }
            writer.end(all: count)
        }
    }
}

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Runs a query and shows how: by which index, and how many objects it read.",
        discussion: """
            regnum explain people.realm Person "name == 'Ann'"

            Names the properties for which an index would have helped, in classes of 1,000 objects or more. Several \
            runs differ in their time.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The class, as it is named in the file.") var className: String
    @Argument(help: "As for `regnum query`; all objects if omitted.") var predicate = "TRUEPREDICATE"
    @Flag(help: "One JSON object on one line.") var json = false

    func run() throws {
        try reporting(on: arguments) {
            Explanation.write(
                try arguments.readingInspector().explain(className, matching: predicate), asJSON: json)
        }
    }
}

/// The output of `query --aggregate`, which the shell prints too.
enum AggregateText {
    static func write(_ found: InspectedAggregates, _ className: String, _ property: String, asJSON: Bool) {
        if asJSON {
            var members: [(String, JSONLine)] = [
                ("class", .string(className)), ("property", .string(property)), ("count", .number(found.objects)),
            ]
            for each in found.aggregates { members.append((each.name, json(each))) }
            return Output().write(JSONLine.text(members))
        }
        Output().line("count  \(found.objects)")
        for each in found.aggregates { Output().line(TerminalText.padding(each.name, to: 7) + (each.text ?? "null")) }
    }

    private static func json(_ aggregate: InspectedAggregates.Aggregate) -> JSONLine {
        guard let text = aggregate.text else { return .null }
        // JSON has no infinity.
        return aggregate.isNumber && Double(text)?.isFinite == true ? .verbatim(text) : .string(text)
    }
}

enum Explanation {
    static func write(_ run: InspectedRun, asJSON: Bool) {
        Output().write(asJSON ? json(run) : TerminalText.shownLines(text(run)))
    }

    private static func text(_ run: InspectedRun) -> String {
        let way =
            run.indexes.isEmpty
            ? "a scan of \(run.objects) objects"
            : (run.isByIndexAlone ? "only the index on " : "the index on ") + run.indexes.joined(separator: ", ")
        var text = "class      \(run.className)\n"
        if !run.conditions.isEmpty { text += "where      \(run.conditions)\n" }
        text += "by         \(way)\n"
        text += "estimated  \(run.estimatedRows) objects to read\n"
        text += "read       \(run.examinedRows) objects, \(run.skippedRows) skipped by the ranges of their groups\n"
        text += "found      \(run.foundRows) objects\n"
        text += "time       \(run.microseconds) us\n"
        for name in run.advisedIndexes {
            text += "advice     an index on \(name) would save reading most objects: @Persisted(indexed: true)\n"
        }
        return text
    }

    private static func json(_ run: InspectedRun) -> String {
        JSONLine.text([
            ("class", .string(run.className)), ("where", .string(run.conditions)),
            ("indexes", .array(run.indexes.map { .string($0) })), ("isByIndexAlone", .bool(run.isByIndexAlone)),
            ("objects", .number(run.objects)), ("estimated", .number(run.estimatedRows)),
            ("read", .number(run.examinedRows)), ("skipped", .number(run.skippedRows)),
            ("found", .number(run.foundRows)), ("microseconds", .number(run.microseconds)),
            ("advisedIndexes", .array(run.advisedIndexes.map { .string($0) })),
        ])
    }
}
