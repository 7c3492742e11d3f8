// SPDX-License-Identifier: Apache-2.0
// What a session is asked for another thread's sake, which reads its version and gives back what it has found.

import RegnumSystem

extension Session {
    /// A second session at the same version that never advances. While writing it shows the version before.
    /// Unlike others it may be read by several threads at once. `origin` says where a program froze; without it the
    /// place that opened this session stands for it.
    package func freeze(origin: SessionOrigin? = nil) throws(EngineError) -> Session {
        database.versions.pinAgain(current)
        return try Session(
            database, at: current, isFrozen: true, origin: origin ?? self.origin?.frozen, ticket: ticket)
    }

    /// Waits until what `other` shows, which is frozen, is on the medium or has failed: from then on `refresh` finds
    /// it, or never will.
    package func wait(for other: Session) {
        guard let ticket = other.ticket else { return }
        do { try database.wait(for: ticket) } catch {}
    }

    /// As `freeze`, for an operation of the library that no line of a program has asked for.
    package func freezeForLibrary() throws(EngineError) -> Session {
        database.versions.pinAgain(current)
        return try Session(database, at: current, isFrozen: true, ticket: ticket)
    }

    /// True where both show the same version: the same number, and not that of one that was abandoned.
    package func shows(versionOf other: Session) -> Bool {
        current.number == other.current.number && current.catalog == other.current.catalog
    }

    /// True where what is shown was committed and has failed to come to the medium.
    package var isAbandoned: Bool {
        guard let ticket else { return false }
        return database.line.monitor.withLock { ticket.failure != nil }
    }
}
