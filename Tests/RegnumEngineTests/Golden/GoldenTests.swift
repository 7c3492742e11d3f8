// SPDX-License-Identifier: Apache-2.0
// Files that an earlier version wrote are read by every later version, value by value, and can be written again.
//
// The files of a format are in Tests/Golden and are never written again: a release with new features adds new files.
// `REGNUM_GOLDEN_WRITE=NAME swift test --filter GoldenTests/write` adds NAME.realm, NAME.json, NAME-encrypted.realm and
// NAME-encrypted.json; the next run of `GoldenTests` reads them too. `Scripts/ci/golden` reads the same files without
// any of our code.

import Foundation
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct GoldenTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Golden")
    /// The key of all encrypted golden files: bytes 0, 1, 2 ... 63.
    static let key = (0..<UInt8(EncryptionKey.byteCount)).map { $0 }

    static func options(_ name: String) -> Database.OpenOptions {
        var options = Database.OpenOptions()
        if name.hasSuffix("-encrypted") { options.encryptionKey = key.withUnsafeBytes { EncryptionKey($0) } }
        return options
    }

    /// The files that this build can read.
    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        let names = files.filter { $0.hasSuffix(".realm") }.map { String($0.dropLast(6)) }.sorted()
        #if Encryption
            return names
        #else
            return names.filter { !$0.hasSuffix("-encrypted") }
        #endif
    }()

    static func open(_ name: String) throws -> Database {
        let files = SimulatedFileSystem(reservedByteCount: 64 << 20)
        files.setContents(
            of: GoldenFile.path, [UInt8](try Data(contentsOf: folder.appendingPathComponent(name + ".realm"))))
        return try Database.open(path: GoldenFile.path, fileSystem: files, options: options(name))
    }

    @Test("Every value of every golden file reads as it was written", arguments: names)
    func values(name: String) throws {
        let database = try Self.open(name)
        let expected = try String(contentsOf: Self.folder.appendingPathComponent(name + ".json"), encoding: .utf8)
        let found = try GoldenDump.json(try database.makeSession())
        let (lines, expectedLines) = (found.split(separator: "\n"), expected.split(separator: "\n"))
        #expect(lines.count == expectedLines.count)
        for (i, (line, expectedLine)) in zip(lines, expectedLines).enumerated() where line != expectedLine {
            Issue.record("line \(i + 1) of \(name).json: \(expectedLine.prefix(300)), but read: \(line.prefix(300))")
            break
        }
        #expect(IntegrityCheck.run(database).isClean)
    }

    @Test("Every golden file can be queried and written", arguments: names)
    func writing(name: String) throws {
        let database = try Self.open(name)
        let session = try database.makeSession()
        let table = try #require(session.table(named: "Many"))
        #expect(try table.key(forPrimaryKey: .int(7919)) == ObjectKey(2))
        #expect(try table.keys(inIndexOf: 1, equalTo: .null).first == ObjectKey(4))
        try session.beginWrite()
        for table in session.tables where !table.definition.isEmbedded { try table.deleteAll() }
        _ = try DatabaseTests.insert(table, [.int(1), .string("new")])
        try session.commitWrite()
        #expect(IntegrityCheck.run(database).isClean)
        #expect(try database.makeSession().table(named: "Many")?.count == 1)
    }

    /// The files that have full-text and geospatial indexes, constraints and delete rules.
    static let namesWithRules: [String] = names.filter { name in
        guard let session = try? GoldenTests.open(name).makeSession() else { return false }
        return session.table(named: "Ruled") != nil
    }

    @Test(
        "Terms and locations are found in golden files, and constraints and rules apply", arguments: namesWithRules
    )
    func rules(name: String) throws {
        let database = try Self.open(name)
        let session = try database.makeSession()
        let contents = try #require(session.table(named: "Contents"))
        let alpha = try contents.keys(with: .word(Array("alpha".utf8)), inTextIndexOf: 1)
        #expect(alpha.map(\.rawValue) == [6, 7, 8])
        #expect(try contents.keys(with: .word(Array("3.14".utf8)), inTextIndexOf: 2).map(\.rawValue) == [7, 8, 9])
        let berlin = PlaceCell.ranges(of: PlaceBox(south: 52, north: 53, west: 13, east: 15))
        #expect(try contents.keys(in: berlin, inPlaceIndexOf: 3).contains(ObjectKey(1)))
        let unique = try #require(session.table(named: "Unique"))
        #expect(unique.definition.uniques.count == 3)
        #expect(try unique.key(inUnique: 0, equalTo: [.int(4)]) == ObjectKey(5))
        #expect(try unique.key(inUnique: 1, equalTo: [.string("another")]) == ObjectKey(3))
        let columns = 2..<2 + GoldenFile.uniqueTypes.count
        let values = try columns.map { try unique.value($0, of: ObjectKey(6)) }
        #expect(try unique.key(inUnique: 2, equalTo: values) == ObjectKey(6))
        let ruled = try #require(session.table(named: "Ruled"))
        // Pair 4 cascades both ways, pair 8 denies both ways, pair 6 denies to the holder alone.
        for (key, count, isDenied) in [(9, 2, false), (10, 2, false), (17, 1, true), (18, 1, true), (13, 1, true)] {
            let plan = try session.planDelete([RowKey(table: ruled.definition.key, key: ObjectKey(UInt64(key)))])
            #expect(plan.rows.count == count && plan.denials.isEmpty != isDenied, "object \(key)")
        }
        // Two objects that are equal in the middle of a write: its commit would be refused.
        try session.beginWrite()
        for (column, value) in zip(columns, values) { try unique.set(value, column, of: ObjectKey(8)) }
        #expect(try unique.brokenConstraints() == [unique.definition.uniques[2]])
        session.rollbackWrite()
    }

    /// The features of a table that golden files must contain.
    private static func parts(of table: TableDefinition) -> Set<String> {
        var parts: Set<String> = []
        for column in table.columns {
            parts.insert("\(column.collection) of \(column.type)")
            if column.isContentIndexed { parts.insert("\(column.collection) of \(column.type), contents") }
            parts.insert("delete rule \(column.deleteRule)")
            parts.insert("origin rule \(column.originRule)")
        }
        for unique in table.uniques { parts.insert(unique.columns.count > 1 ? "unique together" : "unique") }
        return parts
    }

    @Test("Together the golden files have every type in every collection, every kind of block, index and rule")
    func completeness() throws {
        var missing = Set(
            ColumnType.allCases.flatMap { type in
                ([.none] + GoldenFile.kinds).map { "\($0) of \(type)" }
            })
        missing.formUnion(["none of string, contents", "list of string, contents", "list of double, contents"])
        missing.formUnion(["unique", "unique together"])
        for rule in LinkRule.allCases { missing.formUnion(["delete rule \(rule)", "origin rule \(rule)"]) }
        var hasSequence = false
        var kinds = Set(BlockKind.allCases.map(\.rawValue)).subtracting([BlockKind.history.rawValue])
        for name in Self.names where !name.hasSuffix("-encrypted") {
            for table in try Self.open(name).makeSession().tables { missing.subtract(Self.parts(of: table.definition)) }
            let bytes = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent(name + ".realm")))
            for page in stride(from: 16 * 4096, to: bytes.count, by: 4096)
            where bytes[page] == 0x52 && bytes[page + 1] == 0x42 {
                kinds.remove(bytes[page + 2])
                let isLeaf = bytes[page + 2] == BlockKind.indexLeaf.rawValue
                if isLeaf, Int(bytes[page + 33]) << 8 | Int(bytes[page + 32]) > 1024 { hasSequence = true }
            }
        }
        // A new feature of the format needs a new golden file: see the top of this file.
        #expect(missing == [])
        #expect(kinds == [])
        #expect(hasSequence)
    }

    @Test(
        "New golden files are written if no file of that name exists",
        .enabled(if: CurrentProcess.environment("REGNUM_GOLDEN_WRITE") != nil))
    func write() throws {
        let stem = try #require(CurrentProcess.environment("REGNUM_GOLDEN_WRITE"))
        var names = [stem]
        #if Encryption
            names.append(stem + "-encrypted")
        #endif
        for name in names {
            let url = Self.folder.appendingPathComponent(name + ".realm")
            guard !FileManager.default.fileExists(atPath: url.path) else { continue }
            let files = SimulatedFileSystem(seed: 12, reservedByteCount: 64 << 20)
            try GoldenFile.write(files, Self.options(name), rows: name == stem ? 1100 : 40)
            let bytes = try #require(files.contents(of: GoldenFile.path))
            try Data(bytes).write(to: url)
            let json = try GoldenDump.json(try Self.open(name).makeSession())
            try json.write(to: Self.folder.appendingPathComponent(name + ".json"), atomically: true, encoding: .utf8)
        }
    }
}
