// SPDX-License-Identifier: Apache-2.0
// Breaks each law that the integrity check proves. The finding has the law's number in `Documentation/FORMAT.md`, the
// path to the damage, and the first affected object. A commit that omits maintenance breaks rows and trees; new bytes
// with fresh checksums break blocks. Law 12 is tested in `OwnershipTests`, constraint violations in
// `UniqueConstraintTests`.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct IntegrityLawTests {
    private static let columns: [NewColumn] = [
        NewColumn(name: "id", type: .int, isPrimaryKey: true),
        NewColumn(name: "name", type: .string, isIndexed: true),
        NewColumn(name: "text", type: .string, isContentIndexed: true),
        NewColumn(name: "place", type: .double, collection: .list, isContentIndexed: true),
        NewColumn(name: "code", type: .int),
        NewColumn(name: "link", type: .link, targetName: "Row"),
        NewColumn(name: "any", type: .mixed, isNullable: true),
        NewColumn(name: "set", type: .int, collection: .set),
        NewColumn(name: "list", type: .int, collection: .list),
        NewColumn(name: "dictionary", type: .int, collection: .dictionary),
        NewColumn(name: "plain", type: .string),
    ]
    private enum Column {
        static let id = 0
        static let name = 1
        static let text = 2
        static let place = 3
        static let code = 4
        static let link = 5
        static let mixed = 6
        static let elements = 7
        static let list = 8
        static let entries = 9
        static let plain = 10
    }

    /// 20 objects with every kind of column, keys from 1, and a table of two row groups below a node.
    private static let good: HostileFile = {
        do { return try HostileFile(write()) } catch { fatalError("\(error)") }
    }()

    private static func write() throws -> [UInt8] {
        let files = SimulatedFileSystem(seed: 3, reservedByteCount: 64 << 20)
        var options = Database.OpenOptions()
        // Small limits make an element node from a few hundred elements.
        options.elementTreeLimits.leafByteCount = 300
        options.elementTreeLimits.fanOut = 5
        let session = try Database.open(path: HostileFile.path, fileSystem: files, options: options).makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(name: "Row", columns: columns),
            NewTable(name: "Many", columns: [NewColumn(name: "n", type: .int)]),
        ])
        var definition = try #require(session.table(named: "Row")).definition
        let code = definition.columns[Column.code].key
        definition.uniques = [UniqueDefinition(key: ColumnKey(definition.nextColumnKey), columns: [code])]
        definition.nextColumnKey += 1
        try session.reshape([definition])
        let rows = try #require(session.table(named: "Row"))
        // Links can only be set when all objects exist.
        for i in 0..<20 {
            _ = try DatabaseTests.insert(
                rows, [.int(Int64(i)), .string("name \(i)"), .string("alpha word\(i)")])
            try rows.set(.int(Int64(100 + i)), Column.code, of: ObjectKey(UInt64(i + 1)))
        }
        for i in 0..<20 { try fill(rows, i) }
        let many = try #require(session.table(named: "Many"))
        for i in 0..<1100 { _ = try DatabaseTests.insert(many, [.int(Int64(i))]) }
        try session.commitWrite()
        // These commits free pages, and keep damage of the first commit from being taken for an incomplete commit.
        for i in 0..<3 {
            try session.beginWrite()
            try #require(session.table(named: "Row")).set(.string("plain \(i)"), Column.plain, of: ObjectKey(20))
            try session.commitWrite()
        }
        return try #require(files.contents(of: HostileFile.path))
    }

    private static func fill(_ rows: Table, _ i: Int) throws {
        let key = ObjectKey(UInt64(i + 1))
        try rows.listInsert([.double(Double(i)), .double(Double(2 * i))], Column.place, of: key, at: 0)
        if i < 19 { try rows.set(.link(ObjectKey(UInt64(i + 2))), Column.link, of: key) }
        try rows.set(.int(Int64(i)), Column.mixed, of: key)
        for element in [1, 2, 10 + i] { _ = try rows.setInsert(.int(Int64(element)), Column.elements, of: key) }
        try rows.dictionarySet("key", .int(Int64(i)), Column.entries, of: key)
        try rows.set(.string("plain"), Column.plain, of: key)
        if i == 0 {
            let elements = (0..<200).map { Value.int(Int64($0) * 1_000_003) }
            try rows.listInsert(elements, Column.list, of: key, at: 0)
        }
    }

    // MARK: Breaking

    private static func open(_ file: HostileFile) throws -> Database {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: HostileFile.path, file.bytes)
        var options = Database.OpenOptions()
        options.checksSmallFiles = false
        return try Database.open(path: HostileFile.path, fileSystem: files, options: options)
    }

    /// The findings after a commit with this change to the rows, and the block that then holds the rows.
    private static func findings(
        after change: (Table) throws -> Void
    ) throws -> (findings: [Finding], block: String) {
        let database = try open(good)
        let session = try database.makeSession()
        try session.beginWrite()
        let rows = try #require(session.table(named: "Row"))
        try rows.set(.string("changed"), Column.plain, of: ObjectKey(20))
        try change(rows)
        try session.commitWrite()
        let root = try #require(session.table(named: "Row")?.rowsStamp)
        try #require(root.kind == BlockKind.rowGroup.rawValue)
        return (IntegrityCheck.run(database).findings, "(block at page \(root.page))")
    }

    private static func findings(_ file: HostileFile) throws -> [Finding] {
        IntegrityCheck.run(try open(file)).findings
    }

    private static func expect(
        _ findings: [Finding], _ law: Int, _ text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            findings.contains(Finding(law: law, text: text)), "\(findings)", sourceLocation: sourceLocation)
    }

    /// Stores bytes unchanged, without maintaining the column's trees.
    private static func put(_ bytes: [UInt8], _ column: Int, of key: UInt64, in table: Table) throws {
        let group = try #require(try table.groups.dirtyGroup(for: key))
        group.makeWritable(column)
        let row = group.view.pointee.row(of: key)
        bytes.withUnsafeBytes { group.setBytes(column, row, $0) }
        group.setValid(column, row, true)
    }

    private static func put<T>(_ value: T, _ offset: Int, _ file: inout HostileFile) {
        file.bytes.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: offset, as: T.self) }
    }

    private static func word(_ offset: Int, _ file: HostileFile) -> UInt64 {
        file.bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    }

    /// First pages of the node of the large table and of its two groups.
    private static func manyPages() throws -> (node: Int, groups: [Int]) {
        let session = try open(good).makeSession()
        let root = try #require(session.table(named: "Many")?.rowsStamp)
        try #require(root.kind == BlockKind.groupNode.rawValue)
        let refs = Int(root.page) * 4096 + GroupNodeLayout.refs
        return (Int(root.page), [Int(word(refs, good) >> 16), Int(word(refs + 40, good) >> 16)])
    }

    /// Byte offset of the newest free log, which is a snapshot, and its number of extents.
    private static func freeLog() throws -> (offset: Int, freed: Int) {
        let offset = Int(try open(good).versions.newest.freeLog.page) * 4096
        try #require(good.bytes[offset + 32] == 1, "no snapshot")
        return (offset, Int(UInt32(truncatingIfNeeded: word(offset + 96, good))))
    }

    @Test("The check of an undamaged file finds nothing")
    func whole() throws {
        #expect(try Self.findings(Self.good) == [])
        #expect(try Self.findings(after: { _ in }).findings == [])
        var file = Self.good
        for page in file.usedBlocks { file.retag(page) }
        #expect(try Self.findings(file) == [])
    }

    // MARK: Pages and blocks

    @Test("Law 1: a page is neither reachable nor free")
    func lostPage() throws {
        let (log, freed) = try Self.freeLog()
        try #require(freed > 0)
        let last = log + 104 + 32 * (freed - 1)
        let pages = Self.word(last, Self.good)..<Self.word(last, Self.good) + Self.word(last + 8, Self.good)
        var file = Self.good
        Self.put(UInt32(freed - 1), log + 96, &file)
        file.retag(log / 4096)
        let findings = try Self.findings(file)
        #expect(
            findings == pages.map { Finding(law: 1, text: "page \($0) is neither reachable nor free nor pending") })
    }

    @Test("Law 1: a page is in use and free")
    func freePageInUse() throws {
        let (log, freed) = try Self.freeLog()
        let page = try Self.manyPages().groups[1]
        var file = Self.good
        for (i, value) in [UInt64(page), 1, 0, 0].enumerated() {
            Self.put(value, log + 104 + 32 * freed + 8 * i, &file)
        }
        Self.put(UInt32(freed + 1), log + 96, &file)
        file.retag(log / 4096)
        Self.expect(try Self.findings(file), 1, "Many > objects: page \(page) is also free")
    }

    @Test("Law 1: two blocks refer to the same block")
    func sharedBlock() throws {
        let (node, groups) = try Self.manyPages()
        var file = Self.good
        let refs = node * 4096 + GroupNodeLayout.refs
        file.bytes.replaceSubrange(refs + 40..<refs + 80, with: Array(file.bytes[refs..<refs + 40]))
        file.retag(node)
        let findings = try Self.findings(file)
        Self.expect(findings, 1, "Many > objects: page \(groups[0]) is also part of another block")
        Self.expect(findings, 1, "page \(groups[1]) is neither reachable nor free nor pending")
    }

    @Test("Law 2: a block does not match its checksum, and the finding has the path to it")
    func checksum() throws {
        let (node, groups) = try Self.manyPages()
        var file = Self.good
        file.bytes[groups[1] * 4096 + 2000] ^= 1
        let way = "Many > block at page \(node) > block at page \(groups[1]): a block does not match its checksum"
        let findings = try Self.findings(file)
        #expect(findings.contains { $0.law == 2 && $0.text.hasPrefix(way) }, "\(findings)")
    }

    @Test("Law 3: a block is younger than its parent")
    func birth() throws {
        let (node, groups) = try Self.manyPages()
        var file = Self.good
        let birth = Self.word(groups[1] * 4096 + 16, file) + 1
        Self.put(birth, groups[1] * 4096 + 16, &file)
        for holder in try #require(file.holders[groups[1]]) { Self.put(birth, holder + 8, &file) }
        file.retag(groups[1])
        Self.expect(
            try Self.findings(file), 3,
            "Many > block at page \(node): the block at page \(groups[1]) is newer than the block that refers to it")
    }

    // MARK: Rows

    @Test("Law 8: the catalog counts more objects than there are rows")
    func recordCount() throws {
        let findings = try Self.findings { $0.count += 1 }.findings
        Self.expect(findings, 8, "Row > objects: 20 rows, but the catalog states 21")
    }

    @Test("Law 8: the next key is in use")
    func nextKey() throws {
        let findings = try Self.findings { $0.nextKey = 20 }.findings
        #expect(findings == [Finding(law: 8, text: "Row > objects: key 20 is not below the next key")])
    }

    // The check once compared only the rows with the catalog: a node could have any count, and positions were wrong.
    @Test("Law 8: a node has a wrong count of the rows below it")
    func nodeCount() throws {
        let (node, groups) = try Self.manyPages()
        var file = Self.good
        Self.put(UInt64(1000), node * 4096 + GroupNodeLayout.counts, &file)
        file.retag(node)
        #expect(
            try Self.findings(file) == [
                Finding(
                    law: 8,
                    text: "Many > block at page \(node): the node counts 1000 rows at page \(groups[0]), "
                        + "but there are 1024")
            ])
    }

    // The check once ignored the keys in nodes, which lookups follow.
    @Test("Law 8: a node misdirects the lookup of a row")
    func nodeKey() throws {
        let (node, groups) = try Self.manyPages()
        var file = Self.good
        Self.put(UInt64(1050), node * 4096 + GroupNodeLayout.firstKeys + 8, &file)
        file.retag(node)
        let way = "Many > block at page \(node): "
        let words = "key 1025 is in the block at page \(groups[1]), not in the one that its node names"
        #expect(try Self.findings(file) == [Finding(law: 8, text: way + words)])
    }

    @Test("Law 8: keys do not ascend from one group to the next")
    func keyOrder() throws {
        let (_, groups) = try Self.manyPages()
        var file = Self.good
        try #require(file.bytes[groups[1] * 4096 + 34] == KeyForm.dense.rawValue)
        Self.put(UInt64(7), groups[1] * 4096 + 40, &file)
        file.retag(groups[1])
        Self.expect(
            try Self.findings(file), 8,
            "Many > block at page \(groups[1]): key 7 is not above 1024, which comes before it")
    }

    // MARK: Indexes

    @Test("Law 9: an object is missing from an index")
    func missingEntry() throws {
        let (findings, block) = try Self.findings { rows in
            let removed = try Array("name 3".utf8).withUnsafeBytes { bytes in
                try rows.indexes[Column.name]?.tree.remove(bytes: bytes, key: 4)
            }
            try #require(removed == true)
        }
        #expect(
            findings == [
                Finding(law: 9, text: "Row.name > index: 19 entries for 20 objects"),
                Finding(law: 9, text: "Row.name > index: object 4 \(block) is not in the index"),
            ])
    }

    @Test("Law 9: an index has an extra entry")
    func extraEntry() throws {
        let (findings, _) = try Self.findings { rows in
            let ghost = try #require(rows.indexes[Column.id])
            try ghost.tree.insert(value: IndexKey.encode(99), key: 77)
        }
        #expect(findings == [Finding(law: 9, text: "Row.id > index: 21 entries for 20 objects")])
    }

    @Test("Law 9: a primary key occurs twice")
    func primaryKeyTwice() throws {
        let (findings, block) = try Self.findings { try $0.set(.int(3), Column.id, of: ObjectKey(6)) }
        #expect(
            findings == [
                Finding(
                    law: 9, text: "Row.id > index: 2 objects share their primary key: object 4 \(block) and others")
            ])
    }

    @Test("Law 9: an object is missing from the tree of its unique constraint")
    func missingInUnique() throws {
        let (findings, block) = try Self.findings { rows in
            let value = try #require(UniqueTree.bytes([.int(103)]))
            let removed = try value.withUnsafeBytes { bytes in
                try rows.uniques[0].tree?.remove(bytes: bytes, key: 4)
            }
            try #require(removed == true)
        }
        #expect(
            findings == [
                Finding(law: 9, text: "Row > unique (code): 19 entries for 20 objects"),
                Finding(law: 9, text: "Row > unique (code): object 4 \(block) is not in the tree"),
            ])
    }

    // MARK: Links

    @Test("Law 10: a link points to a missing object")
    func danglingLink() throws {
        let (findings, block) = try Self.findings { rows in
            let group = try #require(try rows.groups.dirtyGroup(for: 20))
            group.makeWritable(Column.link)
            let row = group.view.pointee.row(of: 20)
            group.view.columns[Column.link].data.storeBytes(
                of: UInt64(999), toByteOffset: row * 8, as: UInt64.self)
            group.setValid(Column.link, row, true)
        }
        Self.expect(findings, 10, "Row.link: object 20 \(block) links to object 999, which is not there")
        Self.expect(
            findings, 10,
            "Row.link > backlinks: those of object 999, a target of object 20 \(block), are wrong")
    }

    @Test("Law 10: a link has no backlink, or a backlink has no link", arguments: [false, true])
    func backlinks(isExtra: Bool) throws {
        let (findings, block) = try Self.findings { rows in
            let tree = try #require(rows.backlinkTrees[Column.link])
            if isExtra {
                try tree.insert(target: 3, origin: 9)
            } else {
                let isRemoved = try tree.remove(target: 3, origin: 2)
                try #require(isRemoved)
            }
        }
        #expect(
            findings == [
                Finding(law: 10, text: "Row.link > backlinks: \(isExtra ? 20 : 18) entries for 19 links"),
                Finding(
                    law: 10,
                    text: "Row.link > backlinks: those of object 3, a target of object 2 \(block), are wrong"),
            ])
    }

    // MARK: Collections

    @Test(
        "Law 11: elements of a set do not ascend, or occur twice", arguments: [[2, 1], [1, 1]] as [[Int64]])
    func setOrder(elements: [Int64]) throws {
        let (findings, block) = try Self.findings { rows in
            let bytes = ListCodec.encode(elements.map { .int($0) }, .int)
            try Self.put(bytes, Column.elements, of: 2, in: rows)
        }
        #expect(
            findings == [Finding(law: 11, text: "Row.set: object 2 \(block) has elements that do not ascend")])
    }

    @Test("Law 11: keys of a dictionary do not ascend, or occur twice", arguments: [["b", "a"], ["a", "a"]])
    func dictionaryOrder(keys: [String]) throws {
        let (findings, block) = try Self.findings { rows in
            let bytes = DictionaryCodec.encode(keys, [.int(1), .int(2)], .int)
            try Self.put(bytes, Column.entries, of: 2, in: rows)
        }
        #expect(
            findings == [Finding(law: 11, text: "Row.dictionary: object 2 \(block) has elements that do not ascend")])
    }

    @Test("Law 13: a node has a wrong count of the elements below it")
    func elementCount() throws {
        var file = Self.good
        let node = try #require(file.usedBlocks.last { file.kind($0) == BlockKind.elementNode.rawValue })
        let first = node * 4096 + ElementNodeLayout.ends
        Self.put(Self.word(first, file) + 1, first, &file)
        file.retag(node)
        let session = try Self.open(file).makeSession()
        let root = try #require(session.table(named: "Row")?.rowsStamp)
        let words = "Row.list: object 1 (block at page \(root.page)) has a wrong element count"
        #expect(try Self.findings(file) == [Finding(law: 13, text: words)])
    }

    // MARK: Full-text and geospatial indexes

    @Test(
        "Law 14: a term is missing from the full-text index, or the index has a term of no text",
        arguments: [false, true])
    func words(isExtra: Bool) throws {
        let (findings, block) = try Self.findings { rows in
            let tree = try #require(rows.contentIndexes[Column.text]).tree
            let isDone = try Array("alpha".utf8).withUnsafeBytes { bytes in
                guard isExtra else { return try tree.remove(bytes: bytes, key: TextIndex.entryKey(4, 0)) }
                try tree.insert(bytes: bytes, key: TextIndex.entryKey(4, 7))
                return true
            }
            try #require(isDone)
        }
        // Two terms in each text, and one entry for each text.
        let count = Finding(
            law: 14, text: "Row.text > contents: the index has \(isExtra ? 61 : 59) entries, but the texts have 60")
        let word = Finding(law: 14, text: "Row.text > contents: object 4 \(block) has words that are not in the index")
        #expect(findings == (isExtra ? [count] : [count, word]))
    }

    @Test("Law 14: a location is missing from the geospatial index")
    func place() throws {
        let (findings, block) = try Self.findings { rows in
            let cell = try #require(try rows.placeCell(try rows.place(ObjectKey(4)), Column.place))
            let isRemoved = try #require(rows.contentIndexes[Column.place]).tree.remove(value: cell, key: 4)
            try #require(isRemoved)
        }
        #expect(
            findings == [
                Finding(law: 14, text: "Row.place > contents: the index has 19 points, but the objects have 20"),
                Finding(law: 14, text: "Row.place > contents: object 4 \(block) has a point that is not in the index"),
            ])
    }

    // MARK: Values

    @Test("Law 15: a string is not UTF-8")
    func text() throws {
        let (findings, block) = try Self.findings { try Self.put([0x61, 0xc3], Column.plain, of: 2, in: $0) }
        let way = block.dropFirst().dropLast()
        #expect(
            findings == [
                Finding(
                    law: 15, text: "Row > \(way): plain: texts that are not UTF-8: 1; the first belongs to object 2")
            ])
    }

    @Test("Law 15: a dictionary key is not UTF-8")
    func keyOfDictionary() throws {
        let (findings, block) = try Self.findings { rows in
            var bytes = DictionaryCodec.encode(["a"], [.int(1)], .int)
            // The header, the header of the keys, one end, the key.
            let key = 8 + 8 + 1
            try #require(bytes[key] == 0x61)
            bytes[key] = 0xff
            try Self.put(bytes, Column.entries, of: 2, in: rows)
        }
        #expect(
            findings == [Finding(law: 15, text: "Row.dictionary: object 2 \(block) has values that cannot be read")])
    }

    @Test("Law 15: a mixed value cannot be decoded")
    func mixed() throws {
        let (findings, block) = try Self.findings { try Self.put([0xff, 1, 2], Column.mixed, of: 2, in: $0) }
        Self.expect(findings, 15, "Row.any: object 2 \(block) has values that cannot be read")
    }

    @Test("Law 15: a value lies outside its zone")
    func zone() throws {
        let group = try Self.manyPages().groups[0]
        var file = Self.good
        let column = group * 4096 + RowGroupLayout.headByteCount
        try #require(file.bytes[column + 1] & RowGroupLayout.Flags.zone != 0)
        Self.put(Int64(9), column + 24, &file)
        file.retag(group)
        #expect(
            try Self.findings(file) == [
                Finding(
                    law: 15,
                    text: "Many > block at page \(group): n: values outside their zone: 1014; "
                        + "the first belongs to object 11")
            ])
    }
}
