// SPDX-License-Identifier: Apache-2.0
// Keys in chunks compared with a plain array, with chunks so small that they are split and joined all the time.

import RegnumEngine
import RegnumSimulation
import Testing

@testable import RegnumObservation
@testable import RegnumQuery

@Suite struct KeyChunksTests {
    @Test("Removals and insertions have the effect that they have on an array", arguments: [1, 4, 7])
    func model(chunkLength: Int) throws {
        var random = SeededRandom(seed: UInt64(chunkLength))
        var model = (0..<50).map { ObjectKey(UInt64($0 * 10)) }
        var chunks = KeyChunks(model, chunkLength: chunkLength)
        var next: UInt64 = 1000
        // In key order, some of them equal.
        var marks = Dictionary(
            uniqueKeysWithValues: model.enumerated().map { ($1, OrderMark(words: (UInt64($0 / 3) &<< 40, 0))) })
        func between(_ gap: Int) -> OrderMark {
            let before = gap > 0 ? marks[model[gap - 1]]?.words ?? (0, 0) : (0, 0)
            let behind = gap < model.count ? marks[model[gap]]?.words ?? (0, 0) : (1 &<< 62, 0)
            if before.0 &+ 1 < behind.0 {
                return OrderMark(words: ((before.0 &+ behind.0) / 2, UInt64(random.below(9))))
            }
            return OrderMark(words: random.below(2) == 0 ? before : behind)
        }
        for round in 0..<160 {
            // It grows, then shrinks to nothing, then grows again.
            let isGrowing = round / 40 % 2 == 0
            let out = random.below(isGrowing ? 3 : 12)
            let positions = Set((0..<out).filter { _ in !model.isEmpty }.map { _ in random.below(model.count) })
                .sorted()
            chunks.remove(at: positions)
            for position in positions.reversed() { model.remove(at: position) }
            var new: [(gap: Int, key: ObjectKey)] = []
            for _ in 0..<random.below(isGrowing ? 9 : 3) {
                let gap = random.below(model.count + 1)
                // Marks of elements in the same gap are in order too.
                marks[ObjectKey(next)] = new.first { $0.gap == gap }.flatMap { marks[$0.key] } ?? between(gap)
                new.append((gap, ObjectKey(next)))
                next += 1
            }
            new.sort { $0.gap < $1.gap }
            chunks.insert(new)
            for (gap, key) in new.reversed() { model.insert(key, at: gap) }
            #expect(chunks.all == model && chunks.count == model.count)
            if !model.isEmpty {
                let position = random.below(model.count)
                #expect(chunks[position] == model[position])
                let before = Set(model[..<position])
                #expect(chunks.partition { before.contains($0) } == position)
                for place in [position, random.below(model.count)] {
                    let before = Set(model[..<place])
                    let found = chunks.partition(
                        try #require(marks[model[place]]), markOf: { marks[$0] ?? OrderMark() }, before.contains)
                    #expect(found == place)
                    // By the key of the element there, which is not compared, and by a key that is no element.
                    for key in [model[place], ObjectKey(next)] {
                        let found = chunks.partition(
                            at: key, try #require(marks[model[place]]), markOf: { marks[$0] ?? OrderMark() },
                            before.contains)
                        #expect(found == place)
                    }
                }
            }
            var seen: [ObjectKey] = []
            chunks.visit { position, key in
                #expect(position == seen.count)
                seen.append(key)
            }
            #expect(seen == model)
        }
    }

    @Test("A search by marks visits the elements of one chunk only, once the marks are known")
    func searching() {
        let keys = (0..<10_000).map { ObjectKey(UInt64($0)) }
        var chunks = KeyChunks(keys, chunkLength: 16)
        var asked = 0
        func mark(_ key: ObjectKey) -> OrderMark {
            asked += 1
            return OrderMark(words: (key.rawValue, 0))
        }
        chunks.learnMarks(mark)
        #expect(asked == 625)
        for at in stride(from: 0, to: 10_000, by: 37) {
            asked = 0
            var visited = 0
            let place = chunks.partition(OrderMark(words: (UInt64(at), 0)), markOf: mark) { key in
                visited += 1
                return key.rawValue < UInt64(at)
            }
            #expect(place == at && asked == 0 && visited <= 5)
        }
    }

    @Test("An insertion between two chunks keeps the marks known")
    func marksStay() {
        var chunks = KeyChunks((0..<1_000).map { ObjectKey(UInt64($0 * 10)) }, chunkLength: 16)
        var asked = 0
        func mark(_ key: ObjectKey) -> OrderMark {
            asked += 1
            return OrderMark(words: (key.rawValue, 0))
        }
        chunks.learnMarks(mark)
        asked = 0
        // Before the first element of a chunk, and before all.
        for (gap, key) in [(320, 3195), (0, 1)] {
            chunks.insert([(gap, ObjectKey(UInt64(key)))])
            #expect(chunks[gap] == ObjectKey(UInt64(key)))
        }
        for value in stride(from: 2, to: 10_000, by: 7) {
            let place = chunks.partition(OrderMark(words: (UInt64(value), 0)), markOf: mark) {
                $0.rawValue < UInt64(value)
            }
            #expect(place == chunks.all.count { $0.rawValue < UInt64(value) })
        }
        // The mark of the first chunk alone.
        #expect(asked == 1)
    }

    @Test("An element costs little more memory than its key")
    func memory() {
        let chunks = KeyChunks((0..<100_000).map { ObjectKey(UInt64($0)) })
        #expect(chunks.byteCount < 100_000 * 9)
    }
}
