// SPDX-License-Identifier: Apache-2.0
// Passing objects and collections to another thread: `ThreadSafeReference` once, `@ThreadSafe` any number of times.

internal import RegnumEngine
internal import RegnumSystem

/// A reference to an object or a collection that can be passed to another thread.
///
/// ```swift
/// let reference = ThreadSafeReference(to: dog)
/// queue.async {
///     // Nil if the dog has been deleted in the meantime.
///     guard let realm = try? Realm(), let dog = realm.resolve(reference) else { return }
///     try? realm.write { dog.age += 1 }
/// }
/// ```
///
/// The reference pins the version at which it was created until it is resolved or released. Create it on the thread of
/// the object, even during a write transaction; resolve and release it on any thread. An object that the transaction
/// has created is found once the transaction is committed.
public final class ThreadSafeReference<Confined: ThreadConfined>: @unchecked Sendable {
    // Sendable: the content is frozen, and is taken out under the mutex.
    private let parcel: Lock<Parcel?>

    private struct Parcel: @unchecked Sendable {
        // Sendable: frozen.
        let value: Confined
        let home: RealmCore
        /// The outcome of the write in which the reference was created: the object may not exist in any version before
        /// that write commits.
        let fate: WriteOutcome?
    }

    /// Creates a reference. It is a programmer error if `threadConfined` is unmanaged or invalid.
    public init(to threadConfined: Confined) {
        guard let realm = threadConfined.realm else {
            misuse(
                "Cannot construct reference to unmanaged object, which can be passed across threads directly")
        }
        realm.core.check()
        if threadConfined.isInvalidated { misuse("Cannot construct reference to invalidated object") }
        let home = realm.core.frozen()
        // Objects created in the running write are not in the frozen version, but will exist where the reference is
        // resolved.
        guard let value = threadConfined._moved(to: _RealmHome(core: home), mayBeMissing: true) else {
            misuse("Cannot construct reference to an object whose class the Realm does not know")
        }
        parcel = Lock(Parcel(value: value, home: home, fate: realm.core.writeFate()))
    }

    /// True once the reference has been resolved.
    public var isInvalidated: Bool { parcel.withLock { $0 == nil } }

    /// Takes the content out, or leaves it with `keeps`, and returns it as `core` shows it. With `mayBeMissing`, also
    /// returns a deleted object or collection, invalidated.
    func resolve(in core: RealmCore, keeps: Bool = false, mayBeMissing: Bool = false) -> Confined? {
        let taken = parcel.withLock { parcel -> Parcel? in
            defer { if !keeps { parcel = nil } }
            return parcel
        }
        guard let taken else { misuse("Can only resolve a thread safe reference once") }
        guard taken.home.settings.database === core.settings.database else { return nil }
        if core.isFrozen {
            return taken.value._moved(to: _RealmHome(core: core), mayBeMissing: false)
        }
        let isRolledBack = taken.fate?.isRolledBack == true
        // Its key may belong to another object by now.
        if isRolledBack, taken.value.isInvalidated { return nil }
        core.show(atLeast: taken.home, orNext: taken.fate != nil && !isRolledBack)
        return taken.value._moved(to: _RealmHome(core: core), mayBeMissing: mayBeMissing)
    }
}

extension Realm {
    /// The object or collection of `reference` as this Realm shows it; nil if it was deleted, or belongs to another
    /// file.
    ///
    /// A Realm from which nothing has been read yet moves to the version of the reference; a Realm at an older version
    /// advances to the newest. For a reference created in a write transaction, both advance to the newest version, and
    /// so does a Realm at the version before that transaction. Waits for the disk if it must advance to an asynchronous
    /// commit that is not yet durable. It is a programmer error to resolve a reference a second time.
    public func resolve<Confined: ThreadConfined>(_ reference: ThreadSafeReference<Confined>) -> Confined? {
        core.check()
        return reference.resolve(in: core)
    }
}

/// The outcome of a write, for references created within it.
final class WriteOutcome: Sendable {
    private struct State: @unchecked Sendable {
        // Sendable: the Realm is frozen.
        var isRolledBack = false
        var isOutcomeWanted = false
        var outcome: RealmCore?
        /// The outcomes of savepoints of the write.
        var parts: [WriteOutcome] = []
    }
    private let state = Lock(State())

    var isRolledBack: Bool { state.withLock { $0.isRolledBack } }

    /// The version that the write has committed, frozen, if `wantOutcome` was called before the commit.
    var outcome: RealmCore? { state.withLock { $0.outcome } }

    func wantOutcome() { state.withLock { $0.isOutcomeWanted = true } }

    /// Makes `part`, the outcome of a savepoint that has ended, end with the write.
    func join(_ part: WriteOutcome) { state.withLock { $0.parts.append(part) } }

