// SPDX-License-Identifier: Apache-2.0
// The index tree compared with a sorted array, through commits, rollbacks and reopenings.

import RegnumEngine
import RegnumSimulation
import Testing

@Suite struct IndexTreeModelTests {
    /// The distributions of values: the shapes of real columns, and those that stress a node.
    enum Pattern: CaseIterable, Sendable {
        case sequential, random64, fewValues, oneValue, sameEntry, nullable, clustered
    }

    static let cases: [(IndexTree.Kind, Pattern, RunSeed)] = [IndexTree.Kind.fixed, .bytes].flatMap { kind in
        Pattern.allCases.flatMap { pattern in
            RunSeed.list(1...(RunScale.isOptimized ? 3 : 1)).map { (kind, pattern, $0) }
        }
    }

    struct Source {
        let kind: IndexTree.Kind
        let pattern: Pattern
        var random: SeededNumbers
        var serial: UInt64 = 0

        mutating func next() -> ModelEntry {
            serial += 1
            var entry = ModelEntry(key: random.next() % 5000 + 1)
            var value: UInt64
            switch pattern {
            case .sequential: (value, entry.key) = (serial * 3, serial)
            case .random64: value = random.next()
            case .fewValues: value = random.next() % 7
            case .oneValue: (value, entry.key) = (.max, random.next() % 100_000)
            case .sameEntry: (value, entry.key) = (5, random.next() % 2 + 1)
            case .nullable:
                entry.isNull = random.next() % 3 == 0
                value = random.next() % 2 == 0 ? 0 : random.next() % 1000
            case .clustered: value = (random.next() % 4) << 62 | random.next() % 100
            }
            if entry.isNull { return entry }
            if kind == .fixed { entry.value = value } else { entry.bytes = text(value) }
            return entry
        }

        private mutating func text(_ value: UInt64) -> [UInt8] {
            switch pattern {
            case .random64:
                (0..<(Int(value % 40))).map { UInt8(truncatingIfNeeded: value >> UInt64($0 % 8 * 8)) }
            case .nullable: value == 0 ? [] : Array(repeating: UInt8(value % 3), count: Int(value % 12))
            case .clustered:
                Array(repeating: 97, count: Int(value % 10) * 100) + Array("\(value)".utf8.prefix(60))
            default: Array("name \(value)".utf8)
            }
        }
    }

    @Test(
        "A tree matches a sorted array through inserts, removals, commits, rollbacks and reopenings",
        arguments: cases)
    func agreesWithModel(_ kind: IndexTree.Kind, _ pattern: Pattern, _ seed: RunSeed) throws {
        let home = try IndexTreeHome(kind)
        var source = Source(kind: kind, pattern: pattern, random: SeededNumbers(seed.value))
        var random = SeededNumbers(seed.value &+ 1000)
        var model: [ModelEntry] = []
        var committed: [ModelEntry] = []
        for round in 0..<(RunScale.isOptimized ? 30 : 10) {
            let operations = Int(random.next() % (round % 5 == 0 ? 2500 : 60))
            let insertShare = round < 14 ? 80 : round < 24 ? 25 : 50
            for _ in 0..<operations {
                if random.next() % 100 < insertShare || model.isEmpty {
                    let entry = source.next()
                    try home.tree.insert(entry)
                    model.insert(entry, at: Self.bound(model, entry))
                } else if random.next() % 10 == 0 {
                    let entry = source.next()
                    let slot = Self.bound(model, entry)
                    let isThere = slot < model.count && model[slot] == entry
                    #expect(try home.tree.contains(entry) == isThere)
                    #expect(try home.tree.remove(entry) == isThere)
                    if isThere { model.remove(at: slot) }
                } else {
                    let slot = Int(random.next() % UInt64(model.count))
                    #expect(try home.tree.remove(model[slot]))
                    model.remove(at: slot)
                }
            }
            if round % 3 == 0 { try verify(home, model, &random) }
            if random.next() % 8 == 0 {
                home.rollback()
                model = committed
            } else {
                if random.next() % 3 == 0 {
                    // Sealed and changed again before the commit.
                    _ = try home.tree.seal(into: home.space.sealer)
                    try verify(home, model, &random)
                    let entry = source.next()
                    try home.tree.insert(entry)
                    model.insert(entry, at: Self.bound(model, entry))
                }
                #expect(try home.commit(), "blocks in use and blocks not freed differ")
                committed = model
            }
            if random.next() % 2 == 0 { try home.reopen() }
            try verify(home, model, &random)
        }
        try home.tree.freeAll()
        #expect(try home.commit())
        #expect(home.live.isEmpty && home.tree.isEmpty && home.root.isNone)
    }

    /// Index of the first model entry that is not before `entry`.
    static func bound(_ model: [ModelEntry], _ entry: ModelEntry) -> Int {
        var (low, high) = (0, model.count)
        while low < high {
            let middle = (low + high) / 2
            if model[middle] < entry { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func verify(_ home: IndexTreeHome, _ model: [ModelEntry], _ random: inout SeededNumbers) throws {
        let tree = home.tree
        #expect(tree.count == UInt64(model.count))
        #expect(try tree.findings() == [])
        try #require(try tree.entries() == model)
        for _ in 0..<min(20, model.count) {
            var entry = model[Int(random.next() % UInt64(model.count))]
            let same = model.filter { $0.hasValue(of: entry) }.map(\.key)
            #expect(try tree.keys(entry) == same)
            #expect(try tree.count(entry) == same.count)
            #expect(try tree.firstKey(entry) == same.first)
            #expect(try tree.contains(entry))
            if entry.isNull { continue }
            #expect(try tree.rank(entry) == Self.bound(model, entry))
            entry.key = random.next() % 5000
            let slot = Self.bound(model, entry)
            #expect(try tree.rank(entry) == slot)
            #expect(try tree.entries(from: entry, limit: 5) == Array(model[slot...].prefix(5)))
        }
    }
}
