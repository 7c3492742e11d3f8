// SPDX-License-Identifier: Apache-2.0
// Publishers that pass values to another scheduler: `threadSafeReference().receive(on:)`.

#if canImport(Combine) || Publishers
    public import Regnum

    extension RealmPublishers {
        /// Passes values of `upstream` to a scheduler, which receives them resolved in a Realm of its own. Values
        /// deleted in the meantime are left out. A queue that is not serial is a programmer error.
        public struct Handover<Upstream: Publisher, S: Scheduler>: Publisher {
            public typealias Output = Upstream.Output
            public typealias Failure = Upstream.Failure

            private let upstream: Upstream
            private let scheduler: S
            private let pack: (Output) -> TransferredValue<Output>

            init(_ upstream: Upstream, _ scheduler: S, pack: @escaping (Output) -> TransferredValue<Output>) {
                self.upstream = upstream
                self.scheduler = scheduler
                self.pack = pack
            }

            public func receive<Sub: Subscriber>(subscriber: Sub)
            where Sub.Input == Output, Sub.Failure == Failure {
                let queue = dispatchQueue(of: scheduler)
                upstream.map(pack).receive(on: scheduler).compactMap { $0.unpack(queue) }
                    .receive(subscriber: subscriber)
            }
        }

        /// Values that can be passed to another scheduler: `receive(on:)` chooses it.
        public struct MakeThreadSafe<Upstream: Publisher>: Publisher {
            public typealias Output = Upstream.Output
            public typealias Failure = Upstream.Failure

            private let upstream: Upstream
            private let pack: (Output) -> TransferredValue<Output>

            init(_ upstream: Upstream, pack: @escaping (Output) -> TransferredValue<Output>) {
                self.upstream = upstream
                self.pack = pack
            }

            public func receive<Sub: Subscriber>(subscriber: Sub)
            where Sub.Input == Output, Sub.Failure == Failure {
                upstream.receive(subscriber: subscriber)
            }

            /// Passes each value to the scheduler, which receives it resolved in a Realm of its own.
            public func receive<S: Scheduler>(on scheduler: S) -> DeferredHandover<Upstream, S> {
                Handover(upstream, scheduler, pack: pack)
            }
        }

        public typealias DeferredHandover<Upstream: Publisher, S: Scheduler> = Handover<Upstream, S>
        public typealias MakeThreadSafeObjectChangeset<Upstream: Publisher, T: ThreadConfined> =
            MakeThreadSafe<Upstream>
        public typealias DeferredHandoverObjectChangeset<Upstream: Publisher, T: ThreadConfined, S: Scheduler> =
            Handover<Upstream, S>
        public typealias MakeThreadSafeCollectionChangeset<Upstream: Publisher, T: RealmCollection> =
            MakeThreadSafe<Upstream>
        public typealias DeferredHandoverCollectionChangeset<
            Upstream: Publisher, T: RealmCollection, S: Scheduler
        > = Handover<Upstream, S>
        public typealias MakeThreadSafeKeyedCollectionChangeset<Upstream: Publisher, T: RealmKeyedCollection> =
            MakeThreadSafe<Upstream>
        public typealias DeferredHandoverKeyedCollectionChangeset<
            Upstream: Publisher, T: RealmKeyedCollection, S: Scheduler
        > = Handover<Upstream, S>
        public typealias MakeThreadSafeSectionedResultsChangeset<Upstream: Publisher, T: RealmSectionedResult> =
            MakeThreadSafe<Upstream>
        public typealias DeferredHandoverSectionedResultsChangeset<
            Upstream: Publisher, T: RealmSectionedResult, S: Scheduler
        > = Handover<Upstream, S>
    }

    extension Publisher {
        /// Lets a subsequent `receive(on:)` pass each object or collection to another thread.
        public func threadSafeReference() -> RealmPublishers.MakeThreadSafe<Self> where Output: ThreadConfined {
            .init(self, pack: { .confined($0) })
        }

        /// Lets a subsequent `receive(on:)` pass each change to another thread.
        public func threadSafeReference<T: ThreadConfined>()
            -> RealmPublishers.MakeThreadSafeObjectChangeset<Self, T> where Output == ObjectChange<T>
        {
            .init(self, pack: { .change($0) })
        }

        /// Lets a subsequent `receive(on:)` pass each change to another thread.
        public func threadSafeReference<T: RealmCollection>()
            -> RealmPublishers.MakeThreadSafeCollectionChangeset<Self, T> where Output == RealmCollectionChange<T>
        {
            .init(self, pack: { .change($0) })
        }

        /// Lets a subsequent `receive(on:)` pass each change to another thread.
        public func threadSafeReference<T: RealmKeyedCollection>()
            -> RealmPublishers.MakeThreadSafeKeyedCollectionChangeset<Self, T> where Output == RealmMapChange<T>
        {
            .init(self, pack: { .change($0) })
        }

        /// Lets a subsequent `receive(on:)` pass each change to another thread.
        public func threadSafeReference<T: RealmSectionedResult>()
            -> RealmPublishers.MakeThreadSafeSectionedResultsChangeset<Self, T>
        where Output == SectionedResultsChange<T> {
            .init(self, pack: { .change($0) })
        }
    }
#endif
