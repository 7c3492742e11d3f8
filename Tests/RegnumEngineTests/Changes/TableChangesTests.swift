// SPDX-License-Identifier: Apache-2.0
// The structural diff of two versions compared with the diff of plain copies of all values.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

/// All values of a version, by object key.
private typealias Copy = [UInt64: [[Value]]]

private struct ChangeRun {
    static let columns = [
        NewColumn(name: "id", type: .int),
        NewColumn(name: "name", type: .string, isNullable: true, isIndexed: true),
        NewColumn(name: "height", type: .double, isNullable: true),
        NewColumn(name: "born", type: .date),
        NewColumn(name: "flag", type: .bool),
        NewColumn(name: "friend", type: .link, targetName: "Thing"),
        NewColumn(name: "marks", type: .int, collection: .list),
    ]

    var random: SeededRandom
    let database: Database
    let writer: Session

    init(seed: UInt64, rows: Int) throws {
        random = SeededRandom(seed: seed)
        database = try Database.open(path: "/changes.realm", fileSystem: MemoryFileSystem())
        writer = try database.makeSession()
        try writer.beginWrite()
        try writer.addTables([
            NewTable(name: "Thing", columns: Self.columns),
            NewTable(name: "Other", columns: [NewColumn(name: "id", type: .int)]),
        ])
        for _ in 0..<rows { try insert() }
        try writer.commitWrite()
    }

    var table: Table { writer.tables[0] }

    mutating func insert() throws {
        let location = try table.insertRow()
        try table.finishInsert(location)
        try table.set(.int(Int64(location.key.rawValue)), 0, of: location.key)
        try table.set(.date(Timestamp(seconds: 5, nanoseconds: 7)), 3, of: location.key)
    }

    mutating func someKey() throws -> ObjectKey? {
        table.count == 0 ? nil : try table.key(atPosition: random.below(table.count))
    }

    mutating func change() throws {
        guard let key = try someKey() else { return try insert() }
        switch random.below(10) {
        case 0: try table.delete(key)
        case 1: try insert()
        case 2: try table.set(random.below(3) == 0 ? .null : .string("n\(random.below(9))"), 1, of: key)
        case 3: try table.set(random.below(3) == 0 ? .null : .double(Double(random.below(5))), 2, of: key)
        case 4:
            let time = Timestamp(seconds: Int64(random.below(3)), nanoseconds: Int32(random.below(2)))
            try table.set(.date(time), 3, of: key)
        case 5: try table.set(.bool(random.below(2) == 0), 4, of: key)
        case 6: try table.set(try someKey().map { .link($0) } ?? .null, 5, of: key)
        case 7: try table.listInsert([.int(Int64(random.below(100)))], 6, of: key, at: 0)
        case 8:
            let count = try table.listCount(6, of: key)
            if count > 0 { try table.listRemove(0..<count, 6, of: key) }
        default: try table.set(.int(Int64(random.below(1000))), 0, of: key)
        }
    }

    static func copy(_ session: Session) throws -> Copy {
        let table = session.tables[0]
        var copy: Copy = [:]
        for position in 0..<table.count {
            let key = try table.key(atPosition: position)
            var values: [[Value]] = []
            for column in 0..<6 { values.append([try table.value(column, of: key)]) }
            values.append(try table.listValues(6, of: key))
            copy[key.rawValue] = values
        }
        return copy
    }
}

@Suite struct TableChangesTests {
    private static func expected(_ before: Copy, _ after: Copy) -> TableChanges {
        var changes = TableChanges(table: TableKey(1))
        changes.deleted = before.keys.filter { after[$0] == nil }.sorted().map { ObjectKey($0) }
        changes.inserted = after.keys.filter { before[$0] == nil }.sorted().map { ObjectKey($0) }
        for key in after.keys.sorted() {
            guard let old = before[key], let new = after[key], old != new else { continue }
            changes.modified.append(ObjectKey(key))
            changes.columns.append(ColumnSet(old.indices.filter { old[$0] != new[$0] }))
        }
        return changes
    }

