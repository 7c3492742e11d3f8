// SPDX-License-Identifier: Apache-2.0
// Reads the schema: the top array of the file, and the top arrays and specs of its tables.
//
//   top array     0 ref of table names, 1 ref of tables, 2 logical size, 3 ... 5 free space, 6 version,
//                 7 type of history, 8 history ...
//   tables        ref of the top array of table i; a tagged value for an unused index (format 10 on)
//   table, format 10 on
//                 0 spec, 1 zero, 2 tree of objects, 3 key, 4 indexes, 5 ..., 7 keys of the target tables of columns,
//                 8 ..., 11 column of the primary key, 12 kind, 13 tree of deleted objects
//   spec          0 types, 1 names, 2 attributes, 3 zero, 4 interned strings, 5 column keys. Backlink columns come
//                 last, without names
//   column key    bits 0-15 index in a cluster, 16-21 type, 22-29 attributes
//   table, up to format 9
//                 0 spec, 1 columns. Spec: 0 types, 1 names, 2 attributes, 3 targets of columns, 4 interned strings

/// The schema, the version and the kind of history of a file.
struct GroupContents {
    var tables: [RealmFileTable] = []
    var transactionVersion: UInt64 = 0
    var historyType = 0
}

/// Reads the schema of one file.
struct RealmSchemaReader {
    let reader: NodeReader
    let format: Int

    private static let noTable: Int64 = 0x7fff_ffff

    private var isLegacy: Bool { format < 10 }

    func contents(_ topRef: Int) throws(RealmFileError) -> GroupContents {
        let node = try reader.node(topRef)
        let top = try reader.refs(node)
        guard top.count >= 3 else { throw .damaged(topRef, "the top array has \(top.count) elements") }
        var contents = GroupContents()
        if top.count > 6, top[6] & 1 == 1 {
            contents.transactionVersion = UInt64(bitPattern: try reader.tagged(top[6], of: node))
        }
        if top.count > 7, top[7] & 1 == 1 {
            contents.historyType = Int(truncatingIfNeeded: try reader.tagged(top[7], of: node))
        }
        let names = try reader.names(reader.node(top[0], of: node))
        let tablesNode = try reader.node(top[1], of: node)
        let refs = try reader.refs(tablesNode)
        guard names.count >= refs.count else { throw .damaged(tablesNode.ref, "the file has more tables than names") }
        try checkUpgrade(names, refs)
        var tops: [Result<TableTop, RealmFileError>] = []
        var places: [Int] = []
        var seen: Set<Int> = []
        for (place, ref) in refs.enumerated() where ref & 1 == 0 {
            guard let ref = try reader.ref(ref, of: tablesNode) else { continue }
            let top = try damageOrResult { () throws(RealmFileError) -> TableTop in
                try locating(names[place]) { () throws(RealmFileError) -> TableTop in
                    guard seen.insert(ref).inserted else { throw .damaged(ref, "two tables are the same one") }
                    return try tableTop(ref, place, names[place])
                }
            }
            tops.append(top)
            places.append(place)
        }
        contents.tables = try tables(TableTops(tops, names: places.map { names[$0] }, places: places))
        return contents
    }

    /// The tables. One whose schema is damaged has the error, and the others are read.
    private func tables(_ tops: TableTops) throws(RealmFileError) -> [RealmFileTable] {
        let found = try damageOrResult { () throws(RealmFileError) -> [String: String] in
            try locating("pk") { () throws(RealmFileError) in try primaryKeys(tops) }
        }
        let keys = (try? found.get()) ?? [:]
        var tables: [RealmFileTable] = []
        for (index, name) in tops.names.enumerated() {
            let table = try damageOrResult { () throws(RealmFileError) -> RealmFileTable in
                try locating(name) { () throws(RealmFileError) in
                    try self.table(tops.all[index].get(), index, tops, keys[name])
                }
            }
            switch table {
            case .success(var table):
                if name == "pk", case .failure(let damage) = found { table.damage = damage }
                tables.append(table)
            case .failure(let damage):
                let key = (try? tops.all[index].get().key) ?? -1
                tables.append(
                    RealmFileTable(
                        name: tops.classNames[index], tableName: name, index: index, kind: .topLevel, properties: [],
                        primaryKeyIndex: nil, objectCount: 0, damage: damage,
                        layout: .clusters(key: key, root: nil, columns: [])))
            }
        }
        return tables
    }

    /// The top array of a table, before the targets of its links are known.
    struct TableTop {
        let name: String
        let node: Node
        let elements: [Int64]
        let key: Int64
    }

