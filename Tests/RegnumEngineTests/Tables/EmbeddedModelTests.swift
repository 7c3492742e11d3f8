// SPDX-License-Identifier: Apache-2.0
// Random changes of embedded objects in links, lists, dictionaries and one another, compared with plain trees: commits,
// rollbacks, reopened files, spills, and an integrity check after each.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

/// An object with all objects embedded in it.
private struct Node: Equatable {
    var text = ""
    /// None or one.
    var one: [Node] = []
    var many: [Node] = []
    /// None or one by name.
    var named: [String: [Node]] = [:]

    /// Embedded objects in this object, and in those.
    var embeddedCount: Int {
        var count = 0
        for part in one + many { count += 1 + part.embeddedCount }
        for parts in named.values { for part in parts { count += 1 + part.embeddedCount } }
        return count
    }
}

private struct EmbeddedRun {
    /// Columns of owners and of embedded objects alike.
    static let columns = [
        NewColumn(name: "text", type: .string),
        NewColumn(name: "one", type: .link, targetName: "Part"),
        NewColumn(name: "many", type: .link, collection: .list, targetName: "Part"),
        NewColumn(name: "named", type: .link, collection: .dictionary, isNullable: true, targetName: "Part"),
    ]
    static let tables = [
        NewTable(name: "Owner", columns: columns), NewTable(name: "Part", isEmbedded: true, columns: columns),
    ]

    var random: SeededRandom
    let files = MemoryFileSystem()
    var database: Database
    var owners: [UInt64: Node] = [:]
    let options: Database.OpenOptions

