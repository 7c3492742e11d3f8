// SPDX-License-Identifier: Apache-2.0
// The subcommands `dump` (export-json) and `load` (import-json): write and read a whole database as lines of JSON.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumInspect
import RegnumRealmImport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

struct DumpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Writes all objects of a file, Regnum's or Realm's, as JSON, one per line, without a loss.",
        discussion: """
            regnum dump people.realm > people.jsonl

            The first line has the classes, as `regnum schema --json`. Types that JSON lacks are tagged as in MongoDB's \
            Extended JSON. `regnum load` makes a file of the lines. Uses little memory, whatever the file's size.
            """,
        aliases: ["export-json"])

    @OptionGroup var arguments: FileArguments
    @Argument(help: "Only these classes.") var classNames: [String] = []
    @Flag(help: "Leave the line with the classes out.") var noSchema = false
    @Flag(help: "Write the state before the last commit of a file in Realm's format.") var previous = false
    @Option(help: "Write to this file, which must not be there, instead.", completion: .file()) var output: String?

    func run() throws {
        try reporting(on: arguments) {
            let names = classNames.isEmpty ? nil : classNames
            if output != nil { Interruption.watch() }
            let file = try output.map { try NewTextFile($0) }
            // An incomplete file could be mistaken for a complete one.
            defer { file?.removeIfIncomplete() }
            var rules = noSchema || names != nil ? nil : try arguments.schemaRules()
            let made = try ObjectJSON.export(
                arguments.url, encryptionKey: arguments.key(), snapshot: previous ? .previous : .current,
                classNames: names,
                withSchema: !noSchema,
                progress: { _ in try Interruption.check() }
            ) { lines in
                let text = rules == nil ? lines : SchemaLine.adding(rules, toFirstOf: lines)
                rules = nil
                if let file { try file.write(text) } else { Output().write(text) }
            }
            try file?.finish()
            if !made.isComplete || !made.notes.isEmpty { Output.complain(TerminalText.shownLines(made.description)) }
            if !made.isComplete { throw Ending.damage }
        }
    }
}

struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load", abstract: "Makes a new file from the lines that dump has written.",
        discussion: """
            regnum load people.jsonl copy.realm --verify

            With - the lines come from standard input. --verify dumps the new file and compares the two, line by line. \
            Exits with status 2 if values are missing or differ.
            """,
        aliases: ["import-json"])

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The new file; encrypted if there is a key.", completion: .file()) var output: String
    @Option(help: "A file with the classes, as `regnum schema --json` writes them, if the first line has none.")
    var schema: String?
    @Option(help: "Write what was imported as JSON to this new file.") var report: String?
    @Flag(help: "Dump the new file and compare it with the lines.") var verify = false
    @Flag(help: "Show the progress on standard error.") var progress = false
    @Flag(help: "Print the report as JSON, as --report writes it.") var json = false

    func run() throws {
        try reporting(on: arguments) {
            let report = try ReportFile(report, besides: [arguments.file, output, arguments.keyFile, schema])
            defer { report?.removeIfIncomplete() }
            var classes: Data?
            if let schema {
                do { classes = try Data(contentsOf: URL(fileURLWithPath: schema)) } catch {
                    throw Refusal("The schema '\(schema)' cannot be read: \(error.localizedDescription)")
                }
            }
            let spool = try Spool(of: arguments.file)
            defer { withExtendedLifetime(spool) {} }
            let lines = spool?.url ?? arguments.url
            let target = try NewDatabase(output, encryptionKey: arguments.key())
            let shows = progress
            Interruption.watch()
            let made = try target.make { url in
                let made = try ObjectJSON.importLines(
                    from: lines, to: url, encryptionKey: target.encryptionKey, schema: classes
                ) { state in
                    try Interruption.check()
                    if shows { Output.progress(state.words) }
                }
                if shows { Output.progress(nil) }
                let schema = try classes ?? SchemaLine.first(of: lines)
                if Inspector.hasSchemaRules([UInt8](schema)) {
                    try Inspector(fileURL: url, encryptionKey: target.encryptionKey)
                        .applySchemaRules([UInt8](schema))
                }
                if verify { try check(url, target.encryptionKey, lines) }
                return made
            }
            try finish(made, report, asJSON: json)
        }
    }

    private func check(_ url: URL, _ key: Data?, _ lines: URL) throws {
        var comparison = try LineComparison(of: lines)
        try ObjectJSON.export(url, encryptionKey: key, withSchema: false) { try comparison.compare($0) }
        try comparison.end()
        if !json { Output().line("verified: \(comparison.compared) objects are the same") }
    }
}

/// The line with the classes, and with the rules of the schema, which `ObjectJSON` does not write.
enum SchemaLine {
    static func adding(_ rules: String?, to line: String) -> String {
        guard let rules, line.hasSuffix("}") else { return line }
        return line.dropLast() + ",\"rules\":\(rules)}"
    }

    static func adding(_ rules: String?, toFirstOf lines: Data) -> Data {
        guard let end = lines.firstIndex(of: UInt8(ascii: "\n")) else { return lines }
        return Data(adding(rules, to: String(decoding: lines[..<end], as: UTF8.self)).utf8) + lines[end...]
    }

