// SPDX-License-Identifier: Apache-2.0
// Queries on custom types: constants of type-safe queries, and arguments of predicate formats.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias Collections = Custom.Collections
private typealias Everything = Custom.Everything
private typealias Location = Custom.Location
private typealias Wrapped = Custom.Wrapped

@Suite("Queries on custom types")
struct CustomQueriesTests {
    private let realm: Realm

    init() throws {
        realm = try Custom.realm()
        try realm.write {
            for id in 1...4 {
                let object = realm.create(
                    Everything.self,
                    value: ["id": id, "int": id * 10, "string": "name\(id)", "location": [id, id]])
                object.date = Wrapped(Date(timeIntervalSince1970: Double(id)))
                object.optLocation = id > 2 ? Location(id, 0) : nil
                object.optInt = id > 2 ? Wrapped(id) : nil
            }
            let lists = realm.create(Collections.self, value: ["ints": [1, 2], "doubles": ["k": 0.5]])
            lists.places.append(objectsIn: [Location(1, 2), Location(3, 4)])
        }
    }

    private func ids(_ condition: (Query<Everything>) -> Query<Bool>) -> [Int] {
        realm.objects(Everything.self).where(condition).map(\.id.stored)
    }

    @Test("Custom values are constants in type-safe queries with the operators of the stored type")
    func operators() {
        #expect(ids { $0.int == Wrapped(20) } == [2] && ids { $0.int != Wrapped(20) } == [1, 3, 4])
        #expect(ids { $0.int > Wrapped(20) } == [3, 4] && ids { $0.int <= Wrapped(10) } == [1])
        #expect(ids { $0.int.contains(Wrapped(10)...Wrapped(30)) } == [1, 2, 3])
        #expect(ids { $0.int.in([Wrapped(10), Wrapped(40), Wrapped(0)]) } == [1, 4])
        #expect(ids { $0.string.starts(with: Wrapped("name")) && $0.string.ends(with: Wrapped("3")) } == [3])
        #expect(ids { $0.string.like(Wrapped("*me4")) } == [4])
        #expect(ids { $0.date < Wrapped(Date(timeIntervalSince1970: 3)) } == [1, 2])
        #expect(ids { $0.optInt == nil } == [1, 2] && ids { $0.optInt >= Wrapped(3) } == [3, 4])
        #expect(ids { $0.id == Wrapped(3) } == [3] && ids { $0.size == Wrapped(.small) } == [1, 2, 3, 4])
    }

    @Test("persistableValue is the same key path with the stored type")
    func persistable() {
        #expect(ids { $0.int.persistableValue == 20 } == [2] && ids { $0.optInt.persistableValue > 3 } == [4])
        #expect(ids { $0.string.persistableValue.contains("2") } == [2])
        #expect(ids { $0.location.persistableValue.x == 3 } == [3])
        #expect(ids { $0.optLocation.persistableValue.x > 3 } == [4])
        let (text, _) = Query<Everything>._constructForTesting().location.persistableValue.x._constructPredicate()
        #expect(text.contains("location.x"))
    }

    @Test("Values that are stored as embedded objects are compared member by member")
    func memberwise() {
        #expect(ids { $0.location == Location(2, 2) } == [2] && ids { $0.location == Location(2, 1) } == [])
        #expect(ids { $0.location != Location(2, 2) } == [1, 3, 4])
        #expect(ids { $0.optLocation == Location(3, 0) } == [3] && ids { $0.optLocation == nil } == [1, 2])
        #expect(ids { $0.optLocation != Location(3, 0) } == [1, 2, 4])
        #expect(ids { $0.location.in([Location(1, 1), Location(4, 4)]) } == [1, 4])
        let lists = realm.objects(Collections.self)
        // No element has both values.
        #expect(lists.where { $0.places.contains(Location(1, 4)) }.isEmpty)
        #expect(lists.where { $0.places.contains(Location(3, 4)) }.count == 1)
        #expect(lists.where { $0.places == Location(1, 2) }.count == 1)
    }

    @Test("Collections of custom values are queried like collections of the stored type")
    func collections() {
        let lists = realm.objects(Collections.self)
        #expect(lists.where { $0.ints.contains(Wrapped(2)) }.count == 1)
        #expect(lists.where { $0.ints == Wrapped(3) }.isEmpty && lists.where { $0.ints.sum == Wrapped(3) }.count == 1)
        #expect(lists.where { $0.doubles["k"] == Wrapped(0.5) }.count == 1)
        #expect(lists.filter("ANY ints == %@", Wrapped(1)).count == 1)
        #expect(lists.filter("ANY places.x == 3").count == 1)
    }

    @Test("Custom values can be arguments of predicate formats")
    func text() {
        let all = realm.objects(Everything.self)
        #expect(all.filter("int == %@", Wrapped(20)).map(\.id.stored) == [2])
        #expect(all.filter("int IN %@", [Wrapped(10), Wrapped(30)]).map(\.id.stored) == [1, 3])
        #expect(all.filter("date > %@", Wrapped(Date(timeIntervalSince1970: 3))).map(\.id.stored) == [4])
        #expect(all.filter("string ==[c] %@", Wrapped("NAME1")).map(\.id.stored) == [1])
    }

