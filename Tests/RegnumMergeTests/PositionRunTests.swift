// SPDX-License-Identifier: Apache-2.0
// Positions of list elements: their order, their length, and that authors who insert at the same place do not mix.

import RegnumMerge
import RegnumSimulation
import Testing

/// A list of positions that one author sees, with the source of ids that makes them.
private struct Author {
    let replica: Replica
    var ids: ElementSource
    var positions = PositionSource()
    var list: [Position] = []

    init(_ replica: UInt32) {
        self.replica = Replica(replica)
        ids = ElementSource(replica: self.replica, counter: 0, opening: replica, rules: StandardRules())
    }

    /// The file is opened again.
    mutating func reopen(_ random: inout SeededRandom) {
        let opening = UInt32(truncatingIfNeeded: random.below(1 << 30))
        ids = ElementSource(replica: replica, counter: ids.counter, opening: opening, rules: StandardRules())
        positions = PositionSource()
    }

    mutating func insert(at index: Int) -> Position {
        let left = index > 0 ? list[index - 1] : nil
        let right = index < list.count ? list[index] : nil
        let position = positions.position(between: left, and: right, name: ids.next())
        list.insert(position, at: index)
        return position
    }
}

@Suite("Positions in runs") struct PositionRunTests {
    @Test("Are new and between their neighbours")
    func order() {
        for seed in 1...100 as ClosedRange<UInt64> {
            var random = SeededRandom(seed: seed)
            var authors = (0..<1 + random.below(4)).map { Author(UInt32(2 + $0 * 200)) }
            var list: [Position] = []
            var used: Set<Position> = []
            let isAtEnds = random.below(2) == 0
            for _ in 0..<150 {
                let author = random.below(authors.count)
                if random.below(10) == 0 { authors[author].reopen(&random) }
                authors[author].list = list
                let index = isAtEnds ? random.below(2) * list.count : random.below(list.count + 1)
                let position = authors[author].insert(at: index)
                list = authors[author].list
                let isNew = used.insert(position).inserted
                let isAfter = index == 0 || list[index - 1] < position
                let isBefore = index + 1 == list.count || position < list[index + 1]
                #expect(isNew && isAfter && isBefore && position.isWellFormed, "seed \(seed)")
                if random.below(3) == 0 { list.remove(at: random.below(list.count)) }
            }
        }
    }

    @Test("Of authors who insert at one place do not mix")
    func runs() throws {
        for seed in 1...2000 as ClosedRange<UInt64> {
            var random = SeededRandom(seed: seed)
            var authors = [Author(2), Author(3), Author(4)]
            var shared: [Position] = []
            for _ in 0..<random.below(10) {
                let author = random.below(authors.count)
                authors[author].list = shared
                _ = authors[author].insert(at: random.below(shared.count + 1))
                shared = authors[author].list
            }
            // Some of what the positions refer to is gone.
            while shared.count > 1, random.below(5) < 3 { shared.remove(at: random.below(shared.count)) }
            let place = random.below(shared.count + 1)
            var all = shared
            var groups: [[Position]] = []
            for author in authors.indices {
                authors[author].list = shared
                var group: [Position] = []
                for _ in 0..<2 + random.below(4) {
                    if random.below(5) == 0 { authors[author].reopen(&random) }
                    group.append(authors[author].insert(at: place + random.below(group.count + 1)))
                }
                groups.append(group)
                all += group
            }
            all.sort()
            for group in groups {
                let first = try #require(group.min().flatMap { all.firstIndex(of: $0) })
                #expect(Array(all[first..<first + group.count]) == group.sorted(), "seed \(seed)")
            }
        }
    }

    @Test("Stay short at both ends, in turns of authors, and over openings", arguments: [false, true])
    func length(isAtStart: Bool) {
        var random = SeededRandom(seed: 1)
        var authors = [Author(70_000), Author(80_000), Author(90_000)]
        var list: [Position] = []
        for turn in 0..<600 {
            let author = turn % authors.count
            if turn % 5 == 0 { authors[author].reopen(&random) }
            authors[author].list = list
            _ = authors[author].insert(at: isAtStart ? 0 : list.count)
            list = authors[author].list
        }
        // 24 bytes for each author.
        #expect(list.allSatisfy { $0.bytes.count <= 72 })
    }

    @Test("Of a copy of the file are others")
    func copies() {
        var random = SeededRandom(seed: 3)
        var original = Author(2)
        for _ in 0..<3 { _ = original.insert(at: original.list.count) }
        var copy = original
        copy.reopen(&random)
        original.reopen(&random)
        let theirs = (0..<3).map { _ in copy.insert(at: copy.list.count) }
        let own = (0..<3).map { _ in original.insert(at: original.list.count) }
        #expect(Set(theirs).isDisjoint(with: own))
        let (theirID, ownID) = (copy.ids.next(), original.ids.next())
        #expect(theirID != ownID)
    }

    @Test("Damaged bytes are positions, but not well-formed ones")
    func damage() {
        var author = Author(2)
        let bytes = author.insert(at: 0).bytes
        let far = [UInt8](repeating: 255, count: 40)
        let damaged: [[UInt8]] = [
            [], [0], [1], Array(bytes.dropLast()), Array(bytes.dropLast()) + [2], bytes + [7], far,
            // Numbers with more bytes than they need: the replica 5, and the indices 5 and -5.
            [248, 5, 3, 128, 1], [2, 3, 248, 5, 1], [2, 3, 7, 251, 1],
            // No registered replica.
            [0, 3, 128, 1],
        ]
        for bytes in damaged {
            let position = Position(bytes: bytes)
            #expect(!position.isWellFormed, "\(bytes)")
            // It stands in a list without harm.
            author.list = [position]
            _ = author.insert(at: 0)
            _ = author.insert(at: 2)
        }
        #expect(Position(bytes: bytes).isWellFormed)
        // The indices that no position can follow: a new run begins.
        for index in [[255, 127, 255, 255, 255, 255, 255, 255, 255], [0, 128, 0, 0, 0, 0, 0, 0, 0]] as [[UInt8]] {
            author.list = [Position(bytes: [2, 3] + index + [1])]
            _ = author.insert(at: 0)
            _ = author.insert(at: 2)
            #expect(author.list == author.list.sorted())
        }
    }
}
