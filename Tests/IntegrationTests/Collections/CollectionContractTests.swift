// SPDX-License-Identifier: Apache-2.0
// Collections in edge cases of RealmSwift's contract: predicates on unmanaged lists, sorting by keys of maps and by
// names of columns, change sets of linking objects, generic code over maps.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias All = Contract.All
private typealias Many = Contract.Many
private typealias Part = Contract.Part

extension Contract {
    class Renamed: Object {
        @Persisted var number = 0
        @Persisted var scores: Map<String, Int>
        @Persisted var words: Map<String, String?>
        @Persisted var other: Renamed?
        override class func propertiesMapping() -> [String: String] { ["number": "num"] }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class AllProjection: Projection<All> {
        @Projected(\All.int) var number
        @Projected(\All.string) var text
    }
}

/// Members that generic code may use with any map.
private func sizes<M: RealmKeyedCollection>(_ map: M) -> [Int] where M.Key == String, M.Value == Int {
    let largest: Int? = map.value(forKeyPath: "@max.self") as? Int
    return [map.count, map.keys.count, map.values.reduce(0, +), map["a"] ?? -1, largest ?? -1]
}

private func oldest<M: RealmKeyedCollection>(_ map: M) -> Int? where M.Value == Contract.All? {
    map.max(ofProperty: "int")
}

/// Compiled, never called: observing needs a queue.
private func observing(_ map: Map<String, Contract.All?>) {
    let tokens: [NotificationToken] = [
        map.observe(keyPaths: [\Contract.All.int]) { _ in },
        map.observe(keyPaths: [\.int, \.string], on: nil) { (_: RealmMapChange<Map<String, Contract.All?>>) in },
        map.observe(keyPaths: ["int"]) { _ in },
    ]
    _ = tokens
}

@Suite("Collections: RealmSwift contract")
struct CollectionContractTests {
    // MARK: Unmanaged

    private static func unmanaged() -> All {
        let holder = All()
        for number in 0..<4 {
            let all = All(value: ["pk": number, "int": number * 10, "string": "text\(number)"])
            all.part = number == 2 ? nil : Part(value: ["size": number, "word": "w"])
            all.parts.append(objectsIn: (0..<number).map { Part(value: ["size": $0]) })
            all.partMap["k"] = Part(value: ["size": number])
            all.optInt = number == 1 ? nil : number
            all.rank = number == 3 ? .high : .low
            all.metres = .init(number)
            all.any = number == 3 ? .string("x") : .int(number)
            all.date = Date(timeIntervalSince1970: Double(number))
            holder.list.append(all)
        }
        return holder
    }

    static let questions: [(String, Int?)] = [
        ("int == 20", 2), ("int > 5 AND string != 'text1'", 2), ("string ENDSWITH '3'", 3), ("int == 99", nil),
        ("optInt == NULL", 1), ("part == NULL", 2), ("part.size == 1", 1), ("part.size == NULL", 2),
        ("part.word ==[c] 'W' AND pk > 0", 1), ("ANY parts.size == 1", 2), ("parts.@count == 3", 3),
        ("parts.@sum.size == 1", 2), ("partMap['k'].size == 3", 3), ("ANY partMap.@allKeys == 'k'", 0),
        ("rank == 3", 3), ("metres >= 2", 2), ("any == 'x'", 3), ("any == 2", 2), ("NOT int IN {0, 10}", 2),
        ("int BETWEEN {5, 15}", 1), ("SUBQUERY(parts, $p, $p.size > 0).@count == 2", 3), ("pk == int", 0),
        ("string LIKE 't*2'", 2), ("ANY parents.int == 1", nil), ("TRUEPREDICATE", 0), ("parts.@count == pk", 0),
        ("date > %@", 2),
    ]

    @Test(
        "index(matching:) of an unmanaged list finds the first element that satisfies a predicate", arguments: questions
    )
    func unmanagedIndex(_ text: String, _ position: Int?) {
        let list = Self.unmanaged().list
        let date = Date(timeIntervalSince1970: 1)
        #expect(list.index(matching: text, date) == position)
        let predicate = NSPredicate(format: text, date)
        #expect(list.index(matching: predicate) == position)
        #expect(AnyRealmCollection(list).index(matching: predicate) == position)
        #expect(list.firstIndex { predicate.evaluate(with: $0) } == position)
    }

