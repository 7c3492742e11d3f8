// SPDX-License-Identifier: Apache-2.0
// Lists what keeps old versions alive, which explains a growing file, and enforces the limit on their number.

public import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// A pin on a version of a Realm: the version stays readable, and space that only it needs is not reused.
public struct VersionPin: Sendable, CustomStringConvertible {
    /// The kinds of holders of a pin.
    public enum Holder: Sendable, Equatable {
        /// A Realm that was opened in this process.
        case realm
        /// A frozen Realm, or the Realm of a frozen object or collection.
        case frozenRealm
        /// The library itself, for the duration of an operation.
        case library
        /// Another process that has the file open.
        case otherProcess
    }

    public let holder: Holder
    /// The pinned version; newer versions have higher numbers.
    public let version: UInt64
    /// The number of newer versions.
    public let newerVersions: UInt64
    /// The id of the process that holds the pin; 0 for a read-only process, whose id is not known.
    public let processIdentifier: Int32
    /// When the version was pinned; nil for another process.
    public let since: Date?
    /// The source file that opened the Realm, or the Realm that was frozen, as `#fileID`; nil if it is not known.
    public let fileID: String?
    /// The line in that file.
    public let line: UInt?

    /// One line for a log, such as "version 7, 12 behind, kept for 31.0 s by the Realm opened at App/Model.swift:40".
    public var description: String {
        var text = "version \(version), \(newerVersions) behind, kept "
        if let since { text += "for \((Date().timeIntervalSince(since) * 10).rounded() / 10) s " }
        let place = fileID.map { " at \($0):\(line ?? 0)" } ?? ""
        switch holder {
        case .realm: text += "by the Realm opened\(place)"
        case .frozenRealm: text += "by a frozen copy of the Realm opened\(place)"
        case .library: text += "by the library"
        case .otherProcess:
            text += processIdentifier == 0 ? "by a process that only reads" : "by process \(processIdentifier)"
        }
        return text
    }
}

extension RealmAdditions where Self == Realm {
    /// The pins on versions of this Realm, oldest version first: those of every open and frozen Realm of this process,
    /// with the line that created it, and those of every other process. Call this when a file grows, or when
    /// `maximumNumberOfActiveVersions` is exceeded.
    ///
    /// A frozen object or Realm is listed under the line that opened its Realm: a `freeze` that took the caller's
    /// location as parameters would have a different type from RealmSwift's, which programs pass as a value and use for
    /// protocols of their own. The same applies to a Realm that the library opens on behalf of another one: to observe
    /// on a queue or an actor, to thaw, or for `@ThreadSafe`.
    ///
    /// Must be called on the Realm's own thread. O(open Realms).
    public func pins() -> [VersionPin] {
        let realm: Realm = self
        realm.core.check()
        let database = realm.core.session.database
        return VersionPin.all(
            of: database, others: engine { () throws(EngineError) in try database.pinsOfOthers() })
    }
}

extension VersionPin {
    /// The pins of this process, and those of other processes, which are given; oldest version first.
    static func all(of database: Database, others: [(process: UInt64, version: UInt64)]) -> [VersionPin] {
        let newest = database.versions.latestNumber
        let now = MonotonicClock.now()
        var pins: [VersionPin] = []
        for session in database.versions.sessions {
            let age = Double(now &- min(session.since, now)) / 1e9
            let origin = session.origin
            let holder: VersionPin.Holder =
                switch origin?.act {
                case .opened: .realm
                case .frozen: .frozenRealm
                case nil: .library
                }
            pins.append(
                VersionPin(
                    holder: holder, version: session.version, newerVersions: newest - min(session.version, newest),
                    processIdentifier: CurrentProcess.id, since: Date(timeIntervalSinceNow: -age),
                    fileID: origin.map { "\($0.fileID)" }, line: origin?.line))
        }
        for other in others {
            pins.append(
                VersionPin(
                    holder: .otherProcess, version: other.version, newerVersions: newest - min(other.version, newest),
                    processIdentifier: Int32(truncatingIfNeeded: other.process), since: nil, fileID: nil, line: nil))
        }
        return pins.sorted { $0.version < $1.version }
    }
}

extension RealmCore {
    /// Throws if a write must not begin because too many versions are alive.
    func checkVersionLimit() throws(Realm.Error) {
        guard let limit = settings.configuration.maximumNumberOfActiveVersions else { return }
        let count: UInt64
        do throws(EngineError) { count = try session.database.activeVersionCount() } catch {
            throw self.error("begin a write in", error)
        }
        guard count > UInt64(limit) else { return }
        throw Realm.Error(
            .fail, .tooManyVersions,
            "Number of active versions (\(count)) in the Realm exceeded the limit of \(limit). Something keeps "
                + "an old version: realm.pins() shows what keeps it, and since when. Release frozen objects and "
                + "Realms on other threads, or refresh them.", fileURL: fileURL)
    }

    var fileURL: URL? { settings.configuration.fileURL }
}
