// SPDX-License-Identifier: Apache-2.0
// How much memory a migration takes: counted by what its write holds, so that it does not matter what runs beside it.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@testable import Regnum
@testable import RegnumEngine

private enum Many {
    class Before: MigrationCase {
        @Persisted var number = 0
        override class func _realmObjectName() -> String? { "MMany" }
    }
    class After: MigrationCase {
        @Persisted var number = 0
        @Persisted var text = ""
        override class func _realmObjectName() -> String? { "MMany" }
    }
}

@Suite("migrations: memory")
struct MigrationMemoryTests {
    let folder = TestFolder()

    private func write(_ url: URL, _ count: Int, key: Data?) throws {
        let realm = try Realm(
            configuration: .init(fileURL: url, encryptionKey: key, objectTypes: [Many.Before.self]))
        try realm.write { for i in 0..<count { realm.create(Many.Before.self, value: ["number": i]) } }
    }

    /// Bytes that the write of a migration holds at most while it computes a text of so many bytes for each object.
    private func mostBytes(_ count: Int, textByteCount: Int, key: Data? = nil) throws -> Int {
        let url = folder.file("\(count).realm")
        try write(url, count, key: key)
        let text = String(repeating: "x", count: textByteCount)
        nonisolated(unsafe) var most = 0
        var configuration = Realm.Configuration(
            fileURL: url, encryptionKey: key, schemaVersion: 1,
            migrationBlock: { migration, _ in
                let session = migration.work.session
                var done = 0
                migration.enumerateObjects(ofType: "MMany") { _, new in
                    new?["text"] = text
                    done += 1
                    if done % 100 > 0 { return }
                    let changed = session.tables.reduce(0) { $0 + $1.changedByteCount }
                    most = max(most, session.space.sealer.heldByteCount + changed)
                }
            }, objectTypes: [Many.After.self])
        var limits = SpillLimits()
        (limits.sealed, limits.changed, limits.interval) = (1 << 16...1 << 16, 1 << 18, 500)
        limits.bytesPerChange = .max
        configuration.extras.spillLimits = limits
        do {
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(Many.After.self).filter("text == %@", text).count == count)
        }
        expectIntegrity(of: configuration)
        return most
    }

    @Test("what a migration holds in memory does not grow with the table")
    func bounded() throws {
        // With limits some hundred times smaller than the usual ones.
        let bound = 3 << 20
        for count in [5000, 20_000] {
            let most = try mostBytes(count, textByteCount: 400)
            #expect(most > 0 && most < bound, "\(most) bytes for \(count) objects")
        }
        #expect(20_000 * 400 > 2 * bound, "else nothing would be shown")
    }

    #if Encryption
        /// Nothing of it is written ahead: `Regnum.docc/Migrations.md` says why, and how much it is.
        @Test("what a migration of an encrypted file holds in memory is at most 115 bytes an object with a text of 20")
        func encrypted() throws {
            let key = Data(repeating: 5, count: 64)
            for count in [5000, 20_000] {
                let most = try mostBytes(count, textByteCount: 20, key: key)
                #expect(most > 0 && most < 115 * count, "\(most) bytes for \(count) objects")
            }
        }
    #endif
}
