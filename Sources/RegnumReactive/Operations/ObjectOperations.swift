// SPDX-License-Identifier: Apache-2.0
// Adding, changing and deleting one object or many, as operations: the names are ReactiveSwiftRealm's.

#if canImport(Combine) || Publishers
    public import Regnum

    /// Objects whose operations can be subscribed to.
    public protocol ReactiveRealmOperable: ThreadConfined {}

    extension Object: ReactiveRealmOperable {}

    extension ReactiveRealmOperable where Self: Object {
        /// Adds the object to `realm`, or to the default one. Fails with `alreadyExists` where its primary key is
        /// there and no update policy is given. One that was added in the background belongs there: find it anew.
        public func add(
            realm: Realm? = nil, update: Realm.UpdatePolicy = .error, thread: ReactiveRealmThread = .current
        ) -> RealmPublishers.Operation<Void> {
            [self].add(realm: realm, update: update, thread: thread)
        }

        /// Adds the object; `update` stands for `.all`.
        public func add(
            realm: Realm? = nil, update: Bool, thread: ReactiveRealmThread = .current
        ) -> RealmPublishers.Operation<Void> {
            add(realm: realm, update: update ? .all : .error, thread: thread)
        }

        /// Runs `operation` in a write, in the background with the object as it is there.
        public func update(
            realm: Realm? = nil, thread: ReactiveRealmThread = .current, operation: @escaping (Self) -> Void
        ) -> RealmPublishers.Operation<Void> {
            .init([self], in: realm, on: thread) { _, objects in operation(objects[0]) }
        }

        /// Deletes the object.
        public func delete(
            realm: Realm? = nil, thread: ReactiveRealmThread = .current
        ) -> RealmPublishers.Operation<Void> {
            [self].delete(realm: realm, thread: thread)
        }
    }

    extension Array where Element: Object {
        /// Adds the objects, all or, where it fails, none. See `add` of one.
        public func add(
            realm: Realm? = nil, update: Realm.UpdatePolicy = .error, thread: ReactiveRealmThread = .current
        ) -> RealmPublishers.Operation<Void> {
            .init(self, in: realm, on: thread) { try $0.add(checked: $1, update: update) }
        }

        /// Adds the objects; `update` stands for `.all`.
        public func add(
            realm: Realm? = nil, update: Bool, thread: ReactiveRealmThread = .current
        ) -> RealmPublishers.Operation<Void> {
            add(realm: realm, update: update ? .all : .error, thread: thread)
        }

        /// Runs `operation` for each object, all in one write.
        public func update(
            realm: Realm? = nil, thread: ReactiveRealmThread = .current, operation: @escaping (Element) -> Void
        ) -> RealmPublishers.Operation<Void> {
            .init(self, in: realm, on: thread) { _, objects in objects.forEach(operation) }
        }

        /// Deletes the objects, all or none.
        public func delete(
            realm: Realm? = nil, thread: ReactiveRealmThread = .current
        ) -> RealmPublishers.Operation<Void> {
            .init(self, in: realm, on: thread) { try $0.delete(checked: $1) }
        }
    }
#endif
