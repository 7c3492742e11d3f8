// SPDX-License-Identifier: Apache-2.0
// `Realm.asyncOpen` as a publisher.

#if canImport(Combine) || Publishers
    internal import Dispatch
    public import Regnum

    extension RealmPublishers {
        /// Opens a Realm on another thread first, including migration and compaction, and then on a queue, where the
        /// Realm is sent. Sends one Realm or fails with `Realm.Error`. Each subscription opens the Realm; cancelling
        /// the subscription cancels opening it.
        public struct AsyncOpenPublisher: Publisher {
            public typealias Output = Realm
            public typealias Failure = any Swift.Error

            private let configuration: Realm.Configuration
            /// The call site of `asyncOpen`; nil if it is not known.
            private let place: (fileID: StaticString, line: UInt)?
            private let queue: DispatchQueue
            private let progress: ((AsyncOpenTask.Progress) -> Void)?

            init(
                _ configuration: Realm.Configuration, at place: (fileID: StaticString, line: UInt)?,
                on queue: DispatchQueue = .main, progress: ((AsyncOpenTask.Progress) -> Void)? = nil
            ) {
                self.configuration = configuration
                self.place = place
                self.queue = queue
                self.progress = progress
            }

            public func receive<S: Subscriber>(subscriber: S) where S.Input == Realm, S.Failure == Failure {
                let (configuration, place, queue, progress) = (configuration, place, queue, progress)
                let subscription = SingleValueSubscription(subscriber) { one in
                    let task = Realm.asyncOpen(configuration, on: queue, at: place) { one.finish($0) }
                    if let progress { task.addProgressNotification(queue: queue, block: progress) }
                    one.onCancel { task.cancel() }
                }
                subscriber.receive(subscription: subscription)
            }

            /// Never calls `callback`: local files are not downloaded.
            public func onProgressNotification(
                _ callback: @escaping (AsyncOpenTask.Progress) -> Void
            ) -> AsyncOpenPublisher {
                AsyncOpenPublisher(configuration, at: place, on: queue, progress: callback)
            }

            /// Opens the Realm on that queue, which must be serial, instead of the main queue. Any other scheduler is a
            /// programmer error.
            public func receive<S: Scheduler>(on scheduler: S) -> AsyncOpenPublisher {
                guard let queue = dispatchQueue(of: scheduler) else {
                    misuse(
                        "Cannot subscribe on scheduler \(scheduler): only serial dispatch queues are currently "
                            + "implemented.")
                }
                return AsyncOpenPublisher(configuration, at: place, on: queue, progress: progress)
            }
        }
    }

    extension Realm {
        /// Opens `configuration` on another thread, and sends the Realm on the main queue or the queue of
        /// `receive(on:)`.
        public static func asyncOpen(
            configuration: Configuration = .defaultConfiguration, fileID: StaticString = #fileID, line: UInt = #line
        ) -> RealmPublishers.AsyncOpenPublisher {
            .init(configuration, at: (fileID: fileID, line: line))
        }

        /// Like the method with `fileID` and `line`. References to the function resolve to this one.
        @_disfavoredOverload
        public static func asyncOpen(
            configuration: Configuration = .defaultConfiguration
        ) -> RealmPublishers.AsyncOpenPublisher {
            .init(configuration, at: nil)
        }
    }
#endif
