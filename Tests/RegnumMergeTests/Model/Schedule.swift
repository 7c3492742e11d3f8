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
    /// The hub's clock advances by less than this many milliseconds in a step; 0 if it mostly stands.
    let pace: Int
    let hubBackup: Range<Int>?
    let clientBackup: (client: Int, steps: Range<Int>)?
    /// A client that does not reach the hub for a time.
    let offline: (client: Int, steps: Range<Int>)?

    /// True if the device is off while it does not reach the hub.
    let isOff: Bool

    var clients: Int { groups.count }

    /// True if clients hold all objects, and no file is older than it seems: some laws are only checked then.
    var isPlain: Bool { clientBackup == nil && !hasAdoption && groups.allSatisfy { $0.count == 3 } }

    init(seed: UInt64) {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        func chance(_ percent: Int) -> Bool { random.below(100) < percent }
        // One schedule in ten has many pages for a client with a partial view, and one in ten a client that comes back
        // after deletes were forgotten: both are rare by chance.
        let profile = random.below(10)
        let (hasPages, isLate) = (profile == 0, profile == 1)
        let count = isLate ? 100 : hasPages ? 120 : 20 + random.below(chance(50) ? 40 : 130)
        func part(_ random: inout SeededRandom) -> Range<Int> {
            let start = random.below(count)
            return start..<start + 1 + random.below(count - start)
        }
        stepCount = count
        objects = hasPages ? 3 : 1 + random.below(chance(70) ? 2 : 4)
        spaces = chance(80) || isLate ? 1 : 2
        let all: [Set<Int64>] = [[0, 1, 2], [0, 1, 2], [0], [1, 2], [0, 1]]
        let isPartial = chance(45) && !isLate
        let clients = 2 + random.below(hasPages || isLate ? 1 : 3)
        groups = (0..<clients).map { client in
            hasPages ? all[client * 4] : isPartial ? all[random.below(all.count)] : all[0]
        }
        deniedClient = chance(25) && !hasPages && !isLate ? 0 : nil
        let wrong: [Int64] = [0, 3, 4000, 3_600_000, -3_600_000, -2000]
        let isWrong = chance(35)
        skews = (0..<clients).map { _ in isWrong ? wrong[random.below(wrong.count)] : 0 }
        hasUnregistered = chance(20)
        hasAdoption = chance(20)
        hasOldSchema = chance(25)
        retention = isLate || chance(30) ? 120 : nil
        let favourites = hasPages ? [.group] : isLate ? [.delete] : EditKind.allCases
        favourite = favourites[random.below(favourites.count)]
        edits = isLate ? 25 : 20 + random.below(40)
        isOff = isLate || hasPages || retention != nil
        pageLimit = hasPages ? 1 : 1 + random.below(3)
        pace = isWrong && chance(40) ? 0 : [8, 8, 8, 2, 2, 0][random.below(6)]
        hubBackup = chance(30) && !isLate ? part(&random) : nil
        let restored = random.below(clients)
        let steps = part(&random)
        clientBackup = chance(30) && !isLate ? (restored, steps) : nil
        let away = isLate || hasPages ? 1 : random.below(clients)
        // Long enough for others to change much, and for deletes to be forgotten.
        let start = isLate ? 35 : hasPages ? 40 : random.below(count / 2)
        let absence = start..<start + (isLate ? 50 : hasPages ? 60 : count / 4 + random.below(count / 4))
        offline = chance(isLate || hasPages ? 100 : retention == nil ? 20 : 60) ? (away, absence) : nil
    }
}
