// SPDX-License-Identifier: Apache-2.0
// Which backups a policy keeps, and a week of simulated time with a prune every hour.

import Foundation
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@testable import RegnumBackup

@Suite struct RetentionTests {
    private static let hour: Int64 = 3_600_000_000

    @Test("The newest of each bucket is kept")
    func buckets() {
        // Each half hour for 40 days, from 2023-11-14 22:13:20 UTC on.
        let times = (0..<48 * 40).map { 1_700_000_000_000_000 + Int64($0) * Self.hour / 2 }
        func kept(_ policy: RetentionPolicy) -> [Int] { policy.kept(times).sorted() }
        let last = times.count - 1
        #expect(kept(RetentionPolicy()) == [last])
        #expect(kept(RetentionPolicy(last: 0)) == [last])
        #expect(kept(RetentionPolicy(last: 3)) == [last - 2, last - 1, last])
        #expect(kept(RetentionPolicy(hourly: 3)) == [last - 4, last - 2, last])
        #expect(kept(RetentionPolicy(daily: 2)).count == 2)
        for (older, newer) in zip(kept(RetentionPolicy(daily: 5)), kept(RetentionPolicy(daily: 5)).dropFirst()) {
            #expect(times[older] / (24 * Self.hour) < times[newer] / (24 * Self.hour))
        }
        #expect(kept(RetentionPolicy(weekly: 100)).count == 6)
        // November, December.
        #expect(kept(RetentionPolicy(monthly: 100)).count == 2)
        #expect(kept(RetentionPolicy(yearly: 100)).count == 1)
        #expect(RetentionPolicy(hourly: 5).kept([]) == [])
        // The clock was set back.
        let twice = [60, 120, 66, 126].map { Int64($0) * 60_000_000 }
        #expect(RetentionPolicy(hourly: 3).kept(twice) == [2, 3])
    }

    @Test("A damaged backup that is to be kept can be removed, and then old ones can be deleted again")
    func removing() throws {
        let run = try BackupRun(seed: 8)
        let store = MemoryStore()
        let repository = try run.repository(store)
        var made: [BackupRepository.Backup] = []
        var maps: [[String]] = []
        for _ in 0..<5 {
            let before = Set(store.names)
            try run.commit(changes: 30)
            made.append(try #require(try repository.backUp(run.database)))
            maps.append(store.names.filter { $0.contains("maps/") && !before.contains($0) })
            run.clock.advance(hours: 2)
        }
        for name in maps[1] { try store.delete(name) }
        for prefix in ["", "copies/"] { store.flip(prefix + ObjectName.entry(made[2].number), bit: 100) }
        let other = try run.repository(store)
        let policy = RetentionPolicy(last: 10)
        #expect {
            try other.prune(policy)
        } throws: { ($0 as? BackupError)?.code == .damaged }
        for number in [made[1].number, made[2].number] { try other.remove(number) }
        #expect(try other.backups() == [made[0], made[3], made[4]])
        #expect(try other.prune(policy).removed == [])
        #expect(try other.verify().findings == [])
        for backup in try other.backups() { try run.expectRestored(backup, from: other) }
        try run.commit(changes: 5)
        let young = try #require(try other.backUp(run.database))
        try run.commit(changes: 5)
        try other.backUp(run.database)
        run.clock.advance(Self.hour / 2)
        let newest = try #require(try other.backups().last)
        for number in [young.number, newest.number] {
            #expect {
                try other.remove(number)
            } throws: { ($0 as? BackupError)?.code == .recentBackup }
        }
        run.clock.advance(hours: 2)
        try other.remove(young.number)
        for number in [young.number, newest.number + 100] {
            #expect {
                try other.remove(number)
            } throws: { ($0 as? BackupError)?.code == .noSuchBackup }
        }
    }

    @Test("Months are those of the calendar")
    func months() {
        #expect(RetentionPolicy.month(ofDay: 0) == 1970 * 12)
        #expect(RetentionPolicy.month(ofDay: -1) == 1970 * 12 - 1)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: "UTC") ?? calendar.timeZone
        for day in stride(from: -30_000, to: 60_000, by: 13) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400)
            let parts = calendar.dateComponents([.year, .month], from: date)
            let month = (parts.year ?? 0) * 12 + (parts.month ?? 0) - 1
            #expect(RetentionPolicy.month(ofDay: Int64(day)) == Int64(month))
        }
    }

    @Test("A rehearsal removes nothing")
    func rehearsal() throws {
        let run = try BackupRun(seed: 1)
        let store = MemoryStore()
        let repository = try run.repository(store)
        for _ in 0..<4 {
            try run.commit(changes: 5)
            try repository.backUp(run.database)
            run.clock.advance(hours: 2)
        }
        let names = store.names
        let result = try repository.prune(RetentionPolicy(last: 2), isRehearsal: true)
        #expect(result.removed.count == 2)
        #expect(result.kept.count == 2)
        #expect(store.names == names)
        #expect(try repository.prune(RetentionPolicy(last: 2)).removed == result.removed)
        #expect(try repository.backups() == result.kept)
    }

    @Test("Backups of the last hour are kept")
    func young() throws {
        let run = try BackupRun(seed: 2)
        let repository = try run.repository(MemoryStore())
        for _ in 0..<5 {
            try run.commit(changes: 5)
            try repository.backUp(run.database)
            run.clock.advance(Self.hour / 3)
        }
        #expect(try repository.prune(RetentionPolicy()).kept.count == 2)
    }

    @Test("In a week with a backup every ten minutes, the policy is kept and the repository stays small")
    func week() throws {
        let run = try BackupRun(seed: 3)
        let store = MemoryStore()
        let repository = try run.repository(store)
        let policy = RetentionPolicy(last: 6, hourly: 24, daily: 7)
        var largest = 0
        for hour in 0..<24 * 7 {
            for _ in 0..<6 {
                if run.random.below(3) > 0 {
                    try run.commit(changes: run.random.below(6) + 1)
                    try repository.backUp(run.database)
                }
                run.clock.advance(Self.hour / 6)
            }
            try repository.prune(policy)
            let found = try repository.backups()
            #expect(found.count <= 6 + 6 + 24 + 7 + 1)
            largest = max(largest, store.byteCount(below: "packs/"))
            if hour % 40 == 39 {
                for backup in found { try run.expectRestored(backup, from: repository) }
                #expect(try repository.verify().findings == [])
            }
        }
        let days = Set(try repository.backups().map { Int($0.date.timeIntervalSince1970 / 86_400) })
        #expect(days.count >= 7)
        // Without retention it would have all that was ever stored.
        let file = try #require(try run.files.status(BackupRun.path)?.byteCount)
        #expect(largest < file * 40)
        // Entries of the log that are no backups do not pile up.
        #expect(store.names.filter { $0.hasPrefix("log/") }.count < 100)
    }
}
