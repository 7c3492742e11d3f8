// SPDX-License-Identifier: Apache-2.0
// Filters as format, NSPredicate and closure: the objects that they find, and the errors of invalid ones.

import Foundation
import RealmSwift
import Regnum
import Testing

/// A predicate and the ids of the objects that it finds.
struct FilterCase: Sendable, CustomStringConvertible {
    let format: String
    let ids: [Int]
    let arguments: @Sendable (Realm) -> [Any]
    let query: (@Sendable (Query<FilterModels.Thing>) -> Query<Bool>)?
    var description: String { format }

    init(
        _ format: String, _ ids: [Int],
        _ query: (@Sendable (Query<FilterModels.Thing>) -> Query<Bool>)? = nil
    ) {
        self.init(format, ids, arguments: { _ in [] }, query)
    }

    init(
        _ format: String, _ ids: [Int], arguments: @escaping @Sendable (Realm) -> [Any],
        _ query: (@Sendable (Query<FilterModels.Thing>) -> Query<Bool>)? = nil
    ) {
        self.format = format
        self.ids = ids
        self.arguments = arguments
        self.query = query
    }
}

private func day(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

@Suite("Filters")
struct FilteringTests {
    typealias Thing = FilterModels.Thing
    typealias Owner = FilterModels.Owner

    static func owner(_ realm: Realm, _ id: Int) -> Any {
        realm.object(ofType: Owner.self, forPrimaryKey: id) as Any
    }
    static func thing(_ realm: Realm, _ id: Int) -> Any {
        realm.object(ofType: Thing.self, forPrimaryKey: id) as Any
    }

    static let numbers: [FilterCase] = [
        FilterCase("int == 5", [1, 4]) { $0.int == 5 },
        FilterCase("int != 5", [2, 3, 5, 6]) { $0.int != 5 },
        FilterCase("int > 0", [1, 4, 5]) { $0.int > 0 },
        FilterCase("int >= 5", [1, 4, 5]) { $0.int >= 5 },
        FilterCase("int <= 5", [1, 3, 4, 6]) { $0.int <= 5 },
        FilterCase("int < -3", [6]) { $0.int < -3 },
        FilterCase("int == NULL", [2]) { $0.int == nil },
        FilterCase("int != nil", [1, 3, 4, 5, 6]) { $0.int != nil },
        FilterCase("int <= NULL", [2]), FilterCase("int >= NULL", [2]),
        FilterCase("int < NULL", []), FilterCase("int > NULL", []),
        FilterCase("indexed == 5", [1, 4]) { $0.indexed == 5 },
        FilterCase("indexed != 5", [2, 3, 5, 6]) { $0.indexed != 5 },
        FilterCase("indexed == NULL", [2]) { $0.indexed == nil },
        FilterCase("indexed IN {NULL, -3, 7}", [2, 3]) { $0.indexed.in([nil, -3, 7]) },
        FilterCase("indexed > -4 AND indexed < 6", [1, 3, 4]) { $0.indexed > -4 && $0.indexed < 6 },
        FilterCase("NOT indexed == NULL", [1, 3, 4, 5, 6]) { !($0.indexed == nil) },
        FilterCase("int == 9223372036854775807", [5]) { $0.int == .max },
        FilterCase("int == -9223372036854775808", [6]) { $0.int == .min },
        FilterCase("int BETWEEN {-3, 5}", [1, 3, 4]),
        FilterCase("n BETWEEN {-3, 5}", [1, 2, 3]) { $0.n.contains(-3...5) },
        FilterCase("n >= -3 AND n < 5", [2, 3]) { $0.n.contains(-3..<5) },
        FilterCase("NOT n BETWEEN {-3, 5}", [4, 5, 6]) { !$0.n.contains(-3...5) },
        FilterCase("NOT int BETWEEN {-3, 5}", [2, 5, 6]),
        FilterCase("int BETWEEN %@", [1, 4], arguments: { _ in [[0, 6]] }),
        FilterCase("int IN {5, -3}", [1, 3, 4]) { $0.int.in([5, -3]) },
        FilterCase("int IN {NULL, 5}", [1, 2, 4]) { $0.int.in([nil, 5]) },
        FilterCase("NOT int IN {5}", [2, 3, 5, 6]) { !$0.int.in([5]) },
        FilterCase("int IN %@", [], arguments: { _ in [[Int]()] }) { $0.int.in([]) },
        FilterCase("int IN %@", [1, 4], arguments: { _ in [Set([5, 8])] }),
        FilterCase("5 < int", [5]), FilterCase("5 == int", [1, 4]), FilterCase("0 >= n", [2, 3, 6]),
        FilterCase("int == n", [1, 3, 5, 6]),
        FilterCase("int == 5.0", [1, 4]),
        FilterCase("int == %@", [1, 4], arguments: { _ in [NSNumber(value: 5)] }),
        FilterCase("int == %@", [1, 4], arguments: { _ in [Int8(5)] }),
        FilterCase("int == %@", [2], arguments: { _ in [NSNull()] }),
        FilterCase("int == %@", [2], arguments: { _ in [Int?.none as Any] }),
        FilterCase("%K == %d", [1, 4], arguments: { _ in ["int", 5] }),
        FilterCase("d == %@", [3], arguments: { _ in [Double.nan] }) { $0.d == .nan },
        FilterCase("d != %@", [1, 2, 4, 5, 6], arguments: { _ in [Double.nan] }),
        FilterCase("d < 0", [3]) { $0.d < 0 },
        FilterCase("d == 0", [4]) { $0.d == 0 },
        FilterCase("d > 1", [1, 5, 6]) { $0.d > 1 },
        FilterCase("d >= %@", [1, 3, 4, 5, 6], arguments: { _ in [Double.nan] }),
        FilterCase("d < %@", [3], arguments: { _ in [-Double.infinity] }),
        FilterCase("d == %@", [5], arguments: { _ in [Double.infinity] }),
        FilterCase("d == NULL", [2]) { $0.d == nil },
        FilterCase("d == 9007199254740992", [6]),
        FilterCase("f == 1.7", [1]) { $0.f == 1.7 },
        FilterCase("f == 0.1", [5]) { $0.f == 0.1 },
        FilterCase("f == %@", [5], arguments: { _ in [0.1] }),
        FilterCase("f > 1.7", [4]) { $0.f > 1.7 },
        FilterCase("f IN {0.1, 3}", [4, 5]) { $0.f.in([0.1, 3]) },
        FilterCase("f < 0", [3]) { $0.f < 0 },
    ]

    static let texts: [FilterCase] = [
        FilterCase("s == ''", [3]) { $0.s == "" },
        FilterCase("s == NULL", [2]) { $0.s == nil },
        FilterCase("s != ''", [1, 2, 4, 5, 6]) { $0.s != "" },
        FilterCase("s ==[c] 'HELLO'", [1, 4]) { $0.s.equals("HELLO", options: .caseInsensitive) },
        FilterCase("s !=[c] 'HELLO'", [2, 3, 5, 6]) { $0.s.notEquals("HELLO", options: .caseInsensitive) },
        FilterCase("s BEGINSWITH 'H'", [1, 5]) { $0.s.starts(with: "H") },
        FilterCase("s BEGINSWITH[c] 'h'", [1, 4, 5]) { $0.s.starts(with: "h", options: .caseInsensitive) },
        FilterCase("NOT s BEGINSWITH 'H'", [2, 3, 4, 6]) { !$0.s.starts(with: "H") },
        FilterCase("s BEGINSWITH ''", []) { $0.s.starts(with: "") },
        FilterCase("s ENDSWITH ''", []) { $0.s.ends(with: "") },
        FilterCase("s CONTAINS ''", []) { $0.s.contains("") },
        FilterCase("s CONTAINS[cd] ''", []),
        FilterCase("s CONTAINS NULL", []) { $0.s.contains(nil) },
        FilterCase("s BEGINSWITH[c] NULL", []),
        FilterCase("s ENDSWITH 'o'", [1, 4]) { $0.s.ends(with: "o") },
        FilterCase("s CONTAINS 'll'", [1, 4]) { $0.s.contains("ll") },
        FilterCase("s CONTAINS[c] 'LL'", [1, 4, 5]) { $0.s.contains("LL", options: .caseInsensitive) },
        FilterCase("s CONTAINS[d] 'wor'", [5]) { $0.s.contains("wor", options: .diacriticInsensitive) },
        FilterCase("s CONTAINS[cd] 'WORLD'", [5]) {
            $0.s.contains("WORLD", options: [.caseInsensitive, .diacriticInsensitive])
        },
        FilterCase("s LIKE 'h*o'", [4]) { $0.s.like("h*o") },
        FilterCase("s LIKE[c] 'H?LLO'", [1, 4]) { $0.s.like("H?LLO", caseInsensitive: true) },
        FilterCase("s LIKE '*'", [1, 3, 4, 5, 6]) { $0.s.like("*") },
        FilterCase("s LIKE ''", [3]) { $0.s.like("") },
        FilterCase("s LIKE NULL", [2]) { $0.s.like(nil) },
        FilterCase("s LIKE[c] '*w?rld'", [5]) { $0.s.like("*w?rld", caseInsensitive: true) },
        FilterCase("s LIKE '?'", []), FilterCase("s LIKE '??'", [6]),
        FilterCase("t LIKE 'a?c'", [1, 5, 6]), FilterCase("t LIKE 'a*c'", [1, 5, 6]),
        FilterCase("t LIKE[c] 'A**C'", [1, 3, 5, 6]),
        FilterCase("s ==[d] 'e'", [6]) { $0.s.equals("e", options: .diacriticInsensitive) },
        FilterCase("s ==[d] 'é'", [6]), FilterCase("s == 'é'", []),
        FilterCase("t < 'a'", [2, 3]) { $0.t < "a" },
        FilterCase("t >= 'a'", [1, 4, 5, 6]) { $0.t >= "a" },
        FilterCase("s < 'a'", [1, 3, 5]), FilterCase("s > 'e'", [4, 6]),
        // Null is less than any text.
        FilterCase("s <= NULL", [2]) { $0.s <= nil }, FilterCase("s > NULL", [1, 3, 4, 5, 6]) { $0.s > nil },
        FilterCase("s < NULL", []) { $0.s < nil }, FilterCase("s >= NULL", [1, 2, 3, 4, 5, 6]) { $0.s >= nil },
        FilterCase("NULL < s", [1, 3, 4, 5, 6]), FilterCase("NOT s > NULL", [2]) { !($0.s > nil) },
        FilterCase("best.s > NULL", [1, 3, 4]) { $0.best.s > nil },
        FilterCase("ANY tags > NULL", [1, 4, 5]), FilterCase("ANY tags >= NULL", [1, 3, 4, 5]),
        FilterCase("ANY friends.s > NULL", [1, 3, 4]) { $0.friends.s > nil },
        FilterCase("s IN[c] {'HELLO', NULL}", [1, 2, 4]), FilterCase("s IN {'Hello', ''}", [1, 3]),
        FilterCase("t IN {'abc', 'zzz', ''}", [1, 2]) { $0.t.in(["abc", "zzz", ""]) },
        FilterCase("t == 'abc'", [1]) { $0.t == "abc" },
        FilterCase("t ==[c] 'abc'", [1, 3]) { $0.t.equals("abc", options: .caseInsensitive) },
        FilterCase("t != 'abc'", [2, 3, 4, 5, 6]) { $0.t != "abc" },
        FilterCase("t ==[c] 'üNÏ'", [4]), FilterCase("t ==[cd] 'UNI'", [4]),
        FilterCase("t BEGINSWITH[c] s OR id == 1", [1]),
        FilterCase("s == t", []), FilterCase("s ==[c] t", []),
    ]

    static let others: [FilterCase] = [
        FilterCase("b == true", [1, 4]) { $0.b == true },
        FilterCase("b == NULL", [2, 6]) { $0.b == nil },
        FilterCase("b != true", [2, 3, 5, 6]) { $0.b != true },
        FilterCase("b == 0", [3, 5]) { $0.b == false },
        FilterCase("flag == YES", [1, 4]) { $0.flag },
        FilterCase("NOT flag == TRUE", [2, 3, 5, 6]) { !$0.flag },
        FilterCase("flag == b", [1, 3, 4, 5]),
        FilterCase("flag IN {false}", [2, 3, 5, 6]) { $0.flag.in([false]) },
        FilterCase("data == %@", [4], arguments: { _ in [Data([1])] }) { $0.data == Data([1]) },
        FilterCase("data != %@", [1, 2, 3, 5, 6], arguments: { _ in [Data([1])] }),
        FilterCase("data BEGINSWITH %@", [1, 4], arguments: { _ in [Data([1])] }) {
            $0.data.starts(with: Data([1]))
        },
        FilterCase("data ENDSWITH %@", [1], arguments: { _ in [Data([3])] }),
        FilterCase("data CONTAINS %@", [1], arguments: { _ in [Data([2])] }) { $0.data.contains(Data([2])) },
        FilterCase("data BEGINSWITH %@", [], arguments: { _ in [Data()] }) { $0.data.starts(with: Data()) },
        FilterCase("data > NULL", [1, 3, 4]) { $0.data > nil }, FilterCase("data < NULL", []) { $0.data < nil },
        FilterCase("data >= NULL", [1, 2, 3, 4, 5, 6]) { $0.data >= nil },
        FilterCase("data <= NULL", [2, 5, 6]) { $0.data <= nil }, FilterCase("NULL < data", [1, 3, 4]),
        FilterCase("data < %@", [3, 4], arguments: { _ in [Data([1, 2])] }) { $0.data < Data([1, 2]) },
        FilterCase("data IN %@", [3, 4], arguments: { _ in [[Data([1]), Data()]] }),
        FilterCase("date > %@", [4, 5], arguments: { _ in [day(1000)] }) { $0.date > day(1000) },
        FilterCase("date == %@", [5], arguments: { _ in [day(1000.5)] }) { $0.date == day(1000.5) },
        FilterCase("date == NULL", [2, 6]) { $0.date == nil },
        FilterCase("date BETWEEN {%@, %@}", [1, 3], arguments: { _ in [day(0), day(1000)] }),
        FilterCase("date IN %@", [1, 4], arguments: { _ in [[day(1000), day(2000), day(7)]] }),
        FilterCase("uuid == %@", [1], arguments: { _ in [FilterModels.uuid] }) {
            $0.uuid == FilterModels.uuid
        },
        FilterCase("uuid == %@", [1], arguments: { _ in [FilterModels.uuid.uuidString] }),
        FilterCase("uuid != %@", [2, 3, 4, 5, 6], arguments: { _ in [FilterModels.uuid] }),
        FilterCase("uuid == NULL", [2, 4, 5, 6]) { $0.uuid == nil },
        FilterCase("oid == %@", [1], arguments: { _ in [FilterModels.oid] }) { $0.oid == FilterModels.oid },
        FilterCase("oid IN %@", [1], arguments: { _ in [[FilterModels.oid, ObjectId.generate()]] }),
        FilterCase("TRUEPREDICATE", [1, 2, 3, 4, 5, 6]), FilterCase("FALSEPREDICATE", []),
        FilterCase("int == 5 AND s == 'Hello' OR id == 2", [1, 2]) {
            $0.int == 5 && $0.s == "Hello" || $0.id == 2
        },
        FilterCase("NOT (int == 5 OR id == 2)", [3, 5, 6]) { !($0.int == 5 || $0.id == 2) },
        FilterCase("NOT (int == 5 AND b == NULL)", [1, 2, 3, 4, 5, 6]) { !($0.int == 5 && $0.b == nil) },
        FilterCase("NOT NOT id == 2", [2]) { !(!($0.id == 2)) },
        FilterCase("id IN {1,2,3} AND NOT id == 2", [1, 3]) { $0.id.in([1, 2, 3]) && !($0.id == 2) },
    ]

    static let paths: [FilterCase] = [
        FilterCase("owner == NULL", [2]) { $0.owner == nil },
        FilterCase("owner != NULL", [1, 3, 4, 5, 6]) { $0.owner != nil },
        FilterCase("owner.age == NULL", [2, 3, 6]) { $0.owner.age == nil },
        FilterCase("owner.age != NULL", [1, 4, 5]) { $0.owner.age != nil },
        FilterCase("owner.age > 20", [1, 4, 5]) { $0.owner.age > 20 },
        FilterCase("owner.age < 40", [1, 4]) { $0.owner.age < 40 },
        FilterCase("NOT owner.age > 40", [1, 2, 3, 4, 6]) { !($0.owner.age > 40) },
        FilterCase("owner.age != 30", [2, 3, 5, 6]) { $0.owner.age != 30 },
        FilterCase("NOT owner.age == 30", [2, 3, 5, 6]) { !($0.owner.age == 30) },
        FilterCase("owner.name == 'Ann'", [1, 4]) { $0.owner.name == "Ann" },
        FilterCase("owner.name != 'Ann'", [2, 3, 5, 6]) { $0.owner.name != "Ann" },
        FilterCase("owner.name BEGINSWITH[c] 'B'", [3, 6]) {
            $0.owner.name.starts(with: "B", options: .caseInsensitive)
        },
        FilterCase("owner.id IN {1, 3}", [1, 4, 5]) { $0.owner.id.in([1, 3]) },
        FilterCase("owner.age BETWEEN {30, 50}", [1, 4, 5]),
        FilterCase("owner == %@", [1, 4], arguments: { [owner($0, 1)] }),
        FilterCase("owner != %@", [2, 3, 5, 6], arguments: { [owner($0, 1)] }),
        FilterCase("owner IN %@", [1, 4, 5], arguments: { [[owner($0, 1), owner($0, 3)]] }),
        FilterCase("owner IN %@", [1, 4, 5], arguments: { [$0.objects(Owner.self).filter("age != NULL")] }),
        FilterCase("owner == %@", [], arguments: { _ in [Owner()] }),
        FilterCase("owner != %@", [1, 2, 3, 4, 5, 6], arguments: { _ in [Owner()] }),
        FilterCase("best.best == NULL", [2, 3, 5, 6]) { $0.best.best == nil },
        FilterCase("best != NULL AND best.best == NULL", [3, 6]) { $0.best != nil && $0.best.best == nil },
        FilterCase("best.best.id == 5", [1]) { $0.best.best.id == 5 },
        FilterCase("best.owner.age == 50", [3]) { $0.best.owner.age == 50 },
        FilterCase("best.s == NULL", [2, 5, 6]) { $0.best.s == nil },
        FilterCase("best.t LIKE 'a*'", [3]) { $0.best.t.like("a*") },
        FilterCase("best.n == n", [4]), FilterCase("best.int > int", [3]),
        FilterCase("ANY friends.int == 5", [3, 4]) { $0.friends.int == 5 },
        FilterCase("ANY friends.int == NULL", [1, 5]) { $0.friends.int == nil },
        FilterCase("ANY friends.n > 0", [3, 4]) { $0.friends.n > 0 },
        FilterCase("SOME friends.n > 0", [3, 4]),
        FilterCase("NONE friends.n > 0", [1, 2, 5, 6]) { !($0.friends.n > 0) },
        FilterCase("NOT ANY friends.n > 0", [1, 2, 5, 6]),
        FilterCase("ANY friends.n BETWEEN {-2, 10}", [1, 3, 4, 5]),
        FilterCase("ANY friends.n BETWEEN {-2, -1}", []),
        FilterCase("friends.@count == 2", [1, 3]) { $0.friends.count == 2 },
        FilterCase("friends.@count == 0", [2, 6]) { $0.friends.count == 0 },
        FilterCase("2 == friends.@count", [1, 3]),
        FilterCase("friends.@min.n < 0", [1]) { $0.friends.n.min < 0 },
        FilterCase("friends.@sum.n == 10", [3]) { $0.friends.n.sum == 10 },
        FilterCase("friends.@sum.n == 0", [2, 5, 6]) { $0.friends.n.sum == 0 },
        FilterCase("friends.@avg.n == -1.5", [1]),
        FilterCase("friends.@max.int == NULL", [2, 5, 6]) { $0.friends.int.max == nil },
        FilterCase("friends.@max.n > -100", [1, 3, 4, 5]) { $0.friends.n.max > -100 },
        FilterCase("ANY friends == %@", [1, 5], arguments: { [thing($0, 2)] }),
        FilterCase("%@ IN friends", [3], arguments: { [thing($0, 1)] }),
        FilterCase("ANY friends IN %@", [1, 5], arguments: { [[thing($0, 2)]] }),
        FilterCase("ANY friends == %@", [], arguments: { _ in [Thing()] }),
        FilterCase("ANY friends != %@", [1, 3, 4, 5], arguments: { _ in [Thing()] }),
        FilterCase("ANY friends.friends.id == 1", [1]) { $0.friends.friends.id == 1 },
        FilterCase("ANY friends.owner.name == 'bob'", [1]) { $0.friends.owner.name == "bob" },
        FilterCase("ANY friends.tags == 'x'", [3]) { $0.friends.tags == "x" },
        FilterCase("ANY best.friends.id == 1", [1]) { $0.best.friends.id == 1 },
        FilterCase("best.friends.@count == 2", [1]),
        FilterCase("ANY fans.id == 1", [2, 3]) { $0.fans.id == 1 },
        FilterCase("NONE fans.id > 0", [5, 6]) { !($0.fans.id > 0) },
        FilterCase("fans.@count == 2", [1, 2]) { $0.fans.count == 2 },
        FilterCase("fans.@count == 0", [5, 6]) { $0.fans.count == 0 },
        FilterCase("fans.@sum.id == 6", [1, 2]) { $0.fans.id.sum == 6 },
        FilterCase("ANY admirers.int == 5", [3, 4]) { $0.admirers.int == 5 },
        FilterCase("ANY admirers == %@", [3], arguments: { [thing($0, 1)] }),
        FilterCase("SUBQUERY(friends, $f, $f.n == 5).@count == 2", [3]) { ($0.friends.n == 5).count == 2 },
        FilterCase("SUBQUERY(friends, $f, $f.n <= 0 AND $f.int == NULL).@count > 0", [1, 5]) {
            ($0.friends.n <= 0 && $0.friends.int == nil).count > 0
        },
    ]

    static let lists: [FilterCase] = [
        FilterCase("ANY tags == 'x'", [1, 5]) { $0.tags == "x" },
        FilterCase("ANY tags == NULL", [3]) { $0.tags == nil },
        FilterCase("ANY tags != NULL", [1, 4, 5]) { $0.tags != nil },
        FilterCase("ANY tags ==[c] 'y'", [1]),
        FilterCase("ANY tags != 'x'", [1, 3, 4]) { $0.tags != "x" },
        FilterCase("NONE tags == 'x'", [2, 3, 4, 6]) { !($0.tags == "x") },
        FilterCase("tags.@count == 1", [3, 4, 5]) { $0.tags.count == 1 },
        FilterCase("'x' IN tags", [1, 5]) { $0.tags.contains("x") },
        FilterCase("NOT 'x' IN tags", [2, 3, 4, 6]) { !$0.tags.contains("x") },
        FilterCase("ANY tags IN {'é', 'Y'}", [1, 4]) { $0.tags.containsAny(in: ["é", "Y"]) },
        FilterCase("ANY tags LIKE '?'", [1, 4, 5]), FilterCase("ANY tags BEGINSWITH 'x'", [1, 5]),
        FilterCase("ANY nums > 5", [4]) { $0.nums > 5 },
        FilterCase("ANY nums == 2", [1, 6]) { $0.nums == 2 },
        FilterCase("nums.@sum == 6", [1]) { $0.nums.sum == 6 },
        FilterCase("nums.@sum == 0", [2, 5]) { $0.nums.sum == 0 },
        FilterCase("nums.@avg == 2", [1, 6]),
        FilterCase("nums.@avg == 2.0", [1, 6]),
        FilterCase("nums.@min == NULL", [2]),
        FilterCase("nums.@max < 0", [3]) { $0.nums.max < 0 },
        FilterCase("ANY nums BETWEEN {2, 4}", [1, 6]),
        FilterCase("nums.@min >= 1 AND nums.@max <= 3", [1, 6]) { $0.nums.contains(1...3) },
        FilterCase("NOT ANY nums == 2", [2, 3, 4, 5]) { !($0.nums == 2) },
    ]

    @Test("Results do not keep the objects of their predicate or its Realm alive")
    func namedObjects() throws {
        let realm = try FilterModels.realm()
        weak var named: FilterModels.Owner?
        func found(
            _ isFrozen: Bool, _ make: (Results<FilterModels.Thing>, FilterModels.Owner) -> Results<FilterModels.Thing>
        )
            -> Results<FilterModels.Thing>
        {
            let owner = realm.objects(FilterModels.Owner.self)[0]
            let argument = isFrozen ? owner.freeze() : owner
            named = argument
            return make(realm.objects(FilterModels.Thing.self), argument)
        }
        for isFrozen in [false, true] {
            let texts = found(isFrozen) { $0.filter("owner == %@", $1) }
            #expect(texts.count == 2 && named == nil)
            let typed = found(isFrozen) { things, owner in things.where { $0.owner == owner } }
            #expect(typed.count == 2 && named == nil)
        }
    }

    @Test(
        "A filter finds the same objects as format, NSPredicate and closure",
        arguments: numbers + texts + others + paths + lists)
    func finds(_ filter: FilterCase) throws {
        let realm = try FilterModels.realm()
        let all = realm.objects(Thing.self)
        let arguments = filter.arguments(realm)
        let predicate = NSPredicate(format: filter.format, argumentArray: arguments)
        let found = all.filter(predicate)
        #expect(found.map(\.id).sorted() == filter.ids)
        #expect(found.count == filter.ids.count)
        #expect(found.first?.id == found.map(\.id).first)
        let negated = all.filter(NSCompoundPredicate(notPredicateWithSubpredicate: predicate))
        #expect(Set(negated.map(\.id)) == Set(1...6).subtracting(filter.ids), "negated")
        let doubled = NSCompoundPredicate(andPredicateWithSubpredicates: [
            predicate, NSPredicate(value: true),
        ])
        #expect(all.filter(doubled).map(\.id).sorted() == filter.ids)
        #expect(
            all.sorted(byKeyPath: "id", ascending: false).filter(predicate).map(\.id) == filter.ids.reversed()
        )
        for id in 1...6 {
            #expect((all.filter("id == \(id)").filter(predicate).count == 1) == filter.ids.contains(id))
        }
        let parsed = try ParsedPredicate(parsing: filter.format, arguments: arguments)
        #expect(try all.filter(parsed).map(\.id).sorted() == filter.ids)
        if arguments.isEmpty { #expect(all.filter(filter.format).map(\.id).sorted() == filter.ids) }
        if let query = filter.query { #expect(all.where(query).map(\.id).sorted() == filter.ids, "where") }
    }

    static let refusals: [(String, String)] = [
        ("n == NULL", "Cannot compare value"), ("n > NULL", "Cannot compare value"),
        ("flag == NULL", "Cannot compare"),
        ("int == 1.23", "Cannot compare value '1.23' of type"),
        ("int == 1.23", "to property 'int' of type 'int'"),
        ("n == 'x'", "to property 'n' of type 'int'"), ("t == 5", "to property 't' of type 'string'"),
        ("f == 3.5e38", "Cannot compare value"), ("flag == 2", "Cannot compare value"),
        ("uuid == 'x'", "Cannot compare"),
        ("date == 5", "Cannot compare value"), ("owner == 5", "Cannot compare value"),
        (
            "nope == 1",
            "Invalid keypath 'nope': Property 'nope' not found in object of type 'FilterModels_Thing'"
        ),
        ("owner.nope == 1", "Invalid keypath 'owner.nope': Property 'nope' not found in object of type"),
        ("n.x == 1", "is not a link or collection and can only appear at the end of a keypath."),
        ("n != xyz", "Invalid keypath 'xyz': Property 'xyz' not found"),
        ("friends.n == 1", "Key paths that include a collection property must use aggregate operations"),
        ("tags == 'x'", "Key paths that include a collection property must use aggregate operations"),
        ("fans.id == 1", "Key paths that include a collection property must use aggregate operations"),
        (
            "ANY n == 1",
            "Aggregate operations can only be used on key paths that include an collection property"
        ),
        ("1 == 1", "Predicate expressions must compare a keypath and another keypath or a constant value"),
        ("int == t", "Property type mismatch between int and string"),
        ("flag > true", "Operator '>' not supported for type 'bool'"),
        ("uuid > %@", "Operator '>' not supported for type"),
        ("t BETWEEN {'a','b'}", "Operator 'BETWEEN' not supported for type 'string'"),
        ("t MATCHES 'a'", "Operator 'MATCHES' not supported for type 'string'"),
        ("n BEGINSWITH 'a'", "Operator 'BEGINSWITH' not supported for type 'int'"),
        ("t <[c] 'a'", "Lexicographical comparisons must be case-sensitive"),
        ("t LIKE[d] 'a'", "Operator 'LIKE' not supported with diacritic-insensitive modifier."),
        ("'a' CONTAINS t", "Operator 'CONTAINS' requires a keypath on the left side."),
        ("n IN 5", "IN clause requires an array of items"),
        ("n BETWEEN 5", "object must be of type NSArray for BETWEEN operations"),
        ("n BETWEEN {1}", "NSArray object must contain exactly two objects for BETWEEN operations"),
        ("n BETWEEN {1, 'x'}", "NSArray objects must be of type int for BETWEEN operations"),
        ("friends.@count == 'x'", "@count can only be compared with a numeric value."),
        ("friends.@foo == 1", "Unsupported collection operation '@foo'"),
        ("n.@count == 1", "collection operation '@count' must be applied to a collection"),
        (
            "friends.@count == fans.@count",
            "Key paths including aggregate operations cannot be compared with other aggregate operations."
        ),
        ("friends.@min.t == 1", "can only be applied to a collection of numeric values."),
        ("friends.@sum.date == 1", "Cannot sum or average date properties"),
        ("friends.@sum.n == NULL", "cannot be compared with '<null>'"),
        ("friends.@avg.n == 'Hello'", "@avg on a property of type int cannot be compared with 'Hello'"),
        ("friends.@count.@min == 1", "at most one collection operation per keypath is supported."),
        (
            "SUBQUERY(friends, $f, $f.n == 1) == 1",
            "SUBQUERY is only supported when immediately followed by .@count"
        ),
        ("n", "Unable to parse the format string"), ("", "Unable to parse the format string"),
        ("n * 25", "Unable to parse the format string"), ("n === 25", "Unable to parse the format string"),
        ("()", "Unable to parse the format string"), (",", "Unable to parse the format string"),
        (".n == 1", "no key name before '.'"), ("n. == 1", "no key name after last '.'"),
    ]

    @Test("Invalid filters are refused with RealmSwift's messages", arguments: refusals)
    func refuses(_ format: String, _ words: String) throws {
        let message = try misuseText {
            let realm = try FilterModels.realm()
            _ = realm.objects(Thing.self).filter(format, UUID())
        }
        #expect(message?.contains(words) == true, "\(message ?? "no misuse")")
    }

    @Test(
        "A syntax error is reported with its position",
        arguments: [
            ("n == ", 5), ("n === 25", 4), ("n == 1 AND", 10), ("t == 'x", 5), ("(n == 1", 7),
            ("👍 t == 'é' @", 2),
        ])
    func position(_ format: String, _ position: Int) {
        do {
            _ = try ParsedPredicate(parsing: format)
            Issue.record("malformed text was accepted")
        } catch {
            #expect(error.position != nil)
            #expect(abs((error.position ?? -9) - position) <= 1, "\(error)")
            #expect(error.description.contains("character"))
        }
    }

    @Test("Block predicates, ALL, and objects of other Realms are refused")
    func foreign() throws {
        #expect(
            try misuseText {
                _ = try FilterModels.realm().objects(Thing.self).filter(NSPredicate(block: { _, _ in true }))
            }?.contains("Only support compound, comparison, and constant predicates") == true)
        #expect(
            try misuseText {
                _ = try FilterModels.realm().objects(Thing.self).filter("ALL friends.n > 1").count
            } != nil)
        #expect(
            try misuseText {
                let other = try FilterModels.realm()
                let owner = other.objects(Owner.self)[0]
                _ = try FilterModels.realm().objects(Thing.self).filter("owner == %@", owner).count
            }?.contains("Object must be from the Realm being queried") == true)
    }

    @Test("A filter of a list or of linking objects keeps their elements and order")
    func collections() throws {
        let realm = try FilterModels.realm()
        let three = try #require(realm.object(ofType: Thing.self, forPrimaryKey: 3))
        let one = try #require(realm.object(ofType: Thing.self, forPrimaryKey: 1))
        #expect(three.friends.filter("int == 5").map(\.id) == [1, 1])
        #expect(one.friends.where { $0.n <= 0 }.map(\.id) == [2, 3])
        #expect(one.fans.filter("TRUEPREDICATE").map(\.id) == [3, 3])
        #expect(one.friends.sorted(byKeyPath: "n").map(\.id) == [3, 2])
        #expect(one.friends.filter("n == 5").isEmpty)
        #expect(one.friends.index(matching: "id == 3") == 1)
        #expect(realm.objects(Thing.self).index(matching: { $0.id == 4 }) == 3)
        #expect(realm.objects(Thing.self).index(matching: "id == 99") == nil)
    }

    // Counting links to an object writes back a list that is being changed, which moves rows. A condition that is
    // evaluated afterwards must not read the old list.
    @Test("A filter with link counts sees elements that the current write has just added to a list")
    func openList() throws {
        let realm = try FilterModels.realm()
        try realm.write {
            // Enough rows that a query for few results evaluates each row on its own.
            for id in 100..<200 { realm.create(Thing.self, value: ["id": id]) }
            realm.create(Thing.self, value: ["id": 200, "s": "fresh"])
        }
        let questions: [(Results<Thing>, Thing) -> Bool] = [
            { found, thing in found.first?.id == thing.id }, { found, thing in found.contains(thing) },
            { found, thing in found.map(\.id) == [thing.id] }, { found, _ in found.count == 1 },
        ]
        for (number, question) in questions.enumerated() {
            realm.beginWrite()
            let thing = try #require(realm.object(ofType: Thing.self, forPrimaryKey: 150))
            let fresh = try #require(realm.object(ofType: Thing.self, forPrimaryKey: 200))
            thing.friends.append(fresh)
            let found = realm.objects(Thing.self).filter("fans.@count == 0 AND ANY friends.s == 'fresh'")
            let isRight = question(found, thing)
            #expect(isRight, "question \(number)")
            realm.cancelWrite()
        }
    }

    @Test("Filters of an unmanaged list and of a list of values are refused")
    func unmanaged() throws {
        #expect(
            try misuseText { _ = Thing().friends.filter("id == 1") }?
                .contains("This method may only be called on RLMArray instances retrieved from an RLMRealm")
                == true)
        #expect(
            try misuseText {
                let realm = try FilterModels.realm()
                _ = realm.objects(Thing.self)[0].tags.filter("SELF == 'x'")
            }?.contains("Querying is currently only implemented for arrays of Realm Objects") == true)
    }
}
