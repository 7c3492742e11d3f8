// SPDX-License-Identifier: Apache-2.0
// Rows of embedded tables below the object layer: they are deleted with the link that owns them.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct OwnershipTests {
    private static let tables = [
        NewTable(
            name: "Owner",
            columns: [
                NewColumn(name: "one", type: .link, targetName: "Part"),
                NewColumn(name: "many", type: .link, collection: .list, targetName: "Part"),
                NewColumn(name: "friend", type: .link, targetName: "Owner"),
            ]),
        NewTable(
            name: "Part", isEmbedded: true,
            columns: [
                NewColumn(name: "text", type: .string),
                NewColumn(name: "next", type: .link, targetName: "Part"),
                NewColumn(name: "parts", type: .link, collection: .list, targetName: "Part"),
            ]),
    ]

    private struct Home {
        let database: Database
        let session: Session
        let owners: Table
        let parts: Table

        init() throws {
            database = try Database.open(path: "/o.realm", fileSystem: MemoryFileSystem())
            session = try database.makeSession()
            try session.beginWrite()
            try session.addTables(OwnershipTests.tables)
            owners = try #require(session.table(named: "Owner"))
            parts = try #require(session.table(named: "Part"))
        }

        func insert(_ table: Table) throws -> ObjectKey {
            let location = try table.insertRow()
            try table.finishInsert(location)
            return location.key
        }

        /// Commits, and returns the findings of the integrity check.
        func findings() throws -> [Finding] {
            try session.commitWrite()
            return IntegrityCheck.run(database).findings
        }
    }

    @Test("A chain of 100,000 rows is deleted with its first link")
    func longChain() throws {
        let home = try Home()
        let owner = try home.insert(home.owners)
        var last = try home.insert(home.parts)
        try home.owners.set(.link(last), 0, of: owner)
        for i in 1..<100_000 {
            let next = try home.insert(home.parts)
            if i % 2 == 0 {
                try home.parts.set(.link(next), 1, of: last)
            } else {
                try home.parts.listInsert([.link(next)], 2, of: last, at: 0)
            }
            last = next
        }
        #expect(try home.findings().isEmpty && home.parts.count == 100_000)
        try home.session.beginWrite()
        try home.owners.set(.null, 0, of: owner)
        #expect(home.parts.count == 0)
        #expect(try home.findings().isEmpty)
    }

    @Test("The integrity check finds a row without an owner, and a row with two")
    func lawOfOneOwner() throws {
        let home = try Home()
        let owner = try home.insert(home.owners)
        _ = try home.insert(home.parts)
        let shared = try home.insert(home.parts)
        try home.owners.set(.link(shared), 0, of: owner)
        try home.owners.listInsert([.link(shared)], 1, of: owner, at: 0)
        let texts = try home.findings().filter { $0.law == 12 }.map(\.text)
        #expect(texts.count == 2, "\(texts)")
        for (text, ends) in zip(texts, [("object 1", "0 owners"), ("object 2", "2 owners")]) {
            #expect(text.hasPrefix("Part: \(ends.0) (block at page ") && text.hasSuffix(") has \(ends.1)"), "\(text)")
        }
    }

    @Test("Deleting all owners, all parts or everything leaves consistent tables", arguments: 0..<3)
    func deletingAll(_ kind: Int) throws {
        let home = try Home()
        for _ in 0..<100 {
            let owner = try home.insert(home.owners)
            let part = try home.insert(home.parts)
            let inner = try home.insert(home.parts)
            try home.owners.set(.link(part), 0, of: owner)
            try home.parts.listInsert([.link(inner)], 2, of: part, at: 0)
        }
        switch kind {
        case 0: try home.owners.deleteAll()
        case 1: try home.parts.deleteAll()
        default: try home.session.deleteAll()
        }
        #expect(home.parts.count == 0 && home.owners.count == (kind == 1 ? 100 : 0))
        #expect(try home.findings().isEmpty)
    }

    @Test("Random changes keep one owner for each row", arguments: RunSeed.list(0...9))
    func model(_ seed: RunSeed) throws {
        let home = try Home()
        var random = SeededRandom(seed: seed.value)
        var owners: [ObjectKey] = []
        for _ in 0..<10 { owners.append(try home.insert(home.owners)) }
        func part() throws -> Value { .link(try home.insert(home.parts)) }
        for step in 0..<600 {
            let owner = owners[random.below(owners.count)]
            let count = try home.owners.listCount(1, of: owner)
            switch random.below(9) {
            case 0: try home.owners.set(try part(), 0, of: owner)
            case 1: try home.owners.set(.null, 0, of: owner)
            case 2, 3:
                try home.owners.listInsert([try part(), try part()], 1, of: owner, at: random.below(count + 1))
            case 4 where count > 0: try home.owners.listSet(try part(), 1, of: owner, at: random.below(count))
            case 5 where count > 0:
                let start = random.below(count)
                try home.owners.listRemove(start..<start + random.below(count - start + 1), 1, of: owner)
            case 6 where home.parts.count > 0:
                let key = try home.parts.key(atPosition: random.below(home.parts.count))
                if random.below(2) == 0 {
                    try home.parts.delete(key)
                } else {
                    try home.parts.listInsert([try part()], 2, of: key, at: 0)
                }
            case 7 where home.parts.count > 0:
                let key = try home.parts.key(atPosition: random.below(home.parts.count))
                try home.parts.set(try part(), 1, of: key)
            case 8 where random.below(8) == 0:
                try home.owners.delete(owner)
                owners.removeAll { $0 == owner }
                owners.append(try home.insert(home.owners))
            default: break
            }
            if step % 100 == 99 {
                #expect(try home.findings().isEmpty)
                try home.session.beginWrite()
            }
        }
        try home.owners.deleteAll()
        #expect(home.parts.count == 0)
        #expect(try home.findings().isEmpty)
    }
}
