// SPDX-License-Identifier: Apache-2.0
// Hand-off of the writer lock to an asynchronous writer that does not block its own thread to acquire it.
//
//     offerTurn waits for the lock ──▶ offered ──accept──▶ the session it was meant for writes
//                                        └────take────▶ the next thread to begin a write; `onTaken` asks again
//
// A thread that begins a write must never wait for a lock that is offered to itself. So the lock is only offered while
// no thread waits for it, and the first thread that asks for it while it is offered takes it.

import RegnumSystem

/// Thread-safe. State: `waiting` and `offer`, guarded by the mutex, which is never held while `onTaken` runs.
final class WriterLockHandOff: Sendable {
    private struct Offer {
        let number: UInt64
        let onTaken: @Sendable () -> Void
    }
    private struct State {
        var waiting = 0
        var offer: Offer?
    }
    private let state = Lock(State())

    /// Takes an offered writer lock; true if there was one, and the caller holds it now. Otherwise the caller must wait
    /// for the lock, and call `hasEntered` when it has it.
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

    /// Offers the writer lock that the caller holds; false if a thread is waiting for it.
    fileprivate func make(_ number: UInt64, _ onTaken: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.waiting == 0 else { return false }
            state.offer = Offer(number: number, onTaken: onTaken)
            return true
        }
    }

    /// Takes the lock offered as `number`; true if it was still offered, and the caller holds it now.
    func accept(_ number: UInt64) -> Bool {
        state.withLock { state in
            guard state.offer?.number == number else { return false }
            state.offer = nil
            return true
        }
    }
}

extension Database {
    /// Waits for the writer lock and leaves it offered as `number`, for `Session.beginWrite(acceptingTurn:)` or
    /// `declineTurn`. If another thread begins a write first, it takes the lock and calls `onTaken`. Any thread; only
    /// one offer exists at a time.
    package func offerTurn(_ number: UInt64, onTaken: @escaping @Sendable () -> Void) throws(EngineError) {
        while true {
            try enterWriter()
            noteWriter(WriterLockHolder(.offered))
            if offers.make(number, onTaken) { return }
            leaveWriter()
        }
    }

    /// Releases an offered writer lock; false if it is no longer offered.
    package func declineTurn(_ number: UInt64) -> Bool {
        guard offers.accept(number) else { return false }
        leaveWriter()
        return true
    }
}
