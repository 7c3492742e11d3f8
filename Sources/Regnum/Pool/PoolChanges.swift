// SPDX-License-Identifier: Apache-2.0
// Changes of a pool's objects as values, for tasks that pass them on: server-sent events, WebSockets, caches.

/// What a listener of `RealmPool.changes` receives.
public enum PoolChange: Sendable, Hashable {
    /// All objects: the first element, and again after the listener has missed changes because it was too slow. It
    /// replaces everything that was received before. Empty if contents were not asked for.
    case contents(PoolContents)
    /// The changes by one commit, or by several between which the pool had no turn.
    case update(PoolUpdate)

    /// The version of the file that the listener has seen with this element. Later elements have higher versions.
    public var version: UInt64 {
        switch self {
        case .contents(let contents): contents.version
        case .update(let update): update.version
        }
    }
}

/// An object as a listener of `RealmPool.changes` receives it.
public struct PoolObject: Sendable, Hashable, Encodable {
    /// The position in the results: for deletions before the change, otherwise after it.
    public let position: Int
    /// The primary key; nil if the class has none.
    public let primaryKey: SnapshotValue?
    /// The values of the object at the version of the element; nil for deletions, and if snapshots were not asked for.
    public let snapshot: ObjectSnapshot?
    /// The object as the type of `RealmPool.changes(as:)`; nil for deletions, and if values were not asked for.
    let decoded: Result<any Sendable, any Error>?

    private enum CodingKeys: CodingKey { case position, primaryKey, snapshot }

    public static func == (left: PoolObject, right: PoolObject) -> Bool {
        left.position == right.position && left.primaryKey == right.primaryKey && left.snapshot == right.snapshot
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(position)
        hasher.combine(primaryKey)
        hasher.combine(snapshot)
    }
}

/// All objects of the results at one version.
public struct PoolContents: Sendable, Hashable, Encodable {
    /// The version of the file.
    public let version: UInt64
    /// The objects in their order; empty if contents were not asked for.
    public let objects: [PoolObject]
}

/// The changes from one version of the results to a later one.
public struct PoolUpdate: Sendable, Hashable, Encodable {
    /// The version of the file after the changes.
    public let version: UInt64
    /// The objects that are no longer among the results: deleted, or changed so that they do not match any more. With
    /// ascending positions before the change. An object that has moved is here and among the insertions.
    public let deletions: [PoolObject]
    /// The objects that are new among the results, with ascending positions after the change.
    public let insertions: [PoolObject]
    /// The objects that have changed and stay among the results, with ascending positions after the change.
    public let modifications: [PoolObject]

    /// Removes the deletions from an array that mirrors the results, and inserts and replaces the others. `make`
    /// creates an element from an object of the update.
    public func apply<Element>(to elements: inout [Element], _ make: (PoolObject) throws -> Element) rethrows {
        for object in deletions.reversed() { elements.remove(at: object.position) }
        for object in insertions { elements.insert(try make(object), at: object.position) }
        for object in modifications { elements[object.position] = try make(object) }
    }
}

