// SPDX-License-Identifier: Apache-2.0
// The subcommand `edit`: edits one object as JSON in the user's editor.

import ArgumentParser
import Foundation
import RegnumInspect

struct EditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit", abstract: "Opens an object as JSON in an editor, and stores what was changed.",
        discussion: """
            EDITOR=nano regnum edit people.realm Person 42

            The editor is that in the environment variable VISUAL or EDITOR, or vi. All values are checked before they \
            are stored. If another process has changed the object meanwhile, nothing is stored. If the text cannot be \
            stored, it is kept in a file that the message names.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The class, as it is named in the file.") var className: String
    @Argument(help: "The primary key of the object, or # and its number.") var object: String
    @Flag(help: "Print the result as one JSON object.") var json = false

    func run() throws {
        try reporting(on: arguments) {
            if arguments.readOnly { throw Refusal("Leave --read-only out to change an object.") }
            guard let old = try arguments.readingInspector().objectText(className, identity: object) else {
                throw Refusal(
                    "There is no '\(className)' with the primary key or number '\(object)' in '\(arguments.file)'.")
            }
            let text = try EditedText(old.text)
            try text.openEditor()
            let new = try text.contents()
            if new == Data(old.text.utf8) {
                text.remove()
                return report(isChanged: false)
            }
            do {
                // The transaction begins only now, because it keeps other processes from writing.
                let editor = try WriterWait.noticing(arguments) {
                    try arguments.writingInspector().beginEditing(className)
                }
                let isChanged = try editor.replace(old, by: [UInt8](new))
                if isChanged { try editor.commit() } else { editor.rollback() }
                text.remove()
                report(isChanged: isChanged)
            } catch let refused as RefusedObject {
                throw Refusal("Nothing was stored: \(refused.description). Your text is in '\(text.path)'.")
            } catch {
                Output.complain("Your text is in '\(text.path)'.")
                throw error
            }
        }
    }

    private func report(isChanged: Bool) {
        if json { return Output().write(JSONLine.text([("changed", .bool(isChanged))])) }
        Output().line(isChanged ? "stored" : "nothing was changed")
    }
}

/// A text in a file that only this user can read.
private struct EditedText {
    let path: String
    private let original: Data

    init(_ text: String) throws {
        original = Data(text.utf8)
        let folder = FileManager.default.temporaryDirectory
        path = folder.appendingPathComponent("regnum-\(UUID().uuidString).json").path
        guard
            FileManager.default.createFile(
                atPath: path, contents: original, attributes: [.posixPermissions: 0o600])
        else { throw Refusal("'\(path)' cannot be written: set TMPDIR to a folder that can.") }
    }

    func openEditor() throws {
        let environment = ProcessInfo.processInfo.environment
        let editor = [environment["VISUAL"], environment["EDITOR"]].compactMap { $0 }.first { !$0.isEmpty } ?? "vi"
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // As in git, the value may contain arguments for the editor.
        process.arguments = ["-c", "\(editor) \"$1\"", "sh", path]
        // The editor expects the default effect of a closed pipe.
        Output.restoreClosedPipe()
        defer { Output.ignoreClosedPipe() }
        do {
            try process.run()
            process.waitUntilExit()
        } catch {
            remove()
            throw Refusal("The editor '\(editor)' cannot be started: \(error.localizedDescription)")
        }
        guard process.terminationStatus == 0 else {
            let start = "Nothing was stored: the editor '\(editor)' ended with \(process.terminationStatus)."
            if try contents() != original { throw Refusal("\(start) Your text is in '\(path)'.") }
            remove()
            throw Refusal("\(start) Set EDITOR to the one that you use.")
        }
    }

    func contents() throws -> Data {
        do { return try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw Refusal("Nothing was stored: '\(path)' cannot be read: \(error.localizedDescription)")
        }
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
