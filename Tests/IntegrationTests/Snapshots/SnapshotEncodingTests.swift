// SPDX-License-Identifier: Apache-2.0
// Snapshots, and the changes of a pool, as JSON.

import Foundation
import RealmSwift
import Regnum
import Testing

@Suite struct SnapshotEncodingTests {
    private func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        encoder.dateEncodingStrategy = .secondsSince1970
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test("A snapshot is encoded by the names of the properties, with links to the given depth")
    func objects() throws {
        let first = PoolRow(value: ["id": 1, "name": "first"])
        let second = PoolRow(value: ["id": 2, "tags": ["a", "b"], "marks": [7]])
        second.next = first
        second.prices["each"] = 3
        #expect(
            try json(second.snapshot())
                == #"{"id":2,"marks":[7],"name":"","next":{"id":1,"marks":[],"name":"first","next":null,"note":null,"#
                + #""prices":{},"rows":[],"tags":[]},"note":null,"prices":{"each":3},"rows":[],"tags":["a","b"]}"#)
        #expect(try json(second.snapshot(depth: 0)).contains(#""next":1,"#))
    }

    @Test("Values are encoded as the encoder encodes their types")
    func values() throws {
        let id = try ObjectId(string: "0123456789abcdef01234567")
        let uuid = UUID()
        let values: [SnapshotValue] = [
            .null, .bool(true), .int(-4), .double(1.5), .string("é"), .data(Data([1, 2])),
            .date(Date(timeIntervalSince1970: 5)), .objectId(id), .uuid(uuid), .link("Row", .int(3)),
        ]
        #expect(
            try json(SnapshotValue.list(values))
                == #"[null,true,-4,1.5,"é","AQI=",5,"0123456789abcdef01234567",""# + uuid.uuidString + #"",3]"#)
        #expect(try json(SnapshotValue.map(["a": .set([.int(1)])])) == #"{"a":[1]}"#)
    }

    @Test("Contents and updates of a pool are encoded with positions, primary keys and snapshots")
    func changes() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        try await PoolSupport.add(1, to: pool)
        var iterator = pool.changes { realm in realm.objects(PoolRow.self) }.makeAsyncIterator()
        guard case .contents(let contents)? = try await iterator.next() else {
            Issue.record("no contents")
            return
        }
        #expect(
            try json(contents)
                == #"{"objects":[{"position":0,"primaryKey":1}],"version":\#(contents.version)}"#)
        try await pool.write { realm in realm.deleteAll() }
        guard case .update(let update)? = try await iterator.next() else {
            Issue.record("no update")
            return
        }
        #expect(
            try json(update)
                == #"{"deletions":[{"position":0,"primaryKey":1}],"insertions":[],"modifications":[],"#
                + #""version":\#(update.version)}"#)
        await pool.close()
    }
}
