// SPDX-License-Identifier: Apache-2.0
// A database end to end below the object layer: committed data is present after the file is reopened.

import RegnumEngine
import RegnumSystem
import Testing

@Suite struct DatabaseTests {
    /// A table of every column type that a row group stores.
    static let people = NewTable(
        name: "Person",
        columns: [
            NewColumn(name: "id", type: .int, isPrimaryKey: true),
            NewColumn(name: "name", type: .string),
            NewColumn(name: "age", type: .int, isNullable: true),
            NewColumn(name: "score", type: .double),
            NewColumn(name: "height", type: .float),
            NewColumn(name: "active", type: .bool),
            NewColumn(name: "created", type: .date),
            NewColumn(name: "email", type: .string, isNullable: true),
            NewColumn(name: "photo", type: .data),
            NewColumn(name: "token", type: .uuid, isNullable: true),
            NewColumn(name: "object", type: .objectID),
            NewColumn(name: "friend", type: .link, targetName: "Person"),
            NewColumn(name: "friends", type: .link, collection: .list, targetName: "Person"),
            NewColumn(name: "tags", type: .string, collection: .list, isNullable: true),
        ])

    static func row(_ i: Int) -> [Value] {
        [
            .int(Int64(i)), .string("name \(i)"), i % 3 == 0 ? .null : .int(Int64(i % 90)), .double(Double(i) / 7),
            .float(Float(i)), .bool(i % 2 == 0), .date(Timestamp(seconds: Int64(i) * 1000, nanoseconds: Int32(i % 5))),
            i % 2 == 0 ? .null : .string("user\(i)@x.com"), .data([UInt8](repeating: UInt8(i & 255), count: i % 40)),
            i % 5 == 0 ? .null : .uuid(UInt64(i), ~UInt64(i)), .objectID(UInt64(i), UInt32(i)),
            i == 0 ? .null : .link(ObjectKey(UInt64(i / 2 + 1))),
        ]
    }

    static func insert(_ table: Table, _ values: [Value]) throws -> ObjectKey {
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        for (column, value) in values.enumerated() { try table.set(value, column, of: key) }
        return key
    }

    @Test(
        "A committed row reads back the same after the file is reopened", arguments: [1, 5, 1000, 1024, 1025, 3000])
    func roundTrip(count: Int) throws {
        let files = MemoryFileSystem()
        do {
            let database = try Database.open(path: "/a.realm", fileSystem: files)
            let session = try database.makeSession()
            try session.beginWrite()
            try session.addTables([Self.people])
            let table = try #require(session.table(named: "Person"))
            for i in 0..<count { _ = try Self.insert(table, Self.row(i)) }
            try Self.expect(table, count)
            try session.commitWrite()
            try Self.expect(table, count)
        }
        let session = try Database.open(path: "/a.realm", fileSystem: files).makeSession()
        let table = try #require(session.table(named: "Person"))
        try Self.expect(table, count)
    }

    @Test("The name of a column may have 63 bytes")
    func longNames() throws {
        let session = try Database.open(path: "/a.realm", fileSystem: MemoryFileSystem()).makeSession()
        try session.beginWrite()
        let names = [62, 63].map { String(repeating: "n", count: $0) }
        try session.addTables([NewTable(name: "A", columns: names.map { NewColumn(name: $0, type: .int) })])
        #expect(throws: EngineError.self) {
            let long = NewColumn(name: String(repeating: "n", count: 64), type: .int)
            try session.addTables([NewTable(name: "B", columns: [long])])
        }
    }

    @Test("A class is found by its key after other classes were removed")
    func foundByKey() throws {
        let session = try Database.open(path: "/a.realm", fileSystem: MemoryFileSystem()).makeSession()
        try session.beginWrite()
        try session.addTables((0..<6).map { NewTable(name: "A\($0)", columns: [NewColumn(name: "n", type: .int)]) })
        for name in ["A0", "A3"] {
            let key = try #require(session.table(named: name)).definition.key
            try session.removeTable(key)
            #expect(session.table(key) == nil)
        }
        #expect(session.tables.count == 4)
        for table in session.tables { #expect(session.table(table.definition.key) === table) }
    }

    static func expect(_ table: Table, _ count: Int) throws {
        #expect(table.count == count)
        for i in 0..<count {
            let key = ObjectKey(UInt64(i + 1))
            let location = try #require(try table.locate(key))
            for (column, value) in row(i).enumerated() {
                let read = try table.value(column, at: location)
                if read != value { Issue.record("row \(i) column \(column): \(read), not \(value)") }
            }
        }
    }
}
