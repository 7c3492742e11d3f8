// SPDX-License-Identifier: Apache-2.0
// The mapping of classes to tables: names, differences that need a migration, subsets of classes, and invalid
// declarations.

import Foundation
import RealmSwift
import Testing

/// Not in the default schema, because several classes here share a name or are invalid on purpose.
class SchemaCase: Object {
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// A class before and after a change, with the same name.
enum Before {
    class Pet: SchemaCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var age: Int?
        @Persisted var tags: List<String>
        @Persisted var friend: Pet?
        override class func _realmObjectName() -> String? { "ChangingPet" }
    }
}

enum After {
    class Reordered: SchemaCase {
        @Persisted var tags: List<String>
        @Persisted var friend: Reordered?
        @Persisted var age: Int? = 7
        @Persisted var name = "other default"
        @Persisted(primaryKey: true) var id = 0
        var plain = ""
        override class func _realmObjectName() -> String? { "ChangingPet" }
    }
    class AddedAndRemoved: SchemaCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var age: Int?
        @Persisted var tags: List<String>
        @Persisted var friend: AddedAndRemoved?
        @Persisted var title = ""
        override class func _realmObjectName() -> String? { "ChangingPet" }
    }
    class Types: SchemaCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = 0
        @Persisted var age: Int?
        @Persisted var tags: List<Int>
        @Persisted var friend: Types?
        override class func _realmObjectName() -> String? { "ChangingPet" }
    }
    class Optionality: SchemaCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name: String?
        @Persisted var age = 0
        @Persisted var tags: List<String>
        @Persisted var friend: Optionality?
        override class func _realmObjectName() -> String? { "ChangingPet" }
    }
    class NoKey: SchemaCase {
        @Persisted var id = 0
        @Persisted var name = ""
        @Persisted var age: Int?
        @Persisted var tags: List<String>
        @Persisted var friend: NoKey?
        override class func _realmObjectName() -> String? { "ChangingPet" }
    }
    class OtherKey: SchemaCase {
        @Persisted var id = 0
        @Persisted(primaryKey: true) var name = ""
        @Persisted var age: Int?
        @Persisted var tags: List<String>
        @Persisted var friend: OtherKey?
        override class func _realmObjectName() -> String? { "ChangingPet" }
    }
    class NewClass: SchemaCase {
        @Persisted var number = 0
    }
}

class KeylessBefore: SchemaCase {
    @Persisted var id = 0
    override class func _realmObjectName() -> String? { "Keyless" }
}

class KeylessAfter: SchemaCase {
    @Persisted(primaryKey: true) var id = 0
    override class func _realmObjectName() -> String? { "Keyless" }
}

/// Two classes in the default schema with the same name: an error only if one of them is used.
enum OneTwin {
    class SchemaTwin: Object {
        @Persisted var a = 0
        override class func _realmObjectName() -> String? { "SchemaTwin" }
    }
}
enum OtherTwin {
    class SchemaTwin: Object {
        @Persisted var b = 0
        override class func _realmObjectName() -> String? { "SchemaTwin" }
    }
}

private class SchemaPrivate: Object { @Persisted var a = 0 }

struct SchemaOuter {
    enum Middle { class Inner: Object { @Persisted var a = 0 } }
}

class SchemaKeys: Object {
    @Persisted var code = ""
    @Persisted var city = ""
    @Persisted var secret = ""
    var plain = 1
    static var shared: Int { 3 }
    var computed: Int { plain + 1 }
    lazy var cache = [1, 2]
    let constant = 5
    weak var weakly: SchemaKeys?
    var block: (() -> Void)?
    override class func primaryKey() -> String? { "code" }
    override class func indexedProperties() -> [String] { ["city"] }
    override class func ignoredProperties() -> [String] { ["secret", "plain"] }
}

