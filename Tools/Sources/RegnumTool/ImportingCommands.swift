// SPDX-License-Identifier: Apache-2.0
// The subcommand `import-realm`, and the report that ends each import of a whole file.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumInspect
import RegnumRealmImport

struct ImportRealmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-realm",
        abstract:
            "Imports a file in Realm's own format (2 to 11, 20 to 24). Exits with status 2 if values are missing.",
        discussion: """
            regnum import-realm old.realm new.realm --verify

            All classes and objects, and the schema version. The old file is only read. No program may write to it \
            during the import. The new file appears when it is complete; import again after an interruption.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The new file.", completion: .file()) var output: String
    @Option(help: "A file with the key to encrypt the new file.") var newKeyFile: String?
    @Option(help: "Write what was imported, and each value that was not, as JSON to this new file.") var report: String?
    @Flag(help: "Read the new file back before it appears, and compare each value with the old one.") var verify = false
    @Flag(help: "Import the state before the last commit, to recover a damaged file.") var previous = false
    @Flag(help: "Show the progress on standard error.") var progress = false
    @Flag(help: "Print the report as JSON, as --report writes it.") var json = false

    func run() throws {
        try reporting(on: arguments) {
            try refuseRegnumFile()
            let report = try ReportFile(report, besides: [arguments.file, output, arguments.keyFile, newKeyFile])
            defer { report?.removeIfIncomplete() }
            var job = RealmFileImport(from: arguments.url, to: URL(fileURLWithPath: output))
            job.sourceKey = try arguments.key()
            job.targetKey = try FileArguments.key(in: newKeyFile)
            job.verifies = verify
            if previous { job.snapshot = .previous }
            Interruption.watch()
            let shows = progress
            job.progress = {
                try Interruption.check()
                if shows { Output.progress($0.words) }
            }
            let made = try job.run()
            if progress { Output.progress(nil) }
            try finish(made, report, asJSON: json)
        }
    }

    /// Throws if the file is a database of Regnum, damaged or not.
    private func refuseRegnumFile() throws {
        do { _ = try Inspector(fileURL: arguments.url, isReadOnly: true, encryptionKey: try arguments.key()) } catch let
            error as InspectionError
        {
            switch error.reason {
            case .encryptedWithoutKey, .notEncrypted, .wrongKey, .newerFormat, .damaged, .truncated: break
            default: return
            }
        }
        throw Refusal(
            "'\(arguments.file)' is a Regnum database already: there is nothing to import. `regnum backup` copies it, "
                + "and `regnum salvage` saves what can be read of a damaged one.")
    }
}

/// Prints the report, writes it to `report` if that is given, and exits with status 2 if a value is missing.
func finish(_ made: RealmFileImportReport, _ report: ReportFile?, asJSON: Bool) throws {
    let text = made.description
    if asJSON {
        Output().write(try made.json())
        Output().write("\n")
    } else if !text.isEmpty {
        Output().line(TerminalText.shownLines(text))
    }
    try report?.write(made.json())
    if !made.isComplete { throw Ending.damage }
}

/// The file of a report: a new file, or a device or pipe that is there, such as /dev/stdout.
struct ReportFile {
    private let path: String
    /// Nil for a device or pipe.
    private let file: NewTextFile?

    /// Creates the unfinished file, so that a path that cannot be written is an error before the import. Returns nil
    /// without a path. Throws if a file exists at the path, or if `check` throws.
    init?(_ path: String?, besides others: [String?]) throws {
        guard let path else { return nil }
        try Self.check(path, besides: others)
        self.path = path
        let kind = FileKind(path)
        file = kind == .pipe || kind == .other ? nil : try NewTextFile(path)
    }

    func write(_ text: Data) throws {
        do {
            guard let file else { return try text.write(to: URL(fileURLWithPath: path)) }
            try file.write(text)
            try file.finish()
        } catch {
            let reason = (error as? Refusal)?.description ?? error.localizedDescription
            throw Refusal("The file is imported, but the report '\(path)' cannot be written: \(reason)")
        }
    }

    func removeIfIncomplete() { file?.removeIfIncomplete() }

    /// The report must not have the name of a file of the import, even of one that does not exist yet: a new database
    /// could not be opened if its lock file had another program's contents. Throws if the file at path `report` is one of `others`, even under a different path or as a hard link.
    static func check(_ report: String?, besides others: [String?]) throws {
        guard let report else { return }
        for other in others.compactMap({ $0 }) where isSame(report, other) || isSame(report, other + ".lock") {
            throw Refusal(
                "The report cannot be written to '\(report)', which is a file of the import: name another one.")
        }
    }

    private static func isSame(_ one: String, _ other: String) -> Bool {
        let (one, other) = (resolved(one), resolved(other))
        guard one != other else { return true }
        let files = FileManager.default
        guard let first = try? files.attributesOfItem(atPath: one),
            let second = try? files.attributesOfItem(atPath: other),
            let number = first[.systemFileNumber] as? NSNumber, let device = first[.systemNumber] as? NSNumber
        else { return false }
        return number == second[.systemFileNumber] as? NSNumber && device == second[.systemNumber] as? NSNumber
    }

    private static func resolved(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
    }
}

extension RealmFileImportProgress {
    /// The text for a line on standard error.
    var words: String { "\(Int(fraction * 100)) % \(phase.rawValue) \(TerminalText.shown(className ?? ""))" }
}
