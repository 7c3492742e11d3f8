// SPDX-License-Identifier: Apache-2.0
// A Realm: the entry to all objects of one file or one place in memory, as one thread or queue sees them.
// `Realm+Objects.swift` adds, finds and deletes; `Realm+Files.swift` knows about files; `RealmOpening.swift` opens.

public import Dispatch
public import Foundation
internal import RegnumEngine

/// A database as the opening thread, or the given queue, sees it.
///
/// A small value over a shared reference: copies are the same Realm, and opening the same configuration again on the
/// same thread gives an equal one. It must be used only where it was opened; wrong use ends the program with
/// "Realm accessed from incorrect thread".
///
/// ```swift
/// let realm = try Realm()
/// try realm.write { realm.add(dog) }
/// let puppies = realm.objects(Dog.self).filter("age < 2")
/// ```
public struct Realm {
    package let core: RealmCore

    package init(core: RealmCore) { self.core = core }

    // Calls take the initialisers that learn where they are called from (`pins()` tells it); references to
    // functions, as `Realm.init(configuration:queue:)`, mean the others.

    /// Opens the default configuration, confined to the calling thread or to `queue`, a serial queue or the main
    /// queue on which the call must run. Throws `Realm.Error`.
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

    /// Opens the default configuration with another file. Throws `Realm.Error`.
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

    /// Opens the default configuration with another file. Throws `Realm.Error`.
    @_disfavoredOverload
    public init(fileURL: URL) throws {
        var configuration = Configuration.defaultConfiguration
        configuration.fileURL = fileURL
        core = try RealmOpening.open(configuration, queue: nil, origin: nil)
    }

    /// The settings in force.
    public var configuration: Configuration {
        var configuration = core.settings.configuration
        let version = core.session.schemaVersion
        if version != UInt64.max { configuration.schemaVersion = version }
        return configuration
    }

    /// The classes that this Realm knows.
    public var schema: Schema { Schema(core.settings.schema.classes) }

    /// True where no table holds an object.
    public var isEmpty: Bool {
        core.check()
        return core.session.tables.allSatisfy { $0.count == 0 }
    }

    /// What `add` and `create` do where an object with the same primary key exists.
    public enum UpdatePolicy: Int, Sendable {
        /// It is a mistake.
        case error = 1
        /// The properties that differ are written.
        case modified = 3
        /// All properties are written.
        case all = 2
    }
}

extension Realm: Equatable {
    /// True where both are the same opened instance, not only the same file.
    public static func == (left: Realm, right: Realm) -> Bool { left.core === right.core }
}

// MARK: Writing

extension Realm {
    /// Runs `block` in a write transaction, commits, and returns what the block returned. A block that throws is
    /// rolled back. A block that commits or cancels itself is left at that. Throws what the block throws, or
    /// `Realm.Error` where the transaction cannot begin or its commit fails; then nothing is changed.
    @discardableResult
    public func write<Result>(_ block: () throws -> Result) throws -> Result {
        try writing([], block)
    }

    // A closure that is one expression, in another one that returns nothing, as in
    // `queue.async { try! realm.write { realm.create(…) } }`: the compiler does not find that `Result` is `Void` there.

    /// As `write` of a block that returns something.
    public func write(_ block: () throws -> Void) throws { try writing([], block) }

    /// As `write`; the observers behind `tokens` are not told of it.
    @discardableResult
    public func write<Result>(
        withoutNotifying tokens: [NotificationToken], _ block: () throws -> Result
    ) throws -> Result {
        try writing(tokens, block)
    }

    /// As `write`; the observers behind `tokens` are not told of it.
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
        // Objects that are added and let go of one by one would each take and give back the accessors' reference.
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

    /// Begins a write transaction: makes the first calls of observers that are due, waits until no other thread or process
    /// writes, then sees the newest version, and tells observers what is due. Their blocks find `isInWriteTransaction` true; they may change objects in this
    /// write, and begin none, with another Realm of the file neither. Where one of them may end the write, ask
    /// `isInWriteTransaction` behind this; of the writes that run a block that is misuse.
    ///
    /// The write goes on when nobody holds the Realm: opening it again on the same thread, queue or actor gives the
    /// Realm that is in it, on a thread within the same task. It is rolled back, with a warning in the log, when the
    /// thread, the queue or the actor ends, and where nobody has opened the Realm again for 10 seconds (within a task 2).
    public func beginWrite() {
        checkCanBegin()
        do throws(Realm.Error) { try core.checkVersionLimit() } catch { misuse(error.localizedDescription) }
        do { try core.begin() } catch { misuse(error) }
        core.keepWriteWhenReleased()
    }

