// SPDX-License-Identifier: Apache-2.0
// A preview of an import reports what the import itself would, and no writer waits for it.

import Foundation
import Regnum
import RegnumInspect
import Testing

final class PreviewUser: Object, UniqueConstraints {
    @Persisted(primaryKey: true) var id: String?
    @Persisted var email: String?
    @Persisted var country = ""
    @Persisted var passport: Int?
    @Persisted var weight: Double
    @Persisted var tags: MutableSet<String>
    @Persisted var notes: List<String>
    @Persisted var counts: Map<String, Int>
    @Persisted var place: PreviewPlace?
    @Persisted var friend: PreviewUser?

    static var uniqueConstraints: [[String]] { [["email"], ["country", "passport"]] }
}

final class PreviewPlace: EmbeddedObject {
    @Persisted var city = ""
    @Persisted var inner: PreviewPlace?
}

final class PreviewNote: Object, UniqueConstraints {
    @Persisted var text = ""
    @Persisted var next: PreviewNote?

    static var uniqueConstraints: [[String]] { [["text"]] }
}

@Suite("The preview of an import") struct ImportPreviewTests {
    private struct Report: Equatable {
        var counts: ObjectImport.Counts
        var refusals: [String]
    }

    private func withFile(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("preview-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("users.realm")
        do {
            let realm = try Realm(
                configuration: Realm.Configuration(
                    fileURL: url, objectTypes: [PreviewUser.self, PreviewPlace.self, PreviewNote.self]))
            try realm.write {
                for name in ["a", "b"] {
                    let user = PreviewUser(value: ["id": name, "email": name + "@x", "country": "IT", "weight": 1.5])
                    user.passport = name == "a" ? 1 : 2
                    user.tags.insert(objectsIn: ["s", "t"])
                    user.notes.append(objectsIn: ["n", "n"])
                    user.counts["k"] = 1
                    user.place = PreviewPlace(value: ["city": "Rome"])
                    realm.add(user)
                }
                realm.add(PreviewNote(value: ["text": "first"]))
            }
        }
        try body(url)
    }

    private func run(_ className: String, _ text: String, _ editor: ObjectEditor) throws -> Report {
        var refusals: [String] = []
        var run = ObjectImport(editor) {
            refusals.append("\($0): \($1)")
        } progress: { _ in
        }
        if text.hasPrefix("[") || text.hasPrefix("{") {
            try run.putJSON(JSONObjectsReader(ByteSource(Array(text.utf8))))
        } else {
            try run.putCSV(CSVReader(ByteSource(Array(text.utf8))))
        }
        let counts = try run.finish()
        return Report(counts: counts, refusals: refusals)
    }

    @Test(
        "The preview has the counts and the refusals of the import itself",
        arguments: [
            // New, equal and changed objects, some of them twice.
            #"{"id": "c"} {"id": "c"} {"id": "c", "weight": 2} {"id": "c", "weight": 2} {"id": "a"}"#,
            #"{"id": "a", "weight": 1.5} {"id": "a", "weight": -0.0} {"id": "a", "weight": 0}"#,
            #"{"id": "c", "weight": 0} {"id": "c", "email": null} {"id": "c", "notes": [], "counts": {}, "tags": []}"#,
            #"{"id": "a", "tags": ["t", "s"]} {"id": "a", "tags": ["t"]} {"id": "a", "tags": ["t", "t"]}"#,
            #"{"id": "a", "notes": ["n", "n"]} {"id": "a", "notes": ["m"]} {"id": "a", "notes": ["m", "m"]}"#,
            #"{"id": "a", "counts": {"k": 1}} {"id": "a", "counts": {"j": 1, "k": 2}} "#
                + #"{"id": "a", "counts": {"k": 2, "j": 1}}"#,
            #"{"id": "a", "place": {"city": "Rome", "inner": null}} {"id": "a", "place": {"city": "Rome"}}"#,
            #"{"id": "c", "place": {"city": "x", "inner": null}} {"id": "c", "place": {"city": "x", "inner": null}}"#,
            #"{"id": null} {"id": null, "weight": 3} {"id": null, "weight": 3}"#,
            // Constraints: with stored objects, with new ones, and with values that an earlier line has changed.
            #"{"id": "c", "email": "a@x"} {"id": "d", "email": "d@x"} {"id": "e", "email": "d@x"}"#,
            #"{"id": "a", "email": "z@x"} {"id": "c", "email": "a@x"} {"id": "b", "email": "z@x"}"#,
            #"{"id": "a", "email": null} {"id": "b", "email": null} {"id": "c", "email": "b@x"}"#,
            #"{"id": "c", "country": "IT", "passport": 2} {"id": "b", "passport": 1} {"id": "b", "country": "FR"}"#,
            #"{"id": "b", "country": "FR", "passport": 1} {"id": "a", "country": "FR"} {"id": "c", "passport": 0}"#,
            #"{"id": "c", "email": "é"} {"id": "d", "email": "e\u0301"}"#,
            // Links to objects that come later, that are new, that are refused, and that never come.
            #"{"id": "c", "friend": "d"} {"id": "d", "friend": "c"} {"id": "a", "friend": "c"}"#,
            #"{"id": "c", "friend": "x"} {"id": "a", "friend": "x"} {"id": "d", "friend": "c"} "#
                + #"{"id": "e", "friend": "e"}"#,
            #"{"text": "x", "next": {"key": 3}} {"text": "y", "next": {"key": 1}} {"text": "z", "next": {"key": 9}}"#,
            #"{"text": "first"} {"text": "x"} {"text": "x"} {"text": ""} {}"#,
            // Lines that are refused by themselves.
            #"{"id": "c", "nothing": 1} {"email": "x"} {"id": 5} [1, 2]"#,
            "id,email\nc,c@x\nd,a@x\na,a@x\ne\nc,\n", "id,friend\nc,d\nd,c\nb,x\n",
        ])
    func sameReport(_ text: String) throws {
        let className = text.contains("\"text\"") ? "PreviewNote" : "PreviewUser"
        try withFile { url in
            let preview = try run(
                className, text, try Inspector(fileURL: url, isReadOnly: true).previewEditing(className))
            let editor = try Inspector(fileURL: url).beginEditing(className)
            let real = try run(className, text, editor)
            #expect(preview == real)
            editor.rollback()
        }
    }

    /// Imports lines of JSON without those that are refused.
    private func runSkipping(
        _ text: String, begin: () throws -> ObjectEditor
    ) throws -> (editor: ObjectEditor, report: Report) {
        final class Refusals { var lines: [String] = [] }
        let refusals = Refusals()
        let (editor, counts) = try ObjectImport.run(
            skippingRefused: true,
            begin: {
                refusals.lines = []
                return try begin()
            },
            refused: { refusals.lines.append("\($0): \($1)") }, progress: { _ in },
            put: { try $0.putJSON(JSONObjectsReader(ByteSource(Array(text.utf8)))) })
        return (editor, Report(counts: counts, refusals: refusals.lines))
    }

    // `--skip-refused` stored the other values of an object whose link was refused, and deleted a new one that others
    // linked to already. An object that is refused at the end is now left out from the start.
    @Test("An object that is refused at the end changes nothing, and objects that link to it are refused")
    func refusedAtTheEnd() throws {
        let text = """
            {"id": "a", "weight": 7, "friend": "x"}
            {"id": "c", "friend": "x"}
            {"id": "d", "friend": "c"}
            {"id": "e", "friend": "d", "weight": 1}
            {"id": "f", "friend": "g"}
            {"id": "g", "email": "new@x"}
            {"id": "b", "weight": 2}
            """
        try withFile { url in
            let preview = try runSkipping(text) {
                try Inspector(fileURL: url, isReadOnly: true).previewEditing("PreviewUser")
            }.report
            let (editor, real) = try runSkipping(text) { try Inspector(fileURL: url).beginEditing("PreviewUser") }
            try editor.commit()
            #expect(preview == real)
            let counts = real.counts
            #expect(counts.inserted == 2 && counts.updated == 1 && counts.unchanged == 0 && counts.refused == 4)
            #expect(real.refusals.map { $0.prefix(2) } == ["1:", "2:", "3:", "4:"])
            let inspector = try Inspector(fileURL: url, isReadOnly: true)
            let all = try inspector.count("PreviewUser")
            let untouched = try inspector.count("PreviewUser", where: "id == 'a' AND weight == 1.5 AND friend == NULL")
            let linked = try inspector.count("PreviewUser", where: "id == 'f' AND friend.email == 'new@x'")
            #expect(all == 4 && untouched == 1 && linked == 1)
            #expect(inspector.integrityFindings().isEmpty)
        }
    }

    @Test("Objects whose links cannot be set are not counted as stored")
    func missingLinks() throws {
        try withFile { url in
            let text = #"{"id": "a", "friend": "x"} {"id": "c", "friend": "y"} {"id": "d", "friend": "z"}"#
            let report = try run("PreviewUser", text, try Inspector(fileURL: url).beginEditing("PreviewUser"))
            #expect(report.counts.refused == 3 && report.refusals.count == 3)
            #expect(report.counts.inserted == 0 && report.counts.updated == 0 && report.counts.unchanged == 0)
        }
    }

    @Test("A preview waits for no writer, no writer waits for it, and nothing is changed")
    func locks() throws {
        try withFile { url in
            let writer = try Inspector(fileURL: url).beginEditing("PreviewUser")
            let reader = try Inspector(fileURL: url, isReadOnly: true)
            let editor = try reader.previewEditing("PreviewUser")
            let report = try run("PreviewUser", #"{"id": "c"}"#, editor)
            #expect(report.counts.inserted == 1 && report.refusals.isEmpty)
            writer.rollback()
            // The preview is still open.
            let other = try Inspector(fileURL: url).beginEditing("PreviewUser")
            other.rollback()
            withExtendedLifetime(editor) {}
            let count = try reader.count("PreviewUser")
            #expect(count == 2)
            #expect(throws: InspectionError.self) { try reader.previewEditing("PreviewPlace") }
            #expect(throws: InspectionError.self) { try reader.previewEditing("Nothing") }
        }
    }

    @Test("A value that must be unique is refused with the name of its property")
    func uniqueValues() throws {
        try withFile { url in
            let editor = try Inspector(fileURL: url).beginEditing("PreviewUser")
            let text = #"{"id": "c", "email": "a@x"} {"id": "c", "country": "IT", "passport": 1}"#
            let refusals = try run("PreviewUser", text, editor).refusals
            #expect(refusals.count == 2)
            #expect(refusals.first?.contains("property 'email': another object has the same value") == true)
            #expect(refusals.last?.contains("(country, passport)") == true)
            editor.rollback()
        }
    }

    @Test("Objects may be embedded in one another 100 levels deep, in JSON and as an object; deeper ones are an error")
    func depth() throws {
        func user(_ id: String, _ levels: Int) -> String {
            let start = String(repeating: #"{"city": "x", "inner": "#, count: levels)
            return #"{"id": "\#(id)", "place": "# + start + "null" + String(repeating: "}", count: levels) + "}"
        }
        try withFile { url in
            let editor = try Inspector(fileURL: url).beginEditing("PreviewUser")
            let report = try run("PreviewUser", user("deep", 100) + user("deeper", 101) + user("lost", 400), editor)
            #expect(report.counts.inserted == 1 && report.counts.refused == 2)
            #expect(report.refusals.allSatisfy { $0.contains("more than 100 levels deep") || $0.contains("nested") })
            try editor.commit()
            // The object is written as JSON, and read again.
            let inspector = try Inspector(fileURL: url)
            var json = ""
            try inspector.query("PreviewUser", where: "id == 'deep'", as: .json, to: &json)
            let again = try run("PreviewUser", json, try inspector.previewEditing("PreviewUser"))
            #expect(again.counts.unchanged == 1 && again.refusals.isEmpty)
            // A program may nest objects deeper: that is an error of the text, not a crash, and no part of it is lost.
            let realm = try Realm(
                configuration: Realm.Configuration(
                    fileURL: url, objectTypes: [PreviewUser.self, PreviewPlace.self, PreviewNote.self]))
            try realm.write {
                var place = realm.object(ofType: PreviewUser.self, forPrimaryKey: "deep")?.place
                while let inner = place?.inner { place = inner }
                place?.inner = PreviewPlace(value: ["city": "too deep"])
            }
            let after = try Inspector(fileURL: url)
            let error = #expect(throws: InspectionError.self) {
                try after.query("PreviewUser", where: "id == 'deep'", as: .json, to: &json)
            }
            #expect(error?.reason == .overLimit)
            var line = ""
            try after.query("PreviewUser", where: "id == 'deep'", as: .text, to: &line)
            #expect(line.contains("PreviewPlace#"))
        }
    }

    @Test("A line of an object has a bounded length")
    func longLine() throws {
        try withFile { url in
            let realm = try Realm(
                configuration: Realm.Configuration(
                    fileURL: url, objectTypes: [PreviewUser.self, PreviewPlace.self, PreviewNote.self]))
            try realm.write {
                let user = PreviewUser(value: ["id": "long"])
                // One character.
                user.email = "e" + String(repeating: "\u{301}", count: 1_000_000)
                user.notes.append(objectsIn: (0..<5_000).map { "note \($0) " + String(repeating: "x", count: 1_000) })
                for number in 0..<300 { user.counts["key \(number)"] = number }
                realm.add(user)
            }
            var line = ""
            try Inspector(fileURL: url, isReadOnly: true).query(
                "PreviewUser", where: "id == 'long'", as: .text, to: &line)
            #expect(line.utf8.count < 200_000 && line.contains("... 4900 more]") && line.contains("... 200 more}"))
            // JSON has everything.
            var json = ""
            try Inspector(fileURL: url, isReadOnly: true).query(
                "PreviewUser", where: "id == 'long'", as: .json, to: &json)
            #expect(json.contains("note 4999") && json.utf8.count > 5_000_000)
        }
    }
}
