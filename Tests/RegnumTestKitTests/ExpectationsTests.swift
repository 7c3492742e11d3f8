// SPDX-License-Identifier: Apache-2.0
// Expectations on changes and queries, and random operations against a model.

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

@Suite("Expecting cheap queries")
struct ExpectQueryTests {
    private let test: TestRealm

    init() throws {
        test = try TestRealm(KitKeeper.self, KitPet.self, KitHome.self)
        try test.realm.seed {
            for id in 0..<500 { KitKeeper(value: ["id": id, "name": "keeper \(id)"]) }
            for age in 0..<500 { KitPet(value: ["name": "pet \(age)", "age": age]) }
        }
    }

    @Test("A query with an index is within its budget")
    func indexed() {
        let query = test.realm.objects(KitKeeper.self).where { $0.name == "keeper 77" }
        let run = expectQuery(query, usesIndexOn: "name", examinesAtMost: 1, findsAtLeast: 1)
        #expect(run.foundRows == 1)
    }

    @Test("A query that scans all objects exceeds its budget, and the failure shows the plan")
    func scanning() {
        let query = test.realm.objects(KitPet.self).where { $0.name == "pet 77" }
        let texts = issues { expectQuery(query, usesIndexOn: "name", examinesAtMost: 10, findsAtLeast: 0.5) }
        #expect(texts.count == 3)
        #expect(texts.allSatisfy { $0.contains("KitPet where name == \"pet 77\": scan, ") }, "\(texts)")
    }
}

@Suite("Expecting a model")
struct ExpectModelTests {
    /// Counts pets by name; ignores the case of letters if it is wrong.
    private struct Counter {
        let realm: Realm
        var isWrong = false

        func add(_ name: String) throws {
            try realm.write {
                if let pet = realm.objects(KitPet.self).filter("name ==\(isWrong ? "[c]" : "") %@", name).first {
                    pet.age += 1
                } else {
                    realm.create(KitPet.self, value: ["name": name, "age": 1])
                }
            }
        }

        var counts: [String: Int] {
            Dictionary(uniqueKeysWithValues: realm.objects(KitPet.self).map { ($0.name, $0.age) })
        }
    }

    private func run(_ operations: [RandomOperation<Counter, [String: Int]>] = [], isWrong: Bool) {
        expectModel(
            seeds: [1, 2], steps: 60,
            make: {
                let configuration = Realm.Configuration(
                    inMemoryIdentifier: UUID().uuidString, objectTypes: [KitKeeper.self, KitPet.self, KitHome.self])
                return Counter(realm: try Realm(configuration: configuration), isWrong: isWrong)
            }, model: [:],
            operations: [
                RandomOperation("add", weight: 5) { counter, model, random in
                    let name = String("abcAB".randomElement(using: &random) ?? "a")
                    try counter.add(name)
                    model[name, default: 0] += 1
                },
                RandomOperation("clear") { counter, model, _ in
                    try counter.realm.write { counter.realm.deleteAll() }
                    model = [:]
                },
            ] + operations, agree: { $0.counts == $1 })
    }

    @Test("Code that matches its model passes")
    func agreeing() { #expect(issues { run(isWrong: false) } == []) }

    @Test("Code that does not match fails with a short list of operations and the seed")
    func shortened() {
        let texts = issues { run(isWrong: true) }
        #expect(texts.count == 2)
        #expect(texts.first?.contains("with seed 1") == true)
        #expect(texts.allSatisfy { $0.contains("these are enough: add, add.") }, "\(texts)")
    }

    @Test("Errors and misuse count as failures too")
    func failing() {
        let misuse = RandomOperation<Counter, [String: Int]>("misuse") { counter, _, _ in
            counter.realm.add(KitPet())
        }
        #expect(issues { run([misuse], isWrong: false) }.allSatisfy { $0.contains("misuse: Can only add") })
        let error = RandomOperation<Counter, [String: Int]>("error") { _, _, _ in throw Refusal() }
        #expect(
            issues { run([error], isWrong: false) }.allSatisfy {
                $0.contains("threw Refusal()") && $0.contains("these are enough: error.")
            })
    }
}
