// SPDX-License-Identifier: Apache-2.0
// The text that a type-safe query prints for itself, which programs compare exactly.

import Foundation
import Testing

@testable import Regnum

private class Toy: Object {
    @Persisted var name = ""
    @Persisted var price = 0
    @Persisted var tags: List<String>
}

private class Child: Object {
    @Persisted var name = ""
    @Persisted var nick: String?
    @Persisted var age = 0
    @Persisted var isTall = false
    @Persisted var height = 0.0
    @Persisted var photo = Data()
    @Persisted var best: Child?
    @Persisted var toys: List<Toy>
    @Persisted var marks: List<Int>
    @Persisted(originProperty: "best") var fans: LinkingObjects<Child>
}

/// A condition with the text it must print.
private struct Printed: Sendable, CustomTestStringConvertible {
    let text: String
    let count: Int
    let query: @Sendable (Query<Child>) -> Query<Bool>
    init(_ text: String, _ count: Int, _ query: @escaping @Sendable (Query<Child>) -> Query<Bool>) {
        self.text = text
        self.count = count
        self.query = query
    }
    var testDescription: String { text }
}

struct QueryPrintingTests {
    @Test(
        "A type-safe query prints as RealmSwift prints it",
        arguments: [
            Printed("(age == %@)", 1) { $0.age == 5 },
            Printed("(age != %@)", 1) { $0.age != 5 },
            Printed("(age > %@)", 1) { $0.age > 5 },
            Printed("(nick == %@)", 1) { $0.nick == nil },
            Printed("(best.age <= %@)", 1) { $0.best.age <= 5 },
            Printed("(best.best.name == %@)", 1) { $0.best.best.name == "a" },
            Printed("(age == height)", 0) { $0.age == $0.age }.with("(age == age)"),
            Printed("isTall == true", 0) { $0.isTall },
            Printed("isTall == false", 0) { !$0.isTall },
            Printed("(isTall == %@)", 1) { $0.isTall == true },
            Printed("(NOT age == %@)", 1) { !($0.age == 5) },
            Printed("((age == %@) && (name == %@))", 2) { $0.age == 5 && $0.name == "a" },
            Printed("((age == %@) || isTall == true)", 1) { $0.age == 5 || $0.isTall },
            Printed("NOT ((age == %@) && (name == %@))", 2) { !($0.age == 5 && $0.name == "a") },
            Printed("(age BETWEEN {%@, %@})", 2) { $0.age.contains(1...5) },
            Printed("((age >= %@) && (age < %@))", 2) { $0.age.contains(1..<5) },
            Printed("(age IN %@)", 1) { $0.age.in([1, 2]) },
            Printed("(name CONTAINS[cd] %@)", 1) {
                $0.name.contains("a", options: [.caseInsensitive, .diacriticInsensitive])
            },
            Printed("(name BEGINSWITH %@)", 1) { $0.name.starts(with: "a") },
            Printed("(name ENDSWITH[c] %@)", 1) { $0.name.ends(with: "a", options: .caseInsensitive) },
            Printed("(name LIKE[c] %@)", 1) { $0.name.like("a*", caseInsensitive: true) },
            Printed("(name ==[d] %@)", 1) { $0.name.equals("a", options: .diacriticInsensitive) },
            Printed("(name BEGINSWITH nick)", 0) { $0.name.starts(with: $0.nick) },
            Printed("(photo CONTAINS %@)", 1) { $0.photo.contains(Data([1])) },
            Printed("(ANY toys.price > %@)", 1) { $0.toys.price > 5 },
            Printed("(ANY marks == %@)", 1) { $0.marks == 5 },
            Printed("(%@ IN marks)", 1) { $0.marks.contains(5) },
            Printed("(ANY marks IN %@)", 1) { $0.marks.containsAny(in: [5]) },
            Printed("((marks.@min >= %@) && (marks.@max < %@))", 2) { $0.marks.contains(1..<5) },
            Printed("(marks.@count == %@)", 1) { $0.marks.count == 5 },
            Printed("(toys.@count > %@)", 1) { $0.toys.count > 5 },
            Printed("(marks.@sum > %@)", 1) { $0.marks.sum > 5 },
            Printed("(toys.@min.price == %@)", 1) { $0.toys.price.min == 5 },
            Printed("(name !=[c] %@)", 1) { $0.name.notEquals("a", options: .caseInsensitive) },
            Printed("(name == nick)", 0) { $0.name.equals($0.nick) },
            Printed("(name LIKE nick)", 0) { $0.name.like($0.nick) },
            Printed("(NOT age BETWEEN {%@, %@})", 2) { !$0.age.contains(1...5) },
            Printed("NOT (((age == %@) && (name == %@)) || isTall == true)", 2) {
                !($0.age == 5 && $0.name == "a" || $0.isTall)
            },
            Printed("((marks.@min >= %@) && (marks.@max <= %@))", 2) { $0.marks.contains(1...5) },
            Printed("(ANY marks > %@)", 1) { $0.marks > 5 },
            Printed("(ANY marks != %@)", 1) { $0.marks != 5 },
            Printed("(marks.@avg == %@)", 1) { $0.marks.avg == 5 },
            Printed("(toys.@count == age)", 0) { $0.toys.count == $0.age },
            Printed("(NOT SUBQUERY(toys, $col1, ($col1.price > %@)).@count > %@)", 2) {
                !(($0.toys.price > 5).count > 2)
            },
            Printed(
                "((SUBQUERY(toys, $col1, ($col1.price > %@)).@count > %@) && "
                    + "(SUBQUERY(toys, $col2, ($col2.name == %@)).@count == %@))", 4
            ) { ($0.toys.price > 5).count > 2 && ($0.toys.name == "a").count == 0 },
            Printed("(ANY fans.age == %@)", 1) { $0.fans.age == 5 },
            Printed("(ANY toys.tags == %@)", 1) { $0.toys.tags == "x" },
            Printed("(SUBQUERY(toys, $col1, ($col1.price > %@)).@count > %@)", 2) { ($0.toys.price > 5).count > 2 },
            Printed("(SUBQUERY(toys, $col1, (($col1.price > %@) && ($col1.name == %@))).@count == %@)", 3) {
                ($0.toys.price > 5 && $0.toys.name == "a").count == 1
            },
        ])
    private func printing(printed: Printed) {
        let (text, arguments) = printed.query(Query<Child>._constructForTesting())._constructPredicate()
        #expect(text == printed.text)
        #expect(arguments.count == printed.count)
    }

