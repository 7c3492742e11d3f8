// SPDX-License-Identifier: Apache-2.0
// The text of a schema describes everything that a file stores about its classes, and can be parsed again whatever
// their names are.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// Names that are easily misread.
private enum Odd {
    static let names = [
        "a": "old name", "b": "a: b", "c": "quote\"d", "d": "line\r\nend", "e": "back\\slash", "f": "unique (x)",
        "g": "\u{301}accent", "h": "tab\there", "i": "x, y", "j": "gr\u{f6}\u{df}e",
    ]

    class Thing: MigrationCase {
        @Persisted(primaryKey: true) var a = 0
        @Persisted(indexed: true) var b: String?
        @Persisted var c: List<Int>
        @Persisted var d = 0
        @Persisted var e = 0
        @Persisted var f = 0
        @Persisted var g = 0
        @Persisted var h = 0
        @Persisted var i = 0
        @Persisted var j = 0
        @Persisted var k: Other?
        @Persisted var l: Map<String, Other?>
        override class func propertiesMapping() -> [String: String] { Odd.names }
        override class func _realmObjectName() -> String? { "odd <class>" }
    }
    class Other: MigrationPart {
        @Persisted var x = 0
        override class func _realmObjectName() -> String? { "two words embedded" }
    }
    static let types: [ObjectBase.Type] = [Thing.self, Other.self]
}

@Suite("Golden texts")
struct GoldenTextTests {
    let folder = TestFolder()

    @Test("The text contains unique constraints and delete rules, for declared classes and for files")
    func rules() throws {
        let constrained: [ObjectBase.Type] = [Rules.Member.self, Rules.Place.self, Rules.Seat.self]
        let realm = try Realm(
            configuration: .init(fileURL: folder.file(), objectTypes: Rules.company + constrained))
        let text = realm.schema.goldenText
        for lines in [
            "    projects: list of object<Rules_Project> on-delete cascade\n",
            "    tasks: map of object<Rules_Task> on-delete cascade\n",
            "    department: object<Rules_Department> on-target-delete deny\n",
            "    task: object<Rules_Task> on-target-delete cascade\n",
            "    email: string optional indexed\n",
            "    unique (country, passport)\n    unique (email)\nclass ",
            "    unique (place, row)\n",
        ] { #expect(text.contains(lines), "\(lines)\(text)") }
        #expect(try Schema.golden(text).goldenText == text)
        #expect(try Realm.fileSchema(for: realm.configuration).goldenText == text)
        let without = text.replacing(" on-delete cascade", with: "")
        #expect(try Schema.golden(without).goldenText == without)
        #expect(try Schema.golden(without).goldenHash != realm.schema.goldenHash)
    }

    @Test("Names with spaces, colons, quotes and line breaks survive parsing")
    func names() throws {
        let realm = try Realm(configuration: .init(fileURL: folder.file(), objectTypes: Odd.types))
        let text = realm.schema.goldenText
        let read = try Schema.golden(text)
        #expect(read.goldenText == text)
        #expect(Set(read.objectSchema.map(\.className)) == ["odd <class>", "two words embedded"])
        let thing = try #require(read["odd <class>"])
        #expect(Set(thing.properties.map(\.name)) == Set(Odd.names.values).union(["k", "l"]))
        #expect(thing["k"]?.objectClassName == "two words embedded" && thing.primaryKeyProperty?.name == "old name")
        #expect(read["two words embedded"]?.isEmbedded == true)
        #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } == 15, "expected one line for each class and property")
        #expect(text.contains("    gr\u{f6}\u{df}e: int\n"), "letters must not be quoted")
        #expect(try Realm.fileSchema(for: realm.configuration).goldenText == text)
    }

    @Test("A migration step works with such names")
    func steps() throws {
        let text = try {
            let realm = try Realm(configuration: .init(fileURL: folder.file(), objectTypes: Odd.types))
            try realm.write { realm.create(Odd.Thing.self, value: ["a": 1, "d": 4]) }
            return realm.schema.goldenText
        }()
        let step = MigrationStep(from: 0, to: 1, oldSchema: text) { migration in
            migration.enumerateObjects(ofType: "odd <class>") { old, new in
                new?["a: b"] = "\(old?["line\r\nend"] as? Int ?? 0)"
            }
        }
        let realm = try Realm(
            configuration: .init(
                fileURL: folder.file(), schemaVersion: 1, migrationBlock: MigrationStep.block([step]),
                objectTypes: Odd.types))
        #expect(realm.objects(Odd.Thing.self).first?.b == "4")
        expectIntegrity(of: folder.file())
    }

    @Test("Texts with other line ends, without quotes, and with the command's version line are accepted")
    func others() throws {
        let text =
            "class A\n    old name: string optional\n    unique (x): int\n"
            + "class B embedded\n    a: list of object<A>\n"
        let read = try Schema.golden(text)
        #expect(read["A"]?["old name"]?.isOptional == true && read["A"]?["unique (x)"] != nil)
        let lines = text.components(separatedBy: "\n")
        #expect(try Schema.golden(lines.joined(separator: "\r\n")).goldenText == read.goldenText)
        #expect(try Schema.golden(text + "version 3 hash 0123456789abcdef\n").goldenText == read.goldenText)
    }

    @Test(
        "Invalid text is refused with its line",
        arguments: [
            (
                "class A\n    x: string on-delete cascade\n",
                "line 2, 'x: string on-delete cascade', is not a line of a schema"
            ),
            ("class A\n    x: int\n    unique (y)\n", "'y' is in a unique constraint, but is not a property of 'A'"),
            ("class A\n    unique (x\n", "line 2, 'unique (x', is not a line of a schema"),
            ("class \"A\n    x: int\n", "line 1, 'class \"A', is not a line of a schema"),
            ("class A\n    \"x\\u{110000}\": int\n", "is not a line of a schema"),
            ("class A B\n", "line 1, 'class A B', is not a line of a schema"),
            ("x: int\n", "line 1, 'x: int', is not a line of a schema"),
            ("class A\n    x: int\nclass A\n", "line 3, 'class A', declares a class a second time"),
        ])
    func refused(_ text: String, _ words: String) {
        let error = #expect(throws: Realm.Error.self) { try Schema.golden(text) }
        #expect(error?.code == .invalidInput)
        #expect(error?.localizedDescription.contains(words) == true, "\(error?.localizedDescription ?? "")")
    }
}
