// SPDX-License-Identifier: Apache-2.0
// Objects from JSON by primary key, and as JSON: every type, links in both forms, updates, and errors with their path.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum JSONModels {
    enum Mood: String, PersistableEnum { case calm, wild }

    class Address: EmbeddedObject {
        @Persisted var street = ""
        @Persisted var lines: List<String>
    }

    class Owner: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = "?"
        @Persisted var address: Address?
        @Persisted(originProperty: "owner") var dogs: LinkingObjects<Dog>
    }

    /// Has no primary key.
    class Toy: Object {
        @Persisted var name = ""
        @Persisted var parts: List<Toy>
    }

    class Dog: Object {
        @Persisted(primaryKey: true) var id = ""
        @Persisted var name = "unnamed"
        @Persisted var age: Int8?
        @Persisted var weight: Float = 0
        @Persisted var price: Decimal128?
        @Persisted var isGood = true
        @Persisted var born: Date?
        @Persisted var photo: Data?
        @Persisted var chip: UUID?
        @Persisted var tag: ObjectId?
        @Persisted var mood = Mood.calm
        @Persisted var moods: List<Mood>
        @Persisted var any: AnyRealmValue
        @Persisted var owner: Owner?
        @Persisted var friends: List<Dog>
        @Persisted var walkers: Map<String, Owner?>
        @Persisted var toys: List<Toy>
        @Persisted var numbers: MutableSet<Int>
        @Persisted var sizes: Map<String, Double>
    }

    class Numbered: Object {
        @Persisted(primaryKey: true) var id: UUID
        @Persisted var name = ""
    }

    static func realm() throws -> Realm {
        try memoryRealm(Address.self, Owner.self, Toy.self, Dog.self, Numbered.self)
    }
}

@Suite("Objects from JSON, and as JSON")
struct JSONObjectsTests {
    private typealias Dog = JSONModels.Dog
    private typealias Owner = JSONModels.Owner

    private static func data(_ text: String) -> Data { Data(text.utf8) }

    private static let rex = """
        [{"id": "r", "name": "Rex", "age": 4, "weight": 2.5, "price": "19.99", "isGood": false,
          "born": "2020-05-01T12:00:00.250Z", "photo": "AQI=", "chip": "00112233-4455-6677-8899-AABBCCDDEEFF",
          "tag": "0123456789abcdef01234567", "mood": "wild", "moods": ["wild", "calm"], "any": [1, "x", {"k": null}],
          "owner": {"id": 7, "name": "Ann", "address": {"street": "High", "lines": ["a", "b"]}},
          "friends": ["b", {"id": "c", "owner": 7}], "walkers": {"mon": 7, "tue": null}, "toys": [{"name": "ball"}],
          "numbers": [3, 1, 3], "sizes": {"collar": 10.5}, "serverOnly": {"x": 1}},
         {"id": "b", "name": "Bo"}]
        """

    @Test("Every type of property is decoded, and links are keys or objects")
    func decode() throws {
        let realm = try JSONModels.realm()
        let dogs = try realm.decode(Self.data(Self.rex), as: Dog.self)
        #expect(dogs.map(\.id) == ["r", "b"] && realm.objects(Dog.self).count == 3)
        let rex = dogs[0]
        #expect(rex.name == "Rex" && rex.age == 4)
        #expect(rex.weight == 2.5 && !rex.isGood && rex.mood == .wild)
        #expect(rex.price == (try Decimal128(string: "19.99")) && rex.photo == Data([1, 2]))
        #expect(rex.born == Date(timeIntervalSince1970: 1_588_334_400.25))
        #expect(rex.chip?.uuidString == "00112233-4455-6677-8899-AABBCCDDEEFF")
        #expect(rex.tag?.stringValue == "0123456789abcdef01234567" && Array(rex.moods) == [.wild, .calm])
        #expect(rex.any.listValue?.count == 3 && rex.any.listValue?[1] == .string("x"))
        #expect(rex.owner?.name == "Ann" && rex.owner?.address?.street == "High")
        #expect(rex.owner?.address.map { Array($0.lines) } == ["a", "b"])
        #expect(rex.friends.map(\.name) == ["Bo", "unnamed"] && rex.friends[1].owner?.id == 7)
        #expect(rex.walkers.count == 2 && rex.walkers["mon"]??.id == 7)
        #expect(rex.toys.map(\.name) == ["ball"] && Array(rex.numbers) == [1, 3])
        #expect(rex.sizes["collar"] == 10.5)
        #expect(realm.objects(Owner.self).count == 1 && !realm.isInWriteTransaction)
    }

