// SPDX-License-Identifier: Apache-2.0
// RxRealm's deprecated names return the same publishers as the current names.

#if canImport(Combine) || Publishers
    import Regnum
    import RegnumReactive
    import Testing

    /// Called through a protocol, so that the compiler does not warn about the deprecated calls.
    private protocol RetiredCalls {
        static func collection(_ realm: Realm) -> RealmPublishers.Observation<Results<FakeObject>, Never>
        static func array(_ realm: Realm) -> RealmPublishers.Observation<[FakeObject], Never>
        static func changeset(
            _ realm: Realm
        ) -> RealmPublishers.Observation<(Results<FakeObject>, RealmChangeset?), Never>
        static func arrayChangeset(
            _ realm: Realm
        ) -> RealmPublishers.Observation<([FakeObject], RealmChangeset?), Never>
        static func object(_ object: FakeObject) -> RealmPublishers.Observation<FakeObject, ReactiveRealmError>
    }

    private enum Retired: RetiredCalls {
        @available(*, deprecated)
        static func collection(_ realm: Realm) -> RealmPublishers.Observation<Results<FakeObject>, Never> {
            RealmPublishers.from(realm.objects(FakeObject.self))
        }
        @available(*, deprecated)
        static func array(_ realm: Realm) -> RealmPublishers.Observation<[FakeObject], Never> {
            RealmPublishers.arrayFrom(realm.objects(FakeObject.self))
        }
        @available(*, deprecated)
        static func changeset(
            _ realm: Realm
        ) -> RealmPublishers.Observation<(Results<FakeObject>, RealmChangeset?), Never> {
            RealmPublishers.changesetFrom(realm.objects(FakeObject.self))
        }
        @available(*, deprecated)
        static func arrayChangeset(
            _ realm: Realm
        ) -> RealmPublishers.Observation<([FakeObject], RealmChangeset?), Never> {
            RealmPublishers.changesetArrayFrom(realm.objects(FakeObject.self))
        }
        @available(*, deprecated)
        static func object(_ object: FakeObject) -> RealmPublishers.Observation<FakeObject, ReactiveRealmError> {
            RealmPublishers.from(object)
        }
    }

    @Suite("RxRealm's deprecated names")
    struct RetiredNamesTests {
        @Test("Deprecated names publish the same as current names")
        func names() throws {
            let calls: any RetiredCalls.Type = Retired.self
            let stage = try Stage()
            try stage.write { $0.add(FakeObject("1", "a")) }
            let collections = stage.record { calls.collection($0) }
            let arrays = stage.record { calls.array($0) }
            let changesets = stage.record { calls.changeset($0) }
            let arrayChangesets = stage.record { calls.arrayChangeset($0) }
            let objects = stage.record { calls.object($0.objects(FakeObject.self)[0]) }
            try stage.write { realm in
                realm.objects(FakeObject.self)[0].value = "b"
                realm.add(FakeObject("2", "c"))
            }
            #expect(collections.count == 2)
            #expect(arrays.received.map(\.count) == [1, 2])
            #expect(changesets.received.map { $0.1?.inserted } == [nil, [1]])
            #expect(arrayChangesets.received.map { $0.1?.updated } == [nil, [0]])
            #expect(objects.count == 2)
        }
    }
#endif
