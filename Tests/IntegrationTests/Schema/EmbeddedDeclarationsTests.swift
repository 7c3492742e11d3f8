// SPDX-License-Identifier: Apache-2.0
// Declarations of embedded classes: which ones are refused, and which changes of them need a migration.

import Foundation
import RealmSwift
import Testing

private class Unlisted: EmbeddedObject {
    @Persisted var a = 0
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Keyed: EmbeddedObject {
    @Persisted(primaryKey: true) var id = 0
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class KeyedByName: EmbeddedObject {
    @Persisted var id = 0
    override class func primaryKey() -> String? { "id" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class OptionalElements: SchemaCase {
    @Persisted var all: List<Unlisted?>
}

private class ToTheBase: SchemaCase {
    @Persisted var any: EmbeddedObject?
}

private class SetOfEmbedded: SchemaCase {
    @Persisted var all: MutableSet<Unlisted>
}

private class MapOfRequired: SchemaCase {
    @Persisted var all: Map<String, Unlisted>
}

private class Outside: SchemaCase {
    @Persisted var inner: Unlisted?
}

private class WrongOrigin: EmbeddedObject {
    @Persisted(originProperty: "inner") var owners: LinkingObjects<Outside>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// One class before and after a change.
private enum Changing {
    class Top: SchemaCase {
        @Persisted var a = 0
        override class func _realmObjectName() -> String? { "ChangingKind" }
    }
    class Inner: EmbeddedObject {
        @Persisted var a = 0
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
        override class func _realmObjectName() -> String? { "ChangingKind" }
    }
}

@Suite("Declarations of embedded classes")
struct EmbeddedDeclarationsTests {
    private static func opening(_ words: String, _ types: [ObjectBase.Type]) -> MisuseCase {
        MisuseCase(words) {
            _ = try Realm(
                configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: types))
        }
    }

    static let refusals: [MisuseCase] = [
        opening("- Embedded object type 'Keyed' cannot have a primary key.", [Keyed.self]),
        opening("- Embedded object type 'KeyedByName' cannot have a primary key.", [KeyedByName.self]),
        opening(
            "List<Unlisted> property 'all' must not be marked as optional.", [OptionalElements.self, Unlisted.self]),
        opening("- Set property 'SetOfEmbedded.all' cannot contain embedded", [SetOfEmbedded.self, Unlisted.self]),
        opening("must be marked as optional", [MapOfRequired.self, Unlisted.self]),
        opening("not a supported managed Object property type", [ToTheBase.self]),
        opening("- 'Outside.inner' links to class 'Unlisted', which is missing from the list", [Outside.self]),
        opening(
            "'WrongOrigin.owners' links to type 'Unlisted'", [WrongOrigin.self, Outside.self, Unlisted.self]),
    ]

    @Test("Illegal declarations are refused by name", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }

    @Test("A class that becomes embedded, or stops being embedded, needs a migration")
    func changes() throws {
        try withFile([Changing.Top.self]) { configuration in
            do { _ = try Realm(configuration: configuration) }
            var changed = configuration
            changed.objectTypes = [Changing.Inner.self]
            let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: changed) }
            #expect(
                "\(try #require(error))".contains("Class 'ChangingKind' has been changed from TopLevel to Embedded."))
        }
        try withFile([Changing.Inner.self]) { configuration in
            do { _ = try Realm(configuration: configuration) }
            var changed = configuration
            changed.objectTypes = [Changing.Top.self]
            let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: changed) }
            #expect(
                "\(try #require(error))".contains("Class 'ChangingKind' has been changed from Embedded to TopLevel."))
        }
    }
}
