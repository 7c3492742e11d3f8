// SPDX-License-Identifier: Apache-2.0
// Copies, compaction, deletion, the limit on versions, and pins.

import Foundation
import RealmSwift
import RegnumSystem
import RegnumTestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

final class CareRow: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text: String
    @Persisted var next: CareRow?
    @Persisted var others: List<CareRow>
}

@Suite struct FileCopyAndPinTests {
    private func fill(_ realm: Realm, _ ids: Range<Int>) throws {
        try realm.write {
            for id in ids {
                let row = CareRow()
                row.id = id
                row.text = String(repeating: "text \(id) ", count: 1 + id % 300)
                row.next = realm.object(ofType: CareRow.self, forPrimaryKey: id - 1)
                if let next = row.next { row.others.append(next) }
                realm.add(row)
            }
        }
    }

    private func expectRows(_ configuration: Realm.Configuration, _ ids: [Int]) throws {
        let realm = try Realm(configuration: configuration)
        #expect(realm.objects(CareRow.self).sorted(byKeyPath: "id").map(\.id) == ids)
        for row in realm.objects(CareRow.self) {
            #expect(row.text == String(repeating: "text \(row.id) ", count: 1 + row.id % 300))
            #expect(row.others.map(\.id) == (row.next.map { [$0.id] } ?? []))
        }
        expectIntegrity(of: configuration)
    }

    private func size(_ url: URL?) throws -> Int {
        let path = try #require(url?.path)
        return try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }

    // MARK: Copies

    @Test("A copy is an independent file with all objects")
    func copy() throws {
        try withFile([CareRow.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            try fill(realm, 0..<500)
            var target = configuration
            target.fileURL = configuration.fileURL?.deletingLastPathComponent().appendingPathComponent("b.realm")
            try realm.writeCopy(toFile: try #require(target.fileURL))
            try fill(realm, 500..<510)
            try expectRows(target, Array(0..<500))
            try fill(try Realm(configuration: target), 500..<600)
            try expectRows(target, Array(0..<600))
            try expectRows(configuration, Array(0..<510))
        }
    }

    @Test("A copy made inside a write contains its changes, and the write can still be cancelled")
    func insideWrite() throws {
        try withFile([CareRow.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            try fill(realm, 0..<50)
            var target = configuration
            target.fileURL = configuration.fileURL?.deletingLastPathComponent().appendingPathComponent("b.realm")
            realm.beginWrite()
            realm.add(CareRow(value: ["id": 50, "text": "text 50 "]))
            let row = try #require(realm.object(ofType: CareRow.self, forPrimaryKey: 50))
            row.text = String(repeating: "text 50 ", count: 51)
            try realm.writeCopy(configuration: target)
            #expect(row.id == 50)
            row.text = "more"
            #expect(row.text == "more")
            realm.cancelWrite()
            #expect(realm.objects(CareRow.self).count == 50)
            try expectRows(target, Array(0...50))
            try expectRows(configuration, Array(0..<50))
        }
    }

    @Test("An in-memory Realm can be copied to a file")
    func fromMemory() throws {
        try withFile([CareRow.self]) { configuration in
            let realm = try memoryRealm(CareRow.self)
            try fill(realm, 0..<100)
            try realm.writeCopy(configuration: configuration)
            try expectRows(configuration, Array(0..<100))
        }
    }

    @Test("A copy does not overwrite anything, including a dangling symbolic link")
    func existing() throws {
        try withFile([CareRow.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            let url = try #require(configuration.fileURL)
            let error = #expect(throws: Realm.Error.self) { try realm.writeCopy(toFile: url) }
            #expect(error?.code == .fileExists)
            #expect(
                error?.localizedDescription.hasPrefix("Failed to open file at path '\(url.path)': File exists") == true)
            let link = url.deletingLastPathComponent().appendingPathComponent("link.realm")
            let nowhere = url.deletingLastPathComponent().appendingPathComponent("nowhere").path
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: nowhere)
            #expect(throws: Realm.Error.self) { try realm.writeCopy(toFile: link) }
            #expect(!FileManager.default.fileExists(atPath: nowhere))
        }
    }

    @Test("Compaction through a symbolic link compacts the target file, with a single lock file")
    func linked() throws {
        try withFile([CareRow.self]) { configuration in
            let url = try #require(configuration.fileURL)
            var other = configuration
            other.fileURL = url.deletingLastPathComponent().appendingPathComponent("link.realm")
            other.shouldCompactOnLaunch = { _, _ in true }
            let link = try #require(other.fileURL?.path)
            try autoreleasepool {
                let realm = try Realm(configuration: configuration)
                try fill(realm, 0..<10)
            }
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: url.path)
            try expectRows(other, Array(0..<10))
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == url.path)
            #expect(!FileManager.default.fileExists(atPath: link + ".lock"))
            #expect(try schemaVersionAtURL(try #require(other.fileURL)) == 0)
            try expectRows(configuration, Array(0..<10))
        }
    }

