// SPDX-License-Identifier: Apache-2.0
// Counts and times of the operations of one process on an open file. They are added once per operation, never per
// object. Each count is an atomic of its own with relaxed ordering: counts that are read together may belong to slightly
// different moments.
//
// All threads that read the file count queries. Threads that change the same cache line wait for each other, so these
// counts exist once for each of a few groups of threads, each in cache lines of its own:
//
//     stripe 0: queries, examinedObjects, unused to 128 bytes | stripe 1: … | … | stripe 31: …

import RegnumSystem
import Synchronization

/// Thread-safe. Lives as long as it is referenced, so the last counts of a closed file can still be read.
package final class OperationCounters: @unchecked Sendable {
    // Sendable: `stripes` points to atomics, and does not change.
    /// The counts since the file was opened in this process.
    package struct Counts: Sendable, Equatable {
        /// Transactions that were published.
        package var commits: UInt64 = 0
        /// The bytes of the blocks that these transactions wrote.
        package var committedBytes: UInt64 = 0
        /// Transactions that were rolled back, or whose commit failed before it was queued.
        package var rollbacks: UInt64 = 0
        /// Queued commits whose sync failed.
        package var failedCommits: UInt64 = 0
        /// Calls that waited for stable storage, and the time that they took.
        package var syncs: UInt64 = 0
        package var syncNanoseconds: UInt64 = 0
        package var queries: UInt64 = 0
        /// The objects that queries examined.
        package var examinedObjects: UInt64 = 0
        /// Waits for the writer lock that were long enough to be noticed (`WriterWait`) and have ended, and their time.
        package var waits: UInt64 = 0
        package var waitNanoseconds: UInt64 = 0
        package init() {}
    }

    /// The free pages of a version of the file.
    private struct Free: Sendable {
        var version: UInt64
        var pageCount: Int
    }

    private let commits = Atomic<UInt64>(0)
    private let committedBytes = Atomic<UInt64>(0)
    private let rollbacks = Atomic<UInt64>(0)
    private let failedCommits = Atomic<UInt64>(0)
    private let syncs = Atomic<UInt64>(0)
    private let syncNanoseconds = Atomic<UInt64>(0)
    private let waits = Atomic<UInt64>(0)
    private let waitNanoseconds = Atomic<UInt64>(0)
    private let free = Lock<Free?>(nil)
    private let closed = Atomic(false)
    private let stripes: UnsafeMutableRawPointer

    /// The counts of a group of threads.
    private struct Stripe: ~Copyable {
        let queries = Atomic<UInt64>(0)
        let examinedObjects = Atomic<UInt64>(0)
    }
    private static let stripeBits = 5
    private static let stripeCount = 1 << stripeBits
    /// Two cache lines, because some processors read them in pairs.
    private static let stripeByteCount = 128

    package init() {
        stripes = .allocate(byteCount: Self.stripeCount * Self.stripeByteCount, alignment: Self.stripeByteCount)
        for number in 0..<Self.stripeCount {
            (stripes + number * Self.stripeByteCount).bindMemory(to: Stripe.self, capacity: 1).initialize(to: Stripe())
        }
    }

    deinit {
        for number in 0..<Self.stripeCount { stripe(number).deinitialize(count: 1) }
        stripes.deallocate()
    }

    private func stripe(_ number: Int) -> UnsafeMutablePointer<Stripe> {
        (stripes + number * Self.stripeByteCount).assumingMemoryBound(to: Stripe.self)
    }

    /// The stripe of the calling thread.
    private var ownStripe: UnsafeMutablePointer<Stripe> {
        // The identifier is an address: its low bits are often those of other threads.
        let mixed = UInt64(CurrentThread.id >> 12) &* 0x9E37_79B9_7F4A_7C15
        return stripe(Int(mixed >> UInt64(64 - Self.stripeBits)))
    }

    /// The current counts. Any thread.
    package var counts: Counts {
        var counts = Counts()
        counts.commits = commits.load(ordering: .relaxed)
        counts.committedBytes = committedBytes.load(ordering: .relaxed)
        counts.rollbacks = rollbacks.load(ordering: .relaxed)
        counts.failedCommits = failedCommits.load(ordering: .relaxed)
        counts.syncs = syncs.load(ordering: .relaxed)
        counts.syncNanoseconds = syncNanoseconds.load(ordering: .relaxed)
        for number in 0..<Self.stripeCount {
            counts.queries &+= stripe(number).pointee.queries.load(ordering: .relaxed)
            counts.examinedObjects &+= stripe(number).pointee.examinedObjects.load(ordering: .relaxed)
        }
        counts.waits = waits.load(ordering: .relaxed)
        counts.waitNanoseconds = waitNanoseconds.load(ordering: .relaxed)
        return counts
    }

    private func add(_ amount: UInt64, to counter: borrowing Atomic<UInt64>) {
        counter.wrappingAdd(amount, ordering: .relaxed)
    }

    // MARK: Commits

    func noteCommits(_ count: Int, byteCount: Int) {
        add(UInt64(count), to: commits)
        add(UInt64(byteCount), to: committedBytes)
    }

    func noteRollback() { add(1, to: rollbacks) }

    func noteFailedCommits(_ count: Int) { add(UInt64(count), to: failedCommits) }

    func noteSync(since begin: UInt64) {
        add(1, to: syncs)
        add(MonotonicClock.now() &- begin, to: syncNanoseconds)
    }

    func noteWait(since begin: UInt64) {
        add(1, to: waits)
        add(MonotonicClock.now() &- begin, to: waitNanoseconds)
    }

    // MARK: Queries

    /// Counts a query. Objects that it examines are added by `noteExamined`.
    package func noteQuery() { ownStripe.pointee.queries.wrappingAdd(1, ordering: .relaxed) }

    package func noteExamined(_ count: Int) {
        if count == 0 { return }
        ownStripe.pointee.examinedObjects.wrappingAdd(UInt64(count), ordering: .relaxed)
    }

    // MARK: The end

    /// Called when the database has been closed: the counts are final.
    func noteClosed() { closed.store(true, ordering: .releasing) }

    /// True if the counts that are read from now on are final.
    package var isClosed: Bool { closed.load(ordering: .acquiring) }

    // MARK: Space

    /// Stores the number of free pages of a version.
    func noteFree(_ pageCount: Int, at version: UInt64) {
        free.withLock { $0 = Free(version: version, pageCount: pageCount) }
    }

    /// The free pages of the version, if they are known.
    func freePages(at version: UInt64) -> Int? {
        free.withLock { free in free.flatMap { $0.version == version ? $0.pageCount : nil } }
    }
}
