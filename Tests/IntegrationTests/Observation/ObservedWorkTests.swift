// SPDX-License-Identifier: Apache-2.0
// The cost of commits for observers: none if a commit does not concern them, and one computation for equal results.

import Foundation
import RealmSwift
import Regnum
import Testing

class Bystander: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var value = 0
    @Persisted var values: List<Int>
    @Persisted var other: Bystander?
}

@Suite struct ObservedWorkTests {
    private func stage() throws -> Stage {
        let stage = try Stage(
            Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [Watched.self, Unrelated.self, Bystander.self]))
        try stage.write { realm in
            for id in 0..<20 { realm.add(Bystander(value: ["id": id, "value": id])) }
            for id in 0..<20 { realm.add(Watched(value: ["id": id])) }
        }
        return stage
    }

    @Test("A commit to other tables computes nothing for observers")
    func unrelated() throws {
        let stage = try stage()
        let diary = Diary()
        try stage.on { realm in
            let all = realm.objects(Bystander.self)
            let one = try #require(all.first)
            diary.tokens = [
                all.observe { diary.note($0) }, all.filter("value > 3").observe { diary.note($0) },
                all.sorted(byKeyPath: "value").observe { diary.note($0) },
                all.filter("other.value > 3").observe(keyPaths: ["value"]) { diary.note($0) },
                one.values.observe { diary.note($0) },
                one.observe { (_: ObjectChange<Bystander>) in diary.lines.append("object") },
            ]
        }
        stage.settle()
        #expect(diary.take().count == 5)
        // The first commit after the observers were added determines which tables they depend on.
        try stage.write { $0.object(ofType: Watched.self, forPrimaryKey: 19)?.rank = 1 }
        let before = try stage.on { $0.deliveryWork }
        for round in 1...10 {
            try stage.write { realm in
                realm.add(Unrelated())
                realm.object(ofType: Watched.self, forPrimaryKey: round)?.rank = round
            }
        }
        #expect(diary.take() == [])
        #expect(try stage.on { $0.deliveryWork } == before)
        try stage.write { realm in realm.object(ofType: Bystander.self, forPrimaryKey: 0)?.value = 50 }
        let after = try stage.on { $0.deliveryWork }
        #expect(after.asked == before.asked + 6 && after.comparedTables == before.comparedTables + 1)
        #expect(
            diary.take() == ["d[] i[] m[0]", "d[] i[0] m[]", "d[0] i[19] m[]", "object"])
        // One more observer, of the other table: the dependencies have to be determined again.
        try stage.on { realm in diary.tokens.append(realm.objects(Unrelated.self).observe { diary.note($0) }) }
        stage.settle()
        try stage.write { realm in realm.add(Unrelated()) }
        #expect(diary.take() == ["initial 10", "d[] i[10] m[]"])
        #expect(try stage.on { $0.deliveryWork.asked } == after.asked + 1)
    }

    @Test("A commit to another table visits no observer, however many there are")
    func manyUnrelated() throws {
        let stage = try stage()
        let diary = Diary()
        let count = 200
        try stage.on { realm in
            let all = realm.objects(Bystander.self)
            for number in 0..<count / 2 {
                diary.tokens.append(all.filter("value > \(number)").observe { diary.note($0) })
                let one = all[number % 20]
                diary.tokens.append(one.observe { (_: ObjectChange<Bystander>) in diary.lines.append("object") })
            }
        }
        stage.settle()
        func unrelated(_ commits: Int) throws -> DeliveryCounters {
            for _ in 0..<commits { try stage.write { $0.add(Unrelated()) } }
            return try stage.on { $0.deliveryWork }
        }
        let before = try unrelated(1)
        #expect(try unrelated(10) == before)
        #expect(diary.take().count == count / 2)
        try stage.write { realm in realm.object(ofType: Bystander.self, forPrimaryKey: 3)?.value = 500 }
        let after = try unrelated(0)
        #expect(after.visited == before.visited + count && after.asked == before.asked + count)
        // The object enters the results that it was not in, and its own observers are notified.
        #expect(diary.take().count == count / 2 + 5)
        // After one observation has ended, the next commit visits the others, and later commits do not.
        try stage.on { _ in _ = diary.tokens.removeLast() }
        let ended = try unrelated(1)
        #expect(ended.visited > after.visited && ended.asked == after.asked)
        #expect(try unrelated(10) == ended)
        #expect(diary.take() == [])
    }

    @Test("Observations that end before they start leave no work behind, and others start")
    func endedBeforeBegun() throws {
        let stage = try stage()
        let diary = Diary()
        for _ in 0..<3 {
            try stage.on { realm in
                for _ in 0..<5 {
                    realm.objects(Bystander.self).observe { _ in diary.lines.append("ended") }.invalidate()
                }
                diary.tokens.append(realm.objects(Bystander.self).observe { diary.note($0) })
            }
            stage.settle()
            #expect(diary.take() == ["initial 20"])
        }
        try stage.write { realm in realm.object(ofType: Bystander.self, forPrimaryKey: 3)?.value = 500 }
        #expect(diary.take() == ["d[] i[] m[3]", "d[] i[] m[3]", "d[] i[] m[3]"])
    }

    @Test("Observers of equal results receive the same changes whenever they started, and continue when others end")
    func equalResults() throws {
        let stage = try stage()
        let diaries = (0..<6).map { _ in Diary() }
        func begin(_ diary: Diary) throws {
            try stage.on { realm in
                let results = realm.objects(Bystander.self).filter("value >= 5").sorted(byKeyPath: "value")
                diary.tokens = [results.observe { diary.note($0) }]
            }
            stage.settle()
        }
        for (round, diary) in diaries.enumerated() {
            try begin(diary)
            // The state of an ended observation is handed over to the others.
            if round == 3 { diaries[0].tokens[0].invalidate() }
            for diary in diaries { _ = diary.take() }
            try stage.write { realm in
                realm.object(ofType: Bystander.self, forPrimaryKey: 1)?.value = 10 + round * 3
                realm.object(ofType: Bystander.self, forPrimaryKey: 19 - round)?.value = 0
            }
            let told = diaries[(round >= 3 ? 1 : 0)...round].map { $0.take() }
            #expect(Set(told).count == 1 && told[0].count == 1, "\(told)")
        }
        try stage.on { _ in diaries[1].tokens = [] }
        try stage.write { realm in realm.object(ofType: Bystander.self, forPrimaryKey: 1)?.value = 1 }
        #expect(diaries[1].take() == [])
        #expect(Set(diaries[2...].map { $0.take() }).count == 1)
    }
}
