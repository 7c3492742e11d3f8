// SPDX-License-Identifier: Apache-2.0
// A Realm gives access to all objects of one file or in-memory store, as one thread or queue sees them.
// `Realm+Objects.swift` adds, finds and deletes objects; `Realm+Files.swift` manages files; `RealmOpening.swift` opens
// Realms.

public import Dispatch
public import Foundation
internal import RegnumEngine

/// A database as the opening thread, or the given queue, sees it.
///
/// A small value with a shared reference: copies are the same Realm, and opening the same configuration again on the
/// same thread returns an equal one. Use it only on the thread or queue it was opened on; any other use ends the
/// program with "Realm accessed from incorrect thread".
///
/// ```swift
/// let realm = try Realm()
/// try realm.write { realm.add(dog) }
/// let puppies = realm.objects(Dog.self).filter("age < 2")
/// ```
public struct Realm {
    package let core: RealmCore

    package init(core: RealmCore) { self.core = core }

    // Calls resolve to the initialisers that record the caller's source location (`pins()` reports it); function
    // references such as `Realm.init(configuration:queue:)` resolve to the others.

    /// Opens the default configuration, confined to the calling thread or to `queue`, which must be a serial queue or
    /// the main queue and must be running the call. Throws `Realm.Error`.
    public init(queue: DispatchQueue? = nil, fileID: StaticString = #fileID, line: UInt = #line) throws {
        try self.init(configuration: .defaultConfiguration, queue: queue, fileID: fileID, line: line)
    }

    /// Opens `configuration`, confined to the calling thread or to `queue`. Throws `Realm.Error`.
    public init(
        configuration: Configuration, queue: DispatchQueue? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) throws {
        core = try RealmOpening.open(
            configuration, queue: queue, origin: SessionOrigin(.opened, fileID: fileID, line: line))
    }

    /// Opens the default configuration with a different file. Throws `Realm.Error`.
    public init(fileURL: URL, fileID: StaticString = #fileID, line: UInt = #line) throws {
        var configuration = Configuration.defaultConfiguration
        configuration.fileURL = fileURL
        try self.init(configuration: configuration, fileID: fileID, line: line)
    }

    /// Opens the default configuration. Throws `Realm.Error`.
    @_disfavoredOverload
    public init(queue: DispatchQueue? = nil) throws {
        core = try RealmOpening.open(.defaultConfiguration, queue: queue, origin: nil)
    }

    /// Opens `configuration`. Throws `Realm.Error`.
    @_disfavoredOverload
    public init(configuration: Configuration, queue: DispatchQueue? = nil) throws {
        core = try RealmOpening.open(configuration, queue: queue, origin: nil)
    }

    /// Opens the default configuration with a different file. Throws `Realm.Error`.
    @_disfavoredOverload
    public init(fileURL: URL) throws {
        var configuration = Configuration.defaultConfiguration
        configuration.fileURL = fileURL
        core = try RealmOpening.open(configuration, queue: nil, origin: nil)
    }

    /// The configuration in use, with the schema version of the file.
    public var configuration: Configuration {
        var configuration = core.settings.configuration
        let version = core.session.schemaVersion
        if version != UInt64.max { configuration.schemaVersion = version }
        return configuration
    }

    /// The classes of this Realm's schema.
    public var schema: Schema { Schema(core.settings.schema.classes) }

    /// True if no table holds an object.
    public var isEmpty: Bool {
        core.check()
        return core.session.tables.allSatisfy { $0.count == 0 }
    }

    /// How `add` and `create` treat an object whose primary key already exists.
    public enum UpdatePolicy: Int, Sendable {
        /// A duplicate primary key is a programmer error.
        case error = 1
        /// Writes only the properties that differ.
        case modified = 3
        /// Writes all properties.
        case all = 2
    }
}

extension Realm: Equatable {
    /// True if both are the same open instance; two instances of the same file are not equal.
    public static func == (left: Realm, right: Realm) -> Bool { left.core === right.core }
}

