// SPDX-License-Identifier: Apache-2.0
// The change feed: what has changed since a stored cursor, by class and primary key, once, commit by commit, and as a
// sequence.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@Suite struct ChangeFeedTests {
    private typealias Page = HistoryModels.HistoryPage
    private typealias Note = HistoryModels.HistoryNote
    private typealias Token = HistoryModels.HistoryToken
    private typealias Mark = HistoryModels.HistoryMark

    /// The name of a class in the file.
    private static let page = Page.className()

    private func title(_ realm: Realm, _ id: Int, _ title: String) throws {
        try realm.write {
            realm.create(Page.self, value: ["id": id, "title": title] as [String: Any], update: .modified)
        }
    }

    @Test("Changes since a cursor that was stored come after the file has been closed, as one batch")
    func stored() throws {
        try HistoryModels.withHistory { configuration in
            var text = ""
            do {
                let realm = try Realm(configuration: configuration)
                for id in 1...4 { try title(realm, id, "first") }
                text = realm.changeCursor.description
                #expect(try realm.changes(since: realm.changeCursor).isEmpty)
            }
            do {
                let realm = try Realm(configuration: configuration)
                try title(realm, 2, "second")
                try realm.write { realm.object(ofType: Page.self, forPrimaryKey: 2)?.words.append("w") }
                try realm.write { realm.delete(realm.objects(Page.self).where { $0.id == 3 }) }
                // Comes and goes between the two versions.
                try title(realm, 9, "short")
                try realm.write { realm.delete(realm.objects(Page.self).where { $0.id == 9 }) }
                try title(realm, 5, "new")
            }
            let realm = try Realm(configuration: configuration)
            let cursor = try #require(ChangeCursor(text))
            let batch = try realm.changes(since: cursor)
            #expect(batch.classes.map(\.className) == [Self.page])
            let changes = try #require(batch[Self.page])
            #expect(changes.inserted == [.int(5)])
            #expect(changes.deleted == [.int(3)])
            #expect(changes.modified.map(\.object) == [.int(2)])
            #expect(changes.modified.map(\.properties) == [["title", "words"]])
            #expect(!batch.isSchemaChanged)
            #expect(batch.cursor == realm.changeCursor)
            #expect(try realm.changes(since: batch.cursor).isEmpty)
            // As JSON too.
            let data = try JSONEncoder().encode([batch.cursor])
            #expect(try JSONDecoder().decode([ChangeCursor].self, from: data) == [batch.cursor])
        }
    }

    @Test("Commit by commit each batch has the changes of one commit, in order, and at most so many")
    func byCommit() throws {
        try HistoryModels.withHistory { configuration in
            let realm = try Realm(configuration: configuration)
            let start = realm.changeCursor
            try title(realm, 1, "a")
            try title(realm, 1, "b")
            try realm.write {}
            try realm.write { realm.deleteAll() }
            try title(realm, 1, "c")
            let batches = try realm.changesByCommit(since: start)
            #expect(batches.map { $0[Self.page]?.inserted ?? [] } == [[.int(1)], [], [], [.int(1)]])
            #expect(batches.map { $0[Self.page]?.modified.map(\.properties) ?? [] } == [[], [["title"]], [], []])
            #expect(batches.map { $0[Self.page]?.deleted ?? [] } == [[], [], [.int(1)], []])
            let two = try realm.changesByCommit(since: start, atMost: 2)
            #expect(two.map(\.cursor) == batches.prefix(2).map(\.cursor))
            let rest = try realm.changesByCommit(since: two[1].cursor)
            #expect(rest.map(\.cursor) == batches.suffix(2).map(\.cursor))
            // Together they are one insertion.
            #expect(try realm.changes(since: start)[Self.page]?.inserted == [.int(1)])
            // The cursor moves on also if nothing changes.
            let newest = realm.changeCursor
            for _ in 0..<2 { try realm.write {} }
            let empty = try realm.changesByCommit(since: newest)
            #expect(empty.count == 1 && empty[0].isEmpty && empty[0].cursor == realm.changeCursor)
            #expect(realm.changeCursor != newest)
            #expect(try realm.changesByCommit(since: realm.changeCursor).isEmpty)
        }
    }

    @Test("An object that was deleted and created again with its primary key is modified in all properties")
    func replaced() throws {
        try HistoryModels.withHistory { configuration in
            let realm = try Realm(configuration: configuration)
            try title(realm, 1, "a")
            try title(realm, 2, "a")
            let cursor = realm.changeCursor
            try realm.write { realm.deleteAll() }
            try title(realm, 1, "a")
            let changes = try #require(try realm.changes(since: cursor)[Self.page])
            #expect(changes.inserted == [] && changes.deleted == [.int(2)])
            #expect(changes.modified.map(\.object) == [.int(1)])
            #expect(changes.modified.map(\.properties) == [["title", "words", "next"]])
        }
    }

    // The deletions were once in a second entry for the class, which a reader by class name did not see.
    @Test("A class that was removed and added again has one entry, with the objects of both")
    func classReplaced() throws {
        try HistoryModels.withHistory { configuration in
            var cursor: ChangeCursor?
            do {
                let realm = try Realm(configuration: configuration)
                try title(realm, 1, "a")
                try title(realm, 2, "a")
                cursor = realm.changeCursor
            }
            var less = configuration
            less.objectTypes = [Note.self]
            less.schemaVersion = 1
            less.migrationBlock = { migration, _ in migration.deleteData(forType: Page.className()) }
            do { _ = try Realm(configuration: less) }
            var again = configuration
            again.schemaVersion = 2
            let realm = try Realm(configuration: again)
            #expect(realm.objects(Page.self).isEmpty)
            try title(realm, 1, "a")
            try title(realm, 3, "a")
            let batch = try realm.changes(since: try #require(cursor))
            #expect(batch.classes.map(\.className) == [Self.page] && batch.isSchemaChanged)
            let changes = try #require(batch[Self.page])
            #expect(changes.inserted == [.int(3)] && changes.deleted == [.int(2)])
            #expect(changes.modified.map(\.object) == [.int(1)])
            #expect(changes.modified.map(\.properties) == [["title", "words", "next"]])
        }
    }

    @Test("Objects are identified by primary keys of every type, or by their number, and properties by Swift names")
    func identities() throws {
        try HistoryModels.withHistory([Note.self, Token.self, Mark.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            let cursor = realm.changeCursor
            let (token, mark) = (ObjectId.generate(), UUID())
            let note = Note(value: ["text": "x"])
            try realm.write {
                realm.create(Token.self, value: ["id": token])
                realm.create(Mark.self, value: ["id": mark])
                realm.add(note)
            }
            let batch = try realm.changes(since: cursor)
            #expect(batch[Token.className()]?.inserted == [.objectId(token)])
            #expect(batch[Mark.className()]?.inserted == [.uuid(mark)])
            let notes = try #require(batch[Note.className()]?.inserted)
            guard case .number(let number)? = notes.first else {
                Issue.record("\(notes)")
                return
            }
            try realm.write { note.text = "y" }
            let next = try realm.changes(since: batch.cursor)
            let modified = try #require(next[Note.className()]?.modified)
            #expect(modified.map(\.object) == [.number(number)] && modified.map(\.properties) == [["text"]])
            try realm.write { realm.delete(note) }
            #expect(try realm.changes(since: next.cursor)[Note.className()]?.deleted == [.number(number)])
        }
    }

    @Test("New classes are a change of the schema, and their objects are inserted")
    func schema() throws {
        try HistoryModels.withHistory([Page.self]) { configuration in
            var cursor: ChangeCursor?
            do {
                let realm = try Realm(configuration: configuration)
                cursor = realm.changeCursor
            }
            var more = configuration
            more.objectTypes = [Page.self, Note.self]
            let realm = try Realm(configuration: more)
            try realm.write { realm.add(Note(value: ["text": "x"])) }
            let batch = try realm.changes(since: try #require(cursor))
            #expect(batch.isSchemaChanged)
            #expect(batch[Note.className()]?.inserted.count == 1)
        }
    }

    @Test("Cursors that name nothing here are errors that say so")
    func foreign() throws {
        var other: ChangeCursor?
        try HistoryModels.withHistory { other = try Realm(configuration: $0).changeCursor }
        try HistoryModels.withHistory { configuration in
            var cursor: ChangeCursor?
            do {
                let realm = try Realm(configuration: configuration)
                try title(realm, 1, "a")
                cursor = realm.changeCursor
                let foreign = try #require(other)
                #expect(try reason { try realm.changes(since: foreign) } == .foreignCursor)
                #expect(try reason { try realm.changeFeed(since: foreign) } == .foreignCursor)
                // A later commit than the newest, and another commit with the number of the newest.
                let parts = realm.changeCursor.description.split(separator: "-")
                let later = try #require(ChangeCursor("\(parts[0])-999-\(parts[2])"))
                #expect(try reason { try realm.changes(since: later) } == .commitLost)
                let twin = try #require(ChangeCursor("\(parts[0])-\(parts[1])-0123456789abcdef"))
                #expect(try reason { try realm.changes(since: twin) } == .commitLost)
                #expect(ChangeCursor("nonsense") == nil)
                #expect(ChangeCursor("\(parts[0])-\(parts[1])") == nil)
            }
            #expect(try Realm.compactFile(for: configuration))
            let realm = try Realm(configuration: configuration)
            let before = try #require(cursor)
            #expect(try reason { try realm.changes(since: before) } == .foreignCursor)
            #expect(realm.objects(Page.self).count == 1)
        }
    }

    @Test("Applied to a copy, random changes give what the Realm holds", arguments: [true, false])
    func replay(byCommit: Bool) throws {
        try HistoryModels.withHistory { configuration in
            var random = SystemRandomNumberGenerator()
            let realm = try Realm(configuration: configuration)
            var cursor = realm.changeCursor
            var copy: [Int: String] = [:]
            for _ in 0..<60 {
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    try realm.write {
                        for _ in 0..<Int.random(in: 0...5, using: &random) {
                            let id = Int.random(in: 0..<30, using: &random)
                            if Int.random(in: 0..<4, using: &random) == 0 {
                                realm.delete(realm.objects(Page.self).where { $0.id == id })
                            } else {
                                let text = "\(Int.random(in: 0..<10, using: &random))"
                                realm.create(
                                    Page.self, value: ["id": id, "title": text] as [String: Any], update: .modified)
                            }
                        }
                    }
                }
                var batches: [ChangeBatch] = []
                if byCommit {
                    batches = try realm.changesByCommit(since: cursor)
                } else {
                    batches.append(try realm.changes(since: cursor))
                }
                for batch in batches {
                    try apply(batch, to: &copy, at: realm)
                    cursor = batch.cursor
                }
                #expect(copy == Dictionary(uniqueKeysWithValues: realm.objects(Page.self).map { ($0.id, $0.title) }))
            }
        }
    }

    /// Reads the values of the version after the batch.
    private func apply(_ batch: ChangeBatch, to copy: inout [Int: String], at realm: Realm) throws {
        guard let changes = batch[Self.page] else { return }
        let version = try realm.versions(in: HistoryModels.always).first { $0.cursor == batch.cursor }
        let state = try realm.asOf(try #require(version))
        func text(_ id: ChangeBatch.Identity) throws -> (Int, String) {
            guard case .int(let key) = id else { return (-1, "") }
            return (key, try #require(state.object(ofType: Page.self, forPrimaryKey: key)).title)
        }
        for id in changes.inserted {
            let (key, title) = try text(id)
            #expect(copy.updateValue(title, forKey: key) == nil)
        }
        for modified in changes.modified {
            let (key, title) = try text(modified.object)
            #expect(copy.updateValue(title, forKey: key) != nil)
        }
        for id in changes.deleted {
            guard case .int(let key) = id else { continue }
            #expect(copy.removeValue(forKey: key) != nil)
        }
    }
}
