// SPDX-License-Identifier: Apache-2.0
// The messages of programmer errors of many kinds that programs look for.

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

@Suite("Messages of programmer errors")
struct MisuseMessageContractTests {
    @Test("Programmer errors have the messages that programs look for", arguments: misuses)
    func misuse(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}
