// SPDX-License-Identifier: Apache-2.0
// Random changes of objects of every column type, compared with plain dictionaries: commits, rollbacks, savepoints,
// reopened files, a second session that reads, and an integrity check after each.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

/// The database and its expected content.
private struct ModelRun {
    var random: SeededRandom
    let files = MemoryFileSystem()
    var database: Database
    /// Object by key, value by column; lists are separate.
    var rows: [UInt64: [Value]] = [:]
    var lists: [UInt64: [[Value]]] = [:]
    let shape: NewTable
    let valueColumns: Int
    let listColumns: Range<Int>
    /// Types that may contain links.
    let linkColumns: [Int]

    /// With full-text indexes.
    static let people: NewTable = {
        var table = DatabaseTests.people
        for i in table.columns.indices where ["email", "tags"].contains(table.columns[i].name) {
            table.columns[i].isContentIndexed = true
        }
        return table
    }()

    /// Every type, required and nullable; indexable types once with and once without an index.
    static let everyType: NewTable = {
        var columns: [NewColumn] = []
        for type in ColumnType.allCases where type != .link {
            let mayBeIndexed = type != .float && type != .double && type != .decimal128
            columns.append(NewColumn(name: "required \(type)", type: type, isNullable: type == .mixed))
            columns.append(
                NewColumn(name: "optional \(type)", type: type, isNullable: true, isIndexed: mayBeIndexed))
        }
        var table = people
        // The lists come last, and the link before them.
        table.columns.insert(contentsOf: columns, at: 1)
        return table
    }()

    let options: Database.OpenOptions

    init(seed: UInt64, _ shape: NewTable, writesAhead: Bool) throws {
        random = SeededRandom(seed: seed)
        var options = Database.OpenOptions()
        if writesAhead { options.spillLimits = .small }
        options.shrinkLimits = .small
        self.options = options
        self.shape = shape
        database = try Database.open(path: "/m.realm", fileSystem: files, options: options)
        valueColumns = shape.columns.prefix { $0.collection == .none }.count
        listColumns = valueColumns..<shape.columns.count
        linkColumns = shape.columns.indices.filter {
            shape.columns[$0].collection == .none && [.link, .mixed].contains(shape.columns[$0].type)
        }
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([shape])
        try session.commitWrite()
    }

    mutating func text(_ limit: Int) -> String {
        let length = random.below(40) == 0 ? 2048 + random.below(3000) : random.below(limit)
        return String(
            (0..<length).map { _ in
                random.below(6) == 0 ? " " : Character(UnicodeScalar(UInt8(97 + random.below(26))))
            })
    }

    /// A random value for a column; links point to existing objects.
    mutating func value(_ column: NewColumn) -> Value {
        if column.isNullable, random.below(3) == 0 { return .null }
        switch column.type {
        case .link: return target().map { .link($0) } ?? .null
        case .mixed:
            let type = ColumnType.allCases[random.below(ColumnType.allCases.count)]
            switch type {
            case .link: return target().map { .typedLink(TableKey(1), $0) } ?? .null
            case .mixed: return .list([.string(text(9)), .null, .int(Int64(random.below(9)))])
            default: return scalar(type)
            }
        default: return scalar(column.type)
        }
    }

    private mutating func target() -> ObjectKey? {
        let keys = rows.keys.sorted()
        return keys.isEmpty || random.below(4) == 0 ? nil : ObjectKey(keys[random.below(keys.count)])
    }

