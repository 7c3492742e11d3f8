// SPDX-License-Identifier: Apache-2.0
// Calls to users' blocks: the calls that are due, in order, and the kinds of calls that are on the stack. A block may
// write, refresh, run its run loop or end any observation, so everything here can be reached from within a call.
//
//     idle ──send──▶ sending ──no call is left──▶ idle         calls that a block makes due are made by the same `send`
//     idle ──notifying──▶ notifying `.didChange` ──▶ idle         may nest, even in `sending`
//     idle ──asking──▶ asking for a refresh ──▶ idle
//
// A turn that arrives while blocks are on the stack is skipped, and another one is scheduled when the last of them has
// returned.
//
// Confined to the Realm.

/// A call to a user's block that is due.
struct DueCall {
    let entry: ObservationEntry
    /// True for the initial call of an observation.
    let isFirst: Bool
    let call: () -> Void
}

final class CallbackQueue {
    /// Calls that are due, in order. A block that writes appends to it during iteration.
    private var pending: [DueCall] = []
    private(set) var isDelivering = false
    /// The number of calls to observers of the Realm that are on the stack.
    private var notifyingDepth = 0
    /// True while observers of the Realm are notified of `.refreshRequired`.
    private var isAsking = false
    private var hasMissedTurn = false

    /// True while a block is called with changes.
    var isSending: Bool { isDelivering || notifyingDepth > 0 }
    /// Also true while a block is called with `.refreshRequired`.
    var isCalling: Bool { isSending || isAsking }

    var count: Int { pending.count }

    func append(_ calls: [DueCall]) { pending += calls }

    /// Removes and returns the initial calls among those appended after the first `known`.
    func takeFirsts(after known: Int) -> [DueCall] {
        let firsts = pending[known...].filter(\.isFirst)
        pending[known...].removeAll(where: \.isFirst)
        return firsts
    }

    /// Makes the calls that are due. Returns false if a caller on the stack is making them. `call` makes one of them.
    func send(_ call: (DueCall) -> Void) -> Bool {
        if isDelivering { return false }
        isDelivering = true
        var next = 0
        while next < pending.count {
            let due = pending[next]
            next += 1
            if !due.entry.isEnded { call(due) }
        }
        pending = []
        isDelivering = false
        assertState()
        return true
    }

    /// Runs `body`, which notifies observers of the Realm of a change.
    func notifying(_ body: () -> Void) {
        notifyingDepth += 1
        defer { notifyingDepth -= 1 }
        body()
    }

    /// Runs `body`, which asks observers of the Realm to refresh it.
    func asking(_ body: () -> Void) {
        isAsking = true
        defer { isAsking = false }
        body()
    }

    /// Records that a turn was skipped because blocks are on the stack.
    func missTurn() {
        assert(isCalling, "a turn was skipped for nothing")
        hasMissedTurn = true
    }

    /// Returns true if a skipped turn must be scheduled again now.
    func takeMissedTurn() -> Bool {
        if !hasMissedTurn || isCalling { return false }
        hasMissedTurn = false
        return true
    }

    private func assertState() {
        assert(isDelivering || pending.isEmpty, "calls are due, but nothing makes them")
        assert(notifyingDepth >= 0)
    }
}
