// SPDX-License-Identifier: Apache-2.0
// Savepoints through the API: the state after a block that throws, nesting, rules, observers, references to objects, and
// programmer errors.

import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Testing

private typealias Member = Rules.Member
private typealias Department = Rules.Department
private typealias Invoice = Rules.Invoice

enum SavepointModels {
    class Folder: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted(indexed: true) var name = ""
        @Persisted var notes: List<Note>
        @Persisted var labels: MutableSet<String>
        @Persisted var sizes: Map<String, Int>
        @Persisted var cover: Cover?
        @Persisted var any: AnyRealmValue
        override class func shouldIncludeInDefaultSchema() -> Bool { false }

        convenience init(_ id: Int) {
            self.init()
            self.id = id
            name = "folder \(id)"
        }
    }

    class Note: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted(indexed: .fullText) var text = ""
        @Persisted(originProperty: "notes") var folders: LinkingObjects<Folder>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }

        convenience init(_ id: Int, _ text: String = "") {
            self.init()
            (self.id, self.text) = (id, text)
        }
    }

    class Cover: EmbeddedObject {
        @Persisted var colour = "red"
        @Persisted var pages: List<Int>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    static let types: [ObjectBase.Type] = [Folder.self, Note.self, Cover.self]
}

private typealias Folder = SavepointModels.Folder
private typealias Note = SavepointModels.Note

private struct Failure: Error, Equatable {}

private func folders() throws -> Realm { try memoryRealm(Folder.self, Note.self, SavepointModels.Cover.self) }

/// Everything in the Realm, as values that can be compared.
private func content(_ realm: Realm) -> [ObjectSnapshot] {
    realm.objects(Folder.self).sorted(byKeyPath: "id").snapshots(depth: 3)
        + realm.objects(Note.self).sorted(byKeyPath: "id").snapshots(depth: 0)
}

@Suite("Savepoints")
struct SavepointsTests {
    private func fill(_ realm: Realm) throws -> Folder {
        try realm.write {
            let folder = Folder(1)
            folder.notes.append(objectsIn: [Note(1, "red apple"), Note(2, "green pear")])
            folder.labels.insert(objectsIn: ["a", "b"])
            folder.sizes["x"] = 1
            folder.cover = SavepointModels.Cover()
            folder.any = .fromArray([.int(1), .string("two")])
            realm.add(folder)
            return folder
        }
    }

    @Test("A savepoint returns the result of its block and keeps its changes")
    func kept() throws {
        let realm = try folders()
        let folder = try fill(realm)
        try realm.write {
            #expect(try realm.savepoint { 3 } == 3)
            let note = try realm.savepoint { realm.create(Note.self, value: ["id": 3]) }
            try realm.savepoint { folder.notes.append(note) }
        }
        #expect(folder.notes.map(\.id) == [1, 2, 3])
    }

