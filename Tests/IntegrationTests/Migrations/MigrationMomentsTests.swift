// SPDX-License-Identifier: Apache-2.0
// Migrations that are cancelled too late, programs of two versions that use the same file, and the number of progress
// reports of a long migration.

import Foundation
import RealmSwift
import RegnumSystem
import RegnumTestKit
import Synchronization
import Testing

@testable import Regnum

/// Collects numbers on any thread.
private final class Told: Sendable {
    private let all = Mutex<[Int]>([])
    func add(_ completed: Int) { all.withLock { $0.append(completed) } }
    var list: [Int] { all.withLock { $0 } }
}

/// Logs progress, and cancels the migration if requested. Any thread.
private final class CallOff: Sendable {
    private let state = Mutex<(control: MigrationControl?, told: [MigrationProgress])>((nil, []))

    func watch(_ control: MigrationControl) { state.withLock { $0.control = control } }

    var list: [MigrationProgress] { state.withLock { $0.told } }

    func add(_ progress: MigrationProgress, cancels: Bool) {
        let control = state.withLock { state in
            state.told.append(progress)
            return state.control
        }
        if cancels { control?.cancel() }
    }
}

/// Clerks have two desks each, and then one.
private enum Desks {
    class Desk: MigrationPart {
        @Persisted var label = ""
        override class func _realmObjectName() -> String? { "MDesk" }
    }
    class Before: MigrationCase {
        @Persisted var desk: Desk?
        @Persisted var other: Desk?
        override class func _realmObjectName() -> String? { "MClerk" }
    }
    class After: MigrationCase {
        @Persisted var other: Desk?
        override class func _realmObjectName() -> String? { "MClerk" }
    }
}

/// The system's file system, except that another file replaces the one at a path as soon as that is opened.
private final class ReplacingFiles: FileSystem {
    private let base = PosixFileSystem.shared
    private let path: String
    private let replacement: Mutex<String?>

    init(at path: String, by replacement: String) {
        self.path = path
        self.replacement = Mutex<String?>(replacement)
    }

    var isShared: Bool { base.isShared }
    /// True after the replacement.
    var hasReplaced: Bool { replacement.withLock { $0 == nil } }

    func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
        let file = try base.open(path, mode)
        guard path == self.path else { return file }
        let source: String? = replacement.withLock { other in
            defer { other = nil }
            return other
        }
        if let source { try base.rename(source, to: path) }
        return file
    }
    func status(_ path: String) throws(SystemError) -> FileStatus? { try base.status(path) }
    func linked(_ path: String) -> String { base.linked(path) }
    func remove(_ path: String) throws(SystemError) { try base.remove(path) }
    func rename(_ source: String, to target: String) throws(SystemError) { try base.rename(source, to: target) }
    func renameIfAbsent(_ source: String, to target: String) throws(SystemError) {
        try base.renameIfAbsent(source, to: target)
    }
    func makeDirectories(_ path: String) throws(SystemError) { try base.makeDirectories(path) }
    func syncDirectory(containing path: String) throws(SystemError) { try base.syncDirectory(containing: path) }
    func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) { base.fillRandom(buffer) }
}

@Suite("Migrations: cancellation and progress")
struct MigrationMomentsTests {
    private func configuration(_ file: MigrationFile) -> Realm.Configuration {
        file.configuration(Renamed.types) { migration, _ in
            migration.renameProperty(onType: "MPerson", from: "first", to: "given")
        }
    }

    /// A commit that has begun is completed, because a caller whose opening was cancelled relies on the unchanged
    /// file.
    @Test("Cancelling a migration that is being committed has no effect")
    func lateCancel() async throws {
        let file = try MigrationFile(people: 100)
        let configuration = configuration(file)
        let (stream, committing) = AsyncStream.makeStream(of: Void.self)
        let isHeld = DispatchSemaphore(value: 0)
        let opening = Task { @MainActor in
            let realm = try await Realm.open(configuration: configuration) { progress in
                guard progress.phase == .committing else { return }
                committing.yield()
                isHeld.wait()
            }
            return realm.objects(Renamed.Person.self).filter("given BEGINSWITH 'first'").count
        }
        for await _ in stream { break }
        opening.cancel()
        isHeld.signal()
        let count = try await opening.value
        #expect(count == 100)
        #expect(try schemaVersionAtURL(file.url) == 1)
        expectIntegrity(of: file.url)
    }

    @Test("asyncOpen cannot be cancelled while its migration is being committed")
    func lateCallback() async throws {
        let file = try MigrationFile()
        let (results, ended) = AsyncStream.makeStream(of: String.self)
        let task = Realm.asyncOpen(
            configuration: configuration(file), callbackQueue: DispatchQueue(label: "late")
        ) { result in
            switch result {
            case .success(let realm): ended.yield("\(realm.objects(Renamed.Person.self).count)")
            case .failure(let error): ended.yield(error.localizedDescription)
            }
        }
        #expect(task.control.beginCommit())
        task.cancel()
        for await words in results {
            #expect(words == "5")
            break
        }
        #expect(try schemaVersionAtURL(file.url) == 1)
    }

