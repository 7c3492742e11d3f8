// SPDX-License-Identifier: Apache-2.0
// Computes an expensive change set on another thread, while the Realm's own thread continues at its version.

internal import Dispatch
internal import RegnumEngine
internal import RegnumObservation
internal import Synchronization

final class BackgroundDiff: @unchecked Sendable {
    // Sendable: `preparation` is run by the thread that claims it, and changed only after that.
    private var preparation: ChangePreparation?
    /// Marks the file as about to be released: the Realm may be gone before the thread has finished reading it.
    private let lettingGo: LettingGo
    private let isClaimed = Atomic(false)
    private let done = DispatchGroup()
    private let isOver = Atomic(false)

    /// Starts the diff. `whenDone` is called on any thread.
    init(_ made: ChangePreparation, whenDone: @escaping @Sendable () -> Void) {
        preparation = made
        lettingGo = made.newer.database.lettingGo()
        done.enter()
        // Captures nothing that reads the file except this object.
        DispatchQueue.global(qos: .userInitiated).async { [self] in
            runIfFirst()
            whenDone()
        }
    }

    // Release the readers of the file before `lettingGo`.
    deinit { preparation = nil }

    private func runIfFirst() {
        if isClaimed.exchange(true, ordering: .acquiringAndReleasing) { return }
        versions.run()
        isOver.store(true, ordering: .releasing)
        done.leave()
    }

    /// The diff. Must not be used after `letGo`.
    var versions: ChangePreparation {
        guard let preparation else { preconditionFailure("a diff that has ended") }
        return preparation
    }

    var isDone: Bool { isOver.load(ordering: .acquiring) }

    /// Returns the finished diff. Waits for it, and computes it on this thread if no other thread has begun: a caller
    /// that holds a lock must not depend on threads that others may keep busy.
    func result() -> ChangePreparation {
        runIfFirst()
        done.wait()
        return versions
    }

    /// Waits for the diff and releases everything that keeps the file open.
    func letGo() {
        _ = result()
        preparation = nil
    }
}

/// The largest diffs that the Realm's own thread computes.
package struct DiffLimits: Sendable {
    /// The number of changed objects of a table; each takes up to a few microseconds.
    package var changes = 1024
    /// The number of objects of a table that a query reads.
    package var rows = 8192

    package init() {}

    /// Leaves every diff to another thread, for tests.
    package static var none: DiffLimits {
        var limits = DiffLimits()
        (limits.changes, limits.rows) = (0, 0)
        return limits
    }
}
