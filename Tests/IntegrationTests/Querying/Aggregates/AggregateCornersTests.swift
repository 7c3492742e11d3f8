// SPDX-License-Identifier: Apache-2.0
// Sums, averages and comparisons across types: results that do not fit the requested type, decimals with other
// numbers, values of any type with each other, and arguments that are not plain values.

import Foundation
import RealmSwift
import Testing

enum FigureModels {
    class Account: Object {
        @Persisted var name: String
        @Persisted var nick: String?
        @Persisted var age: Int
        @Persisted var level: Int8
        @Persisted var limit: Int16?
        @Persisted var rate: Float
        @Persisted var ratio: Double
        @Persisted var price: Decimal128
        @Persisted var left: AnyRealmValue
        @Persisted var right: AnyRealmValue
        @Persisted var entries: List<Entry>
        @Persisted var prices: List<Decimal128>
        @Persisted var anys: List<AnyRealmValue>
        @Persisted var friend: Account?
        @Persisted var friends: List<Account>
    }
    class Entry: Object {
        @Persisted var price: Decimal128
        @Persisted var count: Int
    }
    static func realm() throws -> Realm { try memoryRealm(Account.self, Entry.self) }
}

@Suite("Aggregates and comparisons across types")
struct AggregateCornersTests {
    typealias Account = FigureModels.Account
    typealias Entry = FigureModels.Entry
    static let null = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    @Test func `an average with a fraction is cut for a whole type, and sums wrap to its width`() throws {
        let realm = try FigureModels.realm()
        try realm.write {
            for age in [20, 25] {
                let rate = Float.greatestFiniteMagnitude
                realm.create(Account.self, value: ["age": age, "level": 100, "limit": 20000, "rate": rate])
            }
        }
        let accounts = realm.objects(Account.self)
        #expect(accounts.average(of: \.age) == 22)
        #expect(accounts.average(ofProperty: "age") as Int? == 22)
        #expect(accounts.average(ofProperty: "age") as Double? == 22.5)
        #expect(accounts.sum(of: \.level) == -56)
        #expect(accounts.sum(ofProperty: "level") as Int == 200)
        #expect(accounts.sum(of: \.limit) == -25536)
        #expect(accounts.sum(of: \.rate) == .infinity)
        #expect(accounts.max(ofProperty: "rate") as Int? == .max)
        let levels = List<Int8>()
        levels.append(objectsIn: [100, 100])
        #expect(levels.sum() == -56 && levels.average() as Double? == 100)
    }

    @Test func `an average of large numbers is right although their sum wraps`() throws {
        let realm = try FigureModels.realm()
        let base = 1_750_000_000_000_000_000
        try realm.write {
            for step in 0..<6 { realm.create(Account.self, value: ["age": base + step]) }
        }
        let accounts = realm.objects(Account.self)
        #expect(accounts.average(ofProperty: "age") as Double? == Double(base))
        #expect(accounts.where { $0.age > 0 }.average(ofProperty: "age") as Double? == Double(base))
        #expect(accounts.sum(of: \.age) == (0..<6).reduce(0) { $0 &+ base &+ $1 })
    }

    @Test func `the sum of no decimals is 0, managed or not, behind a null link too`() throws {
        let realm = try FigureModels.realm()
        try realm.write { _ = realm.create(Account.self, value: ["friend": ["name": "empty"]]) }
        for text in [
            "entries.@sum.price == 0", "entries.@sum.price >= 0", "entries.@sum.price != 5", "prices.@sum < 10",
            "anys.@sum == 0", "friend.prices.@sum == 0", "prices.@sum == price", "prices.@sum == age",
        ] {
            #expect(realm.objects(Account.self).filter(text).count == 2, "\(text)")
        }
        #expect(realm.objects(Account.self).filter("entries.@sum.price != 0").isEmpty)
        let list = List<Account>()
        list.append(Account())
        #expect(list.index(matching: "prices.@sum == 0") == 0 && list.index(matching: "entries.@sum.price == 0") == 0)
    }

