// SPDX-License-Identifier: Apache-2.0
// Write transactions that wait for the writer lock without blocking a thread. Their blocks run on the thread, queue or
// actor of the Realm, one after another, in the order of the requests, across all Realms of the file.

internal import Dispatch
internal import RegnumEngine

extension Realm {
    /// Schedules `block` to run in a write transaction on this Realm's thread, queue or actor, and commits the
    /// transaction. Returns immediately: the caller waits neither for other writers nor for the disk.
    ///
    /// - Parameters:
    ///   - block: runs after the blocks requested before it on any Realm of the file. If it commits or cancels the
    ///     transaction itself, nothing more is done.
    ///   - onComplete: called there once the changes are durable, or with the error that prevented them.
    /// - Returns: an id for `cancelAsyncWrite`.
    ///
    /// The Realm stays open until `onComplete` is called, and other processes cannot write before that: a program that
    /// may be suspended should wait for the call first. It is a programmer error to call this on a frozen or read-only
    /// Realm, or on a thread without a run loop, because no block can be called back there.
    @discardableResult
    public func writeAsync(
        _ block: @escaping () -> Void, onComplete: (((any Swift.Error)?) -> Void)? = nil
    ) -> AsyncTransactionId {
        core.asyncWrites().schedule(commits: true, block, onComplete)
    }

    /// Like `writeAsync`, but the block must end the transaction: whatever it has not committed with `commitAsyncWrite`
    /// or `commitWrite` when it returns is rolled back. If the transaction cannot begin, the block does not run, and
    /// the error is logged.
    @discardableResult
    public func beginAsyncWrite(_ asyncWriteBlock: @escaping () -> Void) -> AsyncTransactionId {
        core.asyncWrites().schedule(commits: false, asyncWriteBlock, nil)
    }

    /// Commits the write transaction: this Realm shows its changes immediately, and `onComplete` is called when they
    /// are durable.
    ///
    /// - Parameters:
    ///   - allowGrouping: true if several commits may become durable together. Even if false, commits made while the
    ///     disk is busy with another commit share the next sync.
    ///   - onComplete: called on the Realm's thread, queue or actor, with an error if the commit failed; the changes
    ///     are then rolled back. The callback may begin another write transaction, and end it.
    /// - Returns: an id for `cancelAsyncWrite`, which in this case only prevents `onComplete` from being called.
    ///
    /// It is a programmer error to call this outside a write transaction.
    @discardableResult
    public func commitAsyncWrite(
        allowGrouping: Bool = false, _ onComplete: (((any Swift.Error)?) -> Void)? = nil
    ) -> AsyncTransactionId {
        core.check()
        guard core.isWriting else { core.refuseEnd("commit") }
        core.requireNoSavepoint()
        return core.asyncWrites().commit(onComplete)
    }

    /// Cancels a block that has not yet run; for a commit, only its callback: the changes stay. Does nothing if the
    /// block or the callback has already run.
    public func cancelAsyncWrite(_ asyncTransactionId: AsyncTransactionId) throws {
        core.check()
        core.settings.asyncWrites?.cancel(asyncTransactionId)
    }

    /// True from the request of an asynchronous write until its callback, or `asyncWrite`, has returned.
    public var isPerformingAsynchronousWriteOperations: Bool {
        core.check()
        return core.settings.asyncWrites.map { $0.count > 0 } ?? false
    }
}

extension RealmCore {
    /// The asynchronous writes of this Realm. It is a programmer error if the Realm does not allow any.
    func asyncWrites() -> AsyncWrites {
        check()
        if isFrozen { misuse("Can't perform transactions on a frozen Realm") }
        if isReadOnly { misuse("Can't perform transactions on read-only Realms.") }
        refuseWriteOfReader()
        if let known = settings.asyncWrites { return known }
        guard let place = deliveryPlace else {
            misuse(
                "Cannot schedule async transaction. Make sure you are running from inside a run loop. This thread "
                    + "runs none: use a Realm of a serial queue or of an actor.")
        }
        let made = AsyncWrites(self, place)
        settings.asyncWrites = made
        return made
    }
}

extension RealmCore {
    /// Traps because a write is to begin while another one is open.
    func refuseBegin() -> Never {
        let words = "The Realm is already in a write transaction"
        if isCallingBack { misuse("\(Self.insideCallback("begin")) \(words): end that one first.") }
        misuse(words)
    }

    /// Traps because no write is open that could be ended; `verb` is "commit" or "cancel".
    func refuseEnd(_ verb: String) -> Never {
        if isCallingBack {
            misuse(
                "\(Self.insideCallback(verb)) The write whose callback is running has ended: begin another one first.")
        }
        misuse("Can't \(verb) a non-existing write transaction")
    }

    private var isCallingBack: Bool { settings.asyncWrites?.isCallingBack ?? false }

    /// RealmSwift's message for any write within a completion callback; used here only for writes that are not possible
    /// there.
    private static func insideCallback(_ verb: String) -> String {
        "Can't \(verb) a write transaction from inside a commit completion callback."
    }
}

/// The asynchronous writes of one Realm. Confined like the Realm; calls from elsewhere arrive through `place`.
final class AsyncWrites {
    private struct Transaction {
        let turn: UInt64
        let commits: Bool
        let block: () -> Void
        let onComplete: (((any Swift.Error)?) -> Void)?
    }

