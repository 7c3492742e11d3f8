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
}

/// The data that the page sends.
struct NewNote: Decodable, Sendable {
    let title: String
    var content: String?
    var followUp: Bool?
    var color: String?
    var tags: [String]?
    /// A file in base 64.
    var picture: Data?
}

/// An invalid request, with a message for the user.
struct BadRequest: Error {
    let words: String
}

actor NoteDesk {
    private let manager = NoteManager()
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
        return NoteList(notes: Array(cards), count: manager.noteCount, followUps: manager.followUpCount)
    }

    /// Stores a note, with its picture; returns its id.
    func add(_ new: NewNote) throws -> String {
        if new.title.allSatisfy(\.isWhitespace) { throw BadRequest(words: "A note has a title.") }
        var file: String?
        if let data = new.picture {
            guard let picture = Picture(data: data) else {
                throw BadRequest(words: "The picture is no PNG, JPEG, GIF or WebP file.")
            }
            guard let stored = manager.storeImagePathInAppDirectoryFrom(image: picture) else {
                throw CocoaError(.fileWriteUnknown)
            }
            file = stored
        }
        let note = manager.makeNote(
            title: new.title, content: new.content ?? "", followUp: new.followUp ?? false, image: file,
            color: new.color, tags: new.tags ?? [])
        try manager.saveNote(note)
        return note.id
    }

    func delete(_ id: String) throws { try manager.delete(manager.getNoteAt(primaryKey: id).note) }

    /// A note's picture as a PNG file, no wider than the manager's limit; nil if it has none.
    func picture(of id: String) throws -> Data? {
        try manager.getNoteAt(primaryKey: id, rescaleImage: true).image?.pngData()
    }
}
