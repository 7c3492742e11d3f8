// SPDX-License-Identifier: Apache-2.0
// `.error`, `.modified` and `.all` with nested objects, cycles and null keys.

import Foundation
import RealmSwift
import Testing

private typealias Pet = CreationModels.Pet
private typealias Person = CreationModels.Person
private typealias TextKey = CreationModels.TextKey

enum PolicyModels {
    class Node: Object {
        @Persisted(primaryKey: true) var id: String?
        @Persisted var title = "none"
        @Persisted var rank: Int?
        @Persisted var next: Node?
        @Persisted var children: List<Node>
        @Persisted var marks: List<Int>
    }
}

private typealias Node = PolicyModels.Node

@Suite("Update policies")
struct UpdatePoliciesTests {
    static let updating: [Realm.UpdatePolicy] = [.modified, .all]

    @Test("A property that is missing in the dictionary keeps the stored value", arguments: updating)
    func missing(_ policy: Realm.UpdatePolicy) throws {
        let realm = try memoryRealm(Node.self)
        try realm.write {
            let node = realm.create(
                Node.self,
                value: [
                    "id": "a", "title": "t", "rank": 1, "next": ["id": "b", "rank": 5],
                    "children": [["id": "c"]], "marks": [1],
                ] as [String: Any])
            let same = realm.create(Node.self, value: ["id": "a", "rank": NSNull()], update: policy)
            #expect(same == node && node.title == "t" && node.rank == nil && node.next?.id == "b")
            #expect(node.children.map(\.id) == ["c"] && Array(node.marks) == [1])
            realm.create(
                Node.self, value: ["id": "a", "next": ["id": "b", "title": "B"] as [String: Any]],
                update: policy)
            #expect(node.next?.title == "B" && node.next?.rank == 5)
            realm.create(
                Node.self,
                value: ["id": "a", "children": [["id": "c", "title": "C"], ["id": "d"]], "marks": []],
                update: policy)
            #expect(node.children.map(\.title) == ["C", "none"] && node.marks.isEmpty)
            #expect(realm.objects(Node.self).count == 4)
        }
    }

    @Test(
        "Adding an unmanaged object writes all its values, and nested objects with the same policy",
        arguments: updating)
    func adding(_ policy: Realm.UpdatePolicy) throws {
        let realm = try memoryRealm(Node.self)
        try realm.write {
            realm.create(
                Node.self, value: ["id": "a", "title": "old", "rank": 3, "marks": [9]] as [String: Any])
            realm.create(Node.self, value: ["id": "b", "title": "old"])
            let new = Node(
                value: [
                    "id": "a", "title": "new", "next": ["id": "b", "title": "newer"],
                    "children": [["id": "b", "title": "newest"], ["id": "z"]],
                ] as [String: Any])
            let children = new.children
            realm.add(new, update: policy)
            #expect(new.realm == realm && new.children === children)
            #expect(new.rank == nil && new.marks.isEmpty && children.map(\.id) == ["b", "z"])
            #expect(realm.object(ofType: Node.self, forPrimaryKey: "b")?.title == "newest")
            #expect(realm.objects(Node.self).count == 3)
        }
    }

    @Test("Cycles of unmanaged objects update the existing objects", arguments: updating)
    func circles(_ policy: Realm.UpdatePolicy) throws {
        let realm = try memoryRealm(Node.self)
        func ring(_ title: String) -> Node {
            let nodes = ["a", "b", nil].map { Node(value: ["id": $0 as Any, "title": title]) }
            for index in 0..<3 {
                nodes[index].next = nodes[(index + 1) % 3]
                nodes[index].children.append(objectsIn: nodes)
            }
            return nodes[0]
        }
        for title in ["one", "two"] {
            try realm.write { realm.add(ring(title), update: policy) }
            let all = realm.objects(Node.self)
            #expect(all.count == 3 && all.allSatisfy { $0.title == title && $0.children.count == 3 })
            #expect(all.first?.next?.next?.next == all.first)
        }
        try realm.write { realm.create(Node.self, value: ring("three"), update: policy) }
        #expect(realm.objects(Node.self).count == 3)
        #expect(realm.objects(Node.self).allSatisfy { $0.title == "three" && $0.children.count == 3 })
        #expect(realm.object(ofType: Node.self, forPrimaryKey: nil as String?)?.next?.id == "a")
    }

    @Test("An object that links to itself by key is found again in the same call", arguments: updating)
    func duplicatesInOneCall(_ policy: Realm.UpdatePolicy) throws {
        let realm = try memoryRealm(Node.self)
        try realm.write {
            let node = realm.create(
                Node.self,
                value: [
                    "id": "x", "next": ["id": "x", "title": "inner"],
                    "children": [["id": "x"], ["id": "y"], ["id": "y", "rank": 2]],
                ] as [String: Any], update: policy)
            #expect(realm.objects(Node.self).count == 2)
            #expect(node.next == node && node.title == "inner" && node.children.map(\.id) == ["x", "y", "y"])
            #expect(node.children[1].rank == 2)
        }
    }

    @Test("Adding a managed object of the same Realm leaves it unchanged", arguments: updating)
    func managed(_ policy: Realm.UpdatePolicy) throws {
        let realm = try memoryRealm(Node.self)
        try realm.write {
            let node = realm.create(Node.self, value: ["id": "x", "title": "t"])
            realm.add(node, update: policy)
            realm.add([node, node], update: policy)
            #expect(realm.create(Node.self, value: node, update: policy) == node)
            #expect(node.title == "t" && realm.objects(Node.self).count == 1)
        }
    }

    @Test("If a sequence contains a key twice, the last object wins", arguments: updating)
    func sequence(_ policy: Realm.UpdatePolicy) throws {
        let realm = try memoryRealm(Node.self)
        try realm.write {
            realm.add(
                [Node(value: ["id": "x", "rank": 1]), Node(value: ["id": "x", "rank": 2]), Node(), Node()],
                update: policy)
        }
        #expect(realm.objects(Node.self).map(\.rank) == [2, nil])
    }

    @Test("The policy modified also writes NaN, -0.0 and equal text with other bytes")
    func bits() throws {
        let realm = try memoryRealm(ValueModels.Bare.self, Node.self)
        try realm.write {
            let node = realm.create(Node.self, value: ["id": "x", "title": "\u{e9}"])
            realm.create(Node.self, value: ["id": "x", "title": "e\u{301}"], update: .modified)
            #expect(Array(node.title.utf8) == Array("e\u{301}".utf8))
            let keys = [Node(value: ["id": "\u{e9}"]), Node(value: ["id": "e\u{301}"])]
            realm.add(keys)
            #expect(realm.objects(Node.self).count == 3)
        }
    }
}
