// SPDX-License-Identifier: Apache-2.0
// Migrations in separate processes: one that is killed or may not let the file grow, and several at the same time.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@testable import Regnum

#if canImport(Glibc)
    import Glibc
#endif

/// Migrations in separate processes.
@Suite("Migrations: processes")
struct MigrationProcessTests {
    static func configuration(
        _ path: String, progress: (@Sendable (MigrationProgress) -> Void)? = nil,
        _ block: @escaping @Sendable () -> Void = {}
    ) -> Realm.Configuration {
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: path), schemaVersion: 1,
            migrationBlock: { migration, _ in
                block()
                migration.renameProperty(onType: "MPerson", from: "first", to: "given")
                migration.enumerateObjects(ofType: "MPerson") { old, new in
                    new?["years"] = 1 + (old?["age"] as? Int ?? -1)
                }
            }, objectTypes: Renamed.types)
        configuration.extras.control = MigrationControl(progress)
        return configuration
    }

    /// Opens the file at its current version and reads all of it.
    private func expectWhole(_ file: MigrationFile, count: Int) throws {
        expectIntegrity(of: file.url)
        if try schemaVersionAtURL(file.url) == 0 {
            let realm = try file.open(Oldest.types, version: 0)
            #expect(realm.objects(Oldest.Person.self).map(\.age) == Array(0..<count))
        } else {
            let realm = try Realm(configuration: Self.configuration(file.url.path))
            #expect(realm.objects(Renamed.Person.self).map { $0.years ?? -1 } == Array(1...count))
            #expect(realm.objects(Renamed.Person.self)[3].given == "first 3")
        }
    }

    @Test("A process that is killed in its migration block leaves the file unchanged bit for bit")
    func killedInBlock() async throws {
        let file = try MigrationFile(people: 600)
        let before = try file.bytes
        let path = file.url.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let configuration = MigrationProcessTests.configuration(
                path,
                progress: { progress in
                    if progress.phase == .objects, progress.completed > 300 { kill(getpid(), SIGKILL) }
                })
            _ = try Realm(configuration: configuration)
        }
        let isSame = try file.bytes == before
        #expect(isSame)
        try expectWhole(file, count: 600)
    }

    @Test(
        "A process that is killed at any moment of its commit leaves the old file or the new one",
        arguments: [0, 100, 300, 1000, 3000] as [UInt32])
    func killedInCommit(_ microseconds: UInt32) async throws {
        let file = try MigrationFile(people: 2000)
        let path = file.url.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, wait = microseconds as UInt32] in
            let configuration = MigrationProcessTests.configuration(
                path,
                progress: { progress in
                    guard progress.phase == .committing else { return }
                    Thread.detachNewThread {
                        usleep(wait)
                        kill(getpid(), SIGKILL)
                    }
                })
            let realm = try Realm(configuration: configuration)
            withExtendedLifetime(realm) { while true { pause() } }
        }
        try expectWhole(file, count: 2000)
        _ = try Realm(configuration: Self.configuration(path))
        #expect(try schemaVersionAtURL(file.url) == 1)
        try expectWhole(file, count: 2000)
    }

    @Test("If the file cannot grow, opening throws and the file is unchanged")
    func sizeLimit() async throws {
        let file = try MigrationFile(people: 3000)
        let before = try file.bytes
        let path = file.url.path
        await #expect(processExitsWith: .success) { [path = path as String, size = before.count as Int] in
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: rlim_t(size), rlim_max: rlim_t(size))
            guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(2) }
            // The block creates more than there is space for.
            let configuration = Realm.Configuration(
                fileURL: URL(fileURLWithPath: path), schemaVersion: 1,
                migrationBlock: { migration, _ in
                    for i in 0..<200 {
                        let text = String(repeating: "more ", count: 5000)
                        migration.create("MPerson", value: ["given": "\(i) \(text)"])
                    }
                }, objectTypes: Renamed.types)
            do {
                _ = try Realm(configuration: configuration)
                exit(3)
            } catch let error as Realm.Error {
                exit(error.fileURL?.path == path ? 0 : 4)
            }
        }
        let isSame = try file.bytes == before
        #expect(isSame)
        try expectWhole(file, count: 3000)
    }

    @Test("Processes that open a file at the same time migrate it once")
    func atOnce() async throws {
        let file = try MigrationFile(people: 400)
        let path = file.url.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            var children: [Int32] = []
            for _ in 0..<3 {
                let child = SeveralProcessesTests.fork()
                if child == 0 {
                    var configuration = MigrationProcessTests.configuration(path, progress: nil) {
                        // One byte for each run of the block, in any process.
                        let file = open(path + ".runs", O_WRONLY | O_CREAT | O_APPEND, 0o644)
                        write(file, "x", 1)
                        close(file)
                    }
                    // The processes wait for each other, on a busy machine longer than an opening does by default.
                    configuration.busyTimeout = 14_400
                    guard let realm = try? Realm(configuration: configuration) else { exit(1) }
                    let people = realm.objects(Renamed.Person.self)
                    exit(people.count == 400 && people.allSatisfy { $0.years != nil && $0.given != "" } ? 0 : 2)
                }
                children.append(child)
            }
            for child in children { guard SeveralProcessesTests.wait(child) == 0 else { exit(3) } }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".runs")).count == 1)
        try expectWhole(file, count: 400)
    }
}
