// SPDX-License-Identifier: Apache-2.0
// Dynamic objects, with their class in the program and without it.

import Foundation
import RealmSwift
import Testing

private enum DynamicModels {
    class Dog: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name: String
        @Persisted var age: Int16
        @Persisted var nick: String?
        @Persisted var size: KeyValueModels.Size
        @Persisted var friend: Dog?
        @Persisted var toys: List<Toy>
        @Persisted var marks: List<Int?>
        @Persisted(originProperty: "friend") var admirers: LinkingObjects<Dog>
        override class func propertiesMapping() -> [String: String] { ["nick": "nick_name"] }
    }

    class Toy: Object {
        @Persisted var label: String
        @Persisted var at: Date?
    }

    /// Fills a file with dogs, then opens it with or without the class.
    static func opened(
        _ configuration: Realm.Configuration, knowsDogs: Bool, _ body: (Realm) throws -> Void
    ) throws {
        do {
            let realm = try Realm(configuration: configuration)
            try realm.write {
                let one = Dog(value: [
                    "id": 1, "name": "Rex", "age": 3, "toys": [["label": "ball"]], "marks": [1, nil],
                ])
                realm.add([one, Dog(value: ["id": 2, "name": "Fido", "age": 7, "nick": "F", "friend": one])])
            }
        }
        var other = configuration
        if !knowsDogs { other.objectTypes = [OpeningItem.self] }
        try body(try Realm(configuration: other))
    }
}

@Suite("Dynamic objects")
struct DynamicObjectTests {
    private typealias Dog = DynamicModels.Dog
    private typealias Toy = DynamicModels.Toy
    private let name = "DynamicModels_Dog"

    private final class Short: Object {
        @Persisted(primaryKey: true) var id = 0
        override class func _realmObjectName() -> String? { "Grown" }
    }

