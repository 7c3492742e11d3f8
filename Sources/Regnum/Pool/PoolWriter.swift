// SPDX-License-Identifier: Apache-2.0
// The writer of a pool: an actor on a queue of its own, and a Realm that is confined to the queue. Tasks share syncs:
//
//     task 1   begin ─ closure ─ commit ─┬───────── waits for its sync ─────────┬─▶ result
//     task 2                begin ─ closure ─ commit ─┬──── the next sync ──────┼────────────┬─▶ result
//     task 3                            begin ─ closure ─ commit ─┬── the same ─┼────────────┴─▶ result
//                                        ▲ the gate lets the next task in before the commit, the writer lock is
//                                          released when the commit is queued, and the actor is free while it waits
//
// A background thread of the database syncs. One sync covers all commits that were queued when it began, as in the
// group commit of threads (`CommitQueue.swift`).

internal import RegnumEngine

/// The pool's gate lets one task at a time begin a transaction; others may be waiting for their syncs.
actor PoolWriter {
    private let executor: QueueExecutor
    private let configuration: Realm.Configuration
    private let origin: SessionOrigin
    private var core: RealmCore?
    /// For transactions that have to wait for the writer lock.
    private var turns: WriterLockQueue?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ configuration: Realm.Configuration, _ origin: SessionOrigin) {
        executor = QueueExecutor(label: "regnum.pool.writer")
        self.configuration = configuration
        self.origin = origin
    }

    /// Opens the Realm, unless it is open: creates or migrates the file if necessary. Throws `Realm.Error`.
    func open() throws -> Database { try opened().settings.database }

    private func opened() throws -> RealmCore {
        if let core { return core }
        let made = try RealmOpening.open(
            configuration, queue: executor.queue, origin: origin, poolRole: .writer)
        core = made
        return made
    }

    /// Runs the closure in a write transaction and commits it. Returns when the commit is durable.
    func write<Result: Sendable>(
        _ pass: PoolGate.Pass, _ gate: PoolGate, _ body: @Sendable (Realm) throws -> Result
    ) async throws -> Result {
        if Task.isCancelled { throw CancelledInside() }
        let core = try opened()
        if try !core.beginAsync() { try await beginInTurn(core) }
        // No suspension from here to the commit.
        let result = try Self.run(body, in: core)
        gate.release(pass)
        if core.isWriting { try await commit(core) }
        return result
    }

    /// Waits for the writer lock, which another thread or process holds, without occupying the queue.
    private func beginInTurn(_ core: RealmCore) async throws {
        let turns = turns ?? .of(core.settings.database)
        self.turns = turns
        let (stream, grants) = AsyncStream.makeStream(of: EngineError?.self, bufferingPolicy: .bufferingNewest(1))
        let turn = turns.request { grants.yield($0) }
        for await failure in stream {
            if let failure { throw core.error("begin a write in", failure) }
            if Task.isCancelled { break }
            let hasBegun: Bool
            do { hasBegun = try core.beginAsync(acceptingTurn: turn) } catch {
                turns.end(turn)
                throw error
            }
            if hasBegun { return turns.finished(turn) }
            // A thread has taken the lock: it is asked for again.
            turns.missed(turn)
        }
        turns.cancel(turn)
        throw CancelledInside()
    }

    private static func run<Result>(_ body: (Realm) throws -> Result, in core: RealmCore) throws -> Result {
        core.requireBegun()
        core.countAccessor()
        defer { core.dropAccessor() }
        do { return try body(Realm(core: core)) } catch {
            if core.isWriting { core.rollBack() }
            throw error
        }
    }

    /// Queues the commit and waits for its sync, also if the task is cancelled: a commit cannot be undone.
    private func commit(_ core: RealmCore) async throws {
        var refusal: (any Error)?
        let failure = await withCheckedContinuation { (done: CheckedContinuation<EngineError?, Never>) in
            do { try Realm(core: core).commitLater { done.resume(returning: $0) } } catch {
                refusal = error
                done.resume(returning: nil)
            }
        }
        if let refusal { throw refusal }
        if let failure {
            core.comeBack()
            throw core.error("write", failure)
        }
    }

    /// Releases the Realm. Call when no transaction is running.
    func close() {
        core = nil
        turns = nil
    }
}
