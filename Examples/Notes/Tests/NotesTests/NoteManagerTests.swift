// SPDX-License-Identifier: Apache-2.0
// The article's tests, in its order and, if Linux has the names, with its code; then tests that it omits.

import Foundation
import RealmSwift
import XCTest

@testable import Notes

final class NoteManagerTests: XCTestCase {
    let sut = NoteManager()

    override func setUp() {
        super.setUp()
        Realm.Configuration.defaultConfiguration.inMemoryIdentifier = self.name
        let realm = try! Realm()
        sut.realm = realm
        sut.documentsURL = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    }

    override func tearDown() {
        try? FileManager.default.removeItem(at: sut.documentsURL)
        super.tearDown()
    }

    func createAnImageOf(size: CGSize) -> Picture? { Picture(size: size, color: 0x3366CC) }

    func storedPath(_ name: String) -> String { sut.checkImageDirectoryPath() + "/" + name }

    @discardableResult
    func saved(
        _ title: String = "Foo", content: String = "Bar", followUp: Bool = false, image: String? = nil,
        tags: [String?] = ["man", "bear", "pig"]
    ) throws -> Note {
        let note = sut.makeNote(
            title: title, content: content, followUp: followUp, image: image, color: "000000", tags: tags)
        try sut.saveNote(note)
        return note
    }

    // MARK: Counts

    func test_NoteCount_Initially_ShouldBeZero() {
        XCTAssertEqual(sut.noteCount, 0, "count should be 0")
    }

    func test_NoteCount_AfterAddingNewNote() throws {
        try saved()
        XCTAssertEqual(sut.noteCount, 1, "count should be 1")
    }

    func test_FollowUpCount_Initially_ShouldBeZero() {
        XCTAssertEqual(sut.followUpCount, 0, "follow up flag count should be zero")
    }

    func test_FollowUpCount_AfterAddingNotes() throws {
        try saved()
        try saved(followUp: true)
        XCTAssertEqual(sut.followUpCount, 1, "follow up count should be 1")
    }

    // MARK: Create

    func test_CreatesNote() {
        let note = sut.makeNote(
            title: "Foo", content: "Bar", followUp: false, image: nil, color: "000000", tags: ["man", "bear", "pig"])
        XCTAssertEqual(note.title, "Foo", "should create a note with data given")
        XCTAssertEqual(note.tags.last, "pig", "should add all the tags")
        XCTAssertEqual(note.image, nil, "should accept nil values")
        XCTAssertEqual(note.categoryColor, "000000")
    }

    func test_ImageDirectoryPath_CheckIfCreated() {
        let path = sut.checkImageDirectoryPath()
        XCTAssertNotEqual(path, "badpath", "the directory path is broken")
        XCTAssertTrue(sut.checkIfDirectoryExistFor(fullPath: path))
    }

    func test_ImageInAppDirectory_ImageURLSavedInNote() throws {
        let image = try XCTUnwrap(createAnImageOf(size: CGSize(width: 200, height: 400)))
        let fileName = try XCTUnwrap(sut.storeImagePathInAppDirectoryFrom(image: image), "Should create a file name")
        try saved(image: fileName, tags: [nil])
        let notes = sut.realm?.objects(Note.self)
        XCTAssertEqual(notes?.first?.image, fileName, "should have the image's file name and suffix saved")
    }

    func test_ImageFileName_ConvertsToUIImage() throws {
        let image = try XCTUnwrap(createAnImageOf(size: CGSize(width: 200, height: 400)))
        let fileName = try XCTUnwrap(sut.storeImagePathInAppDirectoryFrom(image: image))
        try saved(image: fileName, tags: [nil])
        let savedImageName = try XCTUnwrap(sut.realm?.objects(Note.self).first?.image)
        XCTAssertEqual(savedImageName, fileName, "should have the image's name and suffix saved")
        let gotImage = sut.loadImageFrom(fileName: savedImageName)
        XCTAssertEqual(gotImage?.size, CGSize(width: 200, height: 400))
    }

