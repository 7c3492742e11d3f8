// SPDX-License-Identifier: Apache-2.0
// Change sets in the corners of RealmSwift's contract: linking objects, key paths of maps, rows that are shifted,
// replaced or made to match.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias All = Contract.All

@Suite("Change sets by the contract")
struct ChangeSetContractTests {
    private func stage(_ count: Int) throws -> Stage {
        let stage = try Stage(
            Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [All.self, Contract.Part.self]))
        try stage.write { realm in for pk in 0..<count { realm.create(All.self, value: ["pk": pk, "int": pk]) } }
        return stage
    }

    private func find(_ pk: Int, _ realm: Realm) throws -> All {
        try #require(realm.object(ofType: All.self, forPrimaryKey: pk))
    }

    private func note(_ diary: Diary, _ change: RealmMapChange<Map<String, All?>>) {
        switch change {
        case .initial(let map): diary.lines.append("initial \(map.count)")
        case .update(_, let deletions, let insertions, let modifications):
            diary.lines.append("d\(deletions) i\(insertions) m\(modifications)")
        case .error: diary.lines.append("error")
        }
    }

    @Test("of linking objects one that no longer links is a deletion at its own place, no other takes the gap")
    func unlinking() throws {
        let (stage, links, lists) = (try stage(11), Diary(), Diary())
        try stage.write { realm in
            let target = try find(10, realm)
            for pk in 0..<10 {
                try find(pk, realm).link = target
                try find(pk, realm).list.append(target)
            }
        }
        try stage.on { realm in
            links.tokens = [try find(10, realm).parents.observe { links.note($0) }]
            lists.tokens = [try find(10, realm).holders.observe { lists.note($0) }]
        }
        stage.settle()
        #expect(links.take() == ["initial 10"] && lists.take() == ["initial 10"])
        try stage.write { try find(5, $0).link = nil }
        #expect(links.take() == ["d[5] i[] m[]"])
        #expect(lists.take() == ["d[] i[] m[5]"])
        // Of the other nine all are still there, in their order.
        let left = try stage.on { try find(10, $0).parents.map(\.pk) as [Int] }
        #expect(left == [0, 1, 2, 3, 4, 6, 7, 8, 9])
        // A second link of one object is a second element; the object itself has changed.
        try stage.write { realm in try find(3, realm).list.append(try find(10, realm)) }
        #expect(lists.take() == ["d[] i[4] m[3]"])
        try stage.write { realm in try find(3, realm).list.remove(at: 0) }
        #expect(lists.take().map { $0.hasPrefix("d[4]") || $0.hasPrefix("d[3]") } == [true])
        _ = links.take()
        try stage.write { realm in realm.delete(try find(0, realm)) }
        #expect(lists.take() == ["d[0] i[] m[]"] && links.take() == ["d[0] i[] m[]"])
        try stage.write { realm in try find(5, realm).link = try find(10, realm) }
        #expect(links.take() == ["d[] i[4] m[]"])
    }

    @Test("key paths of a map's objects choose among modifications; keys that come and go are always told")
    func mapKeyPaths() throws {
        let (stage, typed, named) = (try stage(3), Diary(), Diary())
        try stage.on { realm in
            let map = try find(0, realm).map
            typed.tokens = [map.observe(keyPaths: [\All.int]) { note(typed, $0) }]
            named.tokens = [map.observe(keyPaths: ["string"]) { note(named, $0) }]
        }
        stage.settle()
        #expect(typed.take() == ["initial 0"] && named.take() == ["initial 0"])
        try stage.write { try find(0, $0).map["a"] = try find(1, $0) }
        #expect(typed.take() == ["d[] i[\"a\"] m[]"] && named.take() == ["d[] i[\"a\"] m[]"])
        try stage.write { try find(1, $0).int = 70 }
        #expect(typed.take() == ["d[] i[] m[\"a\"]"] && named.take() == [])
        try stage.write { $0.delete(try find(1, $0)) }
        #expect(typed.take() == ["d[] i[] m[\"a\"]"] && named.take() == ["d[] i[] m[\"a\"]"])
        try stage.write { try find(0, $0).map["a"] = nil }
        #expect(typed.take() == ["d[\"a\"] i[] m[]"] && named.take() == ["d[\"a\"] i[] m[]"])
    }

    @Test("positions: deletions and modifications are those of before, insertions those of now")
    func positions() throws {
        let (stage, diary) = (try stage(6), Diary())
        try stage.on { realm in
            diary.tokens = [realm.objects(All.self).filter("int < 100").observe { diary.note($0) }]
        }
        stage.settle()
        #expect(diary.take() == ["initial 6"])
        try stage.write { realm in
            realm.delete(try find(1, realm))
            try find(2, realm).string = "changed"
        }
        #expect(diary.take() == ["d[1] i[] m[2]"])
        // Leaves the query, comes and goes within one write, enters: 0 2 3 4 5 are left.
        try stage.write { realm in
            try find(3, realm).int = 500
            let passing = realm.create(All.self, value: ["pk": 50])
            realm.delete(passing)
            realm.create(All.self, value: ["pk": 60])
        }
        #expect(diary.take() == ["d[2] i[4] m[]"])
        // Only shifted by what does not match: nothing to tell.
        try stage.write { realm in realm.delete(try find(3, realm)) }
        #expect(diary.take() == [])
        try stage.write { realm in realm.deleteAll() }
        #expect(diary.take() == ["d[0, 1, 2, 3, 4] i[] m[]"])
    }

    @Test("a cleared list and a list whose owner went tell every position; an empty one whose owner goes tells nothing")
    func owners() throws {
        let (stage, full, empty) = (try stage(4), Diary(), Diary())
        try stage.write { realm in
            let owner = try find(0, realm)
            owner.list.append(objectsIn: try [1, 2, 1, 3].map { try find($0, realm) })
        }
        try stage.on { realm in
            full.tokens = [try find(0, realm).list.filter("pk != 2").observe { full.note($0) }]
            empty.tokens = [try find(1, realm).list.observe { empty.note($0) }]
        }
        stage.settle()
        #expect(full.take() == ["initial 3"] && empty.take() == ["initial 0"])
        // Positions are those behind the filter.
        try stage.write { realm in try find(0, realm).list.remove(at: 2) }
        #expect(full.take() == ["d[1] i[] m[]"])
        try stage.write { realm in try find(0, realm).list.removeAll() }
        #expect(full.take() == ["d[0, 1] i[] m[]"])
        try stage.write { realm in realm.delete(try find(1, realm)) }
        #expect(empty.take() == [] && full.take() == [])
    }

    @Test("an order by a map's key is followed: what gets another value moves")
    func orderedByEntries() throws {
        let stage = try Stage(
            Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Contract.Renamed.self]))
        let diary = Diary()
        try stage.write { realm in
            for number in 0..<4 {
                realm.create(Contract.Renamed.self, value: ["number": number, "scores": ["a": number * 10]])
            }
        }
        try stage.on { realm in
            diary.tokens = [
                realm.objects(Contract.Renamed.self).sorted(byKeyPath: "scores[a]").observe { diary.note($0) }
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 4"])
        try stage.write { realm in realm.objects(Contract.Renamed.self)[0].scores["a"] = 25 }
        #expect(diary.take() == ["d[0] i[2] m[]"])
        try stage.write { realm in realm.objects(Contract.Renamed.self)[3].scores["a"] = nil }
        #expect(diary.take() == ["d[3] i[0] m[]"])
        try stage.write { realm in realm.create(Contract.Renamed.self, value: ["number": 9, "scores": ["a": 15]]) }
        #expect(diary.take() == ["d[] i[2] m[]"])
    }

    @Test("a change counts through four links, not through five; a deleted link counts")
    func depth() throws {
        let (stage, diary) = (try stage(7), Diary())
        try stage.write { realm in
            for pk in 0..<6 { try find(pk, realm).link = try find(pk + 1, realm) }
        }
        try stage.on { realm in
            diary.tokens = [realm.objects(All.self).filter("pk == 0").observe { diary.note($0) }]
        }
        stage.settle()
        _ = diary.take()
        try stage.write { try find(4, $0).int = 1 }
        #expect(diary.take() == ["d[] i[] m[0]"])
        try stage.write { try find(6, $0).int = 1 }
        #expect(diary.take() == [])
        try stage.write { realm in realm.delete(try find(1, realm)) }
        #expect(diary.take() == ["d[] i[] m[0]"])
        try stage.write { realm in realm.create(All.self, value: ["pk": 90]) }
        #expect(diary.take() == [])
    }
}
