// SPDX-License-Identifier: Apache-2.0
// Custom types that some stored values cannot be converted to.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias Collections = Custom.Collections
private typealias Failing = Custom.Failing
private typealias Word = Custom.Word

@Suite("Failable custom types")
struct FailableCustomPersistableTests {
    /// Stores plain text in the same table.
    enum Raw {
        static func store(_ text: String, in realm: Realm, _ property: String) throws {
            try realm.write {
                let object = realm.dynamicObjects("Custom_Failing").first
                object?[property] = text
            }
        }
    }

    @Test("A stored value that converts to no custom value reads as nil from an optional property")
    func optional() throws {
        let realm = try Custom.realm()
        let object = Failing()
        #expect(object.word == Word("first") && object.optWord == nil)
        try realm.write {
            realm.add(object)
            object.optWord = Word("ok")
        }
        #expect(object.optWord == Word("ok"))
        try Raw.store("two words", in: realm, "optWord")
        #expect(object.optWord == nil)
        let words = Collections()
        try realm.write {
            realm.add(words)
            words.words.append(objectsIn: [Word("a"), nil])
            let texts = realm.dynamicObjects("Custom_Collections").first?["words"] as? List<String?>
            texts?.append("b c")
        }
        #expect(Array(words.words) == [Word("a"), nil, nil])
    }

    @Test("A query can use a property whose type has no default if the class declares one")
    func tracing() throws {
        let realm = try Custom.realm()
        try realm.write { realm.add(Failing(value: ["id": 1, "word": "x"])) }
        #expect(realm.objects(Failing.self).where { $0.word == Word("x") }.count == 1)
        #expect(realm.objects(Failing.self).sorted(by: \.word).first?.id == 1)
    }

    static let misuses = [
        MisuseCase("Failed to convert persisted value 'two words' to type 'Word' in a non-optional context.") {
            let realm = try Custom.realm()
            let object = Failing()
            try realm.write { realm.add(object) }
            try Raw.store("two words", in: realm, "word")
            _ = object.word
        },
        MisuseCase(
            "Failed to default construct a Word using the default value for persisted type String. This conversion "
                + "must either succeed, the property must be optional, or you must explicitly specify a default value"
        ) {
            _ = Custom.Undefaulted().word
        },
        MisuseCase("Invalid value 'two words' of type 'String' for 'string' property 'Custom_Failing.word'.") {
            _ = Failing(value: ["word": "two words"])
        },
        MisuseCase("cannot be stored as an object of 'Custom_TopLevel'") {
            _ = try memoryRealm(Custom.BadlyLinked.self, Custom.TopLevel.self)
        },
    ]

    @Test("Programmer errors with custom types have clear messages", arguments: misuses)
    func misuse(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }

    @Test("Codable custom types are encoded and decoded with their objects")
    func coding() throws {
        let object = Custom.Coded(value: ["id": 1, "word": "x"])
        let json = try JSONEncoder().encode(object)
        let read = try JSONDecoder().decode(Custom.Coded.self, from: json)
        #expect(read.word == Word("x") && read.optWord == nil && read.id == 1)
    }
}
