// SPDX-License-Identifier: Apache-2.0
// A file with every kind of block and index, made below the object layer, whose blocks are all known: two row groups
// below a node, an index of each kind, and one object with long values and large collections.

import Foundation
import RegnumEngine
import RegnumSystem
import Testing

enum BlockFile {
    static let rows = 1100
    /// Values of object 1 in blocks of their own, three of them below element nodes.
    static let longValues = 5
    static let nodes = 3
    static let key = Data((0..<64).map { UInt8($0) })

    private static let columns: [NewColumn] = [
        NewColumn(name: "id", type: .int, isPrimaryKey: true),
        NewColumn(name: "name", type: .string, isIndexed: true),
        NewColumn(name: "text", type: .string, isContentIndexed: true),
        NewColumn(name: "place", type: .double, collection: .list, isContentIndexed: true),
        NewColumn(name: "code", type: .int),
        NewColumn(name: "link", type: .link, targetName: "All"),
        NewColumn(name: "long", type: .string, isNullable: true),
        NewColumn(name: "any", type: .mixed, isNullable: true),
        NewColumn(name: "numbers", type: .int, collection: .list),
        NewColumn(name: "texts", type: .string, collection: .set),
        NewColumn(name: "entries", type: .mixed, collection: .dictionary, isNullable: true),
    ]

    static func open(_ url: URL, _ key: Data? = nil) throws -> Database {
        var options = Database.OpenOptions()
        options.checksSmallFiles = false
        options.encryptionKey = key?.withUnsafeBytes { EncryptionKey($0) }
        // Small limits make element nodes from a few hundred elements.
        options.elementTreeLimits.leafByteCount = 300
        return try Database.openAsOtherProcess(
            path: url.path, fileSystem: PosixFileSystem.shared, options: options)
    }

    /// The large table in one commit, and two more that do not change it: damage of the last commit would be taken for
    /// an incomplete commit.
    static func make(_ url: URL, _ key: Data?) throws {
        let session = try open(url, key).makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(name: "All", columns: columns),
            NewTable(name: "Other", columns: [NewColumn(name: "n", type: .int)]),
        ])
        var definition = try #require(session.table(named: "All")).definition
        let code = definition.columns[4].key
        definition.uniques = [UniqueDefinition(key: ColumnKey(definition.nextColumnKey), columns: [code])]
        definition.nextColumnKey += 1
        try session.reshape([definition])
        let table = try #require(session.table(named: "All"))
        for i in 0..<rows { try insert(i, table) }
        try session.commitWrite()
        for i in 0..<2 {
            try session.beginWrite()
            let other = try #require(session.table(named: "Other"))
            let row = try other.insertRow()
            let key = row.key
            try other.finishInsert(row)
            try other.set(.int(Int64(i)), 0, of: key)
            try session.commitWrite()
        }
    }

    /// All at once, so that its row group is sealed once. The link points to the object itself.
    private static func insert(_ i: Int, _ table: Table) throws {
        let row = try table.insertRow()
        let key = row.key
        try table.finishInsert(row)
        try table.set(.int(Int64(i)), 0, of: key)
        try table.set(.string("name \(i)"), 1, of: key)
        try table.set(.string("alpha word\(i)"), 2, of: key)
        try table.set(.int(Int64(1000 + i)), 4, of: key)
        try table.set(.link(key), 5, of: key)
        if i == 0 { try setLong(table, key) }
        guard i % 10 == 0 else { return }
        try table.listInsert([.double(Double(i % 90)), .double(7)], 3, of: key, at: 0)
        // Reading links ends the change of the list, which would change its row group again later.
        _ = try table.backlinks(to: key, from: table, column: 5)
    }

    private static func setLong(_ table: Table, _ key: ObjectKey) throws {
        let long = String(repeating: "long ", count: 700)
        try table.set(.string(long), 6, of: key)
        try table.set(.string(long), 7, of: key)
        try table.listInsert((0..<200).map { Value.int(Int64($0) * 1_000_003) }, 8, of: key, at: 0)
        for k in 0..<100 {
            _ = try table.setInsert(.string("element \(k)"), 9, of: key)
            try table.dictionarySet("key \(k)", .int(Int64(k)), 10, of: key)
        }
    }

    /// Each object's values by its number; for links, whether they point to the object itself.
    static func values(_ url: URL, _ key: Data?) throws -> [Int64: [Value]] {
        let session = try open(url, key).makeSession()
        let table = try #require(session.table(named: "All"))
        var rows: [Int64: [Value]] = [:]
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                var values: [Value] = []
                for (column, definition) in table.definition.columns.enumerated() {
                    switch definition.collection {
                    case .none:
                        let value = try table.value(column, at: location)
                        values.append(definition.type == .link ? .bool(value == .link(location.key)) : value)
                    case .list, .set: values.append(.list(try table.listValues(column, at: location)))
                    case .dictionary: values.append(.dictionary(try table.dictionaryEntries(column, of: location.key)))
                    }
                }
                if case .int(let id) = values[0] { rows[id] = values }
            }
            return true
        }
        return rows
    }

    struct Block {
        var page: Int
        var pageCount: Int
        var kind: BlockKind
        var birth: UInt64
        /// The number of rows of a row group.
        var rows: Int
    }

    /// The blocks that begin at these pages of a plain file; nil means all pages.
    static func blocks(_ url: URL, at pages: Set<UInt64>? = nil) throws -> [Block] {
        let data = try Data(contentsOf: url)
        return data.withUnsafeBytes { bytes in
            (16..<bytes.count / 4096).compactMap { page in
                let at = page * 4096
                guard pages?.contains(UInt64(page)) ?? true, bytes[at] == 0x52, bytes[at + 1] == 0x42,
                    bytes.loadUnaligned(fromByteOffset: at + 8, as: UInt64.self) == UInt64(page),
                    let kind = BlockKind(rawValue: bytes[at + 2])
                else { return nil }
                return Block(
                    page: page, pageCount: Int(bytes.loadUnaligned(fromByteOffset: at + 4, as: UInt16.self)) + 1,
                    kind: kind, birth: bytes.loadUnaligned(fromByteOffset: at + 16, as: UInt64.self),
                    rows: Int(bytes.loadUnaligned(fromByteOffset: at + 32, as: UInt16.self)))
            }
        }
    }

    /// Pages that the newest version needs.
    static func pages(_ url: URL, _ key: Data?) throws -> Set<UInt64> {
        try BlockTraversal.pages(try open(url, key).makeSession())
    }

    static func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("blocks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }
}
