// SPDX-License-Identifier: Apache-2.0
// One file for all tasks of a service: a writer, and readers that work side by side.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// A store for services: any task reads and writes through it, and no task has a Realm of its own.
///
/// ```swift
/// let pool = try await RealmPool(configuration: configuration)
/// try await pool.write { realm in realm.add(Dog(value: ["name": "Rex"])) }
/// let names = try await pool.read { realm in realm.objects(Dog.self).map(\.name) as [String] }
/// await pool.close()
/// ```
///
/// - **Isolation.** Each reader, and the writer, is an actor on a dispatch queue of its own, to which its Realm is
///   confined. Closures run there, within the caller's task (`Task.isCancelled` and task-local values are the
///   caller's), and return values that are `Sendable`: structs, `ObjectSnapshot`, `Frozen`, `FrozenResults`. Using an
///   object outside of the closure that it was read in is a programmer error.
/// - **Reads see writes.** A read begins at the newest version of the file. It sees every write that had returned
///   before it was called, from any task or process. With `readOnly`, reads stay at the version that was newest when
///   the pool was opened; if other processes write at that moment, readers may differ.
/// - **Order.** Calls are served in the order in which they are made, readers and the writer apart. Readers never wait
///   for the writer.
/// - **Writes share syncs.** The next closure runs while earlier commits are on their way to stable storage, and one
///   sync serves all that are waiting. `write` returns when its own commit is durable. If a sync fails, all commits
///   that it was to serve fail, with those that were built on them; nothing of them is kept.
/// - **Errors.** An error that a closure throws rolls its transaction back and is rethrown.
/// - **Cancellation.** A cancelled task that waits for a reader or for the writer leaves the queue with
///   `CancellationError`. A closure that runs is not interrupted, and a transaction that it has committed is reported
///   as it ends: `write` returns its result once it is durable, even in a cancelled task.
/// - **Back pressure.** Tasks wait without occupying a thread. `waitingLimit` limits how many may wait.
///
/// The pool may be used from any task. It keeps the file open until `close`, or until it is released, no closure runs
/// and no task listens to `changes`. Only closures of `write` may write. To observe, use `changes`:
/// observers that a closure adds are called late or not at all, because its Realm does not advance with each commit.
public final class RealmPool: Sendable {
    /// The configuration that the pool was opened with.
    public let configuration: Realm.Configuration
    private let readers: [PoolReader]
    private let writer: PoolWriter
    private let reading: PoolGate
    private let writing: PoolGate
    /// For `changes`.
    let observer: PoolObserver
    private let syncs = SyncCount()
    private let endings = Lock<Endings>(Endings())
    /// Nil after `close`.
    private let file = Lock<OpenFile?>(nil)

    /// The number of readers if none is given: one for each processor, at least two.
    public static var defaultReaderCount: Int { max(2, ProcessInfo.processInfo.activeProcessorCount) }

    /// Opens the file, creating or migrating it if necessary. Throws `Realm.Error`.
    ///
    /// - Parameters:
    ///   - configuration: Its `durability` says when a write counts as durable; its `busyTimeout` also limits how long
    ///     a write waits for other threads and processes.
    ///   - readers: The number of reads that run at the same time, at least one. A reader opens its Realm, which takes
    ///     some KiB of memory and a thread while it reads, when it is first needed; of a read-only file, immediately.
    ///   - waitingLimit: The number of reads, and of writes, that may wait; further calls throw
    ///     `RealmPoolError.tooManyWaiting`. Nil: no limit.
    ///   - fileID: The source file that reports about open Realms name. Omit it.
    ///   - line: The line in that file. Omit it.
    public init(
        configuration: Realm.Configuration = .defaultConfiguration, readers: Int = RealmPool.defaultReaderCount,
        waitingLimit: Int? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) async throws {
        if readers < 1 { misuse("A pool needs at least one reader.") }
        if let waitingLimit, waitingLimit < 0 { misuse("The number of calls that may wait cannot be negative.") }
        let origin = SessionOrigin(.opened, fileID: fileID, line: line)
        self.configuration = configuration
        self.readers = (0..<readers).map { PoolReader($0, configuration, origin) }
        writer = PoolWriter(configuration, origin)
        observer = PoolObserver(configuration, origin)
        reading = PoolGate(slots: readers, waitingLimit: waitingLimit)
        writing = PoolGate(slots: 1, waitingLimit: waitingLimit)
        // A read-only file has no writer, and is opened here for its errors. All readers, because each of them stays at
        // the version that it opens.
        if configuration.readOnly {
            for reader in self.readers { setFile(try await reader.open()) }
        } else {
            let database = try await writer.open()
            setFile(database)
            syncs.begin(database)
        }
    }

    deinit { OpenPool.remove(reading: reading) }

    private func setFile(_ database: Database) {
        let open = OpenFile(database)
        file.withLock { $0 = open }
        OpenPool(open.name, reading: reading, writing: writing).add()
    }

    // MARK: Reading and writing

