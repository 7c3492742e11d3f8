// SPDX-License-Identifier: Apache-2.0
// Changes of a pool's objects as values of a user's type, decoded once for all listeners of equal results.

/// What a listener of `RealmPool.changes(as:)` receives.
public enum PoolValueChange<Value: Sendable>: Sendable {
    /// All objects: the first element, and again after the listener has missed changes because it was too slow. It
    /// replaces everything that was received before.
    case contents(PoolValueContents<Value>)
    /// The changes by one commit, or by several between which the pool had no turn.
    case update(PoolValueUpdate<Value>)

    /// The version of the file that the listener has seen with this element. Later elements have higher versions.
    public var version: UInt64 {
        switch self {
        case .contents(let contents): contents.version
        case .update(let update): update.version
        }
    }

    /// Throws the `DecodingError` of the first object whose values do not fit the type.
    init(_ change: PoolChange) throws {
        switch change {
        case .contents(let contents):
            let values = try contents.objects.map { try PoolValue<Value>($0).value }
            self = .contents(PoolValueContents(version: contents.version, values: values))
        case .update(let update):
            self = .update(
                PoolValueUpdate(
                    version: update.version, deletions: update.deletions,
                    insertions: try update.insertions.map { try PoolValue($0) },
                    modifications: try update.modifications.map { try PoolValue($0) }))
        }
    }
}

/// An object that was inserted or modified, as a listener of `RealmPool.changes(as:)` receives it.
public struct PoolValue<Value: Sendable>: Sendable {
    /// The position in the results after the change.
    public let position: Int
    /// The primary key; nil if the class has none.
    public let primaryKey: SnapshotValue?
    /// The object at the version of the element.
    public let value: Value

    fileprivate init(_ object: PoolObject) throws {
        position = object.position
        primaryKey = object.primaryKey
        guard let value = try object.decoded?.get() as? Value else {
            preconditionFailure("an object was decoded as another type than its listener's")
        }
        self.value = value
    }
}

/// All objects of the results at one version, as values of a type.
public struct PoolValueContents<Value: Sendable>: Sendable {
    /// The version of the file.
    public let version: UInt64
    /// The objects in their order.
    public let values: [Value]
}

/// The changes from one version of the results to a later one, as values of a type. See `PoolUpdate`.
public struct PoolValueUpdate<Value: Sendable>: Sendable {
    /// The version of the file after the changes.
    public let version: UInt64
    /// The objects that are no longer among the results, with ascending positions before the change.
    public let deletions: [PoolObject]
    /// The objects that are new among the results, with ascending positions after the change.
    public let insertions: [PoolValue<Value>]
    /// The objects that have changed and stay among the results, with ascending positions after the change.
    public let modifications: [PoolValue<Value>]

    /// Applies the changes to an array that mirrors the results.
    public func apply(to values: inout [Value]) {
        for object in deletions.reversed() { values.remove(at: object.position) }
        for object in insertions { values.insert(object.value, at: object.position) }
        for object in modifications { values[object.position] = object.value }
    }
}

extension PoolValueChange: Equatable where Value: Equatable {}
extension PoolValueChange: Hashable where Value: Hashable {}
extension PoolValue: Equatable where Value: Equatable {}
extension PoolValue: Hashable where Value: Hashable {}
extension PoolValue: Encodable where Value: Encodable {}
extension PoolValueContents: Equatable where Value: Equatable {}
extension PoolValueContents: Hashable where Value: Hashable {}
extension PoolValueContents: Encodable where Value: Encodable {}
extension PoolValueUpdate: Equatable where Value: Equatable {}
extension PoolValueUpdate: Hashable where Value: Hashable {}
extension PoolValueUpdate: Encodable where Value: Encodable {}

extension RealmPool {
    /// The objects of the results and then their changes, as values of a user-defined type, for any number of
    /// listeners.
    ///
    /// ```swift
    /// struct DogValue: Codable, Sendable { let name: String; let age: Int }
    /// var dogs: [DogValue] = []
    /// for try await change in pool.changes(as: DogValue.self, { realm in realm.objects(Dog.self) }) {
    ///     switch change {
    ///     case .contents(let contents): dogs = contents.values
    ///     case .update(let update): update.apply(to: &dogs)
    ///     }
    /// }
    /// ```
    ///
    /// Everything is as in `changes(snapshots:contents:bufferLimit:_:)`, and an object is decoded once for all
    /// listeners of equal results and the same type; see `snapshot(as:)` of an object for the rules. A sequence throws
    /// `DecodingError` when an object that it passes on does not fit the type, and ends.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - bufferLimit: The number of updates that a listener may leave unread, at least one.
    ///   - results: The objects of a class, with filters and orders.
    public func changes<Value: Decodable & Sendable, T: Object>(
        as type: Value.Type, bufferLimit: Int = 64, _ results: @escaping @Sendable (Realm) -> Results<T>
    ) -> PoolValueSequence<Value> {
        PoolValueSequence(
            base: sequence(PoolForm(valueType: type), contents: true, bufferLimit: bufferLimit, results))
    }
}

/// The changes of a pool's objects as values of a type; see `RealmPool.changes(as:)`.
public struct PoolValueSequence<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = PoolValueChange<Value>

    let base: PoolChangeSequence

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }

    /// See `PoolValueSequence`.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        private var base: PoolChangeSequence.AsyncIterator
        private var hasFailed = false

        init(base: PoolChangeSequence.AsyncIterator) { self.base = base }

        /// Returns the next element; nil when the pool is closed or the task is cancelled, and after an error.
        public mutating func next() async throws -> PoolValueChange<Value>? {
            if hasFailed { return nil }
            guard let change = try await base.next() else { return nil }
            do { return try PoolValueChange(change) } catch {
                hasFailed = true
                base.listener.end()
                throw error
            }
        }
    }
}
