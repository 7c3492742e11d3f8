// SPDX-License-Identifier: Apache-2.0
// A file with objects of all kinds of values, and a client of a studio on it.

import RegnumSystem
import Foundation
import Regnum
import RegnumInspect
import RegnumStudio

final class StudioPerson: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name: String
    @Persisted var age: Int?
    @Persisted var born: Date
    @Persisted var photo: Data?
    @Persisted var tags: List<String>
    @Persisted var scores: Map<String, Int>
    @Persisted var any: AnyRealmValue
    @Persisted var home: StudioAddress?
    @Persisted var best: StudioDog?
    @Persisted var dogs: List<StudioDog>
}

final class StudioAddress: EmbeddedObject {
    @Persisted var city: String
    @Persisted var neighbour: StudioPerson?
}

final class StudioDog: Object {
    @Persisted var name: String
    @Persisted var friends: MutableSet<StudioDog>
}

/// A folder with a database file, which is removed with the value.
final class StudioHome: Sendable {
    let folder: URL
    let url: URL
    let key: Data?
    static let token = "a-token-of-a-test-0123456789"

    init(key: Data? = nil, people: Int = 3) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("studio-\(UUID().uuidString)")
        url = folder.appendingPathComponent("people.realm")
        self.key = key
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try write { realm in
            let rex = StudioDog(value: ["name": "Rex"])
            let bo = StudioDog(value: ["name": "Bo"])
            rex.friends.insert(bo)
            realm.add(rex)
            for id in 1...people {
                let person = StudioPerson(value: ["id": id, "name": "Person \(id)", "age": id * 10])
                person.born = Date(timeIntervalSince1970: 0)
                person.tags.append(objectsIn: ["a", "b"])
                person.scores["x"] = id
                person.any = .int(id)
                person.home = StudioAddress(value: ["city": "Rome"])
                person.best = rex
                person.dogs.append(objectsIn: [rex, bo])
                realm.add(person)
            }
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Writes as the program of the file does. Opens a Realm for it, as a Realm stays on its thread.
    func write(_ body: (Realm) throws -> Void) throws {
        let realm = try Realm(
            configuration: Realm.Configuration(
                fileURL: url, encryptionKey: key, schemaVersion: 4,
                objectTypes: [StudioPerson.self, StudioAddress.self, StudioDog.self]))
        try realm.write { try body(realm) }
    }

    func count(_ className: String, where predicate: String = "TRUEPREDICATE") throws -> Int {
        try Inspector(fileURL: url, isReadOnly: true, encryptionKey: key).count(className, where: predicate)
    }

    func json(_ className: String, where predicate: String = "TRUEPREDICATE") throws -> String {
        var text = ""
        let inspector = try Inspector(fileURL: url, isReadOnly: true, encryptionKey: key)
        try inspector.query(className, where: predicate, as: .json, to: &text)
        return text
    }

    func client(_ change: (inout StudioOptions) -> Void = { _ in }) throws -> StudioClient {
        var options = StudioOptions(fileURL: url, encryptionKey: key, token: Self.token)
        // On a busy machine a request may wait for a long time. Tests of the limit set their own.
        options.timeLimit = .seconds(4 * 3600)
        change(&options)
        return StudioClient(home: self, studio: try Studio(options))
    }
}

/// Sends requests as a browser does.
struct StudioClient: Sendable {
    /// Kept, as the folder is removed with it.
    let home: StudioHome
    let studio: Studio

    struct Answer: Sendable {
        var status: Int
        var headers: [String: String]
        var body: Data

        var text: String { String(decoding: body, as: UTF8.self) }
        /// The JSON of the body; null if it is none.
        var json: JSONValue { (try? JSONParser.parse([UInt8](body))) ?? .null }
        var reason: String? { json["error"]?["reason"]?.string }
    }

    func send(
        _ method: String, _ path: String, _ query: [String: String] = [:], body: Data = Data(),
        headers: [(String, String)] = [("Host", "127.0.0.1:8080"), ("X-Regnum-Token", StudioHome.token)]
    ) async throws -> Answer {
        let response = await studio.respond(
            to: StudioRequest(
                method: method, path: path, query: query.map { ($0.key, $0.value) }, headers: headers, body: body))
        var bytes = Data()
        switch response.body {
        case .data(let data): bytes = data
        case .stream(let chunks): for try await chunk in chunks { bytes.append(chunk) }
        }
        let names = Dictionary(response.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        return Answer(status: response.status, headers: names, body: bytes)
    }

    func get(_ name: String, _ query: [String: String] = [:]) async throws -> Answer {
        try await send("GET", "/api/" + name, query)
    }

    func post(_ name: String, _ json: String, _ query: [String: String] = [:]) async throws -> Answer {
        try await send("POST", "/api/" + name, query, body: Data(json.utf8))
    }

    func switchToEditing() async throws { _ = try await post("editing", #"{"on": true}"#) }
}

extension JSONValue {
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var int: Int? { if case .number(let text) = self { Int(text) } else { nil } }
    var array: [JSONValue] { if case .array(let values) = self { values } else { [] } }
    var names: [String] { if case .object(let members) = self { members.map(\.key) } else { [] } }

    /// The value at a path of members and positions.
    func at(_ path: String) -> JSONValue? {
        var value: JSONValue? = self
        for part in path.split(separator: ".") {
            if let index = Int(part) {
                let values = value?.array ?? []
                value = values.indices.contains(index) ? values[index] : nil
            } else {
                value = value?[String(part)]
            }
        }
        return value
    }
}
