// SPDX-License-Identifier: Apache-2.0
// Change sets report which objects have changed, not only their positions.

#if canImport(Combine) || Publishers
    import Foundation
    import Regnum
    import RegnumReactive
    import Testing

    class Runner: Object, ObjectKeyIdentifiable {
        @Persisted var name = ""
        @Persisted var seconds = 0
        @Persisted var team: List<Runner>
        @Persisted var laps: List<Int>

        convenience init(_ name: String, _ seconds: Int) {
            self.init()
            self.name = name
            self.seconds = seconds
        }
    }

    class RunnerProjection: Projection<Runner> {
        @Projected(\Runner.name) var name
    }

    @Suite("Identities in change sets")
    struct ChangedIDsTests {
        let stage: Stage

        init() throws {
            stage = try Stage(
                Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Runner.self]))
            try stage.write { realm in
                for (i, name) in ["ann", "bob", "cec", "dan", "eve"].enumerated() { realm.add(Runner(name, 10 * i)) }
                let all = realm.objects(Runner.self)
                all[0].team.append(objectsIn: Array(all.dropFirst()))
            }
        }

        /// The ways of observing the runners.
        enum Kind: CaseIterable {
            case all, sorted, filtered, distinct, list, sortedList, projected

            /// The visible ids, with each change set.
            func observe(_ realm: Realm, _ take: @escaping ([UInt64], RealmChangeset?) -> Void) -> AnyCancellable {
                func on<C: RealmCollection>(_ collection: C, id: @escaping (C.Element) -> UInt64) -> AnyCancellable {
                    collection.reactive().sink { results in take(results.value.map(id), results.changes) }
                }
                let all = realm.objects(Runner.self)
                let team = all[0].team
                return switch self {
                case .all: on(all, id: \.id)
                case .sorted: on(all.sorted(byKeyPath: "seconds", ascending: false), id: \.id)
                case .filtered: on(all.where { $0.seconds < 1000 }, id: \.id)
                case .distinct: on(all.sorted(byKeyPath: "name").distinct(by: ["name"]), id: \.id)
                case .list: on(team, id: \.id)
                case .sortedList: on(team.sorted(byKeyPath: "seconds"), id: \.id)
                case .projected: on(realm.objects(RunnerProjection.self), id: \.rootObject.id)
                }
            }
        }

        private static let changes: [@Sendable (Realm) -> Void] = [
            { $0.add(Runner("fay", 25)) },
            { $0.objects(Runner.self)[2].name = "cecily" },
            { $0.objects(Runner.self)[4].seconds = 1 },
            { $0.objects(Runner.self)[3].seconds = 2000 },
            { realm in
                realm.delete(realm.objects(Runner.self)[1])
                realm.objects(Runner.self)[0].team.append(realm.objects(Runner.self)[0])
                realm.objects(Runner.self)[2].name = "daniel"
                realm.add(Runner("gus", 3))
            },
            { realm in realm.delete(realm.objects(Runner.self).where { $0.name == "eve" }) },
        ]

        @Test("A change set has the ids of deleted, inserted and updated objects", arguments: Kind.allCases)
        func named(_ kind: Kind) throws {
            var shown: [[UInt64]] = []
            var told: [RealmChangeset] = []
            let token = stage.on { realm in
                kind.observe(realm) { ids, changes in
                    shown.append(ids)
                    changes.map { told.append($0) }
                }
            }
            stage.settle()
            for change in Self.changes { try stage.write(change) }
            token.cancel()
            #expect(told.count == shown.count - 1 && told.count >= 3)
            var names = 0
            for (i, changes) in told.enumerated() {
                let (old, new) = (shown[i], shown[i + 1])
                #expect(changes.deletedIDs == changes.deleted.map { old[$0] }, "\(i)")
                #expect(changes.insertedIDs == changes.inserted.map { new[$0] }, "\(i)")
                #expect(changes.updatedIDs == changes.updated.map { old[$0] }, "\(i)")
                names += changes.deletedIDs.count + changes.insertedIDs.count + changes.updatedIDs.count
            }
            #expect(names >= 4)
        }

        @Test("For a replaced list element, the change set has the id of the new object")
        func replaced() throws {
            let record = stage.record { $0.objects(Runner.self)[0].team.arrayWithChangesetPublisher }
            try stage.write { realm in
                let all = realm.objects(Runner.self)
                all[0].team[1] = all[0]
            }
            let first = stage.on { $0.objects(Runner.self)[0].id }
            #expect(record.received.last?.1?.updated == [1] && record.received.last?.1?.updatedIDs == [first])
        }

        @Test("Values have no ids, and change sets are equal if their positions are")
        func values() throws {
            let record = stage.record { $0.objects(Runner.self)[0].laps.reactive() }
            try stage.write { realm in realm.objects(Runner.self)[0].laps.append(7) }
            let changes = try #require(record.received.last?.changes)
            #expect(changes.insertedIDs.isEmpty && changes == RealmChangeset(deleted: [], inserted: [0], updated: []))
            #expect(
                RealmChangeset(deleted: [1], inserted: [], updated: [], deletedIDs: [9])
                    == RealmChangeset(deleted: [1], inserted: [], updated: []))
            #expect(changes != RealmChangeset(deleted: [], inserted: [1], updated: []))
        }
    }
#endif