    private final class Grown: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var number = 7
        @Persisted var text: String?
        @Persisted var date = Date()
        @Persisted var list: List<Int>
    }

    /// Its accessors are made by its initialiser, because `seen` is not managed.
    private final class GrownWithField: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var number = 7
        @Persisted var text: String? = "default"
        var seen = 0
        override class func _realmObjectName() -> String? { "Grown" }
        override class func ignoredProperties() -> [String] { ["seen"] }
    }

    /// A missing column must not be read from the memory before the first column.
    @Test("In a read-only file without them, new properties read as nil, zero or empty")
    func missingColumns() throws {
        try withFile([Short.self]) { configuration in
            try autoreleasepool {
                let realm = try Realm(configuration: configuration)
                try realm.write { for id in 1...3 { realm.create(Short.self, value: ["id": id]) } }
            }
            var readOnly = configuration
            readOnly.objectTypes = [Grown.self]
            readOnly.readOnly = true
            let realm = try Realm(configuration: readOnly)
            let object = try #require(realm.dynamicObjects("Grown").first)
            #expect(object["id"] as? Int == 1)
            for name in ["number", "text", "date", "list"] { #expect(object[name] == nil, "\(name)") }
            var ids: [Int] = []
            for grown in realm.objects(Grown.self) {
                ids.append(grown.id)
                // The second read uses the cached location of the row.
                for _ in 0..<2 { #expect(grown.number == 0 && grown.text == nil && grown.list.isEmpty) }
                grown.list.append(objectsIn: [grown.id])
            }
            #expect(ids == [1, 2, 3])
        }
    }

    @Test("A property that a read-only file lacks is nil or zero in a class with fields of its own")
    func missingColumnsWithField() throws {
        try withFile([Short.self]) { configuration in
            try autoreleasepool {
                let realm = try Realm(configuration: configuration)
                try realm.write { _ = realm.create(Short.self, value: ["id": 1]) }
            }
            var readOnly = configuration
            readOnly.objectTypes = [GrownWithField.self]
            readOnly.readOnly = true
            let grown = try #require(try Realm(configuration: readOnly).objects(GrownWithField.self).first)
            for _ in 0..<2 { #expect(grown.id == 1 && grown.number == 0 && grown.text == nil) }
            nonisolated(unsafe) let object = grown
            let words = try misuseText { object.number = 3 }
            #expect(words?.contains("write transaction") == true, "\(words ?? "nil")")
            grown.seen = 3
            #expect(grown.seen == 3)
        }
    }

    @Test("Properties are read by name, with and without a class", arguments: [true, false])
    func reading(knowsDogs: Bool) throws {
        try withFile([Dog.self, Toy.self]) { configuration in
            try DynamicModels.opened(configuration, knowsDogs: knowsDogs) { realm in
                let dogs = realm.dynamicObjects(name)
                #expect(dogs.count == 2)
                let rex = dogs[0]
                let fido = dogs[1]
                #expect(rex.name as? String == "Rex" && rex["age"] as? Int == 3 && rex.size as? String == "small")
                #expect(rex.value(forUndefinedKey: "name") as? String == "Rex")
                // Without the class, the names are those in the file.
                let nick = knowsDogs ? "nick" : "nick_name"
                #expect(rex[nick] == nil && fido[nick] as? String == "F")
                let friend = try #require(fido.friend as? DynamicObject)
                #expect(friend.isSameObject(as: rex) && friend.id as? Int == 1 && rex.friend == nil)
                let toys = try #require(rex.toys as? List<DynamicObject>)
                #expect(toys.count == 1 && toys[0].label as? String == "ball" && toys[0].at == nil)
                #expect(Array(rex.dynamicList("toys")).map { $0["label"] as? String } == ["ball"])
                let marks = try #require(rex["marks"] as? List<Int?>)
                #expect(Array(marks) == [1, nil])
                #expect(rex.value(forKeyPath: "toys.label") as? [String] == ["ball"])
                #expect(fido.value(forKeyPath: "friend.name") as? String == "Rex")
                #expect(rex.objectSchema.className == name && rex.objectSchema["age"]?.type == .int)
                if knowsDogs {
                    let admirers = try #require(rex.admirers as? LinkingObjects<DynamicObject>)
                    #expect(admirers.count == 1 && admirers[0].name as? String == "Fido")
                    #expect(rex.isSameObject(as: realm.objects(Dog.self)[0]))
                }
                #expect(rex.description.contains("\tname = Rex;"))
            }
        }
    }

    @Test("Queries, sorting, aggregates and lookups work by name", arguments: [true, false])
    func queries(knowsDogs: Bool) throws {
        try withFile([Dog.self, Toy.self]) { configuration in
            try DynamicModels.opened(configuration, knowsDogs: knowsDogs) { realm in
                let dogs = realm.dynamicObjects(name)
                #expect(dogs.filter("age > 3 AND friend.name == 'Rex'").first?.name as? String == "Fido")
                #expect(dogs.sorted(byKeyPath: "age", ascending: false).map { $0["id"] as? Int } == [2, 1])
                #expect(dogs.sum(ofProperty: "age") as Int == 10)
                #expect(dogs.filter("ANY toys.label == 'ball'").count == 1)
                #expect(realm.dynamicObject(ofType: name, forPrimaryKey: 2)?.name as? String == "Fido")
                #expect(realm.dynamicObject(ofType: name, forPrimaryKey: 3) == nil)
                let toys = dogs[0].dynamicList("toys")
                #expect(toys.filter("label BEGINSWITH 'b'").count == 1 && toys.index(of: toys[0]) == 0)
            }
        }
    }

    @Test("Values are set and objects are created and deleted by name", arguments: [true, false])
    func writing(knowsDogs: Bool) throws {
        try withFile([Dog.self, Toy.self]) { configuration in
            try DynamicModels.opened(configuration, knowsDogs: knowsDogs) { realm in
                let dogs = realm.dynamicObjects(name)
                let rex = dogs[0]
                try realm.write {
                    rex.name = "Max"
                    rex["age"] = NSNumber(value: 12)
                    rex.friend = dogs[1]
                    rex.dynamicList("toys").append(realm.dynamicCreate("DynamicModels_Toy", value: ["label": "bone"]))
                    rex.marks = [5, nil, 7]
                    let new = realm.dynamicCreate(
                        name, value: ["id": 3, "name": "New", "friend": rex, "toys": [["label": "rope"]]])
                    #expect(new.id as? Int == 3 && new["marks"] is List<Int?>)
                    realm.dynamicCreate(name, value: ["id": 2, "name": "Changed"], update: .modified)
                }
                #expect(rex.name as? String == "Max" && rex["age"] as? Int == 12)
                #expect((rex.friend as? DynamicObject)?.name as? String == "Changed")
                #expect(rex.value(forKeyPath: "toys.label") as? [String] == ["ball", "bone"])
                #expect(rex.value(forKeyPath: "marks.@sum.self") as? Int == 12)
                let new = try #require(realm.dynamicObject(ofType: name, forPrimaryKey: 3))
                #expect(new.value(forKeyPath: "friend.name") as? String == "Max")
                #expect(new.value(forKeyPath: "toys.label") as? [String] == ["rope"])
                #expect(dogs[1]["age"] as? Int == 7)
                try realm.write {
                    new.toys = [["label": "a"], ["label": "b"]]
                    new.friend = nil
                    realm.delete(dogs[1])
                }
                #expect(rex.friend == nil && new.value(forKeyPath: "toys.label") as? [String] == ["a", "b"])
                #expect(dogs.count == 2 && new.isInvalidated == false)
                realm.beginWrite()
                let gone = realm.dynamicCreate(name, value: ["id": 9])
                realm.cancelWrite()
                #expect(gone.isInvalidated)
            }
            try expectNoFindings(configuration)
        }
    }

    private func expectNoFindings(_ configuration: Realm.Configuration) throws {
        let realm = try Realm(configuration: configuration)
        #expect(realm.objects(Dog.self).filter("name == 'Max'").first?.age == 12)
    }

    @Test("A dynamic object can be a value of typed objects")
    func mixing() throws {
        let realm = try memoryRealm(Dog.self, Toy.self)
        try realm.write {
            let dog = realm.dynamicCreate(name, value: ["id": 1, "name": "A"])
            let typed = realm.create(Dog.self, value: ["id": 2, "friend": dog])
            #expect(typed.friend?.name == "A")
            dog.friend = typed
            #expect(typed.admirers.count == 1)
            #expect(Dog(value: dog).name == "A")
            let list = typed.dynamicList("toys")
            list.append(realm.dynamicCreate("DynamicModels_Toy", value: ["label": "x"]))
            #expect(typed.toys.first?.label == "x")
        }
    }

    private static let misuses = [
        MisuseCase("Object type 'Nothing' is not managed by the Realm.") {
            _ = try memoryRealm(Dog.self, Toy.self).dynamicObjects("Nothing")
        },
        MisuseCase("Invalid property name 'nothing' for class 'DynamicModels_Dog'.") {
            let realm = try memoryRealm(Dog.self, Toy.self)
            try realm.write {
                let dog = realm.dynamicCreate("DynamicModels_Dog", value: ["id": 1])
                dog.nothing = 1
            }
        },
        MisuseCase("Primary key can't be changed to '5' after an object is inserted.") {
            let realm = try memoryRealm(Dog.self, Toy.self)
            try realm.write { realm.dynamicCreate("DynamicModels_Dog", value: ["id": 1])["id"] = 5 }
        },
        MisuseCase("with an existing primary key value '1'") {
            let realm = try memoryRealm(Dog.self, Toy.self)
            try realm.write {
                realm.dynamicCreate("DynamicModels_Dog", value: ["id": 1])
                realm.dynamicCreate("DynamicModels_Dog", value: ["id": 1])
            }
        },
        MisuseCase("Can't set object of type 'DynamicModels_Toy' to property of type 'DynamicModels_Dog'") {
            let realm = try memoryRealm(Dog.self, Toy.self)
            try realm.write {
                let dog = realm.dynamicCreate("DynamicModels_Dog", value: ["id": 1])
                dog.friend = realm.dynamicCreate("DynamicModels_Toy")
            }
        },
        MisuseCase("Invalid value 'x' of type 'String' for 'int' property 'DynamicModels_Dog.age'.") {
            let realm = try memoryRealm(Dog.self, Toy.self)
            try realm.write { realm.dynamicCreate("DynamicModels_Dog", value: ["id": 1]).age = "x" }
        },
        MisuseCase("Cannot modify managed objects outside of a write transaction.") {
            let realm = try memoryRealm(Dog.self, Toy.self)
            try realm.write { _ = realm.dynamicCreate("DynamicModels_Dog", value: ["id": 1]) }
            realm.dynamicObjects("DynamicModels_Dog")[0].age = 1
        },
    ]

    @Test("Invalid names and values are refused", arguments: misuses)
    func refusals(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }
}
