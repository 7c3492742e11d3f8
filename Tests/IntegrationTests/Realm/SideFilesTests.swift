// SPDX-License-Identifier: Apache-2.0
// Files that are created beside a Realm file: copies, compacted files, backups, rehearsals, seed files. A symbolic
// link that an attacker has planted at such a name is not followed, and the files are not readable for anyone who
// cannot read the Realm file.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@Suite struct SideFilesTests {
    /// A file of an old version, and the target of planted links, which is a file or missing.
    private struct Planting {
        let file: MigrationFile
        let isThere: Bool
        private var victim: URL { file.folder.file("victim") }

        init(_ isThere: Bool, _ names: [String]) throws {
            file = try MigrationFile(people: 50)
            self.isThere = isThere
            if isThere { try Data("precious".utf8).write(to: victim) }
            for name in names {
                try FileManager.default.createSymbolicLink(
                    atPath: file.folder.file(name).path, withDestinationPath: victim.path)
            }
        }

        /// The names of all temporary files that are tried for `name`.
        static func numbered(_ name: String) -> [String] { (0..<8).map { "\(name).regnum-\($0).tmp" } }

        /// Checks that the target of the links is unchanged, and that the new file is a separate and valid file.
        func check(made: String? = nil, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let found = try? Data(contentsOf: victim)
            #expect(found == (isThere ? Data("precious".utf8) : nil), sourceLocation: sourceLocation)
            guard let made else { return }
            let url = file.folder.file(made)
            let type = try FileManager.default.attributesOfItem(atPath: url.path)[.type] as? FileAttributeType
            #expect(type == .typeRegular, sourceLocation: sourceLocation)
            expectIntegrity(of: url, sourceLocation: sourceLocation)
        }
    }

    // MARK: Planted links

    @Test("A copy does not follow a link at its temporary names", arguments: [true, false])
    func copy(isThere: Bool) throws {
        let planting = try Planting(isThere, Planting.numbered("b.realm"))
        try planting.file.open(Oldest.types, version: 0).writeCopy(toFile: planting.file.folder.file("b.realm"))
        try planting.check(made: "b.realm")
    }

    // A dangling link must not prevent a compaction or a migration.
    @Test("A compaction replaces a link at its temporary name", arguments: [true, false])
    func compaction(isThere: Bool) throws {
        let planting = try Planting(isThere, ["a.realm.compacting"])
        #expect(try Realm.compactFile(for: planting.file.configuration(Oldest.types, version: 0)))
        try planting.check(made: "a.realm")
    }

    @Test("A backup replaces links at its name and at its temporary name", arguments: [true, false])
    func backup(isThere: Bool) throws {
        let planting = try Planting(isThere, ["a.realm.before-migration", "a.realm.before-migration.compacting"])
        var configuration = planting.file.configuration(Renamed.types)
        configuration.backsUpBeforeMigration = true
        do { _ = try Realm(configuration: configuration) }
        try planting.check(made: "a.realm.before-migration")
        #expect(try schemaVersionAtURL(planting.file.folder.file("a.realm.before-migration")) == 0)
        try planting.check(made: "a.realm")
    }

    @Test("A rehearsal does not follow links at its temporary names, and fails on one at the name of its copy")
    func rehearsal() throws {
        for isThere in [true, false] {
            let claimed = try Planting(isThere, Planting.numbered("a.realm.rehearsal"))
            #expect(try Realm.rehearseMigration(for: claimed.file.configuration(Renamed.types)).error == nil)
            try claimed.check(made: "a.realm")

            let copied = try Planting(isThere, ["a.realm.rehearsal.regnum-0.tmp.realm"])
            let configuration = copied.file.configuration(Renamed.types)
            #expect(throws: Realm.Error.self) { try Realm.rehearseMigration(for: configuration) }
            try copied.check(made: "a.realm")
            // The link is removed together with the leftovers.
            #expect(try Realm.rehearseMigration(for: configuration).error == nil)
            try copied.check(made: "a.realm")
        }
    }

    @Test("The copy of a seed file does not follow links at its temporary names, and fails on one at its own")
    func seed() throws {
        for isThere in [true, false] {
            let claimed = try Planting(isThere, Planting.numbered("b.realm.seed"))
            #expect(try people(seededFrom: claimed.file) == 50)
            try claimed.check(made: "b.realm")

            let copied = try Planting(isThere, ["b.realm.seed.regnum-0.tmp.copy"])
            #expect(throws: Realm.Error.self) { try people(seededFrom: copied.file) }
            try copied.check()
            #expect(try people(seededFrom: copied.file) == 50)
            try copied.check(made: "b.realm")
        }
    }

    private func people(seededFrom file: MigrationFile) throws -> Int {
        var configuration = Realm.Configuration(fileURL: file.folder.file("b.realm"), objectTypes: Oldest.types)
        configuration.seedFilePath = file.url
        return try Realm(configuration: configuration).objects(Oldest.Person.self).count
    }

    // MARK: Permissions

    /// The permissions of all files of a folder, collected at each call of `look`.
    private final class Modes: @unchecked Sendable {
        // Sendable: the migration block runs on the thread that opens the Realm.
        var found: [String: Int] = [:]

        func look(in folder: TestFolder) {
            for name in folder.names {
                let attributes = try? FileManager.default.attributesOfItem(atPath: folder.file(name).path)
                if let mode = attributes?[.posixPermissions] as? Int { found[name, default: 0] |= mode }
            }
        }
    }

    @Test(
        "Backups, rehearsals and seeded files have no more permissions than the original file",
        arguments: [0o600, 0o640])
    func permissions(mode: Int) throws {
        let file = try MigrationFile(people: 50)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.url.path)
        // Created while the file had more permissions; the next opening creates another one.
        try? FileManager.default.removeItem(atPath: file.url.path + ".lock")
        let modes = Modes()
        #expect(try people(seededFrom: file) == 50)
        modes.look(in: file.folder)
        let folder = file.folder
        var configuration = file.configuration(Renamed.types) { _, _ in modes.look(in: folder) }
        #expect(try Realm.rehearseMigration(for: configuration).error == nil)
        configuration.backsUpBeforeMigration = true
        do { _ = try Realm(configuration: configuration) }
        modes.look(in: folder)
        for (name, found) in modes.found {
            #expect(found & ~mode == 0, "\(name) has \(String(found, radix: 8))")
        }
        let names = Set(modes.found.keys)
        #expect(names.isSuperset(of: ["a.realm", "a.realm.before-migration", "b.realm"]), "\(names)")
        #expect(names.contains { $0.hasPrefix("a.realm.rehearsal.") && $0.hasSuffix(".tmp.realm") }, "\(names)")
        expectIntegrity(of: file.url)
    }
}
