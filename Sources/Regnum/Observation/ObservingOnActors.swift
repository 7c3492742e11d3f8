// SPDX-License-Identifier: Apache-2.0
// `observe` with calls on an actor: a Realm of the actor observes there, so calls come in order, one after the other.

internal import RegnumEngine

/// How an observation begins, for the actor.
private struct Beginning<Confined>: @unchecked Sendable {
    // Sendable: runs on the actor only; what it holds of the caller's is the user's Sendable block and values.
    let run: (Confined) -> ObservationEntry
}

/// Begins an observation on the actor. `begin` gets what the actor's Realm shows; `checking` comes to the misuse that
/// it would come to there. `tellsEnd`: an observer of an object, which is told where that is gone by then.
private func observing<Confined: ThreadConfined, A: Actor>(
    _ confined: Confined, on actor: A, _isolation: isolated (any Actor)?, tellsEnd: Bool = false,
    checking: (Confined) -> Void, _ begin: @escaping (Confined) -> ObservationEntry
) async -> NotificationToken {
    if Task.isCancelled { return .ended() }
    guard let realm = confined.realm else { return .ended() }
    realm.core.requireChanging()
    let wanted = ObservedElsewhere(confined, realm.core, tellsEnd: tellsEnd, followsWrite: false)
    checking(confined)
    requireCommitted(confined, realm.core)
    let token = NotificationToken()
    let (configuration, origin) = (realm.core.settings.configuration, realm.core.session.origin)
    await attach(token, wanted, configuration, origin, on: actor, Beginning(run: begin))
    return token
}

/// Misuse for what the running write has made: no other Realm can find it, and the caller, whom the write waits for,
/// waits for the actor.
private func requireCommitted<Confined: ThreadConfined>(_ confined: Confined, _ core: RealmCore) {
    guard core.isWriting else { return }
    if confined._moved(to: _RealmHome(core: core.frozen()), mayBeMissing: false) == nil {
        misuse(
            "Cannot create asynchronous query after making changes in a write transaction. What it has made is not "
                + "there for an actor: commit first.")
    }
}

private func attach<Confined: ThreadConfined, A: Actor>(
    _ token: NotificationToken, _ wanted: ObservedElsewhere<Confined>, _ configuration: Realm.Configuration,
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

/// Calls `block` on the actor, where the caller runs already.
private func call<A: Actor, Change>(
    _ actor: A, _ block: @Sendable (isolated A, Change) -> Void, _ change: Change
) {
    // The caller's word, which `RealmCore.check` has tested: isolation is no part of how a function is called.
    withoutActuallyEscaping(block) { block in
        typealias Plain = (A, Change) -> Void
        unsafeBitCast(block, to: Plain.self)(actor, change)
    }
}

extension RealmCollection {
    /// As `observe(keyPaths:on:_:)` on a queue, with calls on `actor`, which gets its own collection of the same
    /// elements. In a task that is cancelled already there is no observation, and the token has ended.
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
    /// As `observe(keyPaths:on:_:)`, with key paths of the element class.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}

extension Map {
    /// As `observe(keyPaths:on:_:)` on a queue, with calls on `actor`.
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
    /// As `observe(keyPaths:on:_:)`, with key paths of the class of the values.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Value.Wrapped>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmMapChange<Map>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}

extension ThreadConfined where Self: ObjectBase {
    /// As `observe(keyPaths:on:_:)` on a queue, with calls on `actor`.
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

    /// As `observe(keyPaths:on:_:)`, for a block that takes changes of a base class of the object's.
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

    /// As `observe(keyPaths:on:_:)`, with key paths of the class.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}

extension ProjectionObservable {
    /// As `observe(keyPaths:on:_:)` on a queue, with calls on `actor`.
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

    /// As `observe(keyPaths:on:_:)`, with key paths of the projection.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}

extension ProjectedCollection {
    /// As `observe(keyPaths:on:_:)` on a queue, with calls on `actor`.
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
    /// As `observe(keyPaths:on:_:)` on a queue, with calls on `actor`.
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
    /// As `observe(keyPaths:on:_:)`, with key paths of the element class.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<SectionElement>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, SectionedResultsChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}

extension RealmCollection where Element: ProjectionObservable {
    /// As `observe(keyPaths:on:_:)`, with key paths of the projection.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        await observe(keyPaths: keyPaths.map { _name(for: $0) }, on: actor, _isolation: _isolation, block)
    }
}
