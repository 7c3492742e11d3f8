// SPDX-License-Identifier: Apache-2.0
// Copies that belong to no Realm, and copies in another Realm.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias Person = Embedding.Person

/// Has every kind of link, and cycles.
class DetachableNode: Object {
    @Persisted var name = ""
    @Persisted var score: Int?
    @Persisted var next: DetachableNode?
    @Persisted var children: List<DetachableNode>
    @Persisted var friends: MutableSet<DetachableNode>
    @Persisted var named: Map<String, DetachableNode?>
    @Persisted var words: List<String?>
    @Persisted var numbers: Map<String, Int>
    @Persisted(originProperty: "next") var before: LinkingObjects<DetachableNode>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite("Detached copies")
struct DetachedCopiesTests {
    /// a -> b -> a, with b in each collection of a.
    private func ring(_ realm: Realm) throws -> DetachableNode {
        try realm.write {
            let b = realm.create(DetachableNode.self, value: ["name": "b", "words": ["w", NSNull()]])
            let a = realm.create(
                DetachableNode.self,
                value: [
                    "name": "a", "score": 3, "next": b, "children": [b, b], "friends": [b],
                    "named": ["k": b, "n": NSNull()], "numbers": ["one": 1],
                ] as [String: Any])
            b.next = a
            return a
        }
    }

    @Test("A detached copy has all values and the same graph of objects, even with cycles")
    func deep() throws {
        let realm = try memoryRealm(DetachableNode.self)
        let copy = try ring(realm).detached()
        let b = try #require(copy.next)
        #expect(copy.realm == nil && b.realm == nil && copy.name == "a" && copy.score == 3)
        #expect(b.next === copy && copy.children.count == 2 && copy.children.allSatisfy { $0 === b })
        #expect(copy.friends.first === b && copy.named["k"] == .some(b) && copy.named["n"] == .some(nil))
        #expect(Array(b.words) == ["w", nil] && b.score == nil && copy.numbers["one"] == 1 && copy.before.isEmpty)
        // The copy is independent: it needs no write, and the Realm does not see its changes.
        copy.name = "changed"
        copy.children.removeAll()
        #expect(realm.objects(DetachableNode.self).filter("name == 'changed'").isEmpty)
        b.next = nil
    }

    @Test("A detached copy omits links beyond the depth", arguments: 0...2)
    func depth(_ depth: Int) throws {
        let realm = try memoryRealm(DetachableNode.self)
        try realm.write {
            realm.create(
                DetachableNode.self,
                value: ["name": "0", "next": ["name": "1", "next": ["name": "2"], "children": [["name": "x"]]]])
        }
        let root = try #require(realm.objects(DetachableNode.self).filter("name == '0'").first)
        let copy = root.detached(depth: depth)
        #expect((copy.next != nil) == (depth > 0) && (copy.next?.next != nil) == (depth > 1))
        #expect(copy.next?.children.count ?? 0 == (depth > 1 ? 1 : 0))
    }

    @Test("Each object of a detached collection is copied to the full depth")
    func depthOfCollections() throws {
        let realm = try memoryRealm(DetachableNode.self)
        try realm.write {
            realm.create(DetachableNode.self, value: ["name": "0", "next": ["name": "1", "next": ["name": "2"]]])
        }
        let copies = realm.objects(DetachableNode.self).sorted(byKeyPath: "name").detached(depth: 1)
        #expect(copies.map { $0.next?.name ?? "-" } == ["1", "2", "-"])
    }

    @Test("A chain of 2000 objects is copied without recursion")
    func longChain() throws {
        let realm = try memoryRealm(DetachableNode.self)
        try realm.write {
            var last: DetachableNode?
            for _ in 0..<2000 { last = realm.create(DetachableNode.self, value: ["next": last as Any]) }
        }
        var node = try #require(realm.objects(DetachableNode.self).last).detached().next
        var count = 1
        while let next = node {
            count += 1
            node = next.next
        }
        #expect(count == 2000)
    }

    @Test("The objects of results are copied together, so shared objects are copied once")
    func results() throws {
        let realm = try memoryRealm(DetachableNode.self)
        let a = try ring(realm)
        let copies = realm.objects(DetachableNode.self).sorted(byKeyPath: "name").detached()
        #expect(copies.map(\.name) == ["a", "b"] && copies[0].next === copies[1] && copies[1].next === copies[0])
        // The depth is given because the tests of member names declare another `detached()` for lists.
        #expect(a.children.detached(depth: 9).allSatisfy { $0.name == "b" && $0.realm == nil })
        copies[1].next = nil
    }

    @Test("Embedded objects are copied, and the copy can be added to another Realm or written back")
    func embedded() throws {
        let realm = try Embedding.realm()
        let other = try Embedding.realm()
        try realm.write { realm.create(Person.self, value: Embedding.rich()) }
        let person = try #require(realm.objects(Person.self).first)
        let copy = person.detached()
        #expect(copy.address?.rooms.first?.closet?.name == "c" && copy.address?.realm == nil)
        try other.write { other.add(copy) }
        #expect(copy.realm == other && Embedding.counts(other) == [3, 2, 4])
        let edited = person.freeze().detached()
        edited.address?.city = "edited"
        try realm.write { realm.add(edited, update: .modified) }
        #expect(person.address?.city == "edited" && Embedding.counts(realm) == [3, 2, 4])
        expectIntegrity(of: realm.configuration)
        expectIntegrity(of: other.configuration)
    }

    @Test("copy(to:) creates or updates the object in the other Realm")
    func copies() throws {
        let realm = try Embedding.realm()
        let other = try Embedding.realm()
        try realm.write { realm.create(Person.self, value: Embedding.rich()) }
        let person = try #require(realm.objects(Person.self).first)
        try other.write {
            let copy = person.copy(to: other)
            #expect(copy.realm == other && copy.address?.city == "Rome" && Embedding.counts(other) == [3, 2, 4])
            #expect(person.copy(to: other, update: .modified) == copy && other.objects(Person.self).count == 1)
        }
        #expect(Embedding.counts(realm) == [3, 2, 4])
    }

    static let refusals: [MisuseCase] = [
        MisuseCase("Object has been deleted or invalidated.") {
            let realm = try Embedding.realm()
            try realm.write {
                let person = realm.create(Person.self, value: ["id": 1])
                realm.delete(person)
                _ = person.detached()
            }
        },
        MisuseCase("A dynamic object cannot be copied to an unmanaged object") {
            let realm = try Embedding.realm()
            try realm.write { realm.create(Person.self, value: ["id": 1]) }
            _ = realm.dynamicObjects(Person.className())[0].detached()
        },
        MisuseCase("in a Realm in a write transaction") {
            Person(value: ["id": 1]).copy(to: try Embedding.realm())
        },
        MisuseCase("with an existing primary key value '1'") {
            let realm = try Embedding.realm()
            try realm.write { realm.create(Person.self, value: ["id": 1]).copy(to: realm) }
        },
    ]

    @Test("Objects that cannot be copied are refused", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}
