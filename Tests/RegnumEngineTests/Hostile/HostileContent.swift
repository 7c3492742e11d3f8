// SPDX-License-Identifier: Apache-2.0
// The content of the hostile file: every type alone, nullable and in every collection, every form of index, embedded
// objects, unique constraints of every form, delete rules of every kind, nested mixed values, collections with blocks
// of their own, and row groups whose keys lie close together, with gaps and far apart. `HostileContentTests` fails if a
// feature is missing here.

import RegnumEngine
import RegnumSimulation
import RegnumSystem

enum HostileContent {
    static let kinds: [CollectionKind] = [.list, .set, .dictionary]
    /// Types that a constraint may contain.
    static let uniqueTypes: [ColumnType] = ColumnType.allCases.filter {
        ColumnDefinition(key: ColumnKey(1), name: "", type: $0).mayBeUnique
    }
    /// The rule at the object that holds the link, and the rule at its target.
    static let rules: [(delete: LinkRule, origin: LinkRule)] = LinkRule.allCases.flatMap { delete in
        LinkRule.allCases.map { origin in (delete: delete, origin: origin) }
    }

    /// Tests refer to the first four by number.
    static let tables: [NewTable] =
        [
            NewTable(name: "All", columns: allColumns),
            NewTable(
                name: "Named", columns: [NewColumn(name: "name", type: .string, isPrimaryKey: true)]),
            // More than one group, so that there are nodes; more than one leaf, so that there are branches.
            NewTable(name: "Many", columns: [NewColumn(name: "n", type: .int, isIndexed: true)]),
            // A group whose keys lie so far apart that they are listed.
            NewTable(name: "Far", columns: [NewColumn(name: "n", type: .int)]),
        ] + featureTables

    private static let allColumns: [NewColumn] = {
        var all = [NewColumn(name: "id", type: .int, isPrimaryKey: true)]
        for type in ColumnType.allCases {
            let mayBeIndexed = ColumnDefinition(key: ColumnKey(1), name: "", type: type).mayBeIndexed
            all.append(
                NewColumn(
                    name: "\(type)", type: type, isNullable: type != .link, isIndexed: mayBeIndexed,
                    targetName: type == .link ? "Named" : nil))
        }
        for type in ColumnType.allCases {
            for kind in kinds {
                all.append(
                    NewColumn(
                        name: "\(type) \(kind)", type: type, collection: kind,
                        isNullable: type != .link || kind == .dictionary, targetName: type == .link ? "All" : nil))
            }
        }
        return all
    }()

    /// Without the constraints and the rules, which `addRules` adds.
    private static let featureTables: [NewTable] = [
        NewTable(
            name: "Contents",
            columns: [
                NewColumn(name: "id", type: .int, isPrimaryKey: true),
                NewColumn(name: "text", type: .string, isNullable: true, isContentIndexed: true),
                NewColumn(name: "texts", type: .string, collection: .list, isContentIndexed: true),
                NewColumn(name: "place", type: .double, collection: .list, isContentIndexed: true),
            ]),
        NewTable(
            name: "Unique",
            columns: [
                NewColumn(name: "indexed", type: .int, isNullable: true, isIndexed: true),
                NewColumn(name: "alone", type: .string, isNullable: true),
            ]
                + uniqueTypes.map { type in
                    NewColumn(name: "\(type)", type: type, targetName: type == .link ? "Unique" : nil)
                }),
        NewTable(
            name: "Ruled",
            columns: rules.map { rule in
                NewColumn(name: "\(rule.delete) \(rule.origin)", type: .link, targetName: "Ruled")
            } + [NewColumn(name: "list", type: .link, collection: .list, targetName: "Ruled")]),
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
        NewTable(
            name: "Large",
            columns: [
                NewColumn(name: "set", type: .string, collection: .set),
                NewColumn(name: "dictionary", type: .mixed, collection: .dictionary, isNullable: true),
                NewColumn(name: "texts", type: .string, collection: .dictionary),
            ]),
    ]

    // MARK: Values

    /// Value `i` of a type.
    static func value(_ type: ColumnType, _ i: Int) -> Value {
        switch type {
        case .bool: .bool(i % 2 == 0)
        case .int: .int(Int64(i % 9))
        case .float: .float(Float(i))
        case .double: .double(Double(i) / 3)
        case .string: .string("text \(i % 11)")
        case .data: .data([UInt8](repeating: 7, count: i % 50))
        case .date: .date(Timestamp(seconds: Int64(i), nanoseconds: 5))
        case .objectID: .objectID(UInt64(i), 9)
        case .uuid: .uuid(UInt64(i % 5), 1)
        case .link: .link(ObjectKey(UInt64(i % 20 + 1)))
        case .decimal128: .decimal128(UInt64(i), 0x3040_0000_0000_0000)
        case .mixed: mixed(i)
        }
    }

