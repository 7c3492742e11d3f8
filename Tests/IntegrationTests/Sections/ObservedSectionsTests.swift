// SPDX-License-Identifier: Apache-2.0
// Observers of sectioned collections: the insertions, deletions and changes of rows and of sections.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// The notifications of an observer of sections.
private final class SectionDiary: @unchecked Sendable {
    // Sendable: written and read on the stage's queue.
    var lines: [String] = []
    var tokens: [NotificationToken] = []

    func note<C: RealmSectionedResult>(_ change: SectionedResultsChange<C>) {
        func text(_ paths: [IndexPath]) -> String { paths.map { "\($0.section).\($0.item)" }.joined(separator: " ") }
        switch change {
        case .initial(let collection): lines.append("initial \(collection.count)")
        case .update(_, let deletions, let insertions, let modifications, let came, let went):
            lines.append(
                "d[\(text(deletions))] i[\(text(insertions))] m[\(text(modifications))] +\(Array(came)) -\(Array(went))"
            )
        }
    }

    func take() -> [String] {
        defer { lines = [] }
        return lines
    }
}

@Suite("Observed sections")
struct ObservedSectionsTests {
    private typealias Item = SectionModels.Item

    /// Numbers 1, 2, 3, 1, 2, 3.
    private func stage() throws -> (Stage, SectionDiary) {
        let stage = try Stage(
            Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Item.self, Unrelated.self]))
        try stage.write { realm in
            for id in 0..<6 { realm.create(Item.self, value: ["id": id, "number": id % 3 + 1]) }
        }
        return (stage, SectionDiary())
    }

    private func find(_ id: Int, _ realm: Realm) throws -> Item {
        try #require(realm.object(ofType: Item.self, forPrimaryKey: id))
    }

    @Test("Insertions, deletions, moves and changes of rows and sections are delivered")
    func all() throws {
        let (stage, diary) = try stage()
        try stage.on { realm in
            diary.tokens = [realm.objects(Item.self).sectioned(by: \.number).observe { diary.note($0) }]
        }
        stage.settle()
        #expect(diary.take() == ["initial 3"])
        try stage.write { try find(4, $0).name = "x" }
        #expect(diary.take() == ["d[] i[] m[1.1] +[] -[]"])
        // The last element of a section: the section is deleted, without a deletion of the row.
        try stage.write { realm in
            realm.delete(try find(0, realm))
            realm.delete(try find(3, realm))
            realm.delete(try find(5, realm))
        }
        #expect(diary.take() == ["d[2.1] i[] m[] +[] -[0]"])
        try stage.write { realm in
            realm.create(Item.self, value: ["id": 10, "number": 0])
            realm.create(Item.self, value: ["id": 11, "number": 0])
            realm.create(Item.self, value: ["id": 12, "number": 3])
        }
        #expect(diary.take() == ["d[] i[0.0 0.1 2.1] m[] +[0] -[]"])
        // From one section to another: deleted in the old one, inserted in the other.
        try stage.write { try find(10, $0).number = 2 }
        #expect(diary.take() == ["d[0.0] i[1.2] m[] +[] -[]"])
        try stage.write { $0.add(Unrelated()) }
        try stage.write { _ in }
        #expect(diary.take() == [])
        try stage.on { _ in diary.tokens = [] }
        try stage.write { $0.deleteAll() }
        #expect(diary.take() == [])
    }

    @Test("Key paths limit modifications, and moves are always delivered")
    func keyPaths() throws {
        let (stage, diary) = try stage()
        try stage.on { realm in
            let sections = realm.objects(Item.self).sectioned(by: \.number)
            diary.tokens = [
                sections.observe(keyPaths: ["name"]) { diary.note($0) },
                sections.observe(keyPaths: [\.size]) { diary.note($0) },
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 3", "initial 3"])
        try stage.write { try find(0, $0).flag = true }
        #expect(diary.take() == [])
        try stage.write { try find(0, $0).name = "x" }
        #expect(diary.take() == ["d[] i[] m[0.0] +[] -[]"])
        try stage.write { try find(0, $0).number = 2 }
        #expect(diary.take() == ["d[0.0] i[1.0] m[] +[] -[]", "d[0.0] i[1.0] m[] +[] -[]"])
    }

    @Test("An observer of a section is notified only of its own changes, and again when the section returns")
    func oneSection() throws {
        let (stage, diary) = try stage()
        try stage.on { realm in
            let sections = realm.objects(Item.self).sectioned(by: \.number)
            diary.tokens = [sections[1].observe { diary.note($0) }]
        }
        stage.settle()
        #expect(diary.take() == ["initial 2"])
        try stage.write { try find(0, $0).name = "not in it" }
        #expect(diary.take() == [])
        try stage.write { try find(4, $0).name = "in it" }
        #expect(diary.take() == ["d[] i[] m[1.1] +[] -[]"])
        try stage.write { realm in realm.delete(realm.objects(Item.self).where { $0.number == 1 }) }
        #expect(diary.take() == [])
        try stage.write { realm in realm.delete(realm.objects(Item.self).where { $0.number == 2 }) }
        #expect(diary.take() == ["d[] i[] m[] +[] -[0]"])
        try stage.write { realm in realm.create(Item.self, value: ["id": 20, "number": 1]) }
        #expect(diary.take() == [])
        try stage.write { realm in realm.create(Item.self, value: ["id": 21, "number": 2]) }
        #expect(diary.take() == ["d[] i[1.0] m[] +[1] -[]"])
    }

    @Test("Sections by a key path across a link follow the linked object")
    func overLinks() throws {
        let (stage, diary) = try stage()
        // 0 and 1 link to 4, 2 and 3 to 5.
        try stage.write { realm in
            try find(4, realm).name = "a"
            try find(5, realm).name = "b"
            for id in 0..<4 { try find(id, realm).next = try find(id < 2 ? 4 : 5, realm) }
        }
        try stage.on { realm in
            let sections = realm.objects(Item.self).filter("id < 4").sectioned(by: \.next?.name)
            diary.tokens = [sections.observe { diary.note($0) }]
        }
        stage.settle()
        #expect(diary.take() == ["initial 2"])
        try stage.write { try find(4, $0).name = "c" }
        #expect(diary.take() == ["d[] i[1.0 1.1] m[] +[1] -[0]"])
        try stage.write { try find(5, $0).number = 9 }
        #expect(diary.take() == ["d[] i[] m[0.0 0.1] +[] -[]"])
        try stage.write { try find(2, $0).next = try find(4, $0) }
        #expect(diary.take() == ["d[0.0] i[1.2] m[] +[] -[]"])
        try stage.write { $0.add(Unrelated()) }
        #expect(diary.take() == [])
    }

    @Test("An element can change its section without moving, and readers see the new section")
    func inPlace() throws {
        let (stage, diary) = try stage()
        try stage.write { realm in for id in 0..<6 { try find(id, realm).number = id * 10 } }
        var read: [[Int?]] = []
        try stage.on { realm in
            diary.tokens = [
                realm.objects(Item.self).filter("id < 3").sectioned(by: \.number).observe { change in
                    diary.note(change)
                    guard case .update(let sections, _, _, _, _, _) = change else { return }
                    read.append(sections.map { section in section.first?.number })
                }
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 3"])
        try stage.write { try find(1, $0).number = 15 }
        #expect(diary.take() == ["d[] i[1.0] m[] +[1] -[1]"])
        try stage.write { try find(2, $0).number = 15 }
        #expect(diary.take() == ["d[] i[1.1] m[] +[] -[2]"])
        try stage.write { try find(1, $0).name = "x" }
        #expect(diary.take() == ["d[] i[] m[1.0] +[] -[]"])
        #expect(read == [[0, 15, 20], [0, 15], [0, 15]])
    }

    /// Rows 0, 1 and 2 with these names.
    private func marked(_ names: [String]) throws -> (Stage, SectionDiary) {
        let stage = try Stage(
            Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [SectionModels.KeyedRow.self]))
        try stage.write { realm in
            for (id, name) in names.enumerated() {
                realm.create(SectionModels.KeyedRow.self, value: ["id": id, "name": name])
            }
        }
        return (stage, SectionDiary())
    }

    // The keys of all elements must be computed again, not only of those with changed properties.
    @Test("A computed key may change without a change of the element")
    func computedKeys() throws {
        let (stage, diary) = try marked(["a1", "a2", "b1"])
        var keys: [String] = []
        try stage.on { realm in
            diary.tokens = [
                realm.objects(SectionModels.KeyedRow.self).sectioned(by: \.initial).observe { change in
                    diary.note(change)
                    if case .update(let sections, _, _, _, _, _) = change { keys = sections.allKeys }
                }
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 2"])
        try stage.write { realm in
            SectionModels.mark = "!"
            realm.objects(SectionModels.KeyedRow.self)[1].rank = 5
        }
        #expect(diary.take() == ["d[] i[0.0 0.1 1.0] m[] +[0, 1] -[0, 1]"])
        #expect(keys == ["a!", "b!"])
    }

    @Test("A key that turns out to be computed depends on more than its path from then on")
    func computedKeysLater() throws {
        let (stage, diary) = try marked(["", "", ""])
        try stage.on { realm in
            diary.tokens = [
                realm.objects(SectionModels.KeyedRow.self).sectioned(by: \.town).observe(keyPaths: ["id"]) {
                    diary.note($0)
                }
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 1"])
        try stage.write { realm in
            let row = realm.objects(SectionModels.KeyedRow.self)[0]
            (row.name, row.city) = ("x", "c")
        }
        #expect(diary.take() == ["d[0.0] i[1.0] m[] +[1] -[]"])
        // Not read through the key path.
        try stage.write { $0.objects(SectionModels.KeyedRow.self)[0].city = "d" }
        #expect(diary.take() == ["d[] i[1.0] m[] +[1] -[1]"])
    }

    @Test("Sectioned values deliver changes by position, even on another queue")
    func values() throws {
        let (stage, diary) = try stage()
        try stage.write { realm in try find(0, realm).words.append(objectsIn: ["ant", "bee"]) }
        let queue = stage.queue
        try stage.on { realm in
            let words = try find(0, realm).words.sectioned(by: { String($0.prefix(1)) })
            diary.tokens = [words.observe(on: queue) { diary.note($0) }]
        }
        stage.settle()
        #expect(diary.take() == ["initial 2"])
        try stage.write { realm in
            let words = try find(0, realm).words
            words.append("ape")
            words.remove(at: 1)
        }
        #expect(diary.take() == ["d[] i[0.1] m[] +[] -[1]"])
    }

    @Test("Frozen sections cannot be observed")
    func frozen() throws {
        let text = try misuseText {
            let sections = try memoryRealm(Item.self).objects(Item.self).sectioned(by: \.id).freeze()
            _ = sections.observe { _ in }
        }
        #expect(text?.hasPrefix("Frozen Realms do not change and do not have change notifications.") == true)
    }
}
