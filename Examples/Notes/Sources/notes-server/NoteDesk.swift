// SPDX-License-Identifier: Apache-2.0
// The actor that owns the server's Realm: it answers the requests.

import Foundation
import Notes
import RealmSwift

/// A note in the form for the page.
struct NoteCard: Encodable, Sendable {
    let id: String
    let title: String
    let content: String
    let followUp: Bool
    let color: String?
    let tags: [String]
    /// The name of its picture's file; nil without one.
    let picture: String?
}

struct NoteList: Encodable, Sendable {
    let notes: [NoteCard]
    let count: Int
    let followUps: Int
    /// The title of the change that an undo takes back; nil if there is none.
    let undo: String?
}

/// The data that the page sends. In a change of a note, members that are missing keep their values.
struct NewNote: Decodable, Sendable {
    let title: String
    var content: String?
    var followUp: Bool?
    var color: String?
    var tags: [String]?
    /// A file in base 64.
    var picture: Data?
}

/// A request that is refused, with a message for the user.
struct BadRequest: Error {
    let words: String
    /// Of HTTP.
    var status = 400
}

actor NoteDesk {
    /// No text of a note is larger, in bytes of UTF-8. A text of more than 16 MB cannot be stored: to store it is a
    /// programmer error, which would end the server.
    static let largestText = 1_000_000

    private let manager = NoteManager()
    /// Of the changes that were made through this server; nil before `open`.
    private var history: NoteUndo?
    /// Counts the notifications of observers.
    private var change = 0
    private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    private var lastWaiter = 0
    private var observation: Task<Void, Never>?

    /// The database in a folder.
    static func file(in folder: URL) -> URL { folder.appendingPathComponent("notes.realm") }

    /// Opens the notes in a folder, and observes them.
    func open(_ folder: URL) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let configuration = Realm.Configuration(
            fileURL: Self.file(in: folder), objectTypes: [Note.self])
        manager.documentsURL = folder
        manager.realm = try await Realm.open(configuration: configuration)
        history = try NoteUndo(manager)
        observation = Task { await observe() }
    }

    private func observe() async {
        guard let notes = try? manager.getAllNotes() else { return }
        for await _ in notes.changes() {
            change += 1
            for waiter in waiting.values { waiter.resume() }
            waiting = [:]
        }
    }

    /// The number of changes, as soon as it differs from `seen`, or after a while.
    func change(after seen: Int, atMost limit: Duration = .seconds(20)) async -> Int {
        if change != seen { return change }
        lastWaiter += 1
        let number = lastWaiter
        let timer = Task {
            try await Task.sleep(for: limit)
            waiting.removeValue(forKey: number)?.resume()
        }
        await withCheckedContinuation { waiting[number] = $0 }
        timer.cancel()
        return change
    }

    func list(containing text: String) throws -> NoteList {
        let cards = try manager.findNotes(containing: text).map { note in
            NoteCard(
                id: note.id, title: note.title, content: note.content, followUp: note.followUp,
                color: note.categoryColor, tags: note.tags.compactMap(\.self), picture: note.image)
        }
        return NoteList(
            notes: Array(cards), count: manager.noteCount, followUps: manager.followUpCount, undo: history?.title)
    }

    /// Stores a note, with its picture; returns its id.
    func add(_ new: NewNote) throws -> String {
        try check(new)
        let note = manager.makeNote(
            title: new.title, content: new.content ?? "", followUp: new.followUp ?? false,
            image: try store(new.picture), color: new.color, tags: new.tags ?? [])
        let id = note.id
        try record("adding “\(note.title)”", of: id) { try manager.saveNote(note) }
        return id
    }

    /// Changes the note with that id.
    func change(_ id: String, to new: NewNote) throws {
        try check(new)
        let old = try manager.getNoteAt(primaryKey: id).note
        let tags: [String] = new.tags ?? old.tags.compactMap(\.self)
        let note = manager.makeNote(
            title: new.title, content: new.content ?? old.content, followUp: new.followUp ?? old.followUp,
            image: try store(new.picture) ?? old.image, color: new.color ?? old.categoryColor, tags: tags)
        note.id = id
        note.created = old.created
        try record("the change of “\(old.title)”", of: id) { try manager.saveNote(note) }
    }

    func delete(_ id: String) throws {
        let note = try manager.getNoteAt(primaryKey: id).note
        try record("deleting “\(note.title)”", of: id) { try manager.delete(note) }
    }

    /// Takes back the last change that was made through this server; returns its title.
    func undo() throws -> String {
        do {
            guard let title = try history?.undo() else {
                throw BadRequest(words: "There is nothing to undo.", status: 409)
            }
            return title
        } catch is UndoConflict {
            throw BadRequest(words: "Somebody else has changed this note since. Nothing was undone.", status: 409)
        }
    }

    private func record(_ title: String, of id: String, _ change: () throws -> Void) throws {
        guard let history else { throw RuntimeError.NoRealmSet }
        try history.record(title, of: id, change)
    }

    /// Throws if the texts of the note cannot be stored.
    private func check(_ new: NewNote) throws {
        if new.title.allSatisfy(\.isWhitespace) { throw BadRequest(words: "A note has a title.") }
        let texts = [new.title, new.content, new.color].compactMap(\.self) + (new.tags ?? [])
        if texts.contains(where: { $0.utf8.count > Self.largestText }) {
            throw BadRequest(words: "A text of a note has at most \(Self.largestText) bytes.", status: 413)
        }
    }

    /// Stores a picture in a file, and returns its name; nil without a picture.
    private func store(_ data: Data?) throws -> String? {
        guard let data else { return nil }
        guard let picture = Picture(data: data) else {
            throw BadRequest(words: "The picture is no PNG, JPEG, GIF or WebP file.")
        }
        guard let file = manager.storeImagePathInAppDirectoryFrom(image: picture) else {
            throw CocoaError(.fileWriteUnknown)
        }
        return file
    }

    /// A note's picture as a PNG file, no wider than the manager's limit; nil if it has none.
    func picture(of id: String) throws -> Data? {
        try manager.getNoteAt(primaryKey: id, rescaleImage: true).image?.pngData()
    }
}
