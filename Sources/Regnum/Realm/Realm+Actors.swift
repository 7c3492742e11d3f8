// SPDX-License-Identifier: Apache-2.0
// Realms of actors, and their operations that do not block. As in `Realm.swift`, calls resolve to the members that
// record the caller's source location; function references such as
// `Realm.asyncOpen(configuration:callbackQueue:callback:)` resolve to the others.

public import Dispatch
internal import RegnumEngine
internal import Synchronization

extension Realm {
    /// Opens `configuration` confined to `actor`: code that runs on the actor can use the Realm, on whatever thread.
    /// Migration and compaction run on another thread first. Throws `Realm.Error`, and `CancellationError` if the task
    /// is cancelled before the Realm is open or, with a migration, before the migration commits.
    ///
    /// If the file must be changed, suspends while a write is open, even one of a Realm of the same actor: another task
    /// must end it.
    public init<A: Actor>(
        configuration: Configuration = .defaultConfiguration, actor: A, downloadBeforeOpen: OpenBehavior = .never,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws {
        let origin = SessionOrigin(.opened, fileID: fileID, line: line)
        self = try await Realm.opened(configuration, on: actor, origin).realm
    }

    /// Opens `configuration` confined to `actor`. Throws like the initialiser with the same labels.
    @_disfavoredOverload
    public init<A: Actor>(
        configuration: Configuration = .defaultConfiguration, actor: A, downloadBeforeOpen: OpenBehavior = .never
    ) async throws {
        self = try await Realm.opened(configuration, on: actor, nil).realm
    }

    // `downloadBeforeOpen` has no default: in asynchronous code the compiler would choose this initialiser for every
    // `Realm(configuration:)`, and reject those without `await`.

    /// Opens `configuration` confined to the main actor. See `init(configuration:actor:downloadBeforeOpen:)`.
    @MainActor
    public init(
        configuration: Configuration = .defaultConfiguration, downloadBeforeOpen: OpenBehavior,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws {
        let origin = SessionOrigin(.opened, fileID: fileID, line: line)
        self = try await Realm.opened(configuration, on: MainActor.shared, origin).realm
    }

    /// Opens `configuration` confined to the main actor. Throws like the initialiser with the same labels.
    @_disfavoredOverload
    @MainActor
    public init(configuration: Configuration = .defaultConfiguration, downloadBeforeOpen: OpenBehavior) async throws {
        self = try await Realm.opened(configuration, on: MainActor.shared, nil).realm
    }

    /// Opens `configuration` confined to the caller's actor. Throws `Realm.Error`, and `CancellationError` if the task
    /// is cancelled before the Realm is open or, with a migration, before the migration commits.
    ///
    /// If the file must be changed, suspends while a write is open, even one of a Realm of the same actor: another task
    /// must end it.
    public static func open(
        configuration: Configuration = .defaultConfiguration, _isolation actor: isolated any Actor = #isolation,
        downloadBeforeOpen: OpenBehavior = .never, fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Realm {
        let origin = SessionOrigin(.opened, fileID: fileID, line: line)
        return try await opened(configuration, on: actor, origin).realm
    }

    /// Opens `configuration` confined to the caller's actor. Throws like the method with the same labels.
    @_disfavoredOverload
    public static func open(
        configuration: Configuration = .defaultConfiguration, _isolation actor: isolated any Actor = #isolation,
        downloadBeforeOpen: OpenBehavior = .never
    ) async throws -> Realm {
        try await opened(configuration, on: actor, nil).realm
    }

    private static func opened(
        _ configuration: Configuration, on actor: isolated any Actor, _ origin: SessionOrigin?
    ) async throws -> Opened {
        try Task.checkCancellation()
        let control = configuration.extras.control ?? MigrationControl()
        // Keeps the file open until the actor's own Realm does.
        let database = try await RealmOpening.prepare(configuration, control, origin)
        // A caller that receives `CancellationError` may rely on the file being unchanged.
        if !control.hasBegunCommit { try Task.checkCancellation() }
        return try withExtendedLifetime(database) {
            Opened(
                realm: Realm(
                    core: try RealmOpening.open(configuration, queue: nil, actor: actor, origin: origin)))
        }
    }

    /// Begins a write transaction when the writer lock is free, runs `block`, and commits; suspends while other writers
    /// hold the lock. Returns the block's result once the changes are durable. Rolls back if the block throws.
    ///
    /// Rethrows the block's error; throws `Realm.Error` if the transaction cannot begin or its commit fails, and
    /// `CancellationError` if the task is cancelled before the block runs. It is a programmer error if the Realm is not
    /// confined to an actor, the main one or another.
    @discardableResult
    public func asyncWrite<Result>(
        _isolation actor: isolated any Actor = #isolation, _ block: () throws -> Result
    ) async throws -> Result {
        try await asyncWriting(actor, block)
    }

    /// Like `asyncWrite` with a block that returns a value. See `write(_:)` for why there are two.
    public func asyncWrite(
        _isolation actor: isolated any Actor = #isolation, _ block: () throws -> Void
    ) async throws {
        try await asyncWriting(actor, block)
    }

    private func asyncWriting<Result>(
        _ actor: isolated any Actor, _ block: () throws -> Result
    ) async throws -> Result {
        core.requireActor("asyncWrite")
        checkCanBegin()
        try Task.checkCancellation()
        let writes = core.asyncWrites()
        writes.taskBegan()
        defer { writes.taskEnded() }
        let turns = writes.turns
        let (stream, grants) = AsyncStream.makeStream(of: EngineError?.self, bufferingPolicy: .bufferingNewest(1))
        let turn = turns.request { grants.yield($0) }
        defer { turns.finished(turn) }
        for await failure in stream {
            if let failure { throw core.error("begin a write in", failure) }
            if Task.isCancelled { break }
            // Another task on the actor keeps a write open across a suspension, and has taken the lock for it.
            if core.isWriting {
                turns.missed(turn)
                continue
            }
            let hasBegun: Bool
            do { hasBegun = try core.beginAsync(acceptingTurn: turn) } catch {
                turns.end(turn)
                throw error
            }
            if hasBegun {
                if !core.isWriting { turns.finished(turn) }
                core.requireBegun()
                return try await finishWrite(actor, turns, turn, block)
            }
            turns.missed(turn)
        }
        turns.cancel(turn)
        throw CancellationError()
    }

    /// Runs the block and commits; the next writer is served before the changes are durable.
    private func finishWrite<Result>(
        _ actor: isolated any Actor, _ turns: WriterLockQueue, _ turn: UInt64, _ block: () throws -> Result
    ) async throws -> Result {
        let result: Result
        do { result = try block() } catch {
            if core.isWriting { core.rollBack() }
            throw error
        }
        guard core.isWriting else { return result }
        var refusal: (any Swift.Error)?
        let failure = await withCheckedContinuation { (done: CheckedContinuation<EngineError?, Never>) in
            do { try commitLater { done.resume(returning: $0) } } catch {
                refusal = error
                done.resume(returning: nil)
            }
            turns.finished(turn)
        }
        if let refusal { throw refusal }
        if let failure {
            core.comeBack()
            throw core.error("write", failure)
        }
        return result
    }

    /// Advances to the newest version committed before the call; returns true if the Realm has advanced. False during a
    /// write transaction, on frozen Realms, and in a cancelled task. It is a programmer error if the Realm is not
    /// confined to an actor.
    @discardableResult
    public func asyncRefresh(_isolation actor: isolated any Actor = #isolation) async -> Bool {
        if core.isFrozen { return false }
        core.requireActor("asyncRefresh")
        if core.isWriting || Task.isCancelled { return false }
        return refresh()
    }

    /// Opens `configuration` in the background first, including migration and compaction, and then on `callbackQueue`,
    /// a serial queue or the main queue. Calls `callback` on that queue, with the Realm or with the error that occurred
    /// while opening it.
    @discardableResult
    public static func asyncOpen(
        configuration: Configuration = .defaultConfiguration, callbackQueue: DispatchQueue = .main,
        fileID: StaticString = #fileID, line: UInt = #line,
        callback: @escaping (Result<Realm, any Swift.Error>) -> Void
    ) -> AsyncOpenTask {
        asyncOpen(configuration, on: callbackQueue, at: (fileID: fileID, line: line), callback)
    }

    /// Opens `configuration` in the background first, and then on `callbackQueue`, as the method with the same labels.
    @_disfavoredOverload
    @discardableResult
    public static func asyncOpen(
        configuration: Configuration = .defaultConfiguration, callbackQueue: DispatchQueue = .main,
        callback: @escaping (Result<Realm, any Swift.Error>) -> Void
    ) -> AsyncOpenTask {
        asyncOpen(configuration, on: callbackQueue, at: nil, callback)
    }

    /// Implements the public methods; `place` is the caller's source location, nil if it is not known.
    package static func asyncOpen(
        _ configuration: Configuration, on callbackQueue: DispatchQueue, at place: (fileID: StaticString, line: UInt)?,
        _ callback: @escaping (Result<Realm, any Swift.Error>) -> Void
    ) -> AsyncOpenTask {
        let origin = place.map { SessionOrigin(.opened, fileID: $0.fileID, line: $0.line) }
        let task = AsyncOpenTask(callbackQueue, callback)
        var watched = configuration
        watched.extras.control = task.control
        DispatchQueue.global().async { [watched] in
            do {
                let database = try RealmOpening.prepareHere(watched, origin)
                task.finish {
                    try withExtendedLifetime(database) {
                        Realm(core: try RealmOpening.open(configuration, queue: callbackQueue, origin: origin))
                    }
                }
            } catch { task.finish { throw error } }
        }
        return task
    }
}

/// Carries a Realm to the actor that it was opened on.
private struct Opened: @unchecked Sendable {
    // Sendable: used on that actor only; any other use is a programmer error.
    let realm: Realm
}

extension RealmCore {
    fileprivate func requireActor(_ name: String) {
        check()
        if settings.mailbox != nil || QueueConfinement.isCurrent(QueueConfinement.mainIdentity) { return }
        misuse(
            "\(name)() can only be called on main thread or actor-isolated Realms. This one was opened on "
                + "\(settings.home): open it with `try await Realm.open()` on the actor.")
    }
}

extension RealmOpening {
    /// Opens and closes a Realm on another thread, so that migration and compaction are done there; the database stays
    /// open while the result is held. Cancelling the task cancels a migration through `control`.
    static func prepare(
        _ configuration: Realm.Configuration, _ control: MigrationControl, _ origin: SessionOrigin?
    ) async throws -> Database {
        var watched = configuration
        watched.extras.control = control
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async { [watched] in
                    continuation.resume(with: Result { try prepareHere(watched, origin) })
                }
            }
        } onCancel: {
            control.cancel()
        }
    }

    static func prepareHere(_ configuration: Realm.Configuration, _ origin: SessionOrigin?) throws -> Database {
        try open(configuration, queue: nil, origin: origin).settings.database
    }
}
