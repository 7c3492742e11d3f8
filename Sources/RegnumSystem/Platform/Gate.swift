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

    /// A deadline that never comes.
    package static let never = UInt64(Int64.max)

    /// Waits for its turn, then holds the gate until `leave`. Where that takes more than `patience` nanoseconds, `whileLong`
    /// is called, which waits for the rest by calling what it is given. False where it was not its turn before `deadline`.
    @discardableResult
    package func enter(
        patience: UInt64 = .max, until deadline: UInt64 = never, whileLong: (_ wait: () -> Void) -> Void
    ) -> Bool {
        let place = monitor.withLock { () -> Place? in
            if !isTaken {
                isTaken = true
                return nil
            }
            let place = Place()
            queue.append(place)
            return place
        }
        guard let place else { return true }
        let now = MonotonicClock.now()
        let first = min(deadline, patience < Self.never - now ? now + patience : Self.never)
        if wait(at: place, until: first) { return true }
        var isServed = false
        if first < deadline { whileLong { isServed = wait(at: place, until: deadline) } }
        return isServed || !giveUp(place)
    }

    /// False where it is its turn already.
    private func giveUp(_ place: Place) -> Bool {
        monitor.withLock {
            if place.isServed { return false }
            queue.removeAll { $0 === place }
            return true
        }
    }

    package func enter() { enter { wait in wait() } }

    /// True where it was the place's turn before `deadline`.
    private func wait(at place: Place, until deadline: UInt64) -> Bool {
        monitor.withLock {
            while !place.isServed {
                if deadline == Self.never {
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
