// SPDX-License-Identifier: Apache-2.0
// Observers of a Realm that is invalidated stay registered, and their blocks get valid collections and objects.

import Dispatch
import Foundation
import RealmSwift
import Testing

@Suite("Observers of an invalidated Realm")
struct InvalidatedObserversTests: FaultRowSuite {
    /// Logs the change and the count of elements, because an invalid collection has no count.
    private func note<C: RealmCollection>(_ label: String, _ diary: Diary) -> (RealmCollectionChange<C>) -> Void {
        { change in
            switch change {
            case .initial(let collection): diary.lines.append("\(label) \(collection.count)")
            case .update(let collection, let deletions, let insertions, let modifications):
                diary.lines.append("\(label) \(collection.count) d\(deletions) i\(insertions) m\(modifications)")
            case .error: diary.lines.append("error")
            }
        }
    }

    private func text(_ properties: [PropertyChange]) -> String {
        properties.map { "\($0.name) \($0.oldValue ?? "nil")>\($0.newValue ?? "nil")" }.joined(separator: ", ")
    }

    /// Logs a change of an object, with its id as read from the object.
    private func noteRow(_ diary: Diary) -> (ObjectChange<FaultRow>) -> Void {
        { change in
            switch change {
            case .change(let row, let properties): diary.lines.append("row \(row.id) \(text(properties))")
            case .deleted: diary.lines.append("row deleted")
            case .error: diary.lines.append("error")
            }
        }
    }

    private func noteView(_ diary: Diary) -> (ObjectChange<FaultView>) -> Void {
        { change in
            switch change {
            case .change(let view, let properties): diary.lines.append("view \(view.number) \(text(properties))")
            case .deleted: diary.lines.append("view deleted")
            case .error: diary.lines.append("error")
            }
        }
    }

    private func noteMap(_ diary: Diary) -> (RealmMapChange<Map<String, Int>>) -> Void {
        { change in
            switch change {
            case .initial(let map): diary.lines.append("map \(map.count)")
            case .update(let map, let deletions, let insertions, let modifications):
                diary.lines.append("map \(map.count) d\(deletions) i\(insertions) m\(modifications)")
            case .error: diary.lines.append("error")
            }
        }
    }

    private func noteSections<C: RealmSectionedResult>(_ diary: Diary) -> (SectionedResultsChange<C>) -> Void {
        { change in
            switch change {
            case .initial(let sections): diary.lines.append("sections \(sections.count)")
            case .update(let sections, let deletions, _, let modifications, _, _):
                diary.lines.append("sections \(sections.count) d\(deletions) m\(modifications)")
            }
        }
    }

    /// An observer of each kind.
    private func tokens(_ realm: Realm, _ diary: Diary) throws -> [NotificationToken] {
        let row = try find(0, realm)
        return [
            row.list.observe(note("list", diary)),
            row.list.filter("n >= 0").observe(note("filtered", diary)),
            row.admirers.observe(note("admirers", diary)),
            row.numbers.sorted(ascending: true).observe(note("sorted", diary)),
            row.map.observe(noteMap(diary)),
            realm.objects(FaultRow.self).filter("id < 10").observe(note("rows", diary)),
            AnyRealmCollection(realm.objects(FaultRow.self)).observe(note("any", diary)),
            realm.dynamicObjects("FaultRow").filter("id == 0").observe(note("dynamic", diary)),
            realm.objects(FaultRow.self).sectioned(by: \.name).observe(noteSections(diary)),
            row.observe(noteRow(diary)),
            FaultView(projecting: row).observe(noteView(diary)),
            realm.observe { _, _ in diary.lines.append("realm") },
        ]
    }

    /// Fills all collections of row 0, and links row 1 to it.
    private func fill(_ stage: Stage) throws {
        try stage.write { realm in
            let row = try find(0, realm)
            row.list.append(objectsIn: realm.objects(FaultRow.self))
            row.numbers.append(objectsIn: [3, 1])
            row.map["a"] = 1
            try find(1, realm).friend = row
        }
    }

