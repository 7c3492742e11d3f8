// SPDX-License-Identifier: Apache-2.0
// Migrations that are interrupted by failing calls, power loss, or a full disk. Afterwards the file has its old
// contents or all new contents, and is valid.

import Foundation
import RealmSwift
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import RegnumTestKit
import Testing

@testable import Regnum

/// A file of the oldest version on a disk that fails on demand, and its migration to renamed properties.
private struct SimulatedMigration {
    /// A new path, because the Realms of a process are found by their paths.
    let path = "/m/\(UUID().uuidString).realm"
    static let count = 300
    private(set) var old: [UInt8]

    init() throws {
        old = []
        let files = SimulatedFileSystem(seed: 5, isShared: false, reservedByteCount: 64 << 20)
        do {
            let realm = try Realm(configuration: configuration(files, Oldest.types, 0))
            try realm.write {
                let dogs = (0..<9).map { realm.create(Oldest.Dog.self, value: ["name": "dog \($0)"]) }
                for i in 0..<Self.count {
                    let person = realm.create(
                        Oldest.Person.self,
                        value: ["first": "first \(i)", "last": i == 7 ? String(repeating: "x", count: 9000) : "last"])
                    person.dogs.append(dogs[i % 9])
                }
            }
        }
        old = try #require(files.contents(of: path))
    }

    func configuration(
        _ files: SimulatedFileSystem, _ types: [ObjectBase.Type], _ version: UInt64
    ) -> Realm.Configuration {
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: path), schemaVersion: version,
            migrationBlock: { migration, _ in
                migration.renameProperty(onType: "MPerson", from: "first", to: "given")
                migration.renameProperty(onType: "MPerson", from: "dogs", to: "pets")
                migration.enumerateObjects(ofType: "MPerson") { old, new in new?["years"] = 5 }
            }, objectTypes: types)
        configuration.extras.fileSystem = files
        return configuration
    }

    func files(seed: UInt64 = 5) -> SimulatedFileSystem {
        let files = SimulatedFileSystem(seed: seed, isShared: false, reservedByteCount: 64 << 20)
        files.setContents(of: path, old)
        return files
    }

    func migrate(_ files: SimulatedFileSystem) throws {
        _ = try Realm(configuration: configuration(files, Renamed.types, 1))
    }

    /// True for the old contents, false for the new; anything else is recorded as an issue.
    func isOld(_ files: SimulatedFileSystem, _ note: String) throws -> Bool {
        let database = try Database.openAsOtherProcess(path: path, fileSystem: files)
        let report = IntegrityCheck.run(database)
        #expect(report.isClean, "\(note): \(report.findings)")
        let session = try database.makeSession()
        let isOld = session.schemaVersion == 0
        let people = try #require(session.table(named: "MPerson"))
        let (name, years) = isOld ? ("first", "age") : ("given", "years")
        let first = try #require(people.definition.columns.firstIndex { $0.name == name }, "\(note)")
        let age = try #require(people.definition.columns.firstIndex { $0.name == years }, "\(note)")
        #expect(people.count == Self.count, "\(note)")
        for position in stride(from: 0, to: people.count, by: 37) {
            let key = try people.key(atPosition: position)
            #expect(try people.value(first, of: key) == .string("first \(position)"), "\(note)")
            #expect(try people.value(age, of: key) == .int(isOld ? 0 : 5), "\(note)")
        }
        return isOld
    }
}

@Suite("Migrations: interruptions")
struct MigrationFaultTests {
    @Test(
        "After any failing call the file is the old one, or the new one if opening did not throw",
        arguments: [SystemError.Kind.io, .noSpace], [false, true])
    func failingCalls(_ kind: SystemError.Kind, _ isPersistent: Bool) throws {
        let migration = try SimulatedMigration()
        let clean = migration.files()
        try migration.migrate(clean)
        #expect(try !migration.isOld(clean, "no failure"))
        var failed = 0
        for call in 0..<clean.operationCount {
            let files = migration.files()
            files.failure = SimulatedFailure(call: call, kind: kind, isPersistent: isPersistent)
            var hasThrown = false
            do { try migration.migrate(files) } catch {
                hasThrown = true
                failed += 1
                #expect(error is Realm.Error, "call \(call): \(error)")
            }
            files.failure = nil
            if hasThrown {
                // A slot that could not be cleared again is valid only if all of its commit was written.
                let isOld = try migration.isOld(files, "call \(call)")
                #expect(isOld || isPersistent, "call \(call)")
            } else {
                #expect(try !migration.isOld(files, "call \(call)"))
            }
            try migration.migrate(files)
            #expect(try !migration.isOld(files, "again after call \(call)"))
        }
        #expect(failed > 5)
    }

    @Test("A full disk leaves the file unchanged bit for bit")
    func fullDisk() throws {
        let migration = try SimulatedMigration()
        let files = migration.files()
        files.failure = SimulatedFailure(call: 0, kind: .noSpace, isPersistent: true, operation: "allocate")
        var configuration = migration.configuration(files, Renamed.types, 1)
        configuration.migrationBlock = { migration, _ in
            // More than the free space in the old file.
            for i in 0..<100 {
                migration.create("MPerson", value: ["given": String(repeating: "\(i % 10)", count: 9000)])
            }
        }
        let error = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
        #expect(error?.code == .outOfDiskSpace)
        let isSame = files.contents(of: migration.path) == migration.old
        #expect(isSame)
        files.failure = nil
        #expect(try migration.isOld(files, "full"))
    }

    @Test("A power loss at any call leaves the old file or the new one", arguments: LossModel.allCases)
    func crashes(_ model: LossModel) throws {
        let migration = try SimulatedMigration()
        let clean = migration.files()
        try migration.migrate(clean)
        let calls = clean.operationCount
        var random = SeededRandom(seed: 77)
        var old = 0
        for call in 0...calls {
            let files = migration.files()
            files.crashAfterCall(call)
            let hasThrown = (try? migration.migrate(files)) == nil
            for _ in 0..<3 {
                let image = files.crash(model: model, random: &random)
                let isOld = try migration.isOld(image, "call \(call), \(model)")
                if isOld { old += 1 }
                #expect(hasThrown || !isOld, "an acknowledged migration was lost: call \(call), \(model)")
                try migration.migrate(image)
                #expect(try !migration.isOld(image, "again after call \(call), \(model)"))
            }
        }
        #expect(old > 0)
    }
}
