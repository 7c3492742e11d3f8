// SPDX-License-Identifier: Apache-2.0
// `observe` of Realms, collections, maps and objects, on the Realm's own thread or on a queue.

public import Dispatch
internal import RegnumEngine
internal import RegnumObservation

extension RealmCore {
    /// Gets a turn after each commit of others from now on, where the calling thread can have turns at all: then
    /// the Realm moves on by itself, and tells observers.
    func listen() {
        guard let place = deliveryPlace else { return }
        listen(at: place)
    }

    /// As `listen`; on a thread without turns observers are told at `deliverChanges` only.
    package func listenWithoutTurns() { listen(at: deliveryPlace ?? .none) }

    /// Moves on where the Realm may, and tells observers now what they would be told at the next turn. Confined to the
    /// Realm; does nothing inside a write.
    package func deliverChanges() {
        check()
        notifier?.turn(isWhole: true)
    }

    private func listen(at place: DeliveryPlace) {
        guard notifier == nil, !isFrozen, !isReadOnly else { return }
        let made = RealmNotifier(core: self, place: place)
        notifier = made
        CommitBoard.add(made, settings.database)
    }

    /// Misuse where nothing ever changes.
    func requireChanging() {
        check()
        if isFrozen { misuse("Frozen Realms do not change and do not have change notifications. Observe a live one.") }
        if isReadOnly { misuse("Read-only Realms do not change and do not have change notifications.") }
    }

    /// The notifier, made on first use. Misuse where nothing could ever be delivered.
    private func notifierForObserving() -> RealmNotifier {
        requireChanging()
        listen()
        guard let notifier else {
            misuse(
                "Can only add notification blocks from within runloops. This thread runs none: pass a serial queue "
                    + "(`on:`) or an actor, on which the calls are then made.")
        }
        return notifier
    }

    /// True where the running write has changed something already.
    var hasUncommittedChanges: Bool { isWriting && changeCount != writeStart }

    /// Misuse where a write has changed something already: there is no version to begin with.
    private func requireUnchanged() {
        if hasUncommittedChanges {
            misuse(
                "Cannot create asynchronous query after making changes in a write transaction. Observe before the "
                    + "transaction, or before its first change.")
        }
    }

    func observe(_ observer: any ChangeObserver) -> ObservationEntry {
        let notifier = notifierForObserving()
        requireUnchanged()
        let entry = ObservationEntry(core: self, observer: observer)
        notifier.add(entry)
        return entry
    }

    /// Observers of objects have no first call, so they look from now on.
    func observeFromNow(_ observer: any ChangeObserver) -> ObservationEntry {
        let notifier = notifierForObserving()
        requireUnchanged()
        let entry = ObservationEntry(core: self, observer: observer)
        notifier.addFromNow(entry)
        return entry
    }

    func observeRealm(_ block: @escaping (Realm.Notification, Realm) -> Void) -> ObservationEntry {
        let notifier = notifierForObserving()
        let entry = ObservationEntry(core: self, observer: RealmObserver(block), warnsWhenDropped: true)
        notifier.add(ofRealm: entry)
        return entry
    }
}

/// The observer of a Realm as a whole: it looks at nothing, and is told of every commit.
final class RealmObserver: ChangeObserver {
    let block: (Realm.Notification, Realm) -> Void

    init(_ block: @escaping (Realm.Notification, Realm) -> Void) { self.block = block }

    func tables(in session: Session) -> Set<TableKey>? { [] }
    func begin() -> (() -> Void)? { nil }
    func advance(_ walk: RegionWalk, isLocal: Bool) -> (() -> Void)? { nil }
    func revive(in home: _RealmHome) {}
}

extension Realm {
    /// Calls `block` after each commit that this Realm comes to see: at once after its own, and when it moves on to
    /// those of others. With `autorefresh` off, others' commits are told as `.refreshRequired`: the block may
    /// call `refresh()` then. Hold the token.
    /// Misuse on a thread without a running run loop, on a queue none.
    public func observe(_ block: @escaping NotificationBlock) -> NotificationToken {
        let token = NotificationToken()
        token.attach(core.observeRealm(block))
        return token
    }
}