    /// The first line of a file; empty for an empty file.
    static func first(of lines: URL) throws -> Data {
        var reader = try LineReader(lines.path)
        return Data((try reader.next() ?? "").utf8)
    }
}

extension FileArguments {
    /// The rules of the schema; nil for a file in Realm's own format, which has none. The header of an encrypted one
    /// cannot be recognised: nil for each file that is not a Regnum file.
    func schemaRules() throws -> String? {
        do { return try readingInspector().schemaRules() } catch let error as Realm.Error {
            if error.reason == .olderRealmFile || error.reason == .notARealmFile { return nil }
            throw error
        }
    }
}

/// A database file that appears at its path when it is complete.
struct NewDatabase {
    let encryptionKey: Data?
    private let target: URL

    /// Throws if there is a file at the path.
    init(_ path: String, encryptionKey: Data?) throws {
        target = URL(fileURLWithPath: path)
        self.encryptionKey = encryptionKey
        if FileManager.default.fileExists(atPath: path) { throw Self.exists(path) }
    }

    private static func exists(_ path: String) -> Refusal {
        Refusal("'\(path)': File exists. Name a new file, or remove this one first.")
    }

    /// Calls `body`, which must create a file at the URL passed to it, beside the target. Then gives that file its
    /// final name.
    func make<R>(_ body: (URL) throws -> R) throws -> R {
        let name = "\(target.lastPathComponent).loading-\(ProcessInfo.processInfo.processIdentifier)"
        let unfinished = target.deletingLastPathComponent().appendingPathComponent(name)
        let lockFile = unfinished.appendingPathExtension("lock")
        defer { for url in [unfinished, lockFile] { try? FileManager.default.removeItem(at: url) } }
        let result = try body(unfinished)
        // A hard link, unlike a rename, fails if another process has created the target in the meantime.
        guard link(unfinished.path, target.path) == 0 else {
            if errno == EEXIST { throw Self.exists(target.path) }
            throw Refusal("'\(target.path)' cannot be written: \(String(cString: strerror(errno))).")
        }
        return result
    }
}

/// A new text file, which appears at its path when it is complete. It is an error if the file exists already.
final class NewTextFile {
    private let path: String
    private let unfinished: String
    private let handle: FileHandle
    private var isComplete = false

    init(_ path: String) throws {
        self.path = path
        unfinished = "\(path).writing-\(ProcessInfo.processInfo.processIdentifier)"
        if FileManager.default.fileExists(atPath: path) { throw Self.exists(path) }
        guard FileManager.default.createFile(atPath: unfinished, contents: nil),
            let handle = FileHandle(forWritingAtPath: unfinished)
        else { throw Refusal("'\(path)' cannot be written: \(String(cString: strerror(errno))).") }
        self.handle = handle
    }

    private static func exists(_ path: String) -> Refusal {
        Refusal("'\(path)': File exists. Name a new file, or remove this one first.")
    }

    func write(_ data: Data) throws {
        do { try handle.write(contentsOf: data) } catch {
            throw Refusal("'\(path)' cannot be written: \(error.localizedDescription)")
        }
    }

    /// Makes the text durable, and then gives the file its final name.
    func finish() throws {
        do {
            try handle.synchronize()
            try handle.close()
        } catch { throw Refusal("'\(path)' cannot be written: \(error.localizedDescription)") }
        // A hard link, unlike a rename, fails if another process has created the file in the meantime.
        guard link(unfinished, path) == 0 else {
            if errno == EEXIST { throw Self.exists(path) }
            throw Refusal("'\(path)' cannot be written: \(String(cString: strerror(errno))).")
        }
        isComplete = true
        remove()
    }

    func removeIfIncomplete() { if !isComplete { remove() } }

    private func remove() { try? FileManager.default.removeItem(atPath: unfinished) }
}

/// Compares the lines of objects with those of the file that was loaded from them. The objects of the new file are
/// numbered from 1 without gaps. Therefore each object number of the lines, including those in links, is replaced by
/// its rank in its class. Memory: 8 bytes for each object.
struct LineComparison {
    private let path: String
    private var reader: LineReader
    private var keys: [String: [Int64]] = [:]
    private var rest = Data()
    private(set) var compared = 0

    init(of lines: URL) throws {
        path = lines.path
        var first = try LineReader(path)
        while let line = try first.next() {
            guard let (name, key) = Self.head(line) else { continue }
            keys[name, default: []].append(key)
        }
        for name in keys.keys { keys[name]?.sort() }
        reader = try LineReader(path)
    }

