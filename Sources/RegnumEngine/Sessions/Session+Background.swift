// SPDX-License-Identifier: Apache-2.0
// Operations on a session that serve another thread, which reads the session's version and hands back its results.

import RegnumSystem

extension Session {
    /// Returns a second session at the same version that never advances. During a write it shows the version before the
    /// write. Unlike other sessions it may be read by several threads at once. `origin` is the source location where
    /// the program froze it; without one, the location where this session was opened is used.
    package func freeze(origin: SessionOrigin? = nil) throws(EngineError) -> Session {
        database.versions.pinAgain(current)
        return try Session(
            database, at: current, isFrozen: true, origin: origin ?? self.origin?.frozen, ticket: ticket)
    }

    /// Waits until the version shown by `other`, a frozen session, is on stable storage or has failed. After that,
    /// `refresh` either finds it or never will.
    package func wait(for other: Session) {
        guard let ticket = other.ticket else { return }
        do { try database.wait(for: ticket) } catch {}
    }

    /// Like `freeze`, for an internal operation that has no source location in the program.
    package func freezeForLibrary() throws(EngineError) -> Session {
        database.versions.pinAgain(current)
        return try Session(database, at: current, isFrozen: true, ticket: ticket)
    }

    /// True if both sessions show the same version: the same number, and the same commit if one with that number was
    /// abandoned.
    package func shows(versionOf other: Session) -> Bool {
        current.number == other.current.number && current.catalog == other.current.catalog
    }

    /// True if the version shown was committed but failed to reach stable storage.
    package var isAbandoned: Bool {
        guard let ticket else { return false }
        return database.queue.monitor.withLock { ticket.failure != nil }
    }

    /// While `hasLeftAbandoned`: the smallest key of the table that a commit may have given to an object before it
    /// failed; nil if that is unknown.
    package func firstAbandonedKey(of table: TableKey) -> UInt64? {
        guard let leftCatalog else { return nil }
        return leftCatalog.tables.first { $0.key == table }?.nextObjectKey ?? 1
    }
}
