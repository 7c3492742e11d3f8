// SPDX-License-Identifier: Apache-2.0
// Rarely used names of RealmSwift that generic and old code needs: progress blocks and handles of opening, and numbers
// of one type for properties of another.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias All = Contract.All
private typealias Many = Contract.Many

@Suite("Rarely used names: RealmSwift contract")
struct AsyncOpenContractTests {
    @Test("asyncOpen takes progress blocks and never calls them")
    func progress() async throws {
        let queue = DispatchQueue(label: "opening")
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: Contract.types)
        let opened: Bool = await withCheckedContinuation { continuation in
            let task: AsyncOpenTask = Realm.asyncOpen(configuration: configuration, callbackQueue: queue) { result in
                continuation.resume(returning: (try? result.get().isEmpty) == true)
            }
            task.addProgressNotification(queue: queue) { _ in Issue.record("a local file is not downloaded") }
            task.addProgressNotification { progress in Issue.record("\(progress)") }
        }
        #expect(opened)
        // Waits for calls that would have arrived by now.
        queue.sync {}
    }

    @Test("A stored NotificationBlock observes a Realm, and invalidate() of its token returns true once")
    func notificationBlock() throws {
        let stage = try Stage()
        let diary = Diary()
        let block: Realm.NotificationBlock = { notification, realm in
            diary.lines.append("\(notification.rawValue == Realm.Notification.didChange.rawValue) \(realm.isEmpty)")
        }
        try stage.on { realm in diary.tokens = [realm.observe(block)] }
        try stage.write { $0.add(Unrelated()) }
        #expect(diaryLines(stage, diary) == ["true false"])
        try stage.on { _ in
            let token = try #require(diary.tokens.first)
            #expect(token.invalidate() == true && token.invalidate() == false)
        }
        try stage.write { $0.deleteAll() }
        #expect(diaryLines(stage, diary).isEmpty)
    }

    @Test("Releasing the token of a Realm without invalidate() logs a warning")
    func forgottenToken() throws {
        let stage = try Stage()
        let came = DispatchSemaphore(value: 0)
        let logger = Logger.shared
        defer { Logger.shared = logger }
        var isTold = false
        // Other tests also set the logger, so it is set repeatedly.
        for _ in 0..<72_000 where !isTold {
            Logger.shared = Logger(level: .warn) { _, line in
                if line.contains("token was released without `invalidate()`") { came.signal() }
            }
            try stage.on { realm in _ = realm.observe { _, _ in } }
            isTold = came.wait(timeout: .now() + .milliseconds(200)) == .success
        }
        #expect(isTold)
    }

    @Test("thaw() returns nil if the object does not exist yet in the Realm's version")
    func notThereYet() throws {
        try withFile(Contract.types) { configuration in
            var late = configuration
            late.objectTypes = Contract.types
            let realm = try Realm(configuration: late)
            realm.autorefresh = false
            #expect(realm.isEmpty)
            nonisolated(unsafe) var frozen: Contract.Dog?
            let other = late
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                autoreleasepool {
                    let realm = try? Realm(configuration: other)
                    frozen = try? realm?.write { realm?.create(Contract.Dog.self, value: ["name": "new"]) }?.freeze()
                }
                done.signal()
            }
            done.wait()
            let dog = try #require(frozen)
            #expect(dog.name == "new" && dog.thaw() == nil)
            realm.refresh()
            #expect(dog.thaw()?.name == "new")
        }
    }

    @Test("A collection cannot be compared with an element")
    func collectionsAsValues() throws {
        let message = try misuseText {
            let realm = try Contract.realm()
            let owner = try realm.write { realm.create(Contract.Owner.self) }
            _ = realm.objects(Contract.Owner.self).filter("ANY dogs == %@", owner.dogs).count
        }
        #expect(message?.contains("Cannot compare value") == true, "\(message ?? "taken")")
        let realm = try Contract.realm()
        let owner = try realm.write { realm.create(Contract.Owner.self, value: ["dogs": [["name": "a"]]]) }
        #expect(realm.objects(Contract.Owner.self).filter("ANY dogs IN %@", owner.dogs).count == 1)
        #expect(
            realm.objects(Contract.Owner.self).filter("ANY dogs IN %@", realm.objects(Contract.Dog.self)).count == 1)
    }

    // MARK: Numbers of another kind

    private static let doubles: [any Sendable] = [
        3.0, 3.0 as Float, NSNumber(value: 3.0), NSNumber(value: 3.0 as Float), NSDecimalNumber(string: "3"),
        Decimal(3), 3.5,
    ]

    @Test(
        "A Float or Double is refused for Int and Bool properties, even without a fraction", arguments: doubles.indices)
    func fractions(_ index: Int) throws {
        let value = Self.doubles[index]
        for property in ["int", "int8", "optInt64", "rank", "metres"] {
            let words = "property 'Contract_All.\(property)'."
            let made = try misuseText { _ = All(value: [property: Self.doubles[index]]) }
            #expect(made?.contains(words) == true, "\(property) \(value): \(made ?? "taken")")
            let created = try misuseText {
                let realm = try Contract.allTypes()
                try realm.write { realm.create(All.self, value: ["pk": 1, property: Self.doubles[index]]) }
            }
            #expect(created?.contains(words) == true, "\(property) \(value): \(created ?? "taken")")
            let set = try misuseText {
                let realm = try Contract.allTypes()
                try realm.write { realm.create(All.self)[property] = Self.doubles[index] }
            }
            #expect(set?.contains(words) == true, "\(property) \(value): \(set ?? "taken")")
        }
        let element = try misuseText { _ = Many(value: ["ints": [Self.doubles[index]]]) }
        #expect(element?.contains("for expected type 'int'.") == true, "\(value): \(element ?? "taken")")
        let one = try misuseText { _ = All(value: ["bool": 1.0]) }
        #expect(one?.contains("for 'bool' property 'Contract_All.bool'.") == true)
    }

    @Test("A whole number in JSON is accepted for an Int, a number with a decimal point is not")
    func json() throws {
        func value(_ text: String) throws -> Any { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
        let all = All(
            value: try value(#"{"int": 3, "int8": -4, "double": 3, "float": 3.0, "bool": true, "decimal": 2.5}"#))
        #expect(all.int == 3 && all.int8 == -4 && all.double == 3 && all.float == 3 && all.bool && all.decimal == 2.5)
        let refused = try misuseText {
            _ = All(value: try JSONSerialization.jsonObject(with: Data(#"{"int": 3.0}"#.utf8)))
        }
        #expect(refused?.contains("for 'int' property 'Contract_All.int'.") == true, "\(refused ?? "taken")")
        #expect(
            Many(value: try value(#"{"bools": [true, 0, 1], "doubles": [1, 2.5]}"#)).bools.map { $0 } == [
                true, false, true,
            ])
    }

    @Test("A Decimal128 property accepts every number and text, even by name")
    func decimals() throws {
        let realm = try Contract.allTypes()
        try realm.write {
            let all = realm.create(All.self)
            for (given, wanted) in [
                (1, "1"), (Int8(-2), "-2"), (2.5, "2.5"), (2.5 as Float, "2.5"), ("3.25", "3.25"),
                (Decimal(string: "4.125") as Any, "4.125"), (NSDecimalNumber(string: "5.5"), "5.5"),
                (NSNumber(value: 6), "6"), (Decimal128("7E3"), "7000"), (Double.nan, "NaN"),
                (-Double.infinity, "-Inf"),
            ] as [(Any, String)] {
                all["decimal"] = given
                #expect(all.decimal.description == wanted)
                all.setValue(given, forKey: "optDecimal")
                #expect(all.optDecimal?.description == wanted)
            }
            let many = realm.create(Many.self, value: ["decimals": [1, 2.5, "3", Decimal128("0.1")]])
            many.decimalSet.insert(objectsIn: ["1", "1.0", "1.00", "2"])
            many.decimalMap["a"] = "0.1"
            let average: Decimal128? = many.decimals.average()
            #expect(many.decimalSet.count == 2 && many.decimals.sum() == "6.6" && average == Decimal128("1.65"))
            #expect(
                many.decimals.min() == Decimal128("0.1") && many.decimals.max() == Decimal128("3")
                    && many.decimalMap["a"] == 0.1)
            #expect(many.decimalSet.contains("2.000") && many.decimals.index(of: "2.50") == 1)
        }
        // Decimals are exact where doubles are not.
        let total = (0..<10).reduce(Decimal128()) { sum, _ in sum + "0.1" }
        #expect(total == 1 && (0..<10).reduce(0.0) { sum, _ in sum + 0.1 } != 1)
        #expect((Decimal128("1") / 3).description == "0.3333333333333333333333333333333333")
        #expect((Decimal128("2") / 3).description == "0.6666666666666666666666666666666667")
        #expect((Decimal128("1") / 0).description == "Inf" && (Decimal128("0") / 0).isNaN)
        #expect(Decimal128("1E6144") * 10 == "inf" && (Decimal128("1E-6176") / 10) == 0)
    }
}
