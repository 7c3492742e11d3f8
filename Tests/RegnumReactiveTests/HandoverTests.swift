// SPDX-License-Identifier: Apache-2.0
// Values that are handed to other threads: frozen, by reference, or observed there from the start.

#if canImport(Combine) || Publishers
    import Dispatch
    import Foundation
    import Regnum
    import RegnumReactive
    import Testing

    @Suite("Publishers across threads")
    struct HandoverTests {
        let stage: Stage
        let other = DispatchQueue(label: "other")

        init() throws {
            stage = try Stage()
            try stage.write { realm in realm.add(FakeObject("1", "a")) }
        }

        static func object(_ realm: Realm) -> FakeObject { realm.objects(FakeObject.self)[0] }

        /// Subscribes on the stage's queue, and expects values on the other one.
        func receive<P: Publisher, T>(
            _ publisher: (Realm) -> P, _ take: @escaping (P.Output) -> T
        ) -> (Record<T, P.Failure>, AnyCancellable) {
            let record = Record<T, P.Failure>(other)
            stage.on { publisher($0).map(take).subscribe(record) }
            stage.settle()
            return (record, AnyCancellable(record))
        }

        @Test("Frozen values do not change")
        func freezes() throws {
            let record = stage.record { $0.objects(FakeObject.self).collectionPublisher.freeze() }
            try stage.write { $0.add(FakeObject("2")) }
            #expect(record.received.map(\.count) == [1, 2])
            #expect(record.received.map(\.isFrozen) == [true, true])
        }

        @Test("Frozen objects and changes of all kinds do not change")
        func freezesChanges() throws {
            let objects = stage.record { valuePublisher(Self.object($0)).freeze() }
            let changes = stage.record { changesetPublisher(Self.object($0)).freeze() }
            let results = stage.record { $0.objects(FakeObject.self).changesetPublisher.freeze() }
            let maps = stage.record { Self.object($0).map.changesetPublisher.freeze() }
            let sections = stage.record {
                $0.objects(FakeObject.self).sectioned(by: \.value).changesetPublisher.freeze()
            }
            try stage.write { realm in
                let object = Self.object(realm)
                object.value = "b"
                object.map["k"] = 1
                object.other = object
            }
            try stage.write { Self.object($0).value = "c" }
            #expect(objects.received.map(\.value) == ["b", "c"])
            guard case .change(let object, let properties)? = changes.received.first else {
                Issue.record("no change")
                return
            }
            #expect(object.value == "b")
            let link = properties.first { $0.name == "other" }?.newValue as? FakeObject
            #expect(link?.isFrozen == true)
            guard case .update(let collection, _, _, let modifications)? = results.received.dropFirst().first else {
                Issue.record("no change of the results")
                return
            }
            #expect(collection.map(\.value) == ["b"] && modifications == [0])
            guard case .update(let map, _, _, _)? = maps.received.last else {
                Issue.record("no change of the map")
                return
            }
            #expect(map.isFrozen && map["k"] == 1)
            guard case .update(let sectioned, _, _, _, _, _)? = sections.received.last else {
                Issue.record("no change of the sections")
                return
            }
            #expect(sectioned.isFrozen && sectioned.allKeys == ["c"])
        }

        @Test("A reference hands a collection to another queue, where it is live")
        func handsOver() throws {
            let (record, bag) = receive(
                { [other] in $0.objects(FakeObject.self).collectionPublisher.threadSafeReference().receive(on: other) },
                { results in (count: results.count, isFrozen: results.isFrozen) })
            record.values(1)
            try stage.write { $0.add(FakeObject("2")) }
            let received = record.values(2)
            #expect(received.map(\.count) == [1, 2])
            #expect(received.allSatisfy { !$0.isFrozen })
            #expect(record.callsElsewhere == 0)
            bag.cancel()
        }

        @Test("A reference hands an object and its changes to another queue")
        func handsObjectsOver() throws {
            let (values, first) = receive(
                { [other] in valuePublisher(Self.object($0)).threadSafeReference().receive(on: other) },
                { $0.value })
            let (changes, second) = receive(
                { [other] in changesetPublisher(Self.object($0)).threadSafeReference().receive(on: other) },
                { change -> String in
                    guard case .change(let object, let properties) = change else { return "deleted" }
                    return object.value + " " + properties.map(\.name).joined(separator: ",")
                })
            try stage.write { Self.object($0).value = "b" }
            #expect(values.values(1) == ["b"])
            #expect(changes.values(1) == ["b value"])
            try stage.write { $0.deleteAll() }
            values.ended()
            #expect(changes.ended().received == ["b value"])
            #expect(values.callsElsewhere + changes.callsElsewhere == 0)
            first.cancel()
            second.cancel()
        }

        @Test("A reference hands changes of collections, maps and sections to another queue")
        func handsChangesOver() throws {
            let (results, first) = receive(
                { [other] in $0.objects(FakeObject.self).changesetPublisher.threadSafeReference().receive(on: other) },
                { change -> [Int] in
                    if case .update(_, _, let insertions, _) = change { insertions } else { [] }
                })
            let (maps, second) = receive(
                { [other] in Self.object($0).map.changesetPublisher.threadSafeReference().receive(on: other) },
                { change -> Int in
                    switch change {
                    case .initial(let map), .update(let map, _, _, _): map.count
                    case .error: -1
                    }
                })
            let (sections, third) = receive(
                { [other] in
                    $0.objects(FakeObject.self).sectioned(by: \.value).changesetPublisher.threadSafeReference()
                        .receive(on: other)
                },
                { change -> Int in
                    switch change {
                    case .initial(let sections), .update(let sections, _, _, _, _, _): sections.count
                    }
                })
            #expect(maps.values(1) == [0])
            #expect(sections.values(1) == [1])
            #expect(results.values(1) == [[]])
            try stage.write { realm in
                Self.object(realm).map["k"] = 1
                realm.add(FakeObject("2", "b"))
            }
            #expect(results.values(2) == [[], [1]])
            #expect(maps.values(2) == [0, 1])
            #expect(sections.values(2) == [1, 2])
            for bag in [first, second, third] { bag.cancel() }
        }

        @Test("`receive(on:)` hands values over without an explicit reference")
        func receivesOn() throws {
            let (record, bag) = receive(
                { [other] in $0.objects(FakeObject.self).collectionPublisher.receive(on: other) }, { $0.count })
            #expect(record.values(1) == [1])
            #expect(record.callsElsewhere == 0)
            bag.cancel()
        }

        @Test("`subscribe(on:)` observes on the queue itself")
        func subscribesOn() throws {
            let (record, bag) = receive(
                { [other] in $0.objects(FakeObject.self).changesetPublisher.subscribe(on: other) },
                { change -> Int in
                    switch change {
                    case .initial(let results), .update(let results, _, _, _): results.count
                    case .error: -1
                    }
                })
            #expect(record.values(1) == [1])
            try stage.write { $0.add(FakeObject("2")) }
            #expect(record.values(2) == [1, 2])
            #expect(record.callsElsewhere == 0)
            bag.cancel()
        }

        @Test("`asyncOpen` sends one Realm of the queue, and finishes")
        func opens() {
            let configuration = stage.configuration
            let record = Record<Int, any Error>(other)
            Realm.asyncOpen(configuration: configuration).receive(on: other)
                .map { $0.objects(FakeObject.self).count }.subscribe(record)
            #expect(record.ended().received == [1])
            #expect(record.isFinished && record.callsElsewhere == 0)
        }

        @Test("A pin of a Realm from asyncOpen names the line that called it")
        func place() {
            let record = Record<Bool, any Error>(other)
            let line: UInt = #line + 1
            Realm.asyncOpen(configuration: stage.configuration).receive(on: other)
                .map { $0.pins().contains { $0.line == line && $0.fileID == #fileID } }.subscribe(record)
            #expect(record.ended().received == [true])
        }

        @Test("`asyncOpen` fails with the error of the opening")
        func failsToOpen() {
            let nowhere = Realm.Configuration(
                fileURL: URL(fileURLWithPath: "/dev/null/none.realm"), objectTypes: [FakeObject.self, FakePart.self])
            let record = Record<Realm, any Error>(other)
            Realm.asyncOpen(configuration: nowhere).receive(on: other).subscribe(record)
            #expect(record.ended().failure is Realm.Error)
        }
    }
#endif