    private static func expectSame(_ found: [TableChanges], _ wanted: TableChanges) {
        let changes = found.first ?? TableChanges(table: TableKey(1))
        #expect(found.count == (wanted.isEmpty ? 0 : 1))
        #expect(changes.deleted == wanted.deleted)
        #expect(changes.inserted == wanted.inserted)
        #expect(changes.modified == wanted.modified)
        #expect(changes.columns == wanted.columns)
    }

    @Test(
        "The diff of two versions is the diff of their values", arguments: [0, 30, 3000],
        RunSeed.list(1...(RunScale.isOptimized ? 12 : 2)))
    func model(rows: Int, seed: RunSeed) throws {
        var run = try ChangeRun(seed: seed.value, rows: rows)
        var versions = [(session: try run.writer.freeze(), copy: try ChangeRun.copy(run.writer))]
        for _ in 0..<6 {
            try run.writer.beginWrite()
            let most = [0, 1, 4, 40, 400][run.random.below(5)]
            for _ in 0..<most { try run.change() }
            try run.writer.commitWrite()
            let copy = try ChangeRun.copy(run.writer)
            for (session, before) in versions {
                Self.expectSame(try run.writer.changes(since: session), Self.expected(before, copy))
            }
            versions.append((try run.writer.freeze(), copy))
        }
    }

    @Test("Changed objects are found at any position, one and several at a time")
    func anywhere() throws {
        let rows = RunScale.isOptimized ? 140_000 : 5000
        var run = try ChangeRun(seed: 3, rows: rows)
        for round in 0..<40 {
            let before = try run.writer.freeze()
            let numbers = Set((0...round % 3).map { _ in UInt64(run.random.below(rows)) + 1 })
            let keys = numbers.sorted().map { ObjectKey($0) }
            try run.writer.beginWrite()
            for key in keys { try run.table.set(.int(Int64(-round - 1)), 0, of: key) }
            try run.writer.commitWrite()
            let changes = try #require(try run.writer.changes(since: before).first)
            #expect(changes.modified == keys)
            #expect(changes.columns == keys.map { _ in ColumnSet([0]) })
            #expect(changes.inserted.isEmpty && changes.deleted.isEmpty)
        }
    }

    @Test("A tree that has grown by a level shares its old blocks")
    func growth() throws {
        let rows = RunScale.isOptimized ? 70_000 : 3000
        var run = try ChangeRun(seed: 1, rows: rows)
        let before = try run.writer.freeze()
        try run.writer.beginWrite()
        for _ in 0..<rows / 10 { try run.insert() }
        try run.table.set(.bool(true), 4, of: ObjectKey(5))
        try run.writer.commitWrite()
        let changes = try #require(try run.writer.changes(since: before).first)
        #expect(changes.deleted.isEmpty)
        #expect(changes.inserted.count == rows / 10)
        #expect(changes.modified == [ObjectKey(5)])
        #expect(changes.columns(of: ObjectKey(5)) == ColumnSet([4]))
    }

    @Test("An empty table, an emptied table, and a commit without changes produce the correct diff")
    func edges() throws {
        var run = try ChangeRun(seed: 1, rows: 0)
        let empty = try run.writer.freeze()
        try run.writer.beginWrite()
        try run.writer.commitWrite()
        #expect(try run.writer.changes(since: empty).isEmpty)
        try run.writer.beginWrite()
        for _ in 0..<2000 { try run.insert() }
        try run.writer.commitWrite()
        let full = try run.writer.freeze()
        #expect(try full.changes(since: empty).first?.inserted.count == 2000)
        try run.writer.beginWrite()
        try run.table.deleteAll()
        try run.writer.commitWrite()
        #expect(try run.writer.changes(since: full).first?.deleted.count == 2000)
        #expect(try run.writer.changes(since: empty).isEmpty)
        #expect(try run.writer.changes(since: full) { $0 == TableKey(2) }.isEmpty)
    }

    @Test("Changes of columns above 64 are distinguished")
    func columnSet() {
        var set = ColumnSet([0, 63, 64, 200])
        #expect(set.columns == [0, 63, 64, 200])
        #expect(set.contains(64) && !set.contains(65) && !set.contains(500))
        #expect(set.intersects(ColumnSet([200])) && !set.intersects(ColumnSet([199, 1])))
        set.formUnion(ColumnSet([1, 400]))
        #expect(set.columns == [0, 1, 63, 64, 200, 400])
    }
}
