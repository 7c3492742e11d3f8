// SPDX-License-Identifier: Apache-2.0
// A fair lock that one thread may take and another may release, as an actor's transaction needs. Waiters are served in
// the order of their arrival: `leave` hands the lock to the first of them and wakes no other thread.

package final class FairLock: @unchecked Sendable {
    // Sendable: `isTaken` and `queue` are only accessed inside the monitor.
    private final class Place {
        let signal = Signal()
        var isServed = false
    }
    private let monitor = Monitor()
    private var isTaken = false
    /// Oldest waiter first.
    private var queue: [Place] = []

    package init() {}

    /// A deadline that never passes.
    package static let never = UInt64(Int64.max)

    /// Waits for the lock, then holds it until `leave`. After `patience` nanoseconds of waiting, calls `whileLong`,
    /// which waits for the rest by calling its argument. Returns false if the lock was not available before `deadline`.
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

    /// Leaves the queue; returns false if the lock was already handed to this waiter.
    private func giveUp(_ place: Place) -> Bool {
        monitor.withLock {
            if place.isServed { return false }
            queue.removeAll { $0 === place }
            return true
        }
    }

    package func enter() { enter { wait in wait() } }

    /// Returns true if the lock was handed to this waiter before `deadline`.
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

    /// Takes the lock only if no thread holds it or waits for it.
    package func tryEnter() -> Bool {
        monitor.withLock {
            if isTaken { return false }
            isTaken = true
            return true
        }
    }

    /// True if a thread waits for the lock.
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