    @Test("index(matching:) takes closures, and finds managed elements of an unmanaged list")
    func unmanagedClosure() throws {
        let holder = Self.unmanaged()
        #expect(holder.list.index(matching: { $0.int == 20 }) == 2)
        #expect(holder.list.index(matching: { $0.parts.size == 1 && $0.rank == .high }) == 3)
        #expect(All().parents.index(matching: "int == 1") == nil && All().list.index(matching: "int == 1") == nil)
        let realm = try Contract.allTypes()
        let managed = try realm.write { realm.create(All.self, value: ["pk": 9, "int": 77]) }
        holder.list.append(managed)
        #expect(holder.list.index(matching: "int == 77") == 4)
    }

    static let refusals: [MisuseCase] = [
        MisuseCase("Invalid keypath 'nope': Property 'nope' not found in object of type 'Contract_All'") {
            _ = unmanaged().list.index(matching: "nope == 1")
        },
        MisuseCase("Cannot compare value 'x' of type") { _ = unmanaged().list.index(matching: "int == 'x'") },
        MisuseCase("Querying is currently only implemented for arrays of Realm Objects") {
            _ = Many().ints.index(matching: "pk == 1")
        },
        MisuseCase("index(of:) is not available on MutableSet") { _ = Many().intSet.index(of: 1) },
        MisuseCase("index(matching:) is not available on MutableSet") {
            _ = All().set.index(matching: NSPredicate(format: "int == 1"))
        },
        MisuseCase("Unable to parse the format string") { _ = unmanaged().list.index(matching: "int") },
        MisuseCase("This method may only be called on RLMArray instances retrieved from an RLMRealm") {
            _ = unmanaged().list.filter("int == 1")
        },
        MisuseCase("This method may only be called on RLMArray instances retrieved from an RLMRealm") {
            _ = unmanaged().list.sorted(by: \.int)
        },
        MisuseCase("This method may only be called on RLMArray instances retrieved from an RLMRealm") {
            _ = Many().ints.sorted()
        },
        MisuseCase("This method may only be called on RLMArray instances retrieved from an RLMRealm") {
            _ = unmanaged().list.distinct(by: ["int"])
        },
        MisuseCase("This method may only be called on RLMSet instances retrieved from an RLMRealm") {
            _ = All().set.where { $0.int == 1 }
        },
        MisuseCase("This method may only be called on RLMDictionary instances retrieved from an RLMRealm") {
            _ = All().map.where { $0.int == 1 }
        },
        MisuseCase("Change notifications are only supported on managed collections.") {
            _ = All().list.observe { _ in }
        },
        MisuseCase("Change notifications are only supported on managed collections.") {
            _ = Many().intMap.observe { _ in }
        },
        MisuseCase("Querying is currently only implemented for sets of Realm Objects") {
            let realm = try Contract.allTypes()
            _ = try realm.write { realm.create(Many.self) }.intSet.filter("self == 1")
        },
        MisuseCase("Querying is currently only implemented for dictionaries of Realm Objects") {
            let realm = try Contract.allTypes()
            _ = try realm.write { realm.create(Many.self) }.intMap.filter("self == 1")
        },
        MisuseCase("can only be sorted on 'self'") {
            let realm = try Contract.allTypes()
            _ = try realm.write { realm.create(Many.self) }.ints.sorted(byKeyPath: "x")
        },
        MisuseCase("can only be aggregated on \"self\"") {
            let realm = try Contract.allTypes()
            _ = try realm.write { realm.create(Many.self) }.ints.sum(ofProperty: "x") as Int
        },
        MisuseCase("minOfProperty: is not supported for string property 'Contract_All.string'") {
            _ = unmanaged().list.min(ofProperty: "string") as Int?
        },
        MisuseCase("Invalid property name") { _ = unmanaged().list.max(ofProperty: "noSuchCol") as Int? },
        MisuseCase("Invalid property name") { _ = All().map.sum(ofProperty: "noSuchCol") as Int },
    ]

    @Test("Invalid predicates and sorts are refused with RealmSwift's messages", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }

    // MARK: Orders

