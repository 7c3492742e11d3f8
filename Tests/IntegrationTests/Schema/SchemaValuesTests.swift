// SPDX-License-Identifier: Apache-2.0
// The schema as values: the descriptions of classes and properties, and its text.

import Foundation
import RealmSwift
import Testing

private enum SchemaModels {
    class Ship: Object {
        @Persisted(primaryKey: true) var code: String
        @Persisted(indexed: true) var crew: Int?
        @Persisted var ports: List<Date>
        @Persisted var captain: Captain?
        @Persisted(originProperty: "ship") var captains: LinkingObjects<Captain>
        override class func _realmObjectName() -> String? { "Vessel" }
        override class func propertiesMapping() -> [String: String] { ["crew": "crew_count"] }
    }

    class Captain: Object {
        @Persisted var ship: Ship?
        override class func _realmObjectName() -> String? { "Captain" }
    }

    class Ignored: Object {
        @Persisted var x = 0
        override class func _realmIgnoreClass() -> Bool { true }
    }
}

@Suite("The schema as values")
struct SchemaValuesTests {
    @Test("The schema of a Realm describes its classes and properties")
    func values() throws {
        let realm = try memoryRealm(SchemaModels.Ship.self, SchemaModels.Captain.self)
        #expect(realm.schema.objectSchema.count == 2 && realm.schema["Nothing"] == nil)
        let other = try memoryRealm(SchemaModels.Ship.self, SchemaModels.Captain.self)
        #expect(realm.schema == other.schema)
        #expect(try realm.schema != memoryRealm(TransactionRow.self).schema)
        let ship = try #require(realm.schema["Vessel"])
        #expect(ship.className == "Vessel" && ship.objectClass == SchemaModels.Ship.self && !ship.isEmbedded)
        #expect(ship.properties.map(\.name) == ["code", "crew", "ports", "captain"] && !ship.isAsymmetric)
        #expect(ship.primaryKeyProperty?.name == "code" && ship["captains"]?.type == .linkingObjects)
        let crew = try #require(ship["crew"])
        #expect(crew.columnName == "crew_count" && crew.isIndexed && crew.isOptional && crew.type == .int)
        let ports = try #require(ship["ports"])
        #expect(ports.isArray && !ports.isSet && !ports.isMap && ports.type == .date && !ports.isOptional)
        #expect(ship["captain"]?.objectClassName == "Captain" && ship["captain"]?.isOptional == true)
        #expect(ship == SchemaModels.Ship().objectSchema && ship == SchemaModels.Ship.sharedSchema())
        #expect(ship != realm.schema["Captain"] && realm.schema == realm.schema)
    }

    @Test("Queries and key-value access use Swift names, dynamic objects without a class the names in the file")
    func names() throws {
        let realm = try memoryRealm(SchemaModels.Ship.self, SchemaModels.Captain.self)
        try realm.write { realm.create(SchemaModels.Ship.self, value: ["code": "A", "crew": 5]) }
        let ships = realm.objects(SchemaModels.Ship.self)
        #expect(ships.filter("crew == 5").count == 1 && ships.value(forKey: "crew") as? [Int] == [5])
        #expect(ships.sorted(byKeyPath: "crew").first?["crew"] as? Int == 5)
        #expect(realm.dynamicObjects("Vessel")[0].crew as? Int == 5)
    }

    @Test("The description lists every property in RealmSwift's format")
    func text() throws {
        let text = SchemaModels.Ship().objectSchema.description
        #expect(
            text == """
                Vessel {
                \tcode {
                \t\ttype = string;
                \t\tcolumnName = code;
                \t\tindexed = YES;
                \t\tisPrimary = YES;
                \t\tarray = NO;
                \t\tset = NO;
                \t\tdictionary = NO;
                \t\toptional = NO;
                \t}
                \tcrew {
                \t\ttype = int;
                \t\tcolumnName = crew_count;
                \t\tindexed = YES;
                \t\tisPrimary = NO;
                \t\tarray = NO;
                \t\tset = NO;
                \t\tdictionary = NO;
                \t\toptional = YES;
                \t}
                \tports {
                \t\ttype = date;
                \t\tcolumnName = ports;
                \t\tindexed = NO;
                \t\tisPrimary = NO;
                \t\tarray = YES;
                \t\tset = NO;
                \t\tdictionary = NO;
                \t\toptional = NO;
                \t}
                \tcaptain {
                \t\ttype = object;
                \t\tobjectClassName = Captain;
                \t\tlinkOriginPropertyName = (null);
                \t\tcolumnName = captain;
                \t\tindexed = NO;
                \t\tisPrimary = NO;
                \t\tarray = NO;
                \t\tset = NO;
                \t\tdictionary = NO;
                \t\toptional = YES;
                \t}
                \tcaptains {
                \t\ttype = linking objects;
                \t\tobjectClassName = Captain;
                \t\tlinkOriginPropertyName = ship;
                \t\tcolumnName = captains;
                \t\tindexed = NO;
                \t\tisPrimary = NO;
                \t\tarray = YES;
                \t\tset = NO;
                \t\tdictionary = NO;
                \t\toptional = NO;
                \t}
                }
                """)
        let realm = try memoryRealm(SchemaModels.Captain.self, SchemaModels.Ship.self)
        #expect(realm.schema.description.hasPrefix("Schema {\n\tCaptain {\n\t\tship {\n\t\t\ttype = object;\n"))
    }

    @Test("A class can exclude itself from the default schema")
    func ignoredClass() throws {
        let realm = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString))
        #expect(realm.schema["SchemaModels_Ignored"] == nil && realm.schema["Vessel"] != nil)
        #expect(realm.schema["DynamicObject"] == nil)
    }
}