    func test_RemoveImage_FromNoteIfImageIsDeleted() throws {
        let image = try XCTUnwrap(createAnImageOf(size: CGSize(width: 200, height: 400)))
        let fileName = try XCTUnwrap(sut.storeImagePathInAppDirectoryFrom(image: image))
        try saved(image: fileName, tags: [nil])
        XCTAssertTrue(sut.checkIfDirectoryExistFor(fullPath: storedPath(fileName)))
        sut.removeAnyImagePaths(from: try sut.getAllNotes())
        XCTAssertFalse(
            sut.checkIfDirectoryExistFor(fullPath: storedPath(fileName)),
            "should remove image path and data from app directory")
    }

    func test_SavesNote_WithRuntimeError() throws {
        do {
            try saved()
            XCTAssertEqual(sut.realm?.objects(Note.self).count, 1, "should add a new note to the database")
        } catch RuntimeError.NoRealmSet {
            XCTFail("No realm database was set")
        }
        sut.realm = nil
        XCTAssertEqual(sut.noteCount, 0)
        XCTAssertEqual(sut.followUpCount, 0)
        let note = Note()
        let calls: [() throws -> Void] = [
            { try self.sut.saveNote(note) }, { _ = try self.sut.getAllNotes() },
            { _ = try self.sut.findNoteByField("id", value: "1") },
            { _ = try self.sut.getNoteAt(primaryKey: "1") },
            { try self.sut.updateNotes(primaryKey: "1", field: "title", updatedValue: "x") },
            { try self.sut.delete(note) }, { try self.sut.deleteAll() },
        ]
        for call in calls {
            XCTAssertThrowsError(try call()) { XCTAssertEqual($0 as? RuntimeError, .NoRealmSet) }
        }
    }

    // MARK: Read

    func test_GetAllNotes() throws {
        try saved()
        try saved()
        XCTAssertEqual(try sut.getAllNotes().count, 2, "should get all notes in the database")
    }

    func test_FindNote_ByField() throws {
        let first = try saved()
        let firstPrimaryKey = try XCTUnwrap(sut.realm?.objects(Note.self).first?.id)
        try saved("Rickmancing The Stone", content: "The Stone", followUp: true, tags: ["bruh", "canabals"])
        let fetchedNoteByID = try sut.findNoteByField("id", value: firstPrimaryKey)
        XCTAssertEqual(fetchedNoteByID.first?.id, first.id, "should find a note using its id or primary key")
        let fetchedNoteByTitle = try sut.findNoteByField("title", value: "Rickmancing The Stone")
        XCTAssertEqual(fetchedNoteByTitle.first?.tags.first, "bruh", "should find a note by using its title")
    }

    func test_FindNote_WithLoadedAndRescaledImage() throws {
        let image = try XCTUnwrap(createAnImageOf(size: CGSize(width: 340, height: 340)))
        let imagePath = try XCTUnwrap(sut.storeImagePathInAppDirectoryFrom(image: image))
        let note = try saved(followUp: true, image: imagePath, tags: [nil])
        let returnedNote = try sut.getNoteAt(primaryKey: note.id, rescaleImage: true)
        XCTAssertEqual(
            returnedNote.image?.size.width, sut.maxWidth,
            "image should rescale to 170 if its width is greater than 170")
        XCTAssertEqual(returnedNote.image?.size.height, 170, "in proportion")
        XCTAssertEqual(try sut.getNoteAt(primaryKey: note.id).image?.size.width, 340, "not unless asked for")
    }

    func test_FindNote_WillNotRescaleImageIfAt_CorrectWidth() throws {
        let image = try XCTUnwrap(createAnImageOf(size: CGSize(width: sut.maxWidth, height: 340)))
        let imagePath = try XCTUnwrap(sut.storeImagePathInAppDirectoryFrom(image: image))
        let note = try saved(followUp: true, image: imagePath, tags: [nil])
        let scaling = ScalingNoteManager()
        scaling.realm = sut.realm
        scaling.documentsURL = sut.documentsURL
        let returnedNote = try scaling.getNoteAt(primaryKey: note.id, rescaleImage: true)
        XCTAssertEqual(
            returnedNote.image?.size, CGSize(width: sut.maxWidth, height: 340),
            "image should not rescale if its width equals max width")
    }

