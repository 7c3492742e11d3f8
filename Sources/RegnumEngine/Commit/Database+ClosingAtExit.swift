// SPDX-License-Identifier: Apache-2.0
// A process that ends by `exit`, or by returning from its main function, with databases open: no `deinit` runs, so this
// file does the work of the `deinit` of a database, unless another thread or process is writing.

import RegnumSystem

extension DatabaseRegistry {
    /// Each commit accesses this property, which registers the handler. Processes that only read have nothing to do
    /// when they end.
    static let closesAtExit: Void = ProcessEnd.call { DatabaseRegistry.shared.closeAllAtExit() }

    /// The time, in nanoseconds, for which the end of a process waits for running syncs.
    private static let patience: UInt64 = 3_000_000_000
    /// The time, in nanoseconds, for which it then waits for write transactions of other threads, only to record that
    /// nothing is missing from the file.
    private static let patienceWithWriters: UInt64 = 100_000_000

    private func closeAllAtExit() {
        // In the child of a fork a thread of the parent may hold any lock.
        guard ForkWatch.generation == generationOfOpening else { return }
        let deadline = MonotonicClock.now() + Self.patience
        let thread = CurrentThread.id
        // An exit inside a write transaction has interrupted whatever this thread was doing.
        ProcessEnd.run(until: deadline) {
            let databases = self.openFiles.filter(\.hasToCloseAtExit)
            // No database waits for its writers before the commits of all databases are durable.
            for database in databases { try? database.syncAll() }
            var open = databases
            let end = min(deadline, MonotonicClock.now() + Self.patienceWithWriters)
            while true {
                open.removeAll { $0.closeAtExit(of: thread) }
                if open.isEmpty || MonotonicClock.now() > end { return }
                CurrentThread.sleep(nanoseconds: 1_000_000)
            }
        }
    }
}

extension Database {
    fileprivate var hasToCloseAtExit: Bool {
        !isForked && !options.isReadOnly && !isVolatile && queue.monitor.withLock { queue.hasCommitted }
    }

    /// Writes the clean-shutdown record. `thread` is the one that ends the process: a transaction that it has begun
    /// will not continue. Other threads may go on writing in the meantime. Returns false if one of them is inside a
    /// transaction: then the caller tries again.
    fileprivate func closeAtExit(of thread: UInt) -> Bool {
        if writerLock.isHeld(by: thread) {
            try? syncAll()
            writeSettledSlotLocked()
            return true
        }
        do throws(EngineError) {
            if !writerLock.takeUnaccepted() {
                guard try tryEnterWriter() else {
                    // A process that writes records the end of its own commits.
                    return shared?.otherWriter != nil
                }
            }
        } catch {
            // Nothing is lost: damage to the newest commit then looks like a crash.
            return true
        }
        try? syncAll()
        writeSettledSlotLocked()
        leaveWriter()
        return true
    }
}
