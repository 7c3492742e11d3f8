// SPDX-License-Identifier: Apache-2.0
// Creates, stores, finds, changes and deletes notes. `NoteManager+Images.swift` stores their pictures.

import Foundation
import RealmSwift

/// Requests that a manager cannot fulfil.
public enum RuntimeError: Error {
    /// It was given no Realm.
    case NoRealmSet
    /// There is no note with that key.
    case NoSuchNote
}

/// The notes of one Realm, and the folder with their pictures. Use it on the thread of the Realm.
open class NoteManager: NSObject {
    /// Injected, so that tests can pass their own.
    public var realm: Realm?
    /// Pictures are shown no wider than this.
    public var maxWidth: CGFloat = 170
    /// The folder of the pictures.
    public var documentsURL =
        FileManager.default.urls(for: .documentDirectory, in: .userDomainMask).first
        ?? FileManager.default.temporaryDirectory

    /// The number of notes; 0 without a Realm.
    public var noteCount: Int { (try? getAllNotes().count) ?? 0 }

    /// The number of notes to follow up; 0 without a Realm.
    public var followUpCount: Int { (try? getAllNotes().where { $0.followUp }.count) ?? 0 }

    func requireRealm() throws -> Realm {
        guard let realm else { throw RuntimeError.NoRealmSet }
        return realm
    }

    // MARK: Create

    /// A note that is not stored yet.
    public func makeNote(
        title: String, content: String, followUp: Bool, image: String?, color: String?, tags: [String?]
    ) -> Note {
        let note = Note()
        note.title = title
        note.content = content
        note.followUp = followUp
        note.image = image
        note.categoryColor = color
        note.tags.append(objectsIn: tags)
        return note
    }

    /// Stores a note, replacing one with the same id. The picture of the replaced note is removed if the new note has
    /// another.
    public func saveNote(_ note: Note) throws {
        let realm = try requireRealm()
        let old = realm.object(ofType: Note.self, forPrimaryKey: note.id)?.image
        try realm.safeWrite { realm.add(note, update: .modified) }
        if let old, old != note.image { removeImage(named: old) }
    }

    // In the class, so that tests can override it.

    /// Stores a picture in a new file; returns the file's name, or nil if it cannot be stored.
    open func storeImagePathInAppDirectoryFrom(image: Picture) -> String? {
        let name = UUID().uuidString + ".png"
        guard let data = image.pngData(), let folder = try? imageDirectory() else { return nil }
        do { try data.write(to: folder.appendingPathComponent(name), options: .atomic) } catch { return nil }
        return name
    }

    /// The picture with that width and the same proportions.
    open func scaleImageTo(maximumWidth: CGFloat, image: Picture) -> Picture? { image.scaled(toWidth: maximumWidth) }

    // MARK: Read

    /// All notes.
    public func getAllNotes() throws -> Results<Note> { try requireRealm().objects(Note.self) }

    /// The notes whose field has that value.
    public func findNoteByField(_ field: String, value: String) throws -> Results<Note> {
        try getAllNotes().filter(NSPredicate(format: "%K = %@", field, value))
    }

    /// The notes with this text in the title, the content or a tag, ignoring case; the newest first.
    public func findNotes(containing text: String) throws -> Results<Note> {
        let notes = try getAllNotes().sorted(byKeyPath: "created", ascending: false)
        if text.isEmpty { return notes }
        return notes.filter(
            "title CONTAINS[c] %@ OR content CONTAINS[c] %@ OR ANY tags CONTAINS[c] %@", text, text, text)
    }

    /// The note with that id, and its picture, scaled down to `maxWidth` on request if it is wider.
    public func getNoteAt(primaryKey: String, rescaleImage: Bool = false) throws -> (note: Note, image: Picture?) {
        guard let note = try requireRealm().object(ofType: Note.self, forPrimaryKey: primaryKey) else {
            throw RuntimeError.NoSuchNote
        }
        var image = note.image.flatMap { loadImageFrom(fileName: $0) }
        if rescaleImage, let wide = image, wide.size.width > maxWidth {
            image = scaleImageTo(maximumWidth: maxWidth, image: wide)
        }
        return (note, image)
    }

    // MARK: Update

    /// Sets one property of the note with that id; a new picture replaces the old one, whose file is removed.
    public func updateNotes(primaryKey: String, field: String, updatedValue: Any?) throws {
        let notes = try findNoteByField("id", value: primaryKey)
        let old = notes.first?.image
        try requireRealm().safeWrite { notes.setValue(updatedValue, forKeyPath: field) }
        if let old, old != notes.first?.image { removeImage(named: old) }
    }

    // MARK: Delete

    /// Deletes a note, and its picture.
    public func delete(_ note: Note) throws {
        let realm = try requireRealm()
        let image = note.image
        try realm.safeWrite { realm.delete(note) }
        // After the commit: a crash between the two leaves an extra file, not a note without its picture.
        if let image { removeImage(named: image) }
    }

    /// Deletes all notes, and their pictures.
    public func deleteAll() throws {
        let realm = try requireRealm()
        // Now, not lazily: afterwards the notes no longer exist.
        let images = Array(try getAllNotes().compactMap(\.image))
        try realm.safeWrite { realm.delete(realm.objects(Note.self)) }
        for image in images { removeImage(named: image) }
    }
}