    /// Building an index over a large table, and freeing the values of a property, must check for cancellation.
    @Test("A migration can be cancelled while it builds or frees whole tables", arguments: [false, true])
    func calledOffBuilding(_ isBehindBlock: Bool) throws {
        let file = try MigrationFile(people: 2500)
        let before = try file.bytes
        let callOff = CallOff()
        let control = MigrationControl { progress in
            let hasFinished = callOff.list.contains { $0.phase == .finishing }
            callOff.add(progress, cancels: progress.phase == .building && hasFinished == isBehindBlock)
        }
        callOff.watch(control)
        var configuration = configuration(file)
        configuration.extras.control = control
        #expect(throws: CancellationError.self) { try Realm(configuration: configuration) }
        let last = try #require(callOff.list.last)
        #expect(last.phase == .building && last.className == "MPerson", "no progress may be reported after it: \(last)")
        #expect(last.completed == 0 && last.total == 2500)
        #expect(try file.bytes == before)
        #expect(try schemaVersionAtURL(file.url) == 0)
        expectIntegrity(of: file.url)
        _ = try Realm(configuration: self.configuration(file))
        #expect(try schemaVersionAtURL(file.url) == 1)
        expectIntegrity(of: file.url)
    }

    /// Dogs become embedded; or people lose nulls and properties, and dogs get keys. A block cannot be stopped: its
    /// changes after the cancellation are discarded with the rest.
    @Test(
        "Cancelling a migration at every third progress report leaves the file unchanged",
        arguments: [true, false])
    func calledOffAnywhere(_ embeds: Bool) throws {
        let types = embeds ? Embedding2.types : Second.types
        let file = try MigrationFile(people: 1100)
        let before = try file.bytes
        var (moment, cancelled) = (0, 0)
        var isOver = false
        while !isOver {
            let callOff = CallOff()
            let wanted = moment
            let control = MigrationControl { progress in
                let count = callOff.list.count { $0.phase == .building }
                callOff.add(progress, cancels: progress.phase == .building && count == wanted)
            }
            callOff.watch(control)
            var configuration = file.configuration(types) { migration, _ in
                var next = 0
                let hasKeys = migration.newSchema["MDog"]?["id"] != nil
                migration.enumerateObjects(ofType: "MDog") { _, new in
                    next += 1
                    if hasKeys { new?["id"] = next }
                }
                migration.create("MPerson")
            }
            configuration.extras.control = control
            do {
                _ = try Realm(configuration: configuration)
                isOver = true
            } catch is CancellationError {
                let isSame = try file.bytes == before
                #expect(isSame && callOff.list.count { $0.phase == .building } == moment + 1, "moment \(moment)")
                cancelled += 1
            }
            moment += 3
        }
        #expect(cancelled >= (embeds ? 1 : 5))
        #expect(try schemaVersionAtURL(file.url) == 1)
        expectIntegrity(of: file.url)
    }

    /// Deleting the objects takes longer than collecting their links, and must check for cancellation too.
    @Test("A migration reports progress and can be cancelled while it deletes owned objects")
    func calledOffDropping() throws {
        let folder = TestFolder()
        let url = folder.file()
        let count = 2500
        do {
            let types: [ObjectBase.Type] = [Desks.Desk.self, Desks.Before.self]
            let realm = try Realm(configuration: .init(fileURL: url, objectTypes: types))
            try realm.write {
                for _ in 0..<count {
                    let clerk = realm.create(Desks.Before.self)
                    clerk.desk = Desks.Desk()
                    clerk.other = Desks.Desk()
                }
            }
        }
        let before = try Data(contentsOf: url)
        func migrate(_ callOff: CallOff, cancels: Bool) throws -> Int {
            let control = MigrationControl { progress in
                let isWanted = progress.className == "MDesk" && progress.completed > 0
                callOff.add(progress, cancels: cancels && isWanted)
            }
            callOff.watch(control)
            var configuration = Realm.Configuration(
                fileURL: url, schemaVersion: 1, migrationBlock: { _, _ in },
                objectTypes: [Desks.Desk.self, Desks.After.self])
            configuration.extras.control = control
            return try Realm(configuration: configuration).objects(Desks.After.self).filter("other != nil").count
        }
        let cancelled = CallOff()
        #expect(throws: CancellationError.self) { try migrate(cancelled, cancels: true) }
        let last = try #require(cancelled.list.last)
        #expect(last.phase == .building && last.className == "MDesk" && last.total == count)
        #expect(last.completed > 0 && last.completed < count, "\(last)")
        let after = try Data(contentsOf: url)
        #expect(after == before)
        let whole = CallOff()
        let left = try migrate(whole, cancels: false)
        #expect(left == count)
        #expect(whole.list.contains { $0.className == "MDesk" && $0.completed == count && $0.total == count })
        expectIntegrity(of: url)
    }

