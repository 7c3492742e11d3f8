// SPDX-License-Identifier: Apache-2.0
// A small file with every kind of block and column, and ways to change its bytes so that checksums still hold: tags
// are computed anew from the changed block up to the commit slot, so that the decoders behind them are reached.

import RegnumEngine
import RegnumSimulation
import RegnumSystem

struct HostileFile {
    static let path = "/d/a.realm"
    static let types: [ColumnType] = [.int, .string, .link, .mixed, .double, .decimal128, .date, .uuid]

    /// Every type alone and nullable, every kind of collection, indexes of every form, links between tables.
    static let tables: [NewTable] = {
        var all = [NewColumn(name: "id", type: .int, isPrimaryKey: true)]
        for type in ColumnType.allCases {
            all.append(
                NewColumn(
                    name: "\(type)", type: type, isNullable: type != .link,
                    isIndexed: [.int, .string, .date, .uuid].contains(type), targetName: type == .link ? "Named" : nil))
        }
        for type in types {
            for kind in [CollectionKind.list, .set, .dictionary] {
                all.append(
                    NewColumn(
                        name: "\(type) \(kind)", type: type, collection: kind,
                        isNullable: type != .link || kind == .dictionary, targetName: type == .link ? "All" : nil))
            }
        }
        return [
            NewTable(name: "All", columns: all),
            NewTable(
                name: "Named", columns: [NewColumn(name: "name", type: .string, isPrimaryKey: true)]),
            // More than one group, so that there are nodes; more than one leaf, so that there are branches.
            NewTable(name: "Many", columns: [NewColumn(name: "n", type: .int, isIndexed: true)]),
            // A group whose keys lie so far apart that they are listed.
            NewTable(name: "Far", columns: [NewColumn(name: "n", type: .int)]),
        ]
    }()

    var bytes: [UInt8]
    /// Places in the file that hold the ref of the block at a page.
    let holders: [Int: [Int]]
    /// First page of the block that a page belongs to.
    let blocks: [Int]
    let hash: ContentHash

    /// The file as it was written.
    static let good: HostileFile = {
        do { return try HostileFile(write()) } catch { fatalError("\(error)") }
    }()