    /// A different value for each `i`, distinct from those of `value`, as far as the type has so many; without links.
    static func otherValue(_ type: ColumnType, _ i: Int) -> Value {
        switch type {
        case .int: .int(Int64(1000 + i))
        case .string: .string("changed \(i)")
        case .uuid: .uuid(UInt64(1000 + i), 2)
        case .data: .data([UInt8](repeating: 8, count: 60 + i))
        case .mixed:
            .list([.int(Int64(i)), .dictionary([DictionaryEntry(key: "new", value: .list([.null, .double(2)]))])])
        default: value(type, 1000 + i)
        }
    }

    private static func mixed(_ i: Int) -> Value {
        let link = Value.typedLink(TableKey(2), ObjectKey(UInt64(i % 20 + 1)))
        switch i % 7 {
        case 0: return .string("mixed \(i)")
        case 1: return .int(Int64(i))
        case 2: return link
        case 3: return .data([1, 2, 3])
        case 4:
            let inner = DictionaryEntry(key: "k", value: .list([.bool(true), link, .list([.null, .string("deep")])]))
            return .list([.int(1), .string("in a list"), .dictionary([inner])])
        case 5:
            return .dictionary([
                DictionaryEntry(key: "", value: .list([.uuid(1, 2), .dictionary([])])),
                DictionaryEntry(key: "größe", value: link),
            ])
        default: return .double(0.5)
        }
    }

    /// Links in collections point to other objects of their own table.
    private static func element(_ type: ColumnType, _ i: Int) -> Value {
        type == .link ? .link(ObjectKey(UInt64(i % 30 + 1))) : value(type, i)
    }

    // MARK: Writing

    /// The bytes of a file after several commits. The last two commits change objects that older blocks still hold.
    static func write(_ options: Database.OpenOptions) throws -> [UInt8] {
        let files = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        do {
            let session = try Database.open(path: HostileFile.path, fileSystem: files, options: options).makeSession()
            try commit(session) { try fillAll(session) }
        }
        // Small limits give collections blocks of their own from few elements.
        var small = options
        small.elementTreeLimits.leafByteCount = 300
        let session = try Database.open(path: HostileFile.path, fileSystem: files, options: small).makeSession()
        try commit(session) {
            try addRules(session)
            try fillContents(session)
            try fillUnique(session)
            try fillRuled(session)
            try fillOwners(session)
            try fillLarge(session)
        }
        try fillGroups(session)
        let (all, many) = (table(session, "All"), table(session, "Many"))
        for round in 0..<2 {
            try commit(session) {
                try all.set(.string(String(repeating: "long ", count: 900 + round)), 5, of: ObjectKey(7))
                for key in stride(from: 3 + round, to: 1200, by: 17) { try many.delete(ObjectKey(UInt64(key))) }
                try many.set(.int(5), 0, of: ObjectKey(8))
            }
        }
        return files.contents(of: HostileFile.path) ?? []
    }

    private static func commit(_ session: Session, _ body: () throws -> Void) throws {
        try session.beginWrite()
        try body()
        try session.commitWrite()
    }

    private static func table(_ session: Session, _ name: String) -> Table {
        guard let table = session.table(named: name) else { fatalError("no table \(name)") }
        return table
    }

    private static func insert(_ table: Table, _ values: [Value]) throws -> ObjectKey {
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        for (column, value) in values.enumerated() { try table.set(value, column, of: key) }
        return key
    }

    private static func fillAll(_ session: Session) throws {
        try session.addTables(tables)
        session.setSchemaVersion(7)
        let named = table(session, "Named")
        for i in 0..<20 { _ = try insert(named, [.string("the long name of object number \(i)")]) }
        let all = table(session, "All")
        for i in 0..<40 { _ = try insert(all, [.int(Int64(i))] + ColumnType.allCases.map { value($0, i) }) }
        for i in 0..<40 { try fill(all, i) }
        let ints = all.definition.columns.firstIndex { $0.collection == .list && $0.type == .int }
        try all.listInsert((0..<4500).map { .int(Int64($0 % 9)) }, ints ?? 0, of: ObjectKey(1), at: 0)
    }

    private static func fill(_ all: Table, _ i: Int) throws {
        let key = ObjectKey(UInt64(i + 1))
        for (column, definition) in all.definition.columns.enumerated() where definition.collection != .none {
            for k in 0..<(i % 4) {
                let value = element(definition.type, i + k)
                switch definition.collection {
                case .none: break
                case .list: try all.listInsert([value], column, of: key, at: 0)
                case .set: _ = try all.setInsert(value, column, of: key)
                case .dictionary: try all.dictionarySet("key \(k)", value, column, of: key)
                }
            }
        }
    }

