// SPDX-License-Identifier: Apache-2.0
// Lists the Realms of a configuration that are open in this process, for a test kit that checks which Realms a test has
// left open.

internal import RegnumEngine
internal import Synchronization

/// An open or frozen Realm, as it was when it was found.
package struct OpenRealm: Sendable, CustomStringConvertible {
    package var isFrozen: Bool
    package var isWriting: Bool
    /// The number of observations that have not ended; they keep the Realm open.
    package var observationCount: Int
    /// True if code abandoned at a programmer error may be holding it.
    package var mayBeAbandoned: Bool
    /// Where it was opened, for messages.
    package var home: String
    package var fileID: String?
    package var line: UInt?

    package var description: String {
        var text = isFrozen ? "A frozen Realm" : "A Realm"
        if let fileID, let line {
            text += isFrozen ? " of the one opened at \(fileID):\(line)" : " opened at \(fileID):\(line)"
        }
        text += " is still open"
        if !isFrozen { text += " (\(home))" }
        if isWriting { text += ", inside a write transaction" }
        switch observationCount {
        case 0: break
        case 1: text += "; one of its notification tokens was not invalidated"
        default: text += "; \(observationCount) of its notification tokens were not invalidated"
        }
        return text + "."
    }
}

extension Realm.Configuration {
    /// The Realms at this location that are open in this process, on any thread. Empty for a configuration that
    /// contradicts itself. Any thread; O(Realms open in the process).
    package func openRealms() -> [OpenRealm] {
        guard let place = try? validated() else { return [] }
        return RealmCache.shared.cores(at: place).map { core in
            OpenRealm(
                isFrozen: core.isFrozen, isWriting: !core.isFrozen && core.isWriting,
                observationCount: core.livingObservations,
                mayBeAbandoned: core.mayBeAbandoned.load(ordering: .relaxed), home: core.settings.home,
                fileID: core.session.origin.map { "\($0.fileID)" }, line: core.session.origin?.line)
        }
    }
}

extension RealmCore {
    /// Call after a body has been abandoned on this thread: its stack frames may hold any Realm that this thread uses,
    /// and the frozen Realms at the same location. O(Realms open in the process).
    package static func noteAbandonedBody() {
        let here = currentThreadWord()
        for place in RealmCache.shared.placesHere() {
            let cores = RealmCache.shared.cores(at: place)
            let used = cores.filter { !$0.isFrozen && $0.session.state.pointee.owner == here }
            if used.isEmpty { continue }
            for core in used + cores.filter(\.isFrozen) { core.mayBeAbandoned.store(true, ordering: .relaxed) }
        }
    }
}
