// SPDX-License-Identifier: Apache-2.0
// The memory use of a migration, measured by what its write transaction holds, so that other work at the same time
// does not matter.

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

@Suite("Migrations: memory")
struct MigrationMemoryTests {
    let folder = TestFolder()

    private func write(_ url: URL, _ count: Int, key: Data?) throws {
        let realm = try Realm(
            configuration: .init(fileURL: url, encryptionKey: key, objectTypes: [Many.Before.self]))
        try realm.write { for i in 0..<count { realm.create(Many.Before.self, value: ["number": i]) } }
    }

    /// The greatest number of bytes that the write transaction of a migration holds while it computes a text of the
    /// given length for each object.
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

    @Test("The memory of a migration does not grow with the table")
    func bounded() throws {
        // With limits that are several hundred times smaller than the usual ones.
        let bound = 3 << 20
        for count in [5000, 20_000] {
            let most = try mostBytes(count, textByteCount: 400)
            #expect(most > 0 && most < bound, "\(most) bytes for \(count) objects")
        }
        #expect(20_000 * 400 > 2 * bound, "the texts must be larger than the bound")
    }

    #if Encryption
        /// An encrypted file does not spill pages: `Regnum.docc/Migrations.md` states the reason and the amount.
        @Test("Migrating an encrypted file uses at most 115 bytes for each object with a text of 20 bytes")
        func encrypted() throws {
            let key = Data(repeating: 5, count: 64)
            for count in [5000, 20_000] {
                let most = try mostBytes(count, textByteCount: 20, key: key)
                #expect(most > 0 && most < 115 * count, "\(most) bytes for \(count) objects")
            }
        }
    #endif
}
