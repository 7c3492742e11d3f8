// SPDX-License-Identifier: Apache-2.0
// A table whose schema is damaged has the error; the other tables of the file are read.

import Foundation
import RegnumRealmFile
import Testing

@Suite("Damaged tables") struct DamagedTableTests {
    private func read(_ file: RealmFile, _ name: String) throws -> [RealmFileValue] {
        var values: [RealmFileValue] = []
        try file.forEachObject(of: try #require(file.table(named: name))) { values += try $0.values() }
        return values
    }

    private func check(_ file: RealmFile, _ url: URL) throws {
        let bad = try #require(file.table(named: "Bad"))
        let damage = try #require(bad.damage)
        #expect(damage.code == .damaged && damage.location == "class_Bad" && damage.filePath == url.path)
        #expect(bad.objectCount == 0 && bad.properties.isEmpty && bad.isClass)
        #expect { try read(file, "Bad") } throws: { $0 as? RealmFileError == damage }
        #expect { try file.object(RealmFileLink(tableIndex: bad.index, key: 0)) } throws: {
            $0 as? RealmFileError == damage
        }
        #expect(file.tables.filter { $0.damage != nil }.map(\.tableName) == ["class_Bad"])
    }

    @Test("A damaged list of columns of formats from 10 on", arguments: [true, false])
    func clusters(_ isTopDamaged: Bool) throws {
        let scratch = try Scratch()
        var builder = FileBuilder(format: 24)
        let noSpec = builder.integers([1, 2, 3])
        let bad =
            isTopDamaged
            ? noSpec
            : builder.refs([noSpec, 0, 0, Tagged(0), 0, Tagged(0), Tagged(0), 0, 0, Tagged(0), 0, 0, Tagged(0), 0])
        let columns: [FileBuilder.ClusterColumn] = [
            .init(name: "id", type: 0, root: builder.integers([4, 5])),
            .init(name: "bad", type: 12, attributes: 16, root: builder.integers([0, 9]), target: 0),
        ]
        let tables = [("class_Bad", bad), ("class_Good", builder.clusterTable(at: 1, keys: [0, 1], columns))]
        let url = try scratch.file(builder.file(tables: tables))
        let file = try RealmFile(url: url)
        try check(file, url)
        #expect(file.table(named: "Good")?.properties[1].type == .link("Bad"))
        #expect(try read(file, "Good") == [.int(4), .null, .int(5), .link(RealmFileLink(tableIndex: 0, key: 8))])
    }

    @Test("A damaged list of columns, and damaged primary keys, of formats up to 9")
    func columns() throws {
        let scratch = try Scratch()
        var builder = FileBuilder(format: 9)
        let noSpec = builder.integers([1, 2, 3])
        var tables = [
            ("class_Good", builder.legacyTable([("id", 0, 0, builder.integers([4, 5]))])),
            ("class_Bad", builder.refs([noSpec, noSpec])),
        ]
        let url = try scratch.file(builder.file(tables: tables), "first.realm")
        let file = try RealmFile(url: url)
        try check(file, url)
        #expect(try read(file, "Good") == [.int(4), .int(5)])
        // The texts of the primary keys are a list of links.
        let roots: [FileBuilder.LegacyColumn] = [("pk_table", 2, 0, noSpec), ("pk_property", 2, 0, noSpec)]
        tables[1] = ("pk", builder.legacyTable(roots))
        let second = try RealmFile(url: scratch.file(builder.file(tables: tables), "second.realm"))
        #expect(second.tables.map { $0.damage?.code } == [nil, .damaged])
        #expect(try read(second, "Good") == [.int(4), .int(5)])
    }

    @Test("A damaged schema version")
    func schemaVersion() throws {
        let scratch = try Scratch()
        var builder = FileBuilder(format: 24)
        let id = FileBuilder.ClusterColumn(name: "id", type: 0, root: builder.integers([4, 5]))
        let version = FileBuilder.ClusterColumn(name: "version", type: 0, root: builder.blob([1]))
        let tables = [
            ("class_Good", builder.clusterTable(at: 0, keys: [0, 1], [id])),
            ("metadata", builder.clusterTable(at: 1, keys: [0], [version])),
        ]
        let url = try scratch.file(builder.file(tables: tables))
        let file = try RealmFile(url: url)
        #expect(file.schemaVersion == nil)
        let damage = try #require(file.tables[1].damage)
        #expect(damage.code == .damaged && damage.location == "metadata.version" && damage.filePath == url.path)
        #expect(try read(file, "Good") == [.int(4), .int(5)])
    }

    @Test("Tables that belong to no class have unique names")
    func names() throws {
        let scratch = try Scratch()
        var builder = FileBuilder(format: 9)
        func table() -> Int64 { builder.legacyTable([("id", 0, 0, builder.integers([4]))]) }
        let names = ["people", "class_people", "", "class_people_0", "other", "metadata"]
        let tables = names.map { ($0, table()) }
        let file = try RealmFile(url: scratch.file(builder.file(tables: tables)))
        #expect(file.tables.map(\.tableName) == names)
        #expect(file.tables.map(\.name) == ["people_0_0", "people", "table_2", "people_0", "other", "metadata"])
        #expect(file.classes.map(\.name) == ["people", "people_0"])
        // A table `metadata` without a version is not Realm's own.
        #expect(file.tables.map(\.isCarriedOver) == [true, true, true, true, true, true])
    }
}
