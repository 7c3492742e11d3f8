// SPDX-License-Identifier: Apache-2.0
// Subscribers that write the values they receive: `publisher.subscribe(realm.sink.add())`. RxRealm's `realm.rx` and
// `Realm.rx` are `realm.sink` and `Realm.sink` here.

#if canImport(Combine) || Publishers
    public import Regnum
    internal import Synchronization

    extension RealmPublishers {
        /// Writes each value in a transaction of its own. It has unlimited demand, and continues after an error. It
        /// continues until upstream completes or the sink is cancelled.
        public final class WriteSink<Input, Failure: Error>: Subscriber, Cancellable {
            private struct State: @unchecked Sendable {
                // Sendable: only accessed under the mutex.
                var write: ((Input) throws -> Void)?
                var onError: ((Input?, any Error) -> Void)?
                var subscription: (any Subscription)?
            }
            private let state: Mutex<State>

            init(onError: ((Input?, any Error) -> Void)?, _ write: @escaping (Input) throws -> Void) {
                state = Mutex(State(write: write, onError: onError))
            }

            public func receive(subscription: any Subscription) {
                let isWanted = state.withLock { state in
                    guard state.write != nil, state.subscription == nil else { return false }
                    state.subscription = subscription
                    return true
                }
                if isWanted { subscription.request(.unlimited) } else { subscription.cancel() }
            }

            public func receive(_ input: Input) -> Subscribers.Demand {
                let (write, onError) = state.withLock { ($0.write, $0.onError) }
                do { try write?(input) } catch { onError?(input, error) }
                return .none
            }

            public func receive(completion: Subscribers.Completion<Failure>) {
                let last = take()
                if case .failure(let error) = completion { last.onError?(nil, error) }
            }

            /// Ends the subscription; nothing more is written. May be called from any thread.
            public func cancel() { take().subscription?.cancel() }

            /// Empties the state and returns it, so that its contents are released outside the lock.
            private func take() -> State {
                state.withLock { state in
                    let last = state
                    state = State()
                    return last
                }
            }
        }

        /// Sinks that write in one Realm, on its thread: on any other thread `onError` receives `wrongThread`. They
        /// retain the Realm until upstream ends.
        public struct RealmSinks {
            let realm: Realm

            /// Adds each object. `onError` receives the object with the error, or nil with the failure of upstream.
            public func add<O: Object, Failure: Error>(
                update: Realm.UpdatePolicy = .error, onError: ((O?, any Error) -> Void)? = nil
            ) -> WriteSink<O, Failure> {
                sink(onError) { realm, object in try realm.add(checked: [object], update: update) }
            }

            /// Adds the objects of each sequence: all of them or none.
            public func add<S: Sequence, Failure: Error>(
                update: Realm.UpdatePolicy = .error, onError: ((S?, any Error) -> Void)? = nil
            ) -> WriteSink<S, Failure> where S.Element: Object {
                sink(onError) { realm, objects in try realm.add(checked: Array(objects), update: update) }
            }

            /// Deletes each object.
            public func delete<O: Object, Failure: Error>(
                onError: ((O?, any Error) -> Void)? = nil
            ) -> WriteSink<O, Failure> {
                sink(onError) { realm, object in try realm.delete(checked: [object]) }
            }

            /// Deletes the objects of each sequence: all of them or none.
            public func delete<S: Sequence, Failure: Error>(
                onError: ((S?, any Error) -> Void)? = nil
            ) -> WriteSink<S, Failure> where S.Element: Object {
                sink(onError) { realm, objects in try realm.delete(checked: Array(objects)) }
            }

            private func sink<Input, Failure: Error>(
                _ onError: ((Input?, any Error) -> Void)?, _ write: @escaping (Realm, Input) throws -> Void
            ) -> WriteSink<Input, Failure> {
                let realm = realm
                return WriteSink(onError: onError) { input in
                    guard realm.core.isHere else { throw ReactiveRealmError.wrongThread }
                    try realm.writeOrJoin { try write(realm, input) }
                }
            }
        }

        /// Sinks that write on the thread where values arrive: in a Realm opened there, or in the Realm of the objects.
        public enum SinksAnywhere {
            /// Adds each object to a Realm of `configuration`.
            public static func add<O: Object, Failure: Error>(
                configuration: Realm.Configuration = .defaultConfiguration,
                update: Realm.UpdatePolicy = .error, onError: ((O?, any Error) -> Void)? = nil
            ) -> WriteSink<O, Failure> {
                WriteSink(onError: onError) { object in
                    let realm = try Realm(configuration: configuration)
                    try realm.writeOrJoin { try realm.add(checked: [object], update: update) }
                }
            }

            /// Adds the objects of each sequence: all of them or none.
            public static func add<S: Sequence, Failure: Error>(
                configuration: Realm.Configuration = .defaultConfiguration,
                update: Realm.UpdatePolicy = .error, onError: ((S?, any Error) -> Void)? = nil
            ) -> WriteSink<S, Failure> where S.Element: Object {
                WriteSink(onError: onError) { objects in
                    let realm = try Realm(configuration: configuration)
                    try realm.writeOrJoin { try realm.add(checked: Array(objects), update: update) }
                }
            }

            /// Deletes each object from its Realm.
            public static func delete<O: Object, Failure: Error>(
                onError: ((O?, any Error) -> Void)? = nil
            ) -> WriteSink<O, Failure> {
                WriteSink(onError: onError) { try deleteTogether([$0]) }
            }

            /// Deletes the objects of each sequence from the Realm of the first one: all of them or none.
            public static func delete<S: Sequence, Failure: Error>(
                onError: ((S?, any Error) -> Void)? = nil
            ) -> WriteSink<S, Failure> where S.Element: Object {
                WriteSink(onError: onError) { try deleteTogether(Array($0)) }
            }

            private static func deleteTogether<O: Object>(_ objects: [O]) throws {
                if objects.isEmpty { return }
                // The first managed object determines the Realm; `delete(checked:)` verifies that all objects belong to
                // it.
                guard let core = objects.lazy.compactMap(\._homeCore).first else {
                    throw RealmCore.deletesUnmanaged
                }
                guard core.isHere else { throw ReactiveRealmError.wrongThread }
                let realm = Realm(core: core)
                try realm.writeOrJoin { try realm.delete(checked: objects) }
            }
        }
    }

    extension Realm {
        /// Sinks that write in this Realm.
        public var sink: RealmPublishers.RealmSinks { RealmPublishers.RealmSinks(realm: self) }

        /// Sinks that write on the thread where values arrive.
        public static var sink: RealmPublishers.SinksAnywhere.Type { RealmPublishers.SinksAnywhere.self }

        /// Deletes objects. Throws before deleting any if one was deleted, is confined elsewhere, or belongs to another
        /// Realm.
        func delete<O: Object>(checked objects: [O]) throws {
            for object in objects {
                if let home = object._homeCore, !home.isHere { throw ReactiveRealmError.wrongThread }
                if object.isInvalidated { throw ReactiveRealmError.deletedInAnotherThread }
            }
            try core.checkMayDelete(objects)
            delete(objects)
        }
    }
#endif
