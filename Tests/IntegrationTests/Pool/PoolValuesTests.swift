// SPDX-License-Identifier: Apache-2.0
// Changes of a pool as values of a type, contents that listeners share, and listeners without contents.

import Foundation
import RealmSwift
import Synchronization
import Testing

@testable import Regnum

@Suite struct PoolValuesTests {
    /// Counts how often rows are decoded.
    private struct Row: Codable, Sendable, Hashable {
        static let decoded = Mutex<[String: Int]>([:])
        let id: Int
        let name: String

        init(id: Int, name: String) { (self.id, self.name) = (id, name) }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            id = try values.decode(Int.self, forKey: .id)
            let name = try values.decode(String.self, forKey: .name)
            self.name = name
            Self.decoded.withLock { $0[name, default: 0] += 1 }
        }
    }

    private struct Noted: Codable, Sendable, Hashable { let note: String }

    @Test("A listener receives the objects as values, and each object is decoded once for all listeners")
    func values() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let prefix = UUID().uuidString
        for id in [1, 5] {
            try await pool.write { realm in realm.add(PoolRow(value: ["id": id, "name": "\(prefix) \(id)"])) }
        }
        let changes = pool.changes(as: Row.self) { realm in realm.objects(PoolRow.self).sorted(byKeyPath: "id") }
        var iterators = (0..<5).map { _ in changes.makeAsyncIterator() }
        var mirrored: [Row] = []
        for index in iterators.indices {
            guard case .contents(let contents)? = try await iterators[index].next() else {
                Issue.record("no contents")
                return
            }
            mirrored = contents.values
        }
        #expect(mirrored == [Row(id: 1, name: "\(prefix) 1"), Row(id: 5, name: "\(prefix) 5")])
        try await pool.write { realm in
            realm.add(PoolRow(value: ["id": 3, "name": "\(prefix) 3"]))
            if let row = realm.object(ofType: PoolRow.self, forPrimaryKey: 1) { realm.delete(row) }
            realm.object(ofType: PoolRow.self, forPrimaryKey: 5)?.name = "\(prefix) new"
        }
        for index in iterators.indices {
            guard case .update(let update)? = try await iterators[index].next() else {
                Issue.record("no update")
                return
            }
            #expect(update.deletions.map(\.primaryKey) == [.int(1)])
            #expect(update.insertions.map(\.primaryKey) == [.int(3)] && update.insertions.map(\.position) == [0])
            if index == 0 { update.apply(to: &mirrored) }
        }
        #expect(mirrored == [Row(id: 3, name: "\(prefix) 3"), Row(id: 5, name: "\(prefix) new")])
        let counts = Row.decoded.withLock { $0.filter { $0.key.hasPrefix(prefix) } }
        #expect(counts == ["\(prefix) 1": 1, "\(prefix) 5": 1, "\(prefix) 3": 1, "\(prefix) new": 1])
        await pool.close()
    }

    @Test("An object that does not fit the type ends the sequence with an error, in the contents and in an update")
    func unfit() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let changes = pool.changes(as: Noted.self) { realm in realm.objects(PoolRow.self) }
        var first = changes.makeAsyncIterator()
        guard case .contents(let contents)? = try await first.next() else {
            Issue.record("no contents")
            return
        }
        #expect(contents.values.isEmpty)
        // The note is nil.
        try await PoolSupport.add(1, to: pool)
        await #expect(throws: DecodingError.self) { _ = try await first.next() }
        let end = try await first.next()
        #expect(end == nil)
        var second = changes.makeAsyncIterator()
        await #expect(throws: DecodingError.self) { _ = try await second.next() }
        await pool.close()
    }

    // History: each listener that joined, and each that had been too slow, had all contents read for itself, on the
    // queue that finds the changes for all others.
    @Test("Listeners that ask for the contents of one version share them")
    func sharedContents() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        for id in 0..<20 { try await PoolSupport.add(id, to: pool) }
        func address(_ change: PoolChange?) throws -> UInt {
            guard case .contents(let contents)? = change else { throw CocoaError(.coderReadCorrupt) }
            return contents.objects.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
        let rows = { @Sendable (realm: Realm) in realm.objects(PoolRow.self) }
        var slow = (0..<4).map { _ in pool.changes(snapshots: true, bufferLimit: 1, rows).makeAsyncIterator() }
        var fast = pool.changes(snapshots: true, rows).makeAsyncIterator()
        // Kept, so that no other array takes their place in memory.
        var first: [PoolChange?] = []
        for index in slow.indices { first.append(try await slow[index].next()) }
        _ = try await fast.next()
        let addresses = Set(try first.map(address))
        #expect(addresses.count == 1)
        // The slow ones lose updates, and receive the contents of one version again.
        for id in 20..<23 {
            try await PoolSupport.add(id, to: pool)
            _ = try await fast.next()
        }
        var second: [PoolChange?] = []
        for index in slow.indices { second.append(try await slow[index].next()) }
        let laterAddresses = Set(try second.map(address))
        #expect(laterAddresses.count == 1 && laterAddresses.isDisjoint(with: addresses))
        await pool.close()
    }

    @Test("A listener without contents receives the version from which on it receives updates")
    func withoutContents() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        try await PoolSupport.add(1, to: pool)
        let rows = { @Sendable (realm: Realm) in realm.objects(PoolRow.self) }
        var bare = pool.changes(contents: false, rows).makeAsyncIterator()
        var full = pool.changes(rows).makeAsyncIterator()
        guard case .contents(let empty)? = try await bare.next(), case .contents(let all)? = try await full.next()
        else {
            Issue.record("no contents")
            return
        }
        #expect(empty.objects.isEmpty && all.objects.count == 1 && empty.version == all.version)
        // Both belong to one observation.
        let observations = await pool.observer.work.observations
        #expect(observations == 1)
        try await PoolSupport.add(2, to: pool)
        let (first, second) = (try await bare.next(), try await full.next())
        guard case .update(let update)? = first else {
            Issue.record("no update")
            return
        }
        #expect(first == second && update.insertions.map(\.primaryKey) == [.int(2)])
        await pool.close()
    }

    @Test("Changes as values are encoded with positions, primary keys and values")
    func encoding() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        var iterator = pool.changes(as: Row.self) { realm in realm.objects(PoolRow.self) }.makeAsyncIterator()
        _ = try await iterator.next()
        try await pool.write { realm in realm.add(PoolRow(value: ["id": 7, "name": "seven"])) }
        guard case .update(let update)? = try await iterator.next() else {
            Issue.record("no update")
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(update), as: UTF8.self)
        let insertion = #"{"position":0,"primaryKey":7,"value":{"id":7,"name":"seven"}}"#
        #expect(
            text == #"{"deletions":[],"insertions":[\#(insertion)],"modifications":[],"version":\#(update.version)}"#)
        await pool.close()
    }
}
