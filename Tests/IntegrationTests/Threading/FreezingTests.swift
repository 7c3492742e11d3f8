// SPDX-License-Identifier: Apache-2.0
// Frozen copies, thawing, thread-safe references and `@ThreadSafe`.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Testing

class Frost: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted(indexed: true) var name = ""
    @Persisted var next: Frost?
    @Persisted var all: List<Frost>
    @Persisted var tags: List<String>
    @Persisted(originProperty: "next") var before: LinkingObjects<Frost>
}

class KeylessFrost: Object {
    @Persisted var name = ""
}

@Suite struct FreezingTests {
    private func open() throws -> Realm {
        let realm = try memoryRealm(Frost.self, KeylessFrost.self)
        try realm.write {
            for id in 0..<20 {
                let frost = Frost(value: ["id": id, "name": "f\(id)"])
                frost.tags.append(objectsIn: ["a", "b\(id)"])
                realm.add(frost)
            }
            let all = realm.objects(Frost.self)
            for frost in all where frost.id > 0 { frost.next = all[frost.id - 1] }
            all[0].all.append(objectsIn: Array(all))
            realm.add(KeylessFrost(value: ["name": "k"]))
        }
        return realm
    }

    /// Runs `body` on another thread and waits for it.
    private func elsewhere<R: Sendable>(_ body: @escaping @Sendable () throws -> R) throws -> R {
        nonisolated(unsafe) var result: Result<R, any Error>?
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            result = Result { try body() }
            done.signal()
        }
        thread.start()
        done.wait()
        return try #require(result).get()
    }

    @Test("A frozen object keeps its values when the live object is changed or deleted")
    func object() throws {
        let realm = try open()
        let live = try #require(realm.object(ofType: Frost.self, forPrimaryKey: 3))
        let frozen = live.freeze()
        #expect(frozen.isFrozen && !live.isFrozen)
        #expect(frozen.realm?.isFrozen == true)
        try realm.write { live.name = "changed" }
        #expect(frozen.name == "f3")
        #expect(frozen.next?.name == "f2")
        #expect(frozen.next?.isFrozen == true)
        #expect(Array(frozen.tags) == ["a", "b3"])
        #expect(frozen.before.first?.id == 4)
        try realm.write { realm.delete(live) }
        #expect(frozen.name == "f3")
        #expect(!frozen.isInvalidated)
        #expect(frozen.thaw() == nil)
        #expect(frozen.freeze() === frozen)
    }

    @Test("Frozen objects of the same version are equal, of different versions unequal")
    func equality() throws {
        let realm = try open()
        let live = try #require(realm.objects(KeylessFrost.self).first)
        let first = live.freeze()
        let second = try #require(realm.objects(KeylessFrost.self).first?.freeze())
        #expect(first == second)
        #expect(first.hash(0) == second.hash(0))
        #expect(first.realm == second.realm)
        try realm.write { live.name = "x" }
        #expect(live.freeze() != first)
        #expect(realm.freeze() == realm.freeze())
        #expect(realm.freeze() != first.realm)
        #expect(realm.thaw() == realm)
        #expect(realm.freeze().thaw() == realm)
    }

    @Test("Frozen collections keep their elements, their order and their queries")
    func collections() throws {
        let realm = try open()
        let sorted = realm.objects(Frost.self).filter("id < 10").sorted(byKeyPath: "name", ascending: false).freeze()
        let list = try #require(realm.object(ofType: Frost.self, forPrimaryKey: 0)).all.freeze()
        let tags = try #require(realm.object(ofType: Frost.self, forPrimaryKey: 0)).tags.freeze()
        let linking = try #require(realm.object(ofType: Frost.self, forPrimaryKey: 0)).before.freeze()
        let any = AnyRealmCollection(realm.objects(Frost.self)).freeze()
        try realm.write { realm.deleteAll() }
        #expect(sorted.map(\.id) == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
        #expect(sorted.isFrozen && sorted.filter("id = 4").isFrozen)
        #expect(sorted.filter("id = 4").first?.name == "f4")
        #expect(list.count == 20 && list.isFrozen && list[7].id == 7)
        #expect(list.sorted(byKeyPath: "id", ascending: false).first?.id == 19)
        #expect(Array(tags) == ["a", "b0"])
        #expect(linking.map(\.id) == [1])
        #expect(any.count == 20)
        #expect(list.thaw() == nil)
        #expect(sorted.thaw()?.count == 0)
        #expect(any.thaw()?.count == 0)
    }

    @Test("Many threads may read frozen objects and collections at the same time")
    func threads() throws {
        let realm = try open()
        let long = String(repeating: "x", count: 1500)
        try realm.write { realm.object(ofType: Frost.self, forPrimaryKey: 5)?.name = long }
        nonisolated(unsafe) let results = realm.objects(Frost.self).freeze()
        nonisolated(unsafe) let first = try #require(results.first)
        DispatchQueue.concurrentPerform(iterations: 400) { i in
            let sum = results.reduce(0) { $0 + $1.id }
            #expect(sum == 190)
            #expect(results.filter("name = %@", "f\(i % 20)").count == (i % 20 == 5 ? 0 : 1))
            #expect(results.filter("name = %@", long).first?.id == 5)
            #expect(first.all.count == 20 && first.tags[0] == "a")
            #expect(first.all[i % 20].before.count == (i % 20 == 19 ? 0 : 1))
            #expect(results.sorted(byKeyPath: "id", ascending: false)[i % 20].id == 19 - i % 20)
            #expect(results.realm?.object(ofType: Frost.self, forPrimaryKey: i % 20)?.id == i % 20)
        }
    }

    @Test("An object that is frozen in a write shows the state before the write")
    func inWrite() throws {
        let realm = try open()
        let live = try #require(realm.object(ofType: Frost.self, forPrimaryKey: 1))
        realm.beginWrite()
        live.name = "now"
        #expect(live.freeze().name == "f1")
        let words = catchMisuse { _ = realm.create(Frost.self, value: ["id": 99]).freeze() }
        #expect(words?.contains("Cannot freeze an object in the same write transaction as it was created in") == true)
        realm.cancelWrite()
    }

    @Test("Thawing on another thread returns that thread's object")
    func thawElsewhere() throws {
        try withFile([Frost.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.add(Frost(value: ["id": 1, "name": "a"])) }
            nonisolated(unsafe) let frozen = try #require(realm.objects(Frost.self).first?.freeze())
            let name = try elsewhere {
                let live = try #require(frozen.thaw())
                try #require(live.realm).write { live.name = "b" }
                return live.isFrozen ? "frozen" : live.name
            }
            #expect(name == "b")
            #expect(frozen.name == "a")
            realm.refresh()
            #expect(realm.objects(Frost.self).first?.name == "b")
        }
    }

    @Test("Thawing returns the version of the thread's Realm, which may be older")
    func thawOlder() throws {
        try withFile([Frost.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            realm.autorefresh = false
            try realm.write { realm.add(Frost(value: ["id": 1, "name": "a"])) }
            nonisolated(unsafe) var frozen: Frost?
            _ = try elsewhere {
                let other = try Realm(configuration: configuration)
                let frost = try #require(other.objects(Frost.self).first)
                try other.write { frost.name = "b" }
                frozen = frost.freeze()
                return frost.name
            }
            let thawed = try #require(frozen?.thaw())
            #expect(frozen?.name == "b" && thawed.name == "a")
            realm.refresh()
            #expect(thawed.name == "b")
        }
    }

    static let refusals = [
        MisuseCase("Unmanaged objects cannot be frozen.") { _ = Frost().freeze() },
        MisuseCase("Unmanaged objects cannot be thawed.") { _ = Frost().thaw() },
        MisuseCase("Unmanaged collections cannot be frozen.") { _ = Frost().all.freeze() },
        MisuseCase("Object has been deleted or invalidated.") {
            let realm = try memoryRealm(Frost.self)
            let frost = try realm.write { realm.create(Frost.self) }
            try realm.write { realm.delete(frost) }
            _ = frost.freeze()
        },
        MisuseCase("Attempting to modify a frozen object") {
            let realm = try memoryRealm(Frost.self)
            try realm.write { realm.create(Frost.self) }.freeze().name = "x"
        },
        MisuseCase("Can't perform transactions on a frozen Realm") {
            try memoryRealm(Frost.self).freeze().beginWrite()
        },
        MisuseCase("Cannot read from a frozen Realm which has been invalidated.") {
            let frozen = try memoryRealm(Frost.self).freeze()
            frozen.invalidate()
            _ = frozen.objects(Frost.self).count
        },
        MisuseCase("Cannot construct reference to unmanaged object") { _ = ThreadSafeReference(to: Frost()) },
        MisuseCase("Cannot construct reference to invalidated object") {
            let realm = try memoryRealm(Frost.self)
            let frost = try realm.write { realm.create(Frost.self) }
            try realm.write { realm.delete(frost) }
            _ = ThreadSafeReference(to: frost)
        },
        MisuseCase("Can only resolve a thread safe reference once") {
            let realm = try memoryRealm(Frost.self)
            let reference = ThreadSafeReference(to: try realm.write { realm.create(Frost.self) })
            _ = realm.resolve(reference)
            _ = realm.resolve(reference)
        },
        MisuseCase("Only managed objects may be wrapped as thread safe.") {
            _ = ThreadSafe<Frost>(wrappedValue: Frost())
        },
    ]

    @Test("Freezing or passing an invalid object is refused with the reason", arguments: refusals)
    func refusal(_ wrong: MisuseCase) throws {
        #expect(try wrong.message().contains(wrong.words))
    }

    @Test("References to objects and collections are resolved on another thread")
    func references() throws {
        try withFile([Frost.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            try realm.write {
                for id in 0..<5 { realm.add(Frost(value: ["id": id, "name": "f\(id)", "tags": ["t"]])) }
            }
            let object = ThreadSafeReference(to: try #require(realm.objects(Frost.self).last))
            let results = ThreadSafeReference(
                to: realm.objects(Frost.self).filter("id > 1").sorted(byKeyPath: "id", ascending: false))
            let tags = ThreadSafeReference(to: try #require(realm.objects(Frost.self).first).tags)
            let found = try elsewhere {
                let realm = try Realm(configuration: configuration)
                let object = realm.resolve(object)
                return [
                    object?.name ?? "", realm.resolve(results)?.map { "\($0.id)" }.joined() ?? "",
                    realm.resolve(tags)?.first ?? "", "\(object?.isFrozen ?? true)",
                ]
            }
            #expect(found == ["f4", "432", "t", "false"])
            #expect(object.isInvalidated && results.isInvalidated)
        }
    }

    @Test("A reference to a deleted object resolves in a Realm of an older version, until refresh()")
    func deletedMeanwhile() throws {
        try withFile([Frost.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            let frost = try realm.write { realm.create(Frost.self, value: ["id": 1, "name": "a"]) }
            let reference = ThreadSafeReference(to: frost)
            let late = ThreadSafeReference(to: frost)
            try realm.write { realm.delete(frost) }
            try elsewhere {
                let realm = try Realm(configuration: configuration)
                let frost = try #require(realm.resolve(reference))
                #expect(frost.name == "a")
                realm.refresh()
                #expect(frost.isInvalidated)
                #expect(realm.resolve(late) == nil)
            }
        }
    }

    @Test("A reference to an uncommitted object resolves after the commit, but not in another file")
    func uncommitted() throws {
        let realm = try memoryRealm(Frost.self)
        realm.beginWrite()
        let reference = ThreadSafeReference(to: realm.create(Frost.self, value: ["id": 7]))
        let list = ThreadSafeReference(to: realm.create(Frost.self, value: ["id": 8, "tags": ["x"]]).tags)
        let foreign = ThreadSafeReference(to: realm.create(Frost.self, value: ["id": 9]))
        try realm.commitWrite()
        #expect(realm.resolve(reference)?.id == 7)
        #expect(realm.resolve(list).map { Array($0) } == ["x"])
        #expect(try memoryRealm(Frost.self).resolve(foreign) == nil)
    }

    @Test("@ThreadSafe returns each thread's own object, and nil after deletion")
    func wrapper() throws {
        try withFile([Frost.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            let frost = try realm.write { realm.create(Frost.self, value: ["id": 1, "name": "a"]) }
            let box = ThreadSafe(wrappedValue: frost)
            for name in ["b", "c"] {
                try elsewhere {
                    let own = try #require(box.wrappedValue)
                    try #require(own.realm).write { own.name = name }
                }
                realm.refresh()
                #expect(frost.name == name)
            }
            #expect(box.wrappedValue == frost)
            try realm.write { realm.delete(frost) }
            #expect(box.wrappedValue == nil)
            #expect(box.wrappedValue == nil)
            #expect(ThreadSafe<Frost>(wrappedValue: nil).wrappedValue == nil)
        }
    }
}

extension FreezingTests {
    @Test("The value of @ThreadSafe may be replaced by an object of another Realm or by nil")
    func replaced() throws {
        let (realm, other) = (try memoryRealm(Frost.self), try memoryRealm(Frost.self))
        let frost = try realm.write { realm.create(Frost.self, value: ["id": 1]) }
        let foreign = try other.write { other.create(Frost.self, value: ["id": 2]) }
        let box = ThreadSafe(wrappedValue: frost)
        box.wrappedValue = foreign
        #expect(box.wrappedValue == foreign && box.wrappedValue?.realm == other)
        let found = try elsewhere { box.wrappedValue?.id }
        #expect(found == 2)
        box.wrappedValue = nil
        #expect(box.wrappedValue == nil)
        let words = catchMisuse { box.wrappedValue = Frost() }
        #expect(words?.contains("Only managed objects may be wrapped as thread safe.") == true)
    }
}

extension ObjectBase {
    fileprivate func hash(_ seed: Int) -> Int {
        var hasher = Hasher()
        hash(into: &hasher)
        return hasher.finalize()
    }
}
