// SPDX-License-Identifier: Apache-2.0
// Links in values of any type: observers follow them as they follow link properties.

import Dispatch
import Foundation
import RealmSwift
import Testing

class AnywhereHolder: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var any: AnyRealmValue
    @Persisted var list: List<AnyRealmValue>
    @Persisted var set: MutableSet<AnyRealmValue>
    @Persisted var map: Map<String, AnyRealmValue>
}

class AnywhereTarget: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var number = 0
    @Persisted var any: AnyRealmValue
    @Persisted var next: AnywhereTarget?
}

@Suite("Observed links in AnyRealmValue")
struct AnyValueLinkObserverTests {
    /// Targets 0 to 5, and holders 0 to 5 without links.
    private func filled() throws -> (Stage, Diary) {
        let stage = try Stage(
            Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString,
                objectTypes: [AnywhereHolder.self, AnywhereTarget.self, Unrelated.self]))
        try stage.write { realm in
            for id in 0..<6 {
                realm.create(AnywhereTarget.self, value: ["id": id])
                realm.create(AnywhereHolder.self, value: ["id": id])
            }
        }
        return (stage, Diary())
    }

    private func holder(_ id: Int, _ realm: Realm) throws -> AnywhereHolder {
        try #require(realm.object(ofType: AnywhereHolder.self, forPrimaryKey: id))
    }

    private func target(_ id: Int, _ realm: Realm) throws -> AnywhereTarget {
        try #require(realm.object(ofType: AnywhereTarget.self, forPrimaryKey: id))
    }

    private func anyTarget(_ id: Int, _ realm: Realm) throws -> AnyRealmValue { .object(try target(id, realm)) }

    @Test("Results are notified of changes to objects that a value links to, wherever the value is")
    func results() throws {
        let (stage, diary) = try filled()
        try stage.write { realm in
            try holder(0, realm).any = try anyTarget(0, realm)
            try holder(1, realm).list.append(objectsIn: [.int(1), try anyTarget(1, realm)])
            try holder(2, realm).set.insert(try anyTarget(2, realm))
            try holder(3, realm).map["a"] = try anyTarget(3, realm)
            try holder(4, realm).any = .fromDictionary(["x": .fromArray([try anyTarget(4, realm)])])
        }
        try stage.on { realm in
            let holders = realm.objects(AnywhereHolder.self)
            diary.tokens = [holders.observe { diary.note($0) }]
        }
        stage.settle()
        #expect(diary.take() == ["initial 6"])
        for id in 0..<5 {
            try stage.write { try target(id, $0).number += 1 }
            #expect(diary.take() == ["d[] i[] m[\(id)]"])
        }
        try stage.write { realm in
            try target(5, realm).number = 1
            realm.add(Unrelated())
        }
        #expect(diary.take() == [])
        try stage.write { try holder(0, $0).any = .none }
        #expect(diary.take() == ["d[] i[] m[0]"])
        try stage.write { try target(0, $0).number = 9 }
        #expect(diary.take() == [])
        try stage.write { realm in realm.delete(try target(1, realm)) }
        #expect(diary.take() == ["d[] i[] m[1]"])
    }

    @Test("Links in values are followed to depth 4, mixed with link properties")
    func depth() throws {
        let (stage, diary) = try filled()
        try stage.write { realm in
            try holder(0, realm).any = try anyTarget(0, realm)
            try target(0, realm).next = try target(1, realm)
            try target(1, realm).any = try anyTarget(2, realm)
            try target(2, realm).next = try target(3, realm)
            try target(3, realm).any = try anyTarget(4, realm)
        }
        try stage.on { realm in
            let holders = realm.objects(AnywhereHolder.self).filter("id < 3")
            diary.tokens = [holders.observe { diary.note($0) }]
        }
        stage.settle()
        #expect(diary.take() == ["initial 3"])
        for id in 0..<4 {
            try stage.write { try target(id, $0).number = 1 }
            #expect(diary.take() == ["d[] i[] m[0]"])
        }
        try stage.write { try target(4, $0).number = 1 }
        #expect(diary.take() == [])
    }

    @Test("A key path to the value excludes the linked object; object observers get own properties only")
    func keyPaths() throws {
        let (stage, diary) = try filled()
        try stage.write { try holder(0, $0).any = try anyTarget(0, $0) }
        try stage.on { realm in
            let row = try holder(0, realm)
            diary.tokens = [
                realm.objects(AnywhereHolder.self).observe(keyPaths: ["any"]) { diary.note($0) },
                row.observe { (change: ObjectChange<AnywhereHolder>) in
                    guard case .change(_, let properties) = change else { return }
                    diary.lines.append("object \(properties.map(\.name))")
                },
            ]
        }
        stage.settle()
        _ = diary.take()
        try stage.write { try target(0, $0).number = 1 }
        #expect(diary.take() == [])
        try stage.write { try holder(0, $0).any = try anyTarget(1, $0) }
        #expect(diary.take() == ["d[] i[] m[0]", "object [\"any\"]"])
    }

    @Test("Collections of values are notified of changes to the objects that they contain")
    func collections() throws {
        let (stage, _) = try filled()
        let (list, sorted, set, map) = (Diary(), Diary(), Diary(), Diary())
        try stage.write { realm in
            let row = try holder(0, realm)
            row.list.append(objectsIn: [try anyTarget(0, realm), .int(3), try anyTarget(1, realm)])
            row.set.insert(try anyTarget(0, realm))
            row.map["a"] = try anyTarget(1, realm)
            row.map["b"] = .string("text")
            try target(1, realm).next = try target(2, realm)
        }
        try stage.on { realm in
            let row = try holder(0, realm)
            list.tokens = [row.list.observe { list.note($0) }]
            sorted.tokens = [row.list.sorted(ascending: true).observe { sorted.note($0) }]
            set.tokens = [row.set.observe { set.note($0) }]
            map.tokens = [
                row.map.observe { change in
                    guard case .update(_, let deletions, let insertions, let modifications) = change else { return }
                    map.lines.append("d\(deletions) i\(insertions) m\(modifications)")
                }
            ]
        }
        stage.settle()
        func told() -> [[String]] { [list, sorted, set, map].map { $0.take() } }
        #expect(told() == [["initial 3"], ["initial 3"], ["initial 1"], []])
        try stage.write { try target(0, $0).number = 1 }
        #expect(told() == [["d[] i[] m[0]"], ["d[] i[] m[1]"], ["d[] i[] m[0]"], []])
        // Also across a link of such an object.
        try stage.write { try target(2, $0).number = 1 }
        #expect(told() == [["d[] i[] m[2]"], ["d[] i[] m[2]"], [], ["d[] i[] m[\"a\"]"]])
        try stage.write { realm in
            try target(5, realm).number = 1
            try holder(1, realm).list.append(.int(1))
        }
        #expect(told() == [[], [], [], []])
        try stage.write { realm in
            let row = try holder(0, realm)
            row.list.insert(.int(7), at: 0)
            row.map["b"] = try anyTarget(3, realm)
            try target(1, realm).number = 5
        }
        #expect(
            told() == [["d[] i[0] m[2]"], ["d[] i[1] m[2]"], [], ["d[] i[] m[\"a\", \"b\"]"]])
        try stage.write { try target(3, $0).number = 5 }
        #expect(told() == [[], [], [], ["d[] i[] m[\"b\"]"]])
    }
}
