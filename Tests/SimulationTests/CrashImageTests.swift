// SPDX-License-Identifier: Apache-2.0
// No crash image may lose an acknowledged commit or show half of one. The same runs must find each seeded bug of the
// protocol, otherwise they would prove nothing. Replay: REGNUM_SEED, REGNUM_CRASH_IMAGES.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct CrashImageTests {
    @Test("Every crash image opens with the old state or the new one", arguments: RunSeed.ofLongRuns)
    func images(seed: RunSeed) throws {
        let run = CrashRun(seed: seed.value, budget: RunSize.imagesOfSeed)
        do {
            try run.run()
        } catch {
            Issue.record("\(seed): \(error)")
        }
        #expect(run.images >= RunSize.imagesOfSeed)
    }

    @Test(
        "With commits of every level, some asynchronous, an image holds the last durable state or a later one",
        arguments: RunSeed.ofLongRuns)
    func levels(seed: RunSeed) throws {
        let run = CrashRun(seed: seed.value, budget: RunSize.imagesOfSeed / 4, levels: true)
        do {
            try run.run()
        } catch {
            Issue.record("\(seed): \(error)")
        }
        #expect(run.images >= RunSize.imagesOfSeed / 4)
    }

    static let levelMutants: [ProtocolMutant] = [
        .ownPagesInManifest, .relaxedSpaceReused, .coveredSpaceReused, .relaxedOverDurable,
    ]
    /// Mutants that take minutes of images to be found in a debug build.
    static let rareMutants: [ProtocolMutant] = levelMutants + [.freeLogNotInManifest, .growthTrusted]
    static let mutants = ProtocolMutant.allCases.filter {
        !ProtocolMutant.arranged.contains($0) && !ProtocolMutant.amongProcesses.contains($0)
            && (RunSize.isOptimized || !rareMutants.contains($0))
    }

    @Test("The images reveal each seeded bug", arguments: mutants, Array(1...RunSize.mutantSeeds))
    func mutant(_ mutant: ProtocolMutant, seed: Int) throws {
        // The rarest take more images than a run has for about one seed in twenty: then another run continues.
        let isFound = (0..<3).contains { turn in
            let run = CrashRun(
                seed: UInt64(seed + turn * 1000) * 7919 + 13, budget: 100_000, mutant: mutant,
                levels: Self.levelMutants.contains(mutant))
            return (try? run.run()) == nil
        }
        #expect(isFound, "\(mutant) survived seed \(seed)")
    }
}
