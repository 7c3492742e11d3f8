// SPDX-License-Identifier: Apache-2.0
// Attacks on the files of an open database: the lock file overwritten, truncated, deleted or replaced; the database
// replaced or unlinked; a planted link. Processes that have the file open continue, and an opening gets the database or
// a clear error.

import Foundation
@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

// A class, because `deinit` removes the folder.
@Suite final class LockFileTests {
    enum Attack: CaseIterable { case garbled, zeroed, cut, emptied, deleted, replaced, replacedByItself }

    private let files = PosixFileSystem.shared
    private let folder: String
    private var path: String { folder + "/a.realm" }

    init() throws {
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { PosixFileSystem.shared.fillRandom($0) }
        folder =
            FileManager.default.temporaryDirectory.appendingPathComponent("regnum-lock-\(String(word, radix: 16))").path
        try files.makeDirectories(folder)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func open(_ path: String? = nil) throws -> Session {
        try Database.openAsOtherProcess(path: path ?? self.path, fileSystem: files).makeSession()
    }

    private func insert(_ session: Session, _ count: Int = 1) throws {
        for _ in 0..<count {
            try session.beginWrite()
            if session.tables.isEmpty { try session.addTables([SpaceTests.rows]) }
            let table = try #require(session.table(named: "Row"))
            try SpaceTests.insert(table, table.count, 1500)
            if table.count > 30 { try table.set(.string("again"), 1, of: try table.key(atPosition: 3)) }
            try session.commitWrite()
        }
    }

    private func rows(_ session: Session) throws -> [Value] {
        let table = try #require(session.table(named: "Row"))
        return try (0..<table.count).flatMap { position -> [Value] in
            let key = try table.key(atPosition: position)
            return [try table.value(0, of: key), try table.value(1, of: key)]
        }
    }

    private func bytes(_ path: String) throws -> [UInt8] {
        let file = try files.open(path, .readOnly)
        defer { file.close() }
        var bytes = [UInt8](repeating: 0, count: try file.byteCount())
        _ = try bytes.withUnsafeMutableBytes { raw in try file.read(raw, at: 0) }
        return bytes
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = try files.open(path, .readWriteCreate)
        defer { file.close() }
        try bytes.withUnsafeBytes { raw in try file.write(raw, at: 0) }
    }

    private func attack(_ attack: Attack) throws {
        let lock = path + ".lock"
        let count = try bytes(lock).count
        switch attack {
        case .garbled: try write((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }, to: lock)
        case .zeroed: try write([UInt8](repeating: 0, count: count), to: lock)
        case .cut, .emptied:
            let file = try files.open(lock, .readWrite)
            defer { file.close() }
            try file.truncate(attack == .cut ? 4096 : 0)
        case .deleted: try files.remove(lock)
        case .replaced:
            try write([1, 2, 3], to: folder + "/old.lock")
            try files.rename(folder + "/old.lock", to: lock)
        case .replacedByItself:
            try write(try bytes(lock), to: folder + "/old.lock")
            try files.rename(folder + "/old.lock", to: lock)
        }
    }

    @Test("An opening of an unused database clears its lock file")
    func cleared() throws {
        do { try insert(try open()) }
        let lock = path + ".lock"
        let count = try bytes(lock).count
        // Without the magic it would be a foreign file.
        for kept in [4..<count, 8192..<8193, count - 1..<count] {
            try write(
                (0..<count).map {
                    kept.contains($0) ? UInt8(truncatingIfNeeded: $0 &* 37) | 1 : $0 < 4 ? Array("RLCK".utf8)[$0] : 0
                }, to: lock)
            let session = try open()
            let found = try bytes(lock)
            // After the words of the first page, and after the first slot, which is its own.
            #expect(found[1032..<4096].allSatisfy { $0 == 0 } && found[5120...].allSatisfy { $0 == 0 })
            #expect(try rows(session).count == 2)
        }
    }

    @Test("An opening of an unused database clears the slots that were in use")
    func clearedSlots() throws {
        do {
            let sessions = try (0..<7).map { _ in try open() }
            try insert(sessions[0])
        }
        let lock = path + ".lock"
        var left = try bytes(lock)
        // The state that killed processes leave.
        for offset in 4096..<4096 + 7 * 1024 { left[offset] = UInt8(truncatingIfNeeded: offset &* 37) | 1 }
        try write(left, to: lock)
        let session = try open()
        #expect(try bytes(lock)[5120...].allSatisfy { $0 == 0 })
        #expect(try rows(session).count == 2)
    }

    @Test(
        "Processes continue, and keep the versions that they read, after damage to the lock file",
        arguments: Attack.allCases)
    func attacked(attack: Attack) throws {
        do {
            let one = try open()
            try insert(one, 40)
            let two = try open()
            let pin = try two.freeze()
            let pinned = try rows(pin)
            try self.attack(attack)
            _ = try two.refresh()
            for turn in 0..<12 {
                try insert(turn % 3 == 0 ? two : one, 3)
                #expect(try rows(pin) == pinned)
            }
            _ = try one.refresh()
            _ = try two.refresh()
            #expect(one.table(named: "Row")?.count == 76)
            #expect(try rows(one) == rows(two))
            let report = IntegrityCheck.run(one.database)
            #expect(report.isClean, "\(report.findings)")
            do {
                // With another lock file, no process would see its pins: the deleted one is found among the open files.
                let three = try open()
                #expect(try rows(three) == rows(one))
                try insert(three)
                try insert(one)
                #expect(try rows(pin) == pinned)
            } catch EngineError.lockFile(let path) {
                #expect(path == self.path + ".lock")
                #expect([.deleted, .replaced, .replacedByItself].contains(attack))
                #if os(Linux)
                    Issue.record("the lock file was not found")
                #endif
            }
        }
        if attack == .replaced {
            // It is a foreign file.
            #expect(throws: EngineError.foreignLockFile(path: path + ".lock")) { try open() }
            try files.remove(path + ".lock")
        }
        let last = try open()
        #expect((last.table(named: "Row")?.count ?? 0) >= 76)
        try insert(last)
        #expect(IntegrityCheck.run(last.database).isClean)
    }

    @Test(
        "A database that was replaced or unlinked stays usable, and its path refers to the other file",
        arguments: [true, false])
    func replacedDatabase(isRenamed: Bool) throws {
        let old = try open()
        try insert(old, 10)
        do {
            let other = try open(folder + "/b.realm")
            try insert(other, 3)
        }
        if isRenamed { try files.rename(folder + "/b.realm", to: path) } else { try files.remove(path) }
        let new = try open()
        #expect((new.table(named: "Row")?.count ?? 0) == (isRenamed ? 3 : 0))
        for _ in 0..<20 {
            try insert(old)
            try insert(new)
        }
        #expect(old.table(named: "Row")?.count == 30)
        #expect(new.table(named: "Row")?.count == (isRenamed ? 23 : 20))
        #expect(IntegrityCheck.run(old.database).isClean)
        #expect(IntegrityCheck.run(new.database).isClean)
        let third = try open()
        #expect(third.table(named: "Row")?.count == new.table(named: "Row")?.count)
    }

    // A slot has words for 62 versions; after them it records the version from which all are kept.
    @Test(
        "A process publishes its pins again after its part of the lock file was overwritten",
        arguments: [2, 61, 62, 63])
    func shownAgain(pinCount: Int) throws {
        let one = try Database.openAsOtherProcess(path: path, fileSystem: files)
        let two = try Database.openAsOtherProcess(path: path, fileSystem: files)
        let writer = try two.makeSession()
        var pins: [Session] = []
        for _ in 1..<pinCount {
            try insert(writer)
            pins.append(try one.makeSession())
        }
        var lock = try bytes(path + ".lock")
        lock.replaceSubrange(4096..<5120, with: (0..<1024).map { UInt8(truncatingIfNeeded: $0 &* 37) | 1 })
        try write(lock, to: path + ".lock")
        try insert(writer)
        pins.append(try one.makeSession())
        let read = try pins.dropFirst().map { try rows($0) }
        let shown = try two.pinsOfOthers().map(\.version).sorted()
        #expect(shown.starts(with: pins.map(\.version).prefix(62)))
        #expect(shown.count <= pinCount)
        // The pins beyond the words are kept too.
        try insert(writer, 6)
        #expect(try pins.dropFirst().map { try rows($0) } == read)
    }

    @Test("The 257th process is refused, and succeeds after another has ended")
    func slots() throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 1 << 20)
        var open: [Database] = []
        for _ in 0..<256 { open.append(try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files)) }
        #expect(throws: EngineError.limit("More than 256 processes have the file open.")) {
            try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files)
        }
        open.remove(at: 100)
        open.append(try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files))
        let pin = try open[7].makeSession()
        let writer = try open[200].makeSession()
        try insert(writer, 5)
        #expect(pin.tables.isEmpty)
        #expect(IntegrityCheck.run(open[3]).isClean)
    }

    // The name has 64 random bits: an attacker can only plant a link there after it is created.
    @Test("A link planted at the temporary name of a lock file is not followed", arguments: [true, false])
    func plantedInTheMaking(isThere: Bool) throws {
        let victim = folder + "/victim"
        if isThere { try write([1, 2, 3], to: victim) }
        let planted = path + ".lock." + String(0x8707_0707_0707_0707 as UInt64, radix: 16) + ".tmp"
        try FileManager.default.createSymbolicLink(atPath: planted, withDestinationPath: victim)
        let hooked = HookedFileSystem(files)
        hooked.random = 7
        let error = #expect(throws: EngineError.self) {
            try Database.openAsOtherProcess(path: self.path, fileSystem: hooked)
        }
        guard case .system(let refusal)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.kind == .exists)
        if isThere { #expect(try bytes(victim) == [1, 2, 3]) } else { #expect(try files.status(victim) == nil) }
        // With another name it is created.
        let session = try open()
        try insert(session, 3)
        #expect(IntegrityCheck.run(session.database).isClean)
        #expect(try files.status(victim)?.byteCount == (isThere ? 3 : nil))
    }

    // Each use of the shared memory first checks that the file is still long enough: otherwise a truncated file crashes
    // the program. The other tests truncate it before a refresh or a write; these truncate it during a commit, and
    // before a version is released. A writer that read the pins of others once checked only at the start, and accessed
    // the memory again after system calls: a bus error.
    @Test("A commit survives truncation of the lock file before any of its calls")
    func cutInCommits() throws {
        let hooked = HookedFileSystem(files)
        let one = try Database.openAsOtherProcess(path: path, fileSystem: hooked).makeSession()
        try insert(one, 3)
        var calls = 0
        var cutAt = 0
        hooked.before = { _, path in
            calls += 1
            if calls == cutAt, !path.hasSuffix(".lock") { try? self.attack(.emptied) }
        }
        while calls >= cutAt {
            cutAt += 1
            calls = 0
            try insert(one)
        }
        #expect(cutAt > 5)
        #expect(one.table(named: "Row")?.count == 3 + cutAt)
        let two = try open()
        #expect(try rows(one) == rows(two))
        let report = IntegrityCheck.run(one.database)
        #expect(report.isClean, "\(report.findings)")
    }

    @Test("An opening survives truncation of the lock file before any of its calls")
    func cutInOpenings() throws {
        let one = try open()
        try insert(one, 3)
        let hooked = HookedFileSystem(files)
        var calls = 0
        var cutAt = 0
        hooked.before = { _, path in
            calls += 1
            if calls == cutAt, !path.hasSuffix(".lock") { try? self.attack(.emptied) }
        }
        while calls >= cutAt {
            cutAt += 1
            calls = 0
            // Refused if the data it needs is gone: the next writer restores it.
            do throws(EngineError) {
                let other = try Database.openAsOtherProcess(path: path, fileSystem: hooked)
                #expect(try other.makeSession().table(named: "Row")?.count == one.table(named: "Row")?.count)
            } catch {
                guard case .lockFile = error else { throw error }
            }
            try insert(one)
        }
        #expect(cutAt > 2)
        #expect(try open().table(named: "Row")?.count == 3 + cutAt)
    }

    // A partly restored backup of the folder, or an attacker. The words are valid, and so did not look like damage: the
    // process once went back to the commit that they name, and reused its successor's version for another one.
    @Test("A process that finds an older state of the lock file continues from its own version", arguments: 1...3)
    func putBack(commits: Int) throws {
        do {
            let database = try Database.openAsOtherProcess(path: path, fileSystem: files)
            let one = try database.makeSession()
            try insert(one, 3)
            let older = try bytes(path + ".lock")
            try insert(one, commits)
            try write(older, to: path + ".lock")
            let other = try database.makeSession()
            #expect(try rows(other).count == 2 * (3 + commits))
            try insert(other)
            try write(older, to: path + ".lock")
            try insert(one)
            #expect(IntegrityCheck.run(database).isClean)
        }
        #expect(try rows(open()).count == 2 * (5 + commits))
    }

    @Test("A new database survives truncation of the lock file while it takes that over")
    func cutInTheMaking() throws {
        do { try insert(try open()) }
        try files.remove(path)
        let hooked = HookedFileSystem(files)
        var cuts = 0
        hooked.refusal = { request, path in
            if request == .takeAccess, path.hasSuffix(".lock") {
                cuts += 1
                try? self.attack(.emptied)
            }
            return nil
        }
        let session = try Database.openAsOtherProcess(path: path, fileSystem: hooked).makeSession()
        #expect(cuts == 1)
        try insert(session)
        #expect(try rows(open()).count == 2)
    }

    @Test("The query for the current writer survives truncation of the lock file")
    func cutBeforeAsking() throws {
        let one = try open()
        try insert(one)
        let database = try Database.openAsOtherProcess(path: path, fileSystem: files)
        let shared = try #require(database.shared)
        try one.beginWrite()
        #expect(shared.otherWriter != nil)
        try attack(.emptied)
        #expect(shared.otherWriter == nil)
        try one.commitWrite()
    }

    @Test("Releasing and pinning versions survive truncation of the lock file")
    func cutBeforeUnpinning() throws {
        let one = try open()
        try insert(one, 3)
        var frozen: Session? = try one.freeze()
        try insert(one)
        try attack(.emptied)
        frozen = nil
        #expect(frozen == nil)
        try attack(.emptied)
        let next = try one.freeze()
        try insert(one)
        #expect(try rows(next).count == 8)
        #expect(one.table(named: "Row")?.count == 5)
    }

    // A process killed in between left a lock file that no other user could open.
    @Test("A new lock file gets its access rights before its name")
    func accessFirst() throws {
        let hooked = HookedFileSystem(files)
        var requests: [HookedFileSystem.Request] = []
        hooked.refusal = { request, path in
            if path.contains(".lock.") { requests.append(request) }
            return nil
        }
        _ = try Database.openAsOtherProcess(path: path, fileSystem: hooked)
        let (access, name) = (requests.firstIndex(of: .takeAccess), requests.firstIndex(of: .rename))
        #expect((access ?? .max) < (name ?? .min), "\(requests)")
    }

    @Test("Bytes that the lock file had before are not taken for the present ones", arguments: [false, true])
    func olderInstance(isWriterFirst: Bool) throws {
        let lock = path + ".lock"
        do {
            let session = try open()
            try insert(session, 20)
        }
        let old = try bytes(lock)
        let writer = try open()
        let reader = try open()
        try insert(writer, 3)
        #expect(try reader.refresh())
        let shown = try rows(reader)
        let file = try files.open(lock, .readWrite)
        try old.withUnsafeBytes { raw in try file.write(raw, at: 0) }
        file.close()
        if !isWriterFirst { _ = try reader.refresh() }
        #expect(try rows(reader) == shown)
        // The pages of the version that the reader shows are not used again.
        try insert(writer, 40)
        #expect(try rows(reader) == shown)
        #expect(try reader.refresh())
        #expect(try rows(reader) == rows(writer))
        #expect(IntegrityCheck.run(writer.database).isClean)
    }
}
