// SPDX-License-Identifier: Apache-2.0
// Values of type Any in the forms that RealmSwift accepts: enums and custom types for their stored types, NSNull for
// the keys of boxed optionals, raw values without a case; and sets, which a value of any type does not accept.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum Given {
    enum Size: String, PersistableEnum { case small, large }
    enum Level: Int, PersistableEnum { case low = 1, high }
    enum Scale: Double, PersistableEnum { case half = 0.5 }

    class Row: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var text = ""
        @Persisted var optionalText: String?
        @Persisted var int = 0
        @Persisted var int8: Int8 = 0
        @Persisted var double = 0.0
        @Persisted var any: AnyRealmValue
        @Persisted var texts: List<String>
        @Persisted var ints: MutableSet<Int>
        @Persisted var words: Map<String, String>
        @Persisted var size: Size?
        @Persisted var level: Level?
        @Persisted var word: Custom.Word?
        @Persisted var levels: List<Level?>
        @Persisted var sizes: Map<String, Size?>
        @Persisted var places: Map<String, Custom.Location>
        let box = RealmProperty<Int?>()
        let levelBox = RealmProperty<Level?>()
    }

    class IntKey: Object {
        let key = RealmProperty<Int?>()
        @Persisted var name = ""
        override class func primaryKey() -> String? { "key" }
    }
    class Int8Key: Object {
        let key = RealmProperty<Int8?>()
        @Persisted var name = ""
        override class func primaryKey() -> String? { "key" }
    }
    class ObjectIdKey: Object {
        let key = RealmProperty<ObjectId?>()
        @Persisted var name = ""
        override class func primaryKey() -> String? { "key" }
    }
    class NewKey: Object {
        @Persisted(primaryKey: true) var key: Int?
        @Persisted var name = ""
    }

    static let keyed: [Object.Type] = [IntKey.self, Int8Key.self, ObjectIdKey.self, NewKey.self]
}

@Suite("Forms of given values") struct AcceptedValueFormsTests {
    private static func realm() throws -> Realm { try memoryRealm(Given.Row.self, Custom.Point.self) }

    /// Rows made from the values in each way: unmanaged by `init(value:)` and by name, managed by `create` and by
    /// name.
    private static func rows(_ values: [String: Any]) throws -> [Given.Row] {
        let realm = try realm()
        let named = Given.Row()
        for (name, value) in values { named[name] = value }
        return try [Given.Row(value: values), named]
            + realm.write {
                let made = realm.create(Given.Row.self, value: values)
                let changed = realm.create(Given.Row.self, value: ["id": 2])
                for (name, value) in values { changed[name] = value }
                let updated = realm.create(Given.Row.self, value: ["id": 3])
                realm.create(
                    Given.Row.self, value: values.merging(["id": 3]) { $1 }, update: .modified)
                return [made, changed, updated]
            }
    }

    @Test("Enums and custom values can be given for their stored types")
    func storedForms() throws {
        let values: [String: Any] = [
            "text": Given.Size.large, "optionalText": Given.Size.small, "int": Given.Level.high,
            "int8": Given.Level.low, "double": Given.Scale.half, "any": Given.Size.small,
            "texts": [Given.Size.small, Given.Size.large], "ints": [Given.Level.low, Given.Level.high],
            "words": ["a": Given.Size.large], "box": Given.Level.high,
        ]
        for (number, row) in try Self.rows(values).enumerated() {
            #expect(row.text == "large" && row.optionalText == "small", "\(number)")
            #expect(row.int == 2 && row.int8 == 1 && row.double == 0.5 && row.any == .string("small"), "\(number)")
            #expect(Array(row.texts) == ["small", "large"] && Set(row.ints) == [1, 2], "\(number)")
            #expect(row.words["a"] == "large" && row.box.value == 2, "\(number)")
        }
        let own: [String: Any] = [
            "text": Custom.Word("w"), "optionalText": Custom.Word("v"), "int": Custom.Wrapped(5),
            "texts": [Custom.Word("x")], "words": ["k": Custom.Word("y")],
        ]
        for row in try Self.rows(own) {
            #expect(row.text == "w" && row.optionalText == "v" && row.int == 5)
            #expect(Array(row.texts) == ["x"] && row.words["k"] == "y")
        }
    }

    @Test("An enum whose raw type does not match is refused like its raw value")
    func wrongForms() throws {
        for (name, value) in [("text", Given.Level.low as Any), ("int", Given.Size.small), ("int", Given.Scale.half)] {
            nonisolated(unsafe) let value = value
            let words = try misuseText { _ = Given.Row(value: [name: value]) }
            #expect(words?.contains("'Row.\(name)'") == true || words?.contains(".\(name)'") == true)
        }
    }

