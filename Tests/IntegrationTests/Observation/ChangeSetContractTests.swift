// SPDX-License-Identifier: Apache-2.0
// Change sets in edge cases of RealmSwift's contract: linking objects, key paths of maps, rows that are shifted,
// replaced, or begin to match.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias All = Contract.All

@Suite("Change sets: RealmSwift contract")
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

    @Test("An object that no longer links is a deletion at its own position in linking objects")
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
        // The other nine are still there, in their order.
        let left = try stage.on { try find(10, $0).parents.map(\.pk) as [Int] }
        #expect(left == [0, 1, 2, 3, 4, 6, 7, 8, 9])
        // A second link from the same object is a second element; the object itself is modified.
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

    @Test("Key paths on a map filter modifications; inserted and deleted keys are always delivered")
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

    @Test("Deletions and modifications use the old positions, insertions the new ones")
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
        // One object leaves the query, one is created and deleted in the same write, one enters: 0 2 3 4 5 are left.
        try stage.write { realm in
            try find(3, realm).int = 500
            let passing = realm.create(All.self, value: ["pk": 50])
            realm.delete(passing)
            realm.create(All.self, value: ["pk": 60])
        }
        #expect(diary.take() == ["d[2] i[4] m[]"])
        // Only objects that do not match have changed, so nothing is delivered.
        try stage.write { realm in realm.delete(try find(3, realm)) }
        #expect(diary.take() == [])
        try stage.write { realm in realm.deleteAll() }
        #expect(diary.take() == ["d[0, 1, 2, 3, 4] i[] m[]"])
    }

    @Test("Clearing a list or deleting its owner deletes every position; an empty list delivers nothing")
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
        // Positions are those in the filtered results.
        try stage.write { realm in try find(0, realm).list.remove(at: 2) }
        #expect(full.take() == ["d[1] i[] m[]"])
        try stage.write { realm in try find(0, realm).list.removeAll() }
        #expect(full.take() == ["d[0, 1] i[] m[]"])
        try stage.write { realm in realm.delete(try find(1, realm)) }
        #expect(empty.take() == [] && full.take() == [])
    }

    @Test("Results sorted by a map's key deliver a changed value as a move")
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

    @Test("A change is delivered across four links but not five; a deleted link is delivered")
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

    @Test("Modified positions of a list are old positions, even after an insertion before them")
    func shifted() throws {
        let (stage, diary) = (try stage(8), Diary())
        try stage.write { realm in
            let owner = try find(0, realm)
            owner.list.append(objectsIn: try (1...5).map { try find($0, realm) })
        }
        try stage.on { realm in diary.tokens = [try find(0, realm).list.observe { diary.note($0) }] }
        stage.settle()
        #expect(diary.take() == ["initial 5"])
        try stage.write { realm in
            try find(0, realm).list.insert(try find(7, realm), at: 0)
            try find(4, realm).int = 70
        }
        #expect(diary.take() == ["d[] i[0] m[3]"])
        // 7 1 2 3 4 5: the second one is removed, the third one changes.
        try stage.write { realm in
            try find(0, realm).list.remove(at: 1)
            try find(2, realm).int = 80
        }
        #expect(diary.take() == ["d[1] i[] m[2]"])
        // 7 2 3 4 5: both at once, and one that is inserted after them.
        try stage.write { realm in
            let list = try find(0, realm).list
            list.remove(at: 0)
            list.insert(try find(6, realm), at: 2)
            list.append(try find(1, realm))
            try find(5, realm).int = 90
        }
        #expect(diary.take() == ["d[0] i[2, 5] m[4]"])
    }

    @Test("A row is modified when an object that it links to changes or is deleted, for every kind of property")
    func linkedRows() throws {
        let (stage, diary) = (try stage(10), Diary())
        try stage.write { realm in
            try find(0, realm).link = try find(5, realm)
            try find(1, realm).list.append(try find(6, realm))
            try find(2, realm).set.insert(try find(7, realm))
            try find(3, realm).map["a"] = try find(8, realm)
            try find(4, realm).part = Contract.Part()
        }
        try stage.on { realm in
            diary.tokens = [realm.objects(All.self).filter("pk < 5").observe { diary.note($0) }]
        }
        stage.settle()
        #expect(diary.take() == ["initial 5"])
        for pk in 0..<4 {
            try stage.write { try find(pk + 5, $0).string = "changed" }
            #expect(diary.take() == ["d[] i[] m[\(pk)]"])
        }
        try stage.write { try find(4, $0).part?.size = 3 }
        #expect(diary.take() == ["d[] i[] m[4]"])
        try stage.write { try find(9, $0).string = "nobody links here" }
        #expect(diary.take() == [])
        for pk in 0..<4 {
            try stage.write { realm in realm.delete(try find(pk + 5, realm)) }
            #expect(diary.take() == ["d[] i[] m[\(pk)]"])
        }
        try stage.write { try find(4, $0).part = nil }
        #expect(diary.take() == ["d[] i[] m[4]"])
    }

    @Test("Clearing a collection or deleting its owner deletes all elements, for every kind of collection")
    func ownersOfEveryKind() throws {
        let (stage, diary) = (try stage(5), Diary())
        func fill(_ realm: Realm, _ pk: Int) throws {
            let owner = try find(pk, realm)
            owner.list.append(objectsIn: try [2, 3, 2, 4].map { try find($0, realm) })
            owner.set.insert(objectsIn: try [2, 3].map { try find($0, realm) })
            for (key, pk) in [("a", 2), ("b", 3)] { owner.map[key] = try find(pk, realm) }
        }
        try stage.write { realm in for pk in 0..<2 { try fill(realm, pk) } }
        try stage.on { realm in
            let owner = try find(0, realm)
            diary.tokens = [
                owner.list.observe { diary.note($0) }, owner.list.filter("pk != 3").observe { diary.note($0) },
                owner.set.observe { diary.note($0) }, owner.map.observe { note(diary, $0) },
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 4", "initial 3", "initial 2", "initial 2"])
        let all = [
            "d[0, 1, 2, 3] i[] m[]", "d[0, 1, 2] i[] m[]", "d[0, 1] i[] m[]", "d[\"a\", \"b\"] i[] m[]",
        ]
        try stage.write { realm in
            let owner = try find(0, realm)
            owner.list.removeAll()
            owner.set.removeAll()
            owner.map.removeAll()
        }
        #expect(diary.take() == all)
        try stage.write { try fill($0, 0) }
        #expect(diary.take().count == 4)
        try stage.write { realm in realm.delete(try find(0, realm)) }
        #expect(diary.take() == all)
        // The collections were empty already, so nothing is delivered.
        try stage.write { realm in realm.delete(try find(1, realm)) }
        #expect(diary.take() == [])
    }

    @Test("Key paths into a list filter modifications; insertions and deletions are always delivered")
    func listKeyPaths() throws {
        let (stage, named, none) = (try stage(4), Diary(), Diary())
        try stage.write { try find(0, $0).list.append(try find(1, $0)) }
        try stage.on { realm in
            let all = realm.objects(All.self)
            named.tokens = [all.observe(keyPaths: ["list.string"]) { named.note($0) }]
            none.tokens = [all.observe(keyPaths: [String]()) { none.note($0) }]
        }
        stage.settle()
        #expect(named.take() == ["initial 4"] && none.take() == ["initial 4"])
        try stage.write { try find(1, $0).int = 50 }
        #expect(named.take() == [] && none.take() == [])
        try stage.write { try find(1, $0).string = "x" }
        #expect(named.take() == ["d[] i[] m[0]"] && none.take() == [])
        try stage.write { try find(0, $0).list.append(try find(2, $0)) }
        #expect(named.take() == ["d[] i[] m[0]"] && none.take() == [])
        try stage.write { realm in
            realm.create(All.self, value: ["pk": 9])
            realm.delete(try find(3, realm))
        }
        #expect(named.take() == ["d[3] i[3] m[]"] && none.take() == ["d[3] i[3] m[]"])
    }

    @Test("An object's observer gets the name of each changed collection, without values")
    func collectionProperties() throws {
        let (stage, diary) = (try stage(3), Diary())
        try stage.on { realm in
            diary.tokens = [
                try find(0, realm).observe { (change: ObjectChange<All>) in
                    guard case .change(_, let properties) = change else { return }
                    for property in properties {
                        let hasValues = property.oldValue != nil || property.newValue != nil
                        diary.lines.append("\(property.name) \(hasValues)")
                    }
                }
            ]
        }
        stage.settle()
        func change(_ realm: Realm) throws {
            let row = try find(0, realm)
            row.list.append(try find(1, realm))
            row.set.insert(try find(1, realm))
            row.map["k"] = try find(1, realm)
            row.parts.append(Contract.Part())
            row.partMap["k"] = Contract.Part()
        }
        let names = ["list false", "set false", "map false", "parts false", "partMap false"]
        try stage.write { try change($0) }
        #expect(diary.take() == names)
        let other = try Stage(stage.configuration)
        try other.write { realm in
            let row = try find(0, realm)
            row.list.removeAll()
            row.set.removeAll()
            row.map.removeAll()
            row.parts.removeAll()
            row.partMap.removeAll()
        }
        stage.settle()
        #expect(diaryLines(stage, diary) == names)
    }

    // NaN differs from itself, and texts of different bytes can be equal: a rewritten list must not report the former
    // as modified, and must report the latter.
    @Test("Values are compared as stored: NaN is unchanged, an equal text of other bytes is modified")
    func storedValues() throws {
        let stage = try Stage(
            Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [Contract.Many.self]))
        let diary = Diary()
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        try stage.write { realm in
            let row = realm.create(Contract.Many.self)
            row.doubles.append(objectsIn: [Double.nan, 1])
            row.strings.append(objectsIn: [composed, "b"])
            row.doubleMap["n"] = Double.nan
            row.stringMap["t"] = composed
        }
        func keys<Value: RealmCollectionValue>(_ change: RealmMapChange<Map<String, Value>>) {
            guard case .update(_, let deletions, let insertions, let modifications) = change else { return }
            diary.lines.append("d\(deletions) i\(insertions) m\(modifications)")
        }
        try stage.on { realm in
            let row = realm.objects(Contract.Many.self)[0]
            diary.tokens = [
                row.doubles.observe { diary.note($0) }, row.strings.observe { diary.note($0) },
                row.doubleMap.observe { keys($0) }, row.stringMap.observe { keys($0) },
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 2", "initial 2"])
        try stage.write { realm in
            let row = realm.objects(Contract.Many.self)[0]
            row.doubles.append(2)
            row.doubleMap["o"] = 2
        }
        #expect(diary.take() == ["d[] i[2] m[]", "d[] i[\"o\"] m[]"])
        try stage.write { realm in
            let row = realm.objects(Contract.Many.self)[0]
            row.strings[0] = decomposed
            row.stringMap["t"] = decomposed
        }
        #expect(diary.take() == ["d[] i[] m[0]", "d[] i[] m[\"t\"]"])
    }

    @Test("A map that is assigned one of equal contents is not reported; one of other contents is")
    func equalMap() throws {
        let stage = try Stage(
            Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Contract.Many.self]))
        let diary = Diary()
        try stage.write { realm in realm.create(Contract.Many.self).stringMap["t"] = "one" }
        try stage.on { realm in
            let map = realm.objects(Contract.Many.self)[0].stringMap
            diary.tokens = [
                map.observe { (change: RealmMapChange<Map<String, String>>) in
                    guard case .update(_, _, _, let modifications) = change else { return }
                    diary.lines.append("m\(modifications)")
                }
            ]
        }
        stage.settle()
        let cases: [(String, [String])] = [("one", []), ("two", ["m[\"t\"]"])]
        for (value, expected) in cases {
            try stage.write { realm in
                let other = Map<String, String>()
                other["t"] = value
                realm.objects(Contract.Many.self)[0].stringMap = other
            }
            #expect(diary.take() == expected)
        }
    }
}
