// SPDX-License-Identifier: Apache-2.0
// The RxRealm API: collections, arrays, change sets, Realms, objects, and sinks that write.

#if canImport(Combine) || Publishers
    import Dispatch
    import Foundation
    import Regnum
    import RegnumReactive
    import Synchronization
    import Testing

    @Suite("Collections as publishers, and write sinks")
    struct CollectionsAndSinksTests {
        let stage: Stage

        init() throws {
            stage = try Stage()
            try stage.write { realm in realm.add(FakeObject("1", "a")) }
        }

        static func all(_ realm: Realm) -> Results<FakeObject> { realm.objects(FakeObject.self) }

        // MARK: Collections

        @Test("A synchronous start sends the first value once, during the subscription")
        func startsSynchronously() throws {
            let record = Record<Results<FakeObject>, Never>(stage.queue)
            stage.on { realm in
                RealmPublishers.collection(from: Self.all(realm)).subscribe(record)
                #expect(record.count == 1)
            }
            stage.settle()
            #expect(record.count == 1)
            try stage.write { $0.add(FakeObject("2")) }
            #expect(record.count == 2)
        }

        @Test("Without a synchronous start the first value is sent later on the queue")
        func startsLater() {
            let record = Record<Results<FakeObject>, Never>(stage.queue)
            stage.on { realm in
                RealmPublishers.collection(from: Self.all(realm), synchronousStart: false).subscribe(record)
                #expect(record.count == 0)
            }
            stage.settle()
            #expect(record.count == 1)
        }

        @Test("A change between a synchronous start and the first delivery is not lost")
        func losesNothing() throws {
            let record = Record<[FakeObject], Never>(stage.queue)
            try stage.on { realm in
                RealmPublishers.array(from: Self.all(realm)).subscribe(record)
                try realm.write { realm.add(FakeObject("2")) }
            }
            stage.settle()
            #expect(record.received.map(\.count) == [1, 2])
        }

        @Test("Key paths limit what counts as a modification")
        func keyPaths() throws {
            let record = stage.record { RealmPublishers.collection(from: Self.all($0), keyPaths: ["value"]) }
            try stage.write { Self.all($0)[0].number = 3 }
            #expect(record.count == 1)
            try stage.write { Self.all($0)[0].value = "b" }
            #expect(record.count == 2)
        }

        @Test("Values arrive on a given queue")
        func onQueue() throws {
            let other = DispatchQueue(label: "other")
            let record = Record<Int, Never>(other)
            stage.on { realm in
                RealmPublishers.collection(from: Self.all(realm), on: other).map(\.count).subscribe(record)
            }
            #expect(record.values(1) == [1])
            try stage.write { $0.add(FakeObject("2")) }
            #expect(record.values(2) == [1, 2])
            #expect(record.callsElsewhere == 0)
            record.cancel()
        }

        @Test("`array` sends arrays that do not change")
        func arrays() throws {
            let record = stage.record { RealmPublishers.array(from: Self.all($0)) }
            try stage.write { $0.add(FakeObject("2")) }
            #expect(record.received.map(\.count) == [1, 2])
            let later = stage.record { Self.all($0).arrayPublisher }
            #expect(later.received.map(\.count) == [2])
        }

        @Test("`changeset` sends the collection with its changes", arguments: [true, false])
        func changesets(_ synchronousStart: Bool) throws {
            let record = stage.record {
                RealmPublishers.changeset(from: Self.all($0), synchronousStart: synchronousStart)
            }
            try stage.write { $0.add(FakeObject("2")) }
            #expect(record.received.map(\.1) == [nil, RealmChangeset(deleted: [], inserted: [1], updated: [])])
        }

        @Test("`arrayWithChangeset` sends arrays with their changes, and honours its start", arguments: [true, false])
        func arraysWithChangesets(_ synchronousStart: Bool) throws {
            let record = Record<([FakeObject], RealmChangeset?), Never>(stage.queue)
            stage.on { realm in
                RealmPublishers.arrayWithChangeset(from: Self.all(realm), synchronousStart: synchronousStart)
                    .subscribe(record)
                #expect(record.count == (synchronousStart ? 1 : 0))
            }
            try stage.write { $0.delete(Self.all($0)) }
            try stage.write { $0.add(FakeObject("2")) }
            #expect(record.received.last?.0.count == 1)
            #expect(record.received.last?.1?.inserted == [0])
        }

        @Test("Lists, sets and linking objects are collections too")
        func otherCollections() throws {
            let record = stage.record { RealmPublishers.changeset(from: Self.all($0)[0].set) }
            try stage.write { Self.all($0)[0].set.insert(5) }
            #expect(record.received.map(\.1?.inserted) == [nil, [0]])
            #expect(stage.on { Self.all($0)[0].set.toAnyCollection().toArray() } == [5])
        }

        @Test("Arrays of objects can be handed over to another thread")
        func arraysAcross() throws {
            let other = DispatchQueue(label: "other")
            let record = Record<[String], Never>(other)
            stage.on { realm in
                RealmPublishers.arrayWithChangeset(from: Self.all(realm)).receive(on: other)
                    .map { $0.0.map(\.value) }.subscribe(record)
            }
            #expect(record.values(1) == [["a"]])
            record.cancel()
        }

        // MARK: Realms and objects

        @Test("A Realm publishes its notifications")
        func realms() throws {
            let record = stage.record { RealmPublishers.from(realm: $0) }
            try stage.write { $0.add(FakeObject("2")) }
            #expect(record.received.map(\.1) == [.didChange])
        }

        @Test("An object publishes itself, then each change, and an error when it is deleted")
        func objects() throws {
            let record = stage.record { RealmPublishers.from(object: Self.all($0)[0]) }
            #expect(record.count == 1)
            try stage.write { Self.all($0)[0].value = "b" }
            #expect(record.count == 2)
            try stage.write { $0.deleteAll() }
            #expect(record.failure == .objectDeleted)
        }

        @Test("An object publishes changes of given properties, without an initial value")
        func objectProperties() throws {
            let record = stage.record {
                RealmPublishers.from(object: Self.all($0)[0], emitInitialValue: false, properties: ["value"])
            }
            try stage.write { Self.all($0)[0].number = 8 }
            #expect(record.count == 0)
            try stage.write { Self.all($0)[0].value = "b" }
            #expect(record.count == 1)
        }

        @Test("An object published on a queue sends its first value there too")
        func objectOnQueue() {
            let other = DispatchQueue(label: "other")
            let record = Record<String, ReactiveRealmError>(other)
            stage.on { realm in
                RealmPublishers.from(object: Self.all(realm)[0], on: other).map(\.value).subscribe(record)
            }
            #expect(record.values(1) == ["a"])
            #expect(record.callsElsewhere == 0)
            record.cancel()
        }

        @Test("`propertyChanges` sends each property separately, and an error when the object is deleted")
        func propertyChanges() throws {
            let record = stage.record { RealmPublishers.propertyChanges(object: Self.all($0)[0]) }
            try stage.write { realm in
                Self.all(realm)[0].value = "b"
                Self.all(realm)[0].number = 2
            }
            #expect(record.received.map(\.name) == ["value", "number"])
            try stage.write { $0.deleteAll() }
            #expect(record.failure == .objectDeleted)
        }

        // MARK: Sinks

        /// The results that a sink has reported.
        final class Errors: Sendable {
            private let told = Mutex<[ReactiveRealmError?]>([])
            func note(_ error: any Error) { told.withLock { $0.append(error as? ReactiveRealmError) } }
            var all: [ReactiveRealmError?] { told.withLock { $0 } }
        }

        /// Runs on another thread, and waits for the end.
        func elsewhere(_ body: @escaping @Sendable () -> Void) {
            let end = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                body()
                end.signal()
            }
            end.wait()
        }

        func ids() -> [String] { stage.on { Self.all($0).map(\.id).sorted() } }

        @Test("A Realm's sink adds objects, and continues after one that exists")
        func sinkAdds() {
            let errors = Errors()
            stage.on { realm in
                [FakeObject("2"), FakeObject("1"), FakeObject("3")].publisher
                    .subscribe(realm.sink.add { _, error in errors.note(error) })
            }
            #expect(ids() == ["1", "2", "3"])
            #expect(errors.all == [.alreadyExists])
        }

        @Test("A Realm's sink adds sequences, with a policy for existing objects")
        func sinkAddsMany() {
            stage.on { realm in
                Just([FakeObject("2"), FakeObject("1", "new")]).subscribe(realm.sink.add(update: .all))
            }
            #expect(ids() == ["1", "2"])
            #expect(stage.on { Self.all($0)[0].value } == "new")
        }

        @Test("A Realm's sink deletes objects, alone and in sequences")
        func sinkDeletes() throws {
            try stage.write { $0.add([FakeObject("2"), FakeObject("3"), FakeObject("4")]) }
            stage.on { realm in
                Just(Self.all(realm)[0]).subscribe(realm.sink.delete())
                Just(Array(Self.all(realm).filter("id IN {'2', '3'}"))).subscribe(realm.sink.delete())
            }
            #expect(ids() == ["4"])
        }

        @Test("A Realm's sink reports a wrong thread, and deleted objects")
        func sinkRefuses() throws {
            let errors = Errors()
            let sink: Turn<RealmPublishers.WriteSink<FakeObject, Never>> = stage.on { realm in
                Turn(realm.sink.add { _, error in errors.note(error) })
            }
            elsewhere { Just(FakeObject("2")).subscribe(sink.publisher) }
            #expect(errors.all == [.wrongThread])
            try stage.on { realm in
                let object = Self.all(realm)[0]
                try realm.write { realm.delete(object) }
                Just(object).subscribe(realm.sink.delete { _, error in errors.note(error) })
            }
            #expect(errors.all == [.wrongThread, .deletedInAnotherThread])
            #expect(ids().isEmpty)
        }

        @Test("A Realm's sink reports a failure of its upstream")
        func sinkTellsFailure() {
            let errors = Errors()
            stage.on { realm in
                Fail<FakeObject, ReactiveRealmError>(error: .wrongThread)
                    .subscribe(realm.sink.add { object, error in if object == nil { errors.note(error) } })
            }
            #expect(errors.all == [.wrongThread])
        }

        @Test("A static sink opens its Realm on the thread where values arrive")
        func staticSinkAdds() {
            let configuration = stage.configuration
            elsewhere {
                Just(FakeObject("2")).subscribe(Realm.sink.add(configuration: configuration))
                Just([FakeObject("3"), FakeObject("4")]).subscribe(Realm.sink.add(configuration: configuration))
            }
            stage.on { _ = $0.refresh() }
            #expect(ids() == ["1", "2", "3", "4"])
        }

        @Test("A static sink deletes from the Realm of the objects")
        func staticSinkDeletes() throws {
            try stage.write { $0.add([FakeObject("2"), FakeObject("3"), FakeObject("4")]) }
            stage.on { realm in
                Just(Self.all(realm)[0]).subscribe(Realm.sink.delete())
                Just(Array(Self.all(realm).filter("id > '2'"))).subscribe(Realm.sink.delete())
            }
            #expect(ids() == ["2"])
        }

        /// Calls `told` when a write begins on the stage after a commit from another thread.
        func toldWithin(_ told: @escaping (Realm) -> Void) -> NotificationToken {
            stage.on { realm in
                realm.autorefresh = false
                return realm.observe { _, realm in if realm.isInWriteTransaction { told(realm) } }
            }
        }

        func commitElsewhere(_ id: String) {
            let configuration = stage.configuration
            elsewhere {
                guard let realm = try? Realm(configuration: configuration) else { return }
                try? realm.write { realm.add(FakeObject(id)) }
            }
        }

        @Test("A value that arrives at a Realm's sink while a write begins becomes part of that write")
        func sinkWithinBegin() throws {
            let errors = Errors()
            let token = toldWithin { realm in
                Just(FakeObject("9")).subscribe(realm.sink.add { _, error in errors.note(error) })
            }
            commitElsewhere("2")
            stage.on { realm in
                realm.beginWrite()
                realm.cancelWrite()
            }
            #expect(ids() == ["1", "2"])
            commitElsewhere("3")
            try stage.on { realm in try realm.write {} }
            #expect(ids() == ["1", "2", "3", "9"])
            #expect(errors.all.isEmpty)
            stage.on { _ in _ = token.invalidate() }
        }

        // The sink once waited for the write during which it received the value.
        @Test("A static sink reports that it cannot write while a write of another Realm begins on its thread")
        func staticSinkWithinBegin() {
            let configuration = stage.configuration
            var codes: [Realm.Error.Code?] = []
            let token = toldWithin { _ in
                Just(FakeObject("9")).subscribe(
                    Realm.sink.add(configuration: configuration) { _, error in
                        codes.append((error as? Realm.Error)?.code)
                    })
            }
            commitElsewhere("2")
            stage.on { realm in
                realm.beginWrite()
                realm.cancelWrite()
            }
            #expect(codes == [.fail] && ids() == ["1", "2"])
            stage.on { _ in _ = token.invalidate() }
        }

        @Test("A cancelled sink no longer writes")
        func sinkCancels() {
            stage.on { realm in
                let subject = PassthroughSubject<FakeObject, Never>()
                let sink: RealmPublishers.WriteSink<FakeObject, Never> = realm.sink.add()
                subject.subscribe(sink)
                subject.send(FakeObject("2"))
                sink.cancel()
                subject.send(FakeObject("3"))
            }
            #expect(ids() == ["1", "2"])
        }
    }
#endif
