// SPDX-License-Identifier: Apache-2.0
// Random operations against a model.

import Foundation
import Regnum
import RegnumTestKit
import Testing

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
        #expect(texts.allSatisfy { $0.contains("these are sufficient: add, add.") }, "\(texts)")
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
                $0.contains("threw Refusal()") && $0.contains("these are sufficient: error.")
            })
    }
}
