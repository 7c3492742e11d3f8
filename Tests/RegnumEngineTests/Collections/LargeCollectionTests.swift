// SPDX-License-Identifier: Apache-2.0
// Collections of a million elements: the pages that a single change writes, and that nothing is lost or kept too long.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct LargeCollectionTests {
    static let table = NewTable(
        name: "T",
        columns: [
            NewColumn(name: "list", type: .int, collection: .list),
            NewColumn(name: "set", type: .int, collection: .set),
            NewColumn(name: "dictionary", type: .string, collection: .dictionary),
            NewColumn(name: "links", type: .link, collection: .list, targetName: "T"),
        ])
    static let count = RunScale.isOptimized ? 1_000_000 : 20_000

    private let files = SimulatedFileSystem(seed: 3, reservedByteCount: 256 << 20)

    private func make(_ body: (Table, ObjectKey) throws -> Void) throws -> Database {
        let database = try Database.open(path: "/l.realm", fileSystem: files)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([Self.table])
        let table = try #require(session.table(named: "T"))
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        try body(table, key)
        try session.commitWrite()
        return database
    }

    /// The number of pages of the blocks that a commit of `body` writes.
    private func pagesWritten(_ database: Database, _ body: (Table) throws -> Void) throws -> Int {
        let session = try database.makeSession()
        try session.beginWrite()
        try body(try #require(session.table(named: "T")))
        try session.commitWrite()
        var pages = 0
        let bytes = files.contents(of: "/l.realm") ?? []
        bytes.withUnsafeBytes { bytes in
            var page = Int(FormatLimits.reservedPages)
            while (page + 1) * 4096 <= bytes.count {
                let count = Int(bytes.load(fromByteOffset: page * 4096 + 4, as: UInt16.self)) + 1
                let isNew =
                    bytes.load(fromByteOffset: page * 4096, as: UInt16.self) == BlockHeader.magic
                    && bytes.load(fromByteOffset: page * 4096 + 8, as: UInt64.self) == UInt64(page)
                    && bytes.load(fromByteOffset: page * 4096 + 16, as: UInt64.self) == session.version
                if isNew { pages += count }
                page += isNew ? count : 1
            }
        }
        return pages
    }

    @Test("A list that grew one by one holds its elements in order and in full leaves")
    func appends() throws {
        let count = Self.count
        let database = try make { table, key in
            for i in 0..<count { try table.listInsert([.int(Int64(i))], 0, of: key, at: i) }
            #expect(try table.listCount(0, of: key) == count)
            #expect(try table.listValue(0, of: key, at: count / 2) == .int(Int64(count / 2)))
        }
        let session = try database.makeSession()
        let table = try #require(session.table(named: "T"))
        let key = ObjectKey(1)
        var next: Int64 = 0
        var leaves = 0
        let location = try #require(try table.locate(key))
        try table.forEachLeaf(0, location) { leaf in
            leaves += 1
            for i in 0..<leaf.count {
                if Int64(bitPattern: leaf.integer(i)) != next { return false }
                next += 1
            }
            return true
        }
        #expect(next == Int64(count))
        #expect(leaves <= count / 950)
        var at = 0
        while at < count {
            let chunk = try table.listChunk(0, of: key, from: at)
            if chunk.first != .int(Int64(at)) { break }
            at += chunk.count
        }
        #expect(at == count)
        for i in stride(from: 0, to: count, by: 997) {
            if try table.listValue(0, of: key, at: i) != .int(Int64(i)) { Issue.record("element \(i)") }
        }
        #expect(IntegrityCheck.run(database).findings == [])
    }

    @Test("A change of a large collection writes at most 12 pages")
    func smallCommits() throws {
        let count = Self.count
        let key = ObjectKey(1)
        let database = try make { table, key in
            try table.listInsert((0..<count).map { .int(Int64($0)) }, 0, of: key, at: 0)
            for i in 0..<count { try table.setInsert(.int(Int64(i) * 2), 1, of: key) }
            for i in 0..<count / 20 { try table.dictionarySet("key \(1_000_000 + i)", .string("value"), 2, of: key) }
        }
        let changes: [(Table) throws -> Void] = [
            { try $0.listInsert([.int(5)], 0, of: key, at: count) },
            { try $0.listInsert([.int(5)], 0, of: key, at: count / 3) },
            { try $0.listSet(.int(6), 0, of: key, at: count / 2) },
            { try $0.listRemove(7..<8, 0, of: key) },
            { if try $0.setInsert(.int(101), 1, of: key) == false { Issue.record("no change") } },
            { if try $0.setRemove(.int(102), 1, of: key) == false { Issue.record("no change") } },
            { try $0.dictionarySet("key 1000007", .string("other"), 2, of: key) },
            { if try $0.dictionaryRemove("key 1000300", 2, of: key) == false { Issue.record("no change") } },
        ]
        for (i, change) in changes.enumerated() {
            let pages = try pagesWritten(database, change)
            #expect(pages > 0 && pages <= 12, "change \(i) wrote \(pages) pages")
        }
        let session = try database.makeSession()
        let table = try #require(session.table(named: "T"))
        #expect(try table.listCount(0, of: key) == count + 1)
        #expect(try table.setIndex(of: .int(101), 1, of: key) == 51)
        #expect(try table.setIndex(of: .int(102), 1, of: key) == nil)
        #expect(try table.dictionaryIndex(of: "key 1000008", 2, of: key) == 8)
        #expect(IntegrityCheck.run(database).findings == [])
    }

    @Test("A copy of the file includes the large collections, including uncommitted ones")
    func copies() throws {
        let key = ObjectKey(1)
        let database = try make { table, key in
            try table.listInsert((0..<9000).map { .int($0) }, 0, of: key, at: 0)
            for i in 0..<2000 { try table.dictionarySet("key \(i)", .string("value \(i)"), 2, of: key) }
        }
        let session = try database.makeSession()
        let table = try #require(session.table(named: "T"))
        try session.beginWrite()
        try table.listRemove(10..<20, 0, of: key)
        try session.writeCopy(to: "/copy.realm", in: files)
        try table.listRemove(0..<10, 0, of: key)
        try session.commitWrite()
        let copy = try Database.open(path: "/copy.realm", fileSystem: files)
        let copySession = try copy.makeSession()
        let copied = try #require(copySession.table(named: "T"))
        #expect(try copied.listValues(0, of: key) == ((0..<10).map { .int($0) } + (20..<9000).map { .int($0) }))
        #expect(try copied.dictionaryEntries(2, of: key) == table.dictionaryEntries(2, of: key))
        #expect(try table.listValues(0, of: key) == (20..<9000).map { .int($0) })
        #expect(IntegrityCheck.run(copy).findings == [])
        #expect(IntegrityCheck.run(database).findings == [])
    }

    @Test("Two large collections that are changed alternately keep every change")
    func inTurn() throws {
        let database = try make { table, key in
            for i in 0..<3000 {
                try table.listInsert([.int(Int64(i))], 0, of: key, at: 0)
                try table.setInsert(.int(Int64(i * 7919 % 10_007)), 1, of: key)
                if i % 10 == 0 {
                    #expect(try table.listCount(0, of: key) == i + 1)
                    #expect(try table.listValue(0, of: key, at: i) == .int(0))
                }
            }
            #expect(try table.listValues(0, of: key) == (0..<3000).reversed().map { .int(Int64($0)) })
        }
        let session = try database.makeSession()
        let table = try #require(session.table(named: "T"))
        #expect(
            try table.listValues(1, of: ObjectKey(1))
                == (0..<3000).map { $0 * 7919 % 10_007 }.sorted().map { .int(Int64($0)) })
        #expect(IntegrityCheck.run(database).findings == [])
    }

    @Test("More collections than may be open at once, changed alternately, keep every change", arguments: [1, 400])
    func manyInTurn(elements: Int64) throws {
        let rows = elements == 1 ? OpenCollections.limit + 100 : 2_000
        let database = try make { table, _ in
            var keys: [ObjectKey] = []
            for _ in 1..<rows {
                let location = try table.insertRow()
                keys.append(location.key)
                try table.finishInsert(location)
            }
            var (most, largest) = (0, 0)
            for round in 0..<Int64(3) {
                for key in keys {
                    let start = Int64(key.rawValue) + round * elements
                    try table.listInsert(
                        (start..<start + elements).map { .int($0) }, 0, of: key, at: Int(round * elements))
                    most = max(most, table.openCollections.count)
                    largest = max(largest, table.openCollections.decodedByteCount)
                }
            }
            #expect(most <= OpenCollections.limit)
            #expect(largest <= OpenCollections.byteLimit + 3 * 400 * 64)
            // One of the two limits was reached, so that all were written back in between.
            #expect(most == OpenCollections.limit || largest > OpenCollections.byteLimit)
            #expect(most > 400)
        }
        let session = try database.makeSession()
        let table = try #require(session.table(named: "T"))
        try withExtendedLifetime(session) { () throws in
            for number in 2...UInt64(rows) {
                let start = Int64(number)
                #expect(
                    try table.listValues(0, of: ObjectKey(number)) == (start..<start + 3 * elements).map { .int($0) })
            }
        }
        #expect(IntegrityCheck.run(database).findings == [])
    }

    @Test("The decoded elements of open collections stay bounded when these are changed alternately")
    func boundedInTurn() throws {
        let table = NewTable(
            name: "T", columns: [NewColumn(name: "texts", type: .string, collection: .list)])
        let database = try Database.open(path: "/b.realm", fileSystem: files)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([table])
        let opened = try #require(session.table(named: "T"))
        var keys: [ObjectKey] = []
        for _ in 0..<50 {
            let location = try opened.insertRow()
            keys.append(location.key)
            try opened.finishInsert(location)
        }
        let text = String(repeating: "x", count: 1000)
        var (largest, wereWrittenBack) = (0, false)
        for round in 0..<400 {
            for key in keys {
                let before = opened.openCollections.count
                try opened.listInsert([.string("\(key.rawValue) \(round) \(text)")], 0, of: key, at: 0)
                if opened.openCollections.count < before { wereWrittenBack = true }
                largest = max(largest, opened.openCollections.decodedByteCount)
            }
        }
        #expect(wereWrittenBack)
        #expect(largest > OpenCollections.byteLimit && largest < OpenCollections.byteLimit + 65536)
        try session.commitWrite()
        for key in keys {
            let expected = (0..<400).reversed().map { Value.string("\(key.rawValue) \($0) \(text)") }
            #expect(try opened.listValues(0, of: key) == expected)
        }
        #expect(IntegrityCheck.run(database).findings == [])
    }

    @Test("A collection that was opened and not changed can be read after its row has moved")
    func unchangedOpen() throws {
        _ = try make { table, key in
            let location = try table.insertRow()
            let other = location.key
            try table.finishInsert(location)
            try table.setInsert(.int(7), 1, of: key)
            try table.listInsert([.int(1), .int(2)], 0, of: key, at: 0)
            // Writes both back.
            try table.delete(other)
            // Open, and not changed.
            #expect(try !table.setInsert(.int(7), 1, of: key))
            try table.listInsert([], 0, of: key, at: 1)
            // The row's group is packed, and its memory is released.
            for number in 0..<Int64(2500) {
                let location = try table.insertRow()
                try table.finishInsert(location)
                try table.setInsert(.int(number), 1, of: location.key)
            }
            #expect(try table.setIndex(of: .int(7), 1, of: key) == 0)
            try table.setInsert(.int(8), 1, of: key)
            try table.listInsert([.int(3)], 0, of: key, at: 2)
            #expect(try table.listValues(1, of: key) == [.int(7), .int(8)])
            #expect(try table.listValues(0, of: key) == [.int(1), .int(2), .int(3)])
        }
    }

    @Test("Clearing, deleting and rolling back free every page")
    func pagesComeBack() throws {
        let database = try make { _, _ in }
        let session = try database.makeSession()
        let table = try #require(session.table(named: "T"))
        let key = ObjectKey(1)
        for round in 0..<6 {
            try session.beginWrite()
            let new = try table.insertRow().key
            try table.finishInsert(try #require(try table.locate(new)))
            try table.listInsert((0..<9000).map { .int($0) }, 0, of: key, at: 0)
            try table.listInsert([Value](repeating: .link(new), count: 2500), 3, of: key, at: 0)
            for i in 0..<9000 { try table.setInsert(.int(Int64(i * 31 % 9001)), 1, of: key) }
            if round == 3 {
                session.rollbackWrite()
                #expect(try table.listCount(0, of: key) == 0)
                continue
            }
            try session.commitWrite()
            #expect(try table.backlinkCount(to: new, from: table, column: 3) == 2500)
            #expect(IntegrityCheck.run(database).findings == [])
            try session.beginWrite()
            try table.delete(new)
            #expect(try table.listCount(3, of: key) == 0)
            try table.listRemove(0..<9000, 0, of: key)
            try table.listRemove(0..<9000, 1, of: key)
            try session.commitWrite()
            let report = IntegrityCheck.run(database)
            #expect(report.findings == [])
            #expect(report.blocks < 12, "\(report.blocks) blocks are left")
        }
    }

    @Test("A list in one long block, as files may have, can be read and is split when it changes")
    func longBlock() throws {
        var options = Database.OpenOptions()
        options.elementTreeLimits.leafByteCount = 1 << 20
        do {
            let session = try Database.open(path: "/o.realm", fileSystem: files, options: options).makeSession()
            try session.beginWrite()
            try session.addTables([Self.table])
            let table = try #require(session.table(named: "T"))
            try table.finishInsert(try table.insertRow())
            try table.listInsert((0..<50_000).map { .int($0) }, 0, of: ObjectKey(1), at: 0)
            try session.commitWrite()
            #expect(try table.measureSpace().blobBytes == 102_400)
        }
        let database = try Database.openAsOtherProcess(path: "/o.realm", fileSystem: files)
        let session = try database.makeSession()
        let table = try #require(session.table(named: "T"))
        #expect(try table.listValue(0, of: ObjectKey(1), at: 40_000) == .int(40_000))
        try session.beginWrite()
        try table.listSet(.int(1), 0, of: ObjectKey(1), at: 40_000)
        try session.commitWrite()
        #expect(try table.listValues(0, of: ObjectKey(1)) == (0..<50_000).map { .int($0 == 40_000 ? 1 : $0) })
        #expect(try table.measureSpace().blobBytes > 102_400)
        #expect(IntegrityCheck.run(database).findings == [])
    }
}
