// SPDX-License-Identifier: Apache-2.0
// The inspector's reports about a file that a Realm has written.

import Foundation
import Regnum
import RegnumInspect
import Testing

final class Ship: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name = ""
    @Persisted var log: String?
    @Persisted var fleet: Fleet?
}

final class Memo: Object {
    @Persisted var text: String?
}

final class Chart: Object {
    @Persisted var marks: Map<String, Int>
    @Persisted var price: Decimal128
}

final class Fleet: Object {
    @Persisted var name = ""
    @Persisted var ships: List<Ship>
}

@Suite("Inspecting a file")
struct InspectorTests {
    private func withFile(_ body: (URL, Realm) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "inspect-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("ships.realm")
        let realm = try Realm(
            configuration: Realm.Configuration(
                fileURL: url, schemaVersion: 3, objectTypes: [Ship.self, Fleet.self]))
        try realm.write {
            let fleet = Fleet()
            realm.add(fleet)
            for id in 0..<3_000 {
                let ship = Ship(value: ["id": id, "name": "ship \(id)"])
                if id == 5 { ship.log = String(repeating: "storm ", count: 2_000) }
                ship.fleet = fleet
                realm.add(ship)
            }
        }
        try body(url, realm)
    }

    @Test("A stop ends queries and measurements that run, and those that begin later")
    func stopping() throws {
        try withFile { url, _ in
            let inspector = try Inspector(fileURL: url, isReadOnly: true)
            let stop = InspectionStop()
            inspector.stop = stop
            let count = try inspector.count("Ship", where: "name CONTAINS '1'")
            #expect(count > 0)
            stop.stop()
            for work in [
                { _ = try inspector.count("Ship", where: "name CONTAINS '1'") }, { _ = try inspector.report() },
                { _ = try inspector.explain("Ship", matching: "name CONTAINS '1'") },
                { try inspector.forEachObject(of: "Ship", matching: "SORT(log ASC)") { _ in } },
            ] as [() throws -> Void] {
                let error = #expect(throws: InspectionError.self) { try work() }
                #expect(error?.reason == .stopped)
            }
            // The file is undamaged, but the check has not read it.
            #expect(inspector.integrityFindings(stop: stop) != [])
            inspector.stop = nil
            let again = try inspector.report()
            #expect(again.objects == 3_001)
        }
    }

    @Test("Numbers have a minimum, a maximum, a sum and an average; other properties only a count")
    func aggregates() throws {
        try withFile { url, _ in
            let inspector = try Inspector(fileURL: url, isReadOnly: true)
            let ids = try inspector.aggregates("Ship", property: "id", matching: "id < 4")
            #expect(ids.objects == 4 && ids.aggregates.map(\.name) == ["min", "max", "sum", "avg"])
            #expect(ids.aggregates.map(\.text) == ["0", "3", "6", "1.5"])
            let names = try inspector.aggregates("Ship", property: "name")
            #expect(names.objects == 3_000 && names.aggregates.isEmpty)
            let none = try inspector.aggregates("Ship", property: "id", matching: "id < 0")
            #expect(none.objects == 0 && none.aggregates.first?.text == nil)
            #expect(throws: InspectionError.self) { try inspector.aggregates("Ship", property: "nothing") }
        }
    }