    @Test("Custom values stored as embedded objects can be arguments of predicate formats")
    func memberwiseText() throws {
        let all = realm.objects(Everything.self)
        func ids(_ text: String, _ arguments: Any...) -> [Int] {
            all.filter(NSPredicate(format: text, argumentArray: arguments)).map(\.id.stored)
        }
        #expect(ids("location == %@", Location(2, 2)) == [2] && ids("location == %@", Location(2, 1)) == [])
        #expect(ids("location != %@", Location(2, 2)) == [1, 3, 4])
        #expect(ids("NOT location == %@", Location(1, 1)) == [2, 3, 4])
        #expect(ids("optLocation == %@ OR id == 1", Location(3, 0)) == [1, 3])
        #expect(ids("optLocation != %@", Location(3, 0)) == [1, 2, 4])
        #expect(ids("location IN %@", [Location(1, 1), Location(4, 4), Location(4, 1)]) == [1, 4])
        #expect(ids("optLocation IN %@", [nil, Location(4, 0)] as [Location?]) == [1, 2, 4])
        #expect(ids("location == %@", Location(2, 2) as Location? as Any) == [2])
        let lists = realm.objects(Collections.self)
        // No element has both values.
        #expect(lists.filter("ANY places == %@", Location(1, 4)).isEmpty)
        #expect(lists.filter("ANY places == %@", Location(3, 4)).count == 1)
        #expect(lists.filter("%@ IN places", Location(1, 2)).count == 1)
        #expect(lists.filter("ANY places IN %@", [Location(9, 9), Location(1, 2)]).count == 1)
        #expect(lists.filter("NONE places IN %@", [Location(9, 9), Location(1, 2)]).isEmpty)
        // At least one element differs from it.
        #expect(lists.filter("ANY places != %@", Location(1, 2)).count == 1)
        let nothing = try realm.write { realm.create(Collections.self, value: ["named": ["n": NSNull()]]) }
        #expect(lists.filter("ANY named != %@", Location(1, 1)).count == 1)
        try realm.write { realm.delete(nothing) }
        try realm.write { lists[0].named["k"] = Location(5, 6) }
        #expect(lists.filter("named['k'] == %@", Location(5, 6)).count == 1)
        #expect(lists.filter("named['none'] == %@", Location(5, 6)).isEmpty)
        #expect(lists.filter("ANY named == %@", Location(5, 6)).count == 1)
        #expect(lists.where { $0.named["k"] == Location(5, 6) }.count == 1)
        #expect(lists.where { $0.named.contains(Location(5, 6)) }.count == 1)
        #expect(lists.where { $0.places.containsAny(in: [Location(0, 0), Location(3, 4)]) }.count == 1)
    }

    @Test("A comparison with an embedded custom value prints as one comparison")
    func memberwisePrints() {
        let query = Query<Everything>._constructForTesting()
        let (text, arguments) = (query.location == Location(2, 2))._constructPredicate()
        #expect(text == "(location == %@)" && arguments.count == 1)
        #expect(arguments.first as? Location == Location(2, 2))
        #expect((!(query.optLocation == nil))._constructPredicate().0 == "(NOT optLocation == %@)")
        #expect(query.location.in([Location(1, 1)])._constructPredicate().0 == "(location IN %@)")
        let lists = Query<Collections>._constructForTesting()
        #expect(lists.places.contains(Location(1, 1))._constructPredicate().0 == "(%@ IN places)")
        #expect((lists.places == Location(1, 1))._constructPredicate().0 == "(ANY places == %@)")
        // The printed predicate finds the same objects.
        let found = realm.objects(Everything.self).filter(NSPredicate(format: text, argumentArray: arguments))
        #expect(found.map(\.id.stored) == [2])
    }

    static let refusals: [MisuseCase] = [
        MisuseCase("Unsupported property 'Custom_Holder.marks' for memberwise equality query") {
            _ = try Custom.realm().objects(Custom.Uncomparable.self).where { $0.marks == Custom.Marks([1]) }
        },
        MisuseCase("equality on collections is not implemented") {
            _ = try Custom.realm().objects(Custom.Uncomparable.self).filter("marks == %@", Custom.Marks([1]))
        },
        MisuseCase("Cannot compare value 'Location(x: 1, y: 2)' of type 'Location' to property 'marks' of type") {
            _ = try Custom.realm().objects(Custom.Uncomparable.self).filter("marks == %@", Location(1, 2))
        },
        MisuseCase("Cannot compare value 'Location(x: 1, y: 2)' of type 'Location' to property 'int' of type 'int'") {
            _ = try Custom.realm().objects(Everything.self).filter("int == %@", Location(1, 2))
        },
        MisuseCase("Operator '>' not supported for type 'Custom_Point'") {
            _ = try Custom.realm().objects(Everything.self).filter("location > %@", Location(1, 2))
        },
    ]

    @Test("A value that cannot be compared member by member is refused", arguments: refusals)
    func uncomparable(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}
