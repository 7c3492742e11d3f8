// SPDX-License-Identifier: Apache-2.0
// The classes that the tests of objects, schemas and lists share, and Realms in memory for them.

import Foundation
import Regnum

enum Mood: String, PersistableEnum { case calm, lively }
enum Grade: Int, PersistableEnum { case low = 1, high = 2 }

class Creature: Object {
    @Persisted var born = 0
    @Persisted var isWild: Bool
}

final class Hound: Creature {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name = "Rex"
    @Persisted var nick: String?
    @Persisted var master: Keeper?
    @Persisted var mood: Mood
    @Persisted var grade: Grade?
    @Persisted(originProperty: "hounds") var keepers: LinkingObjects<Keeper>
}

final class Keeper: Object {
    @Persisted var name = ""
    @Persisted var hounds: List<Hound>
    @Persisted var words: List<String>
    @Persisted var best: Hound?
}

/// Every type, bare and optional.
final class AllTypes: Object {
    @Persisted var bool = false
    @Persisted var int = 0
    @Persisted var int8: Int8
    @Persisted var int16: Int16
    @Persisted var int32: Int32
    @Persisted var int64: Int64
    @Persisted var float: Float
    @Persisted var double = 0.0
    @Persisted var string = ""
    @Persisted var data: Data
    @Persisted var date: Date
    @Persisted var uuid: UUID
    @Persisted var objectId: ObjectId
    @Persisted var mood: Mood
    @Persisted var grade: Grade
    @Persisted var optBool: Bool?
    @Persisted var optInt: Int?
    @Persisted var optInt8: Int8?
    @Persisted var optInt16: Int16?
    @Persisted var optInt32: Int32?
    @Persisted var optInt64: Int64?
    @Persisted var optFloat: Float?
    @Persisted var optDouble: Double?
    @Persisted var optString: String?
    @Persisted var optData: Data?
    @Persisted var optDate: Date?
    @Persisted var optUuid: UUID?
    @Persisted var optObjectId: ObjectId?
    @Persisted var optMood: Mood?
    @Persisted var optGrade: Grade?
    @Persisted var link: AllTypes?
}

/// Declared in the form before `@Persisted var x: List`.
final class Notebook: Object {
    @Persisted var id = ""
    @Persisted var image: String?
    let tags = List<String?>()
    let pages = List<Keeper>()
    let rating = RealmProperty<Int?>()

    override static func primaryKey() -> String? { "id" }
    override static func indexedProperties() -> [String] { ["image"] }
}

final class Tagged: Object {
    @Persisted var name = ""
    let holders = LinkingObjects(fromType: TagHolder.self, property: "tagged")
}

final class TagHolder: Object {
    let tagged = List<Tagged>()
}

final class Ignoring: Object {
    @Persisted var name = ""
    @Persisted var address = "unknown"
    var plain = 7

    override static func ignoredProperties() -> [String] { ["address"] }
}

enum Outer {
    final class Inner: Object { @Persisted var x = 0 }
}

private final class Secret: Object { @Persisted var x = 0 }
let secretType: ObjectBase.Type = Secret.self

final class Renamed: Object {
    @Persisted var name = ""
    override class func _realmObjectName() -> String? { "OtherName" }
    override class func propertiesMapping() -> [String: String] { ["name": "full_name"] }
}

/// A Realm in memory with the classes above; each call makes a separate database.
func makeRealm(_ types: [ObjectBase.Type]? = nil) throws -> Realm {
    let listed =
        types ?? [
            Hound.self, Keeper.self, AllTypes.self, Notebook.self, Tagged.self, TagHolder.self, Ignoring.self,
            Outer.Inner.self,
            Renamed.self,
        ]
    return try Realm(
        configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: listed))
}
