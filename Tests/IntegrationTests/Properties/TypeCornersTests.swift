// SPDX-License-Identifier: Apache-2.0
// Stored values that a property's type cannot represent, in collections, RealmProperty and properties; values of any
// type that are copied from a Realm or read by name; aggregates that do not exist. Each test states the fault that it
// prevents.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum TypeCorners {
    enum Size: Int, PersistableEnum { case small = 1, large = 2 }

    /// Stored as text; a text with spaces converts to no value.
    struct Word: FailableCustomPersistable {
        let text: String
        init?(persistedValue: String) {
            if persistedValue.contains(" ") { return nil }
            text = persistedValue
        }
        var persistableValue: String { text }
    }

    /// Stored as a date; a date before 1970 converts to no value.
    struct Day: FailableCustomPersistable {
        let date: Date
        init?(persistedValue: Date) {
            if persistedValue.timeIntervalSince1970 < 0 { return nil }
            date = persistedValue
        }
        var persistableValue: Date { date }
    }

    class Model: Object {
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Everything: Model {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var sizes: List<Size>
        @Persisted var maybeSizes: List<Size?>
        @Persisted var sizeSet: MutableSet<Size>
        @Persisted var sizeMap: Map<String, Size>
        @Persisted var int8: Int8 = 1
        @Persisted var int8s: List<Int8>
        @Persisted var word: Word
        @Persisted var words: List<Word>
        @Persisted var day: Day
        let box = RealmProperty<Size?>()
        let narrowBox = RealmProperty<Int8?>()
    }

    class Dog: Model {
        @Persisted var name = ""
    }

    class Values: Model {
        @Persisted var any: AnyRealmValue
        @Persisted var anys: List<AnyRealmValue>
        @Persisted var anyMap: Map<String, AnyRealmValue>
        @Persisted var anySet: MutableSet<AnyRealmValue>
    }

    class Many: Model {
        @Persisted var texts: List<String>
        @Persisted var optTexts: MutableSet<String?>
        @Persisted var textMap: Map<String, String>
        @Persisted var optTextMap: Map<String, String?>
        @Persisted var dates: List<Date>
        @Persisted var numbers: List<Int>
        @Persisted var dogs: MutableSet<Dog>
    }

    static let name = "TypeCorners_Everything"

    static func realm() throws -> Realm { try memoryRealm(Everything.self, Dog.self, Values.self, Many.self) }

    /// An object with values in all its properties that their types cannot represent, and some that they can.
    static func strange(_ realm: Realm) throws -> Everything {
        let all = try realm.write { realm.create(Everything.self, value: ["id": 1, "sizes": [1]] as [String: Any]) }
        let stored = try #require(realm.dynamicObject(ofType: name, forPrimaryKey: 1))
        try realm.write {
            (stored["sizes"] as? List<Int>)?.append(10)
            (stored["maybeSizes"] as? List<Int?>)?.append(objectsIn: [2, 11, nil])
            (stored["sizeSet"] as? MutableSet<Int>)?.insert(12)
            (stored["sizeMap"] as? Map<String, Int>)?["k"] = 13
            stored["int8"] = 300
            (stored["int8s"] as? List<Int>)?.append(objectsIn: [5, 301])
            stored["word"] = "two words"
            (stored["words"] as? List<String>)?.append(objectsIn: ["one", "two words"])
            stored["day"] = Date(timeIntervalSince1970: -5)
            stored["box"] = 14
            stored["narrowBox"] = 302
        }
        return all
    }

    /// Checks the stored values of the object of `strange`.
    static func expectStrange(_ realm: Realm, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let stored = try #require(
            realm.dynamicObject(ofType: name, forPrimaryKey: 1), sourceLocation: sourceLocation)
        func numbers(_ key: String) -> [Int]? { (stored[key] as? List<Int>).map { Array($0) } }
        #expect(numbers("sizes") == [1, 10] && numbers("int8s") == [5, 301], sourceLocation: sourceLocation)
        let maybe = (stored["maybeSizes"] as? List<Int?>).map { Array($0) }
        let set = (stored["sizeSet"] as? MutableSet<Int>).map { Array($0) }
        #expect(maybe == [2, 11, nil] && set == [12], sourceLocation: sourceLocation)
        let map = stored["sizeMap"] as? Map<String, Int>
        let words = (stored["words"] as? List<String>).map { Array($0) }
        #expect(map?["k"] == 13 && words == ["one", "two words"], sourceLocation: sourceLocation)
        let day = stored["day"] as? Date
        #expect(
            stored["word"] as? String == "two words" && day == Date(timeIntervalSince1970: -5),
            sourceLocation: sourceLocation)
        #expect(
            stored["int8"] as? Int == 300 && stored["box"] as? Int == 14 && stored["narrowBox"] as? Int == 302,
            sourceLocation: sourceLocation)
    }
}

