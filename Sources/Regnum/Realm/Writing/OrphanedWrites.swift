// SPDX-License-Identifier: Apache-2.0
// Write transactions that stay open although their Realm has been released, as in
// `try Realm().beginWrite(); try Realm().create(…)`: opening the Realm again on the same thread, queue or actor
// continues them.
//
//     last reference to a Realm in a write is released ──▶ its session is kept under the key the Realm was opened with
//     the same configuration is opened there again     ──▶ a new Realm around that session, in the write
//     the thread, queue or actor ends, or time is up   ──▶ rolled back, with a warning in the log
//
// The last rule covers errors between `beginWrite` and `commitWrite`: such a write must not block all others.

internal import Dispatch
internal import Foundation
internal import RegnumEngine
internal import RegnumSystem
internal import Synchronization

/// An open write whose Realm has been released.
struct OpenWrite: @unchecked Sendable {
    // Sendable: taken out only on the Realm's own thread, queue or actor; ended on any thread.
    let session: Session
    let configuration: Realm.Configuration
    /// True if the write has changed anything.
    let hasChanges: Bool
    let afterWrite: [@Sendable () -> Void]
    let fate: WriteOutcome?
    let operation: (any RunningOperation)?
    /// For a Realm confined to a thread: the task that began the write, because a thread serves one task after another.
    let task: Int?
    let owner: Owner
    /// The time of `MonotonicClock` at which the write is rolled back.
    let deadline: UInt64

    /// The thread, queue or actor that the write belongs to.
    struct Owner: @unchecked Sendable {
        // Sendable: a weak reference that is never set again.
        weak var object: AnyObject?
        let isMain: Bool
        var hasEnded: Bool { !isMain && object == nil }
    }

    /// Runs the work that waits for the end of the write, as a rollback does. Any thread; not with a lock held.
    func end() {
        operation?.end(.rolledBack)
        fate?.rollBack()
        for work in afterWrite { work() }
    }
}

