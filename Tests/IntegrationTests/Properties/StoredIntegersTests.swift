// SPDX-License-Identifier: Apache-2.0
// Integers are stored in narrow form until one does not fit. Reading, querying and summing them, in the write and
// after it, must return the values that were stored.

import Foundation
import RealmSwift
import RegnumSimulation
import RegnumTestKit
import Testing

private enum NumberedGrade: Int, PersistableEnum {
    case low = -1
    case none = 0
    case high = 70_000
}

private final class NumberedThing: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var number: Int
    @Persisted var small: Int8
    @Persisted var grade: NumberedGrade
    @Persisted var optional: Int?
    @Persisted var day: Date
    @Persisted var text: String
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private struct Expected: Equatable {
    var number = 0
    var small: Int8 = 0
    var grade = NumberedGrade.none
    var optional: Int?
    var day = Date(timeIntervalSince1970: 0)

    init() {}
    init(_ object: NumberedThing) {
        (number, small, grade) = (object.number, object.small, object.grade)
        (optional, day) = (object.optional, object.day)
    }
}

@Suite struct StoredIntegersTests {
    private struct Run {
        var random: SeededRandom
        let realm: Realm
        var model: [Int: Expected] = [:]
        var nextID = 0

        /// Usually close together, with powers of two and both extremes.
        mutating func number() -> Int {
            switch random.below(12) {
            case 0: return [Int.min, .min + 1, -1, 0, .max - 1, .max][random.below(6)]
            case 1:
                let power = 1 << random.below(63)
                return (random.below(2) == 0 ? power : -power) + random.below(3) - 1
            case 2: return 1_000_000_000_000 + random.below(70_000)
            default: return 1000 + random.below(256)
            }
        }

        mutating func add() {
            let object = NumberedThing()
            object.id = nextID
            object.number = 1000 + random.below(100)
            realm.add(object)
            model[nextID] = Expected(object)
            nextID += 1
        }

        mutating func change() {
            let ids = model.keys.sorted()
            guard !ids.isEmpty,
                let object = realm.object(ofType: NumberedThing.self, forPrimaryKey: ids[random.below(ids.count)])
            else { return }
            switch random.below(10) {
            case 0...4: object.number = number()
            case 5: object.small = Int8(truncatingIfNeeded: random.next())
            case 6: object.grade = [.low, .none, .high][random.below(3)]
            case 7: object.optional = random.below(3) == 0 ? nil : number()
            case 8: object.day = Date(timeIntervalSince1970: Double(random.below(1 << 40)) / 4)
            default: object["number"] = number()
            }
            model[object.id] = Expected(object)
        }

        func expect() throws {
            let all = realm.objects(NumberedThing.self)
            try #require(all.count == model.count)
            for object in all { #expect(model[object.id] == Expected(object), "object \(object.id)") }
            for bound in [Int.min, -1, 0, 1000, 1100, 1255, 1256, 70_000, 1_000_000_000_000, .max] {
                #expect(all.where { $0.number >= bound }.count == model.values.count { $0.number >= bound })
                #expect(all.where { $0.number == bound }.count == model.values.count { $0.number == bound })
                #expect(
                    all.where { $0.optional < bound }.count
                        == model.values.count { $0.optional.map { $0 < bound } ?? false })
            }
            let wanted = [1000, 1007, Int.max]
            #expect(all.where { $0.number.in(wanted) }.count == model.values.count { wanted.contains($0.number) })
            #expect(all.max(ofProperty: "number") as Int? == model.values.map(\.number).max())
            #expect(all.min(ofProperty: "number") as Int? == model.values.map(\.number).min())
            #expect(all.sum(ofProperty: "small") as Int == model.values.reduce(0) { $0 + Int($1.small) })
            #expect(all.sorted(byKeyPath: "number").map(\.number) == model.values.map(\.number).sorted())
        }

        mutating func deleteSome(_ part: Int) {
            let gone = model.keys.sorted().filter { _ in random.below(part) == 0 }
            realm.delete(Array(gone.compactMap { realm.object(ofType: NumberedThing.self, forPrimaryKey: $0) }))
            for id in gone { model[id] = nil }
        }

        mutating func transaction(isFirst: Bool) throws {
            let before = model
            realm.beginWrite()
            // More than one row group.
            if isFirst { for _ in 0..<1500 { add() } }
            for _ in 0..<random.below(60) { change() }
            if random.below(3) == 0 { deleteSome(random.below(2) == 0 ? 4 : 200) }
            for _ in 0..<random.below(20) { change() }
            if random.below(3) == 0 { for _ in 0..<random.below(40) { add() } }
            for _ in 0..<random.below(20) { change() }
            if random.below(2) == 0 { try expect() }
            if random.below(6) == 0 {
                realm.cancelWrite()
                model = before
            } else {
                try realm.commitWrite()
            }
            try expect()
        }
    }

    @Test("Integers read as they were stored, whatever values are stored next to them", arguments: RunSeed.list(1...6))
    func random(seed: RunSeed) throws {
        try withFile([NumberedThing.self]) { configuration in
            try autoreleasepool {
                var run = Run(random: SeededRandom(seed: seed.value), realm: try Realm(configuration: configuration))
                for round in 0..<12 { try run.transaction(isFirst: round == 0) }
            }
            expectIntegrity(of: configuration)
        }
    }
}
