// SPDX-License-Identifier: Apache-2.0
// What a session is asked for another thread's sake, which reads its version and gives back what it has found.

import RegnumSystem

extension Session {
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
