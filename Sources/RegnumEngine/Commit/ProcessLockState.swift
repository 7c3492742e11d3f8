// SPDX-License-Identifier: Apache-2.0
// How this process holds the cross-process writer lock. Commits that are queued or failed may keep it longer than the
// writer needs it.
//
//     released ──acquired──▶ held ──────────────released──────────────▶ released
//                              └──keepForFailed──▶ keptForFailed ──┘

import RegnumSystem

/// The state of the cross-process writer lock in this process. Guard: the monitor of the commit queue.
struct ProcessLockState {
    enum State {
        case released, held
        /// Kept because a session shows a failed commit, whose pages other processes do not know.
        case keptForFailed
    }

    private(set) var state = State.released
    /// True while a writer of this process holds the writer lock, or waits for the cross-process one.
    private(set) var isWriterInside = false
    /// When the lock was acquired, in nanoseconds of the monotonic clock.
    private(set) var acquiredAt: UInt64 = 0

    var isHeld: Bool { state != .released }
    var isKeptForFailed: Bool { state == .keptForFailed }

    mutating func writerEntered() {
        Invariants.require("process lock", isWriterInside ? ["two writers"] : [])
        isWriterInside = true
    }
    mutating func writerLeft() { isWriterInside = false }

    /// Without other processes (`isShared` false) there is no lock to hold.
    mutating func acquired(isShared: Bool) {
        Invariants.require("process lock", isWriterInside ? [] : ["a lock that no writer has asked for"])
        state = isShared ? .held : .released
        acquiredAt = MonotonicClock.now()
    }

    mutating func keepForFailed() {
        Invariants.require("process lock", isHeld ? [] : ["a lock that is not held cannot be kept"])
        state = .keptForFailed
    }

    mutating func released() {
        Invariants.require("process lock", isWriterInside ? ["the lock of a writer at work was released"] : [])
        state = .released
    }
}
