// SPDX-License-Identifier: Apache-2.0
// The content of the golden files: every type of column alone, nullable and in every collection, embedded objects,
// indexes and backlinks of every kind, long values, deleted rows, several commits, and the content of `GoldenRules`.
// Written once for each format, and then only read. `GoldenTests` says how to write new ones.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

enum GoldenFile {
    static let path = "/d/golden.realm"
    static let indexed: [ColumnType] = [.bool, .int, .string, .date, .objectID, .mixed]
    static let kinds: [CollectionKind] = [.list, .set, .dictionary]

    /// Every type alone, nullable and not.
    static let values = NewTable(
        name: "Values",
        columns: [NewColumn(name: "id", type: .int, isPrimaryKey: true)]
            + ColumnType.allCases.map { type in
                NewColumn(
                    name: "\(type)", type: type, isNullable: type == .mixed, isIndexed: indexed.contains(type),
                    targetName: type == .link ? "Values" : nil)
            }
            + ColumnType.allCases.filter { $0 != .mixed && $0 != .link }.map { type in
                NewColumn(
                    name: "\(type)?", type: type, isNullable: true, isIndexed: type == .string)
            })

    /// Every type in every collection.
    static let collections = NewTable(
        name: "Collections",
        columns: [NewColumn(name: "id", type: .string, isPrimaryKey: true)]
            + kinds.flatMap { kind in
                ColumnType.allCases.flatMap { type in
                    // Nullable and non-nullable elements if both are possible.
                    let nullable: [Bool] =
                        type == .mixed || type == .link && kind == .dictionary
                        ? [true] : type == .link ? [false] : [false, true]
                    return nullable.map {
                        NewColumn(
                            name: "\(kind) of \(type)\($0 ? "?" : "")", type: type, collection: kind, isNullable: $0,
                            targetName: type == .link ? "Values" : nil)
                    }
                }
            })

    static let tables: [NewTable] = valueTables + ruleTables

    private static let valueTables: [NewTable] = [
        values, collections,
        NewTable(
            name: "Owner",
            columns: [
                NewColumn(name: "id", type: .uuid, isPrimaryKey: true),
                NewColumn(name: "one", type: .link, targetName: "Part"),
                NewColumn(name: "many", type: .link, collection: .list, targetName: "Part"),
                NewColumn(name: "named", type: .link, collection: .dictionary, isNullable: true, targetName: "Part"),
            ]),
        NewTable(
            name: "Part", isEmbedded: true,
            columns: [
                NewColumn(name: "text", type: .string), NewColumn(name: "next", type: .link, targetName: "Part"),
                NewColumn(name: "hidden", type: .int, isHidden: true),
            ]),
        // More than one group and more than one leaf, so that there are nodes and branches.
        NewTable(
            name: "Many",
            columns: [
                NewColumn(name: "number", type: .int, isPrimaryKey: true),
                NewColumn(name: "text", type: .string, isNullable: true, isIndexed: true),
            ]),
        NewTable(name: "Empty", columns: [NewColumn(name: "nothing", type: .data)]),
        // Index leaves that are sequences, of values and of nulls.
        NewTable(
            name: "Counted",
            columns: [
                NewColumn(name: "number", type: .int, isPrimaryKey: true),
                NewColumn(name: "note", type: .string, isNullable: true),
                NewColumn(name: "rank", type: .int, isNullable: true, isIndexed: true),
            ]),
    ]

    // MARK: Values

    private static let texts = [
        "", "a", "\0b\0", "Grüße, 日本 👩‍👩‍👧‍👦", "e\u{301}", "\"quoted\" \\ and\nlines",
        String(repeating: "x", count: 60), String(repeating: "ß", count: 1025),
    ]

