// SPDX-License-Identifier: Apache-2.0
// `observe` with callbacks on an actor. A Realm confined to the actor observes, so calls are ordered and never overlap.

internal import RegnumEngine

/// Begins an observation on the actor.
private struct Beginning<Confined>: @unchecked Sendable {
    // Sendable: runs on the actor only; of the caller's state it holds only the user's Sendable block and values.
    let run: (Confined) -> ObservationEntry
}

/// Begins an observation on the actor. `begin` receives the value as shown by the actor's Realm; `checking` triggers on
/// the caller's side any programmer error that `begin` would trigger there. `tellsEnd`: the observer observes an
/// object, and is notified if the object no longer exists when the observation begins.
private func observing<Confined: ThreadConfined, A: Actor>(
    _ confined: Confined, on actor: A, _isolation: isolated (any Actor)?, tellsEnd: Bool = false,
    checking: (Confined) -> Void, _ begin: @escaping (Confined) -> ObservationEntry
) async -> NotificationToken {
    if Task.isCancelled { return .ended() }
    guard let realm = confined.realm else { return .ended() }
    realm.core.requireChanging()
    let wanted = ObservationRequest(confined, realm.core, tellsEnd: tellsEnd, followsWrite: false)
    checking(confined)
    requireCommitted(confined, realm.core)
    let token = NotificationToken()
    let (configuration, origin) = (realm.core.settings.configuration, realm.core.session.origin)
    await attach(token, wanted, configuration, origin, on: actor, Beginning(run: begin))
    return token
}

/// Reports a programmer error if the value was created by the running write transaction. No other Realm can resolve it,
/// and waiting for the commit would deadlock: the write waits for the caller, and the caller waits for the actor.
private func requireCommitted<Confined: ThreadConfined>(_ confined: Confined, _ core: RealmCore) {
    guard core.isWriting else { return }
    if confined._moved(to: _RealmHome(core: core.frozen()), mayBeMissing: false) == nil {
        misuse(
            "Cannot create asynchronous query after making changes in a write transaction. An actor cannot "
                + "see the objects that the transaction has created: commit first.")
    }
}

private func attach<Confined: ThreadConfined, A: Actor>(
    _ token: NotificationToken, _ wanted: ObservationRequest<Confined>, _ configuration: Realm.Configuration,
    _ origin: SessionOrigin?, on actor: isolated A, _ begin: Beginning<Confined>
) {
    guard token.isActive else { return }
    if Task.isCancelled {
        token.invalidate()
        return
    }
    let core: RealmCore
    do { core = try RealmOpening.open(configuration, queue: nil, actor: actor, origin: origin) } catch {
        misuse("The Realm cannot be opened on the actor \(type(of: actor)) to observe: \(error)", becauseOf: error)
    }
    guard let entry = wanted.begin(in: core, begin.run) else {
        token.invalidate()
        return
    }
    token.attach(entry)
}

/// Calls `block` on the actor. The caller must already be running on it.
private func call<A: Actor, Change>(
    _ actor: A, _ block: @Sendable (isolated A, Change) -> Void, _ change: Change
) {
    // Isolation is not part of the calling convention. `RealmCore.check` has tested that the caller is on the actor.
    withoutActuallyEscaping(block) { block in
        typealias Plain = (A, Change) -> Void
        unsafeBitCast(block, to: Plain.self)(actor, change)
    }
}

extension RealmCollection {
    /// Like `observe(keyPaths:on:_:)` on a queue, with calls on `actor`, which receives its own collection of the same
    /// elements. If the current task is already cancelled, nothing is observed and the returned token has ended.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        if realm == nil { misuse("Change notifications are only supported on managed collections.") }
        return await observing(
            self, on: actor, _isolation: _isolation, checking: { $0.check(keyPaths: keyPaths) }
        ) { [weak actor] collection in
            collection.entry(keyPaths) { change in
                if let actor { call(actor, block, change) }
            }
        }
    }
}

extension RealmCollection where Element: ObjectBase {
    /// Like `observe(keyPaths:on:_:)`, with key paths of the element class.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}

extension Map {
    /// Like `observe(keyPaths:on:_:)` on a queue, with calls on `actor`.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmMapChange<Map>) -> Void
    ) async -> NotificationToken {
        if realm == nil { misuse("Change notifications are only supported on managed collections.") }
        return await observing(
            self, on: actor, _isolation: _isolation, checking: { $0.check(keyPaths: keyPaths) }
        ) { [weak actor] map in
            map.entry(keyPaths) { change in
                if let actor { call(actor, block, change) }
            }
        }
    }
}

extension Map where Value: OptionalProtocol, Value.Wrapped: ObjectBase {
    /// Like `observe(keyPaths:on:_:)`, with key paths of the class of the values.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Value.Wrapped>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmMapChange<Map>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}

extension ThreadConfined where Self: ObjectBase {
    /// Like `observe(keyPaths:on:_:)` on a queue, with calls on `actor`.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        if realm == nil { misuse("Only objects which are managed by a Realm support change notifications") }
        return await observing(
            self, on: actor, _isolation: _isolation, tellsEnd: true, checking: { $0.check(keyPaths: keyPaths) }
        ) { [weak actor] object in
            object.entry(keyPaths) { change in
                if let actor { call(actor, block, change) }
            }
        }
    }

    /// Like `observe(keyPaths:on:_:)`, for a block that takes changes of a base class of the object's class.
    @_disfavoredOverload
    public func observe<A: Actor, T: ObjectBase>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<T>) -> Void
    ) async -> NotificationToken {
        requireChanges(of: T.self)
        return await observe(keyPaths: keyPaths, on: actor, _isolation: _isolation) {
            (actor: isolated A, change: ObjectChange<Self>) in block(actor, change.seen(as: T.self))
        }
    }

    /// Like `observe(keyPaths:on:_:)`, with key paths of the class.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}

extension ProjectionObservable {
    /// Like `observe(keyPaths:on:_:)` on a queue, with calls on `actor`.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        requireObservable()
        return await observing(
            self, on: actor, _isolation: _isolation, tellsEnd: true, checking: { $0.check(keyPaths: keyPaths) }
        ) { [weak actor] projection in
            projection.entry(keyPaths) { change in
                if let actor { call(actor, block, change) }
            }
        }
    }

    /// Like `observe(keyPaths:on:_:)`, with key paths of the projection.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}

extension ProjectedCollection {
    /// Like `observe(keyPaths:on:_:)` on a queue, with calls on `actor`.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmCollectionChange<ProjectedCollection>) -> Void
    ) async -> NotificationToken {
        requireObservable()
        return await observing(
            self, on: actor, _isolation: _isolation, checking: { $0.check(keyPaths: keyPaths) }
        ) { [weak actor] collection in
            collection.entry(keyPaths) { change in
                if let actor { call(actor, block, change) }
            }
        }
    }
}

extension RealmSectionedResult {
    /// Like `observe(keyPaths:on:_:)` on a queue, with calls on `actor`.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, SectionedResultsChange<Self>) -> Void
    ) async -> NotificationToken {
        await observing(
            self, on: actor, _isolation: _isolation, checking: { $0.check(keyPaths: keyPaths) }
        ) { [weak actor] sections in
            sections.entry(keyPaths) { change in
                if let actor { call(actor, block, change) }
            }
        }
    }
}

extension RealmSectionedResult where SectionElement: ObjectBase {
    /// Like `observe(keyPaths:on:_:)`, with key paths of the element class.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<SectionElement>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, SectionedResultsChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}

extension RealmCollection where Element: ProjectionObservable {
    /// Like `observe(keyPaths:on:_:)`, with key paths of the projection.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}
