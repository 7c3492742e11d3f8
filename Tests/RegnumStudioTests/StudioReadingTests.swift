// SPDX-License-Identifier: Apache-2.0
// The requests that read: classes, rows, objects, links, queries, exports, and work on the whole file.

import Foundation
import Regnum
import RegnumInspect
import RegnumStudio
import RegnumSystem
import Testing

@Suite("Reading with a studio") struct StudioReadingTests {
    @Test("The database is described with its classes, properties and counts")
    func database() async throws {
        let client = try StudioHome().client()
        let answer = try await client.get("database")
        #expect(answer.status == 200 && answer.headers["Content-Type"] == "application/json")
        let json = answer.json
        #expect(json["name"]?.string == "people.realm" && json["schemaVersion"]?.int == 4)
        #expect(json["isEditing"] == .bool(false) && json["allowsEditing"] == .bool(true))
        #expect(json["isEncrypted"] == .bool(false))
        let names = json["classes"]?.array.map { $0["name"]?.string }
        #expect(names == ["StudioAddress", "StudioDog", "StudioPerson"])
        #expect(json.at("classes.0.isEmbedded") == .bool(true) && json.at("classes.2.objects")?.int == 3)
        let properties = json.at("classes.2.properties")?.array ?? []
        func property(_ name: String) -> JSONValue? { properties.first { $0["name"]?.string == name } }
        #expect(property("id")?["isPrimaryKey"] == .bool(true))
        #expect(property("name")?["isIndexed"] == .bool(true))
        let dogs = property("dogs")
        #expect(dogs?["text"]?.string == "List<StudioDog>" && dogs?["isLink"] == .bool(true))
    }

    private func keys(_ answer: StudioClient.Answer) -> [Int] {
        answer.json["rows"]?.array.compactMap { $0.array.first?.int } ?? []
    }

