// SPDX-License-Identifier: Apache-2.0
// The sizes in which a large transaction is spilled, and the part of them that stays in memory.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct SpillSizeTests {
    @Test("A spill is 1 MiB, a 1,024th of a large file, and at most 32 MiB")
    func limit() {
        let limits = SpillLimits()
        #expect(limits.sealedLimit(FreeSpace(highWater: 2)) == 1 << 20)
        #expect(limits.sealedLimit(FreeSpace(highWater: 1 << 18)) == 1 << 20)
        #expect(limits.sealedLimit(FreeSpace(highWater: 10 << 18)) == 10 << 20)
        #expect(limits.sealedLimit(FreeSpace(highWater: 1 << 40)) == 32 << 20)
    }

    @Test("A spill has the maximum size if free pages are scattered, or most pages are free")
    func limitAmongFreePages() throws {
        let limits = SpillLimits()
        // 100 MiB; 40 % of the pages in runs of four are more than may be wasted.
        var space = FreeSpace(highWater: 25_600)
        for page in stride(from: UInt64(100), to: 25_600, by: 10) {
            try space.release(Extent(page: page, pageCount: 4))
        }
        #expect(limits.sealedLimit(space) == 32 << 20)
        // A run that fits a spill.
        space = FreeSpace(highWater: 25_600)
        try space.release(Extent(page: 1000, pageCount: 1000))
        #expect(limits.sealedLimit(space) == 1 << 20)
        // So few that the file is extended instead.
        space = FreeSpace(highWater: 25_600)
        for page in stride(from: UInt64(100), to: 25_600, by: 100) {
            try space.release(Extent(page: page, pageCount: 2))
        }
        #expect(limits.sealedLimit(space) == 1 << 20)
        // Half and a page.
        space = FreeSpace(highWater: 25_600)
        try space.release(Extent(page: 1000, pageCount: 12_800))
        #expect(limits.sealedLimit(space) == 1 << 20)
        try space.release(Extent(page: 14_000, pageCount: 1))
        #expect(limits.sealedLimit(space) == 32 << 20)
    }

    // In spills of 1 MiB it would need more runs than its slot can name, and would wait for a sync.
    @Test("A relaxed commit of some MiB, in a file with scattered free pages, waits for no sync")
    func relaxed() throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 128 << 20)
        var options = Database.OpenOptions()
        (options.syncDelay, options.longestHold) = (nil, .max)
        let session = try Database.openAsOtherProcess(path: "/d/a.realm", fileSystem: files, options: options)
            .makeSession()
        try session.beginWrite()
        try session.addTables([SpaceTests.rows])
        let table = try #require(session.table(named: "Row"))
        for id in 0..<3000 { try SpaceTests.insert(table, id, 5000) }
        try session.commitWrite()
        try session.beginWrite()
        try table.delete(try stride(from: 0, to: 3000, by: 3).map { try table.key(atPosition: $0) })
        try session.commitWrite()
        let syncs = files.operationCount(of: "sync")
        try session.beginWrite()
        for id in 3000..<3400 { try SpaceTests.insert(table, id, 5000) }
        try session.commitWrite(.relaxed)
        #expect(files.operationCount(of: "sync") == syncs)
        #expect(table.count == 2400)
    }

    /// Long texts, so that the index has many branches.
    private static func value(_ column: Int, _ key: UInt64) -> Value {
        if column == 0 { return .int(Int64(key) << 40) }
        return .string(String(repeating: "\(key &* 0x9E37_79B9 % 100_000_007)", count: 12))
    }

    /// The longest write to the file, and the bytes of all, while `body` runs.
    private func writes(_ files: HookedFileSystem, _ body: () throws -> Void) rethrows -> (longest: Int, total: Int) {
        nonisolated(unsafe) var found = (longest: 0, total: 0)
        files.before = { call, path in
            guard case .write(_, let byteCount) = call, path.hasSuffix(".realm") else { return }
            found = (max(found.longest, byteCount), found.total + byteCount)
        }
        defer { files.before = { _, _ in } }
        try body()
        return found
    }

    // All groups, and all leaves of an index, were once packed before their first byte was written.
    @Test("A commit writes groups and index leaves while it packs them", arguments: [0, 1])
    func commits(_ column: Int) throws {
        let files = HookedFileSystem(MemoryFileSystem())
        let path = "/spill/sizes.realm"
        var options = Database.OpenOptions()
        options.spillLimits.sealed = 32 << 10...32 << 10
        let session = try Database.open(path: path, fileSystem: files, options: options).makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Row",
                columns: [
                    NewColumn(name: "number", type: .int), NewColumn(name: "text", type: .string, isIndexed: true),
                ])
        ])
        let table = try #require(session.table(named: "Row"))
        for number in 0..<20_000 {
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            try table.set(.int(Int64(number)), 0, of: key)
            try table.set(.string("text \(number * 7_919 % 20_000)"), 1, of: key)
        }
        try session.commitWrite()
        try session.beginWrite()
        for key in try table.allKeys() {
            let value = Self.value(column, key)
            try table.set(value, column, of: ObjectKey(key))
        }
        let (longest, total) = try writes(files) { try session.commitWrite() }
        #expect(longest < total / 4, "\(longest) of \(total)")
        #expect(IntegrityCheck.run(session.database).isClean)
        let other = try Database.openAsOtherProcess(path: path, fileSystem: files).makeSession()
        let found = try #require(other.table(named: "Row"))
        #expect(found.count == 20_000)
        for key in try found.allKeys() {
            let value = Self.value(column, key)
            #expect(try found.value(column, of: ObjectKey(key)) == value)
        }
    }

    // Each part of the file that was mapped into the buffer once used one of a limited number of mappings, and further
    // parts stayed in memory.
    @Test("Parts that are adjacent in the buffer and in the file share one mapping", arguments: [1, 2])
    func mappings(_ step: UInt64) throws {
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { PosixFileSystem.shared.fillRandom($0) }
        let path = "/tmp/regnum-spill-\(String(word, radix: 16)).realm"
        defer { try? PosixFileSystem.shared.remove(path) }
        let file = try PosixFileSystem.shared.open(path, .readWriteCreate)
        let count = 9_000
        try file.allocate(count * Int(step) << 12)
        let sealer = Sealer()
        for number in 0..<count {
            let block = sealer.addBlock(.rowGroup, byteCount: 4096)
            Memory.fill(block.bytes + BlockHeader.byteCount, with: UInt8(number & 255), 4096 - BlockHeader.byteCount)
            sealer.place(at: [UInt64(number) * step], birth: 1, nonce: 1, protection: nil)
            try sealer.forEachSealed { ref, bytes in
                #expect(throws: Never.self) {
                    try file.write(UnsafeRawBufferPointer(start: bytes, count: 4096), at: Int(ref.page) << 12)
                }
            }
            sealer.noteSpilled(to: file)
        }
        // A process has about 65,000 mappings; these may use 8,192.
        #expect(sealer.shownByteCount >> 12 == (step == 1 ? count : 8_192))
        for number in [0, 1, 8_191, 8_192, count - 1] {
            let ref = BlockRef(pending: number, info: 0)
            #expect(sealer.bytes(ref).load(fromByteOffset: 100, as: UInt8.self) == UInt8(number & 255))
        }
        sealer.reset()
        #expect(sealer.shownByteCount == 0)
        let block = sealer.addBlock(.rowGroup, byteCount: 4096)
        #expect(block.bytes.load(fromByteOffset: 100, as: UInt8.self) == 0)
        block.bytes.storeBytes(of: 9, toByteOffset: 100, as: UInt8.self)
        file.close()
    }
}
