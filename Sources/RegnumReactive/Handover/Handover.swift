// SPDX-License-Identifier: Apache-2.0
// Publishers that bring values to another scheduler: `threadSafeReference().receive(on:)`.

#if canImport(Combine) || Publishers
    public import Regnum

    extension RealmPublishers {
        /// Hands values of `upstream` over to a scheduler, which gets them as its own Realm shows them. What was
        /// deleted meanwhile is left out. Misuse on queues that are not serial.
        public struct Handover<Upstream: Publisher, S: Scheduler>: Publisher {
            public typealias Output = Upstream.Output
            public typealias Failure = Upstream.Failure

            private let upstream: Upstream
            private let scheduler: S
            private let pack: (Output) -> Packed<Output>

            init(_ upstream: Upstream, _ scheduler: S, pack: @escaping (Output) -> Packed<Output>) {
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

        /// Values that are about to be handed over: `receive(on:)` says where to.
        public struct MakeThreadSafe<Upstream: Publisher>: Publisher {
            public typealias Output = Upstream.Output
            public typealias Failure = Upstream.Failure

            private let upstream: Upstream
            private let pack: (Output) -> Packed<Output>

            init(_ upstream: Upstream, pack: @escaping (Output) -> Packed<Output>) {
                self.upstream = upstream
                self.pack = pack
            }

            public func receive<Sub: Subscriber>(subscriber: Sub)
            where Sub.Input == Output, Sub.Failure == Failure {
                upstream.receive(subscriber: subscriber)
            }

            /// Hands each value over to the scheduler, which gets it as its own Realm shows it.
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
        /// Lets `receive(on:)` behind it hand each object or collection over to another thread.
        public func threadSafeReference() -> RealmPublishers.MakeThreadSafe<Self> where Output: ThreadConfined {
            .init(self, pack: { .confined($0) })
        }

        /// Lets `receive(on:)` behind it hand each change over to another thread.
        public func threadSafeReference<T: ThreadConfined>()
            -> RealmPublishers.MakeThreadSafeObjectChangeset<Self, T> where Output == ObjectChange<T>
        {
            .init(self, pack: { .change($0) })
        }

        /// Lets `receive(on:)` behind it hand each change over to another thread.
        public func threadSafeReference<T: RealmCollection>()
            -> RealmPublishers.MakeThreadSafeCollectionChangeset<Self, T> where Output == RealmCollectionChange<T>
        {
            .init(self, pack: { .change($0) })
        }

        /// Lets `receive(on:)` behind it hand each change over to another thread.
        public func threadSafeReference<T: RealmKeyedCollection>()
            -> RealmPublishers.MakeThreadSafeKeyedCollectionChangeset<Self, T> where Output == RealmMapChange<T>
        {
            .init(self, pack: { .change($0) })
        }

        /// Lets `receive(on:)` behind it hand each change over to another thread.
        public func threadSafeReference<T: RealmSectionedResult>()
            -> RealmPublishers.MakeThreadSafeSectionedResultsChangeset<Self, T>
        where Output == SectionedResultsChange<T> {
            .init(self, pack: { .change($0) })
        }
    }
#endif
