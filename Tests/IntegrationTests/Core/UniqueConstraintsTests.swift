// SPDX-License-Identifier: Apache-2.0
// Unique constraints: every kind of write is checked, a write that breaks one is rolled back, and the file stores
// them.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias Member = Rules.Member
private typealias Seat = Rules.Seat
private typealias Place = Rules.Place

/// Writes that would make two accounts equal; there is one with "a" and ("no", 1), and one with "b" and ("no", 2).
private struct Breach: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let write: @Sendable (Realm) throws -> Void

    init(_ name: String, _ write: @escaping @Sendable (Realm) throws -> Void) {
        testDescription = name
        self.write = write
    }

    static func second(_ realm: Realm) throws -> Member {
        try #require(realm.objects(Member.self).first { $0.email == "b" })
    }

    static let all = [
        Breach("add") { $0.add(Member("a", "se", 9)) },
        Breach("add, compound") { $0.add(Member("c", "no", 2)) },
        Breach("add of a sequence") { $0.add([Member("c", "se", 1), Member("d", "se", 1)]) },
        Breach("create") { $0.create(Member.self, value: ["email": "a", "country": "se"]) },
        Breach("dynamicCreate") { $0.dynamicCreate("Rules_Member", value: ["email": "a", "country": "se"]) },
        Breach("a property") { try second($0).email = "a" },
        Breach("a part of a compound") { try second($0).passport = 1 },
        Breach("a subscript") { try second($0)["email"] = "a" },
        Breach("key-value") { try second($0).setValue("a", forKey: "email") },
        Breach("all of a query") { $0.objects(Member.self).setValue("c", forKey: "email") },
        Breach("a dynamic object") { $0.dynamicObjects("Rules_Member").last?["passport"] = 1 },
        Breach("a copy") { try second($0).copy(to: $0) },
        Breach("an upsert on the other constraint") {
            $0.upsert(Member("b", "no", 1), on: \.country, \.passport)
        },
    ]
}

@Suite("Unique constraints")
struct UniqueConstraintsTests {
    private func two(_ realm: Realm) throws {
        try realm.write { realm.add([Member("a", "no", 1), Member("b", "no", 2)]) }
    }

    @Test("A write that makes two objects equal throws at its end and is rolled back", arguments: Breach.all)
    private func breach(_ breach: Breach) throws {
        try withFile([Member.self, Place.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            try two(realm)
            let error = #expect(throws: Realm.Error.self) { try realm.write { try breach.write(realm) } }
            #expect(error?.code == .fail && error?.reason == .duplicateValues)
            #expect(
                error?.localizedDescription.contains("2 objects of class 'Rules_Member' have the same values") == true)
            #expect(!realm.isInWriteTransaction)
            #expect(realm.objects(Member.self).map(\.email) == ["a", "b"])
            #expect(realm.objects(Member.self).map(\.passport) == [1, 2])
            expectIntegrity(of: configuration)
            try realm.write { realm.add(Member("c", "no", 3)) }
        }
    }

    @Test("Inside a write objects may be equal for a time, so values can be swapped")
    func swap() throws {
        let realm = try memoryRealm(Member.self, Place.self)
        try two(realm)
        let accounts = realm.objects(Member.self)
        try realm.write {
            (accounts[0].email, accounts[1].email) = (accounts[1].email, accounts[0].email)
            (accounts[0].passport, accounts[1].passport) = (2, 1)
            realm.add(Member("a", "no", 2))
            realm.delete(accounts[2])
        }
        #expect(accounts.map(\.email) == ["b", "a"])
        #expect(accounts.map(\.passport) == [2, 1])
    }

    @Test("Objects with nil in a constraint are not compared")
    func nils() throws {
        let realm = try memoryRealm(Member.self, Place.self, Seat.self)
        try realm.write {
            realm.add((0..<3).map { Member(nil, "no", $0) })
            for _ in 0..<2 { realm.create(Seat.self, value: ["row": 1]) }
        }
        #expect(realm.objects(Member.self).count == 3 && realm.objects(Seat.self).count == 2)
    }