    @Test("An existing object is updated, its other properties stay, and null removes a value")
    func update() throws {
        let realm = try JSONModels.realm()
        try realm.decode(Self.data(Self.rex), as: Dog.self)
        let text = #"[{"id": "r", "age": null, "name": "Max", "owner": {"id": 7, "address": {"street": "Low"}}}]"#
        let rex = try #require(try realm.decode(Self.data(text), as: Dog.self).first)
        #expect(rex.name == "Max" && rex.age == nil && rex.weight == 2.5 && rex.friends.count == 2)
        #expect(rex.owner?.name == "Ann" && rex.owner?.address?.street == "Low")
        #expect(realm.objects(Dog.self).count == 3 && realm.objects(Owner.self).count == 1)
        let single = try realm.decode(Self.data(#"{"id": "r", "friends": []}"#), as: Dog.self)
        #expect(single.map(\.id) == ["r"] && rex.friends.isEmpty)
    }

    @Test("Objects may arrive before those that they link to, and in an open transaction")
    func order() throws {
        let realm = try JSONModels.realm()
        try realm.write {
            try realm.decode(Self.data(#"[{"id": "a", "friends": ["z"], "owner": 1}]"#), as: Dog.self)
            #expect(realm.object(ofType: Dog.self, forPrimaryKey: "z")?.name == "unnamed")
            try realm.decode(Self.data(#"[{"id": "z", "name": "Zed"}]"#), as: Dog.self)
            try realm.decode(Self.data(#"{"id": 1, "name": "Ann"}"#), as: Owner.self)
        }
        let dog = try #require(realm.object(ofType: Dog.self, forPrimaryKey: "a"))
        #expect(dog.friends.map(\.name) == ["Zed"] && dog.owner?.name == "Ann" && realm.objects(Dog.self).count == 2)
    }

    @Test("A class that generates its keys needs none, and a number may be a decimal")
    func generated() throws {
        let realm = try JSONModels.realm()
        let made = try realm.decode(
            Self.data(#"[{"name": "a"}, {"name": "b"}]"#), as: JSONModels.Numbered.self)
        #expect(made.map(\.name) == ["a", "b"] && made[0].id != made[1].id)
        let dog = try realm.decode(Self.data(#"{"id": "d", "price": 19.99, "born": 1.5}"#), as: Dog.self)
        #expect(dog[0].price == (try Decimal128(string: "19.99")) && dog[0].born == Date(timeIntervalSince1970: 1.5))
    }

    @Test("Numbers keep their digits and their types")
    func numbers() throws {
        let realm = try JSONModels.realm()
        let text = """
            \u{feff}{"id": "n", "age": 4.0, "price": 1234567890.12345678901234567, "sizes": {"x": 0.30000000000000004},
            "any": [true, 1, 1.0, 0.30000000000000004, 18446744073709551615, "\u{feff}"]}
            """
        let dog = try realm.decode(Self.data(text), as: Dog.self)[0]
        let price = try Decimal128(string: "1234567890.12345678901234567")
        #expect(dog.age == 4 && dog.price == price)
        #expect(dog.sizes["x"] == 0.1 + 0.2)
        let values: [AnyRealmValue] = [
            .bool(true), .int(1), .double(1), .double(0.1 + 0.2),
            .decimal128(try Decimal128(string: "18446744073709551615")), .string("\u{feff}"),
        ]
        #expect(dog.any.listValue.map { Array($0) } == values)
        let other = try JSONModels.realm()
        let copy = try other.decode(realm.encode(from: dog), as: Dog.self)[0]
        #expect(copy.any.listValue.map { Array($0.prefix(4)) } == Array(values.prefix(4)))
        #expect(copy.price == dog.price && copy.sizes["x"] == dog.sizes["x"])
    }

    @Test("A date in a year without four digits is written as a number, and read again")
    func distantDates() throws {
        let realm = try JSONModels.realm()
        for seconds in [-1e12, -5e10, 0.5, 253_402_300_800, 1e15] {
            let dog = Dog(value: ["id": "\(seconds)", "born": Date(timeIntervalSince1970: seconds)] as [String: Any])
            let copy = try realm.decode(realm.encode(from: dog), as: Dog.self)[0]
            #expect(copy.born == Date(timeIntervalSince1970: seconds))
        }
        let endless = Dog(value: ["id": "e", "born": Date(timeIntervalSince1970: .infinity)] as [String: Any])
        #expect(throws: JSONObjectError.self) { try realm.encode(from: endless) }
    }

    static let tooLong = String(repeating: "a", count: 1 << 24)

    @Test("A text or a key that is too long for a value of any type throws an error")
    func longTexts() throws {
        let realm = try JSONModels.realm()
        let value = #expect(throws: JSONObjectError.self) {
            try realm.decode(Self.data(#"{"id": "a", "any": ["\#(Self.tooLong)"]}"#), as: Dog.self)
        }
        #expect(value?.description == "any: a text is too long to be stored")
        let key = #expect(throws: JSONObjectError.self) {
            try realm.decode(Self.data(#"{"id": "a", "sizes": {"\#(Self.tooLong)": 1}}"#), as: Dog.self)
        }
        #expect(key?.description == "sizes: a key is too long to be stored")
        #expect(realm.isEmpty)
    }

    static let refused: [(text: String, description: String)] = [
        (#"[{"id": "a"}, {"id": "b", "name": 5}]"#, "[1].name: must be a text, not 5"),
        (#"[{"id": "a", "age": 300}]"#, "[0].age: 300 is no value of the property's type"),
        (#"[{"id": "a", "name": null}]"#, "[0].name: must not be null"),
        (#"[{"id": "a", "mood": "angry"}]"#, "[0].mood: angry is no value of the property's type"),
        (#"[{"id": "a", "moods": ["calm", "angry"]}]"#, "[0].moods[1]: angry is no value of the property's type"),
        (
            #"[{"id": "a", "owner": {"id": 1, "address": {"street": true}}}]"#,
            "[0].owner.address.street: must be a text"
        ),
        (#"[{"id": "a", "owner": "Ann"}]"#, "[0].owner: must be a whole number, not Ann"),
        (#"[{"id": "a", "friends": [{"name": "x"}]}]"#, "[0].friends[0]: has no primary key 'id'"),
        (#"[{"id": "a", "toys": [4]}]"#, "[0].toys[0]: must be an object, not 4: 'JSONModels_Toy' has no primary key"),
        (#"[{"id": "a", "walkers": {"a.b": 1}}]"#, "[0].walkers: a key must not start with '$' nor contain '.'"),
        (#"[{"id": "a", "sizes": {"x": "y"}}]"#, "[0].sizes.x: must be a number, not y"),
        (#"[{"id": "a", "born": "today"}]"#, "[0].born: must be an ISO 8601 text or seconds since 1970, not today"),
        (#"[{"name": "a"}]"#, "[0]: has no primary key 'id'"), (#"{"name": "a"}"#, "The JSON has no primary key 'id'"),
        (#"{"id": "a", "age": "x"}"#, "age: must be a whole number, not x"), ("[1]", "[0]: must be an object"),
        ("{", "The JSON cannot be parsed"), ("", "The JSON cannot be parsed"),
        (#"{"id": "a", "age": true}"#, "age: must be a whole number, not true"),
        (#"{"id": "a", "age": 4.5}"#, "age: must be a whole number that fits the type, not 4.5"),
        (#"{"id": "a", "isGood": 1}"#, "isGood: must be true or false, not 1"),
        (#"{"id": "a", "weight": false}"#, "weight: must be a number, not false"),
        (#"{"id": "a", "sizes": {"x": 1e400}}"#, "sizes.x: must be a number that fits the type, not 1e400"),
        (#"{"id": "a", "any": [1e400]}"#, "any: must be a number that can be stored, not 1e400"),
        (#"{"id": "a", "price": true}"#, "price: must be a decimal number, not true"),
        (#"{"id": "a", "price": 1e7000}"#, "price: must be a decimal number with up to 34 digits, not 1e7000"),
        (#"{"id": "a", "born": true}"#, "born: must be an ISO 8601 text or seconds since 1970, not true"),
        (#"{"id": "a", "born": 1e400}"#, "born: must be seconds since 1970 of a date that can be stored, not 1e400"),
        (#"{"id": "a", "id": "b"}"#, "The JSON cannot be parsed: the member 'id' occurs twice in an object"),
        (#"{"id": "a", "sizes": {"\u00e9": 1, "e\u0301": 2}}"#, "sizes: the member"),
        (#"{"id": "a", "name": "\ud800"}"#, "The JSON cannot be parsed: a string has an unpaired surrogate"),
        (#"{"id": "a",}"#, "The JSON cannot be parsed"), (#"{"id": "a", "weight": NaN}"#, "The JSON cannot be parsed"),
    ]

    @Test("A value that does not fit throws its path, and nothing is changed", arguments: refused)
    func errors(_ text: String, _ description: String) throws {
        let realm = try JSONModels.realm()
        let error = #expect(throws: JSONObjectError.self) { try realm.decode(Self.data(text), as: Dog.self) }
        #expect(error?.description.hasPrefix(description) == true, "\(error?.description ?? "")")
        #expect(realm.isEmpty && !realm.isInWriteTransaction)
    }

    @Test("Unknown members are errors on request")
    func unknownMembers() throws {
        let realm = try JSONModels.realm()
        let text = Self.data(#"[{"id": 1, "dogs": [], "extra": 1}]"#)
        #expect(try realm.decode(text, as: Owner.self).count == 1)
        let error = #expect(throws: JSONObjectError.self) {
            try realm.decode(Self.data(#"[{"id": 1, "extra": 1}]"#), as: Owner.self, ignoringUnknownMembers: false)
        }
        #expect(error?.description == "[0]: 'JSONModels_Owner' has no property 'extra'")
    }

    @Test("Encoded objects decode to equal objects")
    func roundTrip() throws {
        let realm = try JSONModels.realm()
        try realm.decode(Self.data(Self.rex), as: Dog.self)
        let dogs = realm.objects(Dog.self).sorted(byKeyPath: "id")
        let text = try realm.encode(from: dogs)
        let other = try JSONModels.realm()
        try other.decode(text, as: Dog.self, ignoringUnknownMembers: false)
        try other.decode(realm.encode(from: realm.objects(Owner.self)), as: Owner.self, ignoringUnknownMembers: false)
        #expect(try other.encode(from: other.objects(Dog.self).sorted(byKeyPath: "id")) == text)
        let rex = try #require(other.object(ofType: Dog.self, forPrimaryKey: "r"))
        #expect(rex.owner?.address?.street == "High" && rex.friends.map(\.id) == ["b", "c"] && rex.toys.count == 1)
        #expect(other.objects(Dog.self).count == 3 && other.objects(Owner.self).count == 1)
    }

    @Test("The text of an object has sorted members, keys for links and nested objects without a key")
    func text() throws {
        let realm = try JSONModels.realm()
        let owner = try realm.decode(
            Self.data(#"{"id": 7, "name": "Ann/\"", "address": {"street": "s"}}"#), as: Owner.self)[0]
        #expect(
            String(decoding: try realm.encode(from: owner), as: UTF8.self)
                == #"{"address":{"lines":[],"street":"s"},"id":7,"name":"Ann/\""}"#)
        let toy = JSONModels.Toy(value: ["name": "a", "parts": [["name": "b"]]] as [String: Any])
        #expect(
            String(decoding: try realm.encode(from: [toy]), as: UTF8.self)
                == #"[{"name":"a","parts":[{"name":"b","parts":[]}]}]"#)
    }

    @Test("A value without a form in JSON throws its path")
    func unencodable() throws {
        let realm = try JSONModels.realm()
        let dog = Dog(value: ["id": "d", "weight": Float.nan] as [String: Any])
        let error = #expect(throws: JSONObjectError.self) { try realm.encode(from: [dog]) }
        #expect(error?.description == "[0].weight: nan has no form in JSON")
        let toy = JSONModels.Toy()
        toy.parts.append(toy)
        let cycle = #expect(throws: JSONObjectError.self) { try realm.encode(from: toy) }
        #expect(cycle?.description.hasPrefix("parts[0]: a link leads back") == true)
        toy.parts.removeAll()
    }
}