    /// The top arrays of all tables.
    struct TableTops {
        let all: [Result<TableTop, RealmFileError>]
        /// The names in the file.
        let names: [String]
        /// The names for programs; see `RealmFileTable.name`.
        let classNames: [String]
        private var byPlace: [Int64: Int] = [:]
        private var byKey: [Int64: Int] = [:]
        private var damagedByPlace: [Int64: Int] = [:]

        /// `places`: the indexes in the file's array of tables.
        init(_ tops: [Result<TableTop, RealmFileError>], names: [String], places: [Int]) {
            all = tops
            self.names = names
            classNames = RealmSchemaReader.classNames(names)
            for (index, place) in places.enumerated() {
                byPlace[Int64(place)] = index
                switch tops[index] {
                case .success(let top): byKey[top.key] = index
                case .failure: damagedByPlace[Int64(place)] = index
                }
            }
        }

        /// The index of the table at that index of the file's array of tables.
        func index(ofPlace place: Int64) -> Int? { byPlace[place] }
        /// The lower 16 bits of a key are the index in the file's array of tables.
        func index(ofKey key: Int64) -> Int? { byKey[key] ?? damagedByPlace[key & 0xffff] }
    }

    private func checkUpgrade(_ names: [String], _ refs: [Int64]) throws(RealmFileError) {
        guard isLegacy, names.contains("!UPDATE_PROGRESS") else { return }
        throw Self.unfinishedUpgrade
    }

    private static let unfinishedUpgrade = RealmFileError(
        .unfinishedUpgrade,
        "Realm began to upgrade it from format 9 and did not finish, so it holds parts of two formats. Use the copy "
            + "\"NAME.v9.backup.realm\" beside it, or finish the upgrade with an SDK of Realm up to 10.48")

    private func tableTop(_ ref: Int, _ place: Int, _ name: String) throws(RealmFileError) -> TableTop {
        let node = try reader.node(ref)
        let elements = try reader.refs(node)
        if isLegacy {
            guard elements.count <= 3 else { throw Self.unfinishedUpgrade }
            guard elements.count >= 2 else { throw .damaged(ref, "a table lacks a part") }
            return TableTop(name: name, node: node, elements: elements, key: Int64(place))
        }
        guard elements.count >= 9 else { throw .damaged(ref, "a table lacks a part") }
        if elements[1] != 0 { throw Self.unfinishedUpgrade }
        let key = try reader.tagged(elements[3], of: node)
        guard key & 0xffff == Int64(place) else { throw .damaged(ref, "a table has the key of another one") }
        return TableTop(name: name, node: node, elements: elements, key: key)
    }

    // MARK: Tables

    private func table(
        _ top: TableTop, _ index: Int, _ tops: TableTops, _ legacyPrimaryKey: String?
    ) throws(RealmFileError) -> RealmFileTable {
        let spec = try isLegacy ? legacySpec(top.elements[0], top.node, tops) : self.spec(top, tops)
        var primaryKey: Int?
        var kind = RealmFileTable.Kind.topLevel
        let layout: TableLayout
        let count: Int
        if isLegacy {
            primaryKey = spec.names.firstIndex { $0 == legacyPrimaryKey }
            let roots =
                try reader.ref(top.elements[1], of: top.node).map { ref throws(RealmFileError) in
                    try reader.refs(at: ref)
                } ?? []
            layout = .columns(spec.columns, roots: roots, node: top.node.ref)
            count = try RowsBefore10.count(reader, spec.columns, roots, top.node)
        } else {
            if top.elements.count > 11, top.elements[11] & 1 == 1 {
                let key = try reader.tagged(top.elements[11], of: top.node)
                primaryKey = spec.keys.firstIndex(of: key)
            }
            if top.elements.count > 12, top.elements[12] & 1 == 1 {
                kind =
                    [.topLevel, .embedded, .asymmetric, .topLevel][
                        Int(try reader.tagged(top.elements[12], of: top.node) & 3)]
            }
            let root = try reader.ref(top.elements[2], of: top.node)
            layout = .clusters(key: top.key, root: root, columns: spec.columns)
            count = try root.map { root throws(RealmFileError) in try ClusterCursor.count(reader, root: root) } ?? 0
        }
        let names = Self.distinct(spec.names)
        var properties: [RealmFileProperty] = []
        for (place, column) in spec.columns.enumerated() {
            properties.append(
                property(
                    column, name: names[place], storedName: spec.names[place], isPrimaryKey: place == primaryKey, tops))
        }
        return RealmFileTable(
            name: tops.classNames[index], tableName: top.name, index: index, kind: kind, properties: properties,
            primaryKeyIndex: primaryKey, objectCount: count, layout: layout)
    }

