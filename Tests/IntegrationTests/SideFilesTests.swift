// SPDX-License-Identifier: Apache-2.0
// What is made beside a file for a while, or for good: copies, compacted files, backups, rehearsals, seed files. No
// link that somebody has planted at such a name is followed, and nobody can read them who cannot read the file.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@Suite struct SideFilesTests {
    /// A file of an old version, and what planted links lead to: a file, or nothing.
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

        /// The names of all temporary files that are looked for at `name`.
        static func numbered(_ name: String) -> [String] { (0..<8).map { "\(name).regnum-\($0).tmp" } }

        /// What the links lead to is as it was, and what was made is a file of its own, and whole.
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

    @Test("a copy follows no link at its temporary names", arguments: [true, false])
    func copy(isThere: Bool) throws {
        let planting = try Planting(isThere, Planting.numbered("b.realm"))
        try planting.file.open(Oldest.types, version: 0).writeCopy(toFile: planting.file.folder.file("b.realm"))
        try planting.check(made: "b.realm")
    }

    // A link that led nowhere was not seen, and kept files from being compacted and migrated.
    @Test("a compaction replaces a link at its temporary name", arguments: [true, false])
    func compaction(isThere: Bool) throws {
        let planting = try Planting(isThere, ["a.realm.compacting"])
        #expect(try Realm.compactFile(for: planting.file.configuration(Oldest.types, version: 0)))
        try planting.check(made: "a.realm")
    }

    @Test("a backup replaces links at its name and at its temporary one", arguments: [true, false])
    func backup(isThere: Bool) throws {
        let planting = try Planting(isThere, ["a.realm.before-migration", "a.realm.before-migration.compacting"])
        var configuration = planting.file.configuration(Renamed.types)
        configuration.backsUpBeforeMigration = true
        do { _ = try Realm(configuration: configuration) }
        try planting.check(made: "a.realm.before-migration")
        #expect(try schemaVersionAtURL(planting.file.folder.file("a.realm.before-migration")) == 0)
        try planting.check(made: "a.realm")
    }

    @Test("a rehearsal follows no link at its temporary names, and is refused by one at that of its copy")
    func rehearsal() throws {
        for isThere in [true, false] {
            let claimed = try Planting(isThere, Planting.numbered("a.realm.rehearsal"))
            #expect(try Realm.rehearseMigration(for: claimed.file.configuration(Renamed.types)).error == nil)
            try claimed.check(made: "a.realm")

            let copied = try Planting(isThere, ["a.realm.rehearsal.regnum-0.tmp.realm"])
            let configuration = copied.file.configuration(Renamed.types)
            #expect(throws: Realm.Error.self) { try Realm.rehearseMigration(for: configuration) }
            try copied.check(made: "a.realm")
            // The link has gone with what it was in the way of.
            #expect(try Realm.rehearseMigration(for: configuration).error == nil)
            try copied.check(made: "a.realm")
        }
    }

    @Test("the copy of a seed file follows no link at its temporary names, and is refused by one at its own")
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

    /// The permissions of all files of a folder, each time that it is looked at.
    private final class Modes: @unchecked Sendable {
        // Sendable: the block of a migration runs on the thread that opens.
        var found: [String: Int] = [:]

        func look(in folder: TestFolder) {
            for name in folder.names {
                let attributes = try? FileManager.default.attributesOfItem(atPath: folder.file(name).path)
                if let mode = attributes?[.posixPermissions] as? Int { found[name, default: 0] |= mode }
            }
        }
    }

    @Test(
        "backups, rehearsals and seeded files can be read by nobody who cannot read the file they are made of",
        arguments: [0o600, 0o640])
    func permissions(mode: Int) throws {
        let file = try MigrationFile(people: 50)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.url.path)
        // Of the time when more could read the file; the next opening makes another one.
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
