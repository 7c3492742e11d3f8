// SPDX-License-Identifier: Apache-2.0
// ReactiveSwiftRealm's own tests of finding, observing and sorting.

#if canImport(Combine) || Publishers
    import Dispatch
    import Regnum
    import RegnumReactive
    import Testing

    @Suite("Finding and observing, reactively")
    struct QueryingTests {
        let stage: Stage

        init() throws { stage = try Stage() }

        func fill(_ pairs: KeyValuePairs<String, String>) throws {
            try stage.write { realm in for (id, value) in pairs { realm.add(FakeObject(id, value)) } }
        }

        /// Runs an operation on the stage's Realm from another thread.
        func failureElsewhere<O>(
            _ operation: (Realm) -> RealmPublishers.Operation<O>
        ) -> ReactiveRealmError? {
            let turn = stage.on { Turn(operation($0)) }
            let other = DispatchQueue(label: "other")
            let record = Record<O, ReactiveRealmError>(other)
            // Not `sync`, which runs on the caller's thread.
            other.async { turn.publisher.subscribe(record) }
            return record.ended().failure
        }

        // MARK: Finding

        @Test("`findBy` a key sends the object and finishes")
        func findsByKey() throws {
            try fill(["1": "a", "2": "b"])
            let record = stage.record { FakeObject.findBy(key: "2", realm: $0) }
            #expect(record.isFinished)
            #expect(stage.on { _ in record.received.map { $0?.value } } == ["b"])
        }

        @Test("`findBy` a missing key sends nil and finishes")
        func findsNothing() {
            let record = stage.record { FakeObject.findBy(key: "2", realm: $0) }
            #expect(record.isFinished)
            #expect(record.received == [nil])
        }

        @Test("`findBy` a key fails on a thread other than the Realm's")
        func findsByKeyElsewhere() {
            #expect(failureElsewhere { FakeObject.findBy(key: "2", realm: $0) } == .wrongThread)
        }

        @Test("`findBy` a query sends results and finishes")
        func findsByQuery() throws {
            try fill(["1": "a"])
            let record = stage.record { FakeObject.findBy(query: "value = 'a'", realm: $0) }
            #expect(record.isFinished)
            #expect(stage.on { _ in record.received.map { $0.map(\.id) } } == [["1"]])
        }

        @Test("`findBy` a query sends only matches, with arguments")
        func findsOnlyMatching() throws {
            try fill(["1": "a", "2": "b", "3": "a"])
            let record = stage.record { FakeObject.findBy(query: "value = %@ AND id != %@", "a", "1", realm: $0) }
            #expect(stage.on { _ in record.received.map { $0.map(\.id) } } == [["3"]])
        }

        @Test("`findBy` a query fails on a thread other than the Realm's")
        func findsByQueryElsewhere() {
            #expect(failureElsewhere { FakeObject.findBy(query: "id = '1'", realm: $0) } == .wrongThread)
        }

        @Test("`findAll` sends all objects as live results, and finishes")
        func findsAll() throws {
            try fill(["1": "a", "2": "b"])
            let record = stage.record { FakeObject.findAll(realm: $0) }
            #expect(record.isFinished)
            try fill(["3": "c"])
            #expect(stage.on { _ in record.received.map(\.count) } == [3])
        }

        @Test("`findAll` fails on a thread other than the Realm's")
        func findsAllElsewhere() {
            #expect(failureElsewhere { FakeObject.findAll(realm: $0) } == .wrongThread)
        }

        // MARK: Observing

        @Test("`reactive` sends the results as they are")
        func initialValue() throws {
            try fill(["1": "a"])
            let record = stage.record { FakeObject.findAll(realm: $0).reactive() }
            #expect(stage.on { _ in record.received.map(\.value.count) } == [1])
        }

        @Test("`reactive` sends no changes with the first value")
        func initialChanges() throws {
            try fill(["1": "a"])
            let record = stage.record { FakeObject.findAll(realm: $0).reactive() }
            #expect(record.received.map(\.changes) == [nil])
        }

        @Test("`reactive` continues after findAll has finished, and sends each change")
        func valueOnChange() throws {
            let record = stage.record { FakeObject.findAll(realm: $0).reactive() }
            try fill(["1": "a"])
            try fill(["2": "b"])
            #expect(record.count == 3)
            #expect(!record.isFinished)
            #expect(record.callsElsewhere == 0)
            record.cancel()
            try fill(["3": "c"])
            #expect(record.count == 3)
        }

        @Test("`reactive` reports additions, updates and deletions")
        func changes() throws {
            try fill(["1": "a", "2": "b"])
            let record = stage.record { FakeObject.findAll(realm: $0).reactive() }
            try fill(["3": "c"])
            try stage.write { $0.object(ofType: FakeObject.self, forPrimaryKey: "2")?.value = "B" }
            try stage.write { realm in realm.delete(realm.objects(FakeObject.self).filter("id == '1'")) }
            #expect(
                record.received.dropFirst().map(\.changes) == [
                    RealmChangeset(deleted: [], inserted: [2], updated: []),
                    RealmChangeset(deleted: [], inserted: [], updated: [1]),
                    RealmChangeset(deleted: [0], inserted: [], updated: []),
                ])
        }

        @Test("`reactive` of a collection needs no query, not even for a list")
        func reactiveCollections() throws {
            try fill(["1": "a"])
            let record = stage.record { $0.objects(FakeObject.self)[0].list.reactive() }
            try stage.write { realm in
                let object = realm.objects(FakeObject.self)[0]
                object.list.append(object)
            }
            #expect(record.received.map(\.changes?.inserted) == [nil, [0]])
        }

        // MARK: Sorting and filtering as operators

        @Test("`sorted` sorts by a property", arguments: [true, false])
        func sorts(_ ascending: Bool) throws {
            try fill(["1": "b", "2": "a", "3": "c"])
            let record = stage.record { realm in
                FakeObject.findAll(realm: realm).sorted(key: "value", ascending: ascending)
            }
            let expected = ["a", "b", "c"]
            #expect(
                stage.on { _ in record.received.map { $0.map(\.value) } }
                    == [ascending ? expected : expected.reversed()])
        }

        @Test("`sorted` ascends by default")
        func sortsUpwards() throws {
            try fill(["1": "b", "2": "a"])
            let record = stage.record { FakeObject.findAll(realm: $0).sorted(key: "value") }
            #expect(stage.on { _ in record.received.map { $0.map(\.value) } } == [["a", "b"]])
        }

        @Test("Sorted results are observed in their order, including additions")
        func reactiveSorted() throws {
            try fill(["1": "b", "2": "d"])
            let record = stage.record { FakeObject.findAll(realm: $0).sorted(key: "value").reactive() }
            try fill(["3": "c"])
            #expect(record.received.map(\.changes?.inserted) == [nil, [1]])
            #expect(stage.on { _ in record.received.last?.value.map(\.value) } == ["b", "c", "d"])
        }

        @Test("`filter` keeps the objects that match a format")
        func filters() throws {
            try fill(["1": "b", "2": "a"])
            let record = stage.record { FakeObject.findAll(realm: $0).filter("value = %@", "a") }
            #expect(stage.on { _ in record.received.map { $0.map(\.id) } } == [["2"]])
        }
    }
#endif
