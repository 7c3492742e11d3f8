// SPDX-License-Identifier: Apache-2.0
// Seeds of random tests: the fixed ones stay, and the printed form of a failed seed repeats its run.

import RegnumSimulation
import Testing

@Suite("Seeds of random tests") struct RunSeedTests {
    private func values(_ fixed: ClosedRange<UInt64>, given: UInt64?, rotating: UInt64?) -> [UInt64] {
        RunSeed.list(fixed, given: given, rotating: rotating).map(\.value)
    }

    @Test("Are the fixed ones, followed by one that rotates")
    func fixed() {
        #expect(values(1...4, given: nil, rotating: nil) == [1, 2, 3, 4])
        #expect(values(1...4, given: nil, rotating: 77) == [1, 2, 3, 4, 77])
        #expect(values(0...0, given: nil, rotating: 0) == [0, 0])
    }

    @Test("Begin with the requested one, and are as many as the fixed ones")
    func given() {
        #expect(values(1...4, given: 9, rotating: 77) == [9, 10, 11, 12])
        #expect(values(5...6, given: UInt64.max, rotating: nil) == [UInt64.max, 0])
    }

    @Test("Are printed in the form that repeats the run", arguments: [3, 77, UInt64.max])
    func shown(value: UInt64) throws {
        let words = "\(RunSeed(value))".split(separator: "=")
        #expect(words.first == "REGNUM_SEED")
        let given = try #require(words.last.flatMap { UInt64($0) })
        #expect(values(1...4, given: given, rotating: nil).first == value)
    }

    @Test("For many rounds are all different, and begin with those of the list")
    func turns() {
        let seeds = [RunSeed(10), RunSeed(1000)]
        let turns = (0..<20).map { RunSeed.ofTurn($0, from: seeds, step: 4).value }
        #expect(Array(turns.prefix(4)) == [10, 1000, 14, 1004])
        #expect(Set(turns).count == 20)
        #expect(RunSeed.ofTurn(2, from: [RunSeed(UInt64.max), RunSeed(1)], step: 3).value == 2)
    }
}
