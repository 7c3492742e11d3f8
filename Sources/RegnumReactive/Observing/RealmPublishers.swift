// SPDX-License-Identifier: Apache-2.0
// The publishers by RealmSwift's names. RealmSwift has a structure for each; here they are one, `Observation`, and
// the names stand for what it tells.

#if canImport(Combine) || Publishers
    internal import Dispatch
    public import Regnum

    /// What publishers of this module may observe.
    public typealias RealmSubscribable = ThreadConfined

    /// The publishers of Realms, objects and collections.
    public enum RealmPublishers {
        /// Tells of changes. The observation begins with the subscription, where it is made or, with
        /// `subscribe(on:)`, on a queue; values arrive there. It ends with the subscription.
        ///
        /// Values are never more than the subscriber has asked for. What comes without demand waits: of changes all,
        /// in order; of collections, objects and plain signals the last.
        public struct Observation<Output, Failure: Swift.Error>: Publisher {
            let source: Source<Output>
            let queue: DispatchQueue?
            /// What follows the last value, where there is one.
            let ending: Subscribers.Completion<Failure>

            init(
                _ source: Source<Output>, on queue: DispatchQueue? = nil,
                ending: Subscribers.Completion<Failure> = .finished
            ) {
                self.source = source
                self.queue = queue
                self.ending = ending
            }

            public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
                ObservationSubscription.start(source, on: queue, subscriber, ending)
            }

            /// Observes on a queue, with a Realm of that queue, which must be serial: values arrive there, and belong
            /// there. Misuse for other schedulers.
            public func subscribe<S: Scheduler>(on scheduler: S) -> Observation {
                guard let queue = dispatchQueue(of: scheduler) else {
                    misuse(
                        "Cannot subscribe on scheduler \(scheduler): only serial dispatch queues are currently "
                            + "implemented.")
                }
                return Observation(source, on: queue, ending: ending)
            }

            /// Observes here, and hands each value over to the scheduler, which gets it as its own Realm shows it.
            public func receive<S: Scheduler>(on scheduler: S) -> Handover<Observation, S> {
                Handover(self, scheduler, pack: source.pack)
            }

            /// Puts the token of each new subscription into a property, for `write(withoutNotifying:)`.
            public func saveToken<T>(
                on object: T, at keyPath: WritableKeyPath<T, NotificationToken?>
            ) -> ObservationWithToken<Output, Failure, T> {
                ObservationWithToken(observation: self, object: object, keyPath: keyPath)
            }

            /// Puts the token of each new subscription into a property, for `write(withoutNotifying:)`.
            public func saveToken<T>(
                on object: T, for keyPath: WritableKeyPath<T, NotificationToken?>
            ) -> ObservationWithToken<Output, Failure, T> {
                saveToken(on: object, at: keyPath)
            }
        }

        /// An `Observation` that puts its token into a property of an object.
        public struct ObservationWithToken<Output, Failure: Swift.Error, T>: Publisher {
            let observation: Observation<Output, Failure>
            let object: T
            let keyPath: WritableKeyPath<T, NotificationToken?>

            public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
                let token = ObservationSubscription.start(
                    observation.source, on: observation.queue, subscriber, observation.ending)
                var object = object
                object[keyPath: keyPath] = token
            }

            /// See `Observation.subscribe(on:)`.
            public func subscribe<S: Scheduler>(on scheduler: S) -> ObservationWithToken {
                ObservationWithToken(
                    observation: observation.subscribe(on: scheduler), object: object, keyPath: keyPath)
            }

            /// See `Observation.receive(on:)`.
            public func receive<S: Scheduler>(on scheduler: S) -> Handover<ObservationWithToken, S> {
                Handover(self, scheduler, pack: observation.source.pack)
            }
        }

        /// Tells that a Realm has changed; RealmSwift's name.
        public typealias RealmWillChange = Observation<Void, Never>
        public typealias RealmWillChangeWithToken<T> = ObservationWithToken<Void, Never, T>
        /// Tells that something has changed; RealmSwift's name. It is told after the change.
        public typealias WillChange<Collection: RealmSubscribable> = Observation<Void, Never>
        public typealias WillChangeWithToken<Collection: RealmSubscribable, T> = ObservationWithToken<Void, Never, T>
        /// What was observed, after each change, and collections once at the beginning. Never fails.
        public typealias Value<Subscribable: RealmSubscribable> = Observation<Subscribable, any Swift.Error>
        public typealias ValueWithToken<Subscribable: RealmSubscribable, T> =
            ObservationWithToken<Subscribable, any Swift.Error, T>
        /// Changes of an object's properties, and its deletion, after which it finishes.
        public typealias ObjectChangeset<Root> = Observation<ObjectChange<Root>, Never>
        public typealias ObjectChangesetWithToken<Root, T> = ObservationWithToken<ObjectChange<Root>, Never, T>
        /// A collection as it is, then its changes.
        public typealias CollectionChangeset<Collection: RealmCollection> =
            Observation<RealmCollectionChange<Collection>, Never>
        public typealias CollectionChangesetWithToken<Collection: RealmCollection, T> =
            ObservationWithToken<RealmCollectionChange<Collection>, Never, T>
        /// The values of a projected collection as they are, then their changes.
        public typealias ProjectedCollectionChangeset<Value> =
            Observation<RealmCollectionChange<ProjectedCollection<Value>>, Never>
        /// A map as it is, then its changes.
        public typealias MapChangeset<Collection: RealmKeyedCollection> =
            Observation<RealmMapChange<Collection>, Never>
        public typealias MapChangesetWithToken<Collection: RealmKeyedCollection, T> =
            ObservationWithToken<RealmMapChange<Collection>, Never, T>
        /// Sections as they are, then their changes.
        public typealias SectionedResultsChangeset<Collection: RealmSectionedResult> =
            Observation<SectionedResultsChange<Collection>, Never>
        public typealias SectionedResultsChangesetWithToken<Collection: RealmSectionedResult, T> =
            ObservationWithToken<SectionedResultsChange<Collection>, Never, T>
        /// One section as it is, then its changes.
        public typealias SectionChangeset<Collection: RealmSectionedResult> =
            SectionedResultsChangeset<Collection>
        public typealias SectionChangesetWithToken<Collection: RealmSectionedResult, T> =
            SectionedResultsChangesetWithToken<Collection, T>
    }

    /// The queue that a scheduler is; nil for others.
    func dispatchQueue<S: Scheduler>(of scheduler: S) -> DispatchQueue? {
        #if !canImport(Combine)
            if let wrapper = scheduler as? DispatchQueue.OCombine { return wrapper.queue }
        #endif
        return scheduler as? DispatchQueue
    }
#endif
