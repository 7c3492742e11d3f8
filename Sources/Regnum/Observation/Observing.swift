// SPDX-License-Identifier: Apache-2.0
// `observe` for Realms, collections, maps and objects, with callbacks on the Realm's own thread or on a queue.

public import Dispatch
internal import RegnumEngine
internal import RegnumObservation

extension RealmCore {
    /// Starts following commits made elsewhere, if callbacks can be scheduled on the calling thread: from then on the
    /// Realm advances by itself and notifies its observers.
    func listen() {
        guard let place = deliveryPlace else { return }
        listen(at: place)
    }

    /// Like `listen`, but on a thread without a scheduler observers are notified only by `deliverChanges`.
    package func listenWithoutTurns() { listen(at: deliveryPlace ?? .none) }

    /// Advances the Realm if it may advance, and immediately makes the calls that the next turn would make. Confined to
    /// the Realm; does nothing inside a write transaction.
    package func deliverChanges() {
        check()
        notifier?.turn(isWhole: true)
    }

    private func listen(at place: CallbackScheduler) {
        guard notifier == nil, !isFrozen, !isReadOnly else { return }
        let made = RealmNotifier(core: self, place: place)
        notifier = made
        CommitNotifications.add(made, settings.database)
    }

    /// Reports a programmer error if the Realm is frozen or read-only, and so never changes.
    func requireChanging() {
        check()
        if isFrozen { misuse("Frozen Realms do not change and do not have change notifications. Observe a live one.") }
        if isReadOnly { misuse("Read-only Realms do not change and do not have change notifications.") }
    }

    /// The notifier, created on first use. Reports a programmer error if no callback could ever be delivered.
    private func notifierForObserving() -> RealmNotifier {
        requireChanging()
        listen()
        guard let notifier else {
            misuse(
                "Can only add notification blocks from within runloops. This thread has no run loop: pass a serial "
                    + "queue (`on:`) or an actor, on which the calls are then made.")
        }
        return notifier
    }

    /// True if the running write transaction has already changed something.
    var hasUncommittedChanges: Bool { isWriting && changeCount != writeStart }

    /// Reports a programmer error if a write transaction has already changed something: there is then no committed
    /// version to start from.
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

    /// Observers of objects get no initial call, so they compare against the version shown now.
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

/// The observer of a Realm as a whole. It watches no tables and is called for every commit.
final class RealmObserver: ChangeObserver {
    let block: (Realm.Notification, Realm) -> Void

    init(_ block: @escaping (Realm.Notification, Realm) -> Void) { self.block = block }

    func tables(in session: Session) -> Set<TableKey>? { [] }
    func begin() -> (() -> Void)? { nil }
    func advance(_ walk: RegionTraversal, isLocal: Bool) -> (() -> Void)? { nil }
    func revive(in home: _RealmHome) {}
}

extension Realm {
    /// Calls `block` after each commit that becomes visible in this Realm: immediately after its own commits, and for
    /// commits made elsewhere when the Realm advances. With `autorefresh` off, a commit made elsewhere is reported as
    /// `.refreshRequired`, and the block may call `refresh()`. Keep the token as long as you want to be notified. It is
    /// a programmer error to call this on a thread that is not running a run loop and without a queue.
    public func observe(_ block: @escaping NotificationBlock) -> NotificationToken {
        let token = NotificationToken()
        token.attach(core.observeRealm(block))
        return token
    }
}

/// Begins an observation of a thread-confined value, on the current thread or on a queue. `checking` triggers on the
/// calling thread any programmer error that `begin` would otherwise trigger on the queue, where the message could not
/// point at the caller. `tellsEnd`: the observer observes an object, and is notified if the object no longer exists
/// when the observation begins.
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
    let wanted = ObservationRequest(confined, realm.core, tellsEnd: tellsEnd, followsWrite: true)
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
    // Objects created by a running write transaction cannot be resolved before it commits.
    realm.core.afterWrite { [weak token] in
        queue.async { [weak token] in token?.begin() }
    }
    return token
}

/// A value to be observed in another Realm of the same file, together with the version at which the observation was
/// requested: changes since then are reported, no matter how far that Realm has advanced.
struct ObservationRequest<Confined: ThreadConfined>: @unchecked Sendable {
    // Sendable: the Realm is frozen.
    private let reference: ThreadSafeReference<Confined>
    /// In a write transaction, the version before it.
    private let version: RealmCore
    /// Set if the running write transaction had changed something: its result is the observer's baseline.
    private let fate: WriteOutcome?
    private let tellsEnd: Bool

    /// `tellsEnd`: the observer observes an object. `followsWrite`: the observation begins after the running write
    /// transaction, not inside it.
    init(_ confined: Confined, _ core: RealmCore, tellsEnd: Bool, followsWrite: Bool) {
        reference = ThreadSafeReference(to: confined)
        version = core.frozen()
        // Other observers get an initial call with the current state.
        fate = tellsEnd && followsWrite && core.hasUncommittedChanges ? core.writeFate() : nil
        fate?.wantOutcome()
        self.tellsEnd = tellsEnd
    }

    /// Begins in `core`, on the calling thread; nil if that Realm does not contain the observed value.
    func begin(in core: RealmCore, _ begin: (Confined) -> ObservationEntry) -> ObservationEntry? {
        guard let confined = reference.resolve(in: core, mayBeMissing: tellsEnd) else { return nil }
        let entry = begin(confined)
        // An object that is gone may have been deleted by the write transaction itself; its deletion is still reported.
        let known = confined.isInvalidated ? version : fate?.outcome ?? version
        core.notifier?.backdate(entry, to: known)
        return entry
    }
}

