// SPDX-License-Identifier: Apache-2.0
// Structures of formats from 10 on that no file at hand has: columns of typed links, links without a table, clusters of
// 4 objects, tables without objects, and trees of three levels.

import Foundation
import RegnumRealmFile
import Testing

extension FileBuilder {
    /// A tree of objects with the keys 0 ..< `count`, `1 << shift` in each node. Its column has three times the key.
    fileprivate mutating func clusterTree(count: Int, shift: Int) -> Int64 {
        let fanOut = 1 << shift
        var nodes: [(ref: Int64, count: Int)] = []
        for start in stride(from: 0, to: count, by: fanOut) {
            let keys = start..<min(start + fanOut, count)
            nodes.append((refs([Tagged(Int64(keys.count)), integers(keys.map { Int64($0) * 3 })]), keys.count))
        }
        var depth: Int64 = 1
        while nodes.count > 1 {
            var parents: [(ref: Int64, count: Int)] = []
            for start in stride(from: 0, to: nodes.count, by: fanOut) {
                let children = nodes[start..<min(start + fanOut, nodes.count)]
                let sum = children.reduce(0) { $0 + $1.count }
                let parts = [0, Tagged(depth), Tagged(Int64(sum))] + children.map(\.ref)
                parents.append((refs(parts, isInner: true), sum))
            }
            nodes = parents
            depth += 1
        }
        return nodes[0].ref
    }
}

@Suite("Files of clusters") struct ClusterFilesTests {
    private typealias Column = FileBuilder.ClusterColumn

    private func open(
        _ format: UInt8 = 24, _ build: (inout FileBuilder) -> [(String, Int64)]
    ) throws -> RealmFile {
        let scratch = try Scratch()
        var builder = FileBuilder(format: format)
        let tables = build(&builder)
        return try RealmFile(url: scratch.file(builder.file(tables: tables)))
    }

    private func values(_ file: RealmFile) throws -> [RealmFileValue] {
        var values: [RealmFileValue] = []
        try file.forEachObject(of: file.tables[0]) { values.append(try $0.value(at: 0)) }
        return values
    }

    private func link(_ table: Int, _ key: Int64) -> RealmFileValue {
        .link(RealmFileLink(tableIndex: table, key: key))
    }

    /// A cluster with more than one typed link was once damage.
    @Test("A column of typed links has two numbers for each object")
    func typedLinks() throws {
        let file = try open { builder in
            // Keys of tables and objects plus 1: an object, none, a deleted object, one of a table that is not there.
            let pairs = builder.integers([1, 7, 0, 0, 1, -1, 9, 3])
            let column = Column(name: "any", type: 16, attributes: 16, root: pairs)
            return [("class_A", builder.clusterTable(at: 0, keys: [0, 1, 2, 6], [column]))]
        }
        #expect(file.tables[0].properties[0].type == .any)
        #expect(try values(file) == [link(0, 6), .null, .null, link(-1, 2)])
        #expect(file.deletedLinkCount == 1)
        let lists = try open { builder in
            let lists = builder.refs([builder.integers([1, 7, 0, 0]), 0])
            let column = Column(name: "all", type: 16, attributes: 16 | 32, root: lists)
            return [("class_A", builder.clusterTable(at: 0, keys: [0, 6], [column]))]
        }
        #expect(try values(lists) == [.list([link(0, 6), .null]), .list([])])
        let odd = try open { builder in
            let column = Column(name: "any", type: 16, attributes: 16, root: builder.integers([1, 7, 1]))
            return [("class_A", builder.clusterTable(at: 0, keys: [0, 1], [column]))]
        }
        let error = #expect(throws: RealmFileError.self) { try values(odd) }
        #expect(error?.code == .damaged && error?.location == "A.any")
    }

    /// The index among the numbers of the leaf was once taken for the key.
    @Test("A link without a table in a value of any type has its key among the numbers of the leaf")
    func linkWithoutTable() throws {
        let file = try open { builder in
            // Type 12, whose value is a number of the leaf, by its index.
            let composites = builder.integers([45 | 1 << 8, 45])
            let leaf = builder.refs([composites, builder.integers([5, 1 << 40]), 0, 0, 0])
            let column = Column(name: "any", type: 6, attributes: 16, root: leaf)
            return [("class_A", builder.clusterTable(at: 0, keys: [0, 1], [column]))]
        }
        #expect(try values(file) == [link(-1, 1 << 40), link(-1, 5)])
    }

    /// A link to a table that the file does not have was once counted as one to a deleted object, and got lost without
    /// a report.
    @Test("A link to an unknown table leads nowhere, and is none to a deleted object")
    func unknownTable() throws {
        let file = try open { builder in
            // Type 16, whose value is a pair of numbers of the leaf, by its index.
            let composites = builder.integers([81, 81 | 1 << 8, 81 | 2 << 8])
            let leaf = builder.refs([composites, 0, builder.integers([7, 3, 0, -5, 0, 1]), 0, 0])
            let column = Column(name: "any", type: 6, attributes: 16, root: leaf)
            return [("class_A", builder.clusterTable(at: 0, keys: [0, 1, 2], [column]))]
        }
        #expect(try values(file) == [link(-1, 3), .null, link(0, 1)])
        #expect(file.deletedLinkCount == 1)
        #expect(try file.object(RealmFileLink(tableIndex: -1, key: 3)) == nil)
    }

