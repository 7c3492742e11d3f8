// SPDX-License-Identifier: Apache-2.0
// Changes at random positions of one large collection, and deletions of single objects, count for the memory of a
// transaction like all others, and are spilled.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct SpilledLargeCollectionTests {
    enum Change: CaseIterable, Sendable {
        case listSet, listMove, listRemove, setInsert, setRemove, dictionarySet, dictionaryRemove
    }

    private static let path = "/spill/large.realm"
    private static let count = 40_000
    private static let changes = 1000
    /// The most that ten changes take, and the most that may be unsealed. All leaves of the list in memory take 960 KB,
    /// those of the others more.
    private static let heldLimit = 600_000

    /// The content of the changed collection.
    private struct Model {
        var list: [Int64] = []
        var set: Set<Int64> = []
        var dictionary: [String: String] = [:]
    }

    private func make(interval: UInt64) throws -> (session: Session, table: Table, files: MemoryFileSystem) {
        var options = Database.OpenOptions()
        options.spillLimits = .small
        options.spillLimits.interval = interval
        let files = MemoryFileSystem()
        let session = try Database.open(path: Self.path, fileSystem: files, options: options).makeSession()
        try session.beginWrite()
        try session.addTables([LargeCollectionTests.table])
        return (session, try #require(session.table(named: "T")), files)
    }

    private func insertObject(_ table: Table) throws -> ObjectKey {
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        return key
    }

    /// Takes 8 bytes in a leaf.
    private static func number(_ i: Int) -> Int64 { Int64(i) << 40 | 7 }

    private static func name(_ i: Int) -> String { "key \(1_000_000 + i)" }

    private func fill(_ table: Table, _ key: ObjectKey, _ change: Change) throws -> Model {
        var model = Model()
        switch change {
        case .listSet, .listMove, .listRemove:
            model.list = (0..<Self.count).map { Self.number($0) }
            try table.listInsert(model.list.map { Value.int($0) }, 0, of: key, at: 0)
        case .setInsert, .setRemove:
            for i in 0..<Self.count {
                model.set.insert(Self.number(i))
                try table.setInsert(.int(Self.number(i)), 1, of: key)
            }
        case .dictionarySet, .dictionaryRemove:
            for i in 0..<Self.count {
                model.dictionary[Self.name(i)] = "value \(i)"
                try table.dictionarySet(Self.name(i), .string("value \(i)"), 2, of: key)
            }
        }
        return model
    }

    private func run(
        _ change: Change, _ table: Table, _ key: ObjectKey, _ model: inout Model, _ random: inout SeededRandom
    ) throws {
        switch change {
        case .listSet:
            let (place, new) = (random.below(model.list.count), Self.number(random.below(Self.count)))
            model.list[place] = new
            try table.listSet(.int(new), 0, of: key, at: place)
        case .listMove:
            let (from, to) = (random.below(model.list.count), random.below(model.list.count))
            model.list.insert(model.list.remove(at: from), at: to)
            try table.listMove(0, of: key, from: from, to: to)
        case .listRemove:
            let place = random.below(model.list.count)
            model.list.remove(at: place)
            try table.listRemove(place..<place + 1, 0, of: key)
        case .setInsert:
            let new = Self.number(random.below(Self.count)) + 1
            model.set.insert(new)
            try table.setInsert(.int(new), 1, of: key)
        case .setRemove:
            let old = Self.number(random.below(Self.count))
            model.set.remove(old)
            try table.setRemove(.int(old), 1, of: key)
        case .dictionarySet:
            let name = Self.name(random.below(Self.count))
            model.dictionary[name] = "other"
            try table.dictionarySet(name, .string("other"), 2, of: key)
        case .dictionaryRemove:
            let name = Self.name(random.below(Self.count))
            model.dictionary[name] = nil
            try table.dictionaryRemove(name, 2, of: key)
        }
    }

    private func expect(_ model: Model, _ session: Session, _ key: ObjectKey) throws {
        let table = try #require(session.table(named: "T"))
        #expect(try table.listValues(0, of: key) == model.list.map { Value.int($0) })
        #expect(try table.listValues(1, of: key) == model.set.sorted().map { Value.int($0) })
        let names = model.dictionary.keys.sorted()
        #expect(
            try table.dictionaryEntries(2, of: key)
                == names.map { DictionaryEntry(key: $0, value: .string(model.dictionary[$0] ?? "")) })
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }

    // The leaves of the collection being changed were once in no budget, and a list with only set elements was not
    // checked: a write that set each element of a long list at random held all of its leaves decoded.
    @Test("Random changes of one large collection stay within the memory limit of a write", arguments: Change.allCases)
    func randomChanges(change: Change) throws {
        let (session, table, files) = try make(interval: 10)
        let key = try insertObject(table)
        var model = try fill(table, key, change)
        try session.commitWrite()
        try session.beginWrite()
        var random = SeededRandom(seed: 5)
        for _ in 0..<Self.changes {
            try run(change, table, key, &model, &random)
            try #require(table.changedByteCount + session.space.sealer.heldByteCount < Self.heldLimit)
        }
        #expect(session.database.spaceManager.spilled != nil)
        try session.commitWrite()
        try expect(model, session, key)
        try expect(model, try Database.openAsOtherProcess(path: Self.path, fileSystem: files).makeSession(), key)
    }

    // Each insertion once counted as one change, however many elements it had.
    @Test("A list that is filled many elements at a time is spilled as it grows")
    func filledInParts() throws {
        let (session, table, _) = try make(interval: 300)
        let key = try insertObject(table)
        var model = Model()
        for part in 0..<100 {
            let new = (part * 1000..<(part + 1) * 1000).map { Self.number($0) }
            try table.listInsert(new.map { Value.int($0) }, 0, of: key, at: model.list.count)
            model.list += new
            try #require(table.changedByteCount + session.space.sealer.heldByteCount < 300_000)
        }
        try session.commitWrite()
        try expect(model, session, key)
    }

    // Deletions were once not checked either.
    @Test("Objects that are deleted one by one at random are spilled too")
    func deletes() throws {
        let (session, table, _) = try make(interval: 10)
        for _ in 0..<30_000 { _ = try insertObject(table) }
        try session.commitWrite()
        try session.beginWrite()
        var left = Set(UInt64(1)...30_000)
        var random = SeededRandom(seed: 6)
        for _ in 0..<300 {
            let key = UInt64(random.below(30_000)) + 1
            if left.remove(key) != nil { try table.delete(ObjectKey(key)) }
        }
        #expect(session.database.spaceManager.spilled != nil)
        try session.commitWrite()
        #expect(try table.allKeys() == left.sorted())
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }
}
