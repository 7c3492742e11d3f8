// SPDX-License-Identifier: Apache-2.0
// Encrypted files lose nothing to crashes that plain files would not lose. Replay: REGNUM_SEED, REGNUM_CRASH_IMAGES.

#if Encryption
    import RegnumEngine
    import RegnumSimulation
    import RegnumSystem
    import Testing

    @Suite struct EncryptedCrashTests {
        @Test(
            "Every crash image of an encrypted file opens with the old state or the new one",
            arguments: RunSeed.ofLongRuns)
        func images(seed: RunSeed) throws {
            let key = [UInt8](0..<64).withUnsafeBytes { EncryptionKey($0) }
            let run = CrashRun(seed: seed.value ^ 0xE, budget: RunSize.imagesOfSeed / 4, key: key)
            do {
                try run.run()
            } catch {
                Issue.record("\(seed): \(error)")
            }
            #expect(run.images >= RunSize.imagesOfSeed / 4)
        }
    }
#endif
