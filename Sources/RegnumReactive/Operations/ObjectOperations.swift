// SPDX-License-Identifier: Apache-2.0
// Operations that add, change and delete one or more objects, under ReactiveSwiftRealm's names.

#if canImport(Combine) || Publishers
    public import Regnum

    /// Objects with operations that can be subscribed to.
    public protocol ReactiveRealmOperable: ThreadConfined {}

    extension Object: ReactiveRealmOperable {}

    extension ReactiveRealmOperable where Self: Object {
        /// Adds the object to `realm`, or to the default one. Fails with `alreadyExists` if an object with its primary
        /// key exists and no update policy is given. An object added in the background is confined there: query for it
        /// again.
        public func add(
            realm: Realm? = nil, update: Realm.UpdatePolicy = .error, thread: ReactiveRealmThread = .current
        ) -> RealmPublishers.Operation<Void> {
            [self].add(realm: realm, update: update, thread: thread)
        }

        /// Adds the object; `update: true` means `.all`.
        public func add(
            realm: Realm? = nil, update: Bool, thread: ReactiveRealmThread = .current
        ) -> RealmPublishers.Operation<Void> {
            add(realm: realm, update: update ? .all : .error, thread: thread)
        }

        /// Runs `operation` in a write transaction; in the background, the object is resolved there first.
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
        /// Adds the objects: all of them, or none if it fails. See `add` of one object.
        public func add(
            realm: Realm? = nil, update: Realm.UpdatePolicy = .error, thread: ReactiveRealmThread = .current
        ) -> RealmPublishers.Operation<Void> {
            .init(self, in: realm, on: thread) { try $0.add(checked: $1, update: update) }
        }

        /// Adds the objects; `update: true` means `.all`.
        public func add(
            realm: Realm? = nil, update: Bool, thread: ReactiveRealmThread = .current
        ) -> RealmPublishers.Operation<Void> {
            add(realm: realm, update: update ? .all : .error, thread: thread)
        }

        /// Runs `operation` for each object, all in one write transaction.
        public func update(
            realm: Realm? = nil, thread: ReactiveRealmThread = .current, operation: @escaping (Element) -> Void
        ) -> RealmPublishers.Operation<Void> {
            .init(self, in: realm, on: thread) { _, objects in objects.forEach(operation) }
        }

        /// Deletes the objects: all of them or none.
        public func delete(
            realm: Realm? = nil, thread: ReactiveRealmThread = .current
        ) -> RealmPublishers.Operation<Void> {
            .init(self, in: realm, on: thread) { try $0.delete(checked: $1) }
        }
    }
#endif