    /// Compares whole lines of the new file.
    mutating func compare(_ lines: Data) throws {
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            var old = try reader.next()
            while let line = old, Self.head(line) == nil { old = try reader.next() }
            guard let old, isSame(old, String(decoding: line, as: UTF8.self)) else {
                throw Refusal(
                    "The new file differs from line \(reader.number) of the lines, or they have another order than dump "
                        + "writes. No file was made.", ending: Ending.damage)
            }
            compared += 1
        }
    }

    mutating func end() throws {
        while let line = try reader.next() {
            if Self.head(line) != nil {
                throw Refusal(
                    "The new file lacks the object of line \(reader.number). No file was made.", ending: Ending.damage)
            }
        }
    }

    /// The class and the number of the object in a line; nil for the line with the classes and for empty lines.
    static func head(_ line: String) -> (name: String, key: Int64)? {
        if let head = plainHead(line) { return head }
        // Lines written by another program may contain spaces.
        guard let json = parsed(line), let name = json["class"] as? String, let key = json["key"] as? NSNumber else {
            return nil
        }
        return (name, key.int64Value)
    }

    /// Like `head`, but only for a line in the exact form that `dump` writes.
    private static func plainHead(_ line: String) -> (name: String, key: Int64)? {
        guard line.hasPrefix("{\"class\":\""), let end = line.range(of: "\",\"key\":") else { return nil }
        let name = line[line.index(line.startIndex, offsetBy: 10)..<end.lowerBound]
        let digits = line[end.upperBound...].prefix { $0.isNumber || $0 == "-" }
        guard let key = Int64(digits), !name.contains("\\"), !name.contains("\"") else { return nil }
        return (String(name), key)
    }

    private static func parsed(_ text: String) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
    }

    private func rank(_ key: Int64, _ name: String) -> Int64 {
        guard let keys = keys[name] else { return key }
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low < keys.count && keys[low] == key ? Int64(low + 1) : key
    }

    /// Returns the line with ranks instead of object numbers. Quotation marks within strings are escaped, so the text
    /// that is searched for occurs only as a member.
    func ranked(_ line: String) -> String {
        guard let (name, key) = Self.plainHead(line), let own = line.range(of: "\",\"key\":\(key)") else { return line }
        var text = line[..<own.lowerBound] + "\",\"key\":\(rank(key, name))"
        var position = own.upperBound
        while let reference = line[position...].range(of: "{\"$ref\":\"") {
            guard let middle = line[reference.upperBound...].range(of: "\",\"$id\":") else { break }
            let digits = line[middle.upperBound...].prefix { $0.isNumber || $0 == "-" }
            text += line[position..<middle.upperBound]
            let target = String(line[reference.upperBound..<middle.lowerBound])
            text += Int64(digits).map { "\(rank($0, target))" } ?? String(digits)
            position = digits.endIndex
        }
        return String(text + line[position...])
    }

    private func isSame(_ old: String, _ new: String) -> Bool {
        if ranked(old) == new { return true }
        guard let one = Self.parsed(old), let other = Self.parsed(new), let (name, key) = Self.head(old),
            one["class"] as? String == other["class"] as? String,
            (other["key"] as? NSNumber)?.int64Value == rank(key, name)
        else { return false }
        // A property that a line omits is null, zero or empty, and is not compared.
        guard let values = one["value"] as? [String: Any], let others = other["value"] as? [String: Any] else {
            return false
        }
        return values.allSatisfy { property, value in
            guard let found = others[property] else { return false }
            return isSame(value, found)
        }
    }

    /// Compares two parsed values. The links of the old one are compared by rank.
    private func isSame(_ old: Any, _ new: Any) -> Bool {
        if let old = old as? [Any], let new = new as? [Any] {
            return old.count == new.count && zip(old, new).allSatisfy { isSame($0, $1) }
        }
        if let old = old as? [String: Any], let new = new as? [String: Any] {
            if let name = old["$ref"] as? String, let key = old["$id"] as? NSNumber {
                return new["$ref"] as? String == name
                    && (new["$id"] as? NSNumber)?.int64Value == rank(key.int64Value, name)
            }
            return old.count == new.count
                && old.allSatisfy { key, value in new[key].map { isSame(value, $0) } ?? false }
        }
        if let old = old as? String, let new = new as? String { return old.utf8.elementsEqual(new.utf8) }
        if let old = old as? NSNumber, let new = new as? NSNumber { return old == new }
        return old is NSNull && new is NSNull
    }
}

/// The lines of a file, one at a time.
struct LineReader {
    private let handle: FileHandle
    private var buffer = Data()
    private var position = 0
    private(set) var number = 0

    init(_ path: String) throws {
        guard let handle = FileHandle(forReadingAtPath: path) else { throw Refusal("'\(path)' cannot be read.") }
        self.handle = handle
        // Where the path of a spool is a duplicate of its descriptor, it shares the position.
        try? handle.seek(toOffset: 0)
    }

    mutating func next() throws -> String? {
        var searched = position
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { position = end + 1 }
                number += 1
                return String(decoding: buffer[position..<end], as: UTF8.self)
            }
            let rest = buffer[position...]
            guard let more = try handle.read(upToCount: 1 << 18), !more.isEmpty else {
                guard !rest.isEmpty else { return nil }
                defer { position = buffer.count }
                number += 1
                return String(decoding: rest, as: UTF8.self)
            }
            searched = rest.count
            buffer = Data(rest) + more
            position = 0
        }
    }
}
