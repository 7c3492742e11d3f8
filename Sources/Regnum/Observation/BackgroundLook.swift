// SPDX-License-Identifier: Apache-2.0
// A look at what observers are to be told that takes long, by a thread of its own: the Realm's own thread goes on at
// its version meanwhile.

internal import Dispatch
internal import RegnumEngine
internal import RegnumObservation
internal import Synchronization

final class BackgroundLook: @unchecked Sendable {
    // Sendable: `preparation` is only changed in `deinit`.
    private var preparation: ChangePreparation?
    /// The Realm may be gone before the thread is done with its file.
    private let lettingGo: LettingGo
    private let done = DispatchGroup()
    private let isOver = Atomic(false)

    /// Begins. `whenDone` is called on any thread.
    init(_ preparation: ChangePreparation, whenDone: @escaping @Sendable () -> Void) {
        self.preparation = preparation
        lettingGo = preparation.newer.database.lettingGo()
        done.enter()
        DispatchQueue.global(qos: .userInitiated).async { [self] in
            preparation.run()
            isOver.store(true, ordering: .releasing)
            done.leave()
            whenDone()
        }
    }

    // The file is let go of behind what reads it.
    deinit { preparation = nil }

    /// What is being looked at.
    var versions: ChangePreparation {
        guard let preparation else { preconditionFailure("a look that has ended") }
        return preparation
    }

    var isDone: Bool { isOver.load(ordering: .acquiring) }

    /// What was found; waits for it.
    func result() -> ChangePreparation {
        done.wait()
        return versions
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
