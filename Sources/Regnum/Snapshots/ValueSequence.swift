// SPDX-License-Identifier: Apache-2.0
// The objects of a collection as values of a user's type, again after each change, as an asynchronous sequence.

extension RealmCollection where Element: ObjectBase {
    /// A sequence of the objects as values of a user-defined type: the current ones, and all of them again after each
    /// change. See `snapshots(as:)`.
    ///
    /// ```swift
    /// for try await dogs in realm.objects(Dog.self).values(as: DogValue.self) { show(dogs) }
    /// ```
    ///
    /// The values are created where the collection is confined, and can be iterated over on any actor. An array that has
    /// not been consumed when the next one arrives is skipped. The sequence ends when the task that iterates over it is
    /// cancelled, or when the object that owns the list is deleted. It throws `DecodingError` if the values do not fit
    /// the type.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - keyPaths: The properties whose changes lead to another array; nil, the default, for all.
    /// - Thread: That of the collection, which needs a run loop, a queue or an actor. The same calls are programmer
    ///   errors as for `observe(keyPaths:on:_:)`.
    /// - Complexity: O(values read) for each change.
    @_disfavoredOverload
    public func values<Value: Decodable & Sendable>(
        as type: Value.Type, keyPaths: [String]? = nil
    ) -> AsyncThrowingStream<[Value], any Error> {
        stream(keyPaths) { try $0.snapshots(as: type) }
    }

    /// A sequence of the values that `make` creates from the collection, now and after each change.
    func stream<Value: Sendable>(
        _ keyPaths: [String]?, _ make: @escaping (Self) throws -> [Value]
    ) -> AsyncThrowingStream<[Value], any Error> {
        let (stream, continuation) = AsyncThrowingStream<[Value], any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let token = observe(keyPaths: keyPaths, on: nil) { (change: RealmCollectionChange<Self>) in
            switch change {
            case .initial(let collection), .update(let collection, _, _, _):
                if collection.isInvalidated { return continuation.finish() }
                do { continuation.yield(try make(collection)) } catch {
                    continuation.finish(throwing: error)
                }
            case .error(let error): continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in token.invalidate() }
        return stream
    }
}
