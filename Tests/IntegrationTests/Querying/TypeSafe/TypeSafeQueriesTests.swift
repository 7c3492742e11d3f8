// SPDX-License-Identifier: Apache-2.0
// Type-safe queries beyond the table of filters.

import Foundation
import RealmSwift
import Testing

enum QueryModels {
    enum Kind: String, PersistableEnum { case small, large }
    enum Grade: Int, PersistableEnum { case one = 1, two }

    class Target: Object {
        @Persisted var a: Int?
        @Persisted var text: String?
    }

    class Row: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var a: Int?
        @Persisted(indexed: true) var b: Int
        @Persisted var c: Int8
        @Persisted var d: Double?
        @Persisted var f: Float
        @Persisted var text: String?
        @Persisted(indexed: true) var word: String
        @Persisted var flag: Bool?
        @Persisted var date: Date?
        @Persisted var kind: Kind
        @Persisted var grade: Grade?
        @Persisted var link: Target?
        @Persisted var links: List<Target>
        @Persisted var marks: List<Int?>
    }
}

private typealias Row = QueryModels.Row
private typealias Target = QueryModels.Target

@Suite("Type-safe queries")
struct TypeSafeQueriesTests {
    @Test("Enums can be queried by case and by raw value")
    func enums() throws {
        let realm = try memoryRealm(Row.self, Target.self)
        try realm.write {
            realm.create(Row.self, value: ["id": 1, "kind": "large", "grade": 2])
            realm.create(Row.self, value: ["id": 2, "grade": QueryModels.Grade.one])
            realm.create(Row.self, value: ["id": 3])
        }
        let all = realm.objects(Row.self)
        #expect(all.where { $0.kind == .large }.map(\.id) == [1])
        #expect(all.where { $0.kind.in([.large, .small]) }.count == 3)
        #expect(all.where { $0.kind.rawValue == "small" }.map(\.id) == [2, 3])
        #expect(all.where { $0.grade == .two }.map(\.id) == [1])
        #expect(all.where { $0.grade == nil }.map(\.id) == [3])
        #expect(all.where { $0.grade != .one }.map(\.id) == [1, 3])
        #expect(all.where { $0.grade.rawValue > 1 }.map(\.id) == [1])
        #expect(
            all.filter("kind == %@ AND grade == %@", QueryModels.Kind.large, QueryModels.Grade.two).map(\.id)
                == [1])
        #expect(
            all.filter("kind == 'large'").count == 1 && all.sorted(byKeyPath: "grade").map(\.id) == [3, 2, 1])
        #expect(all.sorted(by: \.kind).map(\.id) == [1, 2, 3] && all.max(of: \.grade) == .two)
    }

    @Test("The captured values of a query are read when it is created")
    func captures() throws {
        let realm = try memoryRealm(Row.self, Target.self)
        try realm.write { for id in 0..<10 { realm.create(Row.self, value: ["id": id, "b": id]) } }
        var limit = 5
        let results = realm.objects(Row.self).where { $0.b < limit }
        limit = 1
        #expect(results.count == 5 && realm.objects(Row.self).where { $0.b < limit }.count == 1)
    }
}
