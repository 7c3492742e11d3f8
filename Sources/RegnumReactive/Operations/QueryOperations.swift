// SPDX-License-Identifier: Apache-2.0
// Operations that query objects, and operators on their results, under ReactiveSwiftRealm's names.

#if canImport(Combine) || Publishers
    internal import Foundation
    public import Regnum

    /// Classes whose objects can be queried by subscribing.
    public protocol ReactiveRealmQueryable {}

    extension Object: ReactiveRealmQueryable {}

    extension ReactiveRealmQueryable where Self: Object {
        /// The object with that primary key, or nil, in `realm` or the default one.
        public static func findBy<Key>(key: Key, realm: Realm? = nil) -> RealmPublishers.Operation<Self?> {
            .init(in: realm) { $0.object(ofType: self, forPrimaryKey: key) }
        }

        /// The objects that match a predicate format, as live results.
        public static func findBy(
            query: String, _ arguments: Any..., realm: Realm? = nil
        ) -> RealmPublishers.Operation<Results<Self>> {
            let predicate = NSPredicate(format: query, argumentArray: arguments)
            return .init(in: realm) { $0.objects(self).filter(predicate) }
        }

        /// All objects of the class, as live results.
        public static func findAll(realm: Realm? = nil) -> RealmPublishers.Operation<Results<Self>> {
            .init(in: realm) { $0.objects(self) }
        }
    }

    extension Publisher {
        /// Sorts the results by a property.
        public func sorted<E>(key: String, ascending: Bool = true) -> Publishers.Map<Self, Results<E>>
        where Output == Results<E> {
            map { $0.sorted(byKeyPath: key, ascending: ascending) }
        }

        /// Filters the results by a predicate format.
        public func filter<E>(_ predicateFormat: String, _ arguments: Any...) -> Publishers.Map<Self, Results<E>>
        where Output == Results<E> {
            let predicate = NSPredicate(format: predicateFormat, argumentArray: arguments)
            return map { $0.filter(predicate) }
        }

        /// Sends the collection with nil for its changes, then with each change, until the subscription ends. A new
        /// collection from upstream replaces the previous one.
        public func reactive() -> AnyPublisher<RealmReactiveResults<Output>, Failure>
        where Output: RealmCollection {
            map { $0.reactive().setFailureType(to: Failure.self) }.switchToLatest().eraseToAnyPublisher()
        }
    }

    extension RealmCollection {
        /// Sends the collection with nil for its changes, then with each change.
        public func reactive() -> RealmPublishers.Observation<RealmReactiveResults<Self>, Never> {
            .init(
                Rewritten.changesets(
                    of: self, synchronousStart: false, nil,
                    pack: { (results: RealmReactiveResults<Self>) in
                        let parcel = packed(results.value)
                        return TransferredValue { queue in
                            parcel.unpack(queue).map { (value: $0, changes: results.changes) }
                        }
                    }, { (value: $0, changes: $1) }))
        }
    }
#endif
