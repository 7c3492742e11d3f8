// SPDX-License-Identifier: Apache-2.0
// Savepoints: the state that a rollback restores, nesting, rules, other sessions, and space. Random changes within
// savepoints are in `TableModelTests`.

import RegnumEngine
import RegnumSystem
import Testing

@Suite("Savepoints of a write transaction") struct SavepointTests {
    /// A class with a primary key and a unique text, and a class that it links to, which refuses to be deleted then.
    private static func opened(_ options: Database.OpenOptions = .init()) throws -> Session {
        let database = try Database.open(path: "/s.realm", fileSystem: MemoryFileSystem(), options: options)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Room",
                columns: [
                    NewColumn(name: "id", type: .int, isPrimaryKey: true), NewColumn(name: "name", type: .string),
                ]),
            NewTable(
                name: "Guest",
                columns: [
                    NewColumn(name: "id", type: .int, isPrimaryKey: true),
                    NewColumn(name: "name", type: .string, isIndexed: true),
                    NewColumn(name: "room", type: .link, targetName: "Room"),
                    NewColumn(name: "tags", type: .string, collection: .list),
                ]),
        ])
        try session.commitWrite()
        return session
    }

    private func table(_ session: Session, _ name: String) throws -> Table {
        try #require(session.table(named: name))
    }

    @discardableResult
    private func insert(_ session: Session, _ name: String, _ id: Int64) throws -> ObjectKey {
        try DatabaseTests.insert(try table(session, name), [.int(id), .string("\(name) \(id)")])
    }

    private func expectClean(_ session: Session) {
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }

    @Test("A rollback restores rows, links, backlinks, lists, indexes and the keys of new objects")
    func restored() throws {
        let session = try Self.opened()
        try session.beginWrite()
        let room = try insert(session, "Room", 1)
        let guest = try insert(session, "Guest", 1)
        let (rooms, guests) = (try table(session, "Room"), try table(session, "Guest"))
        try guests.set(.link(room), 2, of: guest)
        try guests.listInsert([.string("a"), .string("b")], 3, of: guest, at: 0)

        let savepoint = try session.beginSavepoint()
        #expect(session.hasSavepoint && session.holds(savepoint))
        try guests.listAppend(.string("c"), 3, of: guest)
        try guests.set(.string("other"), 1, of: guest)
        try rooms.delete(room)
        let new = try insert(session, "Guest", 2)
        #expect(try guests.value(2, of: guest) == .null)
        session.rollBack(to: savepoint)

        #expect(!session.hasSavepoint && !session.holds(savepoint))
        #expect(rooms.count == 1 && guests.count == 1)
        #expect(try guests.value(1, of: guest) == .string("Guest 1"))
        #expect(try guests.value(2, of: guest) == .link(room))
        #expect(try guests.listValues(3, of: guest) == [.string("a"), .string("b")])
        #expect(try guests.keys(inIndexOf: 1, equalTo: .string("other")).isEmpty)
        #expect(try guests.keys(inIndexOf: 1, equalTo: .string("Guest 1")) == [guest])
        #expect(try guests.key(forIntegerPrimaryKey: 2) == nil)
        #expect(try rooms.backlinks(to: room, from: guests, column: 2) == [guest])
        #expect(try insert(session, "Guest", 3) == new)
        try session.commitWrite()
        #expect(guests.count == 2)
        expectClean(session)
    }

    // The schema once lost the feature of a history that the commit nevertheless wrote.
    @Test("A rollback undoes a change of the history")
    func history() throws {
        let session = try Self.opened()
        let limits = HistoryLimits(age: .max, byteCount: 1 << 20)
        for isOn in [false, true] {
            try session.beginWrite()
            let savepoint = try session.beginSavepoint()
            session.setHistory(isOn ? nil : limits)
            session.rollBack(to: savepoint)
            try insert(session, "Room", isOn ? 2 : 1)
            try session.commitWrite()
            let head = try session.history()
            #expect((head != nil) == isOn && session.features.contains(.history) == isOn)
            expectClean(session)
            if isOn { break }
            try session.beginWrite()
            session.setHistory(limits)
            try session.commitWrite()
        }
    }

    @Test("An outer savepoint undoes what inner ones have kept, and a rollback undoes everything")
    func nested() throws {
        let session = try Self.opened()
        try session.beginWrite()
        let rooms = try table(session, "Room")
        try insert(session, "Room", 1)
        let outer = try session.beginSavepoint()
        try insert(session, "Room", 2)
        let inner = try session.beginSavepoint()
        try insert(session, "Room", 3)
        try session.release(inner)
        let other = try session.beginSavepoint()
        try insert(session, "Room", 4)
        session.rollBack(to: other)
        #expect(rooms.count == 3)
        session.rollBack(to: outer)
        #expect(rooms.count == 1)
        try insert(session, "Room", 5)
        try session.release(try session.beginSavepoint())
        session.rollbackWrite()
        #expect(rooms.count == 0)
        try session.beginWrite()
        try insert(session, "Room", 6)
        try session.commitWrite()
        #expect(try rooms.key(forIntegerPrimaryKey: 6) != nil)
        expectClean(session)
    }

    @Test("The end of a savepoint ends later ones, and a commit ends all of them with their changes")
    func ends() throws {
        let session = try Self.opened()
        let rooms = try table(session, "Room")
        try session.beginWrite()
        let outer = try session.beginSavepoint()
        try insert(session, "Room", 1)
        let inner = try session.beginSavepoint()
        try insert(session, "Room", 2)
        session.rollBack(to: outer)
        #expect(!session.holds(inner) && rooms.count == 0)

        let second = try session.beginSavepoint()
        try insert(session, "Room", 3)
        _ = try session.beginSavepoint()
        try insert(session, "Room", 4)
        try session.release(second)
        #expect(!session.hasSavepoint && rooms.count == 2)

        _ = try session.beginSavepoint()
        try rooms.delete(try #require(try rooms.key(forIntegerPrimaryKey: 3)))
        try session.commitWrite()
        #expect(!session.hasSavepoint && rooms.count == 1)
        expectClean(session)
    }

    @Test("A rule that the savepoint breaks is thrown at its end, and the transaction can be committed")
    func rules() throws {
        let session = try Self.opened()
        try session.beginWrite()
        var definition = try table(session, "Room").definition
        definition.uniques = [UniqueDefinition(key: ColumnKey(definition.nextColumnKey), columns: [ColumnKey(2)])]
        definition.nextColumnKey += 1
        try session.reshape([definition])
        try session.commitWrite()
        try session.beginWrite()
        let room = try insert(session, "Room", 1)
        let savepoint = try session.beginSavepoint()
        let second = try insert(session, "Room", 2)
        try table(session, "Room").set(.string("Room 1"), 1, of: second)
        #expect(throws: EngineError.self) { try session.release(savepoint) }
        #expect(try table(session, "Room").count == 1)

        // Two objects may be equal for a time, also across the start of a savepoint.
        let third = try insert(session, "Room", 3)
        try table(session, "Room").set(.string("Room 1"), 1, of: third)
        let next = try session.beginSavepoint()
        try table(session, "Room").set(.string("Room 4"), 1, of: room)
        try session.release(next)
        try session.commitWrite()
        #expect(try table(session, "Room").value(1, of: room) == .string("Room 4"))

        // A duplicate from before a savepoint is found by the commit.
        try session.beginWrite()
        try table(session, "Room").set(.string("Room 4"), 1, of: third)
        let last = try session.beginSavepoint()
        session.rollBack(to: last)
        #expect(throws: EngineError.self) { try session.commitWrite() }
        expectClean(session)
    }

    @Test("Tables that a savepoint adds are gone after it is undone")
    func tables() throws {
        let session = try Self.opened()
        try session.beginWrite()
        let savepoint = try session.beginSavepoint()
        try session.addTables([
            NewTable(name: "Key", columns: [NewColumn(name: "room", type: .link, targetName: "Room")])
        ])
        let room = try insert(session, "Room", 1)
        let location = try table(session, "Key").insertRow()
        try table(session, "Key").finishInsert(location)
        try table(session, "Key").set(.link(room), 0, of: location.key)
        session.rollBack(to: savepoint)
        #expect(session.table(named: "Key") == nil && session.tables.count == 2)
        let again = try insert(session, "Room", 2)
        try table(session, "Room").delete(again)
        try session.commitWrite()
        #expect(session.table(named: "Key") == nil)
        expectClean(session)
    }

    @Test("Another view of the running transaction keeps showing what it showed")
    func snapshots() throws {
        let session = try Self.opened()
        try session.beginWrite()
        try insert(session, "Room", 1)
        let savepoint = try session.beginSavepoint()
        try insert(session, "Room", 2)
        let view = try session.snapshot()
        session.rollBack(to: savepoint)
        for id in 3..<300 { try insert(session, "Room", Int64(id)) }
        _ = try session.snapshot()
        let rooms = try #require(view.table(named: "Room"))
        #expect(rooms.count == 2)
        #expect(try rooms.value(1, of: ObjectKey(2)) == .string("Room 2"))
        #expect(try table(session, "Room").count == 298)
    }

    @Test("A file does not grow with the number of savepoints that are undone")
    func space() throws {
        let session = try Self.opened()
        try session.beginWrite()
        for id in 0..<500 { try insert(session, "Guest", Int64(id)) }
        try session.commitWrite()
        let before = session.highWater
        try session.beginWrite()
        for round in 0..<200 {
            let savepoint = try session.beginSavepoint()
            for id in 0..<20 { try insert(session, "Guest", Int64(1000 + round * 20 + id)) }
            session.rollBack(to: savepoint)
        }
        try session.commitWrite()
        #expect(try table(session, "Guest").count == 500)
        #expect(session.highWater < before + 32)
        expectClean(session)
    }
}