@Suite("Values that a type cannot represent, and values of any type by name and in copies")
struct TypeCornersTests {
    private typealias Everything = TypeCorners.Everything
    private typealias Dog = TypeCorners.Dog
    private typealias Values = TypeCorners.Values
    private typealias Many = TypeCorners.Many

    // MARK: Values that the type cannot represent

    // A description or a read by name must not use the typed getter, which traps, for elements, RealmProperty or
    // custom types.
    @Test("Unrepresentable values are visible by name and in descriptions, and optional reads are nil")
    func shown() throws {
        let realm = try TypeCorners.realm()
        let all = try TypeCorners.strange(realm)
        for words in ["[1] 10", "[1] 11", "[0] 12", "[k]: 13", "[1] 301", "[1] two words", "box = 14;", "int8 = 300;"] {
            #expect(all.description.contains(words), "\(words) in \(all.description)")
        }
        #expect(all["word"] as? String == "two words" && all["day"] as? Date == Date(timeIntervalSince1970: -5))
        #expect(all["box"] as? Int == 14 && all.box.value == nil && all["narrowBox"] as? Int == 302)
        #expect(all.sizeMap.value(forKey: "k") as? Int == 13 && all.sizes[0] == .small && all.words[0].text == "one")
        #expect(Array(all.maybeSizes) == [.large, nil, nil])
        #expect(all.sizes.value(forKeyPath: "@max.self") as? Int == 10)
        let snapshot = all.snapshot()
        #expect(snapshot["sizes"] == SnapshotValue.list([.int(1), .int(10)]))
        #expect(snapshot["sizeMap"] == SnapshotValue.map(["k": .int(13)]))
        #expect(snapshot["word"] == SnapshotValue.string("two words"))
        let words = try misuseText {
            let realm = try TypeCorners.realm()
            _ = try TypeCorners.strange(realm).sizes[1]
        }
        #expect(words?.contains("Failed to convert persisted value '10' to type 'Size'") == true, "\(words ?? "read")")
    }

