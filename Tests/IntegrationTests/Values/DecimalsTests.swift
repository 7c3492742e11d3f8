// SPDX-License-Identifier: Apache-2.0
// Decimal128 as a stored type: reading and storing, queries as text and type-safe, order, aggregates, invalid input.

import Foundation
import RealmSwift
import Testing

enum DecimalModels {
    class Account: Object {
        @Persisted var name: String
        @Persisted var balance: Decimal128
        @Persisted var limit: Decimal128?
        @Persisted var entries: List<Decimal128>
        let rate = RealmProperty<Decimal128?>()
    }
    class Bank: Object {
        @Persisted var accounts: List<Account>
    }
}

@Suite("Decimals")
struct DecimalsTests {
    typealias Account = DecimalModels.Account
    typealias Bank = DecimalModels.Bank

    /// a: 10.5, b: -3, c: 1E-20, d: NaN, e: 10.50 with a limit.
    private func filled() throws -> Realm {
        let realm = try memoryRealm(Account.self, Bank.self)
        try realm.write {
            let bank = realm.create(Bank.self, value: [:] as [String: Any])
            for (name, balance) in [("a", "10.5"), ("b", "-3"), ("c", "1E-20"), ("d", "nan"), ("e", "10.50")] {
                let account = Account()
                account.name = name
                account.balance = Decimal128(stringLiteral: balance)
                if name == "e" { account.limit = 100 }
                account.entries.append(objectsIn: [account.balance, 1])
                realm.add(account)
                bank.accounts.append(account)
            }
        }
        return realm
    }

    private func names(_ accounts: Results<Account>) -> String { accounts.map(\.name).joined() }

    @Test(arguments: [
        ("balance == 10.5", "ae"), ("balance == %@", "ae"), ("balance != 10.5", "bcd"), ("balance > 0", "ace"),
        ("balance < 0", "bd"), ("balance <= -3", "bd"), ("balance >= '1E-20'", "ace"), ("balance == '1.05e1'", "ae"),
        ("balance BETWEEN {-3, 0.5}", "bc"), ("balance IN {-3, 10.5}", "abe"), ("balance == 'nan'", "d"),
        ("limit == nil", "abcd"), ("limit > 99.5", "e"), ("limit != nil", "e"), ("ANY entries == 10.5", "ae"),
        ("entries.@sum == 11.5", "ae"), ("entries.@max == 1", "bcd"), ("entries.@avg == -1", "b"),
        ("balance == 1E-20", "c"),
    ])
    func `predicates compare decimals by value`(_ format: String, _ found: String) throws {
        let realm = try filled()
        let argument = Decimal128("10.500")
        #expect(names(realm.objects(Account.self).filter(format, argument)) == found)
    }

    @Test func `type-safe queries compare decimals by value`() throws {
        let accounts = try filled().objects(Account.self)
        #expect(names(accounts.where { $0.balance == 10.5 }) == "ae")
        #expect(names(accounts.where { $0.balance > 0 && $0.balance < "1" }) == "c")
        #expect(names(accounts.where { $0.balance.in([-3, 10.5]) }) == "abe")
        #expect(names(accounts.where { $0.limit == nil }) == "abcd")
        #expect(names(accounts.where { $0.limit >= 100 }) == "e")
        #expect(names(accounts.where { $0.entries.contains(-3) }) == "b")
        #expect(names(accounts.where { $0.balance.contains(-3...1) }) == "bc")
    }

    @Test func `sorting puts NaN first and keeps equal numbers in their order`() throws {
        let accounts = try filled().objects(Account.self)
        #expect(names(accounts.sorted(byKeyPath: "balance")) == "dbcae")
        #expect(names(accounts.sorted(byKeyPath: "balance", ascending: false)) == "aecbd")
        #expect(names(accounts.distinct(by: ["balance"])) == "abcd")
        #expect(names(accounts.sorted(byKeyPath: "limit")) == "abcde")
    }

    @Test func `aggregates are exact decimals without nulls and NaN`() throws {
        let realm = try filled()
        let accounts = realm.objects(Account.self)
        let sum: Decimal128 = accounts.sum(of: \.balance)
        #expect(sum == "18.00000000000000000001")
        let average: Decimal128? = accounts.average(of: \.balance)
        #expect(average == "4.5000000000000000000025")
        #expect(accounts.min(of: \.balance) == -3 && accounts.max(of: \.balance) == 10.5)
        #expect(accounts.max(of: \.limit) == 100)
        let none = accounts.filter("balance > 1000")
        #expect(none.sum(of: \.balance) == 0 as Decimal128 && none.min(of: \.balance) == nil)
        #expect(none.average(ofProperty: "balance") == nil as Decimal128?)
        let entries = try #require(accounts.first).entries
        #expect(entries.sum() == 11.5 && entries.min() == 1 && entries.max() == 10.5)
        #expect(entries.average() == 5.75 as Decimal128)
        let list = List<Decimal128>()
        list.append(objectsIn: [0.1, 0.2, "nan"])
        #expect(list.sum() == 0.3 && list.average() == 0.15 as Decimal128 && list.max() == 0.2)
        #expect(accounts.value(forKeyPath: "@max.balance") as? Decimal128 == 10.5)
    }

    @Test(arguments: [
        7 as any Sendable, 7.0, Float(7), "7", "7.00", Decimal128("7"), NSNumber(value: 7), Decimal(7),
        NSDecimalNumber(string: "7"), Int8(7), UInt64(7),
    ])
    func `numbers of all types and numeric text are taken for a decimal`(_ value: any Sendable) throws {
        let realm = try filled()
        try realm.write {
            let account = realm.create(Account.self, value: ["balance": value, "limit": value, "entries": [value]])
            #expect(account.balance == 7 && account.limit == 7 && Array(account.entries) == [7])
            account["balance"] = 8
            account.setValue(value, forKey: "balance")
            #expect(account["balance"] as? Decimal128 == 7)
            account.rate.value = 0.25
            #expect(account.rate.value == 0.25 && account["rate"] as? Decimal128 == 0.25)
            #expect(account.description.contains("balance = 7;"))
        }
        #expect(Account(value: ["balance": value]).balance == 7)
        let dynamic = realm.dynamicObjects("DecimalModels_Account")
        #expect(dynamic.last?["balance"] as? Decimal128 == 7)
    }

    @Test func `a decimal left unset is 0 and an optional one nil`() throws {
        let realm = try filled()
        try realm.write {
            let account = realm.create(Account.self, value: ["name": "x"])
            #expect(account.balance == 0 && account.limit == nil && account.rate.value == nil)
            account.balance *= 2
            account.balance += 1.25
            #expect(account.balance == 1.25)
        }
        #expect(names(realm.objects(Account.self).filter("balance == 1.25")) == "x")
        #expect(names(realm.objects(Account.self).filter("rate == nil")) == "abcdex")
    }

    static let misuses: [MisuseCase] = [
        MisuseCase("Invalid value 'seven'") { _ = Account(value: ["balance": "seven"]) },
        MisuseCase("Invalid value") { _ = Account(value: ["balance": true]) },
        MisuseCase("Cannot compare value 'seven'") {
            _ = try DecimalsTests().filled().objects(Account.self).filter("balance == 'seven'").count
        },
        MisuseCase("Cannot compare value '(null)'") {
            _ = try DecimalsTests().filled().objects(Account.self).filter("balance == nil").count
        },
        MisuseCase("not supported for type 'decimal128'") {
            _ = try DecimalsTests().filled().objects(Account.self).filter("balance CONTAINS 'x'").count
        },
    ]

    @Test(arguments: misuses)
    func `what is no number is refused`(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }
}
