// SPDX-License-Identifier: Apache-2.0
// After a power loss, a file with a history keeps older versions that are whole, and hold what they held before.
// Replay: REGNUM_SEED, REGNUM_CRASH_IMAGES.

import RegnumSimulation
import Testing

@Suite struct HistoryCrashTests {
    @Test(
        "Every crash image of a file with a history opens with the old state or the new one, and with whole versions",
        arguments: RunSeed.ofLongRuns)
    func images(seed: RunSeed) throws {
        let run = CrashRun(seed: seed.value ^ 0x415, budget: RunSize.imagesOfSeed / 4, levels: true, history: true)
        do {
            try run.run()
        } catch {
            Issue.record("\(seed): \(error)")
        }
        #expect(run.images >= RunSize.imagesOfSeed / 4)
    }
}