    @Test func `aggregates of decimals and of any values are compared with properties of every number type`() throws {
        let realm = try FigureModels.realm()
        try realm.write {
            _ = realm.create(
                Account.self,
                value: [
                    "name": "a", "age": 6, "ratio": 6.0, "rate": Float(6), "price": Decimal128("6"), "left": 6,
                    "prices": [Decimal128("2.5"), Decimal128("3.5")], "anys": [2.5, 3.5, "x"],
                    "entries": [["price": Decimal128("6"), "count": 6] as [String: Any]],
                ])
        }
        let accounts = realm.objects(Account.self)
        for property in ["age", "ratio", "rate", "price", "left"] {
            for aggregate in [
                "prices.@sum", "anys.@sum", "entries.@sum.count", "entries.@max.price", "entries.@avg.count",
            ] {
                #expect(accounts.filter("\(aggregate) == \(property)").count == 1, "\(aggregate) \(property)")
                #expect(accounts.filter("\(aggregate) != \(property)").isEmpty, "\(aggregate) \(property)")
                #expect(accounts.filter("\(property) >= \(aggregate)").count == 1, "\(aggregate) \(property)")
            }
            #expect(accounts.filter("prices.@min < \(property) AND anys.@max < \(property)").count == 1, "\(property)")
        }
        #expect(accounts.filter("entries.@count < price AND entries.@count < left").count == 1)
        #expect(accounts.where { $0.prices.max < $0.price }.count == 1)
        try realm.write {
            accounts[0].anys.removeAll()
            accounts[0].anys.append(objectsIn: [.double(0.1), .double(0.2)])
        }
        #expect(accounts.filter("anys.@sum == 0.3 AND anys.@avg == 0.15").count == 1)
    }

    // The sum of one whole Float or Double must be equal to it, even if its shortest digits denote another number:
    // those of the Float 50331648 are 5.033165e+07, those of 2 to the 64th as Double are 18446744073709552000.
    @Test func `a total of large whole numbers is equal to them, as a constant and as a property`() throws {
        let realm = try FigureModels.realm()
        // `property` is the property of the number's type.
        let numbers: [(number: AnyRealmValue, constant: Any, ratio: Double, property: String)] = [
            (.float(50_331_648), Float(50_331_648), 50_331_648, "rate"), (.double(0x1p60), 0x1p60, 0x1p60, "ratio"),
            (.double(0x1p64), 0x1p64, 0x1p64, "ratio"), (.double(1e23), 1e23, 1e23, "ratio"),
            (.float(0x1p64), Float(0x1p64), 0x1p64, "rate"),
        ]
        for (number, constant, ratio, property) in numbers {
            let digits = Decimal128(value: "\(constant)")
            try realm.write {
                realm.deleteAll()
                let account = realm.create(Account.self)
                account.left = number
                account.ratio = ratio
                account.rate = Float(ratio)
                account.anys.append(number)
                account.prices.append(digits)
            }
            let accounts = realm.objects(Account.self)
            for figure in ["anys.@sum", "anys.@avg", "anys.@min", "anys.@max"] {
                for comparison in ["==", "<=", ">="] {
                    let text = "\(figure) \(comparison)"
                    #expect(accounts.filter("\(text) %@", constant).count == 1, "\(text) \(number)")
                    #expect(accounts.filter("\(text) left").count == 1, "\(text) \(number)")
                }
                for comparison in ["!=", "<", ">"] {
                    let text = "\(figure) \(comparison)"
                    #expect(accounts.filter("\(text) %@", constant).isEmpty, "\(text) \(number)")
                    #expect(accounts.filter("\(text) left").isEmpty, "\(text) \(number)")
                }
            }
            // Aggregates of decimals compare with a property as with a constant.
            for figure in ["anys.@sum", "anys.@avg", "prices.@sum", "prices.@avg", "prices.@max"] {
                #expect(accounts.filter("\(figure) == %@", constant).count == 1, "\(figure) \(number)")
                #expect(accounts.filter("\(figure) == \(property)").count == 1, "\(figure) \(number)")
                #expect(accounts.filter("\(property) < \(figure)").isEmpty, "\(figure) \(number)")
            }
            let list = List<Account>()
            let account = Account()
            account.ratio = ratio
            account.rate = Float(ratio)
            account.prices.append(digits)
            account.anys.append(number)
            list.append(account)
            #expect(list.index(matching: "prices.@sum == \(property)") == 0, "\(number)")
            #expect(list.index(matching: "anys.@sum == \(property)") == 0, "\(number)")
        }
    }

