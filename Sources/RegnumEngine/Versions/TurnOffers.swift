// SPDX-License-Identifier: Apache-2.0
// Turns to write that are held for somebody who did not wait for them on his own thread.
//
//     offerTurn waits for the gate ──▶ offered ──accept──▶ the session it was meant for writes
//                                        └────take────▶ whoever begins a write first; `onTaken` asks anew
//
// A thread that begins a write must never wait for a turn that is offered to itself. So a turn is only offered while
// nobody waits at the gate, and whoever comes while it is offered takes it.

import RegnumSystem

/// Any thread. State: `waiting` and `offer`, guarded by the mutex, which is never held while `onTaken` runs.
final class TurnOffers: Sendable {
    private struct Offer {
        let number: UInt64
        let onTaken: @Sendable () -> Void
    }
    private struct State {
        var waiting = 0
        var offer: Offer?
    }
    private let state = Lock(State())

    /// True where a turn was offered, which is the caller's now. Else the caller waits at the gate, and tells with
    /// `hasEntered` when it is through.
    func take() -> Bool {
        let offer = state.withLock { state -> Offer? in
            defer { state.offer = nil }
            if state.offer == nil { state.waiting += 1 }
            return state.offer
        }
        guard let offer else { return false }
        offer.onTaken()
        return true
    }

    func hasEntered() { state.withLock { $0.waiting -= 1 } }

    /// Offers the turn that the caller has; false where somebody waits at the gate.
    fileprivate func make(_ number: UInt64, _ onTaken: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.waiting == 0 else { return false }
            state.offer = Offer(number: number, onTaken: onTaken)
            return true
        }
    }

    /// True where the turn of that number was still offered: it is the caller's now.
    func accept(_ number: UInt64) -> Bool {
        state.withLock { state in
            guard state.offer?.number == number else { return false }
            state.offer = nil
            return true
        }
    }
}

extension Database {
    /// Waits for the writer's turn and leaves it offered under `number`, for `Session.beginWrite(acceptingTurn:)` or
    /// `declineTurn`. Whoever begins a write first has it: where that is another one, `onTaken` is called on that
    /// thread. Any thread; one turn is offered at a time.
    package func offerTurn(_ number: UInt64, onTaken: @escaping @Sendable () -> Void) throws(EngineError) {
        while true {
            try enterWriter()
            noteWriter(WriterNote(.offered))
            if offers.make(number, onTaken) { return }
            leaveWriter()
        }
    }

    /// Gives an offered turn back; false where it is not offered any more.
    package func declineTurn(_ number: UInt64) -> Bool {
        guard offers.accept(number) else { return false }
        leaveWriter()
        return true
    }
}
