// SPDX-License-Identifier: Apache-2.0
// "TDD with Realm - A deep-dive" from top to bottom: the note, its manager and the manager's tests. `@Persisted`
// replaces `@objc dynamic`; the article's sleeps are gone; the note has the two properties that its tests use and its
// listing lacks, and the article's empty test is implemented.

import Foundation
import RealmSwift
import XCTest

class Note: Object {
    @Persisted var id = UUID().uuidString
    @Persisted var title: String = ""
    @Persisted var content: String = ""
    @Persisted var image: String? = nil
    @Persisted var followUp = false
    @Persisted var categoryColor: String?
    let tags = List<String?>()

    convenience init(id: String, title: String, content: String, image: String? = nil, tag: String? = nil) {
        self.init()
        self.id = id
        self.title = title
        self.content = content
        self.image = image
        self.tags.append(tag)
    }

    // override primaryKey to uniquely identify your notes how you want to
    override static func primaryKey() -> String? {
        return "id"
    }
}

enum RuntimeError: Error {
    case NoRealmSet
}

class NoteManager: NSObject {
    // have realm accept a Realm instance instead of creating one
    var realm: Realm?
    var maxWidth: CGFloat = 170
    /// The article uses the user's documents folder, which no test of this package touches.
    let documentsURL = FileManager.default.temporaryDirectory
        .appendingPathComponent("notes-\(UUID().uuidString)", isDirectory: true)

    var noteCount: Int {
        return realm != nil ? try! (getAllNotes().count) : 0
    }

    var followUpCount: Int {
        var count = 0
        if realm != nil {
            let notes = try! getAllNotes()

            for note in notes {
                if note.followUp == true { count += 1 }
            }
        }
        return count
    }

    // MARK: - CREATE
    public func makeNote(
        title: String, content: String, followUp: Bool, image: String?, color: String?, tags: [String?]
    ) -> Note {
        let newNote = Note()
        newNote.title = title
        newNote.content = content
        newNote.followUp = followUp
        newNote.image = image
        newNote.categoryColor = color
        for tag in tags {
            newNote.tags.append(tag)
        }
        return newNote
    }

    public func saveNote(_ note: Note) throws {
        realm = try Realm()
        let replaced = realm!.object(ofType: Note.self, forPrimaryKey: note.id)?.image
        try realm!.write {
            realm!.add(note, update: true)
        }
        if let replaced, replaced != note.image { removeImage(named: replaced) }
    }

    func storeImagePathInAppDirectoryFrom(image: UIImage) -> String? {
        let fileName = UUID().uuidString + ".ppm"
        let path = checkImageDirectoryPath() + "/" + fileName
        return FileManager.default.createFile(atPath: path, contents: image.data) ? fileName : nil
    }

    // MARK: - READ
    public func getAllNotes() throws -> Results<Note> {
        do {
            realm = try Realm()
            return realm!.objects(Note.self)
        } catch {
            throw RuntimeError.NoRealmSet
        }
    }

    public func findNoteByField(_ field: String, value: String) throws -> Results<Note> {
        do {
            realm = try Realm()
            let predicate = NSPredicate(format: "%K = %@", field, value)
            return realm!.objects(Note.self).filter(predicate)
        } catch {
            throw RuntimeError.NoRealmSet
        }
    }

    public func getNoteAt(primaryKey: String, rescaleImage: Bool = false) throws -> (note: Note, image: UIImage?) {
        var image: UIImage? = nil
        var notes: Results<Note>
        do {
            realm = try Realm()
            notes = try findNoteByField("id", value: primaryKey)
        } catch {
            throw RuntimeError.NoRealmSet
        }

        let note = notes.first
        if note?.image != nil {
            image = loadImageFrom(fileName: note!.image!)

            if rescaleImage == true && (image!.size.width) > maxWidth {
                let scaledDownImage = scaleImageTo(maximumWidth: maxWidth, image: image!)
                image = scaledDownImage
            }
        }
        return (note!, image)
    }

    // MARK: - UPDATE
    public func updateNotes(primaryKey: String, field: String, updatedValue: Any) throws {
        let notes = try findNoteByField("id", value: primaryKey)
        try! realm!.write {
            notes.setValue(updatedValue, forKeyPath: "\(field)")
        }
    }

    // MARK: - DELETE
    public func delete(_ note: Note) throws {
        //Remove imagepath, if exists
        if note.image != nil {
            removeImage(named: note.image!)
        }
        //THEN remove the note from Realm
        do {
            realm = try Realm()
            try! realm!.write {
                realm!.delete(note)
            }
        } catch {
            throw RuntimeError.NoRealmSet
        }
    }

