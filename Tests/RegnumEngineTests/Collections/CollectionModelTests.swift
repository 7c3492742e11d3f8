// SPDX-License-Identifier: Apache-2.0
// Random changes of lists, sets, dictionaries and mixed values, compared with plain arrays and dictionaries: commits,
// rollbacks, reopened files, deleted targets, and an integrity check after each.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

/// The values of one object by column: elements in order, with keys if the column is a dictionary.
private struct ModelRow: Equatable {
    var any = Value.null
    var elements: [[Value]]
    var keys: [[String]]
}

private struct CollectionRun {
    /// Every type is in one of these halves, so that each run has few enough types for its collections to grow long.
    static let types: [[ColumnType]] = [
        [.int, .string, .link, .mixed, .double, .decimal128, .bool],
        [.float, .data, .date, .objectID, .uuid, .mixed, .link],
    ]
    static let kinds: [CollectionKind] = [.list, .set, .dictionary]

    /// Column 0 is a mixed value; then each type as a list, a set and a dictionary. Every second column is nullable;
    /// the next `turn` swaps them.
    static func columns(_ types: [ColumnType], turn: Int) -> [NewColumn] {
        var columns = [NewColumn(name: "any", type: .mixed)]
        for (i, type) in types.enumerated() {
            for (k, kind) in kinds.enumerated() {
                let isNullable =
                    switch type {
                    case .mixed: true
                    case .link: kind == .dictionary
                    default: (i + k + turn) % 2 == 0
                    }
                columns.append(
                    NewColumn(
                        name: "\(type) \(kind)", type: type, collection: kind, isNullable: isNullable,
                        targetName: type == .link ? "Node" : nil))
            }
        }
        return columns
    }

    let columns: [NewColumn]
    var random: SeededRandom
    let files = MemoryFileSystem()
    var database: Database
    var rows: [UInt64: ModelRow] = [:]
    let size: Size

    /// The maximum length of collections, and the length to which longer ones are cut.
    struct Size: Sendable {
        var longest: Int
        var leafByteCount = ElementTreeLimits().leafByteCount
        var fanOut = ElementTreeLimits().fanOut
        var steps: Int
        var writesAhead = false

        var options: Database.OpenOptions {
            var options = Database.OpenOptions()
            options.elementTreeLimits.leafByteCount = leafByteCount
            options.elementTreeLimits.fanOut = fanOut
            if writesAhead { options.spillLimits = .small }
            options.shrinkLimits = .small
            return options
        }
    }

    init(seed: UInt64, _ size: Size) throws {
        random = SeededRandom(seed: seed)
        self.size = size
        let sizes = UInt64(CollectionModelTests.sizes.count)
        let types = Self.types[Int(seed / sizes % UInt64(Self.types.count))]
        columns = Self.columns(types, turn: Int(seed % sizes))
        database = try Database.open(path: "/c.realm", fileSystem: files, options: size.options)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([NewTable(name: "Node", columns: columns)])
        try session.commitWrite()
    }

    // MARK: Values

    mutating func text() -> String {
        let length = random.below(30) == 0 ? random.below(300) : random.below(4)
        return String((0..<length).map { _ in Character(UnicodeScalar(UInt8(97 + random.below(26)))) })
    }

    mutating func target() -> ObjectKey? {
        let keys = rows.keys.sorted()
        return keys.isEmpty ? nil : ObjectKey(keys[random.below(keys.count)])
    }

    mutating func mixed(_ table: Table, depth: Int = 0) -> Value {
        switch random.below(depth < 2 ? 11 : 8) {
        case 0: return .null
        case 1: return .int(Int64(random.below(6)))
        case 2: return .double(Double(random.below(12)) / 2)
        case 3: return decimal(UInt64(random.below(60)), -1)
        case 4: return .string(text())
        case 5, 6: return target().map { .typedLink(table.definition.key, $0) } ?? .bool(true)
        case 7: return scalar(Self.scalars[random.below(Self.scalars.count)])
        case 8: return .list((0..<random.below(4)).map { _ in mixed(table, depth: depth + 1) })
        case 9:
            let keys = Set((0..<random.below(4)).map { _ in text() }).sorted { MixedOrder.compare($0, $1) < 0 }
            return .dictionary(keys.map { DictionaryEntry(key: $0, value: mixed(table, depth: depth + 1)) })
        default: return .bool(random.below(2) == 0)
        }
    }

