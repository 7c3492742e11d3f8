// SPDX-License-Identifier: Apache-2.0
// The report names each value that cannot be imported, with its object and the reason; models get valid Swift names.

import Foundation
import RealmSwift
import RegnumRealmFile
import RegnumRealmImport
import RegnumTestKit
import Testing

@Suite("What an import reports") struct LossTests {
    private func file(_ scratch: Scratch, _ build: (inout FileBuilder) -> [(String, Int64)]) throws -> URL {
        var builder = FileBuilder(format: 9)
        let tables = build(&builder)
        try Data(builder.file(tables: tables, slot: 1)).write(to: scratch["old.realm"])
        return scratch["old.realm"]
    }

    @Test("Invalid UTF-8 and duplicate primary keys are reported")
    func textsAndKeys() throws {
        let scratch = try Scratch()
        let old = try file(scratch) { builder in
            let texts: [[UInt8]?] = [Array("fine".utf8), [0x61, 0xed, 0xa0, 0x80], Array("\u{FFFD}".utf8)]
            let columns: [FileBuilder.LegacyColumn] = [
                ("id", 0, 1, builder.integers([7, 8, 7])),
                ("text", 2, 16, builder.medium(texts, isText: true, nullMark: false)),
                ("next", 12, 0, builder.integers([2, 3, 0])), ("", 14, 0, builder.refs([0, 0, 0])),
            ]
            return [
                ("class_Pair", builder.legacyTable(columns, targets: [Tagged(0), Tagged(0), Tagged(2)])),
                ("pk", builder.primaryKeyTable([("Pair", "id")])),
            ]
        }
        var job = RealmFileImport(from: old, to: scratch["new.realm"])
        job.verifies = true
        let report = try job.run()
        #expect(report.classes[0].read == 3 && report.classes[0].written == 2)
        #expect(!report.isComplete)
        let losses = report.losses.map { "\($0.property ?? "-") \($0.key)" }
        #expect(losses.contains("text 1") && losses.contains("- 2") && losses.contains("next 1"), "\(report)")
        let realm = try Realm(
            configuration: Realm.Configuration(fileURL: scratch["new.realm"], objectTypes: []))
        #expect(realm.dynamicObjects("Pair").map { $0["text"] as? String } == ["fine", "a\u{FFFD}\u{FFFD}\u{FFFD}"])
        #expect(realm.configuration.integrityFindings().isEmpty)
        let json = try report.json()
        #expect(try JSONDecoder().decode(RealmFileImportReport.self, from: json) == report)
    }

