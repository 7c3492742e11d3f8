// SPDX-License-Identifier: Apache-2.0
// A program that moves from Realm to Regnum opens its users' files: they are imported once, completely, and the
// original is kept.

import Foundation
import RealmSwift
import RegnumRealmFile
@testable import RegnumRealmImport
import Synchronization
import Testing

@Suite("Opening a file of Realm") struct LegacyFileTests {
    private func configuration(_ url: URL, version: UInt64 = 7) -> Realm.Configuration {
        var configuration = Realm.Configuration(fileURL: url, schemaVersion: version, objectTypes: [])
        configuration.legacyFile = .importing()
        return configuration
    }

    private func expectSame(_ realm: Realm, _ original: URL, key: Data? = nil) throws {
        var comparison = try Comparison(try RealmFile(url: original, encryptionKey: key), realm)
        let differences = try comparison.run()
        #expect(differences.isEmpty, "\(differences.prefix(3))")
        #expect(realm.configuration.integrityFindings().isEmpty)
    }

    @Test("Without the setting the file is refused, and the error names the setting")
    func refused() throws {
        let scratch = try Scratch()
        let url = try scratch.fixture("all_types_v24.realm", as: "default.realm")
        let before = try Data(contentsOf: url)
        #expect {
            try Realm(configuration: Realm.Configuration(fileURL: url, schemaVersion: 7, objectTypes: []))
        } throws: {
            let error = $0 as? Realm.Error
            return error?.code == .unsupportedFileFormatVersion
                && error?.localizedDescription.contains("legacyFile") == true
        }
        #expect(try Data(contentsOf: url) == before)
    }

    @Test("The file is imported once, and the original kept")
    func imports() throws {
        let scratch = try Scratch()
        let url = try scratch.fixture("all_types_v24.realm", as: "default.realm")
        // Realm's lock file has the same name as Regnum's.
        try Data("realm-core".utf8).write(to: scratch["default.realm.lock"])
        let before = try Data(contentsOf: url)
        let reports = Mutex<[RealmFileImportReport]>([])
        var configuration = configuration(url)
        configuration.legacyFile = .importing(report: { report in reports.withLock { $0.append(report) } })
        do {
            let realm = try Realm(configuration: configuration)
            try expectSame(realm, scratch["default.realm.legacy"])
        }
        #expect(try scratch.names == ["default.realm", "default.realm.legacy"])
        #expect(try Data(contentsOf: scratch["default.realm.legacy"]) == before)
        _ = try Realm(configuration: configuration)
        #expect(reports.withLock { $0.count } == 1)
        #expect(reports.withLock { $0[0].isComplete && $0[0].classes.allSatisfy { $0.checksum != nil } })
    }

    @Test("The original is removed if it need not be kept, and the name of another file is not taken")
    func originals() throws {
        let scratch = try Scratch()
        let url = try scratch.fixture("all_types_v24.realm", as: "default.realm")
        var configuration = configuration(url)
        configuration.legacyFile = .importing(keepOriginal: false)
        _ = try Realm(configuration: configuration)
        #expect(try scratch.names == ["default.realm"])
        let second = try scratch.fixture("all_types_v24.realm", as: "second.realm")
        try Data("older".utf8).write(to: scratch["second.realm.legacy"])
        _ = try Realm(configuration: self.configuration(second))
        #expect(try Data(contentsOf: scratch["second.realm.legacy"]) == Data("older".utf8))
        #expect(try RealmFile(url: scratch["second.realm.legacy-2"]).formatVersion == 24)
    }

    @Test("Deleting the files of the Realm leaves the original")
    func deleting() throws {
        let scratch = try Scratch()
        let url = try scratch.fixture("all_types_v24.realm", as: "default.realm")
        let before = try Data(contentsOf: url)
        do { _ = try Realm(configuration: configuration(url)) }
        #expect(try Realm.deleteFiles(for: configuration(url)))
        #expect(try scratch.names == ["default.realm.legacy"])
        #expect(try Data(contentsOf: scratch["default.realm.legacy"]) == before)
    }

    @Test("The original is always kept if a value could not be imported")
    func lossyOriginal() throws {
        let scratch = try Scratch()
        // Its sets contain NaN twice.
        let url = try scratch.fixture("all_types_v22.realm", as: "default.realm")
        let before = try Data(contentsOf: url)
        var configuration = configuration(url)
        configuration.legacyFile = .importing(keepOriginal: false)
        _ = try Realm(configuration: configuration)
        #expect(try Data(contentsOf: scratch["default.realm.legacy"]) == before)
    }

    // A process that had found Realm's file, and then waited for the process that imported it, once took the new file
    // for a file of Realm with another key.
    @Test("A second import does not touch the imported file", arguments: [nil, Fixture.key])
    func comesSecond(key: Data?) throws {
        #if !Encryption
            if key != nil { return }
        #endif
        let scratch = try Scratch()
        var configuration = Realm.Configuration(fileURL: scratch["default.realm"], objectTypes: [])
        configuration.encryptionKey = key
        _ = try Realm(configuration: configuration)
        let before = try Data(contentsOf: scratch["default.realm"])
        let swap = LegacySwap(
            path: scratch["default.realm"].path, configuration: configuration, keepsOriginal: true, progress: nil,
            report: nil)
        #expect(try swap.run())
        #expect(try Data(contentsOf: scratch["default.realm"]) == before)
        #expect(try scratch.names == ["default.realm"])
    }

    // The error once told the user of an app whose setting was in place to set it.
    @Test("A read-only configuration imports nothing, and the error says so")
    func readOnly() throws {
        let scratch = try Scratch()
        var configuration = configuration(try scratch.fixture("all_types_v24.realm", as: "default.realm"))
        configuration.readOnly = true
        #expect { try Realm(configuration: configuration) } throws: {
            let error = $0 as? Realm.Error
            return error?.reason == .olderRealmFile
                && error?.localizedDescription.contains("Open it once without `readOnly`") == true
        }
        #expect(try scratch.names == ["default.realm"])
    }

    #if Encryption
        // The error once called any bytes a file in Realm's format.
        @Test("With a key, the error for a file of other bytes names all that it may be")
        func foreignFileWithKey() throws {
            let scratch = try Scratch()
            let url = scratch["default.realm"]
            try Data(repeating: 7, count: 8192).write(to: url)
            var configuration = configuration(url)
            configuration.encryptionKey = Fixture.key
            #expect { try Realm(configuration: configuration) } throws: {
                let error = $0 as? Realm.Error
                let words = error?.localizedDescription ?? ""
                return error?.reason == .wrongKey && words.contains("was overwritten") && words.contains("another key")
                    && !words.contains("cannot be imported")
            }
            #expect(try Data(contentsOf: url) == Data(repeating: 7, count: 8192))
        }

        @Test("An encrypted file is imported with the key of the configuration, and stays encrypted")
        func encrypted() throws {
            let scratch = try Scratch()
            let url = try scratch.fixture("all_types_v24_encrypted.realm", as: "default.realm")
            var configuration = configuration(url)
            configuration.encryptionKey = Data(count: 64)
            #expect { try Realm(configuration: configuration) } throws: { ($0 as? Realm.Error)?.reason == .wrongKey }
            #expect(try scratch.names == ["default.realm"])
            configuration.encryptionKey = Fixture.key
            do {
                let realm = try Realm(configuration: configuration)
                try expectSame(realm, scratch["default.realm.legacy"], key: Fixture.key)
            }
            #expect(throws: Realm.Error.self) {
                try Realm(configuration: Realm.Configuration(fileURL: url, schemaVersion: 7, objectTypes: []))
            }
        }
    #endif

    @Test("The migration block runs from the version of the old file")
    func migrates() throws {
        let scratch = try Scratch()
        let url = try scratch.fixture("all_types_v24.realm", as: "default.realm")
        let versions = Mutex<[UInt64]>([])
        var configuration = configuration(url, version: 9)
        configuration.migrationBlock = { migration, old in
            versions.withLock { $0.append(old) }
            for name in ["All", "Big", "Deep", "Emb"] { migration.deleteData(forType: name) }
        }
        let realm = try Realm(configuration: configuration)
        #expect(versions.withLock { $0 } == [7])
        #expect(realm.dynamicObjects("Target").count == 390)
        // An older program does not open it.
        let other = try scratch.fixture("all_types_v24.realm", as: "other.realm")
        #expect { try Realm(configuration: self.configuration(other, version: 6)) } throws: {
            ($0 as? Realm.Error)?.reason == .newerSchemaVersion
        }
        // Nothing was imported: a newer program, or one that uses Realm, opens the file.
        #expect(try RealmFile(url: other).schemaVersion == 7)
        #expect(try !scratch.names.contains("other.realm.legacy"))
    }

    @Test("A file without a schema version opens with any version, and no migration block runs")
    func neverVersioned() throws {
        let scratch = try Scratch()
        var builder = FileBuilder(format: 9)
        let tables = OldFormatSamples.anyValues(&builder)
        try Data(builder.file(tables: tables, slot: 1)).write(to: scratch["default.realm"])
        try FileManager.default.copyItem(at: scratch["default.realm"], to: scratch["old.realm"])
        let report = try RealmFileImport(from: scratch["old.realm"], to: scratch["new.realm"]).run()
        #expect(report.schemaVersion == nil)
        #expect(try FileModels(of: scratch["new.realm"]).schemaVersion == nil)
        for name in ["default.realm", "new.realm"] {
            let versions = Mutex<[UInt64]>([])
            var configuration = configuration(scratch[name], version: 5)
            configuration.migrationBlock = { _, old in versions.withLock { $0.append(old) } }
            let realm = try Realm(configuration: configuration)
            #expect(realm.dynamicObjects("Any").count == 10)
            #expect(versions.withLock { $0 }.isEmpty)
            #expect(try schemaVersionAtURL(scratch[name]) == 5)
        }
    }

    @Test("Threads that open the file at once import it once")
    func atOnce() async throws {
        let scratch = try Scratch()
        let url = try scratch.fixture("all_types_v24.realm", as: "default.realm")
        let imports = Mutex(0)
        var configuration = configuration(url)
        configuration.legacyFile = .importing(report: { _ in imports.withLock { $0 += 1 } })
        let shared = configuration
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<6 {
                group.addTask { try Realm(configuration: shared).dynamicObjects("Target").count }
            }
            for try await count in group { #expect(count == 390) }
        }
        #expect(imports.withLock { $0 } == 1)
        #expect(try scratch.names == ["default.realm", "default.realm.legacy"])
    }

    private struct Stop: Error {}

    @Test("An import that fails does not change the old file")
    func fails() throws {
        let scratch = try Scratch()
        let url = try scratch.fixture("all_types_v24.realm", as: "default.realm")
        let before = try Data(contentsOf: url)
        var configuration = configuration(url)
        configuration.legacyFile = .importing(report: { _ in throw Stop() })
        #expect(throws: Stop.self) { try Realm(configuration: configuration) }
        #expect(try scratch.names == ["default.realm"])
        #expect(try Data(contentsOf: url) == before)
        // Damage.
        try before.prefix(before.count / 2).write(to: url)
        #expect { try Realm(configuration: self.configuration(url)) } throws: {
            let error = $0 as? Realm.Error
            return error?.reason == .damaged && error?.localizedDescription.contains("Restore it from a backup") == true
        }
        #expect(try scratch.names == ["default.realm"])
        // A file in no known format.
        try Data(repeating: 7, count: 8192).write(to: url)
        #expect { try Realm(configuration: self.configuration(url)) } throws: {
            ($0 as? Realm.Error)?.reason == .notARealmFile
        }
    }

    @Test("A killed process leaves the old file or the new one", arguments: 0..<16)
    func killed(_ step: Int) async throws {
        let scratch = try Scratch()
        let url = try scratch.fixture("all_types_v24.realm", as: "default.realm")
        let path = url.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, step = step as Int] in
            var configuration = Realm.Configuration(
                fileURL: URL(fileURLWithPath: path), schemaVersion: 7, objectTypes: [])
            let calls = Mutex(0)
            configuration.legacyFile = .importing(progress: { _ in
                let count = calls.withLock { calls in
                    calls += 1
                    return calls
                }
                // The last call renames the new file.
                if count > step * 14 { kill(getpid(), SIGKILL) }
            })
            _ = try Realm(configuration: configuration)
            kill(getpid(), SIGKILL)
        }
        let realm = try Realm(configuration: configuration(url))
        try expectSame(realm, scratch["default.realm.legacy"])
        #expect(try scratch.names == ["default.realm", "default.realm.legacy"])
    }
}
