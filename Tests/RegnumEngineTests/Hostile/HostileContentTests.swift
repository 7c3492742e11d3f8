// SPDX-License-Identifier: Apache-2.0
// The hostile file contains every feature: these tests fail if a new column type, collection, index, constraint or rule
// is missing, because then damage has never reached it.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct HostileContentTests {
    private static func open() throws -> Database {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: HostileFile.path, HostileFile.good.bytes)
        return try Database.open(path: HostileFile.path, fileSystem: files)
    }

    /// The features of a table that the file must contain.
    private static func parts(of table: TableDefinition) -> Set<String> {
        var parts: Set<String> = []
        if table.isEmbedded { parts.insert("embedded") }
        for column in table.columns {
            parts.insert("\(column.collection) of \(column.type)")
            parts.insert("\(column.isNullable ? "nulls" : "no nulls") in \(column.collection)")
            if column.isIndexed { parts.insert("index of \(column.type)") }
            if column.isContentIndexed { parts.insert("contents of \(column.collection) of \(column.type)") }
            if column.isHidden { parts.insert("hidden") }
            parts.insert("delete rule \(column.deleteRule)")
            parts.insert("origin rule \(column.originRule)")
        }
        for unique in table.uniques {
            let columns = table.columns.filter { unique.columns.contains($0.key) }
            if columns.count > 1 {
                for column in columns { parts.insert("unique together with \(column.type)") }
            } else {
                let isIndexed = columns.contains { $0.isIndexed || $0.isPrimaryKey }
                parts.insert(isIndexed ? "unique by an index" : "unique by a tree")
            }
        }
        return parts
    }

    private static var needed: Set<String> {
        var needed: Set<String> = [
            "embedded", "hidden", "contents of none of string", "contents of list of string",
            "contents of list of double", "unique by an index", "unique by a tree",
        ]
        let kinds = (0...UInt8.max).compactMap { CollectionKind(rawValue: $0) }
        for kind in kinds {
            for type in ColumnType.allCases { needed.insert("\(kind) of \(type)") }
            needed.formUnion(["nulls in \(kind)", "no nulls in \(kind)"])
        }
        for type in ColumnType.allCases {
            let column = ColumnDefinition(key: ColumnKey(1), name: "", type: type)
            if column.mayBeIndexed { needed.insert("index of \(type)") }
            if column.mayBeUnique { needed.insert("unique together with \(type)") }
        }
        for rule in LinkRule.allCases { needed.formUnion(["delete rule \(rule)", "origin rule \(rule)"]) }
        return needed
    }

    @Test("The file contains every type in every collection, every index, constraint, rule, tree and form of keys")
    func completeness() throws {
        let database = try Self.open()
        let session = try database.makeSession()
        var missing = Self.needed
        for table in session.tables { missing.subtract(Self.parts(of: table.definition)) }
        #expect(missing == [])
        // HistoryDamageTests have a file with a history.
        #expect(Set(Feature.known.map(\.name)).subtracting(session.features.map(\.name)) == ["history"])

        let root = database.versions.newest.catalog
        let catalog = try Catalog.read(root, try database.reader.bytes(root))
        let roles = Set(catalog.tables.flatMap(\.trees).filter { !$0.root.isNone }.map(\.role.rawValue))
        #expect(Set((0...UInt32(64)).filter { TreeRole(rawValue: $0) != nil }).subtracting(roles) == [])

        let file = HostileFile.good
        let groups = file.usedBlocks.filter { file.kind($0) == BlockKind.rowGroup.rawValue }
        let forms = Set(groups.map { file.bytes[$0 * 4096 + 34] })
        #expect(Set((0...UInt8.max).filter { KeyForm(rawValue: $0) != nil }).subtracting(forms) == [])
    }

    @Test("Its mixed values are nested, and its large collections have blocks of their own")
    func depth() throws {
        let session = try Self.open().makeSession()
        let all = try #require(session.table(named: "All"))
        let column = try #require(all.definition.columns.firstIndex { $0.type == .mixed && $0.collection == .none })
        #expect(Self.depth(try all.value(column, of: ObjectKey(5))) == 4)
        let large = try #require(session.table(named: "Large"))
        for column in 0..<2 { #expect(try large.listCount(column, of: ObjectKey(1)) == 60) }
        #expect(try large.measureSpace().blobBytes >= 8 << 12)
    }

    private static func depth(_ value: Value) -> Int {
        switch value {
        case .list(let values): 1 + (values.map { depth($0) }.max() ?? 0)
        case .dictionary(let entries): 1 + (entries.map { depth($0.value) }.max() ?? 0)
        default: 0
        }
    }
}