    static let scalars = ColumnType.allCases.filter { $0 != .link && $0 != .mixed }

    /// A value of a type that is neither link nor mixed, from a domain small enough for sets to get duplicates.
    mutating func scalar(_ type: ColumnType) -> Value {
        switch type {
        case .int: return .int(random.below(3) == 0 ? Int64(bitPattern: random.next()) : Int64(random.below(90)))
        case .string: return .string(text())
        case .double: return .double(random.below(9) == 0 ? .infinity : Double(random.below(200)) / 4)
        case .float: return .float(random.below(9) == 0 ? -.infinity : Float(random.below(200)) / 4)
        case .decimal128: return decimal(UInt64(random.below(400)), random.below(3) - 1)
        case .bool: return .bool(random.below(2) == 0)
        case .data: return .data(Array(text().utf8))
        case .date:
            // Both parts have the same sign.
            let sign = random.below(2) == 0 ? 1 : -1
            return .date(
                Timestamp(seconds: Int64(sign * random.below(40)), nanoseconds: Int32(sign * random.below(3))))
        case .objectID: return .objectID(UInt64(random.below(5)) << 40, UInt32(random.below(9)))
        case .uuid: return .uuid(UInt64(random.below(5)) << 40, UInt64(random.below(9)) << 8)
        case .link, .mixed: preconditionFailure("no scalar")
        }
    }

    mutating func value(_ column: Int, _ table: Table) -> Value {
        let definition = columns[column]
        if definition.isNullable, random.below(6) == 0 { return .null }
        switch definition.type {
        case .link: return target().map { .link($0) } ?? .null
        case .mixed:
            // A set contains no collections.
            return mixed(table, depth: definition.collection == .set ? 2 : 0)
        default: return scalar(definition.type)
        }
    }

    // MARK: Changes

    mutating func change(_ table: Table, _ key: UInt64, _ column: Int) throws {
        switch columns[column].collection {
        case .none:
            let value = mixed(table)
            try table.set(value, column, of: ObjectKey(key))
            rows[key]?.any = value
        case .list: try changeList(table, ObjectKey(key), column)
        case .set: try changeSet(table, ObjectKey(key), column)
        case .dictionary: try changeDictionary(table, ObjectKey(key), column)
        }
    }

    mutating func changeList(_ table: Table, _ key: ObjectKey, _ column: Int) throws {
        var model = rows[key.rawValue]?.elements[column] ?? []
        switch random.below(model.count > size.longest ? 6 : 5) {
        case 0, 1:
            let new = (0..<(1 + random.below(random.below(5) == 0 ? size.longest : 4))).map { _ in value(column, table)
            }
            .filter { columns[column].isNullable || $0 != .null }
            let at = random.below(3) == 0 ? model.count : random.below(model.count + 1)
            try table.listInsert(new, column, of: key, at: at)
            model.insert(contentsOf: new, at: at)
        case 2 where !model.isEmpty:
            let at = random.below(model.count)
            let new = value(column, table)
            if new == .null, !columns[column].isNullable { break }
            try table.listSet(new, column, of: key, at: at)
            model[at] = new
        case 3 where model.count > 1:
            let (from, to) = (random.below(model.count), random.below(model.count))
            try table.listMove(column, of: key, from: from, to: to)
            model.insert(model.remove(at: from), at: to)
        case 4 where !model.isEmpty, 5:
            let start = random.below(model.count)
            let end = min(model.count, start + 1 + random.below(random.below(4) == 0 ? size.longest : 3))
            try table.listRemove(start..<end, column, of: key)
            model.removeSubrange(start..<end)
        default: break
        }
        rows[key.rawValue]?.elements[column] = model
    }

