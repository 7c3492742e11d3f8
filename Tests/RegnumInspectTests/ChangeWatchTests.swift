// SPDX-License-Identifier: Apache-2.0
// The change feed of a file without its classes, as `regnum watch --since` prints it; and what reports say of a history.

import Foundation
import Regnum
import RegnumInspect
import Testing

final class Parcel: Object {
    @Persisted(primaryKey: true) var id: String
    @Persisted var weight = 0
}

final class Stop: Object {
    @Persisted var name = ""
}

@Suite struct ChangeWatchTests {
    private func withFile(_ body: (URL, Realm) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("watch-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = Realm.Configuration(
            fileURL: folder.appendingPathComponent("a.realm"), objectTypes: [Parcel.self, Stop.self])
        configuration.history = .keep(for: .days(1), atMost: .megabytes(10))
        let realm = try Realm(configuration: configuration)
        try realm.write {
            realm.add(Parcel(value: ["id": "a"]))
            realm.add(Parcel(value: ["id": "b"]))
        }
        try body(try #require(configuration.fileURL), realm)
    }

    @Test("It gives the changes since a cursor, then those of later commits, by primary key", arguments: [false, true])
    func changes(isReadOnly: Bool) throws {
        try withFile { url, realm in
            let start = realm.changeCursor.description
            try realm.write { realm.object(ofType: Parcel.self, forPrimaryKey: "a")?.weight = 1 }
            let watch = try ChangeWatch(fileURL: url, isReadOnly: isReadOnly, since: start)
            #expect(watch.cursor == start)
            let first = try #require(try watch.advance())
            #expect(first.cursor == realm.changeCursor.description && !first.isNewSchema)
            #expect(first.classes.map(\.name) == ["Parcel"])
            #expect(first.classes[0].modified.map(\.object) == ["\"a\""])
            #expect(first.classes[0].modified.map(\.properties) == [["weight"]])
            #expect(try watch.advance() == nil)
            // A file that is read only is read again when its time of modification has changed.
            Thread.sleep(forTimeInterval: 0.05)
            try realm.write {
                realm.delete(realm.objects(Parcel.self).where { $0.id == "b" })
                realm.add(Stop(value: ["name": "x"]))
            }
            let second = try #require(try watch.advance(byCommit: true))
            let parcels = try #require(second.classes.first { $0.name == "Parcel" })
            #expect(parcels.deleted == ["\"b\""] && parcels.inserted == [] && parcels.modified == [])
            #expect(second.classes.first { $0.name == "Stop" }?.inserted == ["{\"key\": 1}"])
            #expect(watch.version == second.version)
        }
    }

    @Test("If the file is replaced by another one while it is watched, that is an error")
    func replaced() throws {
        try withFile { url, _ in
            let folder = url.deletingLastPathComponent()
            var urls: [URL] = []
            for name in ["watched.realm", "other.realm"] {
                let url = folder.appendingPathComponent(name)
                // Closed when the scope ends.
                let realm = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: [Stop.self]))
                for stop in 0..<(urls.count + 1) { try realm.write { realm.add(Stop(value: ["name": "\(stop)"])) } }
                urls.append(url)
            }
            let watch = try ChangeWatch(fileURL: urls[0], isReadOnly: true)
            #expect(try watch.advance() == nil)
            try FileManager.default.removeItem(at: urls[0])
            try FileManager.default.moveItem(at: urls[1], to: urls[0])
            #expect(throws: InspectionError.self) { try watch.advance() }
        }
    }

    @Test("A cursor of nothing is an error")
    func errors() throws {
        try withFile { url, realm in
            #expect(throws: InspectionError.self) { try ChangeWatch(fileURL: url, isReadOnly: true, since: "now") }
            let other = String(repeating: "0", count: 32) + "-1-" + String(repeating: "0", count: 16)
            #expect(throws: InspectionError.self) { try ChangeWatch(fileURL: url, isReadOnly: true, since: other) }
        }
    }

    @Test("The report has the pages of older versions, and a salvaged copy has no history")
    func report() throws {
        try withFile { url, realm in
            for weight in 1...20 {
                try realm.write { realm.object(ofType: Parcel.self, forPrimaryKey: "a")?.weight = weight }
            }
            let inspector = try Inspector(fileURL: url, isReadOnly: true)
            let report = try inspector.report()
            // Two versions before the loop, and 19 of it.
            #expect(report.keptVersions == 21)
            #expect(report.keptPages >= 21)
            #expect(inspector.integrityFindings() == [])
            let copy = url.deletingLastPathComponent().appendingPathComponent("copy.realm")
            _ = try inspector.salvage(to: copy.path)
            let salvaged = try Inspector(fileURL: copy, isReadOnly: true)
            #expect(try salvaged.report().keptVersions == 0)
            #expect(salvaged.integrityFindings() == [])
            var text = ""
            try inspector.dump(to: &text)
            #expect(text.contains("history: 21 older versions"))
        }
    }
}