    public func deleteAll() throws {
        do {
            let notes = realm!.objects(Note.self)
            removeAnyImagePaths(from: notes)

            realm = try Realm()
            try! realm!.write {
                realm!.deleteAll()
            }
        } catch {
            throw RuntimeError.NoRealmSet
        }
    }

    func removeAnyImagePaths(from notes: Results<Note>) {
        for note in notes {
            if let image = note.image { removeImage(named: image) }
        }
    }

    private func removeImage(named fileName: String) {
        let imagePath = checkImageDirectoryPath() + "/" + fileName
        if FileManager.default.fileExists(atPath: imagePath) {
            do { try FileManager.default.removeItem(atPath: imagePath) } catch { XCTFail("\(error)") }
        }
    }
}

extension Realm {
    func safeWrite(_ block: (() throws -> Void)) throws {
        if isInWriteTransaction {
            try block()
        } else {
            try write(block)
        }
    }
}

final class NoteManagerTests: XCTestCase {
    let sut = NoteManager()

    override func setUp() {
        super.setUp()
        // Use an in-memory Realm identified by the name of the current test.
        // This ensures that each test can't accidentally access or modify the data
        // from other tests or the application itself, and because they're in-memory,
        // there's nothing that needs to be cleaned up.
        Realm.Configuration.defaultConfiguration.inMemoryIdentifier = self.name

        let realm = try! Realm()
        sut.realm = realm
    }

    override func tearDown() {
        try? FileManager.default.removeItem(at: sut.documentsURL)
        super.tearDown()
    }

    private func fooNote(followUp: Bool = false, image: String? = nil) -> Note {
        sut.makeNote(
            title: "Foo", content: "Bar", followUp: followUp, image: image, color: "000000",
            tags: ["man", "bear", "pig"])
    }

    private func path(_ fileName: String) -> String { sut.checkImageDirectoryPath() + "/" + fileName }

    func test_NoteCount_Initially_ShouldBeZero() {
        XCTAssertEqual(sut.noteCount, 0, "count should be 0")
    }

    func test_NoteCount_AfterAddingNewNote() {
        try! sut.saveNote(fooNote())

        XCTAssertEqual(sut.noteCount, 1, "count should be 1")
    }

    func test_FollowUpCount_Initially_ShouldBeZero() {
        XCTAssertEqual(sut.followUpCount, 0, "follow up flag count should be zero")
    }

    func test_FollowUpCount_AfterAddingNotes() {
        try! sut.saveNote(fooNote())
        try! sut.saveNote(fooNote(followUp: true))

        XCTAssertEqual(sut.followUpCount, 1, "follow up count should be 1")
    }

    // MARK: Create

    func test_CreatesNote() {
        let note = fooNote()

        XCTAssertEqual(note.title, "Foo", "should create a note with data given")
        XCTAssertEqual(note.tags.last, "pig", "should add all the tags")
        XCTAssertEqual(note.image, nil, "should accept nil values")
    }

    func test_ImageDirectoryPath_CheckIfCreated() {
        let path = sut.checkImageDirectoryPath()

        XCTAssertTrue(sut.checkIfDirectoryExistFor(fullPath: path), "the path exists created or exists")
        XCTAssertNotEqual(path, "badpath", "the directory path is broken")
    }

    func test_ImageInAppDirectory_ImageURLSavedInNote() throws {
        let image = createAnImageOf(size: CGSize(width: 200, height: 400))
        let fileName = sut.storeImagePathInAppDirectoryFrom(image: image!)
        XCTAssertNotNil(fileName, "Should create a file name")

        try sut.saveNote(fooNote(image: fileName!))
        let notes = sut.realm?.objects(Note.self)

        XCTAssertEqual(notes?.first?.image, fileName, "should have the image's file name and suffix saved")
    }

    func test_ImageFileName_ConvertsToUIImage() throws {
        let image = createAnImageOf(size: CGSize(width: 200, height: 400))
        let fileName = sut.storeImagePathInAppDirectoryFrom(image: image!)
        XCTAssertNotNil(fileName, "Should create a file name")

        try sut.saveNote(fooNote(image: fileName!))
        let savedImageName = sut.realm?.objects(Note.self).first?.image
        XCTAssertEqual(savedImageName, fileName, "should have the image's name and suffix saved")

        let gotImage = sut.loadImageFrom(fileName: savedImageName!)
        XCTAssertNotNil(gotImage, "file name should have gotten the image data")
        XCTAssertEqual(gotImage?.size, image?.size)
    }

