// SPDX-License-Identifier: Apache-2.0
// Shared by the tests: classes, a queue with a Realm, and a record of the values that a subscriber received.

#if canImport(Combine) || Publishers
    import Dispatch
    import Foundation
    import Regnum
    import RegnumReactive
    import Synchronization
    import Testing

    class FakeObject: Object {
        @Persisted(primaryKey: true) var id = ""
        @Persisted var value = ""
        @Persisted var number = 0
        @Persisted var other: FakeObject?
        @Persisted var list: List<FakeObject>
        @Persisted var set: MutableSet<Int>
        @Persisted var map: Map<String, Int>
        @Persisted var part: FakePart?

        convenience init(_ id: String, _ value: String = "", number: Int = 0) {
            self.init()
            self.id = id
            self.value = value
            self.number = number
        }
    }

    class FakePart: EmbeddedObject {
        @Persisted var value = ""
    }

    class FakeProjection: Projection<FakeObject> {
        @Projected(\FakeObject.value) var value
    }

    /// A Realm in memory, on a queue of its own.
    final class Stage: @unchecked Sendable {
        // Sendable: everything is used on the queue.
        let queue = DispatchQueue(label: "stage")
        let configuration: Realm.Configuration
        private let opened: Realm

        init(_ configuration: Realm.Configuration? = nil) throws {
            let configuration =
                configuration
                ?? Realm.Configuration(
                    inMemoryIdentifier: UUID().uuidString, objectTypes: [FakeObject.self, FakePart.self])
            self.configuration = configuration
            opened = try queue.sync { [queue] in try Realm(configuration: configuration, queue: queue) }
        }

        /// Runs on the queue.
        func on<R>(_ body: (Realm) throws -> R) rethrows -> R { try queue.sync { try body(opened) } }

        /// Writes on the queue, and waits for the deliveries.
        func write(_ body: (Realm) throws -> Void) throws {
            try on { realm in try realm.write { try body(realm) } }
            settle()
        }

        /// Subscribes on the queue and records.
        func record<P: Publisher>(
            _ publisher: (Realm) throws -> P, demand: Subscribers.Demand = .unlimited
        ) rethrows -> Record<P.Output, P.Failure> {
            let record = Record<P.Output, P.Failure>(queue, demand)
            try on { try publisher($0).subscribe(record) }
            settle()
            return record
        }

        func settle() { for _ in 0..<3 { queue.sync {} } }
    }

    /// A subscriber that keeps the values that it receives, and the queue of each.
    final class Record<Input, Failure: Error>: Subscriber, Cancellable, @unchecked Sendable {
        // Sendable: the condition's lock protects everything mutable.
        private let condition = NSCondition()
        private let queue: DispatchQueue
        private let demand: Subscribers.Demand
        private var subscription: (any Subscription)?
        private var values: [Input] = []
        private var end: Subscribers.Completion<Failure>?
        private var elsewhere = 0
        private var look: ((Input) -> Void)?

        init(_ queue: DispatchQueue, _ demand: Subscribers.Demand = .unlimited, look: ((Input) -> Void)? = nil) {
            self.queue = queue
            self.demand = demand
            self.look = look
            queue.setSpecific(key: recordMark, value: ObjectIdentifier(queue).hashValue)
        }

        private func note(_ body: () -> Void) {
            condition.lock()
            if DispatchQueue.getSpecific(key: recordMark) != ObjectIdentifier(queue).hashValue { elsewhere += 1 }
            body()
            condition.broadcast()
            condition.unlock()
        }

        func receive(subscription: any Subscription) {
            condition.lock()
            self.subscription = subscription
            condition.unlock()
            subscription.request(demand)
        }

        func receive(_ input: Input) -> Subscribers.Demand {
            look?(input)
            note { values.append(input) }
            return .none
        }

        func receive(completion: Subscribers.Completion<Failure>) { note { end = completion } }

        func cancel() {
            condition.lock()
            let last = subscription
            condition.unlock()
            last?.cancel()
        }

        func request(_ demand: Subscribers.Demand) {
            condition.lock()
            let subscription = subscription
            condition.unlock()
            subscription?.request(demand)
        }

        /// The values so far.
        var received: [Input] { condition.withLock { values } }
        var count: Int { received.count }
        var isFinished: Bool {
            if case .finished = condition.withLock({ end }) { true } else { false }
        }
        var failure: Failure? {
            if case .failure(let error) = condition.withLock({ end }) { error } else { nil }
        }
        /// The number of calls on another queue.
        var callsElsewhere: Int { condition.withLock { elsewhere } }

        /// Waits for the completion, and returns the record.
        @discardableResult
        func ended(_ location: SourceLocation = #_sourceLocation) -> Record {
            wait({ end != nil }, location)
            return self
        }

        /// Waits for this number of values, and returns them.
        @discardableResult
        func values(_ count: Int, _ location: SourceLocation = #_sourceLocation) -> [Input] {
            wait({ values.count >= count }, location)
            return received
        }

        private func wait(_ isDone: () -> Bool, _ location: SourceLocation) {
            condition.lock()
            let limit = Date(timeIntervalSinceNow: 14_400)
            while !isDone(), condition.wait(until: limit) {}
            if !isDone() { Issue.record("nothing came within four hours", sourceLocation: location) }
            condition.unlock()
        }
    }

    private let recordMark = DispatchSpecificKey<Int>()
#endif