    init(_ bytes: [UInt8]) throws {
        self.bytes = bytes
        hash = try bytes.withUnsafeBytes { try FileHeader(reading: $0.baseAddress.unsafelyUnwrapped, path: "").hash }
        var holders: [Int: [Int]] = [:]
        var blocks: [Int] = []
        bytes.withUnsafeBytes { buffer in
            blocks = Array(0..<buffer.count / 4096)
            for page in 16..<(buffer.count / 4096) {
                let at = page * 4096
                guard buffer.loadUnaligned(fromByteOffset: at, as: UInt16.self) == BlockHeader.magic,
                    buffer.loadUnaligned(fromByteOffset: at + 8, as: UInt64.self) == UInt64(page)
                else { continue }
                let count = Int(buffer.loadUnaligned(fromByteOffset: at + 4, as: UInt16.self)) + 1
                let location = UInt64(page) << 16 | UInt64(count - 1)
                let birth = buffer.loadUnaligned(fromByteOffset: at + 16, as: UInt64.self)
                for i in page..<min(page + count, blocks.count) { blocks[i] = page }
                for offset in stride(from: 16384, to: buffer.count - 40, by: 4)
                where buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self) == location
                    && buffer.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self) == birth
                {
                    holders[page, default: []].append(offset)
                }
            }
        }
        self.holders = holders
        self.blocks = blocks
    }

    /// Pages that begin a block that something refers to.
    var usedBlocks: [Int] { holders.keys.sorted() }

    func kind(_ page: Int) -> UInt8 { bytes[page * 4096 + 2] }

    // MARK: Writing

    private static func values(_ i: Int) -> [Value] {
        [
            .bool(i % 2 == 0), .int(Int64(i % 9)), .float(Float(i)), .double(Double(i) / 3), .string("text \(i % 11)"),
            .data([UInt8](repeating: 7, count: i % 50)), .date(Timestamp(seconds: Int64(i), nanoseconds: 5)),
            .objectID(UInt64(i), 9), .uuid(UInt64(i % 5), 1), .link(ObjectKey(UInt64(i % 20 + 1))),
            .decimal128(UInt64(i), 0x3040_0000_0000_0000), mixed(i),
        ]
    }

    private static func mixed(_ i: Int) -> Value {
        switch i % 6 {
        case 0: .string("mixed \(i)")
        case 1: .int(Int64(i))
        case 2: .typedLink(TableKey(2), ObjectKey(UInt64(i % 20 + 1)))
        case 3: .data([1, 2, 3])
        case 4: .list([.int(1), .string("in a list"), .dictionary([DictionaryEntry(key: "k", value: .bool(true))])])
        default: .double(0.5)
        }
    }

    private static func element(_ type: ColumnType, _ i: Int) -> Value {
        switch type {
        case .link: .link(ObjectKey(UInt64(i % 30 + 1)))
        case .mixed: i % 6 == 2 ? .int(5) : mixed(i)
        default: values(i)[ColumnType.allCases.firstIndex(of: type) ?? 0]
        }
    }

    private static func write() throws -> [UInt8] {
        let files = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        let session = try Database.open(path: path, fileSystem: files).makeSession()
        try session.beginWrite()
        try session.addTables(tables)
        let named = session.table(named: "Named").unsafelyUnwrapped
        for i in 0..<20 { _ = try insert(named, [.string("the long name of object number \(i)")]) }
        let all = session.table(named: "All").unsafelyUnwrapped
        for i in 0..<40 { _ = try insert(all, [.int(Int64(i))] + values(i)) }
        for i in 0..<40 { try fill(all, i) }
        // In the first row, so that its record is aligned and `holders` finds it.
        let ints = all.definition.columns.firstIndex { $0.collection == .list && $0.type == .int }
        try all.listInsert((0..<4500).map { .int(Int64($0 % 9)) }, ints ?? 0, of: ObjectKey(1), at: 0)
        try session.commitWrite()
        try session.beginWrite()
        let many = session.table(named: "Many").unsafelyUnwrapped
        for i in 0..<1300 { _ = try insert(many, [.int(Int64(i * 7919 % 10_007))]) }
        let far = session.table(named: "Far").unsafelyUnwrapped
        for i in 0..<2100 { _ = try insert(far, [.int(Int64(i))]) }
        try session.commitWrite()
        try session.beginWrite()
        for key in 1...2100 where key % 150 != 0 { try far.delete(ObjectKey(UInt64(key))) }
        try session.commitWrite()
        for round in 0..<2 {
            try session.beginWrite()
            try all.set(.string(String(repeating: "long ", count: 900 + round)), 5, of: ObjectKey(7))
            for key in stride(from: 3 + round, to: 1200, by: 17) { try many.delete(ObjectKey(UInt64(key))) }
            try many.set(.int(5), 0, of: ObjectKey(8))
            try session.commitWrite()
        }
        return files.contents(of: path) ?? []
    }

    private static func insert(_ table: Table, _ values: [Value]) throws -> ObjectKey {
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        for (column, value) in values.enumerated() { try table.set(value, column, of: key) }
        return key
    }

    private static func fill(_ all: Table, _ i: Int) throws {
        let key = ObjectKey(UInt64(i + 1))
        for (column, definition) in all.definition.columns.enumerated() where definition.collection != .none {
            for k in 0..<(i % 4) {
                let value = element(definition.type, i + k)
                switch definition.collection {
                case .list: try all.listInsert([value], column, of: key, at: 0)
                case .set: _ = try all.setInsert(value, column, of: key)
                default: try all.dictionarySet("key \(k)", value, column, of: key)
                }
            }
        }
    }

    // MARK: Checksums

    /// Makes the tags above the block at `page` hold again. Both slots lose their manifests.
    mutating func retag(_ page: Int, depth: Int = 0) {
        guard depth < 16, let offsets = holders[page] else { return }
        let count = Int(blocks.lastIndex(of: page) ?? page) - page + 1
        let tag = bytes.withUnsafeBytes { hash.tag($0.baseAddress.unsafelyUnwrapped + page * 4096, count * 4096) }
        for offset in offsets {
            put(tag, at: offset + 16)
            let owner = offset / 4096
            if owner >= 16 { retag(blocks[owner], depth: depth + 1) }
        }
        if depth == 0 { retagSlots() }
    }

    mutating func retagSlots() {
        for slot in [FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset] {
            for i in 160..<164 { bytes[slot + i] = 0 }
            retag(slot, 4080, hash)
        }
    }

    mutating func retagHeaders() {
        for start in [0, FormatLimits.headerCopyByteOffset] {
            retag(start, 4080, ContentHash(seedLow: 0, seedHigh: 0))
        }
    }

    mutating func retag(_ start: Int, _ count: Int, _ hash: ContentHash) {
        put(bytes.withUnsafeBytes { hash.tag($0.baseAddress.unsafelyUnwrapped + start, count) }, at: start + count)
    }

    private mutating func put(_ tag: ContentHash.Tag, at offset: Int) {
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: tag.low, toByteOffset: offset, as: UInt64.self)
            $0.storeBytes(of: tag.high, toByteOffset: offset + 8, as: UInt64.self)
        }
    }
}