    // The page copied the cells as it showed them: long texts cut, and data as a number of bytes.
    @Test("The whole values of chosen properties are read, in fewer rows if they are long")
    func wholeValues() async throws {
        let home = try StudioHome()
        let long = String(repeating: "é", count: 3_000)
        try home.write { realm in
            let person = realm.object(ofType: StudioPerson.self, forPrimaryKey: 1)
            person?.name = long
            person?.photo = Data([1, 2, 3])
            person?.tags.append(objectsIn: ["c", "d", "e"])
        }
        let client = try home.client()
        var query = ["class": "StudioPerson", "columns": #"["tags", "photo", "name", "age"]"#]
        let row = try await client.get("rows", query).json.at("rows.0.1")?.array ?? []
        #expect(row == [.string(#"["a", "b", "c", "d", "e"]"#), .string("AQID"), .string(long), .string("10")])
        for text in ["[1]", #"["nothing"]"#, "x"] {
            query["columns"] = text
            #expect(try await client.get("rows", query).status == 400, "\(text)")
        }
        try home.write { realm in
            for person in realm.objects(StudioPerson.self) { person.photo = Data(count: 3_000_000) }
        }
        query["columns"] = #"["photo"]"#
        // Rows are those of the version that the page shows, until it asks for a newer one.
        _ = try await client.get("database")
        let cut = try await client.get("rows", query).json
        #expect(cut["count"]?.int == 3)
        #expect(cut["rows"]?.array.count == 1)
    }

    @Test("An error of a clause has its position, and one of a property too")
    func clausePositions() async throws {
        let client = try StudioHome().client()
        for (text, position) in [("age > 3 LIMIT(x)", 14), ("SORT(age, nothing)", 10)] {
            let answer = try await client.get("rows", ["class": "StudioPerson", "query": text])
            #expect(answer.status == 400 && answer.reason == "query", "\(answer.text)")
            #expect(answer.json.at("error.position")?.int == position, "\(answer.text)")
        }
    }

    @Test("Rows come in windows, in any order, filtered")
    func rows() async throws {
        let client = try StudioHome(people: 1_500).client()
        func rows(_ query: [String: String]) async throws -> StudioClient.Answer {
            try await client.get("rows", query.merging(["class": "StudioPerson"]) { $1 })
        }
        func numbers(_ query: [String: String]) async throws -> [Int] { keys(try await rows(query)) }
        let first = try await rows(["limit": "5"])
        #expect(first.json["count"]?.int == 1_500 && keys(first) == [1, 2, 3, 4, 5])
        #expect(try await numbers(["offset": "1498"]) == [1499, 1500])
        #expect(try await numbers(["offset": "99999999999"]) == [])
        #expect(try await numbers(["offset": "\(Int.max)", "limit": "\(Int.max)"]) == [])
        #expect(try await numbers(["limit": "0"]).count == 1)
        #expect(try await numbers(["limit": "100000"]).count == 500)
        #expect(try await numbers(["sort": "age", "descending": "1", "limit": "2"]) == [1500, 1499])
        // Beyond the first results, which are found without sorting all.
        let last = try await numbers(["sort": "age", "descending": "1", "offset": "1497", "limit": "9"])
        #expect(last == [3, 2, 1])
        let filtered = try await rows(["query": "age > 14980", "sort": "name"])
        #expect(filtered.json["count"]?.int == 2 && keys(filtered) == [1499, 1500])
        let limited = try await rows(["query": "LIMIT(3)", "sort": "id", "descending": "1"])
        #expect(limited.json["count"]?.int == 3 && keys(limited) == [3, 2, 1])
        #expect(try await rows(["query": "id < 0"]).json["count"]?.int == 0)
    }

    @Test(
        "A window around an object has it at the wanted row",
        arguments: [("", 700), ("id > 100 AND id < 1400", 600), ("TRUEPREDICATE SORT(age DESC)", 799)])
    func anchors(_ query: String, _ position: Int) async throws {
        let client = try StudioHome(people: 1_500).client()
        let answer = try await client.get(
            "rows", ["class": "StudioPerson", "query": query, "anchor": "701", "row": "10", "limit": "20"])
        #expect(answer.json["anchor"]?.int == position)
        #expect(answer.json["offset"]?.int == position - 10)
        #expect(keys(answer).firstIndex(of: 701) == 10)
        let gone = try await client.get(
            "rows", ["class": "StudioPerson", "query": query, "anchor": "99999", "offset": "5", "limit": "2"])
        #expect(gone.json["anchor"] == .null && gone.json["offset"]?.int == 5)
    }

    @Test("An object has all its values, with their types")
    func object() async throws {
        let home = try StudioHome()
        try home.write { realm in
            let person = try #require(realm.object(ofType: StudioPerson.self, forPrimaryKey: 1))
            person.photo = Data([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1])
            person.age = nil
            person.any = .data(Data([1, 2]))
        }
        let client = try home.client()
        let json = try await client.get("object", ["class": "StudioPerson", "key": "1"]).json
        func node(_ name: String) -> JSONValue? {
            json["values"]?.array.first { $0["name"]?.string == name }?["node"]
        }
        #expect(json["label"]?.string == "Person 1")
        #expect(node("id") == ["t": "Int", "v": "1"])
        #expect(node("age") == ["t": "null"])
        #expect(node("born") == ["t": "Date", "v": "1970-01-01T00:00:00Z"])
        #expect(node("photo")?["picture"]?.string == "image/png" && node("photo")?["n"]?.int == 9)
        #expect(node("tags")?["items"]?.array.compactMap { $0["v"]?.string } == ["a", "b"])
        #expect(node("scores")?.at("entries.0.0")?.string == "x")
        #expect(node("any")?["t"]?.string == "Data")
        #expect(node("home")?.at("properties.0.1.v")?.string == "Rome")
        #expect(node("best")?["class"]?.string == "StudioDog" && node("best")?["v"]?.string == "Rex")
        #expect(node("dogs")?["n"]?.int == 2)
        // Only an editor needs the values as they are edited.
        #expect(json.at("values.0.json") == nil)
        #expect(json["backlinks"]?.array.isEmpty == true)
        let dog = try await client.get("object", ["class": "StudioDog", "key": "1"]).json
        #expect(dog["backlinks"]?.array.compactMap { $0["property"]?.string }.sorted() == ["best", "dogs"])
        #expect(dog.at("backlinks.0.count")?.int == 3)
        let address = try await client.get("object", ["class": "StudioAddress", "key": "1"]).json
        #expect(address.at("backlinks.0.property")?.string == "home")
    }

    @Test("A long text is cut in the grid, at a character, and data is counted")
    func longCells() async throws {
        let home = try StudioHome()
        // The second text has the end of what is read in the middle of a character, the third has one character.
        let texts = [
            String(repeating: "a", count: 8192), "b" + String(repeating: "€", count: 3000),
            "e" + String(repeating: "\u{301}", count: 5000), String(repeating: "c", count: 200),
        ]
        try home.write { realm in
            for (index, text) in texts.enumerated() {
                let person = StudioPerson(value: ["id": 10 + index, "name": text])
                person.photo = Data(count: 100_000)
                realm.add(person)
            }
        }
        let client = try home.client()
        let rows = try await client.get("rows", ["class": "StudioPerson", "query": "id >= 10"]).json
        let described = try await client.get("database").json.at("classes.2.properties")?.array ?? []
        let columns = described.map { $0["name"]?.string }
        func cell(_ row: Int, _ name: String = "name") -> JSONValue? {
            columns.firstIndex(of: name).flatMap { rows.at("rows.\(row).1.\($0)") }
        }
        #expect(cell(0) == ["s": .string(String(repeating: "a", count: 200)), "cut": 8192])
        #expect(cell(1) == ["s": .string("b" + String(repeating: "€", count: 199)), "cut": 9001])
        #expect(cell(2)?["cut"]?.int == 10_001)
        #expect((cell(2)?["s"]?.string?.utf8.count ?? 0) <= 8192)
        #expect(cell(3)?.string == texts[3])
        #expect(cell(0, "photo") == ["bytes": 100_000])
        let labels = try await client.get("find", ["class": "StudioPerson", "text": "ccc"]).json
        #expect(labels.at("objects.0.label")?.string == String(repeating: "c", count: 60))
    }

    @Test("Bytes of data are sent as a picture or as bytes, and never as anything else")
    func data() async throws {
        let home = try StudioHome()
        let png = Data([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1])
        let markup = Data("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>".utf8)
        try home.write { realm in
            realm.object(ofType: StudioPerson.self, forPrimaryKey: 1)?.photo = png
            realm.object(ofType: StudioPerson.self, forPrimaryKey: 2)?.photo = markup
        }
        let client = try home.client()
        let query = ["class": "StudioPerson", "property": "photo"]
        let picture = try await client.get("data", query.merging(["key": "1"]) { $1 })
        #expect(picture.headers["Content-Type"] == "image/png" && picture.body == png)
        let other = try await client.get("data", query.merging(["key": "2"]) { $1 })
        #expect(other.headers["Content-Type"] == "application/octet-stream" && other.body == markup)
        #expect(try await client.get("data", query.merging(["key": "3"]) { $1 }).reason == "noData")
        let name = ["class": "StudioPerson", "property": "name", "key": "1"]
        #expect(try await client.get("data", name).reason == "noData")
    }

    @Test("Of very many nested values only a part is sent")
    func manyNestedValues() async throws {
        let home = try StudioHome()
        let client = try home.client()
        try await client.switchToEditing()
        let inner = "[" + Array(repeating: "1", count: 3).joined(separator: ",") + "]"
        let middle = "[" + Array(repeating: inner, count: 100).joined(separator: ",") + "]"
        let outer = "[" + Array(repeating: middle, count: 100).joined(separator: ",") + "]"
        let change = try await client.post(
            "change", "{\"class\": \"StudioPerson\", \"key\": 1, \"values\": {\"any\": \"\(outer)\"}}")
        #expect(change.status == 200, "\(change.text.prefix(500))")
        let text = try await client.get("object", ["class": "StudioPerson", "key": "1"]).text
        #expect(text.split(separator: "\"t\":\"Int\"").count > 10_000)
        #expect(text.split(separator: "\"t\":\"Int\"").count < 20_000)
        #expect(text.contains("\"t\":\"deep\""))
        #expect(text.split(separator: "\"t\":").count < 35_000)
    }

    @Test("Elements and backlinks come in windows")
    func windows() async throws {
        let home = try StudioHome(people: 300)
        try home.write { realm in
            let person = try #require(realm.object(ofType: StudioPerson.self, forPrimaryKey: 1))
            person.tags.append(objectsIn: (0..<250).map { "tag \($0)" })
        }
        let client = try home.client()
        let elements = try await client.get(
            "elements", ["class": "StudioPerson", "key": "1", "property": "tags", "offset": "250", "limit": "200"]
        ).json
        #expect(elements["n"]?.int == 252)
        #expect(elements["items"]?.array.compactMap { $0["v"]?.string } == ["tag 248", "tag 249"])
        let far = ["class": "StudioPerson", "key": "1", "property": "tags", "offset": "\(Int.max)"]
        #expect(try await client.get("elements", far).json["items"]?.array.isEmpty == true)
        let links = try await client.get(
            "backlinks",
            [
                "class": "StudioDog", "key": "1", "from": "StudioPerson", "property": "best", "offset": "298",
                "limit": "200",
            ]
        ).json
        #expect(links["count"]?.int == 300)
        #expect(links["objects"]?.array.compactMap { $0["key"]?.int } == [299, 300])
        var farLinks = ["class": "StudioDog", "key": "1", "from": "StudioPerson", "property": "best"]
        farLinks["offset"] = "\(Int.max)"
        #expect(try await client.get("backlinks", farLinks).json["objects"]?.array.isEmpty == true)
        farLinks["property"] = "name"
        #expect(try await client.get("backlinks", farLinks).status == 400)
    }

    @Test("Objects to link to are found by name, number and key, and the values of a property are listed")
    func pickers() async throws {
        let client = try StudioHome().client()
        func found(_ className: String, _ text: String) async throws -> [Int] {
            let json = try await client.get("find", ["class": className, "text": text]).json
            return json["objects"]?.array.compactMap { $0["key"]?.int } ?? []
        }
        #expect(try await found("StudioDog", "RE") == [1])
        #expect(try await found("StudioDog", "#2") == [2])
        #expect(try await found("StudioDog", "") == [1, 2])
        #expect(try await found("StudioPerson", "3") == [3])
        #expect(try await found("StudioDog", "' OR TRUEPREDICATE OR name == '") == [])
        let ages = try await client.get("values", ["class": "StudioPerson", "property": "age"]).json
        #expect(ages["values"]?.array.compactMap(\.string) == ["10", "20", "30"])
    }

    @Test("A query is said in Swift and as a predicate, or its error with the position")
    func queries() async throws {
        let client = try StudioHome().client()
        func forms(_ query: String) async throws -> StudioClient.Answer {
            try await client.get("query", ["class": "StudioPerson", "query": query])
        }
        let answer = try await forms("age > 30 AND (name BEGINSWITH[c] 'A' OR best.name == \"x\") SORT(age DESC)")
        #expect(
            answer.json["swift"]?.string
                == "realm.objects(StudioPerson.self).where { $0.age > 30 && ($0.name.starts(with: \"A\", options: "
                + "[.caseInsensitive]) || $0.best.name == \"x\") }.sorted(byKeyPath: \"age\", ascending: false)")
        #expect(answer.json["predicate"]?.string?.contains(#"NSPredicate(format: "age > 30 AND"#) == true)
        #expect(try await forms("").json["swift"]?.string == "realm.objects(StudioPerson.self)")
        #expect(try await forms("SUBQUERY(dogs, $d, $d.name == 'x').@count > 1").json["swift"] == .null)
        #expect(
            try await forms("ANY dogs.name == 'a' AND dogs.@count > 1").json["swift"]?.string
                == "realm.objects(StudioPerson.self).where { $0.dogs.name == \"a\" && $0.dogs.count > 1 }")
        let bad = try await forms("age > 30 AND AND")
        #expect(bad.status == 400 && bad.reason == "query" && (bad.json.at("error.position")?.int ?? 0) >= 9)
        for query in ["agee > 3", "age > 'x'", "name ==", "SORT(nothing)", "LIMIT(x)", "'", "age > 3 LIMIT(1) x"] {
            let refused = try await forms(query)
            #expect(refused.status == 400 && refused.reason == "query" || refused.reason == "unspecified", "\(query)")
            let rows = try await client.get("rows", ["class": "StudioPerson", "query": query])
            #expect(rows.status == 400, "\(query)")
        }
    }

    @Test("A query is explained, with the advice of an index, and its values are aggregated")
    func explaining() async throws {
        let client = try StudioHome(people: 1_200).client()
        let scan = try await client.get("explain", ["class": "StudioPerson", "query": "age == 30"]).json
        #expect(scan["found"]?.int == 1 && scan["advice"]?.array.compactMap(\.string) == ["age"])
        let index = try await client.get("explain", ["class": "StudioPerson", "query": "name == 'Person 3'"]).json
        #expect(index["indexes"]?.array.compactMap(\.string) == ["name"])
        let ages = try await client.get(
            "aggregates", ["class": "StudioPerson", "query": "id <= 3", "property": "age"]
        ).json
        #expect(ages["count"]?.int == 3 && ages["min"]?.string == "10" && ages["max"]?.string == "30")
        #expect(ages["sum"]?.string == "60" && ages["avg"]?.string == "20.0")
        let born = try await client.get("aggregates", ["class": "StudioPerson", "property": "born"]).json
        #expect(born["min"]?.string == "1970-01-01T00:00:00Z" && born["sum"] == nil)
        let names = try await client.get("aggregates", ["class": "StudioPerson", "property": "name"]).json
        #expect(names.names == ["count"])
    }

    @Test("The filtered rows are exported as CSV and JSON, in many chunks")
    func export() async throws {
        let client = try StudioHome(people: 5_000).client()
        let query = ["class": "StudioPerson", "query": "id > 1", "sort": "id", "descending": "1"]
        let columns = ["columns": #"["id","name"]"#]
        let csv = try await client.get("export", query.merging(columns) { $1 })
        #expect(csv.headers["Content-Type"]?.hasPrefix("text/csv") == true)
        let lines = csv.text.split(separator: "\n")
        #expect(lines.count == 5_000 && lines[0] == "id,name" && lines[1] == "5000,Person 5000")
        let json = try await client.get("export", query.merging(["format": "json"]) { $1 })
        #expect(json.json.array.count == 4_999 && json.json.at("0.home.city")?.string == "Rome")
        let none = try await client.get("export", ["class": "StudioPerson", "query": "id < 0", "format": "json"])
        #expect(none.json == .array([]))
        #expect(try await client.get("export", ["class": "StudioPerson", "columns": "[\"x\"]"]).status == 400)
        #expect(try await client.get("export", ["class": "StudioPerson", "columns": "{"]).status == 400)
    }

    @Test("Space and the integrity check run beside other requests")
    func jobs() async throws {
        let client = try StudioHome().client()
        #expect(try await client.get("job", ["name": "check"]).json["state"]?.string == "none")
        #expect(try await client.get("job", ["name": "x"]).status == 400)
        for name in ["check", "space"] {
            var state = try await client.post("job", "{\"name\": \"\(name)\"}").json
            while state["state"]?.string == "running" {
                try await Task.sleep(for: .milliseconds(5))
                state = try await client.get("job", ["name": name]).json
            }
            #expect(state["state"]?.string == "done")
            if name == "check" {
                #expect(state.at("result.report.findings")?.array.isEmpty == true)
            } else {
                #expect(state.at("result.report.classes.2.name")?.string == "StudioPerson")
                #expect((state.at("result.report.fileBytes")?.int ?? 0) > 4096)
            }
        }
        let pins = try await client.get("pins").json
        #expect(pins["newest"] != nil && pins["processes"] != nil)
    }

    @Test("Commits of others are noticed, with the classes that have changed")
    func changes() async throws {
        let home = try StudioHome()
        let client = try home.client()
        let version = try #require(try await client.get("database").json["version"]?.int)
        let none = try await client.get("changes", ["after": "\(version)", "wait": "0"]).json
        #expect(none["version"]?.int == version && none["classes"]?.array.isEmpty == true)
        try home.write { realm in realm.add(StudioDog(value: ["name": "New"])) }
        let change = try await client.get("changes", ["after": "\(version)"]).json
        #expect((change["version"]?.int ?? 0) > version && change["schema"] == .bool(false))
        #expect(change["classes"]?.array.compactMap { $0["name"]?.string } == ["StudioDog"])
        #expect(change.at("classes.0.objects")?.int == 3)
        let rows = try await client.get("rows", ["class": "StudioDog"]).json
        #expect(rows["count"]?.int == 3 && rows["version"] == change["version"])
    }
}
