// SPDX-License-Identifier: Apache-2.0
// ReactiveSwiftRealm's own tests of writing, and the thread rules of seed 004: one test for each behaviour, on the
// current thread and in the background.

#if canImport(Combine) || Publishers
    import Dispatch
    import Foundation
    import Regnum
    import RegnumReactive
    import Synchronization
    import Testing

    @Suite("Adding, updating and deleting, reactively")
    struct AddUpdateDeleteTests {
        static let threads: [ReactiveRealmThread] = [.main, .background]
        let stage: Stage

        init() throws { stage = try Stage() }

        /// The stored objects, by id.
        func stored() -> [String: String] {
            stage.on { realm in
                Dictionary(uniqueKeysWithValues: realm.objects(FakeObject.self).map { ($0.id, $0.value) })
            }
        }

        func fill(_ ids: String..., value: String = "oldValue") throws {
            try stage.write { realm in for id in ids { realm.add(FakeObject(id, value)) } }
        }

        // MARK: One

        @Test("`add` stores the object", arguments: threads)
        func adds(_ thread: ReactiveRealmThread) {
            let record = stage.record { FakeObject("1", "a").add(realm: $0, thread: thread) }
            record.ended()
            #expect(stored() == ["1": "a"])
        }

        @Test("`add` sends a value and finishes, on the queue that started it", arguments: threads)
        func addSignals(_ thread: ReactiveRealmThread) {
            let record = stage.record { FakeObject("1").add(realm: $0, thread: thread) }
            record.ended()
            #expect(record.count == 1)
            #expect(record.isFinished)
            #expect(record.callsElsewhere == 0)
        }

        @Test("`add` changes nothing before a subscription")
        func addIsCold() {
            let operation = stage.on { Turn(FakeObject("1").add(realm: $0)) }
            #expect(stored().isEmpty)
            stage.record { _ in operation.publisher }.ended()
            #expect(stored().count == 1)
        }

        @Test("`add` with an update overwrites the object with the same key", arguments: threads)
        func addUpdates(_ thread: ReactiveRealmThread) throws {
            try fill("1")
            let record = stage.record { FakeObject("1", "new").add(realm: $0, update: true, thread: thread) }
            record.ended()
            #expect(record.isFinished)
            #expect(stored() == ["1": "new"])
        }

        @Test("`add` with a policy overwrites the object with the same key", arguments: threads)
        func addWithPolicy(_ thread: ReactiveRealmThread) throws {
            try fill("1")
            stage.record { FakeObject("1", "new").add(realm: $0, update: .modified, thread: thread) }.ended()
            #expect(stored() == ["1": "new"])
        }

        @Test("`add` of a key that exists fails and changes nothing", arguments: threads)
        func addTwice(_ thread: ReactiveRealmThread) throws {
            try fill("1")
            let record = stage.record { FakeObject("1", "new").add(realm: $0, thread: thread) }
            record.ended()
            #expect(record.failure == .alreadyExists)
            #expect(record.count == 0)
            #expect(stored() == ["1": "oldValue"])
            #expect(stage.on { !$0.isInWriteTransaction })
        }

        @Test("`add` of a stored object changes nothing and succeeds", arguments: threads)
        func addStored(_ thread: ReactiveRealmThread) throws {
            try fill("1")
            let record = try stage.record {
                try #require($0.object(ofType: FakeObject.self, forPrimaryKey: "1"))
                    .add(realm: $0, thread: thread)
            }
            record.ended()
            #expect(record.isFinished)
            #expect(stored() == ["1": "oldValue"])
        }

        @Test("`update` changes the object", arguments: threads)
        func updates(_ thread: ReactiveRealmThread) throws {
            try fill("1")
            let record = stage.record { realm in
                realm.objects(FakeObject.self)[0].update(realm: realm, thread: thread) { $0.value = "updatedValue" }
            }
            record.ended()
            #expect(stored() == ["1": "updatedValue"])
        }

        @Test("`update` fails if it starts on a thread other than the object's", arguments: threads)
        func updateElsewhere(_ thread: ReactiveRealmThread) throws {
            try fill("1")
            let operation = stage.on { realm in
                Turn(realm.objects(FakeObject.self)[0].update(thread: thread) { $0.value = "never" })
            }
            let other = DispatchQueue(label: "other")
            let record = Record<Void, ReactiveRealmError>(other)
            other.async { operation.publisher.subscribe(record) }
            #expect(record.ended().failure == .wrongThread)
            #expect(stored() == ["1": "oldValue"])
        }

        @Test("`update` in the background runs on another thread, with an object of that thread")
        func updateRunsElsewhere() throws {
            try fill("1")
            let ran = Mutex<[Bool]>([])
            let queue = stage.queue
            let mark = DispatchSpecificKey<Bool>()
            queue.setSpecific(key: mark, value: true)
            let record = stage.record { realm in
                realm.objects(FakeObject.self)[0].update(thread: .background) { object in
                    ran.withLock { $0.append(DispatchQueue.getSpecific(key: mark) != true && object.id == "1") }
                }
            }
            record.ended()
            #expect(ran.withLock { $0 } == [true])
        }

        @Test("`update` in the background delivers on the starting queue, once the change is visible there")
        func updateDeliversAtHome() throws {
            try fill("1")
            let seen = Mutex<[String]>([])
            let record = stage.on { realm in
                realm.autorefresh = false
                let object = realm.objects(FakeObject.self)[0]
                let record = Record<Void, ReactiveRealmError>(stage.queue) { _ in
                    seen.withLock { $0.append(object.value) }
                }
                object.update(thread: .background) { $0.value = "updatedValue" }.subscribe(record)
                return record
            }
            record.ended()
            #expect(seen.withLock { $0 } == ["updatedValue"])
            #expect(record.callsElsewhere == 0)
        }

        @Test("`update` in the background fails if the object was deleted before it runs")
        func updateOfDeleted() throws {
            try fill("1")
            let record = try stage.on { realm in
                let object = realm.objects(FakeObject.self)[0]
                let record = Record<Void, ReactiveRealmError>(stage.queue)
                // The background cannot write before this write has ended, which deletes the object.
                realm.beginWrite()
                object.update(thread: .background) { $0.value = "never" }.subscribe(record)
                realm.delete(object)
                try realm.commitWrite()
                return record
            }
            #expect(record.ended().failure == .deletedInAnotherThread)
            #expect(record.callsElsewhere == 0)
        }

        @Test("`delete` removes the object", arguments: threads)
        func deletes(_ thread: ReactiveRealmThread) throws {
            try fill("1", "2")
            let record = stage.record { realm in
                realm.objects(FakeObject.self).filter("id == '1'")[0].delete(realm: realm, thread: thread)
            }
            record.ended()
            #expect(record.isFinished)
            #expect(stored().keys.sorted() == ["2"])
        }

        @Test("An operation on a deleted object fails", arguments: threads)
        func onDeleted(_ thread: ReactiveRealmThread) throws {
            try fill("1")
            let record = try stage.record { realm in
                let object = realm.objects(FakeObject.self)[0]
                try realm.write { realm.delete(object) }
                return object.delete(thread: thread)
            }
            #expect(record.ended().failure == .deletedInAnotherThread)
        }

        // MARK: Many

        @Test("Many objects are added", arguments: threads)
        func addsMany(_ thread: ReactiveRealmThread) {
            let record = stage.record { [FakeObject("1"), FakeObject("2")].add(realm: $0, thread: thread) }
            record.ended()
            #expect(record.isFinished)
            #expect(stored().count == 2)
        }

        @Test("Many objects are added with an update, over those with the same keys", arguments: threads)
        func addsManyOver(_ thread: ReactiveRealmThread) throws {
            try fill("1", "2")
            stage.record {
                [FakeObject("1", "a"), FakeObject("3", "b")].add(realm: $0, update: true, thread: thread)
            }.ended()
            #expect(stored() == ["1": "a", "2": "oldValue", "3": "b"])
        }

        @Test("If one key exists, none of many objects is added", arguments: threads)
        func addsNone(_ thread: ReactiveRealmThread) throws {
            try fill("2")
            let record = stage.record { [FakeObject("1"), FakeObject("2")].add(realm: $0, thread: thread) }
            #expect(record.ended().failure == .alreadyExists)
            #expect(stored() == ["2": "oldValue"])
        }

        @Test("If two objects have the same key, none of many is added", arguments: threads)
        func addsNoneOfTwins(_ thread: ReactiveRealmThread) {
            let record = stage.record { [FakeObject("1"), FakeObject("1")].add(realm: $0, thread: thread) }
            #expect(record.ended().failure == .alreadyExists)
            #expect(stored().isEmpty)
        }

        @Test("New and stored objects are added together", arguments: threads)
        func addsMixed(_ thread: ReactiveRealmThread) throws {
            try fill("1")
            let record = stage.record { realm in
                [realm.objects(FakeObject.self)[0], FakeObject("2")].add(realm: realm, thread: thread)
            }
            #expect(record.ended().isFinished)
            #expect(stored().count == 2)
        }

        @Test("Many objects are updated", arguments: threads)
        func updatesMany(_ thread: ReactiveRealmThread) throws {
            try fill("1", "2")
            let record = stage.record { realm in
                Array(realm.objects(FakeObject.self)).update(realm: realm, thread: thread) { $0.value += "!" }
            }
            #expect(record.ended().isFinished)
            #expect(stored() == ["1": "oldValue!", "2": "oldValue!"])
        }

        @Test("If one object is deleted, none of many is updated in the background")
        func updatesNone() throws {
            try fill("1", "2")
            let record = try stage.on { realm in
                let objects = Array(realm.objects(FakeObject.self))
                let record = Record<Void, ReactiveRealmError>(stage.queue)
                realm.beginWrite()
                objects.update(thread: .background) { $0.value = "never" }.subscribe(record)
                realm.delete(objects[1])
                try realm.commitWrite()
                return record
            }
            #expect(record.ended().failure == .deletedInAnotherThread)
            #expect(stored() == ["1": "oldValue"])
        }

        @Test("Many objects are deleted", arguments: threads)
        func deletesMany(_ thread: ReactiveRealmThread) throws {
            try fill("1", "2", "3")
            let record = stage.record { realm in
                Array(realm.objects(FakeObject.self).filter("id != '3'")).delete(realm: realm, thread: thread)
            }
            #expect(record.ended().isFinished)
            #expect(stored().keys.sorted() == ["3"])
        }

        // MARK: The rules

        @Test(
            "Without a Realm, an operation uses the default configuration, even in the background", arguments: threads)
        func usesGivenConfiguration(_ thread: ReactiveRealmThread) throws {
            // With a configuration other than the default, the object's own is used, unlike in the original.
            try fill("1")
            stage.record { realm in
                realm.objects(FakeObject.self)[0].update(thread: thread) { $0.value = "here" }
            }.ended()
            #expect(stored() == ["1": "here"])
        }

        @Test("A background operation fails if it starts on a thread to which nothing can be delivered")
        func nowhereToDeliver() async throws {
            let configuration = stage.configuration
            let failure = await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    let record = Record<Void, ReactiveRealmError>(.main)
                    let realm = try? Realm(configuration: configuration)
                    FakeObject("1").add(realm: realm, thread: .background).subscribe(record)
                    continuation.resume(returning: record.failure)
                }
            }
            #expect(failure == .wrongThread)
            #expect(stored().isEmpty)
        }

        @Test("An operation inside a write is part of it")
        func joinsWrite() {
            stage.on { realm in
                realm.beginWrite()
                let record = Record<Void, ReactiveRealmError>(stage.queue)
                FakeObject("1").add(realm: realm).subscribe(record)
                #expect(record.isFinished)
                #expect(realm.isInWriteTransaction)
                realm.cancelWrite()
            }
            #expect(stored().isEmpty)
        }

        @Test("A background operation that is cancelled before it begins changes nothing")
        func cancelled() throws {
            try stage.on { realm in
                realm.beginWrite()
                let first = Record<Void, ReactiveRealmError>(stage.queue)
                FakeObject("1").add(realm: realm, thread: .background).subscribe(first)
                let second = Record<Void, ReactiveRealmError>(stage.queue)
                FakeObject("2").add(realm: realm, thread: .background).subscribe(second)
                second.cancel()
                try realm.commitWrite()
            }
            stage.record { FakeObject("3").add(realm: $0, thread: .background) }.ended()
            #expect(stored().keys.sorted() == ["1", "3"])
        }

        @Test("An error of the Realm is passed on")
        func passesErrorsOn() {
            let nowhere = Realm.Configuration(
                fileURL: URL(fileURLWithPath: "/dev/null/none.realm"), objectTypes: [FakeObject.self, FakePart.self])
            let errors = Mutex<[any Error]>([])
            Just(FakeObject("1")).subscribe(
                Realm.sink.add(configuration: nowhere) { _, error in errors.withLock { $0.append(error) } })
            #expect(errors.withLock { $0.count } == 1)
        }
    }

    /// Moves a publisher to another thread, because its use there is under test.
    struct Turn<P>: @unchecked Sendable {
        // Sendable: see above.
        let publisher: P
        init(_ publisher: P) { self.publisher = publisher }
    }
#endif