// MARK: Writing

extension Realm {
    /// Runs `block` in a write transaction, commits it, and returns the block's result. Rolls back if the block throws.
    /// If the block commits or cancels the transaction itself, nothing more is done. Rethrows the block's error; throws
    /// `Realm.Error` if the transaction cannot begin or its commit fails, in which case nothing is changed.
    @discardableResult
    public func write<Result>(_ block: () throws -> Result) throws -> Result {
        try writing([], block)
    }

    // Needed for a single-expression closure inside another closure that returns nothing, as in
    // `queue.async { try! realm.write { realm.create(…) } }`: the compiler does not infer there that `Result` is
    // `Void`.

    /// Like `write` with a block that returns a value.
    public func write(_ block: () throws -> Void) throws { try writing([], block) }

    /// Like `write`, without notifying the observers of `tokens`.
    @discardableResult
    public func write<Result>(
        withoutNotifying tokens: [NotificationToken], _ block: () throws -> Result
    ) throws -> Result {
        try writing(tokens, block)
    }

    /// Like `write`, without notifying the observers of `tokens`.
    public func write(withoutNotifying tokens: [NotificationToken], _ block: () throws -> Void) throws {
        try writing(tokens, block)
    }

    private func writing<Result>(
        _ tokens: [NotificationToken], _ block: () throws -> Result
    ) throws -> Result {
        checkCanBegin()
        try core.checkVersionLimit()
        do { try core.begin() } catch { throw core.error("begin a write in", error) }
        core.requireBegun()
        // Otherwise each object that is added and released one by one would retain and release the accessors' shared
        // reference.
        core.countAccessor()
        defer { core.dropAccessor() }
        let result: Result
        do {
            result = try block()
        } catch {
            if core.isWriting { core.rollBack() }
            throw error
        }
        if core.isWriting { try commit(silent: tokens) }
        return result
    }

    /// Begins a write transaction: makes the pending initial calls of observers, acquires the writer lock, advances to
    /// the newest version, and delivers pending notifications.
    ///
    /// Observers' blocks that are called here see `isInWriteTransaction` as true. They may change objects in this
    /// transaction, but must not begin another one, on this Realm or on another Realm of the file. If one of them may
    /// end the transaction, check `isInWriteTransaction` after this call. Ending a transaction that runs a block, such
    /// as `write(_:)`, is a programmer error.
    ///
    /// The transaction stays open if the Realm is released: opening the Realm again on the same thread, queue or actor
    /// returns the Realm with the open transaction; on a thread, only within the same task. The transaction is rolled
    /// back, with a warning in the log, when the thread, queue or actor ends, or if the Realm is not opened again
    /// within 10 seconds (2 seconds within a task).
    public func beginWrite() {
        checkCanBegin()
        do throws(Realm.Error) { try core.checkVersionLimit() } catch { misuse(error.localizedDescription) }
        do { try core.begin() } catch { misuse(error) }
        core.keepWriteWhenReleased()
    }

    /// Commits the write transaction: makes its changes durable and visible to others. Throws `Realm.Error`; everything
    /// since `beginWrite` is then rolled back.
    public func commitWrite(withoutNotifying tokens: [NotificationToken] = []) throws {
        core.check()
        guard core.isWriting else { core.refuseEnd("commit") }
        core.requireNoSavepoint()
        try commit(silent: tokens)
    }

    /// Rolls back everything since `beginWrite`. Objects created since then become invalid.
    public func cancelWrite() {
        core.check()
        guard core.isWriting else { core.refuseEnd("cancel") }
        core.rollBack()
    }

    /// True between `beginWrite` and the end of the transaction, on the instance that began it.
    public var isInWriteTransaction: Bool {
        core.check()
        return core.isWriting
    }

    func checkCanBegin() {
        core.check()
        if core.isFrozen { misuse("Can't perform transactions on a frozen Realm") }
        if core.isReadOnly { misuse("Can't perform transactions on read-only Realms.") }
        core.refuseWriteOfReader()
        if core.isWriting { core.refuseBegin() }
    }

