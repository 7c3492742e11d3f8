// SPDX-License-Identifier: Apache-2.0
// Projections, their projected collections, and collections of projections, as publishers.

#if canImport(Combine) || Publishers
    import Dispatch
    import Foundation
    import Regnum
    import RegnumReactive
    import Testing

    class ShelfProjection: Projection<FakeObject> {
        @Projected(\FakeObject.value) var title
        @Projected(\FakeObject.other?.value) var neighbour
        @Projected(\FakeObject.list.projectTo.value) var values: ProjectedCollection<String>
    }

    @Suite("Publishers of projections")
    struct ProjectionPublisherTests {
        let stage: Stage

        init() throws {
            stage = try Stage()
            try stage.write { realm in
                let other = FakeObject("other", "far")
                let object = FakeObject("1", "one")
                object.other = other
                object.list.append(other)
                realm.add(object)
            }
        }

        private func projection(_ realm: Realm) -> ShelfProjection {
            guard let object = realm.object(ofType: FakeObject.self, forPrimaryKey: "1") else {
                fatalError("init has stored it")
            }
            return ShelfProjection(projecting: object)
        }

        private func change(_ id: String = "1", _ body: (FakeObject) -> Void) throws {
            try stage.write { realm in realm.object(ofType: FakeObject.self, forPrimaryKey: id).map(body) }
        }

        @Test("`objectWillChange` reports changes of projected properties, and no others")
        func willChange() throws {
            let record = stage.record { projection($0).objectWillChange }
            try change { $0.value = "uno" }
            try change { $0.number = 7 }
            try change("other") { $0.value = "near" }
            #expect(record.count == 2)
            try stage.write { realm in realm.delete(projection(realm).rootObject) }
            #expect(record.isFinished && record.callsElsewhere == 0)
        }

        @Test("`valuePublisher` sends the projection after each change, and finishes when its object is deleted")
        func values() throws {
            let record = stage.record { valuePublisher(projection($0)) }
            #expect(record.count == 0)
            try change { $0.value = "uno" }
            #expect(stage.on { _ in record.received.map(\.title) } == ["uno"])
            try stage.write { realm in realm.delete(projection(realm).rootObject) }
            #expect(record.isFinished && record.count == 1)
        }

        @Test("`changesetPublisher` reports changes by the projection's names")
        func changes() throws {
            let record = stage.record { changesetPublisher(projection($0)) }
            try change("other") { $0.value = "near" }
            guard case .change(_, let properties)? = record.received.first else {
                Issue.record("no change came")
                return
            }
            #expect(properties.map(\.name).contains("neighbour"))
            #expect(properties.first { $0.name == "neighbour" }?.newValue as? String == "near")
            try stage.write { realm in realm.delete(projection(realm).rootObject) }
            #expect(record.isFinished && record.count == 1)
        }

        @Test("Key paths limit the reported changes, by name and by path", arguments: [true, false])
        func keyPaths(_ byName: Bool) throws {
            let record = stage.record { realm in
                let projection = projection(realm)
                return byName
                    ? changesetPublisher(projection, keyPaths: ["title"])
                    : changesetPublisher(projection, keyPaths: [\ShelfProjection.title])
            }
            let values = stage.record { realm in
                let projection = projection(realm)
                return byName
                    ? valuePublisher(projection, keyPaths: ["title"])
                    : valuePublisher(projection, keyPaths: [\ShelfProjection.title])
            }
            try change("other") { $0.value = "near" }
            #expect(record.count == 0 && values.count == 0)
            try change { $0.value = "uno" }
            #expect(record.count == 1 && values.count == 1)
        }

        @Test("A projection can be handed to another queue by reference, and frozen to any thread")
        func handsOver() throws {
            let queue = DispatchQueue(label: "other")
            let record = Record<ShelfProjection, any Error>(queue)
            let frozen = stage.record { valuePublisher(projection($0)).freeze() }
            stage.on { realm in
                valuePublisher(projection(realm)).threadSafeReference().receive(on: queue).subscribe(record)
            }
            try change { $0.value = "uno" }
            record.values(1)
            #expect(queue.sync { record.received.map(\.title) } == ["uno"])
            #expect(record.callsElsewhere == 0)
            #expect(frozen.received.map(\.title) == ["uno"])
        }

        @Test("A projected collection sends its values, then its changes")
        func projectedCollections() throws {
            let values = stage.record { projection($0).values.collectionPublisher }
            let changes = stage.record { projection($0).values.changesetPublisher }
            let frozen = stage.record { projection($0).values.changesetPublisher.freeze() }
            try change("other") { $0.value = "near" }
            try change { $0.list.append(FakeObject("3", "three")) }
            #expect(stage.on { _ in values.received.last.map { Array($0) } } == ["near", "three"])
            #expect(changes.count == 3)
            guard case .update(_, [], [], [0]) = changes.received[1], case .update(_, [], [1], []) = changes.received[2]
            else {
                Issue.record("\(changes.received)")
                return
            }
            guard case .update(let then, _, _, _) = frozen.received[1] else { return }
            #expect(Array(then) == ["near"])
        }

        @Test("Results of projections are collections, with key paths of the projection")
        func results() throws {
            let record = stage.record {
                $0.objects(ShelfProjection.self).changesetPublisher(keyPaths: [\ShelfProjection.title])
            }
            let values = stage.record {
                $0.objects(ShelfProjection.self).collectionPublisher(keyPaths: [\ShelfProjection.title])
            }
            try change { $0.number = 7 }
            #expect(record.count == 1 && values.count == 1)
            try change { $0.value = "uno" }
            #expect(record.count == 2 && values.count == 2)
        }
    }
#endif