    @Test("Work on a table reports progress at most 101 times, for each table")
    func buildingReports() {
        let told = Told()
        let watch = BuildingWatch(MigrationControl { progress in told.add(progress.completed) })
        var goesOn = true
        for _ in 0..<2 {
            for completed in stride(from: 0, through: 1_000_000, by: 1000) {
                if !watch.goesOn("MPerson", completed, 1_000_000) { goesOn = false }
            }
        }
        #expect(goesOn)
        #expect(told.list.count == 202 && told.list.last == 1_000_000)
    }

    @Test("A cancelled migration does not commit, and one that commits cannot be cancelled")
    func control() {
        let cancelled = MigrationControl()
        #expect(cancelled.cancel() && cancelled.cancel() && cancelled.isCancelled)
        #expect(!cancelled.beginCommit() && !cancelled.hasBegunCommit)
        let committing = MigrationControl()
        #expect(committing.beginCommit() && committing.beginCommit() && committing.hasBegunCommit)
        #expect(!committing.cancel() && !committing.isCancelled)
    }

    /// The older program has nothing to migrate, but the file still has the version of the backup. The backup is the
    /// only way back after the newer program has committed.
    @Test("A program of the old version keeps the backup of a migration that is running")
    func backupInUse() async throws {
        let file = try MigrationFile(people: 30)
        var backedUp = configuration(file)
        backedUp.backsUpBeforeMigration = true
        let wanted = backedUp
        let (stream, finishing) = AsyncStream.makeStream(of: Void.self)
        let isHeld = DispatchSemaphore(value: 0)
        let opening = Task { @MainActor in
            let realm = try await Realm.open(configuration: wanted) { progress in
                guard progress.phase == .finishing else { return }
                finishing.yield()
                isHeld.wait()
            }
            return realm.isEmpty
        }
        for await _ in stream { break }
        let path = file.url.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            var older = Realm.Configuration(fileURL: URL(fileURLWithPath: path), objectTypes: Oldest.types)
            older.backsUpBeforeMigration = true
            let realm = try Realm(configuration: older)
            exit(realm.objects(Oldest.Person.self).count == 30 ? 0 : 1)
        }
        let isThere = Realm.migrationBackup(for: wanted) != nil
        isHeld.signal()
        _ = try await opening.value
        #expect(isThere)
        #expect(try schemaVersionAtURL(try #require(Realm.migrationBackup(for: wanted))) == 0)
        #expect(try schemaVersionAtURL(file.url) == 1)
    }

    /// The program must not remove a backup that has replaced the one whose version it has read.
    @Test("A new backup that replaces an old one during the check of its version stays")
    func replacedBackup() throws {
        let file = try MigrationFile(people: 30)
        var backedUp = configuration(file)
        backedUp.backsUpBeforeMigration = true
        func open(_ configuration: Realm.Configuration) throws {
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(Renamed.Person.self).count == 30)
        }
        try open(backedUp)
        let backup = try #require(Realm.migrationBackup(for: backedUp)).path
        // The file that a program of the next version would put in the place of the backup.
        let next = file.url.path + ".next"
        try FileManager.default.copyItem(atPath: file.url.path, toPath: next)
        let files = ReplacingFiles(at: backup, by: next)
        var held = backedUp
        held.extras.fileSystem = files
        try open(held)
        #expect(files.hasReplaced)
        #expect(FileManager.default.fileExists(atPath: backup))
        #expect(try schemaVersionAtURL(URL(fileURLWithPath: backup)) == 1)
    }

    @Test("An enumeration reports progress at most 101 times", arguments: [0, 1, 99, 100, 101, 150, 1_000_000])
    func reports(_ total: Int) {
        let told = Told()
        let control = MigrationControl { progress in told.add(progress.completed) }
        var watch = EnumerationWatch(control, "MPerson", total: total)
        var goesOn = true
        for completed in 0...total where !watch.goesOn(completed) { goesOn = false }
        #expect(goesOn)
        let reports = told.list
        #expect(reports.first == 0 && reports.last == total && reports == reports.sorted())
        #expect(reports.count <= 101)
        if total >= 100 { #expect(reports.count >= 50) }
    }

    @Test("An enumeration stops within 4,096 objects of its cancellation")
    func calledOff() {
        let control = MigrationControl()
        var watch = EnumerationWatch(control, "MPerson", total: 10_000_000)
        let goesOn = watch.goesOn(0)
        #expect(goesOn)
        control.cancel()
        var next = 1
        while watch.goesOn(next), next < 10_000 { next += 1 }
        #expect(next <= 4096)
    }
}