    mutating func changeSet(_ table: Table, _ key: ObjectKey, _ column: Int) throws {
        var model = rows[key.rawValue]?.elements[column] ?? []
        for _ in 0..<(1 + random.below(random.below(5) == 0 ? size.longest : 4)) {
            let value = value(column, table)
            if value == .null, !columns[column].isNullable { continue }
            let place = model.firstIndex { MixedOrder.compare($0, value) >= 0 } ?? model.count
            let isThere = place < model.count && MixedOrder.areEqual(model[place], value)
            #expect(try table.setIndex(of: value, column, of: key) == (isThere ? place : nil))
            if random.below(3) == 0 {
                #expect(try table.setRemove(value, column, of: key) == isThere)
                if isThere { model.remove(at: place) }
            } else {
                #expect(try table.setInsert(value, column, of: key) == !isThere)
                if !isThere { model.insert(value, at: place) }
            }
        }
        if random.below(15) == 0, !model.isEmpty {
            try table.listRemove(0..<model.count, column, of: key)
            model = []
        }
        rows[key.rawValue]?.elements[column] = model
    }

    mutating func changeDictionary(_ table: Table, _ key: ObjectKey, _ column: Int) throws {
        guard var row = rows[key.rawValue] else { return }
        for _ in 0..<(1 + random.below(random.below(5) == 0 ? size.longest : 4)) {
            let name = text()
            let place = row.keys[column].firstIndex { MixedOrder.compare($0, name) >= 0 } ?? row.keys[column].count
            let isThere = place < row.keys[column].count && MixedOrder.compare(row.keys[column][place], name) == 0
            #expect(try table.dictionaryIndex(of: name, column, of: key) == (isThere ? place : nil))
            if random.below(3) == 0 {
                #expect(try table.dictionaryRemove(name, column, of: key) == isThere)
                if isThere {
                    row.keys[column].remove(at: place)
                    row.elements[column].remove(at: place)
                }
            } else {
                let value = value(column, table)
                try table.dictionarySet(name, value, column, of: key)
                if isThere {
                    row.elements[column][place] = value
                } else {
                    row.keys[column].insert(name, at: place)
                    row.elements[column].insert(value, at: place)
                }
            }
        }
        if random.below(15) == 0 {
            try table.dictionaryRemoveAll(column, of: key)
            (row.keys[column], row.elements[column]) = ([], [])
        }
        rows[key.rawValue] = row
    }

    mutating func insert(_ table: Table) throws {
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        let empty = [Value]()
        rows[key.rawValue] = ModelRow(
            elements: columns.map { _ in empty }, keys: columns.map { _ in [] })
    }

    mutating func delete(_ table: Table, _ key: UInt64) throws {
        try table.delete(ObjectKey(key))
        forget(key, in: table)
    }

    /// Deletes most of the objects, so that trees are traversed instead of searched.
    mutating func deleteMany(_ table: Table) throws {
        while rows.count < 60 { try insert(table) }
        for key in rows.keys.sorted() { try change(table, key, random.below(columns.count)) }
        let gone = rows.keys.sorted().filter { _ in random.below(4) > 0 }
        try table.delete(gone.map { ObjectKey($0) })
        for key in gone { forget(key, in: table) }
    }

    private mutating func forget(_ key: UInt64, in table: Table) {
        rows[key] = nil
        let word = Value.targetWord(table.definition.key, ObjectKey(key))
        for other in rows.keys {
            guard var row = rows[other] else { continue }
            row.any = cleared(row.any, word)
            for (column, definition) in columns.enumerated() {
                row.elements[column].removeAll {
                    switch definition.collection {
                    case .set: cleared($0, word) != $0 || $0 == .link(ObjectKey(key))
                    case .list: isLink($0, word) || $0 == .link(ObjectKey(key))
                    default: false
                    }
                }
                row.elements[column] = row.elements[column].map {
                    $0 == .link(ObjectKey(key)) ? .null : cleared($0, word)
                }
            }
            rows[other] = row
        }
    }

    private func isLink(_ value: Value, _ word: UInt64) -> Bool {
        if case .typedLink(let table, let key) = value { Value.targetWord(table, key) == word } else { false }
    }

