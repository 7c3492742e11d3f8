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
/// actor or the main actor. What comes while the loop body runs waits for the next turn, and is never left out.
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
        let (stream, continuation) = AsyncStream.makeStream(
            of: Parcel.self, bufferingPolicy: latestOnly ? .bufferingNewest(1) : .unbounded)
        let token = begin { element in
            continuation.yield(Parcel(value: element))
            if isLast(element) { continuation.finish() }
        }
        continuation.onTermination = { _ in token.invalidate() }
        self.stream = stream
    }
}

extension RealmCollection {
    /// The collection as it is, then each change of it, none left out. See `ChangeSequence`; misuse as with
    /// `observe(keyPaths:on:_:)`.
    @_disfavoredOverload
    public func changes(keyPaths: [String]? = nil) -> ChangeSequence<RealmCollectionChange<Self>> {
        ChangeSequence { observe(keyPaths: keyPaths, on: nil, $0) }
    }

    /// The collection as it is, and again whenever it has changed: frozen, so that it may be used anywhere. What
    /// nobody has taken when the next one comes is left out.
    @_disfavoredOverload
    public func versions(keyPaths: [String]? = nil) -> ChangeSequence<Self> {
        ChangeSequence(latestOnly: true) { take in
            observe(keyPaths: keyPaths, on: nil) { change in
                switch change {
                case .initial(let collection), .update(let collection, _, _, _): take(collection.freeze())
                case .error: break
                }
            }
        }
    }
}

extension RealmKeyedCollection {
    /// The map as it is, then each change of it, none left out. See `ChangeSequence`.
    @_disfavoredOverload
    public func changes<K, V>(keyPaths: [String]? = nil) -> ChangeSequence<RealmMapChange<Self>>
    where Self == Map<K, V> {
        ChangeSequence { observe(keyPaths: keyPaths, on: nil, $0) }
    }
}

extension ThreadConfined where Self: ObjectBase {
    /// Each change of the object's properties, none left out; the last one is `.deleted`. See `ChangeSequence`.
    @_disfavoredOverload
    public func changes(keyPaths: [String]? = nil) -> ChangeSequence<ObjectChange<Self>> {
        ChangeSequence(
            isLast: { change in
                if case .deleted = change { true } else { false }
            }, { observe(keyPaths: keyPaths, on: nil, $0) })
    }
}

extension RealmSectionedResult {
    /// The sections as they are, then each change of them, none left out. See `ChangeSequence`.
    @_disfavoredOverload
    public func changes(keyPaths: [String]? = nil) -> ChangeSequence<SectionedResultsChange<Self>> {
        ChangeSequence { observe(keyPaths: keyPaths, on: nil, $0) }
    }
}

extension ProjectionObservable {
    /// Each change of the projected properties, none left out; the last one is `.deleted`. See `ChangeSequence`.
    @_disfavoredOverload
    public func changes(keyPaths: [String]? = nil) -> ChangeSequence<ObjectChange<Self>> {
        ChangeSequence(
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
}
