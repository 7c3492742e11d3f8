// SPDX-License-Identifier: Apache-2.0
// The report of a rehearsed migration: the two copies of the file are compared, and probable mistakes are named.

import Foundation
import RealmSwift
import RegnumInspect

struct RehearsalReport {
    /// The damage of the migrated copy; nothing is compared if there is any.
    private(set) var findings: [String] = []
    /// A sentence for each class, number of objects and property that has lost data.
    private(set) var losses: [String] = []
    private(set) var warnings: [String] = []
    private let end: RehearsedProgram.End
    private let schemaVersions: [UInt64?]
    private let fileBytes: [Int?]
    private var differences: [FileDifference] = []
    private var classes: [MigratedClass] = []

    /// Checks the migrated copy, and compares the copies. Reads both to the end. Throws `Refusal` if the key of the copies
    /// is not the same any more.
    init(_ copies: RehearsalCopies, _ end: RehearsedProgram.End) throws {
        self.end = end
        let files = [copies.before, copies.after]
        schemaVersions = files.map { (try? $0.version()) ?? nil }
        fileBytes = files.map { (try? FileManager.default.attributesOfItem(atPath: $0.file))?[.size] as? Int }
        findings = try Self.damage(of: copies.after)
        try Interruption.check()
        if !findings.isEmpty { return }
        let (before, after) = (try copies.before.readingInspector(), try copies.after.readingInspector())
        try before.compare(with: after, objects: false) { difference in
            // The versions have a line of their own.
            if case .schema("schema version", _, _) = difference { return }
            differences.append(difference)
        }
        classes = try before.migratedClasses(in: after) { count in
            try Interruption.check()
            Output.progress("\(count) objects compared")
        }
        losses = classes.flatMap(Self.losses)
        if !end.isSuccess { return }
        if before.newestVersion == after.newestVersion, differences.isEmpty {
            warnings.append("the program has written nothing to the file")
        }
        if schemaVersions[0] == schemaVersions[1], classes.contains(where: \.isReshaped) {
            warnings.append("the schema has changed, but the schema version is still \(Self.text(schemaVersions[0]))")
        }
        warnings += classes.flatMap(Self.warnings)
    }

    /// Ends early, with any result, if the command was asked to stop.
    private static func damage(of copy: FileArguments) throws -> [String] {
        do {
            // Throws for a file that an inspector tolerates.
            _ = try copy.version()
            let inspector = try Inspector(fileURL: copy.url, isReadOnly: true, encryptionKey: try copy.key())
            return Interruption.stopping { stop in
                inspector.integrityFindings(stop: stop) {
                    Output.progress("checking the copy: \(Int(100 * $0)) %")
                }
            }
        } catch let error as Realm.Error
            where [.wrongKey, .encryptedWithoutKey, .notEncrypted].contains(error.reason)
        {
            throw Refusal(
                "The program has encrypted the copy, decrypted it or changed its key: it cannot be compared. Rehearse "
                    + "that apart from the migration.")
        } catch {
            let advice = "The file itself is as it was."
            return [Failure(error, copy, isCheck: true, advice: advice).sentence]
        }
    }

    private static func objects(_ count: Int) -> String { count == 1 ? "1 object" : "\(count) objects" }

    private static func losses(_ changed: MigratedClass) -> [String] {
        let lost = objects(changed.lostObjects)
        let text = changed.objectsAfter == nil ? "is gone, with \(lost)" : "has lost \(lost)"
        return (changed.lostObjects == 0 ? [] : ["class '\(changed.name)' \(text)"])
            + changed.lostValues.sorted { $0.key < $1.key }.map {
                "property '\(changed.name).\($0)' has lost its value in \(objects($1))"
            }
    }

    private static func warnings(_ changed: MigratedClass) -> [String] {
        let replaced = (changed.objectsBefore ?? 0) - changed.comparedObjects - changed.lostObjects
        let text = "class '\(changed.name)' has others in place of \(objects(replaced)): they were not compared"
        return (replaced == 0 ? [] : [text])
            + changed.shorterCollections.sorted { $0.key < $1.key }.map {
                "property '\(changed.name).\($0)' has fewer elements in \(objects($1))"
            }
    }

    private static func text(_ version: UInt64?) -> String { version.map { "\($0)" } ?? "not set" }

    // MARK: Output

    func write(_ program: String, folder: String?) {
        var lines = ["'\(program)' \(end.text)"]
        lines.append("schema version: \(Self.text(schemaVersions[0])) -> \(Self.text(schemaVersions[1]))")
        let sizes = fileBytes.map { $0.map { "\($0) bytes" } ?? "no file" }
        lines.append("file: \(sizes[0]) -> \(sizes[1]), \(findings.isEmpty ? "whole" : "damaged")")
        lines += findings
        lines += differences.map { String(DiffCommand.text($0).dropLast()) }
        for changed in classes {
            let name = changed.newName.map { "\(changed.name), renamed to \($0)" } ?? changed.name
            let counts = [changed.objectsBefore, changed.objectsAfter].map { $0.map { "\($0)" } ?? "no class" }
            lines.append(
                "\(name): objects \(counts[0]) -> \(counts[1]), \(changed.comparedObjects) compared, "
                    + "\(changed.keptObjects) with their old values")
            for (old, new) in changed.renamedProperties.sorted(by: { $0.key < $1.key }) {
                lines.append("\(changed.name).\(old): renamed to \(new)")
            }
        }
        lines += losses.map { "lost: \($0)" } + warnings.map { "warning: \($0)" }
        if let folder { lines.append("the copies are in '\(folder)'") }
        for line in lines { Output().line(TerminalText.shown(line)) }
    }

    func writeJSON(_ program: [String], folder: String?) {
        func number(_ value: Int?) -> JSONLine { value.map { .number($0) } ?? .null }
        func strings(_ texts: [String]) -> JSONLine { .array(texts.map { .string($0) }) }
        func both(_ values: [Int?]) -> JSONLine {
            .object([("before", number(values[0])), ("after", number(values[1]))])
        }
        func numbers(_ values: [String: Int]) -> JSONLine {
            .object(values.sorted { $0.key < $1.key }.map { ($0, .number($1)) })
        }
        let members = classes.map { changed in
            JSONLine.object([
                ("name", .string(changed.name)), ("newName", changed.newName.map { .string($0) } ?? .null),
                ("objects", both([changed.objectsBefore, changed.objectsAfter])),
                ("compared", .number(changed.comparedObjects)), ("kept", .number(changed.keptObjects)),
                ("lost", .number(changed.lostObjects)),
                (
                    "renamedProperties",
                    .object(changed.renamedProperties.sorted { $0.key < $1.key }.map { ($0, .string($1)) })
                ),
                ("lostValues", numbers(changed.lostValues)),
                ("shorterCollections", numbers(changed.shorterCollections)),
            ])
        }
        Output().write(
            JSONLine.text([
                ("program", strings(program)), ("status", end.isSignal ? .null : .number(Int(end.status))),
                ("signal", end.isSignal ? .number(Int(end.status)) : .null),
                ("milliseconds", .number(end.milliseconds)),
                ("schemaVersion", both(schemaVersions.map { $0.map { Int(clamping: $0) } })),
                ("fileBytes", both(fileBytes)), ("isWhole", .bool(findings.isEmpty)), ("findings", strings(findings)),
                ("schema", .array(differences.map { .verbatim(String(DiffCommand.json($0).dropLast())) })),
                ("classes", .array(members)), ("losses", strings(losses)), ("warnings", strings(warnings)),
                ("folder", folder.map { .string($0) } ?? .null),
            ]))
    }
}