    /// Gives the tables their constraints and rules; new tables do not have those of their definitions yet.
    private static func addRules(_ session: Session) throws {
        var unique = table(session, "Unique").definition
        let keys = unique.columns.map(\.key)
        // One that its index enforces, one of one column and one of many columns, which have trees.
        for columns in [[keys[0]], [keys[1]], Array(keys[2...])] {
            unique.uniques.append(UniqueDefinition(key: ColumnKey(unique.nextColumnKey), columns: columns))
            unique.nextColumnKey += 1
        }
        var ruled = table(session, "Ruled").definition
        for (i, rule) in rules.enumerated() {
            ruled.columns[i].deleteRule = rule.delete
            ruled.columns[i].originRule = rule.origin
        }
        ruled.columns[rules.count].deleteRule = .cascade
        try session.reshape([unique, ruled])
    }

    private static func fillContents(_ session: Session) throws {
        let table = table(session, "Contents")
        let vocabulary = ["Grüße", "alpha", "beta-gamma", "日本", "can't", "3.14", "Alpha"]
        let places: [[Double]] = [[13.4, 52.5], [-180, -90], [180, 90], [0, 0], [200, 0], [1], [], [-0.0, 51.48]]
        for (i, place) in places.enumerated() {
            let key = try insert(table, [.int(Int64(i))])
            if i > 0 { try table.set(.string(vocabulary.prefix(i).joined(separator: " ")), 1, of: key) }
            let texts = vocabulary.prefix(i % 4).map { Value.string($0) }
            if !texts.isEmpty { try table.listInsert(texts, 2, of: key, at: 0) }
            if !place.isEmpty { try table.listInsert(place.map { Value.double($0) }, 3, of: key, at: 0) }
        }
    }

    private static func fillUnique(_ session: Session) throws {
        let table = table(session, "Unique")
        for _ in 0..<8 { _ = try insert(table, []) }
        for i in 0..<8 {
            let key = ObjectKey(UInt64(i + 1))
            try table.set(i % 3 == 0 ? .null : .int(Int64(i)), 0, of: key)
            // A value longer than a tree stores.
            let alone = String(repeating: "alone", count: i == 7 ? 300 : i)
            try table.set(i % 4 == 0 ? .null : .string(alone), 1, of: key)
            for (k, type) in uniqueTypes.enumerated() {
                // The object without a link is not equal to any other.
                let link = i == 3 ? Value.null : .link(ObjectKey(UInt64((i + 1) % 8 + 1)))
                try table.set(type == .link ? link : value(type, i), k + 2, of: key)
            }
        }
    }

    /// Links with each pair of rules between two objects of their own, and a list.
    private static func fillRuled(_ session: Session) throws {
        let table = table(session, "Ruled")
        for _ in 0..<(2 * rules.count + 3) { _ = try insert(table, []) }
        for i in rules.indices {
            try table.set(.link(ObjectKey(UInt64(2 * i + 2))), i, of: ObjectKey(UInt64(2 * i + 1)))
        }
        let holder = UInt64(2 * rules.count + 1)
        try table.listInsert(
            [.link(ObjectKey(holder + 1)), .link(ObjectKey(holder + 2))], rules.count, of: ObjectKey(holder), at: 0)
    }

    private static func fillOwners(_ session: Session) throws {
        let (owners, parts) = (table(session, "Owner"), table(session, "Part"))
        func part(_ text: String) throws -> Value { .link(try insert(parts, [.string(text)])) }
        for i in 0..<4 {
            let owner = try insert(owners, [.uuid(UInt64(i), 77)])
            if i == 2 { continue }
            let one = try insert(parts, [.string("one \(i)")])
            try owners.set(.link(one), 1, of: owner)
            try parts.set(try part("next \(i)"), 1, of: one)
            for k in 0..<2 { try owners.listInsert([try part("many \(i) \(k)")], 2, of: owner, at: 0) }
            try owners.dictionarySet("there", try part("named \(i)"), 3, of: owner)
            try owners.dictionarySet("nothing", .null, 3, of: owner)
        }
    }

    private static func fillLarge(_ session: Session) throws {
        let table = table(session, "Large")
        let key = try insert(table, [])
        for i in 0..<60 {
            _ = try table.setInsert(.string("element \(i * 7 % 60) of many"), 0, of: key)
            try table.dictionarySet("key \(i * 11 % 60)", mixed(i), 1, of: key)
        }
        for i in 0..<3 { try table.dictionarySet("key \(i)", .string("text \(i)"), 2, of: key) }
    }

    private static func fillGroups(_ session: Session) throws {
        let (many, far) = (table(session, "Many"), table(session, "Far"))
        try commit(session) {
            for i in 0..<1300 { _ = try insert(many, [.int(Int64(i * 7919 % 10_007))]) }
            for i in 0..<2100 { _ = try insert(far, [.int(Int64(i))]) }
        }
        try commit(session) {
            for key in 1...2100 where key % 150 != 0 { try far.delete(ObjectKey(UInt64(key))) }
        }
    }
}
