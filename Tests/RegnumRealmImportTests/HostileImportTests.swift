// SPDX-License-Identifier: Apache-2.0
// Files whose parts contradict each other, or refer to one part many times, are refused before they cost memory or
// objects. What is valid in them is imported.

import Foundation
import RealmSwift
import RegnumRealmFile
import RegnumRealmImport
import Testing

@Suite("Importing files that contradict themselves") struct HostileImportTests {
    /// Writes a file with those tables, and returns its URL.
    private func file(
        _ scratch: Scratch, format: UInt8 = 24, _ build: (inout FileBuilder) -> [(String, Int64)]
    ) throws -> URL {
        var builder = FileBuilder(format: format)
        let tables = build(&builder)
        try Data(builder.file(tables: tables)).write(to: scratch["old.realm"])
        return scratch["old.realm"]
    }

    /// Imports, and expects that the file is refused as damaged and that there is no new file.
    private func expectDamaged(
        _ old: URL, _ scratch: Scratch, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(sourceLocation: sourceLocation) {
            try RealmFileImport(from: old, to: scratch["new.realm"]).run()
        } throws: { ($0 as? RealmFileError)?.code == .damaged }
        #expect(try scratch.names == ["old.realm"], sourceLocation: sourceLocation)
    }

    @Test("A tree with fewer or more objects than its root states is damage", arguments: [0, -1, 1] as [Int64])
    func missingObjects(_ difference: Int64) throws {
        let scratch = try Scratch()
        let old = try file(scratch) { builder in
            let leaves = (0..<3).map { _ in builder.refs([Tagged(256), builder.integers(Array(1...256))]) }
            let root = builder.refs([0, Tagged(1), Tagged(768 + difference)] + leaves, isInner: true)
            return [("class_A", builder.clusterTable(at: 0, [.init(name: "a", type: 0, root: 0)], root: root))]
        }
        if difference != 0 { return try expectDamaged(old, scratch) }
        let report = try RealmFileImport(from: old, to: scratch["new.realm"]).run()
        #expect(report.objectsWritten == 768 && report.isComplete)
    }

    @Test("A column of an old format with fewer or more values than its root states is damage", arguments: [0, -1, 1])
    func missingRows(_ difference: Int) throws {
        let scratch = try Scratch()
        let old = try file(scratch, format: 9) { builder in
            let leaf = builder.integers(Array(1...1000))
            let root = builder.tree([leaf], counts: [1000 + difference], full: 1000)
            return [("class_A", builder.legacyTable([("a", 0, 0, root)]))]
        }
        if difference != 0 { return try expectDamaged(old, scratch) }
        #expect(try RealmFileImport(from: old, to: scratch["new.realm"]).run().objectsWritten == 1000)
    }

    private func listFile(_ scratch: Scratch, _ tree: (inout FileBuilder) -> Int64) throws -> URL {
        try file(scratch) { builder in
            let root = builder.refs([tree(&builder)])
            let list = FileBuilder.ClusterColumn(name: "list", type: 0, attributes: 32, root: root)
            return [("class_A", builder.clusterTable(at: 0, keys: [0], [list]))]
        }
    }

    @Test("Leaves of zeros, which take no bytes, are read if they are Realm's, and refused if they are too many")
    func zeros() throws {
        let scratch = try Scratch()
        let many = try listFile(scratch) { $0.integers(Array(repeating: 0, count: 1 << 16 + 1)) }
        try expectDamaged(many, scratch)
        let shared = try listFile(scratch) { builder in
            let leaf = builder.integers(Array(repeating: 0, count: 1000))
            return builder.tree(
                Array(repeating: leaf, count: 900), counts: Array(repeating: 1000, count: 900), full: 1000)
        }
        #expect(try Data(contentsOf: shared).count < 5000)
        try expectDamaged(shared, scratch)
        let valid = try listFile(scratch) { builder in
            let leaves = (0..<100).map { _ in builder.integers(Array(repeating: 0, count: 1000)) }
            return builder.tree(leaves, counts: Array(repeating: 1000, count: 100), full: 1000)
        }
        #expect(try RealmFileImport(from: valid, to: scratch["new.realm"]).run().isComplete)
    }

