// SPDX-License-Identifier: Apache-2.0
// Writes that wait for their turn without a thread: their blocks run where the Realm is confined to, one after the
// other in the order in which they were asked for, whichever Realms of the file they belong to.

internal import Dispatch
internal import RegnumEngine

extension Realm {
    /// Runs `block` in a write transaction, later, where this Realm is confined to, and commits. The caller goes on
    /// at once, and neither waits for other writers nor for the disk.
    ///
    /// - Parameters:
    ///   - block: runs when it is its turn, after those that were asked for before on any Realm of the file. A block
    ///     that commits or cancels itself is left at that.
    ///   - onComplete: called there once the changes are durable, or with the error for which there are none.
    /// - Returns: what `cancelAsyncWrite` takes.
    ///
    /// The Realm stays open until then, and other processes wait until then with their writes: a program that may be
    /// suspended waits for `onComplete` first. Misuse on frozen and read-only Realms, and where nothing can call back:
    /// on a thread without a run loop.
    @discardableResult
    public func writeAsync(
        _ block: @escaping () -> Void, onComplete: (((any Swift.Error)?) -> Void)? = nil
    ) -> AsyncTransactionId {
        core.asyncWrites().schedule(commits: true, block, onComplete)
    }

    /// As `writeAsync`, but the block has to end the transaction: what it has not committed by `commitAsyncWrite` or
    /// `commitWrite` when it returns is rolled back. Where it cannot begin the block does not run, and the logger is
    /// told.
    @discardableResult
    public func beginAsyncWrite(_ asyncWriteBlock: @escaping () -> Void) -> AsyncTransactionId {
        core.asyncWrites().schedule(commits: false, asyncWriteBlock, nil)
    }

    /// Ends the write transaction: its changes are visible at once, and `onComplete` is called when they are durable.
    ///
    /// - Parameters:
    ///   - allowGrouping: true where several commits may become durable together. They do so in any case where one is
    ///     made while the disk is busy with another.
    ///   - onComplete: called where the Realm is confined to, with the error where the commit failed; then the
    ///     changes are rolled back. It may begin another write, and end that one.
    /// - Returns: what `cancelAsyncWrite` takes, which then only keeps `onComplete` from being called.
    ///
    /// Misuse outside of a write transaction.
    @discardableResult
    public func commitAsyncWrite(
        allowGrouping: Bool = false, _ onComplete: (((any Swift.Error)?) -> Void)? = nil
    ) -> AsyncTransactionId {
        core.check()
        guard core.isWriting else { core.refuseEnd("commit") }
        return core.asyncWrites().commit(onComplete)
    }

    /// Drops a block that has not yet run; of a commit drops the callback, the changes stay. Nothing happens where
    /// it is done.
    public func cancelAsyncWrite(_ asyncTransactionId: AsyncTransactionId) throws {
        core.check()
        core.settings.asyncWrites?.cancel(asyncTransactionId)
    }

    /// True from the asking for an asynchronous write until its callback, or `asyncWrite`, has returned.
    public var isPerformingAsynchronousWriteOperations: Bool {
        core.check()
        return core.settings.asyncWrites.map { $0.count > 0 } ?? false
    }
}

extension RealmCore {
    /// Misuse where no asynchronous write may be asked for.
    func asyncWrites() -> AsyncWrites {
        check()
        if isFrozen { misuse("Can't perform transactions on a frozen Realm") }
        if isReadOnly { misuse("Can't perform transactions on read-only Realms.") }
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
    /// Misuse: a write is to begin where one runs.
    func refuseBegin() -> Never {
        let words = "The Realm is already in a write transaction"
        if isCallingBack { misuse("\(Self.insideCallback("begin")) \(words): end that one first.") }
        misuse(words)
    }

    /// Misuse: where none runs there is nothing to "commit" or "cancel".
    func refuseEnd(_ verb: String) -> Never {
        if isCallingBack {
            misuse("\(Self.insideCallback(verb)) The one that calls back has ended: begin another one before.")
        }
        misuse("Can't \(verb) a non-existing write transaction")
    }

    private var isCallingBack: Bool { settings.asyncWrites?.isCallingBack ?? false }

    /// What RealmSwift says of any write there, and here only of one that cannot be.
    private static func insideCallback(_ verb: String) -> String {
        "Can't \(verb) a write transaction from inside a commit completion callback."
    }
}

/// The asynchronous writes of one Realm. Confined to it; what comes from elsewhere comes by way of `place`.
final class AsyncWrites {
    private struct Transaction {
        let turn: UInt64
        let commits: Bool
        let block: () -> Void
        let onComplete: (((any Swift.Error)?) -> Void)?
    }

    /// The settings of the Realm hold this.
    private unowned let core: RealmCore
    private let place: DeliveryPlace
    let turns: TurnQueue
    private var last: AsyncTransactionId = 0
    private var transactions: [AsyncTransactionId: Transaction] = [:]
    private var completions: [AsyncTransactionId: ((any Swift.Error)?) -> Void] = [:]
    /// What was asked for and is not finished.
    private(set) var count = 0
    /// How many callbacks are on the stack.
    private var callbacks = 0
    var isCallingBack: Bool { callbacks > 0 }

    init(_ core: RealmCore, _ place: DeliveryPlace) {
        self.core = core
        self.place = place
        turns = .of(core.settings.database)
    }

    /// To other threads and back.
    private struct Home: @unchecked Sendable {
        // Sendable: only used again where the Realm is confined to.
        let core: RealmCore
        var writes: AsyncWrites? { core.settings.asyncWrites }
    }

    /// As `Home`, for the end of a write, which is brought back once. The Realm is let go of before the callback is
    /// made: the program may close it there, and delete the file.
    private final class Return: @unchecked Sendable {
        // Sendable: only used again where the Realm is confined to.
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

    /// The transaction has its turn, or cannot have one.
    private func run(_ id: AsyncTransactionId, _ error: EngineError?) {
        guard let transaction = transactions[id] else { return }
        // Granted to a block that has begun a write before, with this very turn, and left it open.
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

    /// What is to be called at the end of a write. It does not hold the Realm.
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

    /// `asyncWrite` has been called. Its end is `taskEnded`.
    func taskBegan() { count += 1 }
    func taskEnded() { count -= 1 }
}
