// SPDX-License-Identifier: Apache-2.0
// Codable models and collections, identities of objects, and underscored names that users' code reaches.

import Foundation
import RealmSwift
import Testing

enum CodingModels {
    enum Mood: Int, PersistableEnum, Codable { case calm, wild }

    class Toy: Object, Codable {
        @Persisted var label: String
        @Persisted(originProperty: "toys") var owners: LinkingObjects<Dog>

        enum CodingKeys: String, CodingKey { case label }
    }

    class Dog: Object, Codable {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name: String
        @Persisted var nick: String?
        @Persisted var mood: Mood
        @Persisted var born: Date?
        @Persisted var toy: Toy?
        @Persisted var toys: List<Toy>
        @Persisted var marks: List<Int?>
    }

    class Kennel: Object, Encodable {
        @Persisted var name: String
        @Persisted(originProperty: "kennel") var tenants: LinkingObjects<Tenant>
    }

    class Tenant: Object, Encodable {
        @Persisted var kennel: Kennel?
    }

    class Boxed: Object, Codable {
        @Persisted var age: Int?
        var box = RealmProperty<Int?>()
    }

    class Keyed: Object, ObjectKeyIdentifiable {
        @Persisted var n: Int
    }

    class KeyedByID: Object, ObjectKeyIdentifiable {
        @Persisted(primaryKey: true) var id: ObjectId
    }

    static let json = """
        {"id": 7, "name": "Rex", "mood": 1, "toy": {"label": "ball"},
         "toys": [{"label": "a"}, {"label": "b"}], "marks": [1, null, 3], "nick": null}
        """
}

@Suite("Coding and identities")
struct CodingTests {
    private typealias Dog = CodingModels.Dog
    private typealias Toy = CodingModels.Toy

    private func decode<T: Decodable>(_ type: T.Type, _ json: String) throws -> T {
        try JSONDecoder().decode(type, from: Data(json.utf8))
    }

    private func encode(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test("An object decodes with its links and lists; optional properties may be missing or null")
    func decoding() throws {
        let dog = try decode(Dog.self, CodingModels.json)
        #expect(dog.id == 7 && dog.name == "Rex" && dog.mood == .wild && dog.nick == nil && dog.born == nil)
        #expect(dog.toy?.label == "ball" && dog.toys.map(\.label) == ["a", "b"] && Array(dog.marks) == [1, nil, 3])
        let realm = try memoryRealm(Dog.self, Toy.self)
        try realm.write { realm.add(dog) }
        #expect(realm.object(ofType: Dog.self, forPrimaryKey: 7)?.toys[1].owners.first?.name == "Rex")
    }

    @Test(
        "Decoding fails if a property that is not optional is missing or null",
        arguments: [
            #"{"id": 7}"#, CodingModels.json.replacing("\"Rex\"", with: "null"),
            CodingModels.json.replacing("\"toys\": [{\"label\": \"a\"}, {\"label\": \"b\"}],", with: ""),
        ])
    func refusedJSON(json: String) throws {
        #expect(throws: DecodingError.self) { try decode(Dog.self, json) }
    }

    @Test("An unmanaged object encodes its properties, with null for nil; a managed object is refused")
    func encoding() throws {
        let dog = try decode(Dog.self, CodingModels.json)
        let text =
            #"{"born":null,"id":7,"marks":[1,null,3],"mood":1,"name":"Rex","nick":null,"#
            + #""toy":{"label":"ball"},"toys":[{"label":"a"},{"label":"b"}]}"#
        #expect(try encode(dog) == text)
        let realm = try memoryRealm(Dog.self, Toy.self)
        try realm.write { realm.add(dog) }
        for managed in [dog, realm.objects(Dog.self)[0]] {
            #expect {
                try encode(managed)
            } throws: { error in
                "\(error)".contains("Only unmanaged Realm objects can be encoded using automatic Codable synthesis.")
            }
        }
        #expect(try encode(realm.objects(Dog.self)[0].marks) == "[1,null,3]")
    }

    @Test("Encoding an object omits its linking objects")
    func linkingObjects() throws {
        #expect(try encode(CodingModels.Kennel(value: ["name": "k"])) == #"{"name":"k"}"#)
        let tenant = CodingModels.Tenant(value: ["kennel": ["name": "k"]])
        #expect(try encode(tenant) == #"{"kennel":{"name":"k"}}"#)
    }

    @Test("Lists and erased collections encode and decode as arrays")
    func collections() throws {
        let list = List<String>()
        list.append(objectsIn: ["x", "y"])
        #expect(try encode(list) == #"["x","y"]"# && encode(AnyRealmCollection(list)) == #"["x","y"]"#)
        #expect(try Array(decode(List<Int?>.self, "[1,null]")) == [1, nil])
    }

    @Test("A RealmProperty decodes and encodes as its value")
    func boxes() throws {
        let boxed = try decode(CodingModels.Boxed.self, #"{"box": 5}"#)
        #expect(boxed.box.value == 5 && boxed.age == nil)
        #expect(try encode(boxed) == #"{"age":null,"box":5}"#)
        #expect(try decode(CodingModels.Boxed.self, "{}").box.value == nil)
    }

    @Test("The identity of a managed object is that of its row; an unmanaged object has its own")
    func identities() throws {
        let realm = try memoryRealm(CodingModels.Keyed.self, CodingModels.KeyedByID.self)
        try realm.write {
            realm.add([CodingModels.Keyed(), CodingModels.Keyed()])
            realm.add(CodingModels.KeyedByID())
        }
        let all = realm.objects(CodingModels.Keyed.self)
        #expect(all[0].id == all[0].id && all[0].id != all[1].id)
        let loose = CodingModels.Keyed()
        #expect(loose.id == loose.id && loose.id != CodingModels.Keyed().id)
        func identity<T: Identifiable>(_ value: T) -> T.ID { value.id }
        #expect(identity(all[0]) == all[0].id)
        let keyed = realm.objects(CodingModels.KeyedByID.self)[0]
        let id: ObjectId = keyed.id
        #expect(id == keyed["id"] as? ObjectId)
    }

    @Test("Types report how they are stored")
    func storedTypes() {
        #expect(Int8._rlmType == .int && CodingModels.Mood._rlmType == .int && String?._rlmType == .string)
        #expect(List<Double?>._rlmType == .double && List<Double?>._rlmOptional && !Int._rlmOptional)
        #expect(Dog?._rlmType == .object && UUID._rlmType == .UUID)
        #expect(dynamicBridgeCast(fromObjectiveC: 1) as CodingModels.Mood == .wild)
        #expect(dynamicBridgeCast(fromSwift: CodingModels.Mood.wild) as? Int == 1)
        #expect(dynamicBridgeCast(fromSwift: Int8?.none) is NSNull)
        #expect(Dog._getProperties().map(\.name) == ["id", "name", "nick", "mood", "born", "toy", "toys", "marks"])
        #expect(Object.sharedSchema() == nil && DynamicObject.sharedSchema() == nil)
    }
}
