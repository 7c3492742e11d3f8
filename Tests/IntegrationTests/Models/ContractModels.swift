// SPDX-License-Identifier: Apache-2.0
// Models for the tests of RealmSwift's contract.

import Foundation
import RealmSwift

enum Contract {
    enum Level: Int, PersistableEnum { case low = 1, mid, high }
    enum Name: String, PersistableEnum, Codable { case one, two }

    class Dog: Object, ObjectKeyIdentifiable, Codable {
        @Persisted(primaryKey: true) var _id: ObjectId
        @Persisted(indexed: true) var name: String = ""
        @Persisted(wrappedValue: 3) var age: Int
        @Persisted(wrappedValue: "x", indexed: true) var breed: String
        @Persisted(originProperty: "dogs") var owners: LinkingObjects<Owner>
        @Persisted(originProperty: "dog") var keepers: LinkingObjects<Owner>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
        enum CodingKeys: String, CodingKey { case _id, name, age, breed }
    }

    class Address: EmbeddedObject, ObjectKeyIdentifiable {
        @Persisted var street: String?
        @Persisted var city = "Oslo"
        @Persisted(originProperty: "address") var residents: LinkingObjects<Owner>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Owner: Object {
        @Persisted var name = ""
        @Persisted var dog: Dog?
        @Persisted var dogs: List<Dog>
        @Persisted var dogSet: MutableSet<Dog>
        @Persisted var dogMap: Map<String, Dog?>
        @Persisted var address: Address?
        @Persisted var addresses: List<Address>
        @Persisted var addressMap: Map<String, Address?>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Values: Object {
        @Persisted var int = 0
        @Persisted var int8: Int8 = 0
        @Persisted var int16: Int16 = 0
        @Persisted var int32: Int32 = 0
        @Persisted var int64: Int64 = 0
        @Persisted var bool = false
        @Persisted var float: Float = 0
        @Persisted var double = 0.0
        @Persisted var string = ""
        @Persisted var data = Data()
        @Persisted var date = Date()
        @Persisted var decimal = Decimal128()
        @Persisted var objectId = ObjectId()
        @Persisted var uuid = UUID()
        @Persisted var any: AnyRealmValue
        @Persisted var level = Level.low
        @Persisted var nameEnum: Name?
        @Persisted var optInt: Int?
        @Persisted var optString: String?
        @Persisted var optDouble: Double?
        @Persisted var optDate: Date?
        @Persisted var optLevel: Level?
        @Persisted var ints: List<Int>
        @Persisted var optInts: List<Int?>
        @Persisted var strings: List<String>
        @Persisted var doubles: List<Double>
        @Persisted var decimals: List<Decimal128>
        @Persisted var dates: List<Date>
        @Persisted var anys: List<AnyRealmValue>
        @Persisted var levels: List<Level>
        @Persisted var intSet: MutableSet<Int>
        @Persisted var stringSet: MutableSet<String>
        @Persisted var doubleSet: MutableSet<Double>
        @Persisted var intMap: Map<String, Int>
        @Persisted var optIntMap: Map<String, Int?>
        @Persisted var anyMap: Map<String, AnyRealmValue>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    static let types: [ObjectBase.Type] = [Dog.self, Address.self, Owner.self, Values.self]

    static func realm() throws -> Realm {
        try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: types))
    }
}
