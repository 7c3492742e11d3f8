// SPDX-License-Identifier: Apache-2.0
// Collections of values: sections by a block, and index(matching:) of unmanaged collections.

import Foundation
import RealmSwift
import Testing

@Suite("Collections of values") struct ValueCollectionsTests {
    enum Size: Int, PersistableEnum { case small, large }

    class Many: Object {
        @Persisted var bools: List<Bool>
        @Persisted var uuids: List<UUID>
        @Persisted var ids: List<ObjectId>
        @Persisted var ints: List<Int>
        @Persisted var texts: List<String?>
        @Persisted var sizes: List<Size>
        @Persisted var anys: List<AnyRealmValue>
        @Persisted var set: MutableSet<Bool>
        @Persisted var map: Map<String, UUID>
    }

    static let uuids = (0..<3).map { UUID(uuid: (UInt8($0), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }

    /// Generic over the type of the elements.
    private func sections<T: RealmCollection>(_ collection: T, by key: @escaping (T.Element) -> String) -> [String: Int]
    {
        var counts: [String: Int] = [:]
        for section in collection.sectioned(by: key, ascending: true) { counts[section.key] = section.count }
        return counts
    }

    @Test("Values of every type can be sectioned by a block")
    func sections() throws {
        let realm = try memoryRealm(Many.self)
        let many = try realm.write {
            let many = realm.create(Many.self)
            many.bools.append(objectsIn: [true, false, true])
            many.uuids.append(objectsIn: Self.uuids)
            many.ids.append(objectsIn: [ObjectId("0123456789abcdef01234567"), ObjectId("1123456789abcdef01234567")])
            many.sizes.append(objectsIn: [.large, .small])
            many.set.insert(objectsIn: [true, false])
            many.texts.append(objectsIn: ["b", nil, "a"])
            return many
        }
        let byTruth = many.bools.sectioned(by: { $0 ? "a" : "b" }, ascending: true)
        #expect(byTruth.map(\.key) == ["b", "a"] && byTruth.map { Array($0) } == [[false], [true, true]])
        let falling = many.bools.sectioned(by: { $0 ? "a" : "b" }, ascending: false)
        #expect(falling.map(\.key) == ["a", "b"])
        let byByte = many.uuids.sectioned(by: { $0.uuid.0 < 2 ? "low" : "high" })
        #expect(byByte.map(\.key) == ["low", "high"] && byByte.map(\.count) == [2, 1])
        #expect(many.ids.sectioned(by: { $0.stringValue.prefix(1) == "0" ? 0 : 1 }).map(\.key) == [0, 1])
        #expect(many.set.sectioned(by: { $0 ? 1 : 0 }).map(\.key) == [0, 1])
        #expect(many.sizes.sectioned(by: { $0 == .small ? "s" : "l" }).map(\.key) == ["s", "l"])
        #expect(many.texts.sectioned(by: { $0 ?? "none" }).map(\.key) == ["none", "a", "b"])
        #expect(sections(many.bools) { $0 ? "yes" : "no" } == ["yes": 2, "no": 1])
        #expect(sections(many.uuids) { $0 == Self.uuids[0] ? "first" : "rest" } == ["first": 1, "rest": 2])
    }

    @Test("index(matching:) of an unmanaged collection finds the first value that satisfies a predicate")
    func matching() {
        let ints = List<Int>()
        ints.append(objectsIn: [3, 7, 9, 7])
        #expect(ints.index(matching: NSPredicate(format: "self == 7")) == 1)
        #expect(ints.index(matching: NSPredicate(format: "SELF > 7")) == 2)
        #expect(ints.index(matching: "self == %@", 8) == nil && ints.index(matching: "SELF IN {1, 9}") == 2)
        #expect(ints.index(matching: "NOT self < 7 AND self BETWEEN {8, 10}") == 2)
        #expect(ints.index(matching: { $0 == 9 }) == 2)
        let texts = List<String?>()
        texts.append(objectsIn: ["a", nil, "Beta"])
        #expect(texts.index(matching: "self == NULL") == 1 && texts.index(matching: "self BEGINSWITH[c] 'b'") == 2)
        let uuids = List<UUID>()
        uuids.append(objectsIn: Self.uuids)
        #expect(uuids.index(matching: "self == %@", Self.uuids[2]) == 2)
        let sizes = List<Size>()
        sizes.append(objectsIn: [.small, .large])
        #expect(sizes.index(matching: "self == 1") == 1)
        let anys = List<AnyRealmValue>()
        anys.append(objectsIn: [.string("x"), .fromArray([.int(1)]), .double(2)])
        #expect(anys.index(matching: "self == 2") == 2 && anys.index(matching: "self == %@", anys[1]) == 1)
    }

    @Test("A predicate on a property of values is refused")
    func refused() throws {
        let message = try misuseText { _ = List<Int>().index(matching: NSPredicate(format: "name == 7")) }
        #expect(message?.contains("Property 'name' not found") == true)
        let text = try misuseText { _ = List<Int>().index(matching: NSPredicate(format: "self == 'a'")) }
        #expect(text?.contains("Cannot compare value 'a' of type 'String'") == true)
    }
}
