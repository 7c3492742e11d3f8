// SPDX-License-Identifier: Apache-2.0
// A process that ends by `exit`, or by returning from its main function, with databases open: no `deinit` runs, so this
// file does what the `deinit` of a database does, unless another thread or process is in the way.

import RegnumSystem

extension DatabaseRegistry {
    /// Accessed by each commit, which registers the handler: processes that only read have nothing to do at their end.
    static let closesAtExit: Void = ProcessEnd.call { DatabaseRegistry.shared.closeAllAtExit() }

    /// How long, in nanoseconds, the end of a process waits for a running sync and for threads that write.
    private static let patience: UInt64 = 3_000_000_000

    private func closeAllAtExit() {
        // In the child of a fork a thread of the parent may hold any lock.
        guard ForkWatch.generation == generationOfOpening else { return }
        let deadline = MonotonicClock.now() + Self.patience
        let thread = CurrentThread.id
        // An exit inside a write transaction, or in a signal handler, has interrupted whatever this thread was doing.
        ProcessEnd.run(until: deadline) {
            for database in self.openFiles { database.closeAtExit(of: thread, until: deadline) }
        }
    }
}

extension Database {
    /// Makes all commits durable and writes the clean-shutdown record. `thread` ends the process: a transaction that it
    /// has begun goes no further. Other threads may go on writing in the meantime.
    fileprivate func closeAtExit(of thread: UInt, until deadline: UInt64) {
        if isForked || options.isReadOnly || isVolatile || !queue.monitor.withLock({ queue.hasCommitted }) { return }
        let isWithinWrite = writerLock.isHeld(by: thread)
        if !isWithinWrite {
            while (try? tryEnterWriter()) != true {
                if MonotonicClock.now() > deadline { return }
                CurrentThread.sleep(nanoseconds: 1_000_000)
            }
        }
        do { try syncAll() } catch {}
        writeSettledSlotLocked()
        if !isWithinWrite { leaveWriter() }
    }
}
