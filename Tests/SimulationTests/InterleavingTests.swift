// SPDX-License-Identifier: Apache-2.0
// The lock file's protocol in many interleavings of its processes; the same runs must find each seeded bug of it.
// Replay: REGNUM_SEED with REGNUM_INTERLEAVINGS=1.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct InterleavingTests {
    static var count: Int {
        CurrentProcess.environment("REGNUM_INTERLEAVINGS").flatMap { Int($0) } ?? (RunSize.isOptimized ? 400 : 20)
    }

    @Test("In no interleaving do processes lose a commit, read a torn one, or wait forever")
    func orders() throws {
        var steps = 0
        for i in 0..<Self.count {
            let seed = RunSeed.ofTurn(i, from: RunSeed.ofLongRuns)
            do {
                steps += try InterleavingRun(seed: seed.value).run()
            } catch {
                Issue.record("\(seed) REGNUM_INTERLEAVINGS=1: \(error)")
                return
            }
        }
        #expect(steps > Self.count * 50)
    }

    @Test("The same seed produces the same interleaving")
    func replay() throws {
        for seed in 1...3 as ClosedRange<UInt64> {
            #expect(try InterleavingRun(seed: seed).run() == InterleavingRun(seed: seed).run())
        }
    }

    /// In release builds, in which thousands of interleavings take a second.
    @Test(
        "The interleavings reveal each seeded bug", .enabled(if: RunSize.isOptimized),
        arguments: ProtocolMutant.amongProcesses)
    func mutant(_ mutant: ProtocolMutant) throws {
        #expect(throws: RunFailure.self, "\(mutant) survived") {
            for seed in 0..<8000 { _ = try InterleavingRun(seed: UInt64(seed), mutant: mutant).run() }
        }
    }
}
