// SPDX-License-Identifier: Apache-2.0
// Edge cases of the contract that programs written for RealmSwift depend on: collections inside mixed values, coder
// strategies, operators over nulls, defaults of links, texts that differ only in their bytes.

import Dispatch
import Foundation
import RealmSwift
import Testing

enum Corners {
    final class Box: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var any: AnyRealmValue
        @Persisted var anys: List<AnyRealmValue>
        @Persisted var anyMap: Map<String, AnyRealmValue>
        @Persisted var nick: String?
        @Persisted var words: MutableSet<String>
    }

    final class Letter: Object, Codable {
        @Persisted var date = Date(timeIntervalSince1970: 0)
        @Persisted var data = Data()
        @Persisted var later: Date?
    }

    final class Desk: Object {
        @Persisted(primaryKey: true) var id = 0
    }

    final class Worker: Object {
        @Persisted var desk: Desk? = Desk()
    }

    static func realm() throws -> Realm {
        try Realm(
            configuration: Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [Box.self, Letter.self, Desk.self, Worker.self]))
    }

    /// The same text, composed of one scalar and of two.
    static let (composed, decomposed) = ("\u{e9}", "e\u{301}")
}

@Suite("Edge cases of the contract")
struct ContractCornersTests {
    // MARK: Collections inside mixed values

