// SPDX-License-Identifier: Apache-2.0
// Queries with subscripts into lists and dictionaries inside values of any type.

import Foundation
import RealmSwift
import Testing

enum AnySubscriptModels {
    class Holder: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var any: AnyRealmValue
        @Persisted var anys: Map<String, AnyRealmValue>
        @Persisted var next: Holder?
        @Persisted var others: List<Holder>
        @Persisted var n = 0
    }

    static func realm() throws -> Realm {
        let realm = try memoryRealm(Holder.self)
        try realm.write {
            let values: [AnyRealmValue] = [
                .fromDictionary(["a": .int(1), "list": .fromArray([.int(5), .string("x"), .fromArray([.int(9)])])]),
                .fromArray([.int(1), .fromDictionary(["a": .int(7)]), .none]),
                .string("plain"), .none, .fromDictionary(["a": .string("text"), "b": .none]), .int(1),
            ]
            var last: Holder?
            for (id, value) in values.enumerated() {
                let holder = realm.create(Holder.self, value: ["id": id, "any": value, "n": id] as [String: Any])
                holder.anys["k"] = value
                holder.next = last
                last.map { holder.others.append($0) }
                last = holder
            }
        }
        return realm
    }
}

@Suite("Subscripts of values of any type") struct AnySubscriptsTests {
    typealias Holder = AnySubscriptModels.Holder

    static let cases: [(String, [Int])] = [
        ("any['a'] == 1", [0]), ("any['a'] == 'text'", [4]), ("any['a'] == NULL", [1, 2, 3, 5]),
        ("any['a'] != NULL", [0, 4]), ("any['a'] BEGINSWITH 'te'", [4]), ("any['a'] >= 1", [0]),
        ("any['list'][0] == 5", [0]), ("any['list'][2][0] == 9", [0]), ("any['list'][9] == NULL", [0, 1, 2, 3, 4, 5]),
        ("any[0] == 1", [1]), ("any[1]['a'] == 7", [1]), ("any[#any] == 1", [0, 1]), ("ANY any[#any] == 1", [0, 1]),
        ("any[#any]['a'] == 7", [1]), ("any['list'][#any] == 'x'", [0]), ("any[#any][#any][#any] == 9", [0]),
        ("any[#any] == NULL", [1, 4]), ("NONE any[#any] == 1", [2, 3, 4, 5]), ("NOT any[#any] == 1", [2, 3, 4, 5]),
        ("any['a'] IN {1, 'text'}", [0, 4]), ("anys['k']['a'] == 1", [0]), ("anys['k'][1]['a'] == 7", [1]),
        ("anys['k'] == 1", [5]), ("anys['none'] == NULL", [0, 1, 2, 3, 4, 5]), ("anys[#any] == 1", [5]),
        ("next.any['a'] == 1", [1]), ("ANY others.any['a'] == 1", [1]),
        ("any['b'] == NULL AND any['a'] == 'text'", [4]),
        ("any['a'] == next.any['a']", [2, 3]),
    ]

    @Test("A subscript selects by key, position or any element", arguments: cases)
    func finds(_ format: String, _ ids: [Int]) throws {
        let all = try AnySubscriptModels.realm().objects(Holder.self)
        #expect(all.filter(format).map(\.id) == ids)
    }

    @Test("Arguments of a format may be keys, positions and #any")
    func arguments() throws {
        let all = try AnySubscriptModels.realm().objects(Holder.self)
        #expect(all.filter("any[%@][%@] == %@", "list", 0, 5).map(\.id) == [0])
        #expect(all.filter("any[%K] == 1", "#any").map(\.id) == [0, 1])
    }

    @Test("Type-safe subscripts find the same objects and print as RealmSwift prints them")
    func typeSafe() throws {
        let all = try AnySubscriptModels.realm().objects(Holder.self)
        #expect(all.where { $0.any["a"] == .int(1) }.map(\.id) == [0])
        #expect(all.where { $0.any["list"][1] == .string("x") }.map(\.id) == [0])
        #expect(all.where { $0.any.any == .int(1) }.map(\.id) == [0, 1])
        #expect(all.where { $0.any.any["a"] == .int(7) }.map(\.id) == [1])
        #expect(all.where { $0.anys["k"]["a"] == .int(1) }.map(\.id) == [0])
        #expect(all.where { !($0.any.any == .int(1)) }.map(\.id) == [2, 3, 4, 5])
        let query = Query<Holder>._constructForTesting()
        let (text, arguments) = (query.any["k"][0].any == .int(1))._constructPredicate()
        #expect(text == "(any[%@][%@][%K] == %@)")
        #expect(arguments[0] as? String == "k" && arguments[1] as? Int == 0 && arguments[2] as? String == "#any")
        #expect((query.anys["k"]["a"] > .int(1))._constructPredicate().0 == "(anys[%@][%@] > %@)")
    }

    static let refusals: [MisuseCase] = [
        .onHolders("only dictionaries and realm `Any` support subscript predicates.", "n['a'] == 1"),
        .onHolders("Invalid subscript type", "any[1.5] == 1"),
        .onHolders("is not a link or collection and can only appear at the end of a keypath.", "any['a'].n == 1"),
        .onHolders("Comparing two collection columns is not permitted.", "any[#any] == next.any['a']"),
        MisuseCase("Subqueries do not support AnyRealmValue subscripts.") {
            _ = try AnySubscriptModels.realm().objects(Holder.self)
                .where { ($0.others.any["a"] == .int(1)).count == 1 }
        },
    ]

    @Test("Invalid subscripts are refused with RealmSwift's messages", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}

extension MisuseCase {
    fileprivate static func onHolders(_ words: String, _ format: String) -> MisuseCase {
        MisuseCase(words) { _ = try AnySubscriptModels.realm().objects(AnySubscriptModels.Holder.self).filter(format) }
    }
}