    @Test("Observers of every kind survive invalidate() and get the changes since their last call")
    func everyKind() throws {
        let (stage, diary) = try filled()
        try fill(stage)
        try stage.on { realm in diary.tokens = try tokens(realm, diary) }
        stage.settle()
        #expect(
            diary.take() == [
                "list 3", "filtered 3", "admirers 1", "sorted 2", "map 1", "rows 3", "any 3", "dynamic 1", "sections 1",
            ])
        try stage.on { realm in
            let row = try find(0, realm)
            realm.invalidate()
            #expect(row.isInvalidated)
        }
        stage.settle()
        #expect(diary.take() == [])
        try stage.write { realm in
            let row = try find(0, realm)
            row.n = 9
            row.numbers.removeAll()
            row.list.removeAll()
            row.map["b"] = 2
            realm.delete(try find(2, realm))
        }
        #expect(
            diary.take() == [
                "realm", "list 0 d[0, 1, 2] i[] m[]", "filtered 0 d[0, 1, 2] i[] m[]", "admirers 1 d[] i[] m[0]",
                "sorted 0 d[0, 1] i[] m[]", "map 2 d[] i[\"b\"] m[]", "rows 2 d[2] i[] m[0, 1]",
                "any 2 d[2] i[] m[0, 1]", "dynamic 1 d[] i[] m[0]", "sections 1 d[[0, 2]] m[[0, 0], [0, 1]]",
                "row 0 n nil>9, list nil>nil, numbers nil>nil, map nil>nil", "view 9 number nil>9",
            ])
        try stage.on { _ in #expect(diary.tokens.allSatisfy { $0.invalidate() }) }
        try stage.write { try find(0, $0).n = 10 }
        #expect(diary.take() == [])
    }

    @Test("An object that is deleted after invalidate() is reported as deleted once, with its collections")
    func deleted() throws {
        let (stage, diary) = try filled()
        try fill(stage)
        try stage.on { realm in
            let row = try find(0, realm)
            diary.tokens = [
                row.observe(noteRow(diary)), row.list.observe { diary.note($0) },
                row.list.filter("n >= 0").observe(note("filtered", diary)),
                row.map.observe { change in
                    if case .update(_, let deletions, _, _) = change { diary.lines.append("map d\(deletions)") }
                },
                FaultView(projecting: row).observe(noteView(diary)),
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 3", "filtered 3"])
        try stage.on { $0.invalidate() }
        try stage.write { realm in realm.delete(try find(0, realm)) }
        #expect(
            diary.take() == [
                "row deleted", "d[0, 1, 2] i[] m[]", "filtered 0 d[0, 1, 2] i[] m[]", "map d[\"a\"]", "view deleted",
            ])
        try stage.on { $0.invalidate() }
        try stage.write { realm in realm.create(FaultRow.self, value: ["id": 0]) }
        #expect(diary.take() == [])
    }

    @Test("Observers added just before invalidate() get their first call after it")
    func firstCalls() throws {
        let (stage, diary) = try filled()
        try fill(stage)
        try stage.on { realm in
            diary.tokens = try tokens(realm, diary)
            realm.invalidate()
            #expect(diary.take() == [])
        }
        stage.settle()
        #expect(
            diary.take() == [
                "list 3", "filtered 3", "admirers 1", "sorted 2", "map 1", "rows 3", "any 3", "dynamic 1", "sections 1",
            ])
        try stage.write { try find(0, $0).name = "x" }
        #expect(diary.take().contains("row 0 name nil>x"))
    }

    @Test("invalidate() advances to the newest commit, which is delivered at the next turn")
    func others() throws {
        let (stage, diary) = try filled()
        let configuration = stage.configuration
        try stage.on { realm in
            diary.tokens = [
                realm.objects(FaultRow.self).observe(note("rows", diary)), try find(0, realm).observe(noteRow(diary)),
                realm.observe { _, _ in diary.lines.append("realm") },
            ]
        }
        stage.settle()
        _ = diary.take()
        try stage.on { realm in
            realm.autorefresh = false
            onOtherThread {
                guard let other = try? Realm(configuration: configuration) else { return }
                try? other.write { other.objects(FaultRow.self)[0].n = 5 }
            }
            realm.invalidate()
            #expect(realm.objects(FaultRow.self)[0].n == 5)
            #expect(diary.take() == [])
        }
        stage.settle()
        #expect(diary.take() == ["realm", "rows 3 d[] i[] m[0]", "row 0 n 0>5"])
        stage.settle()
        #expect(diary.take() == [])
    }

    @Test("invalidate() in a write rolls back, and the rolled-back changes are not delivered")
    func inWrite() throws {
        let (stage, diary) = try filled()
        try fill(stage)
        try stage.on { realm in diary.tokens = try tokens(realm, diary) }
        stage.settle()
        _ = diary.take()
        try stage.on { realm in
            realm.beginWrite()
            try find(0, realm).n = 4
            realm.create(FaultRow.self, value: ["id": 8])
            realm.invalidate()
            #expect(!realm.isInWriteTransaction)
        }
        stage.settle()
        #expect(diary.take() == [])
        try stage.write { realm in realm.create(FaultRow.self, value: ["id": 9]) }
        #expect(diary.take() == ["realm", "rows 4 d[] i[3] m[]", "any 4 d[] i[3] m[]", "sections 1 d[] m[]"])
    }

    @Test("A loop over a sequence of changes continues after invalidate()", .timeLimit(.minutes(240))) @MainActor
    func loops() async throws {
        let realm = try await Realm.open(configuration: Self.configuration())
        let row = try realm.write { realm.create(FaultRow.self, value: ["id": 1]) }
        let (changes, versions) = (row.changes(), realm.objects(FaultRow.self).changes())
        realm.invalidate()
        try realm.write { realm.object(ofType: FaultRow.self, forPrimaryKey: 1)?.n = 5 }
        for await change in changes {
            guard case .change(let row, let properties) = change else { continue }
            #expect(row.n == 5 && properties.map(\.name) == ["n"])
            break
        }
        for await change in versions {
            guard case .initial(let rows) = change else { continue }
            #expect(rows.map(\.n) == [5])
            break
        }
    }
}
