// SPDX-License-Identifier: Apache-2.0
// Drafts: which properties are written, conflicts and their policies, every type of property, and programmer errors.

import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Testing

enum DraftModels {
    class Person: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var age = 0
        @Persisted var address: Address?
        @Persisted var former: List<Address>
        @Persisted var friend: Person?
        @Persisted var friends: List<Person>
        @Persisted var tags: MutableSet<String>
        @Persisted var sizes: Map<String, Int>
        @Persisted var note: AnyRealmValue
        @Persisted(originProperty: "friend") var admirers: LinkingObjects<Person>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }

        convenience init(_ id: Int, _ name: String) {
            self.init()
            (self.id, self.name) = (id, name)
        }
    }

    class Address: EmbeddedObject {
        @Persisted var city = ""
        @Persisted var street = ""
        @Persisted var lines: List<String>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }

        convenience init(_ city: String, _ street: String = "") {
            self.init()
            (self.city, self.street) = (city, street)
        }
    }

    /// Without a primary key, and with members whose names are those of the library.
    class Own: Object {
        @Persisted var draft = "mine"
        @Persisted var savepoint = 1
        @Persisted var undoStack = 2
        @Persisted var apply = 3
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
}

private typealias Person = DraftModels.Person
private typealias Address = DraftModels.Address
private typealias Own = DraftModels.Own
private typealias All = Contract.All
private struct Failure: Error, Equatable {}

/// A person in a Realm of its own.
private func one() throws -> Person {
    let realm = try memoryRealm(Person.self, Address.self)
    return try realm.write { realm.create(Person.self, value: ["id": 1]) }
}

@Suite("Drafts")
struct DraftsTests {
    private func addAda(_ realm: Realm) throws -> Person {
        try realm.write {
            let ada = Person(1, "Ada")
            ada.address = Address("London", "King")
            ada.former.append(Address("Ockham"))
            ada.friends.append(objectsIn: [Person(2, "Mary"), Person(3, "Charles")])
            ada.friend = ada.friends[0]
            ada.tags.insert(objectsIn: ["a", "b"])
            ada.sizes["x"] = 1
            realm.add(ada)
            return ada
        }
    }

    private func opened() throws -> Realm { try memoryRealm(Person.self, Address.self, Own.self) }

    @Test("A draft can be edited without a transaction, and only its changes are written")
    func written() throws { try withQueue(opened(), observed) }

    private func observed(_ realm: Realm) throws {
        let ada = try addAda(realm)
        var names: [[String]] = []
        let token = ada.observe { change in
            if case .change(_, let properties) = change { names.append(properties.map(\.name)) }
        }
        let draft = ada.draft()
        #expect(draft.object.realm == nil && draft.name == "Ada" && draft.changedProperties.isEmpty)
        draft.name = "Augusta"
        draft.age = 36
        draft.tags.insert("c")
        #expect(ada.name == "Ada" && ada.tags.count == 2)
        #expect(draft.changedProperties == ["name", "age", "tags"])
        try realm.write { ada.note = .string("by somebody else") }
        realm.refresh()
        #expect(draft.conflicts.isEmpty)
        do {
            let differing = try realm.write { try draft.apply() }
            #expect(differing == [])
        }
        realm.refresh()
        #expect(ada.name == "Augusta" && ada.age == 36 && ada.tags.contains("c"))
        #expect(ada.note == .string("by somebody else"))
        #expect(names == [["note"], ["name", "age", "tags"]])
        withExtendedLifetime(token) {}
    }

    @Test("Links lead to the objects of the Realm, and can be changed to them or to new objects")
    func links() throws {
        let realm = try opened()
        let ada = try addAda(realm)
        let draft = ada.draft()
        #expect(draft.friend?.isSameObject(as: ada.friend) == true && draft.friends.count == 2)
        #expect(draft.admirers.isEmpty)
        let grace = Person(4, "Grace")
        draft.friend = grace
        draft.friends.swapAt(0, 1)
        draft.friends.append(grace)
        try realm.write { try draft.apply() }
        #expect(ada.friend?.name == "Grace" && ada.friends.map(\.id) == [3, 2, 4])
        #expect(realm.objects(Person.self).count == 4)
    }

    @Test("A map keeps two keys that differ only in normalisation, and a change of either is a conflict")
    func spellings() throws {
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        let realm = try opened()
        let ada = try addAda(realm)
        try realm.write {
            ada.sizes[composed] = 1
            ada.sizes[decomposed] = 2
        }
        #expect(ada.sizes.count == 3)
        let draft = ada.draft()
        #expect(draft.sizes.count == 3 && draft.changedProperties.isEmpty)
        draft.sizes["x"] = 5
        for key in [composed, decomposed] {
            try realm.write { ada.sizes[key] = 7 }
            #expect(draft.conflicts == ["sizes"], "\(key.utf8.count)")
            try realm.write { ada.sizes[key] = key.utf8.count == composed.utf8.count ? 1 : 2 }
            #expect(draft.conflicts.isEmpty)
        }
        try realm.write { try draft.apply() }
        #expect(ada.sizes["x"] == 5 && ada.sizes[composed] == 1 && ada.sizes[decomposed] == 2)
        // A key in another spelling is another key.
        let second = ada.draft()
        second.sizes[composed] = nil
        second.sizes[decomposed] = nil
        second.sizes[composed] = 2
        #expect(second.changedProperties == ["sizes"])
        try realm.write { try second.apply() }
        #expect(ada.sizes[composed] == 2 && ada.sizes[decomposed] == nil)
        #expect(ada.detached().sizes.count == 2)
    }

