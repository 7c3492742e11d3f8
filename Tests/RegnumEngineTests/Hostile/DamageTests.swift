// SPDX-License-Identifier: Apache-2.0
// Damaged, truncated and foreign files: opening and reading them throws, and never traps, hangs or writes. Half of the
// damaged files get fresh checksums, so that the damage also reaches the decoders.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct DamageTests {
    static let path = "/d/a.realm"

    /// A small file with rows, an index, links, lists, blobs and holes.
    static let good: [UInt8] = {
        do {
            let files = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
            try fill(try Database.open(path: path, fileSystem: files).makeSession())
            return files.contents(of: path) ?? []
        } catch {
            fatalError("\(error)")
        }
    }()

    private static func fill(_ session: Session) throws {
        try session.beginWrite()
        try session.addTables([DatabaseTests.people])
        let table = session.table(named: "Person").unsafelyUnwrapped
        for i in 0..<300 { _ = try DatabaseTests.insert(table, DatabaseTests.row(i)) }
        try table.set(.string(String(repeating: "long ", count: 900)), 1, of: ObjectKey(7))
        for i in 1..<40 {
            try table.listInsert(
                [.link(ObjectKey(UInt64(i))), .link(ObjectKey(9))], 12, of: ObjectKey(UInt64(i + 50)), at: 0)
            try table.listInsert([.string("a"), .null, .string("bc")], 13, of: ObjectKey(UInt64(i)), at: 0)
        }
        try session.commitWrite()
        try session.beginWrite()
        for key in stride(from: 3, to: 300, by: 7) { try table.delete(ObjectKey(UInt64(key))) }
        try session.commitWrite()
    }

    /// Opens and reads everything; returns the outcome.
    @discardableResult
    static func readAll(_ bytes: [UInt8]) -> Bool {
        // First with the default options; then so that only a read finds the damage.
        let isWhole = (try? readAll(bytes, checksSmallFiles: true)) != nil
        return (try? readAll(bytes, checksSmallFiles: false)) != nil || isWhole
    }

    /// A hash of all values.
    private static func readAll(_ bytes: [UInt8], checksSmallFiles: Bool) throws -> Int {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: path, bytes)
        var options = Database.OpenOptions()
        options.checksSmallFiles = checksSmallFiles
        let database = try Database.open(path: path, fileSystem: files, options: options)
        let session = try database.makeSession()
        for table in session.tables { try read(table, session) }
        _ = IntegrityCheck.run(database)
        return try HostileUse.values(session)
    }

    /// The content of the file.
    private static let state: Int = {
        do { return try readAll(good, checksSmallFiles: true) } catch { fatalError("\(error)") }
    }()

    /// Expects an error that names damage with a wrong checksum, or `state`.
    private static func expectNoticed(_ bytes: [UInt8], _ what: String, mayLackHeader: Bool = false) {
        for checksSmallFiles in [true, false] {
            do {
                let found = try readAll(bytes, checksSmallFiles: checksSmallFiles)
                #expect(found == state, "\(what): another state")
            } catch let error as EngineError {
                #expect(HostileUse.mayComeOfDamage(error, mayLackHeader: mayLackHeader), "\(what): \(error)")
            } catch {
                Issue.record("\(what): an error of another type, \(error)")
            }
        }
    }

    private static func read(_ table: Table, _ session: Session) throws {
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                for (column, definition) in table.definition.columns.enumerated() {
                    if definition.collection == .none {
                        _ = try table.value(column, at: location)
                    } else {
                        _ = try table.listValues(column, at: location)
                    }
                }
                _ = try table.locate(location.key)
            }
            return true
        }
        for position in 0..<min(table.count, 400) { _ = try table.key(atPosition: position) }
        for column in table.definition.columns.indices where table.hasIndex(column) {
            for i in 0..<50 { _ = try table.keys(inIndexOf: column, equalTo: .int(Int64(i))) }
        }
        for (column, definition) in table.definition.columns.enumerated() where definition.type == .link {
            for target in 1..<100 {
                _ = try table.backlinks(to: ObjectKey(UInt64(target)), from: table, column: column)
            }
        }
    }

    /// Recomputes the tag of the block at `page` in all its parents: traverses all refs in the file.
    private static func retag(_ bytes: inout [UInt8], page: Int) {
        guard
            let header = try? bytes.withUnsafeBytes({
                try FileHeader(reading: $0.baseAddress.unsafelyUnwrapped, path: "")
            })
        else { return }
        bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress, (page + 1) * 4096 <= buffer.count else { return }
            let pages = Int((base + page * 4096).load(fromByteOffset: 4, as: UInt16.self)) + 1
            guard (page + pages) * 4096 <= buffer.count else { return }
            let tag = header.hash.tag(base + page * 4096, pages * 4096)
            let location = UInt64(page) << 16 | UInt64(pages - 1)
            for at in stride(from: 16384, to: buffer.count - 40, by: 8)
            where base.load(fromByteOffset: at, as: UInt64.self) == location {
                base.storeBytes(of: tag.low, toByteOffset: at + 16, as: UInt64.self)
                base.storeBytes(of: tag.high, toByteOffset: at + 24, as: UInt64.self)
            }
        }
    }

    /// Makes all tags and slots match the bytes again.
    private static func retagAll(_ bytes: inout [UInt8]) {
        for _ in 0..<5 {
            for page in 16..<(bytes.count / 4096) where bytes[page * 4096] == 0x52 && bytes[page * 4096 + 1] == 0x42 {
                retag(&bytes, page: page)
            }
        }
        guard
            let header = try? bytes.withUnsafeBytes({
                try FileHeader(reading: $0.baseAddress.unsafelyUnwrapped, path: "")
            })
        else { return }
        bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            for slot in [FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset] {
                (base + slot).storeBytes(of: 0, toByteOffset: 160, as: UInt32.self)
                let tag = header.hash.tag(base + slot, 4080)
                (base + slot).storeBytes(of: tag.low, toByteOffset: 4080, as: UInt64.self)
                (base + slot).storeBytes(of: tag.high, toByteOffset: 4088, as: UInt64.self)
            }
        }
    }

    @Test("The undamaged file can be read, even after its tags have been recomputed")
    func undamaged() {
        #expect(Self.readAll(Self.good))
        var bytes = Self.good
        Self.retagAll(&bytes)
        #expect(Self.readAll(bytes))
    }

    @Test("A flipped bit anywhere in a used page is detected or harmless", arguments: 1...4)
    func bits(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        for _ in 0..<(RunScale.isOptimized ? 2000 : 15) {
            var bytes = Self.good
            let (at, bit) = (random.below(bytes.count), random.below(8))
            bytes[at] ^= 1 << UInt8(bit)
            Self.expectNoticed(bytes, "bit \(bit) of byte \(at)")
        }
    }

    @Test("Bytes changed under a fresh checksum do not cause reads outside the file", arguments: 1...4)
    func retagged(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed) + 100)
        let used = (16..<(Self.good.count / 4096)).filter { Self.good[$0 * 4096] == 0x52 }
        for _ in 0..<(RunScale.isOptimized ? 1000 : 1) {
            var bytes = Self.good
            let page = used[random.below(used.count)]
            for _ in 0..<(1 + random.below(4)) {
                let at = page * 4096 + 32 + (random.below(2) == 0 ? random.below(200) : random.below(4064))
                switch random.below(3) {
                case 0: bytes[at] ^= 1 << UInt8(random.below(8))
                case 1: bytes[at] = UInt8(truncatingIfNeeded: random.next())
                default: bytes[at] = random.below(2) == 0 ? 0 : 255
                }
            }
            Self.retagAll(&bytes)
            Self.readAll(bytes)
        }
    }

    @Test("A truncated file does not open, or has all its contents")
    func truncated() {
        for count in stride(from: 1, to: Self.good.count, by: RunScale.isOptimized ? 512 : 24_000) {
            Self.expectNoticed(Array(Self.good.prefix(count)), "cut to \(count) bytes", mayLackHeader: true)
        }
    }

    static let foreignFiles: [[UInt8]] = [
        [0x41], [UInt8](repeating: 0x41, count: 5000),
        Array("SQLite format 3\0".utf8) + [UInt8](repeating: 0, count: 8192),
        [UInt8](repeating: 0, count: 16) + Array("T-DB".utf8) + [UInt8](repeating: 0, count: 4076),
        [UInt8](repeating: 0, count: 300_000),
    ]

    @Test("Foreign files are refused and not changed", arguments: foreignFiles.indices)
    func foreign(number: Int) {
        let bytes = Self.foreignFiles[number]
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: Self.path, bytes)
        #expect(throws: EngineError.self) { _ = try Database.open(path: Self.path, fileSystem: files) }
        #expect(files.contents(of: Self.path) == bytes)
    }

    @Test("The second copy of the header replaces the first")
    func headerCopy() {
        var bytes = Self.good
        for i in 0..<4096 { bytes[i] = 0xEE }
        #expect(Self.readAll(bytes))
    }
}

/// Debug builds run fewer cases.
enum RunScale {
    static let isOptimized: Bool = {
        var isOptimized = true
        assert(
            {
                isOptimized = false; return true
            }())
        return isOptimized
    }()
}