enum SchemaMisuse: String, CaseIterable, Codable, Sendable {
    class NoProperties: SchemaCase { var plain = 0 }
    class TwoKeys: SchemaCase {
        @Persisted(primaryKey: true) var a = 0
        @Persisted(primaryKey: true) var b = 0
    }
    class KeyContradicts: SchemaCase {
        @Persisted(primaryKey: true) var a = 0
        @Persisted var b = 0
        override class func primaryKey() -> String? { "b" }
    }
    class KeyMissing: SchemaCase {
        @Persisted var a = 0
        override class func primaryKey() -> String? { "z" }
    }
    class KeyIgnored: SchemaCase {
        @Persisted var a = 0
        @Persisted var b = 0
        override class func primaryKey() -> String? { "a" }
        override class func ignoredProperties() -> [String] { ["a"] }
    }
    class BoolKey: SchemaCase { @Persisted(primaryKey: true) var a = false }
    class DoubleKey: SchemaCase {
        @Persisted var a = 0.5
        override class func primaryKey() -> String? { "a" }
    }
    class ListKey: SchemaCase {
        @Persisted var a: List<Int>
        override class func primaryKey() -> String? { "a" }
    }
    class IndexMissing: SchemaCase {
        @Persisted var a = 0
        override class func indexedProperties() -> [String] { ["z"] }
    }
    class IndexDouble: SchemaCase {
        @Persisted var a = 0.5
        override class func indexedProperties() -> [String] { ["a"] }
    }
    class OptionalList: SchemaCase {
        @Persisted var a = 0
        var list: List<Int>?
    }
    class LazyList: SchemaCase {
        @Persisted var a = 0
        lazy var list = List<Int>()
    }
    class NoOrigin: SchemaCase {
        @Persisted var a = 0
        @Persisted var back: LinkingObjects<OriginLess>
    }
    class OriginLess: SchemaCase {
        @Persisted var to: NoOrigin?
        @Persisted(originProperty: "nothing") var back: LinkingObjects<OriginLess>
    }
    class OriginNoLink: SchemaCase {
        @Persisted var a = 0
        @Persisted(originProperty: "a") var back: LinkingObjects<OriginNoLink>
    }
    class Parent: SchemaCase { @Persisted var a = 0 }
    class Redeclaring: SchemaCase { @Persisted var a = 0 }
    class AnyLink: SchemaCase { @Persisted var link: Object? }
    class LongName: SchemaCase {
        @Persisted var a = 0
        override class func _realmObjectName() -> String? { String(repeating: "n", count: 58) }
    }

    case noProperties, twoKeys, keyContradicts, keyMissing, keyIgnored, boolKey, doubleKey, listKey
    case indexMissing, indexDouble, optionalList, lazyList, noOrigin, originMissing, originNoLink, anyLink, longName
    case unlisted, twins, twinUsed, twinCreated

    var classes: [ObjectBase.Type] {
        switch self {
        case .noProperties: [NoProperties.self]
        case .twoKeys: [TwoKeys.self]
        case .keyContradicts: [KeyContradicts.self]
        case .keyMissing: [KeyMissing.self]
        case .keyIgnored: [KeyIgnored.self]
        case .boolKey: [BoolKey.self]
        case .doubleKey: [DoubleKey.self]
        case .listKey: [ListKey.self]
        case .indexMissing: [IndexMissing.self]
        case .indexDouble: [IndexDouble.self]
        case .optionalList: [OptionalList.self]
        case .lazyList: [LazyList.self]
        case .noOrigin: [NoOrigin.self, OriginLess.self]
        case .originMissing: [OriginLess.self]
        case .originNoLink: [OriginNoLink.self]
        case .anyLink: [AnyLink.self]
        case .longName: [LongName.self]
        case .unlisted: [Before.Pet.self]
        case .twins: [OneTwin.SchemaTwin.self, OtherTwin.SchemaTwin.self]
        case .twinUsed, .twinCreated: []
        }
    }

