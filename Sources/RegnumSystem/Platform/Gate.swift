// SPDX-License-Identifier: Apache-2.0
// A fair lock that one thread may take and another give back, as an actor's transaction needs: waiters go in
// the order in which they came. Who leaves hands it to the first of them and wakes nobody else.

package final class Gate: @unchecked Sendable {
    // Sendable: `isTaken` and `queue` are only touched inside the monitor.
    private final class Place {
        let signal = Signal()
        var isServed = false
    }
    private let monitor = Monitor()
    private var isTaken = false
    /// Oldest first.
    private var queue: [Place] = []

    package init() {}

    /// Waits for its turn, then holds the gate until `leave`. Where that takes more than `patience` nanoseconds, `whileLong`
    /// is called, which waits for the rest by calling what it is given.
    package func enter(patience: UInt64 = .max, whileLong: (_ wait: () -> Void) -> Void) {
        let place = monitor.withLock { () -> Place? in
            if !isTaken {
                isTaken = true
                return nil
            }
            let place = Place()
            queue.append(place)
            return place
        }
        guard let place else { return }
        let (now, never) = (MonotonicClock.now(), UInt64(Int64.max))
        if wait(at: place, until: patience < never - now ? now + patience : never) { return }
        whileLong { _ = wait(at: place, until: never) }
    }

    package func enter() { enter { wait in wait() } }

    /// True where it was the place's turn before `deadline`.
    private func wait(at place: Place, until deadline: UInt64) -> Bool {
        monitor.withLock {
            while !place.isServed {
                if deadline == UInt64(Int64.max) {
                    monitor.wait(on: place.signal)
                } else {
                    if MonotonicClock.now() >= deadline { return false }
                    monitor.wait(on: place.signal, until: deadline)
                }
            }
            return true
        }
    }

    /// Takes the gate only if nobody holds or awaits it.
    package func tryEnter() -> Bool {
        monitor.withLock {
            if isTaken { return false }
            isTaken = true
            return true
        }
    }

    /// True where somebody waits for his turn.
    package var isAwaited: Bool { monitor.withLock { !queue.isEmpty } }

    package func leave() {
        monitor.withLock {
            if queue.isEmpty {
                isTaken = false
            } else {
                let next = queue.removeFirst()
                next.isServed = true
                next.signal.tell()
            }
        }
    }
}
