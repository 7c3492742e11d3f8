// SPDX-License-Identifier: Apache-2.0
// What happens in a schedule, chosen by its seed. Each schedule uses some of the features and favours some kinds of
// steps: so rare combinations are frequent in some schedules.

import RegnumSimulation

struct Schedule {
    let seed: UInt64
    let objects: Int
    let spaces: Int
    let groups: [Set<Int64>]
    let stepCount: Int
    /// The client that may not write object 0, if any.
    let deniedClient: Int?
    /// Milliseconds that the clocks of the devices are wrong.
    let skews: [Int64]
    let hasUnregistered: Bool
    let hasAdoption: Bool
    let hasOldSchema: Bool
    /// Milliseconds that a delete is kept; nil if for ever.
    let retention: Int64?
    let favourite: EditKind
    /// Of 100 steps.
    let edits: Int
    let pageLimit: Int
    let slow: Bool
    let hubBackup: Range<Int>?
    let clientBackup: (client: Int, steps: Range<Int>)?
    /// A client that does not reach the hub for a time.
    let offline: (client: Int, steps: Range<Int>)?

    var clients: Int { groups.count }

    init(seed: UInt64) {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        func chance(_ percent: Int) -> Bool { random.below(100) < percent }
        let count = 20 + random.below(chance(50) ? 40 : 130)
        func part(_ random: inout SeededRandom) -> Range<Int> {
            let start = random.below(count)
            return start..<start + 1 + random.below(count - start)
        }
        stepCount = count
        objects = 1 + random.below(chance(70) ? 2 : 4)
        spaces = chance(80) ? 1 : 2
        let all: [Set<Int64>] = [[0, 1, 2], [0, 1, 2], [0], [1, 2], [0, 1]]
        let isPartial = chance(45)
        let clients = 2 + random.below(3)
        groups = (0..<clients).map { _ in isPartial ? all[random.below(all.count)] : all[0] }
        deniedClient = chance(25) ? 0 : nil
        let wrong: [Int64] = [0, 3, 4000, 3_600_000, -3_600_000, -2000]
        let isWrong = chance(35)
        skews = (0..<clients).map { _ in isWrong ? wrong[random.below(wrong.count)] : 0 }
        hasUnregistered = chance(20)
        hasAdoption = chance(20)
        hasOldSchema = chance(25)
        retention = chance(35) ? 300 : nil
        favourite = EditKind.allCases[random.below(EditKind.allCases.count)]
        edits = 20 + random.below(40)
        pageLimit = 1 + random.below(3)
        slow = chance(30)
        hubBackup = chance(30) ? part(&random) : nil
        let restored = random.below(clients)
        let steps = part(&random)
        clientBackup = chance(30) ? (restored, steps) : nil
        let away = random.below(clients)
        let absence = part(&random)
        offline = chance(retention == nil ? 20 : 80) ? (away, absence) : nil
    }
}
