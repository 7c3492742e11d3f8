// SPDX-License-Identifier: Apache-2.0
// Online backup through the public API: to a file and to a repository, while a Realm is being written.

import Foundation
import RealmSwift
import RegnumBackup
import RegnumTestKit
import Testing

@Suite struct BackupTests {
    class BackedUpNote: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var text = ""
    }

    struct Cancelled: Error {}

    /// A Realm with 300 objects, alone in a folder.
    private static func makeRealm(key: Data? = nil) throws -> (realm: Realm, folder: URL) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-backup-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let realm = try Realm(configuration: configuration(folder.appendingPathComponent("a.realm"), key))
        try realm.write {
            for id in 0..<300 {
                realm.create(BackedUpNote.self, value: ["id": id, "text": "text \(id)"], update: .error)
            }
        }
        return (realm, folder)
    }

    private static func remove(_ folder: URL) { try? FileManager.default.removeItem(at: folder) }

    private static func configuration(_ url: URL, _ key: Data? = nil) -> Realm.Configuration {
        Realm.Configuration(fileURL: url, encryptionKey: key, objectTypes: [BackedUpNote.self])
    }

    @Test("A copy has the version of its beginning, and is never made over another file")
    func copy() throws {
        let (realm, folder) = try Self.makeRealm()
        defer { Self.remove(folder) }
        let copy = folder.appendingPathComponent("b.realm")
        var fraction = 0.0
        var isWritten = false
        try realm.backup(to: copy) { progress in
            #expect(progress.fraction >= fraction)
            fraction = progress.fraction
            if isWritten { return }
            isWritten = true
            try realm.write { realm.create(BackedUpNote.self, value: ["id": 1000], update: .error) }
        }
        #expect(fraction == 1)
        #expect(realm.objects(BackedUpNote.self).count == 301)
        #expect(try Realm(configuration: Self.configuration(copy)).objects(BackedUpNote.self).count == 300)
        expectIntegrity(of: copy)
        #expect {
            try realm.backup(to: copy)
        } throws: { ($0 as? Realm.Error)?.code == .fileExists }
        try Realm.backup(
            Self.configuration(realm.configuration.fileURL ?? copy), to: folder.appendingPathComponent("c.realm"))
        let other = try Realm(configuration: Self.configuration(folder.appendingPathComponent("c.realm")))
        #expect(other.objects(BackedUpNote.self).count == 301)
    }

    @Test("A cancelled backup leaves no file")
    func cancelled() throws {
        let (realm, folder) = try Self.makeRealm()
        defer { Self.remove(folder) }
        let copy = folder.appendingPathComponent("b.realm")
        #expect(throws: Cancelled.self) { try realm.backup(to: copy, rate: 1) { _ in throw Cancelled() } }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(!names.contains { $0.hasPrefix("b.realm") })
    }

    @Test("Changes of a running write are not in a backup")
    func insideWrite() throws {
        let (realm, folder) = try Self.makeRealm()
        defer { Self.remove(folder) }
        let copy = folder.appendingPathComponent("b.realm")
        realm.beginWrite()
        realm.deleteAll()
        try realm.backup(to: copy)
        try realm.commitWrite()
        #expect(try Realm(configuration: Self.configuration(copy)).objects(BackedUpNote.self).count == 300)
    }

    @Test("A repository restores each commit of a Realm")
    func repository() throws {
        let (realm, folder) = try Self.makeRealm()
        defer { Self.remove(folder) }
        let file = folder.appendingPathComponent("a.realm")
        let repository = try BackupRepository(
            DirectoryStore(folder.appendingPathComponent("repository")), creating: true)
        for id in 0..<4 {
            try realm.write { realm.create(BackedUpNote.self, value: ["id": 1000 + id], update: .error) }
            #expect(try repository.backUp(file) != nil)
        }
        for (number, backup) in try repository.backups().enumerated() {
            let restored = folder.appendingPathComponent("r\(number).realm")
            try repository.restore(.number(backup.number), to: restored)
            let count = try Realm(configuration: Self.configuration(restored)).objects(BackedUpNote.self).count
            #expect(count == 301 + number)
            expectIntegrity(of: restored)
        }
    }

    #if Encryption
        @Test("Backups of an encrypted Realm have its key")
        func encrypted() throws {
            let key = Data(repeating: 9, count: 64)
            let (realm, folder) = try Self.makeRealm(key: key)
            defer { Self.remove(folder) }
            let copy = folder.appendingPathComponent("b.realm")
            try realm.backup(to: copy)
            #expect(throws: Realm.Error.self) { try Realm(configuration: Self.configuration(copy)) }
            let count = try Realm(configuration: Self.configuration(copy, key)).objects(BackedUpNote.self).count
            #expect(count == 300)
        }
    #endif
}
