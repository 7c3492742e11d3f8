// SPDX-License-Identifier: Apache-2.0
// Several processes on one file: each sees the others' commits, no pinned version is overwritten, and a process that
// ends without closing leaves nothing that blocks the others.

import Foundation
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

// A class, because `deinit` removes the files.
@Suite final class ProcessTests {
    let path: String
    init() { path = Self.newPath() }

    static func newPath() -> String {
        var words: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &words) { PosixFileSystem.shared.fillRandom($0) }
        return FileManager.default.temporaryDirectory
            .appendingPathComponent("regnum-process-\(String(words.0, radix: 16)).realm").path
    }

    private func open() throws -> Database {
        try Database.openAsOtherProcess(path: path, fileSystem: PosixFileSystem.shared)
    }

    deinit {
        try? PosixFileSystem.shared.remove(path)
        try? PosixFileSystem.shared.remove(path + ".lock")
    }

    private func makeTable(_ database: Database) throws {
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Row",
                columns: [
                    NewColumn(name: "number", type: .int), NewColumn(name: "text", type: .string),
                ])
        ])
        try session.commitWrite()
    }

    private func insert(_ session: Session, _ count: Int, _ number: Int64) throws {
        try session.beginWrite()
        let table = try #require(session.table(named: "Row"))
        for _ in 0..<count {
            let location = try table.insertRow()
            try table.finishInsert(location)
            try table.set(.int(number), 0, of: location.key)
            try table.set(.string("row \(number)"), 1, of: location.key)
        }
        try session.commitWrite()
    }

    private func numbers(_ session: Session) throws -> [Int64] {
        var numbers: [Int64] = []
        try session.table(named: "Row")?.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count { numbers.append(group.columns[0].integer(row)) }
            return true
        }
        return numbers
    }

    @Test("Each process sees the commits of the others")
    func turns() throws {
        let a = try open()
        try makeTable(a)
        let b = try open()
        let (one, two) = (try a.makeSession(), try b.makeSession())
        for turn in 0..<20 {
            try insert(turn % 2 == 0 ? one : two, 1 + turn * 17, Int64(turn))
            _ = try one.refresh()
            _ = try two.refresh()
            #expect(try numbers(one) == numbers(two))
        }
        #expect(try numbers(one).count == (0..<20).reduce(0) { $0 + 1 + $1 * 17 })
        #expect(IntegrityCheck.run(a).isClean)
        #expect(IntegrityCheck.run(b).isClean)
    }

    @Test("Another process's commits do not overwrite a version that a process reads")
    func pins() throws {
        let a = try open()
        try makeTable(a)
        let b = try open()
        let writer = try b.makeSession()
        var readers: [(Session, [Int64])] = []
        for turn in 0..<90 {
            try insert(writer, 40, Int64(turn))
            try writer.beginWrite()
            let table = try #require(writer.table(named: "Row"))
            for position in 0..<20 { try table.delete(try table.key(atPosition: position)) }
            try writer.commitWrite()
            readers.append((try a.makeSession(), try numbers(writer)))
            if turn % 7 == 6 { readers.remove(at: turn % readers.count) }
            for (reader, expected) in readers { #expect(try numbers(reader) == expected) }
        }
        readers = []
        try insert(writer, 1, 1000)
        try insert(writer, 1, 1001)
        let report = IntegrityCheck.run(b)
        #expect(report.isClean, "\(report.findings)")
        #expect(report.pendingPages < 60)
    }

    @Test("A process that has ended neither pins nor locks")
    func gone() throws {
        let a = try open()
        try makeTable(a)
        let session = try a.makeSession()
        do {
            let b = try open()
            let other = try b.makeSession()
            try other.beginWrite()
            // `other` and `b` end here with the write open and a version pinned.
        }
        for turn in 0..<10 { try insert(session, 100, Int64(turn)) }
        let report = IntegrityCheck.run(a)
        #expect(report.isClean, "\(report.findings)")
        #expect(report.pendingPages < 60)
    }

    // A pin that found no free word once pinned all later versions, and notifications had no receiver: safe, but
    // files grew, and no test failed.
    @Test("A process publishes each version that it reads, and is notified only while it listens")
    func shown() throws {
        let files = SimulatedFileSystem(seed: 3, reservedByteCount: 8 << 20)
        let a = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files)
        try makeTable(a)
        let b = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files)
        let writer = try b.makeSession()
        var readers: [Session] = []
        for turn in 0..<3 {
            readers.append(try a.makeSession())
            try insert(writer, 1, Int64(turn))
        }
        let read = readers.map(\.version)
        #expect(Set(read).count == 3)
        #expect(try b.pinsOfOthers().map(\.version).sorted() == read)
        readers.remove(at: 1)
        #expect(try b.pinsOfOthers().map(\.version).sorted() == [read[0], read[2]])
        let bell = 1024
        #expect(files.contents(of: "/a.realm.lock")?[bell] == 0)
        a.listen(true)
        try insert(writer, 1, 4)
        #expect(files.contents(of: "/a.realm.lock")?[bell] == 1)
    }

    /// A process that reads a version and is killed.
    private static func die(_ base: SimulatedFileSystem) {
        let schedule = Schedule(seed: 1, strategy: .random(period: 1))
        let files = schedule.addProcess(on: base, killedAt: 4000)
        schedule.run(
            expectedSteps: 4000,
            [
                {
                    let database = try? Database.openAsOtherProcess(path: "/a.realm", fileSystem: files)
                    let session = try? database?.makeSession()
                    while !files.isDead { files.pause() }
                    withExtendedLifetime(session) {}
                }
            ])
    }

    // A writer clears the slot of a dead process and then releases it. In the other order it would clear the pins of a
    // process that takes the slot in between, and free the pages that it reads: no test failed when the two were
    // exchanged.
    @Test("A process that takes over the slot of a dead process keeps its pins")
    func takenSlot() throws {
        let base = SimulatedFileSystem(seed: 3, reservedByteCount: 8 << 20)
        let files = HookedFileSystem(base)
        let a = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files)
        try makeTable(a)
        Self.die(base)
        var late: Session?
        files.after = { call, _ in
            guard late == nil, call == .unlock(byte: 1 << 62 + 1001) else { return }
            late = try? Database.openAsOtherProcess(path: "/a.realm", fileSystem: base).makeSession()
        }
        try insert(try a.makeSession(), 1, 1)
        let reader = try #require(late)
        #expect(try a.pinsOfOthers().map(\.version) == [reader.version])
    }
}