    @Test("A text with U+FFFD of its own is not a loss, even after one with bytes that are not valid UTF-8")
    func replacementCharacters() throws {
        let scratch = try Scratch()
        let old = try file(scratch) { builder in
            let texts: [[UInt8]?] = [[0x61, 0xff], Array("\u{FFFD}".utf8), Array("fine".utf8)]
            let kinds = builder.integers([2, 2, 2])
            let places = builder.refs([Tagged(0), Tagged(1), Tagged(2)])
            let binaries = builder.big(texts.map { $0.map { $0 + [0] } }, isText: false)
            let columns: [FileBuilder.LegacyColumn] = [
                ("text", 2, 16, builder.medium(texts, isText: true, nullMark: false)),
                ("interned", 3, 0, builder.integers([2, 1, 0])),
                ("any", 6, 0, builder.refs([kinds, places, binaries])),
            ]
            let interned = builder.medium(texts, isText: true, nullMark: false)
            return [("class_Text", builder.legacyTable(columns, interned: [interned]))]
        }
        var job = RealmFileImport(from: old, to: scratch["new.realm"])
        job.verifies = true
        let report = try job.run()
        #expect(report.losses.map { "\($0.property ?? "-") \($0.key)" } == ["text 0", "any 0", "interned 2"])
        let realm = try Realm(configuration: Realm.Configuration(fileURL: scratch["new.realm"], objectTypes: []))
        #expect(
            realm.dynamicObjects("Text").map { $0["interned"] as? String } == ["fine", "\u{FFFD}", "a\u{FFFD}"])
    }

    @Test(
        "Tables without a class are imported; links and tables in values of any type that cannot be held are reported"
    )
    func placeless() throws {
        let scratch = try Scratch()
        var builder = FileBuilder(format: 24)
        // Type 12 is a link without a table.
        let any = builder.refs([builder.integers([12 + 1 | 1 << 5]), builder.integers([7]), 0, 0, 0])
        let row = FileBuilder.ClusterColumn(name: "a", type: 0, root: builder.integers([1, 2]))
        let tables = [
            (
                "class_A",
                builder.clusterTable(
                    at: 0, keys: [0], [.init(name: "any", type: 6, attributes: 16, root: any)])
            ),
            ("people", builder.clusterTable(at: 1, keys: [0, 1], [row])),
            ("flx_metadata", builder.clusterTable(at: 2, keys: [0, 1], [row])),
        ]
        try Data(builder.file(tables: tables)).write(to: scratch["new format.realm"])
        let report = try RealmFileImport(from: scratch["new format.realm"], to: scratch["new.realm"]).run()
        #expect(report.notes.isEmpty && report.classes.map(\.name) == ["A", "people"])
        #expect(report.classes[1].written == 2)
        #expect(report.losses.map { "\($0.property ?? "-") \($0.key)" } == ["any 0"])

        let old = try file(scratch) { builder in
            let values = builder.refs([builder.integers([5]), builder.refs([Tagged(0)])])
            return [("class_A", builder.legacyTable([("any", 6, 0, values)]))]
        }
        let second = try RealmFileImport(from: old, to: scratch["second.realm"]).run()
        #expect(second.losses.map { "\($0.property ?? "-") \($0.key)" } == ["any 0"])
        let exported = try ObjectJSON.export(old) { _ in }
        #expect(exported.losses.count == 1)
    }

    /// Such tables were once left out, and the import of a file without classes was reported as complete.
    @Test("Tables that belong to no class become classes, whose names do not hide others")
    func bareTables() throws {
        let scratch = try Scratch()
        let old = try file(scratch) { builder in
            let people: [FileBuilder.LegacyColumn] = [
                ("age", 0, 0, builder.integers([30, 40])), ("next", 12, 0, builder.integers([2, 0])),
                ("", 14, 0, builder.refs([0, 1])),
            ]
            let other: [FileBuilder.LegacyColumn] = [("name", 2, 0, builder.shortTexts(["x"], width: 4))]
            return [
                ("people", builder.legacyTable(people, targets: [Tagged(0), Tagged(0), Tagged(1)])),
                ("class_people", builder.legacyTable(other)), ("metadata", builder.metadataTable(3)),
                ("cities", builder.legacyTable(other)),
            ]
        }
        var job = RealmFileImport(from: old, to: scratch["new.realm"])
        job.verifies = true
        let report = try job.run()
        #expect(report.isComplete && report.omittedObjectCount == 0 && report.schemaVersion == 3)
        #expect(report.classes.map(\.name) == ["people_0", "people", "cities"])
        #expect(report.notes == ["Table 'people' belongs to no class. It becomes class 'people_0'."])
        let configuration = Realm.Configuration(
            fileURL: scratch["new.realm"], schemaVersion: 3, objectTypes: [])
        let realm = try Realm(configuration: configuration)
        let people = realm.dynamicObjects("people_0")
        #expect(people.count == 2 && (people[0]["next"] as? DynamicObject)?["age"] as? Int == 40)
        #expect(realm.dynamicObjects("people").count == 1 && realm.dynamicObjects("cities").count == 1)
        var lines = Data()
        let exported = try ObjectJSON.export(old) { lines.append($0) }
        #expect(exported.isComplete && exported.objectCount == 4 && exported.notes == report.notes)
        #expect(String(decoding: lines, as: UTF8.self).contains(#"{"class":"people_0","key":0,"#))
        #expect(try FileModels(of: old).swiftSource.contains("class people_0: Object {"))
    }

    @Test("A file with a damaged table is not imported")
    func damagedTable() throws {
        let scratch = try Scratch()
        let old = try file(scratch) { builder in
            let none = builder.integers([1])
            return [
                ("class_A", builder.legacyTable([("id", 0, 0, builder.integers([1]))])),
                ("class_Bad", builder.refs([none, none])),
            ]
        }
        let job = RealmFileImport(from: old, to: scratch["new.realm"])
        #expect { try job.run() } throws: { error in
            let error = error as? RealmFileError
            return error?.code == .damaged && error?.location == "class_Bad" && error?.filePath == old.path
        }
        #expect(try scratch.names == ["old.realm"])
    }

    @Test("Asymmetric classes and the classes of synchronisation are left out with a note")
    func synchronisation() throws {
        let scratch = try Scratch()
        var builder = FileBuilder(format: 24)
        let column = FileBuilder.ClusterColumn(name: "a", type: 0, root: builder.integers([1, 2]))
        let tables = [
            ("class_A", builder.clusterTable(at: 0, keys: [0, 1], [column])),
            ("class_Event", builder.clusterTable(at: 1, keys: [0, 1], [column], kind: .asymmetric)),
            ("class___Role", builder.clusterTable(at: 2, keys: [0, 1], [column])),
        ]
        try Data(builder.file(tables: tables)).write(to: scratch["old.realm"])
        let report = try RealmFileImport(from: scratch["old.realm"], to: scratch["new.realm"]).run()
        #expect(report.classes.map(\.name) == ["A"] && report.lossCount == 0)
        #expect(report.omittedObjectCount == 4 && !report.isComplete)
        #expect(
            report.notes == [
                "Class 'Event' is asymmetric and is left out: its 2 objects wait to be sent.",
                "Class '__Role' belongs to Realm's synchronisation and is left out.",
            ])
        let realm = try Realm(configuration: Realm.Configuration(fileURL: scratch["new.realm"], objectTypes: []))
        #expect(realm.dynamicObjects("A").count == 2)
        let exported = try ObjectJSON.export(scratch["old.realm"]) { _ in }
        #expect(exported.omittedObjectCount == 4 && !exported.isComplete && exported.notes == report.notes)
        let named = try ObjectJSON.export(scratch["old.realm"], classNames: ["A"]) { _ in }
        #expect(named.isComplete && named.objectCount == 2)
        // Its objects that were not sent exist only in the original, which is kept although the app does not ask for it.
        var configuration = Realm.Configuration(fileURL: scratch["old.realm"], objectTypes: [])
        configuration.legacyFile = .importing(keepOriginal: false)
        #expect(try Realm(configuration: configuration).dynamicObjects("A").count == 2)
        let kept = try RealmFile(url: scratch["old.realm.legacy"])
        #expect(kept.classes.first { $0.name == "Event" }?.objectCount == 2)
    }

    @Test("Null in a list of links of JSON lines is reported, and dates keep their fractions")
    func jsonLosses() throws {
        let scratch = try Scratch()
        let lines = [
            #"{"classes":[{"name":"A","properties":[{"name":"list","type":"link","target":"A","collection":"list"},"#
                + #"{"name":"at","type":"date"}]}]}"#,
            #"{"class":"A","key":0,"value":{"list":[null],"at":{"$date":"2001-01-01T00:00:00.5Z"}}}"#,
            #"{"class":"A","key":1,"value":{"at":{"$date":"1969-12-31T23:59:59.25Z"}}}"#,
        ]
        try Data(lines.joined(separator: "\n").utf8).write(to: scratch["in.json"])
        let report = try ObjectJSON.importLines(from: scratch["in.json"], to: scratch["new.realm"])
        #expect(report.losses.map { "\($0.property ?? "-") \($0.key)" } == ["list 0"])
        let realm = try Realm(configuration: Realm.Configuration(fileURL: scratch["new.realm"], objectTypes: []))
        let dates: [Date?] = realm.dynamicObjects("A").map { $0["at"] as? Date }
        #expect(dates == [Date(timeIntervalSinceReferenceDate: 0.5), Date(timeIntervalSince1970: -0.75)])
        let tooExact =
            lines[0] + "\n" + #"{"class":"A","key":0,"value":{"at":{"$date":"2001-01-01T00:00:00.1234567891Z"}}}"#
        try Data(tooExact.utf8).write(to: scratch["exact.json"])
        #expect(throws: RealmFileImportError.self) {
            try ObjectJSON.importLines(from: scratch["exact.json"], to: scratch["exact.realm"])
        }
    }

    @Test("Names that are invalid in Swift are mapped")
    func names() throws {
        let scratch = try Scratch()
        let lines = [
            #"{"schemaVersion":3,"classes":[{"name":"String","properties":[{"name":"class","type":"int"},"#
                + #"{"name":"description","type":"string","optional":true},{"name":"a b","type":"any"},{"name":"Any","type":"int"},"#
                + #"{"name":"1st","type":"link","target":"String"}]}]}"#
        ]
        try Data(lines.joined().utf8).write(to: scratch["in.json"])
        try ObjectJSON.importLines(from: scratch["in.json"], to: scratch["new.realm"])
        let source = try FileModels(of: scratch["new.realm"]).swiftSource
        #expect(source.contains("class StringModel: Object {"))
        #expect(source.contains("override class func _realmObjectName() -> String? { \"String\" }"))
        #expect(source.contains("var `class`: Int\n") && source.contains("var descriptionValue: String?"))
        #expect(source.contains("var a_b: AnyRealmValue") && source.contains("var _1st: StringModel?"))
        #expect(source.contains("\"descriptionValue\": \"description\","))
        #expect(source.contains("var AnyValue: Int\n") && source.contains("\"AnyValue\": \"Any\","))
        #expect(source.contains("\"a_b\": \"a b\",") && source.contains("\"_1st\": \"1st\","))
    }

    @Test("`expectImport` opens fixtures as an app does")
    func testKit() throws {
        let scratch = try Scratch()
        let fixtures = try [scratch.fixture("all_types_v23.realm"), scratch.fixture("all_types_v24.realm")]
        var count = 0
        try expectImport(of: fixtures, to: Realm.Configuration(schemaVersion: 7, objectTypes: [])) { realm, _ in
            count += realm.dynamicObjects("Deep").count
        }
        #expect(count == 2500)
        #expect(try scratch.names == ["all_types_v23.realm", "all_types_v24.realm"])
        withKnownIssue {
            try expectImport(
                of: [scratch.fixture("all_types_v22.realm")], to: Realm.Configuration(schemaVersion: 7, objectTypes: [])
            )
        }
        try Data("none".utf8).write(to: scratch["none.realm"])
        withKnownIssue {
            try expectImport(of: [scratch["none.realm"]], to: Realm.Configuration(schemaVersion: 7, objectTypes: []))
        }
    }
}
