// SPDX-License-Identifier: Apache-2.0
// The time and contents of notifications: own commits that no turn has delivered yet, key paths over linking objects
// and links, deletions, commits to unrelated classes.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Testing

class LiveKeeper: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted var pet: LivePet?
    @Persisted var pets: List<LivePet>
    @Persisted var shelf: Map<String, LivePet?>
    @Persisted var best: LiveKeeper?
}

class LivePet: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted var toy: LivePet?
    @Persisted(originProperty: "pets") var keepers: LinkingObjects<LiveKeeper>
}

@Suite("Time and contents of notifications")
struct NotificationCornersTests {
    private func filled() throws -> (Stage, Diary) {
        let stage = try Stage(
            Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [LiveKeeper.self, LivePet.self, Unrelated.self]))
        try stage.write { realm in
            for id in 0..<4 {
                realm.create(LiveKeeper.self, value: ["id": id, "name": "k\(id)", "age": id])
                realm.create(LivePet.self, value: ["id": id, "name": "p\(id)", "age": id * 10])
            }
        }
        return (stage, Diary())
    }

    private func keeper(_ id: Int, _ realm: Realm) throws -> LiveKeeper {
        try #require(realm.object(ofType: LiveKeeper.self, forPrimaryKey: id))
    }

    private func pet(_ id: Int, _ realm: Realm) throws -> LivePet {
        try #require(realm.object(ofType: LivePet.self, forPrimaryKey: id))
    }

    /// Logs names with old and new values.
    private func names<T>(_ diary: Diary) -> (ObjectChange<T>) -> Void {
        { change in
            switch change {
            case .change(_, let properties):
                let texts = properties.map { property in
                    [property.oldValue, property.newValue].map { value in
                        if value == nil { "nil" } else if value is ObjectBase { "object" } else { "\(value!)" }
                    }.joined(separator: ">")
                }
                diary.lines.append(zip(properties, texts).map { "\($0.name) \($1)" }.joined(separator: ", "))
            case .deleted: diary.lines.append("deleted")
            case .error: diary.lines.append("error")
            }
        }
    }

    // MARK: Own commits

    @Test("Pending changes are delivered at the start of the next write, and the block may write in it")
    func withinWrites() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [
                realm.objects(LivePet.self).observe { change in
                    diary.note(change)
                    guard case .update = change else { return }
                    diary.lines.append("\(realm.isInWriteTransaction)")
                    let pet = realm.objects(LivePet.self)[3]
                    if pet.age == 30, realm.isInWriteTransaction { pet.age = 31 }
                },
                try pet(0, realm).observe(names(diary)),
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 4"])
        try stage.on { realm in
            try realm.write { try pet(0, realm).age = 5 }
            #expect(diary.take() == [])
            try realm.write {
                #expect(diary.take() == ["d[] i[] m[0]", "true", "age nil>5"])
                #expect(try pet(3, realm).age == 31)
                try pet(1, realm).age = 6
            }
            #expect(diary.take() == [])
            realm.beginWrite()
            #expect(diary.take() == ["d[] i[] m[1, 3]", "true"])
            realm.cancelWrite()
        }
        stage.settle()
        #expect(diary.take() == [])
        let ages = try stage.on { realm in [try pet(1, realm).age, try pet(3, realm).age] }
        #expect(ages == [6, 31])
    }

    @Test("A block that runs because a write begins cannot begin another write, and may add an observer")
    func insideOfBegin() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [
                realm.objects(LivePet.self).observe { change in
                    guard case .update = change, diary.tokens.count == 1 else { return }
                    diary.lines.append(catchMisuse { realm.beginWrite() } ?? "begun")
                    diary.tokens.append(realm.objects(LiveKeeper.self).observe { diary.note($0) })
                }
            ]
        }
        stage.settle()
        try stage.on { realm in
            try realm.write { try pet(0, realm).age = 5 }
            try realm.write { try keeper(0, realm).age = 6 }
            let lines = diary.take()
            #expect(lines.count == 2 && lines.last == "initial 4")
            #expect(lines[0].contains("The Realm is already in a write transaction"))
        }
        stage.settle()
        #expect(diary.take() == ["d[] i[] m[0]"])
        try stage.write { try keeper(0, $0).age = 7 }
        #expect(diary.take() == ["d[] i[] m[0]"])
    }

    @Test("Commits of others before a write are delivered once, together with pending own changes")
    func withOthers() throws {
        let (stage, diary) = try filled()
        let configuration = stage.configuration
        try stage.on { realm in
            diary.tokens = [
                realm.objects(LivePet.self).observe { diary.note($0) }, try pet(0, realm).observe(names(diary)),
            ]
        }
        stage.settle()
        _ = diary.take()
        try stage.on { realm in
            try realm.write { try pet(0, realm).age = 5 }
            onOtherThread {
                guard let other = try? Realm(configuration: configuration) else { return }
                try? other.write { other.objects(LivePet.self)[1].age = 6 }
            }
            realm.beginWrite()
            // The old value is delivered if others have taken part in the change.
            #expect(diary.take() == ["d[] i[] m[0, 1]", "age 0>5"])
            realm.cancelWrite()
        }
        stage.settle()
        #expect(diary.take() == [])
    }

    @Test("An empty write delivers all pending changes")
    func barrier() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in diary.tokens = [realm.objects(LivePet.self).observe { diary.note($0) }] }
        stage.settle()
        try stage.on { realm in
            _ = diary.take()
            try realm.write { realm.create(LivePet.self, value: ["id": 7]) }
            try realm.write {}
            #expect(diary.take() == ["d[] i[4] m[]"])
            try realm.write {}
            #expect(diary.take() == [])
        }
    }

    @Test("refresh() delivers pending changes, even if there is no newer version")
    func refreshing() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            realm.autorefresh = false
            diary.tokens = [realm.objects(LivePet.self).observe { diary.note($0) }]
            #expect(diary.take() == [] && !realm.refresh())
            #expect(diary.take() == ["initial 4"])
            try realm.write { realm.create(LivePet.self, value: ["id": 7]) }
            #expect(diary.take() == [] && !realm.refresh())
            #expect(diary.take() == ["d[] i[4] m[]"])
            #expect(!realm.refresh() && diary.take() == [])
        }
    }

    @Test("A write without notifying a token hides only its own changes from it")
    func silentBetween() throws {
        let (stage, diary) = try filled()
        let others = Diary()
        try stage.on { realm in
            diary.tokens = [
                realm.objects(LivePet.self).observe { diary.note($0) }, try pet(0, realm).observe(names(diary)),
            ]
            others.tokens = [realm.objects(LivePet.self).observe { others.note($0) }]
        }
        stage.settle()
        _ = (diary.take(), others.take())
        try stage.on { realm in
            try realm.write { try pet(0, realm).age = 1 }
            try realm.write(withoutNotifying: diary.tokens) { try pet(0, realm).name = "silent" }
            realm.beginWrite()
            realm.create(LivePet.self, value: ["id": 50])
            try realm.commitWrite(withoutNotifying: [diary.tokens[0]])
            try realm.write { try pet(2, realm).age = 3 }
        }
        stage.settle()
        #expect(diary.take() == ["d[] i[] m[0]", "age nil>1", "d[] i[] m[2]"])
        #expect(others.take() == ["d[] i[] m[0]", "d[] i[] m[0]", "d[] i[4] m[]", "d[] i[] m[2]"])
    }

    // MARK: Key paths

    @Test("A change beyond a link of a key path is delivered with the name of the link only")
    func passedLinks() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            let keeper = try keeper(0, realm)
            diary.tokens = [
                keeper.observe(keyPaths: ["pet"], names(diary)),
                keeper.observe(keyPaths: ["pet.name"], names(diary)),
                keeper.observe(keyPaths: ["pet", "pet.name"], names(diary)),
            ]
        }
        try stage.write { try keeper(0, $0).pet = try pet(0, $0) }
        #expect(diary.take() == ["pet nil>object", "pet nil>nil", "pet nil>object"])
        try stage.write { try pet(0, $0).name = "x" }
        #expect(diary.take() == ["pet nil>nil", "pet nil>nil"])
        try stage.write { try pet(0, $0).age = 99 }
        #expect(diary.take() == [])
        try stage.write { realm in realm.delete(try pet(0, realm)) }
        #expect(diary.take() == ["pet nil>nil", "pet nil>nil", "pet nil>nil"])
    }

    @Test("An observer without key paths is not notified of changes to linked objects")
    func ownProperties() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in diary.tokens = [try keeper(0, realm).observe(names(diary))] }
        try stage.write { try keeper(0, $0).pet = try pet(0, $0) }
        #expect(diary.take() == ["pet nil>object"])
        try stage.write { try pet(0, $0).name = "x" }
        #expect(diary.take() == [])
    }

    @Test("Key paths over linking objects deliver added, removed and changed origins, and changes beyond them")
    func backlinks() throws {
        let (stage, _) = try filled()
        let (plain, named, deep, none) = (Diary(), Diary(), Diary(), Diary())
        try stage.on { realm in
            let pet = try pet(0, realm)
            plain.tokens = [pet.observe(keyPaths: ["keepers"], names(plain))]
            named.tokens = [pet.observe(keyPaths: ["keepers.name"], names(named))]
            deep.tokens = [pet.observe(keyPaths: ["keepers.pets.age"], names(deep))]
            none.tokens = [pet.observe(names(none))]
        }
        func told() -> [Bool] { [plain, named, deep].map { !$0.take().isEmpty } }
        try stage.write { try keeper(1, $0).pets.append(try pet(0, $0)) }
        #expect(plain.lines == ["keepers nil>nil"] && told() == [true, true, true])
        try stage.write { try keeper(1, $0).name = "new" }
        #expect(told() == [false, true, false])
        try stage.write { try keeper(1, $0).age = 77 }
        #expect(told() == [false, false, false])
        // A keeper that does not keep this pet.
        try stage.write { try keeper(2, $0).name = "other" }
        #expect(told() == [false, false, false])
        try stage.write { try pet(0, $0).age = 3 }
        #expect(told() == [false, false, true] && none.take() == ["age nil>3"])
        try stage.write { try keeper(1, $0).pets.removeAll() }
        #expect(told() == [true, true, true])
        try stage.write { try keeper(3, $0).pets.append(try pet(0, $0)) }
        _ = told()
        try stage.write { realm in realm.delete(try keeper(3, realm)) }
        #expect(told() == [true, true, true] && none.take() == [])
    }

    @Test("Every observer of a deleted object is notified once, with key paths and on queues")
    func deletion() throws {
        let (stage, diary) = try filled()
        let queue = DispatchQueue(label: "deletions")
        let away = Diary()
        try stage.on { realm in
            let keeper = try keeper(0, realm)
            diary.tokens = [
                keeper.observe(keyPaths: ["name"], names(diary)), keeper.observe(keyPaths: ["pet.name"], names(diary)),
                keeper.observe(names(diary)),
            ]
            away.tokens = [keeper.observe(keyPaths: ["name"], on: queue, names(away))]
        }
        for _ in 0..<3 { queue.sync {} }
        try stage.write { realm in
            try keeper(0, realm).name = "last"
            realm.delete(try keeper(0, realm))
        }
        #expect(diary.take() == ["deleted", "deleted", "deleted"])
        for _ in 0..<3 { queue.sync {} }
        #expect(queue.sync { away.take() } == ["deleted"])
        // An object with the same key is another object.
        try stage.write { realm in realm.create(LiveKeeper.self, value: ["id": 0]) }
        for _ in 0..<3 { queue.sync {} }
        #expect(diary.take() == [] && queue.sync { away.take() } == [])
    }

    @Test("Observing an object on a queue delivers its deletion, even if the queue starts later")
    func deletedBefore() throws {
        let (stage, _) = try filled()
        let queue = DispatchQueue(label: "late")
        let diary = Diary()
        queue.suspend()
        try stage.on { realm in
            diary.tokens = [try keeper(0, realm).observe(on: queue, names(diary))]
            try realm.write { realm.delete(try keeper(0, realm)) }
        }
        queue.resume()
        for _ in 0..<3 { queue.sync {} }
        #expect(queue.sync { diary.take() } == ["deleted"])
    }

    // MARK: Positions

    @Test("An object that is deleted and created again, or leaves and returns, is delivered at its new position")
    func again() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [
                realm.objects(LivePet.self).filter("age < 25").sorted(byKeyPath: "age").observe { diary.note($0) }
            ]
        }
        stage.settle()
        #expect(diary.take() == ["initial 3"])
        // Created again with the same key and values: another object at the position of the first.
        try stage.write { realm in
            realm.delete(try pet(1, realm))
            realm.create(LivePet.self, value: ["id": 1, "name": "p1", "age": 10])
        }
        #expect(diary.take() == ["d[1] i[1] m[]"])
        // Leaves and returns in one write: only a modification, or nothing if the values are unchanged.
        try stage.write { realm in
            try pet(0, realm).age = 90
            try pet(0, realm).age = 5
        }
        #expect(diary.take() == ["d[] i[] m[0]"])
        try stage.write { realm in
            try pet(0, realm).age = 90
            try pet(0, realm).age = 5
        }
        #expect(diary.take() == [])
        // An object that did not match replaces one that is deleted.
        try stage.write { realm in
            realm.delete(try pet(0, realm))
            try pet(3, realm).age = 5
        }
        #expect(diary.take() == ["d[0] i[0] m[]"])
    }

    @Test("Observers of maps are notified of changes up to depth 4, and of no objects outside the map")
    func mapDepth() throws {
        let (stage, diary) = try filled()
        try stage.on { realm in
            diary.tokens = [
                try keeper(0, realm).shelf.observe { change in
                    if case .update(_, let gone, let new, let changed) = change {
                        diary.lines.append("d\(gone) i\(new) m\(changed)")
                    }
                }
            ]
        }
        stage.settle()
        try stage.write { realm in
            try keeper(0, realm).shelf["a"] = try pet(0, realm)
            for id in 0..<3 { try pet(id, realm).toy = try pet(id + 1, realm) }
        }
        #expect(diary.take() == [#"d[] i["a"] m[]"#])
        try stage.write { try pet(3, $0).name = "deep" }
        #expect(diary.take() == [#"d[] i[] m["a"]"#])
        try stage.write { realm in realm.delete(try keeper(0, realm)) }
        #expect(diary.take() == [#"d["a"] i[] m[]"#])
    }

    // MARK: Work

    @Test("A commit to classes that the elements do not link to does no work for observers of sections")
    func unrelatedSections() throws {
        let (stage, diary) = try filled()
        var asked = 0
        func note<C: RealmSectionedResult>(_ change: SectionedResultsChange<C>) {
            if case .update(_, let gone, let new, let changed, _, _) = change {
                diary.lines.append("d\(gone.count) i\(new.count) m\(changed.count)")
            }
        }
        try stage.on { realm in
            let sections = realm.objects(LiveKeeper.self).sectioned(
                by: { (keeper: LiveKeeper) in
                    asked += 1
                    return keeper.pet?.name ?? ""
                }, sortDescriptors: [SortDescriptor(keyPath: "id")])
            diary.tokens = [sections.observe(note), sections[0].observe(note)]
        }
        stage.settle()
        // The first commit after the observers were added determines which tables they depend on.
        try stage.write { $0.add(Unrelated()) }
        let before = try stage.on { $0.deliveryWork }
        asked = 0
        for _ in 0..<5 { try stage.write { $0.add(Unrelated()) } }
        #expect(asked == 0 && diary.take() == [])
        #expect(try stage.on { $0.deliveryWork } == before)
        // The keys depend on another class, across a link.
        try stage.write { try keeper(2, $0).pet = try pet(1, $0) }
        #expect(diary.take() == ["d1 i1 m0", "d1 i0 m0"])
        try stage.write { try pet(1, $0).name = "" }
        #expect(diary.take() == ["d0 i1 m0", "d0 i1 m0"])
        #expect(asked > 0)
    }
}
