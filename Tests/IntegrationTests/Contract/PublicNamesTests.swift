// SPDX-License-Identifier: Apache-2.0
// Public names that generic code of RealmSwift's users needs: marker protocols, iterators, members of every
// collection, values by type.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias All = Contract.All
private typealias Many = Contract.Many

private func least<T: MinMaxType & RealmCollectionValue>(_ list: List<T>) -> T? where T.PersistedType: MinMaxType {
    list.min()
}
private func zero<T: AddableType>(_ type: T.Type) -> T { T() }
private func ordered<T: SortableType>(_ list: List<T>) -> [T] where T.PersistedType: SortableType {
    Array(list.sorted(ascending: false))
}
private func isMarked(_ type: any Any.Type, _ marker: any Any.Type) -> Bool {
    switch ObjectIdentifier(marker) {
    case ObjectIdentifier((any KeypathSortable).self): type is any KeypathSortable.Type
    case ObjectIdentifier((any _Indexable).self): type is any _Indexable.Type
    case ObjectIdentifier((any _PrimaryKey).self): type is any _PrimaryKey.Type
    case ObjectIdentifier((any _QueryNumeric).self): type is any _QueryNumeric.Type
    case ObjectIdentifier((any _QueryString).self): type is any _QueryString.Type
    case ObjectIdentifier((any _QueryBinary).self): type is any _QueryBinary.Type
    default: false
    }
}
private func keyed<Key: _MapKey>(_ map: Map<Key, Int>, _ key: Key) -> Int? { map[key] }
private func shown<C: RealmCollectionBase>(_ collection: C) -> (count: Int, text: String, isFrozen: Bool) {
    (collection.count, collection.description, collection.isFrozen)
}

/// Uses members of the protocol of all collections that need no constraint on the elements.
private func ends<C: RealmCollection>(_ collection: C, _ shown: (C.Element) -> Int) -> [Int] {
    [
        collection.first.map(shown) ?? -1, collection.last.map(shown) ?? -1, shown(collection[0]), collection.count,
        collection.isInvalidated ? 1 : 0, collection.isFrozen ? 1 : 0, collection.realm == nil ? 1 : 0,
    ]
}

@Suite("Public names: RealmSwift contract")
struct PublicNamesTests {
    @Test("Marker protocols describe the abilities of a type")
    func markers() throws {
        let many = Many(value: ["ints": [3, 1], "strings": ["a", "b"]])
        let realm = try Contract.allTypes()
        try realm.write { realm.add(many) }
        #expect(least(many.ints) == 1 && zero(Double.self) == 0 && zero(Decimal128.self) == 0)
        #expect(ordered(many.ints) == [3, 1] && ordered(many.strings) == ["b", "a"])
        for type in [Int.self, Int8.self, String.self, Date.self] as [any Any.Type] {
            #expect(isMarked(type, (any _Indexable).self), "\(type)")
        }
        #expect(isMarked(UUID.self, (any _PrimaryKey).self) && isMarked(ObjectId.self, (any _PrimaryKey).self))
        #expect(!isMarked(Float.self, (any _PrimaryKey).self) && !isMarked(Data.self, (any _Indexable).self))
        #expect(isMarked(Double.self, (any _QueryNumeric).self) && isMarked(Date.self, (any _QueryNumeric).self))
        #expect(isMarked(String.self, (any _QueryString).self) && isMarked(Data.self, (any _QueryBinary).self))
        #expect(isMarked(All.self, (any KeypathSortable).self) && !isMarked(Data.self, (any _QueryNumeric).self))
        many.intMap.freeze().thaw().map { #expect(keyed($0, "a") == nil) }
    }

    @Test("Iterators have public names and iterate over the elements from their start")
    func iterators() throws {
        let many = Many(value: ["ints": [3, 1], "intMap": ["a": 1, "b": 2]])
        var numbers: RLMIterator<Int> = many.ints.makeIterator()
        #expect(numbers.next() == 3 && numbers.next() == 1 && numbers.next() == nil)
        let realm = try Contract.allTypes()
        try realm.write { realm.add(many) }
        var entries: RLMMapIterator<SingleMapEntry<String, Int>> = many.intMap.makeIterator()
        var pairs: RLMKeyValueIterator<String, Int> = many.intMap.asKeyValueSequence().makeIterator()
        try realm.write { many.intMap.removeAll() }
        let first = entries.next()
        #expect(first?.key == "a" && first?.value == 1 && first == SingleMapEntry(key: "a", value: 1))
        #expect(pairs.next()?.key == "a" && pairs.next()?.value == 2 && pairs.next() == nil)
        #expect(Set([first, entries.next()]).count == 2 && entries.next() == nil)
    }

    @Test("Every collection has the members of the protocol")
    func members() throws {
        let realm = try Contract.allTypes()
        let one = try realm.write {
            let one = realm.create(All.self, value: ["pk": 1])
            one.list.append(objectsIn: [one, realm.create(All.self, value: ["pk": 2])])
            one.set.insert(objectsIn: one.list)
            one.link = one
            return one
        }
        #expect(ends(one.list) { $0.pk } == [1, 2, 1, 2, 0, 0, 0] && ends(one.set) { $0.pk } == [1, 2, 1, 2, 0, 0, 0])
        #expect(ends(realm.objects(All.self).freeze()) { $0.pk } == [1, 2, 1, 2, 0, 1, 0])
        #expect(ends(one.parents) { $0.pk } == [1, 1, 1, 1, 0, 0, 0])
        #expect(ends(AnyRealmCollection(one.list)) { $0.pk } == [1, 2, 1, 2, 0, 0, 0])
        let loose = Many(value: ["ints": [7]]).ints
        #expect(ends(loose) { $0 } == [7, 7, 7, 1, 0, 0, 1])
        #expect(shown(loose).count == 1 && shown(loose).text.hasPrefix("List<int> <0x") && !shown(loose).isFrozen)
        #expect(shown(one.parents).text.hasPrefix("LinkingObjects<Contract_All> <0x"))
        #expect(shown(AnyRealmCollection(one.list)).text.hasPrefix("AnyRealmCollection<All> <0x"))
        let (list, results) = (one.list, realm.objects(All.self))
        realm.invalidate()
        #expect(list.isInvalidated && results.isInvalidated && one.isInvalidated)
    }

    @Test("A value of any type can be read only as its own type")
    func anyValues() {
        let (date, uuid, id) = (Date(timeIntervalSince1970: 1), UUID(), ObjectId.generate())
        let values: [AnyRealmValue] = [
            .data(Data([1])), .date(date), .objectId(id), .uuid(uuid), .decimal128(1.5), .float(1.5), .double(2.5),
            .string("s"), .bool(true), .int(1), .none,
        ]
        #expect(values.map(\.dataValue) == [Data([1])] + Array(repeating: nil, count: 10))
        #expect(values.compactMap(\.dateValue) == [date] && values.compactMap(\.objectIdValue) == [id])
        #expect(values.compactMap(\.uuidValue) == [uuid] && values.compactMap(\.decimal128Value) == [1.5])
        #expect(values.compactMap(\.floatValue) == [1.5] && values.compactMap(\.doubleValue) == [2.5])
        #expect(values.compactMap(\.stringValue) == ["s"] && values.compactMap(\.boolValue) == [true])
        #expect(values.compactMap(\.intValue) == [1] && values.allSatisfy { $0.listValue == nil })
        #expect(
            values.allSatisfy { $0.dictionaryValue == nil && $0.dynamicObject == nil && $0.object(All.self) == nil })
    }
}
