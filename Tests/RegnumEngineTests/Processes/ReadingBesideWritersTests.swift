// SPDX-License-Identifier: Apache-2.0
// Readers that write nothing, beside a process that writes all the time: the versions that they opened stay unchanged.

import Foundation
@testable import RegnumEngine
import RegnumSystem
import Synchronization
import Testing

// A class, because `deinit` removes the folder.
@Suite final class ReadingBesideWritersTests {
    private let files = PosixFileSystem.shared
    private let folder: String
    private var path: String { folder + "/a.realm" }

    init() throws {
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { PosixFileSystem.shared.fillRandom($0) }
        folder =
            FileManager.default.temporaryDirectory.appendingPathComponent("regnum-beside-\(String(word, radix: 16))")
            .path
        try files.makeDirectories(folder)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func open(readOnly: Bool, checks: Bool = true) throws -> Database {
        var options = Database.OpenOptions(isReadOnly: readOnly)
        options.checksSmallFiles = checks
        return try Database.openAsOtherProcess(path: path, fileSystem: files, options: options)
    }

    private static let rows = NewTable(
        name: "Row", columns: [NewColumn(name: "number", type: .int), NewColumn(name: "text", type: .string)])

    private func insert(_ table: Table, _ count: Int, _ byteCount: Int) throws {
        for _ in 0..<count {
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            try table.set(.string(String(repeating: "x", count: byteCount)), 1, of: key)
        }
    }

    /// 600 rows, all with the same number.
    private func make(_ session: Session) throws {
        try session.beginWrite()
        try session.addTables([Self.rows])
        let table = try #require(session.table(named: "Row"))
        try insert(table, 600, 40)
        try session.commitWrite()
        try Self.change(session, to: 0, .full)
    }

    private static func change(_ session: Session, to number: Int64, _ durability: CommitDurability) throws {
        try session.beginWrite()
        let table = try #require(session.table(named: "Row"))
        for position in 0..<table.count { try table.set(.int(number), 0, of: try table.key(atPosition: position)) }
        try session.commitWrite(durability)
    }

    private func numbers(_ session: Session) throws -> Set<Int64> {
        var numbers: Set<Int64> = []
        var count = 0
        try session.table(named: "Row")?.forEachGroup { group throws(EngineError) in
            count += group.pointee.count
            for row in 0..<group.pointee.count { numbers.insert(group.columns[0].integer(row)) }
            return true
        }
        #expect(count == 600)
        return numbers
    }

    /// Runs `body` while a thread commits without a pause.
    private func whileWriting(_ durability: CommitDurability, _ body: () throws -> Void) throws {
        // Only the thread uses it from here on.
        nonisolated(unsafe) let writer = try open(readOnly: false).makeSession()
        try make(writer)
        let (isOver, hasEnded, commits) = (Box(false), Box(false), Box(0))
        let isStarted = DetachedThread.start {
            while !isOver.value {
                do {
                    try Self.change(writer, to: Int64(commits.value + 1), durability)
                    commits.value += 1
                } catch {
                    Issue.record(error)
                    break
                }
            }
            hasEnded.value = true
        }
        #expect(isStarted)
        defer {
            isOver.value = true
            while !hasEnded.value { CurrentThread.sleep(nanoseconds: 100_000) }
        }
        while commits.value < 3, !hasEnded.value { CurrentThread.sleep(nanoseconds: 100_000) }
        try body()
        while commits.value <= 3, !hasEnded.value { CurrentThread.sleep(nanoseconds: 100_000) }
    }

    private final class Box<Value: Sendable>: Sendable {
        private let lock: Lock<Value>
        init(_ value: Value) { lock = Lock(value) }
        var value: Value {
            get { lock.withLock { $0 } }
            set { lock.withLock { $0 = newValue } }
        }
    }

    @Test(
        "A read-only process sees one whole version, while another process writes all the time",
        arguments: [CommitDurability.relaxed, .full])
    func reading(_ durability: CommitDurability) throws {
        try whileWriting(durability) {
            for turn in 0..<25 {
                let reader = try open(readOnly: true, checks: turn % 2 == 0)
                let session = try reader.makeSession()
                let first = try numbers(session)
                #expect(first.count == 1, "turn \(turn): \(first)")
                // After many commits, unread data is still there, and data that was read is unchanged.
                CurrentThread.sleep(nanoseconds: 3_000_000)
                let report = IntegrityCheck.run(reader)
                #expect(report.isClean, "turn \(turn): \(report.findings.prefix(3))")
                #expect(try numbers(session) == first)
                #expect(reader.passedOver == nil)
            }
        }
    }

    @Test("A pinned version takes space until the reader closes it, and none after that")
    func space() throws {
        let writer = try open(readOnly: false).makeSession()
        try make(writer)
        func pending() throws -> Int {
            for number in 1..<20 { try Self.change(writer, to: Int64(number), .full) }
            return IntegrityCheck.run(writer.database).pendingPages
        }
        let before = try pending()
        do {
            let reader = try open(readOnly: true)
            let number = reader.versions.newest.number
            #expect(try writer.database.pinsOfOthers().map(\.version) == [number])
            // The pinned version, and not those after it.
            let during = try pending()
            #expect(during > before)
            #expect(try pending() <= during + 2)
            #expect(try numbers(try reader.makeSession()).count == 1)
        }
        #expect(try writer.database.pinsOfOthers().isEmpty)
        #expect(try pending() <= before + 2)
        #expect(IntegrityCheck.run(writer.database).isClean)
    }

    @Test("A file is not truncated while a reader uses its end")
    func cutting() throws {
        let writer = try open(readOnly: false).makeSession()
        try make(writer)
        try writer.beginWrite()
        let table = try #require(writer.table(named: "Row"))
        try insert(table, 2400, 1500)
        try writer.commitWrite()
        func clear() throws {
            try writer.beginWrite()
            let table = try #require(writer.table(named: "Row"))
            while table.count > 600 { try table.delete(try table.key(atPosition: table.count - 1)) }
            try writer.commitWrite()
            for number in 0..<20 { try Self.change(writer, to: Int64(number), .full) }
        }
        let size = try #require(try files.status(path)?.byteCount)
        do {
            let reader = try open(readOnly: true, checks: false)
            try clear()
            #expect(try #require(try files.status(path)?.byteCount) >= size)
            let session = try reader.makeSession()
            #expect(session.table(named: "Row")?.count == 3000)
            #expect(IntegrityCheck.run(reader).isClean)
        }
        for number in 0..<20 { try Self.change(writer, to: Int64(number), .full) }
        #expect(try #require(try files.status(path)?.byteCount) < size)
    }

    @Test("More readers than the lock file has words for keep their versions")
    func many() throws {
        let writer = try open(readOnly: false).makeSession()
        try make(writer)
        var readers: [(Session, Set<Int64>)] = []
        for number in 1..<90 {
            let reader = try open(readOnly: true, checks: false)
            let session = try reader.makeSession()
            readers.append((session, try numbers(session)))
            try Self.change(writer, to: Int64(number), .full)
        }
        for (session, numbers) in readers {
            #expect(try self.numbers(session) == numbers)
            #expect(IntegrityCheck.run(session.database).isClean)
        }
        readers = []
        for number in 0..<5 { try Self.change(writer, to: Int64(number), .full) }
        #expect(IntegrityCheck.run(writer.database).pendingPages < 200)
    }

    @Test("A reader sees the published version while a slot is being written, or after its writer has ended")
    func betweenSlotAndNumber() throws {
        let writer = try open(readOnly: false).makeSession()
        try make(writer)
        try Self.change(writer, to: 7, .full)
        let file = try files.open(path, .readWrite)
        defer { file.close() }
        let slots = try CommitSlot.readAll(file, protection: writer.database.protection).sorted {
            $0.slot.version > $1.slot.version
        }
        // Bytes of a commit that is not published: one more than the newest, in the other slot.
        var next = slots[0].slot
        next.version += 1
        next.nonce += 1
        let offset = CommitSlot.otherByteOffset(slots[0].byteOffset)
        for bytes in [writer.database.bytes(of: next), [UInt8](repeating: 9, count: CommitSlot.byteCount)] {
            try file.write(bytes, at: offset)
            let reader = try open(readOnly: true)
            #expect(reader.versions.newest.number == slots[0].slot.version)
            #expect(try numbers(try reader.makeSession()) == [7])
        }
    }

    @Test("Damage is reported as damage, even while another process writes")
    func damage() throws {
        try whileWriting(.relaxed) {
            // The header's copy: no process writes there.
            let file = try files.open(path, .readWrite)
            defer { file.close() }
            try file.write([UInt8](repeating: 0xEE, count: 64), at: FormatLimits.headerCopyByteOffset)
            let report = IntegrityCheck.run(try open(readOnly: true))
            #expect(report.findings.map(\.law) == [2], "\(report.findings)")
        }
    }
}