    var gist: String {
        func cannotBeKey(_ name: String) -> String {
            "Property 'a' cannot be made the primary key of 'SchemaMisuse_\(name)' because it is not a 'string', "
                + "'int', 'objectId', or 'uuid' property."
        }
        return switch self {
        case .noProperties:
            "No properties are defined for 'SchemaMisuse_NoProperties'. Did you remember to mark them with '@objc' or "
                + "'@Persisted' in your model? Regnum stores '@Persisted var' only, and no 'dynamic var'."
        case .twoKeys: "Properties 'a' and 'b' are both marked as the primary key of 'SchemaMisuse_TwoKeys'"
        case .keyContradicts:
            "Properties 'a' and 'b' are both marked as the primary key of 'SchemaMisuse_KeyContradicts'"
        case .keyMissing: "Primary key property 'z' does not exist on object 'SchemaMisuse_KeyMissing'"
        case .keyIgnored: "Primary key property 'a'"
        case .boolKey: cannotBeKey("BoolKey")
        case .doubleKey: cannotBeKey("DoubleKey")
        case .listKey: cannotBeKey("ListKey")
        case .indexMissing: "Indexed property 'z' does not exist on object 'SchemaMisuse_IndexMissing'"
        case .indexDouble: "Property 'SchemaMisuse_IndexDouble.a' of type 'double' cannot be indexed"
        case .optionalList:
            "Property SchemaMisuse_OptionalList.list is declared as Optional<List<Int>>, which is not a supported"
        case .lazyList: "Lazy managed property 'list' is not allowed on a Realm Swift object class"
        case .noOrigin:
            "LinkingObjects<SchemaMisuse_OriginLess> property 'back' must set the origin property name with "
                + "@Persisted(originProperty: \"name\")."
        case .originMissing: "missing from the list of classes managed by the Realm"
        case .originNoLink:
            "Schema validation failed due to the following errors:\n- Property 'SchemaMisuse_OriginNoLink.a' "
                + "declared as origin of linking objects property 'SchemaMisuse_OriginNoLink.back' is not a link"
        case .anyLink: "Property SchemaMisuse_AnyLink.link is declared as "
        case .longName: "Class name 'nnnn"
        case .unlisted:
            "Object type 'SchemaOuter_Middle_Inner' is not managed by the Realm. If using a custom `objectClasses` "
                + "/ `objectTypes` array in your configuration, add `SchemaOuter_Middle_Inner` to the list"
        case .twins, .twinUsed, .twinCreated:
            "RLMObject subclasses with the same name cannot be included twice in the same target"
        }
    }

    func run() throws {
        var configuration = Realm.Configuration(inMemoryIdentifier: UUID().uuidString)
        if self != .twinUsed && self != .twinCreated { configuration.objectTypes = classes }
        let realm = try Realm(configuration: configuration)
        switch self {
        case .unlisted: _ = realm.objects(SchemaOuter.Middle.Inner.self)
        case .twinUsed: _ = realm.objects(OneTwin.SchemaTwin.self)
        case .twinCreated: try realm.write { realm.create(OtherTwin.SchemaTwin.self) }
        default: break
        }
    }
}

