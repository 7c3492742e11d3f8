// SPDX-License-Identifier: Apache-2.0
// Older versions of a Realm that the file keeps, as frozen Realms.

public import Foundation
internal import RegnumEngine
internal import RegnumObservation

/// An older version that a file keeps, or the newest one. A value; it does not keep the version.
public struct RealmVersion: Sendable, Hashable {
    /// When the version was committed, by the clock of the machine that did it.
    public let date: Date
    /// Versions are numbered in the order of the commits. Some numbers may be missing.
    public let number: UInt64
    /// Names the version for `changes(since:)`.
    public let cursor: ChangeCursor
}

/// How much of the past a file keeps.
public struct HistoryReport: Sendable, Hashable {
    /// The number of older versions that can be read.
    public let versions: Int
    /// Bytes of the file that only older versions need, with the record of them.
    public let byteCount: Int
    /// The limit for `byteCount`. A commit drops old versions in steps, so it may be exceeded by a few commits.
    public let byteLimit: Int
    /// The seconds for which a version is kept after the next one was committed.
    public let secondsKept: Double
    /// When the oldest readable version was committed.
    public let oldest: Date
}

extension RealmAdditions where Self == Realm {
    /// A frozen Realm that shows the version that was the newest at `date`, by the clock of the machine that committed
    /// it. The version stays readable as long as the frozen Realm, or an object of it, exists.
    ///
    /// A class that the file did not have then is empty; a property that it did not have has its default value. Throws
    /// `Realm.Error`: with the reason `versionNotKept` if the file does not reach back that far, `noHistory` if it
    /// keeps no older versions, and with the code `schemaMismatch` if a class or a property was different then. Thread:
    /// that of the Realm; the frozen Realm may be used on any. O(kept versions), and in a file of up to 16 MiB the
    /// version is verified: damage to it throws here.
    public func asOf(_ date: Date) throws -> Realm {
        let realm: Realm = self
        realm.core.check()
        let newest = try realm.core.newestSession()
        let (head, number) = try realm.core.reading { () throws(EngineError) in
            (try newest.history(), try newest.version(at: RealmVersion.time(date)))
        }
        guard let head else { throw realm.core.error(.noHistory) }
        guard let number else {
            throw realm.core.error(.notKept(version: 0, oldest: head.oldest), "The version of \(date)")
        }
        // The next commit may already have dropped the version, which is readable because `newest` shows it.
        if number == newest.version {
            return try realm.core.frozen(
                keptAt: realm.core.reading { () throws(EngineError) in try newest.freeze() })
        }
        return try realm.core.frozen(at: number)
    }

    /// A frozen Realm that shows `version`. Like `asOf` with a date.
    public func asOf(_ version: RealmVersion) throws -> Realm {
        let realm: Realm = self
        realm.core.check()
        let session: Session
        do throws(FeedProblem) {
            session = try FeedReader.session(realm.core.settings.database, at: version.cursor.cursor)
        } catch { throw realm.core.error(error) }
        return try realm.core.frozen(keptAt: session)
    }

    /// The versions that were committed within `range` and are kept, oldest first; the newest version is among them if
    /// it was. Empty if the file keeps no older versions. A frozen Realm of each is only made by `asOf`, because it
    /// would hold the version; one that has been dropped in the meantime then throws.
    ///
    /// ```swift
    /// for version in try realm.versions(in: monday...tuesday) {
    ///     print(version.date, try realm.asOf(version).objects(Order.self).count)
    /// }
    /// ```
    ///
    /// Throws `Realm.Error` if the file cannot be read. Thread: that of the Realm. O(kept versions).
    public func versions(in range: ClosedRange<Date>) throws -> [RealmVersion] {
        let realm: Realm = self
        realm.core.check()
        let newest = try realm.core.newestSession()
        let times = RealmVersion.time(range.lowerBound)...RealmVersion.time(range.upperBound)
        var cursor = FeedCursor(newest)
        return try realm.core.reading { () throws(EngineError) in
            guard let head = try newest.history() else { return [] }
            var found: [RealmVersion] = []
            func add(_ number: UInt64, _ time: Int64, _ stamp: UInt64) {
                guard times.contains(time) else { return }
                (cursor.version, cursor.stamp) = (number, stamp)
                found.append(
                    RealmVersion(date: RealmVersion.date(time), number: number, cursor: ChangeCursor(cursor)))
            }
            try newest.visitHistory(from: 0) { (version) throws(EngineError) in
                add(version.number, version.time, version.stamp)
                return true
            }
            add(newest.version, head.time, newest.stamp)
            return found
        }
    }

