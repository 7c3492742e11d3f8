// SPDX-License-Identifier: Apache-2.0
// Long migrations: progress, cancellation, the thread that they run on, and the backup before them.

import Foundation
import RealmSwift
import RegnumTestKit
import Synchronization
import Testing

/// Collects progress reports on any thread.
private final class Reports: Sendable {
    private let all = Mutex<[MigrationProgress]>([])
    private let onMain = Mutex(false)
    func add(_ progress: MigrationProgress) {
        if Thread.isMainThread { onMain.withLock { $0 = true } }
        all.withLock { $0.append(progress) }
    }
    var list: [MigrationProgress] { all.withLock { $0 } }
    var wasOnMain: Bool { onMain.withLock { $0 } }
}

@Suite("Migrations: progress, cancellation and backups")
struct MigrationWatchingTests {
    private func configuration(_ file: MigrationFile) -> Realm.Configuration {
        file.configuration(Renamed.types) { migration, _ in
            migration.renameProperty(onType: "MPerson", from: "first", to: "given")
            migration.enumerateObjects(ofType: "MPerson") { _, new in new?["years"] = 4 }
        }
    }

    private func expectOrdered(_ reports: Reports, count: Int) {
        let list = reports.list
        #expect(list.first?.phase == .preparing && list.last?.phase == .committing)
        let objects = list.filter { $0.phase == .objects }
        #expect(objects.first?.completed == 0 && objects.last?.completed == count)
        #expect(objects.allSatisfy { $0.className == "MPerson" && $0.total == count })
        #expect(objects.map(\.completed) == objects.map(\.completed).sorted())
        #expect((10...110).contains(objects.count))
        #expect(objects.last?.fraction == 1)
    }

    @Test("A migration reports its progress")
    func progress() throws {
        let file = try MigrationFile(people: 1000)
        let reports = Reports()
        try Realm.performMigration(for: configuration(file)) { reports.add($0) }
        expectOrdered(reports, count: 1000)
        let again = Reports()
        try Realm.performMigration(for: configuration(file)) { again.add($0) }
        #expect(again.list.isEmpty, "no migration, no reports")
    }

    @Test("Opening asynchronously migrates off the main thread and reports progress")
    @MainActor func asynchronously() async throws {
        let file = try MigrationFile(people: 1000)
        let reports = Reports()
        let realm = try await Realm.open(configuration: configuration(file)) { reports.add($0) }
        expectOrdered(reports, count: 1000)
        #expect(!reports.wasOnMain)
        #expect(realm.objects(Renamed.Person.self).filter("years == 4").count == 1000)
    }

    @Test("Cancelling the task cancels the migration, and the file is unchanged")
    func cancelled() async throws {
        let file = try MigrationFile(people: 1000)
        let before = try file.bytes
        let configuration = configuration(file)
        let reports = Reports()
        let (stream, half) = AsyncStream.makeStream(of: Void.self)
        let isHeld = DispatchSemaphore(value: 0)
        let opening = Task { @MainActor in
            let realm = try await Realm.open(configuration: configuration) { progress in
                reports.add(progress)
                guard progress.completed == 500 else { return }
                half.yield()
                isHeld.wait()
            }
            return realm.isEmpty
        }
        for await _ in stream { break }
        opening.cancel()
        isHeld.signal()
        await #expect(throws: CancellationError.self) { _ = try await opening.value }
        #expect(reports.list.last?.completed == 500)
        #expect(try file.bytes == before)
        #expect(try schemaVersionAtURL(file.url) == 0)
        expectIntegrity(of: file.url)
        _ = try Realm(configuration: configuration)
        #expect(try schemaVersionAtURL(file.url) == 1)
    }

    @Test("Cancelling asyncOpen cancels its migration")
    func cancelledCallback() async throws {
        let file = try MigrationFile(people: 300)
        let before = try file.bytes
        let isHeld = DispatchSemaphore(value: 0)
        let (stream, half) = AsyncStream.makeStream(of: Void.self)
        let (results, ended) = AsyncStream.makeStream(of: String.self)
        let task = Realm.asyncOpen(
            configuration: file.configuration(Renamed.types) { migration, _ in
                var seen = 0
                migration.enumerateObjects(ofType: "MPerson") { _, _ in
                    seen += 1
                    if seen == 100 {
                        half.yield()
                        isHeld.wait()
                    }
                }
                #expect(seen < 300)
            }, callbackQueue: DispatchQueue(label: "callback")
        ) { result in
            if case .failure(let error) = result { ended.yield(error.localizedDescription) }
        }
        for await _ in stream { break }
        task.cancel()
        isHeld.signal()
        for await words in results {
            #expect(words == "Operation canceled")
            break
        }
        // Another write can begin only after the write transaction of the migration has ended.
        let realm = try file.open(Oldest.types, version: 0)
        try realm.write { realm.create(Oldest.Dog.self) }
        realm.invalidate()
        #expect(try schemaVersionAtURL(file.url) == 0)
        _ = before
    }