    /// Called on the Realm's thread, while it shows the committed version.
    func committed(in core: RealmCore) {
        for part in state.withLock({ $0.parts }) { part.committed(in: core) }
        // If the version cannot be read, the commit may be failing, which is reported elsewhere.
        guard state.withLock({ $0.isOutcomeWanted }), let outcome = try? core.makeFrozen() else { return }
        state.withLock { if !$0.isRolledBack { $0.outcome = outcome } }
    }

    /// Any thread; possibly concurrent with `committed`, if the committed changes could not be made durable.
    func rollBack() {
        let abandoned = state.withLock { state -> State in
            defer { state = State(isRolledBack: true) }
            return state
        }
        for part in abandoned.parts { part.rollBack() }
        // Released after the lock: this may end a Realm.
        withExtendedLifetime(abandoned.outcome) {}
    }
}

/// Delays the callbacks at the end of a commit while the Realm keeps the committed version alive, so that they are
/// called in the order of the commits.
final class CompletionGate: Sendable {
    private struct State {
        var hasEnded = false
        var work: (@Sendable () -> Void)?
    }
    private let state = Lock(State())

    func end() {
        let work = state.withLock { state in
            state.hasEnded = true
            defer { state.work = nil }
            return state.work
        }
        work?()
    }

    /// Calls `work` here if `end` has been called, otherwise in `end`.
    func whenEnded(_ work: @escaping @Sendable () -> Void) {
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.work = work }
            return state.hasEnded
        }
        if hasEnded { work() }
    }
}

extension RealmCore {
    /// The outcome of the running write; nil if no write is running.
    func writeFate() -> WriteOutcome? {
        guard isWriting else { return nil }
        if let fate = settings.writeFate { return fate }
        let fate = WriteOutcome()
        settings.writeFate = fate
        return fate
    }

    /// Moves to a version that contains the referenced object or collection: the version of `other` or, with `orNext`,
    /// a later one.
    fileprivate func show(atLeast other: RealmCore, orNext: Bool) {
        if isWriting || isReadOnly { return }
        let isNew = isUntouched
        touch()
        let needed = other.session.version
        if isNew, !orNext {
            if session.version == needed { return }
            engine { () throws(EngineError) in try session.move(to: other.session) }
            reloadTables()
            didShowOtherVersion()
        } else if isNew || session.version < needed || orNext && session.version == needed {
            // An asynchronous commit is published once it is durable.
            if session.version < needed { session.wait(for: other.session) }
            if engine({ () throws(EngineError) in try session.refresh() }) {
                reloadTables()
                didShowOtherVersion()
                notifier?.didAdvance()
            }
        }
    }
}

/// A property or variable whose object or collection can be used on any thread: each read returns the one of the
/// reading thread, queue or actor, or nil if it has been deleted.
///
/// ```swift
/// let shared = ThreadSafe(wrappedValue: realm.objects(Dog.self).first)
/// queue.async { use(shared.wrappedValue) }
/// ```
///
/// It can be used as a value, as here, or wrap a property. Concurrent code cannot capture a local variable that it
/// wraps: that is an error in Swift 6 mode.
@propertyWrapper
public final class ThreadSafe<T: ThreadConfined>: @unchecked Sendable {
    // Sendable: the reference is exchanged under the mutex.
    private struct Content: Sendable {
        var configuration: Realm.Configuration
        /// Where the Realm of the value was opened.
        var origin: SessionOrigin?
        var reference: ThreadSafeReference<T>
    }
    private let content: Lock<Content?>

    /// Creates a wrapper. It is a programmer error if the value is unmanaged.
    public init(wrappedValue: T?) {
        content = Lock(Self.content(of: wrappedValue))
    }

    /// The value on the calling thread; opens a Realm if necessary. It is a programmer error to set an unmanaged value,
    /// or if the Realm cannot be opened.
    public var wrappedValue: T? {
        get {
            guard let old = content.withLock({ $0 }) else { return nil }
            let core: RealmCore
            do {
                let (queue, actor) = RealmCache.shared.callersHome(of: try old.configuration.validated())
                core = try RealmOpening.open(old.configuration, queue: queue, actor: actor, origin: old.origin)
            } catch {
                misuse("The Realm of a @ThreadSafe value cannot be opened on this thread: \(error)", becauseOf: error)
            }
            // Outside the mutex: a Realm that advances notifies its observers, which may read this property too.
            let value = old.reference.resolve(in: core, keeps: true)
            let new = value.map {
                Content(
                    configuration: old.configuration, origin: old.origin, reference: ThreadSafeReference(to: $0))
            }
            content.withLock { if $0?.reference === old.reference { $0 = new } }
            return value
        }
        set {
            let new = Self.content(of: newValue)
            content.withLock { $0 = new }
        }
    }

    private static func content(of value: T?) -> Content? {
        guard let value else { return nil }
        guard let realm = value.realm else { misuse("Only managed objects may be wrapped as thread safe.") }
        realm.core.check()
        return Content(
            configuration: realm.core.settings.configuration, origin: realm.core.session.origin?.opened,
            reference: ThreadSafeReference(to: value))
    }
}
