// SPDX-License-Identifier: Apache-2.0
// Damage with fresh checksums that once crashed the program, with the cause of each case.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct HostileRegressionTests {
    /// First page of the newest catalog.
    private static func catalogPage(_ file: HostileFile) -> Int {
        file.usedBlocks.filter { file.kind($0) == BlockKind.catalog.rawValue }
            .max { birth($0, file) < birth($1, file) } ?? 0
    }

    private static func birth(_ page: Int, _ file: HostileFile) -> UInt64 { word(page * 4096 + 16, file) }

    private static func word(_ offset: Int, _ file: HostileFile) -> UInt64 {
        file.bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    }

    private static func put<T>(_ value: T, _ offset: Int, _ file: inout HostileFile) {
        file.bytes.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: offset, as: T.self) }
    }

    /// Byte offset of the record of the table with this number in the catalog, and of its trees.
    private static func tableOffset(_ number: Int, _ file: HostileFile) -> Int {
        var at = catalogPage(file) * 4096 + 92
        for _ in 0..<number {
            let trees = file.bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: at + 4, as: UInt32.self) }
            at += 64 + Int(trees) * 56
        }
        return at
    }

    // The catalog has the number of entries of a tree. `orderedKeys` once reserved memory for that number, so a flipped
    // bit requested petabytes. Memory now follows the actual content of the leaves.
    @Test("The entry count of an index reserves no memory")
    func entryCount() {
        var file = HostileFile.good
        Self.put(UInt64(1) << 52, Self.tableOffset(0, file) + 64 + 8, &file)
        file.retag(Self.catalogPage(file))
        #expect(!HostileUse.run(file.bytes))
    }

    // A table's root was once taken for a row group unless it was a node. A ref to an index leaf turned its bytes into
    // columns, unchecked, because a block is checked as its own kind. The kind must match the use.
    @Test("A table root that refers to a block of another kind is refused", arguments: BlockKind.allCases)
    func rootKind(kind: BlockKind) throws {
        var file = HostileFile.good
        guard let page = file.usedBlocks.last(where: { file.kind($0) == kind.rawValue }), kind != .rowGroup,
            let holder = file.holders[page]?.first
        else { return }
        let at = Self.tableOffset(0, file) + 24
        file.bytes.replaceSubrange(at..<at + 40, with: Array(file.bytes[holder..<holder + 40]))
        file.retag(Self.catalogPage(file))
        #expect(!HostileUse.run(file.bytes))
    }

    // A record of taken pages in the free log may name 2^32 pages. Each was once visited, for each record: seconds for
    // a page of log. No commit takes more pages than the file has.
    @Test("A free log that takes more pages than the file has is refused immediately")
    func freeLogTakesTooMuch() throws {
        var file = HostileFile.good
        let page = try #require(
            file.usedBlocks.filter { file.kind($0) == BlockKind.freeLog.rawValue }
                .max { Self.birth($0, file) < Self.birth($1, file) })
        let at = page * 4096
        Self.put(UInt32(0), at + 96, &file)
        Self.put(UInt32(200), at + 100, &file)
        for i in 0..<200 {
            Self.put(UInt64(16), at + 104 + i * 16, &file)
            Self.put(UInt64(0xffff_fff0), at + 112 + i * 16, &file)
        }
        file.retag(page)
        let begin = ThreadTime.seconds
        #expect(!HostileUse.run(file.bytes))
        #expect(ThreadTime.seconds - begin < (RunScale.isOptimized ? 2 : 30))
    }

    // Nodes whose children are all the same block are cheap to make and take 64 to the power of the depth visits. The
    // visits to blocks of one tree are limited by the number of pages of the file.
    @Test("A tree that reaches its blocks repeatedly is refused in bounded time")
    func sharedChildren() throws {
        var file = HostileFile.good
        let root = Self.tableOffset(2, file) + 24
        let node = Int(Self.word(root, file) >> 16)
        #expect(file.kind(node) == BlockKind.groupNode.rawValue)
        var below = Array(file.bytes[node * 4096 + 1088..<node * 4096 + 1128])
        var page = 0
        for level in 1...6 {
            page = file.bytes.count / 4096
            file.bytes.append(contentsOf: file.bytes[node * 4096..<node * 4096 + 4096])
            let at = page * 4096
            Self.put(UInt64(page), at + 8, &file)
            Self.put(UInt16(64), at + 32, &file)
            Self.put(UInt8(level), at + 34, &file)
            for i in 0..<64 {
                Self.put(UInt64(i * 10 + 1), at + 64 + i * 8, &file)
                Self.put(UInt64(1), at + 576 + i * 8, &file)
                file.bytes.replaceSubrange(at + 1088 + i * 40..<at + 1128 + i * 40, with: below)
            }
            let tag = file.bytes.withUnsafeBytes {
                file.hash.tag($0.baseAddress.unsafelyUnwrapped + at, 4096)
            }
            below = Array(file.bytes[root..<root + 40])
            below.withUnsafeMutableBytes {
                $0.storeBytes(of: UInt64(page) << 16, as: UInt64.self)
                $0.storeBytes(of: tag.low, toByteOffset: 16, as: UInt64.self)
                $0.storeBytes(of: tag.high, toByteOffset: 24, as: UInt64.self)
            }
        }
        file.bytes.replaceSubrange(root..<root + 40, with: below)
        for slot in [FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset] {
            Self.put(UInt64(page + 1), slot + 32, &file)
        }
        file.retag(Self.catalogPage(file))
        let begin = ThreadTime.seconds
        #expect(!HostileUse.run(file.bytes))
        #expect(ThreadTime.seconds - begin < (RunScale.isOptimized ? 2 : 60))
    }

    // Deleting from a table whose record said that it was empty once made its count negative, and the next commit could
    // not write it.
    @Test("A deletion that would make a table's recorded count negative is refused")
    func countTooSmall() {
        var file = HostileFile.good
        Self.put(UInt64(1), Self.tableOffset(2, file) + 16, &file)
        file.retag(Self.catalogPage(file))
        #expect(!HostileUse.run(file.bytes))
    }

    // A next key below existing keys once created rows that no search could find.
    @Test("A next key that is in use is refused")
    func nextKey() {
        var file = HostileFile.good
        Self.put(UInt64(2), Self.tableOffset(2, file) + 8, &file)
        file.retag(Self.catalogPage(file))
        #expect(!HostileUse.run(file.bytes))
    }

    // An attacker who can write tags could mark live pages as free: the next commit overwrote blocks that sessions of
    // the same process were reading. Checksums do not detect this in blocks of more than one page.
    @Test("A free log that marks a used page as free or pending is refused", arguments: [UInt64(0), 1])
    func pagesInUse(death: UInt64) throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: HostileFile.path, HostileFile.good.bytes)
        let database = try Database.open(path: HostileFile.path, fileSystem: files)
        let newest = database.versions.newest
        let space = try RecordedSpace.load(newest.freeLog, highWater: newest.highWater, database.reader)
        let log = Int(newest.freeLog.page)
        let unused = Set(space.free.pending.flatMap { $0.extent.page..<$0.extent.end })
        var refused = 0
        for page in 16..<newest.highWater
        where space.free.isTaken(Extent(page: page, pageCount: 1)) && !unused.contains(page) {
            var file = HostileFile.good
            let freed = UInt32(truncatingIfNeeded: Self.word(log * 4096 + 96, file))
            #expect(file.bytes[log * 4096 + 32] == 1, "the newest log is a snapshot, which has no taken extents")
            let end = log * 4096 + 104 + 32 * Int(freed)
            Self.put(page, end, &file)
            Self.put(UInt64(1), end + 8, &file)
            Self.put(death, end + 16, &file)
            Self.put(death, end + 24, &file)
            Self.put(freed + 1, log * 4096 + 96, &file)
            file.retag(log)
            // A full check on opening visits every page; otherwise a write finds the roots.
            let others = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
            others.setContents(of: HostileFile.path, file.bytes)
            #expect(throws: EngineError.self) { try Database.open(path: HostileFile.path, fileSystem: others) }
            let isTried = page % (RunScale.isOptimized ? 8 : 32) == 0
            if isTried || [newest.catalog.page, newest.freeLog.page].contains(page) {
                #expect(!HostileUse.run(file.bytes))
            }
            refused += 1
        }
        #expect(refused > 20)
    }
}
