// SPDX-License-Identifier: Apache-2.0
// RealmSwift's contract for migrations, with RealmSwift's messages: which differences exist and how they are listed,
// what old and new objects can do, and which programmer errors end the program.

import Foundation
import RealmSwift
import RegnumEngine
import RegnumSystem
import RegnumTestKit
import Testing

private enum Old {
    class Home: MigrationCase {
        @Persisted(primaryKey: true) var code = ""
        @Persisted var gone: Data?
        @Persisted var any: AnyRealmValue
        @Persisted var owner: Man?
        @Persisted var rooms: List<Room>
        @Persisted var marks: MutableSet<Int>
        @Persisted var notes: Map<String, String>
        @Persisted var guests: Map<String, Man?>
        @Persisted var size: Float
        @Persisted var id: ObjectId
        @Persisted var opt: String?
        @Persisted var req = 0
        override class func _realmObjectName() -> String? { "CHome" }
    }
    class Man: MigrationCase {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "CMan" }
    }
    class Room: MigrationCase {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "CRoom" }
    }
    static let types: [ObjectBase.Type] = [Home.self, Man.self, Room.self]
}

private enum New {
    class Home: MigrationCase {
        @Persisted var code = ""
        @Persisted(primaryKey: true) var added: UUID
        @Persisted var any = ""
        @Persisted var owner: Room?
        @Persisted var rooms: List<Man>
        @Persisted var marks: MutableSet<Decimal128>
        @Persisted var notes: List<String>
        @Persisted var guests: Map<String, Room?>
        @Persisted var size: Double
        @Persisted var id: AnyRealmValue
        @Persisted var opt = ""
        @Persisted var req: Int?
        override class func _realmObjectName() -> String? { "CHome" }
    }
    class Man: MigrationCase {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "CMan" }
    }
    class Room: MigrationPart {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "CRoom" }
    }
    static let types: [ObjectBase.Type] = [Man.self, Room.self, Home.self]
}

@Suite("Migrations: RealmSwift contract")
struct MigrationContractTests {
    let folder = TestFolder()

    private func configuration(
        _ types: [ObjectBase.Type], _ version: UInt64 = 1, _ block: MigrationBlock? = nil
    ) -> Realm.Configuration {
        .init(fileURL: folder.file(), schemaVersion: version, migrationBlock: block, objectTypes: types)
    }

    private func makeOld() throws {
        let realm = try Realm(configuration: configuration(Old.types, 0))
        try realm.write {
            let man = realm.create(Old.Man.self, value: ["name": "Max"])
            let room = realm.create(Old.Room.self, value: ["name": "kitchen"])
            let home = realm.create(
                Old.Home.self,
                value: [
                    "code": "a", "owner": man, "rooms": [room], "marks": [1, 2], "size": 1.5, "opt": "x", "req": 7,
                ])
            home.any = .int(5)
            home.notes["k"] = "v"
            home.guests["g"] = man
        }
    }

