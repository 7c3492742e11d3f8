// SPDX-License-Identifier: Apache-2.0
// The subcommands `stats` and `pins`: show the use of space, and the processes that have the file open.

import ArgumentParser
import Foundation
import RegnumInspect

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Shows how the space of a file is used: by class, property and index.",
        discussion: """
            regnum stats people.realm

            Values are counted as they are encoded; all else in whole pages of 4,096 bytes. Free pages are used by the \
            next writes; pending pages are kept for older versions that may still be read (see `regnum pins`); the \
            history, if the file keeps one, has pages that only older versions need.
            """)

    @OptionGroup var arguments: FileArguments
    @Flag(help: "One JSON object on one line.") var json = false

    func run() throws {
        try reporting(on: arguments) {
            try Statistics.writeSpace(try arguments.readingInspector(), asJSON: json)
        }
    }
}

/// The output of `stats` and `pins`, which the shell prints too.
enum Statistics {
    static func writeSpace(_ inspector: Inspector, asJSON: Bool) throws {
        let report = try inspector.report()
        let properties = try inspector.propertySpace()
        if asJSON { Output().write(json(report, properties)) } else { write(report, properties) }
    }

    private static func write(_ report: SpaceReport, _ properties: [PropertySpaceReport]) {
        Output().line(
            "\(report.fileBytes) bytes, pages of \(report.pageBytes): \(report.reachablePages) in use, "
                + "\(report.pendingPages) pending, \(report.freePages) free, \(report.reservedPages) reserved")
        if report.keptVersions > 0 {
            Output().line("history: \(report.keptVersions) older versions, \(report.keptPages) pages")
        }
        Output().line("version \(report.version), \(report.objects) objects")
        Output().write("\n")
        var table = TableWriter(["class", "objects", "bytes", "rows", "long values", "indexes", "backlinks"])
        for space in report.tables {
            let numbers = [
                space.objects, space.totalBytes, space.rowGroupBytes, space.blobBytes, space.indexBytes,
                space.backlinkBytes,
            ]
            table.add([space.name] + numbers.map { "\($0)" })
        }
        table.end()
        if properties.isEmpty { return }
        Output().write("\n")
        table = TableWriter(["property", "bytes", "values", "long values", "indexes", "backlinks"])
        for space in properties {
            let numbers = [
                space.totalBytes, space.valueBytes, space.blobBytes, space.indexBytes, space.backlinkBytes,
            ]
            table.add(["\(space.className).\(space.name)"] + numbers.map { "\($0)" })
        }
        table.end()
    }

    private static func json(_ report: SpaceReport, _ properties: [PropertySpaceReport]) -> String {
        let classes = report.tables.map { space in
            JSONLine.object([
                ("name", .string(space.name)), ("objects", .number(space.objects)),
                ("totalBytes", .number(space.totalBytes)), ("rowGroupBytes", .number(space.rowGroupBytes)),
                ("blobBytes", .number(space.blobBytes)), ("indexBytes", .number(space.indexBytes)),
                ("backlinkBytes", .number(space.backlinkBytes)),
                (
                    "properties",
                    .array(
                        properties.filter { $0.className == space.name }.map { property in
                            .object([
                                ("name", .string(property.name)), ("valueBytes", .number(property.valueBytes)),
                                ("blobBytes", .number(property.blobBytes)),
                                ("indexBytes", .number(property.indexBytes)),
                                ("backlinkBytes", .number(property.backlinkBytes)),
                            ])
                        })
                ),
            ])
        }
        return JSONLine.text([
            ("version", .number(Int(clamping: report.version))), ("fileBytes", .number(report.fileBytes)),
            ("pageBytes", .number(report.pageBytes)), ("reachablePages", .number(report.reachablePages)),
            ("pendingPages", .number(report.pendingPages)), ("freePages", .number(report.freePages)),
            ("keptPages", .number(report.keptPages)), ("keptVersions", .number(report.keptVersions)),
            ("reservedPages", .number(report.reservedPages)), ("objects", .number(report.objects)),
            ("classes", .array(classes)),
        ])
    }

    static func writePins(_ inspector: Inspector, asJSON: Bool) throws {
        let newest = inspector.newestVersion
        let processes = try inspector.openProcesses()
        if asJSON {
            return Output().write(
                JSONLine.text([
                    ("newestVersion", .number(Int(clamping: newest))),
                    (
                        "processes",
                        .array(
                            processes.map { process in
                                .object([
                                    ("process", process.process == 0 ? .null : .number(process.process)),
                                    ("versions", .array(process.versions.map { .number(Int(clamping: $0)) })),
                                    (
                                        "everyVersionFrom",
                                        process.everyVersionFrom.map { .number(Int(clamping: $0)) } ?? .null
                                    ),
                                    ("isWriting", .bool(process.isWriting)),
                                ])
                            })
                    ),
                ]))
        }
        Output().line("newest version \(newest)")
        for process in processes { Output().line(line(process, newest)) }
        if processes.isEmpty { Output().line("No other process has the file open.") }
    }

    private static func line(_ process: OpenProcessReport, _ newest: UInt64) -> String {
        let name = process.process == 0 ? "processes that only read" : "process \(process.process)"
        var kept = process.versions.map { "version \($0) (\(newest - min($0, newest)) older than the newest)" }
        if let floor = process.everyVersionFrom { kept.append("every version from \(floor) on") }
        let state = process.isWriting ? ", writing now" : ""
        return "\(name)\(state): " + (kept.isEmpty ? "keeps no version" : "keeps " + kept.joined(separator: ", "))
    }
}

struct PinsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pins", abstract: "Shows the processes that have a file open, and the versions that they keep.",
        discussion: """
            regnum pins people.realm

            The space of an old version is not reused while a process keeps it, so a file grows. Processes that only \
            read do not publish their ids.
            """)

    @OptionGroup var arguments: FileArguments
    @Flag(help: "One JSON object on one line.") var json = false

    func run() throws {
        try reporting(on: arguments) {
            try Statistics.writePins(try arguments.readingInspector(), asJSON: json)
        }
    }
}
