// SPDX-License-Identifier: Apache-2.0
// The subcommands `backup`, `restore`, `verify`, `prune` and `backups`: copies of a file that is being written, and
// repositories of them.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumBackup

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies a file, or backs it up to a repository, while other processes write it.",
        discussion: """
            regnum backup people.realm copy.realm
            regnum backup people.realm /backups/people --new
            regnum backup people.realm /backups/people --repository
            regnum backup people.realm /backups/people --follow --keep-hourly 24 --keep-daily 30
            regnum backup people.realm s3://bucket/people --follow

            The first makes a new file with the newest version; it is encrypted with the same key if the file is. The \
            second makes a new repository in a folder, and the first backup in it. The third adds a backup to the \
            repository: only what no earlier backup has is stored. The fourth makes a backup of each commit, within \
            about a second, until it is interrupted (control-C); it may be killed and started again at any time. With \
            the options --keep-..., it deletes old backups at the beginning and then once an hour, as \
            `regnum prune` does. Writers of the file never wait.

            Only --new makes a repository: without it, the folder of a disk that is not mounted is an error. A folder \
            that exists is taken for a repository, and so is s3://BUCKET/PREFIX: the keys are in \
            AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the region in AWS_REGION, the address of a service other than \
            Amazon's in AWS_ENDPOINT_URL. One process at a time makes backups to a repository; with \
            --follow a second one waits.

            With --new, --compress makes a repository that is compressed, and --repository-key-file one that is \
            encrypted with a key of its own, which every later subcommand needs. The blocks of an encrypted file are \
            always encrypted as in the file.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The new file, or the folder or s3:// address of a repository.", completion: .file())
    var target: String
    @Flag(help: "The target is a repository.") var repository = false
    @Flag(help: "Make a new repository at the target, which must not have one.") var new = false
    @Flag(help: "With --new: compress what becomes shorter.") var compress = false
    @OptionGroup var repositoryKey: RepositoryKeyArguments
    @Flag(help: "Make a backup of each commit. The target is a repository.") var follow = false
    @Flag(help: "Store all blocks again, which repairs a damaged repository for later backups.") var complete = false
    @Option(help: "Read at most so many megabytes per second.") var rate: Double?
    @OptionGroup(title: "Deleting old backups, with --follow") var retention: RetentionArguments
    @Flag(help: "Print each backup as one JSON object on one line.") var json = false

    func validate() throws {
        if let rate, !(rate >= 0.001 && rate <= 1e6) { throw ValidationError("--rate is a number of MB per second.") }
        if compress, !new { throw ValidationError("--compress is for a new repository: specify --new.") }
        if follow, complete { throw ValidationError("--complete makes one backup: leave --follow out.") }
        if !follow, retention.policy != nil {
            throw ValidationError("--keep-... deletes backups with --follow: use `regnum prune` otherwise.")
        }
    }

    private var byteRate: Int? { rate.map { Int($0 * 1e6) } }

    func run() throws {
        try reporting(on: arguments) {
            // Throws the library's own error, before anything is created.
            _ = try arguments.version()
            Interruption.watch()
            let place = try BackupPlace(target)
            let kind = FileKind(target)
            if repository || new || follow || kind == .folder || !place.isFolder {
                if kind != nil, kind != .folder, place.isFolder {
                    throw Refusal("'\(target)' is not a folder: name that of a repository.")
                }
                if follow { try followFile() } else { try addBackup() }
            } else {
                if complete { throw Refusal("--complete is for a repository: specify --new to make one.") }
                if repositoryKey.repositoryKeyFile != nil {
                    throw Refusal("--repository-key-file is for a repository: a copy has the key of its file.")
                }
                try copyFile()
            }
            Output.progress(nil)
        }
    }

    private func copyFile() throws {
        let url = URL(fileURLWithPath: target)
        var byteCount = 0
        try Realm.backup(try arguments.configuration(), to: url, rate: byteRate) { progress in
            try Interruption.check()
            byteCount = progress.copiedByteCount
            Output.progress("\(byteCount) of \(progress.byteCount) bytes")
        }
        Output.progress(nil)
        if json {
            Output().write(JSONLine.text([("file", .string(target)), ("copiedBytes", .number(byteCount))]))
        } else {
            Output().line("'\(target)' has a copy of the newest version: \(byteCount) bytes of data")
        }
    }

    private func open() throws -> BackupRepository {
        let key = try repositoryKey.key()
        if !new { return try BackupPlace.repository(target, key: key) }
        let store = try BackupPlace(target).store()
        do { _ = try BackupRepository(store, encryptionKey: key) } catch let error as BackupError
            where error.code == .noRepository
        {
            let made = try BackupRepository(store, creating: true, encryptionKey: key, isCompressed: compress)
            if !json { Output().line("'\(target)' is a new repository") }
            return made
        }
        throw Refusal("'\(target)' has a repository of backups: leave --new out to add to it.")
    }

    private func addBackup() throws {
        let made = try open().backUp(
            arguments.url, encryptionKey: try arguments.key(), isComplete: complete, rate: byteRate
        ) { done, all in
            try Interruption.check()
            Output.progress(all == 0 ? "reading" : "\(done) of \(all) bytes stored")
        }
        Output.progress(nil)
        if let made { return BackupText.write(made, asJSON: json) }
        if !json { Output().line("the newest version is in the repository already") }
    }

    private func followFile() throws {
        try open().follow(
            arguments.url, encryptionKey: try arguments.key(), rate: byteRate, retention: retention.policy,
            isEnded: { (try? Interruption.check()) == nil }
        ) { event in
            switch event {
            case .backedUp(let backup): BackupText.write(backup, asJSON: json)
            case .pruned(let result):
                if !json { Output().line("\(result.removed.count) old backups deleted, \(result.kept.count) kept") }
            case .waiting(let error): Output.complain("regnum: \(BackupText.sentence(error)) It is tried again.")
            }
            Output.flush()
        }
    }
}

/// The repository that a subcommand works on.
struct RepositoryArguments: ParsableArguments {
    @Argument(help: "The folder or s3:// address of the repository.", completion: .directory) var repository: String
    @OptionGroup var repositoryKey: RepositoryKeyArguments

    func open() throws -> BackupRepository { try BackupPlace.repository(repository, key: try repositoryKey.key()) }

    /// Opens another repository: with the same key, or without one if it is not encrypted with a key of its own.
    func open(other place: String) throws -> BackupRepository {
        do { return try BackupPlace.repository(place, key: try repositoryKey.key()) } catch let error as BackupError
            where error.code == .wrongKey
        {
            return try BackupPlace.repository(place, key: nil)
        }
    }

    /// Runs a subcommand. On failure, writes the message to standard error and ends the process with its exit code.
    func reporting(_ body: () throws -> Void) throws {
        defer { Output.flush() }
        do { try body() } catch let ending as ExitCode { throw ending } catch let stop as Interruption.Stop {
            throw Interruption.end(stop)
        } catch {
            Output.progress(nil)
            Output.complain("regnum: \(BackupText.sentence(error))")
            let isDamage = (error as? BackupError)?.code == .damaged
            throw isDamage ? Ending.damage : (error as? Refusal)?.ending ?? Ending.failure
        }
    }
}

struct BackupsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backups", abstract: "Lists the backups of a repository.",
        discussion: """
            regnum backups /backups/people

            Oldest first: the time when the backup began, its number, the version of the database, the length of the \
            file, and the bytes that the backup has added to the repository.
            """)

    @OptionGroup var arguments: RepositoryArguments
    @Flag(help: "One JSON object on each line.") var json = false

    func run() throws {
        try arguments.reporting {
            for backup in try arguments.open().backups() { BackupText.write(backup, asJSON: json) }
        }
    }
}

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Makes a file of a backup.",
        discussion: """
            regnum restore /backups/people --at 2026-11-28T12:00:00Z old.realm
            regnum restore /backups/people --at 1834 old.realm --dry-run

            Without --at, the newest backup. A time means the newest backup that began until then. The new file appears when it \
            is complete; nothing is ever replaced. One of an encrypted database is encrypted with the same key, which is \
            not needed here. --dry-run shows what would be fetched.
            """)

    @OptionGroup var arguments: RepositoryArguments
    @Argument(help: "The new file.", completion: .file()) var output: String
    @Option(help: "A version, or a time in ISO 8601, such as 2026-11-28T12:00:00Z or 2026-11-28.") var at: String?
    @Flag(help: "Write nothing; show what would be fetched.") var dryRun = false
    @Flag(help: "Print the result as one JSON object.") var json = false

    func validate() throws { _ = try point() }

    private func point() throws -> BackupRepository.Point {
        guard let at else { return .newest }
        if let version = UInt64(at) { return .version(version) }
        guard let date = BackupText.date(at) else {
            throw ValidationError("--at is a version, or a time such as 2026-11-28T12:00:00Z.")
        }
        return .date(date)
    }

    func run() throws {
        try arguments.reporting {
            let repository = try arguments.open()
            let plan = try repository.plan(try point())
            if FileKind(output) != nil { throw Refusal("'\(output)': File exists. A restore never replaces a file.") }
            if !dryRun {
                Interruption.watch()
                try repository.restore(.number(plan.backup.number), to: URL(fileURLWithPath: output)) { done, all in
                    try Interruption.check()
                    Output.progress("\(done) of \(all) bytes")
                }
                Output.progress(nil)
            }
            write(plan)
        }
    }

    private func write(_ plan: BackupRepository.RestorePlan) {
        if json {
            var members = BackupText.members(plan.backup)
            members += [
                ("packs", .number(plan.packCount)), ("fetchedBytes", .number(plan.byteCount)),
                ("isRestored", .bool(!dryRun)),
            ]
            return Output().write(JSONLine.text(members))
        }
        let fetched = "\(plan.byteCount) bytes in \(plan.packCount) packs"
        Output().line(
            "version \(plan.backup.version) of \(plan.backup.date.formatted(.iso8601)), \(plan.backup.byteCount) bytes: "
                + (dryRun ? "\(fetched) would be fetched" : "restored to '\(output)', from \(fetched)"))
    }
}

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Proves that all backups of a repository can be restored.",
        discussion: """
            regnum verify /backups/people
            regnum verify /backups/people --heal --from /mnt/other/people --from people.realm

            Compares everything that the backups need with its hash, without writing it and without a key. --full also \
            restores each of them to a temporary folder, opens it, and runs the integrity check, as `regnum check` does. \
            --heal replaces damaged objects that have another copy: page maps and manifests in the repository itself, \
            blocks in the repositories and database files that --from names. Exits with status 2 if a backup cannot be restored.
            """)

    @OptionGroup var arguments: RepositoryArguments
    @Flag(help: "Restore each backup and check it.") var full = false
    @Option(help: "With --full: the key file of an encrypted database, as for other subcommands.", completion: .file())
    var keyFile: String?
    @Flag(help: "Replace damaged objects.") var heal = false
    @Option(help: "With --heal: another repository of the same database, or its file.", completion: .file())
    var from: [String] = []
    @Flag(help: "Print the result as one JSON object.") var json = false

    func validate() throws {
        if !heal, !from.isEmpty { throw ValidationError("--from needs --heal.") }
    }

    func run() throws {
        try arguments.reporting {
            Interruption.watch()
            let repository = try arguments.open()
            let files = from.filter { FileKind($0) == .file }
            let others = try from.filter { FileKind($0) != .file }.map { try arguments.open(other: $0) }
            let result = try repository.verify(
                healing: heal, from: others, files: files.map { URL(fileURLWithPath: $0) }
            ) { byteCount in
                try Interruption.check()
                Output.progress("\(byteCount) bytes compared")
            }
            Output.progress(nil)
            let checks = full ? try checkFully(repository) : []
            write(result, checks)
            if !result.isRestorable || !checks.isEmpty { throw Ending.damage }
        }
    }

    /// Restores and checks each backup. Returns what is wrong.
    private func checkFully(_ repository: BackupRepository) throws -> [String] {
        let key = try KeySource.find(keyFile)?.key()
        let folder = FileManager.default.temporaryDirectory
        var findings: [String] = []
        for backup in try repository.backups() {
            try Interruption.check()
            Output.progress("version \(backup.version)")
            do {
                let found = try repository.check(backup, encryptionKey: backup.isEncrypted ? key : nil, in: folder)
                findings += found.map { "version \(backup.version): \($0)" }
            } catch let error as BackupError where error.code == .noSuchBackup {
                // Another process has pruned it since it was listed.
            } catch let error as BackupError where error.code == .damaged {
                findings.append("version \(backup.version): \(error.message)")
            }
        }
        Output.progress(nil)
        return findings
    }

    private func write(_ result: BackupRepository.Verification, _ checks: [String]) {
        if json {
            return Output().write(
                JSONLine.text([
                    ("backups", .number(result.backupCount)), ("blocks", .number(result.blockCount)),
                    ("bytes", .number(result.byteCount)),
                    ("isRestorable", .bool(result.isRestorable && checks.isEmpty)),
                    ("findings", .array((result.findings.map(\.description) + checks).map { .string($0) })),
                ]))
        }
        for finding in result.findings { Output().line(finding.description) }
        for check in checks { Output().line(check) }
        let backups = result.backupCount == 1 ? "1 backup" : "\(result.backupCount) backups"
        Output().line(
            result.isRestorable && checks.isEmpty
                ? "\(backups) can be restored: \(result.blockCount) blocks, \(result.byteCount) bytes compared"
                : "damaged: not each of \(backups) can be restored")
    }
}

struct PruneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune", abstract: "Deletes backups of a repository that are no longer to be kept.",
        discussion: """
            regnum prune /backups/people --keep-hourly 24 --keep-daily 30 --keep-monthly 12
            regnum prune /backups/people --remove 1207

            Keeps the newest backup of each of the last 24 hours, 30 days and 12 months that have one (in UTC), and those \
            of the last hour. The newest is always kept. What a kept backup needs is never deleted, and backups may be \
            made in the meantime. --dry-run shows what would be deleted.

            --remove removes the backup with that number, also a damaged one: without the page map of a kept backup \
            nothing can be deleted. The newest backup and those of the last hour are refused.
            """)

    @OptionGroup var arguments: RepositoryArguments
    @OptionGroup var retention: RetentionArguments
    @Option(help: "Remove the backup with this number, which `backups` and `verify` show. Repeatable.")
    var remove: [UInt64] = []
    @Flag(help: "Delete nothing; show what would be deleted.") var dryRun = false
    @Flag(help: "Print the result as one JSON object.") var json = false

    func validate() throws {
        if retention.policy == nil, remove.isEmpty {
            throw ValidationError("Say what to keep, such as --keep-daily 30.")
        }
        if dryRun, !remove.isEmpty { throw ValidationError("--remove deletes: leave --dry-run out.") }
    }

    func run() throws {
        try arguments.reporting {
            let repository = try arguments.open()
            for number in remove { try repository.remove(number) }
            guard let policy = retention.policy else {
                if json { return Output().write(JSONLine.text([("removedNumbers", removedNumbers)])) }
                return Output().line("\(remove.count) removed; the next `prune` deletes what only they needed")
            }
            write(try repository.prune(policy, isRehearsal: dryRun))
        }
    }

    private var removedNumbers: JSONLine { .array(remove.map { .number(Int(clamping: $0)) }) }

    private func write(_ result: BackupRepository.Pruning) {
        if json {
            return Output().write(
                JSONLine.text([
                    ("kept", .array(result.kept.map { .object(BackupText.members($0)) })),
                    ("removed", .array(result.removed.map { .object(BackupText.members($0)) })),
                    ("removedNumbers", removedNumbers), ("isDone", .bool(!dryRun)),
                ]))
        }
        for backup in result.removed { BackupText.write(backup, asJSON: false) }
        let count = result.removed.count + remove.count
        Output().line("\(count) \(dryRun ? "would be deleted" : "deleted"), \(result.kept.count) kept")
    }
}

/// Which backups are kept.
struct RetentionArguments: ParsableArguments {
    @Option(help: "Keep the newest so many.") var keepLast: Int?
    @Option(help: "Keep one of each of the last so many hours.") var keepHourly: Int?
    @Option(help: "Keep one of each of the last so many days.") var keepDaily: Int?
    @Option(help: "Keep one of each of the last so many weeks.") var keepWeekly: Int?
    @Option(help: "Keep one of each of the last so many months.") var keepMonthly: Int?
    @Option(help: "Keep one of each of the last so many years.") var keepYearly: Int?

    private var counts: [Int] {
        [keepLast, keepHourly, keepDaily, keepWeekly, keepMonthly, keepYearly].compactMap { $0 }
    }

    func validate() throws {
        if counts.contains(where: { $0 < 0 }) { throw ValidationError("A number of backups to keep is 0 or more.") }
    }

    /// Nil if no option is given.
    var policy: RetentionPolicy? {
        if counts.isEmpty { return nil }
        return RetentionPolicy(
            last: keepLast ?? 1, hourly: keepHourly ?? 0, daily: keepDaily ?? 0, weekly: keepWeekly ?? 0,
            monthly: keepMonthly ?? 0, yearly: keepYearly ?? 0)
    }
}

/// How backups are shown.
enum BackupText {
    static func write(_ backup: BackupRepository.Backup, asJSON: Bool) {
        if asJSON { return Output().write(JSONLine.text(members(backup))) }
        Output().line(
            "\(backup.date.formatted(.iso8601))  number \(backup.number)  version \(backup.version)  "
                + "\(backup.byteCount) bytes  "
                + "\(backup.storedByteCount) stored\(backup.isEncrypted ? "  encrypted" : "")")
    }

    static func members(_ backup: BackupRepository.Backup) -> [(String, JSONLine)] {
        [
            ("number", .number(Int(clamping: backup.number))), ("version", .number(Int(clamping: backup.version))),
            ("date", .string(backup.date.formatted(.iso8601))), ("fileBytes", .number(backup.byteCount)),
            ("storedBytes", .number(backup.storedByteCount)), ("isEncrypted", .bool(backup.isEncrypted)),
        ]
    }

    /// The message of an error, a sentence.
    static func sentence(_ error: any Error) -> String {
        if let error = error as? BackupError {
            let hint = " See --repository-key-file and REGNUM_REPOSITORY_KEY_FILE."
            return error.message + (error.code == .wrongKey ? hint : "")
        }
        return (error as? Refusal)?.description ?? error.localizedDescription
    }

    /// The end of the second, or of the day, that a text names; nil if it is none. Fractions of a second are cut off
    /// when a time is shown, so the second as a whole counts.
    static func date(_ text: String) -> Date? {
        if let date = try? Date(text, strategy: .iso8601) { return date.addingTimeInterval(0.999_999) }
        let day = Date.ISO8601FormatStyle().year().month().day()
        return (try? Date(text, strategy: day))?.addingTimeInterval(86_399.999_999)
    }
}