    func commit(silent tokens: [NotificationToken]) throws {
        if tokens.contains(where: { $0.entry.map { $0.core !== core } ?? false }) {
            misuse("Incorrect Realm: only notifications for the Realm being modified can be skipped.")
        }
        do {
            try core.session.commitWrite()
            Logger.log(.debug, "DB: Commit of version \(core.session.version): \(core.settings.place.name)")
        } catch {
            // The engine has already rolled back.
            let failure = core.error("write", error)
            core.takeOperation()?.end(.failed(failure))
            core.afterRollback()
            throw failure
        }
        core.takeOperation()?.end(.committed)
        core.settings.undo?.didCommit()
        core.settings.writeFate?.committed(in: core)
        CommitNotifications.committed(core.settings.database, by: core.notifier)
        for work in core.takeAfterWrite() { work() }
        core.didShowOtherVersion()
        core.notifier?.didCommit(silent: tokens)
    }

    /// Commits without waiting for stable storage. Calls `onDone` on any thread once the changes are durable or have
    /// failed; after a failure, call `core.comeBack()` on the thread, queue or actor of the Realm.
    func commitLater(_ onDone: @escaping @Sendable (EngineError?) -> Void) throws {
        // Both are captured weakly: this closure may outlive the callback briefly, and must not keep the file open.
        let (database, notifier) = (core.settings.database, core.notifier)
        // Other Realms see the changes once they are durable.
        let fate = core.settings.writeFate
        let waiting = core.takeAfterWrite()
        let operation = core.takeOperation()
        // Waiters need the committed version. It is kept alive below, and the commit may become durable before that, so
        // `keeping` delays the callbacks.
        let keeping = waiting.isEmpty ? nil : CompletionGate()
        do {
            defer { keeping?.end() }
            try core.session.commitWriteLater { [weak database, weak notifier] error in
                if error == nil, let database { CommitNotifications.committed(database, by: notifier) }
                if error != nil { fate?.rollBack() }
                if let operation { operation.end(error.map { .failed($0) } ?? .committed) }
                guard let keeping else { return onDone(error) }
                keeping.whenEnded {
                    for work in waiting { work() }
                    onDone(error)
                }
            }
            fate?.committed(in: core)
            Logger.log(.debug, "DB: Commit of version \(core.session.version): \(core.settings.place.name)")
        } catch {
            // The engine has already rolled back.
            let failure = core.error("write", error)
            operation?.end(.failed(failure))
            fate?.rollBack()
            core.afterRollback()
            for work in waiting { work() }
            throw failure
        }
        core.settings.undo?.didCommit()
        core.didShowOtherVersion()
        core.notifier?.didCommit(silent: [])
    }
}

// MARK: Versions

extension Realm {
    /// Advances to the newest version and delivers pending notifications immediately. Returns false if there is no
    /// newer commit, during a write transaction, and within an observer's block, unless the block is called with
    /// `.refreshRequired`. Also returns false if the newest version cannot be read: the Realm then stays at its
    /// version, the reason is logged, and a write throws it.
    @discardableResult
    public func refresh() -> Bool {
        core.check()
        if core.isReadOnly { misuse("Read-only Realms do not change and cannot be refreshed.") }
        if core.isFrozen || core.isWriting || core.notifier?.isSending == true { return false }
        core.touch()
        let moved = core.advance()
        if moved {
            core.reloadTables()
            core.didShowOtherVersion()
            core.notifier?.didAdvance()
        } else {
            core.notifier?.settle(first: true)
        }
        return moved
    }

    /// True if the Realm may advance to newer versions between turns of its run loop or queue.
    public var autorefresh: Bool {
        get {
            core.check()
            return !core.isFrozen && core.settings.autorefresh
        }
        nonmutating set {
            core.check()
            if core.isFrozen && newValue { misuse("Auto-refresh cannot be enabled for frozen Realms.") }
            core.settings.autorefresh = newValue
        }
    }

