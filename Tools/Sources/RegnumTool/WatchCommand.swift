// SPDX-License-Identifier: Apache-2.0
// The subcommand `watch`: reports changes to the results of a query, or to all objects since a cursor, as other
// processes commit them.

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

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Shows the changes of a query's results as other processes commit them.",
        discussion: """
            regnum watch people.realm Person "age > 30"

            Prints one JSON object a line: first {"version": 7, "count": 5}, then for each commit that changes the \
            results {"version", "count", "deletions", "insertions", "modifications"}. Each change has the number of \
            the object, its index in the results, and the object; a deleted one as it was. Commits that come faster \
            than they are read are shown as one.

            regnum watch people.realm --since CURSOR

            Prints the changes of all classes, or of one, since the version that the cursor names, and goes on with \
            those of later commits: {"version", "cursor", "classes"}, with the objects by primary key. Store the \
            cursor of the last line to go on from there; `--since now` begins with the newest version. The file must \
            keep a history that reaches back to the cursor.

            Exits with status 0 at an interrupt (control-C), when the reader of the output closes its end, and as \
            --count and --seconds say.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The class, as it is named in the file; with --since it may be left out.") var className: String?
    @Argument(help: "As for `regnum query`; all objects if omitted.") var predicate = "TRUEPREDICATE"
    @Flag(help: "Begin with the objects that the results have, as insertions.") var initial = false
    @Option(help: "Show all changes since this cursor; 'now' is the newest version.") var since: String?
    @Flag(help: "With --since: one line for each commit that the file keeps.") var byCommit = false
    @Option(help: "End after this number of change sets.") var count: Int?
    @Option(help: "End after this number of seconds.") var seconds: Double?
    @Flag(help: "Accepted for symmetry: the output is always JSON.") var json = false

    func validate() throws {
        if since == nil, className == nil { throw ValidationError("Name a class, or give --since.") }
        if since == nil, byCommit { throw ValidationError("--by-commit needs --since.") }
        if since != nil, initial || predicate != "TRUEPREDICATE" {
            throw ValidationError("--since shows the changes of all objects: leave the predicate and --initial out.")
        }
        if let count, count < 1 { throw ValidationError("--count is a number of change sets, 1 or more.") }
        if let seconds, !(0...1e9).contains(seconds) { throw ValidationError("--seconds is a time, 0 or more.") }
    }

    func run() throws {
        try reporting(on: arguments) {
            Interruption.watch()
            _ = try arguments.version()
            let folder = arguments.url.resolvingSymlinksInPath().deletingLastPathComponent().path
            let isProtected = [arguments.file, folder].contains { !FileManager.default.isWritableFile(atPath: $0) }
            let next = try since.map { try changes(since: $0, isProtected) } ?? results(isProtected)
            let end = seconds.map { Date(timeIntervalSinceNow: $0) }
            var left = count ?? .max
            while left > 0, !Interruption.isRequested, !Self.isReaderGone(within: isProtected ? 100 : 10) {
                if let end, end.timeIntervalSinceNow <= 0 { break }
                if try next() { left -= 1 }
            }
        }
    }

    /// Returns a function that writes the next changes; false if there are none.
    private func results(_ isProtected: Bool) throws -> () throws -> Bool {
        let watch = try QueryWatch(
            fileURL: arguments.url, isReadOnly: arguments.readOnly || isProtected,
            encryptionKey: try arguments.key(), className: className ?? "", matching: predicate)
        try writeFirst(watch)
        return {
            guard let changes = try watch.advance(), !changes.isEmpty else { return false }
            Self.write(changes)
            return true
        }
    }

    /// Like `results`, for `--since`.
    private func changes(since cursor: String, _ isProtected: Bool) throws -> () throws -> Bool {
        let watch = try ChangeWatch(
            fileURL: arguments.url, isReadOnly: arguments.readOnly || isProtected,
            encryptionKey: try arguments.key(), since: cursor == "now" ? nil : cursor)
        Output().write(
            JSONLine.text([("version", .number(Int(clamping: watch.version))), ("cursor", .string(watch.cursor))]))
        Output.flush()
        var written = watch.version
        return {
            while !Interruption.isRequested, let feed = try watch.advance(byCommit: byCommit) {
                let classes = feed.classes.filter { className == nil || $0.name == className }
                // Without changes of the class the cursor moves on with the next line, or with one of its own after
                // many commits, so that it does not become older than the history.
                if classes.isEmpty, !feed.isNewSchema, feed.version < written + 256 { continue }
                written = feed.version
                Self.write(feed, classes)
                return true
            }
            return false
        }
    }

    private static func write(_ feed: WatchedFeed, _ classes: [WatchedFeed.Class]) {
        func list(_ objects: [String]) -> JSONLine { .array(objects.map { .verbatim($0) }) }
        var members: [(String, JSONLine)] = [
            ("version", .number(Int(clamping: feed.version))), ("cursor", .string(feed.cursor)),
        ]
        if feed.isNewSchema { members.append(("schemaChanged", .bool(true))) }
        members.append(
            (
                "classes",
                .array(
                    classes.map { found in
                        .object([
                            ("class", .string(found.name)), ("inserted", list(found.inserted)),
                            (
                                "modified",
                                .array(
                                    found.modified.map { modified in
                                        .object([
                                            ("object", .verbatim(modified.object)),
                                            ("properties", .array(modified.properties.map { .string($0) })),
                                        ])
                                    })
                            ),
                            ("deleted", list(found.deleted)),
                        ])
                    })
            ))
        Output().write(JSONLine.text(members))
        Output.flush()
    }

    private func writeFirst(_ watch: QueryWatch) throws {
        let start = "{\"version\":\(watch.version),\"count\":\(watch.count)"
        Output().write(start)
        if initial {
            Output().write(",\"insertions\":[")
            var isFirst = true
            try watch.visit { element in
                Output().write((isFirst ? "" : ",") + Self.text(element))
                isFirst = false
            }
            Output().write("]")
        }
        Output().line("}")
        Output.flush()
    }

    private static func text(_ element: WatchedChanges.Element) -> String {
        "{\"key\":\(element.key),\"index\":\(element.index),\"object\":\(element.json)}"
    }

    private static func write(_ changes: WatchedChanges) {
        func list(_ elements: [WatchedChanges.Element]) -> JSONLine { .array(elements.map { .verbatim(text($0)) }) }
        var members: [(String, JSONLine)] = [
            ("version", .number(Int(clamping: changes.version))), ("count", .number(changes.count)),
        ]
        if changes.isNewSchema { members.append(("schemaChanged", .bool(true))) }
        members += [
            ("deletions", list(changes.deletions)), ("insertions", list(changes.insertions)),
            ("modifications", list(changes.modifications)),
        ]
        Output().write(JSONLine.text(members))
        Output.flush()
    }

    /// Waits for the given time. Returns true, without waiting longer, if the reader of standard output has closed its
    /// end.
    private static func isReaderGone(within milliseconds: Int32) -> Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, milliseconds) > 0 && Int32(output.revents) & (POLLERR | POLLHUP) != 0
    }
}
