// SPDX-License-Identifier: Apache-2.0
// Salvage saves the readable part of a damaged file, and names each loss.

import Foundation
import Regnum
import RegnumInspect
import Testing

final class Freighter: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name = ""
    @Persisted var log = ""
    @Persisted var escort: Freighter?
    @Persisted var crew: List<String>
    @Persisted var convoy: List<Freighter>
}

final class Harbour: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var berth: Berth?
    @Persisted var piers: List<Berth>
}

final class Berth: EmbeddedObject {
    @Persisted var depth: Int
    @Persisted var crane: Crane?
}

final class Crane: EmbeddedObject {
    @Persisted var tons: Int
}

@Suite("Salvage") struct SalvageTests {
    private func withFiles(_ body: (URL, URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("salvage-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appendingPathComponent("a.realm"), folder.appendingPathComponent("saved.realm"))
    }

    private func configuration(_ url: URL, _ key: Data? = nil) -> Realm.Configuration {
        Realm.Configuration(fileURL: url, encryptionKey: key, schemaVersion: 4, objectTypes: [Freighter.self])
    }

    private func make(_ url: URL, _ key: Data? = nil) throws {
        let realm = try Realm(configuration: configuration(url, key))
        try realm.write {
            var last: Freighter?
            for id in 0..<3000 {
                let ship = realm.create(Freighter.self, value: ["id": id, "name": "ship \(id)"])
                ship.escort = last
                ship.crew.append(objectsIn: ["a \(id)", "b"])
                if let last { ship.convoy.append(last) }
                if id % 1000 == 7 { ship.log = String(repeating: "storm ", count: 1000) }
                last = ship
            }
        }
        for id in 0..<2 { try realm.write { realm.object(ofType: Freighter.self, forPrimaryKey: id)?.name = "x" } }
    }

    @Test("Everything is saved from an intact file")
    func whole() throws {
        try withFiles { url, saved in
            try make(url)
            let report = try Inspector(fileURL: url, isReadOnly: true).salvage(to: saved.path)
            #expect(report.isComplete)
            #expect(report.tables.map { [$0.objects, $0.expected] } == [[3000, 3000]])
            #expect(try Inspector(fileURL: saved).integrityFindings() == [])
            let realm = try Realm(configuration: configuration(saved))
            let ship = try #require(realm.object(ofType: Freighter.self, forPrimaryKey: 2007))
            #expect(ship.escort?.id == 2006)
            #expect(ship.convoy.first?.id == 2006)
            #expect(Array(ship.crew) == ["a 2007", "b"])
            #expect(ship.log.count == 6000)
            #expect(realm.objects(Freighter.self).filter("name == %@", "ship 77").count == 1)
        }
    }

    @Test("The rest of a damaged file is saved, and each loss is named with its block")
    func damaged() throws {
        try withFiles { url, saved in
            try make(url)
            var bytes = try Data(contentsOf: url)
            // Row groups that hold the second thousand of objects.
            let groups = (16..<bytes.count / 4096).filter {
                bytes[$0 * 4096] == 0x52 && bytes[$0 * 4096 + 1] == 0x42 && bytes[$0 * 4096 + 2] == 6
            }
            let victim = try #require(groups.dropFirst().first)
            bytes[victim * 4096 + 2000] ^= 0xFF
            try bytes.write(to: url)
            let inspector = try Inspector(fileURL: url, isReadOnly: true)
            #expect(inspector.integrityFindings().contains { $0.contains("block at page \(victim)") })
            let report = try inspector.salvage(to: saved.path)
            #expect(!report.isComplete)
            #expect(report.losses.contains { $0.contains("page \(victim)") })
            let table = try #require(report.tables.first)
            let rows = Int(bytes[victim * 4096 + 32]) | Int(bytes[victim * 4096 + 33]) << 8
            #expect(table.objects == 3000 - rows && table.expected == 3000)
            #expect(try Inspector(fileURL: saved).integrityFindings() == [])
            let realm = try Realm(configuration: configuration(saved))
            #expect(realm.objects(Freighter.self).count == table.objects)
        }
    }

    #if Encryption
        @Test(
            "An encrypted file is saved with its key, into a file with another key or with none",
            arguments: [true, false])
        func encrypted(isEncrypted: Bool) throws {
            try withFiles { url, saved in
                let (old, wrong) = (Data(repeating: 1, count: 64), Data(repeating: 3, count: 64))
                let new = isEncrypted ? Data(repeating: 2, count: 64) : nil
                try make(url, old)
                let report = try Inspector(fileURL: url, isReadOnly: true, encryptionKey: old)
                    .salvage(to: saved.path, encryptionKey: new)
                #expect(report.isComplete)
                #expect(try Inspector(fileURL: saved, encryptionKey: new).integrityFindings() == [])
                #expect(throws: InspectionError.self) { try Inspector(fileURL: saved, encryptionKey: wrong) }
                let bytes = try Data(contentsOf: saved)
                #expect((bytes.range(of: Data("storm".utf8)) == nil) == isEncrypted)
                let realm = try Realm(configuration: configuration(saved, new))
                #expect(realm.objects(Freighter.self).count == 3000)
                #expect(realm.object(ofType: Freighter.self, forPrimaryKey: 2007)?.escort?.id == 2006)
            }
        }
    #endif

    @Test("A saved file can only be read by users who can read the damaged one", arguments: [0o600, 0o640])
    func permissions(mode: Int) throws {
        try withFiles { url, saved in
            try make(url)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
            #expect(try Inspector(fileURL: url, isReadOnly: true).salvage(to: saved.path).isComplete)
            for path in [saved.path, saved.path + ".lock"] {
                let found = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(try #require(found) & ~mode == 0, "\(path) has \(found ?? 0)")
            }
            #expect(try Inspector(fileURL: saved).integrityFindings() == [])
        }
    }

    @Test("A link to a missing target is not followed")
    func plantedLink() throws {
        try withFiles { url, saved in
            try make(url)
            let nowhere = url.deletingLastPathComponent().appendingPathComponent("nowhere").path
            try FileManager.default.createSymbolicLink(atPath: saved.path, withDestinationPath: nowhere)
            #expect(throws: InspectionError.self) { try Inspector(fileURL: url).salvage(to: saved.path) }
            #expect(!FileManager.default.fileExists(atPath: nowhere))
        }
    }

    @Test("No existing file is overwritten")
    func existing() throws {
        try withFiles { url, saved in
            try make(url)
            try Data("mine".utf8).write(to: saved)
            #expect(throws: InspectionError.self) { try Inspector(fileURL: url).salvage(to: saved.path) }
            #expect(try Data(contentsOf: saved) == Data("mine".utf8))
        }
    }

    @Test("Embedded objects with lost owners are counted and named with their values, and leave no orphans")
    func ownerless() throws {
        try withFiles { url, saved in
            let types: [ObjectBase.Type] = [Harbour.self, Berth.self, Crane.self]
            do {
                let realm = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: types))
                try realm.write {
                    for id in 0..<2500 {
                        let crane: [String: Any] = ["tons": 1_000_000 + id]
                        realm.create(
                            Harbour.self,
                            value: [
                                "id": id, "name": "harbour \(id)", "berth": ["depth": id, "crane": crane],
                                "piers": [["depth": -id]],
                            ])
                    }
                }
                // Damage in the last commit would be taken for an incomplete commit.
                for id in 0..<2 {
                    try realm.write { realm.object(ofType: Harbour.self, forPrimaryKey: id)?.name = "x" }
                }
            }
            var bytes = try Data(contentsOf: url)
            let name = Data("harbour 1500".utf8)
            // The row group with the names of the second thousand.
            let at = try #require(bytes.range(of: name)).lowerBound
            bytes[at] ^= 0xFF
            let page = try #require(
                (16...at / 4096).last { bytes[$0 * 4096] == 0x52 && bytes[$0 * 4096 + 1] == 0x42 })
            let rows = Int(bytes[page * 4096 + 32]) | Int(bytes[page * 4096 + 33]) << 8
            try bytes.write(to: url)
            let report = try Inspector(fileURL: url, isReadOnly: true).salvage(to: saved.path)
            func table(_ name: String) throws -> SalvageReport.Table {
                try #require(report.tables.first { $0.name == name })
            }
            let lost = try table("Harbour").expected - table("Harbour").objects
            #expect(lost == rows && rows > 896)
            #expect(try table("Berth").ownerless == 2 * lost)
            #expect(try table("Berth").objects == 2 * (2500 - lost))
            #expect(try table("Crane").ownerless == lost)
            #expect(!report.isComplete && report.lossCount > 2 * lost)
            #expect(report.losses.contains("Harbour: \(lost) objects without their primary keys"))
            #expect(!report.losses.contains { $0.contains("twice") })
            let words = report.losses.filter { $0.contains("its owner is lost") }
            #expect(words.contains { $0.hasPrefix("Berth of object ") && $0.contains("\"tons\": 100") })
            #expect(try Inspector(fileURL: saved).integrityFindings() == [])
            let realm = try Realm(configuration: Realm.Configuration(fileURL: saved, objectTypes: types))
            #expect(realm.object(ofType: Harbour.self, forPrimaryKey: 7)?.berth?.crane?.tons == 1_000_007)
        }
    }
}
