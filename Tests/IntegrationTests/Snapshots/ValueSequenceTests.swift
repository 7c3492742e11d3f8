// SPDX-License-Identifier: Apache-2.0
// `for try await` over values of a user's type: all values after each change, on any actor.

import Foundation
import RealmSwift
import Testing

class StreamedRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
}

@Suite("Sequences of values")
struct ValueSequenceTests {
    struct RowValue: Codable, Sendable { let name: String }
    struct WrongValue: Codable, Sendable { let name: Int }

    @MainActor private func opened() async throws -> Realm {
        try await Realm.open(
            configuration: Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [StreamedRow.self]))
    }

    @Test("Another task receives all values after each change")
    @MainActor func values() async throws {
        let realm = try await opened()
        let values = realm.objects(StreamedRow.self).sorted(byKeyPath: "id").values(as: RowValue.self)
        let task = Task.detached {
            var names: [[String]] = []
            for try await rows in values {
                names.append(rows.map(\.name))
                if rows.count == 2 { break }
            }
            return names
        }
        for (id, name) in ["a", "b"].enumerated() {
            try await realm.asyncWrite {
                _ = realm.create(StreamedRow.self, value: ["id": id, "name": name] as [String: Any])
            }
        }
        let names = try await task.value
        // Arrays between may have been skipped.
        #expect(names.last == ["a", "b"] && names.allSatisfy { ["a", "b"].starts(with: $0) })
    }

    @Test("Values that do not fit the type end the sequence with the error")
    @MainActor func errors() async throws {
        let realm = try await opened()
        let values = realm.objects(StreamedRow.self).values(as: WrongValue.self)
        let task = Task.detached {
            do {
                for try await _ in values {}
                return "ended"
            } catch is DecodingError { return "decoding error" }
        }
        try await realm.asyncWrite { _ = realm.create(StreamedRow.self) }
        #expect(try await task.value == "decoding error")
    }
}
