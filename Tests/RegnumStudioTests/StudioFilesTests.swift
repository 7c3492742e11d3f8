// SPDX-License-Identifier: Apache-2.0
// Studios on empty, encrypted, damaged and missing files, hostile arguments, and values that look like markup.

import Foundation
import Regnum
import RegnumEngine
import RegnumInspect
import RegnumStudio
import RegnumSystem
import Testing

/// Texts that would be programs if a page made them markup.
private let markupTexts = [
    "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "\"><svg onload=alert(1)>",
    "javascript:alert(1)", "{{7*7}}", "\u{2028}\u{2029}\u{0}\u{1b}[31m", "]]>&lt;", "\\\"'`${alert(1)}",
]

@Suite("Studios on files of all kinds") struct StudioFilesTests {
    /// All requests that read, with arguments for the file of `StudioHome`.
    private static let requests: [(String, [String: String])] = [
        ("database", [:]), ("rows", ["class": "StudioPerson"]),
        ("rows", ["class": "StudioPerson", "query": "name CONTAINS 'a'", "sort": "age", "anchor": "1"]),
        ("object", ["class": "StudioPerson", "key": "1"]),
        ("elements", ["class": "StudioPerson", "key": "1", "property": "tags"]),
        ("backlinks", ["class": "StudioDog", "key": "1", "from": "StudioPerson", "property": "dogs"]),
        ("find", ["class": "StudioPerson", "text": "1"]), ("values", ["class": "StudioPerson", "property": "age"]),
        ("query", ["class": "StudioPerson", "query": "age > 3"]),
        ("explain", ["class": "StudioPerson", "query": "age > 3"]),
        ("aggregates", ["class": "StudioPerson", "property": "age"]), ("pins", [:]),
        ("changes", ["after": "0", "wait": "0"]), ("data", ["class": "StudioPerson", "key": "1", "property": "photo"]),
        ("job", ["name": "check"]),
    ]

    /// Sends all requests. Each is answered with JSON, or with the bytes of data.
    private func sendAll(_ client: StudioClient) async throws -> [Int] {
        var statuses: [Int] = []
        for (name, query) in Self.requests {
            let answer = try await client.get(name, query)
            #expect(answer.json != .null || name == "data", "\(name): \(answer.text)")
            statuses.append(answer.status)
        }
        return statuses
    }

