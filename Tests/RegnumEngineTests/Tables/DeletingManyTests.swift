// SPDX-License-Identifier: Apache-2.0
// Deleting a part of many row groups in one call, and changing the same groups in the same write.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

extension CollectionKind {
    fileprivate static let linked: [CollectionKind] = [.list, .set, .dictionary]
}

@Suite struct DeletingManyTests {
    private static let table = NewTable(
        name: "T",
        columns: [
            NewColumn(name: "n", type: .int, isIndexed: true), NewColumn(name: "text", type: .string),
            NewColumn(name: "day", type: .date, isNullable: true),
            NewColumn(name: "next", type: .link, targetName: "T"),
        ])

    private static func values(_ n: Int) -> [Value] {
        [
            .int(Int64(n)), .string("text \(n)"),
            n % 5 == 0 ? .null : .date(Timestamp(seconds: Int64(n), nanoseconds: Int32(n % 3))), .null,
        ]
    }

    private static func insert(_ n: Int, _ table: Table) throws -> UInt64 {
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        for (column, value) in values(n).enumerated() { try table.set(value, column, of: key) }
        return key.rawValue
    }

    private static func expect(_ table: Table, _ model: [UInt64: Int]) throws {
        try #require(table.count == model.count)
        for (position, key) in model.keys.sorted().enumerated() {
            guard let n = model[key] else { continue }
            #expect(try table.key(atPosition: position) == ObjectKey(key))
            #expect(try (0..<4).map { try table.value($0, of: ObjectKey(key)) } == values(n))
        }
    }

