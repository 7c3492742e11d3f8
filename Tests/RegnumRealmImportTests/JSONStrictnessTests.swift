// SPDX-License-Identifier: Apache-2.0
// Lines of JSON that say something else than the schema are refused by line and member, and so are lines without end.

import Foundation
import RealmSwift
import RegnumRealmFile
@testable import RegnumRealmImport
import Testing

@Suite("Strictness of JSON imports") struct JSONStrictnessTests {
    private static let schema =
        #"{"schemaVersion":1,"classes":[{"name":"Dog","kind":"object","properties":["#
        + #"{"name":"age","type":"int"},{"name":"weight","type":"double"},{"name":"size","type":"float"},"#
        + #"{"name":"born","type":"date"},{"name":"data","type":"data"},{"name":"any","type":"any"},"#
        + #"{"name":"friend","type":"link","target":"Dog"},"#
        + #"{"name":"map","type":"int","collection":"dictionary"}]}]}"#

    private func expectRefused(
        _ lines: [String], _ words: [String], schema: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let scratch = try Scratch()
        try Data(lines.joined(separator: "\n").utf8).write(to: scratch["in.json"])
        #expect(sourceLocation: sourceLocation) {
            try ObjectJSON.importLines(
                from: scratch["in.json"], to: scratch["new.realm"], schema: schema.map { Data($0.utf8) })
        } throws: { error in
            guard let error = error as? RealmFileImportError, error.code == .malformedJSON else { return false }
            return words.allSatisfy { error.message.contains($0) }
        }
        #expect(try scratch.names == ["in.json"], sourceLocation: sourceLocation)
    }

    @Test(
        "Members that are unknown or occur twice are reported with their line",
        arguments: [
            (#"{"class":"Dog","key":1,"value":{"age":1,"aeg":2}}"#, ["Line 3", "'aeg'", "'Dog'"]),
            (#"{"class":"Dog","key":1,"value":{"age":1},"extra":0}"#, ["Line 3", "'extra'"]),
            (#"{"class":"Dog","key":1,"value":{"age":1,"age":2}}"#, ["Line 3", "'age'", "twice"]),
            (#"{"class":"Dog","class":"Dog","key":1,"value":{}}"#, ["Line 3", "'class'", "twice"]),
            (#"{"class":"Dog","key":1,"value":{"map":{"a":1,"a":2}}}"#, ["Line 3", "'a'", "twice"]),
            (#"{"class":"Dog","key":1,"value":{"any":{"x":{"y":1,"y":1}}}}"#, ["Line 3", "'y'", "twice"]),
            (#"{"class":"Cat","key":1,"value":{}}"#, ["Line 3", "'Cat'"]),
            (#"{"class":"Dog","key":1,"value":{"age":{"$numberLong":"1","x":2}}}"#, ["Line 3", "Dog.age"]),
            (#"{"class":"Dog","key":1,"value":{"any":{"$oid":"000000000000000000000000","x":2}}}"#, ["Line 3", "'x'"]),
            (#"{"class":"Dog","key":1,"value":{"friend":{"$ref":"Dog","$id":0,"$db":"a"}}}"#, ["Line 3", "'$db'"]),
            (#"{"class":"Dog","key":1,"value":{"data":{"$binary":{"base64":"","subtype":"00"}}}}"#, ["'subtype'"]),
            (#"{"class":"Dog","key":1,"value":{"born":{"$date":{"$numberLong":"1"},"$unit":"ms"}}}"#, ["'$unit'"]),
        ])
    func members(_ line: String, _ words: [String]) throws {
        try expectRefused([Self.schema, #"{"class":"Dog","key":0,"value":{}}"#, line], words)
    }

    @Test(
        "Numbers out of range of their type, and forms that JSON does not have, are refused",
        arguments: [
            (#"{"weight":1e999}"#, "1e999"), (#"{"weight":{"$numberDouble":"-1e999"}}"#, "-1e999"),
            (#"{"size":1e39}"#, "1e39"), (#"{"any":1e400}"#, "1e400"), (#"{"age":9223372036854775808}"#, "Dog.age"),
            (#"{"age":01}"#, "Line 2"), (#"{"weight":1.}"#, "Line 2"), (#"{"weight":.5}"#, "Line 2"),
            (#"{"weight":1e}"#, "Line 2"), (#"{"age":-}"#, "Line 2"), (#"{"weight":0x1}"#, "Line 2"),
        ])
    func numbers(_ value: String, _ word: String) throws {
        try expectRefused([Self.schema, "{\"class\":\"Dog\",\"key\":0,\"value\":\(value)}"], ["Line 2", word])
    }

    @Test(
        "Members of a schema that are unknown or of another type are refused",
        arguments: [
            (#"{"classes":[],"version":1}"#, "'version'"), (#"{"classes":[],"schemaVersion":"1"}"#, "'schemaVersion'"),
            (#"{"classes":[{"name":"A","properties":[],"embedded":true}]}"#, "'embedded'"),
            (#"{"classes":[{"name":"A","properties":[{"name":"a","type":"int","primarykey":true}]}]}"#, "'primarykey'"),
            (#"{"classes":[{"name":"A","properties":[{"name":"a","type":"int","optional":"yes"}]}]}"#, "'optional'"),
        ])
    func schemas(_ schema: String, _ word: String) throws {
        try expectRefused([schema], [word])
    }

    @Test("An empty file is refused, unless a schema is given", arguments: ["", "\n \n"])
    func empty(_ text: String) throws {
        try expectRefused([text], ["empty"])
        let scratch = try Scratch()
        try Data(text.utf8).write(to: scratch["in.json"])
        let report = try ObjectJSON.importLines(
            from: scratch["in.json"], to: scratch["new.realm"], schema: Data(Self.schema.utf8))
        #expect(report.classes.map(\.name) == ["Dog"])
    }

    @Test("A file whose end is missing is refused, wherever it was cut")
    func cut() throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm")
        var all = Data()
        let report = try ObjectJSON.export(old, classNames: ["Deep"]) { all.append($0) }
        let lines = String(decoding: all, as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(lines.count == report.objectCount + 1 && lines[0].hasSuffix("],\"objects\":1250}"))
        try expectRefused(lines.dropLast(), ["1249 objects", "announces 1250", "end is missing"])
        try expectRefused([lines[0]], ["0 objects", "announces 1250"])
        try expectRefused(lines + [lines[1]], ["1251 objects", "announces 1250"])
        try expectRefused(lines.dropLast() + [String(lines[1250].dropLast(3))], ["Line 1251"])
    }

    @Test("Members in another order, and lines longer than a piece of the file, are read")
    func orders() throws {
        let scratch = try Scratch()
        let text = String(repeating: "x", count: 1_200_000)
        let lines = [
            Self.schema, #"{"value":{"friend":{"$id":2,"$ref":"Dog"},"any":"\#(text)"},"key":1,"class":"Dog"}"#,
            #"{"class":"Dog","key":2,"value":{"any":"\#(text)y"}}"#,
        ]
        try Data(lines.joined(separator: "\r\n").utf8).write(to: scratch["in.json"])
        try ObjectJSON.importLines(from: scratch["in.json"], to: scratch["new.realm"])
        let realm = try Realm(
            configuration: Realm.Configuration(fileURL: scratch["new.realm"], schemaVersion: 1, objectTypes: []))
        let dogs = realm.dynamicObjects("Dog")
        let texts: [String?] = dogs.map { $0["any"] as? String }
        let isSame = texts == [text, text + "y"]
        #expect(isSame)
        #expect((dogs[0]["friend"] as? DynamicObject)?.isSameObject(as: dogs[1]) == true)
    }

    @Test("A file that another program shortens during the import is an error, not the end of the process")
    func shortened() throws {
        let scratch = try Scratch()
        let lines = (0..<8_000).map {
            "{\"class\":\"Dog\",\"key\":\($0),\"value\":{\"any\":\"\(String(repeating: "x", count: 200))\"}}"
        }
        try Data(([Self.schema] + lines).joined(separator: "\n").utf8).write(to: scratch["in.json"])
        #expect {
            try ObjectJSON.importLines(from: scratch["in.json"], to: scratch["new.realm"]) { progress in
                guard progress.completed > 0 else { return }
                let handle = try FileHandle(forWritingTo: scratch["in.json"])
                try handle.truncate(atOffset: 100)
                try handle.close()
            }
        } throws: { ($0 as? RealmFileImportError)?.code == .malformedJSON }
        #expect(try scratch.names == ["in.json"])
    }
}
