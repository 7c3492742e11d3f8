// SPDX-License-Identifier: Apache-2.0
// `Lock`: one thread at a time, even in the child of a fork.

import Foundation
import RegnumSystem
import Testing

@Suite struct LockTests {
    private static func add(_ threads: Int, to sum: LockedSum) {
        let isDone = Monitor()
        for _ in 0..<threads {
            _ = DetachedThread.start {
                for _ in 0..<2000 { sum.number.withLock { $0 += 1 } }
                isDone.withLock {
                    sum.ended += 1
                    isDone.tellAll()
                }
            }
        }
        for _ in 0..<2000 { sum.number.withLock { $0 += 1 } }
        isDone.withLock { while sum.ended < threads { isDone.wait() } }
    }

    private final class LockedSum: @unchecked Sendable {
        // Sendable: `ended` is accessed with the monitor of `add` only.
        let number = Lock(0)
        var ended = 0
    }

    @Test("One thread holds the lock at a time")
    func exclusion() {
        let sum = LockedSum()
        Self.add(3, to: sum)
        #expect(sum.number.withLock { $0 } == 8000)
    }

    @Test("Threads of a forked child wait for each other as in any process")
    func forked() async throws {
        await #expect(processExitsWith: .success) {
            let sum = LockedSum()
            // The parent's thread has used the lock: anything cached about it is cached now.
            sum.number.withLock { $0 = 0 }
            let fork = unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> Int32).self)
            let child = fork()
            if child == 0 {
                LockTests.add(3, to: sum)
                exit(sum.number.withLock { $0 } == 8000 ? 0 : 1)
            }
            var status: Int32 = -1
            exit(waitpid(child, &status, 0) == child && status == 0 ? 0 : 2)
        }
    }
}
