// SPDX-License-Identifier: Apache-2.0
// Valid blocks with content that our writer never writes, and refs that describe a block wrongly.

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

    /// The current slot: the one of the later commit.
    private static func newestSlot(_ file: HostileFile) -> Int {
        let (a, b) = (FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset)
        return word(a + 8, file) > word(b + 8, file) ? a : b
    }

    // MARK: Refs

    /// Wrong claims about a block that a damaged file may make.
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
                // The bytes that others read at the same time stay unchanged and readable.
                #expect([UInt8](UnsafeRawBufferPointer(start: bytes, count: ref.byteCount)) == before)
                #expect(try reader.bytes(ref) == bytes)
            }
        }
    }

    // Checked blocks were once remembered by the low bits of their birth alone: a later ref with another kind or a
    // greater length was accepted, and the bytes were read as that.
    @Test("A ref that describes a block wrongly is refused after the block was read")
    func lyingRefs() throws { try Self.expectRefusals(try Self.open(HostileFile.good)) }

    #if Encryption
        @Test("A ref that describes a decrypted block wrongly is refused, and the block stays unchanged")
        func lyingRefsOfEncryptedFile() throws {
            let files = try EncryptedFileTests.make()
            try Self.expectRefusals(try EncryptedFileTests.open(files, EncryptedFileTests.key(1)))
        }
    #endif

    // MARK: Row groups

    // The words of the bitmap were once counted before the span was compared with its limit.
    @Test(
        "A row group whose keys span nearly all numbers is refused",
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

    // The bits that mark blob records were read, but never compared with the offsets, which such columns do not have.
    @Test("Blob records in a column without offsets are refused")
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

    // A newer block's description of a column in an older block is checked again, unless the older block has the same
    // description.
    @Test("Only the exact segment that was checked with its block counts as checked")
    func checkedSegments() {
        var own = RowGroupLayout.Descriptor(form: .text16, flags: RowGroupLayout.Flags.zone, columnKey: 7)
        own.byteOffset = 512
        own.byteCount = 64
        var elsewhere = own
        elsewhere.source = 1
        let block = DecoderBoundsTests.Block(.rowGroup, rows: 5)
        block.put(UInt16(5), 32)
        block.put(UInt16(3), 36)
        guard let base = block.bytes.baseAddress else { return }
        for (number, column) in [own, elsewhere, own].enumerated() {
            column.write(to: base + RowGroupLayout.headByteCount + number * RowGroupLayout.descriptorByteCount)
        }
        func isChecked(_ change: (inout RowGroupLayout.Descriptor) -> Void, number: Int = 0, rows: Int = 5) -> Bool {
            var asked = elsewhere
            change(&asked)
            return RowGroupLayout.hasOwnSegment(asked, number, rows: rows, base)
        }
        // Another key or another zone does not make it longer.
        #expect(isChecked { _ in })
        #expect(isChecked { $0.columnKey = 8 })
        #expect(isChecked({ $0.zoneMax = 1 }, number: 2))
        for change: (inout RowGroupLayout.Descriptor) -> Void in [
            { $0.byteOffset += 8 }, { $0.byteCount += 1 }, { $0.byteCount -= 1 }, { $0.form = .text32 },
            { $0.flags |= RowGroupLayout.Flags.validity }, { $0.flags |= RowGroupLayout.Flags.blobs },
        ] {
            #expect(!isChecked(change))
        }
        #expect(!isChecked({ _ in }, number: 1))
        #expect(!isChecked({ _ in }, number: 3))
        #expect(!isChecked({ _ in }, rows: 6))
        #expect(!isChecked({ _ in }, rows: 4))
    }

    /// A column of texts of one byte in a block of 8 KiB.
    private static func texts(
        _ form: ColumnForm, rows: Int, flags: UInt8 = 0
    ) -> (column: RowGroupLayout.Descriptor, block: [UInt64], offsets: Int) {
        var column = RowGroupLayout.Descriptor(form: form, flags: flags, columnKey: 1)
        let parts = RowGroupLayout.parts(form, flags, rows: rows)
        column.byteOffset = 64
        column.byteCount = UInt32(parts.heap + rows)
        return (column, [UInt64](repeating: 0, count: 1024), 64 + parts.data)
    }

    private static func refusal(
        _ column: RowGroupLayout.Descriptor, _ rows: Int, _ block: [UInt64], _ fill: (UnsafeMutableRawPointer) -> Void
    ) -> String? {
        var block = block
        return block.withUnsafeMutableBytes { raw -> String? in
            guard let base = raw.baseAddress else { return "no block" }
            fill(base)
            do throws(EngineError) {
                try RowGroupLayout.checkSegment(
                    column, rows: rows, UnsafeRawPointer(base), blockByteCount: raw.count, page: 20)
                return nil
            } catch {
                guard case .corrupted(let damage) = error else { return "\(error)" }
                return damage.what
            }
        }
    }

    @Test(
        "Text offsets that do not ascend, or that point outside the segment, are refused in any row",
        arguments: [ColumnForm.text16, .text32], [1, 2, 3, 8, 9, 31, 64, 100, 1000])
    func textOffsets(form: ColumnForm, rows: Int) {
        let (column, block, offsets) = Self.texts(form, rows: rows)
        func put(_ value: Int, _ row: Int, _ base: UnsafeMutableRawPointer) {
            if form == .text16 {
                base.storeBytes(of: UInt16(truncatingIfNeeded: value), toByteOffset: offsets + 2 * row, as: UInt16.self)
            } else {
                base.storeBytes(of: UInt32(truncatingIfNeeded: value), toByteOffset: offsets + 4 * row, as: UInt32.self)
            }
        }
        func refusal(_ row: Int, _ value: Int) -> String? {
            Self.refusal(column, rows, block) { base in
                for row in 0..<rows { put(row + 1, row, base) }
                put(value, row, base)
            }
        }
        for row in 0..<rows {
            #expect(refusal(row, row + 1) == nil)
            if row > 0 {
                #expect(refusal(row, row) == nil, "an empty text")
                #expect(refusal(row, row - 1) == "a column's text offsets are out of order")
                #expect(refusal(row, 0) == "a column's text offsets are out of order")
            }
            let far =
                row == rows - 1
                ? "a column's text lies outside of its segment" : "a column's text offsets are out of order"
            for value in [rows + 9, 0x7fff, 0x8000, 0xffff] { #expect(refusal(row, value) == far) }
            guard form == .text32 else { continue }
            for value in [0x7fff_ffff, 0x8000_0000, 0xffff_ffff] { #expect(refusal(row, value) == far) }
        }
    }

    @Test("A blob record of another size, or of a pending block, is refused", arguments: [0, 1, 63, 64, 99])
    func blobRecords(row: Int) {
        let rows = 100
        let (plain, block, offsets) = Self.texts(.text16, rows: rows, flags: RowGroupLayout.Flags.blobs)
        var column = plain
        let parts = RowGroupLayout.parts(.text16, RowGroupLayout.Flags.blobs, rows: rows)
        column.byteCount = UInt32(parts.heap + rows + 64)
        let wide = column
        func refusal(_ byteCount: Int, _ ref: BlockRef) -> String? {
            Self.refusal(wide, rows, block) { base in
                var end = 0
                for other in 0..<rows {
                    end += other == row ? byteCount : 1
                    base.storeBytes(of: UInt16(end), toByteOffset: offsets + 2 * other, as: UInt16.self)
                }
                let word = 64 + parts.blobs + row / 64 * 8
                base.storeBytes(of: UInt64(1) << UInt64(row % 64), toByteOffset: word, as: UInt64.self)
                ref.write(to: base + 64 + parts.heap + row)
            }
        }
        let ref = BlockRef(
            location: 20 << 16, birth: 1, tagLow: 1, tagHigh: 1, info: BlockRef.info(.blob, rows: 0, aux: 0))
        #expect(refusal(48, ref) == nil)
        #expect(refusal(47, ref) == "a blob record has the wrong size")
        #expect(refusal(49, ref) == "a blob record has the wrong size")
        let pending = BlockRef(pending: 1, info: ref.info)
        #expect(refusal(48, pending) == "a blob record says that its block is pending")
    }

    /// A file in which each column of each row group extends to the end of its block.
    private static func overlapping() -> HostileFile {
        var file = HostileFile.good
        for page in file.usedBlocks where file.kind(page) == BlockKind.rowGroup.rawValue {
            let at = page * 4096
            let columns = Int(Self.half(at + 36, file) & 0xffff)
            let older = at + RowGroupLayout.headByteCount + columns * RowGroupLayout.descriptorByteCount
            for i in 0..<columns {
                let column = at + RowGroupLayout.headByteCount + i * RowGroupLayout.descriptorByteCount
                let source = Int(Self.half(column + 32, file))
                let pages = source == 0 ? Self.half(at + 4, file) : Self.half(older + (source - 1) * 40, file)
                let end = ((pages & 0xffff) + 1) * 4096
                Self.put(end - Self.half(column + 36, file), column + 40, &file)
            }
            file.retag(page)
        }
        return file
    }

    // A copy of a group was once as long as its columns together, which may all be the same bytes: longer than the
    // limit of a block, which crashed the program.
    @Test("A row group with overlapping columns is not copied")
    func overlappingColumns() throws {
        let session = try Self.open(Self.overlapping()).makeSession()
        let files = SimulatedFileSystem(seed: 2, reservedByteCount: 64 << 20)
        #expect(throws: EngineError.self) { try session.writeCopy(to: "/d/b.realm", in: files) }
    }

    // The same for a changed group: with enough columns, its offsets did not fit into their 32 bits.
    @Test("A row group with overlapping columns is not changed")
    func changedOverlappingColumns() throws {
        let session = try Self.open(Self.overlapping()).makeSession()
        let table = try #require(session.table(named: "All"))
        let column = try #require(table.definition.columns.firstIndex { $0.name == "double" })
        try session.beginWrite()
        try table.set(.double(77), column, of: ObjectKey(2))
        let error = #expect(throws: EngineError.self) { try session.commitWrite() }
        #expect(error?.damage.hasPrefix("the columns of a row group overlap") == true, "\(error as Any)")
        #expect(!session.isWriting)
        #expect(try table.value(column, of: ObjectKey(2)) != .double(77))
    }

    // Each row was once read with all blocks that it refers to: rows times blocks, and a list of links took as much
    // memory. A damaged block of an earlier value hid this too.
    @Test(
        "If many rows share the blocks of one large list, the blocks are not read or freed for each row",
        arguments: [false, true])
    func sharedValues(isBehindDamage: Bool) throws {
        let files = SimulatedFileSystem(seed: 3, reservedByteCount: 64 << 20)
        let database = try Database.open(path: HostileFile.path, fileSystem: files)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Row",
                columns: [
                    NewColumn(name: "data", type: .data),
                    NewColumn(name: "links", type: .link, collection: .list, targetName: "Row"),
                ])
        ])
        let table = try #require(session.table(named: "Row"))
        let (rows, elements) = (500, 5000)
        for _ in 0..<rows {
            let location = try table.insertRow()
            try table.finishInsert(location)
        }
        let links = (0..<elements).map { Value.link(ObjectKey(UInt64($0 % rows + 1))) }
        try table.listInsert(links, 1, of: ObjectKey(1), at: 0)
        try table.set(.data([UInt8](repeating: 7, count: 10_000)), 0, of: ObjectKey(1))
        try session.commitWrite()
        try session.beginWrite()
        if isBehindDamage {
            let group = try #require(try table.groups.dirtyGroup(for: 1))
            group.makeWritable(0)
            let row = group.view.pointee.row(of: 1)
            try #require(group.view.columns[0].isBlob(row))
            var damaged = BlockRef(reading: try #require(group.view.columns[0].bytes(row).baseAddress))
            damaged.tagLow ^= 1
            group.setBlob(0, row, damaged, length: 10_000)
        }
        guard case .ref(let ref) = try table.storedCollection(1, try table.place(ObjectKey(1))) else {
            Issue.record("a large list without blocks of its own")
            return
        }
        for key in 2...UInt64(rows) {
            let group = try #require(try table.groups.dirtyGroup(for: key))
            group.makeWritable(1)
            let row = group.view.pointee.row(of: key)
            group.setBlob(1, row, ref, length: elements)
            group.setValid(1, row, true)
        }
        try session.commitWrite()
        #expect(try table.listCount(1, of: ObjectKey(UInt64(rows))) == elements)
        let findings = IntegrityCheck.run(database).findings
        #expect(findings.contains { $0.law == 2 }, "\(findings)")
        #expect(!findings.contains { $0.law == 10 }, "\(findings)")
        try session.beginWrite()
        #expect(throws: EngineError.self) { try table.deleteAll() }
        #expect(session.space.freed.count <= ElementTree.blockLimit(session.space))
        session.rollbackWrite()
    }

    // MARK: Opening

    // The list of pending pages once had no bound, and was searched for each extent taken.
    @Test("A free log that frees pages twice is refused")
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

    // Each extent that a commit took was once searched for in all pending extents: hours for a file of 1 GiB.
    @Test("A long free log is read in linear time")
    func longLog() throws {
        let (files, count) = (MemoryFileSystem(), 60_000)
        let file = try files.open("/d/log", .readWriteCreate)
        let highWater = UInt64(4 * count)
        try file.allocate(Int(highWater) << 12)
        let protection = try FileProtection(FileHeader(fileSystem: files, key: nil), nil, path: "/d/log")
        let reader = try BlockReader(region: try file.makeRegion(), protection: protection)
        try reader.extend(toPages: highWater)
        func write(_ record: FreeLog.Record, at page: UInt64) throws -> BlockRef {
            let sealer = Sealer()
            let byteCount = FreeLog.byteCount(freed: record.freed.count, taken: record.taken.count)
            let block = sealer.addBlock(.freeLog, byteCount: byteCount)
            FreeLog.write(record, to: block.bytes, room: sealer.byteCount(block.ref))
            sealer.place(at: [page], birth: record.version, nonce: 1, protection: protection)
            let ref = sealer.placed(block.ref)
            try file.write(UnsafeRawBufferPointer(start: block.bytes, count: ref.byteCount), at: Int(page) << 12)
            return ref
        }
        // Every other page is pending; then each of them is taken.
        let pages = (0..<UInt64(count)).map { 20_000 + 2 * $0 }
        let snapshot = FreeLog.Record(
            isSnapshot: true, version: 5, highWater: highWater, previous: .none,
            freed: pages.map { PendingExtent(extent: Extent(page: $0, pageCount: 1), birth: 2, death: 5) }, taken: [])
        let delta = FreeLog.Record(
            isSnapshot: false, version: 6, highWater: highWater, previous: try write(snapshot, at: 16),
            freed: [], taken: pages.dropLast(10).map { Extent(page: $0, pageCount: 1) })
        let newest = try write(delta, at: 2000)
        let begin = ThreadTime.seconds
        let space = try RecordedSpace.load(newest, highWater: highWater, reader)
        #expect(ThreadTime.seconds - begin < (RunScale.isOptimized ? 2 : 30))
        #expect(space.free.pending.map(\.extent.page) == Array(pages.suffix(10)))
    }

    // The runs of a manifest may all name the same part of the file: an opening once hashed it 160 times.
    @Test("A commit whose manifest is longer than the limit does not count")
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