    @Test("An observer of a dictionary inside a mixed value is notified of that dictionary's keys")
    func nestedDictionary() throws {
        let stage = try Stage(
            Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Corners.Box.self]))
        let diary = Diary()
        try stage.write { realm in
            let box = realm.create(Corners.Box.self)
            box.anyMap["d"] = .fromDictionary(["x": .int(1)])
            box.any = .fromArray([.int(0), .fromDictionary(["x": .int(1)])])
        }
        func observe(_ map: Map<String, AnyRealmValue>, _ name: String) -> NotificationToken {
            map.observe { change in
                guard case .update(_, let deletions, let insertions, let modifications) = change else { return }
                diary.lines.append("\(name) d\(deletions) i\(insertions) m\(modifications)")
            }
        }
        try stage.on { realm in
            let box = try #require(realm.objects(Corners.Box.self).first)
            let map = try #require(box.anyMap["d"]?.dictionaryValue)
            let inner = try #require(box.any.listValue?[1].dictionaryValue)
            diary.tokens = [observe(map, "map"), observe(inner, "list")]
        }
        stage.settle()
        try stage.on { realm in
            let box = try #require(realm.objects(Corners.Box.self).first)
            try realm.write { box.anyMap["e"] = .int(2) }
        }
        stage.settle()
        #expect(diary.take() == [])
        try stage.on { realm in
            let box = try #require(realm.objects(Corners.Box.self).first)
            try realm.write {
                box.anyMap["d"]?.dictionaryValue?["y"] = .int(2)
                box.any.listValue?[1].dictionaryValue?["x"] = .int(3)
            }
        }
        stage.settle()
        #expect(diary.take().sorted() == ["list d[] i[] m[\"x\"]", "map d[] i[\"y\"] m[]"])
    }

    @Test("Lists inside mixed values can be sorted and made distinct")
    func nestedOrders() throws {
        let realm = try Corners.realm()
        let box = Corners.Box()
        try realm.write {
            realm.add(box)
            let numbers = AnyRealmValue.fromArray([3, 1, 3, 2].map { AnyRealmValue.int($0) })
            box.any = .fromArray([.int(9), numbers])
            box.anys.append(numbers)
            box.anyMap["l"] = numbers
        }
        let lists = [box.any.listValue?[1].listValue, box.anys[0].listValue, box.anyMap["l"]?.listValue]
        for list in lists {
            let list = try #require(list)
            #expect(list.sorted().map(\.intValue) == [1, 2, 3, 3])
            #expect(list.sorted(ascending: false).map(\.intValue) == [3, 3, 2, 1])
            #expect(list.distinct().map(\.intValue) == [3, 1, 2])
            #expect(list.freeze().sorted().map(\.intValue) == [1, 2, 3, 3])
            #expect(AnyRealmCollection(list).sorted().count == 4)
        }
        let sorted = try #require(lists[0]).sorted()
        try realm.write { box.any.listValue?[1].listValue?.append(.int(0)) }
        #expect(sorted.map(\.intValue) == [0, 1, 2, 3, 3])
        try realm.write { box.any = .int(1) }
        #expect(sorted.isEmpty)
    }

    // MARK: Coding

    @Test("Dates and data follow the strategies of the coder, even if they are optional")
    func strategies() throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let text = #"{"date": "2020-01-02T03:04:05Z", "data": "AQI=", "later": "2021-01-02T03:04:05Z"}"#
        let letter = try decoder.decode(Corners.Letter.self, from: Data(text.utf8))
        #expect(letter.date == Date(timeIntervalSince1970: 1_577_934_245) && letter.data == Data([1, 2]))
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        let object = try JSONSerialization.jsonObject(with: try encoder.encode(letter)) as? [String: Any]
        #expect(object?["date"] as? Int == 1_577_934_245 && object?["data"] as? String == "AQI=")
        #expect(object?["later"] as? Int == 1_609_556_645)
    }

    // MARK: Operators

    @Test("@distinctUnionOfObjects returns null once")
    func distinctNulls() throws {
        let realm = try Corners.realm()
        try realm.write {
            for (id, nick) in [nil, "a", nil, "b", "a", nil].enumerated() {
                realm.create(Corners.Box.self, value: ["id": id, "nick": nick as Any])
            }
        }
        let found = realm.objects(Corners.Box.self).value(forKeyPath: "@distinctUnionOfObjects.nick") as? [Any]
        #expect(found?.count == 3 && found?.compactMap { $0 as? String }.sorted() == ["a", "b"])
    }

    // MARK: Creation

    @Test("The default of a link is not stored if a value for the link is given")
    func givenLinks() throws {
        let realm = try Corners.realm()
        try realm.write {
            #expect(realm.create(Corners.Worker.self, value: ["desk": NSNull()]).desk == nil)
            #expect(realm.objects(Corners.Desk.self).isEmpty)
            let desk = realm.create(Corners.Desk.self, value: ["id": 1])
            for _ in 0..<3 { realm.create(Corners.Worker.self, value: ["desk": desk]) }
            realm.create(Corners.Worker.self, value: [["id": 2]])
        }
        #expect(realm.objects(Corners.Desk.self).map(\.id) == [1, 2])
        #expect(realm.objects(Corners.Worker.self).where { $0.desk.id == 1 }.count == 3)
        try realm.write { #expect(realm.create(Corners.Worker.self).desk?.id == 0) }
    }

    // MARK: Texts

    @Test("Unmanaged collections compare texts by their bytes, as managed ones do")
    func texts() throws {
        let (composed, decomposed) = (Corners.composed, Corners.decomposed)
        let set = MutableSet<String>()
        set.insert(objectsIn: [composed, decomposed, composed])
        #expect(set.count == 2 && set.contains(decomposed))
        set.remove(decomposed)
        #expect(set.count == 1 && set.contains(composed) && !set.contains(decomposed))
        let list = List<String>()
        list.append(objectsIn: [composed, decomposed])
        #expect(list.index(of: decomposed) == 1)
        let other = List<String>()
        other.append(objectsIn: [decomposed, composed])
        #expect(list != other)
        let map = Map<String, Int>()
        (map[composed], map[decomposed]) = (1, 2)
        #expect(map.count == 2 && map[composed] == 1 && map[decomposed] == 2)
        map[composed] = nil
        #expect(map.keys.map { Array($0.utf8) } == [Array(decomposed.utf8)])
        let realm = try Corners.realm()
        try realm.write {
            realm.add(Corners.Box(value: ["id": 1, "words": [composed, decomposed]]))
            realm.create(Corners.Box.self, value: ["id": 2, "words": [composed, decomposed]])
        }
        for box in realm.objects(Corners.Box.self) { #expect(box.words.count == 2) }
    }

    // MARK: Observing

    @Test("Tokens can be kept in sets, and a block for ObjectBase changes observes an object")
    func tokensAndBlocks() throws {
        let stage = try Stage(
            Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Corners.Box.self]))
        let diary = Diary()
        try stage.write { realm in realm.create(Corners.Box.self) }
        func note(_ change: ObjectChange<ObjectBase>) {
            guard case .change(let object, let properties) = change else { return }
            diary.lines.append("\(object is Corners.Box) \(properties.map(\.name))")
        }
        try stage.on { realm in
            let box = try #require(realm.objects(Corners.Box.self).first)
            let token = box.observe(note)
            var tokens: Set<NotificationToken> = [token]
            #expect(!tokens.insert(token).inserted && tokens.insert(box.observe { _ in }).inserted)
            diary.tokens = Array(tokens)
        }
        stage.settle()
        try stage.on { realm in
            try realm.write { realm.objects(Corners.Box.self).first?.nick = "n" }
        }
        stage.settle()
        #expect(diary.take() == ["true [\"nick\"]"])
    }

    @Test("isInvalidated may be read on any thread")
    func foreignThread() throws {
        let realm = try Corners.realm()
        let box = Corners.Box()
        try realm.write { realm.add(box) }
        nonisolated(unsafe) let foreign = box
        var isInvalidated = true
        DispatchQueue(label: "other").sync { isInvalidated = foreign.isInvalidated }
        #expect(!isInvalidated)
        try realm.write { realm.delete(box) }
        #expect(box.isInvalidated)
    }
}