    /// Makes the changes of the write transaction durable and visible to others. Throws `Realm.Error`; then
    /// everything since `beginWrite` is rolled back.
    public func commitWrite(withoutNotifying tokens: [NotificationToken] = []) throws {
        core.check()
        guard core.isWriting else { core.refuseEnd("commit") }
        try commit(silent: tokens)
    }

    /// Undoes everything since `beginWrite`. Objects made since are invalid from now on.
    public func cancelWrite() {
        core.check()
        guard core.isWriting else { core.refuseEnd("cancel") }
        core.rollBack()
    }

    /// True between `beginWrite` and its end, on the instance that began.
    public var isInWriteTransaction: Bool {
        core.check()
        return core.isWriting
    }

    func checkCanBegin() {
        core.check()
        if core.isFrozen { misuse("Can't perform transactions on a frozen Realm") }
        if core.isReadOnly { misuse("Can't perform transactions on read-only Realms.") }
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
            // The engine has rolled back.
            core.afterRollback()
            throw core.error("write", error)
        }
        core.settings.writeFate?.committed(in: core)
        CommitBoard.committed(core.settings.database, by: core.notifier)
        for work in core.takeAfterWrite() { work() }
        core.didShowOtherVersion()
        core.notifier?.didCommit(silent: tokens)
    }

    /// Commits without waiting for the medium; `onDone` is called on any thread when the changes are durable, or have
    /// failed: then `core.comeBack()` is due where the Realm is confined to.
    func commitLater(_ onDone: @escaping @Sendable (EngineError?) -> Void) throws {
        // Both weakly: this may be held for a moment when the callback runs, and must not keep the file open.
        let (database, notifier) = (core.settings.database, core.notifier)
        // Others see the changes once they are durable.
        let fate = core.settings.writeFate
        let waiting = core.takeAfterWrite()
        // Who waits looks at what the write has led to: that is kept here, and may be durable before.
        let keeping = waiting.isEmpty ? nil : Keeping()
        do {
            defer { keeping?.end() }
            try core.session.commitWriteLater { [weak database, weak notifier] error in
                if error == nil, let database { CommitBoard.committed(database, by: notifier) }
                if error != nil { fate?.rollBack() }
                guard let keeping else { return onDone(error) }
                keeping.whenEnded {
                    for work in waiting { work() }
                    onDone(error)
                }
            }
            fate?.committed(in: core)
            Logger.log(.debug, "DB: Commit of version \(core.session.version): \(core.settings.place.name)")
        } catch {
            // The engine has rolled back.
            fate?.rollBack()
            core.afterRollback()
            for work in waiting { work() }
            throw core.error("write", error)
        }
        core.didShowOtherVersion()
        core.notifier?.didCommit(silent: [])
    }
}

// MARK: Versions

extension Realm {
    /// Sees what others have committed since, and tells observers what is due at once; false where others have
    /// committed nothing, during a write, and within an observer's block, unless that is told `.refreshRequired`. Also where
    /// the newest version cannot be read: the Realm stays where it is, the log says why, and a write throws it.
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

    /// True where the Realm may move to newer versions between turns of its run loop or queue.
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

    /// Ends all objects and collections taken from this Realm so far; a running write is rolled back first. The Realm
    /// itself can be used on, and sees the newest version. Observations go on: their blocks get the same objects and
    /// collections anew, and are told what has changed since the last call. Within an observer's block nothing happens.
    public func invalidate() {
        core.check()
        if core.notifier?.isCalling == true { return }
        if core.isWriting { core.rollBack() }
        core.retireAccessors()
        core.settings.invalidations += 1
        if core.isFrozen { return }
        // Loops that run ask for nothing but this.
        core.session.moved()
        let hasMoved = !core.isReadOnly && core.advance()
        if hasMoved { core.reloadTables() }
        core.notifier?.didInvalidate(hasMoved: hasMoved)
        core.tracker?.invalidated()
    }

    /// True for a Realm that stays at one version for ever.
    public var isFrozen: Bool { core.isFrozen }
}

extension RealmCore {
    /// What the opener keeps with the core.
    var settings: RealmSettings {
        // Set by `RealmOpening` before anyone sees the core.
        unsafeDowncast(configurationBox.unsafelyUnwrapped, to: RealmSettings.self)
    }

    /// Comes to the newest version. False where there is none newer, and where it cannot be read: what is shown stays.
    /// Ends the program where another one has written over the file.
    func advance() -> Bool {
        do { return try session.refresh() } catch {
            // What is shown is not of this file any more.
            if case .overwritten = error { misuse(error) }
            Logger.log(.error, "DB: Stay at version \(session.version) of \(settings.place.name): \(error.words)")
            return false
        }
    }

