// SPDX-License-Identifier: Apache-2.0
// Observation by `for await`: changes of collections, maps, objects and Realms, one after the other.

internal import RegnumEngine

/// What changes, as it changes. One task goes through it; it ends when that task is cancelled, and the observation
/// ends with it.
///
/// ```swift
/// for await change in realm.objects(Dog.self).changes() { ... }
/// ```
///
/// It begins with the call that made it, where the observed thing is confined to: go through it there too, on the
/// actor or the main actor. What comes while the loop body runs waits for the next turn; only `ChangeBuffering.latest`
/// and `versions` leave anything out.
public struct ChangeSequence<Element>: AsyncSequence {
    public typealias Failure = Never

    fileprivate struct Parcel: @unchecked Sendable {
        // Sendable: what is confined checks itself where it is used.
        let value: Element
    }
    fileprivate let stream: AsyncStream<Parcel>

    /// See `ChangeSequence`.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<Parcel>.Iterator

        /// The next change; nil once the task is cancelled.
        public mutating func next() async -> Element? { await base.next()?.value }

        /// The next change; nil once the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await base.next(isolation: actor)?.value
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: stream.makeAsyncIterator()) }

    /// `begin` starts an observation that hands over what it is told of; nothing follows what `isLast` names.
    init(
        latestOnly: Bool = false, isLast: @escaping (Element) -> Bool = { _ in false },
        _ begin: (@escaping (Element) -> Void) -> NotificationToken
    ) {
        self.init(latestOnly: latestOnly, isLast: isLast) { take, _ in begin(take) }
    }

    /// `begin` is given what hands over an element, and what ends the sequence without one.
    private init(
        latestOnly: Bool, isLast: @escaping (Element) -> Bool = { _ in false },
        _ begin: (@escaping (Element) -> Void, @escaping () -> Void) -> NotificationToken
    ) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Parcel.self, bufferingPolicy: latestOnly ? .bufferingNewest(1) : .unbounded)
        let token = begin(
            { element in
                continuation.yield(Parcel(value: element))
                if isLast(element) { continuation.finish() }
            }, { continuation.finish() })
        continuation.onTermination = { _ in token.invalidate() }
        self.stream = stream
    }

    /// Frozen forms, the newest only, until what is observed is gone.
    fileprivate static func versions(
        _ begin: (@escaping (Element) -> Void) -> NotificationToken
    ) -> ChangeSequence where Element: ThreadConfined {
        ChangeSequence(latestOnly: true) { take, end in
            begin { element in element.isInvalidated ? end() : take(element.freeze()) }
        }
    }
}

/// What a sequence keeps of what comes while nobody takes it.
public enum ChangeBuffering: Sendable, Hashable {
    /// Everything, in order. Memory grows with what is not taken.
    case unbounded
    /// The newest only: enough to know that something has changed. Places in a change set count from the change before
    /// it, which may have been left out: look at the collection instead.
    case latest
}

