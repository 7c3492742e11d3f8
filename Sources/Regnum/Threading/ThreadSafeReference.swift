// SPDX-License-Identifier: Apache-2.0
// Handing objects and collections to another thread: `ThreadSafeReference` once, `@ThreadSafe` any number of times.

internal import RegnumEngine
internal import RegnumSystem

/// Something of a Realm on its way to another thread.
///
/// ```swift
/// let reference = ThreadSafeReference(to: dog)
/// queue.async {
///     // No dog where it was deleted meanwhile.
///     guard let realm = try? Realm(), let dog = realm.resolve(reference) else { return }
///     try? realm.write { dog.age += 1 }
/// }
/// ```
///
/// It keeps the version it was made at in the file until it is resolved or released. May be made on the thread of
/// the object, inside a write too, and resolved and released on any. What the write has made is found once it is
/// committed.
public final class ThreadSafeReference<Confined: ThreadConfined>: @unchecked Sendable {
    // Sendable: what it holds is frozen, and taken out under the mutex.
    private let parcel: Lock<Parcel?>

    private struct Parcel: @unchecked Sendable {
        // Sendable: frozen.
        let value: Confined
        let home: RealmCore
        /// Of the write in which it was made: what it stands for may be in no version before the next one.
        let fate: WriteFate?
    }

    /// Misuse where `threadConfined` is unmanaged or invalid.
    public init(to threadConfined: Confined) {
        guard let realm = threadConfined.realm else {
            misuse(
                "Cannot construct reference to unmanaged object, which can be passed across threads directly")
        }
        realm.core.check()
        if threadConfined.isInvalidated { misuse("Cannot construct reference to invalidated object") }
        let home = realm.core.frozen()
        // What the running write has made is not in the frozen version, but will be where this is resolved.
        guard let value = threadConfined._moved(to: _RealmHome(core: home), mayBeMissing: true) else {
            misuse("Cannot construct reference to an object whose class the Realm does not know")
        }
        parcel = Lock(Parcel(value: value, home: home, fate: realm.core.writeFate()))
    }

    /// True once it has been resolved.
    public var isInvalidated: Bool { parcel.withLock { $0 == nil } }

    /// Takes out what it holds, unless it `keeps` it: the frozen thing, as of `core`. Where it `mayBeMissing` what was
    /// deleted comes too, invalidated.
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
        // Its key may be another object's by now.
        if isRolledBack, taken.value.isInvalidated { return nil }
        core.show(atLeast: taken.home, orNext: taken.fate != nil && !isRolledBack)
        return taken.value._moved(to: _RealmHome(core: core), mayBeMissing: mayBeMissing)
    }
}

extension Realm {
    /// What `reference` stands for, as this Realm shows it; nil where it was deleted, or belongs to another file. A
    /// Realm that nothing was read from yet comes to the version of the reference, an older one moves on to the
    /// newest; for a reference that was made in a write, both do, and so does a Realm at the version before that write.
    /// Waits for the disk where it has to move on to an asynchronous commit that is not durable yet. A reference can be
    /// resolved once. Misuse a second time.
    public func resolve<Confined: ThreadConfined>(_ reference: ThreadSafeReference<Confined>) -> Confined? {
        core.check()
        return reference.resolve(in: core)
    }
}

/// What has become of a write, for what was handed over within it.
final class WriteFate: Sendable {
    private struct State: @unchecked Sendable {
        // Sendable: the Realm is frozen.
        var isRolledBack = false
        var isOutcomeWanted = false
        var outcome: RealmCore?
    }
    private let state = Lock(State())

    var isRolledBack: Bool { state.withLock { $0.isRolledBack } }

    /// The version that the write has led to, frozen, where it was committed and somebody has wanted it before.
    var outcome: RealmCore? { state.withLock { $0.outcome } }

    func wantOutcome() { state.withLock { $0.isOutcomeWanted = true } }

    /// On the Realm's thread, while it shows what the write has made.
    func committed(in core: RealmCore) {
        // Where it cannot be read the commit may be failing, which is told elsewhere.
        guard state.withLock({ $0.isOutcomeWanted }), let outcome = try? core.makeFrozen() else { return }
        state.withLock { if !$0.isRolledBack { $0.outcome = outcome } }
    }

    /// Any thread; about the time of `committed` too, where what was committed could not be made durable.
    func rollBack() {
        let abandoned = state.withLock { state -> RealmCore? in
            defer { state = State(isRolledBack: true) }
            return state.outcome
        }
        // Not while the lock is held: a Realm may end with it.
        withExtendedLifetime(abandoned) {}
    }
}

/// While a Realm keeps what its commit has led to: what the end of that commit is to call waits for it. So it is called
/// in the order of the commits.
final class Keeping: Sendable {
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

    /// Calls it here, or in `end`.
    func whenEnded(_ work: @escaping @Sendable () -> Void) {
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.work = work }
            return state.hasEnded
        }
        if hasEnded { work() }
    }
}

extension RealmCore {
    /// Of the running write; nil where there is none.
    func writeFate() -> WriteFate? {
        guard isWriting else { return nil }
        if let fate = settings.writeFate { return fate }
        let fate = WriteFate()
        settings.writeFate = fate
        return fate
    }

    /// Comes to a version in which what was handed over can be found: that of `other`, or `orNext` the one behind it.
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
            // An asynchronous commit is published when it is durable.
            if session.version < needed { session.wait(for: other.session) }
            if engine({ () throws(EngineError) in try session.refresh() }) {
                reloadTables()
                didShowOtherVersion()
                notifier?.didAdvance()
            }
        }
    }
}

/// A property or variable whose object or collection may be used on any thread: each read gives the one of the
/// reading thread, queue or actor, or nil where it was deleted.
///
/// ```swift
/// let shared = ThreadSafe(wrappedValue: realm.objects(Dog.self).first)
/// queue.async { use(shared.wrappedValue) }
/// ```
///
/// It stands alone, as here, or wraps a property. Concurrent code cannot capture a local variable that it wraps: that
/// is an error in Swift 6 mode.
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

    /// Misuse where the value is unmanaged.
    public init(wrappedValue: T?) {
        content = Lock(Self.content(of: wrappedValue))
    }

    /// Opens a Realm where needed. Misuse where an unmanaged value is set, or the Realm cannot be opened.
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
            // Outside of the mutex: a Realm that moves on tells its observers, who may read this too.
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
