// SPDX-License-Identifier: Apache-2.0
// An import into an open Realm takes the properties of the declared classes, and reports the others.

import Foundation
import RealmSwift
import RegnumEngine
import RegnumRealmFile
@testable import RegnumRealmImport
import Testing

class Node: Object {
    @Persisted(primaryKey: true) var id: String
    @Persisted var next: Node?
    @Persisted var everything: List<Node>
    @Persisted var values: List<Int?>
    @Persisted var at: Date?
    @Persisted var note = "none"

    override class func propertiesMapping() -> [String: String] { ["everything": "all"] }
}

class Deep: Object {
    @Persisted var n: Int
    @Persisted var f: Float?
}

/// In Swift, `y` is the name of the column `x`.
class Swapped: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var y: Int
    @Persisted var z: Int

    override class func propertiesMapping() -> [String: String] { ["y": "x", "z": "w"] }
}

class Branch: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var parent: Branch?
}

class Keeper: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var branch: Branch?
    @Persisted var loose: Loose?
}

/// It has no primary key.
class Loose: Object {
    @Persisted var n: Int
    @Persisted var keeper: Keeper?
}

@Suite("Importing into an open Realm") struct OpenRealmImportTests {
    private func oldFile(_ scratch: Scratch) throws -> URL {
        var builder = FileBuilder(format: 9)
        let tables = OldFormatSamples.references(&builder)
        try Data(builder.file(tables: tables, slot: 1)).write(to: scratch["old.realm"])
        return scratch["old.realm"]
    }

    private func realm(_ scratch: Scratch, _ types: [ObjectBase.Type]) throws -> Realm {
        try Realm(configuration: Realm.Configuration(fileURL: scratch["new.realm"], objectTypes: types))
    }

    @Test("Matching properties are imported, others reported, and a second import changes nothing")
    func matching() throws {
        let scratch = try Scratch()
        let old = try oldFile(scratch)
        let realm = try realm(scratch, [Node.self])
        try realm.write { _ = realm.create(Node.self, value: ["id": "mine", "note": "kept"]) }
        for round in 0..<2 {
            let report = try RealmFileImport(from: old, to: realm).run()
            #expect(report.classes[0].read == 2 && report.classes[0].written == 2)
            #expect(report.classes[0].updated == 2 * round)
            #expect(report.classes[0].dropped.map(\.name) == ["rows"] && report.classes[0].dropped[0].values == 1)
            #expect(report.notes.contains { $0.contains("'Node.note' is not in the old file") })
            #expect(realm.objects(Node.self).count == 3)
            let (a, b) = (
                realm.object(ofType: Node.self, forPrimaryKey: "a"), realm.object(ofType: Node.self, forPrimaryKey: "b")
            )
            let first = try #require(a)
            #expect(first.next?.isSameObject(as: b) == true && b?.next == nil)
            #expect(first.everything.map(\.id) == ["b", "a", "b"])
            #expect(Array(first.values) == [1, nil, 3])
            #expect(first.at == Date(timeIntervalSince1970: 100.25))
            #expect(realm.object(ofType: Node.self, forPrimaryKey: "mine")?.note == "kept")
            try realm.write { first.values.removeAll() }
        }
        #expect(realm.configuration.integrityFindings().isEmpty)
    }

    @Test("An object that is deleted during the import is reported, and no link to it remains")
    func deletedMeanwhile() throws {
        let scratch = try Scratch()
        let old = try oldFile(scratch)
        let realm = try realm(scratch, [Node.self])
        var job = RealmFileImport(from: old, to: realm)
        job.progress = { progress in
            guard progress.phase == .objects, progress.completed == 2 else { return }
            realm.delete(realm.objects(Node.self).where { $0.id == "b" })
        }
        let report = try job.run()
        #expect(realm.objects(Node.self).map(\.id) == ["a"])
        let first = try #require(realm.object(ofType: Node.self, forPrimaryKey: "a"))
        #expect(first.next == nil && first.everything.map(\.id) == ["a"])
        let losses = report.losses.map { "\($0.property ?? "-") \($0.key)" }
        #expect(losses == ["next 0", "all 0", "all 0", "- 1"], "\(report)")
        #expect(report.losses.allSatisfy { $0.reason.contains("deleted during the import") })
        #expect(realm.configuration.integrityFindings().isEmpty)
    }

    @Test("Names in the file come before names in Swift, whatever the order of the properties")
    func exactNamesFirst() throws {
        let scratch = try Scratch()
        var builder = FileBuilder(format: 9)
        let columns: [FileBuilder.LegacyColumn] = [
            ("id", 0, 1, builder.integers([7])), ("y", 0, 0, builder.integers([1])),
            ("x", 0, 0, builder.integers([2])), ("z", 0, 0, builder.integers([3])),
        ]
        let tables = [
            ("class_Swapped", builder.legacyTable(columns)), ("pk", builder.primaryKeyTable([("Swapped", "id")])),
        ]
        try Data(builder.file(tables: tables, slot: 1)).write(to: scratch["old.realm"])
        let realm = try realm(scratch, [Swapped.self])
        let report = try RealmFileImport(from: scratch["old.realm"], to: realm).run()
        let object = try #require(realm.object(ofType: Swapped.self, forPrimaryKey: 7))
        #expect(object.y == 2 && object.z == 3)
        #expect(report.classes[0].dropped.map(\.name) == ["y"])
    }

