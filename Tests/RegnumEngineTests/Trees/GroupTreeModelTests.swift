// SPDX-License-Identifier: Apache-2.0
// A table with enough row groups for a tree of two levels, under random deletions and inserts, compared with plain
// keys: groups that are joined, nodes that become small, a tree that loses a level and gains it again.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

private struct GroupTreeRun {
    static let rows = NewTable(name: "Row", columns: [NewColumn(name: "number", type: .int)])
    /// More than 64 row groups of 1,024; in a debug build a few.
    static let size = RunScale.isOptimized ? 70_000 : 3000

    var random: SeededRandom
    let files = MemoryFileSystem()
    let options: Database.OpenOptions
    var database: Database
    /// Ascending.
    var keys: [UInt64] = []
    /// Objects whose number does not follow from their key.
    var numbers: [UInt64: Int64] = [:]

    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        var options = Database.OpenOptions()
        if seed % 2 == 0 { options.spillLimits = .small }
        options.shrinkLimits = .small
        self.options = options
        database = try Database.open(path: "/g.realm", fileSystem: files, options: options)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([Self.rows])
        try session.commitWrite()
    }

    mutating func reopen() throws {
        // Releases the old one first.
        database = try Database.open(path: "/other.realm", fileSystem: files)
        database = try Database.open(path: "/g.realm", fileSystem: files, options: options)
    }

    private func number(_ key: UInt64) -> Int64 { numbers[key] ?? Int64(key * 7919 % 100_003) }

    mutating func insert(_ table: Table, _ count: Int) throws {
        for _ in 0..<count {
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            try table.set(.int(number(key.rawValue)), 0, of: key)
            keys.append(key.rawValue)
        }
    }

    /// A range, scattered objects, or single ones.
    mutating func delete(_ table: Table) throws {
        guard !keys.isEmpty else { return }
        let first = random.below(keys.count)
        var gone: [UInt64]
        switch random.below(4) {
        case 0: gone = Array(keys[first..<min(keys.count, first + 1 + random.below(keys.count / 2 + 1))])
        case 1: gone = stride(from: first % 3, to: keys.count, by: 3).map { keys[$0] }
        case 2: gone = (0..<2000).map { _ in keys[random.below(keys.count)] }
        default:
            gone = Set((0..<200).map { _ in keys[random.below(keys.count)] }).sorted()
            for key in gone { try table.delete(ObjectKey(key)) }
            forget(Set(gone))
            return
        }
        if random.below(2) == 0 { gone.reverse() }
        try table.delete(gone.map { ObjectKey($0) })
        forget(Set(gone))
    }

    private mutating func forget(_ gone: Set<UInt64>) {
        keys.removeAll { gone.contains($0) }
        for key in gone { numbers[key] = nil }
    }

    mutating func transaction() throws {
        let session = try database.makeSession()
        let before = (keys, numbers)
        try session.beginWrite()
        let table = try #require(session.table(named: "Row"))
        if keys.count < Self.size / 3 {
            try insert(table, Self.size - keys.count)
        } else {
            if random.below(3) > 0 { try delete(table) }
            if random.below(3) == 0 { try insert(table, random.below(Self.size / 4)) }
        }
        for _ in 0..<random.below(300) where !keys.isEmpty {
            let key = keys[random.below(keys.count)]
            let number = Int64(random.below(1 << 40))
            try table.set(.int(number), 0, of: ObjectKey(key))
            numbers[key] = number
        }
        if random.below(8) == 0 {
            session.rollbackWrite()
            (keys, numbers) = before
        } else {
            try session.commitWrite()
        }
        try expect(session)
    }

    /// The number of row groups.
    @discardableResult
    func expect(_ session: Session) throws -> Int {
        let table = try #require(session.table(named: "Row"))
        try #require(table.count == keys.count)
        var (groups, position, wrong) = (0, 0, 0)
        try table.forEachGroup { group throws(EngineError) in
            groups += 1
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                let key = location.key.rawValue
                let value = try table.value(0, at: location)
                if position >= keys.count || keys[position] != key || value != .int(number(key)) { wrong += 1 }
                position += 1
            }
            return true
        }
        #expect(wrong == 0 && position == keys.count)
        var picks = SeededRandom(seed: UInt64(keys.count))
        for _ in 0..<50 where !keys.isEmpty {
            let position = picks.below(keys.count)
            #expect(try table.key(atPosition: position).rawValue == keys[position])
            #expect(try table.position(of: ObjectKey(keys[position])) == position)
            // Deleted keys are not found.
            let next = keys[position] + 1
            let isThere = position + 1 < keys.count && keys[position + 1] == next
            #expect(try table.contains(ObjectKey(next)) == isThere)
        }
        return groups
    }
}

@Suite struct GroupTreeModelTests {
    @Test(
        "A table of many row groups matches plain keys, with and without spills",
        arguments: RunSeed.list(1...2))
    func model(seed: RunSeed) throws {
        var run = try GroupTreeRun(seed: seed.value)
        var (least, most) = (Int.max, 0)
        for step in 0..<(RunScale.isOptimized ? 60 : 12) {
            try run.transaction()
            if step % 7 == 6 { try run.reopen() }
            let groups = try run.expect(try run.database.makeSession())
            most = max(most, groups)
            if most > 64 { least = min(least, groups) }
            let report = IntegrityCheck.run(run.database)
            try #require(report.isClean, "step \(step): \(report.findings)")
        }
        // A node has 64 children: the tree had two levels at times, and one level at others.
        if RunScale.isOptimized { #expect(most > 64 && least <= 64, "\(least)...\(most)") }
    }
}
