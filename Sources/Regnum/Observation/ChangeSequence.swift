// SPDX-License-Identifier: Apache-2.0
// Observation with `for await`: sequences of changes to collections, maps, objects and Realms.

internal import RegnumEngine

/// An asynchronous sequence of changes. One task iterates over it; the sequence and the observation end when that task
/// is cancelled.
///
/// ```swift
/// for await change in realm.objects(Dog.self).changes() { ... }
/// ```
///
/// The observation begins when the sequence is created, on the actor or thread that the observed value is confined to:
/// iterate there too. Changes that arrive while the loop body runs are delivered at the next turn; only
/// `ChangeBuffering.latest` and `versions` skip any.
public struct ChangeSequence<Element>: AsyncSequence {
    public typealias Failure = Never

    fileprivate struct Parcel: @unchecked Sendable {
        // Sendable: confined values check their own confinement when used.
        let value: Element
    }
    fileprivate let stream: AsyncStream<Parcel>

    /// See `ChangeSequence`.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<Parcel>.Iterator

        /// Returns the next change; nil once the task is cancelled.
        public mutating func next() async -> Element? { await base.next()?.value }

        /// Returns the next change; nil once the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await base.next(isolation: actor)?.value
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: stream.makeAsyncIterator()) }

    /// `begin` starts an observation that passes each notification to its argument. The sequence ends after the element
    /// for which `isLast` is true.
    init(
        latestOnly: Bool = false, isLast: @escaping (Element) -> Bool = { _ in false },
        _ begin: (@escaping (Element) -> Void) -> NotificationToken
    ) {
        self.init(latestOnly: latestOnly, isLast: isLast) { take, _ in begin(take) }
    }

    /// `begin` receives a function that appends an element, and one that ends the sequence without an element.
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

    /// A sequence of frozen values that buffers only the newest and ends when the observed value is deleted.
    fileprivate static func versions(
        _ begin: (@escaping (Element) -> Void) -> NotificationToken
    ) -> ChangeSequence where Element: ThreadConfined {
        ChangeSequence(latestOnly: true) { take, end in
            begin { element in element.isInvalidated ? end() : take(element.freeze()) }
        }
    }
}

/// The changes that a sequence buffers until they are consumed.
public enum ChangeBuffering: Sendable, Hashable {
    /// All changes, in order. Memory grows with the number of changes not yet consumed.
    case unbounded
    /// Only the newest change: enough to learn that something has changed. Positions in a change set refer to the state
    /// before it, which may have been skipped, so read the collection instead.
    case latest
}

extension RealmCollection {
    /// A sequence of the current collection and then each change to it. See `ChangeSequence`; the same calls are
    /// programmer errors as for `observe(keyPaths:on:_:)`.
    @_disfavoredOverload
    public func changes(
        keyPaths: [String]? = nil, buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<RealmCollectionChange<Self>> {
        ChangeSequence(latestOnly: buffering == .latest) { observe(keyPaths: keyPaths, on: nil, $0) }
    }

    /// A sequence of frozen versions: the current collection, and the collection after each change. Frozen values may
    /// be used on any thread. A version that has not been consumed when the next one arrives is skipped. Ends when the
    /// object that owns the list is deleted.
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
    /// Like `changes(keyPaths:buffering:)`, with key paths of the element class.
    @_disfavoredOverload
    public func changes(
        keyPaths: [PartialKeyPath<Element>], buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<RealmCollectionChange<Self>> {
        changes(keyPaths: keyPaths.map { _name(for: $0) }, buffering: buffering)
    }

    /// Like `versions(keyPaths:)`, with key paths of the element class.
    @_disfavoredOverload
    public func versions(keyPaths: [PartialKeyPath<Element>]) -> ChangeSequence<Self> {
        versions(keyPaths: keyPaths.map { _name(for: $0) })
    }
}

extension RealmKeyedCollection {
    /// A sequence of the current map and then each change to it. See `ChangeSequence`.
    @_disfavoredOverload
    public func changes<K, V>(
        keyPaths: [String]? = nil, buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<RealmMapChange<Self>> where Self == Map<K, V> {
        ChangeSequence(latestOnly: buffering == .latest) { observe(keyPaths: keyPaths, on: nil, $0) }
    }

    /// A sequence of frozen versions: the current map, and the map after each change. A version that has not been
    /// consumed when the next one arrives is skipped. Ends when the object that owns the map is deleted.
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
    /// A sequence of changes to the object's properties; the last one is `.deleted`. See `ChangeSequence`.
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

    /// Like `changes(keyPaths:buffering:)`, with key paths of the class.
    @_disfavoredOverload
    public func changes(
        keyPaths: [PartialKeyPath<Self>], buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<ObjectChange<Self>> {
        changes(keyPaths: keyPaths.map { _name(for: $0) }, buffering: buffering)
    }

    /// A sequence of frozen versions: the current object, and the object after each change to a property. Frozen values
    /// may be used on any thread. A version that has not been consumed when the next one arrives is skipped. The last
    /// element is nil, if the object is deleted.
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
    /// A sequence of the current sections and then each change to them. See `ChangeSequence`.
    @_disfavoredOverload
    public func changes(
        keyPaths: [String]? = nil, buffering: ChangeBuffering = .unbounded
    ) -> ChangeSequence<SectionedResultsChange<Self>> {
        ChangeSequence(latestOnly: buffering == .latest) { observe(keyPaths: keyPaths, on: nil, $0) }
    }

    /// A sequence of frozen versions: the current sections, and the sections after each change. A version that has not
    /// been consumed when the next one arrives is skipped.
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
    /// A sequence of changes to the projected properties; the last one is `.deleted`. See `ChangeSequence`.
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

extension RealmAdditions where Self == Realm {
    /// A sequence of the notifications that observers of the Realm receive. A notification that has not been consumed
    /// when the next one arrives is skipped.
    @_disfavoredOverload
    public func changes() -> ChangeSequence<Realm.Notification> {
        ChangeSequence(latestOnly: true) { take in self.observe { notification, _ in take(notification) } }
    }

    /// A sequence of frozen versions: the current Realm, and the Realm whenever it shows another version. A version
    /// that has not been consumed when the next one arrives is skipped.
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