    @Test("Differences are listed by class: removed and changed properties, added ones, the key, the kind of class")
    func list() throws {
        try makeOld()
        let error = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration(New.types, 0)) }
        #expect(error?.code == .schemaMismatch)
        let words = (error?.localizedDescription ?? "").components(separatedBy: "\nRaise `schemaVersion`")[0]
        #expect(
            words == """
                Migration is required due to the following errors:
                - Property 'CHome.gone' has been removed.
                - Property 'CHome.any' has been changed from 'mixed' to 'string'.
                - Property 'CHome.owner' has been changed from '<CMan>' to '<CRoom>'.
                - Property 'CHome.rooms' has been changed from 'array<CRoom>' to 'array<CMan>'.
                - Property 'CHome.marks' has been changed from 'set<int>' to 'set<decimal128>'.
                - Property 'CHome.notes' has been changed from 'dictionary<string, string>' to 'array<string>'.
                - Property 'CHome.guests' has been changed from 'dictionary<string, CMan>' to 'dictionary<string, CRoom>'.
                - Property 'CHome.size' has been changed from 'float' to 'double'.
                - Property 'CHome.id' has been changed from 'object id' to 'mixed'.
                - Property 'CHome.opt' has been made required.
                - Property 'CHome.req' has been made optional.
                - Property 'CHome.added' has been added.
                - Primary Key for class 'CHome' has changed from 'code' to 'added'.
                - Class 'CRoom' has been changed from TopLevel to Embedded.
                """)
    }

    @Test("Old objects show every kind of value, and the block can convert each")
    func convert() throws {
        try makeOld()
        do {
            let realm = try Realm(
                configuration: configuration(New.types) { migration, _ in
                    migration.enumerateObjects(ofType: "CHome") { old, new in
                        guard let old, let new else { return }
                        #expect((old["any"] as? AnyRealmValue)?.intValue == 5 || old["any"] as? Int == 5)
                        #expect((old["owner"] as? MigrationObject)?["name"] as? String == "Max")
                        #expect(old.dynamicList("rooms").map { $0["name"] as? String } == ["kitchen"])
                        #expect((old["marks"] as? MutableSet<Int>)?.count == 2)
                        #expect((old["notes"] as? Map<String, String>)?["k"] == "v")
                        #expect(old.dynamicMap("guests")["g"]??["name"] as? String == "Max")
                        #expect(old["size"] as? Float == 1.5 && old["opt"] as? String == "x")
                        new["added"] = UUID()
                        new["any"] = "five"
                        new["owner"] = ["name": "hall"]
                        for guest in old.dynamicMap("guests").values.compactMap({ $0 }) {
                            new.dynamicList("rooms").append(
                                migration.create("CMan", value: ["name": "\(guest["name"] as? String ?? "?") 2"]))
                        }
                        new["marks"] = [Decimal128(value: 1), Decimal128(value: 2)]
                        new["notes"] = ["v"]
                        new["size"] = Double(old["size"] as? Float ?? 0)
                        new["id"] = AnyRealmValue.string("\(old["id"] as? ObjectId ?? .generate())")
                    }
                })
            let home = try #require(realm.objects(New.Home.self).first)
            #expect(home.any == "five" && home.owner?.name == "hall" && home.rooms.map(\.name) == ["Max 2"])
            #expect(home.marks.count == 2 && Array(home.notes) == ["v"] && home.size == 1.5 && home.req == 7)
            #expect(home.id.stringValue?.count == 24 && home.opt == "x" && home.code == "a")
            #expect(realm.dynamicObjects("CRoom").count == 1, "the kitchen has no owner, so it must be deleted")
        }
        expectIntegrity(of: folder.file())
    }

    @Test("Without a block, all differences with an automatic conversion are migrated")
    func automatically() throws {
        try makeOld()
        do {
            let realm = try Realm(configuration: configuration(New.types))
            let home = try #require(realm.objects(New.Home.self).first)
            #expect(home.any == "" && home.owner == nil && home.rooms.isEmpty && home.guests.isEmpty)
            #expect(home.size == 0 && home.code == "a" && home.opt == "x" && home.req == 7)
            #expect(realm.objects(New.Man.self).count == 1 && realm.dynamicObjects("CRoom").isEmpty)
        }
        expectIntegrity(of: folder.file())
    }

    @Test("A block may link, create and delete objects of other classes")
    func acrossClasses() throws {
        try makeOld()
        do {
            let realm = try Realm(
                configuration: configuration(Old.types) { migration, old in
                    #expect(old == 0)
                    let eve = migration.create("CMan", value: ["name": "Eve"])
                    migration.enumerateObjects(ofType: "CHome") { _, new in
                        new?["owner"] = eve
                        new?.dynamicMap("guests")["e"] = eve
                        (new?["rooms"] as? List<DynamicObject>)?.append(migration.create("CRoom", value: ["hall"]))
                    }
                    migration.enumerateObjects(ofType: "CMan") { old, new in
                        #expect(old?["name"] as? String == "Max", "objects that the block creates must not be visited")
                        if let new { migration.delete(new) }
                    }
                    migration.create("CHome", value: ["code": "b", "rooms": [["name": "attic"]]])
                })
            let homes = realm.objects(Old.Home.self)
            #expect(homes[0].owner?.name == "Eve" && homes[0].rooms.map(\.name) == ["kitchen", "hall"])
            #expect(homes[0].guests["g"] == .some(nil) || homes[0].guests["g"] == nil)
            #expect(homes[0].guests["e"]??.name == "Eve")
            #expect(homes[1].rooms.first?.name == "attic" && realm.objects(Old.Man.self).count == 1)
        }
        expectIntegrity(of: folder.file())
    }

    static let mistakes: [MisuseCase] = [
        MisuseCase("Object type 'Nothing' is not managed by the Realm.") {
            try inMigration { migration, _, _ in migration.create("Nothing") }
        },
        MisuseCase("Can only delete an object from the Realm it belongs to.") {
            try inMigration { migration, old, _ in migration.delete(old) }
        },
        MisuseCase("Invalid property name 'nothing' for class 'CMan'.") {
            try inMigration { _, old, _ in _ = old["nothing"] }
        },
        MisuseCase("Invalid property name 'nothing' for class 'CMan'.") {
            try inMigration { _, _, new in new["nothing"] = 1 }
        },
        MisuseCase("Attempting to modify") { try inMigration { _, old, _ in old["name"] = "new" } },
        MisuseCase("Invalid value '1' of type 'Int' for 'string' property 'CMan.name'.") {
            try inMigration { _, _, new in new["name"] = 1 }
        },
        MisuseCase("Object has been deleted or invalidated.") {
            try inMigration { migration, _, new in
                migration.delete(new)
                migration.delete(new)
            }
        },
    ]

    static func inMigration(_ body: @escaping @Sendable (Migration, MigrationObject, MigrationObject) -> Void) throws {
        let folder = TestFolder()
        try {
            let realm = try Realm(configuration: .init(fileURL: folder.file(), objectTypes: [Old.Man.self]))
            try realm.write { realm.create(Old.Man.self, value: ["name": "Max"]) }
        }()
        _ = try Realm(
            configuration: .init(
                fileURL: folder.file(), schemaVersion: 1,
                migrationBlock: { migration, _ in
                    migration.enumerateObjects(ofType: "CMan") { old, new in
                        if let old, let new { body(migration, old, new) }
                    }
                }, objectTypes: [Old.Man.self]))
    }

    @Test("Programmer errors in a block end the program with a message that names them", arguments: mistakes)
    func misuse(_ mistake: MisuseCase) throws {
        let message = try mistake.message()
        #expect(message.contains(mistake.words), "\(message)")
    }

    @Test("An open Realm cannot be migrated")
    func openAlready() throws {
        let configuration = Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: Old.types)
        let words = try misuseText {
            let realm = try Realm(configuration: configuration)
            try withExtendedLifetime(realm) { try Realm.performMigration(for: configuration) }
        }
        #expect(words?.hasPrefix("Cannot migrate Realms that are already open.") == true, "\(words ?? "none")")
        try makeOld()
        try Realm.performMigration(for: self.configuration(Old.types, 4))
        #expect(try schemaVersionAtURL(folder.file()) == 4)
    }

    @Test("A Realm of a queue is migrated on the queue")
    func onQueue() throws {
        try makeOld()
        let configuration = configuration(Old.types, 1) { migration, _ in
            migration.enumerateObjects(ofType: "CMan") { old, new in new?["name"] = "\(old?["name"] ?? "") on a queue" }
        }
        let queue = DispatchQueue(label: "migration")
        let name = try queue.sync {
            try Realm(configuration: configuration, queue: queue).objects(Old.Man.self)[0].name
        }
        #expect(name == "Max on a queue")
    }

    @Test("A file without classes has no schema version, and a file of another format is refused")
    func noVersion() throws {
        let new = folder.file("new.realm")
        _ = try Database.open(path: new.path, fileSystem: PosixFileSystem.shared)
        let unversioned = #expect(throws: Realm.Error.self) { try schemaVersionAtURL(new) }
        #expect(unversioned?.code == .invalidDatabase && unversioned?.reason == .neverVersioned)
        #expect(
            unversioned?.localizedDescription.hasPrefix("Realm at path '\(new.path)' has not been initialized.") == true
        )
        let empty = folder.file("empty.realm")
        try Data().write(to: empty)
        #expect(throws: Realm.Error.self) { try schemaVersionAtURL(empty) }
        let garbage = folder.file("garbage.realm")
        try Data(repeating: 7, count: 70_000).write(to: garbage)
        let error = #expect(throws: Realm.Error.self) { try schemaVersionAtURL(garbage) }
        #expect(error?.code == .invalidDatabase)
        #expect(error?.localizedDescription.contains("header has invalid mnemonic") == true)
    }

    @Test("A renamed primary key, indexed property and property of an embedded object keep their values")
    func renameKinds() throws {
        class Part: MigrationPart {
            @Persisted var old = ""
            override class func _realmObjectName() -> String? { "CPart" }
        }
        class Whole: MigrationCase {
            @Persisted(primaryKey: true) var key = ""
            @Persisted(indexed: true) var number = 0
            @Persisted var part: Part?
            @Persisted var parts: List<Part>
            override class func _realmObjectName() -> String? { "CWhole" }
        }
        class Part2: MigrationPart {
            @Persisted var new = ""
            override class func _realmObjectName() -> String? { "CPart" }
        }
        class Whole2: MigrationCase {
            @Persisted(primaryKey: true) var code = ""
            @Persisted(indexed: true) var count: Int?
            @Persisted var piece: Part2?
            @Persisted var pieces: List<Part2>
            override class func _realmObjectName() -> String? { "CWhole" }
        }
        try {
            let realm = try Realm(configuration: configuration([Whole.self, Part.self], 0))
            try realm.write {
                realm.create(
                    Whole.self, value: ["key": "k", "number": 4, "part": ["old": "p"], "parts": [["old": "q"]]])
            }
        }()
        do {
            let realm = try Realm(
                configuration: configuration([Whole2.self, Part2.self]) { migration, _ in
                    migration.renameProperty(onType: "CPart", from: "old", to: "new")
                    for (old, new) in [("key", "code"), ("number", "count"), ("part", "piece"), ("parts", "pieces")] {
                        migration.renameProperty(onType: "CWhole", from: old, to: new)
                    }
                })
            let whole = try #require(realm.object(ofType: Whole2.self, forPrimaryKey: "k"))
            #expect(whole.count == 4 && whole.piece?.new == "p" && whole.pieces.first?.new == "q")
            #expect(realm.objects(Whole2.self).filter("count == 4").count == 1)
        }
        expectIntegrity(of: folder.file())
    }
}
