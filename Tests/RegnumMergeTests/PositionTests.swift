// SPDX-License-Identifier: Apache-2.0
// Positions: they sort, fit between any two others, stay short when elements are appended, and do not interleave.

import RegnumMerge
import RegnumSimulation
import Testing

@Suite struct PositionTests {
    let replicas = [Replica(2), Replica(3)]

    @Test("A position is between its neighbours, wherever it is inserted", arguments: 1...20 as ClosedRange<UInt64>)
    func between(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var sources = [PositionSource(), PositionSource()]
        var list: [Position] = []
        for count in 1...200 as ClosedRange<UInt64> {
            let author = random.below(2)
            let index = random.below(3) == 0 ? list.count : random.below(list.count + 1)
            let left = index > 0 ? list[index - 1] : nil
            let right = index < list.count ? list[index] : nil
            let name = ElementID(replicas[author], count)
            list.insert(sources[author].position(between: left, and: right, name: name), at: index)
        }
        #expect(list == list.sorted())
        #expect(Set(list).count == list.count)
    }

    @Test("Appended elements share a run: only its number grows")
    func appending() {
        var source = PositionSource()
        var list: [Position] = []
        for count in 1...20_000 as ClosedRange<UInt64> {
            list.append(source.position(between: list.last, and: nil, name: ElementID(Replica(2), count)))
        }
        #expect(zip(list, list.dropFirst()).allSatisfy { $0 < $1 })
        #expect(list.map(\.bytes.count).max() == 6)
    }

    @Test("What two authors insert in the same place stays together, forwards and backwards", arguments: [false, true])
    func interleaving(isBackward: Bool) {
        var source = PositionSource()
        let left = source.position(between: nil, and: nil, name: ElementID(Replica(2), 1))
        let right = source.position(between: left, and: nil, name: ElementID(Replica(2), 2))
        var all: [(position: Position, author: Int)] = []
        for (author, replica) in replicas.enumerated() {
            var source = PositionSource()
            var (low, high) = (left, right)
            for count in 10..<15 as Range<UInt64> {
                let next = source.position(between: low, and: high, name: ElementID(replica, count))
                all.append((next, author))
                if isBackward { high = next } else { low = next }
            }
        }
        let authors = all.sorted { $0.position < $1.position }.map(\.author)
        #expect(authors == authors.sorted() || authors == Array(authors.sorted().reversed()))
        #expect(all.allSatisfy { left < $0.position && $0.position < right })
    }

    @Test("Bytes that are no position have a place too, and nothing traps", arguments: 1...20 as ClosedRange<UInt64>)
    func foreignBytes(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var source = PositionSource()
        for count in 1...200 as ClosedRange<UInt64> {
            let bytes = (0..<random.below(12)).map { _ in UInt8(random.below(256)) }
            let foreign = Position(bytes: bytes)
            _ = source.position(between: foreign, and: nil, name: ElementID(Replica(2), count))
            _ = source.position(between: nil, and: foreign, name: ElementID(Replica(3), count))
            let edit = Edit(.none, .insert(PropertyPath(1), ElementID(Replica(0), 1), foreign, .null))
            _ = edit.replacing(.unregistered, by: Replica(2), withIDs: true)
        }
    }
}
