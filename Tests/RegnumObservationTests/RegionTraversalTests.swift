// SPDX-License-Identifier: Apache-2.0
// The objects that a change reaches over links, compared with a traversal from each object along its links; and that no
// more objects are visited than can reach a requested one.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@testable import RegnumObservation

/// Tables with links to each other, and two sessions: one writes, one stays at an older version.
private struct Web {
    let writer: Session
    let told: Session
    /// Columns of each table: a number, a link, a list of links, and a value of any type.
    static let number = 0, link = 1, list = 2, any = 3

    /// `targets`: for each table the target of its link and of its list.
    init(_ targets: [(link: Int, list: Int)], counts: [Int]) throws {
        let database = try Database.open(path: "/web.realm", fileSystem: MemoryFileSystem())
        writer = try database.makeSession()
        told = try database.makeSession()
        try writer.beginWrite()
        try writer.addTables(
            targets.enumerated().map { index, target in
                NewTable(
                    name: "T\(index)",
                    columns: [
                        NewColumn(name: "number", type: .int),
                        NewColumn(name: "link", type: .link, targetName: "T\(target.link)"),
                        NewColumn(name: "list", type: .link, collection: .list, targetName: "T\(target.list)"),
                        NewColumn(name: "any", type: .mixed, isNullable: true),
                    ])
            })
        for (table, count) in zip(writer.tables, counts) {
            for _ in 0..<count { try table.finishInsert(try table.insertRow()) }
        }
        try writer.commitWrite()
        _ = try told.refresh()
    }

    func table(_ index: Int) -> Table { writer.tables[index] }

    func walk() throws -> RegionTraversal {
        RegionTraversal(older: told, newer: writer, changes: try writer.changes(since: told))
    }

    func write(_ body: () throws -> Void) throws {
        try writer.beginWrite()
        try body()
        try writer.commitWrite()
    }

    /// The links of an object.
    private func targets(_ table: Table, _ key: ObjectKey) throws -> [(table: Table, key: ObjectKey)] {
        var found: [(table: Table, key: ObjectKey)] = []
        for column in [Self.link, Self.list] {
            let values =
                column == Self.link ? [try table.value(column, of: key)] : try table.listValues(column, of: key)
            let target = try #require(table.definition.columns[column].target.flatMap { writer.table($0) })
            for case .link(let key) in values { found.append((target, key)) }
        }
        if case .typedLink(let target, let key) = try table.value(Self.any, of: key) {
            found.append((try #require(writer.table(target)), key))
        }
        return found
    }

    /// Whether at most `depth` links lead from the object to a changed one.
    func leadsToChange(_ table: Table, _ key: ObjectKey, _ depth: Int, _ walk: RegionTraversal) throws -> Bool {
        if walk.changes[table.definition.key]?.modified.contains(key) ?? false { return true }
        if depth == 0 { return false }
        return try targets(table, key).contains { try leadsToChange($0.table, $0.key, depth - 1, walk) }
    }
}

@Suite struct RegionTraversalTests {
    @Test(
        "A change reaches the objects that lead to it over at most the given number of links", arguments: UInt64(1)...12
    )
    func reach(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let tableCount = 2 + random.below(5)
        let targets = (0..<tableCount).map { _ in (link: random.below(tableCount), list: random.below(tableCount)) }
        let web = try Web(targets, counts: (0..<tableCount).map { _ in 1 + random.below(12) })
        func some(_ table: Table) throws -> ObjectKey { try table.key(atPosition: random.below(table.count)) }
        for _ in 0..<6 {
            try web.write {
                for _ in 0..<2 + random.below(8) {
                    let index = random.below(tableCount)
                    let table = web.table(index)
                    let key = try some(table)
                    switch random.below(4) {
                    case 0: try table.set(.int(Int64(random.below(1000))), Web.number, of: key)
                    case 1: try table.set(.link(try some(web.table(targets[index].link))), Web.link, of: key)
                    case 2:
                        let other = try some(web.table(targets[index].list))
                        try table.listInsert([.link(other)], Web.list, of: key, at: 0)
                    default:
                        let other = web.table(random.below(tableCount))
                        let value = Value.typedLink(other.definition.key, try some(other))
                        try table.set(random.below(3) == 0 ? .null : value, Web.any, of: key)
                    }
                }
            }
            let walk = try web.walk()
            // The result for one table must not be used for another.
            for depth in [2, 0, 5, 1, 4, 3] {
                for index in (0..<tableCount).map({ ($0 + random.below(tableCount)) % tableCount }) {
                    let table = web.table(index)
                    let keys = try (0..<table.count).map { try table.key(atPosition: $0) }
                    let expected = try keys.filter { try web.leadsToChange(table, $0, depth, walk) }
                    let found = try walk.modified(.everything(table.definition.key, depth: depth))
                    #expect(found == Set(expected), "depth \(depth) from table \(index)")
                }
            }
            try web.told.move(to: web.writer)
        }
    }

    @Test("Objects that are too far away to be reached are not visited")
    func distance() throws {
        // In tables 0 to 2 each object links to one of the next table; later tables have one object, one with a list to
        // table 0.
        let web = try Web((0..<6).map { (link: min($0 + 1, 5), list: 0) }, counts: [300, 300, 300, 1, 1, 1])
        try web.write {
            for index in 0..<5 {
                let (table, target) = (web.table(index), web.table(index + 1))
                for position in 0..<table.count {
                    let other = try target.key(atPosition: position % target.count)
                    try table.set(.link(other), Web.link, of: try table.key(atPosition: position))
                }
            }
            let first = try web.table(0).key(atPosition: 0)
            try web.table(3).listInsert([.link(first)], Web.list, of: try web.table(3).key(atPosition: 0), at: 0)
        }
        try web.told.move(to: web.writer)
        try web.write { try web.table(5).set(.int(1), Web.number, of: try web.table(5).key(atPosition: 0)) }
        let walk = try web.walk()
        #expect(try walk.modified(.everything(web.table(0).definition.key)).isEmpty)
        #expect(walk.backlinkCount == 0)
        #expect(try walk.modified(.everything(web.table(3).definition.key)).count == 1)
        #expect(walk.backlinkCount == 2)
        #expect(try walk.modified(.everything(web.table(1).definition.key)).count == 300)
        #expect(walk.backlinkCount == 2 + 1 + 1 + 1 + 300)
        // From the objects that lead to table 1, no links remain to reach it a second time.
        try web.told.move(to: web.writer)
        try web.write { try web.table(1).set(.int(1), Web.number, of: try web.table(1).key(atPosition: 0)) }
        let other = try web.walk()
        #expect(try other.modified(.everything(web.table(0).definition.key)).count == 1)
        #expect(other.backlinkCount == 1)
    }
}
