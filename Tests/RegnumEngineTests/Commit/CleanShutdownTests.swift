// SPDX-License-Identifier: Apache-2.0
// Damage to the newest commit of a closed file counts as damage, and not as an incomplete commit.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

// A flipped bit in the pages of the newest commit made its manifest fail, so the commit before it counted: acknowledged
// data was lost silently, and the next opening cleared the slot. The file alone could not distinguish damage from a
// commit that a power loss had interrupted. Now the process that closes the file records that the commit is durable
// (`CommitSlot`); after a process that ended without closing, the lock file says so until the machine restarts.
@Suite struct CleanShutdownTests {
    static let path = "/s/a.realm"
    #if Encryption
        static let keys = [nil, (0..<64).map { UInt8($0) }.withUnsafeBytes { EncryptionKey($0) }]
    #else
        static let keys: [EncryptionKey?] = [nil]
    #endif

    private static func open(
        _ files: some FileSystem, _ key: EncryptionKey?, isReadOnly: Bool = false, path: String = path
    ) throws -> Database {
        var options = Database.OpenOptions(isReadOnly: isReadOnly)
        options.encryptionKey = key
        return try Database.openAsOtherProcess(path: path, fileSystem: files, options: options)
    }

    private static func insert(_ session: Session, _ ids: Range<Int>) throws {
        try session.beginWrite()
        for id in ids { try SpaceTests.insert(try #require(session.table(named: "Row")), id, 100 + id % 7 * 900) }
        try session.commitWrite()
    }

    /// Three commits: the class, 40 rows, 20 more.
    private static func fill(_ database: Database) throws {
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([SpaceTests.rows])
        try session.commitWrite()
        try insert(session, 0..<40)
        try insert(session, 40..<60)
    }

    private static func make(_ key: EncryptionKey?) throws -> [UInt8] {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        do { try fill(try open(files, key)) }
        return try #require(files.contents(of: path))
    }

    /// The whole content of the file, read in order and by lookups.
    private static func contents(_ database: Database) throws -> [[Value]] {
        let session = try database.makeSession()
        guard let table = session.table(named: "Row") else { return [] }
        return try (0..<table.count).map { position in
            let key = try table.key(atPosition: position)
            let values = try (0..<3).map { try table.value($0, of: key) }
            #expect(try table.key(forPrimaryKey: values[0]) == key)
            return values
        }
    }

    private static func files(_ bytes: [UInt8]) -> SimulatedFileSystem {
        let files = SimulatedFileSystem(seed: 2, reservedByteCount: 64 << 20)
        files.setContents(of: path, bytes)
        return files
    }

    enum Outcome { case right, refused, wrong }

    private static func outcome(
        _ bytes: [UInt8], _ key: EncryptionKey?, _ expected: [[Value]], _ label: String, isReadOnly: Bool = false,
        mayLackHeader: Bool = false
    ) -> Outcome {
        do {
            let found = try contents(try open(files(bytes), key, isReadOnly: isReadOnly))
            #expect(found == expected, "\(label): \(found.count) rows")
            return found == expected ? .right : .wrong
        } catch let error as EngineError {
            #expect(HostileUse.mayComeOfDamage(error, mayLackHeader: mayLackHeader), "\(label): \(error)")
            return .refused
        } catch {
            Issue.record("\(label): \(error)")
            return .wrong
        }
    }

    @Test("A flipped bit in the pages of the newest commit is an error, or lies in unused bytes", arguments: keys)
    func pages(key: EncryptionKey?) throws {
        let good = try Self.make(key)
        let expected = try Self.contents(try Self.open(Self.files(good), key))
        #expect(expected.count == 60)
        let step = RunScale.isOptimized ? 61 : 509
        var refused = 0
        for at in stride(from: Int(FormatLimits.reservedPages) << 12, to: good.count, by: step) {
            var bytes = good
            bytes[at] ^= 1 << UInt8(at & 7)
            let isReadOnly = at % 2 == 0
            if Self.outcome(bytes, key, expected, "byte \(at)", isReadOnly: isReadOnly) == .refused { refused += 1 }
        }
        #expect(refused > 30)
    }

    @Test("A damaged slot is replaced by its copy, and a damaged copy does no harm", arguments: keys)
    func slots(key: EncryptionKey?) throws {
        let good = try Self.make(key)
        let expected = try Self.contents(try Self.open(Self.files(good), key))
        for offset in CommitSlot.byteOffsets + CommitSlot.settledByteOffsets {
            for at in stride(from: offset, to: offset + CommitSlot.byteCount, by: RunScale.isOptimized ? 7 : 97) {
                var bytes = good
                bytes[at] ^= 1 << UInt8(at & 7)
                for isReadOnly in [true, false] {
                    #expect(Self.outcome(bytes, key, expected, "byte \(at)", isReadOnly: isReadOnly) == .right)
                }
            }
        }
        // Both at once: only the copy is left, and commits based on it last without it.
        var bytes = good
        for offset in CommitSlot.byteOffsets { bytes[offset + 9] ^= 1 }
        let files = Self.files(bytes)
        do {
            let database = try Self.open(files, key)
            #expect(try Self.contents(database) == expected)
            try Self.insert(try database.makeSession(), 60..<61)
        }
        var written = try #require(files.contents(of: Self.path))
        Self.clear(CommitSlot.settledByteOffsets, in: &written)
        let database = try Self.open(Self.files(written), key)
        #expect(try Self.contents(database).count == 61)
        #expect(IntegrityCheck.run(database).isClean)
    }

    @Test("A closed file that was truncated is refused", arguments: keys)
    func cut(key: EncryptionKey?) throws {
        let good = try Self.make(key)
        let expected = try Self.contents(try Self.open(Self.files(good), key))
        var refused = 0
        for count in stride(from: Int(FormatLimits.reservedPages) << 12, to: good.count, by: 4096) {
            let outcome = Self.outcome(Array(good.prefix(count)), key, expected, "\(count) bytes")
            if outcome == .refused { refused += 1 }
        }
        #expect(refused > 10)
    }

    @Test("A commit clears the clean-shutdown record, and closing the file writes a new one")
    func cleared() throws {
        let files = Self.files(try Self.make(nil))
        func settled() throws -> UInt64? {
            let bytes = try #require(files.contents(of: Self.path))
            return try CommitSlot.readSettled(files.open(Self.path, .readOnly), protection: Self.protection(bytes))?
                .slot.version
        }
        #expect(try settled() == 4)
        do {
            let database = try Self.open(files, nil)
            #expect(try settled() == 4)
            try Self.insert(try database.makeSession(), 60..<61)
            let during = try withExtendedLifetime(database) { try settled() }
            #expect(during == nil)
        }
        #expect(try settled() == 5)
        // A read-only process leaves the record unchanged, even if it has to check that no process writes.
        #expect(try Self.contents(try Self.open(files, nil)).count == 61)
        #expect(try settled() == 5)
        var without = try #require(files.contents(of: Self.path))
        Self.clear(CommitSlot.settledByteOffsets, in: &without)
        let others = Self.files(without)
        do { #expect(IntegrityCheck.run(try Self.open(others, nil)).isClean) }
        #expect(others.contents(of: Self.path) == without)
    }

    // A copy of a database has all content in commit 1; in a new database, commit 1 is empty.
    @Test("A small file whose first page is lost is not treated as a new file", arguments: [true, false])
    func firstPageLost(isCopy: Bool) throws {
        let files = Self.files(try Self.make(nil))
        var path = Self.path
        if isCopy {
            path = "/s/copy.realm"
            let database = try Self.open(files, nil)
            try database.makeSession().writeCopy(to: path, in: files)
        }
        var bytes = try #require(files.contents(of: path))
        // It has a slot, and the other one is that of the empty database.
        for i in 0..<4096 { bytes[i] = 0 }
        let found = try Self.contents(try Self.open(Self.files(bytes), nil))
        #expect(found.count == 60)
        // The page is written again.
        let mended = Self.files(bytes)
        do { _ = try Self.open(mended, nil) }
        #expect(try #require(mended.contents(of: Self.path))[0..<8] != bytes[0..<8])
        #expect(IntegrityCheck.run(try Self.open(mended, nil)).isClean)
    }

    @Test("An older clean-shutdown record is ignored, and one of another commit with the same version is an error")
    func stale() throws {
        let older = try Self.make(nil)
        let files = Self.files(older)
        do {
            let database = try Self.open(files, nil)
            try Self.insert(try database.makeSession(), 60..<61)
            try Self.insert(try database.makeSession(), 61..<62)
        }
        let newer = try #require(files.contents(of: Self.path))
        let settled = FormatLimits.settledSlotByteOffset
        #expect(newer[settled..<settled + 4096] != older[settled..<settled + 4096])
        var bytes = newer
        for at in CommitSlot.settledByteOffsets {
            bytes.replaceSubrange(at..<at + 4096, with: older[at..<at + 4096])
        }
        #expect(try Self.contents(try Self.open(Self.files(bytes), nil)).count == 62)
        // Nothing records that the newest commit is durable: damage to it looks like a power loss.
        let slot = try #require(
            CommitSlot.readAll(try Self.files(bytes).open(Self.path, .readWrite), protection: Self.protection(bytes))
                .max { $0.slot.version < $1.slot.version }?.slot)
        bytes[Int(slot.catalog.page) << 12 + 50] ^= 1
        #expect(try Self.contents(try Self.open(Self.files(bytes), nil)).count == 61)
        var other = slot
        (other.nonce, other.isTwoStep, other.manifest) = (slot.nonce ^ 1, true, [])
        try bytes.withUnsafeMutableBytes { raw in
            other.write(to: try #require(raw.baseAddress) + settled, protection: try Self.protection(Array(raw)))
        }
        // Stable storage never holds two commits of one version: one slot or the other was replaced.
        #expect(throws: EngineError.self) { try Self.open(Self.files(bytes), nil) }
    }

    /// The file after more commits.
    private static func continued(_ start: [UInt8], _ key: EncryptionKey?, _ commits: [Range<Int>]) throws -> [UInt8] {
        let files = SimulatedFileSystem(seed: UInt64(100 + commits[0].lowerBound), reservedByteCount: 64 << 20)
        files.setContents(of: path, start)
        do {
            let session = try open(files, key).makeSession()
            for ids in commits { try insert(session, ids) }
        }
        return try #require(files.contents(of: path))
    }

    private static func clear(_ offsets: [Int], in bytes: inout [UInt8]) {
        for offset in offsets { for i in offset..<offset + CommitSlot.byteCount { bytes[i] = 0 } }
    }

    // When the newest slot, the header's copy and the clean-shutdown record were lost together, the older slot once
    // counted, and a slot of zeros looked like a cleared one.
    @Test("No range of lost pages at the start of a closed file shows an older state", arguments: keys, [false, true])
    func lostPages(key: EncryptionKey?, isOdd: Bool) throws {
        let files = Self.files(try Self.make(key))
        // The newest commit lies in one slot or in the other.
        if isOdd { try Self.insert(try Self.open(files, key).makeSession(), 60..<61) }
        let good = try #require(files.contents(of: Self.path))
        let expected = try Self.contents(try Self.open(Self.files(good), key))
        var counts = [0, 0]
        for first in 0..<16 {
            for last in first..<16 {
                for isGarbage in [false, true] where !isGarbage || RunScale.isOptimized || first % 5 == 4 {
                    var bytes = good
                    for i in first << 12..<(last + 1) << 12 {
                        bytes[i] = isGarbage ? UInt8(truncatingIfNeeded: i / 7) : 0
                    }
                    let outcome = Self.outcome(
                        bytes, key, expected, "pages \(first) to \(last)", isReadOnly: first % 2 == 0,
                        mayLackHeader: first == 0 && last >= 12)
                    counts[outcome == .right ? 0 : 1] += 1
                }
            }
        }
        #expect(counts[0] > 100 && counts[1] > 4)
    }

    @Test("A slot from a diverged copy is an error that names its page", arguments: keys)
    func divergedSlot(key: EncryptionKey?) throws {
        // Two copies of one file get commits of the same versions, and one of them one more.
        let start = try Self.make(key)
        let images = try [[60..<63], [70..<71], [80..<82, 82..<83], [80..<82, 82..<83, 84..<85]].map {
            try Self.continued(start, key, $0)
        }
        let good = images[0]
        let expected = try Self.contents(try Self.open(Self.files(good), key))
        #expect(expected.count == 63)
        for other in images.dropFirst() {
            for offset in CommitSlot.byteOffsets {
                for source in CommitSlot.byteOffsets {
                    var bytes = good
                    bytes.replaceSubrange(offset..<offset + 4096, with: other[source..<source + 4096])
                    let outcome = Self.outcome(bytes, key, expected, "slot at \(offset) from \(source)")
                    #expect(outcome != .wrong)
                }
            }
        }
        // The same version: the error names the page. The seeded bug of ignoring the record is detected.
        let newest = try #require(
            try CommitSlot.readAll(
                try Self.files(good).open(Self.path, .readOnly), protection: Self.protection(good, key)
            )
            .max { $0.slot.version < $1.slot.version })
        var bytes = good
        let range = newest.byteOffset..<newest.byteOffset + 4096
        bytes.replaceSubrange(range, with: images[1][range])
        do {
            _ = try Self.open(Self.files(bytes), key)
            Issue.record("the slot was accepted")
        } catch EngineError.corrupted(let damage) {
            #expect(damage.page == UInt64(newest.byteOffset >> 12))
        }
        var options = Database.OpenOptions()
        options.encryptionKey = key
        options.mutant = .settledSlotIgnored
        let database = try Database.openAsOtherProcess(
            path: Self.path, fileSystem: Self.files(bytes), options: options)
        #expect(try Self.contents(database) != expected)
    }

    // A commit once took the first version that no slot may have: it was acknowledged, and the next opening did not see
    // it.
    @Test("A file that has reached the last version can be read, but no longer written")
    func lastNumber() throws {
        var bytes = try Self.make(nil)
        let protection = try Self.protection(bytes)
        for placed in try CommitSlot.readAll(try Self.files(bytes).open(Self.path, .readWrite), protection: protection)
        {
            var slot = placed.slot
            slot.version += CommitSlot.versionLimit - 5
            try bytes.withUnsafeMutableBytes {
                slot.write(to: try #require($0.baseAddress) + placed.byteOffset, protection: protection)
            }
        }
        let session = try Self.open(Self.files(bytes), nil).makeSession()
        #expect(session.version == CommitSlot.versionLimit - 1)
        do {
            try Self.insert(session, 60..<61)
            Issue.record("a commit beyond the last version succeeded")
        } catch EngineError.limit(let words) {
            #expect(words.contains("write a copy"))
        }
        #expect(try Self.contents(session.database).count == 60)
    }

    private static func protection(_ bytes: [UInt8], _ key: EncryptionKey? = nil) throws -> FileProtection {
        try bytes.withUnsafeBytes {
            try FileProtection(FileHeader(reading: try #require($0.baseAddress), path: ""), key, path: "")
        }
    }

    @Test("The lock file records a durable newest commit for a process that did not close the file")
    func lockFile() throws {
        let path = ProcessTests.newPath()
        defer {
            for name in [path, path + ".lock"] { try? PosixFileSystem.shared.remove(name) }
        }
        let hooked = HookedFileSystem(PosixFileSystem.shared)
        do {
            // Killed: the process writes nothing on closing.
            let database = try Self.open(hooked, nil, path: path)
            try Self.fill(database)
            withExtendedLifetime(database) {
                hooked.refusal = { request, _ in request == .tryLock ? SystemError(.io, "lock", path) : nil }
            }
        }
        let file = try PosixFileSystem.shared.open(path, .readWrite)
        defer { file.close() }
        let page = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
        defer { page.deallocate() }
        _ = try file.read(page, at: FormatLimits.settledSlotByteOffset)
        #expect(page.allSatisfy { $0 == 0 })
        let bytes = try Self.read(file)
        let slot = try #require(
            try CommitSlot.readAll(file, protection: Self.protection(bytes)).max { $0.slot.version < $1.slot.version }?
                .slot)
        try file.write([bytes[Int(slot.catalog.page) << 12 + 50] ^ 1], at: Int(slot.catalog.page) << 12 + 50)
        for isReadOnly in [false, true] {
            #expect(throws: EngineError.self) {
                try Self.open(PosixFileSystem.shared, nil, isReadOnly: isReadOnly, path: path)
            }
        }
        #expect(throws: EngineError.self) {
            try Database.compact(path: path, fileSystem: PosixFileSystem.shared, options: Database.OpenOptions())
        }
        // Nothing was cleared.
        #expect(try CommitSlot.readAll(file, protection: Self.protection(bytes)).count == 2)
        try file.write([bytes[Int(slot.catalog.page) << 12 + 50]], at: Int(slot.catalog.page) << 12 + 50)
        // The slot itself: the one before it would be a commit that no program requested.
        let newest = try #require(
            try CommitSlot.readAll(file, protection: Self.protection(bytes)).max { $0.slot.version < $1.slot.version })
        try file.write([bytes[newest.byteOffset + 9] ^ 1], at: newest.byteOffset + 9)
        for isReadOnly in [false, true] {
            #expect(throws: EngineError.self) {
                try Self.open(PosixFileSystem.shared, nil, isReadOnly: isReadOnly, path: path)
            }
        }
        try file.write([bytes[newest.byteOffset + 9]], at: newest.byteOffset + 9)
        #expect(try Self.contents(try Self.open(PosixFileSystem.shared, nil, path: path)).count == 60)
    }

    private static func read(_ file: any File) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: try file.byteCount())
        let count = try bytes.withUnsafeMutableBytes { try file.read($0, at: 0) }
        #expect(count == bytes.count)
        return bytes
    }
}
