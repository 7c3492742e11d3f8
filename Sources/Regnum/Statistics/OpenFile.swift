// SPDX-License-Identifier: Apache-2.0
// An open file or in-memory Realm as a reader of its statistics refers to it: without keeping it open.

internal import RegnumEngine
internal import RegnumSystem

/// The counts of a file, also after it was closed. Any thread.
package struct OpenFile: Sendable {
    private struct Weak: Sendable { weak var database: Database? }
    private let reference: Weak
    private let file: FileIdentity
    private let counters: OperationCounters
    /// The path or the identifier.
    package let name: String

    init(_ database: Database) {
        reference = Weak(database: database)
        file = database.identity
        counters = database.counters
        name = database.path
    }

    /// Two openings of a file that was closed in between are different.
    package var id: ObjectIdentifier { ObjectIdentifier(counters) }

    /// The counts since the file was opened in this process.
    package var totals: RealmStatistics.Totals { RealmStatistics.Totals(counters.counts) }

    /// True if the file was closed, and `totals` is final from now on. In the child of a fork, files of the parent stay
    /// open.
    package var isClosed: Bool { counters.isClosed }

    /// Statistics of the file; nil after it was closed.
    package var statistics: RealmStatistics? { whileOpen { RealmStatistics(of: $0) } }

    private func whileOpen<R>(_ body: (Database) -> R) -> R? {
        if counters.isClosed { return nil }
        // Held for longer than the database, so that a thread that wants to delete the file waits for this one.
        let letting = LettingGo(file: file)
        defer { withExtendedLifetime(letting) {} }
        guard let database = reference.database, !database.isForked else { return nil }
        return body(database)
    }

    /// The pins on versions of the file, oldest version first; empty after it was closed.
    package var pins: [VersionPin] { whileOpen { VersionPin.all(of: $0) } ?? [] }

    /// The holder of the writer lock; nil if the lock is free, its holder is not known, or the file was closed.
    package var writer: RealmStatistics.Writer? {
        whileOpen { RealmStatistics.Writer(of: $0) } ?? nil
    }

    /// The files and in-memory Realms that are open in this process.
    package static var all: [OpenFile] { Database.mapOpen { OpenFile($0) } }
}