    // A copy must not be made from typed values, and must accept numbers that are out of range.
    @Test("Unrepresentable values are copied between objects, assigned, and written by name")
    func copied() throws {
        let (realm, other) = (try TypeCorners.realm(), try TypeCorners.realm())
        let all = try TypeCorners.strange(realm)
        try other.write { other.create(Everything.self, value: all) }
        try TypeCorners.expectStrange(other)
        try other.write {
            other.create(Everything.self, value: ["id": 1, "int8": 2, "sizes": [2]] as [String: Any], update: .all)
            other.create(Everything.self, value: all, update: .modified)
        }
        try TypeCorners.expectStrange(other)
        try realm.write {
            let second = realm.create(Everything.self, value: ["id": 2])
            second.sizes = all.sizes
            second.sizeSet = all.sizeSet
            second.sizeMap = all.sizeMap
            second["maybeSizes"] = all.maybeSizes
            realm.delete(all)
            let stored = try #require(realm.dynamicObject(ofType: TypeCorners.name, forPrimaryKey: 2))
            #expect((stored["sizes"] as? List<Int>).map { Array($0) } == [1, 10])
            #expect((stored["maybeSizes"] as? List<Int?>).map { Array($0) } == [2, 11, nil])
            #expect((stored["sizeSet"] as? MutableSet<Int>)?.first == 12)
            #expect((stored["sizeMap"] as? Map<String, Int>)?["k"] == 13)
            second["sizes"] = [2, 20]
            second.sizeMap.setValue(21, forKey: "l")
            second["word"] = "three bad words"
            second["narrowBox"] = 400
            second["int8"] = NSNumber(value: 500)
            #expect((stored["sizes"] as? List<Int>).map { Array($0) } == [2, 20] && second.sizes[0] == .large)
            #expect((stored["sizeMap"] as? Map<String, Int>)?["l"] == 21)
            #expect(stored["word"] as? String == "three bad words" && stored["narrowBox"] as? Int == 400)
            #expect(stored["int8"] as? Int == 500 && second["int8"] as? Int == 500)
        }
    }

    // The same for unmanaged copies.
    @Test("Unmanaged copies have the default, nil, or no element in place of an unrepresentable value")
    func detached() throws {
        let realm = try TypeCorners.realm()
        let all = try TypeCorners.strange(realm)
        for copy in [all.detached(), Everything(value: all)] {
            #expect(Array(copy.sizes) == [.small] && Array(copy.maybeSizes) == [.large, nil, nil])
            #expect(copy.sizeSet.isEmpty && copy.sizeMap.isEmpty && Array(copy.int8s) == [5] && copy.int8 == 1)
            #expect(copy.word.text == "" && copy.words.map(\.text) == ["one"])
            #expect(copy.day.date > Date(timeIntervalSince1970: 0))
            #expect(copy.box.value == nil && copy.narrowBox.value == nil && copy.id == 1)
        }
    }