/// The open writes of the process.
package enum OrphanedWrites {
    private struct State {
        var writes: [RealmCache.Key: OpenWrite] = [:]
        var isTimed = false
    }
    private static let state = Lock(State())
    /// The number of open writes, so that checking for none needs no lock.
    private static let count = Atomic(0)

    /// How long a write is kept if it is not continued. A task may end at any moment, and another one run on its
    /// thread.
    private static let patience: UInt64 = 10_000_000_000
    private static let patienceOfTask: UInt64 = 2_000_000_000
    private static let interval: UInt64 = 250_000_000

    /// An object that lives as long as the calling thread, queue or actor.
    static func owner(
        _ confinement: Confinement, _ queue: DispatchQueue?, _ actor: (any Actor)?
    ) -> OpenWrite.Owner {
        switch confinement {
        case .queue(QueueConfinement.mainIdentity): OpenWrite.Owner(object: nil, isMain: true)
        case .thread: OpenWrite.Owner(object: threadMark, isMain: false)
        case .queue: OpenWrite.Owner(object: queue, isMain: false)
        case .actor: OpenWrite.Owner(object: actor, isMain: false)
        }
    }

    private final class ThreadMark {}
    private static let threadKey = "regnum.thread"

    private static var threadMark: ThreadMark {
        let values = Thread.current.threadDictionary
        if let known = values[threadKey] as? ThreadMark { return known }
        let made = ThreadMark()
        values[threadKey] = made
        return made
    }

    /// Nanoseconds for which the writes that the running code leaves are kept instead, for tests: on a busy machine
    /// some seconds may pass between two statements.
    @TaskLocal package static var scopedPatience: UInt64?

    static func deadline(task: Int?) -> UInt64 {
        MonotonicClock.now() + (scopedPatience ?? (task == nil ? patience : patienceOfTask))
    }

    /// Keeps the write until it is taken, its owner has ended, or its deadline has passed.
    static func keep(_ write: OpenWrite, at key: RealmCache.Key) {
        let (former, startsTimer) = state.withLock { state in
            let former = state.writes.updateValue(write, forKey: key)
            count.store(state.writes.count, ordering: .relaxed)
            defer { state.isTimed = true }
            return (former, !state.isTimed)
        }
        former?.end()
        if startsTimer { lookAgain() }
    }

    private static func lookAgain() {
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(interval))) {
            endAbandoned()
            let goesOn = state.withLock { state in
                state.isTimed = !state.writes.isEmpty
                return state.isTimed
            }
            if goesOn { lookAgain() }
        }
    }

    /// Rolls back the writes whose owner has ended or whose deadline has passed. O(1) if none is kept.
    static func endAbandoned() {
        if count.load(ordering: .relaxed) == 0 { return }
        let now = MonotonicClock.now()
        for write in remove(where: { _, write in write.owner.hasEnded || write.deadline < now }) {
            Logger.log(
                .warn,
                "DB: Rolled back an abandoned write of \(write.session.database.path): its Realm was released "
                    + "without commitWrite or cancelWrite. Hold the Realm in a variable.")
        }
    }

    /// Removes and returns the write kept under the key; nil if there is none. Rolls back a write that another task has
    /// left.
    static func take(_ key: RealmCache.Key) -> OpenWrite? {
        if count.load(ordering: .relaxed) == 0 { return nil }
        endAbandoned()
        let found = state.withLock { state in
            let found = state.writes.removeValue(forKey: key)
            count.store(state.writes.count, ordering: .relaxed)
            return found
        }
        guard let write = found else { return nil }
        if write.task == currentTask(key.confinement), !write.session.database.isForked { return write }
        write.end()
        return nil
    }

    /// True if a write to the file is kept for the caller, which would wait for itself. Rolls back a write that another
    /// task has left on the thread.
    static func isKeptHere(_ database: Database) -> Bool {
        if count.load(ordering: .relaxed) == 0 { return false }
        endAbandoned()
        let ofFile = state.withLock { state in state.writes.filter { $0.value.session.database === database } }
        var isKept = false
        for (key, write) in ofFile where isHere(key.confinement, write.owner) {
            if write.task == currentTask(key.confinement) {
                isKept = true
            } else {
                _ = remove { other, _ in other == key }
            }
        }
        return isKept
    }

    private static func isHere(_ confinement: Confinement, _ owner: OpenWrite.Owner) -> Bool {
        switch confinement {
        case .thread(let id): id == CurrentThread.id
        case .queue(QueueConfinement.mainIdentity): QueueConfinement.isMain
        case .queue(let identity): QueueConfinement.isCurrent(identity)
        case .actor: (owner.object as? any Actor).map { CurrentExecutor.isCurrent($0.unownedExecutor) == true } ?? false
        }
    }

    private static func remove(where isOver: (RealmCache.Key, OpenWrite) -> Bool) -> [OpenWrite] {
        let over = state.withLock { state in
            let over = state.writes.filter { isOver($0.key, $0.value) }
            for key in over.keys { state.writes[key] = nil }
            count.store(state.writes.count, ordering: .relaxed)
            return Array(over.values)
        }
        for write in over { write.end() }
        return over
    }

    /// The calling task, if the Realm is confined to a thread.
    static func currentTask(_ confinement: Confinement) -> Int? {
        guard case .thread = confinement else { return nil }
        return withUnsafeCurrentTask { $0?.hashValue }
    }
}

extension RealmCore {
    /// Call when a write has begun that stays open after the call returns.
    func keepWriteWhenReleased() {
        let settings = settings
        guard let key = settings.key else { return }
        settings.task = OrphanedWrites.currentTask(key.confinement)
        if settings.owner != nil { return }
        settings.owner = OrphanedWrites.owner(key.confinement, settings.queue, settings.mailbox?.actor)
    }

    /// Called with the last reference: keeps an open write.
    func keepOpenWrite() {
        guard isWriting, !session.database.isForked, let settings = openedWith,
            let key = settings.key, let owner = settings.owner, !owner.hasEnded
        else { return }
        OrphanedWrites.keep(
            OpenWrite(
                session: session, configuration: settings.configuration, hasChanges: hasUncommittedChanges,
                afterWrite: settings.afterWrite, fate: settings.writeFate, operation: settings.operation,
                task: settings.task, owner: owner, deadline: OrphanedWrites.deadline(task: settings.task)), at: key)
    }

    /// Continues a write that another Realm has begun on the same session.
    func resume(_ write: OpenWrite) {
        settings.afterWrite = write.afterWrite
        settings.writeFate = write.fate
        settings.operation = write.operation
        resumeWrite(hasChanges: write.hasChanges)
        keepWriteWhenReleased()
    }
}
