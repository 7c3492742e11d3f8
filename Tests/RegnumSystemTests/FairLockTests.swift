// SPDX-License-Identifier: Apache-2.0
// The writer lock's gate: one thread at a time, in order of arrival, and the report of long waits.

import RegnumSystem
import Testing

@Suite struct FairLockTests {
    /// The steps of threads; accessed inside the monitor only.
    private final class Log: @unchecked Sendable {
        // Sendable: see above.
        let monitor = Monitor()
        var lines: [Int] = []

        func add(_ line: Int) {
            monitor.withLock {
                lines.append(line)
                monitor.tellAll()
            }
        }

        func wait(for count: Int) -> [Int] {
            monitor.withLock {
                while lines.count < count { monitor.wait() }
                return lines
            }
        }
    }

    @Test("Waiters enter in order of arrival")
    func order() {
        let (gate, came, went, left) = (FairLock(), Log(), Log(), Log())
        gate.enter()
        for number in 0..<20 {
            _ = DetachedThread.start {
                // Patience is zero, so the waiting is reported immediately: the thread is known to be queued.
                gate.enter(patience: 0) { wait in
                    came.add(number)
                    wait()
                }
                went.add(number)
                gate.leave()
                left.add(number)
            }
            _ = came.wait(for: number + 1)
        }
        gate.leave()
        #expect(went.wait(for: 20) == Array(0..<20))
        // The last one holds the gate until then.
        _ = left.wait(for: 20)
        #expect(gate.tryEnter())
    }

    @Test("One thread enters at a time, and none is lost")
    func exclusion() {
        let (gate, ended) = (FairLock(), Log())
        let sum = Sum()
        for number in 0..<8 {
            _ = DetachedThread.start {
                for turn in 0..<500 {
                    if turn % 3 != 0 || !gate.tryEnter() { gate.enter() }
                    sum.number += 1
                    gate.leave()
                }
                ended.add(number)
            }
        }
        _ = ended.wait(for: 8)
        #expect(sum.number == 4000)
    }

    private final class Sum: @unchecked Sendable {
        // Sendable: accessed by the holder of the gate only.
        var number = 0
    }

    @Test("Another thread may release the gate, and tryEnter only succeeds if it is free")
    func otherThread() {
        let (gate, log) = (FairLock(), Log())
        #expect(gate.tryEnter())
        #expect(!gate.tryEnter())
        _ = DetachedThread.start {
            gate.leave()
            log.add(0)
        }
        _ = log.wait(for: 1)
        var isLong = false
        gate.enter(patience: 0) { wait in
            isLong = true
            wait()
        }
        #expect(!isLong)
    }

    @Test("A thread that waits longer than its patience is notified once, and continues to wait")
    func patience() {
        let (gate, log) = (FairLock(), Log())
        gate.enter()
        _ = DetachedThread.start {
            gate.enter(patience: 2_000_000) { wait in
                log.add(1)
                wait()
                log.add(2)
            }
            log.add(3)
            gate.leave()
        }
        #expect(log.wait(for: 1) == [1])
        gate.leave()
        #expect(log.wait(for: 3) == [1, 2, 3])
        // The gate has been released.
        gate.enter()
    }
}
