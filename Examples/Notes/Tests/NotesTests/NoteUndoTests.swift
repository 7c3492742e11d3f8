// SPDX-License-Identifier: Apache-2.0
// Undoing changes of notes: additions, changes and deletions with their pictures, and changes that others have made.

import Dispatch
import Foundation
import RealmSwift
import XCTest

@testable import Notes

final class NoteUndoTests: XCTestCase {
    let manager = NoteManager()

    override func setUp() {
        super.setUp()
        Realm.Configuration.defaultConfiguration.inMemoryIdentifier = self.name
        manager.realm = try! Realm()
        manager.documentsURL = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    }

    override func tearDown() {
        try? FileManager.default.removeItem(at: manager.documentsURL)
        super.tearDown()
    }

    private func storedPicture(width: CGFloat) throws -> String {
        let picture = try XCTUnwrap(Picture(size: CGSize(width: width, height: 20), color: 0x3366CC))
        return try XCTUnwrap(manager.storeImagePathInAppDirectoryFrom(image: picture))
    }

    private func isStored(_ name: String) -> Bool {
        manager.checkIfDirectoryExistFor(fullPath: manager.checkImageDirectoryPath() + "/" + name)
    }

    private func note(_ title: String, image: String? = nil, id: String? = nil) -> Note {
        let note = manager.makeNote(
            title: title, content: "Bar", followUp: false, image: image, color: nil, tags: ["sea"])
        if let id { note.id = id }
        return note
    }

    func test_Undo_Initially_HasNothing() throws {
        let undo = try NoteUndo(manager)
        XCTAssertNil(undo.title)
        XCTAssertNil(try undo.undo())
        manager.realm = nil
        XCTAssertThrowsError(try NoteUndo(manager)) { XCTAssertEqual($0 as? RuntimeError, .NoRealmSet) }
    }

    func test_Undo_TakesBackAdditionChangeAndDeletion() throws {
        let undo = try NoteUndo(manager)
        let (first, second) = (try storedPicture(width: 30), try storedPicture(width: 40))
        let added = note("Foo", image: first)
        let id = added.id
        try undo.record("adding", of: id) { try manager.saveNote(added) }
        let changed = note("Bar", image: second, id: id)
        try undo.record("changing", of: id) { try manager.saveNote(changed) }
        XCTAssertFalse(isStored(first))
        try undo.record("deleting", of: id) { try manager.delete(manager.getNoteAt(primaryKey: id).note) }
        XCTAssertFalse(isStored(second))

        XCTAssertEqual(undo.title, "deleting")
        XCTAssertEqual(try undo.undo(), "deleting")
        XCTAssertEqual(try manager.getNoteAt(primaryKey: id).note.title, "Bar")
        XCTAssertEqual(try manager.getNoteAt(primaryKey: id).note.tags.first, "sea")
        XCTAssertEqual(try manager.getNoteAt(primaryKey: id).image?.size.width, 40, "with its picture")

        XCTAssertEqual(try undo.undo(), "changing")
        XCTAssertEqual(try manager.getNoteAt(primaryKey: id).note.title, "Foo")
        XCTAssertEqual(try manager.getNoteAt(primaryKey: id).image?.size.width, 30, "with its first picture")
        XCTAssertFalse(isStored(second), "no note has the second one")

        XCTAssertEqual(try undo.undo(), "adding")
        XCTAssertEqual(manager.noteCount, 0)
        XCTAssertFalse(isStored(first), "the picture goes with the note")
        XCTAssertNil(undo.title)
        XCTAssertNil(try undo.undo())
    }

    func test_Undo_SkipsWhatChangedNothing() throws {
        let undo = try NoteUndo(manager)
        let stored = note("Foo")
        let id = stored.id
        try undo.record("adding", of: id) { try manager.saveNote(stored) }
        try undo.record("nothing", of: id) {
            try manager.updateNotes(primaryKey: id, field: "title", updatedValue: "Foo")
        }
        XCTAssertThrowsError(try undo.record("failing", of: id) { throw RuntimeError.NoSuchNote })
        XCTAssertEqual(undo.title, "adding")
    }

    func test_Undo_IsRefusedAfterAChangeOfOthers() throws {
        let undo = try NoteUndo(manager)
        let picture = try storedPicture(width: 30)
        let (gone, kept) = (note("Gone", image: picture), note("Kept"))
        let (goneID, keptID) = (gone.id, kept.id)
        try manager.saveNote(gone)
        try undo.record("adding", of: keptID) { try manager.saveNote(kept) }
        try undo.record("deleting", of: goneID) { try manager.delete(gone) }
        try onOtherRealm { realm in
            realm.create(Note.self, value: ["id": goneID, "title": "Another"], update: .error)
        }
        XCTAssertThrowsError(try undo.undo()) { XCTAssertTrue($0 is UndoConflict) }
        XCTAssertFalse(isStored(picture), "nothing was restored")
        XCTAssertNil(undo.title, "the changes before it are forgotten")
        manager.realm?.refresh()
        XCTAssertEqual(manager.noteCount, 2)
    }

    func test_Undo_KeepsTheLastChanges() throws {
        let undo = try NoteUndo(manager)
        for number in 0..<(NoteUndo.limit + 5) {
            let stored = note("\(number)")
            try undo.record("adding \(number)", of: stored.id) { try manager.saveNote(stored) }
        }
        var undone = 0
        while try undo.undo() != nil { undone += 1 }
        XCTAssertEqual(undone, NoteUndo.limit)
        XCTAssertEqual(manager.noteCount, 5)
    }

    private func onOtherRealm(_ body: (Realm) throws -> Void) throws {
        let configuration = Realm.Configuration.defaultConfiguration
        let queue = DispatchQueue(label: "other")
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            try realm.write { try body(realm) }
        }
    }
}