extension RealmCollection {
    /// Calls `block` once with the current collection, and then after each change to it.
    ///
    /// - Parameters:
    ///   - keyPaths: properties of the elements, such as "name" or "owner.name": only changes to these count as
    ///     modifications. Nil: all properties, and those of linked objects to depth 4. Insertions and deletions always
    ///     count.
    ///   - queue: the serial queue to call `block` on; nil: the collection's own thread, which must run a run loop, or
    ///     the queue of its Realm.
    ///   - block: receives the collection and, after a change, the positions that changed.
    /// - Returns: a token; keep it as long as you want to be notified.
    ///
    /// Calls are made after commits, when the Realm advances: at the next turn of its thread, in `refresh`, and when a
    /// write transaction begins; in the last case `isInWriteTransaction` is true during the call. It is a programmer
    /// error if the collection is unmanaged or frozen, or if a write transaction has already changed something. The
    /// cost of a call grows with the size of the change and not of the collection, except for distinct and limited
    /// results. Observers of equal results share the work.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        requireObservable()
        return observing(self, on: queue, checking: { $0.check(keyPaths: keyPaths) }) { $0.entry(keyPaths, block) }
    }

    /// Reports a programmer error if a key path does not resolve.
    func check(keyPaths: [String]?) { _ = _watched.region(keyPaths) }

    /// Observes the collection on the current thread.
    func entry(
        _ keyPaths: [String]?, _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> ObservationEntry {
        let watched = _watched
        let region = watched.region(keyPaths)
        guard let core = realm?.core else { preconditionFailure("a managed collection has a Realm") }
        return core.observe(CollectionObserver(self, watched, region: region) { change, _ in block(change) })
    }

    /// Like `observe(keyPaths:on:_:)`, but also passes the ids of the changed objects; nil in the initial call and for
    /// collections of values.
    package func observeIdentified(
        keyPaths: [String]?, on queue: DispatchQueue?,
        _ block: @escaping (RealmCollectionChange<Self>, ChangedIDs?) -> Void
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
    /// Like `observe(keyPaths:on:_:)`, with key paths of the element class.
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}

extension RealmCollection where Element: ProjectionObservable {
    /// Like `observe(keyPaths:on:_:)`, with key paths of the projection.
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}

extension Map {
    /// Calls `block` once with the current map, and then after each change to it. See `RealmCollection.observe`.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil, _ block: @escaping (RealmMapChange<Map>) -> Void
    ) -> NotificationToken {
        if realm == nil { misuse("Change notifications are only supported on managed collections.") }
        return observing(self, on: queue, checking: { $0.check(keyPaths: keyPaths) }) { $0.entry(keyPaths, block) }
    }

    /// Reports a programmer error if a key path does not resolve.
    func check(keyPaths: [String]?) { _ = place?.region(keyPaths) }

    /// Observes the map on the current thread.
    func entry(_ keyPaths: [String]?, _ block: @escaping (RealmMapChange<Map>) -> Void) -> ObservationEntry {
        guard let place else { preconditionFailure("a managed map has a place") }
        return place.core.observe(MapObserver(self, place, region: place.region(keyPaths), block))
    }
}

extension Map where Value: OptionalProtocol, Value.Wrapped: ObjectBase {
    /// Like `observe(keyPaths:on:_:)`, with key paths of the class of the values.
    public func observe(
        keyPaths: [PartialKeyPath<Value.Wrapped>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmMapChange<Map>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}

// A protocol extension, so that `block` receives the object as its own class.
extension ThreadConfined where Self: ObjectBase {
    /// Calls `block` after each change to the object's properties, and once when the object is deleted.
    ///
    /// - Parameters:
    ///   - keyPaths: properties such as "name" or "dog.name": only changes to these are reported. Nil: the object's own
    ///     properties; changes inside linked objects and inside objects of its collections are not reported.
    ///   - queue: the serial queue to call `block` on; nil: the object's own thread. Changes made between this call and
    ///     the queue's next turn are reported too.
    ///   - block: receives the properties that have changed.
    /// - Returns: a token; keep it as long as you want to be notified. It is a programmer error if the object is unmanaged
    ///   or frozen.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        if realm == nil { misuse("Only objects which are managed by a Realm support change notifications") }
        if queue == nil { requireValid() }
        return observing(self, on: queue, tellsEnd: true, checking: { $0.check(keyPaths: keyPaths) }) {
            $0.entry(keyPaths, block)
        }
    }

    /// Reports a programmer error if a key path does not resolve.
    func check(keyPaths: [String]?) { _ = binding.region(keyPaths, depth: 0) }

    /// Like `observe(keyPaths:on:_:)`, for a block that takes changes of a base class of the object's class.
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

    /// Observes the object on the current thread, even if it has been deleted.
    func entry(_ keyPaths: [String]?, _ block: @escaping (ObjectChange<Self>) -> Void) -> ObservationEntry {
        let region = binding.region(keyPaths, depth: 0)
        return core.observeFromNow(ObjectObserver(self, region: region, block))
    }

    /// Like `observe(keyPaths:on:_:)`, with key paths of the class.
    public func observe(
        keyPaths: [PartialKeyPath<Self>], on queue: DispatchQueue? = nil,
        _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }
}