    /// Lists drop the links; elsewhere they become null.
    private func cleared(_ value: Value, _ word: UInt64) -> Value {
        switch value {
        case .typedLink: isLink(value, word) ? .null : value
        case .list(let values): .list(values.filter { !isLink($0, word) }.map { cleared($0, word) })
        case .dictionary(let entries):
            .dictionary(entries.map { DictionaryEntry(key: $0.key, value: cleared($0.value, word)) })
        default: value
        }
    }

    mutating func transaction() throws {
        let session = try database.makeSession()
        let before = rows
        try session.beginWrite()
        let table = try #require(session.table(named: "Node"))
        if rows.count < 12 { for _ in 0..<(1 + random.below(5)) { try insert(table) } }
        for _ in 0..<(10 + random.below(60)) {
            guard let key = target() else { break }
            if random.below(40) == 0 {
                try delete(table, key.rawValue)
            } else {
                let column = random.below(columns.count)
                for _ in 0..<(1 + random.below(4)) { try change(table, key.rawValue, column) }
            }
        }
        if random.below(25) == 0 { try deleteMany(table) }
        if random.below(40) == 0 {
            try table.deleteAll()
            rows = [:]
        }
        if random.below(6) == 0 {
            session.rollbackWrite()
            rows = before
        } else {
            if random.below(3) == 0 { try expect(session) }
            try session.commitWrite()
        }
        try expect(session)
    }

    func expect(_ session: Session) throws {
        let table = try #require(session.table(named: "Node"))
        try #require(table.count == rows.count)
        for key in rows.keys.sorted() {
            guard let row = rows[key] else { continue }
            #expect(try table.value(0, of: ObjectKey(key)) == row.any)
            for column in 1..<columns.count {
                let model = row.elements[column]
                let read = try table.listValues(column, of: ObjectKey(key))
                if read != model {
                    Issue.record("object \(key) \(columns[column].name): \(read) is not \(model)")
                }
                #expect(try table.listCount(column, of: ObjectKey(key)) == model.count)
                if let last = model.last {
                    #expect(try table.listValue(column, of: ObjectKey(key), at: model.count - 1) == last)
                }
                if columns[column].collection == .dictionary {
                    let entries = try table.dictionaryEntries(column, of: ObjectKey(key))
                    #expect(entries == zip(row.keys[column], model).map { DictionaryEntry(key: $0, value: $1) })
                    if let last = row.keys[column].last {
                        let read = try table.dictionaryKey(column, of: ObjectKey(key), at: model.count - 1)
                        #expect(read == last)
                    }
                }
            }
        }
    }
}

@Suite struct CollectionModelTests {
    /// Small collections; trees of many levels; default leaves below nodes that fill up early.
    fileprivate static let sizes = [
        CollectionRun.Size(longest: 40, steps: 10),
        CollectionRun.Size(longest: 60, leafByteCount: 70, fanOut: 3, steps: 10),
        CollectionRun.Size(longest: 40, leafByteCount: 40, fanOut: 4, steps: 10, writesAhead: true),
        CollectionRun.Size(longest: 1500, fanOut: 3, steps: 2),
    ]

    /// Each size with each half of the types, alternating nullable and not.
    @Test("Lists, sets, dictionaries and mixed values match plain Swift collections", arguments: RunSeed.list(0...7))
    func model(seed: RunSeed) throws {
        let size = Self.sizes[Int(seed.value % UInt64(Self.sizes.count))]
        var run = try CollectionRun(seed: seed.value, size)
        for step in 0..<(RunScale.isOptimized ? size.steps * 12 : size.steps) {
            try run.transaction()
            if step % 7 == 6 {
                run.database = try Database.open(path: "/other.realm", fileSystem: run.files)
                run.database = try Database.open(path: "/c.realm", fileSystem: run.files, options: size.options)
                try run.expect(try run.database.makeSession())
            }
            let report = IntegrityCheck.run(run.database)
            try #require(report.isClean, "\(report.findings)")
        }
    }

    @Test("The runs cover every type in every collection")
    func types() { #expect(Set(CollectionRun.types.joined()) == Set(ColumnType.allCases)) }
}
