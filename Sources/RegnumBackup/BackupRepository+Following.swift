// SPDX-License-Identifier: Apache-2.0
// Continuous backup: each commit is in the repository within about a second; commits that come faster share a backup.
//
//   waiting for the lease ──▶ following ──▶ released at the end
//            ▲                    │ another process took over, or the store failed
//            └────────────────────┘

public import Foundation
package import RegnumEngine
package import RegnumSystem

extension BackupRepository {
    /// What happened while a database is followed.
    public enum FollowEvent: Sendable {
        case backedUp(Backup)
        /// Old backups were deleted.
        case pruned(Pruning)
        /// Another process holds the lease, the store failed, the database could not be read, or old backups could not
        /// be deleted: it is tried again.
        case waiting(any Error)
    }

    /// Makes a backup of each version of the database file at `fileURL` until `isEnded` returns true. Calls `isEnded`
    /// at least ten times per second, except during a call of the store. A killed process can be started again at any
    /// time; it continues from the last backup in the repository, after at most 30 seconds, until when the lease of the
    /// killed one lasts. If two processes follow, the second one waits.
    ///
    /// With `retention`, deletes old backups as `prune` does: at the beginning and then once an hour. No backup is made
    /// in the meantime.
    ///
    /// The file is kept open as by a process that may write it, which needs the permission to write to it and to its
    /// folder. Nothing is written to it, unless it has to be recovered after a crash. A version is only kept while it is
    /// being backed up. An open file is not compacted, and not truncated by other processes. Writers do not wait. If
    /// the file is replaced, the new one is followed. `rate` limits the bytes read per second, as for `backUp`. An error
    /// that `report` throws ends it and is rethrown.
    public func follow(
        _ fileURL: URL, encryptionKey: Data? = nil, rate: Int? = nil, retention: RetentionPolicy? = nil,
        isEnded: () -> Bool, report: (FollowEvent) throws -> Void
    ) throws {
        let path = fileURL.path
        let key: EncryptionKey?
        do throws(EngineError) { key = try Self.engineKey(encryptionKey, path) } catch {
            throw BackupError(error, database: path)
        }
        try follow(
            path, in: PosixFileSystem.shared, key: key, rate: rate, retention: retention, isEnded: isEnded,
            report: report)
    }

    private static let pollNanoseconds: UInt64 = 50_000_000
    /// The time from the end of a backup to the next one. Each backup adds an entry to the log, which stays for an hour
    /// at least.
    private static let gatheringNanoseconds: UInt64 = 400_000_000
    /// The pause after a failure.
    private static let longestPause: UInt64 = 5_000_000_000
    /// The time from one deletion of old backups to the next, in microseconds.
    private static let pruningInterval: Int64 = 3_600_000_000

    package func follow(
        _ path: String, in fileSystem: any FileSystem, key: EncryptionKey?, rate: Int? = nil,
        retention: RetentionPolicy? = nil, isEnded: () -> Bool, report: (FollowEvent) throws -> Void
    ) throws {
        let followed = FollowedFile(path, fileSystem, key)
        var lease: Lease?
        defer { lease?.release() }
        var pause = Self.pollNanoseconds
        var pruningTime: Int64?
        while !isEnded() {
            var event: FollowEvent?
            var isBackedUp = false
            do {
                let held = try lease ?? log.claim(owner: owner, duration: options.leaseDuration)
                lease = held
                try held.keep()
                if let database = try followed.newer() {
                    let backup = try backUp(database, held, isComplete: false, rate: rate) { _, _ in
                        if isEnded() { throw Ended() }
                    }
                    followed.noteBackup()
                    event = backup.map { FollowEvent.backedUp($0) }
                    isBackedUp = true
                }
                pause = Self.pollNanoseconds
            } catch is Ended { return } catch {
                followed.close()
                event = .waiting(BackupError.converting(error, path: path))
                pause = min(pause * 2, Self.longestPause)
            }
            if let event { try report(event) }
            if let retention, let held = lease, pause == Self.pollNanoseconds, isDue(pruningTime) {
                pruningTime = log.now()
                if let event = prune(retention, held, isEnded) { try report(event) }
            }
            if lease?.state == .fenced { lease = nil }
            Self.sleep(isBackedUp ? Self.gatheringNanoseconds : pause, isEnded)
        }
    }

    private func isDue(_ pruningTime: Int64?) -> Bool {
        guard let pruningTime else { return true }
        let passed = log.now() &- pruningTime
        // A clock that was set back does not put it off.
        return passed < 0 || passed >= Self.pruningInterval
    }

    /// Deletes old backups while holding `lease`. Returns nil if there were none, or if `isEnded`.
    private func prune(_ policy: RetentionPolicy, _ lease: Lease, _ isEnded: () -> Bool) -> FollowEvent? {
        do {
            let result = try prune(policy, isRehearsal: false) {
                if isEnded() { throw Ended() }
                try lease.keep()
            }
            return result.removed.isEmpty ? nil : .pruned(result)
        } catch is Ended { return nil } catch { return .waiting(error) }
    }

    /// Ends a backup, or a prune, when `follow` ends.
    private struct Ended: Error {}

    private static func sleep(_ nanoseconds: UInt64, _ isEnded: () -> Bool) {
        var left = nanoseconds
        while left > 0, !isEnded() {
            let part = min(left, pollNanoseconds)
            CurrentThread.sleep(nanoseconds: part)
            left -= part
        }
    }
}

/// The open database file of `follow`.
private final class FollowedFile {
    private let path: String
    private let fileSystem: any FileSystem
    private let key: EncryptionKey?
    private var database: Database?
    private var identity: FileIdentity?
    /// The newest version that was backed up; nil if the file was opened since.
    private var version: UInt64?

    init(_ path: String, _ fileSystem: any FileSystem, _ key: EncryptionKey?) {
        self.path = path
        self.fileSystem = fileSystem
        self.key = key
    }

    /// Returns the database if it has a version that was not backed up.
    func newer() throws -> Database? {
        let now = try fileSystem.status(path)?.identity
        if database == nil || now != identity {
            close()
            var options = Database.OpenOptions()
            options.makesFile = false
            options.encryptionKey = key
            database = try Database.open(path: path, fileSystem: fileSystem, options: options)
            identity = now
        }
        guard let database else { return nil }
        found = database.newestVersion
        return found == version ? nil : database
    }

    /// The newest version when `newer` was called last.
    private var found: UInt64?

    /// Records that the version which `newer` found, or a later one, is in the repository.
    func noteBackup() { version = found }

    func close() {
        (database, version, identity) = (nil, nil, nil)
    }
}
