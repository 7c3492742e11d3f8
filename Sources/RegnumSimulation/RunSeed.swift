// SPDX-License-Identifier: Apache-2.0
// The seeds of a random test: a fixed list, to which CI adds one that changes with each commit. An environment variable
// can replace all of them.

import RegnumSystem

/// A seed of a random test. As an argument of a test it appears in each failure, in the form that repeats the run.
package struct RunSeed: Hashable, Sendable, CustomStringConvertible {
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    package var description: String { "REGNUM_SEED=\(value)" }

    /// The seeds of a test: `fixed`, then the number in the environment variable `REGNUM_ROTATING` if it is set. If
    /// `REGNUM_SEED` is set, the seeds are consecutive numbers from that one on, as many as there are fixed seeds. So a
    /// failed seed can be repeated, and any number still covers every case that a test chooses by the remainder of its
    /// seed.
    package static func list(_ fixed: ClosedRange<UInt64>) -> [RunSeed] {
        list(fixed, given: given, rotating: rotating)
    }

    /// Like `list(_:)`, with the values of the environment variables as parameters.
    package static func list(_ fixed: ClosedRange<UInt64>, given: UInt64?, rotating: UInt64?) -> [RunSeed] {
        if let given { return fixed.map { RunSeed(given &+ ($0 - fixed.lowerBound)) } }
        let seeds = fixed.map { RunSeed($0) }
        guard let rotating else { return seeds }
        return seeds + [RunSeed(rotating)]
    }

    /// The seeds of tests that make one long run. If there are several, each gets a share of that run.
    package static let ofLongRuns = list(20_261_121...20_261_121)

    /// The seed of one round of a test that uses a new one for each: takes from each of `seeds` in turn, advancing by
    /// `step`.
    package static func ofTurn(_ turn: Int, from seeds: [RunSeed], step: UInt64 = 1) -> RunSeed {
        RunSeed(seeds[turn % seeds.count].value &+ UInt64(turn / seeds.count) &* step)
    }

    private static let given = number("REGNUM_SEED")
    private static let rotating = number("REGNUM_ROTATING")

    /// Stops on text that is not a number, because the test would silently run with other seeds.
    private static func number(_ name: String) -> UInt64? {
        guard let text = CurrentProcess.environment(name), !text.isEmpty else { return nil }
        guard let number = UInt64(text) else { preconditionFailure("\(name) is not a number: \(text)") }
        return number
    }
}
