// SPDX-License-Identifier: Apache-2.0
// A look at what observers are to be told that takes long, by a thread of its own: the Realm's own thread goes on at
// its version meanwhile.

internal import Dispatch
internal import RegnumEngine
internal import RegnumObservation
internal import Synchronization

final class BackgroundLook: @unchecked Sendable {
    // Sendable: `preparation` is run by the thread that claims it, and changed behind that.
    private var preparation: ChangePreparation?
    /// The Realm may be gone before the thread is done with its file.
    private let lettingGo: LettingGo
    private let isClaimed = Atomic(false)
    private let done = DispatchGroup()
    private let isOver = Atomic(false)

    /// Begins. `whenDone` is called on any thread.
    init(_ made: ChangePreparation, whenDone: @escaping @Sendable () -> Void) {
        preparation = made
        lettingGo = made.newer.database.lettingGo()
        done.enter()
        // It captures nothing that reads the file but this.
        DispatchQueue.global(qos: .userInitiated).async { [self] in
            runIfFirst()
            whenDone()
        }
    }

    // The file is let go of behind what reads it.
    deinit { preparation = nil }

    private func runIfFirst() {
        if isClaimed.exchange(true, ordering: .acquiringAndReleasing) { return }
        versions.run()
        isOver.store(true, ordering: .releasing)
        done.leave()
    }

    /// What is being looked at. Not behind `letGo`.
    var versions: ChangePreparation {
        guard let preparation else { preconditionFailure("a look that has ended") }
        return preparation
    }

    var isDone: Bool { isOver.load(ordering: .acquiring) }

    /// What was found. Waits for it, and looks itself where no thread has begun to: who holds a lock must not wait for
    /// one that others may keep busy.
    func result() -> ChangePreparation {
        runIfFirst()
        done.wait()
        return versions
    }

    /// Waits, and keeps nothing open any more.
    func letGo() {
        _ = result()
        preparation = nil
    }
}

/// What the Realm's own thread looks at by itself.
package struct LookLimits: Sendable {
    /// Objects of a table that have changed: what is made of one takes up to some microseconds.
    package var changes = 1024
    /// Objects of a table that a query runs over.
    package var rows = 8192

    package init() {}

    /// Everything is looked at elsewhere, for tests.
    package static var none: LookLimits {
        var limits = LookLimits()
        (limits.changes, limits.rows) = (0, 0)
        return limits
    }
}