    @Test("Objects are sorted by a map's key, with nil for a missing key, and by column names")
    func orders() throws {
        let realm = try memoryRealm(Contract.Renamed.self)
        try realm.write {
            for (number, score) in [(0, 5), (1, nil), (2, 1), (3, 9)] as [(Int, Int?)] {
                let row = realm.create(Contract.Renamed.self, value: ["number": number])
                if let score { row.scores["a"] = score }
                row.words["w"] = score.map { "\($0)" }
            }
            for row in realm.objects(Contract.Renamed.self) where row.number < 3 {
                row.other = realm.objects(Contract.Renamed.self)[row.number + 1]
            }
        }
        let all = realm.objects(Contract.Renamed.self)
        #expect(all.sorted(byKeyPath: "scores[a]").map(\.number) == [1, 2, 0, 3])
        #expect(all.sorted(byKeyPath: "scores['a']", ascending: false).map(\.number) == [3, 0, 2, 1])
        #expect(all.sorted(byKeyPath: "words[w]").map(\.number) == [1, 2, 0, 3])
        #expect(all.sorted(byKeyPath: "scores[none]").map(\.number) == [0, 1, 2, 3])
        #expect(all.sorted(byKeyPath: "other.scores[a]").map(\.number) == [0, 1, 2, 3])
        #expect(all.sorted(byKeyPath: "scores[a]").first?.number == 1)
        #expect(all.sorted(byKeyPath: "scores[a]").last?.number == 3)
        #expect(all.sorted(by: ["words[none]", "scores[a]"]).map(\.number) == [1, 2, 0, 3])
        try realm.write { all[1].scores["a"] = 7 }
        #expect(all.sorted(byKeyPath: "scores[a]").map(\.number) == [2, 0, 1, 3])
        #expect(all.sorted(byKeyPath: "num", ascending: false).map(\.number) == [3, 2, 1, 0])
        #expect(all.sorted(byKeyPath: "other.num").map(\.number) == [0, 1, 2, 3])
    }

    @Test("Sort descriptors accept key paths of projections")
    func projectedOrders() throws {
        let realm = try Contract.allTypes()
        try realm.write { for number in 0..<3 { realm.create(All.self, value: ["pk": number, "int": -number]) } }
        let projections = realm.objects(Contract.AllProjection.self)
        let descriptor = SortDescriptor(keyPath: \Contract.AllProjection.number, ascending: true)
        #expect(projections.sorted(by: [descriptor]).map(\.number) == [-2, -1, 0])
        #expect(projections.sectioned(by: \.number, sortDescriptors: [descriptor]).allKeys == [-2, -1, 0])
        #expect(projections.where { $0.number < 0 }.count == 2)
    }

    // MARK: Maps

    @Test("Generic code reads managed and unmanaged maps")
    func genericMaps() throws {
        let many = Many(value: ["intMap": ["a": 3, "b": 4]])
        let all = All(value: ["map": ["x": ["pk": 5, "int": 6]]])
        #expect(sizes(many.intMap) == [2, 2, 7, 3, 4] && oldest(all.map) == 6)
        let realm = try Contract.allTypes()
        try realm.write { realm.add([many, all] as [Object]) }
        #expect(sizes(many.intMap) == [2, 2, 7, 3, 4] && oldest(all.map) == 6)
        #expect(all.map.distinct(by: [\All.int]).count == 1 && all.map.sorted(by: \.int).first??.int == 6)
    }

    @Test("The subscript #any matches any element of a value of any type")
    func anyElements() throws {
        let realm = try Contract.allTypes()
        try realm.write {
            realm.create(All.self, value: ["pk": 1, "any": ["k": [1, 2], "l": "x"] as [String: Any]])
            realm.create(All.self, value: ["pk": 2, "any": ["k": [3]] as [String: Any]])
        }
        let all = realm.objects(All.self)
        #expect(all.filter("any['k']['#any'] == 2").map(\.pk) == [1])
        #expect(all.filter("any['k'][%K] == 3", "#any").map(\.pk) == [2])
        #expect(all.filter("any[#any] == 'x'").map(\.pk) == [1])
        #expect(all.where { $0.any["k"].any == .int(2) }.map(\.pk) == [1])
        let (text, arguments) = Query<All>._constructForTesting().any["k"].any.equals(.int(2))._constructPredicate()
        #expect(text == "(any[%@][%K] == %@)" && arguments[1] as? String == "#any")
    }
}