    // Observers must also get the old value of a RealmProperty.
    @Test("Observers get the old values of RealmProperty and unrepresentable old values")
    func oldValues() throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Everything.self])
        let stage = try Stage(configuration)
        let diary = Diary()
        try stage.write { realm in
            let all = realm.create(Everything.self, value: ["id": 1])
            all["word"] = "two words"
            all["box"] = 14
        }
        try stage.on { realm in
            let all = try #require(realm.object(ofType: Everything.self, forPrimaryKey: 1))
            diary.tokens = [
                all.observe { change in
                    guard case .change(_, let properties) = change else { return }
                    for property in properties {
                        let (old, new) = (property.oldValue ?? "nil", property.newValue ?? "nil")
                        diary.lines.append("\(property.name): \(old), \(new)")
                    }
                }
            ]
        }
        let other = try Realm(configuration: configuration)
        try other.write {
            let all = try #require(other.object(ofType: Everything.self, forPrimaryKey: 1))
            all["word"] = "word"
            all.box.value = .large
        }
        stage.settle()
        #expect(diaryLines(stage, diary) == ["word: two words, word", "box: 14, 2"])
    }

    private static let refusals = [
        MisuseCase(
            "Invalid value '300' of type 'Int' for 'int' property 'TypeCorners_Everything.int8'. The declared type "
                + "cannot represent this value."
        ) { _ = TypeCorners.Everything(value: ["int8": 300]) },
        MisuseCase("Invalid value '300' of type 'Int' for 'int' property 'TypeCorners_Everything.int8'.") {
            let realm = try TypeCorners.realm()
            try realm.write { realm.create(TypeCorners.Everything.self, value: ["int8": 300]) }
        },
        MisuseCase("Invalid value '300' of type 'Int' for expected type 'int'.") {
            let realm = try TypeCorners.realm()
            try realm.write { realm.create(TypeCorners.Everything.self, value: ["int8s": [300]]) }
        },
        MisuseCase("Invalid value 'x' of type 'String' for expected type 'int'.") {
            let realm = try TypeCorners.realm()
            try realm.write { realm.create(TypeCorners.Everything.self, value: ["sizes": ["x"]]) }
        },
        // An unmanaged set must refuse them as a managed one does, because it can be added later.
        MisuseCase("Sets cannot hold lists or dictionaries.") {
            MutableSet<AnyRealmValue>().insert(.fromArray([.int(1)]))
        },
        MisuseCase("Sets cannot hold lists or dictionaries.") {
            let realm = try TypeCorners.realm()
            try realm.write { realm.create(TypeCorners.Values.self, value: ["anySet": [[1]]]) }
        },
    ]

    @Test("Values that a property or collection cannot store are refused with the reason", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }

    // MARK: Values of any type

    // A list in a value of any type must not remain a view of the managed object, and links in lists must not stay
    // managed.
    @Test("A detached copy has copies of the lists, dictionaries and objects in values of any type")
    func detachedAnys() throws {
        let realm = try TypeCorners.realm()
        let values = try realm.write {
            let values = realm.create(Values.self)
            let dog = realm.create(Dog.self, value: ["name": "Rex"])
            values.any = .fromArray([.int(1), .object(dog), .fromDictionary(["d": .object(dog)])])
            values.anys.append(objectsIn: [.object(dog), .fromArray([.int(2)]), .none])
            values.anyMap["l"] = .fromArray([.object(dog)])
            values.anyMap["n"] = AnyRealmValue.none
            return values
        }
        let copy = values.detached()
        let list = try #require(copy.any.listValue)
        let rex = try #require(list[1].object(Dog.self))
        #expect(list.realm == nil && list.count == 3 && rex.realm == nil && rex.name == "Rex")
        #expect(list[2].dictionaryValue?["d"]?.object(Dog.self) === rex)
        #expect(copy.anys.count == 3 && copy.anys[0].object(Dog.self) === rex && copy.anys[2] == AnyRealmValue.none)
        #expect(copy.anyMap["l"]?.listValue?.first?.object(Dog.self) === rex && copy.anyMap.count == 2)
        list.append(.int(9))
        copy.anys[1].listValue?.append(.int(3))
        #expect(values.any.listValue?.count == 3 && values.anys[1].listValue?.count == 1)
        let shallow = values.detached(depth: 0)
        #expect(shallow.any.listValue?.count == 2 && shallow.anys.count == 2 && shallow.anyMap.count == 2)
        #expect(shallow.any.listValue?[1].dictionaryValue?["d"] == AnyRealmValue.none)
    }

    // A migration knows properties only by name, so it needs a dynamic object.
    @Test("An object in a value of any type is dynamic if a dynamic object is read")
    func dynamicAnys() throws {
        let realm = try TypeCorners.realm()
        let values = try realm.write {
            let values = realm.create(Values.self)
            let dog = realm.create(Dog.self, value: ["name": "Rex"])
            values.any = .object(dog)
            values.anys.append(.object(dog))
            return values
        }
        let dynamic = realm.dynamicObjects("TypeCorners_Values")[0]
        let linked = try #require(dynamic["any"] as? DynamicObject)
        #expect(linked["name"] as? String == "Rex")
        let anys = try #require(dynamic["anys"] as? List<AnyRealmValue>)
        #expect(anys[0].dynamicObject?["name"] as? String == "Rex" && anys[0].object(Dog.self)?.name == "Rex")
        #expect(anys[0].object(Values.self) == nil && values.any.object(Dog.self)?.name == "Rex")
    }

    @Test("A migration reads and changes objects in values of any type by name")
    func migratedAnys() throws {
        try withFile([Values.self, Dog.self]) { configuration in
            func fill() throws {
                let realm = try Realm(configuration: configuration)
                try realm.write {
                    realm.create(Values.self).any = .object(realm.create(Dog.self, value: ["name": "Rex"]))
                }
            }
            try fill()
            var next = configuration
            next.schemaVersion = 1
            next.migrationBlock = { migration, _ in
                migration.enumerateObjects(ofType: "TypeCorners_Values") { old, new in
                    let before = old?["any"] as? MigrationObject
                    let after = new?["any"] as? MigrationObject
                    after?["name"] = (before?["name"] as? String ?? "nobody") + " Max"
                }
            }
            let realm = try Realm(configuration: next)
            #expect(realm.objects(Dog.self).map(\.name) == ["Rex Max"])
        }
    }

    // MARK: Aggregates

    @Test("Aggregates of values use the key path self, including those of unmanaged collections")
    func figures() throws {
        let realm = try TypeCorners.realm()
        let many = Many()
        many.numbers.append(objectsIn: [3, 1, 2])
        many.dates.append(Date(timeIntervalSince1970: 5))
        func check() {
            let numbers = many.numbers
            #expect(numbers.min(ofProperty: "self") as Int? == 1 && numbers.max(ofProperty: "self") as Int? == 3)
            #expect(numbers.sum(ofProperty: "self") as Int == 6)
            #expect(numbers.average(ofProperty: "self") as Double? == 2)
            #expect(many.dates.max(ofProperty: "self") as Date? == Date(timeIntervalSince1970: 5))
        }
        check()
        try realm.write {
            realm.add(many)
            let values = realm.create(Values.self)
            values.anys.append(objectsIn: [.int(1), .double(1.5), .string("x")])
            #expect(values.anys.value(forKeyPath: "@sum.self") as? Decimal128 == 2.5)
            #expect(values.anys.sum(ofProperty: "self") as Decimal128 == Decimal128("2.5"))
        }
        check()
    }

    /// For a managed object.
    private static func many(_ body: @escaping @Sendable (TypeCorners.Many) -> Void) -> @Sendable () throws -> Void {
        return {
            let realm = try TypeCorners.realm()
            body(try realm.write { realm.create(TypeCorners.Many.self, value: ["texts": ["a"]]) })
        }
    }

    // An aggregate that does not exist must be refused, not nil or 0; "self" must be valid for unmanaged collections.
    private static let figureless = [
        MisuseCase(
            "Operation 'min' not supported for string list 'TypeCorners_Many.texts'",
            many { _ = $0.texts.min(ofProperty: "self") as Int? }),
        MisuseCase(
            "Operation 'max' not supported for string? set 'TypeCorners_Many.optTexts'",
            many { _ = $0.optTexts.max(ofProperty: "self") as Int? }),
        MisuseCase(
            "Operation 'sum' not supported for string dictionary 'TypeCorners_Many.textMap'",
            many { _ = $0.textMap.sum(ofProperty: "self") as Int }),
        MisuseCase(
            "Operation 'average' not supported for date list 'TypeCorners_Many.dates'",
            many { _ = $0.dates.average(ofProperty: "self") as Double? }),
        MisuseCase(
            "Operation 'min' not supported for string list 'TypeCorners_Many.texts'",
            many { _ = $0.texts.value(forKeyPath: "@min.self") }),
        MisuseCase("minOfProperty: is not supported for string array") {
            _ = TypeCorners.Many().texts.min(ofProperty: "self") as Int?
        },
        MisuseCase("maxOfProperty: is not supported for string? set") {
            _ = TypeCorners.Many().optTexts.max(ofProperty: "self") as Int?
        },
        MisuseCase("sumOfProperty: is not supported for string? dictionary") {
            _ = TypeCorners.Many().optTextMap.sum(ofProperty: "self") as Int
        },
        MisuseCase("averageOfProperty: is not supported for date array") {
            _ = TypeCorners.Many().dates.average(ofProperty: "self") as Double?
        },
        MisuseCase(
            "index(matching:) is not available on MutableSet",
            many { _ = $0.dogs.index(matching: { $0.name == "Rex" }) }),
    ]

    @Test("Aggregates and positions that do not exist are refused with RealmSwift's messages", arguments: figureless)
    func noFigures(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}
