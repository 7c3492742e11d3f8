// SPDX-License-Identifier: Apache-2.0
// How RealmSwift's users declare and fill objects: defaults of every kind, enums of every raw type, custom types,
// values from JSON and from Foundation's classes.

import Foundation
import RealmSwift
import Testing

private enum Size: Float, PersistableEnum { case small = 1.5, large = 9 }
private enum Weight: Double, PersistableEnum { case light = 0.5, heavy = 90 }
private enum Level: Int8, PersistableEnum { case low = -1, high = 5 }
private enum Big: Int64, PersistableEnum { case one = 1, huge = 9_000_000_000 }
private enum Code: String, PersistableEnum, Codable { case a, b = "bee" }
private enum Rank: Int, PersistableEnum {
    case zero, one, two
    static let allCases: [Rank] = [.two, .one, .zero]
}

private struct Page: FailableCustomPersistable, Hashable {
    typealias PersistedType = String
    let url: URL
    init?(persistedValue: String) {
        guard let url = URL(string: persistedValue) else { return nil }
        self.url = url
    }
    var persistableValue: String { url.absoluteString }
}

private struct Spot: CustomPersistable, Hashable {
    typealias PersistedType = SpotObject
    var x: Double
    var y: Double
    init(x: Double, y: Double) { (self.x, self.y) = (x, y) }
    init(persistedValue: SpotObject) { self.init(x: persistedValue.x, y: persistedValue.y) }
    var persistableValue: SpotObject { SpotObject(value: [x, y]) }
}

