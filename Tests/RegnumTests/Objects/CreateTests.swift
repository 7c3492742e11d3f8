// SPDX-License-Identifier: Apache-2.0
// Adding and creating with update policies.

import Foundation
import Testing

@testable import Regnum

@Suite("Creating and updating")
struct CreateTests {
    @Test("Missing keys take the defaults of the class, and an update leaves their stored values unchanged")
    func missingKeys() throws {
        let realm = try makeRealm()
        try realm.write {
            let hound = realm.create(
                Hound.self, value: ["id": 1, "nick": "n", "mood": "lively"] as [String: Any])
            #expect(hound.name == "Rex" && hound.nick == "n" && hound.realm == realm)
            let same = realm.create(
                Hound.self, value: ["id": 1, "name": "Bo"] as [String: Any], update: .modified)
            #expect(same == hound && hound.name == "Bo" && hound.nick == "n" && hound.mood == .lively)
            realm.create(Hound.self, value: ["id": 1, "nick": NSNull()] as [String: Any], update: .all)
            #expect(hound.nick == nil && realm.objects(Hound.self).count == 1)
        }
    }

    @Test("Nested dictionaries create and update objects with the same policy")
    func nested() throws {
        let realm = try makeRealm()
        try realm.write {
            let keeper = realm.create(
                Keeper.self,
                value: [
                    "name": "Ann", "best": ["id": 1], "hounds": [["id": 2, "name": "Two"], ["id": 3]],
                    "words": ["a"],
                ] as [String: Any])
            #expect(
                keeper.best?.id == 1 && keeper.hounds.map(\.id).sorted() == [2, 3]
                    && Array(keeper.words) == ["a"])
            let hound = realm.create(
                Hound.self, value: ["id": 2, "nick": "x", "master": keeper] as [String: Any],
                update: .modified)
            #expect(
                keeper.hounds[0].nick == "x" && hound.name == "Two"
                    && hound.master?.isSameObject(as: keeper) == true)
            #expect(realm.objects(Keeper.self).count == 1 && realm.objects(Hound.self).count == 3)
        }
    }

    @Test(
        "Adding with a policy updates the object with the same primary key",
        arguments: [
            Realm.UpdatePolicy.modified, .all,
        ])
    func addUpdate(_ policy: Realm.UpdatePolicy) throws {
        let realm = try makeRealm()
        try realm.write {
            let first = Hound(value: ["id": 1, "nick": "n"] as [String: Any])
            realm.add(first)
            let second = Hound(value: ["id": 1, "name": "new"] as [String: Any])
            let keeper = Keeper()
            second.master = keeper
            keeper.hounds.append(second)
            realm.add(second, update: policy)
            #expect(first.name == "new" && first.nick == nil && first.isSameObject(as: second))
            #expect(first.master?.hounds.count == 1 && realm.objects(Hound.self).count == 1)
        }
    }

    @Test("`.modified` writes only what differs, `.all` writes everything")
    func modified() throws {
        let realm = try makeRealm()
        try realm.write {
            realm.add(Hound(value: ["id": 1, "nick": "n"] as [String: Any]))
            var before = realm.core.changeCount
            realm.add(Hound(value: ["id": 1, "nick": "n"] as [String: Any]), update: .modified)
            #expect(realm.core.changeCount == before)
            before = realm.core.changeCount
            realm.add(Hound(value: ["id": 1, "nick": "n"] as [String: Any]), update: .all)
            #expect(realm.core.changeCount != before)
        }
    }

    @Test("Objects of another Realm are copied with their linked objects, including cycles")
    func copies() throws {
        let source = try makeRealm()
        let target = try makeRealm()
        let keeper = Keeper(value: ["name": "Ann"])
        let hound = Hound(value: ["id": 1])
        hound.master = keeper
        keeper.best = hound
        keeper.hounds.append(hound)
        try source.write { source.add(keeper) }
        try target.write {
            let copy = target.create(Keeper.self, value: keeper)
            #expect(
                copy.realm == target && copy.best?.master?.isSameObject(as: copy) == true
                    && copy.hounds.count == 1)
        }
        #expect(target.objects(Hound.self).count == 1 && keeper.realm == source)
    }

    @Test("An object of the same Realm without a primary key is copied, and its links are shared")
    func sameRealm() throws {
        let realm = try makeRealm()
        try realm.write {
            let keeper = realm.create(
                Keeper.self, value: ["name": "Ann", "best": ["id": 1]] as [String: Any])
            let copy = realm.create(Keeper.self, value: keeper)
            #expect(!copy.isSameObject(as: keeper) && copy.name == "Ann")
            #expect(copy.best?.isSameObject(as: keeper.best) == true && realm.objects(Hound.self).count == 1)
        }
    }

    @Test("The error of a refused add names the cause")
    func refusals() async {
        let duplicate = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try makeRealm()
            try realm.write {
                realm.add(Hound(value: ["id": 4]))
                realm.add(Hound(value: ["id": 4]))
            }
        }
        #expect(
            MisuseTests.words(duplicate).contains(
                "Attempting to create an object of type 'Hound' with an existing primary key value '4'."))
        let noKey = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try makeRealm()
            try realm.write { realm.add(Keeper(), update: .all) }
        }
        #expect(
            MisuseTests.words(noKey).contains("'Keeper' does not have a primary key and can not be updated"))
        let many = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Tagged(value: ["a", "b"])
        }
        #expect(MisuseTests.words(many).contains("Invalid array input: more values (2) than properties (1)."))
        let unknown = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try makeRealm([Tagged.self, TagHolder.self])
            _ = realm.objects(Keeper.self).count
        }
        #expect(MisuseTests.words(unknown).contains("Object type 'Keeper' is not managed by the Realm."))
        let subset = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try makeRealm([Keeper.self])
        }
        #expect(
            MisuseTests.words(subset).contains(
                "Invalid class subset list:\n- 'Keeper.hounds' links to class 'Hound'"))
    }
}
