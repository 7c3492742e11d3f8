// SPDX-License-Identifier: Apache-2.0
// Blocks that are whole and say what no block of ours says, and refs that say of a block what it is not.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct HostileBlockTests {
    private static func word(_ offset: Int, _ file: HostileFile) -> UInt64 {
        file.bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    }

    private static func half(_ offset: Int, _ file: HostileFile) -> UInt32 {
        file.bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
    }

    private static func put<T>(_ value: T, _ offset: Int, _ file: inout HostileFile) {
        file.bytes.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: offset, as: T.self) }
    }

    private static func open(_ file: HostileFile) throws -> Database {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: HostileFile.path, file.bytes)
        var options = Database.OpenOptions()
        options.checksSmallFiles = false
        return try Database.open(path: HostileFile.path, fileSystem: files, options: options)
    }

    /// The slot that counts: the one of the later commit.
    private static func newestSlot(_ file: HostileFile) -> Int {
        let (a, b) = (FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset)
        return word(a + 8, file) > word(b + 8, file) ? a : b
    }

    // MARK: Refs

    /// What a damaged file may say of a block beside what is true.
    static let lies: [@Sendable (inout BlockRef) -> Void] = [
        { $0.info = BlockRef.info(.rowGroup) },
        { $0.location |= 0xffff },
        { $0.birth += 1 << 31 },
        { $0.birth += 1 << 47 },
        { $0.tagLow ^= 1 },
        { $0.tagHigh ^= 1 << 63 },
    ]

    private static func expectRefusals(_ database: Database) throws {
        let newest = database.versions.newest
        let reader = database.reader
        for ref in [newest.catalog, newest.freeLog] {
            let bytes = try reader.bytes(ref)
            let before = [UInt8](UnsafeRawBufferPointer(start: bytes, count: ref.byteCount))
            for lie in lies {
                var wrong = ref
                lie(&wrong)
                let refused = wrong
                #expect(throws: EngineError.self) { try reader.bytes(refused) }
                // What others read meanwhile stays as it is, and stays readable.
                #expect([UInt8](UnsafeRawBufferPointer(start: bytes, count: ref.byteCount)) == before)
                #expect(try reader.bytes(ref) == bytes)
            }
        }
    }

    // A block was remembered by the low bits of its birth alone: once it had been checked, a ref to it that gave
    // another kind or a greater length was taken, and its bytes read as what they are not.
    @Test("a ref that lies about a block that was read before is refused")
    func lyingRefs() throws { try Self.expectRefusals(try Self.open(HostileFile.good)) }

    #if Encryption
        @Test("a ref that lies about a decrypted block is refused, and the block stays as it is")
        func lyingRefsOfEncryptedFile() throws {
            let files = try EncryptedFileTests.make()
            try Self.expectRefusals(try EncryptedFileTests.open(files, EncryptedFileTests.key(1)))
        }
    #endif

    // MARK: Row groups

    // The words of the bitmap were counted before the span was compared with its limit.
    @Test(
        "a row group whose keys span nearly all numbers is refused",
        arguments: [UInt64(65_537), UInt64.max - 62, UInt64.max - 1])
    func widestSpan(span: UInt64) {
        let block = DecoderBoundsTests.Block(.rowGroup, rows: 1)
        block.put(UInt16(1), 32)
        block.put(KeyForm.bitmap.rawValue, 34)
        block.put(UInt64(1), 40)
        block.put(span, 48)
        block.put(UInt32(64), 56)
        #expect(block.refusal == "a row group's keys lie outside of it")
    }

    // The bits that tell blob records were read, but never compared with the offsets, which such columns do not have.
    @Test("blob records in a column without offsets are refused")
    func blobsWithoutOffsets() throws {
        let zeros = RowGroupLayout.Flags.zeros
        let cases: [(ColumnForm, UInt8)] = [(.text16, zeros), (.text32, zeros), (.int64, 0), (.bytes16, 0)]
        let block = UnsafeRawPointer(ZeroBytes.base)
        for (form, flags) in cases {
            var column = RowGroupLayout.Descriptor(form: form, flags: flags, columnKey: 1)
            column.byteOffset = 64
            column.byteCount = 64
            try RowGroupLayout.checkSegment(column, rows: 1, block, blockByteCount: 4096, page: 20)
            column.flags |= RowGroupLayout.Flags.blobs
            let damaged = column
            #expect(throws: EngineError.self) {
                try RowGroupLayout.checkSegment(damaged, rows: 1, block, blockByteCount: 4096, page: 20)
            }
        }
    }

    // A copy of a group was as long as its columns together, which may all be the same bytes: longer than a block
    // may be, which ended the program.
    @Test("a row group whose columns overlap is not copied")
    func overlappingColumns() throws {
        var file = HostileFile.good
        for page in file.usedBlocks where file.kind(page) == BlockKind.rowGroup.rawValue {
            let at = page * 4096
            let columns = Int(Self.half(at + 36, file) & 0xffff)
            let older = at + RowGroupLayout.headByteCount + columns * RowGroupLayout.descriptorByteCount
            for i in 0..<columns {
                let column = at + RowGroupLayout.headByteCount + i * RowGroupLayout.descriptorByteCount
                let source = Int(Self.half(column + 32, file))
                // Each segment goes on to the end of the block that it lies in.
                let pages = source == 0 ? Self.half(at + 4, file) : Self.half(older + (source - 1) * 40, file)
                let end = ((pages & 0xffff) + 1) * 4096
                Self.put(end - Self.half(column + 36, file), column + 40, &file)
            }
            file.retag(page)
        }
        let session = try Self.open(file).makeSession()
        let files = SimulatedFileSystem(seed: 2, reservedByteCount: 64 << 20)
        #expect(throws: EngineError.self) { try session.writeCopy(to: "/d/b.realm", in: files) }
    }

    // MARK: Opening

    // What waits to become free had no bound, and was looked through for each extent taken.
    @Test("a free log that lets pages become free twice is refused")
    func pendingTwice() throws {
        var file = HostileFile.good
        let newest = try Self.open(file).versions.newest
        let log = Int(newest.freeLog.page) * 4096
        let freed = Self.half(log + 96, file)
        try #require(file.bytes[log + 32] == 1, "the newest log is a snapshot, which has no taken extents")
        try #require(104 + 32 * (Int(freed) + 2) <= 4096)
        for i in 0..<2 {
            let entry = log + 104 + 32 * (Int(freed) + i)
            for (k, value) in [UInt64(16), 1, 1, 1].enumerated() { Self.put(value, entry + k * 8, &file) }
        }
        Self.put(freed + 2, log + 96, &file)
        file.retag(log / 4096)
        let damaged = file
        #expect(throws: EngineError.self) {
            let database = try Self.open(damaged)
            let newest = database.versions.newest
            _ = try RecordedSpace.load(newest.freeLog, highWater: newest.highWater, database.reader)
        }
    }

    // The runs of a manifest may all be the same part of the file: an opening hashed it 160 times.
    @Test("a commit whose manifest is longer than one may be does not count")
    func longManifest() throws {
        var file = HostileFile.good
        let slot = Self.newestSlot(file)
        let number = Self.word(slot + 8, file)
        let pages = Int(Self.word(slot + 32, file)) - 16
        let tag = file.bytes.withUnsafeBytes {
            file.hash.tag($0.baseAddress.unsafelyUnwrapped + 16 * 4096, pages * 4096)
        }
        let most = (16 << 20) / (pages * 4096)
        try #require(most < CommitSlot.manifestLimit)
        for count in [most, most + 1] {
            for i in 0..<count {
                Self.put(UInt64(16) << 16 | UInt64(pages - 1), slot + 168 + i * 24, &file)
                Self.put(tag.low, slot + 176 + i * 24, &file)
                Self.put(tag.high, slot + 184 + i * 24, &file)
            }
            Self.put(UInt32(count), slot + 160, &file)
            file.retag(slot, 4080, file.hash)
            let found = try? Self.open(file).versions.newest.number
            #expect((found == number) == (count == most))
        }
    }
}
