// SPDX-License-Identifier: Apache-2.0
// The subcommands that change nothing: info, schema, query, check.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumInspect
import RegnumRealmImport

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Shows size, versions, classes and their properties.")

    @OptionGroup var arguments: FileArguments

    func run() throws {
        try reporting(on: arguments) {
            var output = Output()
            try arguments.inspector().dump(to: &output)
        }
    }
}

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Shows the schema as `Schema.goldenText` has it, its hash and its version.",
        discussion: "With --swift and --json also of files in Realm's own format.")

    @OptionGroup var arguments: FileArguments
    @Flag(help: "Classes of Swift that open the file, or the one that import-realm makes of it.") var swift = false
    @Flag(help: "One JSON object in one line, which import-json reads.") var json = false

    func validate() throws {
        if swift, json { throw ValidationError("Name one of --swift and --json.") }
    }

    func run() throws {
        try reporting(on: arguments) {
            if swift || json {
                let models = try FileModels(of: arguments.url, encryptionKey: arguments.key())
                return Output().write(swift ? models.swiftSource : models.json + "\n")
            }
            let schema = try Realm.fileSchema(for: arguments.configuration())
            let version = try arguments.version().map { "\($0)" } ?? "none"
            Output().write(schema.goldenText + "version \(version) hash \(schema.goldenHash)\n")
        }
    }
}

struct QueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Shows the objects of a class for which a predicate holds.",
        discussion: "regnum query people.realm Person \"age > 30 AND name BEGINSWITH 'A'\" --json")

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The class, as it is named in the file.") var className: String
    @Argument(help: "As in `filter(_:)`; all objects where it is left out.") var predicate = "TRUEPREDICATE"
    @Flag(help: "One JSON array of objects.") var json = false
    @Option(help: "Show so many objects at most.") var limit = Int.max

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit is a number of objects, 0 or more.") }
    }

    func run() throws {
        try reporting(on: arguments) {
            var output = Output()
            let count = try arguments.inspector().query(
                className, where: predicate, as: json ? .json : .text, limit: limit, to: &output)
            let all = count == 1 ? "1 object" : "\(count) objects"
            if !json { output.line(limit < count ? "\(limit) of \(all)" : all) }
        }
    }
}

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Reads everything and says what is damaged; ends with 2 where something is.",
        discussion: "A file that is too short or is no database ends it with 2 too.")

    @OptionGroup var arguments: FileArguments

    func run() throws {
        try reporting(on: arguments, isCheck: true) {
            // `arguments.inspector()` would throw at once for a small damaged file, but a check must continue.
            let findings = try Inspector(
                fileURL: arguments.url, isReadOnly: true, encryptionKey: try arguments.key()
            ).integrityFindings()
            if findings.isEmpty { return Output().line("'\(arguments.file)' is whole.") }
            for finding in findings { Output().line(finding) }
            throw Ending.damage
        }
    }
}