    @Test("A link may be part of a constraint")
    func links() throws {
        let realm = try memoryRealm(Seat.self, Place.self)
        let hall = Place(value: ["id": 1])
        try realm.write {
            realm.create(Seat.self, value: ["place": hall, "row": 1])
            realm.create(Seat.self, value: ["place": realm.create(Place.self, value: ["id": 2]), "row": 1])
        }
        let place = try #require(realm.object(ofType: Place.self, forPrimaryKey: 1))
        let error = #expect(throws: Realm.Error.self) {
            try realm.write { realm.objects(Seat.self)[1].place = place }
        }
        #expect(error?.reason == .duplicateValues)
        // Deleting the object that both link to makes the links nil.
        try realm.write { realm.delete(realm.objects(Place.self)) }
        #expect(realm.objects(Seat.self).allSatisfy { $0.place == nil })
    }

    @Test("`upsert` changes the object with the same values, or adds one")
    func upsert() throws {
        let realm = try memoryRealm(Member.self, Place.self, Seat.self)
        try two(realm)
        let accounts = realm.objects(Member.self)
        let known = Member("a", "se", 7)
        try realm.write {
            realm.upsert(known, on: \.email)
            realm.upsert(Member("c", "no", 2), on: \.passport, \.country)
            realm.upsert(Member("d", "dk", 1), on: \.email, update: .all)
            realm.upsert(Member.self, value: ["email": "d", "note": "changed"], on: \.email)
            realm.upsert(Member.self, value: ["note": "no email"], on: \.email)
            realm.upsert(known, on: \.email)
        }
        #expect(known.isSameObject(as: accounts[0]) && accounts[0].passport == 7)
        #expect(accounts.map(\.email) == ["a", "c", "d", nil])
        #expect(accounts.map(\.note) == ["", "", "changed", "no email"])
        let place = Place()
        try realm.write {
            let seat = realm.create(Seat.self, value: ["place": place, "row": 3, "guest": "x"])
            let hall = try #require(seat.place)
            let other = Seat(value: ["row": 3, "guest": "y"])
            other.place = hall
            let id = seat.id
            realm.upsert(other, on: \.place, \.row)
            realm.upsert(Seat.self, value: ["place": hall, "row": 4], on: \.place, \.row)
            #expect(seat.guest == "y" && seat.id == id && realm.objects(Seat.self).count == 2)
        }
    }

    @Test(
        "Invalid uses of upsert are refused",
        arguments: [
            MisuseCase("'Rules_Member' has no unique constraint on (note)") {
                let realm = try memoryRealm(Member.self, Place.self)
                try realm.write { realm.upsert(Member(), on: \.note) }
            },
            MisuseCase("Can only add, remove, or create objects in a Realm in a write transaction") {
                let realm = try memoryRealm(Member.self, Place.self)
                realm.upsert(Member(), on: \.email)
            },
        ])
    func misuse(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }

    @Test("A constraint on one property has an index, which queries use")
    func index() throws {
        let realm = try memoryRealm(Member.self, Place.self)
        #expect(realm.schema["Rules_Member"]?["email"]?.isIndexed == true)
        #expect(realm.schema["Rules_Member"]?["country"]?.isIndexed == false)
    }

    @Test("Values of more than 1000 bytes that differ only at the end are different")
    func longValues() throws {
        let realm = try memoryRealm(Member.self, Place.self)
        let start = String(repeating: "long", count: 400)
        try realm.write { for end in 0..<5 { realm.add(Member(start + "\(end)", start + "\(end)")) } }
        for breach in [Member(start + "3", "x"), Member("x", start + "3")] {
            #expect(throws: Realm.Error.self) { try realm.write { realm.add(breach) } }
        }
        #expect(realm.objects(Member.self).count == 5)
    }

    @Test("A file cannot be copied in a write that breaks a constraint")
    func copyInWrite() throws {
        try withFile([Member.self, Place.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            try two(realm)
            let copy = try #require(configuration.fileURL).appendingPathExtension("copy")
            realm.beginWrite()
            realm.add(Member("a", "se", 9))
            #expect(throws: Realm.Error.self) { try realm.writeCopy(toFile: copy) }
            realm.cancelWrite()
            try realm.writeCopy(toFile: copy)
            var opened = configuration
            opened.fileURL = copy
            expectIntegrity(of: opened)
            let other = try Realm(configuration: opened)
            #expect(throws: Realm.Error.self) { try other.write { other.add(Member("b", "se", 9)) } }
        }
    }

    @Test("Of two threads that add equal objects, only one succeeds")
    func threads() throws {
        try withFile([Member.self, Place.self]) { configuration in
            let done = DispatchGroup()
            let counts = Counter()
            for _ in 0..<2 {
                DispatchQueue.global().async(group: done) {
                    guard let realm = try? Realm(configuration: configuration) else { return }
                    for i in 0..<20 where (try? realm.write { realm.add(Member("\(i)", "no", i)) }) != nil {
                        counts.add()
                    }
                }
            }
            done.wait()
            #expect(counts.value == 20)
            let count = try Realm(configuration: configuration).objects(Member.self).count
            #expect(count == 20)
            expectIntegrity(of: configuration)
        }
    }

    @Test("A cancelled write, and an asynchronous one that breaks a constraint, leave no changes")
    func rollback() async throws {
        let realm = try await Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Member.self, Place.self]),
            actor: MainActor.shared)
        try await onMain(realm)
    }

    @MainActor
    private func onMain(_ realm: Realm) async throws {
        try two(realm)
        realm.beginWrite()
        realm.add(Member("a", "no", 1))
        realm.cancelWrite()
        try realm.write { realm.add(Member("c", "no", 3)) }
        await #expect(throws: Realm.Error.self) {
            try await realm.asyncWrite { realm.add(Member("a", "no", 4)) }
        }
        #expect(realm.objects(Member.self).count == 3)
        try await realm.asyncWrite { realm.add(Member("d", "no", 4)) }
        #expect(realm.objects(Member.self).count == 4)
    }

    // MARK: Schemas

    @Test("A constraint that is added or removed needs a migration")
    func versions() throws {
        try withFile([OldRules.Member.self]) { old in
            var new = old
            new.objectTypes = [NewRules.Member.self]
            do {
                let realm = try Realm(configuration: old)
                try realm.write { for _ in 0..<2 { realm.create(OldRules.Member.self, value: ["email": "a"]) } }
            }
            new.schemaVersion = 1
            new.migrationBlock = { migration, _ in
                migration.renameProperty(onType: "RulesMember", from: "email", to: "mail")
            }
            let duplicates = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: new) }
            #expect(duplicates?.reason == .duplicateValues)
            #expect(duplicates?.localizedDescription.contains("The file is as it was") == true)
            new.migrationBlock = { migration, _ in
                migration.renameProperty(onType: "RulesMember", from: "email", to: "mail")
                var number = 0
                migration.enumerateObjects(ofType: "RulesMember") { _, object in
                    object?["country"] = "\(number)"
                    number += 1
                }
            }
            do {
                let realm = try Realm(configuration: new)
                #expect(realm.objects(NewRules.Member.self).map(\.mail) == ["a", "a"])
                let error = #expect(throws: Realm.Error.self) {
                    try realm.write { realm.objects(NewRules.Member.self)[1].country = "0" }
                }
                #expect(error?.reason == .duplicateValues)
            }
            expectIntegrity(of: new)
            // An older program is refused, whatever schema version it has.
            #expect(throws: Realm.Error.self) { _ = try Realm(configuration: old) }
            old.schemaVersionRaised(to: 1) { raised in
                let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: raised) }
                #expect(error?.reason == .migrationNeeded)
                let words = "Unique constraint of class 'RulesMember' is not declared any more: mail, country."
                #expect(error?.localizedDescription.contains(words) == true)
            }
        }
    }

    @Test("Invalid declarations are refused", arguments: WrongUnique.all)
    private func declarations(_ wrong: WrongUnique) throws {
        let type = wrong.type
        let text = try misuseText { _ = try memoryRealm(type) }
        #expect(text?.contains(wrong.words) == true, "\(text ?? "no misuse")")
    }
}

extension Realm.Configuration {
    fileprivate func schemaVersionRaised(to version: UInt64, _ body: (Realm.Configuration) -> Void) {
        var raised = self
        raised.schemaVersion = version
        body(raised)
    }
}

private struct WrongUnique: Sendable {
    let type: Object.Type
    let words: String

    class Missing: Object, UniqueConstraints {
        @Persisted var a = 0
        class var uniqueConstraints: [[String]] { [["b"]] }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Empty: Object, UniqueConstraints {
        @Persisted var a = 0
        class var uniqueConstraints: [[String]] { [[]] }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class OfList: Object, UniqueConstraints {
        @Persisted var a: List<Int>
        class var uniqueConstraints: [[String]] { [["a"]] }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    static let all = [
        WrongUnique(type: Missing.self, words: "Unique property 'b' does not exist on object 'WrongUnique_Missing'"),
        WrongUnique(type: Empty.self, words: "is empty, or repeats a property"),
        WrongUnique(
            type: OfList.self, words: "Property 'WrongUnique_OfList.a' of type 'int' cannot be part of a unique"),
    ]
}