/// Begins an observation of something confined, where it is or on a queue. `checking` comes to the misuse, if there is
/// any, that `begin` would come to on the queue, where the caller could not tell what it is about. `tellsEnd`: an
/// observer of an object, which is told where that is gone by then.
func observing<Confined: ThreadConfined>(
    _ confined: Confined, on queue: DispatchQueue?, tellsEnd: Bool = false, checking: (Confined) -> Void,
    _ begin: @escaping (Confined) -> ObservationEntry
) -> NotificationToken {
    guard let queue else {
        let token = NotificationToken()
        token.attach(begin(confined))
        return token
    }
    guard let realm = confined.realm else { return NotificationToken() }
    realm.core.requireChanging()
    QueueConfinement.requireSerial(queue)
    let wanted = ObservedElsewhere(confined, realm.core, tellsEnd: tellsEnd, followsWrite: true)
    checking(confined)
    let configuration = realm.core.settings.configuration
    let origin = realm.core.session.origin
    let token = NotificationToken(
        NotificationToken.Beginning {
            let core: RealmCore
            do { core = try RealmOpening.open(configuration, queue: queue, origin: origin) } catch {
                misuse(
                    "The Realm cannot be opened on the queue '\(queue.label)' to observe: \(error)", becauseOf: error)
            }
            return wanted.begin(in: core, begin)
        })
    // What a running write has made cannot be found before its end.
    realm.core.afterWrite { [weak token] in
        queue.async { [weak token] in token?.begin() }
    }
    return token
}

/// What is to be observed in another Realm of the file, with the version that it was asked for at: what has changed
/// since is told, however far that Realm has come by then.
struct ObservedElsewhere<Confined: ThreadConfined>: @unchecked Sendable {
    // Sendable: the Realm is frozen.
    private let reference: ThreadSafeReference<Confined>
    /// Of a running write the version before it.
    private let version: RealmCore
    /// Of a running write that had changed something: what it leads to is what the observer knows.
    private let fate: WriteFate?
    private let tellsEnd: Bool

    /// `tellsEnd`: an observer of an object. `followsWrite`: it begins behind the running write, not within.
    init(_ confined: Confined, _ core: RealmCore, tellsEnd: Bool, followsWrite: Bool) {
        reference = ThreadSafeReference(to: confined)
        version = core.frozen()
        // Others begin with what there is then.
        fate = tellsEnd && followsWrite && core.hasUncommittedChanges ? core.writeFate() : nil
        fate?.wantOutcome()
        self.tellsEnd = tellsEnd
    }

    /// Begins in that Realm, where the caller is; nil where it does not show what is to be observed.
    func begin(in core: RealmCore, _ begin: (Confined) -> ObservationEntry) -> ObservationEntry? {
        guard let confined = reference.resolve(in: core, mayBeMissing: tellsEnd) else { return nil }
        let entry = begin(confined)
        // What is gone by now may have gone in the write itself, and is told of all the same.
        let known = confined.isInvalidated ? version : fate?.outcome ?? version
        core.notifier?.backdate(entry, to: known)
        return entry
    }
}

extension RealmCollection {
    /// Calls `block` once with the collection as it is, and then after each change of it.
    ///
    /// - Parameters:
    ///   - keyPaths: of the elements, as in "name" or "owner.name": only changes of these count as modifications.
    ///     Nil: all properties, and those of linked objects to depth 4. Insertions and deletions always count.
    ///   - queue: a serial queue to be called on; nil: the thread of the collection, which must run a run loop, or
    ///     the queue of its Realm.
    ///   - block: gets the collection, and with each change where it is.
    /// - Returns: the token to hold as long as calls are wanted.
    ///
    /// Calls come after commits when the Realm moves on: at the next turn of its thread, in `refresh`, and when a write
    /// begins, which `isInWriteTransaction` tells then. Misuse where the collection is unmanaged or frozen, or a write
    /// has changed something already. The work of a call follows the change and not the collection, except for distinct
    /// and limited results; observers of equal results share it.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        requireObservable()
        return observing(self, on: queue, checking: { $0.check(keyPaths: keyPaths) }) { $0.entry(keyPaths, block) }
    }

    /// Misuse for key paths that lead to nothing.
    func check(keyPaths: [String]?) { _ = _watched.region(keyPaths) }

    /// Observes where the collection is.
    func entry(
        _ keyPaths: [String]?, _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> ObservationEntry {
        let watched = _watched
        let region = watched.region(keyPaths)
        guard let core = realm?.core else { preconditionFailure("a managed collection has a Realm") }
        return core.observe(CollectionObserver(self, watched, region: region) { change, _ in block(change) })
    }

    /// As `observe(keyPaths:on:_:)`, with the identities of the objects; nil with the first call and for values.
    package func observeIdentified(
        keyPaths: [String]?, on queue: DispatchQueue?,
        _ block: @escaping (RealmCollectionChange<Self>, ChangedIdentities?) -> Void
    ) -> NotificationToken {
        requireObservable()
        return observing(self, on: queue, checking: { $0.check(keyPaths: keyPaths) }) { collection in
            let watched = collection._watched
            let region = watched.region(keyPaths)
            guard let core = collection.realm?.core else { preconditionFailure("a managed collection has a Realm") }
            return core.observe(
                CollectionObserver(collection, watched, region: region, tellsIdentities: true, block))
        }
    }

    private func requireObservable() {
        if realm == nil { misuse("Change notifications are only supported on managed collections.") }
    }
}

