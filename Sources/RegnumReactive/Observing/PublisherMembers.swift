// SPDX-License-Identifier: Apache-2.0
// The members and functions that create publishers: `objectWillChange`, the properties of collections, and the free
// functions.

#if canImport(Combine) || Publishers
    public import Regnum

    // MARK: Change signals

    extension Realm {
        /// Sends after each commit that becomes visible in this Realm.
        public var objectWillChange: RealmPublishers.RealmWillChange { .init(ObservationSource(changing: self)) }

        /// Sends the notifications that observers of the Realm receive.
        public var eventPublisher: RealmPublishers.Observation<(Realm, Notification), Never> {
            .init(ObservationSource(events: self))
        }
    }

    extension Object: ObservableObject {
        /// Sends after each change to the object's properties; finishes when the object is deleted.
        public var objectWillChange: RealmPublishers.WillChange<Object> { .init(ObservationSource(changing: self)) }
    }

    extension EmbeddedObject: ObservableObject {
        /// Sends after each change to the object's properties; finishes when the object is deleted.
        public var objectWillChange: RealmPublishers.WillChange<EmbeddedObject> {
            .init(ObservationSource(changing: self))
        }
    }

    extension List: ObservableObject {
        /// Sends after each change to the list.
        public var objectWillChange: RealmPublishers.WillChange<List> { .init(ObservationSource(changing: self)) }
    }

    extension MutableSet: ObservableObject {
        /// Sends after each change to the set.
        public var objectWillChange: RealmPublishers.WillChange<MutableSet> { .init(ObservationSource(changing: self)) }
    }

    extension Map: ObservableObject {
        /// Sends after each change to the map.
        public var objectWillChange: RealmPublishers.WillChange<Map> { .init(ObservationSource(changing: self)) }
    }

    extension RealmKeyedCollection {
        /// Sends the current map, then its changes.
        public var changesetPublisher: RealmPublishers.MapChangeset<Self> { .init(.changes(of: self, nil)) }

        /// Sends the current map, then its changes. Modifications outside the key paths are ignored.
        public func changesetPublisher(keyPaths: [String]?) -> RealmPublishers.MapChangeset<Self> {
            .init(.changes(of: self, keyPaths))
        }

        /// Sends the map at the start, and after each change.
        public var collectionPublisher: RealmPublishers.Value<Self> { .init(.values(of: self, nil)) }

        /// Sends the map at the start, and after each change. Modifications outside the key paths are ignored.
        public func collectionPublisher(keyPaths: [String]?) -> RealmPublishers.Value<Self> {
            .init(.values(of: self, keyPaths))
        }
    }

    extension Projection: ObservableObject {
        /// Sends after each change to the projected properties; finishes when the underlying object is deleted.
        public var objectWillChange: RealmPublishers.WillChange<Projection> {
            .init(ObservationSource(changingWhatIsShownBy: self))
        }
    }

    extension ProjectedCollection {
        /// Sends the values at the start, and after each change to them.
        public var collectionPublisher: RealmPublishers.Value<ProjectedCollection> {
            collectionPublisher(keyPaths: nil)
        }

        /// Sends the values at the start, and after each change. Modifications outside the key paths are ignored.
        public func collectionPublisher(keyPaths: [String]?) -> RealmPublishers.Value<ProjectedCollection> {
            .init(.values(of: self, keyPaths))
        }

        /// Sends the current values, then their changes.
        public var changesetPublisher: RealmPublishers.ProjectedCollectionChangeset<Value> {
            changesetPublisher(keyPaths: nil)
        }

        /// Sends the current values, then their changes. Modifications outside the key paths are ignored.
        public func changesetPublisher(
            keyPaths: [String]?
        ) -> RealmPublishers.ProjectedCollectionChangeset<Value> {
            .init(.changes(of: self, keyPaths))
        }
    }

    // MARK: Collections

    extension RealmCollection {
        /// Sends after each change to the collection.
        public var objectWillChange: RealmPublishers.WillChange<Self> { .init(ObservationSource(changing: self)) }

        /// Sends the collection at the start, and after each change.
        public var collectionPublisher: RealmPublishers.Value<Self> { .init(.values(of: self, nil)) }

        /// Sends the collection at the start, and after each change. Modifications outside the key paths are ignored.
        public func collectionPublisher(keyPaths: [String]?) -> RealmPublishers.Value<Self> {
            .init(.values(of: self, keyPaths))
        }

        /// Sends the current collection, then its changes.
        public var changesetPublisher: RealmPublishers.CollectionChangeset<Self> { .init(.changes(of: self, nil)) }

        /// Sends the current collection, then its changes. Modifications outside the key paths are ignored.
        public func changesetPublisher(keyPaths: [String]?) -> RealmPublishers.CollectionChangeset<Self> {
            .init(.changes(of: self, keyPaths))
        }
    }

    extension RealmCollection where Element: ObjectBase {
        /// Like `collectionPublisher(keyPaths:)`, with key paths of the element class.
        public func collectionPublisher(keyPaths: [PartialKeyPath<Element>]) -> RealmPublishers.Value<Self> {
            collectionPublisher(keyPaths: keyPaths.map { _name(for: $0) })
        }

        /// Like `changesetPublisher(keyPaths:)`, with key paths of the element class.
        public func changesetPublisher(
            keyPaths: [PartialKeyPath<Element>]
        ) -> RealmPublishers.CollectionChangeset<Self> {
            changesetPublisher(keyPaths: keyPaths.map { _name(for: $0) })
        }
    }

    extension RealmCollection where Element: ProjectionObservable {
        /// Like `collectionPublisher(keyPaths:)`, with key paths of the projection.
        public func collectionPublisher(keyPaths: [PartialKeyPath<Element>]) -> RealmPublishers.Value<Self> {
            collectionPublisher(keyPaths: keyPaths.map { _name(for: $0) })
        }

        /// Like `changesetPublisher(keyPaths:)`, with key paths of the projection.
        public func changesetPublisher(
            keyPaths: [PartialKeyPath<Element>]
        ) -> RealmPublishers.CollectionChangeset<Self> {
            changesetPublisher(keyPaths: keyPaths.map { _name(for: $0) })
        }
    }

    extension RealmSectionedResult {
        /// Sends after each change to the sections.
        public var objectWillChange: RealmPublishers.WillChange<Self> { .init(ObservationSource(changing: self)) }

        /// Sends the sections at the start, and after each change.
        public var collectionPublisher: RealmPublishers.Value<Self> { .init(.values(of: self, nil)) }

        /// Sends the sections at the start, and after each change. Modifications outside the key paths are ignored.
        public func collectionPublisher(keyPaths: [String]?) -> RealmPublishers.Value<Self> {
            .init(.values(of: self, keyPaths))
        }

        /// Sends the current sections, then their changes.
        public var changesetPublisher: RealmPublishers.SectionedResultsChangeset<Self> {
            .init(.changes(of: self, nil))
        }

        /// Sends the current sections, then their changes. Modifications outside the key paths are ignored.
        public func changesetPublisher(keyPaths: [String]?) -> RealmPublishers.SectionedResultsChangeset<Self> {
            .init(.changes(of: self, keyPaths))
        }
    }

    // MARK: Free functions

    /// Sends the object after each change to its properties, or to those that the key paths name. Finishes when the
    /// object is deleted.
    public func valuePublisher<T: ObjectBase>(
        _ object: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.Value<T> {
        .init(.values(of: object, keyPaths))
    }

    /// Sends the object after each change to the properties that the key paths name.
    public func valuePublisher<T: ObjectBase>(
        _ object: T, keyPaths: [PartialKeyPath<T>]
    ) -> RealmPublishers.Value<T> {
        valuePublisher(object, keyPaths: keyPaths.map { _name(for: $0) })
    }

    /// Sends the projection after each change to the projected properties, or to those that the key paths name: of the
    /// underlying object or of the projection. Finishes when the underlying object is deleted.
    public func valuePublisher<T: ProjectionObservable>(
        _ projection: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.Value<T> {
        .init(.values(projectedBy: projection, keyPaths))
    }

    /// Sends the projection after each change to the properties that the key paths name.
    public func valuePublisher<T: ProjectionObservable>(
        _ projection: T, keyPaths: [PartialKeyPath<T>]
    ) -> RealmPublishers.Value<T> {
        valuePublisher(projection, keyPaths: keyPaths.map { _name(for: $0) })
    }

    /// Sends changes to the projected properties, by the names of the projection. Finishes when the underlying object
    /// is deleted.
    public func changesetPublisher<T: ProjectionObservable>(
        _ projection: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.ObjectChangeset<T> {
        .init(.changes(projectedBy: projection, keyPaths))
    }

    /// Sends changes to the properties that the key paths name. Finishes when the underlying object is deleted.
    public func changesetPublisher<T: ProjectionObservable>(
        _ projection: T, keyPaths: [PartialKeyPath<T>]
    ) -> RealmPublishers.ObjectChangeset<T> {
        changesetPublisher(projection, keyPaths: keyPaths.map { _name(for: $0) })
    }

    /// Sends the collection at the start, and after each change.
    public func valuePublisher<T: RealmCollection>(
        _ collection: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.Value<T> {
        .init(.values(of: collection, keyPaths))
    }

    /// Sends the map at the start, and after each change.
    public func valuePublisher<T: RealmKeyedCollection>(
        _ map: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.Value<T> {
        .init(.values(of: map, keyPaths))
    }

    /// Sends changes to the object's properties, or to those that the key paths name. Finishes when the object is
    /// deleted.
    public func changesetPublisher<T: ObjectBase>(
        _ object: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.ObjectChangeset<T> {
        .init(.changes(of: object, keyPaths))
    }

    /// Sends changes to the properties that the key paths name. Finishes when the object is deleted.
    public func changesetPublisher<T: ObjectBase>(
        _ object: T, keyPaths: [PartialKeyPath<T>]
    ) -> RealmPublishers.ObjectChangeset<T> {
        changesetPublisher(object, keyPaths: keyPaths.map { _name(for: $0) })
    }

    /// Sends the current collection, then its changes.
    public func changesetPublisher<T: RealmCollection>(
        _ collection: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.CollectionChangeset<T> {
        .init(.changes(of: collection, keyPaths))
    }

    /// Sends the current map, then its changes.
    public func changesetPublisher<T: RealmKeyedCollection>(
        _ map: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.MapChangeset<T> {
        .init(.changes(of: map, keyPaths))
    }
#endif