private final class SpotObject: EmbeddedObject {
    @Persisted var x = 0.0
    @Persisted var y = 0.0
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private final class Everything: Object, Identifiable {
    @Persisted(primaryKey: true) var id: String = UUID().uuidString
    @Persisted var tags = List<String>()
    @Persisted var counts = Map<String, Int>()
    @Persisted var seen = MutableSet<Int>()
    @Persisted var parent: Everything? = nil
    @Persisted var anything: AnyRealmValue = .int(3)
    @Persisted var nothing: AnyRealmValue = .none
    @Persisted private(set) var age: Int = 4
    @Persisted var note: String? = "n"
    @Persisted var size = Size.large
    @Persisted(indexed: true) var level: Level? = .high
    @Persisted(indexed: true) var code: Code
    @Persisted var weight: Weight
    @Persisted var big: Big?
    @Persisted var rank: Rank
    @Persisted var ranks: List<Rank?>
    @Persisted var codes: MutableSet<Code>
    @Persisted var sizes: Map<String, Size?>
    @Persisted var home: Page?
    @Persisted var pages: List<Page>
    @Persisted var spot = Spot(x: 1, y: 2)
    @Persisted var spots: List<Spot>
    @Persisted var made = Date()
    @Persisted var data: Data?
    @Persisted var uuid: UUID?
    @Persisted var decimal: Decimal128?
    @Persisted(originProperty: "parent") var children: LinkingObjects<Everything>
    var transient = "t"
    static let shared = "s"
    var upper: String { id.uppercased() }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    func grow() { age += 1 }
}

private final class EnumKey: Object {
    @Persisted(primaryKey: true) var key: Code
    @Persisted var x = 0
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private final class OldStyle: Object {
    let parts = List<OldStyle>()
    let wholes = LinkingObjects(fromType: OldStyle.self, property: "parts")
    @Persisted var name = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private func newRealm() throws -> Realm {
    try memoryRealm(Everything.self, SpotObject.self, EnumKey.self, OldStyle.self)
}

@Suite("Declarations and creation: RealmSwift contract")
struct CreationContractTests {
    @Test("New and created objects have their defaults, of every kind")
    func defaults() throws {
        let realm = try newRealm()
        let added = Everything()
        try realm.write {
            realm.add(added)
            added.grow()
            realm.create(Everything.self).grow()
        }
        for object in realm.objects(Everything.self) {
            #expect(object.age == 5 && object.note == "n" && object.anything == .int(3) && object.nothing == .none)
            #expect(object.size == .large && object.level == .high && object.code == .a && object.weight == .light)
            #expect(object.big == nil && object.rank == .two && object.spot == Spot(x: 1, y: 2) && object.home == nil)
            #expect(object.tags.isEmpty && object.counts.count == 0 && object.seen.isEmpty && object.parent == nil)
            #expect(object.id.count == 36 && object.transient == "t" && object.upper == object.id.uppercased())
        }
        #expect(Set(realm.objects(Everything.self).map(\.id)).count == 2)
    }

    @Test("Enums of every raw type are stored, filtered, sorted and set by raw value")
    func enums() throws {
        let realm = try newRealm()
        let object = try realm.write {
            realm.create(
                Everything.self,
                value: [
                    "size": 1.5, "level": -1, "code": "bee", "weight": Weight.heavy, "big": 9_000_000_000,
                    "ranks": [0, NSNull(), Rank.two], "codes": ["a", Code.b],
                    "sizes": ["x": Size.small, "y": NSNull()],
                ] as [String: Any])
        }
        #expect(object.size == .small && object.level == .low && object.code == .b && object.weight == .heavy)
        #expect(object.big == .huge && Array(object.ranks) == [.zero, nil, .two] && object.codes.count == 2)
        #expect(object.sizes["x"] == .some(.small) && object.sizes["y"] == .some(nil))
        let all = realm.objects(Everything.self)
        #expect(all.where { $0.code == .b && $0.level == .low && $0.ranks.contains(.two) }.count == 1)
        #expect(all.filter("code == 'bee' AND big > 1 AND size == 1.5").sorted(by: \.level).count == 1)
        #expect(object["code"] as? String == "bee")
        try realm.write { realm.add(EnumKey(value: ["key": "bee", "x": 3])) }
        #expect(realm.object(ofType: EnumKey.self, forPrimaryKey: Code.b)?.x == 3)
        #expect(realm.object(ofType: EnumKey.self, forPrimaryKey: "bee")?.key == .b)
    }

    @Test("Custom types are stored as their persisted type")
    func custom() throws {
        let realm = try newRealm()
        let object = Everything()
        object.home = Page(persistedValue: "https://a.example/x")
        object.pages.append(objectsIn: ["a:b", "c:d"].compactMap { Page(persistedValue: $0) })
        object.spots.append(Spot(x: 3, y: 4))
        try realm.write { realm.add(object) }
        #expect(object.home?.url.host == "a.example" && object.pages[1].url.absoluteString == "c:d")
        #expect(
            object.spots[0] == Spot(x: 3, y: 4) && realm.objects(Everything.self).filter("ANY spots.x == 3").count == 1)
        let home = Page(persistedValue: "https://a.example/x")
        #expect(realm.objects(Everything.self).where { $0.home == home }.count == 1)
        try realm.write { object.spot = Spot(x: 9, y: 9) }
        #expect(object.spot.x == 9 && object["home"] as? String == "https://a.example/x")
    }

    @Test("Values of Foundation's classes fill objects like Swift values")
    func foundation() throws {
        let realm = try newRealm()
        let id = NSUUID()
        let dictionary = NSDictionary(dictionary: [
            "id": NSString(string: "k"), "tags": NSArray(array: ["x", "y"]), "made": NSDate(timeIntervalSince1970: 5),
            "data": NSData(data: Data([1, 2])), "uuid": id, "decimal": NSDecimalNumber(string: "1.25"),
            "counts": NSDictionary(dictionary: ["a": NSNumber(value: 1)]), "note": NSNull(), "age": NSNumber(value: 7),
        ])
        let object = try realm.write { realm.create(Everything.self, value: dictionary) }
        #expect(object.id == "k" && Array(object.tags) == ["x", "y"] && object.made == Date(timeIntervalSince1970: 5))
        #expect(object.data == Data([1, 2]) && object.uuid?.uuidString == id.uuidString && object.decimal == 1.25)
        #expect(object.counts["a"] == 1 && object.note == nil && object.age == 7)
        let array = try realm.write { realm.create(EnumKey.self, value: NSArray(array: ["a", NSNumber(value: 2)])) }
        #expect(array.key == .a && array.x == 2)
    }

    @Test("Values from JSON fill objects, and updates keep properties that are not given")
    func json() throws {
        let realm = try newRealm()
        let text = """
            {"id": "j", "tags": ["a"], "age": 1, "note": null, "spot": {"x": 5, "y": 6.5}, "level": 5, "unknown": true,
             "parent": {"id": "p", "counts": {"n": 2}}, "uuid": "137DECC8-B300-4954-A233-F89909F4FD89"}
            """
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        let object = try realm.write { realm.create(Everything.self, value: value) }
        #expect(object.tags.first == "a" && object.age == 1 && object.note == nil && object.spot == Spot(x: 5, y: 6.5))
        #expect(object.parent?.counts["n"] == 2 && object.parent?.children.first == object && object.uuid != nil)
        try realm.write {
            realm.create(Everything.self, value: ["id": "j", "note": "new"], update: .modified)
            realm.create(Everything.self, value: ["id": "p", "note": nil] as [String: String?], update: .all)
        }
        #expect(
            object.note == "new" && object.tags.count == 1 && object.parent?.note == nil
                && object.parent?.counts.count == 1)
    }

    @Test("Lists and linking objects may be declared with let")
    func oldStyle() throws {
        let realm = try newRealm()
        let whole = OldStyle(value: ["name": "w"])
        whole.parts.append(OldStyle(value: ["name": "p"]))
        try realm.write { realm.add(whole) }
        #expect(whole.parts[0].wholes.first?.isSameObject(as: whole) == true)
        #expect(
            whole.parts[0].wholes.count == 1 && realm.objects(OldStyle.self).filter("ANY parts.name == 'p'").count == 1)
    }
}