extension RealmCollection where Element: ObjectBase {
    /// As `observe(keyPaths:on:_:)`, with key paths of the element class.
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}

extension RealmCollection where Element: ProjectionObservable {
    /// As `observe(keyPaths:on:_:)`, with key paths of the projection.
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}

extension Map {
    /// Calls `block` once with the map as it is, and then after each change of it. See `RealmCollection.observe`.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil, _ block: @escaping (RealmMapChange<Map>) -> Void
    ) -> NotificationToken {
        if realm == nil { misuse("Change notifications are only supported on managed collections.") }
        return observing(self, on: queue, checking: { $0.check(keyPaths: keyPaths) }) { $0.entry(keyPaths, block) }
    }

    /// Misuse for key paths that lead to nothing.
    func check(keyPaths: [String]?) { _ = place?.region(keyPaths) }

    /// Observes where the map is.
    func entry(_ keyPaths: [String]?, _ block: @escaping (RealmMapChange<Map>) -> Void) -> ObservationEntry {
        guard let place else { preconditionFailure("a managed map has a place") }
        return place.core.observe(MapObserver(self, place, region: place.region(keyPaths), block))
    }
}

extension Map where Value: OptionalProtocol, Value.Wrapped: ObjectBase {
    /// As `observe(keyPaths:on:_:)`, with key paths of the class of the values.
    public func observe(
        keyPaths: [PartialKeyPath<Value.Wrapped>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmMapChange<Map>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}

// A protocol, so that `block` gets the object in its own class.
extension ThreadConfined where Self: ObjectBase {
    /// Calls `block` after each change of the object's properties, and once when it is deleted.
    ///
    /// - Parameters:
    ///   - keyPaths: as in "name" or "dog.name": only these count. Nil: the object's own properties; changes of
    ///     linked objects and of what collections hold elsewhere do not.
    ///   - queue: a serial queue to be called on; nil: the thread of the object. What changes between this call and the
    ///     queue's next turn is told too.
    ///   - block: gets the properties that have changed.
    /// - Returns: the token to hold as long as calls are wanted. Misuse where the object is unmanaged or frozen.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        if realm == nil { misuse("Only objects which are managed by a Realm support change notifications") }
        if queue == nil { requireValid() }
        return observing(self, on: queue, tellsEnd: true, checking: { $0.check(keyPaths: keyPaths) }) {
            $0.entry(keyPaths, block)
        }
    }

    /// Misuse for key paths that lead to nothing.
    func check(keyPaths: [String]?) { _ = binding.region(keyPaths, depth: 0) }

    /// As `observe(keyPaths:on:_:)`, for a block that takes changes of a base class of the object's.
    @_disfavoredOverload
    public func observe<T: ObjectBase>(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken {
        requireChanges(of: T.self)
        return observe(keyPaths: keyPaths, on: queue) { (change: ObjectChange<Self>) in block(change.seen(as: T.self)) }
    }

    func requireChanges<T>(of type: T.Type) {
        if !(self is T) {
            misuse(
                "A block that takes changes of '\(T.self)' cannot observe an object of class '\(Swift.type(of: self))'."
            )
        }
    }

    /// Observes where the object is, or has been.
    func entry(_ keyPaths: [String]?, _ block: @escaping (ObjectChange<Self>) -> Void) -> ObservationEntry {
        let region = binding.region(keyPaths, depth: 0)
        return core.observeFromNow(ObjectObserver(self, region: region, block))
    }

    /// As `observe(keyPaths:on:_:)`, with key paths of the class.
    public func observe(
        keyPaths: [PartialKeyPath<Self>], on queue: DispatchQueue? = nil,
        _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}
