// SPDX-License-Identifier: Apache-2.0
// Where publishers come from: `objectWillChange` and the properties of collections, and the free functions.

#if canImport(Combine) || Publishers
    public import Regnum

    // MARK: Telling that there was a change

    extension Realm {
        /// Tells of each commit that this Realm comes to see, after it.
        public var objectWillChange: RealmPublishers.RealmWillChange { .init(Source(changing: self)) }

        /// What observers of the Realm are told.
        public var eventPublisher: RealmPublishers.Observation<(Realm, Notification), Never> {
            .init(Source(events: self))
        }
    }

    extension Object: ObservableObject {
        /// Tells of each change of the object's properties, after it; finishes when it is deleted.
        public var objectWillChange: RealmPublishers.WillChange<Object> { .init(Source(changing: self)) }
    }

    extension EmbeddedObject: ObservableObject {
        /// Tells of each change of the object's properties, after it; finishes when it is deleted.
        public var objectWillChange: RealmPublishers.WillChange<EmbeddedObject> { .init(Source(changing: self)) }
    }

    extension List: ObservableObject {
        /// Tells of each change of the list, after it.
        public var objectWillChange: RealmPublishers.WillChange<List> { .init(Source(changing: self)) }
    }

    extension MutableSet: ObservableObject {
        /// Tells of each change of the set, after it.
        public var objectWillChange: RealmPublishers.WillChange<MutableSet> { .init(Source(changing: self)) }
    }

    extension Map: ObservableObject {
        /// Tells of each change of the map, after it.
        public var objectWillChange: RealmPublishers.WillChange<Map> { .init(Source(changing: self)) }
    }

    extension RealmKeyedCollection {
        /// The map as it is, then its changes.
        public var changesetPublisher: RealmPublishers.MapChangeset<Self> { .init(.changes(of: self, nil)) }

        /// The map as it is, then its changes; of linked objects only those of the key paths count.
        public func changesetPublisher(keyPaths: [String]?) -> RealmPublishers.MapChangeset<Self> {
            .init(.changes(of: self, keyPaths))
        }

        /// The map, and again after each change.
        public var collectionPublisher: RealmPublishers.Value<Self> { .init(.values(of: self, nil)) }

        /// The map, and again after each change; of linked objects only those of the key paths count.
        public func collectionPublisher(keyPaths: [String]?) -> RealmPublishers.Value<Self> {
            .init(.values(of: self, keyPaths))
        }
    }

    extension Projection: ObservableObject {
        /// Tells of each change of what the projection shows, after it; finishes when its object is deleted.
        public var objectWillChange: RealmPublishers.WillChange<Projection> {
            .init(Source(changingWhatIsShownBy: self))
        }
    }

    extension ProjectedCollection {
        /// The values, and again after each change of them.
        public var collectionPublisher: RealmPublishers.Value<ProjectedCollection> {
            collectionPublisher(keyPaths: nil)
        }

        /// The values, and again after each change; of modifications only those of the key paths count.
        public func collectionPublisher(keyPaths: [String]?) -> RealmPublishers.Value<ProjectedCollection> {
            .init(.values(of: self, keyPaths))
        }

        /// The values as they are, then their changes.
        public var changesetPublisher: RealmPublishers.ProjectedCollectionChangeset<Value> {
            changesetPublisher(keyPaths: nil)
        }

        /// The values as they are, then their changes; of modifications only those of the key paths count.
        public func changesetPublisher(
            keyPaths: [String]?
        ) -> RealmPublishers.ProjectedCollectionChangeset<Value> {
            .init(.changes(of: self, keyPaths))
        }
    }

    // MARK: Collections

    extension RealmCollection {
        /// Tells of each change of the collection, after it.
        public var objectWillChange: RealmPublishers.WillChange<Self> { .init(Source(changing: self)) }

        /// The collection, and again after each change.
        public var collectionPublisher: RealmPublishers.Value<Self> { .init(.values(of: self, nil)) }

        /// The collection, and again after each change; of modifications only those of the key paths count.
        public func collectionPublisher(keyPaths: [String]?) -> RealmPublishers.Value<Self> {
            .init(.values(of: self, keyPaths))
        }

        /// The collection as it is, then its changes.
        public var changesetPublisher: RealmPublishers.CollectionChangeset<Self> { .init(.changes(of: self, nil)) }

        /// The collection as it is, then its changes; of modifications only those of the key paths count.
        public func changesetPublisher(keyPaths: [String]?) -> RealmPublishers.CollectionChangeset<Self> {
            .init(.changes(of: self, keyPaths))
        }
    }

    extension RealmCollection where Element: ObjectBase {
        /// As `collectionPublisher(keyPaths:)`, with key paths of the element class.
        public func collectionPublisher(keyPaths: [PartialKeyPath<Element>]) -> RealmPublishers.Value<Self> {
            collectionPublisher(keyPaths: keyPaths.map { _name(for: $0) })
        }

        /// As `changesetPublisher(keyPaths:)`, with key paths of the element class.
        public func changesetPublisher(
            keyPaths: [PartialKeyPath<Element>]
        ) -> RealmPublishers.CollectionChangeset<Self> {
            changesetPublisher(keyPaths: keyPaths.map { _name(for: $0) })
        }
    }

    extension RealmCollection where Element: ProjectionObservable {
        /// As `collectionPublisher(keyPaths:)`, with key paths of the projection.
        public func collectionPublisher(keyPaths: [PartialKeyPath<Element>]) -> RealmPublishers.Value<Self> {
            collectionPublisher(keyPaths: keyPaths.map { _name(for: $0) })
        }

        /// As `changesetPublisher(keyPaths:)`, with key paths of the projection.
        public func changesetPublisher(
            keyPaths: [PartialKeyPath<Element>]
        ) -> RealmPublishers.CollectionChangeset<Self> {
            changesetPublisher(keyPaths: keyPaths.map { _name(for: $0) })
        }
    }

    extension RealmSectionedResult {
        /// Tells of each change of the sections, after it.
        public var objectWillChange: RealmPublishers.WillChange<Self> { .init(Source(changing: self)) }

        /// The sections, and again after each change.
        public var collectionPublisher: RealmPublishers.Value<Self> { .init(.values(of: self, nil)) }

        /// The sections, and again after each change; of modifications only those of the key paths count.
        public func collectionPublisher(keyPaths: [String]?) -> RealmPublishers.Value<Self> {
            .init(.values(of: self, keyPaths))
        }

        /// The sections as they are, then their changes.
        public var changesetPublisher: RealmPublishers.SectionedResultsChangeset<Self> {
            .init(.changes(of: self, nil))
        }

        /// The sections as they are, then their changes; of modifications only those of the key paths count.
        public func changesetPublisher(keyPaths: [String]?) -> RealmPublishers.SectionedResultsChangeset<Self> {
            .init(.changes(of: self, keyPaths))
        }
    }

    // MARK: By functions

    /// The object after each change of its properties, or of those that the key paths name. Finishes when it is
    /// deleted.
    public func valuePublisher<T: ObjectBase>(
        _ object: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.Value<T> {
        .init(.values(of: object, keyPaths))
    }

    /// The object after each change of the properties that the key paths name.
    public func valuePublisher<T: ObjectBase>(
        _ object: T, keyPaths: [PartialKeyPath<T>]
    ) -> RealmPublishers.Value<T> {
        valuePublisher(object, keyPaths: keyPaths.map { _name(for: $0) })
    }

    /// The projection after each change of what it shows, or of what the key paths name: properties of its object or
    /// its own. Finishes when its object is deleted.
    public func valuePublisher<T: ProjectionObservable>(
        _ projection: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.Value<T> {
        .init(.values(projectedBy: projection, keyPaths))
    }

    /// The projection after each change of the properties that the key paths name.
    public func valuePublisher<T: ProjectionObservable>(
        _ projection: T, keyPaths: [PartialKeyPath<T>]
    ) -> RealmPublishers.Value<T> {
        valuePublisher(projection, keyPaths: keyPaths.map { _name(for: $0) })
    }

    /// Changes of what the projection shows, by the names of its properties. Finishes when its object is deleted.
    public func changesetPublisher<T: ProjectionObservable>(
        _ projection: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.ObjectChangeset<T> {
        .init(.changes(projectedBy: projection, keyPaths))
    }

    /// Changes of the properties that the key paths name. Finishes when the projection's object is deleted.
    public func changesetPublisher<T: ProjectionObservable>(
        _ projection: T, keyPaths: [PartialKeyPath<T>]
    ) -> RealmPublishers.ObjectChangeset<T> {
        changesetPublisher(projection, keyPaths: keyPaths.map { _name(for: $0) })
    }

    /// The collection, and again after each change.
    public func valuePublisher<T: RealmCollection>(
        _ collection: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.Value<T> {
        .init(.values(of: collection, keyPaths))
    }

    /// The map, and again after each change.
    public func valuePublisher<T: RealmKeyedCollection>(
        _ map: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.Value<T> {
        .init(.values(of: map, keyPaths))
    }

    /// Changes of the object's properties, or of those that the key paths name. Finishes when it is deleted.
    public func changesetPublisher<T: ObjectBase>(
        _ object: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.ObjectChangeset<T> {
        .init(.changes(of: object, keyPaths))
    }

    /// Changes of the properties that the key paths name. Finishes when the object is deleted.
    public func changesetPublisher<T: ObjectBase>(
        _ object: T, keyPaths: [PartialKeyPath<T>]
    ) -> RealmPublishers.ObjectChangeset<T> {
        changesetPublisher(object, keyPaths: keyPaths.map { _name(for: $0) })
    }

    /// The collection as it is, then its changes.
    public func changesetPublisher<T: RealmCollection>(
        _ collection: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.CollectionChangeset<T> {
        .init(.changes(of: collection, keyPaths))
    }

    /// The map as it is, then its changes.
    public func changesetPublisher<T: RealmKeyedCollection>(
        _ map: T, keyPaths: [String]? = nil
    ) -> RealmPublishers.MapChangeset<T> {
        .init(.changes(of: map, keyPaths))
    }
#endif