    /// Value `i` of a type, edge cases first.
    static func sample(_ type: ColumnType, _ i: Int) -> Value {
        switch type {
        case .bool: return .bool(i % 2 == 1)
        case .int: return .int([0, 1, -1, 200, 70_000, 5_000_000_000, .max, .min][i % 8])
        case .float:
            let edges: [Float] = [.greatestFiniteMagnitude, .leastNonzeroMagnitude]
            return .float(([0, -0.0, 0.1, .infinity, -.infinity, -1] + edges)[i % 8])
        case .double:
            return .double([0, -0.0, 0.1, .infinity, -.infinity, 1e308, .leastNonzeroMagnitude, -1][i % 8])
        case .string: return .string(texts[i < 8 ? i : i % 7])
        case .data:
            return .data(
                (0..<[0, 1, 3, i < 8 ? 2049 : 40, 4, 16, 17, 25][i % 8]).map { UInt8(truncatingIfNeeded: $0 * 7 + i) })
        case .date:
            let dates: [(Int64, Int32)] = [
                (0, 0), (1, 500_000_000), (-1, -250_000_000), (-62_135_769_600, 0), (64_092_211_200, 999_999_999),
                (1_700_000_000, 125_000_000), (0, -1), (978_307_200, 0),
            ]
            return .date(Timestamp(seconds: dates[i % 8].0, nanoseconds: dates[i % 8].1))
        case .objectID: return .objectID([0, .max, 0x0123_4567_89ab_cdef][i % 3] ^ UInt64(i), UInt32(i) &* 0x1234_5678)
        case .uuid: return .uuid([0, .max, 0xfedc_ba98_7654_3210][i % 3] ^ UInt64(i), UInt64(i) << 40)
        case .link: return .link(ObjectKey(UInt64(i % 8 + 1)))
        case .decimal128:
            let text = [
                "0", "-1.5", "1e-6176", "9.99e6144", "nan", "inf", "-inf", "1234567890123456789012345678901234",
            ]
            let bits = DecimalBits(text[i % 8])
            return .decimal128(bits.low, bits.high)
        case .mixed: return mixed(i)
        }
    }

    private static func mixed(_ i: Int) -> Value {
        let scalars = ColumnType.allCases.filter { $0 != .mixed && $0 != .link }
        switch i % 14 {
        case 0: return .null
        case 1: return .typedLink(TableKey(1), ObjectKey(UInt64(i % 8 + 1)))
        case 2:
            return .list([.null, .int(1), .list([]), .dictionary([DictionaryEntry(key: "k", value: .bool(true))])])
        case 3:
            return .dictionary([
                DictionaryEntry(key: "", value: .list([.string("in"), .null])),
                DictionaryEntry(key: "größe", value: .double(0.5)),
            ])
        default: return sample(scalars[i % 14 - 4], i)
        }
    }

    // MARK: Writing

    /// Writes the file in several commits. `rows` is the size of the large table.
    static func write(_ files: SimulatedFileSystem, _ options: Database.OpenOptions, rows: Int) throws {
        var options = options
        // Small limits make trees of several levels from few elements.
        options.elementTreeLimits.leafByteCount = 300
        options.elementTreeLimits.fanOut = 5
        let session = try Database.open(path: path, fileSystem: files, options: options).makeSession()
        try commit(session) {
            try session.addTables(tables)
            try addRules(session)
            session.setSchemaVersion(7)
            session.addFeature(Feature(name: "golden", isRequired: false))
            try fillValues(session)
            try fillCollections(session)
            try fillLargeCollections(session)
            try fillOwners(session)
            try fillMany(session, rows)
            try fillCounted(session, 2 * rows + 400)
            try fillContents(session, words: 2 * rows)
            try fillUnique(session)
            try fillRuled(session)
        }
        try commit(session) {
            try change(session, rows)
            try changeRules(session)
        }
        // Two more commits, so that both slots and the free log record freed pages.
        for i in 0..<2 {
            try commit(session) {
                try table(session, "Values").set(.string("commit \(i)"), 5, of: ObjectKey(UInt64(2 + i)))
            }
        }
    }

    private static func commit(_ session: Session, _ body: () throws -> Void) throws {
        try session.beginWrite()
        try body()
        try session.commitWrite()
    }

    static func table(_ session: Session, _ name: String) throws -> Table {
        try #require(session.table(named: name))
    }

    private static func fillValues(_ session: Session) throws {
        let table = try table(session, "Values")
        for _ in 0..<16 { _ = try DatabaseTests.insert(table, []) }
        for i in 0..<16 {
            let key = ObjectKey(UInt64(i + 1))
            for (column, definition) in table.definition.columns.enumerated() {
                let isNull = definition.isNullable && definition.type != .mixed && i % 3 == 0
                let value = definition.isPrimaryKey ? .int(Int64(i * 10 - 20)) : sample(definition.type, i)
                try table.set(isNull ? .null : value, column, of: key)
            }
        }
    }

