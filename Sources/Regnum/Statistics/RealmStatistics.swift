// SPDX-License-Identifier: Apache-2.0
// Counts and times of an open file or in-memory Realm, for logs and metrics. Additions to RealmSwift's API.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// Counts and times of this process's operations on an open file or in-memory Realm, and the state of the file.
///
/// ```swift
/// let statistics = realm.statistics
/// print(statistics.commits, "commits,", statistics.syncTime, "in syncs")
/// if let pin = statistics.oldestPin { print(pin) }
/// ```
///
/// All Realms of a file in the process share the counts, which begin at 0 when the process opens the file and end when
/// it closes it. Other processes are not included, except in `pins`, `oldestPin`, `fileSize`, `freeSpace` and `writer`.
/// The counts of one value may belong to slightly different moments.
public struct RealmStatistics: Sendable, CustomStringConvertible {
    /// The path of the file, or the identifier of the in-memory Realm.
    public let name: String
    /// Counts and times that only increase while the file is open.
    public let totals: Totals
    /// The length of the file in bytes. For an in-memory Realm, the bytes of memory that its objects take.
    public let fileSize: Int
    /// The part of `fileSize` that the next transactions can use: free pages and the room to grow at the end. Pages
    /// that are kept for an old version are not free. Nil if it cannot be read.
    public let freeSpace: Int?
    /// The number of open and frozen Realms in this process, including those that the library opens for itself, and of
    /// the versions that other processes keep.
    public let pins: Int
    /// The pin on the oldest version: it explains a file that grows. Nil if there is none.
    public let oldestPin: VersionPin?
    /// The threads of this process that have been waiting for the writer lock for a moment (10 ms, or any time if
    /// another process writes), the longest wait first. Asynchronous writes that wait count as one.
    public let blockedWriters: [BlockedWriter]
    /// The holder of the writer lock; nil if no thread or process writes, or if it is not known.
    public let writer: Writer?

    /// Counts and times since the process opened the file.
    public struct Totals: Sendable, Hashable {
        /// Write transactions that were committed. With durability `.full` or `.paranoid`, and for asynchronous writes,
        /// a transaction counts when it is durable. Migrations count too.
        public var commits = 0
        /// The bytes that committed transactions wrote to the file.
        public var committedBytes = 0
        /// Write transactions that were rolled back, or whose commit was refused.
        public var rollbacks = 0
        /// Commits that could not be made durable.
        public var failedCommits = 0
        /// Waits for stable storage. One may serve several commits, and a large commit needs two.
        public var syncs = 0
        /// The sum of the times of these waits.
        public var syncTime = Duration.zero
        /// Queries that ran: evaluations of results, counts, first and last objects, aggregates. Results that have not
        /// changed are not evaluated again. Objects by primary key and positions in unfiltered results are no queries.
        public var queries = 0
        /// The objects that queries examined, in steps of up to 1,024: those of a scan, and those that an index found.
        public var examinedObjects = 0
        /// Waits for the writer lock, as in `blockedWriters`, that have ended.
        public var waits = 0
        /// The sum of the times of these waits.
        public var waitTime = Duration.zero

        /// All zero.
        public init() {}
    }

    /// A thread that waits for the writer lock.
    public struct BlockedWriter: Sendable, Hashable {
        /// How long it has been waiting.
        public let duration: Duration
        /// The source file that opened its Realm, as `#fileID`; nil if it is not known.
        public let fileID: String?
        /// The line in that file.
        public let line: UInt?
    }

    /// The holder of the writer lock.
    public struct Writer: Sendable, Hashable, CustomStringConvertible {
        /// The kinds of holders.
        public enum Holder: Sendable, Hashable {
            /// A thread of this process, by its id.
            case thread(UInt)
            /// An asynchronous write of this process that has not begun to run.
            case asynchronousWrite
            /// Another process, by its id.
            case process(UInt64)
        }

        /// The thread or process.
        public let holder: Holder
        /// How long it has held the lock.
        public let duration: Duration
        /// The source file that opened its Realm, as `#fileID`; nil for another process, or if it is not known.
        public let fileID: String?
        /// The line in that file.
        public let line: UInt?

