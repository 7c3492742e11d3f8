// SPDX-License-Identifier: Apache-2.0
// Schemas and catalogs with valid checksums that no writer makes: each is refused when it is read.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct HostileSchemaTests {
    /// The reason why a schema block of these tables is refused; nil if it is accepted.
    private static func refusal(_ tables: [TableDefinition]) -> String? {
        var schema = SchemaBlock()
        schema.tables = tables
        schema.settleFeatures()
        var writer = ByteWriter()
        schema.write(&writer)
        return refusal(.schema, writer) { ref, bytes throws(EngineError) in _ = try SchemaBlock.read(ref, bytes) }
    }

    private static func refusal(_ catalog: Catalog) -> String? {
        var writer = ByteWriter()
        catalog.write(&writer)
        return refusal(.catalog, writer) { ref, bytes throws(EngineError) in _ = try Catalog.read(ref, bytes) }
    }

    private static func refusal(
        _ kind: BlockKind, _ writer: ByteWriter,
        _ read: (BlockRef, UnsafeRawPointer) throws(EngineError) -> Void
    ) -> String? {
        let pages = (writer.bytes.count + BlockHeader.byteCount) / 4096 + 1
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: pages << 12, alignment: 16)
        defer { block.deallocate() }
        block.initializeMemory(as: UInt8.self, repeating: 0)
        let start = block.baseAddress.unsafelyUnwrapped
        for (i, byte) in writer.bytes.enumerated() {
            start.storeBytes(of: byte, toByteOffset: BlockHeader.byteCount + i, as: UInt8.self)
        }
        let ref = BlockRef(
            location: 20 << 16 | UInt64(pages - 1), birth: 1, tagLow: 0, tagHigh: 0,
            info: BlockRef.info(kind, rows: 0))
        do throws(EngineError) {
            try read(ref, UnsafeRawPointer(start))
            return nil
        } catch {
            guard case .corrupted(let corruption) = error else { return "\(error)" }
            return corruption.what
        }
    }

    private static func table(
        _ key: UInt32, _ name: String, _ columns: [ColumnDefinition] = [], next: UInt32 = 10
    ) -> TableDefinition {
        TableDefinition(
            key: TableKey(key), name: name, isEmbedded: false, columns: columns, nextColumnKey: next)
    }

    private static func column(
        _ key: UInt32, _ name: String, _ type: ColumnType, _ collection: CollectionKind = .none,
        isIndexed: Bool = false, isPrimaryKey: Bool = false, target: UInt32? = nil
    ) -> ColumnDefinition {
        ColumnDefinition(
            key: ColumnKey(key), name: name, type: type, collection: collection, isIndexed: isIndexed,
            isPrimaryKey: isPrimaryKey, target: target.map { TableKey($0) })
    }

    @Test("Schemas that writers make are accepted")
    func goodSchemas() {
        #expect(Self.refusal([] as [TableDefinition]) == nil)
        #expect(Self.refusal([Self.table(1, "Empty", next: 1)]) == nil)
        let indexed: [ColumnType] = [.bool, .int, .string, .date, .objectID, .uuid, .mixed]
        let columns = indexed.enumerated().map { i, type in
            Self.column(UInt32(i + 1), "\(type)", type, isIndexed: true)
        }
        var later = Self.table(5, "Later", [Self.column(3, "to", .link, target: 2)])
        later.uniques = [UniqueDefinition(key: ColumnKey(4), columns: [ColumnKey(3)])]
        #expect(Self.refusal([Self.table(2, "All", columns), later]) == nil)
    }

    // An index of links or doubles once read bytes after the column.
    @Test(
        "An index of a type that cannot be indexed is refused",
        arguments: [ColumnType.link, .float, .double, .decimal128])
    func indexedType(type: ColumnType) {
        for isPrimaryKey in [false, true] {
            let column = Self.column(1, "a", type, isIndexed: !isPrimaryKey, isPrimaryKey: isPrimaryKey, target: 1)
            #expect(Self.refusal([Self.table(1, "T", [column])]) == "a column that cannot have an index has one")
        }
    }

    @Test("An index of a collection is refused")
    func indexedCollection() {
        let column = Self.column(1, "a", .uuid, .list, isIndexed: true)
        #expect(Self.refusal([Self.table(1, "T", [column])]) == "a column that cannot have an index has one")
    }

    // The next key overflowed, or belonged to a column; a column's type then seemed to have changed.
    @Test("Duplicate keys, and a next key that is in use, are refused")
    func columnKeys() {
        let (a, b) = (Self.column(1, "a", .int), Self.column(1, "b", .string))
        #expect(Self.refusal([Self.table(1, "T", [a, b])]) == "a column has a key that is not its own")
        #expect(Self.refusal([Self.table(1, "T", [a], next: 1)]) == "a column has a key that is not its own")
        #expect(Self.refusal([Self.table(1, "T", [a], next: .max)]) == "a table has no next column key")
        let c = Self.column(2, "a", .int)
        #expect(Self.refusal([Self.table(1, "T", [a, c])]) == "two columns share a name")
        var unique = Self.table(1, "T", [a], next: 2)
        unique.uniques = [UniqueDefinition(key: ColumnKey(2), columns: [ColumnKey(1)])]
        #expect(Self.refusal([unique]) == "a unique constraint has a key that is not its own")
    }

    // Salvage recreates the tables and once trapped on these.
    @Test("Tables with the same key or name, and links to a missing table, are refused")
    func tables() {
        #expect(Self.refusal([Self.table(1, "T"), Self.table(1, "U")]) == "two tables share a key or a name")
        #expect(Self.refusal([Self.table(1, "T"), Self.table(2, "T")]) == "two tables share a key or a name")
        for target in [nil, 7] as [UInt32?] {
            let column = Self.column(1, "a", .link, target: target)
            #expect(Self.refusal([Self.table(1, "T", [column])]) == "a column links to no table")
        }
    }

    // Each column of a constraint was once searched for in all columns of the table: hours for 65,000 of both.
    @Test("A constraint of very many columns is read in bounded time")
    func wideConstraint() {
        let columns = (1...65_000).map { Self.column(UInt32($0), "\($0)", .int) }
        var table = Self.table(1, "T", columns, next: 70_000)
        table.uniques = [UniqueDefinition(key: ColumnKey(65_001), columns: columns.map(\.key))]
        let begin = ThreadTime.seconds
        #expect(Self.refusal([table]) == nil)
        #expect(ThreadTime.seconds - begin < (RunScale.isOptimized ? 2 : 30))
    }

    @Test("A catalog with a next key in use, or more entries than any tree, is refused")
    func catalogs() {
        var catalog = Catalog()
        let tree = TreeRecord(column: ColumnKey(1), role: .index, count: 1, root: .none)
        let table = TableRecord(key: TableKey(1), nextObjectKey: 2, count: 1, root: .none, trees: [tree])
        catalog.tables = [table]
        catalog.nextTableKey = 2
        #expect(Self.refusal(catalog) == nil)
        catalog.nextTableKey = 1
        #expect(Self.refusal(catalog) == "a table has a key that is not its own")
        catalog.nextTableKey = .max
        #expect(Self.refusal(catalog) == "the catalog has no next table key")
        catalog.nextTableKey = 2
        catalog.tables = [table, table]
        #expect(Self.refusal(catalog) == "a table has a key that is not its own")
        catalog.tables = [table]
        catalog.tables[0].trees[0].count = 1 << 62
        #expect(Self.refusal(catalog) == "a tree has impossible counts")
    }

    // Memory was once reserved for the number of objects in the catalog: 2^50 ended the process.
    @Test("A table with more objects than the file can hold is refused when it is loaded")
    func objectCount() throws {
        var file = HostileFile.good
        let catalogs = file.usedBlocks.filter { file.kind($0) == BlockKind.catalog.rawValue }
        for page in catalogs {
            // The first table's count, in every catalog, so that no older one is opened instead.
            file.bytes.withUnsafeMutableBytes {
                $0.storeBytes(of: UInt64(1) << 50, toByteOffset: page * 4096 + 92 + 16, as: UInt64.self)
                $0.storeBytes(of: (UInt64(1) << 50) + 1, toByteOffset: page * 4096 + 92 + 8, as: UInt64.self)
            }
            file.retag(page)
        }
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: HostileFile.path, file.bytes)
        var options = Database.OpenOptions()
        options.checksSmallFiles = false
        let database = try Database.open(path: HostileFile.path, fileSystem: files, options: options)
        let error = #expect(throws: EngineError.self) { _ = try database.makeSession() }
        guard case .corrupted(let corruption)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(corruption.what == "a table has more objects than the file can hold")
    }

    // As many keys may be collected as the recorded number of entries of an index.
    @Test("An index with more entries than the file can hold objects is refused when it is loaded")
    func indexCount() throws {
        var file = HostileFile.good
        var changed = 0
        for page in file.usedBlocks where file.kind(page) == BlockKind.catalog.rawValue {
            // The first tree of the first table: its role and its number of entries.
            let tree = page * 4096 + 92 + 64
            guard file.bytes[tree + 4] == UInt8(TreeRole.index.rawValue) else { continue }
            file.bytes.withUnsafeMutableBytes { $0.storeBytes(of: 1 << 40, toByteOffset: tree + 8, as: UInt64.self) }
            file.retag(page)
            changed += 1
        }
        try #require(changed > 0)
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: HostileFile.path, file.bytes)
        var options = Database.OpenOptions()
        options.checksSmallFiles = false
        let database = try Database.open(path: HostileFile.path, fileSystem: files, options: options)
        let error = try #require(throws: EngineError.self) { _ = try database.makeSession() }
        #expect("\(error)".contains("an index has more entries than the file can hold objects"))
    }
}
