// SPDX-License-Identifier: Apache-2.0
// The writer lock of one process: one thread at a time writes. It is fair, records its holder for the threads that
// wait, and can be handed to an asynchronous writer that does not block its own thread to acquire it.
//
//     free ──enter, tryEnter──▶ held ──leave──▶ free
//                                │ ▲
//                          offer │ │ accept: the session it was meant for writes, or gives the lock back
//                                ▼ │ takeOffer: the next thread to begin a write has it; `onTaken` asks again
//                              offered
//
// A thread that begins a write must never wait for a lock that is offered to itself. So the lock is only offered while
// no thread waits for it, and the first thread that asks for it while it is offered takes it.

import RegnumSystem
import Synchronization

/// Thread-safe. `onTaken` is called without any lock held.
final class WriterLock: Sendable {
    private struct Offer {
        let number: UInt64
        let onTaken: @Sendable () -> Void
    }
    private struct State {
        /// Threads between `takeOffer` and the end of `enter`.
        var waiting = 0
        var offer: Offer?
        var holder: WriterLockHolder?

        /// Returns what is wrong; empty if nothing is.
        var findings: [String] {
            var findings: [String] = []
            if waiting < 0 { findings.append("\(waiting) threads wait") }
            if offer != nil {
                if case .offered? = holder?.holder {} else { findings.append("an offered lock has another holder") }
            }
            return findings
        }
    }
    private let gate = FairLock()
    private let state = Lock(State())
    /// The thread that notifies observers that a write begins; 0 if none does. Only the holder stores it.
    private let notifier = Atomic<UInt>(0)

    /// Runs a transition, and checks the state at its end.
    @inline(__always)
    private func transition<R>(_ body: (inout State) -> R) -> R {
        state.withLock { state in
            defer { Invariants.require("writer lock", state.findings) }
            return body(&state)
        }
    }

    // MARK: Holding

    /// Takes an offered lock; true if there was one, and the caller holds it now. Otherwise the caller must call
    /// `enter`.
    func takeOffer() -> Bool {
        let offer = transition { state -> Offer? in
            defer { state.offer = nil }
            if state.offer == nil { state.waiting += 1 }
            return state.offer
        }
        guard let offer else { return false }
        offer.onTaken()
        return true
    }

    /// Waits for the lock, after `takeOffer` has returned false. Calls `waiting` around the wait if it is long. Returns
    /// false if the deadline has passed.
    func enter(until deadline: UInt64, _ waiting: (() -> Void) -> Void) -> Bool {
        defer { transition { $0.waiting -= 1 } }
        return gate.enter(patience: WriterWait.patience, until: deadline, whileLong: waiting)
    }

    /// Takes the lock unless another thread holds it or it is offered.
    func tryEnter() -> Bool { gate.tryEnter() }

    /// Call before the state that the lock guards is given back.
    func willLeave() {
        transition { state in
            assert(state.offer == nil, "an offered lock was released")
            state.holder = nil
        }
        setNotifying(false)
    }

    func leave() { gate.leave() }

    /// True if another thread waits for the lock.
    var isAwaited: Bool { gate.isAwaited }

    // MARK: The holder

    /// The holder, as far as known. Any thread reads it.
    var holder: WriterLockHolder? { state.withLock { $0.holder } }

    /// Requires the lock.
    func setHolder(_ holder: WriterLockHolder) { transition { $0.holder = holder } }

    func isHeld(by thread: UInt) -> Bool {
        state.withLock { state in
            if case .thread(thread)? = state.holder?.holder { true } else { false }
        }
    }

    func setNotifying(_ isNotifying: Bool) { notifier.store(isNotifying ? CurrentThread.id : 0, ordering: .relaxed) }

    var isNotifyingHere: Bool { notifier.load(ordering: .relaxed) == CurrentThread.id }

    // MARK: Hand-off

    /// Offers the lock that the caller holds; false if a thread is waiting for it.
    func offer(_ number: UInt64, _ onTaken: @escaping @Sendable () -> Void) -> Bool {
        transition { state in
            assert(state.offer == nil, "two offers")
            guard state.waiting == 0 else { return false }
            state.offer = Offer(number: number, onTaken: onTaken)
            state.holder = WriterLockHolder(.offered)
            return true
        }
    }

    /// Takes an offered lock, for the end of the process: `onTaken` is not called. True if it was offered.
    func takeUnaccepted() -> Bool {
        transition { state in
            defer { state.offer = nil }
            return state.offer != nil
        }
    }

    /// Takes the lock offered as `number`; true if it was still offered, and the caller holds it now.
    func accept(_ number: UInt64) -> Bool {
        transition { state in
            guard state.offer?.number == number else { return false }
            state.offer = nil
            return true
        }
    }
}