    /// Invalidates all objects and collections obtained from this Realm so far; rolls back a running write transaction
    /// first. The Realm itself remains usable and shows the newest version. Observations continue: their blocks receive
    /// the same objects and collections again, with the changes since the last call. Does nothing within an observer's
    /// block.
    public func invalidate() {
        core.check()
        if core.notifier?.isCalling == true { return }
        if core.isWriting { core.rollBack() }
        core.retireAccessors()
        core.settings.invalidations += 1
        if core.isFrozen { return }
        // Loops in progress check only this count.
        core.session.moved()
        let hasMoved = !core.isReadOnly && core.advance()
        if hasMoved { core.reloadTables() }
        core.notifier?.didInvalidate(hasMoved: hasMoved)
        core.tracker?.invalidated()
    }

    /// True if the Realm is frozen, that is, stays at one version.
    public var isFrozen: Bool { core.isFrozen }
}

extension RealmCore {
    /// The settings that the opener stores with the core.
    var settings: RealmSettings {
        // `RealmOpening` sets this before it hands out the core.
        openedWith.unsafelyUnwrapped
    }

    /// Advances to the newest version. Returns false, and keeps the version shown, if there is no newer one or it
    /// cannot be read. Ends the program if another program has overwritten the file.
    func advance() -> Bool {
        do { return try session.refresh() } catch {
            // The version shown no longer belongs to this file.
            if case .overwritten = error { misuse(error) }
            Logger.log(.error, "DB: Stay at version \(session.version) of \(settings.place.name): \(error.words)")
            return false
        }
    }

    func begin() throws(EngineError) {
        OrphanedWrites.endAbandoned()
        if let words = selfWait { misuse(words) }
        touch()
        if let notifier {
            notifier.beginBeforeWrite()
            // A called block may have left a write open, on this Realm or on another one of the file.
            if isWriting { refuseBegin() }
            if let words = selfWait { misuse(words) }
        }
        let before = session.version
        try session.beginWrite(settled: isObserved)
        didBegin(after: before)
    }

    /// True if observers are to be notified when a write begins at a newer version: of durable changes only, so the
    /// write waits until earlier commits are durable. All other writes join the queue of the commits that share the
    /// next sync.
    private var isObserved: Bool { notifier != nil && (livingObservations > 0 || tracker != nil) }

    /// Like `begin`, but returns false instead of waiting for the writer lock.
    func tryBegin() throws(EngineError) -> Bool {
        OrphanedWrites.endAbandoned()
        touch()
        notifier?.beginBeforeWrite()
        // A called block may have left a write open.
        if isWriting { return false }
        let before = session.version
        guard try session.tryBeginWrite(settled: isObserved) else { return false }
        didBegin(after: before)
        return true
    }

    /// Like `begin`, with the writer lock that was reserved under `number`; false if another writer has taken it.
    func begin(acceptingTurn number: UInt64) throws(EngineError) -> Bool {
        touch()
        notifier?.beginBeforeWrite()
        // A called block may have left a write open.
        if isWriting { return false }
        let before = session.version
        guard try session.beginWrite(acceptingTurn: number, settled: isObserved) else { return false }
        didBegin(after: before)
        return true
    }

    /// Like `begin(acceptingTurn:)`; without a number, like `tryBegin`. Also throws if too many versions are kept
    /// alive, which is checked once the writer lock is held; the write has then been rolled back.
    func beginAsync(acceptingTurn number: UInt64? = nil) throws(Realm.Error) -> Bool {
        do throws(EngineError) {
            let hasBegun = if let number { try begin(acceptingTurn: number) } else { try tryBegin() }
            guard hasBegun else { return false }
        } catch { throw self.error("begin a write in", error) }
        guard isWriting else { return true }
        do throws(Realm.Error) { try checkVersionLimit() } catch {
            rollBack()
            throw error
        }
        return true
    }