    @Test("A block that throws leaves everything as it was at its start")
    func undone() throws {
        let realm = try folders()
        let folder = try fill(realm)
        try realm.write {
            folder.name = "kept"
            let before = content(realm)
            var added: Note?
            #expect(throws: Failure()) {
                try realm.savepoint {
                    let note = Note(3, "blue plum")
                    added = note
                    folder.name = "lost"
                    folder.notes.append(note)
                    folder.labels.remove("a")
                    folder.sizes["x"] = nil
                    folder.sizes["y"] = 2
                    folder.cover?.pages.append(7)
                    folder.cover = nil
                    folder.any = .none
                    realm.delete(folder.notes[0])
                    realm.create(Folder.self, value: ["id": 2])
                    #expect(content(realm) != before)
                    throw Failure()
                }
            }
            #expect(content(realm) == before)
            #expect(added?.isInvalidated == true)
            #expect(!folder.isInvalidated && folder.name == "kept")
            #expect(realm.objects(Note.self).filter("text TEXT 'plum'").isEmpty)
            #expect(realm.objects(Note.self).filter("text TEXT 'apple'").count == 1)
            #expect(realm.objects(Folder.self).where { $0.name == "lost" }.isEmpty)
            #expect(realm.objects(Folder.self).where { $0.name == "kept" }.count == 1)
            #expect(realm.object(ofType: Note.self, forPrimaryKey: 1)?.folders.count == 1)
        }
        #expect(folder.name == "kept" && folder.notes.count == 2)
    }

    @Test("Objects that a savepoint added stay invalid, although later ones take their places")
    func places() throws {
        let realm = try folders()
        try realm.write {
            var lost: Folder?
            var pages: List<Note>?
            #expect(throws: Failure()) {
                try realm.savepoint {
                    lost = realm.create(Folder.self, value: ["id": 1])
                    pages = lost?.notes
                    throw Failure()
                }
            }
            let made = realm.create(Folder.self, value: ["id": 1, "notes": [["id": 1]]])
            #expect(lost?.isInvalidated == true && pages?.isInvalidated == true)
            #expect(!made.isInvalidated && made.notes.count == 1)
        }
    }

    @Test("An object that was deleted before an inner savepoint was undone is valid again when its deletion is undone")
    func deletedBetween() throws {
        let realm = try folders()
        let folder = try fill(realm)
        // The table's last object, so that all others have lower keys.
        let last = try realm.write { realm.create(Folder.self, value: ["id": 9]) }
        try realm.write {
            #expect(throws: Failure()) {
                try realm.savepoint {
                    realm.delete([last, folder])
                    let inner = Result<Void, any Error> {
                        try realm.savepoint {
                            realm.add(Folder(2))
                            throw Failure()
                        }
                    }
                    #expect((try? inner.get()) == nil)
                    #expect(last.isInvalidated && folder.isInvalidated)
                    throw Failure()
                }
            }
            #expect(!last.isInvalidated && last.id == 9)
            #expect(!folder.isInvalidated && folder.notes.count == 2)
        }
        realm.beginWrite()
        realm.delete(last)
        _ = try? realm.savepoint {
            realm.add(Folder(2))
            throw Failure()
        }
        realm.cancelWrite()
        #expect(!last.isInvalidated && last.id == 9)
    }

    @Test("After many savepoints exactly the objects of those that were undone are invalid")
    func manyUndone() throws {
        let realm = try folders()
        let folder = try fill(realm)
        var kept: [Folder] = []
        var lost: [Folder] = []
        try realm.write {
            for round in 0..<60 {
                if round % 3 == 0 { kept.append(realm.create(Folder.self, value: ["id": 1000 + round])) }
                _ = try? realm.savepoint {
                    lost.append(realm.create(Folder.self, value: ["id": 2000 + round]))
                    if round % 2 == 0 { lost.append(realm.create(Folder.self, value: ["id": 3000 + round])) }
                    throw Failure()
                }
                if round == 40 { realm.delete(kept.removeLast()) }
            }
            // Takes the keys of objects that were undone.
            for id in 4000..<4200 { kept.append(realm.create(Folder.self, value: ["id": id])) }
        }
        #expect(lost.count == 90 && lost.allSatisfy(\.isInvalidated))
        #expect(kept.allSatisfy { !$0.isInvalidated } && kept.last?.id == 4199)
        #expect(!folder.isInvalidated && folder.id == 1)
    }

    @Test("Nested savepoints are undone alone, or with an outer one")
    func nested() throws {
        let realm = try folders()
        try realm.write {
            #expect(throws: Failure()) {
                try realm.savepoint {
                    realm.add(Folder(1))
                    // A macro cannot be used within itself.
                    let inner = Result<Void, any Error> {
                        try realm.savepoint {
                            realm.add(Folder(2))
                            throw Failure()
                        }
                    }
                    #expect((try? inner.get()) == nil)
                    try realm.savepoint { realm.add(Folder(3)) }
                    #expect(realm.objects(Folder.self).map(\.id) == [1, 3])
                    throw Failure()
                }
            }
            #expect(realm.objects(Folder.self).isEmpty)
            realm.add(Folder(4))
        }
        #expect(realm.objects(Folder.self).map(\.id) == [4])
    }

    @Test("`cancelWrite` and an error after a savepoint undo the whole transaction")
    func cancelled() throws {
        let realm = try folders()
        try realm.write {
            try realm.savepoint { realm.add(Folder(1)) }
            realm.cancelWrite()
        }
        #expect(throws: Failure()) {
            try realm.write {
                try realm.savepoint {
                    realm.add(Folder(2))
                    throw Failure()
                }
            }
        }
        #expect(realm.isEmpty && !realm.isInWriteTransaction)
    }

    @Test("A block may cancel the transaction, and even begin another one")
    func cancelledInside() throws {
        let realm = try folders()
        realm.beginWrite()
        realm.add(Folder(1))
        try realm.savepoint { realm.cancelWrite() }
        #expect(!realm.isInWriteTransaction && realm.isEmpty)
        realm.beginWrite()
        #expect(throws: Failure()) {
            try realm.savepoint {
                realm.cancelWrite()
                realm.beginWrite()
                realm.add(Folder(2))
                throw Failure()
            }
        }
        try realm.commitWrite()
        #expect(realm.objects(Folder.self).map(\.id) == [2])
    }

    @Test("A savepoint throws the rule that its block has broken, and the rest of the write is kept")
    func rules() throws {
        let realm = try memoryRealm(Member.self, Rules.Place.self)
        try realm.write { realm.add([Member("a", "no", 1), Member("b", "no", 2)]) }
        var reasons: [Realm.Error.Reason] = []
        try realm.write {
            for email in ["c", "a", "d", "b"] {
                do {
                    try realm.savepoint { realm.add(Member(email, "se", reasons.count * 10 + email.count)) }
                } catch let error as Realm.Error { reasons.append(error.reason) }
                realm.objects(Member.self).last?.passport += 100
            }
        }
        #expect(reasons == [.duplicateValues, .duplicateValues])
        #expect(realm.objects(Member.self).map(\.email) == ["a", "b", "c", "d"])
    }

    @Test("Auto-incremented numbers of an undone savepoint are given again")
    func numbers() throws {
        let realm = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Invoice.self]))
        try realm.write {
            let first = realm.create(Invoice.self)
            _ = try? realm.savepoint {
                #expect(realm.create(Invoice.self).number == first.number + 1)
                throw Failure()
            }
            #expect(realm.create(Invoice.self).number == first.number + 1)
        }
        #expect(realm.objects(Invoice.self).count == 2)
    }

    @Test("Observers are notified of the net change of the transaction")
    func notified() throws { try withQueue(folders(), observed) }

    private func observed(_ realm: Realm) throws {
        let folder = try fill(realm)
        let results = realm.objects(Note.self)
        var insertions: [[Int]] = []
        var names: [[String]] = []
        let token = results.observe { change in
            if case .update(_, _, let inserted, let modified) = change { insertions.append(inserted + modified) }
        }
        let other = folder.observe { change in
            if case .change(_, let properties) = change { names.append(properties.map(\.name)) }
        }
        realm.refresh()
        try realm.write {
            folder.labels.insert("c")
            _ = try? realm.savepoint {
                realm.add(Note(8))
                folder.name = "lost"
                throw Failure()
            }
            try realm.savepoint { realm.add(Note(9)) }
        }
        realm.refresh()
        #expect(insertions == [[2]])
        #expect(names == [["labels"]])
        withExtendedLifetime((token, other)) {}
    }

    @Test("A reference to an object of an undone savepoint resolves to nil, also if another object has its place")
    func references() throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: SavepointModels.types)
        let realm = try Realm(configuration: configuration)
        var references: [ThreadSafeReference<Folder>] = []
        try realm.write {
            references.append(ThreadSafeReference(to: realm.create(Folder.self, value: ["id": 1])))
            _ = try? realm.savepoint {
                references.append(ThreadSafeReference(to: realm.create(Folder.self, value: ["id": 2])))
                throw Failure()
            }
            try realm.savepoint {
                references.append(ThreadSafeReference(to: realm.create(Folder.self, value: ["id": 3])))
            }
        }
        #expect(references.map { realm.resolve($0)?.id } == [1, nil, 3])
    }

    @Test("A large import with a savepoint for each record keeps exactly the good ones")
    func importing() throws {
        try withFile(SavepointModels.types) { configuration in
            let realm = try Realm(configuration: configuration)
            try realm.write {
                for id in 0..<200 {
                    _ = try? realm.savepoint {
                        let folder = realm.create(Folder.self, value: ["id": id, "name": "folder \(id % 7)"])
                        folder.notes.append(Note(id, "note of \(id)"))
                        folder.cover = SavepointModels.Cover()
                        if id % 3 == 1 { throw Failure() }
                    }
                }
            }
            let kept = (0..<200).filter { $0 % 3 != 1 }
            #expect(realm.objects(Folder.self).sorted(byKeyPath: "id").map(\.id) == kept)
            #expect(realm.objects(Note.self).count == kept.count)
            #expect(
                realm.objects(Folder.self).where { $0.name == "folder 3" }.count
                    == kept.filter { $0 % 7 == 3 }.count)
            expectIntegrity(of: configuration)
        }
    }

    @Test(
        "Wrong uses end the program",
        arguments: [
            MisuseCase("A savepoint needs a write transaction") { try folders().savepoint {} },
            MisuseCase("Can't perform transactions on a frozen Realm") { try folders().freeze().savepoint {} },
            MisuseCase("Can't commit a write transaction within a savepoint") {
                let realm = try folders()
                try realm.write { try realm.savepoint { try realm.commitWrite() } }
            },
        ])
    func wrongUse(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }

    @Test("A savepoint on another thread than the write's is a programmer error")
    func otherThread() throws {
        // unsafe: the other thread only fails the check, while this one waits.
        nonisolated(unsafe) let realm = try folders()
        nonisolated(unsafe) var text: String?
        realm.beginWrite()
        onOtherThread { text = try? misuseText { try realm.savepoint {} } }
        realm.cancelWrite()
        #expect(text?.contains("Realm accessed from incorrect thread") == true)
    }
}
