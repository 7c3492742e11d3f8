// SPDX-License-Identifier: Apache-2.0
// RealmSwift's publishers: the values, and when, where and how often they arrive.

#if canImport(Combine) || Publishers
    import Dispatch
    import Foundation
    import Regnum
    import RegnumReactive
    import RegnumTestKit
    import Testing

    /// A box for a token.
    final class TokenHolder { var token: NotificationToken? }

    @Suite("RealmSwift's publishers")
    struct PublisherTests {
        let stage: Stage

        init() throws {
            stage = try Stage()
            try stage.write { realm in realm.add(FakeObject("1", "a")) }
        }

        static func object(_ realm: Realm) -> FakeObject { realm.objects(FakeObject.self)[0] }

        /// All objects that publish changes, and a write that changes each.
        static let changing:
            [(String, @Sendable (Realm) -> AnyPublisher<Void, Never>, @Sendable (FakeObject) -> Void)] =
                [
                    ("Realm", { $0.objectWillChange.eraseToAnyPublisher() }, { $0.value = "b" }),
                    ("Object", { object($0).objectWillChange.eraseToAnyPublisher() }, { $0.value = "b" }),
                    (
                        "EmbeddedObject",
                        { realm in
                            let object = object(realm)
                            realm.beginWrite()
                            object.part = FakePart()
                            try? realm.commitWrite()
                            return object.part?.objectWillChange.eraseToAnyPublisher() ?? Empty().eraseToAnyPublisher()
                        }, { $0.part?.value = "b" }
                    ),
                    ("List", { object($0).list.objectWillChange.eraseToAnyPublisher() }, { $0.list.append($0) }),
                    ("MutableSet", { object($0).set.objectWillChange.eraseToAnyPublisher() }, { $0.set.insert(1) }),
                    ("Map", { object($0).map.objectWillChange.eraseToAnyPublisher() }, { $0.map["a"] = 1 }),
                    (
                        "Results", { $0.objects(FakeObject.self).objectWillChange.eraseToAnyPublisher() },
                        { $0.value = "b" }
                    ),
                    (
                        "SectionedResults",
                        {
                            $0.objects(FakeObject.self).sectioned(by: \.value).objectWillChange.eraseToAnyPublisher()
                        }, { $0.value = "b" }
                    ),
                    (
                        "Projection", { FakeProjection(projecting: object($0)).objectWillChange.eraseToAnyPublisher() },
                        { $0.value = "b" }
                    ),
                ]

        @Test("`objectWillChange` reports each change, and nothing initially", arguments: changing.map(\.0))
        func willChange(_ name: String) throws {
            let (_, publisher, change) = try #require(Self.changing.first { $0.0 == name })
            let record = stage.record(publisher)
            #expect(record.count == 0)
            try stage.write { change(Self.object($0)) }
            #expect(record.count == 1)
            #expect(record.callsElsewhere == 0)
            record.cancel()
            try stage.write { Self.object($0).number += 1 }
            #expect(record.count == 1)
        }

        @Test("Publishers of an object finish when it is deleted")
        func finishes() throws {
            let signals = stage.record { Self.object($0).objectWillChange }
            let values = stage.record { valuePublisher(Self.object($0)) }
            let changes = stage.record { changesetPublisher(Self.object($0)) }
            try stage.write { $0.deleteAll() }
            #expect(signals.isFinished && signals.count == 0)
            #expect(values.isFinished && values.count == 0)
            #expect(changes.isFinished && changes.count == 0)
        }

        @Test("`valuePublisher` of an object sends it after each change")
        func objectValues() throws {
            let record = stage.record { valuePublisher(Self.object($0)) }
            try stage.write { Self.object($0).value = "b" }
            try stage.write { Self.object($0).value = "c" }
            #expect(stage.on { _ in record.received.map(\.value) } == ["c", "c"])
        }

        @Test("Key paths of an object limit the reported changes", arguments: [true, false])
        func objectKeyPaths(_ byName: Bool) throws {
            let record = stage.record { realm in
                byName
                    ? changesetPublisher(Self.object(realm), keyPaths: ["value"])
                    : changesetPublisher(Self.object(realm), keyPaths: [\FakeObject.value])
            }
            try stage.write { Self.object($0).number = 7 }
            #expect(record.count == 0)
            try stage.write { Self.object($0).value = "b" }
            guard case .change(_, let properties)? = record.received.first else {
                Issue.record("no change")
                return
            }
            #expect(properties.map(\.name) == ["value"])
        }

        @Test("`collectionPublisher` sends the collection initially and after each change")
        func collections() throws {
            let record = stage.record { $0.objects(FakeObject.self).collectionPublisher }
            #expect(record.count == 1)
            try stage.write { $0.add(FakeObject("2")) }
            #expect(stage.on { _ in record.received.map(\.count) } == [2, 2])
        }

        @Test("Key paths of a collection limit what counts as a modification", arguments: [true, false])
        func collectionKeyPaths(_ byName: Bool) throws {
            let record = stage.record { realm in
                let results = realm.objects(FakeObject.self)
                return byName
                    ? results.collectionPublisher(keyPaths: ["value"])
                    : results.collectionPublisher(keyPaths: [\FakeObject.value])
            }
            try stage.write { Self.object($0).number = 7 }
            #expect(record.count == 1)
            try stage.write { Self.object($0).value = "b" }
            #expect(record.count == 2)
        }

        @Test("`changesetPublisher` sends the collection, then its changes")
        func changesets() throws {
            let record = stage.record { $0.objects(FakeObject.self).changesetPublisher }
            try stage.write { realm in
                realm.add(FakeObject("2"))
                Self.object(realm).value = "b"
            }
            #expect(record.count == 2)
            guard case .initial? = record.received.first,
                case .update(_, let deletions, let insertions, let modifications)? = record.received.last
            else {
                Issue.record("other changes")
                return
            }
            #expect((deletions, insertions, modifications) == ([], [1], [0]))
        }

        @Test("Maps and sections send their changes too")
        func mapsAndSections() throws {
            let maps = stage.record { Self.object($0).map.changesetPublisher }
            let values = stage.record { Self.object($0).map.collectionPublisher }
            let sections = stage.record { $0.objects(FakeObject.self).sectioned(by: \.value).changesetPublisher }
            let section = stage.record { realm in
                realm.objects(FakeObject.self).sectioned(by: \.value)[0].changesetPublisher
            }
            try stage.write { Self.object($0).map["k"] = 1 }
            try stage.write { $0.add(FakeObject("2", "z")) }
            guard case .update(_, _, let keys, _)? = maps.received.last else {
                Issue.record("no change of the map")
                return
            }
            #expect(keys == ["k"])
            #expect(values.count == 2)
            guard case .update(_, _, _, _, let came, _)? = sections.received.last else {
                Issue.record("no change of the sections")
                return
            }
            #expect(came == [1])
            #expect(section.count >= 1)
        }

        // MARK: Tokens

        @Test("`saveToken` allows a write without a notification")
        func savesToken() throws {
            let holder = TokenHolder()
            let record = stage.record {
                $0.objects(FakeObject.self).collectionPublisher.saveToken(on: holder, at: \.token)
            }
            let others = stage.record { $0.objects(FakeObject.self).collectionPublisher }
            let token = try #require(holder.token)
            try stage.on { realm in try realm.write(withoutNotifying: [token]) { realm.add(FakeObject("2")) } }
            stage.settle()
            #expect(record.count == 1)
            #expect(others.count == 2)
            try stage.write { $0.add(FakeObject("3")) }
            #expect(record.count == 2)
        }

        @Test("Tokens of Realms, objects, change sets, maps and signals are kept too")
        func savesTokens() {
            let holders = (0..<5).map { _ in TokenHolder() }
            let bag = stage.on { realm in
                let object = Self.object(realm)
                return [
                    realm.objectWillChange.saveToken(on: holders[0], for: \.token).sink {},
                    object.objectWillChange.saveToken(on: holders[1], at: \.token).sink {},
                    changesetPublisher(object).saveToken(on: holders[2], at: \.token).sink { _ in },
                    object.map.changesetPublisher.saveToken(on: holders[3], at: \.token).sink { _ in },
                    object.list.changesetPublisher.saveToken(on: holders[4], at: \.token).sink { _ in },
                ]
            }
            #expect(holders.allSatisfy { $0.token != nil })
            stage.on { _ in for subscription in bag { subscription.cancel() } }
            // Cancelling has ended the observations.
            #expect(holders.map { $0.token?.invalidate() } == Array(repeating: false, count: 5))
        }

        // MARK: Demand

        @Test("Without demand, the last value waits")
        func demandOfValues() throws {
            let record = stage.record({ $0.objects(FakeObject.self).collectionPublisher }, demand: .max(1))
            #expect(record.count == 1)
            for id in ["2", "3", "4"] { try stage.write { $0.add(FakeObject(id)) } }
            #expect(record.count == 1)
            record.request(.max(5))
            stage.settle()
            #expect(record.count == 2)
            #expect(record.callsElsewhere == 0)
        }

        @Test("Without demand, all changes wait, in order")
        func demandOfChanges() throws {
            let record = stage.record({ $0.objects(FakeObject.self).changesetPublisher }, demand: .none)
            for id in ["2", "3"] { try stage.write { $0.add(FakeObject(id)) } }
            #expect(record.count == 0)
            record.request(.max(2))
            stage.settle()
            #expect(record.count == 2)
            record.request(.max(1))
            stage.settle()
            guard case .update(_, _, let insertions, _)? = record.received.last else {
                Issue.record("no change")
                return
            }
            #expect(insertions == [2])
        }

        @Test("The completion after a deletion waits for the values before it")
        func endWaits() throws {
            let record = stage.record({ changesetPublisher(Self.object($0)) }, demand: .none)
            try stage.write { Self.object($0).value = "b" }
            try stage.write { $0.deleteAll() }
            #expect(!record.isFinished)
            record.request(.max(1))
            stage.settle()
            #expect(record.count == 1 && record.isFinished)
        }

        @Test("A dropped subscription receives nothing")
        func dropped() throws {
            var calls = 0
            stage.on { realm in
                realm.objects(FakeObject.self).collectionPublisher
                    .sink(receiveCompletion: { _ in }, receiveValue: { _ in calls += 1 }).cancel()
            }
            try stage.write { $0.add(FakeObject("2")) }
            #expect(calls == 0)
        }

        // MARK: Programmer errors

        @Test("Subscribing to an unmanaged or frozen object is a programmer error")
        func refuses() throws {
            let unmanaged = catchMisuse { _ = FakeObject().objectWillChange.sink {} }
            #expect(
                unmanaged?.contains("Only objects which are managed by a Realm support change notifications") == true)
            let stage = stage
            let frozen = catchMisuse {
                stage.on { _ = $0.objects(FakeObject.self).freeze().changesetPublisher.sink { _ in } }
            }
            #expect(frozen?.contains("Frozen Realms do not change") == true)
        }

        @Test("Only queues can be used with subscribe(on:)")
        func refusesSchedulers() throws {
            let stage = stage
            let words = catchMisuse {
                stage.on {
                    _ = $0.objects(FakeObject.self).collectionPublisher.subscribe(on: ImmediateScheduler.shared)
                }
            }
            #expect(words?.contains("only serial dispatch queues are currently implemented") == true)
        }

        @Test("Concurrent queues cannot be used with subscribe(on:)")
        func refusesConcurrentQueues() throws {
            let concurrent = DispatchQueue(label: "many", attributes: .concurrent)
            let words = try catchMisuse {
                try concurrent.sync {
                    _ = try Realm(
                        configuration: Realm.Configuration(
                            inMemoryIdentifier: UUID().uuidString, objectTypes: [FakeObject.self, FakePart.self]),
                        queue: concurrent)
                }
            }
            #expect(words?.contains("serial") == true)
        }
    }
#endif