    private func didBegin(after before: UInt64) {
        reloadTables()
        // Before observers' blocks are called: they may change objects, begin to observe, or trap.
        noteWriteStart()
        settings.undo?.didBegin()
        observeTransaction()
        Logger.log(.trace, "DB: Begin write: \(settings.place.name)")
        WriteHook.didBegin?(self)
        guard notifier != nil || tracker != nil else { return }
        settings.database.setTelling(true)
        if session.version != before {
            notifier?.lookBeforeWrite()
            didShowOtherVersion()
            notifier?.didBeginWrite()
        } else {
            notifier?.settle(first: false)
        }
        // A called block may have begun to observe.
        if isWriting { notifier?.beginBeforeWrite() }
        // If a block has ended the write, another writer may be notifying observers by now.
        if isWriting { settings.database.setTelling(false) }
    }

    /// The error message if a write that begins on this thread would wait for itself, otherwise nil. It would do so
    /// within an observer's block that is called because a write on the file begins on this thread, and while another
    /// Realm of the file has a write open on this thread.
    private var selfWait: String? {
        if settings.database.isTellingHere { return Self.waitsForItself }
        if OrphanedWrites.isKeptHere(settings.database) { return Self.waitsForReleased }
        guard settings.database.hasBegunWriteHere,
            let writer = RealmCache.shared.writerHere(settings.database, .current)
        else { return nil }
        return "Cannot begin a write while another Realm of the same file has one open on \(writer.settings.home): "
            + "it would deadlock. Change objects with that Realm, or end its write first."
    }

    private static let waitsForReleased =
        "Cannot begin a write while another Realm of the same file, which is no longer referenced, has one open here: "
        + "it would deadlock. Open that Realm again with the same configuration, and end its write first."

    private static let waitsForItself =
        "Cannot begin a write in an observer's block that is called because another Realm of the same file begins one "
        + "on this thread: it would deadlock. Change objects in that write (`isInWriteTransaction` is true on "
        + "its Realm), or write later."

    /// Throws if `begin` would be a programmer error for that reason.
    package func checkWaitsForNoneHere() throws {
        if !isWriting, let words = selfWait {
            throw Realm.Error(.fail, .unspecified, words, fileURL: fileURL)
        }
    }

    /// Called after `begin` if a block is to run in the write.
    func requireBegun() {
        if isWriting { return }
        misuse(
            "An observer's block has ended the write transaction that had just begun. It may change objects in that "
                + "transaction, but must neither commit nor cancel it.")
    }

    func rollBack() {
        session.rollbackWrite()
        Logger.log(.debug, "DB: Roll back: \(settings.place.name)")
        takeOperation()?.end(.rolledBack)
        afterRollback()
    }

    /// Returns to the version before an asynchronous commit that has failed.
    func comeBack() {
        settings.undo?.didLoseCommits()
        // A write in progress fails when it is committed. If no version can be read, the next refresh or write
        // reports why.
        guard !isWriting, (try? session.comeBack()) == true else { return }
        afterRollback()
    }

    func afterRollback() {
        reloadTables()
        noteRollback()
        settings.undo?.didRollBack()
        settings.writeFate?.rollBack()
        for work in takeAfterWrite() { work() }
        notifier?.schedule()
    }

    /// Runs `work` when the running write has ended, on any thread; immediately if no write is running.
    func afterWrite(_ work: @escaping @Sendable () -> Void) {
        if isWriting { settings.afterWrite.append(work) } else { work() }
    }

    /// Removes and returns the work that waits for the end of the write; the caller runs it.
    fileprivate func takeAfterWrite() -> [@Sendable () -> Void] {
        settings.writeFate = nil
        if settings.afterWrite.isEmpty { return [] }
        defer { settings.afterWrite = [] }
        return settings.afterWrite
    }

    /// The public error for an engine error.
    func error(_ action: String, _ error: EngineError) -> Realm.Error {
        Realm.Error(using: settings.place.name, doing: action, error)
    }
}