    /// A value of a type that is neither a link nor mixed.
    private mutating func scalar(_ type: ColumnType) -> Value {
        switch type {
        case .bool: return .bool(random.below(2) == 0)
        case .int: return .int(random.below(4) == 0 ? Int64(bitPattern: random.next()) : Int64(random.below(200)) - 100)
        case .float: return .float(Float(random.below(1000)) / 8)
        case .double: return .double(Double(random.below(1000)) / 8)
        case .string: return .string(text(20))
        case .data:
            let count = random.below(40) == 0 ? 2048 + random.below(3000) : random.below(30)
            return .data((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        case .date:
            // Both parts have the same sign.
            let sign = random.below(2) == 0 ? 1 : -1
            return .date(
                Timestamp(seconds: Int64(sign * random.below(1 << 40)), nanoseconds: Int32(sign * random.below(3))))
        case .objectID: return .objectID(random.next(), UInt32(truncatingIfNeeded: random.next()))
        case .uuid: return .uuid(random.next(), random.next())
        case .decimal128:
            return decimal(random.next(), random.below(80) - 40, isNegative: random.below(2) == 0)
        case .link, .mixed: preconditionFailure("no scalar")
        }
    }

    mutating func insert(_ table: Table) throws {
        let location = try table.insertRow()
        let key = location.key
        var values: [Value] = []
        for (i, column) in shape.columns.prefix(valueColumns).enumerated() {
            values.append(i == 0 ? .int(Int64(key.rawValue) * 7) : value(column))
        }
        try table.finishInsert(location)
        for (column, value) in values.enumerated() { try table.set(value, column, of: key) }
        rows[key.rawValue] = values
        lists[key.rawValue] = listColumns.map { _ in [] }
    }

    mutating func update(_ table: Table, _ key: UInt64) throws {
        let column = 1 + random.below(valueColumns - 1)
        let value = value(shape.columns[column])
        try table.set(value, column, of: ObjectKey(key))
        rows[key]?[column] = value
    }

    mutating func changeList(_ table: Table, _ key: UInt64) throws {
        let list = random.below(listColumns.count)
        let column = listColumns.lowerBound + list
        let count = lists[key]?[list].count ?? 0
        switch random.below(4) {
        case 0, 1:
            var new: [Value] = []
            for _ in 0..<(1 + random.below(4)) {
                let made = value(shape.columns[column])
                if made != .null || shape.columns[column].isNullable { new.append(made) }
            }
            let at = random.below(count + 1)
            try table.listInsert(new, column, of: ObjectKey(key), at: at)
            lists[key]?[list].insert(contentsOf: new, at: at)
        case 2 where count > 0:
            let start = random.below(count)
            let range = start..<min(count, start + 1 + random.below(3))
            try table.listRemove(range, column, of: ObjectKey(key))
            lists[key]?[list].removeSubrange(range)
        case 3 where count > 1:
            let (from, to) = (random.below(count), random.below(count))
            try table.listMove(column, of: ObjectKey(key), from: from, to: to)
            if let moved = lists[key]?[list].remove(at: from) { lists[key]?[list].insert(moved, at: to) }
        default: break
        }
    }

    mutating func delete(_ table: Table, _ key: UInt64) throws {
        try table.delete(ObjectKey(key))
        forget([key])
    }

    /// A range of the table, or scattered objects, in any order and some of them twice.
    mutating func deleteMany(_ table: Table) throws {
        let keys = rows.keys.sorted()
        let start = random.below(keys.count)
        let step = 1 + random.below(3)
        var gone = stride(from: start, to: min(keys.count, start + 20 + random.below(900)), by: step).map { keys[$0] }
        if random.below(2) == 0 { gone.reverse() }
        gone += [gone[0], keys[keys.count - 1] + 1000]
        try table.delete(gone.map { ObjectKey($0) })
        forget(Set(gone))
    }

    private mutating func forget(_ gone: Set<UInt64>) {
        for key in gone {
            rows[key] = nil
            lists[key] = nil
        }
        for (other, row) in rows {
            for column in linkColumns where Self.leads(row[column], to: gone) { rows[other]?[column] = .null }
        }
        for (other, own) in lists where own[0].contains(where: { Self.leads($0, to: gone) }) {
            lists[other]?[0].removeAll { Self.leads($0, to: gone) }
        }
    }

    private static func leads(_ value: Value, to gone: Set<UInt64>) -> Bool {
        switch value {
        case .link(let key), .typedLink(_, let key): gone.contains(key.rawValue)
        default: false
        }
    }

    mutating func transaction() throws {
        let session = try database.makeSession()
        let before = (rows, lists)
        try session.beginWrite()
        try change(session)
        if random.below(3) == 0 { try savepoint(session, depth: 2) }
        if random.below(6) == 0 {
            session.rollbackWrite()
            (rows, lists) = before
            try expect(session)
        } else {
            try expect(session)
            try session.commitWrite()
            try expect(session)
        }
    }

    /// Changes the table within a savepoint and, up to `depth`, within nested ones; undoes about half of them.
    private mutating func savepoint(_ session: Session, depth: Int) throws {
        let before = (rows, lists)
        let savepoint = try session.beginSavepoint()
        try change(session)
        if depth > 1 { for _ in 0..<random.below(3) { try self.savepoint(session, depth: depth - 1) } }
        if random.below(2) == 0 {
            session.rollBack(to: savepoint)
            (rows, lists) = before
            try expect(session)
        } else {
            try session.release(savepoint)
        }
    }

    private mutating func change(_ session: Session) throws {
        let table = try #require(session.table(named: "Person"))
        for _ in 0..<random.below(12) { try insert(table) }
        // More than one group; less often with many columns, because each is checked three times in a transaction.
        if random.below(valueColumns > 20 ? 40 : 10) == 0 { for _ in 0..<1100 { try insert(table) } }
        for key in rows.keys.sorted() where rows[key] != nil {
            switch random.below(20 + rows.count / 20) {
            case 0, 1, 2: try update(table, key)
            case 3, 4: try changeList(table, key)
            case 5: try delete(table, key)
            default: break
            }
        }
        if random.below(4) == 0, !rows.isEmpty { try deleteMany(table) }
        if random.below(40) == 0 {
            try table.deleteAll()
            (rows, lists) = ([:], [:])
        }
    }

    func expect(_ session: Session) throws {
        let table = try #require(session.table(named: "Person"))
        try #require(table.count == rows.count)
        var position = 0
        for key in rows.keys.sorted() {
            let location = try #require(try table.locate(ObjectKey(key)))
            for (column, value) in (rows[key] ?? []).enumerated() {
                let read = try table.value(column, at: location)
                if read != value { Issue.record("object \(key) column \(column): \(read), not \(value)") }
            }
            for (i, values) in (lists[key] ?? []).enumerated() {
                let read = try table.listValues(listColumns.lowerBound + i, of: ObjectKey(key))
                if read != values { Issue.record("object \(key) list \(i): \(read.count), not \(values.count)") }
            }
            if position % 97 == 0 {
                #expect(try table.key(atPosition: position).rawValue == key)
                #expect(try table.position(of: ObjectKey(key)) == position)
                if case .int(let id)? = rows[key]?[0] {
                    #expect(try table.key(forIntegerPrimaryKey: id)?.rawValue == key)
                }
            }
            position += 1
        }
    }
}

@Suite struct TableModelTests {
    @Test(
        "A table matches a dictionary, with and without spills", arguments: RunSeed.list(1...4),
        [false, true])
    func model(seed: RunSeed, hasEveryType: Bool) throws {
        let shape = hasEveryType ? ModelRun.everyType : ModelRun.people
        // Two of four seeds: 3 and 4 of the fixed ones.
        var run = try ModelRun(seed: seed.value, shape, writesAhead: (seed.value &- 1) % 4 > 1)
        for step in 0..<(RunScale.isOptimized ? 40 : 8) {
            try run.transaction()
            if step % 5 == 4 {
                run.database = try Database.open(path: "/other.realm", fileSystem: run.files)
                run.database = try Database.open(path: "/m.realm", fileSystem: run.files, options: run.options)
            }
            let report = IntegrityCheck.run(run.database)
            try #require(report.isClean, "\(report.findings)")
            try run.expect(try run.database.makeSession())
        }
    }
}
