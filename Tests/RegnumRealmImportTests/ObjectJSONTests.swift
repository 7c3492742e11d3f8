// SPDX-License-Identifier: Apache-2.0
// Objects are exported to JSON and read back unchanged.

import Foundation
import RealmSwift
import RegnumRealmFile
import RegnumRealmImport
import Testing

@Suite("Objects as JSON") struct ObjectJSONTests {
    private func export(_ url: URL, to target: URL) throws -> Int {
        var all = Data()
        let report = try ObjectJSON.export(url) { all.append($0) }
        #expect(report.isComplete)
        try all.write(to: target)
        return report.objectCount
    }

    @Test("A file with all types can be restored from its lines", arguments: ["all_types_v23", "all_types_v24"])
    func roundTrip(_ name: String) throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("\(name).realm")
        let count = try export(old, to: scratch["old.json"])
        let lines = try String(contentsOf: scratch["old.json"], encoding: .utf8).split(separator: "\n")
        #expect(lines.count == count + 1)
        for line in lines { _ = try JSONSerialization.jsonObject(with: Data(line.utf8)) }
        let report = try ObjectJSON.importLines(from: scratch["old.json"], to: scratch["new.realm"])
        #expect(report.isComplete && report.objectsWritten == count, "\(report)")
        let realm = try Realm(
            configuration: Realm.Configuration(fileURL: scratch["new.realm"], schemaVersion: 7, objectTypes: []))
        var comparison = try Comparison(try RealmFile(url: old), realm)
        let differences = try comparison.run()
        #expect(differences.isEmpty, "\(differences.prefix(3))")
        #expect(realm.configuration.integrityFindings().isEmpty)
        // The lines of the new file equal those of an import of the old one.
        _ = try export(scratch["new.realm"], to: scratch["again.json"])
        try RealmFileImport(from: old, to: scratch["imported.realm"]).run()
        _ = try export(scratch["imported.realm"], to: scratch["imported.json"])
        #expect(try Data(contentsOf: scratch["again.json"]) == Data(contentsOf: scratch["imported.json"]))
    }

    @Test("Single classes, and lines without a schema, can be imported")
    func parts() throws {
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm")
        var all = Data()
        #expect(
            try ObjectJSON.export(old, classNames: ["Deep"], withSchema: false) { all.append($0) }.objectCount == 1250)
        #expect(
            String(decoding: all.prefix(53), as: UTF8.self).hasPrefix(
                #"{"class":"Deep","key":0,"value":{"n":0,"f":null}}"#))
        try all.write(to: scratch["deep.json"])
        #expect(throws: RealmFileImportError.self) {
            try ObjectJSON.importLines(from: scratch["deep.json"], to: scratch["new.realm"])
        }
        let schema = Data(try FileModels(of: old).json.utf8)
        let report = try ObjectJSON.importLines(from: scratch["deep.json"], to: scratch["new.realm"], schema: schema)
        #expect(report.isComplete && report.objectsWritten == 1250)
        #expect(throws: RealmFileImportError.self) { try ObjectJSON.export(old, classNames: ["None"]) { _ in } }
    }

    @Test(
        "An error names an invalid line, and no file is left",
        arguments: [
            (#"{"class":"Dog","key":1,"value":{"age":"old"}}"#, "age"), (#"{"class":"Cat","key":1,"value":{}}"#, "Cat"),
            (#"{"class":"Dog","key":1}"#, "Line 2"), (#"{"class":"Dog","key":1,"value":{"#, "Line 2"),
            ("[[[[", "Line 2"), (#"{"class":"Dog","key":1,"value":{"age":1}} x"#, "Line 2"),
        ])
    func wrong(_ line: String, _ words: String) throws {
        let scratch = try Scratch()
        let schema =
            #"{"schemaVersion":1,"classes":[{"name":"Dog","kind":"object","properties":[{"name":"age","type":"int"}]}]}"#
        try Data("\(schema)\n\(line)\n".utf8).write(to: scratch["in.json"])
        #expect {
            try ObjectJSON.importLines(from: scratch["in.json"], to: scratch["new.realm"])
        } throws: { ($0 as? RealmFileImportError)?.message.contains(words) == true }
        #expect(try scratch.names == ["in.json"])
    }

    // The magnitude of the least integer is out of range for its type.
    @Test(
        "An error names the property of a number out of range",
        arguments: [
            (#"{"day":{"$date":{"$numberLong":"0"},"$nanoseconds":-9223372036854775808}}"#, "Dog.day"),
            (#"{"price":{"$numberDecimal":"1E-9223372036854775808"}}"#, "Dog.price"),
            (#"{"price":{"$numberDecimal":"1E9223372036854775807"}}"#, "Dog.price"),
        ])
    func outOfRange(_ value: String, _ words: String) throws {
        let scratch = try Scratch()
        let schema =
            #"{"schemaVersion":1,"classes":[{"name":"Dog","kind":"object","properties":["#
            + #"{"name":"day","type":"date"},{"name":"price","type":"decimal"}]}]}"#
        try Data("\(schema)\n{\"class\":\"Dog\",\"key\":1,\"value\":\(value)}\n".utf8)
            .write(to: scratch["in.json"])
        #expect {
            try ObjectJSON.importLines(from: scratch["in.json"], to: scratch["new.realm"])
        } throws: { ($0 as? RealmFileImportError)?.message.contains(words) == true }
        #expect(try scratch.names == ["in.json"])
    }

    @Test("Values of any type keep their types")
    func anyValues() throws {
        let scratch = try Scratch()
        let lines = [
            #"{"classes":[{"name":"Box","properties":[{"name":"any","type":"any"}]}]}"#,
            #"{"class":"Box","key":1,"value":{"any":{"$literal":{"$a":{"$numberFloat":"1.5"},"b":[1,1.0,{"$numberLong":"9007199254740993"}]}}}}"#,
            #"{"class":"Box","key":2,"value":{"any":{"$date":{"$numberLong":"-1500"},"$nanoseconds":-7}}}"#,
            #"{"class":"Box","key":3,"value":{"any":{"$numberDecimal":"-125E-2"}}}"#,
            #"{"class":"Box","key":4,"value":{"any":{"$ref":"Box","$id":3}}}"#,
            #"{"class":"Box","key":5,"value":{"any":{"$numberDouble":"NaN","$bits":"7ff8000000000001"}}}"#,
            #"{"class":"Box","key":6,"value":{"any":{"$binary":{"base64":"AQI=","subType":"00"}}}}"#,
            #"{"class":"Box","key":7,"value":{"any":"\u0001\ud83d\ude00\""}}"#,
        ]
        try Data(lines.joined(separator: "\n").utf8).write(to: scratch["in.json"])
        try ObjectJSON.importLines(from: scratch["in.json"], to: scratch["new.realm"])
        _ = try export(scratch["new.realm"], to: scratch["out.json"])
        let out = try String(contentsOf: scratch["out.json"], encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(Array(out[1...6]) == Array(lines[1...6]))
        #expect(out[7] == #"{"class":"Box","key":7,"value":{"any":"\u0001😀\""}}"#)
    }
}