    private static func fillCollections(_ session: Session) throws {
        let table = try table(session, "Collections")
        for i in 0..<4 {
            let key = try DatabaseTests.insert(table, [.string("row \(i)")])
            for (column, definition) in table.definition.columns.enumerated() where definition.collection != .none {
                for k in 0..<[3, 0, 9, 1][i] {
                    let isNull = definition.isNullable && definition.type != .mixed && k == 1
                    // No long values from 8 on.
                    let value = isNull ? .null : sample(definition.type, 8 + i + k)
                    switch definition.collection {
                    case .none: break
                    case .list: try table.listInsert([value], column, of: key, at: k / 2)
                    case .set: _ = try table.setInsert(value, column, of: key)
                    case .dictionary:
                        let name = ["", "ä", "z", "key"][k % 4] + "\(k / 4)"
                        try table.dictionarySet(name, value, column, of: key)
                    }
                }
            }
        }
    }

    private static func fillLargeCollections(_ session: Session) throws {
        let table = try table(session, "Collections")
        let key = try DatabaseTests.insert(table, [.string("large")])
        func column(_ kind: CollectionKind, _ type: ColumnType) throws -> Int {
            try #require(table.definition.columns.firstIndex { $0.collection == kind && $0.type == type })
        }
        let (list, set) = (try column(.list, .int), try column(.set, .string))
        let dictionary = try column(.dictionary, .mixed)
        try table.listInsert((0..<1500).map { .int($0 * 1_000_003) }, list, of: key, at: 0)
        for i in 0..<300 {
            _ = try table.setInsert(.string("element \(i * 7 % 300)"), set, of: key)
            try table.dictionarySet("key \(i * 11 % 300)", mixed(i), dictionary, of: key)
        }
    }

    private static func fillOwners(_ session: Session) throws {
        let (owners, parts) = (try table(session, "Owner"), try table(session, "Part"))
        func part(_ text: String) throws -> ObjectKey {
            let key = try DatabaseTests.insert(parts, [.string(text)])
            try parts.set(.int(Int64(text.utf8.count)), 2, of: key)
            return key
        }
        for i in 0..<3 {
            let owner = try DatabaseTests.insert(owners, [.uuid(UInt64(i), 77)])
            if i == 2 { continue }
            let one = try part("one \(i)")
            try owners.set(.link(one), 1, of: owner)
            try parts.set(.link(try part("next \(i)")), 1, of: one)
            for k in 0..<2 { try owners.listInsert([.link(try part("many \(i) \(k)"))], 2, of: owner, at: 0) }
            try owners.dictionarySet("there", .link(try part("named \(i)")), 3, of: owner)
            try owners.dictionarySet("nothing", .null, 3, of: owner)
        }
    }

    private static func fillMany(_ session: Session, _ rows: Int) throws {
        let table = try table(session, "Many")
        for i in 0..<rows {
            let text: Value = i % 10 == 3 ? .null : .string("text \(i * 7 % 100)")
            _ = try DatabaseTests.insert(table, [.int(Int64(i * 7919 % 10_007)), text])
        }
    }

    private static func fillCounted(_ session: Session, _ rows: Int) throws {
        let table = try table(session, "Counted")
        for i in 0..<rows { _ = try DatabaseTests.insert(table, [.int(Int64(i * 2))]) }
    }

    /// Deletes and replaces rows of every table, single rows, ranges, and the targets of links.
    private static func change(_ session: Session, _ rows: Int) throws {
        let many = try table(session, "Many")
        for key in 1...rows where key % 7 == 0 || (500..<600).contains(key) { try many.delete(ObjectKey(UInt64(key))) }
        let values = try table(session, "Values")
        try values.delete(ObjectKey(4))
        try values.set(.data([1, 2, 3]), 6, of: ObjectKey(5))
        try table(session, "Owner").delete(ObjectKey(2))
        let collections = try table(session, "Collections")
        try collections.listRemove(0..<2, 1, of: ObjectKey(3))
        _ = try collections.dictionaryRemove("z0", collections.definition.columns.count - 1, of: ObjectKey(3))
    }
}