    @Test("Links to objects that were deleted since are left out")
    func deletedTargets() throws {
        let realm = try opened()
        let ada = try addAda(realm)
        let (draft, second) = (ada.draft(), ada.draft())
        draft.friends.append(ada)
        draft.name = "Augusta"
        second.name = "A."
        try realm.write { realm.delete(ada.friends[0]) }
        #expect(draft.conflicts == ["friends"] && second.conflicts.isEmpty)
        do {
            let differing = try realm.write { try draft.apply(.overwrite) }
            #expect(differing == ["friends"])
        }
        #expect(ada.friends.map(\.id) == [3, 1] && ada.friend == nil && ada.name == "Augusta")
        // Untouched properties with such links do not matter.
        do {
            let differing = try realm.write { try second.apply(.merge) }
            #expect(differing == ["name"])
        }
        #expect(ada.name == "Augusta")
    }

    @Test("Embedded objects are compared property by property and keep their identity")
    func embedded() throws {
        let realm = try opened()
        let ada = try addAda(realm)
        let address = try #require(ada.address)
        let draft = ada.draft()
        draft.address?.city = "Paris"
        draft.address?.lines.append("c/o")
        try realm.write { address.street = "Queen" }
        #expect(draft.conflicts.isEmpty)
        try realm.write { try draft.apply() }
        #expect(!address.isInvalidated && ada.address?.isSameObject(as: address) == true)
        #expect(address.city == "Paris" && address.street == "Queen" && Array(address.lines) == ["c/o"])

        let second = ada.draft()
        second.address?.city = "Rome"
        second.former.append(Address("Bath"))
        try realm.write { address.city = "Oslo" }
        #expect(second.conflicts == ["address.city"])
        try realm.write {
            let error = #expect(throws: DraftConflict.self) { try second.apply() }
            #expect(error?.properties == ["address.city"] && error?.primaryKey == .int(1))
            #expect(error?.localizedDescription.contains("'address.city'") == true)
            #expect(ada.former.count == 1)
            let differing = try second.apply(.merge)
            #expect(differing == ["address.city"])
        }
        #expect(address.city == "Oslo" && ada.former.map(\.city) == ["Ockham", "Bath"])

        let third = ada.draft()
        third.address = nil
        try realm.write { try third.apply() }
        #expect(ada.address == nil && address.isInvalidated)
        let fourth = ada.draft()
        fourth.address = Address("Turin")
        try realm.write { try fourth.apply() }
        #expect(ada.address?.city == "Turin" && fourth.address?.realm == nil)
    }

    @Test("A property that both have changed to different values is in conflict", arguments: [0, 1, 2])
    func policies(_ number: Int) throws {
        let policy = [DraftPolicy.fail, .merge, .overwrite][number]
        let realm = try opened()
        let ada = try addAda(realm)
        let draft = ada.draft()
        draft.name = "mine"
        draft.age = 1
        draft.sizes["x"] = 5
        draft.note = .int(3)
        try realm.write {
            ada.name = "theirs"
            ada.sizes["y"] = 2
            // The same change is no conflict.
            ada.note = .int(3)
            ada.tags.removeAll()
        }
        #expect(draft.conflicts == ["name", "sizes"])
        if policy == .fail {
            #expect(throws: DraftConflict.self) { try realm.write { _ = try draft.apply(policy) } }
        } else {
            let conflicts = try realm.write { try draft.apply(policy) }
            #expect(conflicts == ["name", "sizes"])
        }
        let isWritten = policy == .overwrite
        #expect(ada.name == (isWritten ? "mine" : "theirs"))
        #expect(ada.age == (policy == .fail ? 0 : 1))
        #expect(ada.sizes["x"] == (isWritten ? 5 : 1) && ada.sizes["y"] == (isWritten ? nil : 2))
        #expect(ada.note == .int(3) && ada.tags.isEmpty)
    }

    @Test("A draft of an object that was deleted throws, and so does its reset")
    func deleted() throws {
        let realm = try opened()
        let ada = try addAda(realm)
        let draft = ada.draft()
        draft.age = 7
        try realm.write { realm.delete(ada) }
        #expect(draft.conflicts.isEmpty)
        try realm.write {
            for policy in [DraftPolicy.fail, .merge, .overwrite] {
                let error = #expect(throws: DraftConflict.self) { try draft.apply(policy) }
                #expect(error?.isDeleted == true && error?.className == Person.className())
            }
        }
        #expect(throws: DraftConflict.self) { try draft.reset() }
    }

