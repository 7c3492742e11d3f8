// SPDX-License-Identifier: Apache-2.0
// Properties by name: of objects, of all elements of collections, along key paths, with collection operators.

import Foundation
import RealmSwift
import Testing

enum KeyValueModels {
    enum Size: String, PersistableEnum { case small, large }

    class Owner: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name: String
        @Persisted var nick: String?
        @Persisted var pets: List<Pet>
    }

    class Pet: Object {
        @Persisted var name: String
        @Persisted var age: Int8
        @Persisted var weight: Float
        @Persisted var born: Date?
        @Persisted var size: Size
        @Persisted var nick: String?
        @Persisted var toys: List<String>
        @Persisted var owner: Owner?
        @Persisted(originProperty: "pets") var holders: LinkingObjects<Owner>
    }

    /// Owner 1 has A (2), B (4); owner 2 has B (4), C (6).
    static func realm() throws -> Realm {
        let realm = try memoryRealm(Owner.self, Pet.self)
        try realm.write {
            let pets = ["A", "B", "C"].enumerated().map { number, name in
                Pet(value: [
                    "name": name, "age": 2 + 2 * number, "weight": Double(number) + 0.5,
                    "toys": ["t\(number)", "ball"], "nick": number == 1 ? NSNull() : "n",
                ])
            }
            let one = Owner(value: ["id": 1, "name": "one", "pets": [pets[0], pets[1]]])
            let two = Owner(value: ["id": 2, "name": "two", "nick": "zwei", "pets": [pets[1], pets[2]]])
            realm.add([one, two])
            pets[0].owner = one
        }
        return realm
    }

    /// The same names and ages, unmanaged.
    static func unmanagedPets() -> List<Pet> {
        let pets = List<Pet>()
        pets.append(objectsIn: [2, 4, 6].map { Pet(value: ["name": String($0), "age": $0]) })
        return pets
    }
}

@Suite("Access to properties by name")
struct KeyValueAccessTests {
    private typealias Pet = KeyValueModels.Pet
    private typealias Owner = KeyValueModels.Owner

    @Test("Integers of every width read as Int and accept any number; enums use raw values")
    func widths() throws {
        let realm = try KeyValueModels.realm()
        let pet = try #require(realm.objects(Pet.self).first)
        #expect(pet["age"] as? Int == 2 && pet.value(forKey: "size") as? String == "small")
        try realm.write {
            pet["age"] = NSNumber(value: 9)
            pet["size"] = "large"
            pet.setValue(1.25, forKey: "weight")
            pet["nick"] = nil
        }
        #expect(pet.age == 9 && pet.size == .large && pet.weight == 1.25 && pet.nick == nil)
        let loose = Pet()
        loose["age"] = 3
        loose["born"] = Date(timeIntervalSince1970: 5)
        #expect(loose["age"] as? Int == 3 && loose["born"] as? Date == Date(timeIntervalSince1970: 5))
        #expect(loose["nick"] == nil && loose.value(forKey: "self") as? Pet === loose)
    }

    @Test("A key path follows links and collections, and sets its last property")
    func keyPaths() throws {
        let realm = try KeyValueModels.realm()
        let owner = try #require(realm.object(ofType: Owner.self, forPrimaryKey: 1))
        let pet = try #require(realm.objects(Pet.self).first)
        #expect(pet.value(forKeyPath: "owner.name") as? String == "one")
        #expect(owner.value(forKeyPath: "pets.name") as? [String] == ["A", "B"])
        #expect(owner.value(forKeyPath: "pets.@max.age") as? Int == 4)
        #expect(owner.value(forKeyPath: "pets.@count") as? Int == 2)
        #expect(pet.value(forKeyPath: "toys.@count") as? Int == 2)
        #expect(pet.value(forKeyPath: "holders.name") as? [String] == ["one"])
        let last = try #require(realm.objects(Pet.self).last)
        #expect(last.value(forKeyPath: "owner.name") == nil)
        try realm.write {
            pet.setValue("uno", forKeyPath: "owner.name")
            last.setValue("nobody", forKeyPath: "owner.name")
            owner.setValue(7, forKeyPath: "pets.age")
        }
        #expect(owner.name == "uno" && owner.pets.allSatisfy { $0.age == 7 } && last.age == 6)
    }

