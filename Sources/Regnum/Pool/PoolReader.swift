// SPDX-License-Identifier: Apache-2.0
// A reader of a pool: an actor on a queue of its own, and a Realm that is confined to the queue.

internal import RegnumEngine

/// The pool's gate lets one task at a time call `read`. The Realm is opened at the first call.
actor PoolReader {
    private let executor: QueueExecutor
    private let configuration: Realm.Configuration
    private let origin: SessionOrigin
    private var core: RealmCore?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ number: Int, _ configuration: Realm.Configuration, _ origin: SessionOrigin) {
        executor = QueueExecutor(label: "regnum.pool.reader-\(number)")
        self.configuration = configuration
        self.origin = origin
    }

    /// Opens the Realm, unless it is open. Throws `Realm.Error`.
    func open() throws -> Database { try opened().settings.database }

    private func opened() throws -> RealmCore {
        if let core { return core }
        let made = try RealmOpening.open(
            configuration, queue: executor.queue, origin: origin, poolRole: .reader)
        core = made
        return made
    }

    /// Runs the closure at the newest version. Releases the slot before the caller continues, so that the next task
    /// does not wait for that.
    func read<Result: Sendable>(
        _ pass: PoolGate.Pass, _ gate: PoolGate, _ body: @Sendable (Realm) throws -> Result
    ) throws -> Result {
        defer { gate.release(pass) }
        if Task.isCancelled { throw CancelledInside() }
        let core = try opened()
        try core.advanceOrThrow()
        return try body(Realm(core: core))
    }

    /// Releases the Realm.
    func close() { core = nil }
}

/// What a Realm of a pool is used for.
enum PoolRole: Sendable {
    case reader, writer
    /// Finds the changes for `RealmPool.changes`.
    case observer

    /// True if the Realm is refreshed before each use.
    var isRefreshedWhenUsed: Bool { self != .observer }
}

extension RealmCore {
    /// Like `Realm.refresh()`, but throws `Realm.Error` if the newest version cannot be read.
    fileprivate func advanceOrThrow() throws {
        if isReadOnly { return }
        touch()
        do throws(EngineError) {
            guard try session.refresh() else { return }
        } catch { throw self.error("read", error) }
        reloadTables()
        didShowOtherVersion()
        notifier?.didAdvance()
    }

    /// Reports a programmer error if the Realm belongs to a reader or to the observer of a pool. A write through the
    /// observer's Realm would move it past the version of the updates that its listeners have received.
    func refuseWriteOfReader() {
        switch settings.poolRole {
        case .reader: misuse("Can't perform transactions in a closure of `read`. Call `write` of the pool instead.")
        case .observer:
            misuse("Can't perform transactions in a closure of `changes`. Call `write` of the pool instead.")
        case .writer, nil: return
        }
    }
}
