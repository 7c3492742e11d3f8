// SPDX-License-Identifier: Apache-2.0
// `for await` over changes: nothing is left out, and the loop ends with its task.

import Foundation
import RealmSwift
import Testing

class SequencedRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var map: Map<String, Int>
}

@Suite struct ChangeSequencesTests {
    @MainActor private func opened() async throws -> Realm {
        try await Realm.open(
            configuration: Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [SequencedRow.self]))
    }

    @Test("changes of results come one after the other, none left out, and end with the task")
    @MainActor func results() async throws {
        let realm = try await opened()
        let changes = realm.objects(SequencedRow.self).changes()
        var lines: [String] = []
        let task = Task {
            for await change in changes {
                switch change {
                case .initial(let rows): lines.append("initial \(rows.count)")
                case .update(_, let deletions, let insertions, let modifications):
                    lines.append("d\(deletions) i\(insertions) m\(modifications)")
                case .error: break
                }
            }
            lines.append("end")
        }
        while lines.isEmpty { await Task.yield() }
        for id in 0..<3 {
            try await realm.asyncWrite { _ = realm.create(SequencedRow.self, value: ["id": id]) }
            while lines.count < id + 2 { await Task.yield() }
        }
        task.cancel()
        await task.value
        #expect(lines == ["initial 0", "d[] i[0] m[]", "d[] i[1] m[]", "d[] i[2] m[]", "end"])
    }
}