    /// The names of tables for programs. Classes keep theirs.
    static func classNames(_ tableNames: [String]) -> [String] {
        let prefix = RealmFileTable.classPrefix
        var taken = Set(tableNames.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) })
        return tableNames.enumerated().map { index, tableName in
            if tableName.hasPrefix(prefix), tableName.count > prefix.count {
                return String(tableName.dropFirst(prefix.count))
            }
            var name = tableName.isEmpty || tableName == prefix ? "table_\(index)" : tableName
            while !taken.insert(name).inserted { name += "_\(index)" }
            return name
        }
    }

    /// Makes names unique: the number of the column is added to empty and repeated names.
    private static func distinct(_ names: [String]) -> [String] {
        var taken: Set<String> = []
        return names.enumerated().map { index, name in
            var result = name.isEmpty ? "col_\(index)" : name
            while !taken.insert(result).inserted { result = "\(result)_\(index)" }
            return result
        }
    }

    private func property(
        _ column: FileColumn, name: String, storedName: String, isPrimaryKey: Bool, _ tops: TableTops
    ) -> RealmFileProperty {
        var collection = RealmFileProperty.Collection.none
        if column.attributes.contains(.list) { collection = .list }
        if column.attributes.contains(.set) { collection = .set }
        if column.attributes.contains(.dictionary) { collection = .dictionary }
        var (type, isOptional) = (Self.valueType(column, tops), column.attributes.contains(.nullable))
        switch column.type {
        case .linkList: collection = .list
        case .subtable:
            collection = .list
            // A list of values is a table with one column.
            if column.rowColumns.count == 1 {
                type = Self.valueType(column.rowColumns[0], tops)
                isOptional = column.rowColumns[0].attributes.contains(.nullable)
            }
        case .link where collection == .none: isOptional = true
        case .mixed: isOptional = true
        default: break
        }
        return RealmFileProperty(
            name: name, storedName: storedName, type: type, collection: collection, isOptional: isOptional,
            isPrimaryKey: isPrimaryKey, isIndexed: column.attributes.contains(.indexed) || isPrimaryKey,
            hasFullTextIndex: column.attributes.contains(.fullText))
    }

    private static func valueType(_ column: FileColumn, _ tops: TableTops) -> RealmFileProperty.ValueType {
        switch column.type {
        case .int: .int
        case .bool: .bool
        case .float: .float
        case .double: .double
        case .string, .internedString: .string
        case .data: .data
        case .date, .oldDate: .date
        case .decimal: .decimal
        case .objectId: .objectId
        case .uuid: .uuid
        case .link, .linkList: .link(column.targetTable.map { tops.classNames[$0] } ?? "")
        case .subtable: .rows
        default: .any
        }
    }

    // MARK: Specs

    private struct Spec {
        var names: [String] = []
        var columns: [FileColumn] = []
        var keys: [Int64] = []
    }

    private func spec(_ top: TableTop, _ tops: TableTops) throws(RealmFileError) -> Spec {
        let node = try reader.node(top.elements[0], of: top.node)
        let parts = try reader.refs(node)
        guard parts.count == 6 else {
            throw .damaged(node.ref, "the list of columns has \(parts.count) parts instead of 6")
        }
        let types = try reader.integers(reader.node(parts[0], of: node))
        let names = try reader.names(reader.node(parts[1], of: node))
        let attributes = try reader.integers(reader.node(parts[2], of: node))
        let interned =
            try reader.ref(parts[4], of: node).map { ref throws(RealmFileError) in try reader.refs(at: ref) } ?? []
        let keys = try reader.integers(reader.node(parts[5], of: node))
        let targets = try reader.integers(reader.node(top.elements[7], of: top.node))
        guard types.count >= keys.count, attributes.count >= keys.count else {
            throw .damaged(node.ref, "the parts of the list of columns differ in length")
        }
        var spec = Spec()
        for (place, key) in keys.enumerated() {
            var type = try Self.type((key >> 16) & 0x3f, node)
            if type == .backlink { continue }
            var attribute = FileAttributes(rawValue: (key >> 22) & 0xff)
            if type == .linkList {
                type = .link
                attribute.insert(.list)
            }
            attribute.formUnion(FileAttributes(rawValue: attributes[place]).intersection([.indexed, .fullText]))
            guard place < names.count else { throw .damaged(node.ref, "a column has no name") }
            let index = Int(key & 0xffff)
            var target: Int?
            if type == .link {
                guard index < targets.count else { throw .damaged(node.ref, "a link leads to no table") }
                target = tops.index(ofKey: targets[index])
                guard target != nil else { throw .damaged(node.ref, "the links of '\(names[place])' lead to no table") }
            }
            var internedRef: Int?
            if place < interned.count { internedRef = try reader.ref(interned[place], of: node) }
            let keyType = attribute.contains(.dictionary) ? FileType(rawValue: types[place] >> 16) ?? .string : .string
            spec.names.append(names[place])
            spec.keys.append(key)
            spec.columns.append(
                FileColumn(
                    type: type, attributes: attribute, index: index, targetTable: target, keyType: keyType,
                    internedRef: internedRef, rowColumns: []))
        }
        return spec
    }

    private static func type(_ number: Int64, _ node: Node) throws(RealmFileError) -> FileType {
        guard let type = FileType(rawValue: number) else {
            throw .damaged(node.ref, "a column has the unknown type \(number)")
        }
        return type
    }

    private func legacySpec(
        _ element: Int64, _ parent: Node, _ tops: TableTops, depth: Int = 0
    ) throws(RealmFileError) -> Spec {
        let node = try reader.node(element, of: parent)
        guard depth < 8 else { throw .damaged(node.ref, "tables are nested too deep") }
        let parts = try reader.refs(node)
        guard parts.count >= 3 else { throw .damaged(node.ref, "the list of columns has \(parts.count) parts") }
        guard parts.count <= 5 else { throw Self.unfinishedUpgrade }
        let types = try reader.integers(reader.node(parts[0], of: node))
        let names = try reader.names(reader.node(parts[1], of: node))
        let attributes = try reader.integers(reader.node(parts[2], of: node))
        guard attributes.count >= types.count else {
            throw .damaged(node.ref, "the parts of the list of columns differ in length")
        }
        if names.contains("!ROW_INDEX") { throw Self.unfinishedUpgrade }
        var targets = try parts.count > 3 ? list(parts[3], node) : [][...]
        var interned = try parts.count > 4 ? list(parts[4], node) : [][...]
        func next(_ list: inout ArraySlice<Int64>) throws(RealmFileError) -> Int64 {
            guard let first = list.popFirst() else {
                throw .damaged(node.ref, "the list of columns lacks the target of a column")
            }
            return first
        }
        var spec = Spec()
        var position = 0
        for (place, number) in types.enumerated() {
            let type = try Self.type(number, node)
            let attribute = FileAttributes(rawValue: attributes[place])
            var (target, internedRef, rows): (Int?, Int?, [FileColumn]) = (nil, nil, [])
            switch type {
            case .internedString: internedRef = try reader.ref(next(&interned), of: node)
            case .subtable: rows = try legacySpec(next(&targets), node, tops, depth: depth + 1).columns
            case .link, .linkList:
                let place = try reader.tagged(next(&targets), of: node)
                target = tops.index(ofPlace: place)
                guard target != nil else { throw .damaged(node.ref, "a link leads to no table") }
            case .backlink: _ = try (next(&targets), next(&targets))
            default: break
            }
            if type != .backlink {
                guard place < names.count else { throw .damaged(node.ref, "a column has no name") }
                spec.names.append(names[place])
                spec.columns.append(
                    FileColumn(
                        type: type, attributes: attribute, index: position, targetTable: target, keyType: .string,
                        internedRef: internedRef, rowColumns: rows))
            }
            // The root of a column's index follows that of the column.
            position += attribute.contains(.indexed) ? 2 : 1
        }
        return spec
    }

    private func list(_ element: Int64, _ node: Node) throws(RealmFileError) -> ArraySlice<Int64> {
        try reader.ref(element, of: node).map { ref throws(RealmFileError) in try reader.refs(at: ref) }.map { $0[...] }
            ?? []
    }

    // MARK: Primary keys up to format 9

    /// The primary key properties by table name. The table `pk` has a row for each class.
    private func primaryKeys(_ tops: TableTops) throws(RealmFileError) -> [String: String] {
        guard isLegacy, let index = tops.names.firstIndex(of: "pk") else { return [:] }
        let top = try tops.all[index].get()
        let spec = try legacySpec(top.elements[0], top.node, tops)
        guard let table = spec.names.firstIndex(of: "pk_table"), let property = spec.names.firstIndex(of: "pk_property")
        else { return [:] }
        let roots =
            try reader.ref(top.elements[1], of: top.node).map { ref throws(RealmFileError) in try reader.refs(at: ref) }
            ?? []
        var cursor = try RowsBefore10(reader, spec.columns, roots, top.node)
        var keys: [String: String] = [:]
        while let rows = try cursor.next() {
            for row in 0..<rows.count {
                guard case .string(let name) = try rows.value(reader, table, row),
                    case .string(let key) = try rows.value(reader, property, row)
                else { continue }
                keys[RealmFileTable.classPrefix + name] = key
            }
        }
        return keys
    }
}

/// Runs `body`, and adds `location` to an error that has none.
func locating<Result>(
    _ location: @autoclosure () -> String, _ body: () throws(RealmFileError) -> Result
) throws(RealmFileError) -> Result {
    do throws(RealmFileError) {
        return try body()
    } catch {
        var error = error
        if error.location == nil { error.location = location() }
        throw error
    }
}
