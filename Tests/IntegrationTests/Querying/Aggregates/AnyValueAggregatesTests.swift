// SPDX-License-Identifier: Apache-2.0
// Aggregates over values of any type, and the format of such values in a snapshot text.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum AnyFigures {
    class Holder: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var any: AnyRealmValue
        @Persisted var list: List<AnyRealmValue>
        @Persisted var set: MutableSet<AnyRealmValue>
        @Persisted var map: Map<String, AnyRealmValue>
        @Persisted var number: Double
        @Persisted var small: Float
    }

    static let early = Date(timeIntervalSince1970: 10)
    static let late = Date(timeIntervalSince1970: 20)

    /// A holder with these values in each collection, managed or unmanaged.
    static func holder(_ values: [AnyRealmValue], isManaged: Bool) throws -> Holder {
        let holder = Holder()
        holder.list.append(objectsIn: values)
        holder.set.insert(objectsIn: values)
        for (place, value) in values.enumerated() { holder.map["k\(place)"] = value }
        if isManaged {
            let realm = try memoryRealm(Holder.self)
            try realm.write { realm.add(holder) }
        }
        return holder
    }
}

@Suite("Aggregates of values of any type")
struct AnyValueAggregatesTests {
    private typealias Holder = AnyFigures.Holder

    @Test("Minimum and maximum include dates; sum and average ignore them", arguments: [true, false])
    func dates(isManaged: Bool) throws {
        let (early, late) = (AnyFigures.early, AnyFigures.late)
        let dates = try AnyFigures.holder([.date(late), .date(early), .none], isManaged: isManaged)
        #expect(dates.list.min() == .date(early) && dates.list.max() == .date(late))
        #expect(dates.set.min() == .date(early) && dates.set.max() == .date(late))
        #expect(dates.map.min() == .date(early) && dates.map.max() == .date(late))
        #expect(dates.list.average() as AnyRealmValue? == nil)
        let mixed = try AnyFigures.holder([.date(late), .int(3), .double(1.5), .string("x")], isManaged: isManaged)
        #expect(mixed.list.min() == .double(1.5) && mixed.list.max() == .date(late))
        #expect(mixed.map.min() == .double(1.5) && mixed.set.max() == .date(late))
        #expect(mixed.list.sum() == .decimal128(4.5) && mixed.map.sum() == .decimal128(4.5))
        #expect(mixed.list.average() as Decimal128? == 2.25)
        #expect(mixed.list.value(forKeyPath: "@max.self") as? Date == late)
    }

    @Test("Minimum and maximum of a property of any type include dates")
    func properties() throws {
        let realm = try memoryRealm(Holder.self)
        try realm.write {
            realm.create(Holder.self, value: ["id": 1, "any": AnyFigures.late])
            realm.create(Holder.self, value: ["id": 2, "any": AnyFigures.early])
            realm.create(Holder.self, value: ["id": 3])
        }
        let all = realm.objects(Holder.self)
        #expect(all.max(of: \.any) == .date(AnyFigures.late) && all.min(of: \.any) == .date(AnyFigures.early))
        #expect(all.max(ofProperty: "any") as Date? == AnyFigures.late)
        try realm.write { _ = realm.create(Holder.self, value: ["id": 4, "any": 7]) }
        #expect(all.min(of: \.any) == .int(7) && all.sum(of: \.any) == .decimal128(7))
        #expect(all.average(ofProperty: "any") as Decimal128? == 7)
    }

    @Test("The sum of a collection without numbers is the integer 0")
    func emptySums() throws {
        #expect(List<AnyRealmValue>().sum() == .int(0) && MutableSet<AnyRealmValue>().sum() == .int(0))
        #expect(Map<String, AnyRealmValue>().sum() == .int(0))
        let words = List<AnyRealmValue>()
        words.append(objectsIn: [.none, .string("x"), .date(AnyFigures.early)])
        #expect(words.sum() == .int(0))
        words.append(.int(2))
        #expect(words.sum() == .decimal128(2) && List<Int>().sum() == 0 && List<Decimal128>().sum() == 0)
        #expect(List<Double?>().sum() == 0)
    }

    @Test("A snapshot text shows nested lists and dictionaries, and prints numbers as Swift does")
    func snapshotTexts() throws {
        let realm = try memoryRealm(Holder.self)
        try realm.write {
            let nested: [String: Any] = ["list": [1, 2.5, "x", NSNull()] as [Any], "map": ["a": true]]
            realm.create(Holder.self, value: ["id": 1, "any": nested, "number": 5.0, "small": 1.1])
            let other = realm.create(Holder.self, value: ["id": 2, "any": [1, ["k": 2]] as [Any]])
            realm.create(Holder.self, value: ["id": 3, "any": Float(1), "list": [[1], 5.0] as [Any]])
            realm.create(Holder.self, value: ["id": 4, "any": other])
            realm.create(Holder.self, value: ["id": 5, "any": [other]])
        }
        let lines = realm.snapshotText().split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let anys = lines.filter { $0.hasPrefix("any:") }
        #expect(
            anys == [
                "any: {\"list\": [1, 2.5, \"x\", nil], \"map\": {\"a\": true}}", "any: [1, {\"k\": 2}]", "any: 1.0",
                "any: AnyFigures_Holder 2", "any: [AnyFigures_Holder 2]",
            ])
        #expect(lines.contains("number: 5.0") && lines.contains("small: 1.1") && lines.contains("list: [[1], 5.0]"))
        #expect(lines.contains("AnyFigures_Holder 1") && !realm.snapshotText().contains("0x"))
    }
}