    @Test(
        "An error of a query has its position in the text",
        arguments: [("id > > 3", 5), ("SORT(id ASC, nothing)", 13), ("id > 3 DISTINCT(no)", 16), ("LIMIT(x)", 6)])
    func positions(_ query: String, _ position: Int) throws {
        try withFile { url, _ in
            let inspector = try Inspector(fileURL: url, isReadOnly: true)
            let error = #expect(throws: InspectionError.self) {
                try inspector.forEachObject(of: "Ship", matching: query) { _ in }
            }
            #expect(error?.query == query && error?.position == position, "\(String(describing: error))")
        }
    }

    @Test(
        "The report counts the objects and bytes of each table, and pages add up", arguments: [false, true])
    func report(_ isReadOnly: Bool) throws {
        try withFile { url, realm in
            let report = try Inspector(fileURL: url, isReadOnly: isReadOnly).report()
            #expect(report.tables.map(\.name) == ["Fleet", "Ship"])
            #expect(report.tables.map(\.objects) == [1, 3_000])
            #expect(report.objects == 3_001)
            let size = try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int
            #expect(report.fileBytes == size)
            let ships = report.tables[1]
            #expect(ships.rowGroupBytes >= 3_000 * 8)
            // 12,000 bytes and the block's header.
            #expect(ships.blobBytes == 3 * report.pageBytes)
            #expect(ships.indexBytes > 0)
            #expect(ships.backlinkBytes > 0)
            #expect(report.tables[0].blobBytes == 0)
            let tables = report.tables.reduce(0) { $0 + $1.totalBytes }
            #expect(report.reachablePages * report.pageBytes > tables)
            let pages = report.reservedPages + report.reachablePages + report.pendingPages + report.freePages
            #expect(pages * report.pageBytes <= report.fileBytes)
            withExtendedLifetime(realm) {}
        }
    }

    @Test("Pages of deleted objects become free or pending")
    func deleting() throws {
        try withFile { url, realm in
            let inspector = try Inspector(fileURL: url)
            let before = try inspector.report()
            try realm.write { realm.deleteAll() }
            let after = try inspector.report()
            #expect(after.version > before.version)
            #expect(after.objects == 0)
            #expect(after.reachablePages < before.reachablePages)
            #expect(after.freePages + after.pendingPages > before.freePages + before.pendingPages)
        }
    }

    @Test("A null in a class of one property is imported from the CSV that was written for it")
    func singleNull() throws {
        let text = CSVText.record(["text"]) + CSVText.record([nil]) + CSVText.record(["a"])
        try importing("Memo") {
            try $0.putCSV(CSVReader(ByteSource(Array(text.utf8))))
        } check: { realm in
            #expect(Array(realm.objects(Memo.self)).map(\.text) == [nil, "a"])
        }
    }

    @Test("Two keys of a map that differ only in their spelling are imported")
    func spellings() throws {
        let text = #"{"marks": {"\#u{e9}": 1, "e\#u{301}": 2}}"#
        try importing("Chart") {
            try $0.putJSON(JSONObjectsReader(ByteSource(Array(text.utf8))))
        } check: { realm in
            #expect(realm.objects(Chart.self).first?.marks.count == 2)
        }
    }

    @Test("A decimal that is out of range is refused, an infinity is imported")
    func decimals() throws {
        let text = #"[{"price": 1e7000}, {"price": "-1e6145"}, {"price": "inf"}]"#
        let reasons = ["1e7000", "-1e6145"].map { "property 'price': \($0) is out of range" }
        try importing("Chart", refusing: reasons) {
            try $0.putJSON(JSONObjectsReader(ByteSource(Array(text.utf8))))
        } check: { realm in
            #expect(realm.objects(Chart.self).map(\.price.stringValue) == ["Inf"])
        }
    }

    /// Imports objects of a class into a new file, and compares the reasons for which objects are refused.
    private func importing(
        _ className: String, refusing reasons: [String] = [], _ body: (inout ObjectImport) throws -> Void,
        check: (Realm) throws -> Void
    ) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "inspect-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("import.realm")
        let realm = try Realm(
            configuration: Realm.Configuration(fileURL: url, objectTypes: [Memo.self, Chart.self]))
        let editor = try Inspector(fileURL: url).beginEditing(className)
        var found: [String] = []
        var run = ObjectImport(editor, refused: { _, reason in found.append(reason) }, progress: { _ in })
        try body(&run)
        let counts = try run.finish()
        #expect(found == reasons && counts.refused == reasons.count)
        try editor.commit()
        realm.refresh()
        try check(realm)
    }

    @Test("The dump names tables, columns and versions")
    func dump() throws {
        try withFile { url, realm in
            var text = ""
            try Inspector(path: url.path).dump(to: &text)
            let lines = text.split(separator: "\n").map(String.init)
            #expect(lines.first == "file \(url.path)")
            #expect(lines.contains { $0.hasPrefix("table Ship: 3000 objects, ") })
            #expect(lines.contains("  id: int, primary key"))
            #expect(lines.contains("  name: string, indexed"))
            #expect(lines.contains("  log: string?"))
            #expect(lines.contains { $0.hasPrefix("  ships: list of Ship") })
            #expect(lines.contains { $0.contains("schema version 3; read here: ") })
            withExtendedLifetime(realm) {}
        }
    }

    @Test("An intact file has no findings, a damaged one has")
    func findings() throws {
        try withFile { url, realm in
            #expect(try Inspector(fileURL: url).integrityFindings() == [])
            let bytes = try Data(contentsOf: url)
            let place = try #require(bytes.range(of: Data("storm ".utf8)))
            let file = try FileHandle(forWritingTo: url)
            try file.seek(toOffset: UInt64(place.lowerBound))
            try file.write(contentsOf: Data("Storm ".utf8))
            try file.close()
            #expect(try !Inspector(fileURL: url).integrityFindings().isEmpty)
            withExtendedLifetime(realm) {}
        }
    }

    @Test("A path without a database is refused, and nothing is created there")
    func refused() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        #expect(throws: InspectionError.self) { _ = try Inspector(path: path) }
        #expect(!FileManager.default.fileExists(atPath: path))
        try Data("no database, but long enough to be looked at".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(throws: InspectionError.self) { _ = try Inspector(path: path, isReadOnly: true) }
    }

    // MARK: Objects

    @Test("Objects are found and written by class name and predicate alone")
    func query() throws {
        try withFile { url, realm in
            let inspector = try Inspector(fileURL: url)
            var text = ""
            #expect(try inspector.query("Ship", where: "id < 7 AND log == NULL", limit: 2, to: &text) == 6)
            #expect(
                text == "Ship #1 id=0 name=\"ship 0\" log=null fleet=Fleet#1\n"
                    + "Ship #2 id=1 name=\"ship 1\" log=null fleet=Fleet#1\n")
            text = ""
            #expect(try inspector.query("Ship", where: "id == 5", to: &text) == 1)
            #expect(text.hasPrefix("Ship #6 id=5 name=\"ship 5\" log=\"storm storm") && text.count < 200)
            text = ""
            #expect(try inspector.query("Ship", where: "fleet.name == '' AND id == 9", as: .json, to: &text) == 1)
            #expect(
                text == """
                    [
                    {"id": 9, "name": "ship 9", "log": null, "fleet": {"class": "Fleet", "key": 1}}
                    ]

                    """)
            text = ""
            #expect(try inspector.query("Ship", where: "id == -1", as: .json, to: &text) == 0)
            #expect(text == "[]\n")
            #expect(try inspector.count("Ship", where: "name BEGINSWITH 'ship 1'") == 1111)
            withExtendedLifetime(realm) {}
        }
    }

    @Test("Objects are deleted by predicate, and links to them are removed")
    func delete() throws {
        try withFile { url, realm in
            let inspector = try Inspector(fileURL: url)
            #expect(try inspector.delete("Ship", where: "id >= 10") == 2_990)
            realm.refresh()
            #expect(realm.objects(Ship.self).count == 10)
            #expect(try inspector.delete("Fleet", where: "TRUEPREDICATE") == 1)
            realm.refresh()
            #expect(realm.objects(Ship.self).allSatisfy { $0.fleet == nil })
            #expect(inspector.integrityFindings() == [])
        }
    }

    @Test("Unknown classes and invalid predicates are refused with a message, and nothing is written")
    func refusals() throws {
        try withFile { url, realm in
            let inspector = try Inspector(fileURL: url)
            let before = realm.objects(Ship.self).count
            let unknown = #expect(throws: InspectionError.self) { try inspector.count("Boat") }
            #expect(unknown?.description.contains("has no class 'Boat'. It has: Fleet, Ship.") == true)
            let malformed = #expect(throws: InspectionError.self) { try inspector.delete("Ship", where: "id ==") }
            #expect(malformed?.description.hasPrefix("The predicate 'id ==' cannot be used: ") == true)
            #expect(throws: InspectionError.self) { try inspector.delete("Ship", where: "nothing == 1") }
            let readOnly = try Inspector(fileURL: url, isReadOnly: true)
            #expect(throws: InspectionError.self) { try readOnly.delete("Ship", where: "id == 1") }
            // A refused delete has released the writer lock.
            try realm.write { realm.create(Fleet.self) }
            #expect(realm.objects(Ship.self).count == before)
        }
    }
}