    func begin() throws(EngineError) {
        OpenWrites.endAbandoned()
        if let words = selfWait { misuse(words) }
        touch()
        if let notifier {
            notifier.beginBeforeWrite()
            // One of the blocks that were called has left its own write open, or that of another Realm.
            if isWriting { refuseBegin() }
            if let words = selfWait { misuse(words) }
        }
        let before = session.version
        // Observers are only told of what is durable.
        try session.beginWrite(settled: notifier != nil)
        didBegin(after: before)
    }

    /// As `begin`, with a turn that was offered; false where somebody else has taken it.
    func begin(acceptingTurn number: UInt64) throws(EngineError) -> Bool {
        touch()
        notifier?.beginBeforeWrite()
        // One of the blocks that were called has left its own write open.
        if isWriting { return false }
        let before = session.version
        guard try session.beginWrite(acceptingTurn: number, settled: notifier != nil) else { return false }
        didBegin(after: before)
        return true
    }

    /// As `begin(acceptingTurn:)`. Throws also where too many versions are kept, of which it asks when it is its turn:
    /// the turn is over by then.
    func beginAsync(acceptingTurn number: UInt64) throws(Realm.Error) -> Bool {
        do throws(EngineError) {
            guard try begin(acceptingTurn: number) else { return false }
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
        // Before observers' blocks, which may change something, begin to observe, or come to misuse.
        noteWriteStart()
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
        // A block that was called may have begun to observe.
        if isWriting { notifier?.beginBeforeWrite() }
        // Where a block has ended the write, somebody else may be telling by now.
        if isWriting { settings.database.setTelling(false) }
    }

    /// Why a write that begins here would wait for ever, in words; nil where it would not: within an observer's block
    /// that is called because a write on the file begins on this thread, and where another Realm has one open here.
    private var selfWait: String? {
        if settings.database.isTellingHere { return Self.waitsForItself }
        if OpenWrites.isKeptHere(settings.database) { return Self.waitsForReleased }
        guard settings.database.hasBegunWriteHere,
            let writer = RealmCache.shared.writerHere(settings.database, .current)
        else { return nil }
        return "Cannot begin a write while another Realm of the same file has one open on \(writer.settings.home): it "
            + "would wait for itself. Change objects with that Realm, or end its write first."
    }

    private static let waitsForReleased =
        "Cannot begin a write while another Realm of the same file, which nobody holds any more, has one open here: "
        + "it would wait for itself. Open that Realm again with the same configuration, and end its write first."

    private static let waitsForItself =
        "Cannot begin a write in an observer's block that is called because another Realm of the same file begins one "
        + "on this thread: it would wait for itself. Change objects in that write (`isInWriteTransaction` is true on "
        + "its Realm), or write later."

    /// Throws where `begin` would be misuse for that reason.
    package func checkWaitsForNoneHere() throws {
        if !isWriting, let words = selfWait {
            throw Realm.Error(.fail, .unspecified, words, fileURL: fileURL)
        }
    }

    /// Behind `begin`, where a block is to run in the write.
    func requireBegun() {
        if isWriting { return }
        misuse(
            "An observer's block has ended the write transaction that had just begun: it may change objects in it, and "
                + "must neither commit nor cancel it.")
    }

    func rollBack() {
        session.rollbackWrite()
        Logger.log(.debug, "DB: Roll back: \(settings.place.name)")
        afterRollback()
    }

    /// After a commit that was not waited for has failed: shows the version before it.
    func comeBack() {
        // A write that goes on fails when it is committed. Where no version can be read, the next refresh or write says
        // why.
        guard !isWriting, (try? session.comeBack()) == true else { return }
        afterRollback()
    }

    func afterRollback() {
        reloadTables()
        noteRollback()
        settings.writeFate?.rollBack()
        for work in takeAfterWrite() { work() }
        notifier?.schedule()
    }

    /// Does `work` when the running write has ended, on whatever thread; at once where there is none.
    func afterWrite(_ work: @escaping @Sendable () -> Void) {
        if isWriting { settings.afterWrite.append(work) } else { work() }
    }

    /// What waits for the end of the write, to be done by the caller.
    fileprivate func takeAfterWrite() -> [@Sendable () -> Void] {
        settings.writeFate = nil
        if settings.afterWrite.isEmpty { return [] }
        defer { settings.afterWrite = [] }
        return settings.afterWrite
    }

    /// What users catch for an error of the engine.
    func error(_ action: String, _ error: EngineError) -> Realm.Error {
        Realm.Error(using: settings.place.name, doing: action, error)
    }
}