    @Test("Objects that link to each other are deleted together", arguments: [10, 1_500], CollectionKind.linked)
    func linked(count: Int, kind: CollectionKind) throws {
        let files = MemoryFileSystem()
        let columns = [
            NewColumn(name: "links", type: .link, collection: kind, isNullable: kind == .dictionary, targetName: "N")
        ]
        var database = try Database.open(path: "/l.realm", fileSystem: files)
        var session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([NewTable(name: "N", columns: columns)])
        var table = try #require(session.table(named: "N"))
        var keys: [ObjectKey] = []
        for _ in 0..<count + 50 {
            let location = try table.insertRow()
            keys.append(location.key)
            try table.finishInsert(location)
        }
        func add(_ target: ObjectKey, to owner: ObjectKey) throws {
            switch kind {
            case .list: try table.listAppend(.link(target), 0, of: owner)
            case .set: try table.setInsert(.link(target), 0, of: owner)
            default: try table.dictionarySet("\(target.rawValue)", .link(target), 0, of: owner)
            }
        }
        // Deleted and kept owners have links to kept objects and to the last object, which is deleted.
        let (last, owners) = (keys.suffix(40), keys.prefix(8))
        for owner in owners {
            for target in keys[8..<8 + count - 10] { try add(target, to: owner) }
            for target in last.suffix(1) { try add(target, to: owner) }
        }
        try session.commitWrite()
        try session.beginWrite()
        try table.delete(Array(owners.prefix(4) + last))
        try session.commitWrite()
        for owner in owners.suffix(4) { #expect(try Self.links(table, owner) == count - 10) }
        #expect(IntegrityCheck.run(database).findings == [])
        // Freed space is used again.
        for _ in 0..<6 {
            try session.beginWrite()
            for owner in owners.suffix(4) { try add(keys[9], to: owner) }
            try session.commitWrite()
        }
        #expect(IntegrityCheck.run(database).findings == [])
        session = try database.makeSession()
        table = try #require(session.table(named: "N"))
        #expect(table.count == count + 6)
        database = try Database.open(path: "/l.realm", fileSystem: files)
        withExtendedLifetime(session) {}
    }

    /// Elements that link to objects.
    private static func links(_ table: Table, _ owner: ObjectKey) throws -> Int {
        try table.listValues(0, of: owner).count { $0 != .null }
    }

    @Test("The remaining objects are unchanged, and can be changed immediately", arguments: RunSeed.list(1...8))
    func random(seed: RunSeed) throws {
        var random = SeededRandom(seed: seed.value)
        var options = Database.OpenOptions()
        if seed.value % 2 == 0 { options.spillLimits = .small }
        let database = try Database.open(path: "/d.realm", fileSystem: MemoryFileSystem(), options: options)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([Self.table])
        let table = try #require(session.table(named: "T"))
        var model: [UInt64: Int] = [:]
        for n in 0..<4_500 { model[try Self.insert(n, table)] = n }
        try session.commitWrite()
        try withExtendedLifetime(session) { () throws in
            for _ in 0..<4 {
                let before = model
                try session.beginWrite()
                for _ in 0..<2 {
                    // A different part of each 1,024 rows: groups stay whole, become small, or become empty.
                    let parts = (0...8).map { _ in random.below(17) }
                    let gone = model.keys.sorted().filter { random.below(16) < parts[Int($0 >> 10) % parts.count] }
                    try table.delete(gone.map { ObjectKey($0) })
                    for key in gone { model[key] = nil }
                    for key in model.keys.sorted() where random.below(30) == 0 {
                        let n = random.below(1 << 40)
                        for (column, value) in Self.values(n).enumerated() {
                            try table.set(value, column, of: ObjectKey(key))
                        }
                        model[key] = n
                    }
                    for n in 0..<random.below(300) { model[try Self.insert(n, table)] = n }
                    try Self.expect(table, model)
                }
                if random.below(4) == 0 {
                    session.rollbackWrite()
                    model = before
                } else {
                    try session.commitWrite()
                }
                try Self.expect(table, model)
                #expect(IntegrityCheck.run(database).findings == [])
                try session.beginWrite()
                while model.count < 3_000 { model[try Self.insert(model.count, table)] = model.count }
                try session.commitWrite()
            }
        }
    }

    private static let indexed = NewTable(
        name: "T",
        columns: [
            NewColumn(name: "n", type: .int, isIndexed: true),
            NewColumn(name: "text", type: .string, isNullable: true, isIndexed: true),
        ])

    // Long texts: a branch has few of them below it, so there are many branches, which are packed one after the other.
    @Test(
        "Indexes that lose many entries stay consistent, and can be changed again",
        arguments: RunSeed.list(1...(RunScale.isOptimized ? 6 : 3)))
    func indexes(seed: RunSeed) throws {
        var random = SeededRandom(seed: seed.value)
        var options = Database.OpenOptions()
        options.spillLimits.interval = 256
        if seed.value % 2 == 0 { options.spillLimits = .small }
        let database = try Database.open(path: "/i.realm", fileSystem: MemoryFileSystem(), options: options)
        let session = try database.makeSession()
        var model: [UInt64: (n: Int, text: String?)] = [:]
        func insert(_ count: Int, _ table: Table) throws {
            let prefix = String(repeating: "p", count: random.below(30))
            for _ in 0..<count {
                let n = random.below(1 << 40)
                let rest = String(repeating: "\(n) ", count: 1 + random.below(12))
                let text = random.below(40) == 0 ? nil : prefix + rest
                let location = try table.insertRow()
                let key = location.key
                try table.finishInsert(location)
                try table.set(.int(Int64(n)), 0, of: key)
                try table.set(text.map { .string($0) } ?? .null, 1, of: key)
                model[key.rawValue] = (n, text)
            }
        }
        func expectFound(_ table: Table, gone: [(n: Int, text: String?)]) throws {
            try #require(table.count == model.count)
            for (n, text) in model.values {
                #expect(try table.count(inIndexOf: 0, equalTo: .int(Int64(n))) == 1)
                if let text { #expect(try table.count(inIndexOf: 1, equalTo: .string(text)) == 1) }
            }
            let nulls = model.values.count { $0.text == nil }
            #expect(try table.count(inIndexOf: 1, equalTo: .null) == nulls)
            for (n, text) in gone {
                #expect(try table.count(inIndexOf: 0, equalTo: .int(Int64(n))) == 0)
                if let text { #expect(try table.count(inIndexOf: 1, equalTo: .string(text)) == 0) }
            }
        }
        try session.beginWrite()
        try session.addTables([Self.indexed])
        let table = try #require(session.table(named: "T"))
        try insert(9_000, table)
        try session.commitWrite()
        for round in 0..<4 {
            let before = model
            try session.beginWrite()
            for _ in 0..<2 {
                // Sometimes nearly all rows, sometimes all rows of a range, so that leaves and branches become empty.
                let share = [3, 2, 16][random.below(3)]
                let most = model.keys.max() ?? 0
                let stretch = UInt64(random.below(Int(most)))...most
                let keys = model.keys.sorted().filter { random.below(share) == 0 || share == 2 && stretch.contains($0) }
                let gone = keys.compactMap { model[$0] }
                try table.delete(keys.map { ObjectKey($0) })
                for key in keys { model[key] = nil }
                try expectFound(table, gone: gone)
                try insert(random.below(400), table)
            }
            if round == 1 {
                session.rollbackWrite()
                model = before
            } else {
                try session.commitWrite()
            }
            try expectFound(table, gone: [])
            #expect(IntegrityCheck.run(database).findings == [])
            try session.beginWrite()
            try insert(max(0, 9_000 - model.count), table)
            try session.commitWrite()
        }
        withExtendedLifetime(session) {}
    }
}