    /// Every second seed uses trees of many levels, every third one spills.
    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        var options = Database.OpenOptions()
        if seed % 2 == 1 {
            options.elementTreeLimits.leafByteCount = 40
            options.elementTreeLimits.fanOut = 4
        }
        if seed % 3 == 2 { options.spillLimits = .small }
        options.shrinkLimits = .small
        self.options = options
        database = try Database.open(path: "/e.realm", fileSystem: files, options: options)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables(Self.tables)
        try session.commitWrite()
    }

    // MARK: The model

    mutating func text() -> String {
        String(repeating: "x", count: random.below(60) == 0 ? 3000 : random.below(6)) + "\(random.below(1000))"
    }

    mutating func name() -> String { ["", "a", "b", "key", "\u{e4}"][random.below(5)] }

    mutating func make(_ depth: Int = 0) -> Node {
        var node = Node(text: text())
        if depth > 2 { return node }
        if random.below(4) == 0 { node.one = [make(depth + 1)] }
        while random.below(4) == 0 { node.many.append(make(depth + 1)) }
        while random.below(4) == 0 {
            let part: [Node] = random.below(3) == 0 ? [] : [make(depth + 1)]
            node.named[name()] = part
        }
        return node
    }

    // MARK: The file

    /// A new row with all embedded objects of the node.
    static func insert(_ node: Node, into table: Table, _ parts: Table) throws -> ObjectKey {
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        try table.set(.string(node.text), 0, of: key)
        if let one = node.one.first { try table.set(.link(try insert(one, into: parts, parts)), 1, of: key) }
        var many: [Value] = []
        for part in node.many { many.append(.link(try insert(part, into: parts, parts))) }
        if !many.isEmpty { try table.listInsert(many, 2, of: key, at: 0) }
        for (name, part) in node.named {
            var value = Value.null
            if let part = part.first { value = .link(try insert(part, into: parts, parts)) }
            try table.dictionarySet(name, value, 3, of: key)
        }
        return key
    }

    static func read(_ key: ObjectKey, _ table: Table, _ parts: Table) throws -> Node {
        var node = Node()
        if case .string(let text) = try table.value(0, of: key) { node.text = text }
        if case .link(let target) = try table.value(1, of: key) { node.one = [try read(target, parts, parts)] }
        for value in try table.listValues(2, of: key) { node.many.append(try read(target(value), parts, parts)) }
        for entry in try table.dictionaryEntries(3, of: key) {
            var part: [Node] = []
            if entry.value != .null { part = [try read(target(entry.value), parts, parts)] }
            node.named[entry.key] = part
        }
        return node
    }

    private static func target(_ value: Value) throws -> ObjectKey {
        var key: ObjectKey?
        if case .link(let found) = value { key = found }
        return try #require(key)
    }

    // MARK: Changes

    /// Changes something of a row, or of an object embedded in it.
    mutating func change(_ node: inout Node, _ key: ObjectKey, _ table: Table, _ parts: Table) throws {
        switch random.below(10) {
        case 0:
            node.text = text()
            try table.set(.string(node.text), 0, of: key)
        case 1: try changeLink(&node, key, table, parts)
        case 2, 3, 4: try changeList(&node, key, table, parts)
        case 5, 6: try changeDictionary(&node, key, table, parts)
        default: try changeWithin(&node, key, table, parts)
        }
    }

    private mutating func changeLink(
        _ node: inout Node, _ key: ObjectKey, _ table: Table, _ parts: Table
    ) throws {
        switch random.below(3) {
        case 0:
            try table.set(.null, 1, of: key)
            node.one = []
        case 1 where !node.one.isEmpty:
            try parts.delete(Self.target(table.value(1, of: key)))
            node.one = []
        default:
            let new = make()
            try table.set(.link(Self.insert(new, into: parts, parts)), 1, of: key)
            node.one = [new]
        }
    }

    private mutating func changeList(
        _ node: inout Node, _ key: ObjectKey, _ table: Table, _ parts: Table
    ) throws {
        let count = node.many.count
        switch random.below(count == 0 ? 2 : 7) {
        case 0, 1:
            let at = random.below(count + 1)
            var links: [Value] = []
            var new: [Node] = []
            for _ in 0..<(1 + random.below(random.below(4) == 0 ? 20 : 3)) {
                let part = make(1)
                new.append(part)
                links.append(.link(try Self.insert(part, into: parts, parts)))
            }
            try table.listInsert(links, 2, of: key, at: at)
            node.many.insert(contentsOf: new, at: at)
        case 2, 3:
            let at = random.below(count)
            let new = make(1)
            try table.listSet(.link(Self.insert(new, into: parts, parts)), 2, of: key, at: at)
            node.many[at] = new
        case 4:
            let (from, to) = (random.below(count), random.below(count))
            try table.listMove(2, of: key, from: from, to: to)
            node.many.insert(node.many.remove(at: from), at: to)
        case 5:
            let at = random.below(count)
            try parts.delete(Self.target(table.listValue(2, of: key, at: at)))
            node.many.remove(at: at)
        default:
            let start = random.below(count)
            let end = start + 1 + random.below(count - start)
            try table.listRemove(start..<end, 2, of: key)
            node.many.removeSubrange(start..<end)
        }
    }

    private mutating func changeDictionary(
        _ node: inout Node, _ key: ObjectKey, _ table: Table, _ parts: Table
    ) throws {
        let name = name()
        let old = node.named[name]
        switch random.below(6) {
        case 0:
            let wasThere = try table.dictionaryRemove(name, 3, of: key)
            #expect(wasThere == (old != nil))
            node.named[name] = nil
        case 1:
            try table.dictionarySet(name, .null, 3, of: key)
            node.named[name] = []
        case 2 where old?.isEmpty == false:
            // The name stays.
            let place = try #require(try table.dictionaryIndex(of: name, 3, of: key))
            try parts.delete(Self.target(table.dictionaryValue(3, of: key, at: place)))
            node.named[name] = []
        case 3 where random.below(5) == 0:
            try table.dictionaryRemoveAll(3, of: key)
            node.named = [:]
        default:
            let new = make(1)
            try table.dictionarySet(name, .link(Self.insert(new, into: parts, parts)), 3, of: key)
            node.named[name] = [new]
        }
    }

    private mutating func changeWithin(
        _ node: inout Node, _ key: ObjectKey, _ table: Table, _ parts: Table
    ) throws {
        switch random.below(3) {
        case 0 where !node.one.isEmpty:
            let target = try Self.target(table.value(1, of: key))
            try change(&node.one[0], target, parts, parts)
        case 1 where !node.many.isEmpty:
            let at = random.below(node.many.count)
            let target = try Self.target(table.listValue(2, of: key, at: at))
            try change(&node.many[at], target, parts, parts)
        default:
            let names = node.named.filter { !$0.value.isEmpty }.keys.sorted()
            if names.isEmpty { return }
            let name = names[random.below(names.count)]
            let place = try #require(try table.dictionaryIndex(of: name, 3, of: key))
            let target = try Self.target(table.dictionaryValue(3, of: key, at: place))
            guard var part = node.named[name]?.first else { return }
            try change(&part, target, parts, parts)
            node.named[name] = [part]
        }
    }

    mutating func transaction() throws {
        let session = try database.makeSession()
        let before = owners
        try session.beginWrite()
        let table = try #require(session.table(named: "Owner"))
        let parts = try #require(session.table(named: "Part"))
        while owners.count < 8 {
            let node = make()
            let key = try Self.insert(node, into: table, parts)
            owners[key.rawValue] = node
        }
        for _ in 0..<(10 + random.below(60)) {
            let keys = owners.keys.sorted()
            if keys.isEmpty { break }
            let key = keys[random.below(keys.count)]
            if random.below(25) == 0 {
                try table.delete(ObjectKey(key))
                owners[key] = nil
                continue
            }
            var node = owners[key] ?? Node()
            try change(&node, ObjectKey(key), table, parts)
            owners[key] = node
        }
        if random.below(12) == 0 {
            try table.deleteAll()
            owners = [:]
        }
        if random.below(6) == 0 {
            session.rollbackWrite()
            owners = before
        } else {
            if random.below(3) == 0 { try expect(session) }
            try session.commitWrite()
        }
        try expect(session)
    }

    func expect(_ session: Session) throws {
        let table = try #require(session.table(named: "Owner"))
        let parts = try #require(session.table(named: "Part"))
        try #require(table.count == owners.count)
        #expect(parts.count == owners.values.reduce(0) { $0 + $1.embeddedCount })
        for (key, node) in owners {
            let read = try Self.read(ObjectKey(key), table, parts)
            if read != node { Issue.record("owner \(key): \(read) is not \(node)") }
        }
    }
}

@Suite struct EmbeddedModelTests {
    @Test("Embedded objects exist where a plain tree model has them, and nowhere else", arguments: RunSeed.list(0...5))
    func model(seed: RunSeed) throws {
        var run = try EmbeddedRun(seed: seed.value)
        for step in 0..<(RunScale.isOptimized ? 60 : 10) {
            try run.transaction()
            if step % 5 == 4 {
                run.database = try Database.open(path: "/other.realm", fileSystem: run.files)
                run.database = try Database.open(path: "/e.realm", fileSystem: run.files, options: run.options)
                try run.expect(try run.database.makeSession())
            }
            let report = IntegrityCheck.run(run.database)
            try #require(report.isClean, "\(report.findings)")
        }
    }
}
