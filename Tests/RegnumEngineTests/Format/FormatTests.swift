// SPDX-License-Identifier: Apache-2.0
// The sizes and offsets of the file format, and its reserved space: hidden columns, named features, a root for a
// history. A change here is a change of the format.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct FormatTests {
    @Test("Sizes and limits are those that were released")
    func sizes() {
        #expect(FormatLimits.pageByteCount == 4096)
        #expect(FormatLimits.reservedPages == 16)
        #expect(
            [FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset, FormatLimits.headerCopyByteOffset] == [
                16384, 32768, 49152,
            ])
        #expect(FormatLimits.rowsPerGroup == 1024 && FormatLimits.nodeFanOut == 64)
        #expect(FormatLimits.sectionPages == 16384)
        #expect(FormatLimits.inlineValueByteCount == 2048)
        // RealmSwift's own limits: 16 MiB less some bytes.
        #expect(FormatLimits.stringByteCount == 0xFF_FFEF && FormatLimits.dataByteCount == 0xFF_FFF0)
        #expect(FormatLimits.tableNameByteCount == 57 && FormatLimits.columnNameByteCount == 63)
        #expect(FormatLimits.treeDepth == 12 && FormatLimits.treeEntryCount == 1 << 44)
        #expect(FormatLimits.manifestByteCount == 1 << 20)
        #expect(BlockRef.byteCount == 40 && BlockHeader.byteCount == 32 && BlobRecord.byteCount == 48)
        #expect(RowGroupLayout.headByteCount == 64 && RowGroupLayout.descriptorByteCount == 48)
        #expect(GroupNodeLayout.refs + FormatLimits.nodeFanOut * BlockRef.byteCount <= GroupNodeLayout.byteCount)
        #expect(FormatLimits.elementNodeFanOut == 84)
        #expect(
            ElementNodeLayout.refs + FormatLimits.elementNodeFanOut * BlockRef.byteCount <= ElementNodeLayout.byteCount)
        #expect(CommitSlot.byteCount == 4096 && 168 + CommitSlot.manifestLimit * 24 <= 4080)
        #expect(MemoryLayout<ColumnView>.stride == 64)
        #expect(BlockKind.allCases.map(\.rawValue) == Array(1...10))
        #expect(ColumnType.allCases.map(\.rawValue) == Array(1...12))
    }

    @Test("Hidden system columns are stored with the objects")
    func hiddenColumns() throws {
        let files = MemoryFileSystem()
        do {
            let session = try Database.open(path: "/h.realm", fileSystem: files).makeSession()
            try session.beginWrite()
            try session.addTables([
                NewTable(
                    name: "Note",
                    columns: [
                        NewColumn(name: "text", type: .string),
                        NewColumn(name: "$identity", type: .uuid, isHidden: true),
                        NewColumn(name: "$stamp.text", type: .int, isHidden: true),
                    ])
            ])
            let table = try #require(session.table(named: "Note"))
            for i in 0..<2000 {
                let location = try table.insertRow()
                let key = location.key
                try table.finishInsert(location)
                try table.set(.string("note \(i)"), 0, of: key)
                try table.set(.uuid(UInt64(i), 7), 1, of: key)
            }
            try session.commitWrite()
            try session.beginWrite()
            try table.set(.string("changed"), 0, of: ObjectKey(1500))
            try session.commitWrite()
        }
        let session = try Database.open(path: "/h.realm", fileSystem: files).makeSession()
        let table = try #require(session.table(named: "Note"))
        #expect(table.definition.columns.map(\.isHidden) == [false, true, true])
        #expect(try table.value(1, of: ObjectKey(1500)) == .uuid(1499, 7))
        #expect(try table.value(0, of: ObjectKey(1500)) == .string("changed"))
    }

    @Test("An unknown optional feature is skipped, and an unknown required one is refused by its name")
    func features() throws {
        let files = MemoryFileSystem()
        for (name, isRequired) in [("colours", false), ("time travel", true)] {
            let session = try Database.open(path: "/\(name).realm", fileSystem: files).makeSession()
            try session.beginWrite()
            session.addFeature(Feature(name: name, isRequired: isRequired))
            try session.commitWrite()
        }
        let session = try Database.open(path: "/colours.realm", fileSystem: files).makeSession()
        #expect(session.features == [Feature(name: "colours", isRequired: false)])
        #expect(throws: EngineError.unsupported(path: "/time travel.realm", feature: "time travel")) {
            _ = try Database.open(path: "/time travel.realm", fileSystem: files)
        }
    }

    // MARK: Headers

    /// The first page of a new file, changed at `offset`, with a fresh checksum.
    private static func header(_ value: UInt32, at offset: Int) throws -> FileHeader {
        let page = UnsafeMutableRawPointer.allocate(byteCount: FileHeader.byteCount, alignment: 16)
        defer { page.deallocate() }
        FileHeader(fileSystem: MemoryFileSystem(), key: nil).write(to: page)
        page.storeBytes(of: value, toByteOffset: offset, as: UInt32.self)
        let tag = ContentHash(seedLow: 0, seedHigh: 0).tag(page, 4080)
        page.storeBytes(of: tag.low, toByteOffset: 4080, as: UInt64.self)
        page.storeBytes(of: tag.high, toByteOffset: 4088, as: UInt64.self)
        return try FileHeader(reading: page, path: "/a")
    }

    @Test(
        "A header that requires an unknown feature is refused by its name",
        arguments: [(12, 2, "file format 1"), (48, 8192, "pages of another size"), (52, 2, "header flags 2")])
    func headers(offset: Int, value: UInt32, feature: String) throws {
        #expect(throws: EngineError.unsupported(path: "/a", feature: feature)) {
            _ = try Self.header(value, at: offset)
        }
    }

    @Test("A newer format that this version can read is read", arguments: [(8, 2), (12, 0), (12, 1), (48, 4096)])
    func readableHeaders(offset: Int, value: UInt32) throws { _ = try Self.header(value, at: offset) }

    @Test(
        "A file of Realm Core is refused with an error of its own, and a fragment as too small",
        arguments: [0, 16, 23, 24, 4095, 100_000])
    func oldRealmCore(count: Int) throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 8 << 20)
        var bytes = [UInt8](repeating: 1, count: count)
        if count >= 24 { bytes.replaceSubrange(16..<20, with: Array("T-DB".utf8)) }
        files.setContents(of: "/a", bytes)
        if count == 0 {
            _ = try Database.open(path: "/a", fileSystem: files)
            return
        }
        #expect(throws: EngineError.notADatabase(path: "/a", why: count < 24 ? .tooSmall : .oldRealmCore)) {
            _ = try Database.open(path: "/a", fileSystem: files)
        }
    }

    @Test("Each block carries the nonce of its commit")
    func nonces() throws {
        let file = HostileFile.good
        var nonces: [UInt64: UInt64] = [:]
        for page in file.usedBlocks {
            let words = file.bytes[page * 4096 + 16..<page * 4096 + 32]
            let (birth, nonce) = words.withUnsafeBytes {
                ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            #expect(nonce != 0 && nonces[birth] ?? nonce == nonce)
            nonces[birth] = nonce
        }
        #expect(nonces.count > 2 && Set(nonces.values).count == nonces.count)
        for slot in [FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset] {
            let (version, nonce) = file.bytes[slot + 8..<slot + 24].withUnsafeBytes {
                ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            #expect(nonces[version] == nonce)
        }
    }
}
