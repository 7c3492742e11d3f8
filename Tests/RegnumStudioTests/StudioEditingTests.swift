// SPDX-License-Identifier: Apache-2.0
// The requests that change a database: each is refused while it is only read, and can be undone.

import Foundation
import Regnum
import RegnumEngine
import RegnumInspect
import RegnumStudio
import RegnumSystem
import Testing

@Suite("Editing with a studio") struct StudioEditingTests {
    private func editor(_ home: StudioHome) async throws -> StudioClient {
        let client = try home.client()
        try await client.switchToEditing()
        return client
    }

    private func change(_ key: Int, _ values: String, expecting expected: String = "{}") -> String {
        #"{"class": "StudioPerson", "key": \#(key), "values": \#(values), "expected": \#(expected)}"#
    }

    @Test("Nothing is changed before the user switches to editing, and after switching back")
    func readOnly() async throws {
        let home = try StudioHome()
        let before = try home.json("StudioPerson")
        let client = try home.client()
        func tryAll() async throws {
            let requests = [
                ("change", change(1, #"{"name": "\"x\""}"#)), ("create", #"{"class": "StudioDog", "values": {}}"#),
                ("delete", #"{"class": "StudioDog", "keys": [1]}"#), ("undo", "{}"), ("import", "name\nx\n"),
            ]
            for (name, body) in requests {
                let answer = try await client.post(name, body, ["class": "StudioDog", "commit": "1"])
                #expect(answer.status == 403 && answer.reason == "readOnly", "\(name)")
            }
        }
        try await tryAll()
        #expect(try home.json("StudioPerson") == before && home.count("StudioDog") == 2)
        try await client.switchToEditing()
        #expect(try await client.get("database").json["isEditing"] == .bool(true))
        _ = try await client.post("editing", #"{"on": false}"#)
        #expect(try await client.get("database").json["isEditing"] == .bool(false))
        try await tryAll()
        #expect(try await client.post("editing", #"{"on": 1}"#).status == 400)
    }

    @Test("A file that is shown only cannot be edited")
    func notEditable() async throws {
        let client = try StudioHome().client { $0.allowsEditing = false }
        #expect(try await client.post("editing", #"{"on": true}"#).reason == "notEditable")
        #expect(try await client.get("database").json["allowsEditing"] == .bool(false))
    }

    @Test(
        "A value of each type is stored, and undone",
        arguments: [
            ("name", #""N\u00e9w \"x\"""#), ("age", "null"), ("age", "-7"), ("born", #""2026-01-31T12:00:00.5Z""#),
            ("photo", #""AQID""#), ("tags", #"["c"]"#), ("scores", #"{"y": 5, "z": 6}"#),
            ("any", #"{"$date": "2026-01-01T00:00:00Z"}"#),
            ("any", #"[1, {"a": "b"}, {"$ref": "StudioDog", "key": 2}]"#), ("home", #"{"city": "Oslo"}"#),
            ("home", "null"), ("best", #"{"key": 2}"#), ("best", "null"), ("dogs", #"[{"key": 2}, {"key": 2}]"#),
            ("dogs", "[]"),
        ])
    func changing(_ name: String, _ json: String) async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        let before = try home.json("StudioPerson")
        var values = ""
        JSONValue.quote(json, to: &values)
        let answer = try await client.post("change", change(1, "{\"\(name)\": \(values)}"))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["undo"]?.array.compactMap(\.string) == ["Change of StudioPerson #1"])
        #expect(try home.json("StudioPerson") != before)
        let undone = try await client.post("undo", "{}")
        #expect(undone.status == 200 && undone.json["undo"]?.array.isEmpty == true, "\(undone.text)")
        #expect(try home.json("StudioPerson") == before)
        #expect(try await client.post("undo", "{}").status == 409)
        #expect(try Inspector(fileURL: home.url, isReadOnly: true).integrityFindings() == [])
    }

    @Test(
        "A value that is not valid is refused, and nothing is stored",
        arguments: [
            ("name", "null"), ("name", "5"), ("age", "1.5"), ("age", #""x""#), ("born", #""yesterday""#),
            ("photo", #""?""#), ("tags", "{}"), ("tags", "[null]"), ("best", #"{"key": 99}"#), ("best", #""x""#),
            ("nothing", "1"), ("id", "2"), ("home", #"{"town": "x"}"#), ("name", #"1, "age": 5"#),
        ])
    func refused(_ name: String, _ json: String) async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        let before = try home.json("StudioPerson")
        var values = ""
        JSONValue.quote(json, to: &values)
        let answer = try await client.post("change", change(1, "{\"\(name)\": \(values)}"))
        #expect(answer.status == 422 && answer.reason == "refused", "\(answer.text)")
        #expect(try home.json("StudioPerson") == before)
    }

    @Test("A change that expects other values, or an object that is gone, is a conflict")
    func conflicts() async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        let edited = try await client.get("object", ["class": "StudioPerson", "key": "1"]).json
        let seen = try #require(edited["values"]?.array.first { $0["name"]?.string == "name" }?["json"]?.string)
        try home.write { $0.object(ofType: StudioPerson.self, forPrimaryKey: 1)?.name = "Other" }
        var quoted = ""
        JSONValue.quote(seen, to: &quoted)
        let body = change(1, #"{"name": "\"Mine\""}"#, expecting: "{\"name\": \(quoted)}")
        #expect(try await client.post("change", body).status == 409)
        #expect(try home.count("StudioPerson", where: "name == 'Other'") == 1)
        #expect(try await client.post("change", change(99, #"{"name": "\"x\""}"#)).status == 409)
        // Another process changes what a change has left: it is not undone.
        #expect(try await client.post("change", change(2, #"{"name": "\"Mine\""}"#)).status == 200)
        try home.write { $0.object(ofType: StudioPerson.self, forPrimaryKey: 2)?.name = "Theirs" }
        #expect(try await client.post("undo", "{}").status == 409)
        #expect(try home.count("StudioPerson", where: "name == 'Theirs'") == 1)
        // Other properties do not matter.
        try home.write { realm in
            let person = realm.object(ofType: StudioPerson.self, forPrimaryKey: 2)
            person?.name = "Mine"
            person?.age = 1
        }
        #expect(try await client.post("undo", "{}").status == 200)
        #expect(try home.count("StudioPerson", where: "name == 'Person 2' AND age == 1") == 1)
    }

    @Test("A change is not undone after another process has removed a property")
    func changedClass() async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        let body = change(1, #"{"dogs": "[{\"key\": 2}]"}"#)
        #expect(try await client.post("change", body).status == 200)
        let database = try Database.open(path: home.url.path, fileSystem: PosixFileSystem.shared)
        let session = try database.makeSession()
        try session.beginWrite()
        var definition = try #require(session.table(named: "StudioPerson")).definition
        definition.columns.removeAll { $0.name == "age" }
        try session.reshape([definition])
        try session.commitWrite()
        #expect(try await client.post("undo", "{}").status == 409)
        #expect(try home.count("StudioPerson", where: "id == 1 AND dogs.@count == 1") == 1)
    }

    @Test("Undo can name the change that it undoes, and is refused if there is a later one")
    func undoNumbers() async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        #expect(try await client.get("database").json["undoNumber"] == .null)
        let first = try #require(try await client.post("change", change(1, #"{"age": "1"}"#)).json["undoNumber"]?.int)
        let second = try #require(try await client.post("change", change(1, #"{"age": "2"}"#)).json["undoNumber"]?.int)
        #expect(first != second)
        #expect(try await client.get("database").json["undoNumber"]?.int == second)
        // A change to the same values is none.
        #expect(try await client.post("change", change(1, #"{"age": "2"}"#)).json["undoNumber"]?.int == second)
        #expect(try await client.post("undo", "{\"number\": \(first)}").status == 409)
        #expect(try home.count("StudioPerson", where: "age == 2") == 1)
        let undone = try await client.post("undo", "{\"number\": \(second)}")
        #expect(undone.status == 200 && undone.json["undoNumber"]?.int == first, "\(undone.text)")
        #expect(try home.count("StudioPerson", where: "age == 1") == 1)
        #expect(try await client.post("undo", "{\"number\": \(second)}").status == 409)
    }

    @Test("A change that is answered with an error was not made, even if there is hardly any time")
    func timeLimit() async throws {
        let home = try StudioHome()
        let client = try home.client { $0.timeLimit = .milliseconds(2) }
        while try await client.post("editing", #"{"on": true}"#).status != 200 {}
        for age in 1_000..<1_020 {
            let answer = try await client.post("change", change(1, "{\"age\": \"\(age)\"}"))
            let stored = try home.count("StudioPerson", where: "age == \(age)")
            #expect(stored == (answer.status == 200 ? 1 : 0), "\(answer.text)")
        }
    }

    @Test("A change waits for another process that writes, but not without limit, and is not made later")
    func busy() async throws {
        let home = try StudioHome()
        let client = try home.client { $0.timeLimit = .milliseconds(200) }
        while try await client.post("editing", #"{"on": true}"#).status != 200 {}
        let other = try Inspector(fileURL: home.url)
        let writer = try other.beginEditing("StudioDog")
        #expect(try await client.post("change", change(1, #"{"age": "1000"}"#)).status == 503)
        writer.rollback()
        // Requests are answered one after another.
        while try await client.get("database").status != 200 {}
        #expect(try home.count("StudioPerson", where: "age == 1000") == 0)
    }

    @Test("A change of a file that was deleted is refused")
    func deleted() async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        try FileManager.default.removeItem(at: home.url)
        let answer = try await client.post("change", change(1, #"{"age": "1000"}"#))
        #expect(answer.status == 500 && answer.reason == "missingFile", "\(answer.text)")
        #expect(!FileManager.default.fileExists(atPath: home.url.path))
    }

    @Test("An object is created, and its creation undone")
    func creating() async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        let body = #"{"class": "StudioPerson", "values": {"id": "7", "name": "\"New\"", "best": "{\"key\": 1}"}}"#
        let answer = try await client.post("create", body)
        #expect(answer.status == 200 && answer.json["key"]?.int == 4, "\(answer.text)")
        #expect(try home.count("StudioPerson", where: "id == 7 AND best.name == 'Rex'") == 1)
        #expect(try await client.post("create", body).reason == "refused")
        let keyless = try await client.post("create", #"{"class": "StudioPerson", "values": {"name": "\"x\""}}"#)
        #expect(keyless.status == 422)
        let embedded = try await client.post("create", #"{"class": "StudioAddress", "values": {}}"#)
        #expect(embedded.status == 400)
        #expect(try await client.post("undo", "{}").status == 200)
        #expect(try home.count("StudioPerson") == 3)
    }

    @Test("A delete is previewed, made and undone with its links")
    func deleting() async throws {
        let home = try StudioHome()
        try home.write { realm in
            realm.object(ofType: StudioPerson.self, forPrimaryKey: 2)?.any = .object(realm.objects(StudioDog.self)[0])
        }
        let client = try await editor(home)
        let people = try home.json("StudioPerson", where: "TRUEPREDICATE SORT(id)")
        let body = #"{"class": "StudioDog", "keys": [1, 2, 99]}"#
        let preview = try await client.post("preview-delete", body).json
        #expect(preview["objects"] == ["StudioDog": 2])
        #expect(preview["clearedLinks"]?["StudioPerson.best"]?.int == 3)
        #expect(preview["isUndoable"] == .bool(true) && preview["denials"]?.array.isEmpty == true)
        #expect(try home.count("StudioDog") == 2)
        let none = try await client.post("delete", #"{"class": "StudioDog", "keys": [99]}"#)
        #expect(none.status == 200 && none.json["undo"]?.array.isEmpty == true)
        #expect(try await client.post("delete", body).status == 200)
        #expect(try home.count("StudioDog") == 0 && home.count("StudioPerson", where: "best == NULL") == 3)
        let undone = try await client.post("undo", "{}")
        #expect(undone.status == 200, "\(undone.text)")
        #expect(try home.count("StudioDog", where: "ANY friends.name == 'Bo'") == 1)
        #expect(try home.count("StudioPerson", where: "best.name == 'Rex' AND dogs.@count == 2") == 3)
        // The restored objects have new numbers, and nothing else differs.
        let restored = try home.json("StudioPerson", where: "TRUEPREDICATE SORT(id)")
        func withoutNumbers(_ text: String) -> String { text.replacing(#/"key": \d+/#, with: "\"key\": n") }
        #expect(withoutNumbers(restored) == withoutNumbers(people))
        #expect(try Inspector(fileURL: home.url, isReadOnly: true).integrityFindings() == [])
    }

    @Test("Undo goes back over a delete to older changes of the deleted object")
    func undoingMore() async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        let before = try home.json("StudioPerson", where: "id == 1")
        _ = try await client.post("change", change(1, #"{"name": "\"One\""}"#))
        let address = #"{"home": "{\"city\": \"Oslo\", \"neighbour\": {\"primaryKey\": 1}}"}"#
        _ = try await client.post("change", change(1, address))
        #expect(try await client.post("delete", #"{"class": "StudioPerson", "keys": [1]}"#).status == 200)
        #expect(try home.count("StudioPerson") == 2 && home.count("StudioAddress") == 2)
        for left in [2, 1, 0] {
            let answer = try await client.post("undo", "{}")
            #expect(answer.json["undo"]?.array.count == left, "\(answer.text)")
        }
        #expect(try home.json("StudioPerson", where: "id == 1") == before)
        #expect(try home.count("StudioAddress") == 3)
        #expect(try Inspector(fileURL: home.url, isReadOnly: true).integrityFindings() == [])
    }

    @Test("An import is previewed, refused with lines, and stored")
    func importing() async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        let query = ["class": "StudioPerson", "format": "csv"]
        let commit = query.merging(["commit": "1"]) { $1 }
        let csv = "id,name,age\n1,Changed,5\n9,New,\n"
        let preview = try await client.post("import", csv, query).json
        #expect(preview["inserted"]?.int == 1 && preview["updated"]?.int == 1 && preview["written"] == .bool(false))
        #expect(try home.count("StudioPerson") == 3)
        let broken = try await client.post("import", csv + "x,Bad,1\n", commit).json
        #expect(broken["refused"]?.int == 1 && broken["written"] == .bool(false))
        #expect(broken.at("refusals.0.line")?.int == 4)
        #expect(try home.count("StudioPerson") == 3)
        #expect(try await client.post("import", csv, commit).json["written"] == .bool(true))
        #expect(try home.count("StudioPerson", where: "name == 'Changed' OR name == 'New'") == 2)
        let json = try await client.post(
            "import", #"[{"name": "Ida"}]"#, ["class": "StudioDog", "format": "json", "commit": "1"]
        ).json
        #expect(json["inserted"]?.int == 1)
        #expect(try await client.post("import", "nothing\n1\n", commit).status == 422)
        #expect(try await client.post("import", "", commit).status == 422)
        // The writer lock is free again.
        try home.write { $0.add(StudioDog(value: ["name": "After"])) }
    }

    // An import was not among the changes that can be undone, so that undo went to an older one.
    @Test("An import is undone: new objects go, and changed ones are as they were")
    func undoingImport() async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        let before = try home.json("StudioPerson")
        let query = ["class": "StudioPerson", "format": "json", "commit": "1"]
        let text = """
            {"id": 1, "name": "One", "tags": [], "best": {"key": 2}} {"id": 9, "name": "New"} {"id": 1, "age": 5}
            {"id": 9, "age": 4} {"id": 2, "age": 20}
            """
        let answer = try await client.post("import", text, query).json
        #expect(answer["written"] == .bool(true) && answer.at("state.undo.0")?.string == "Import into StudioPerson")
        #expect(try home.count("StudioPerson", where: "name == 'One' AND age == 5 AND tags.@count == 0") == 1)
        let undone = try await client.post("undo", "{}")
        #expect(undone.status == 200 && undone.json["undo"]?.array.isEmpty == true, "\(undone.text)")
        #expect(try home.json("StudioPerson") == before)
        // One that changes nothing is nothing to undo.
        let same = try await client.post("import", #"{"id": 2, "age": 20}"#, query).json
        #expect(same["written"] == .bool(true) && same.at("state.undo")?.array.isEmpty == true)
    }

    @Test("An import that is too large to be undone is made, and the page is told that older changes are forgotten")
    func largeImport() async throws {
        let home = try StudioHome()
        let client = try home.client { $0.undoByteLimit = 10_000 }
        try await client.switchToEditing()
        #expect(try await client.post("change", change(1, #"{"age": "1"}"#)).json["undo"]?.array.count == 1)
        let name = String(repeating: "x", count: 20_000)
        let answer = try await client.post(
            "import", "id,name\n9,\(name)\n", ["class": "StudioPerson", "format": "csv", "commit": "1"]
        ).json
        #expect(answer["written"] == .bool(true) && answer.at("state.hasForgotten") == .bool(true))
        #expect(answer.at("state.undo")?.array.isEmpty == true)
        #expect(try home.count("StudioPerson") == 4)
    }

    @Test("The fields of a TSV are between tabs")
    func importingTSV() async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        let query = ["class": "StudioPerson", "format": "tsv", "commit": "1"]
        let answer = try await client.post("import", "id\tname\n9\ta, b\n", query)
        #expect(answer.json["inserted"]?.int == 1, "\(answer.text)")
        #expect(try home.count("StudioPerson", where: "id == 9 AND name == 'a, b'") == 1)
    }

    @Test("A preview of an import waits for no process that writes")
    func previewBesideWriter() async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        let other = try Inspector(fileURL: home.url)
        let writer = try other.beginEditing("StudioDog")
        let query = ["class": "StudioPerson", "format": "csv"]
        let preview = try await client.post("import", "id,name\n1,Changed\n9,New\n9,New\nx,Bad\n", query)
        #expect(preview.status == 200, "\(preview.text)")
        #expect(preview.json["inserted"]?.int == 1 && preview.json["updated"]?.int == 1)
        #expect(preview.json["unchanged"]?.int == 1 && preview.json["refused"]?.int == 1)
        #expect(preview.json["written"] == .bool(false) && preview.json["state"]?["isEditing"] == .bool(true))
        writer.rollback()
        #expect(try home.count("StudioPerson") == 3)
    }

    @Test("Changes are forgotten, the oldest first, if their values take too much memory, and the page is told")
    func undoMemory() async throws {
        let home = try StudioHome()
        let client = try home.client { $0.undoByteLimit = 100_000 }
        try await client.switchToEditing()
        func change(_ length: Int) async throws -> JSONValue {
            let name = String(repeating: "x", count: length)
            let body = #"{"class": "StudioPerson", "key": 1, "values": {"name": "\"\#(name)\""}}"#
            return try await client.post("change", body).json
        }
        let first = try await change(1_000)
        #expect(first["undo"]?.array.count == 1 && first["hasForgotten"] == .bool(false))
        let second = try await change(30_000)
        #expect(second["undo"]?.array.count == 2 && second["hasForgotten"] == .bool(false))
        // Its step has both texts.
        let third = try await change(60_000)
        #expect(third["undo"]?.array.count == 1 && third["hasForgotten"] == .bool(true))
        #expect(try await client.post("undo", "{}").json["hasForgotten"] == .bool(false))
        let undone = try home.json("StudioPerson", where: "id == 1")
        #expect(undone.contains("\"" + String(repeating: "x", count: 30_000) + "\""))
        let whole = try await change(200_000)
        #expect(whole["undo"]?.array.isEmpty == true && whole["hasForgotten"] == .bool(true))
        // A delete of large objects is made, but is not kept for undo.
        let deleted = try await client.post("delete", #"{"class": "StudioPerson", "keys": [1]}"#).json
        #expect(deleted["undo"]?.array.isEmpty == true && deleted["hasForgotten"] == .bool(true))
        #expect(try home.count("StudioPerson") == 2)
    }

    @Test(
        "Whole numbers of 64 bits reach the page and come back without loss",
        arguments: [Int.min, Int.max, 1 << 53 + 1])
    func largeNumbers(_ number: Int) async throws {
        let home = try StudioHome()
        let client = try await editor(home)
        #expect(try await client.post("change", change(1, "{\"age\": \"\(number)\"}")).status == 200)
        #expect(try home.count("StudioPerson", where: "age == \(number)") == 1)
        let query = ["class": "StudioPerson", "key": "1", "property": "age", "query": "id == 1"]
        // JavaScript reads a number as a Double: each value is a text.
        let text = JSONValue.string("\(number)")
        #expect(try await client.get("rows", query).json.at("rows.0.1")?.array.contains(text) == true)
        let values = try await client.get("object", query).json["values"]?.array ?? []
        let age = values.first { $0["name"]?.string == "age" }
        #expect(age?["node"]?["v"] == text && age?["json"] == text)
        let sums = try await client.get("aggregates", query).json
        #expect(sums["max"] == text && sums["min"] == text && sums["sum"] == text)
        #expect(try await client.get("values", query).json["values"]?.array.contains(text) == true)
    }
}
