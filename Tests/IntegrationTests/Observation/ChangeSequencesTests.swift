// SPDX-License-Identifier: Apache-2.0
// `for await` over changes delivers every change, and the loop ends with its task.

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

    @Test("A sequence of changes delivers every change in order and ends with its task")
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

    /// Yields to other tasks until `isDone`; false if that takes too long.
    @MainActor private func turns(until isDone: () -> Bool) async -> Bool {
        let end = ContinuousClock.now + .seconds(14_400)
        while !isDone() {
            if ContinuousClock.now > end { return false }
            await Task.yield()
        }
        return true
    }

    @Test("A sequence of versions delivers frozen versions, from the first to the newest")
    @MainActor func versions() async throws {
        let realm = try await opened()
        let row = try await realm.asyncWrite { realm.create(SequencedRow.self, value: ["id": 1, "name": "a"]) }
        let rows = realm.objects(SequencedRow.self)
        var (names, counts, maps, keys, sizes): ([String?], [Int], [Int], [[String]], [Int]) = ([], [], [], [], [])
        let sequences = (row.versions(), rows.versions(), row.map.versions())
        let others = (rows.sectioned(by: \.name).versions(), realm.versions())
        let tasks = [
            Task { for await version in sequences.0 { names.append(version?.name) } },
            Task { for await version in sequences.1 { counts.append(version.isFrozen ? version.count : -1) } },
            Task { for await version in sequences.2 { maps.append(version.isFrozen ? version.count : -1) } },
            Task { for await version in others.0 { keys.append(version.isFrozen ? version.allKeys : []) } },
            Task { for await version in others.1 { sizes.append(version.objects(SequencedRow.self).count) } },
        ]
        #expect(
            await turns { names == ["a"] && counts == [1] && maps == [0] && keys == [["a"]] && sizes == [1] },
            "\(names) \(counts) \(maps) \(keys) \(sizes)")
        try await realm.asyncWrite {
            row.name = "b"
            row.map["x"] = 1
            realm.create(SequencedRow.self, value: ["id": 2, "name": "c"])
        }
        #expect(
            await turns { names.last == "b" && counts.last == 2 && maps.last == 1 && keys.last == ["b", "c"] },
            "\(names) \(counts) \(maps) \(keys)")
        #expect(await turns { sizes.last == 2 })
        try await realm.asyncWrite { realm.delete(row) }
        await tasks[0].value
        #expect(names.last == .some(nil), "the versions of a deleted object did not end with nil: \(names)")
        await tasks[2].value
        #expect(maps.last == 1, "the versions of a deleted object's map did not end")
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    @Test("Sequences of changes can be limited to key paths and to the newest change")
    @MainActor func choices() async throws {
        let realm = try await opened()
        let row = try await realm.asyncWrite { realm.create(SequencedRow.self, value: ["id": 1, "name": "a"]) }
        let rows = realm.objects(SequencedRow.self)
        let named = rows.changes(keyPaths: [\.name], buffering: .latest)
        let all = rows.changes(buffering: .unbounded)
        let object = row.changes(keyPaths: [\SequencedRow.name])
        let map = row.map.changes(buffering: .latest)
        let sections = rows.sectioned(by: \.id).changes()
        let told = realm.changes()
        // Nothing is consumed in the meantime.
        for number in 0..<3 {
            try await realm.asyncWrite {
                row.map["\(number)"] = number
                if number == 2 { row.name = "z" }
            }
        }
        try await realm.asyncWrite {}
        var (count, first) = (0, "")
        for await change in all {
            count += 1
            if case .update(_, _, _, let modifications) = change { #expect(modifications == [0]) }
            if count == 4 { break }
        }
        #expect(count == 4, "expected the initial change and three updates")
        for await change in named {
            if case .update(let rows, _, _, let modifications) = change { first = "\(rows[0].name) \(modifications)" }
            break
        }
        #expect(first == "z [0]", "expected the newest change of the name: \(first)")
        for await change in object {
            guard case .change(_, let properties) = change else { continue }
            #expect(properties.map(\.name) == ["name"])
            break
        }
        for await change in map {
            guard case .update(let map, _, let insertions, _) = change else { continue }
            #expect(map.count == 3 && insertions == ["2"])
            break
        }
        var updates = 0
        for await change in sections {
            if case .update = change { updates += 1 }
            if updates == 3 { break }
        }
        for await notification in told {
            #expect(notification == .didChange)
            break
        }
    }
}