    func test_RemoveImage_FromNoteIfImageIsDeleted() throws {
        let image = createAnImageOf(size: CGSize(width: 200, height: 400))
        let fileName = sut.storeImagePathInAppDirectoryFrom(image: image!)
        try sut.saveNote(fooNote(image: fileName!))
        let notes = sut.realm?.objects(Note.self)
        XCTAssertTrue(sut.checkIfDirectoryExistFor(fullPath: path(fileName!)))

        sut.removeAnyImagePaths(from: notes!)

        XCTAssertFalse(
            sut.checkIfDirectoryExistFor(fullPath: path(fileName!)),
            "should remove image path and data from app directory")
    }

    func test_SavesNote_WithRuntimeError() {
        do {
            try sut.saveNote(fooNote())
            let notes = sut.realm?.objects(Note.self)

            XCTAssertEqual(notes?.count, 1, "should add a new note to the database")
        } catch RuntimeError.NoRealmSet {
            XCTAssert(false, "No realm database was set")
        } catch {
            XCTAssert(false, "Unexpected error \(error)")
        }
    }

    // MARK: Read

    func test_GetAllNotes() {
        try! sut.saveNote(fooNote())
        try! sut.saveNote(fooNote())

        let allNotes = try! sut.getAllNotes()

        XCTAssertEqual(allNotes.count, 2, "should get all notes in the database")
    }

    func test_FindNote_ByField() {
        let first = fooNote()
        try! sut.saveNote(first)

        let notes = sut.realm?.objects(Note.self)
        let firstPrimaryKey = notes?.first?.id

        let second = sut.makeNote(
            title: "Rickmancing The Stone", content: "The Stone", followUp: true, image: nil, color: "000000",
            tags: ["bruh", "canabals"])
        try! sut.saveNote(second)

        let fetchedNoteByID = try! sut.findNoteByField("id", value: firstPrimaryKey!)
        XCTAssertEqual(fetchedNoteByID.first?.id, first.id, "should find a note using its id or primary key")

        let fetchedNoteByTitle = try! sut.findNoteByField("title", value: "Rickmancing The Stone")
        XCTAssertEqual(fetchedNoteByTitle.first?.tags.first, "bruh", "should find a note by using its title")
    }

    func test_FindNote_WithLoadedAndRescaledImage() {
        let image = createAnImageOf(size: CGSize(width: 340, height: 340))
        let note = fooNote(image: sut.storeImagePathInAppDirectoryFrom(image: image!)!)
        try! sut.saveNote(note)

        let returnedNote = try! sut.getNoteAt(primaryKey: note.id, rescaleImage: true)

        XCTAssertEqual(
            returnedNote.image!.size.width, sut.maxWidth,
            "image should rescale to 170 if its width is greater than 170")
    }

    func test_FindNote_WillNotRescaleImageIfAt_CorrectWidth() {
        let image = createAnImageOf(size: CGSize(width: sut.maxWidth, height: 340))
        let note = fooNote(image: sut.storeImagePathInAppDirectoryFrom(image: image!)!)
        try! sut.saveNote(note)

        let returnedNote = try! sut.getNoteAt(primaryKey: note.id, rescaleImage: true)

        XCTAssertEqual(
            returnedNote.image!.size, CGSize(width: sut.maxWidth, height: 340),
            "image should not rescale if its width equals max width")
    }

    // MARK: Update

    func test_UpdateNote_ForOneSpecifiedProperty() throws {
        let newNote = fooNote()
        try sut.saveNote(newNote)
        let foundNotes = try sut.findNoteByField("id", value: newNote.id)
        XCTAssertEqual(foundNotes.first?.content, "Bar", "sould save a note and retrieve it")

        try sut.updateNotes(primaryKey: newNote.id, field: "content", updatedValue: "A vat of reduntancy")

        let changedNotes = try sut.findNoteByField("id", value: newNote.id)
        XCTAssertEqual(changedNotes.count, 1, "Should only be one note in the database")
        let changedNote = changedNotes.first
        XCTAssertEqual(
            changedNote?.content, "A vat of reduntancy", "should have updated the property of an existing note")
    }