    @Test("After a rollback a draft can be applied again, after a commit it writes nothing")
    func again() throws {
        let realm = try opened()
        let ada = try addAda(realm)
        let draft = ada.draft()
        draft.name = "Augusta"
        draft.address?.city = "Paris"
        try realm.write {
            _ = try? realm.savepoint {
                try draft.apply()
                throw Failure()
            }
            #expect(ada.name == "Ada")
        }
        for _ in 0..<2 {
            do {
                let differing = try realm.write { try draft.apply() }
                #expect(differing == [])
            }
            #expect(ada.name == "Augusta" && ada.address?.city == "Paris")
        }
        draft.name = "lost"
        try draft.reset()
        #expect(draft.name == "Augusta" && draft.changedProperties.isEmpty)
        draft.name = "last"
        try realm.write { try draft.apply() }
        #expect(ada.name == "last")
    }

    @Test("An unchanged draft of every type of property is equal to its object, and every type can be written")
    func everyType() throws {
        let realm = try memoryRealm(All.self, Contract.Part.self)
        let object = All()
        object.pk = 1
        object.any = .fromDictionary(["k": .fromArray([.int(1), .none])])
        object.parts.append(Contract.Part())
        let other = All()
        other.pk = 2
        (other.bool, other.int, other.int8, other.int16, other.int32, other.int64) = (true, 1, 2, 3, 4, 5)
        (other.float, other.double, other.string, other.data) = (1.5, 2.5, "text", Data([1, 2]))
        (other.date, other.decimal) = (Date(timeIntervalSince1970: 9), 3.25)
        (other.objectId, other.uuid, other.any) = (ObjectId.generate(), UUID(), .string("any"))
        (other.rank, other.mood, other.metres, other.label) = (.high, .wild, Contract.Metres(7), Contract.Label("l"))
        (other.optBool, other.optInt, other.optInt8, other.optInt16) = (false, 1, 2, 3)
        (other.optInt32, other.optInt64, other.optFloat, other.optDouble) = (4, 5, .nan, -0.0)
        (other.optString, other.optData, other.optDate, other.optDecimal) = ("", Data(), Date(), 1)
        (other.optObjectId, other.optUuid) = (ObjectId.generate(), UUID())
        (other.optRank, other.optMood) = (.mid, .calm)
        (other.optMetres, other.optLabel) = (Contract.Metres(1), Contract.Label("o"))
        other.part = Contract.Part()
        other.partMap["p"] = Contract.Part()
        try realm.write { realm.add([object, other]) }
        try realm.write {
            other.link = object
            other.list.append(objectsIn: [object, other, object])
            other.set.insert(object)
            other.map["o"] = other
        }
        for original in [object, other] {
            let draft = original.draft()
            #expect(draft.changedProperties.isEmpty && draft.conflicts.isEmpty)
            #expect(draft.object.snapshot(depth: 0).changes(since: original.snapshot(depth: 0)).isEmpty)
        }
        let (draft, values) = (object.draft(), other.detached(depth: 0))
        for property in All.sharedSchema()?.properties ?? []
        where property.name != "pk" && property.type != .object && property.type != .linkingObjects {
            draft.object[property.name] = values[property.name]
        }
        draft.link = object
        draft.list.append(objectsIn: [object, other, object])
        draft.set.insert(object)
        draft.map["o"] = other
        draft.part = Contract.Part()
        draft.partMap["p"] = Contract.Part()
        draft.parts.removeAll()
        do {
            let differing = try realm.write { try draft.apply() }
            #expect(differing == [])
        }
        let (left, right) = (object.snapshot(depth: 0), other.snapshot(depth: 0))
        #expect(right.changes(since: left).map(\.path) == ["pk"])
    }

    @Test("Members that a model declares have precedence")
    func ownMembers() throws {
        let realm = try opened()
        let own = try realm.write { realm.create(Own.self) }
        #expect(own.draft == "mine" && own.savepoint == 1 && own.undoStack == 2 && own.apply == 3)
        func begin<Model: ObjectBase>(_ object: Model) -> Draft<Model> { object.draft() }
        let draft = begin(own)
        draft.object.draft = "changed"
        try realm.write { try draft.apply() }
        #expect(own.draft == "changed")
        try realm.write { realm.delete(own) }
        try realm.write {
            let error = #expect(throws: DraftConflict.self) { try draft.apply() }
            #expect(error?.primaryKey == nil && error?.localizedDescription.contains("an object of class") == true)
        }
    }

    @Test(
        "Wrong uses end the program",
        arguments: [
            MisuseCase("Only an object of a Realm can be drafted") { _ = Person(1, "x").draft() },
            MisuseCase("Cannot draft a frozen object") { _ = try one().freeze().draft() },
            MisuseCase("Object has been deleted or invalidated") {
                let person = try one()
                try person.realm?.write { person.realm?.delete(person) }
                _ = person.draft()
            },
            MisuseCase("Cannot apply a draft outside of a write transaction") { try one().draft().apply() },
            MisuseCase("Primary key can't be changed") {
                let person = try one()
                let draft = person.draft()
                draft.id = 8
                try person.realm?.write { _ = try draft.apply() }
            },
        ])
    func wrongUse(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }
}
