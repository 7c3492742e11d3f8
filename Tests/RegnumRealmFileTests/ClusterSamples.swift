// SPDX-License-Identifier: Apache-2.0
// Makes tables of the layout of formats 10 to 21 for tests: clusters of objects with keys, before keys were sequential.

import Foundation

extension FileBuilder {
    /// A column of a table from format 10 on. `target` is the index of the table to which its links lead.
    struct ClusterColumn {
        var name: String
        var type: Int64
        var attributes: Int64 = 0
        var root: Int64
        var target: Int64?
    }

    /// The kinds of tables. Formats 10 and 11 do not store them.
    enum TableKind: Int64 { case topLevel, embedded, asymmetric }

    /// A table with one cluster of objects, or with those below `root`. `place` is its index among the tables;
    /// `backlinks` is the number of unnamed columns after the others.
    mutating func clusterTable(
        at place: Int64, keys: [Int64] = [], _ columns: [ClusterColumn], primaryKey: Int? = nil,
        kind: TableKind = .topLevel, backlinks: Int = 0, root: Int64? = nil
    ) -> Int64 {
        let noTable: Int64 = 0x7fff_ffff
        let named = columns.enumerated().map { Int64($0) | $1.type << 16 | $1.attributes << 22 }
        let unnamed = (0..<backlinks).map { Int64(columns.count + $0) | 14 << 16 }
        let spec = refs([
            integers(columns.map(\.type) + unnamed.map { _ in 14 }), shortTexts(columns.map(\.name), width: 32),
            integers(columns.map(\.attributes) + unnamed.map { _ in 0 }), 0, 0, integers(named + unnamed),
        ])
        let cluster = root ?? refs([integers(keys)] + columns.map(\.root) + unnamed.map { _ in 0 })
        let targets = integers(columns.map { $0.target ?? noTable } + unnamed.map { _ in 0 })
        var top = [spec, 0, cluster, Tagged(place), 0, Tagged(0), Tagged(0), targets, 0, Tagged(0), 0]
        top.append(primaryKey.map { Tagged(named[$0]) } ?? 0)
        if format >= 20 { top += [Tagged(kind.rawValue), 0] }
        return refs(top)
    }
}

enum ClusterSamples {
    /// Two people with links, lists and a primary key, and the schema version 11. From format 20 on, the first one owns
    /// an address.
    static func people(_ builder: inout FileBuilder) -> [(String, Int64)] {
        let texts: [[UInt8]?] = [Array("a text of medium length".utf8), nil]
        var columns: [FileBuilder.ClusterColumn] = [
            .init(name: "id", type: 0, attributes: 1, root: builder.integers([7, -8])),
            .init(name: "name", type: 2, attributes: 16, root: builder.shortTexts(["Ann", nil], width: 8)),
            .init(name: "note", type: 2, attributes: 16, root: builder.medium(texts, isText: true, nullMark: true)),
            .init(name: "age", type: 0, attributes: 16, root: builder.nullable([nil, 40])),
            .init(name: "isHere", type: 1, root: builder.integers([1, 0])),
            .init(name: "score", type: 10, root: builder.doubles([1.5, -2])),
            .init(
                name: "born", type: 8, attributes: 16,
                root: builder.refs([builder.nullable([100, nil]), builder.integers([250_000_000, 0])])),
            // The keys of link columns are one greater: 0 is null.
            .init(name: "best", type: 12, attributes: 16, root: builder.integers([Self.keys[1] + 1, 0]), target: 0),
            .init(
                name: "friends", type: 13, attributes: 32,
                root: builder.refs([builder.integers([Self.keys[1], Self.keys[0], Self.keys[1]]), 0]), target: 0),
            .init(
                name: "tags", type: 2, attributes: 32,
                root: builder.refs([0, builder.shortTexts(["x", "y"], width: 4)])),
        ]
        var tables: [(String, Int64)] = []
        if builder.format >= 20 {
            columns.append(
                .init(name: "home", type: 12, attributes: 16, root: builder.integers([6, 0]), target: 2))
        }
        tables.append(
            (
                "class_Person",
                builder.clusterTable(at: 0, keys: Self.keys, columns, primaryKey: 0, backlinks: 2)
            ))
        let version = FileBuilder.ClusterColumn(name: "version", type: 0, root: builder.integers([11]))
        tables.append(("metadata", builder.clusterTable(at: 1, keys: [0], [version])))
        if builder.format >= 20 {
            let street = FileBuilder.ClusterColumn(
                name: "street", type: 2, root: builder.shortTexts(["Main"], width: 8))
            tables.append(
                (
                    "class_Address",
                    builder.clusterTable(at: 2, keys: [5], [street], kind: .embedded, backlinks: 1)
                ))
        }
        return tables
    }

    /// The keys of the people. Up to format 21 keys were computed from primary keys, and far apart.
    static let keys: [Int64] = [3, 1 << 40 | 9]
}
