// SPDX-License-Identifier: Apache-2.0
// Who keeps old versions: the answer to "why does my file grow?", and the limit on their number.

public import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// Something that keeps a version of a Realm readable: while it does, space that only this version needs is not used
/// again.
public struct VersionPin: Sendable, CustomStringConvertible {
    /// What keeps the version.
    public enum Holder: Sendable, Equatable {
        /// A Realm that was opened in this process.
        case realm
        /// A frozen Realm, or one that a frozen object or collection belongs to.
        case frozenRealm
        /// Part of the library, for the time of an operation.
        case library
        /// Another process that has the file open.
        case otherProcess
    }

    public let holder: Holder
    /// The version; newer ones have higher numbers.
    public let version: UInt64
    /// How many versions are newer.
    public let newerVersions: UInt64
    /// The process that keeps it; 0 for a read-only one, which is not known.
    public let processIdentifier: Int32
    /// Since when; nil for another process.
    public let since: Date?
    /// The source file that opened the Realm, or the one that was frozen, as `#fileID`; nil where that is not known.
    public let fileID: String?
    /// The line in it.
    public let line: UInt?

    /// One line for a log, as "version 7, 12 behind, kept for 31.0 s by the Realm opened at App/Model.swift:40".
    public var description: String {
        var text = "version \(version), \(newerVersions) behind, kept "
        if let since { text += "for \((Date().timeIntervalSince(since) * 10).rounded() / 10) s " }
        let place = fileID.map { " at \($0):\(line ?? 0)" } ?? ""
        switch holder {
        case .realm: text += "by the Realm opened\(place)"
        case .frozenRealm: text += "by what was frozen of the Realm opened\(place)"
        case .library: text += "by the library"
        case .otherProcess:
            text += processIdentifier == 0 ? "by a process that only reads" : "by process \(processIdentifier)"
        }
        return text
    }
}

extension RealmCare where Self == Realm {
    /// Who keeps versions of this Realm, oldest version first: every open and frozen Realm of this process with the
    /// line that made it, and every other process. Look here when a file grows, or when
    /// `maximumNumberOfActiveVersions` is exceeded.
    ///
    /// What was frozen is named by the line that opened its Realm: a `freeze` that took its caller's place as parameters
    /// would be of another type than RealmSwift's, which programs pass as a value and use for protocols of their own. So
    /// is a Realm that the library opens for another one: to observe on a queue or an actor, to thaw, for `@ThreadSafe`.
    ///
    /// On the Realm's own thread. O(open Realms).
    public func pins() -> [VersionPin] {
        let realm: Realm = self
        realm.core.check()
        let database = realm.core.session.database
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
        for other in engine({ () throws(EngineError) in try database.pinsOfOthers() }) {
            pins.append(
                VersionPin(
                    holder: .otherProcess, version: other.version, newerVersions: newest - min(other.version, newest),
                    processIdentifier: Int32(truncatingIfNeeded: other.process), since: nil, fileID: nil, line: nil))
        }
        return pins.sorted { $0.version < $1.version }
    }
}

extension RealmCore {
    /// Throws where a write may not begin because too many versions are kept.
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
                + "an old version: realm.pins() tells what and since when. Release frozen objects and Realms of other "
                + "threads, or refresh them.", fileURL: fileURL)
    }

    var fileURL: URL? { settings.configuration.fileURL }
}
