// SPDX-License-Identifier: Apache-2.0
// Names of RealmSwift that must compile, each used once: enums in RealmProperty, values as AnyObject, constant
// decimals, generic code over RealmProperty and areas.

import Foundation
import RealmSwift
import Testing

enum OlderSpellings {
    enum Size: Int, RealmEnum { case small = 1, large = 2 }
    enum Word: String, RealmEnum { case a, b }

    class Boxes: Object {
        @Persisted(primaryKey: true) var id: Int
        let size = RealmProperty<Size?>()
        let word = RealmProperty<Word?>()
        let long = RealmProperty<Int64?>()
    }

    class Place: EmbeddedObject {
        @Persisted var type = "Point"
        @Persisted var coordinates: List<Double>
    }

    class Shop: Object {
        @Persisted var name: String
        @Persisted var n: Int
        @Persisted var note: String?
        @Persisted var place: Place?
        @Persisted var list: List<Shop>
        @Persisted var map: Map<String, String?>
        @Persisted var shops: Map<String, Shop?>
    }

    /// Generic code over areas.
    static func near<S: RLMGeospatial>(_ shops: Results<Shop>, _ area: S) -> Results<Shop> {
        shops.where { $0.place.geoWithin(area) }
    }

    /// Generic code over maps.
    static func object<M: RealmKeyedCollection>(_ map: M, _ key: String) -> AnyObject? {
        let value: AnyObject? = map.value(forKey: key)
        return value
    }
}

@Suite("Rare and deprecated names of RealmSwift")
struct DeprecatedNamesTests {
    private typealias Boxes = OlderSpellings.Boxes
    private typealias Shop = OlderSpellings.Shop

