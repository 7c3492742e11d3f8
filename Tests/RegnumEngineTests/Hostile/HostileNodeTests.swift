// SPDX-License-Identifier: Apache-2.0
// Trees with fresh checksums whose nodes are wrong: traversals end, writes throw.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct HostileNodeTests {
    private static func put<T>(_ value: T, _ offset: Int, _ file: inout HostileFile) {
        file.bytes.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: offset, as: T.self) }
    }

    private static func word(_ offset: Int, _ file: HostileFile) -> UInt64 {
        file.bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    }

    /// First page of the root of the table with this number in the newest catalog.
    private static func rootPage(_ number: Int, _ file: HostileFile) -> Int {
        let catalogs = file.usedBlocks.filter { file.kind($0) == BlockKind.catalog.rawValue }
        let newest = catalogs.max { word($0 * 4096 + 16, file) < word($1 * 4096 + 16, file) } ?? 0
        var at = newest * 4096 + 92
        for _ in 0..<number {
            let trees = file.bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: at + 4, as: UInt32.self) }
            at += 64 + Int(trees) * 56
        }
        return Int(word(at + 24, file) >> 16)
    }

    // Branches whose children are all the same branch: 63 to the power of the depth visits.
    @Test("An index tree that reaches its blocks repeatedly is refused in bounded time")
    func sharedIndexChildren() throws {
        let home = try IndexTreeHome(.fixed)
        for i in 0..<1400 { try home.tree.insert(value: UInt64(i * 7919 % 10_007), key: UInt64(i)) }
        #expect(try home.commit())
        try #require(home.root.kind == BlockKind.indexBranch.rawValue)
        let record = UnsafeMutableRawPointer.allocate(byteCount: 40, alignment: 8)
        defer { record.deallocate() }
        var below = home.root
        for level in 2...7 {
            let page = home.nextPage
            home.nextPage += 1
            let block = home.region.memory.base + Int(page) << 12
            block.copyMemory(from: home.region.memory.base + Int(home.root.page) << 12, byteCount: 32)
            block.storeBytes(of: page, toByteOffset: 8, as: UInt64.self)
            block.storeBytes(of: 63, toByteOffset: 32, as: UInt16.self)
            block.storeBytes(of: 63, toByteOffset: 34, as: UInt16.self)
            block.storeBytes(of: UInt8(level), toByteOffset: 39, as: UInt8.self)
            for i in 0..<63 {
                block.storeBytes(of: 1, toByteOffset: 40 + 16 * 63 + 8 * i, as: UInt64.self)
                below.write(to: block + 40 + 24 * 63 + 40 * i)
            }
            let tag = home.hash.tag(UnsafeRawPointer(block), 4096)
            home.root.write(to: record)
            record.storeBytes(of: page << 16, as: UInt64.self)
            record.storeBytes(of: tag.low, toByteOffset: 16, as: UInt64.self)
            record.storeBytes(of: tag.high, toByteOffset: 24, as: UInt64.self)
            below = BlockRef(reading: UnsafeRawPointer(record))
            below.info = BlockRef.info(.indexBranch, rows: 63)
        }
        home.root = below
        try home.reopen()
        #expect(throws: EngineError.self) { try home.tree.forEachBlock { _ in } }
        #expect(throws: EngineError.self) { _ = try home.tree.findings() }
    }

    // A node that counted fewer rows than its group holds once caused two groups to be joined that do not fit into one.
    @Test("A node that counts too few rows is detected when its group is changed or joined", arguments: [1, 1299])
    func nodeCount(key: UInt64) throws {
        var file = HostileFile.good
        let node = Self.rootPage(2, file)
        try #require(file.kind(node) == BlockKind.groupNode.rawValue)
        Self.put(UInt64(1), node * 4096 + 576, &file)
        file.retag(node)
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: HostileFile.path, file.bytes)
        var options = Database.OpenOptions()
        options.checksSmallFiles = false
        let session = try Database.open(path: HostileFile.path, fileSystem: files, options: options).makeSession()
        let many = try #require(session.table(named: "Many"))
        try session.beginWrite()
        #expect(throws: EngineError.self) {
            try many.set(.int(77), 0, of: ObjectKey(key))
            try session.commitWrite()
        }
        if session.isWriting { session.rollbackWrite() }
    }

    // Nodes of elements whose children are all the same node: 84 to the power of the depth leaves.
    @Test("A collection that reaches its blocks repeatedly is refused in bounded time")
    func sharedElementChildren() throws {
        var file = HostileFile.good
        let node = try #require(file.usedBlocks.last { file.kind($0) == BlockKind.elementNode.rawValue })
        // Older versions refer to it too.
        let holders = try #require(file.holders[node])
        let holder = try #require(holders.first)
        let ref = Array(file.bytes[holder..<holder + 40])
        var below = ref
        let level = Int(file.bytes[node * 4096 + 34])
        for above in level + 1...level + 6 {
            let page = file.bytes.count / 4096
            file.bytes.append(contentsOf: file.bytes[node * 4096..<node * 4096 + 4096])
            let at = page * 4096
            Self.put(UInt64(page), at + 8, &file)
            Self.put(UInt16(84), at + 32, &file)
            Self.put(UInt8(above), at + 34, &file)
            for i in 0..<84 {
                Self.put(UInt64(i + 1), at + 40 + i * 8, &file)
                file.bytes.replaceSubrange(at + 712 + i * 40..<at + 752 + i * 40, with: below)
            }
            let tag = file.bytes.withUnsafeBytes {
                file.hash.tag($0.baseAddress.unsafelyUnwrapped + at, 4096)
            }
            below = ref
            below.withUnsafeMutableBytes {
                $0.storeBytes(of: UInt64(page) << 16, as: UInt64.self)
                $0.storeBytes(of: tag.low, toByteOffset: 16, as: UInt64.self)
                $0.storeBytes(of: tag.high, toByteOffset: 24, as: UInt64.self)
            }
        }
        for holder in holders { file.bytes.replaceSubrange(holder..<holder + 40, with: below) }
        for slot in [FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset] {
            Self.put(UInt64(file.bytes.count / 4096), slot + 32, &file)
        }
        for holder in holders { file.retag(file.blocks[holder / 4096]) }
        file.retagSlots()
        let begin = ThreadTime.seconds
        #expect(!HostileUse.run(file.bytes))
        #expect(ThreadTime.seconds - begin < (RunScale.isOptimized ? 5 : 60))
    }

    // For each object, all keys with its value were once collected.
    @Test("The check of an index with few distinct values does not compare all pairs of objects")
    func manyEqual() throws {
        let files = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        let database = try Database.open(path: HostileFile.path, fileSystem: files)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(name: "Flags", columns: [NewColumn(name: "on", type: .bool, isIndexed: true)])
        ])
        let table = try #require(session.table(named: "Flags"))
        for i in 0..<40_000 {
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            if i % 2 == 0 { try table.set(.bool(true), 0, of: key) }
        }
        try session.commitWrite()
        let begin = ThreadTime.seconds
        #expect(IntegrityCheck.run(database).isClean)
        #expect(ThreadTime.seconds - begin < (RunScale.isOptimized ? 1 : 30))
    }
}
