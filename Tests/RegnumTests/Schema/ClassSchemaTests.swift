// SPDX-License-Identifier: Apache-2.0
// The properties that reflection finds in classes, and refused declarations.

import Foundation
import Testing

@testable import Regnum

@Suite("Schemas of classes")
struct ClassSchemaTests {
    @Test("Properties of superclasses come first, then own properties in order")
    func order() {
        let names = ClassSchema.of(Hound.self).properties.map(\.name)
        #expect(names == ["born", "isWild", "id", "name", "nick", "master", "mood", "grade", "keepers"])
    }

    @Test("Types, optionality, keys and indexes match the declarations")
    func flags() throws {
        let schema = ObjectSchema(ClassSchema.of(Hound.self))
        #expect(schema.primaryKeyProperty?.name == "id")
        #expect(schema["name"]?.isIndexed == true && schema["name"]?.isOptional == false)
        #expect(schema["nick"]?.isIndexed == false && schema["nick"]?.isOptional == true)
        #expect(schema["master"]?.type == .object && schema["master"]?.objectClassName == "Keeper")
        #expect(schema["mood"]?.type == .string && schema["grade"]?.type == .int)
        #expect(schema["keepers"]?.type == .linkingObjects)
        #expect(!schema.properties.contains { $0.name == "keepers" })
    }

    @Test("Stored `let` properties of the library's own types are persisted")
    func storedLets() {
        let schema = ObjectSchema(ClassSchema.of(Notebook.self))
        #expect(schema.properties.map(\.name) == ["id", "image", "tags", "pages", "rating"])
        #expect(schema["tags"]?.isArray == true && schema["tags"]?.isOptional == true)
        #expect(schema["pages"]?.objectClassName == "Keeper")
        #expect(schema["rating"]?.type == .int && schema["rating"]?.isOptional == true)
        #expect(schema.primaryKeyProperty?.name == "id" && schema["image"]?.isIndexed == true)
        #expect(ClassSchema.of(Tagged.self).property(named: "holders")?.originProperty == "tagged")
    }

    @Test("Ignored properties are not stored")
    func ignored() {
        #expect(ClassSchema.of(Ignoring.self).properties.map(\.name) == ["name"])
    }

    @Test("Class names: nested classes use their path, private and local ones the bare name, overrides theirs")
    func names() {
        final class Local: Object { @Persisted var x = 0 }
        #expect(Outer.Inner.className() == "Outer_Inner")
        #expect(secretType.className() == "Secret")
        #expect(Local.className() == "Local")
        #expect(Renamed.className() == "OtherName")
        #expect(Hound.className() == "Hound")
        #expect(ClassSchema.of(Renamed.self).property(named: "name")?.columnName == "full_name")
        #expect(ClassNames.module(of: secretType) == "RegnumTests")
    }

    @Test("The scan finds concrete classes of all kinds, and no generic ones")
    func scan() {
        final class InFunction: Object { @Persisted var x = 0 }
        class Generic<T>: Object {}
        let found = Set(ClassScan.subclasses(of: ObjectBase.self).map { ObjectIdentifier($0) })
        for type in [Hound.self, Creature.self, Outer.Inner.self, secretType, InFunction.self] as [AnyClass] {
            #expect(found.contains(ObjectIdentifier(type)), "\(type)")
        }
        #expect(!found.contains(ObjectIdentifier(Generic<Int>.self)))
        #expect(!found.contains(ObjectIdentifier(ObjectBase.self)))
    }

