// SPDX-License-Identifier: Apache-2.0
// Key paths through collections that are plain fields (`let items = List<Item>()`), and through elements of
// collections.

import Foundation
import RealmSwift
import Testing

@Suite("Key paths through fields and elements") struct LetCollectionKeyPathTests {
    class Part: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name: String?
        @Persisted var parts: List<Part>
        @Persisted(originProperty: "parts") var wholes: LinkingObjects<Part>
    }

    class Old: Object {
        @Persisted var id: Int
        let items = List<Part>()
        let words = List<String>()
        let set = MutableSet<Part>()
        let numbers = MutableSet<Int>()
        let map = Map<String, Part?>()
        let scores = Map<String, Int>()
        let age = RealmProperty<Int?>()
        let size = RealmProperty<Double?>()
        let others = List<Old>()
        let owners = LinkingObjects(fromType: Old.self, property: "others")
    }

    static func realm() throws -> Realm {
        let realm = try memoryRealm(Part.self, Old.self)
        try realm.write {
            let parts = (1...3).map { realm.create(Part.self, value: ["id": $0, "name": "p\($0)"] as [String: Any]) }
            for number in 1...3 {
                let old = Old()
                old.id = number
                old.items.append(objectsIn: parts.prefix(number - 1))
                old.words.append(objectsIn: ["w", "x", "y"].prefix(number - 1))
                old.set.insert(objectsIn: parts.prefix(number - 1))
                old.numbers.insert(objectsIn: 0..<number - 1)
                old.map["k"] = number > 1 ? parts[number - 1] : nil
                old.scores["k"] = number
                old.age.value = number == 1 ? nil : number
                old.size.value = number == 1 ? nil : Double(number)
                realm.add(old)
            }
            let all = realm.objects(Old.self)
            all[0].others.append(all[1])
        }
        return realm
    }

    @Test("Key paths have the names of their properties")
    func names() {
        #expect(_name(for: \Old.items) == "items" && _name(for: \Old.items[0].name) == "items.name")
        #expect(_name(for: \Old.items.count) == "items" && _name(for: \Old.items.first?.name) == "items.name")
        #expect(_name(for: \Old.items.last?.parts[1].name) == "items.parts.name")
        #expect(_name(for: \Old.words) == "words" && _name(for: \Old.words.isEmpty) == "words")
        #expect(_name(for: \Old.set) == "set" && _name(for: \Old.set[0].id) == "set.id")
        #expect(_name(for: \Old.numbers) == "numbers" && _name(for: \Old.scores) == "scores")
        #expect(_name(for: \Old.map) == "map" && _name(for: \Old.map["k"]) == "map")
        #expect(_name(for: \Old.age) == "age" && _name(for: \Old.age.value) == "age")
        #expect(_name(for: \Old.size) == "size" && _name(for: \Old.size.value) == "size")
        #expect(_name(for: \Old.others) == "others" && _name(for: \Old.others[0].items) == "others.items")
        #expect(_name(for: \Old.others[0].items[0].wholes) == "others.items.wholes")
        #expect(_name(for: \Old.owners) == "owners" && _name(for: \Old.owners[0].id) == "owners.id")
        #expect(_name(for: \Old.owners.first?.words) == "owners.words" && _name(for: \Old.owners.count) == "owners")
        #expect(_name(for: \Part.wholes) == "wholes" && _name(for: \Part.wholes[0].name) == "wholes.name")
        #expect(_name(for: \Part.wholes.last?.wholes[2].name) == "wholes.wholes.name")
        #expect(_name(for: \Part.parts[0].wholes[0].id) == "parts.wholes.id")
    }

    @Test("Queries follow key paths through plain fields and elements")
    func conditions() throws {
        let all = try Self.realm().objects(Old.self)
        #expect(all.where { $0.items.count > 0 }.map(\.id) == [2, 3])
        #expect(all.where { $0.items.name == "p2" }.map(\.id) == [3])
        #expect(all.where { ($0.items.id > 0).count == 1 }.map(\.id) == [2])
        #expect(all.where { $0.words.contains("x") }.map(\.id) == [3])
        #expect(all.where { $0.words.count == 0 }.map(\.id) == [1])
        #expect(all.where { $0.set.id == 1 }.map(\.id) == [2, 3])
        #expect(all.where { $0.numbers.contains(1) }.map(\.id) == [3])
        #expect(all.where { $0.numbers.max == 0 }.map(\.id) == [2])
        #expect(all.where { $0.scores["k"] == 2 }.map(\.id) == [2])
        #expect(all.where { $0.map.values == nil }.map(\.id) == [1])
        #expect(all.where { $0.others.items.id == 1 }.map(\.id) == [1])
        #expect(all.where { $0.owners.count == 1 }.map(\.id) == [2])
        #expect(all.where { $0.owners.id == 1 }.map(\.id) == [2])
        #expect(all.sorted(by: \.age.value, ascending: false).map(\.id) == [3, 2, 1])
        #expect(all.sorted(by: [SortDescriptor(keyPath: \Old.size.value)]).map(\.id) == [1, 2, 3])
        #expect(all.max(of: \.age.value) == 3)
    }

    @MainActor @Test("Observers with key paths are notified of changes that the paths lead to")
    func observed() async throws {
        let realm = try Self.realm()
        let all = realm.objects(Old.self)
        let part = try #require(realm.object(ofType: Part.self, forPrimaryKey: 1))
        try realm.write { part.parts.append(try! #require(realm.object(ofType: Part.self, forPrimaryKey: 2))) }
        let last = part.parts[0]
        func told(_ paths: [PartialKeyPath<Old>], _ change: () -> Void) async throws -> Bool {
            var (isTold, isReady, isOver) = (false, false, false)
            let parts = realm.objects(Part.self)
            let tokens = [
                all.observe(keyPaths: paths) { change in
                    if case .update = change { isTold = true }
                },
                // Called in the same turn, because the write also adds a part.
                parts.observe { change in
                    if case .update = change { isOver = true } else { isReady = true }
                },
            ]
            defer { for token in tokens { token.invalidate() } }
            while !isReady { try await Task.sleep(for: .milliseconds(1)) }
            try realm.write {
                change()
                realm.create(Part.self, value: ["id": 100 + parts.count])
            }
            while !isOver { try await Task.sleep(for: .milliseconds(1)) }
            return isTold
        }
        #expect(try await told([\Old.items]) { all[0].items.append(part) })
        #expect(try await told([\Old.items[0].name]) { part.name = "new" })
        #expect(try await !told([\Old.items]) { all[0].age.value = 9 })
        #expect(try await told([\Old.age]) { all[0].age.value = 10 })
        #expect(try await told([\Old.scores]) { all[0].scores["z"] = 1 })
        #expect(try await told([\Old.numbers]) { all[0].numbers.insert(77) })
        #expect(try await told([\Old.owners[0].id]) { all[0].id = 11 })
        var names = 0
        let token = last.observe(keyPaths: [\Part.wholes[0].name]) { (_: ObjectChange<Part>) in names += 1 }
        try await Task.sleep(for: .milliseconds(20))
        try realm.write { part.name = "newer" }
        while names == 0 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(names == 1)
        token.invalidate()
    }
}
