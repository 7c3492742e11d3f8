// SPDX-License-Identifier: Apache-2.0
// The order of effects of `create` and `dynamicCreate` with nested values, of the deinitialisation of unmanaged
// objects, and copies of values whose objects exist only while they are copied.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum Nesting {
    /// Stored as an embedded object with a list of values of the same type.
    struct Tree: CustomPersistable, Equatable {
        var name: String
        var children: [Tree] = []

        init(_ name: String, _ children: [Tree] = []) {
            self.name = name
            self.children = children
        }
        init(persistedValue: TreeForm) {
            name = persistedValue.name
            children = Array(persistedValue.children)
        }
        var persistableValue: TreeForm {
            let form = TreeForm()
            form.name = name
            form.children.append(objectsIn: children)
            return form
        }

        static func complete(_ name: String, _ levels: Int) -> Tree {
            Tree(name, levels == 0 ? [] : (0..<4).map { complete("\(name).\($0)", levels - 1) })
        }
    }

    class TreeForm: EmbeddedObject {
        @Persisted var name = ""
        @Persisted var children: List<Tree>
    }

    class Forest: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var tree = Tree("")
        @Persisted var trees: List<Tree>
    }

    class Node: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var text = ""
        @Persisted var next: Node?
        @Persisted var list: List<Node>
        @Persisted var map: Map<String, Node?>
    }

    /// Declared instead of `Node` in a Realm in which `Node` is dynamic.
    class Other: Object {
        @Persisted var number = 0
    }
}

@Suite("Order of creation") struct CreationOrderTests {
    @Test("Values of custom types that contain values of their own type are created whole, however often")
    func customTrees() throws {
        let realm = try memoryRealm(Nesting.Forest.self, Nesting.TreeForm.self)
        let tree = Nesting.Tree.complete("a", 3)
        try realm.write {
            for id in 0..<30 {
                realm.create(Nesting.Forest.self, value: ["id": id, "tree": tree, "trees": [tree, tree]])
            }
        }
        for forest in realm.objects(Nesting.Forest.self) {
            #expect(forest.tree == tree)
            #expect(Array(forest.trees) == [tree, tree])
        }
    }

    /// A random value for a node, with keys that occur several times.
    private static func value(_ random: inout some RandomNumberGenerator, _ levels: Int) -> [String: Any] {
        var value: [String: Any] = [
            "id": Int.random(in: 0..<5, using: &random), "text": "\(Int.random(in: 0..<1000, using: &random))",
        ]
        if levels == 0 { return value }
        if Bool.random(using: &random) { value["next"] = self.value(&random, levels - 1) }
        if Bool.random(using: &random) {
            value["list"] = (0..<Int.random(in: 0..<4, using: &random)).map { _ in self.value(&random, levels - 1) }
        }
        if Bool.random(using: &random) { value["map"] = ["a": self.value(&random, levels - 1)] }
        return value
    }

    @Test("Objects of an undeclared class get the same values as objects of a declared one, even for repeated keys")
    func repeatedKeys() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<40 {
            let value = Self.value(&random, 4)
            let typed = try memoryRealm(Nesting.Node.self)
            try typed.write { _ = typed.create(Nesting.Node.self, value: value, update: .all) }
            let expected = typed.objects(Nesting.Node.self).sorted(byKeyPath: "id").map { node in
                let map = node.map.map { "\($0.key)\($0.value?.id ?? -1)" }
                return "\(node.id) \(node.text) \(node.next?.id ?? -1) \(Array(node.list.map(\.id))) \(map)"
            }
            try withFile([Nesting.Node.self]) { configuration in
                try autoreleasepool { _ = try Realm(configuration: configuration) }
                var configuration = configuration
                configuration.objectTypes = [Nesting.Other.self]
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.dynamicCreate("Nesting_Node", value: value, update: .all) }
                let found = realm.dynamicObjects("Nesting_Node").sorted(byKeyPath: "id").map { node -> String in
                    let next = (node["next"] as? DynamicObject)?["id"] as? Int ?? -1
                    let list = node.dynamicList("list").map { $0["id"] as? Int ?? -2 }
                    let map = node.dynamicMap("map").map { "\($0.key)\($0.value?["id"] as? Int ?? -1)" }
                    return "\(node["id"] ?? -3) \(node["text"] ?? "?") \(next) \(Array(list)) \(map)"
                }
                #expect(Array(found) == Array(expected), "\(value)")
            }
        }
    }
}

// MARK: Deinitialisation

/// The names of deinitialised objects, in order.
private final class Deinitialised {
    nonisolated(unsafe) static var names: [String] = []
}

class OrderedObject: Object {
    @Persisted var name = ""
    @Persisted var first: OrderedObject?
    @Persisted var rest: List<OrderedObject>
    @Persisted var last: OrderedObject?
    deinit { Deinitialised.names.append(name) }
}

/// The same in plain Swift.
private final class PlainOrdered {
    let name: String
    var first: PlainOrdered?
    var rest: [PlainOrdered] = []
    var last: PlainOrdered?
    init(_ name: String) { self.name = name }
    deinit { Deinitialised.names.append(name) }
}

class UnownedList: Object {
    @Persisted var name = ""
    unowned var owner: List<OrderedObject>
    required init() { owner = UnownedList.shared }
    override class func ignoredProperties() -> [String] { ["owner"] }
    nonisolated(unsafe) static let shared = List<OrderedObject>()
}

extension CreationOrderTests {
    private static func object(_ name: String, _ levels: Int) -> OrderedObject {
        let object = OrderedObject()
        object.name = name
        if levels == 0 { return object }
        object.first = Self.object(name + "f", levels - 1)
        object.rest.append(objectsIn: [Self.object(name + "r", levels - 1), Self.object(name + "s", levels - 1)])
        object.last = Self.object(name + "l", levels - 1)
        return object
    }

    private static func plain(_ name: String, _ levels: Int) -> PlainOrdered {
        let object = PlainOrdered(name)
        if levels == 0 { return object }
        object.first = plain(name + "f", levels - 1)
        object.rest = [plain(name + "r", levels - 1), plain(name + "s", levels - 1)]
        object.last = plain(name + "l", levels - 1)
        return object
    }

    @Test("Unmanaged objects are deinitialised in the order of plain Swift objects, each within its owner")
    func deinitialisation() {
        Deinitialised.names = []
        do { withExtendedLifetime(Self.plain("a", 3)) {} }
        let expected = Deinitialised.names
        #expect(expected.count == 1 + 4 + 16 + 64)
        Deinitialised.names = []
        do { withExtendedLifetime(Self.object("a", 3)) {} }
        #expect(Deinitialised.names == expected)
    }

    @Test("An ignored property that does not own its list does not release it")
    func unownedList() {
        for _ in 0..<100 { withExtendedLifetime(UnownedList()) {} }
        UnownedList.shared.append(OrderedObject())
        #expect(UnownedList.shared.count == 1)
    }

    @Test("Unmanaged lists of any values that contain themselves can be compared")
    func endlessValues() {
        func endless(_ last: Int) -> AnyRealmValue {
            let list = List<AnyRealmValue>()
            list.append(.list(list))
            list.append(.int(last))
            return .list(list)
        }
        #expect(endless(1) == endless(1))
        #expect(endless(1) != endless(2))
    }
}
