// SPDX-License-Identifier: Apache-2.0
// The tables of formats up to 9 that tests read, and whose bytes they change.

import Foundation

/// Each function adds its nodes and returns the tables of a file.
enum OldFormatSamples {
    static let all: [@Sendable (inout FileBuilder) -> [(String, Int64)]] = [numbers, bytes, references, anyValues]

    /// Numbers of each type and width, and the schema version.
    static func numbers(_ builder: inout FileBuilder) -> [(String, Int64)] {
        let columns: [FileBuilder.LegacyColumn] = [
            ("small", 0, 1, builder.integers([0, 1, 3, 2])),
            ("large", 0, 0, builder.integers([-1, .max, .min, 7])),
            ("optional", 0, 16 | 1, builder.nullable([5, nil, -5, nil])),
            ("flag", 1, 0, builder.integers([0, 1, 1, 0])),
            ("maybe", 1, 16, builder.nullable([1, nil, 0, nil], null: 2)),
            ("float", 9, 0, builder.floats([1.5, -2, 0, nil])),
            ("double", 10, 16, builder.doubles([1.25, nil, .infinity, -0.5])),
            ("old", 7, 16, builder.nullable([1_000_000_000, nil, -1, 0])),
        ]
        return [("class_Numbers", builder.legacyTable(columns)), ("metadata", builder.metadataTable(11))]
    }

    /// Texts and binary values in each layout.
    static func bytes(_ builder: inout FileBuilder) -> [(String, Int64)] {
        let long = String(repeating: "long ", count: 40)
        let texts: [[UInt8]?] = [Array("medium text".utf8), nil, [], Array("zero\u{0}inside".utf8)]
        let columns: [FileBuilder.LegacyColumn] = [
            ("short", 2, 16, builder.shortTexts(["one", nil, "", "four"], width: 8)),
            ("medium", 2, 16, builder.medium(texts, isText: true, nullMark: false)),
            ("plain", 2, 0, builder.medium(texts.map { $0 ?? [] }, isText: true, nullMark: nil)),
            ("big", 2, 16, builder.big([Array(long.utf8), nil, [], Array("x".utf8)], isText: true)),
            ("empty", 2, 0, builder.fixed([[], [], [], []], width: 0)),
            ("null", 2, 16, builder.fixed([[], [], [], []], width: 0)),
            ("data", 4, 16, builder.medium([[1, 2], nil, [], [0]], isText: false, nullMark: true)),
            ("oldData", 4, 0, builder.medium([[1, 2], [], [], [0]], isText: false, nullMark: nil)),
            ("bigData", 4, 16, builder.big([[1, 2], nil, [], [0]], isText: false)),
            ("interned", 3, 0, builder.integers([1, 0, 1, 1])),
        ]
        let interned = builder.shortTexts(["red", "blue"], width: 8)
        return [("class_Bytes", builder.legacyTable(columns, interned: [interned]))]
    }

    /// Links, lists, tables within tables, dates and a primary key.
    static func references(_ builder: inout FileBuilder) -> [(String, Int64)] {
        let numbers: [FileBuilder.LegacyColumn] = [("!ARRAY_VALUE", 0, 16, 0)]
        let pairs: [FileBuilder.LegacyColumn] = [("a", 0, 1, 0), ("b", 2, 0, 0)]
        let dates = builder.refs([builder.nullable([100, nil]), builder.integers([250_000_000, 0])])
        let lists = builder.refs([builder.refs([builder.nullable([1, nil, 3])]), 0])
        let rowsRoots = builder.legacyRoots([
            ("a", 0, 1, builder.integers([7, 8])), ("b", 2, 0, builder.shortTexts(["x", "y"], width: 4)),
        ])
        let columns: [FileBuilder.LegacyColumn] = [
            ("id", 2, 1, builder.shortTexts(["a", "b"], width: 4)), ("next", 12, 0, builder.integers([2, 0])),
            ("all", 13, 0, builder.refs([builder.integers([1, 0, 1]), 0])), ("values", 5, 0, lists),
            ("rows", 5, 0, builder.refs([0, rowsRoots])), ("at", 8, 16, dates), ("", 14, 0, builder.refs([0, 3])),
        ]
        let targets = [
            Tagged(0), Tagged(0), builder.legacySpec(numbers), builder.legacySpec(pairs), Tagged(0), Tagged(1),
        ]
        return [
            ("class_Node", builder.legacyTable(columns, targets: targets)),
            ("pk", builder.primaryKeyTable([("Node", "id")])),
        ]
    }

    /// Values of any type, one of each kind.
    static func anyValues(_ builder: inout FileBuilder) -> [(String, Int64)] {
        let kinds: [Int64] = [0, 12, 1, 2, 4, 7, 8, 9, 10, 11]
        let negative = Int64(bitPattern: UInt64(bitPattern: -3) << 1)
        let data: [Int64] = [
            Tagged(42), negative | 1, Tagged(1), Tagged(0), Tagged(1), Tagged(60), Tagged(0),
            Tagged(Int64(Float(1.5).bitPattern)),
            Int64(bitPattern: (2.5).bitPattern << 1) | 1, Int64(bitPattern: (-2.5).bitPattern << 1) | 1,
        ]
        let dates = builder.refs([builder.nullable([77]), builder.integers([5])])
        let binaries = builder.big([Array("text".utf8) + [0], [9, 9]], isText: false)
        let root = builder.refs([builder.integers(kinds), builder.refs(data), binaries, dates])
        return [("class_Any", builder.legacyTable([("any", 6, 0, root)]))]
    }
}