    func test_UpdateNote_ByAssigningOriginalPrimaryKey() throws {
        let newNote = fooNote()
        try sut.saveNote(newNote)

        let editNote = sut.makeNote(
            title: "Noobnoobs Quip", content: "Goddamn!", followUp: true, image: nil, color: "000000",
            tags: ["man", "pig"])
        editNote.id = newNote.id
        try sut.saveNote(editNote)

        let foundEdittedNote = try sut.findNoteByField("id", value: newNote.id)
        XCTAssertEqual(foundEdittedNote.first?.content, "Goddamn!", "sould save an editted note and retrieve it")
        XCTAssertEqual(foundEdittedNote.first.map { Array($0.tags) }, ["man", "pig"])
        XCTAssertEqual(sut.noteCount, 1)
    }

    /// Empty in the article.
    func test_UpdateNote_ReplacesExistingImageWithNewImage() throws {
        let first = sut.storeImagePathInAppDirectoryFrom(image: createAnImageOf(size: CGSize(width: 2, height: 2))!)!
        let second = sut.storeImagePathInAppDirectoryFrom(image: createAnImageOf(size: CGSize(width: 3, height: 3))!)!
        let note = fooNote(image: first)
        try sut.saveNote(note)

        let edited = fooNote(image: second)
        edited.id = note.id
        try sut.saveNote(edited)

        let (_, image) = try sut.getNoteAt(primaryKey: note.id)
        XCTAssertEqual(image?.size.width, 3)
        XCTAssertFalse(FileManager.default.fileExists(atPath: path(first)))
        XCTAssertTrue(FileManager.default.fileExists(atPath: path(second)))
    }

    // MARK: Delete

    func test_DeleteNote_ByPrimaryKey() throws {
        let image = createAnImageOf(size: CGSize(width: 340, height: 340))
        let fileName = sut.storeImagePathInAppDirectoryFrom(image: image!)
        let note = fooNote(image: fileName!)
        try sut.saveNote(note)

        let notes = sut.realm?.objects(Note.self)
        XCTAssertEqual(notes?.count, 1, "should add a new note to the database")
        XCTAssertNotNil(notes?.first?.image, "should have image path in file manager")

        try sut.delete(note)

        let notesAfterDelete = sut.realm?.objects(Note.self)
        XCTAssertEqual(notesAfterDelete?.count, 0, "should remove note")
        XCTAssertFalse(
            FileManager.default.fileExists(atPath: path(fileName!)), "there shouldn't be a file with this image path")
    }

    func test_DeleteAllNotes() throws {
        let image = createAnImageOf(size: CGSize(width: 340, height: 340))
        let secondImage = createAnImageOf(size: CGSize(width: 540, height: 340))
        let imagePath = sut.storeImagePathInAppDirectoryFrom(image: image!)
        let imagePath2 = sut.storeImagePathInAppDirectoryFrom(image: secondImage!)
        try sut.saveNote(fooNote(image: imagePath!))
        try sut.saveNote(
            sut.makeNote(
                title: "Mike", content: "Bar", followUp: false, image: imagePath2!, color: "000000", tags: [nil]))

        let notes = sut.realm?.objects(Note.self)
        XCTAssertEqual(notes?.count, 2, "should add a new notes to the database")
        XCTAssertNotNil(notes?.first?.image, "should have image path in file manager")
        XCTAssertNotNil(notes?.last?.image, "should have image path in file manager")

        try sut.deleteAll()

        let notesAfterDelete = sut.realm?.objects(Note.self)
        XCTAssertEqual(notesAfterDelete?.count, 0, "should remove all notes")
        XCTAssertFalse(FileManager.default.fileExists(atPath: path(imagePath!)))
        XCTAssertFalse(FileManager.default.fileExists(atPath: path(imagePath2!)))
    }

    // MARK: Extensions

    func test_MockNoteManager_StoresNoImage() {
        let mock = MockNoteManager()
        XCTAssertEqual(
            mock.storeImagePathInAppDirectoryFrom(image: createAnImageOf(size: CGSize(width: 1, height: 1))!),
            "a/path/was/returned")
    }

    func test_SafeWrite_InsideAndOutsideOfAWrite() throws {
        let realm = try XCTUnwrap(sut.realm)
        try realm.safeWrite {
            realm.add(fooNote())
            try realm.safeWrite { realm.add(fooNote()) }
        }
        XCTAssertEqual(sut.noteCount, 2)
    }
}

// MARK: - Extensions -
extension NoteManagerTests {
    class MockNoteManager: NoteManager {
        override func storeImagePathInAppDirectoryFrom(image: UIImage) -> String? {
            return "a/path/was/returned"
        }
    }
}