    @Test("In an unmanaged object, an optional property reads nil for a value that its type cannot represent")
    func unformed() throws {
        let values: [String: Any] = [
            "level": 9, "size": "huge", "word": "two words", "levelBox": 9, "levels": [1, 9, NSNull()],
            "sizes": ["a": "huge", "b": "small"],
        ]
        let named = Given.Row()
        named.level = .low
        named.word = Custom.Word("w")
        for (name, value) in values { named[name] = value }
        for row in [named, Given.Row(value: values)] {
            #expect(row.level == nil && row.size == nil && row.word == nil && row.levelBox.value == nil)
            #expect(Array(row.levels) == [.low, nil, nil])
            #expect(row.sizes["a"] == .some(nil) && row.sizes["b"] == .small && row.sizes.count == 2)
        }
        // A value that is not a raw value at all is refused.
        for (name, value) in [("level", "text" as Any), ("size", 5), ("levels", ["text"])] {
            nonisolated(unsafe) let value = value
            #expect(try misuseText { Given.Row()[name] = value }?.contains("Invalid value") == true)
        }
    }

    @Test("Null in a map of custom values stored as embedded objects reads as the type's default")
    func embeddedNulls() throws {
        for row in try Self.rows(["places": ["a": NSNull(), "b": ["x": 1, "y": 2]]]) {
            #expect(row.places.count == 2)
            #expect(row.places["a"].map { [$0.x, $0.y] } == [7, 8])
            #expect(row.places["b"].map { [$0.x, $0.y] } == [1, 2])
        }
    }

    @Test("A value of any type does not accept a set")
    func sets() throws {
        let set = MutableSet<String>()
        set.insert("a")
        for value in [set as Any, Set(["a"]), NSSet(array: ["a"]), [["a"] as Set]] {
            nonisolated(unsafe) let value = value
            let bodies: [@Sendable () throws -> Void] = [
                { Given.Row()["any"] = value }, { _ = Given.Row(value: ["any": value]) },
                {
                    let realm = try Self.realm()
                    try realm.write { _ = realm.create(Given.Row.self, value: ["any": value]) }
                },
            ]
            for body in bodies { #expect(try misuseText(body)?.contains("Invalid value") == true) }
        }
        let row = Given.Row()
        row["any"] = ["a", "b"]
        #expect(row.any.listValue?.count == 2)
    }

    // MARK: Keys of boxed optionals

    @Test("Null is a valid primary key of a boxed optional", arguments: Given.keyed.indices)
    func nullKeys(_ number: Int) throws {
        let type = Given.keyed[number]
        let realm = try Realm(
            configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: Given.keyed))
        try realm.write {
            let first = realm.create(type, value: type.init(), update: .all)
            first["name"] = "a"
            // Updates the same object with each representation of null.
            realm.create(type, value: ["key": NSNull(), "name": "b"], update: .modified)
            #expect(first["name"] as? String == "b")
            realm.create(type, value: ["key": Int?.none as Any, "name": "c"], update: .all)
            realm.create(type, value: ["name": "d"], update: .modified)
            #expect(first["name"] as? String == "d")
            realm.dynamicCreate(type.className(), value: ["key": NSNull(), "name": "e"], update: .modified)
            #expect(first["name"] as? String == "e")
            realm.add(type.init(), update: .modified)
            #expect(realm.objects(type).count == 1)
        }
        #expect(realm.object(ofType: type, forPrimaryKey: NSNull()) != nil)
        #expect(realm.object(ofType: type, forPrimaryKey: Int?.none) != nil)
        #expect(realm.dynamicObject(ofType: type.className(), forPrimaryKey: NSNull()) != nil)
        let other: Any = type == Given.ObjectIdKey.self ? ObjectId.generate() : 5
        #expect(realm.object(ofType: type, forPrimaryKey: other) == nil)
        try realm.write { realm.create(type, value: ["key": other], update: .all) }
        #expect(realm.object(ofType: type, forPrimaryKey: other) != nil)
        #expect(realm.objects(type).count == 2)
        nonisolated(unsafe) let unsafeRealm = realm
        let words = try misuseText { _ = unsafeRealm.object(ofType: type, forPrimaryKey: "text") }
        #expect(words?.contains("Invalid value 'text'") == true)
    }

    @Test("A map of objects is optional in the old and the new schema of a migration")
    func oldSchema() throws {
        try withFile([DepthNode.self, DepthPart.self]) { configuration in
            _ = try Realm(configuration: configuration)
            var next = configuration
            next.schemaVersion = 1
            next.migrationBlock = { migration, _ in
                for schema in [migration.oldSchema, migration.newSchema] {
                    #expect(schema["DepthNode"]?["map"]?.isOptional == true)
                    #expect(schema["DepthNode"]?["list"]?.isOptional == false)
                    #expect(schema["DepthNode"]?["next"]?.isOptional == true)
                }
            }
            _ = try Realm(configuration: next)
        }
    }
}