    // MARK: Update

    func test_UpdateNote_ForOneSpecifiedProperty() throws {
        let newNote = try saved("Rick's Sayings")
        let foundNotes = try sut.findNoteByField("id", value: newNote.id)
        XCTAssertEqual(foundNotes.first?.content, "Bar", "should save a note and retrieve it")
        try sut.updateNotes(primaryKey: newNote.id, field: "content", updatedValue: "A vat of reduntancy")
        let changedNotes = try sut.findNoteByField("id", value: newNote.id)
        XCTAssertEqual(changedNotes.count, 1, "Should only be one note in the database")
        XCTAssertEqual(
            changedNotes.first?.content, "A vat of reduntancy",
            "should have updated the property of an existing note")
    }

    func test_UpdateNote_ByAssigningOriginalPrimaryKey() throws {
        let newNote = try saved("Rick's Sayings", content: "What happened? Did you fall into a vat of redundancy?")
        let editNote = sut.makeNote(
            title: "Noobnoobs Quip", content: "Goddamn!", followUp: true, image: nil, color: "000000",
            tags: ["man", "pig"])
        editNote.id = newNote.id
        try sut.saveNote(editNote)
        let found = try sut.findNoteByField("id", value: newNote.id)
        XCTAssertEqual(found.first?.content, "Goddamn!", "should save an edited note and retrieve it")
        XCTAssertEqual(found.first.map { Array($0.tags) }, ["man", "pig"])
        XCTAssertEqual(sut.noteCount, 1)
    }

    // Empty in the article.
    func test_UpdateNote_ReplacesExistingImageWithNewImage() throws {
        let names = try [340, 200, 100].map { width in
            let image = try XCTUnwrap(createAnImageOf(size: CGSize(width: width, height: 50)))
            return try XCTUnwrap(sut.storeImagePathInAppDirectoryFrom(image: image))
        }
        let note = try saved(image: names[0])
        try sut.updateNotes(primaryKey: note.id, field: "image", updatedValue: names[1])
        XCTAssertEqual(try sut.getNoteAt(primaryKey: note.id).image?.size.width, 200)
        XCTAssertFalse(sut.checkIfDirectoryExistFor(fullPath: storedPath(names[0])), "the old file goes")
        let edited = sut.makeNote(
            title: "Foo", content: "Bar", followUp: false, image: names[2], color: nil, tags: [])
        edited.id = note.id
        try sut.saveNote(edited)
        XCTAssertEqual(try sut.getNoteAt(primaryKey: note.id).image?.size.width, 100)
        XCTAssertFalse(sut.checkIfDirectoryExistFor(fullPath: storedPath(names[1])))
        try sut.updateNotes(primaryKey: note.id, field: "title", updatedValue: "other")
        XCTAssertTrue(sut.checkIfDirectoryExistFor(fullPath: storedPath(names[2])), "only with another picture")
        try sut.updateNotes(primaryKey: note.id, field: "image", updatedValue: nil)
        XCTAssertNil(try sut.getNoteAt(primaryKey: note.id).image)
        XCTAssertFalse(sut.checkIfDirectoryExistFor(fullPath: storedPath(names[2])))
    }

    // MARK: Delete

    func test_DeleteNote_ByPrimaryKey() throws {
        let image = try XCTUnwrap(createAnImageOf(size: CGSize(width: 340, height: 340)))
        let fileName = try XCTUnwrap(sut.storeImagePathInAppDirectoryFrom(image: image))
        let note = try saved(image: fileName)
        let notes = sut.realm?.objects(Note.self)
        XCTAssertEqual(notes?.count, 1, "should add a new note to the database")
        XCTAssertNotNil(notes?.first?.image, "should have image path in file manager")
        try sut.delete(note)
        XCTAssertEqual(sut.realm?.objects(Note.self).count, 0, "should remove note")
        XCTAssertFalse(
            FileManager.default.fileExists(atPath: storedPath(fileName)),
            "there shouldn't be a file with this image path")
    }

