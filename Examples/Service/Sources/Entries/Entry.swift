// SPDX-License-Identifier: Apache-2.0
// The stored class, and the values that the service receives and sends.

import Foundation
import Hummingbird
import RealmSwift

/// A stored entry. Newer entries have higher numbers.
class Entry: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var title = ""
    @Persisted(indexed: .fullText) var text = ""
    @Persisted var tags: List<String>
    @Persisted var changed = Date()
}

extension Entry: AutoIncrement {
    static var autoIncrementedProperty: String { "id" }
}

/// The body of a request that adds or replaces an entry.
struct NewEntry: Codable, Sendable {
    let title: String
    let text: String?
    let tags: [String]?

    /// Throws the answer to a client if the entry cannot be stored.
    func check() throws {
        if title.allSatisfy(\.isWhitespace) { throw HTTPError(.badRequest, message: "An entry needs a title.") }
    }

    /// Sets all properties but the number.
    func fill(_ entry: Entry) {
        entry.title = title
        entry.text = text ?? ""
        entry.tags.removeAll()
        entry.tags.append(objectsIn: tags ?? [])
        entry.changed = Date()
    }
}

/// An entry as it is sent. Its properties are read straight from the columns of the file.
struct EntryValue: ResponseCodable, Sendable, Hashable {
    let id: Int
    let title: String
    let text: String
    let tags: [String]
    let changed: Date
}

/// A part of the list, the newest first.
struct EntryPage: ResponseCodable, Sendable {
    let entries: [EntryValue]
    /// The value of `before` for the next page; nil on the last one.
    let next: Int?
}

/// An entry that a search has found.
struct EntryHit: ResponseCodable, Sendable {
    let entry: EntryValue
    let score: Double
    /// A part of the text, with the words of the search in brackets.
    let excerpt: String
}

/// A copy of the database: the name of its file in the folder `backups`.
struct Backup: ResponseCodable, Sendable {
    let file: String
    let bytes: Int
}