private final class LongestName: Object {
    @Persisted var a = 1
    override class func propertiesMapping() -> [String: String] { ["a": String(repeating: "p", count: 63)] }
    override class func _realmObjectName() -> String? { String(repeating: "n", count: 57) }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite("Schema rules") struct SchemaRulesTests {
    let folder = TestFolder()

    @discardableResult
    func open(
        _ types: [ObjectBase.Type]?, version: UInt64 = 0, readOnly: Bool = false, name: String = "a.realm"
    ) throws -> Realm {
        try Realm(
            configuration: .init(
                fileURL: folder.file(name), readOnly: readOnly, schemaVersion: version, objectTypes: types))
    }

    @Test("Invalid declarations end the program with a message that names them", arguments: SchemaMisuse.allCases)
    func misuse(_ misuse: SchemaMisuse) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [misuse] in
            try misuse.run()
        }
        #expect(words(result).contains(misuse.gist), "\(words(result))")
    }

    static let changes: [(ObjectBase.Type, [String])] = [
        (
            After.AddedAndRemoved.self,
            [
                "- Property 'ChangingPet.name' has been removed.", "- Property 'ChangingPet.title' has been added.",
            ]
        ),
        (
            After.Types.self,
            [
                "- Property 'ChangingPet.name' has been changed from 'string' to 'int'.",
                "- Property 'ChangingPet.tags' has been changed from 'array<string>' to 'array<int>'.",
            ]
        ),
        (
            After.Optionality.self,
            [
                "- Property 'ChangingPet.name' has been made optional.",
                "- Property 'ChangingPet.age' has been made required.",
            ]
        ),
        (After.NoKey.self, ["- Primary Key for class 'ChangingPet' has been removed."]),
        (After.OtherKey.self, ["- Primary Key for class 'ChangingPet' has changed from 'id' to 'name'."]),
    ]

    @Test("Each difference at the same schema version is refused with its own line", arguments: changes.indices)
    func differences(_ index: Int) throws {
        let (type, lines) = Self.changes[index]
        try open([Before.Pet.self])
        let before = try Data(contentsOf: folder.file())
        let error = #expect(throws: Realm.Error.self) { try open([type]) }
        #expect(error?.code == .schemaMismatch)
        #expect(error?.reason == .migrationNeeded)
        let words = error?.localizedDescription ?? ""
        #expect(words.hasPrefix("Migration is required due to the following errors:\n" + lines[0]), "\(words)")
        #expect(words.split(separator: "\n").map(String.init).filter { $0.hasPrefix("- ") }.sorted() == lines.sorted())
        #expect(try Data(contentsOf: folder.file()) == before)
        #expect(try open([Before.Pet.self]).isEmpty, "the unchanged file must open with the old class")
    }

    @Test("An added primary key is a difference")
    func addedKey() throws {
        try open([KeylessBefore.self])
        let error = #expect(throws: Realm.Error.self) { try open([KeylessAfter.self]) }
        #expect(error?.localizedDescription.contains("- Primary Key for class 'Keyless' has been added.") == true)
    }

    @Test("Another order, other defaults, unmanaged properties and new classes need no new version")
    func noDifferences() throws {
        do {
            let realm = try open([Before.Pet.self])
            try realm.write {
                realm.create(Before.Pet.self, value: ["id": 1, "name": "Rex", "age": 3, "tags": ["a", "b"]])
            }
        }
        do {
            let realm = try open([After.Reordered.self, After.NewClass.self])
            let pet = realm.object(ofType: After.Reordered.self, forPrimaryKey: 1)
            #expect(pet?.name == "Rex" && pet?.age == 3)
            #expect(pet.map { Array($0.tags) } == ["a", "b"])
            try realm.write {
                realm.create(After.NewClass.self, value: ["number": 4])
                realm.create(After.Reordered.self, value: ["id": 2, "friend": pet as Any])
            }
        }
        let realm = try open([Before.Pet.self])
        let second = realm.object(ofType: Before.Pet.self, forPrimaryKey: 2)
        #expect(second?.name == "other default" && second?.age == 7 && second?.friend?.id == 1)
    }

    @Test("Opening with a subset of the classes leaves the other tables unchanged")
    func subset() throws {
        do {
            let realm = try open([Before.Pet.self, After.NewClass.self])
            try realm.write {
                realm.create(After.NewClass.self, value: ["number": 4])
                realm.create(Before.Pet.self, value: ["id": 1])
            }
        }
        do {
            let realm = try open([After.NewClass.self])
            #expect(realm.schema.objectSchema.map(\.className) == ["After_NewClass"])
            try realm.write { realm.delete(realm.objects(After.NewClass.self)) }
            #expect(!realm.isEmpty, "the other table must keep its object")
        }
        #expect(try open([Before.Pet.self]).objects(Before.Pet.self).first?.id == 1)
    }

    @Test("A read-only file may lack classes and properties, but their types must match")
    func readOnly() throws {
        try open([Before.Pet.self])
        do {
            let realm = try open([After.AddedAndRemoved.self, After.NewClass.self], readOnly: true)
            #expect(realm.objects(After.NewClass.self).count == 0)
            #expect(realm.objects(After.AddedAndRemoved.self).count == 0)
        }
        let error = #expect(throws: Realm.Error.self) { try open([After.Types.self], readOnly: true) }
        #expect(error?.code == .schemaMismatch)
    }

    // A file of another version contains values that a migration has not changed yet.
    @Test("A read-only file can only be opened with its own schema version")
    func readOnlyVersions() throws {
        try open([Before.Pet.self], version: 10)
        for (version, words) in [
            (5, "Provided schema version 5 is less than last set version 10."),
            (11, "Provided schema version 11 does not equal last set version 10."),
        ] as [(UInt64, String)] {
            let error = #expect(throws: Realm.Error.self) {
                try open([Before.Pet.self], version: version, readOnly: true)
            }
            #expect(error?.code == .fail && error?.localizedDescription.contains(words) == true, "\(version)")
        }
        let realm = try open([Before.Pet.self], version: 10, readOnly: true)
        #expect(realm.isEmpty && realm.configuration.schemaVersion == 10)
    }

    @Test("Nested, private and local classes have the same names in each run")
    func names() throws {
        class SchemaLocal: Object { @Persisted var a = 0 }
        let realm = try open(nil)
        #expect(SchemaOuter.Middle.Inner.className() == "SchemaOuter_Middle_Inner")
        for name in ["SchemaOuter_Middle_Inner", "SchemaPrivate", "SchemaLocal", "SchemaKeys"] {
            #expect(realm.schema[name] != nil, "\(name)")
        }
        #expect(!realm.schema.objectSchema.contains { $0.className.contains("0x") || $0.className.contains("(") })
        try realm.write {
            realm.create(SchemaLocal.self, value: ["a": 1])
            realm.create(SchemaPrivate.self, value: ["a": 2])
            realm.create(SchemaOuter.Middle.Inner.self, value: ["a": 3])
        }
        #expect(realm.objects(SchemaLocal.self).first?.a == 1)
        #expect(realm.objects(SchemaPrivate.self).first?.a == 2)
    }

    @Test("Two processes can open a file with private and local classes")
    func twoRuns() async throws {
        let path = folder.file("two.realm").path
        for _ in 0..<2 {
            await #expect(processExitsWith: .success) { [path = path as String] in
                let realm = try Realm(
                    configuration: .init(
                        fileURL: URL(fileURLWithPath: path), objectTypes: [SchemaPrivate.self]))
                try realm.write { realm.create(SchemaPrivate.self) }
            }
        }
        let realm = try open([SchemaPrivate.self], name: "two.realm")
        #expect(realm.objects(SchemaPrivate.self).count == 2)
    }

    @Test("Class functions name keys, indexes and ignored properties")
    func classFunctions() throws {
        let realm = try open([SchemaKeys.self])
        let schema = realm.schema["SchemaKeys"]
        #expect(schema?.properties.map(\.name) == ["code", "city"])
        #expect(schema?.primaryKeyProperty?.name == "code")
        #expect(schema?["city"]?.isIndexed == true)
        let keys = SchemaKeys(value: ["code": "a", "city": "b"])
        keys.secret = "unmanaged"
        keys.plain = 9
        try realm.write { realm.add(keys) }
        #expect(keys.secret == "unmanaged" && keys.plain == 9)
        #expect(realm.object(ofType: SchemaKeys.self, forPrimaryKey: "a")?.secret == "")
    }

    @Test("Two classes of the same name are harmless if unused, and one of them may be used")
    func twins() throws {
        let all = try open(nil, name: "all.realm")
        #expect(all.schema["SchemaTwin"] == nil)
        let realm = try open([OneTwin.SchemaTwin.self])
        try realm.write { realm.create(OneTwin.SchemaTwin.self, value: ["a": 1]) }
        #expect(realm.objects(OneTwin.SchemaTwin.self).count == 1)
    }

    @Test("A class name may have 57 bytes and a property name 63")
    func longestNames() throws {
        let realm = try memoryRealm(LongestName.self)
        try realm.write { realm.create(LongestName.self, value: ["a": 2]) }
        #expect(realm.dynamicObjects(LongestName.className()).first?["a"] as? Int == 2)
    }
}
