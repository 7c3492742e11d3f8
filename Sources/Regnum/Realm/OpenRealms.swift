// SPDX-License-Identifier: Apache-2.0
// Which Realms of a configuration are open in this process, for a test kit that looks for what a test has left.

internal import RegnumEngine
internal import Synchronization

/// An open or frozen Realm as it was found.
package struct OpenRealm: Sendable, CustomStringConvertible {
    package var isFrozen: Bool
    package var isWriting: Bool
    /// Observations that have not ended; they keep the Realm open.
    package var observationCount: Int
    /// True where code that was abandoned at a misuse may be what holds it.
    package var mayBeAbandoned: Bool
    /// Where it was opened, in words.
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
        case 1: text += "; a notification token of it was not invalidated"
        default: text += "; \(observationCount) notification tokens of it were not invalidated"
        }
        return text + "."
    }
}

extension Realm.Configuration {
    /// The Realms of this place that are open in this process, on whatever thread. Empty for a configuration that
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
    /// To be called where a body on this thread was abandoned: its frames may hold any Realm that this thread uses, and
    /// what is frozen of it. O(Realms open in the process).
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
