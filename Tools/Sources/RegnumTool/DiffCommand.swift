// SPDX-License-Identifier: Apache-2.0
// The subcommand `diff`: shows the differences between two files, in the schema and in the objects.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumInspect

struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Shows how the schema and the objects of two files differ.",
        discussion: """
            regnum diff before.realm after.realm

            Objects are compared by their primary keys, or by their numbers in a class without one. A line begins with - \
            for what only the first file has, with + for what only the second one has, and with ~ for a change.

            Exits with status 0 if there is no difference, and with 3 if there are some.
            """)

    /// The files differ.
    private static let difference = ExitCode(3)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The file to compare with.", completion: .file()) var other: String
    @Argument(help: "Only these classes.") var classNames: [String] = []
    @Option(help: "A file with the key of the other file; by default, if it is encrypted, both have the same key.")
    var otherKeyFile: String?
    @Flag(help: "Compare the schemas only.") var schemaOnly = false
    @Flag(help: "One JSON object for each difference, one per line.") var json = false

    func run() throws {
        var count = 0
        try reporting(on: arguments) {
            let inspector = try arguments.readingInspector()
            var others = arguments
            others.file = other
            if let otherKeyFile { others.keyFile = otherKeyFile }
            var second: Inspector?
            try reporting(on: others) {
                do { second = try others.readingInspector() } catch let error as Realm.Error {
                    // The key is that of the first file only.
                    guard error.reason == .notEncrypted, otherKeyFile == nil else { throw error }
                    second = try others.readingInspector(withKey: nil)
                }
            }
            guard let second else { return }
            try inspector.compare(
                with: second, classNames: classNames.isEmpty ? nil : classNames, objects: !schemaOnly
            ) { difference in
                count += 1
                Output().write(json ? Self.json(difference) : Self.text(difference))
            }
        }
        if count > 0 { throw Self.difference }
    }

    static func text(_ difference: FileDifference) -> String {
        let text: String
        switch difference {
        case .schema(let subject, let before?, let after?): text = "~ \(subject): \(before) -> \(after)"
        case .schema(let subject, let before?, nil): text = "- \(subject): \(before)"
        case .schema(let subject, _, let after): text = "+ \(subject): \(after ?? "")"
        case .removed(let name, let identity, let json): text = "- \(name) \(identity): \(json)"
        case .added(let name, let identity, let json): text = "+ \(name) \(identity): \(json)"
        case .changed(let name, let identity, let properties):
            text =
                "~ \(name) \(identity): "
                + properties.map { "\($0.name): \($0.before) -> \($0.after)" }.joined(separator: ", ")
        }
        return TerminalText.shown(text) + "\n"
    }

    static func json(_ difference: FileDifference) -> String {
        func object(_ change: String, _ name: String, _ identity: String, _ rest: (String, JSONLine)) -> String {
            let identity: (String, JSONLine) =
                identity.hasPrefix("#")
                ? ("key", .verbatim(String(identity.dropFirst()))) : ("primaryKey", .verbatim(identity))
            return JSONLine.text([("change", .string(change)), ("class", .string(name)), identity, rest])
        }
        switch difference {
        case .schema(let subject, let before, let after):
            return JSONLine.text([
                ("change", .string("schema")), ("subject", .string(subject)),
                ("before", before.map { .string($0) } ?? .null), ("after", after.map { .string($0) } ?? .null),
            ])
        case .removed(let name, let identity, let json):
            return object("removed", name, identity, ("object", .verbatim(json)))
        case .added(let name, let identity, let json):
            return object("added", name, identity, ("object", .verbatim(json)))
        case .changed(let name, let identity, let properties):
            let changes = properties.map { property in
                (
                    property.name,
                    JSONLine.object([("before", .verbatim(property.before)), ("after", .verbatim(property.after))])
                )
            }
            return object("changed", name, identity, ("properties", .object(changes)))
        }
    }
}
