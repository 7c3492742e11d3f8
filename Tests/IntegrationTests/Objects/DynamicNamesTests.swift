// SPDX-License-Identifier: Apache-2.0
// Names of dynamic objects' properties. Short names are looked up by their bits and all others by their text, with
// the same result.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private enum Labels {
    class Thing: MigrationCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var age = 0
        @Persisted var fifteenByteName = ""
        @Persisted var sixteenBytesName = ""
        @Persisted var size = 0.5
        @Persisted var ratio: Float = 0.5
        @Persisted var isGood = false
        @Persisted var maybe: Int?
        @Persisted(indexed: true) var key: String?
        override class func propertiesMapping() -> [String: String] { ["size": "gr\u{f6}\u{df}e"] }
        override class func _realmObjectName() -> String? { "LThing" }
    }
    /// Opens the file without the class, so that its objects are read by the columns of the file.
    class Other: MigrationCase {
        @Persisted var x = 0
        override class func _realmObjectName() -> String? { "LOther" }
    }
}

@Suite("Names of dynamic objects")
struct DynamicNamesTests {
    let folder = TestFolder()

    /// The same text in heap memory, however short it is.
    private func onHeap(_ name: String) -> String {
        var text = ""
        text.reserveCapacity(64)
        text += name
        return text
    }

    private func open(_ type: ObjectBase.Type) throws -> Realm {
        try Realm(configuration: .init(fileURL: folder.file(), objectTypes: [type]))
    }

    @Test("A property is found by name in every representation of the String")
    func forms() throws {
        try {
            let realm = try open(Labels.Thing.self)
            try realm.write {
                realm.create(
                    Labels.Thing.self,
                    value: [
                        "id": 1, "age": 4, "fifteenByteName": "fifteen", "sixteenBytesName": "sixteen", "size": 2.5,
                        "ratio": 1.5, "isGood": true, "key": "k",
                    ])
            }
        }()
        let realm = try open(Labels.Other.self)
        let thing = try #require(realm.dynamicObjects("LThing").first)
        for name in ["age", onHeap("age"), String("see age".dropFirst(4)), ["a", "ge"].joined()] {
            #expect(thing[name] as? Int == 4 && thing.value(forKey: name) as? Int == 4, "\(name)")
        }
        #expect(thing["fifteenByteName"] as? String == "fifteen" && thing["sixteenBytesName"] as? String == "sixteen")
        #expect(thing["gr\u{f6}\u{df}e"] as? Double == 2.5)
        #expect(thing["gro\u{308}\u{df}e"] as? Double == 2.5, "equal texts must find the same property")
        #expect(thing["ratio"] as? Float == 1.5 && thing["isGood"] as? Bool == true && thing["maybe"] == nil)
        #expect(thing["id"] as? Int == 1 && thing["key"] as? String == "k")
        try realm.write {
            thing["age"] = 5
            thing[onHeap("maybe")] = 6
            thing["fifteenByteName"] = String(repeating: "long ", count: 2000)
            thing["sixteenBytesName"] = "other"
            thing["gro\u{308}\u{df}e"] = 3.5
            thing["ratio"] = Float(2.5)
            thing["isGood"] = false
            thing["key"] = "l"
        }
        #expect(thing["age"] as? Int == 5 && thing["maybe"] as? Int == 6)
        #expect((thing["fifteenByteName"] as? String)?.count == 10_000)
        #expect(thing["sixteenBytesName"] as? String == "other")
        #expect(thing["gr\u{f6}\u{df}e"] as? Double == 3.5 && thing["ratio"] as? Float == 2.5)
        #expect(thing["isGood"] as? Bool == false)
        #expect(realm.dynamicObjects("LThing").filter("key == 'l'").count == 1, "the index must contain the new value")
        try realm.write {
            thing["fifteenByteName"] = "short"
            thing["age"] = Int8(7)
            thing["maybe"] = nil
        }
        #expect(thing["fifteenByteName"] as? String == "short" && thing["age"] as? Int == 7 && thing["maybe"] == nil)
        expectIntegrity(of: folder.file())
    }

    static let mistakes: [MisuseCase] = [
        MisuseCase("Invalid property name 'nothing' for class 'LThing'.") { try withThing { _ = $0["nothing"] } },
        MisuseCase("Invalid property name 'Age' for class 'LThing'.") { try withThing { $0["Age"] = 1 } },
        MisuseCase("Invalid value 'x' of type 'String' for 'int' property 'LThing.age'.") {
            try withThing { $0["age"] = "x" }
        },
        MisuseCase("Primary key can't be changed to '2' after an object is inserted.") {
            try withThing { $0["id"] = 2 }
        },
        MisuseCase("Cannot modify managed objects outside of a write transaction.") {
            try withThing(writes: false) { $0["age"] = 2 }
        },
        MisuseCase("Object has been deleted or invalidated.") {
            try withThing { thing in
                thing.realm?.delete(thing)
                _ = thing["age"]
            }
        },
    ]

    static func withThing(writes: Bool = true, _ body: (DynamicObject) -> Void) throws {
        let realm = try memoryRealm(Labels.Thing.self)
        try realm.write { realm.create(Labels.Thing.self, value: ["id": 1]) }
        guard let thing = realm.dynamicObjects("LThing").first else { return }
        if writes { try realm.write { body(thing) } } else { body(thing) }
    }

    @Test("Programmer errors have messages that name the property", arguments: mistakes)
    func misuse(_ mistake: MisuseCase) throws {
        let message = try mistake.message()
        #expect(message.contains(mistake.words), "\(message)")
    }
}
