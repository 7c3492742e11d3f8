// SPDX-License-Identifier: Apache-2.0
// The query language in edge cases of RealmSwift's contract: values of any type, case folding, spellings of literals,
// placeholders in subscripts, and closures that are refused.

import Foundation
import RealmSwift
import Testing

private typealias All = Contract.All
private typealias Many = Contract.Many

@Suite("Query language: RealmSwift contract")
struct QueryCornersTests {
    /// The values of `any`; the index is the primary key.
    static var anys: [AnyRealmValue] {
        [
            .none, .int(1), .double(1), .bool(true), .string("ab"), .data(Data("ab".utf8)), .string(""), .float(1.5),
            .decimal128(1), .date(Date(timeIntervalSince1970: 1)), .string("AB"), .int(0),
        ]
    }

    private static func realm() throws -> Realm {
        let realm = try Contract.allTypes()
        try realm.write {
            for (pk, any) in anys.enumerated() {
                realm.create(All.self, value: ["pk": pk]).any = any
            }
        }
        return realm
    }

    static var questions: [(String, [Any], Set<Int>)] {
        [
            ("any == 'ab'", [], [4, 5]), ("any == %@", [Data("ab".utf8)], [4, 5]), ("any IN {'ab', 7}", [], [4, 5]),
            ("any != 'ab'", [], [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]), ("any ==[c] 'aB'", [], [4, 5, 10]),
            ("any == 1", [], [1, 2, 8]), ("any == true", [], [3]), ("any == 1.5", [], [7]),
            ("any > 0", [], [1, 2, 7, 8]),
            ("any >= 1", [], [1, 2, 7, 8]), ("any BETWEEN {0, 1}", [], [1, 2, 8, 11]),
            ("any IN {1, 'AB'}", [], [1, 2, 8, 10]),
            ("any == NULL", [], [0]), ("any != NULL", [], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
            ("any CONTAINS 'b'", [], [4, 5]),
            ("any BEGINSWITH[c] 'a'", [], [4, 5, 10]), ("any CONTAINS ''", [], []), ("any LIKE 'a?'", [], [4, 5]),
            ("any < 'b'", [], [4, 6, 10]), ("any > %@", [Date(timeIntervalSince1970: 0)], [9]), ("any == '1'", [], []),
            ("NOT any == 1", [], [0, 3, 4, 5, 6, 7, 9, 10, 11]), ("any <= NULL", [], [0]), ("any < NULL", [], []),
            ("pk == 0x0A", [], [10]), ("pk == 0b11", [], [3]), ("pk == 0o7", [], [7]), ("pk < 1e0", [], [0]),
            ("pk == %i", [4], [4]), ("pk = %ld OR pk == %u", [1, 2], [1, 2]), ("pk <> 0 AND pk =< 2", [], [1, 2]),
            ("pk => 10", [], [10, 11]), ("PK == 1 OR pk == 2", [], []), ("#pk == 3", [], [3]),
            ("pk == 1 or pk == 2", [], [1, 2]),
            ("pk == 1 || pk == 2 && pk == 3", [], [1]), ("NOT pk > 1", [], [0, 1]), ("!(pk > 1)", [], [0, 1]),
            ("pk in {1, 2}", [], [1, 2]), ("pk Between {1, 2}", [], [1, 2]), ("any ==[cd] 'ÁB'", [], [4, 5, 10]),
            ("%K == %@", ["pk", 5], [5]), ("%K.pk == NULL AND pk == 2", ["link"], [2]),
            ("5 >= pk AND 4 <= pk", [], [4, 5]),
            ("pk == 1 AND TRUEPREDICATE", [], [1]), ("pk == 1 OR FALSEPREDICATE", [], [1]), ("pk == -1", [], []),
        ]
    }

    @Test("A query finds the objects that RealmSwift finds", arguments: questions.indices)
    func finds(_ index: Int) throws {
        let (text, arguments, expected) = Self.questions[index]
        let all = try Self.realm().objects(All.self)
        if text.hasPrefix("PK") {
            // Property names are case-sensitive.
            let message = try misuseText { _ = try Self.realm().objects(All.self).filter("PK == 1") }
            #expect(message?.contains("Property 'PK' not found in object of type") == true)
            return
        }
        let found = all.filter(NSPredicate(format: text, argumentArray: arguments))
        #expect(Set(found.map(\.pk)) == expected, "\(text)")
    }

    @Test("In values of any type, decimals compare with binary fractions as decimals, other numbers exactly")
    func decimalsOfAnyType() throws {
        let realm = try Contract.allTypes()
        let values: [AnyRealmValue] = [
            .decimal128("0.1"), .double(0.1), .float(0.1), .decimal128("0.3"), .int(1 << 53), .double(0x1p53),
            .int(1 << 53 + 1),
        ]
        try realm.write {
            for (pk, value) in values.enumerated() { realm.create(All.self, value: ["pk": pk]).any = value }
        }
        let all = realm.objects(All.self)
        func pks(_ text: String, _ arguments: Any...) -> [Int] {
            all.filter(NSPredicate(format: text, argumentArray: arguments)).map(\.pk)
        }
        #expect(pks("any == 0.1") == [0, 1] && pks("any != 0.1") == [2, 3, 4, 5, 6])
        #expect(pks("any == %@", Decimal128(value: "0.1")) == [0, 1, 2])
        #expect(pks("any == %@", Float(0.1)) == [0, 2])
        // The Float 0.1 is slightly greater than the Double 0.1.
        #expect(pks("any > 0.1 AND any < 0.3") == [2] && pks("any >= 0.1 AND any <= 0.3") == [0, 1, 2, 3])
        #expect(pks("any IN {0.3, 7}") == [3] && all.where { $0.any == .double(0.3) }.map(\.pk) == [3])
        #expect(pks("any == %@", 1 << 53 + 1) == [6] && pks("any == %@", 0x1p53) == [4, 5])
    }

    // A Double beyond the range of Int must not be compared by its shortest decimal digits: for 2 to the 64th these
    // are 18446744073709552000.
    @Test("In values of any type, large whole numbers compare exactly")
    func largeNumbersOfAnyType() throws {
        let realm = try Contract.allTypes()
        let values: [AnyRealmValue] = [
            .double(0x1p64), .decimal128("18446744073709551616"), .decimal128("18446744073709552000"),
            .decimal128("18446744073709551615"), .float(0x1p64), .decimal128("1e23"), .double(1e23),
        ]
        try realm.write {
            for (pk, value) in values.enumerated() { realm.create(All.self, value: ["pk": pk]).any = value }
        }
        let all = realm.objects(All.self)
        func pks(_ text: String, _ argument: Any) -> [Int] { all.filter(text, argument).map(\.pk) }
        for two in [0x1p64 as Any, Float(0x1p64) as Any, Decimal128(value: "18446744073709551616") as Any] {
            #expect(pks("any == %@", two) == [0, 1, 4])
            #expect(pks("any < %@", two) == [3] && pks("any > %@", two) == [2, 5, 6])
            #expect(pks("any IN {%@, 7}", two) == [0, 1, 4])
        }
        #expect(pks("any == %@", Decimal128(value: "18446744073709552000")) == [2])
        // The Double 1e23 is slightly less.
        #expect(pks("any < %@ AND any > 2e22", Decimal128(value: "1e23")) == [6])
        let places = Array(all.sorted(byKeyPath: "any").map(\.pk))
        #expect(places == [3, 0, 1, 4, 2, 6, 5])
    }

    @Test("[c] folds the case of ASCII and Latin-1 letters only, [cd] of all letters")
    func folding() throws {
        let realm = try Contract.allTypes()
        let words = ["Ä", "ä", "Σ", "σ", "×", "÷", "Ж", "ж", "É", "e", "tuv", "tüv", "tûv"]
        try realm.write {
            for (pk, word) in words.enumerated() { realm.create(All.self, value: ["pk": pk, "string": word]) }
        }
        let all = realm.objects(All.self)
        func count(_ text: String, _ word: String) -> Int { all.filter("string \(text) %@", word).count }
        #expect(count("==[c]", "ä") == 2 && count("==[c]", "σ") == 1 && count("==[c]", "ж") == 1)
        #expect(count("==[c]", "×") == 1 && count("==[cd]", "σ") == 2 && count("==[cd]", "ж") == 2)
        #expect(count("==[d]", "tuv") == 3 && count("==[d]", "tüv") == 3 && count("BEGINSWITH[d]", "tu") == 3)
        #expect(count("==[cd]", "E") == 2 && count("LIKE[c]", "Ä") == 2 && count("LIKE[c]", "Σ") == 1)
        #expect(all.filter("string IN[c] %@", ["Ä", "TUV"]).count == 3)
    }

    @Test("Subscripts accept number placeholders, and IN accepts plain and optional values")
    func placeholders() throws {
        let realm = try Contract.allTypes()
        try realm.write {
            let first = realm.create(All.self, value: ["pk": 1, "optInt": 3, "any": [["x", "y"], ["z"]] as [Any]])
            realm.create(All.self, value: ["pk": 2, "any": [["k": 5] as [String: Any]] as [Any], "link": first])
        }
        let all = realm.objects(All.self)
        #expect(all.filter("any[%d][%ld] == %@", 0, 1, "y").map(\.pk) == [1])
        #expect(all.filter("any[0]['k'] == 5").map(\.pk) == [2] && all.filter("any[%@][%@] == 5", 0, "k").count == 1)
        let numbers: [Int] = [3, 4]
        let optionals: [Int?] = [3, nil]
        #expect(all.where { $0.optInt.in(numbers) }.map(\.pk) == [1])
        #expect(all.where { $0.optInt.in(optionals) }.map(\.pk) == [1, 2])
        #expect(all.where { $0.optInt.in([3]) }.map(\.pk) == [1] && all.where { $0.optInt.in([nil]) }.count == 1)
        let links: [All] = [all[0]]
        #expect(all.where { $0.link.in(links) }.map(\.pk) == [2] && all.where { $0.link.in(all) }.map(\.pk) == [2])
    }

    static let refusals: [MisuseCase] = [
        MisuseCase("Comparing two collection columns is not permitted.") {
            _ = try realm().objects(Many.self).where { $0.ints == $0.ints }
        },
        MisuseCase("Subqueries must contain a keypath starting with a collection.") {
            _ = try realm().objects(All.self).where { ($0.int == 1).count == 1 }
        },
        MisuseCase("Subqueries do not support AnyRealmValue subscripts.") {
            _ = try realm().objects(All.self).where { ($0.any["k"] == .int(1)).count == 1 }
        },
        MisuseCase("Expressions within predicate aggregates must be constant values") {
            _ = try realm().objects(All.self).filter("int BETWEEN {pk, 5}")
        },
        MisuseCase("Predicate with BETWEEN operator must compare a KeyPath with an aggregate with two values") {
            _ = try realm().objects(All.self).filter("{1, 2} BETWEEN int")
        },
        MisuseCase("Invalid keypath 'num': Property 'num' not found in object of type 'Contract_Renamed'") {
            _ = try memoryRealm(Contract.Renamed.self).objects(Contract.Renamed.self).filter("num == 1")
        },
        MisuseCase("Cannot compare value") { _ = try realm().objects(All.self).filter("ANY parents == NULL") },
        MisuseCase("Unsupported KVC collection operator") { _ = List<Int>().value(forKeyPath: "@median.self") },
        MisuseCase("Only the modifiers [c], [d] and [cd] are supported") {
            _ = try realm().objects(All.self).filter("string ==[n] 'a'")
        },
        MisuseCase("ALL modifier not supported") { _ = try realm().objects(Many.self).filter("ALL ints == 1") },
        MisuseCase("SUBQUERY is only supported when immediately followed by .@count") {
            _ = try realm().objects(All.self).filter("SUBQUERY(list, $x, $x.int == 1).@count == int")
        },
        MisuseCase("Unable to parse the format string") {
            _ = try realm().objects(All.self).filter("FUNCTION(int, 'abs') == 1")
        },
    ]

    @Test("Invalid queries are refused with RealmSwift's messages", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }

    @Test("value(forKey:) of lists and sets can return AnyObject values")
    func runtimeObjects() throws {
        let realm = try Contract.allTypes()
        let holder = try realm.write {
            realm.create(
                All.self,
                value: ["pk": 9, "list": [["pk": 1, "string": "a", "optInt": 4], ["pk": 2, "string": "b"]]])
        }
        let strings: [AnyObject] = holder.list.value(forKey: "string")
        #expect(strings as? [String] == ["a", "b"] && holder.list.value(forKey: "string").count == 2)
        #expect(holder.list.value(forKey: "string") as? [String] == ["a", "b"])
        let numbers: [AnyObject] = holder.list.value(forKey: "optInt")
        #expect(numbers[0] as? Int == 4 && numbers[1] is NSNull)
        let rows: [AnyObject] = holder.list.value(forKey: "self")
        #expect(rows as? [All] == Array(holder.list))
        try realm.write { holder.set.insert(holder.list[0]) }
        let pks: [AnyObject] = holder.set.value(forKey: "pk")
        #expect(pks as? [Int] == [1] && List<Int>().value(forKey: "self").count == 0)
    }
}