    func test_DeleteAllNotes() throws {
        let names = try [340, 540].map { width in
            let image = try XCTUnwrap(createAnImageOf(size: CGSize(width: width, height: 340)))
            return try XCTUnwrap(sut.storeImagePathInAppDirectoryFrom(image: image))
        }
        try saved(image: names[0])
        try saved("Mike", image: names[1], tags: [nil])
        XCTAssertEqual(sut.realm?.objects(Note.self).count, 2, "should add new notes to the database")
        XCTAssertTrue(names.allSatisfy { FileManager.default.fileExists(atPath: storedPath($0)) })
        try sut.deleteAll()
        XCTAssertEqual(sut.realm?.objects(Note.self).count, 0, "should remove all notes")
        XCTAssertFalse(names.contains { FileManager.default.fileExists(atPath: storedPath($0)) })
    }

    // MARK: Functions that the article uses without a test

    func test_SafeWrite_OutsideAndInsideAWrite() throws {
        let realm = try XCTUnwrap(sut.realm)
        try realm.safeWrite { realm.add(Note()) }
        XCTAssertFalse(realm.isInWriteTransaction)
        realm.beginWrite()
        try realm.safeWrite { realm.add(Note()) }
        XCTAssertTrue(realm.isInWriteTransaction, "the write that was going on goes on")
        realm.cancelWrite()
        XCTAssertEqual(sut.noteCount, 1)
    }

    func test_MockNoteManager_ReplacesTheStoringOfImages() throws {
        let manager: NoteManager = MockNoteManager()
        let image = try XCTUnwrap(createAnImageOf(size: CGSize(width: 1, height: 1)))
        XCTAssertEqual(manager.storeImagePathInAppDirectoryFrom(image: image), "a/path/was/returned")
        XCTAssertNil(sut.loadImageFrom(fileName: "a/path/was/returned"), "which is no file's name")
    }

    func test_FindNotes_ContainingWords() throws {
        try saved("Groceries", content: "Milk and bread")
        try saved("Trip", content: "Tickets", tags: [nil, "Bread museum"])
        XCTAssertEqual(try sut.findNotes(containing: "bread").map(\.title).sorted(), ["Groceries", "Trip"])
        XCTAssertEqual(try sut.findNotes(containing: "trip").map(\.title), ["Trip"])
        XCTAssertEqual(try sut.findNotes(containing: "").map(\.title), ["Trip", "Groceries"], "the newest first")
        XCTAssertEqual(try sut.findNotes(containing: "' OR TRUEPREDICATE").count, 0)
    }

    func test_Picture_ReadsOnlyPictures() throws {
        XCTAssertNil(Picture(data: Data("no picture".utf8)))
        XCTAssertNil(Picture(data: Data()))
        let data = try XCTUnwrap(createAnImageOf(size: CGSize(width: 30, height: 20))?.pngData())
        XCTAssertEqual(Picture(data: data)?.size, CGSize(width: 30, height: 20))
        XCTAssertNil(Picture(data: data.prefix(20)))
        XCTAssertNil(createAnImageOf(size: CGSize(width: 0, height: 20)))
    }

    func test_NoSuchNote() {
        XCTAssertThrowsError(try sut.getNoteAt(primaryKey: "none")) {
            XCTAssertEqual($0 as? RuntimeError, .NoSuchNote)
        }
    }
}

// MARK: - Extensions -

extension NoteManagerTests {
    class MockNoteManager: NoteManager {
        override func storeImagePathInAppDirectoryFrom(image: Picture) -> String? { "a/path/was/returned" }
    }

    /// Fails if a picture is scaled.
    final class ScalingNoteManager: NoteManager {
        override func scaleImageTo(maximumWidth: CGFloat, image: Picture) -> Picture? {
            XCTFail("scaled")
            return nil
        }
    }
}
