// SPDX-License-Identifier: Apache-2.0
// Expectations on the changes that observers get.

import Foundation
import Regnum
import RegnumTestKit
import Testing

@Suite("Expecting changes")
struct ExpectChangesTests {
    private let test: TestRealm
    private var realm: Realm { test.realm }

    init() throws {
        test = try TestRealm(KitKeeper.self, KitPet.self, KitHome.self)
        try test.realm.seed {
            for age in 1...3 { KitPet(value: ["name": "pet \(age)", "age": age]) }
            KitKeeper(value: ["id": 1, "scores": ["a": 1]])
        }
    }

    @Test("Changes of results are delivered without waiting, on a thread without a run loop")
    func results() throws {
        let old = realm.objects(KitPet.self).where { $0.age > 1 }.sorted(byKeyPath: "age")
        #expect(try expectChanges(on: old) {} == .nothing)
        #expect(
            try expectChanges(on: old) { try realm.seed { KitPet(value: ["age": 9]) } } == .update(insertions: [2]))
        let changes = try expectChanges(on: old) {
            try realm.write {
                realm.delete(old[0])
                old[1].name = "renamed"
            }
        }
        // Positions in the old collection, as in RealmSwift.
        #expect(changes == .update(deletions: [0], modifications: [2]))
        #expect(changes.description == "update: deletions [0] modifications [2]")
        #expect(try expectChanges(on: old, keyPaths: ["age"]) { try realm.write { old[0].name = "x" } } == .nothing)
    }

    @Test("Commits of another thread are visible when the block has ended")
    func otherThread() throws {
        let configuration = test.configuration
        try expectChanges(on: realm.objects(KitPet.self), .update(insertions: [3])) {
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                try? Realm(configuration: configuration).seed { KitPet() }
                done.signal()
            }
            done.wait()
        }
    }

    @Test("Changes of objects, lists and maps can be expected")
    func others() throws {
        let pet = realm.objects(KitPet.self)[0]
        let keeper = realm.objects(KitKeeper.self)[0]
        try expectChanges(on: pet, .properties("name", "age")) {
            try realm.write {
                pet.age = 4
                pet.name = "x"
            }
        }
        try expectChanges(on: keeper.pets, .update(insertions: [0])) { try realm.write { keeper.pets.append(pet) } }
        try expectChanges(on: keeper.scores, .keys(deletions: ["a"], insertions: ["b"])) {
            try realm.write {
                keeper.scores["a"] = nil
                keeper.scores["b"] = 2
            }
        }
        try expectChanges(on: pet, .deleted) { try realm.write { realm.delete(pet) } }
    }

    @Test("Unexpected changes are a failure that names both sets of changes")
    func different() {
        let texts = issues {
            try expectChanges(on: realm.objects(KitPet.self), .nothing) { try realm.write { realm.deleteAll() } }
        }
        #expect(texts == ["Expected the changes nothing, got update: deletions [0, 1, 2]."])
    }

    @Test("On a thread without a run loop, observers are called when the expectation runs")
    func delivering() throws {
        _ = try expectChanges(on: realm.objects(KitPet.self)) {}
        var counts: [Int] = []
        let token = realm.objects(KitPet.self).observe { change in
            if case .update(let pets, _, _, _) = change { counts.append(pets.count) }
        }
        realm.deliverNotifications()
        try realm.seed { KitPet() }
        #expect(counts == [])
        realm.deliverNotifications()
        #expect(counts == [4])
        token.invalidate()
    }
}
