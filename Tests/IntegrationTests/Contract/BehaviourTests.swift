// SPDX-License-Identifier: Apache-2.0
// Behaviour that no other test file covers: messages of programmer errors, defaults, limits.

import Foundation
import RealmSwift
import Testing

private typealias Dog = Contract.Dog
private typealias Owner = Contract.Owner
private typealias Values = Contract.Values

private final class BoxKey: Object {
    let key = RealmProperty<Int?>()
    @Persisted var name = ""
    override static func primaryKey() -> String? { "key" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private final class Told: Object {
    @Persisted var a = 1 { didSet { changes.append("a \(oldValue) \(a)") } }
    @Persisted var b = "x" { willSet { changes.append("b \(b) \(newValue)") } }
    var changes: [String] = []
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private let misuses: [MisuseCase] = [
    MisuseCase("Cannot modify primary key after creation: 'BoxKey.key'") {
        let realm = try memoryRealm(BoxKey.self)
        let object = try realm.write { realm.create(BoxKey.self, value: ["key": 1]) }
        try realm.write { object.key.value = 2 }
    },
    MisuseCase("Cannot migrate Realms that are already open.") {
        try withFile([Dog.self, Owner.self, Contract.Address.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            try Realm.performMigration(for: configuration)
            withExtendedLifetime(realm) {}
        }
    },
    MisuseCase("Querying is currently only implemented for arrays of Realm Objects") {
        let realm = try Contract.realm()
        let values = try realm.write { realm.create(Values.self) }
        _ = values.ints.filter("self == 1")
    },
    MisuseCase("'Contract_Values' does not have a primary key defined") {
        _ = try Contract.realm().object(ofType: Values.self, forPrimaryKey: 1)
    },
    MisuseCase("of type 'Int' for 'object id' property 'Contract_Dog._id'") {
        _ = try Contract.realm().object(ofType: Dog.self, forPrimaryKey: 1)
    },
    MisuseCase("Embedded objects cannot be created directly") {
        let realm = try Contract.realm()
        try realm.write { realm.dynamicCreate(Contract.Address.className(), value: [:] as [String: Any]) }
    },
    MisuseCase("Cannot freeze an object in the same write transaction as it was created in.") {
        let realm = try Contract.realm()
        try realm.write { _ = realm.create(Dog.self).freeze() }
    },
    MisuseCase("Cannot set `deleteRealmIfMigrationNeeded` when `readOnly` is set.") {
        var configuration = Realm.Configuration(inMemoryIdentifier: "x", readOnly: true)
        configuration.deleteRealmIfMigrationNeeded = true
        _ = try Realm(configuration: configuration)
    },
    MisuseCase("Encryption key must be exactly 64 bytes long") {
        _ = try Realm(configuration: .init(inMemoryIdentifier: "x", encryptionKey: Data(count: 63)))
    },
    MisuseCase("Cannot set schema version to 18446744073709551615") {
        _ = try Realm(configuration: .init(inMemoryIdentifier: "x", schemaVersion: .max))
    },
    MisuseCase("In-memory identifier must not be empty") {
        _ = try Realm(configuration: .init(inMemoryIdentifier: ""))
    },
    MisuseCase("Attempting to modify a frozen object - call thaw on the Object instance first.") {
        let realm = try Contract.realm()
        try realm.write { realm.create(Dog.self) }.freeze().age = 3
    },
    MisuseCase("Auto-refresh cannot be enabled for frozen Realms.") {
        let frozen = try Contract.realm().freeze()
        frozen.autorefresh = true
    },
    MisuseCase("Invalid property name 'nothing' for class 'Contract_Dog'") {
        let realm = try Contract.realm()
        _ = try realm.write { realm.create(Dog.self) }["nothing"]
    },
    MisuseCase("NSUnknownKey") { _ = Dog().value(forKey: "nothing") },
    MisuseCase("Property 'twice' is declared multiple times in the class hierarchy of 'Lower'") {
        _ = try memoryRealm(Lower.self)
    },
    MisuseCase("Property 'same' appears more than once in the schema for type 'SameColumns'.") {
        _ = try memoryRealm(SameColumns.self)
    },
    MisuseCase("Property 'Alias.a' has an alias 'b' that conflicts with a property of the same name.") {
        _ = try memoryRealm(Alias.self)
    },
    MisuseCase("Property 'b' appears more than once in the schema for type 'Alias'.") {
        _ = try memoryRealm(Alias.self)
    },
    // RealmSwift's message names the property by its column here.
    MisuseCase("Property 'TakenAlias.x' has an alias 'a' that conflicts with a property of the same name.") {
        _ = try memoryRealm(TakenAlias.self)
    },
    MisuseCase("Property name '\(String(repeating: "p", count: 64))' is too long: at most 63 bytes") {
        _ = try memoryRealm(LongName.self)
    },
    MisuseCase("The Realm is already in a write transaction") {
        let realm = try Contract.realm()
        try realm.write { realm.beginWrite() }
    },
    MisuseCase("Can't commit a non-existing write transaction") { try Contract.realm().commitWrite() },
    MisuseCase("Can't cancel a non-existing write transaction") { try Contract.realm().cancelWrite() },
    MisuseCase("Object type 'Nothing' is not managed by the Realm.") {
        let realm = try Contract.realm()
        try realm.write { realm.dynamicCreate("Nothing", value: [:] as [String: Any]) }
    },
    MisuseCase("Can't perform transactions on read-only Realms.") {
        try withReadOnly { $0.beginWrite() }
    },
    MisuseCase("Read-only Realms do not change and cannot be refreshed.") { try withReadOnly { $0.refresh() } },
    MisuseCase("Read-only Realms do not change and do not have change notifications.") {
        try withReadOnly { _ = $0.observe { _, _ in } }
    },
    MisuseCase("already opened with different read permissions") {
        try withFile([Dog.self, Owner.self, Contract.Address.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            var other = configuration
            other.readOnly = true
            _ = try Realm(configuration: other)
            withExtendedLifetime(realm) {}
        }
    },
    MisuseCase("Cannot read from a frozen Realm which has been invalidated.") {
        let frozen = try Contract.realm().freeze()
        frozen.invalidate()
        _ = frozen.objects(Dog.self).count
    },
]

/// Calls `body` with a read-only Realm of a file.
private func withReadOnly(_ body: (Realm) throws -> Void) throws {
    try withFile([Dog.self, Owner.self, Contract.Address.self]) { configuration in
        try autoreleasepool { _ = try Realm(configuration: configuration) }
        var readOnly = configuration
        readOnly.readOnly = true
        try body(try Realm(configuration: readOnly))
    }
}

private class Upper: Object {
    @Persisted private var twice = 1
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
private final class Lower: Upper {
    @Persisted private var twice = 2
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
private final class SameColumns: Object {
    @Persisted var a = 1
    @Persisted var b = 1
    override class func propertiesMapping() -> [String: String] { ["a": "same", "b": "same"] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
private final class LongName: Object {
    @Persisted var a = 1
    override class func propertiesMapping() -> [String: String] { ["a": String(repeating: "p", count: 64)] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
private final class LongestName: Object {
    @Persisted var a = 1
    override class func propertiesMapping() -> [String: String] { ["a": String(repeating: "p", count: 63)] }
    override class func _realmObjectName() -> String? { String(repeating: "n", count: 57) }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
private final class Alias: Object {
    @Persisted var a = 1
    @Persisted var b = 1
    override class func propertiesMapping() -> [String: String] { ["a": "b"] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
private final class TakenAlias: Object {
    @Persisted var a = 1
    @Persisted var b = 1
    override class func propertiesMapping() -> [String: String] { ["a": "x", "b": "a"] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite("Behaviour")
struct BehaviourTests {
    @Test("Programmer errors have the messages that programs look for", arguments: misuses)
    func misuse(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }

    @Test("Generic code over RealmCollection has aggregates, for managed and unmanaged collections")
    func figures() throws {
        func check<C: RealmCollection>(_ c: C, _ line: Comment) where C.Element == Int {
            let mean: Double? = c.average()
            #expect(c.sum() == 6 && c.min() == 1 && c.max() == 3 && mean == 2, line)
        }
        let values = Values(value: ["ints": [1, 2, 3], "intSet": [1, 2, 3]])
        check(values.ints, "unmanaged list")
        check(values.intSet, "unmanaged set")
        check(AnyRealmCollection(values.ints), "unmanaged, any")
        let realm = try Contract.realm()
        try realm.write { realm.add(values) }
        check(values.ints, "list")
        check(values.intSet, "set")
        check(AnyRealmCollection(values.intSet), "any")
        check(values.ints.sorted(ascending: false), "results")
        check(AnyRealmCollection(values.ints.sorted()), "any results")
        let empty = List<Int>()
        let none: Double? = empty.average()
        #expect(empty.sum() == 0 && empty.min() == nil && none == nil)
        let optional = List<Int?>()
        optional.append(objectsIn: [nil, 4, 2])
        #expect(optional.sum() == 6 && optional.max() == .some(4))
    }

    @Test("A class name may have 57 bytes and a property name 63")
    func longestNames() throws {
        let realm = try memoryRealm(LongestName.self)
        try realm.write { realm.create(LongestName.self, value: ["a": 2]) }
        #expect(realm.dynamicObjects(LongestName.className()).first?["a"] as? Int == 2)
    }

    @Test("willSet and didSet run for unmanaged and managed objects")
    func watchers() throws {
        let object = Told()
        object.a = 2
        object.b = "y"
        #expect(object.changes == ["a 1 2", "b x y"])
        let realm = try memoryRealm(Told.self)
        try realm.write {
            realm.add(object)
            object.a = 3
            object.b = "z"
        }
        #expect(object.changes == ["a 1 2", "b x y", "a 2 3", "b y z"])
    }

    @Test("The collections of an object stay the same instances when it is added")
    func identity() throws {
        let realm = try Contract.realm()
        let owner = Owner()
        let (dogs, set, map) = (owner.dogs, owner.dogSet, owner.dogMap)
        dogs.append(Dog())
        try realm.write { realm.add(owner) }
        #expect(dogs === owner.dogs && set === owner.dogSet && map === owner.dogMap && dogs.realm == realm)
        try realm.write { owner.dogs = owner.dogs }
        #expect(owner.dogs.count == 1)
    }

    @Test("Defaults are computed for each object and then stay")
    func defaults() {
        let (left, right) = (Values(), Values())
        #expect(left.uuid != right.uuid && left.uuid == left.uuid && left.date == left.date)
        #expect(Dog()._id != Dog()._id && left.level == .low && left.optLevel == nil && left.any == .none)
        #expect(left.objectId == right.objectId && left.decimal == 0 && left.data.isEmpty)
    }

    @Test("Integers of all widths are read as Int by name, and as their own type by property")
    func widths() throws {
        let realm = try Contract.realm()
        let values = try realm.write {
            realm.create(Values.self, value: ["int8": 127, "int16": -5, "int32": NSNumber(value: 7), "int64": 8])
        }
        #expect(values.int8 == 127 && values.int16 == -5 && values.int32 == 7 && values.int64 == 8)
        #expect(values["int8"] as? Int == 127 && values["int32"] as? Int == 7)
        let dynamic = try #require(realm.dynamicObjects(Values.className()).first)
        #expect(dynamic["int16"] as? Int == -5 && dynamic["level"] as? Int == 1 && dynamic["nameEnum"] == nil)
        try realm.write { dynamic["optLevel"] = 10 }
        #expect(values.optLevel == nil && values["optLevel"] as? Int == 10)
    }

    @Test("NaN and infinities are stored, and NaN sorts below all numbers")
    func numbers() throws {
        let realm = try Contract.realm()
        try realm.write {
            for value in [1.5, .nan, -.infinity, .infinity, 0] { realm.create(Values.self, value: ["double": value]) }
        }
        let sorted = realm.objects(Values.self).sorted(by: \.double).map(\.double)
        #expect(Array(sorted).description == "[nan, -inf, 0.0, 1.5, inf]")
        #expect(realm.objects(Values.self).max(of: \.double) == .infinity)
        let sum: Double = realm.objects(Values.self).filter("double >= 0 AND double < 2").sum(of: \.double)
        #expect(sum == 1.5)
    }

    @Test("Sums of Int wrap on overflow")
    func wrapping() throws {
        let realm = try Contract.realm()
        try realm.write { for value in [Int.max, 1] { realm.create(Values.self, value: ["int": value]) } }
        #expect(realm.objects(Values.self).sum(of: \.int) == Int.min)
    }

    @Test(
        "Stored dates are equal to the original",
        arguments: [
            Date.distantPast, .distantFuture, Date(timeIntervalSince1970: 0), Date(timeIntervalSinceReferenceDate: 0.1),
            Date(timeIntervalSince1970: -1.25),
        ])
    func dates(_ date: Date) throws {
        let realm = try Contract.realm()
        let values = try realm.write { realm.create(Values.self, value: ["date": date, "optDate": date]) }
        #expect(
            values.date == date && values.optDate == date
                && realm.objects(Values.self).where { $0.date == date }.count == 1)
    }

    @Test("Deleting an object removes it from links, lists and sets; maps keep the key with nil")
    func deleting() throws {
        let realm = try Contract.realm()
        let owner = try realm.write {
            let owner = realm.create(Owner.self)
            let dog = realm.create(Dog.self)
            owner.dog = dog
            owner.dogs.append(objectsIn: [dog, dog])
            owner.dogSet.insert(dog)
            owner.dogMap["a"] = dog
            return owner
        }
        #expect(owner.dog?.owners.count == 2 && owner.dog?.keepers.count == 1)
        try realm.write { realm.delete(realm.objects(Dog.self)) }
        #expect(owner.dog == nil && owner.dogs.isEmpty && owner.dogSet.isEmpty)
        #expect(owner.dogMap.keys == ["a"] && owner.dogMap["a"] == .some(nil))
    }

    @Test("Assigning a new embedded object deletes the old one, and assigning the same one keeps it")
    func embedded() throws {
        let realm = try Contract.realm()
        let owner = try realm.write {
            realm.create(Owner.self, value: ["address": ["street": "a"], "addresses": [["city": "b"]]])
        }
        let address = try #require(owner.address)
        try realm.write { owner.address = address }
        #expect(!address.isInvalidated && address.residents.count == 1)
        try realm.write { owner.address = Contract.Address(value: ["street": "c"]) }
        #expect(address.isInvalidated && owner.address?.street == "c")
        let listed = owner.addresses[0]
        try realm.write { owner.addresses.removeAll() }
        #expect(listed.isInvalidated)
        try realm.write { realm.delete(owner) }
        #expect(realm.isEmpty)
    }

    @Test("An update notifies only of properties whose values differ, with both policies")
    func policies() throws {
        let stage = try Stage()
        let diary = Diary()
        try stage.write { $0.add(Watched(value: ["id": 1, "name": "a", "rank": 2])) }
        try stage.on { realm in
            let object = try #require(realm.objects(Watched.self).first)
            diary.tokens = [
                object.observe { change in
                    guard case .change(_, let properties) = change else { return }
                    diary.lines.append(properties.map(\.name).sorted().joined(separator: " "))
                }
            ]
        }
        stage.settle()
        let values: [String: any Sendable] = ["id": 1, "name": "a", "rank": 3]
        try stage.write { realm in realm.create(Watched.self, value: values, update: .modified) }
        #expect(diaryLines(stage, diary) == ["rank"])
        try stage.write { realm in realm.create(Watched.self, value: values, update: .modified) }
        #expect(diaryLines(stage, diary).isEmpty)
        try stage.write { realm in realm.create(Watched.self, value: values, update: .all) }
        #expect(diaryLines(stage, diary).isEmpty)
    }
}
