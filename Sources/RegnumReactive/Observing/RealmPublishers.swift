// SPDX-License-Identifier: Apache-2.0
// The publishers, under RealmSwift's names. RealmSwift has a structure for each publisher; here there is only one,
// `Observation`, and the names are aliases for it with different outputs.

#if canImport(Combine) || Publishers
    internal import Dispatch
    public import Regnum

    /// The types that publishers of this module can observe.
    public typealias RealmSubscribable = ThreadConfined

    /// The publishers of Realms, objects and collections.
    public enum RealmPublishers {
        /// A publisher of changes. The observation begins and ends with the subscription; it runs on the subscribing
        /// thread or, with `subscribe(on:)`, on a queue, and values arrive there.
        ///
        /// The number of values never exceeds the subscriber's demand. Values without demand are buffered: all changes,
        /// in order, but only the latest collection, object or plain signal.
        public struct Observation<Output, Failure: Swift.Error>: Publisher {
            let source: ObservationSource<Output>
            let queue: DispatchQueue?
            /// Sent after the last value, if there is one.
            let ending: Subscribers.Completion<Failure>

            init(
                _ source: ObservationSource<Output>, on queue: DispatchQueue? = nil,
                ending: Subscribers.Completion<Failure> = .finished
            ) {
                self.source = source
                self.queue = queue
                self.ending = ending
            }

            public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
                ObservationSubscription.start(source, on: queue, subscriber, ending)
            }

            /// Observes on a queue, which must be serial, in a Realm of that queue: values arrive there and are
            /// confined to it. Any other scheduler is a programmer error.
            public func subscribe<S: Scheduler>(on scheduler: S) -> Observation {
                guard let queue = dispatchQueue(of: scheduler) else {
                    misuse(
                        "Cannot subscribe on scheduler \(scheduler): only serial dispatch queues are currently "
                            + "implemented.")
                }
                return Observation(source, on: queue, ending: ending)
            }

            /// Observes on the current thread, and passes each value to the scheduler, which receives it resolved in a
            /// Realm of its own.
            public func receive<S: Scheduler>(on scheduler: S) -> Handover<Observation, S> {
                Handover(self, scheduler, pack: source.pack)
            }

            /// Stores the token of each new subscription in a property, for `write(withoutNotifying:)`.
            public func saveToken<T>(
                on object: T, at keyPath: WritableKeyPath<T, NotificationToken?>
            ) -> ObservationWithToken<Output, Failure, T> {
                ObservationWithToken(observation: self, object: object, keyPath: keyPath)
            }

            /// Stores the token of each new subscription in a property, for `write(withoutNotifying:)`.
            public func saveToken<T>(
                on object: T, for keyPath: WritableKeyPath<T, NotificationToken?>
            ) -> ObservationWithToken<Output, Failure, T> {
                saveToken(on: object, at: keyPath)
            }
        }

        /// An `Observation` that stores its token in a property of an object.
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

        /// RealmSwift's name: sends after each change to a Realm.
        public typealias RealmWillChange = Observation<Void, Never>
        public typealias RealmWillChangeWithToken<T> = ObservationWithToken<Void, Never, T>
        /// RealmSwift's name: sends after each change, despite the name.
        public typealias WillChange<Collection: RealmSubscribable> = Observation<Void, Never>
        public typealias WillChangeWithToken<Collection: RealmSubscribable, T> = ObservationWithToken<Void, Never, T>
        /// Sends the observed value after each change, and collections also once at the beginning. Never fails.
        public typealias Value<Subscribable: RealmSubscribable> = Observation<Subscribable, any Swift.Error>
        public typealias ValueWithToken<Subscribable: RealmSubscribable, T> =
            ObservationWithToken<Subscribable, any Swift.Error, T>
        /// Sends changes to an object's properties; finishes when the object is deleted.
        public typealias ObjectChangeset<Root> = Observation<ObjectChange<Root>, Never>
        public typealias ObjectChangesetWithToken<Root, T> = ObservationWithToken<ObjectChange<Root>, Never, T>
        /// Sends the current collection, then its changes.
        public typealias CollectionChangeset<Collection: RealmCollection> =
            Observation<RealmCollectionChange<Collection>, Never>
        public typealias CollectionChangesetWithToken<Collection: RealmCollection, T> =
            ObservationWithToken<RealmCollectionChange<Collection>, Never, T>
        /// Sends the current values of a projected collection, then their changes.
        public typealias ProjectedCollectionChangeset<Value> =
            Observation<RealmCollectionChange<ProjectedCollection<Value>>, Never>
        /// Sends the current map, then its changes.
        public typealias MapChangeset<Collection: RealmKeyedCollection> =
            Observation<RealmMapChange<Collection>, Never>
        public typealias MapChangesetWithToken<Collection: RealmKeyedCollection, T> =
            ObservationWithToken<RealmMapChange<Collection>, Never, T>
        /// Sends the current sections, then their changes.
        public typealias SectionedResultsChangeset<Collection: RealmSectionedResult> =
            Observation<SectionedResultsChange<Collection>, Never>
        public typealias SectionedResultsChangesetWithToken<Collection: RealmSectionedResult, T> =
            ObservationWithToken<SectionedResultsChange<Collection>, Never, T>
        /// Sends one current section, then its changes.
        public typealias SectionChangeset<Collection: RealmSectionedResult> =
            SectionedResultsChangeset<Collection>
        public typealias SectionChangesetWithToken<Collection: RealmSectionedResult, T> =
            SectionedResultsChangesetWithToken<Collection, T>
    }

    /// The dispatch queue of a scheduler; nil for other schedulers.
    func dispatchQueue<S: Scheduler>(of scheduler: S) -> DispatchQueue? {
        #if !canImport(Combine)
            if let wrapper = scheduler as? DispatchQueue.OCombine { return wrapper.queue }
        #endif
        return scheduler as? DispatchQueue
    }
#endif