extension RealmCollection {
    /// The collection as it is, then each change of it. See `ChangeSequence`; misuse as with
    /// `observe(keyPaths:on:_:)`.
    @_disfavoredOverload
    public func changes(
        keyPaths: [String]? = nil, buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<RealmCollectionChange<Self>> {
        ChangeSequence(latestOnly: buffering == .latest) { observe(keyPaths: keyPaths, on: nil, $0) }
    }

    /// The collection as it is, and again whenever it has changed: frozen, so that it may be used anywhere. What
    /// nobody has taken when the next one comes is left out. Ends where the object that a list is of was deleted.
    @_disfavoredOverload
    public func versions(keyPaths: [String]? = nil) -> ChangeSequence<Self> {
        .versions { take in
            observe(keyPaths: keyPaths, on: nil) { change in
                switch change {
                case .initial(let collection), .update(let collection, _, _, _): take(collection)
                case .error: break
                }
            }
        }
    }
}

extension RealmCollection where Element: ObjectBase {
    /// As `changes(keyPaths:buffering:)`, with key paths of the element class.
    @_disfavoredOverload
    public func changes(
        keyPaths: [PartialKeyPath<Element>], buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<RealmCollectionChange<Self>> {
        changes(keyPaths: keyPaths.map { _name(for: $0) }, buffering: buffering)
    }

    /// As `versions(keyPaths:)`, with key paths of the element class.
    @_disfavoredOverload
    public func versions(keyPaths: [PartialKeyPath<Element>]) -> ChangeSequence<Self> {
        versions(keyPaths: keyPaths.map { _name(for: $0) })
    }
}

extension RealmKeyedCollection {
    /// The map as it is, then each change of it. See `ChangeSequence`.
    @_disfavoredOverload
    public func changes<K, V>(
        keyPaths: [String]? = nil, buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<RealmMapChange<Self>> where Self == Map<K, V> {
        ChangeSequence(latestOnly: buffering == .latest) { observe(keyPaths: keyPaths, on: nil, $0) }
    }

    /// The map as it is, and again whenever it has changed: frozen. What nobody has taken when the next one comes is
    /// left out. Ends where the object of the map was deleted.
    @_disfavoredOverload
    public func versions<K, V>(keyPaths: [String]? = nil) -> ChangeSequence<Self> where Self == Map<K, V> {
        .versions { take in
            observe(keyPaths: keyPaths, on: nil) { change in
                switch change {
                case .initial(let map), .update(let map, _, _, _): take(map)
                case .error: break
                }
            }
        }
    }
}

extension ThreadConfined where Self: ObjectBase {
    /// Each change of the object's properties; the last one is `.deleted`. See `ChangeSequence`.
    @_disfavoredOverload
    public func changes(
        keyPaths: [String]? = nil, buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<ObjectChange<Self>> {
        ChangeSequence(
            latestOnly: buffering == .latest,
            isLast: { change in
                if case .deleted = change { true } else { false }
            }, { observe(keyPaths: keyPaths, on: nil, $0) })
    }

    /// As `changes(keyPaths:buffering:)`, with key paths of the class.
    @_disfavoredOverload
    public func changes(
        keyPaths: [PartialKeyPath<Self>], buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<ObjectChange<Self>> {
        changes(keyPaths: keyPaths.map { _name(for: $0) }, buffering: buffering)
    }

    /// The object as it is, and again whenever one of its properties has changed: frozen, so that it may be used
    /// anywhere. What nobody has taken when the next one comes is left out; nil, at last, where it was deleted.
    @_disfavoredOverload
    public func versions(keyPaths: [String]? = nil) -> ChangeSequence<Self?> {
        ChangeSequence(latestOnly: true, isLast: { $0 == nil }) { take in
            let token = observe(keyPaths: keyPaths, on: nil) { (change: ObjectChange<Self>) in
                switch change {
                case .change(let object, _): take(object.freeze())
                case .deleted: take(nil)
                case .error: break
                }
            }
            take(freeze())
            return token
        }
    }
}

extension RealmSectionedResult {
    /// The sections as they are, then each change of them. See `ChangeSequence`.
    @_disfavoredOverload
    public func changes(
        keyPaths: [String]? = nil, buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<SectionedResultsChange<Self>> {
        ChangeSequence(latestOnly: buffering == .latest) { observe(keyPaths: keyPaths, on: nil, $0) }
    }

    /// The sections as they are, and again whenever they have changed: frozen. What nobody has taken when the next one
    /// comes is left out.
    @_disfavoredOverload
    public func versions(keyPaths: [String]? = nil) -> ChangeSequence<Self> {
        .versions { take in
            observe(keyPaths: keyPaths, on: nil) { change in
                switch change {
                case .initial(let sections), .update(let sections, _, _, _, _, _): take(sections)
                }
            }
        }
    }
}

extension ProjectionObservable {
    /// Each change of the projected properties; the last one is `.deleted`. See `ChangeSequence`.
    @_disfavoredOverload
    public func changes(
        keyPaths: [String]? = nil, buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<ObjectChange<Self>> {
        ChangeSequence(
            latestOnly: buffering == .latest,
            isLast: { change in
                if case .deleted = change { true } else { false }
            }, { observe(keyPaths: keyPaths, on: nil, $0) })
    }
}

extension RealmCare where Self == Realm {
    /// What observers of the Realm are told; what nobody has taken when the next one comes is left out.
    @_disfavoredOverload
    public func changes() -> ChangeSequence<Realm.Notification> {
        ChangeSequence(latestOnly: true) { take in self.observe { notification, _ in take(notification) } }
    }

    /// The Realm as it is, and again whenever it shows another version: frozen. What nobody has taken when the next one
    /// comes is left out.
    @_disfavoredOverload
    public func versions() -> ChangeSequence<Realm> {
        ChangeSequence(latestOnly: true) { take in
            take(self.freeze())
            return self.observe { notification, realm in
                if notification == .didChange { take(realm.freeze()) }
            }
        }
    }
}
