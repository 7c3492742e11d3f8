// SPDX-License-Identifier: Apache-2.0
// A model may use any name for its members: no internal name of the library may conflict with another module.

import Foundation
import RealmSwift
import Testing

enum MemberModels {
    class Stored: Object {
        @Persisted var key = 1
        @Persisted var epoch = 2
        @Persisted var row = 3
        @Persisted var columns = "columns"
        @Persisted var holder: Stored?
        @Persisted var context = "context"
        @Persisted var state = "state"
        @Persisted var table = "table"
        @Persisted var binding = "binding"
        @Persisted var limit = 10
        @Persisted var first = "first"
        @Persisted var last = "last"
        @Persisted var count = 11
        @Persisted var snapshot = "snapshot"
        @Persisted var explain = true
        @Persisted var detached = false
        @Persisted var core = 12
        @Persisted var session = 13
        @Persisted var schema = "schema"
        @Persisted var rowKey = 14
        @Persisted var rowEpoch = 15
        @Persisted var rowNumber = 16
        @Persisted var rowColumns = 17
        @Persisted var rowContext = 18
        @Persisted var rowHolder = "h"
        @Persisted var index = 19
        @Persisted var value = 20
        @Persisted var name = "name"
        @Persisted var type = "type"
        @Persisted var values: List<Int>
        @Persisted var min = 21
        @Persisted var max = 22
        @Persisted var path = "path"
        @Persisted var node = "node"
        @Persisted var id = 23
    }

    /// Computed members and functions of the same names.
    class Computed: Object {
        @Persisted var x = 5
        var key: Int { x + 1 }
        var count: Int { x + 2 }
        var first: String { "one" }
        func snapshot() -> Int { x }
        var changes: Int { x + 3 }
        func observe() -> String { "mine" }
        func detached() -> Computed { Computed(value: ["x": x]) }
        func limit(_ count: Int) -> Int { count }
        func explain() -> String { "because" }
        func resolve() -> Int { 7 }
        func requireValid() -> Int { 8 }
        static func isKind(of name: String) -> Bool { name == "Computed" }
        var core: String { "core" }
        var binding: String { "binding" }
        var isTraced: String { "traced" }
    }
}

extension Object {
    /// As declared by many projects.
    func detachedCopy() -> Self {
        let copy = Self()
        copy.setValue(value(forKey: "x"), forKey: "x")
        return copy
    }
}

extension Results {
    fileprivate func limit(_ count: Int) -> [Element] { Array(prefix(count)) }
    func snapshot() -> [Element] { Array(self) }
    fileprivate func snapshots() -> Int { count }
    fileprivate func changes() -> String { "mine" }
    fileprivate func explain() -> String { "mine" }
    var state: String { "mine" }
    var binding: String { "mine" }
}

extension List {
    func detached() -> [Element] { Array(self) }
    func snapshot() -> [Element] { Array(self) }
    var items: String { "mine" }
    var place: String { "mine" }
}

/// Members of protocol extensions, which are overloads of the library's members.
extension RealmCollection {
    fileprivate func offset(_ count: Int) -> [Element] { Array(dropFirst(count)) }
    fileprivate func detached() -> [Element] { Array(self) }
}

extension Sequence {
    fileprivate func explain() -> String { "sequence" }
}

extension RealmCollectionValue {
    fileprivate func changes() -> String { "value" }
}

extension Realm {
    func snapshot() -> String { "mine" }
    fileprivate func changes() -> String { "mine" }
    var core: String { "mine" }
    fileprivate static var onDamage: String { "mine" }
}

extension Realm.Configuration {
    fileprivate var verify: String { "mine" }
}