    @Test("value(forKey:) of a collection returns one value for each element, and NSNull for nil")
    func elementValues() throws {
        let realm = try KeyValueModels.realm()
        let owner = try #require(realm.object(ofType: Owner.self, forPrimaryKey: 1))
        func check(_ collection: some RealmCollection, _ comment: Comment) throws {
            #expect(collection.value(forKey: "name") as? [String] == ["A", "B"], comment)
            let nicks = try #require(collection.value(forKey: "nick") as? [Any])
            #expect(
                nicks.count == 2 && nicks[0] as? String == "n" && nicks[1] as? String == nil
                    && nicks[1] as AnyObject is NSNull, comment)
            #expect((collection.value(forKey: "self") as? [Pet])?.count == 2, comment)
            #expect(collection.value(forKey: "@count") as? Int == 2, comment)
            #expect(collection.value(forKeyPath: "toys.@count") as? [Int] == [2, 2], comment)
        }
        try check(owner.pets, "List")
        try check(realm.objects(Pet.self).filter("age < 6"), "Results")
        try check(AnyRealmCollection(owner.pets), "AnyRealmCollection")
        let pet = try #require(realm.objects(Pet.self).last)
        #expect(pet.holders.value(forKey: "id") as? [Int] == [2])
        #expect(pet.toys.value(forKey: "self") as? [String] == ["t2", "ball"])
        #expect(KeyValueModels.unmanagedPets().value(forKeyPath: "name") as? [String] == ["2", "4", "6"])
    }

    @Test("Collection operators return aggregates and unions", arguments: [true, false])
    func operators(isManaged: Bool) throws {
        let realm = try KeyValueModels.realm()
        let pets =
            isManaged
            ? AnyRealmCollection(realm.objects(Pet.self)) : AnyRealmCollection(KeyValueModels.unmanagedPets())
        #expect(pets.value(forKeyPath: "@sum.age") as? Int == 12)
        #expect(pets.value(forKeyPath: "@avg.age") as? Double == 4)
        #expect(pets.value(forKeyPath: "@min.age") as? Int == 2)
        #expect(pets.value(forKeyPath: "@max.age") as? Int == 6)
        #expect(pets.value(forKeyPath: "@unionOfObjects.age") as? [Int] == [2, 4, 6])
        let sizes = pets.value(forKeyPath: "@distinctUnionOfObjects.size")
        #expect(sizes as? [String] == ["small"])
        guard isManaged else { return }
        #expect(
            pets.value(forKeyPath: "@unionOfArrays.toys") as? [String] == ["t0", "ball", "t1", "ball", "t2", "ball"])
        #expect(pets.value(forKeyPath: "@distinctUnionOfArrays.toys") as? [String] == ["t0", "ball", "t1", "t2"])
    }

    @Test("The aggregates of a list of values use the key path self")
    func valueFigures() {
        let numbers = List<Int>()
        numbers.append(objectsIn: [3, 1, 2])
        #expect(numbers.value(forKeyPath: "@sum.self") as? Int == 6)
        #expect(numbers.value(forKeyPath: "@max.self") as? Int == 3)
    }

    @Test("setValue changes all current elements, including those that leave the collection because of it")
    func settingAll() throws {
        let realm = try KeyValueModels.realm()
        try realm.write {
            realm.objects(Pet.self).filter("age < 5").setValue(50, forKey: "age")
            AnyRealmCollection(realm.objects(Pet.self)).setValue("x", forKeyPath: "nick")
            realm.objects(Pet.self).setValue("renamed", forKeyPath: "owner.name")
        }
        #expect(realm.objects(Pet.self).map { Int($0.age) } == [50, 50, 6])
        #expect(realm.objects(Pet.self).allSatisfy { $0.nick == "x" })
        #expect(realm.objects(Owner.self).map(\.name) == ["renamed", "two"])
        let loose = KeyValueModels.unmanagedPets()
        loose.setValue(1, forKey: "age")
        #expect(loose.allSatisfy { $0.age == 1 })
    }

    private static let misuses = [
        MisuseCase("NSUnknownKey") { _ = KeyValueModels.Pet()["nothing"] },
        MisuseCase("NSUnknownKey") { KeyValueModels.Pet()["nothing"] = 1 },
        MisuseCase("Invalid property name 'nothing' for class 'KeyValueModels_Pet'.") {
            _ = try KeyValueModels.realm().objects(KeyValueModels.Pet.self)[0]["nothing"]
        },
        MisuseCase("NSUnknownKey") {
            _ = try KeyValueModels.realm().objects(KeyValueModels.Pet.self).value(forKey: "x")
        },
        MisuseCase("NSUnknownKey") { _ = List<Int>().value(forKey: "x") },
        MisuseCase("Cannot modify managed objects outside of a write transaction.") {
            try KeyValueModels.realm().objects(KeyValueModels.Pet.self).setValue(1, forKey: "age")
        },
        MisuseCase("Cannot modify read-only property 'KeyValueModels_Pet.holders'") {
            KeyValueModels.Pet().setValue(nil, forKey: "holders")
        },
        MisuseCase("Unsupported KVC collection operator found in key path '@median.age'") {
            _ = KeyValueModels.unmanagedPets().value(forKeyPath: "@median.age")
        },
        MisuseCase("Missing key path for KVC collection operator @sum in key path '@sum'") {
            _ = KeyValueModels.unmanagedPets().value(forKeyPath: "@sum")
        },
        MisuseCase("Nested key paths are not supported yet for KVC collection operators.") {
            _ = KeyValueModels.unmanagedPets().value(forKeyPath: "@sum.owner.id")
        },
        MisuseCase("Operation 'sum' not supported for string property 'KeyValueModels_Pet.name'") {
            _ = try KeyValueModels.realm().objects(KeyValueModels.Pet.self).value(forKeyPath: "@sum.name")
        },
    ]

    @Test("Invalid names and values are refused with RealmSwift's messages", arguments: misuses)
    func refusals(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }
}