extension RealmPool {
    /// The objects of the results and then their changes, as `Sendable` values, for any number of listeners.
    ///
    /// ```swift
    /// let old = pool.changes(snapshots: true) { realm in realm.objects(Dog.self).where { $0.age > 5 } }
    /// for try await change in old {
    ///     switch change {
    ///     case .contents(let contents): send(all: contents.objects)
    ///     case .update(let update): send(update)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - snapshots: True if inserted and modified objects are to be read with their values.
    ///   - contents: False for listeners that need the changes only, or read the objects elsewhere: then elements with
    ///     the contents have no objects, cost O(1), and say only from which version on updates follow.
    ///   - bufferLimit: The number of updates that a listener may leave unread, at least one. A listener that is slower
    ///     loses them, and receives the contents instead when it asks for the next element. So a listener keeps a
    ///     bounded number of updates and misses nothing that still holds. An update is as large as the changes of its
    ///     commits; listeners of equal results share its memory.
    ///   - results: The objects of a class, with filters and orders. Called on the pool's own queue, once for each
    ///     listener. Writing in the closure is a programmer error.
    ///
    /// Each loop over the sequence is a listener; it listens from its first element until it ends or its task is
    /// cancelled. Listeners of equal results (the same class, filter, order and `snapshots`, or type of values) share
    /// the work: changes are found, and objects are read, once for each commit. The sequence ends when the pool is
    /// closed; until then a listener keeps the file open, even if the pool is released. It throws
    /// `RealmPoolError.closed` if the pool was closed before, and `Realm.Error` if the file cannot be opened or the
    /// objects cannot be read. Results of a list, and read-only files, are programmer errors, and so is using one
    /// iterator in two tasks at the same time.
    ///
    /// Finding the changes of a commit costs time in proportion to them, and 8 to 16 bytes of memory for each object of
    /// filtered or sorted results. The contents cost time in proportion to the objects, once for each version:
    /// listeners that ask for those of the same version share them, and they take memory until the next change.
    public func changes<T: Object>(
        snapshots: Bool = false, contents: Bool = true, bufferLimit: Int = 64,
        _ results: @escaping @Sendable (Realm) -> Results<T>
    ) -> PoolChangeSequence {
        sequence(PoolForm(snapshots: snapshots), contents: contents, bufferLimit: bufferLimit, results)
    }

    func sequence<T: Object>(
        _ form: PoolForm, contents: Bool, bufferLimit: Int, _ results: @escaping @Sendable (Realm) -> Results<T>
    ) -> PoolChangeSequence {
        if configuration.readOnly { misuse("Read-only Realms do not change and do not have change notifications.") }
        if bufferLimit < 1 { misuse("The buffer of a listener must hold at least one update.") }
        let source = PoolChangeSource(observer: observer, form: form, contents: contents) { realm in
            results(realm)._watched
        }
        return PoolChangeSequence(source: source, bufferLimit: bufferLimit)
    }
}

/// The changes of a pool's objects; see `RealmPool.changes`.
public struct PoolChangeSequence: AsyncSequence, Sendable {
    public typealias Element = PoolChange

    let source: PoolChangeSource
    let bufferLimit: Int

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(listener: PoolListener(limit: bufferLimit), source: source)
    }

    /// See `PoolChangeSequence`.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        let listener: PoolListener
        let source: PoolChangeSource
        private var broadcast: PoolBroadcast?

        init(listener: PoolListener, source: PoolChangeSource) {
            (self.listener, self.source) = (listener, source)
        }

        /// Returns the next element; nil when the pool is closed or the task is cancelled.
        public mutating func next() async throws -> PoolChange? {
            guard let broadcast else {
                if Task.isCancelled { return nil }
                let (made, contents) = try await source.observer.join(listener, source)
                self.broadcast = made
                return .contents(contents)
            }
            switch await listener.next() {
            case .update(let update): return .update(update)
            case .overflow:
                let contents = try await source.observer.contents(of: broadcast, for: listener, source)
                return contents.map { PoolChange.contents($0) }
            case .end: return nil
            }
        }
    }
}

/// Which results a listener asks for.
struct PoolChangeSource: Sendable {
    let observer: PoolObserver
    let form: PoolForm
    /// False if the contents have no objects.
    let contents: Bool
    let results: @Sendable (Realm) -> _Watched
}

/// The form in which listeners receive objects.
struct PoolForm: Sendable, Hashable {
    var snapshots = false
    /// The type of the values; nil for no values.
    var valueType: (any (Decodable & Sendable).Type)?

    private var valueIdentifier: ObjectIdentifier? { valueType.map { ObjectIdentifier($0) } }

    static func == (left: PoolForm, right: PoolForm) -> Bool {
        left.snapshots == right.snapshots && left.valueIdentifier == right.valueIdentifier
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(snapshots)
        hasher.combine(valueIdentifier)
    }
}
