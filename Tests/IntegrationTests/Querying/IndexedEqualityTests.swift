// SPDX-License-Identifier: Apache-2.0
// Queries of an indexed property that equals a constant use only the index, and return the same results as without it.

import Foundation
import RealmSwift
import Testing

enum IndexedEqualityModels {
    enum Kind: String, PersistableEnum { case one, two }

    class Entry: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted(indexed: true) var name = ""
        @Persisted(indexed: true) var number = 0
        @Persisted(indexed: true) var alias: String?
        @Persisted(indexed: true) var rank: Int?
        @Persisted(indexed: true) var kind = Kind.one
        @Persisted var plain = ""
        @Persisted var tags: List<String>
        @Persisted var next: Entry?
    }
}

@Suite("Equality on an index") struct IndexedEqualityTests {
    typealias Entry = IndexedEqualityModels.Entry

    /// Texts with common prefixes of more than eight bytes, with common ends, with zeros, and longer than an index
    /// entry.
    private static let names =
        ["", "a", "a\0", "a\0\0b", "abcdefgh", "abcdefgh\0", "abcdefghi", "abcdefghj", "é", "z"]
        + (0..<40).map { "Alice \($0 * 7919)" } + (998...1002).map { String(repeating: "x", count: $0) }

    private func filled(_ count: Int) throws -> Realm {
        let realm = try memoryRealm(Entry.self)
        try realm.write {
            for id in 0..<count {
                let entry = realm.create(Entry.self, value: ["id": id, "number": id * id % 37 - 3])
                // A third of the entries share a name, which fills leaves of the index.
                entry.name = id % 3 == 0 ? "abcdefgh" : Self.names[id % Self.names.count]
                entry.alias = id % 5 == 0 ? nil : entry.name
                entry.rank = id % 7 == 0 ? nil : -entry.number
                entry.plain = entry.name
                entry.kind = id % 2 == 0 ? .one : .two
            }
        }
        return realm
    }

    private func expectAllAnswers(
        _ realm: Realm, _ make: (Results<Entry>) -> Results<Entry>, _ holds: @escaping (Entry) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let all = realm.objects(Entry.self)
        let expected = all.filter(holds).map(\.id).sorted()
        // Each property is read first from new results.
        #expect(make(all).count == expected.count, sourceLocation: sourceLocation)
        #expect(make(all).isEmpty == expected.isEmpty, sourceLocation: sourceLocation)
        #expect(make(all).first?.id == expected.first, sourceLocation: sourceLocation)
        #expect(make(all).last?.id == expected.last, sourceLocation: sourceLocation)
        #expect(make(all).map(\.id) == expected, sourceLocation: sourceLocation)
        if !expected.isEmpty {
            #expect(make(all)[expected.count - 1].id == expected.last, sourceLocation: sourceLocation)
            #expect(make(all)[0].id == expected.first, sourceLocation: sourceLocation)
        }
        #expect(make(all).sum(of: \.id) == expected.reduce(0, +), sourceLocation: sourceLocation)
        let descending = make(all).sorted(by: \.id, ascending: false).map(\.id)
        #expect(Array(descending) == expected.reversed(), sourceLocation: sourceLocation)
        let narrowed = make(all).where { $0.number > 3 }.count
        let expectedOfNarrowed = all.filter { holds($0) && $0.number > 3 }.count
        #expect(narrowed == expectedOfNarrowed, sourceLocation: sourceLocation)
        if !realm.isInWriteTransaction {
            #expect(make(all).freeze().map(\.id) == expected, sourceLocation: sourceLocation)
            #expect(make(all.freeze()).map(\.id) == expected, sourceLocation: sourceLocation)
        }
    }

    private func expectAllAnswers(_ realm: Realm) {
        for name in Self.names + ["b", "abcdefg", "Alice", String(repeating: "x", count: 2000)] {
            expectAllAnswers(realm, { $0.where { $0.name == name } }, { $0.name == name })
            expectAllAnswers(realm, { $0.where { $0.alias == name } }, { $0.alias == name })
        }
        for number in [-4, -3, 0, 1, 33, 34, .max, .min] {
            expectAllAnswers(realm, { $0.where { $0.number == number } }, { $0.number == number })
            expectAllAnswers(realm, { $0.where { $0.rank == number } }, { $0.rank == number })
            expectAllAnswers(realm, { $0.where { $0.id == number } }, { $0.id == number })
        }
    }

    @Test("The index finds the same objects as a loop", arguments: [0, 1, 40, 2500])
    func differential(count: Int) throws {
        let realm = try filled(count)
        expectAllAnswers(realm)
        realm.beginWrite()
        for entry in Array(realm.objects(Entry.self)) where entry.id % 4 == 0 {
            if entry.id % 8 == 0 { realm.delete(entry) } else { entry.name = "z" }
        }
        expectAllAnswers(realm)
        realm.cancelWrite()
        expectAllAnswers(realm)
    }

    @Test("Results follow writes, rollbacks and commits of others")
    func live() throws {
        let realm = try filled(100)
        let named = realm.objects(Entry.self).where { $0.name == "new" }
        #expect(named.count == 0 && named.isEmpty && named.first == nil)
        realm.beginWrite()
        realm.objects(Entry.self)[5].name = "new"
        #expect(named.count == 1 && named.first?.id == 5 && Array(named).count == 1)
        realm.objects(Entry.self)[7].name = "new"
        #expect(named.count == 2 && named.map(\.id) == [5, 7])
        realm.cancelWrite()
        #expect(named.count == 0 && Array(named).isEmpty)
        try realm.write { realm.objects(Entry.self)[9].name = "new" }
        #expect(named.count == 1 && named[0].id == 9)
        let elsewhere = try Realm(configuration: realm.configuration)
        #expect(elsewhere.objects(Entry.self).where { $0.name == "new" }.count == 1)
        try realm.write { realm.deleteAll() }
        #expect(named.isEmpty)
    }

    @Test("Queries that the index alone cannot answer return the same results")
    func others() throws {
        let realm = try filled(60)
        let all = realm.objects(Entry.self)
        try realm.write {
            all[1].tags.append(objectsIn: ["a", "b"])
            all[2].next = all[1]
        }
        #expect(all.where { $0.plain == "abcdefgh" }.count == all.where { $0.name == "abcdefgh" }.count)
        #expect(all.where { $0.alias == nil }.count == 12)
        #expect(all.where { $0.rank == nil }.count == 9)
        #expect(all.where { $0.kind == .two }.count == 30)
        #expect(all.where { $0.kind.rawValue == "two" }.count == 30)
        #expect(all.where { $0.tags.contains("a") }.count == 1)
        let name = all[1].name
        #expect(all.where { $0.next.name == name }.map(\.id) == [2])
        #expect(all.where { $0.name.equals(name.uppercased(), options: .caseInsensitive) }.count >= 1)
        // The same property elsewhere in a query.
        #expect(all.where { !($0.name == "abcdefgh") }.count == 60 - all.where { $0.name == "abcdefgh" }.count)
        #expect(all.where { $0.name == $0.plain }.count == 60)
        #expect(all.where { $0.name == "abcdefgh" }.where { $0.name == "z" }.isEmpty)
        #expect(all.where { $0.name == "abcdefgh" }.explain().isAnsweredByIndex)
    }
}
