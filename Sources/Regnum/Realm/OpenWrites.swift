// SPDX-License-Identifier: Apache-2.0
// Writes that go on though nobody holds their Realm, as in `try Realm().beginWrite(); try Realm().create(…)`: the next
// opening on the same thread, queue or actor goes on with them. They end with that thread, queue or actor.
//
//     last reference to a Realm that is in a write ──▶ its session is kept with the thread, queue or actor
//     the same configuration is opened there again ──▶ a Realm around that session, in the write

internal import Dispatch
internal import Foundation
internal import RegnumEngine
internal import RegnumSystem
internal import Synchronization

/// A write whose Realm is gone.
struct OpenWrite: @unchecked Sendable {
    // Sendable: only taken out again where the Realm was confined to; ended on any thread.
    let session: Session
    let configuration: Realm.Configuration
    /// True where something was changed.
    let hasChanges: Bool
    let afterWrite: [@Sendable () -> Void]
    let fate: WriteFate?
    /// The task in which it has begun, of a Realm of a thread: threads serve one task after the other.
    let task: Int?
}

/// Those of one thread, queue or actor, which alone keeps this, and so ends them.
final class OpenWrites: @unchecked Sendable {
    // Sendable: everything mutable is behind the mutex.
    private let writes = Lock<[RealmCache.Key: OpenWrite]>([:])
    /// How many there are in the process.
    private static let count = Atomic(0)

    deinit {
        let last = writes.withLock { $0.count }
        Self.count.subtract(last, ordering: .relaxed)
    }

    /// For the caller, who is there.
    static func of(_ confinement: Confinement, _ queue: DispatchQueue?, _ actor: (any Actor)?) -> OpenWrites {
        switch confinement {
        case .thread: return ofThread
        case .queue(QueueConfinement.mainIdentity): return ofMain
        case .queue:
            guard let queue else { preconditionFailure("a Realm of a queue knows it") }
            if let known = queue.getSpecific(key: key) { return known }
            let made = OpenWrites()
            queue.setSpecific(key: key, value: made)
            return made
        case .actor:
            guard let actor else { preconditionFailure("a Realm of an actor knows it") }
            return ofActor(actor)
        }
    }

    private static let ofMain = OpenWrites()
    private static let key = DispatchSpecificKey<OpenWrites>()
    private static let threadKey = "regnum.openWrites"

    private static var ofThread: OpenWrites {
        let values = Thread.current.threadDictionary
        if let known = values[threadKey] as? OpenWrites { return known }
        let made = OpenWrites()
        values[threadKey] = made
        return made
    }

    private struct OfActor: @unchecked Sendable {
        // Sendable: a weak reference that is never set again.
        weak var actor: (any Actor)?
        let writes: OpenWrites
    }
    private static let actors = Lock<[ObjectIdentifier: OfActor]>([:])

    private static func ofActor(_ actor: any Actor) -> OpenWrites {
        if let known = actors.withLock({ $0[ObjectIdentifier(actor)] }), known.actor === actor { return known.writes }
        let made = OfActor(actor: actor, writes: OpenWrites())
        endThoseOfEndedActors()
        let former = actors.withLock { $0.updateValue(made, forKey: ObjectIdentifier(actor)) }
        withExtendedLifetime(former) {}
        return made.writes
    }

    /// Nobody else tells that an actor has ended: asked before a write begins. O(1) where no write is kept.
    static func endThoseOfEndedActors() {
        if count.load(ordering: .relaxed) == 0 { return }
        let ended = actors.withLock { actors in
            let ended = actors.filter { $0.value.actor == nil }
            for key in ended.keys { actors[key] = nil }
            return ended
        }
        withExtendedLifetime(ended) {}
    }

    /// Keeps the write until it is taken, or this ends.
    func keep(_ write: OpenWrite, at key: RealmCache.Key) {
        Self.count.add(1, ordering: .relaxed)
        let former = writes.withLock { $0.updateValue(write, forKey: key) }
        if former != nil { Self.count.subtract(1, ordering: .relaxed) }
        withExtendedLifetime(former) {}
    }

    /// The write that is open at the key; nil where none is kept. Ends one that another task has left on the thread.
    static func take(
        _ key: RealmCache.Key, _ queue: DispatchQueue?, _ actor: (any Actor)?
    ) -> OpenWrite? {
        if count.load(ordering: .relaxed) == 0 { return nil }
        let own = of(key.confinement, queue, actor)
        guard let write = own.writes.withLock({ $0.removeValue(forKey: key) }) else { return nil }
        count.subtract(1, ordering: .relaxed)
        return write.task == currentTask(key.confinement) && !write.session.database.isForked ? write : nil
    }

    /// True where one of the file is kept with the calling thread, which would wait for itself. Ends one that another
    /// task has left.
    static func isOpenOnThread(_ database: Database) -> Bool {
        if count.load(ordering: .relaxed) == 0 { return false }
        let here = Confinement.thread(CurrentThread.id)
        let (own, task) = (QueueConfinement.isMain ? ofMain : ofThread, currentTask(here))
        let (isOpen, left) = own.writes.withLock { writes in
            let ofFile = writes.filter { $0.value.session.database === database }
            let left = ofFile.filter { $0.key.confinement == here && $0.value.task != task }
            for key in left.keys { writes[key] = nil }
            return (ofFile.count > left.count, left)
        }
        count.subtract(left.count, ordering: .relaxed)
        return isOpen
    }

    /// The calling task, where a Realm is a thread's.
    static func currentTask(_ confinement: Confinement) -> Int? {
        guard case .thread = confinement else { return nil }
        return withUnsafeCurrentTask { $0?.hashValue }
    }
}

extension RealmCore {
    /// To be called when a write has begun that goes on when the call returns.
    func keepWriteWhenReleased() {
        let settings = settings
        guard let key = settings.key else { return }
        settings.openWrites = .of(key.confinement, settings.queue, settings.mailbox?.actor)
        settings.task = OpenWrites.currentTask(key.confinement)
    }

    /// With the last reference: a write that is open goes on.
    func keepOpenWrite() {
        guard isWriting, !session.database.isForked, let settings = configurationBox as? RealmSettings,
            let key = settings.key, let writes = settings.openWrites
        else { return }
        // It ends with its actor.
        if let mailbox = settings.mailbox, mailbox.actor == nil { return }
        writes.keep(
            OpenWrite(
                session: session, configuration: settings.configuration, hasChanges: hasUncommittedChanges,
                afterWrite: settings.afterWrite, fate: settings.writeFate, task: settings.task), at: key)
    }

    /// Goes on with a write that another Realm has begun on the same session.
    func resume(_ write: OpenWrite) {
        settings.afterWrite = write.afterWrite
        settings.writeFate = write.fate
        resumeWrite(hasChanges: write.hasChanges)
        keepWriteWhenReleased()
    }
}