        /// A phrase for a log, such as "thread 0x7f… in the Realm opened at App/Model.swift:40, for 1.2 s".
        public var description: String {
            let place = fileID.map { " in the Realm opened at \($0):\(line ?? 0)" } ?? ""
            let time = String(format: "%.1f s", duration.inSeconds)
            return switch holder {
            case .thread(let id): "thread 0x\(String(id, radix: 16))\(place), for \(time)"
            case .asynchronousWrite: "an asynchronous write, for \(time)"
            case .process(let id): "process \(id), for \(time)"
            }
        }
    }

    // The counts are most often read on their own.

    /// See `Totals.commits`.
    public var commits: Int { totals.commits }
    /// See `Totals.committedBytes`.
    public var committedBytes: Int { totals.committedBytes }
    /// See `Totals.syncs`.
    public var syncs: Int { totals.syncs }
    /// See `Totals.syncTime`.
    public var syncTime: Duration { totals.syncTime }
    /// See `Totals.queries`.
    public var queries: Int { totals.queries }
    /// See `Totals.examinedObjects`.
    public var examinedObjects: Int { totals.examinedObjects }

    /// One line for a log.
    public var description: String {
        var text =
            "\(name): \(commits) commits of \(committedBytes) bytes, \(syncs) syncs in "
            + String(format: "%.3f s", syncTime.inSeconds)
            + ", \(queries) queries of \(examinedObjects) objects, \(pins) pins, file of \(fileSize) bytes"
        if let freeSpace { text += ", \(freeSpace) free" }
        if let oldestPin { text += "; \(oldestPin)" }
        if let blocked = blockedWriters.first {
            let time = String(format: "%.1f s", blocked.duration.inSeconds)
            text += "; waiting writers: \(blockedWriters.count), the longest for \(time)"
            if let writer { text += ", held by \(writer)" }
        }
        return text
    }
}

extension RealmAdditions where Self == Realm {
    /// Statistics of this Realm's file, or of its memory. Must be called on the Realm's own thread. O(open Realms); if
    /// another process has committed, also O(free extents of the file).
    public var statistics: RealmStatistics {
        let realm: Realm = self
        realm.core.check()
        return RealmStatistics(of: realm.core.session.database)
    }

    /// Statistics of every file and in-memory Realm that is open in this process. Any thread.
    public static var statistics: [RealmStatistics] { OpenFile.all.compactMap(\.statistics) }
}

extension Duration {
    /// For messages and metrics.
    package var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension RealmStatistics {
    /// Statistics of an open database. Any thread.
    init(of database: Database) {
        let now = MonotonicClock.now()
        let pins = VersionPin.all(of: database)
        let space = try? database.space()
        self.init(
            name: database.path, totals: Totals(database.counters.counts), fileSize: space?.total ?? 0,
            freeSpace: space?.free, pins: pins.count, oldestPin: pins.first,
            blockedWriters: database.blockedWriters.all.map { writer in
                BlockedWriter(
                    duration: .nanoseconds(now &- min(writer.since, now)),
                    fileID: writer.origin.map { "\($0.fileID)" }, line: writer.origin?.line)
            },
            writer: Writer(of: database))
    }
}

extension RealmStatistics.Totals {
    init(_ counts: OperationCounters.Counts) {
        commits = Int(counts.commits)
        committedBytes = Int(counts.committedBytes)
        rollbacks = Int(counts.rollbacks)
        failedCommits = Int(counts.failedCommits)
        syncs = Int(counts.syncs)
        syncTime = .nanoseconds(counts.syncNanoseconds)
        queries = Int(counts.queries)
        examinedObjects = Int(counts.examinedObjects)
        waits = Int(counts.waits)
        waitTime = .nanoseconds(counts.waitNanoseconds)
    }
}

extension RealmStatistics.Writer {
    init?(of database: Database) {
        guard let note = database.writerNote else { return nil }
        let now = MonotonicClock.now()
        let holder: Holder =
            switch note.holder {
            case .thread(let id): .thread(id)
            case .offered: .asynchronousWrite
            case .process(let id): .process(id)
            }
        self.init(
            holder: holder, duration: .nanoseconds(now &- min(note.since, now)),
            fileID: note.origin.map { "\($0.fileID)" }, line: note.origin?.line)
    }
}

extension VersionPin {
    /// The pins on versions of a database, oldest version first; without those of other processes if these cannot be
    /// read.
    static func all(of database: Database) -> [VersionPin] {
        all(of: database, others: (try? database.pinsOfOthers()) ?? [])
    }
}
