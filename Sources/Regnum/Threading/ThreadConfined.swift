// SPDX-License-Identifier: Apache-2.0
// Values that belong to a Realm, and so to a thread, and their common operations that cross threads: freezing and
// thawing.

internal import Dispatch
internal import RegnumEngine
internal import RegnumSystem

/// A Realm, as the requirements of `ThreadConfined` refer to it.
public struct _RealmHome {
    package let core: RealmCore
    package init(core: RealmCore) { self.core = core }
}

/// A value that belongs to a Realm, and so to its thread: an object, a collection or a projection.
public protocol ThreadConfined {
    /// The Realm it belongs to; nil while it is unmanaged.
    var realm: Realm? { get }
    /// True if it can no longer be used.
    var isInvalidated: Bool { get }
    /// True if it is frozen, that is, stays at one version.
    var isFrozen: Bool { get }
    /// The same value in another Realm of the same file; nil if it does not exist there. With `mayBeMissing`, its
    /// existence is not checked.
    func _moved(to home: _RealmHome, mayBeMissing: Bool) -> Self?
    /// The name of its kind in messages.
    static var _confinedName: String { get }
}

extension ThreadConfined {
    public static var _confinedName: String { "collections" }

    /// A frozen copy: it stays at the current version, and can be used on any thread. It pins that version in the file
    /// as long as it lives. During a write transaction, the copy shows the version before the transaction. Returns a
    /// frozen receiver itself. It is a programmer error if the receiver is unmanaged or invalid. O(1).
    public func freeze() -> Self {
        guard let realm else { misuse("Unmanaged \(Self._confinedName) cannot be frozen. Add them to a Realm first.") }
        realm.core.check()
        if isFrozen { return self }
        requireConfined()
        guard let frozen = _moved(to: _RealmHome(core: realm.core.frozen()), mayBeMissing: false) else {
            misuse(
                "Cannot freeze an object in the same write transaction as it was created in. Commit the "
                    + "transaction first.")
        }
        return frozen
    }

    /// The live counterpart on the calling thread, queue or actor, as its Realm shows it, which may not be the newest
    /// version; nil if it does not exist there. Returns a live receiver itself. It is a programmer error if the
    /// receiver is unmanaged.
    ///
    /// An actor or a queue counts only if the file is open on it; otherwise the result belongs to the thread.
    public func thaw() -> Self? {
        guard let realm else { misuse("Unmanaged \(Self._confinedName) cannot be thawed. Only frozen ones can.") }
        realm.core.check()
        if !isFrozen { return self }
        if isInvalidated { requireConfined() }
        return _moved(to: _RealmHome(core: realm.core.live()), mayBeMissing: false)
    }

    private func requireConfined() {
        guard isInvalidated else { return }
        if self is ObjectBase { misuse("Object has been deleted or invalidated.") }
        misuse("Collection is no longer valid. Its object was deleted or its Realm invalidated.")
    }
}

extension RealmCore {
    /// The frozen Realm of the current version; during a write transaction, of the version before it. Equal versions
    /// share one instance.
    func frozen() -> RealmCore { engine { () throws(EngineError) in try makeFrozen() } }

    /// Like `frozen`, but throws if the version cannot be read.
    func makeFrozen() throws(EngineError) -> RealmCore {
        check()
        if isFrozen { return self }
        touch()
        let settings = settings
        let types = settings.configuration.objectTypes.map { Set($0.map { ObjectIdentifier($0) }) }
        let key = RealmCache.FrozenKey(
            database: ObjectIdentifier(settings.database), version: session.version, types: types)
        if let known = RealmCache.shared.frozenCore(at: key) { return known }
        return RealmCache.shared.insert(frozen: frozen(showing: try session.freeze()), at: key)
    }

    /// A frozen Realm with the settings of this one, which shows what `session` does.
    func frozen(showing session: Session) -> RealmCore {
        let settings = settings
        let core = RealmCore(session: session, isReadOnly: isReadOnly, isFrozen: true)
        let kept = RealmSettings(
            configuration: settings.configuration, place: settings.place, database: settings.database,
            schema: settings.schema, queue: settings.queue)
        kept.mailbox = settings.mailbox
        core.openedWith = kept
        core.bind(settings.schema.classes)
        return core
    }

    /// The live Realm of the calling thread, queue or actor, opened if necessary. It is a programmer error if it cannot
    /// be opened.
    func live() -> RealmCore {
        if !isFrozen { return self }
        var queue = settings.queue.flatMap { QueueConfinement.isCurrent($0) ? $0 : nil }
        var actor = settings.mailbox?.actor.flatMap { CurrentExecutor.isCurrent($0.unownedExecutor) == true ? $0 : nil }
        if queue == nil, actor == nil { (queue, actor) = RealmCache.shared.callersHome(of: settings.place) }
        let origin = session.origin?.opened
        do { return try RealmOpening.open(settings.configuration, queue: queue, actor: actor, origin: origin) } catch {
            misuse("The Realm cannot be opened on this thread: \(error)", becauseOf: error)
        }
    }

    /// The binding of the same class in this Realm; nil if it has no such table.
    func counterpart(of binding: ClassBinding) -> ClassBinding? {
        if binding.schema.type == DynamicObject.self {
            return session.table(binding.tableKey).map { dynamicBinding($0) }
        }
        return bindingIfAny(for: binding.schema.type)
    }
}

extension Realm {
    /// A Realm that stays at the current version; any thread may read it. Equal for equal versions.
    public func freeze() -> Realm { Realm(core: core.frozen()) }

    /// The live Realm of the calling thread, queue or actor. If the file is open on neither the queue nor the actor,
    /// the Realm of the thread, opened if necessary.
    public func thaw() -> Realm {
        core.check()
        return Realm(core: core.live())
    }

    /// Same as `object.freeze()`.
    public func freeze<T: ObjectBase>(_ object: T) -> T { object.freeze() }

    /// Same as `object.thaw()`.
    public func thaw<T: ObjectBase>(_ object: T) -> T? { object.thaw() }

    /// Same as `collection.freeze()`.
    public func freeze<Collection: RealmCollection>(_ collection: Collection) -> Collection { collection.freeze() }

    /// Same as `collection.thaw()`.
    public func thaw<Collection: RealmCollection>(_ collection: Collection) -> Collection? { collection.thaw() }
}