    /// Runs the closure on a reader, at the newest version of the file, and returns its result. The version does not
    /// change while the closure runs.
    ///
    /// Rethrows the closure's error. Throws `RealmPoolError`, `Realm.Error` if the newest version cannot be read, and
    /// `CancellationError` if the task is cancelled before the closure runs. Writing in the closure is a programmer
    /// error.
    public func read<Result: Sendable>(_ body: @Sendable (Realm) throws -> Result) async throws -> Result {
        let pass = try await reading.enter()
        do {
            let result = try await readers[pass.slot].read(pass, reading, body)
            reading.end(pass)
            return result
        } catch {
            throw reading.end(pass, with: error)
        }
    }

    /// Runs the closure in a write transaction, one at a time among all threads and processes, and returns its result
    /// when the changes are durable. If the closure ends the transaction itself, nothing more is done. A closure of one
    /// expression returns its value: write `_ = realm.create(…)` if that is an object.
    ///
    /// Rethrows the closure's error, after a rollback. Throws `RealmPoolError`, `Realm.Error` if the transaction cannot
    /// begin or its commit fails, and `CancellationError` if the task is cancelled before the closure runs; nothing is
    /// changed then. It is a programmer error if the configuration is read-only.
    @discardableResult
    public func write<Result: Sendable>(_ body: @Sendable (Realm) throws -> Result) async throws -> Result {
        if configuration.readOnly { misuse("Can't perform transactions on read-only Realms.") }
        let pass = try await writing.enter()
        do {
            let result = try await writer.write(pass, writing, body)
            writing.end(pass)
            return result
        } catch {
            throw writing.end(pass, with: error)
        }
    }

    // MARK: Closing

    /// Closes the pool: refuses all calls from now on with `RealmPoolError.closed`, ends the sequences of `changes`,
    /// waits for the calls that were made before, and closes the file, unless Realms or frozen values outside of the
    /// pool keep it open. Cancelling the task does not shorten the wait. Calling it again waits for the same.
    public func close() async {
        let ended = endings.withLock { endings in
            endings.isClosing = true
            defer { endings.continuations = [] }
            return endings.continuations
        }
        for continuation in ended { continuation.finish() }
        reading.refuseCalls()
        writing.refuseCalls()
        await observer.close()
        await reading.waitForCalls()
        await writing.waitForCalls()
        syncs.end()
        OpenPool.remove(reading: reading)
        file.withLock { $0 = nil }
        for reader in readers { await reader.close() }
        await writer.close()
    }

    /// Waits until the task is cancelled or `close` is called, and closes the pool. For frameworks that run services
    /// and cancel them, such as swift-service-lifecycle; see <doc:Servers>.
    public func runUntilCancelled() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let isClosing = endings.withLock { endings in
            if !endings.isClosing { endings.continuations.append(continuation) }
            return endings.isClosing
        }
        if !isClosing { for await _ in stream {} }
        await close()
    }

    private struct Endings: Sendable {
        var isClosing = false
        /// Of the tasks in `runUntilCancelled`.
        var continuations: [AsyncStream<Void>.Continuation] = []
    }

    // MARK: Metrics

    /// Counts and times since the pool was opened. Any thread; cheap enough to be read every second.
    public var metrics: Metrics {
        Metrics(reads: reading.activity, writes: writing.activity, syncs: syncs.count)
    }

    /// Statistics of the pool's file; nil after `close`. Any thread. Needs neither a reader nor the writer, so it is
    /// there when the pool is overloaded. See `Realm.statistics`.
    public var statistics: RealmStatistics? { file.withLock { $0 }?.statistics }

    /// Counts and times of the calls of a pool, and its syncs.
    public struct Metrics: Sendable, Hashable {
        /// The calls of `read`.
        public var reads: Activity
        /// The calls of `write`.
        public var writes: Activity
        /// The syncs that have made commits of this process to the file durable: fewer than `writes.completed` if
        /// writes share syncs. 0 for durability `.relaxed` and in memory.
        public var syncs: Int

        /// Calls of one kind.
        public struct Activity: Sendable, Hashable {
            /// Calls whose closure runs; of writes, also those that wait for their commit to become durable.
            public var running = 0
            /// Calls that wait for a reader or for the writer.
            public var waiting = 0
            /// The largest number of calls that have waited at the same time.
            public var mostWaiting = 0
            /// Calls that returned a result.
            public var completed = 0
            /// Calls that threw an error after they had waited, also a `CancellationError` of the closure.
            public var failed = 0
            /// Calls whose task was cancelled before their closure ran.
            public var cancelled = 0
            /// Calls that threw `RealmPoolError`.
            public var refused = 0
            /// The sum of the times that calls have waited.
            public var timeWaited = Duration.zero
            /// The sum of the times from the end of the wait to the end of the call.
            public var timeRun = Duration.zero

            /// All zero.
            public init() {}
        }
    }
}

/// The syncs of the database since a pool was opened. Any thread.
private final class SyncCount: Sendable {
    private struct State: Sendable {
        // Weak: the pool's Realms decide how long the file is open.
        weak var database: Database?
        var start: UInt64 = 0
        var last = 0
    }
    private let state = Lock(State())

    func begin(_ database: Database) {
        let start = database.commitGroups.syncs
        state.withLock { ($0.database, $0.start) = (database, start) }
    }

    var count: Int {
        state.withLock { state in
            if let database = state.database { state.last = Int(database.commitGroups.syncs - state.start) }
            return state.last
        }
    }

    /// Keeps the last count, before the database is closed.
    func end() {
        _ = count
        state.withLock { $0.database = nil }
    }
}