    // MARK: Backups

    @Test("A backup is made before a migration, and is removed by the next successful opening")
    func backup() async throws {
        let file = try MigrationFile(people: 50)
        var configuration = configuration(file)
        configuration.backsUpBeforeMigration = true
        #expect(Realm.migrationBackup(for: configuration) == nil)
        try {
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(Renamed.Person.self).count == 50)
        }()
        let backup = try #require(Realm.migrationBackup(for: configuration))
        #expect(try schemaVersionAtURL(backup) == 0)
        expectIntegrity(of: backup)
        try {
            let realm = try Realm(configuration: .init(fileURL: backup, objectTypes: Oldest.types))
            #expect(realm.objects(Oldest.Person.self)[3].first == "first 3")
        }()
        try {
            let again = try Realm(configuration: configuration)
            #expect(again.objects(Renamed.Person.self).count == 50)
        }()
        #expect(Realm.migrationBackup(for: configuration) == nil, "a second successful opening must remove the backup")
    }

    /// The next release may no longer ask for backups, and must still remove the last one.
    @Test("A program without backups removes an old one when it opens the file for writing")
    func backupOfLastRelease() throws {
        let file = try MigrationFile(people: 50)
        var configuration = configuration(file)
        configuration.backsUpBeforeMigration = true
        func open() throws {
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(Renamed.Person.self).count == 50)
        }
        try open()
        configuration.backsUpBeforeMigration = false
        configuration.readOnly = true
        try open()
        #expect(Realm.migrationBackup(for: configuration) != nil, "a read-only opening must not remove the backup")
        configuration.readOnly = false
        try open()
        #expect(Realm.migrationBackup(for: configuration) == nil)
        #expect(try schemaVersionAtURL(file.url) == 1)
    }

    @Test("A backup stays while a Realm is open since the migration, and the next process removes it")
    func backupOfOthers() async throws {
        let file = try MigrationFile(people: 50)
        var configuration = configuration(file)
        configuration.backsUpBeforeMigration = true
        try await {
            let realm = try Realm(configuration: configuration)
            try await Task.detached { [configuration] in _ = try Realm(configuration: configuration) }.value
            #expect(Realm.migrationBackup(for: configuration) != nil, "the migrating process must keep the backup")
            withExtendedLifetime(realm) {}
        }()
        let path = file.url.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            var configuration = Realm.Configuration(
                fileURL: URL(fileURLWithPath: path), schemaVersion: 1, objectTypes: Renamed.types)
            configuration.backsUpBeforeMigration = true
            let realm = try Realm(configuration: configuration)
            exit(realm.objects(Renamed.Person.self).count == 50 ? 0 : 1)
        }
        #expect(Realm.migrationBackup(for: configuration) == nil)
    }

    @Test("A failed migration leaves no backup, and a killed one leaves a backup that is replaced")
    func failedBackup() throws {
        struct Stop: Error {}
        let file = try MigrationFile()
        var failing = file.configuration(Renamed.types) { migration, _ in migration.abort(Stop()) }
        failing.backsUpBeforeMigration = true
        #expect(throws: Stop.self) { try Realm(configuration: failing) }
        #expect(Realm.migrationBackup(for: failing) == nil)
        try Data("half a copy".utf8).write(to: URL(fileURLWithPath: file.url.path + ".before-migration"))
        var good = configuration(file)
        good.backsUpBeforeMigration = true
        _ = try Realm(configuration: good)
        #expect(try schemaVersionAtURL(try #require(Realm.migrationBackup(for: good))) == 0)
        #expect(file.folder.names.count { $0.contains("before-migration-") } == 0, "\(file.folder.names)")
        #expect(try Realm.deleteFiles(for: good))
        #expect(Realm.migrationBackup(for: good) == nil, "the backup must be deleted with the file")
    }
}