    @Test("An enum of the older kind is stored in RealmProperty, read by name and queried")
    func enumsInBoxes() throws {
        let realm = try memoryRealm(Boxes.self)
        #expect(
            RealmProperty<OlderSpellings.Size?>().value == nil
                && RealmProperty<OlderSpellings.Size?>(.large).value == .large)
        let loose = Boxes()
        loose.size.value = .small
        try realm.write {
            realm.add(loose)
            let other = realm.create(Boxes.self, value: ["id": 2, "size": 2, "word": "b", "long": 5])
            #expect(other.size.value == .large && other.word.value == .b && other.long.value == 5)
            other.word.value = .a
            loose["word"] = "b"
        }
        #expect(loose.size.value == .small && loose.word.value == .b && loose["size"] as? Int == 1)
        #expect(realm.objects(Boxes.self).filter("size == 2 AND word == 'a'").count == 1)
        #expect(realm.objects(Boxes.self).filter("size == %@", OlderSpellings.Size.small).count == 1)
        try realm.write {
            loose.size.value = nil
            loose["word"] = nil
        }
        #expect(loose.size.value == nil && loose.word.value == nil && loose["size"] == nil)
    }

    @Test("RealmOptional stores enums and decimals, and generic code can use it")
    func oldBoxes() throws {
        // Looked up at run time, because the compiler warns about all deprecated names.
        let uses = try #require(OldBoxUses() as Any as? any RunnableBoxUses)
        try uses.run()
    }

    @Test("Collections return values as AnyObject")
    func runtimeObjects() throws {
        let realm = try memoryRealm(Shop.self, OlderSpellings.Place.self)
        let shop = try realm.write {
            realm.create(
                Shop.self,
                value: [
                    "n": 1, "list": [["n": 2, "note": "x"], ["n": 3]], "map": ["k": "v", "null": NSNull()],
                    "shops": ["s": ["n": 4]],
                ])
        }
        let numbers: [AnyObject] = shop.list.value(forKeyPath: "n")
        #expect(numbers as? [Int] == [2, 3])
        let notes: [AnyObject] = shop.list.value(forKeyPath: "note")
        #expect(notes[0] as? String == "x" && notes[1] is NSNull)
        let text: AnyObject? = shop.map.value(forKey: "k")
        let null: AnyObject? = shop.map.value(forKey: "null")
        let none: AnyObject? = shop.map.value(forKey: "?")
        #expect(text as? String == "v" && null is NSNull && none == nil)
        let number: AnyObject? = shop.shops.value(forKeyPath: "s.n")
        #expect(number as? Int == 4)
        #expect(shop.map.object(forKey: "k" as AnyObject) as? String == "v")
        #expect(shop.map.object(forKey: "null" as NSString) is NSNull)
        #expect(shop.map.object(forKey: "?" as AnyObject) == nil && shop.map.object(forKey: NSNumber(value: 1)) == nil)
        #expect((shop.shops.object(forKey: "s" as AnyObject) as? Shop)?.n == 4)
        #expect(OlderSpellings.object(shop.map, "k") as? String == "v")
        let value: String?? = shop.map.object(forKey: "k")
        #expect(value == "v" && shop.map.value(forKey: "k") as? String == "v")
    }

    @Test("negate() changes a constant decimal in place, and assigns a new one to a variable")
    func decimals() {
        let constant: Decimal128 = 1
        constant.negate()
        #expect(constant == -1 && constant.description == "-1")
        var variable = constant
        variable.negate()
        #expect(variable == 1 && constant == -1)
        // Also if the generic constraint is only SignedNumeric.
        func negated<T: SignedNumeric>(_ number: T) -> T {
            var number = number
            number.negate()
            return number
        }
        #expect(negated(constant) == 1 && constant == -1)
        let zero: Decimal128 = 0
        zero.negate()
        #expect(zero == 0 && zero.description == "0")
        let greatest = Decimal128.max
        greatest.negate()
        #expect(greatest == Decimal128.min && Decimal128.max > 0)
        #expect(!constant.isSignalingNaN && Decimal128("snan").isSignalingNaN)
    }

    @Test("An empty NotificationToken can be created, and setValue(_:forUndefinedKey:) sets a property")
    func small() throws {
        var token = NotificationToken()
        #expect(token.invalidate())
        token = NotificationToken()
        let realm = try memoryRealm(Shop.self, OlderSpellings.Place.self)
        try realm.write {
            let shop = realm.dynamicCreate(Shop.className(), value: ["n": 1])
            shop.setValue(2, forUndefinedKey: "n")
            #expect(shop["n"] as? Int == 2 && shop.value(forUndefinedKey: "n") as? Int == 2)
        }
    }

    @Test("Generic code can use any area in a query")
    func areas() throws {
        let realm = try memoryRealm(Shop.self, OlderSpellings.Place.self)
        try realm.write {
            realm.create(Shop.self, value: ["name": "near", "place": ["coordinates": [1.0, 1.0]]])
            realm.create(Shop.self, value: ["name": "far", "place": ["coordinates": [50.0, 50.0]]])
        }
        let shops = realm.objects(Shop.self)
        let box = try #require(GeoBox(bottomLeft: (0, 0), topRight: (2, 2)))
        let circle = try #require(GeoCircle(center: (1, 1), radiusInRadians: 0.1))
        let ring = [(0.0, 0.0), (0.0, 2.0), (2.0, 2.0), (2.0, 0.0), (0.0, 0.0)]
        let polygon = try #require(GeoPolygon(outerRing: ring))
        #expect(OlderSpellings.near(shops, box).map(\.name) == ["near"])
        #expect(OlderSpellings.near(shops, circle).map(\.name) == ["near"])
        #expect(OlderSpellings.near(shops, polygon).map(\.name) == ["near"])
    }
}

private protocol RunnableBoxUses { func run() throws }
private struct OldBoxUses {}

@available(*, deprecated)
private final class OldEnumBoxes: Object {
    @Persisted(primaryKey: true) var id: Int
    let size = RealmOptional<OlderSpellings.Size>()
    let long = RealmOptional<Int64>()
    let decimal = RealmOptional<Decimal128>()
}

@available(*, deprecated)
private struct BoxReader<T: RealmOptionalType> {
    let box: RealmOptional<T>
    var isEmpty: Bool { box.value == nil }
}

@available(*, deprecated)
private func filled<T: RealmOptionalType>(_ box: RealmOptional<T>, _ value: T?) -> T? {
    box.value = value
    return box.value
}

@available(*, deprecated)
extension OldBoxUses: RunnableBoxUses {
    func run() throws {
        #expect(RealmOptional<OlderSpellings.Size>().value == nil)
        let realm = try memoryRealm(OldEnumBoxes.self)
        try realm.write {
            let boxes = realm.create(OldEnumBoxes.self, value: ["id": 1])
            #expect(filled(boxes.size, .large) == .large && filled(boxes.long, 7) == 7)
            #expect(filled(boxes.decimal, 1.5) == 1.5 && !BoxReader(box: boxes.size).isEmpty)
            #expect(boxes["long"] as? Int64 == 7 && boxes["size"] as? Int == 2)
            #expect(filled(boxes.size, nil) == nil && BoxReader(box: boxes.size).isEmpty)
        }
    }
}
