// SPDX-License-Identifier: Apache-2.0
// Keys in chunks against a plain array, with chunks so small that they are cut and joined all the time.

import RegnumEngine
import RegnumSimulation
import Testing

@testable import RegnumObservation

@Suite struct KeyChunksTests {
    @Test("taking out and putting in does what an array does", arguments: [1, 4, 7])
    func model(chunkLength: Int) {
        var random = SeededRandom(seed: UInt64(chunkLength))
        var model = (0..<50).map { ObjectKey(UInt64($0 * 10)) }
        var chunks = KeyChunks(model, chunkLength: chunkLength)
        var next: UInt64 = 1000
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
                new.append((random.below(model.count + 1), ObjectKey(next)))
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
            }
            var seen: [ObjectKey] = []
            chunks.visit { position, key in
                #expect(position == seen.count)
                seen.append(key)
            }
            #expect(seen == model)
        }
    }

    @Test("an element costs little more than its key")
    func memory() {
        let chunks = KeyChunks((0..<100_000).map { ObjectKey(UInt64($0)) })
        #expect(chunks.byteCount < 100_000 * 9)
    }
}