    @Test(
        "A copy and the lock file have no more permissions than the Realm file", arguments: [0o600, 0o640, 0o644])
    func permissions(mode: Int) throws {
        try withFile([CareRow.self]) { configuration in
            let url = try #require(configuration.fileURL)
            do { _ = try Realm(configuration: configuration) }
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
            let realm = try Realm(configuration: configuration)
            let copy = url.deletingLastPathComponent().appendingPathComponent("b.realm")
            try realm.writeCopy(toFile: copy)
            for path in [copy.path, url.path + ".lock"] {
                let found = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(try #require(found) & ~mode == 0, "\(path) has \(found ?? 0)")
            }
            #expect(try Realm.compactFile(for: configuration) == false)
        }
    }

    private func mode(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    // The process's umask (022 mostly) must not take permissions from the compacted file or the lock file, because
    // other users of a shared file need them.
    @Test(
        "Compaction keeps the permissions of the file and its lock file",
        arguments: [0o600, 0o640, 0o660, 0o666])
    func compactedPermissions(mode: Int) throws {
        try withFile([CareRow.self]) { configuration in
            let url = try #require(configuration.fileURL)
            do { try fill(try Realm(configuration: configuration), 0..<10) }
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
            #expect(try Realm.compactFile(for: configuration))
            #expect(try self.mode(url.path) == mode)
            try FileManager.default.removeItem(atPath: url.path + ".lock")
            try expectRows(configuration, Array(0..<10))
            #expect(try self.mode(url.path + ".lock") == mode)
            // An existing lock file gets the permissions too.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path + ".lock")
            try expectRows(configuration, Array(0..<10))
            #expect(try self.mode(url.path + ".lock") == mode)
        }
    }

    #if canImport(Glibc)
        @Test("Compaction keeps the owner of the file and its lock file", .enabled(if: geteuid() == 0))
        func compactedOwner() throws {
            try withFile([CareRow.self]) { configuration in
                let path = try #require(configuration.fileURL).path
                do { try fill(try Realm(configuration: configuration), 0..<10) }
                let isGiven = chown(path, 1, 2) == 0
                try #require(isGiven)
                #expect(try Realm.compactFile(for: configuration))
                try FileManager.default.removeItem(atPath: path + ".lock")
                try expectRows(configuration, Array(0..<10))
                for file in [path, path + ".lock"] {
                    var found = stat()
                    let isFound = stat(file, &found) == 0
                    #expect(isFound && found.st_uid == 1 && found.st_gid == 2, "\(file)")
                }
                // The process's group could not read the file, so it must not be able to read a copy.
                try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
                let copy = path + ".copy"
                try Realm(configuration: configuration).writeCopy(toFile: URL(fileURLWithPath: copy))
                #expect(try mode(copy) == 0o600)
            }
        }
    #endif

    // MARK: Deletion

    @Test("Deletion through a symbolic link deletes the target, the side files of both, and the link")
    func deletedThroughLink() throws {
        try withFile([CareRow.self]) { configuration in
            let url = try #require(configuration.fileURL)
            do { try fill(try Realm(configuration: configuration), 0..<10) }
            let folder = url.deletingLastPathComponent().appendingPathComponent("links")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let link = folder.appendingPathComponent("link.realm")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
            var other = configuration
            other.fileURL = link
            do {
                let realm = try Realm(configuration: configuration)
                let error = #expect(throws: Realm.Error.self) { try Realm.deleteFiles(for: other) }
                #expect(error?.code == .alreadyOpen)
                #expect(realm.objects(CareRow.self).count == 10)
            }
            for place in [url, link] { try Data("old".utf8).write(to: place.appendingPathExtension("compacting")) }
            #expect(try Realm.deleteFiles(for: other))
            #expect(try names(folder) == [])
            #expect(try names(url.deletingLastPathComponent()) == ["a.realm.lock", "links"])
            #expect(try !Realm.deleteFiles(for: other))
        }
    }

    @Test("A folder in place of the file is not deleted")
    func deletedFolder() throws {
        try withFile([CareRow.self]) { configuration in
            let url = try #require(configuration.fileURL)
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            try Data("mine".utf8).write(to: url.appendingPathComponent("file"))
            #expect(throws: Realm.Error.self) { try Realm.deleteFiles(for: configuration) }
            #expect(try names(url) == ["file"])
        }
    }

    // MARK: Leftovers

    private func names(_ folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    // A process that is killed during the rehearsal of a migration leaves a copy of the whole file.
    @Test("Leftovers of killed rehearsals, seeds and copies are removed, and files in use stay")
    func leftovers() throws {
        try withFile([CareRow.self]) { configuration in
            let url = try #require(configuration.fileURL)
            let folder = url.deletingLastPathComponent()
            func leave(_ names: [String]) throws {
                for name in names { try Data("half".utf8).write(to: folder.appendingPathComponent(name)) }
            }
            do { try fill(try Realm(configuration: configuration), 0..<10) }
            let rehearsals = "a.realm.rehearsal.regnum-"
            try leave(["", ".realm", ".realm.lock", ".realm.lock.f00.tmp"].map { rehearsals + "0.tmp" + $0 })
            try leave(["", ".realm"].map { rehearsals + "3.tmp" + $0 })
            // This one is in use by a living process.
            let living = try TemporaryLock(folder.appendingPathComponent("a.realm.rehearsal.regnum-1.tmp").path)
            try leave(["a.realm.rehearsal.regnum-1.tmp.realm"])
            let rehearsal = try Realm.rehearseMigration(for: configuration)
            #expect(rehearsal.error == nil)
            let left = ["a.realm", "a.realm.lock", rehearsals + "1.tmp", rehearsals + "1.tmp.realm"]
            #expect(try names(folder) == left)

            try leave(["b.realm.seed.regnum-0.tmp", "b.realm.seed.regnum-0.tmp.copy", "c.realm.regnum-0.tmp"])
            var seeded = configuration
            seeded.fileURL = folder.appendingPathComponent("b.realm")
            seeded.seedFilePath = url
            try expectRows(seeded, Array(0..<10))
            do {
                let realm = try Realm(configuration: configuration)
                try realm.writeCopy(toFile: folder.appendingPathComponent("c.realm"))
            }
            #expect(try names(folder) == (left + ["b.realm", "b.realm.lock", "c.realm"]).sorted())

            try leave(["", ".copy"].map { "a.realm.seed.regnum-2.tmp" + $0 })
            try leave(["a.realm.lock.f00.tmp", "a.realm.regnum-5.tmp"])
            living.end()
            // Not files of this library, whatever their names begin with.
            try leave(["a.realm.lock.mine"])
            let mine = folder.appendingPathComponent("a.realm.lock.mine.tmp")
            try FileManager.default.createDirectory(at: mine, withIntermediateDirectories: true)
            #expect(try Realm.deleteFiles(for: configuration))
            let others = ["a.realm.lock.mine", "a.realm.lock.mine.tmp"]
            #expect(try names(folder) == ["a.realm.lock"] + others + ["b.realm", "b.realm.lock", "c.realm"])
            // If there is no Realm file, another process may be creating one, with a lock file.
            try leave(["a.realm.lock.f00.tmp"])
            #expect(try !Realm.deleteFiles(for: configuration))
            #expect(try names(folder).contains("a.realm.lock.f00.tmp"))
        }
    }

    @Test("The error for a seed file that cannot be copied states the reason")
    func seedWords() throws {
        try withFile([CareRow.self]) { configuration in
            let url = try #require(configuration.fileURL)
            do { try fill(try Realm(configuration: configuration), 0..<10) }
            var seeded = configuration
            seeded.fileURL = url.deletingLastPathComponent().appendingPathComponent("none/b.realm")
            seeded.seedFilePath = url
            let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: seeded) }
            let words = error?.localizedDescription ?? ""
            #expect(words.contains("no such file or directory (error 2). Use a path"), "\(words)")
        }
    }

    /// An unfinished file, locked as by its creator.
    private struct TemporaryLock {
        private let file: any File

        init(_ path: String) throws {
            file = try PosixFileSystem.shared.open(path, .createNew(permissions: 0o600))
            #expect(try file.tryLock(byte: 1 << 62 + 2))
        }

        func end() { file.close() }
    }

    // MARK: Compaction

    @Test(
        "The compaction callback gets the file's size, and its answer decides whether the file is compacted",
        arguments: [true, false])
    func onLaunch(answer: Bool) throws {
        try withFile([CareRow.self]) { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                try fill(realm, 0..<3000)
                try realm.write { realm.delete(realm.objects(CareRow.self).where { $0.id >= 100 }) }
            }
            let before = try size(configuration.fileURL)
            let calls = Calls()
            var asking = configuration
            asking.shouldCompactOnLaunch = { total, used in
                calls.add(total, used)
                return answer
            }
            do {
                let realm = try Realm(configuration: asking)
                #expect(realm.objects(CareRow.self).count == 100)
                _ = try Realm(configuration: asking)
                #expect(calls.all.count == 1)
                #expect(calls.all.first?.total == before)
                #expect(calls.all.first.map { $0.used < $0.total && $0.used > 0 } == true)
                #expect(try (size(configuration.fileURL) < before / 2) == answer)
            }
            try expectRows(configuration, Array(0..<100))
        }
    }

