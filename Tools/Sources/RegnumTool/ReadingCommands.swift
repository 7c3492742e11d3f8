// SPDX-License-Identifier: Apache-2.0
// The subcommands that change nothing: info, schema, check.

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
            try arguments.readingInspector().dump(to: &output)
        }
    }
}

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Shows the schema as `Schema.goldenText` has it, its hash and its version.",
        discussion: "With --swift and --json, also works for files in Realm's own format.")

    @OptionGroup var arguments: FileArguments
    @Flag(help: "Classes of Swift that open the file, or the one that import-realm makes of it.") var swift = false
    @Flag(help: "One JSON object on one line, which import-json reads.") var json = false

    func validate() throws {
        if swift, json { throw ValidationError("Use either --swift or --json.") }
    }

    func run() throws {
        try reporting(on: arguments) {
            if swift || json {
                let models = try FileModels(of: arguments.url, encryptionKey: arguments.key())
                if swift { return Output().write(models.swiftSource) }
                return Output().line(SchemaLine.adding(try arguments.schemaRules(), to: models.json))
            }
            let schema = try Realm.fileSchema(for: arguments.configuration())
            let version = try arguments.version().map { "\($0)" } ?? "none"
            Output().write(schema.goldenText + "version \(version) hash \(schema.goldenHash)\n")
        }
    }
}

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Reads everything and reports what is damaged; exits with status 2 if anything is.",
        discussion: "Also exits with status 2 if the file is too short or is not a database.")

    @OptionGroup var arguments: FileArguments

    func run() throws {
        try reporting(on: arguments, isCheck: true) {
            // `arguments.readingInspector()` would throw immediately for a small damaged file, but a check must
            // continue.
            let findings = try Inspector(
                fileURL: arguments.url, isReadOnly: true, encryptionKey: try arguments.key()
            ).integrityFindings()
            if findings.isEmpty { return Output().line("'\(arguments.file)' is whole.") }
            for finding in findings { Output().line(finding) }
            throw Ending.damage
        }
    }
}
