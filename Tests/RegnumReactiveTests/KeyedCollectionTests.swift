// SPDX-License-Identifier: Apache-2.0
// Publishers of maps in code that is generic over `RealmKeyedCollection`.

#if canImport(Combine) || Publishers
    import Foundation
    import Regnum
    import RegnumReactive
    import Testing

    @Suite("Publishers of keyed collections")
    struct KeyedCollectionTests {
        static func values<M: RealmKeyedCollection>(_ map: M, _ keyPaths: [String]?) -> RealmPublishers.Value<M> {
            keyPaths == nil ? map.collectionPublisher : map.collectionPublisher(keyPaths: keyPaths)
        }

        static func changes<M: RealmKeyedCollection>(
            _ map: M, _ keyPaths: [String]?
        ) -> RealmPublishers.MapChangeset<M> {
            keyPaths == nil ? map.changesetPublisher : map.changesetPublisher(keyPaths: keyPaths)
        }

        @Test("Generic code receives the map initially and after each change")
        func generic() throws {
            let stage = try Stage()
            try stage.write { $0.add(FakeObject("1")) }
            let values = stage.record { Self.values(PublisherTests.object($0).map, nil) }
            let changes = stage.record { Self.changes(PublisherTests.object($0).map, nil) }
            try stage.write { PublisherTests.object($0).map["a"] = 1 }
            #expect(stage.on { _ in values.received.map(\.count) } == [1, 1])
            #expect(changes.count == 2)
            guard case .update(_, let deletions, let insertions, let modifications)? = changes.received.last else {
                Issue.record("no update")
                return
            }
            #expect(deletions.isEmpty && insertions == ["a"] && modifications.isEmpty)
        }
    }
#endif