    private final class Calls: @unchecked Sendable {
        // Sendable: called on the opening thread only.
        var all: [(total: Int, used: Int)] = []
        func add(_ total: Int, _ used: Int) { all.append((total, used)) }
    }

    @Test("A file is compacted on request, but not while it is open")
    func onRequest() throws {
        try withFile([CareRow.self]) { configuration in
            #expect(try Realm.compactFile(for: configuration) == false)
            do {
                let realm = try Realm(configuration: configuration)
                try fill(realm, 0..<2000)
                try realm.write { realm.delete(realm.objects(CareRow.self).where { $0.id < 1900 }) }
                #expect(try Realm.compactFile(for: configuration) == false)
            }
            let before = try size(configuration.fileURL)
            #expect(try Realm.compactFile(for: configuration))
            #expect(try size(configuration.fileURL) < before)
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(CareRow.self).count == 100)
            expectIntegrity(of: configuration)
        }
    }

    // MARK: Versions

    @Test("A write fails if too many versions are in use, and succeeds after they are released")
    func versionLimit() throws {
        try withFile([CareRow.self]) { configuration in
            var limited = configuration
            limited.maximumNumberOfActiveVersions = 3
            let realm = try Realm(configuration: limited)
            try holdingVersion(configuration) {
                // The pinned version and the newest count: 1, 2, 3 ... and the write that finds more than 3 fails.
                for id in 0..<3 { try realm.write { realm.add(CareRow(value: ["id": id])) } }
                let error = #expect(throws: Realm.Error.self) {
                    try realm.write { realm.add(CareRow(value: ["id": 9])) }
                }
                #expect(error?.code == .fail)
                #expect(error?.reason == .tooManyVersions)
                let words = "Number of active versions (4) in the Realm exceeded the limit of 3"
                #expect(error?.localizedDescription.hasPrefix(words) == true, "\(error?.localizedDescription ?? "")")
            }
            try realm.write { realm.add(CareRow(value: ["id": 3])) }
            #expect(realm.objects(CareRow.self).count == 4)
        }
    }

    @Test("Too many versions end the program in beginWrite, which cannot throw")
    func versionLimitMisuse() throws {
        try withFile([CareRow.self]) { configuration in
            try holdingVersion(configuration) {
                let message = catchMisuse { [configuration] in
                    var limited = configuration
                    limited.maximumNumberOfActiveVersions = 1
                    guard let realm = try? Realm(configuration: limited) else { return }
                    try? realm.write { realm.add(CareRow(value: ["id": 1])) }
                    realm.beginWrite()
                }
                let words = "Number of active versions (2) in the Realm exceeded the limit of 1"
                #expect(message?.hasPrefix(words) == true, "\(message ?? "none")")
            }
        }
    }

    /// Runs `body` while another thread pins the current version.
    private func holdingVersion(_ configuration: Realm.Configuration, _ body: () throws -> Void) throws {
        let (opened, done, ended) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        Thread.detachNewThread {
            autoreleasing {
                let realm = try? Realm(configuration: configuration)
                opened.signal()
                done.wait()
                withExtendedLifetime(realm) {}
            }
            ended.signal()
        }
        opened.wait()
        defer {
            done.signal()
            ended.wait()
        }
        try body()
    }

    private func autoreleasing(_ body: () -> Void) { body() }

    @Test("A pin names the file and line that opened the Realm, the process, and its distance from the newest version")
    func pins() throws {
        try withFile([CareRow.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            let line = #line - 1
            try holdingVersion(configuration) {
                try realm.write { realm.add(CareRow(value: ["id": 1])) }
                let pins = realm.pins()
                #expect(pins.count == 2)
                #expect(pins.map(\.newerVersions) == [1, 0])
                #expect(pins.allSatisfy { $0.holder == .realm && $0.processIdentifier == getpid() })
                #expect(
                    pins.last?.fileID?.hasSuffix("FileCopyAndPinTests.swift") == true && pins.last?.line == UInt(line))
                let since = try #require(pins.first?.since)
                #expect(since <= Date() && since > Date(timeIntervalSinceNow: -86_400))
                #expect(pins.first?.description.contains("1 behind") == true)
            }
            #expect(realm.pins().count == 1)
        }
    }

    @Test("Initialisers can be referenced with RealmSwift's types")
    func initialiserReferences() throws {
        let open: (Realm.Configuration, DispatchQueue?) throws -> Realm = Realm.init(configuration:queue:)
        let realm = try open(
            Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [CareRow.self]), nil)
        #expect(realm.pins().map(\.holder) == [.library])
        _ = Realm.init(fileURL:)
    }

    @Test("A file exists after opening, can be deleted when closed, and its lock file remains")
    func files() throws {
        let folder = TestFolder()
        let configuration = Realm.Configuration(fileURL: folder.file(), objectTypes: [CareRow.self])
        #expect(!Realm.fileExists(for: configuration))
        #expect(try !Realm.deleteFiles(for: configuration))
        do {
            let realm = try Realm(configuration: configuration)
            #expect(realm.isEmpty && Realm.fileExists(for: configuration))
            try realm.write { realm.add(CareRow()) }
            #expect(!realm.isEmpty)
            #expect {
                try Realm.deleteFiles(for: configuration)
            } throws: { error in
                guard case Realm.Error.alreadyOpen = error else { return false }
                return "\(error)".contains("Cannot delete files of an open Realm")
            }
        }
        #expect(try Realm.deleteFiles(for: configuration))
        #expect(!Realm.fileExists(for: configuration) && folder.names == ["a.realm.lock"])
    }
}
