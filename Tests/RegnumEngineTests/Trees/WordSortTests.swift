// SPDX-License-Identifier: Apache-2.0
// The sort of words compared with the sort of the standard library, by distribution: spread over all bits, a few
// values, two far clusters, differing in the low word only.

import RegnumEngine
import Testing

struct WordSortTests {
    enum Shape: CaseIterable {
        case spread, few, clusters, lowOnly, ascending, descending, equal

        func words(_ index: Int, _ random: inout SystemRandomNumberGenerator) -> (high: UInt64, low: UInt64) {
            switch self {
            case .spread: (random.next(), random.next())
            case .few: (random.next(upperBound: 5), random.next(upperBound: 3))
            case .clusters: ((random.next() & 1) << 63 | random.next(upperBound: 1000), random.next(upperBound: 9))
            case .lowOnly: (7, random.next())
            case .ascending: (UInt64(index), 0)
            case .descending: (.max - UInt64(index), .max)
            case .equal: (.max, .max)
            }
        }
    }

    // The largest allocates memory of its own from the system.
    @Test(arguments: Shape.allCases, [0, 1, 2, 23, 24, 25, 1000, 5_000, 200_000])
    func `sorts stably`(shape: Shape, count: Int) {
        var random = SystemRandomNumberGenerator()
        let words = (0..<count).map { shape.words($0, &random) }
        let wide = WordSort<SortEntry128>(capacity: count)
        let narrow = WordSort<SortEntry64>(capacity: count)
        defer { wide.deallocate(); narrow.deallocate() }
        for (index, word) in words.enumerated() {
            (wide.entries + index).initialize(to: SortEntry128(high: word.high, low: word.low, tag: UInt64(index)))
            (narrow.entries + index).initialize(to: SortEntry64(high: word.high, tag: UInt64(index)))
        }
        wide.sort(count: count)
        let expected = words.indices.sorted { a, b in
            (words[a].high, words[a].low, a) < (words[b].high, words[b].low, b)
        }
        #expect((0..<count).map { Int(wide.entries[$0].tag) } == expected)
        #expect((0..<count).allSatisfy { wide.entries[$0].high == words[expected[$0]].high })
        #expect((0..<count).allSatisfy { wide.entries[$0].low == words[expected[$0]].low })
        narrow.sort(count: count)
        let byHigh = words.indices.sorted { a, b in (words[a].high, a) < (words[b].high, b) }
        #expect((0..<count).map { Int(narrow.entries[$0].tag) } == byHigh)
        #expect((0..<count).allSatisfy { narrow.entries[$0].high == words[byHigh[$0]].high })
    }
}