@Suite("Members that a model declares")
struct UserMemberNamesTests {
    @Test("Stored properties with any name can be stored, read, filtered and sorted")
    func stored() throws {
        let realm = try memoryRealm(MemberModels.Stored.self)
        let object = MemberModels.Stored()
        object.holder = object
        object.row = 33
        try realm.write {
            realm.add(object)
            object.key = 40
            object.rowKey = 41
            object.epoch = 42
            object.values.append(objectsIn: [1, 2])
        }
        let found = try #require(
            realm.objects(MemberModels.Stored.self).where { $0.key == 40 && $0.row == 33 }.first)
        #expect(found.rowKey == 41 && found.epoch == 42 && found.columns == "columns" && found.rowEpoch == 15)
        #expect(found.holder?.isSameObject(as: object) == true)
        #expect(found.context == "context" && found.binding == "binding" && found.table == "table")
        #expect(found.count == 11 && found.first == "first" && found.limit == 10 && found.explain)
        for name in [
            "key", "row", "epoch", "count", "state", "table", "limit", "first", "index", "value", "type",
            "min", "max", "id", "snapshot", "explain", "columns", "rowNumber",
        ] {
            #expect(
                realm.objects(MemberModels.Stored.self).filter("\(name) == \(name)").count == 1, "\(name)")
            #expect(realm.objects(MemberModels.Stored.self).sorted(byKeyPath: name).count == 1)
        }
        #expect(
            realm.objects(MemberModels.Stored.self).where {
                $0.count == 11 && $0.min == 21 && $0.path == "path"
            }.count == 1)
        #expect(
            realm.objects(MemberModels.Stored.self).where { $0.node == "node" && $0.values.count == 2 }.count
                == 1)
    }

    @Test("Computed members and functions of a model have precedence over the library's")
    func computed() throws {
        let realm = try memoryRealm(MemberModels.Computed.self)
        let object = MemberModels.Computed()
        try realm.write { realm.add(object) }
        #expect(object.key == 6 && object.count == 7 && object.first == "one" && object.snapshot() == 5)
        #expect(object.detached().realm == nil && object.limit(3) == 3 && object.explain() == "because")
        #expect(object.changes == 8 && object.observe() == "mine")
        #expect(object.resolve() == 7 && object.requireValid() == 8 && object.core == "core")
        #expect(object.binding == "binding" && object.isTraced == "traced")
        #expect(MemberModels.Computed.isKind(of: "Computed"))
        #expect(object.detachedCopy().x == 5)
    }

    @Test("Extensions of the library's types may use any name")
    func extensions() throws {
        let realm = try memoryRealm(MemberModels.Stored.self)
        try realm.write {
            for _ in 0..<3 { realm.add(MemberModels.Stored()) }
        }
        let results = realm.objects(MemberModels.Stored.self)
        #expect(results.limit(2).count == 2 && results.snapshot().count == 3)
        #expect(results.snapshots() == 3 && results.changes() == "mine")
        #expect(results.explain() == "mine" && results.state == "mine" && results.binding == "mine")
        #expect(realm.snapshot() == "mine" && realm.core == "mine")
        #expect(results[0].values.detached().isEmpty && results[0].values.items == "mine")
        #expect(results[0].values.place == "mine" && results[0].values.snapshot().isEmpty)
    }

    @Test("Extensions of protocols have precedence without a type annotation")
    func protocolExtensions() throws {
        let realm = try memoryRealm(MemberModels.Stored.self)
        try realm.write { realm.create(MemberModels.Stored.self, value: ["values": [1, 2, 3]]) }
        let object = try #require(realm.objects(MemberModels.Stored.self).first)
        let rest = object.values.offset(2)
        #expect(type(of: rest) == [Int].self && rest == [3])
        let objects = realm.objects(MemberModels.Stored.self).detached()
        #expect(objects.first?.realm == realm)
        #expect(object.values.explain() == "sequence" && object.changes() == "value" && realm.changes() == "mine")
    }

    @Test("A generic function can read the class name of what it fetches")
    func fetchables() {
        func name<T: RealmFetchable>(_ type: T.Type) -> String { type.className() }
        class StoredView: Projection<MemberModels.Stored> {}
        let stored = MemberModels.Stored.className()
        #expect(stored.hasSuffix("Stored") && name(MemberModels.Stored.self) == stored)
        #expect(name(StoredView.self) == stored)
    }
}