    /// A negative key once was the number of a row before the first one, and its value ended the program.
    @Test(
        "No key leads to an object of a table without objects",
        arguments: [-1, 0, .min, .max] as [Int64])
    func emptyTable(_ key: Int64) throws {
        let file = try open { builder in
            let column = Column(name: "id", type: 0, root: 0)
            return [("class_A", builder.clusterTable(at: 0, [column], root: 0))]
        }
        #expect(file.tables[0].objectCount == 0)
        #expect(try file.object(RealmFileLink(tableIndex: 0, key: key)) == nil)
        #expect(try values(file).isEmpty)
    }

    /// Each read was once charged to the budget of the whole scan, which a healthy file then exhausted.
    @Test("A value can be read any number of times")
    func repeatedReads() throws {
        let text = String(repeating: "long", count: 25_000)
        let file = try open { builder in
            let texts = builder.big([Array(text.utf8), Array("short".utf8)], isText: true)
            let lists = builder.refs([builder.big([Array(text.utf8), nil], isText: true), 0])
            return [
                (
                    "class_A",
                    builder.clusterTable(
                        at: 0, keys: [0, 1],
                        [
                            Column(name: "text", type: 2, attributes: 16, root: texts),
                            Column(name: "all", type: 2, attributes: 16 | 32, root: lists),
                        ])
                )
            ]
        }
        let cursor = file.objects(of: file.tables[0])
        let first = try #require(try cursor.next())
        for _ in 0..<200 {
            #expect(try first.value(at: 0) == .string(text))
            #expect(try first.value(at: 1) == .list([.string(text), .null]))
        }
        let second = try #require(try cursor.next())
        #expect(try second.value(at: 0) == .string("short"))
    }

    /// Files of realm-core's tests with 4 objects in a cluster were once read with the keys of clusters of 256.
    @Test(
        "Clusters of 4 objects are recognised, and links find their objects",
        arguments: [5, 16, 17, 70])
    func smallClusters(_ count: Int) throws {
        let file = try open(11) { builder in
            let column = Column(name: "id", type: 0, root: 0)
            let root = builder.clusterTree(count: count, shift: 2)
            return [("class_A", builder.clusterTable(at: 0, [column], root: root))]
        }
        var keys: [Int64] = []
        try file.forEachObject(of: file.tables[0]) { keys.append($0.key) }
        #expect(keys == Array(0..<Int64(count)))
        for key in keys {
            #expect(try file.object(RealmFileLink(tableIndex: 0, key: key))?.value("id") == .int(3 * key))
        }
        #expect(try file.object(RealmFileLink(tableIndex: 0, key: Int64(count))) == nil)
    }

    @Test("Clusters of more than 4 objects anywhere in a file are those of Realm's SDKs")
    func sparseClusters() throws {
        let file = try open { builder in
            let column = Column(name: "id", type: 0, root: 0)
            let few = [0, 1].map { builder.refs([Tagged(4), builder.integers([$0, 1, 2, 3])]) }
            let many = builder.refs([Tagged(5), builder.integers([0, 1, 2, 3, 4])])
            let small = builder.refs([0, Tagged(1), Tagged(8)] + few, isInner: true)
            return [
                ("class_A", builder.clusterTable(at: 0, [column], root: small)),
                ("class_B", builder.clusterTable(at: 1, [column], root: many)),
            ]
        }
        var keys: [Int64] = []
        try file.forEachObject(of: file.tables[0]) { keys.append($0.key) }
        #expect(keys == [0, 1, 2, 3, 256, 257, 258, 259])
    }

    @Test("Each of the objects of a tree of three levels is read once, and found by its key")
    func counts() throws {
        let count = 70_000
        let file = try open { builder in
            let column = Column(name: "id", type: 0, root: 0)
            let root = builder.clusterTree(count: count, shift: 8)
            return [("class_A", builder.clusterTable(at: 0, [column], root: root))]
        }
        #expect(file.tables[0].objectCount == count)
        var (found, sum) = (0, Int64(0))
        try file.forEachObject(of: file.tables[0]) { object in
            if case .int(let number) = try object.value(at: 0) { sum += number }
            found += 1
        }
        #expect(found == count && sum == 3 * Int64(count) * Int64(count - 1) / 2)
        for key in stride(from: Int64(0), to: Int64(count), by: 777) {
            #expect(try file.object(RealmFileLink(tableIndex: 0, key: key))?.value(at: 0) == .int(3 * key))
        }
    }

    @Test("A list of many elements that take no bytes ends with an error before it fills the memory")
    func emptyElements() throws {
        func list(_ leafCount: Int) throws -> [RealmFileValue] {
            let file = try open { builder in
                // A file of this size could hold the elements if each had a bit.
                _ = builder.blob([UInt8](repeating: 0, count: 1 << 20))
                let leaf = builder.integers([Int64](repeating: 0, count: 65_535))
                let counts = [Int](repeating: 65_535, count: leafCount)
                let tree = builder.tree([Int64](repeating: leaf, count: leafCount), counts: counts, full: 65_535)
                let column = Column(name: "all", type: 0, attributes: 32, root: builder.refs([tree]))
                return [("class_A", builder.clusterTable(at: 0, keys: [0], [column]))]
            }
            return try values(file)
        }
        #expect(try list(2) == [.list([RealmFileValue](repeating: .int(0), count: 2 * 65_535))])
        let error = #expect(throws: RealmFileError.self) { try list(64) }
        #expect(error?.code == .damaged && error?.message.contains("without bytes") == true)
    }
}