    @Test("A file without a class has no rows, and each request is answered")
    func empty() async throws {
        let home = try StudioHome()
        let url = home.folder.appendingPathComponent("empty.realm")
        do {
            let realm = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: []))
            withExtendedLifetime(realm) {}
        }
        let client = try home.client { $0.fileURL = url }
        #expect(try await client.get("database").json["classes"] == .array([]))
        let statuses = try await sendAll(client)
        #expect(statuses.allSatisfy { $0 == 200 || $0 == 400 })
        #expect(try await client.get("rows", ["class": "StudioPerson"]).reason == "unspecified")
    }

    #if Encryption
        @Test("An encrypted file is read, edited and checked with its key, and not opened without")
        func encrypted() async throws {
            let key = Data((0..<64).map { UInt8($0) })
            let home = try StudioHome(key: key)
            let client = try home.client()
            #expect(try await client.get("database").json["isEncrypted"] == .bool(true))
            #expect(try await sendAll(client).filter { $0 != 200 }.count == 1)
            try await client.switchToEditing()
            let body = #"{"class": "StudioPerson", "key": 1, "values": {"name": "\"Secret\""}}"#
            #expect(try await client.post("change", body).status == 200)
            #expect(try home.count("StudioPerson", where: "name == 'Secret'") == 1)
            for wrong in [nil, Data(count: 64), Data(count: 5)] {
                #expect(throws: InspectionError.self) { _ = try home.client { $0.encryptionKey = wrong } }
            }
        }
    #endif

    @Test("A damaged file is shown as far as it can be read, with messages", arguments: 1...12)
    func damaged(_ seed: Int) async throws {
        let home = try StudioHome(people: 400)
        var bytes = try Data(contentsOf: home.url)
        // A few bytes of every page but the headers and commit slots, another place for each seed.
        for page in stride(from: 5 + seed % 3, to: bytes.count / 4096, by: 1 + seed % 5) {
            bytes[page * 4096 + (seed * 331) % 4096] ^= 0x55
        }
        let url = home.folder.appendingPathComponent("damaged.realm")
        try bytes.write(to: url)
        let client: StudioClient
        do { client = try home.client { $0.fileURL = url } } catch let error as InspectionError {
            #expect([.damaged, .truncated].contains(error.reason))
            return
        }
        let statuses = try await sendAll(client)
        #expect(statuses.allSatisfy { [200, 400, 404, 500].contains($0) }, "\(statuses)")
        let export = await client.studio.respond(
            to: StudioRequest(
                method: "GET", path: "/api/export", query: [("class", "StudioPerson")],
                headers: [("Host", "localhost"), ("X-Regnum-Token", StudioHome.token)]))
        if case .stream(let chunks) = export.body {
            // Damage ends the export with an error.
            do { for try await _ in chunks {} } catch { #expect(error is InspectionError) }
        }
        _ = try await client.post("job", #"{"name": "check"}"#)
        var state = try await client.get("job", ["name": "check"]).json
        while state["state"]?.string == "running" {
            try await Task.sleep(for: .milliseconds(5))
            state = try await client.get("job", ["name": "check"]).json
        }
        let isFound = state["state"]?.string == "failed" || state.at("result.report.findings")?.array.isEmpty == false
        // If only free pages were hit, there is nothing to be found.
        #expect(isFound || statuses.allSatisfy { $0 == 200 || $0 == 404 })
    }

    @Test("A file that is missing, is none, or is cut off is refused at the start")
    func missing() async throws {
        let home = try StudioHome()
        let url = home.folder.appendingPathComponent("other.realm")
        #expect(throws: InspectionError.self) { _ = try home.client { $0.fileURL = url } }
        #expect(!FileManager.default.fileExists(atPath: url.path))
        try Data("no database at all".utf8).write(to: url)
        #expect(throws: InspectionError.self) { _ = try home.client { $0.fileURL = url } }
    }

    @Test("A file that is deleted meanwhile is reported")
    func deleted() async throws {
        let home = try StudioHome()
        let client = try home.client()
        try FileManager.default.removeItem(at: home.url)
        #expect(try await client.get("database").status == 500)
        #expect(try await client.post("editing", #"{"on": true}"#).status == 500)
    }

    @Test("A file that is replaced by an older copy is shown again, with all its classes")
    func replaced() async throws {
        let home = try StudioHome()
        let copy = home.folder.appendingPathComponent("copy.realm")
        try FileManager.default.copyItem(at: home.url, to: copy)
        let old = Int(try Inspector(fileURL: copy, isReadOnly: true).newestVersion)
        let client = try home.client()
        try home.write { $0.add(StudioDog(value: ["name": "New"])) }
        let new = try #require(try await client.get("database").json["version"]?.int)
        #expect(new > old)
        try FileManager.default.removeItem(at: home.url)
        try FileManager.default.moveItem(at: copy, to: home.url)
        let change = try await client.get("changes", ["after": "\(new)", "wait": "0"]).json
        #expect(change["version"]?.int == old && change["schema"] == .bool(true))
        #expect(change["classes"]?.array.count == 3)
        #expect(try await client.get("rows", ["class": "StudioDog"]).json["count"]?.int == 2)
    }

    @Test("Hostile arguments are refused")
    func arguments() async throws {
        let home = try StudioHome()
        let client = try home.client()
        let keys = ["0", "-1", "x", "", "4611686018427387904", "18446744073709551615", "99999999999999999999", "1.5"]
        for key in keys {
            for name in ["object", "elements", "backlinks", "data"] {
                let query = [
                    "class": "StudioPerson", "key": key, "property": "tags", "from": "StudioPerson",
                ]
                let answer = try await client.get(name, query)
                #expect(answer.status == 400 || answer.status == 404, "\(name) \(key)")
            }
            let anchored = try await client.get("rows", ["class": "StudioPerson", "anchor": key])
            #expect(anchored.status == 200 || anchored.status == 400)
        }
        #expect(try await client.get("rows", ["class": "StudioPerson", "offset": "x"]).status == 400)
        #expect(try await client.get("rows", ["class": "StudioPerson", "offset": "-5"]).status == 200)
        #expect(try await client.get("rows", ["class": "StudioPerson", "sort": "name ASC) LIMIT(1"]).status == 400)
        #expect(try await client.get("rows", ["class": "' OR 1"]).status == 400)
        #expect(try await client.get("rows").status == 400)
        for (property, status) in [("id", 400), ("x", 404)] {
            let answer = try await client.get(
                "elements", ["class": "StudioPerson", "key": "1", "property": property])
            #expect(answer.status == status)
        }
        let deep = String(repeating: "(", count: 3_000) + "age > 3" + String(repeating: ")", count: 3_000)
        let nested = try await client.get("query", ["class": "StudioPerson", "query": deep])
        #expect(nested.status == 200 || nested.status == 400)
        let bodies = [
            "[]", "1", #"{"keys": 1}"#, #"{"keys": ["x"]}"#, #"{"class": "StudioDog", "keys": [-1]}"#,
        ]
        for body in bodies {
            let answer = try await client.post("preview-delete", body)
            #expect(answer.status == 400, "\(body)")
        }
        try await client.switchToEditing()
        let changes = [
            "{}", #"{"class": "StudioDog", "key": 1}"#, #"{"class": "StudioDog", "key": 1, "values": []}"#,
        ]
        for body in changes {
            #expect(try await client.post("change", body).status == 400, "\(body)")
        }
    }

    @Test("Texts that look like markup are JSON strings in every kind of value", arguments: markupTexts)
    func markup(_ text: String) async throws {
        let home = try StudioHome()
        try home.write { realm in
            let person = try #require(realm.object(ofType: StudioPerson.self, forPrimaryKey: 1))
            person.name = text
            person.tags.append(text)
            // A key of a map must not have every character.
            person.scores["<b>" + text.filter { $0.isLetter || "<>=\"".contains($0) }] = 1
            person.any = .string(text)
            person.home?.city = text
            person.best?.name = text
        }
        let client = try home.client()
        let row = try await client.get("rows", ["class": "StudioPerson", "limit": "1"])
        #expect(row.headers["Content-Type"] == "application/json")
        #expect(row.json.at("rows.0.1")?.array.contains(.string(text)) == true)
        let object = try await client.get("object", ["class": "StudioPerson", "key": "1"])
        #expect(object.json["label"]?.string == text)
        let values = object.json["values"]?.array ?? []
        #expect(values.first { $0["name"]?.string == "any" }?.at("node.v")?.string == text)
        #expect(values.first { $0["name"]?.string == "tags" }?.at("node.items.2.v")?.string == text)
        #expect(values.first { $0["name"]?.string == "best" }?.at("node.v")?.string == text)
        // A message repeats the text of a query.
        let bad = try await client.get("query", ["class": "StudioPerson", "query": text + " =="])
        #expect(bad.status == 400 && bad.headers["Content-Type"] == "application/json" && bad.json != .null)
        let missing = try await client.get("rows", ["class": text])
        #expect(missing.json["error"]?["message"]?.string?.contains(text) == true)
    }

    @Test("Names of classes and properties that look like markup are JSON strings", arguments: markupTexts)
    func names(_ name: String) async throws {
        let home = try StudioHome()
        let inspector = try Inspector(fileURL: home.url)
        let session = try inspector.makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(name: name, columns: [NewColumn(name: name, type: .string), NewColumn(name: "plain", type: .int)])
        ])
        let table = try #require(session.table(named: name))
        let location = try table.insertRow()
        table.fill(.string("value"), 0, at: location)
        try table.finishInsert(location)
        try session.commitWrite()
        let client = try home.client()
        let classes = try await client.get("database").json["classes"]?.array ?? []
        let found = try #require(classes.first { $0["name"]?.string == name })
        #expect(found.at("properties.0.name")?.string == name)
        #expect(try await client.get("rows", ["class": name]).json.at("rows.0.1.0")?.string == "value")
        #expect(try await client.get("object", ["class": name, "key": "1"]).json["class"]?.string == name)
        #expect(try await client.get("find", ["class": name, "text": "val"]).json["objects"]?.array.count == 1)
        let forms = try await client.get("query", ["class": name, "query": "plain == 0"])
        #expect(forms.status == 200 && forms.json["predicate"] != nil)
        #expect(try await client.get("export", ["class": name]).status == 200)
    }
}