    @Test("Descriptions have the form that RealmSwift's tests compare")
    func descriptions() {
        #expect(
            ObjectSchema(ClassSchema.of(TagHolder.self)).description == """
                TagHolder {
                \ttagged {
                \t\ttype = object;
                \t\tobjectClassName = Tagged;
                \t\tlinkOriginPropertyName = (null);
                \t\tcolumnName = tagged;
                \t\tindexed = NO;
                \t\tisPrimary = NO;
                \t\tarray = YES;
                \t\tset = NO;
                \t\tdictionary = NO;
                \t\toptional = NO;
                \t}
                }
                """)
    }

    @Test("The offset that debug builds read from a key path is that of the field")
    func keyPathOffsets() {
        // Reading and writing each property of an object checks all offsets.
        let object = AllTypes()
        object.bool = true
        object.int8 = -8
        object.int64 = 64
        object.optGrade = .high
        let schema = ClassSchema.of(AllTypes.self)
        #expect(schema.property(named: "bool")?.get(object) as? Bool == true)
        #expect(schema.property(named: "int8")?.get(object) as? Int == -8)
        #expect(schema.property(named: "int64")?.get(object) as? Int == 64)
        #expect(schema.property(named: "optGrade")?.get(object) as? Int == 2)
    }

    final class NoProperties: Object {
        var plain = 1
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class TwoKeys: Object {
        @Persisted(primaryKey: true) var a = 0
        @Persisted(primaryKey: true) var b = 0
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class MissingKey: Object {
        @Persisted var a = 0
        override class func primaryKey() -> String? { "b" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class BoolKey: Object {
        @Persisted(primaryKey: true) var a = false
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class OptionalElements: Object {
        @Persisted var keepers: List<Keeper?>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class FloatIndex: Object {
        @Persisted var a: Float
        override class func indexedProperties() -> [String] { ["a"] }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class NoOrigin: Object {
        @Persisted var a = 0
        @Persisted var keepers: LinkingObjects<Keeper>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class OptionalList: Object {
        @Persisted var a = 0
        var list: List<Int>? = nil
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class LazyList: Object {
        @Persisted var a = 0
        lazy var list = List<Int>()
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    @Test(
        "A wrong declaration is refused, and the error names it",
        arguments: [
            (NoProperties.self, "No properties are defined for 'ClassSchemaTests_NoProperties'"),
            (
                TwoKeys.self,
                "Properties 'a' and 'b' are both marked as the primary key of 'ClassSchemaTests_TwoKeys'"
            ),
            (
                MissingKey.self,
                "Primary key property 'b' does not exist on object 'ClassSchemaTests_MissingKey'"
            ),
            (
                BoolKey.self,
                "Property 'a' cannot be made the primary key of 'ClassSchemaTests_BoolKey' because it is "
                    + "not a 'string'"
            ),
            (OptionalElements.self, "List<Keeper> property 'keepers' must not be marked as optional."),
            (FloatIndex.self, "Property 'ClassSchemaTests_FloatIndex.a' of type 'float' cannot be indexed"),
            (NoOrigin.self, "LinkingObjects<Keeper> property 'keepers' must set the origin property name"),
            (
                OptionalList.self,
                "Property ClassSchemaTests_OptionalList.list is declared as Optional<List<Int>>"
            ),
            (LazyList.self, "Lazy managed property 'list' is not allowed"),
        ] as [(ObjectBase.Type, String)])
    func refusals(_ type: ObjectBase.Type, _ words: String) {
        guard case .failure(let problem) = ClassSchema.find(type) else {
            Issue.record("\(type) was accepted")
            return
        }
        #expect(problem.message.contains(words), "\(problem.message)")
    }

    @Test("Key paths have names: own, inherited, through optional links and lists")
    func keyPaths() {
        #expect(_name(for: \Hound.name) == "name")
        #expect(_name(for: \Hound.born) == "born")
        #expect(_name(for: \Hound.master?.name) == "master.name")
        #expect(_name(for: \Hound.master?.best?.nick) == "master.best.nick")
        #expect(_name(for: \Keeper.hounds) == "hounds")
        #expect(_name(for: \Keeper.hounds[0].master?.hounds) == "hounds.master.hounds")
        #expect(_name(for: \Hound.mood) == "mood")
        #expect(_name(for: \Notebook.pages[0].name) == "pages.name")
        #expect(_name(for: \Hound.keepers) == "keepers")
    }
}