    @Test func `two properties of any type compare as their values do`() throws {
        let realm = try FigureModels.realm()
        func holds(_ left: AnyRealmValue, _ right: AnyRealmValue, _ text: String) throws -> Bool {
            try realm.write {
                realm.delete(realm.objects(Account.self).filter("name == 'pair'"))
                _ = realm.create(Account.self, value: ["name": "pair", "left": left, "right": right])
            }
            return realm.objects(Account.self).filter("name == 'pair' AND \(text)").count == 1
        }
        let one = try realm.write { realm.create(Account.self, value: ["name": "one"]) }
        let two = try realm.write { realm.create(Account.self, value: ["name": "two"]) }
        let equal: [(AnyRealmValue, AnyRealmValue)] = [
            (.object(one), .object(one)), (.int(1), .decimal128(1)), (.int(1), .double(1)), (.none, .none),
            (.float(0.5), .double(0.5)), (.uuid(Self.null), .uuid(Self.null)),
        ]
        for (left, right) in equal {
            #expect(try holds(left, right, "left == right"), "\(left) \(right)")
            #expect(try !holds(left, right, "left != right"), "\(left) \(right)")
            #expect(try holds(left, right, "left == left"), "\(left) \(right)")
        }
        let different: [(AnyRealmValue, AnyRealmValue)] = [
            (.object(one), .object(two)), (.string("x"), .int(1)), (.bool(true), .int(2)), (.none, .int(0)),
            (.uuid(Self.null), .decimal128(0)), (.int(1), .decimal128("1.5")),
        ]
        for (left, right) in different {
            #expect(try !holds(left, right, "left == right"), "\(left) \(right)")
            #expect(try holds(left, right, "left != right"), "\(left) \(right)")
        }
        #expect(try holds(.int(1), .decimal128("1.5"), "left < right"))
        #expect(try !holds(.string("x"), .int(1), "left < right"))
    }

    @Test func `dynamic objects, decimal numbers and nil are arguments like any other`() throws {
        let realm = try FigureModels.realm()
        let price = Decimal128(value: "0.12345678901234567890")
        try realm.write {
            _ = realm.create(Account.self, value: ["name": "a", "price": price, "friend": ["name": "b"]])
        }
        let friend = try #require(realm.dynamicObjects("FigureModels_Account").first { $0["name"] as? String == "b" })
        let dynamic = realm.dynamicObjects("FigureModels_Account")
        #expect(dynamic.filter("friend == %@", friend).count == 1)
        #expect(dynamic.filter("friend != %@", friend).count == 1)
        #expect(dynamic.filter("friend IN %@", [friend]).count == 1)
        #expect(realm.objects(Account.self).filter("friend == %@", friend).count == 1)
        let number = NSDecimalNumber(string: "0.12345678901234567890")
        #expect(realm.objects(Account.self).filter("price == %@", number).count == 1)
        let arguments = (Query<Account>._constructForTesting().nick == nil)._constructPredicate().1
        #expect(arguments.count == 1 && arguments[0] is NSNull)
    }

    @Test func `a null link behind a collection is passed over, managed or not`() throws {
        let owner = Account(value: ["friends": [["name": "b"]]])
        let list = List<Account>()
        list.append(owner)
        #expect(list.index(matching: "ANY friends.friend.nick == nil") == nil)
        let realm = try FigureModels.realm()
        try realm.write { realm.add(owner) }
        #expect(realm.objects(Account.self).filter("ANY friends.friend.nick == nil").isEmpty)
    }

    @Test("Sums of Int wrap on overflow")
    func wrapping() throws {
        let realm = try Contract.realm()
        try realm.write { for value in [Int.max, 1] { realm.create(Contract.Values.self, value: ["int": value]) } }
        #expect(realm.objects(Contract.Values.self).sum(of: \.int) == Int.min)
    }
}
