// SPDX-License-Identifier: Apache-2.0
// Finding objects as operations, and what can be done with the results on their way: the names are
// ReactiveSwiftRealm's.

#if canImport(Combine) || Publishers
    internal import Foundation
    public import Regnum

    /// Classes whose objects can be looked for by subscribing.
    public protocol ReactiveRealmQueryable {}

    extension Object: ReactiveRealmQueryable {}

    extension ReactiveRealmQueryable where Self: Object {
        /// The object with that primary key, or nil, in `realm` or the default one.
        public static func findBy<Key>(key: Key, realm: Realm? = nil) -> RealmPublishers.Operation<Self?> {
            .init(in: realm) { $0.object(ofType: self, forPrimaryKey: key) }
        }

        /// The objects that a predicate's format describes; live.
        public static func findBy(
            query: String, _ arguments: Any..., realm: Realm? = nil
        ) -> RealmPublishers.Operation<Results<Self>> {
            let predicate = NSPredicate(format: query, argumentArray: arguments)
            return .init(in: realm) { $0.objects(self).filter(predicate) }
        }

        /// All objects of the class; live.
        public static func findAll(realm: Realm? = nil) -> RealmPublishers.Operation<Results<Self>> {
            .init(in: realm) { $0.objects(self) }
        }
    }

    extension Publisher {
        /// The results in the order of a property.
        public func sorted<E>(key: String, ascending: Bool = true) -> Publishers.Map<Self, Results<E>>
        where Output == Results<E> {
            map { $0.sorted(byKeyPath: key, ascending: ascending) }
        }

        /// Those of the results that a predicate's format describes.
        public func filter<E>(_ predicateFormat: String, _ arguments: Any...) -> Publishers.Map<Self, Results<E>>
        where Output == Results<E> {
            let predicate = NSPredicate(format: predicateFormat, argumentArray: arguments)
            return map { $0.filter(predicate) }
        }

        /// The collection with nil, then the collection with each change of it, for as long as the subscription
        /// lasts. A new collection from upstream takes the place of the one before.
        public func reactive() -> AnyPublisher<RealmReactiveResults<Output>, Failure>
        where Output: RealmCollection {
            map { $0.reactive().setFailureType(to: Failure.self) }.switchToLatest().eraseToAnyPublisher()
        }
    }

    extension RealmCollection {
        /// The collection with nil, then the collection with each change of it.
        public func reactive() -> RealmPublishers.Observation<RealmReactiveResults<Self>, Never> {
            .init(
                Rewritten.changesets(
                    of: self, synchronousStart: false, nil,
                    pack: { (results: RealmReactiveResults<Self>) in
                        let parcel = packed(results.value)
                        return Packed { queue in
                            parcel.unpack(queue).map { (value: $0, changes: results.changes) }
                        }
                    }, { (value: $0, changes: $1) }))
        }
    }
#endif
