// SPDX-License-Identifier: Apache-2.0
// Lists: unmanaged and managed lists behave alike.

import Foundation
import Testing

@testable import Regnum

@Suite("Lists")
struct ListTests {
    /// A keeper, managed or not, and a closure that changes it.
    static func with(_ managed: Bool, _ body: (Keeper) throws -> Void) throws {
        let keeper = Keeper()
        guard managed else { return try body(keeper) }
        let realm = try makeRealm()
        try realm.write {
            realm.add(keeper)
            try body(keeper)
        }
    }

    @Test("Every mutation of a list of values has the effect that its name says", arguments: [false, true])
    func values(_ managed: Bool) throws {
        try Self.with(managed) { keeper in
            let list = keeper.words
            list.append("b")
            list.append(objectsIn: ["c", "d"])
            list.insert("a", at: 0)
            list.insert(contentsOf: ["x", "y"], at: 4)
            #expect(Array(list) == ["a", "b", "c", "d", "x", "y"])
            list.remove(at: 4)
            list.removeLast()
            list.removeFirst()
            #expect(Array(list) == ["b", "c", "d"])
            list.move(from: 0, to: 2)
            #expect(Array(list) == ["c", "d", "b"])
            list.swapAt(0, 2)
            #expect(Array(list) == ["b", "d", "c"])
            list[1] = "z"
            list.replaceSubrange(0..<1, with: ["1", "2", "3"])
            #expect(
                Array(list) == ["1", "2", "3", "z", "c"] && list.first == "1" && list.last == "c"
                    && list.count == 5)
            list.move(fromOffsets: [0, 3], toOffset: 2)
            #expect(Array(list) == ["2", "1", "z", "3", "c"])
            list.remove(atOffsets: [1, 3])
            #expect(Array(list) == ["2", "z", "c"] && list.index(of: "z") == 1 && list.index(of: "q") == nil)
            list.removeSubrange(...0)
            #expect(Array(list[0..<1]) == ["z"] && list.objects(at: [1]) == ["c"])
            list.removeAll()
            #expect(list.isEmpty && list.first == nil && keeper.words === list)
        }
    }

    @Test("Assigning a list copies its elements and keeps the instance", arguments: [false, true])
    func assignment(_ managed: Bool) throws {
        try Self.with(managed) { keeper in
            let list = keeper.words
            let other = Keeper()
            other.words.append(objectsIn: ["p", "q"])
            keeper.words = other.words
            #expect(keeper.words === list && Array(list) == ["p", "q"])
            keeper.words = keeper.words
            #expect(Array(list) == ["p", "q"])
            other.words.append("r")
            #expect(list.count == 2)
        }
    }

    @Test("A loop runs over the order at its start", arguments: [false, true])
    func snapshot(_ managed: Bool) throws {
        try Self.with(managed) { keeper in
            keeper.words.append(objectsIn: ["a", "b", "c"])
            var seen: [String] = []
            for word in keeper.words {
                seen.append(word)
                keeper.words.append(word + word)
                if word == "a" { keeper.words.removeFirst() }
            }
            #expect(seen == ["a", "b", "c"] && keeper.words.count == 5)
        }
    }

    @Test("Appending an unmanaged object to a managed list adds it")
    func adds() throws {
        let realm = try makeRealm()
        let keeper = Keeper()
        let hound = Hound(value: ["id": 7])
        try realm.write {
            realm.add(keeper)
            keeper.hounds.append(hound)
            keeper.hounds.append(hound)
        }
        #expect(hound.realm == realm && keeper.hounds.count == 2 && keeper.hounds.index(of: hound) == 0)
        #expect(realm.objects(Hound.self).count == 1 && hound.keepers.count == 2)
        var ids: [Int] = []
        for hound in keeper.hounds { ids.append(hound.id) }
        #expect(ids == [7, 7])
        try realm.write { realm.delete(hound) }
        #expect(keeper.hounds.isEmpty)
    }

    @Test("A list outlives its accessor, and is invalidated with its owner")
    func outlives() throws {
        let realm = try makeRealm()
        try realm.write { realm.add(Keeper(value: ["name": "k", "words": ["w"]] as [String: Any])) }
        var list: List<String>?
        do { list = realm.objects(Keeper.self)[0].words }
        #expect(list?[0] == "w" && list?.isInvalidated == false && list?.realm == realm)
        try realm.write { realm.deleteAll() }
        #expect(list?.isInvalidated == true)
    }

    @Test("Unmanaged lists are equal by elements, managed ones by their location")
    func equality() throws {
        let a = List<Int>()
        let b = List<Int>()
        a.append(1)
        #expect(a != b)
        b.append(1)
        #expect(a == b)
        let realm = try makeRealm()
        try realm.write { realm.add(Keeper()) }
        let first = realm.objects(Keeper.self)[0]
        let second = realm.objects(Keeper.self)[0]
        #expect(first.words == second.words && first.words !== second.words)
    }
}