    @Test("A list that claims more elements than its file can hold is refused before they are read")
    func tooManyElements() throws {
        let scratch = try Scratch()
        let old = try listFile(scratch) { builder in
            builder.tree([builder.integers([1])], counts: [1 << 40], full: 1000)
        }
        #expect {
            try RealmFileImport(from: old, to: scratch["new.realm"]).run()
        } throws: { ($0 as? RealmFileError)?.message.contains("more than its file can hold") == true }
    }

    @Test("A cluster of objects has at most the 256 objects that Realm stores in one", arguments: [256, 257])
    func largeCluster(_ count: Int64) throws {
        let scratch = try Scratch()
        let old = try file(scratch) { builder in
            let root = builder.refs([Tagged(count), builder.integers(Array(1...count))])
            return [("class_A", builder.clusterTable(at: 0, [.init(name: "a", type: 0, root: 0)], root: root))]
        }
        if count > 256 { return try expectDamaged(old, scratch) }
        #expect(try RealmFileImport(from: old, to: scratch["new.realm"]).run().objectsWritten == 256)
    }

    @Test("Many values of any type that share one long text are refused", arguments: [1, 2000])
    func sharedText(_ count: Int) throws {
        let scratch = try Scratch()
        let old = try file(scratch) { builder in
            // Type 2, part 3, index 0.
            let composites = builder.integers(Array(repeating: 2 + 1 | 3 << 5, count: count))
            let text = [UInt8](repeating: 120, count: 20_000)
            let texts = builder.medium([text], isText: true, nullMark: true)
            let leaf = builder.refs([composites, 0, 0, texts, 0, 0])
            let list = FileBuilder.ClusterColumn(name: "list", type: 6, attributes: 32 | 16, root: builder.refs([leaf]))
            return [("class_A", builder.clusterTable(at: 0, keys: [0], [list]))]
        }
        if count > 1 { return try expectDamaged(old, scratch) }
        #expect(try RealmFileImport(from: old, to: scratch["new.realm"]).run().isComplete)
    }

    @Test("Two tables that are the same one are damage", arguments: [9, 24] as [UInt8])
    func sharedTable(_ format: UInt8) throws {
        let scratch = try Scratch()
        let old = try file(scratch, format: format) { builder in
            let table =
                format < 10
                ? builder.legacyTable([("a", 0, 0, builder.integers([1]))])
                : builder.clusterTable(at: 0, keys: [0], [.init(name: "a", type: 0, root: builder.integers([1]))])
            return [("class_A", table), ("class_B", table)]
        }
        let damage = try RealmFile(url: old).tables.compactMap(\.damage)
        #expect(damage.contains { $0.message.contains("two tables are the same one") })
        try expectDamaged(old, scratch)
    }

    @Test("Links to objects that another device deleted are left out or nil, and the report counts them")
    func deletedLinks() throws {
        let scratch = try Scratch()
        let old = try file(scratch) { builder in
            let leaves = [builder.integers([0, 1, 2]), builder.integers([-2, 0])]
            let list = builder.tree(leaves, counts: [3, 2], full: 3)
            let pairs = builder.refs([
                builder.integers([16 + 1 | 2 << 5]), 0, builder.integers([0, -5]), 0, 0,
            ])
            let columns: [FileBuilder.ClusterColumn] = [
                .init(name: "dogs", type: 12, attributes: 32, root: builder.refs([list]), target: 0),
                .init(name: "best", type: 12, attributes: 16, root: builder.integers([-3]), target: 0),
                .init(name: "any", type: 6, attributes: 16, root: pairs),
            ]
            let dogs = FileBuilder.ClusterColumn(name: "age", type: 0, root: builder.integers([1, 2, 3]))
            return [
                ("class_Dog", builder.clusterTable(at: 0, keys: [0, 1, 2], [dogs], backlinks: 2)),
                ("class_Owner", builder.clusterTable(at: 1, keys: [0], columns)),
            ]
        }
        var job = RealmFileImport(from: old, to: scratch["new.realm"])
        job.verifies = true
        let report = try job.run()
        #expect(report.isComplete, "\(report)")
        for name in ["dogs", "best", "any"] {
            #expect(report.notes.contains { $0.hasPrefix("1 links of 'Owner.\(name)'") }, "\(report.notes)")
        }
        let realm = try Realm(configuration: Realm.Configuration(fileURL: scratch["new.realm"], objectTypes: []))
        let owner = realm.dynamicObjects("Owner")[0]
        let ages: [Int?] = owner.dynamicList("dogs").map { $0["age"] as? Int }
        #expect(ages == [1, 2, 3, 1])
        #expect(owner["best"] as? DynamicObject == nil)
    }
}