    // `!` of a path was once evaluated as NOT, which objects without a link satisfy, and printed as `== false`.
    @Test("A negated path over a link finds the objects that its printed text finds")
    func negatedPath() throws {
        let realm = try Realm(
            configuration: .init(
                inMemoryIdentifier: "negated paths \(UInt64.random(in: 0 ... .max))",
                objectTypes: [Child.self, Toy.self])
        )
        try realm.write {
            let small = realm.create(Child.self, value: ["name": "no link"])
            let tall = realm.create(Child.self, value: ["name": "to small", "isTall": true, "best": small])
            realm.create(Child.self, value: ["name": "to tall", "best": tall])
        }
        let children = realm.objects(Child.self)
        let queries: [(Query<Child>) -> Query<Bool>] = [
            { $0.best.isTall }, { !$0.best.isTall }, { !(!$0.best.isTall) }, { !$0.fans.isTall }, { !$0.isTall },
        ]
        for query in queries {
            let (text, _) = query(Query<Child>._constructForTesting())._constructPredicate()
            #expect(children.where(query).map(\.name) == children.filter(text).map(\.name), "\(text)")
        }
        #expect(children.where { !$0.best.isTall }.map(\.name) == ["to small"])
    }

    @Test("Arguments are in the order of the text")
    func arguments() {
        let query = Query<Child>._constructForTesting()
        let (_, arguments) = (query.age == 5 && query.name == "a" && query.nick == nil)._constructPredicate()
        #expect(arguments[0] as? Int == 5)
        #expect(arguments[1] as? String == "a")
    }
}

extension Printed {
    fileprivate func with(_ text: String) -> Printed { Printed(text, count, query) }
}