    /// How much of the past the file keeps; nil if `history` is off. Throws `Realm.Error` if the file cannot be read.
    /// Thread: that of the Realm. O(kept versions).
    public func historyReport() throws -> HistoryReport? {
        let realm: Realm = self
        realm.core.check()
        let newest = try realm.core.newestSession()
        let size = try realm.core.reading { () throws(EngineError) in try newest.historySize() }
        return size.map {
            HistoryReport(
                versions: $0.versions, byteCount: $0.byteCount, byteLimit: $0.limits.byteCount,
                secondsKept: Double($0.limits.age) / 1e6, oldest: RealmVersion.date($0.oldest))
        }
    }
}

extension RealmVersion {
    /// Microseconds since 1970. Rounds, so that the date of a version gives its time.
    static func time(_ date: Date) -> Int64 {
        let time = (date.timeIntervalSince1970 * 1e6).rounded()
        return time.isNaN ? 0 : Int64(min(max(time, -9e18), 9e18))
    }

    static func date(_ time: Int64) -> Date { Date(timeIntervalSince1970: Double(time) / 1e6) }
}

extension RealmCore {
    /// A session at the newest published version, whatever this Realm shows.
    func newestSession() throws(Realm.Error) -> Session {
        let database = settings.database
        return try reading { () throws(EngineError) in try database.makeSession() }
    }

    func reading<R>(_ body: () throws(EngineError) -> R) throws(Realm.Error) -> R {
        do throws(EngineError) { return try body() } catch { throw self.error("read", error) }
    }

    func frozen(at number: UInt64) throws -> Realm {
        let database = settings.database
        let session = try reading { () throws(EngineError) in try database.makeSession(at: number) }
        if let session { return try frozen(keptAt: session) }
        do throws(FeedProblem) { throw try FeedReader.missing(database, number) } catch { throw self.error(error) }
    }

    /// A frozen Realm that shows `session`. Throws if the schema of the version differs from that of the classes.
    func frozen(keptAt session: Session) throws(Realm.Error) -> Realm {
        let types = settings.configuration.objectTypes.map { Set($0.map { ObjectIdentifier($0) }) }
        let key = RealmCache.FrozenKey(
            database: ObjectIdentifier(settings.database), version: session.version, types: types)
        if let known = RealmCache.shared.frozenCore(at: key) { return Realm(core: known) }
        let differences = settings.schema.classes.sorted { $0.name < $1.name }.flatMap { schema in
            session.table(named: schema.name).map {
                SchemaDifferences(schema: schema, table: $0.definition, session: session, classes: nil)
                    .list(toleratingColumns: true)
            } ?? []
        }
        guard differences.isEmpty else {
            throw Realm.Error(
                .schemaMismatch, .migrationNeeded,
                "Version \(session.version) of the Realm at path '\(settings.place.name)' has other classes:\n"
                    + differences.map { "- " + $0 }.joined(separator: "\n")
                    + "\nRead it with a configuration whose `objectTypes` leaves them out.", fileURL: fileURL)
        }
        // Objects of the frozen Realm are read by calls that cannot throw.
        try reading { () throws(EngineError) in try BlockTraversal.checkSmall(kept: session) }
        return Realm(core: RealmCache.shared.insert(frozen: frozen(showing: session), at: key))
    }

    func error(_ problem: FeedProblem, _ start: String? = nil) -> Realm.Error {
        FeedErrors(name: settings.place.name, fileURL: fileURL).error(problem, start)
    }
}

/// Translates the reasons why the past cannot be read. Any thread.
struct FeedErrors: Sendable {
    let name: String
    let fileURL: URL?

    func error(_ problem: FeedProblem, _ start: String? = nil) -> Realm.Error {
        func make(_ reason: Realm.Error.Reason, _ words: String) -> Realm.Error {
            Realm.Error(.fail, reason, words, fileURL: fileURL)
        }
        let again = "Read all objects again, and go on from the `changeCursor` of the Realm that was read."
        switch problem {
        case .otherFile:
            return make(
                .foreignCursor,
                "The change cursor is not of the Realm at path '\(name)': it is of another file, or of this one before "
                    + "it was compacted or replaced. " + again)
        case .noHistory:
            return make(
                .noHistory,
                "The Realm at path '\(name)' keeps no older versions. Set `history` of the configuration. " + again)
        case .notKept(let version, let oldest):
            return make(
                .versionNotKept,
                "\(start ?? "Version \(version)") of the Realm at path '\(name)' is no longer kept: the oldest version "
                    + "is \(oldest). Set `history` of the configuration to more time or space. " + again)
        case .lost(let version):
            return make(
                .commitLost,
                "Commit \(version) is not in the Realm at path '\(name)': a power loss undid it, or an earlier copy of "
                    + "the file was restored. " + again)
        case .engine(let error):
            return Realm.Error(using: name, doing: "read", error)
        }
    }
}
