// SPDX-License-Identifier: Apache-2.0
// The subcommands that change nothing: info, schema, check.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumInspect
import RegnumRealmImport

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Shows size, versions, classes and their properties.",
        discussion: """
            regnum info people.realm

            Reads the whole file once. `regnum stats` shows the space in more detail.
            """)

    @OptionGroup var arguments: FileArguments
    @Flag(help: "One JSON object on one line.") var json = false

    func run() throws {
        try reporting(on: arguments) {
            let inspector = try arguments.readingInspector()
            if json { return Output().write(try Self.json(inspector, schemaVersion: try arguments.version())) }
            var output = Output()
            try inspector.dump(to: &output)
        }
    }

    private static func json(_ inspector: Inspector, schemaVersion: UInt64?) throws -> String {
        let report = try inspector.report()
        let bytes = Dictionary(uniqueKeysWithValues: report.tables.map { ($0.name, $0.totalBytes) })
        let classes = try inspector.classes().map { description in
            JSONLine.object([
                ("name", .string(description.name)), ("isEmbedded", .bool(description.isEmbedded)),
                ("objects", .number(description.objects)), ("totalBytes", .number(bytes[description.name] ?? 0)),
                ("properties", .array(description.properties.map { Self.json($0) })),
                (
                    "uniqueConstraints",
                    .array(description.uniqueConstraints.map { names in .array(names.map { .string($0) }) })
                ),
            ])
        }
        return JSONLine.text([
            ("version", .number(Int(clamping: report.version))),
            ("schemaVersion", schemaVersion.map { .number(Int(clamping: $0)) } ?? .null),
            ("fileBytes", .number(report.fileBytes)), ("pageBytes", .number(report.pageBytes)),
            ("keptVersions", .number(report.keptVersions)), ("objects", .number(report.objects)),
            ("classes", .array(classes)),
        ])
    }

    private static func json(_ property: PropertyDescription) -> JSONLine {
        .object([
            ("name", .string(property.name)), ("type", .string(property.type)),
            ("collection", .string("\(property.collection)")), ("isOptional", .bool(property.isOptional)),
            ("isPrimaryKey", .bool(property.isPrimaryKey)), ("isIndexed", .bool(property.isIndexed)),
            ("isContentIndexed", .bool(property.isContentIndexed)),
        ])
    }
}

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Shows the schema as `Schema.goldenText` has it, its hash and its version.",
        discussion: """
            regnum schema people.realm --swift > Models.swift

            With --swift and --json, also works for files in Realm's own format.
            """)

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
            let text = schema.goldenText + "version \(version) hash \(schema.goldenHash)\n"
            Output().write(TerminalText.shownLines(text))
        }
    }
}

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Reads everything and reports what is damaged; exits with status 2 if anything is.",
        discussion: """
            regnum check people.realm

            Also exits with status 2 if the file is too short or is not a database.
            """)

    @OptionGroup var arguments: FileArguments
    @Flag(help: "One JSON object on one line.") var json = false

    func run() throws {
        try reporting(on: arguments, isCheck: true) {
            // `arguments.readingInspector()` would throw immediately for a small damaged file, but a check must
            // continue.
            let findings = try Inspector(
                fileURL: arguments.url, isReadOnly: true, encryptionKey: try arguments.key()
            ).integrityFindings()
            if json {
                Output().write(
                    JSONLine.text([
                        ("isWhole", .bool(findings.isEmpty)), ("findings", .array(findings.map { .string($0) })),
                    ]))
                if findings.isEmpty { return }
                throw Ending.damage
            }
            if findings.isEmpty { return Output().line("'\(arguments.file)' is whole.") }
            for finding in findings { Output().line(TerminalText.shown(finding)) }
            throw Ending.damage
        }
    }
}
