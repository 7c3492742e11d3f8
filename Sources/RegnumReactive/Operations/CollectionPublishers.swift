// SPDX-License-Identifier: Apache-2.0
// Publishers of collections, arrays, change sets, Realms and objects, under RxRealm's names: RxRealm's
// `Observable.array(from:)` is `RealmPublishers.array(from:)` here.

#if canImport(Combine) || Publishers
    public import Dispatch
    public import Regnum

    /// The positions of changes in a collection: `deleted` and `updated` before the change, `inserted` after it. For
    /// collections of objects, it also contains the ids of the objects.
    public struct RealmChangeset: Sendable {
        public let deleted: [Int]
        public let inserted: [Int]
        public let updated: [Int]
        /// The objects at `deleted`, as values of `ObjectKeyIdentifiable.id`. Empty for collections of values.
        public let deletedIDs: [UInt64]
        /// The objects at `inserted`. An object that has moved is also among the deleted ones, with the same id.
        public let insertedIDs: [UInt64]
        /// The objects at `updated`; if an element of a list was replaced, the new object.
        public let updatedIDs: [UInt64]

        public init(
            deleted: [Int], inserted: [Int], updated: [Int], deletedIDs: [UInt64] = [], insertedIDs: [UInt64] = [],
            updatedIDs: [UInt64] = []
        ) {
            self.deleted = deleted
            self.inserted = inserted
            self.updated = updated
            self.deletedIDs = deletedIDs
            self.insertedIDs = insertedIDs
            self.updatedIDs = updatedIDs
        }
    }

    extension RealmChangeset: Equatable {
        /// True if the positions are equal. Ids are ignored, because they are only meaningful within one Realm file.
        public static func == (left: RealmChangeset, right: RealmChangeset) -> Bool {
            left.deleted == right.deleted && left.inserted == right.inserted && left.updated == right.updated
        }
    }

    /// A collection and its changes, which are nil in the first value.
    public typealias RealmReactiveResults<Value> = (value: Value, changes: RealmChangeset?)

    extension RealmPublishers {
        /// Sends the collection at the start, and after each change. With `synchronousStart` the first value is sent
        /// during subscription, otherwise at the next turn; with a queue, always on the queue. `keyPaths`: only changes
        /// to these count as modifications.
        public static func collection<C: RealmCollection>(
            from collection: C, synchronousStart: Bool = true, keyPaths: [String]? = nil,
            on queue: DispatchQueue? = nil
        ) -> Observation<C, Never> {
            .init(
                Rewritten.values(
                    of: collection, synchronousStart: synchronousStart, keyPaths, pack: { .confined($0) }, { $0 }),
                on: queue)
        }

        /// Sends the elements at the start, and after each change. See
        /// `collection(from:synchronousStart:keyPaths:on:)`.
        public static func array<C: RealmCollection>(
            from collection: C, synchronousStart: Bool = true, keyPaths: [String]? = nil,
            on queue: DispatchQueue? = nil
        ) -> Observation<[C.Element], Never> {
            .init(
                Rewritten.values(
                    of: collection, synchronousStart: synchronousStart, keyPaths, pack: { .elements($0) },
                    { $0.toArray() }),
                on: queue)
        }

        /// Sends the collection with nil for its changes, then with each change. See
        /// `collection(from:synchronousStart:keyPaths:on:)`.
        public static func changeset<C: RealmCollection>(
            from collection: C, synchronousStart: Bool = true, keyPaths: [String]? = nil,
            on queue: DispatchQueue? = nil
        ) -> Observation<(C, RealmChangeset?), Never> {
            .init(
                Rewritten.changesets(
                    of: collection, synchronousStart: synchronousStart, keyPaths,
                    pack: { packed($0.0).with($0.1) }, { ($0, $1) }),
                on: queue)
        }

        /// Sends the elements with nil for their changes, then with each change. See
        /// `collection(from:synchronousStart:keyPaths:on:)`.
        public static func arrayWithChangeset<C: RealmCollection>(
            from collection: C, synchronousStart: Bool = true, keyPaths: [String]? = nil,
            on queue: DispatchQueue? = nil
        ) -> Observation<([C.Element], RealmChangeset?), Never> {
            .init(
                Rewritten.changesets(
                    of: collection, synchronousStart: synchronousStart, keyPaths,
                    pack: { TransferredValue.elements($0.0).with($0.1) }, { ($0.toArray(), $1) }),
                on: queue)
        }

        /// Sends the notifications that observers of the Realm receive.
        public static func from(realm: Realm) -> Observation<(Realm, Realm.Notification), Never> {
            realm.eventPublisher
        }

        /// Sends the current object, then the object after each change to its properties, or to those in `properties`.
        /// Fails with `objectDeleted`.
        public static func from<O: Object>(
            object: O, emitInitialValue: Bool = true, properties: [String]? = nil, on queue: DispatchQueue? = nil
        ) -> Observation<O, ReactiveRealmError> {
            let source = ObservationSource<O>(
                realm: { object.realm }, waiting: .latest, pack: { .confined($0) },
                begin: { queue, take in
                    if emitInitialValue, let queue {
                        let parcel = packed(object)
                        let turn = CallbackTurn { if let object = parcel.unpack(queue) { take(.value(object)) } }
                        queue.async { turn.run() }
                    }
                    let token = ObservationSource.values(of: object, properties).begin(queue, take)
                    if emitInitialValue, queue == nil { take(.value(object)) }
                    return token
                })
            return .init(source, on: queue, ending: .failure(.objectDeleted))
        }

        /// Sends each change to a property of the object. Fails with `objectDeleted`.
        public static func propertyChanges<O: Object>(
            object: O, on queue: DispatchQueue? = nil
        ) -> Observation<PropertyChange, ReactiveRealmError> {
            let source = ObservationSource<PropertyChange>(
                realm: { object.realm }, waiting: .all, pack: { .change($0) },
                begin: { queue, take in
                    ObservationSource<ObjectChange<O>>.changes(of: object, nil).begin(queue) { signal in
                        switch signal {
                        case .value(.change(_, let properties)):
                            for property in properties { take(.value(property)) }
                        case .value: break
                        case .finished: take(.finished)
                        }
                    }
                })
            return .init(source, on: queue, ending: .failure(.objectDeleted))
        }
    }

    extension RealmCollection {
        /// Returns the elements as an array.
        public func toArray() -> [Element] { Array(self) }

        /// Returns the collection with its type erased.
        public func toAnyCollection() -> AnyRealmCollection<Element> { AnyRealmCollection(self) }

        /// Sends the elements at the next turn, and after each change.
        public var arrayPublisher: RealmPublishers.Observation<[Element], Never> {
            RealmPublishers.array(from: self, synchronousStart: false)
        }

        /// Sends the elements with nil for their changes at the next turn, then with each change.
        public var arrayWithChangesetPublisher: RealmPublishers.Observation<([Element], RealmChangeset?), Never> {
            RealmPublishers.arrayWithChangeset(from: self, synchronousStart: false)
        }
    }

    /// Observations of collections with transformed output.
    enum Rewritten {
        static func values<C: RealmCollection, Output>(
            of collection: C, synchronousStart: Bool, _ keyPaths: [String]?,
            pack: @escaping (Output) -> TransferredValue<Output>, _ output: @escaping (C) -> Output
        ) -> ObservationSource<Output> {
            source(of: collection, synchronousStart, keyPaths, .latest, pack) { collection, _ in output(collection) }
        }

        static func changesets<C: RealmCollection, Output>(
            of collection: C, synchronousStart: Bool, _ keyPaths: [String]?,
            pack: @escaping (Output) -> TransferredValue<Output>, _ output: @escaping (C, RealmChangeset?) -> Output
        ) -> ObservationSource<Output> {
            source(of: collection, synchronousStart, keyPaths, .all, pack, output)
        }

        private static func source<C: RealmCollection, Output>(
            of collection: C, _ synchronousStart: Bool, _ keyPaths: [String]?, _ waiting: Waiting,
            _ pack: @escaping (Output) -> TransferredValue<Output>, _ output: @escaping (C, RealmChangeset?) -> Output
        ) -> ObservationSource<Output> {
            ObservationSource(
                realm: { collection.realm }, waiting: waiting, pack: pack,
                begin: { queue, take in
                    // The state sent during subscription; the observation's initial call is skipped while it is
                    // unchanged.
                    let startsHere = synchronousStart && queue == nil
                    let shown = startsHere ? collection.realm?.core.changeCount : nil
                    let token = collection.observeIdentified(keyPaths: keyPaths, on: queue) { change, who in
                        switch change {
                        case .initial(let collection):
                            if let shown, collection.realm?.core.changeCount == shown { return }
                            take(.value(output(collection, nil)))
                        case .update(let collection, let deleted, let inserted, let updated):
                            let changes = RealmChangeset(
                                deleted: deleted, inserted: inserted, updated: updated,
                                deletedIDs: who?.deleted ?? [], insertedIDs: who?.inserted ?? [],
                                updatedIDs: who?.modified ?? [])
                            take(.value(output(collection, changes)))
                        case .error: break
                        }
                    }
                    if startsHere { take(.value(output(collection, nil))) }
                    return token
                })
        }
    }
#endif
