// SPDX-License-Identifier: Apache-2.0
// Which seeds a random test runs with: its fixed ones, in CI one more that changes from commit to commit, and in place
// of all those the ones that somebody asks for.

import RegnumSystem

/// A seed of a random test. As an argument of a test it is shown with each failure, as what runs it again.
package struct RunSeed: Hashable, Sendable, CustomStringConvertible {
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    package var description: String { "REGNUM_SEED=\(value)" }

    /// The seeds of a test: `fixed`, and behind them the number in the environment variable `REGNUM_ROTATING`, where
    /// there is one. With `REGNUM_SEED` as many as there are fixed ones, from that number on: so the seed that has
    /// failed runs again, and a fresh number reaches all that a test chooses by the remainder of its seed.
    package static func list(_ fixed: ClosedRange<UInt64>) -> [RunSeed] {
        list(fixed, given: given, rotating: rotating)
    }

    /// As above, with what the environment says.
    package static func list(_ fixed: ClosedRange<UInt64>, given: UInt64?, rotating: UInt64?) -> [RunSeed] {
        if let given { return fixed.map { RunSeed(given &+ ($0 - fixed.lowerBound)) } }
        let seeds = fixed.map { RunSeed($0) }
        guard let rotating else { return seeds }
        return seeds + [RunSeed(rotating)]
    }

    /// Of tests that make one long run, and not more of it for a second seed: each seed takes its share.
    package static let ofLongRuns = list(20_261_121...20_261_121)

    /// The seed of a turn of a test that takes another one for each: from each of `seeds` in turn, going on by `step`.
    package static func ofTurn(_ turn: Int, from seeds: [RunSeed], step: UInt64 = 1) -> RunSeed {
        RunSeed(seeds[turn % seeds.count].value &+ UInt64(turn / seeds.count) &* step)
    }

    private static let given = number("REGNUM_SEED")
    private static let rotating = number("REGNUM_ROTATING")

    /// A seed that is not understood would run others in its place.
    private static func number(_ name: String) -> UInt64? {
        guard let text = CurrentProcess.environment(name), !text.isEmpty else { return nil }
        guard let number = UInt64(text) else { preconditionFailure("\(name) is not a number: \(text)") }
        return number
    }
}
