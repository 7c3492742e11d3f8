// SPDX-License-Identifier: Apache-2.0
// The effects of a suspended, killed or forked process on other processes.

import Foundation
import RealmSwift
import RegnumEngine
import RegnumSystem
import RegnumTestKit
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct SeveralProcessesTests {
    /// Swift hides `fork`, but programs can call it through C.
    static func fork() -> Int32 {
        guard let symbol = dlsym(nil, "fork") else { return -1 }
        return unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)()
    }

    static func wait(_ process: Int32, _ options: Int32 = 0) -> Int32 {
        var status: Int32 = 0
        return waitpid(process, &status, options) == process ? status : -1
    }

    /// A file with row 0 that is closed.
    static func makeFile(_ path: String) throws {
        let realm = try Realm(configuration: KilledProcessTests.configuration(path))
        try realm.write { realm.add(KilledProcessTests.row(0)) }
    }

    private func withPath(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("several-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appendingPathComponent("a.realm").path)
    }

    @Test("A child of a fork cannot use a Realm that was opened before, and can open the file itself")
    func forked() async throws {
        try await withPath { path in
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                [path = path as String] in
                let realm = try Realm(configuration: KilledProcessTests.configuration(path))
                try realm.write { realm.add(KilledProcessTests.row(0)) }
                let refused = SeveralProcessesTests.fork()
                if refused == 0 {
                    _ = realm.isEmpty
                    exit(0)
                }
                // Ended by its trap: not by its own exit, and not successfully.
                let status = SeveralProcessesTests.wait(refused)
                guard status > 0, status & 0x7f != 0 else { exit(11) }
                let own = SeveralProcessesTests.fork()
                if own == 0 {
                    guard let mine = try? Realm(configuration: KilledProcessTests.configuration(path)) else { exit(1) }
                    guard (try? mine.write { mine.add(KilledProcessTests.row(1)) }) != nil else { exit(2) }
                    exit(mine.objects(KilledRow.self).count == 2 ? 0 : 3)
                }
                // The end of the child as a visible exit code: 20 more than its code, or 40 more than the signal.
                let end = SeveralProcessesTests.wait(own)
                guard end == 0 else { exit(end < 0 ? 12 : end & 0x7f == 0 ? 20 + end >> 8 : 40 + end & 0x7f) }
                realm.refresh()
                try realm.write { realm.add(KilledProcessTests.row(2)) }
                exit(realm.objects(KilledRow.self).count == 3 ? 0 : 13)
            }
            // The child writes to the standard error of its parent.
            let told =
                "Realm used in the child of a fork. What was opened before the fork belongs to the parent process: "
                + "open the Realm again in the child, or fork before you open one."
            #expect(words(result).contains(told), "\(words(result))")
            expectIntegrity(of: KilledProcessTests.configuration(path))
        }
    }

    // Parent and child share the pipe through which the parent's thread waits for other processes. Releasing the
    // child's copy of an observed Realm must not end that wait.
    @Test("A child of a fork that releases an observed Realm does not affect the observers of its parent")
    func forkedObserver() async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                let queue = DispatchQueue(label: "observing")
                let told = DispatchSemaphore(value: 0)
                var realm: Realm?
                var token: NotificationToken?
                try queue.sync {
                    realm = try Realm(configuration: KilledProcessTests.configuration(path), queue: queue)
                    token = realm?.objects(KilledRow.self).observe { _ in told.signal() }
                }
                guard told.wait(timeout: .now() + 1800) == .success else { exit(11) }
                let child = SeveralProcessesTests.fork()
                if child == 0 {
                    token = nil
                    realm = nil
                    exit(0)
                }
                guard SeveralProcessesTests.wait(child) == 0 else { exit(12) }
                let writer = SeveralProcessesTests.fork()
                if writer == 0 {
                    guard let mine = try? Realm(configuration: KilledProcessTests.configuration(path)) else { exit(1) }
                    exit((try? mine.write { mine.add(KilledProcessTests.row(1)) }) == nil ? 2 : 0)
                }
                guard SeveralProcessesTests.wait(writer) == 0 else { exit(13) }
                let isTold = told.wait(timeout: .now() + 1800) == .success
                withExtendedLifetime((realm, token)) {}
                exit(isTold ? 0 : 14)
            }
        }
    }

    /// The child inherits the open files of its parent, and with them the parent's locks.
    @Test("A killed writer does not block others, although a child of its fork is still alive")
    func killedWithChild() async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                // Ends the process if something waits for ever.
                alarm(1800)
                var ends: [Int32] = [-1, -1]
                guard pipe(&ends) == 0 else { exit(11) }
                let writer = SeveralProcessesTests.fork()
                if writer == 0 {
                    alarm(1800)
                    let realm = try Realm(configuration: KilledProcessTests.configuration(path))
                    try realm.write { realm.add(KilledProcessTests.row(0)) }
                    realm.beginWrite()
                    realm.add(KilledProcessTests.row(1))
                    if SeveralProcessesTests.fork() == 0 {
                        var own = getpid()
                        write(ends[1], &own, 4)
                        alarm(1800)
                    }
                    withExtendedLifetime(realm) { while true { sleep(10) } }
                }
                var child: Int32 = -1
                guard read(ends[0], &child, 4) == 4, child > 0 else { exit(12) }
                kill(writer, SIGKILL)
                _ = SeveralProcessesTests.wait(writer)
                let realm = try Realm(configuration: KilledProcessTests.configuration(path))
                try realm.write { realm.add(KilledProcessTests.row(2)) }
                let isAlive = kill(child, 0) == 0
                let isPinned = realm.pins().contains { $0.holder == .otherProcess }
                kill(child, SIGKILL)
                exit(isAlive && !isPinned && realm.objects(KilledRow.self).count == 2 ? 0 : 13)
            }
            expectIntegrity(of: KilledProcessTests.configuration(path))
        }
    }

    @Test("A suspended reader does not block others, and its pin is released when it is killed")
    func suspended() async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                try SeveralProcessesTests.makeFile(path)
                let child = SeveralProcessesTests.fork()
                if child == 0 {
                    guard let realm = try? Realm(configuration: KilledProcessTests.configuration(path)) else { exit(1) }
                    guard realm.objects(KilledRow.self).count == 1 else { exit(2) }
                    raise(SIGSTOP)
                    exit(3)
                }
                guard SeveralProcessesTests.wait(child, WUNTRACED) & 0xff == 0x7f else { exit(11) }
                let realm = try Realm(configuration: KilledProcessTests.configuration(path))
                for id in 1..<20 { try realm.write { realm.add(KilledProcessTests.row(id)) } }
                guard realm.pins().contains(where: { $0.holder == .otherProcess && $0.processIdentifier == child })
                else { exit(12) }
                kill(child, SIGKILL)
                _ = SeveralProcessesTests.wait(child)
                try realm.write { realm.add(KilledProcessTests.row(20)) }
                exit(realm.pins().contains { $0.holder == .otherProcess } ? 13 : 0)
            }
            expectIntegrity(of: KilledProcessTests.configuration(path))
        }
    }

    // Each of 256 processes has one lock in the file and one in the lock file, on a byte far after the end.
    @Test("More than 256 processes are refused, and one is admitted after another has ended")
    func tooMany() async throws {
        try await withPath { path in
            let configuration = KilledProcessTests.configuration(path)
            try Self.makeFile(path)
            let first = 1 << 62 + 1000
            let others = try [path, path + ".lock"].map { try PosixFileSystem.shared.open($0, .readWrite) }
            for byte in first..<first + 256 { for file in others { try file.lock(byte: byte) } }
            let error = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
            #expect(error?.code == .fail && error?.reason == .overLimit)
            let told = "Failed to open Realm file at path '\(path)': More than 256 processes have the file open."
            #expect(error?.localizedDescription.hasPrefix(told) == true, "\(error?.localizedDescription ?? "")")
            for file in others { file.unlock(byte: first + 100) }
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(KilledRow.self).count == 1)
            for file in others { file.close() }
            expectIntegrity(of: configuration)
        }
    }

    // MARK: Stopped writers

    /// The state of a writer when it stops itself.
    enum Write: String, CaseIterable, Codable, Sendable { case full, relaxed, paranoid, later }

    /// Commits, and then stops this process.
    static func writeAndStop(_ path: String, _ write: Write) throws {
        let level: Durability
        switch write {
        case .full: level = .full
        case .relaxed: level = .relaxed
        case .paranoid: level = .paranoid
        case .later:
            let session = try Database.open(path: path, fileSystem: PosixFileSystem.shared).makeSession()
            let isDone = Atomic(false)
            try session.beginWrite()
            try session.commitWriteLater { _ in isDone.store(true, ordering: .releasing) }
            while !isDone.load(ordering: .acquiring) { usleep(1000) }
            return withExtendedLifetime(session) { _ = raise(SIGSTOP) }
        }
        var configuration = KilledProcessTests.configuration(path)
        configuration.durability = level
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.add(KilledProcessTests.row(1)) }
        withExtendedLifetime(realm) { _ = raise(SIGSTOP) }
    }

    @Test(
        "A writer that is stopped after its commit does not block others, at any durability level",
        arguments: Write.allCases)
    func stoppedBehindWrite(write: Write) async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) { [path = path as String, write = write as Write] in
                // Ends the process if something waits for ever.
                alarm(1800)
                try SeveralProcessesTests.makeFile(path)
                let child = SeveralProcessesTests.fork()
                if child == 0 {
                    alarm(1800)
                    try? SeveralProcessesTests.writeAndStop(path, write)
                    exit(1)
                }
                guard SeveralProcessesTests.wait(child, WUNTRACED) & 0xff == 0x7f else { exit(11) }
                // A wait for the stopped process would not end before the alarm.
                let realm = try Realm(configuration: KilledProcessTests.configuration(path))
                for id in 10..<15 { try realm.write { realm.add(KilledProcessTests.row(id)) } }
                kill(child, SIGKILL)
                _ = SeveralProcessesTests.wait(child)
                exit(realm.objects(KilledRow.self).count == (write == .later ? 6 : 7) ? 0 : 13)
            }
            expectIntegrity(of: KilledProcessTests.configuration(path))
        }
    }

    /// Stops this process while it has the writer lock: in a write transaction, or after a commit that is not durable
    /// yet.
    static func stopWithTurn(_ path: String, isCommitted: Bool) throws {
        if isCommitted {
            var options = Database.OpenOptions()
            // No thread makes the commit durable.
            options.syncDelay = nil
            let database = try Database.open(path: path, fileSystem: PosixFileSystem.shared, options: options)
            let session = try database.makeSession()
            try session.beginWrite()
            try session.commitWriteLater { _ in }
            raise(SIGSTOP)
            try database.makeDurable()
        } else {
            let realm = try Realm(configuration: KilledProcessTests.configuration(path))
            realm.beginWrite()
            realm.add(KilledProcessTests.row(1))
            raise(SIGSTOP)
            try realm.commitWrite()
        }
    }

    @Test(
        "A writer that is stopped before its commit is durable keeps the writer lock until it continues or ends",
        arguments: [false, true], [false, true])
    func stoppedWithTurn(isCommitted: Bool, isKilled: Bool) async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) {
                [path = path as String, isCommitted = isCommitted as Bool, isKilled = isKilled as Bool] in
                alarm(1800)
                try SeveralProcessesTests.makeFile(path)
                let child = SeveralProcessesTests.fork()
                if child == 0 {
                    alarm(1800)
                    exit((try? SeveralProcessesTests.stopWithTurn(path, isCommitted: isCommitted)) == nil ? 1 : 0)
                }
                guard SeveralProcessesTests.wait(child, WUNTRACED) & 0xff == 0x7f else { exit(11) }
                let isWritten = Atomic(false)
                Thread.detachNewThread {
                    guard let realm = try? Realm(configuration: KilledProcessTests.configuration(path)),
                        (try? realm.write { realm.add(KilledProcessTests.row(9)) }) != nil
                    else { exit(12) }
                    isWritten.store(true, ordering: .releasing)
                }
                usleep(300_000)
                guard !isWritten.load(ordering: .acquiring) else { exit(13) }
                kill(child, isKilled ? SIGKILL : SIGCONT)
                _ = SeveralProcessesTests.wait(child)
                while !isWritten.load(ordering: .acquiring) { usleep(1000) }
                let realm = try Realm(configuration: KilledProcessTests.configuration(path))
                exit(realm.objects(KilledRow.self).count == (isCommitted || isKilled ? 2 : 3) ? 0 : 15)
            }
            expectIntegrity(of: KilledProcessTests.configuration(path))
        }
    }

    @Test("A symbolic link in place of the lock file is replaced, and its target is unchanged")
    func plantedLink() async throws {
        try await withPath { path in
            let victim = path + ".victim"
            try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
            try FileManager.default.createSymbolicLink(atPath: path + ".lock", withDestinationPath: victim)
            let realm = try Realm(configuration: KilledProcessTests.configuration(path))
            try realm.write { realm.add(KilledProcessTests.row(0)) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: victim)) == Data("precious".utf8))
            let type = try FileManager.default.attributesOfItem(atPath: path + ".lock")[.type] as? FileAttributeType
            #expect(type == .typeRegular)
            expectIntegrity(of: KilledProcessTests.configuration(path))
        }
    }

    @Test("A folder without write permission causes a clear error", .enabled(if: geteuid() != 0))
    func protectedFolder() async throws {
        try await withPath { path in
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder)
            let error = #expect(throws: Realm.Error.self) {
                try Realm(configuration: KilledProcessTests.configuration(path))
            }
            #expect(error?.code == .filePermissionDenied)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
            _ = try Realm(configuration: KilledProcessTests.configuration(path))
            try FileManager.default.removeItem(atPath: path + ".lock")
            try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder)
            #expect(throws: Realm.Error.self) { try Realm(configuration: KilledProcessTests.configuration(path)) }
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
        }
    }
}