    @Test("An error of the engine is an error of the Realm", arguments: [false, true])
    func engineErrors(isWriting: Bool) throws {
        let scratch = try Scratch()
        let realm = try realm(scratch, [Node.self])
        var job = RealmFileImport(from: try oldFile(scratch), to: realm)
        job.progress = { _ in throw EngineError.limit("There is no room for it.") }
        if isWriting { realm.beginWrite() }
        #expect { try job.run() } throws: { error in
            let error = error as? Realm.Error
            return error?.reason == .overLimit && error?.fileURL?.lastPathComponent == "new.realm"
        }
        if isWriting { realm.cancelWrite() }
        #expect(realm.objects(Node.self).isEmpty)
    }

    private static let mixedLines: String = {
        func link(_ name: String, _ key: Int) -> String { "{\"$ref\":\"\(name)\",\"$id\":\(key)}" }
        var lines = [
            #"{"classes":[{"name":"Loose","properties":[{"name":"n","type":"int"},"#
                + #"{"name":"keeper","type":"link","target":"Keeper"}]},"#
                + #"{"name":"Branch","properties":[{"name":"id","type":"int","primaryKey":true},"#
                + #"{"name":"parent","type":"link","target":"Branch"}]},"#
                + #"{"name":"Keeper","properties":[{"name":"id","type":"int","primaryKey":true},"#
                + #"{"name":"branch","type":"link","target":"Branch"},"#
                + #"{"name":"loose","type":"link","target":"Loose"}]}]}"#
        ]
        for key in 0..<10 {
            lines.append(
                #"{"class":"Loose","key":\#(key),"value":{"n":\#(key),"keeper":\#(link("Keeper", 9 - key))}}"#)
            lines.append(
                #"{"class":"Branch","key":\#(key),"value":{"id":\#(key),"parent":\#(link("Branch", (key + 1) % 10))}}"#)
            lines.append(
                #"{"class":"Keeper","key":\#(key),"value":{"id":\#(key),"branch":\#(link("Branch", key)),"#
                    + #""loose":\#(link("Loose", 9 - key))}}"#)
        }
        return lines.joined(separator: "\n")
    }()

    // One class without a primary key once made the whole import one transaction.
    @Test("Classes with primary keys are committed in batches, and the others in one transaction at the end")
    func batches() throws {
        struct Stop: Error {}
        let scratch = try Scratch()
        try Data(Self.mixedLines.utf8).write(to: scratch["in.json"])
        let realm = try realm(scratch, [Branch.self, Keeper.self, Loose.self])
        var greatest = 0
        func run(_ progress: @escaping (RealmFileImportProgress) throws -> Void) throws -> RealmFileImportReport {
            try OpenRealmImport(
                source: JSONSource(scratch["in.json"], schema: nil), report: RealmFileImportReport(), batchCost: 3,
                progress: progress
            ).run(into: realm)
        }
        // The first object of the last transaction.
        #expect(throws: Stop.self) { try run { if $0.className == "Loose" { throw Stop() } } }
        #expect(realm.objects(Branch.self).count == 10 && realm.objects(Keeper.self).count == 10)
        #expect(realm.objects(Loose.self).isEmpty)
        #expect(realm.objects(Branch.self).allSatisfy { $0.parent?.id == ($0.id + 1) % 10 })
        #expect(realm.objects(Keeper.self).allSatisfy { $0.branch == nil && $0.loose == nil })
        // Its last object: nothing of the transaction remains.
        #expect(throws: Stop.self) { try run { if $0.phase == .finishing { throw Stop() } } }
        #expect(realm.objects(Loose.self).isEmpty && realm.objects(Keeper.self).allSatisfy { $0.loose == nil })
        let report = try run { greatest = max(greatest, Int($0.fraction * 1000)) }
        #expect(report.isComplete && report.classes.map(\.written) == [10, 10, 10], "\(report)")
        #expect(report.classes.map(\.updated) == [0, 10, 10] && greatest == 1000)
        #expect(realm.objects(Branch.self).count == 10 && realm.objects(Keeper.self).count == 10)
        #expect(realm.objects(Loose.self).count == 10)
        #expect(realm.objects(Keeper.self).allSatisfy { $0.branch?.id == $0.id && $0.loose?.n == 9 - $0.id })
        #expect(realm.objects(Loose.self).allSatisfy { $0.keeper?.id == 9 - $0.n })
        #expect(realm.configuration.integrityFindings().isEmpty)
    }

    @Test("Classes without primary keys are imported in one transaction, which a failure rolls back")
    func oneTransaction() throws {
        struct Stop: Error {}
        let scratch = try Scratch()
        let old = try scratch.fixture("all_types_v24.realm")
        let realm = try realm(scratch, [Deep.self])
        var job = RealmFileImport(from: old, to: realm)
        job.progress = { if $0.phase == .finishing { throw Stop() } }
        #expect(throws: Stop.self) { try job.run() }
        #expect(realm.objects(Deep.self).isEmpty)
        let report = try RealmFileImport(from: old, to: realm).run()
        #expect(realm.objects(Deep.self).count == 1250)
        // A Double in the old file, a Float in the class.
        #expect(report.notes.contains { $0.contains("'Deep.f'") && $0.contains("double") && $0.contains("float") })
        #expect(report.notes.contains { $0.contains("'Big' of the old file is not declared") })
        #expect(!report.isComplete)
        realm.beginWrite()
        _ = try RealmFileImport(from: old, to: realm).run()
        realm.cancelWrite()
        #expect(realm.objects(Deep.self).count == 1250)
        #expect(realm.configuration.integrityFindings().isEmpty)
    }
}