    /// Unowned: the settings of the Realm hold this object.
    private unowned let core: RealmCore
    private let place: CallbackScheduler
    let turns: WriterLockQueue
    private var last: AsyncTransactionId = 0
    private var transactions: [AsyncTransactionId: Transaction] = [:]
    private var completions: [AsyncTransactionId: ((any Swift.Error)?) -> Void] = [:]
    /// The number of requests that have not finished.
    private(set) var count = 0
    /// The number of callbacks on the stack.
    private var callbacks = 0
    var isCallingBack: Bool { callbacks > 0 }

    init(_ core: RealmCore, _ place: CallbackScheduler) {
        self.core = core
        self.place = place
        turns = .of(core.settings.database)
    }

    /// Carries the Realm to other threads and back.
    private struct Home: @unchecked Sendable {
        // Sendable: used only on the Realm's own thread, queue or actor.
        let core: RealmCore
        var writes: AsyncWrites? { core.settings.asyncWrites }
    }

    /// Like `Home`, but for the end of a write, which is delivered once. Releases the Realm before the callback: the
    /// program may close the Realm there, and delete the file.
    private final class Return: @unchecked Sendable {
        // Sendable: used only on the Realm's own thread, queue or actor.
        private var core: RealmCore?
        private let id: AsyncTransactionId
        private let failure: (any Swift.Error)?

        init(_ core: RealmCore, _ id: AsyncTransactionId, _ failure: (any Swift.Error)? = nil) {
            (self.core, self.id, self.failure) = (core, id, failure)
        }

        func arrive(_ error: EngineError? = nil) { callback(error)?() }

        private func callback(_ error: EngineError?) -> (() -> Void)? {
            guard let core else { return nil }
            self.core = nil
            core.check()
            if error != nil { core.comeBack() }
            return core.settings.asyncWrites?.callback(id, failure ?? error.map { core.error("write", $0) })
        }
    }

    private func nextID() -> AsyncTransactionId {
        last &+= 1
        count += 1
        return last
    }

    // MARK: Turns

    func schedule(
        commits: Bool, _ block: @escaping () -> Void, _ onComplete: (((any Swift.Error)?) -> Void)?
    ) -> AsyncTransactionId {
        let id = nextID()
        let home = Home(core: core)
        let turn = turns.request(from: ObjectIdentifier(core)) { [place] error in
            place.perform {
                home.core.check()
                home.writes?.run(id, error)
            }
        }
        transactions[id] = Transaction(turn: turn, commits: commits, block: block, onComplete: onComplete)
        return id
    }

    /// Runs the transaction with the writer lock, or reports why it could not get the lock.
    private func run(_ id: AsyncTransactionId, _ error: EngineError?) {
        guard let transaction = transactions[id] else { return }
        // The lock was offered to a block that had already begun a write with it, and left the write open.
        if error == nil, core.isWriting { return turns.missed(transaction.turn) }
        var refusal = error.map { core.error("begin a write in", $0) }
        if refusal == nil {
            do throws(Realm.Error) {
                guard try core.beginAsync(acceptingTurn: transaction.turn) else {
                    return turns.missed(transaction.turn)
                }
            } catch { refusal = error }
        }
        transactions[id] = nil
        if let refusal {
            if error == nil { turns.end(transaction.turn) }
            if transaction.onComplete == nil { Logger.log(.error, refusal.localizedDescription) }
            callBack(transaction.onComplete, refusal)
            count -= 1
            return
        }
        if !core.isWriting {
            turns.finished(transaction.turn)
            count -= 1
            core.requireBegun()
        }
        transaction.block()
        if core.isWriting, transaction.commits {
            _ = commit(transaction.onComplete)
        } else {
            if core.isWriting { core.rollBack() }
            if let onComplete = transaction.onComplete { finishLater(nextID(), onComplete, nil) }
        }
        turns.finished(transaction.turn)
        count -= 1
    }

    func cancel(_ id: AsyncTransactionId) {
        completions[id] = nil
        guard let transaction = transactions.removeValue(forKey: id) else { return }
        turns.cancel(transaction.turn)
        count -= 1
    }

    // MARK: Commits

    func commit(_ onComplete: (((any Swift.Error)?) -> Void)?) -> AsyncTransactionId {
        let id = nextID()
        let home = Return(core, id)
        if let onComplete { completions[id] = onComplete }
        do {
            try Realm(core: core).commitLater { [place] error in place.perform { home.arrive(error) } }
        } catch { finishLater(id, onComplete, error) }
        return id
    }

    private func finishLater(
        _ id: AsyncTransactionId, _ onComplete: (((any Swift.Error)?) -> Void)?, _ failure: (any Swift.Error)?
    ) {
        if let onComplete { completions[id] = onComplete }
        let home = Return(core, id, failure)
        place.perform { home.arrive() }
    }

    /// Removes the completion of a write, and returns a closure that calls it. The closure does not retain the Realm.
    private func callback(_ id: AsyncTransactionId, _ failure: (any Swift.Error)?) -> () -> Void {
        let onComplete = completions.removeValue(forKey: id)
        return {
            self.callBack(onComplete, failure)
            self.count -= 1
        }
    }

    private func callBack(_ onComplete: (((any Swift.Error)?) -> Void)?, _ failure: (any Swift.Error)?) {
        callbacks += 1
        onComplete?(failure)
        callbacks -= 1
    }

    // MARK: Writes of tasks

    /// Called by `asyncWrite` when it begins; `taskEnded` is called when it ends.
    func taskBegan() { count += 1 }
    func taskEnded() { count -= 1 }
}
