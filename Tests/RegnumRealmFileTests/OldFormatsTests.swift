// SPDX-License-Identifier: Apache-2.0
// Formats 2 to 9, in which each column is a tree of its own, and format 10, in which lists of links were a separate
// type.

import Foundation
import RegnumRealmFile
import Testing

@Suite("Old formats") struct OldFormatsTests {
    private func values(_ file: RealmFile, _ table: String, _ property: String) throws -> [RealmFileValue] {
        var values: [RealmFileValue] = []
        try file.forEachObject(of: try #require(file.table(named: table))) { values.append(try $0.value(property)) }
        return values
    }

    private func open(_ format: UInt8, _ build: (inout FileBuilder) -> [(String, Int64)]) throws -> RealmFile {
        let scratch = try Scratch()
        var builder = FileBuilder(format: format)
        let tables = build(&builder)
        return try RealmFile(url: scratch.file(builder.file(tables: tables, slot: format % 2)))
    }

    @Test(
        "Numbers of each type and width are read, nullable or not, and with an index between the columns",
        arguments: [2, 3, 5, 7, 9] as [UInt8])
    func numbers(_ format: UInt8) throws {
        let file = try open(format, OldFormatSamples.numbers)
        #expect(file.formatVersion == Int(format) && file.schemaVersion == 11)
        #expect(file.classes.map(\.name) == ["Numbers"] && file.classes[0].objectCount == 4)
        #expect(try values(file, "Numbers", "small") == [.int(0), .int(1), .int(3), .int(2)])
        #expect(try values(file, "Numbers", "large") == [.int(-1), .int(.max), .int(.min), .int(7)])
        #expect(try values(file, "Numbers", "optional") == [.int(5), .null, .int(-5), .null])
        #expect(try values(file, "Numbers", "flag") == [.bool(false), .bool(true), .bool(true), .bool(false)])
        #expect(try values(file, "Numbers", "maybe") == [.bool(true), .null, .bool(false), .null])
        #expect(try values(file, "Numbers", "float") == [.float(1.5), .float(-2), .float(0), .null])
        #expect(try values(file, "Numbers", "double") == [.double(1.25), .null, .double(.infinity), .double(-0.5)])
        func date(_ seconds: Int64) -> RealmFileValue { .date(RealmFileDate(seconds: seconds, nanoseconds: 0)) }
        #expect(try values(file, "Numbers", "old") == [date(1_000_000_000), .null, date(-1), date(0)])
    }

    @Test("Texts and binary values of each layout are read; the null marks of texts are inverted")
    func bytes() throws {
        let file = try open(9, OldFormatSamples.bytes)
        func texts(_ values: [String?]) -> [RealmFileValue] { values.map { $0.map { .string($0) } ?? .null } }
        func data(_ values: [[UInt8]?]) -> [RealmFileValue] { values.map { $0.map { .data(Data($0)) } ?? .null } }
        #expect(try values(file, "Bytes", "short") == texts(["one", nil, "", "four"]))
        #expect(try values(file, "Bytes", "medium") == texts(["medium text", nil, "", "zero\u{0}inside"]))
        #expect(try values(file, "Bytes", "plain") == texts(["medium text", "", "", "zero\u{0}inside"]))
        #expect(try values(file, "Bytes", "big") == texts([String(repeating: "long ", count: 40), nil, "", "x"]))
        #expect(try values(file, "Bytes", "empty") == texts(["", "", "", ""]))
        #expect(try values(file, "Bytes", "null") == texts([nil, nil, nil, nil]))
        #expect(try values(file, "Bytes", "data") == data([[1, 2], nil, [], [0]]))
        #expect(try values(file, "Bytes", "oldData") == data([[1, 2], [], [], [0]]))
        #expect(try values(file, "Bytes", "bigData") == data([[1, 2], nil, [], [0]]))
        #expect(try values(file, "Bytes", "interned") == texts(["blue", "red", "blue", "blue"]))
    }

    @Test("Links, lists, nested tables, dates and primary keys are read")
    func references() throws {
        let file = try open(9, OldFormatSamples.references)
        let table = try #require(file.table(named: "Node"))
        #expect(table.primaryKeyIndex == 0 && table.properties[0].isPrimaryKey)
        #expect(table.properties.map(\.name) == ["id", "next", "all", "values", "rows", "at"])
        #expect(
            table.properties[3].type == .int && table.properties[3].collection == .list
                && table.properties[3].isOptional)
        #expect(table.properties[4].type == .rows)
        func link(_ row: Int64) -> RealmFileValue { .link(RealmFileLink(tableIndex: 0, key: row)) }
        #expect(try values(file, "Node", "next") == [link(1), .null])
        #expect(try values(file, "Node", "all") == [.list([link(1), link(0), link(1)]), .list([])])
        #expect(try values(file, "Node", "values") == [.list([.int(1), .null, .int(3)]), .list([])])
        #expect(
            try values(file, "Node", "rows") == [
                .rows([]), .rows([[.int(7), .string("x")], [.int(8), .string("y")]]),
            ])
        #expect(
            try values(file, "Node", "at") == [.date(RealmFileDate(seconds: 100, nanoseconds: 250_000_000)), .null])
        #expect(try file.object(RealmFileLink(tableIndex: 0, key: 1))?.value("id") == .string("b"))
        #expect(try file.object(RealmFileLink(tableIndex: 0, key: 2)) == nil)
        #expect(try file.object(RealmFileLink(tableIndex: 0, key: -1)) == nil)
    }

    @Test("Columns whose leaves end at different rows are read in parallel")
    func trees() throws {
        let file = try open(6) { builder in
            let first = [
                builder.integers(Array(0..<1000)), builder.integers(Array(1000..<2000)), builder.integers([2000]),
            ]
            let second = [
                builder.integers(Array(0..<7)), builder.integers(Array(7..<1500)), builder.integers(Array(1500...2000)),
            ]
            return [
                (
                    "class_Long",
                    builder.legacyTable([
                        ("full", 0, 0, builder.tree(first, counts: [1000, 1000, 1], full: 1000)),
                        ("general", 0, 0, builder.tree(second, counts: [7, 1493, 501], full: nil)),
                    ])
                )
            ]
        }
        #expect(file.classes[0].objectCount == 2001)
        let expected = (0...2000).map { RealmFileValue.int(Int64($0)) }
        #expect(try values(file, "Long", "full") == expected)
        #expect(try values(file, "Long", "general") == expected)
        #expect(try file.object(RealmFileLink(tableIndex: 0, key: 1776))?.value("general") == .int(1776))
    }

    /// Rows were once decoded from the first one on for each link that was followed.
    @Test("The object of a link is found without the leaves before it, in columns whose leaves end at different rows")
    func linkTargets() throws {
        let rowCount = 3000
        let text = { (row: Int) in Array("text \(row)".utf8) }
        let file = try open(9) { builder in
            // The first leaf of one column is not a leaf: reading it is an error.
            let noLeaf = builder.blob([1])
            let starts: [Int64] = [1000, 2000]
            let leaves = [noLeaf] + starts.map { start in builder.integers((0..<1000).map { start + $0 }) }
            let lower = builder.tree(Array(leaves[..<2]), counts: [1000, 1000], full: 1000)
            let full = builder.tree([lower, leaves[2]], counts: [2000, 1000], full: 2000)
            let parts = [0..<7, 7..<1500, 1500..<3000]
            let counts = parts.map(\.count)
            let texts = parts.map { rows in builder.medium(rows.map(text), isText: true, nullMark: nil) }
            let seconds = [0..<1000, 1000..<3000].map { rows in builder.nullable(rows.map { Int64($0) }, null: -1) }
            let rests = parts.map { rows in builder.integers(rows.map { Int64($0 % 3) }) }
            let dates = builder.refs([
                builder.tree(seconds, counts: [1000, 2000], full: 1000), builder.tree(rests, counts: counts, full: nil),
            ])
            let colors = parts.map { rows in builder.integers(rows.map { Int64($0 % 2) }) }
            let columns: [FileBuilder.LegacyColumn] = [
                ("id", 0, 0, full), ("text", 2, 0, builder.tree(texts, counts: counts, full: nil)),
                ("at", 8, 16, dates), ("color", 3, 0, builder.tree(colors, counts: counts, full: nil)),
            ]
            let interned = builder.shortTexts(["red", "blue"], width: 8)
            return [("class_Long", builder.legacyTable(columns, interned: [interned]))]
        }
        #expect(file.classes[0].objectCount == rowCount)
        for row in [1000, 1499, 1500, 1999, 2000, 2999] {
            let object = try #require(try file.object(RealmFileLink(tableIndex: 0, key: Int64(row))))
            let date = RealmFileDate(seconds: Int64(row), nanoseconds: Int32(row % 3))
            #expect(object.key == Int64(row))
            #expect(
                try object.values() == [
                    .int(Int64(row)), .string("text \(row)"), .date(date), .string(row % 2 == 0 ? "red" : "blue"),
                ])
        }
        #expect(try file.object(RealmFileLink(tableIndex: 0, key: Int64(rowCount))) == nil)
        #expect(throws: RealmFileError.self) { try file.object(RealmFileLink(tableIndex: 0, key: 5)) }
        #expect(throws: RealmFileError.self) { try file.forEachObject(of: file.classes[0]) { _ in } }
    }

    @Test("Mixed values of formats up to 9 are read")
    func oldMixed() throws {
        let file = try open(5, OldFormatSamples.anyValues)
        #expect(
            try values(file, "Any", "any") == [
                .int(42), .int(-3), .bool(true), .string("text"), .data(Data([9, 9])),
                .date(RealmFileDate(seconds: 60, nanoseconds: 0)), .date(RealmFileDate(seconds: 77, nanoseconds: 5)),
                .float(1.5),
                .double(2.5), .double(-2.5),
            ])
        #expect(try file.object(RealmFileLink(tableIndex: 0, key: 3))?.value("any") == .string("text"))
        #expect(try file.object(RealmFileLink(tableIndex: 0, key: 10)) == nil)
    }

    @Test("Empty and duplicate names get the number of their column")
    func names() throws {
        let file = try open(9) { builder in
            [
                (
                    "class_Names",
                    builder.legacyTable([
                        ("", 0, 0, builder.integers([1])), ("a", 0, 0, builder.integers([2])),
                        ("a", 0, 0, builder.integers([3])),
                    ])
                )
            ]
        }
        #expect(file.classes[0].properties.map(\.name) == ["col_0", "a", "a_2"])
        #expect(file.classes[0].properties.map(\.storedName) == ["", "a", "a"])
        #expect(try values(file, "Names", "a_2") == [.int(3)])
    }

    @Test("A file in the middle of Realm's upgrade is refused with a named error")
    func unfinishedUpgrade() throws {
        let progress = try code {
            try open(9) { [("!UPDATE_PROGRESS", $0.legacyTable([("x", 0, 0, $0.integers([]))]))] }
        }
        #expect(progress == .unfinishedUpgrade)
        let row = try code { try open(9) { [("class_A", $0.legacyTable([("!ROW_INDEX", 0, 0, $0.integers([]))]))] } }
        #expect(row == .unfinishedUpgrade)
        let wide = try code {
            try open(9) { builder in
                let spec = builder.legacySpec([("x", 0, 0, 0)])
                return [
                    (
                        "class_A",
                        builder.refs([spec, builder.refs([builder.integers([1])]), 0, Tagged(0), 0, Tagged(0)])
                    )
                ]
            }
        }
        #expect(wide == .unfinishedUpgrade)
    }

    @Test("Format 10 is read: columns in clusters, lists of links as a separate type")
    func format10() throws {
        let file = try open(10) { builder in
            // Keys: index 0 int indexed, index 1 list of links.
            let keys: [Int64] = [0, 1 | (13 << 16) | (32 << 22)]
            let spec = builder.refs([
                builder.integers([0, 13]), builder.shortTexts(["id", "friends"], width: 16), builder.integers([1, 32]),
                0, 0,
                builder.integers(keys),
            ])
            let friends = builder.refs([builder.integers([5, -3, 2]), 0])
            let cluster = builder.refs([builder.integers([2, 5]), builder.integers([20, 50]), friends])
            let table = builder.refs([
                spec, 0, cluster, Tagged(0), 0, Tagged(0), Tagged(0), builder.integers([0x7fff_ffff, 0]),
                builder.integers([0, 0]), Tagged(0),
                0, Tagged(keys[0]),
            ])
            return [("class_Old", table)]
        }
        let table = file.classes[0]
        #expect(table.objectCount == 2 && table.primaryKeyIndex == 0)
        #expect(table.properties[1].type == .link("Old") && table.properties[1].collection == .list)
        #expect(try values(file, "Old", "id") == [.int(20), .int(50)])
        func link(_ key: Int64) -> RealmFileValue { .link(RealmFileLink(tableIndex: 0, key: key)) }
        #expect(try values(file, "Old", "friends") == [.list([link(5), link(2)]), .list([])])
        #expect(try file.object(RealmFileLink(tableIndex: 0, key: 5))?.value("id") == .int(50))
        #expect(try file.object(RealmFileLink(tableIndex: 0, key: 3)) == nil)
    }

    /// The depth was once multiplied before it was compared: a number near 2^62 crashed the program.
    @Test("An impossible depth of an object tree is reported as damage", arguments: [8, 1 << 20, 1 << 61] as [Int64])
    func impossibleDepth(_ depth: Int64) throws {
        let scratch = try Scratch()
        var builder = FileBuilder(format: 10)
        let spec = builder.refs([
            builder.integers([0]), builder.shortTexts(["id"], width: 16), builder.integers([0]), 0, 0,
            builder.integers([0]),
        ])
        let leaf = builder.refs([Tagged(1), builder.integers([7])])
        let root = builder.refs([0, Tagged(depth), Tagged(1), leaf], isInner: true)
        let none = builder.integers([0x7fff_ffff])
        let table = builder.refs([spec, 0, root, Tagged(0), 0, Tagged(0), Tagged(0), none, none, Tagged(0), 0, 0])
        let file = try RealmFile(url: scratch.file(builder.file(tables: [("class_Deep", table)])))
        let error = #expect(throws: RealmFileError.self) { try file.forEachObject(of: file.classes[0]) { _ in } }
        #expect(error?.code == .damaged && error?.location == "Deep")
    }
}
