// SPDX-License-Identifier: Apache-2.0
// Custom types that are stored as embedded objects, read and changed by property name.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias Collections = Custom.Collections
private typealias Everything = Custom.Everything
private typealias Location = Custom.Location
private typealias Point = Custom.Point

@Suite("Custom types stored as embedded objects, by name")
struct CustomEmbeddedByNameTests {
    // A copy would lose changes silently.
    @Test("A managed object returns the embedded object itself, an unmanaged one a new object")
    func live() throws {
        let realm = try Custom.realm()
        let object = Everything(value: ["id": 1, "location": Location(1, 2)])
        let copy = try #require(object["location"] as? Point)
        copy.x = 9
        #expect(object.location == Location(1, 2) && copy.realm == nil)
        try realm.write {
            realm.add(object)
            object.optLocation = Location(3, 4)
        }
        let row = try #require(object["location"] as? Point)
        let optional = try #require(object.value(forKey: "optLocation") as? Point)
        #expect(row.realm == realm && row.isSameObject(as: object.value(forKeyPath: "location") as? Point))
        #expect(!row.isSameObject(as: optional))
        try realm.write {
            row.x = 5
            (object["optLocation"] as? Point)?.y = 6
            object.setValue(7, forKeyPath: "location.y")
        }
        #expect(object.location == Location(5, 7) && object.optLocation == Location(3, 6))
        #expect(object.value(forKeyPath: "location.x") as? Int == 5 && Custom.pointCount(realm) == 2)
        try realm.write {
            object.location = Location(8, 8)
            object["optLocation"] = nil
        }
        #expect(row.isInvalidated && optional.isInvalidated && object["optLocation"] == nil)
        let frozen = object.freeze()
        try realm.write { object.setValue(9, forKeyPath: "location.x") }
        #expect((frozen["location"] as? Point)?.x == 8 && (object["location"] as? Point)?.x == 9)
    }

    @Test("Descriptions, snapshots, copies and created objects show the current values")
    func readers() throws {
        let realm = try Custom.realm()
        let object = Everything(value: ["id": 1, "location": Location(31, 32)])
        try realm.write { realm.add(object) }
        #expect(object.description.contains("location = Custom_Point {"))
        #expect(object.description.contains("x = 31;") && object.description.contains("optLocation = (null);"))
        let (snapshot, detached) = (object.snapshot(), object.detached())
        let row = try #require(object["location"] as? Point)
        let made = try realm.write {
            realm.create(Everything.self, value: ["id": 2, "location": row] as [String: Any])
        }
        try realm.write { row.x = 5 }
        #expect(detached.location == Location(31, 32) && made.location == Location(31, 32))
        #expect(object.location == Location(5, 32) && Custom.pointCount(realm) == 2)
        guard case .object(let point)? = snapshot["location"] else {
            Issue.record("\(String(describing: snapshot["location"]))")
            return
        }
        #expect(point.className == "Custom_Point" && point["x"] == SnapshotValue.int(31))
        #expect(point["y"] == SnapshotValue.int(32))
    }

    @Test("Elements of lists and values of maps are changed by name")
    func collections() throws {
        let realm = try Custom.realm()
        let object = Collections()
        object.places.append(objectsIn: [Location(1, 9), Location(2, 8)])
        object.named["k"] = Location(3, 7)
        try realm.write { realm.add(object) }
        let value = try #require(object.named.value(forKey: "k") as? Point)
        try realm.write {
            value.x = 5
            object.setValue(6, forKeyPath: "named.k.y")
            object.places.setValue(4, forKey: "x")
            object.places.where { $0.persistableValue.y == 8 }.setValue(3, forKey: "y")
        }
        #expect(object.named["k"] == Location(5, 6) && object.named.value(forKeyPath: "k.x") as? Int == 5)
        #expect(Array(object.places) == [Location(4, 9), Location(4, 3)])
        #expect(object.value(forKeyPath: "places.y") as? [Int] == [9, 3])
        #expect(object.named.value(forKey: "none") == nil && Custom.pointCount(realm) == 3)
        try realm.write { object.named["k"] = Location(1, 1) }
        #expect(value.isInvalidated && object.named.value(forKeyPath: "k.x") as? Int == 1)
    }

    @Test("An observer gets the managed embedded object as the new value")
    func observed() throws {
        let stage = try Stage(
            Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: Custom.types))
        let diary = Diary()
        try stage.write { realm in _ = realm.create(Everything.self, value: ["id": 1]) }
        try stage.on { realm in
            let object = try #require(realm.objects(Everything.self).first)
            diary.tokens = [
                object.observe { change in
                    guard case .change(_, let properties) = change else { return }
                    let points = properties.compactMap { $0.newValue as? Point }
                    diary.lines += points.map { ($0.realm == nil ? "copy " : "row ") + "\($0.x)" }
                }
            ]
        }
        try stage.write { realm in
            let object = realm.objects(Everything.self).first
            object?.location = Location(3, 4)
        }
        #expect(diary.take() == ["row 3"])
    }

    // The description must not end the program.
    @Test("An embedded object that converts to no custom value is still readable by name")
    func refused() throws {
        let realm = try Custom.realm()
        let object = Custom.Measured()
        try realm.write {
            realm.add(object)
            object.optLength = Custom.Span(2)
            (object["optLength"] as? Point)?.x = -1
            (object["length"] as? Point)?.x = -2
        }
        #expect(object.optLength == nil && (object["optLength"] as? Point)?.x == -1)
        #expect((object["length"] as? Point)?.x == -2 && object.description.contains("x = -2;"))
    }

    // A link may always be nil, although the property is not optional.
    @Test("Setting nil deletes the embedded object, and the property then returns the default of its type")
    func clearing() throws {
        let realm = try Custom.realm()
        let object = Everything(value: ["id": 1, "location": Location(1, 2)])
        object["location"] = nil
        #expect(object.location == Location(7, 8) && (object["location"] as? Point)?.y == 8)
        let made = Everything(value: ["id": 2, "location": NSNull()] as [String: Any])
        #expect(made.location == Location(7, 8))
        object.location = Location(1, 2)
        try realm.write { realm.add(object) }
        let row = try #require(object["location"] as? Point)
        try realm.write { object["location"] = nil }
        #expect(row.isInvalidated && object.location == Location(7, 8) && Custom.pointCount(realm) == 0)
        #expect(realm.objects(Everything.self).filter("location == nil").count == 1)
        try realm.write {
            object.location = Location(3, 4)
            object.setValue(nil, forKey: "location")
        }
        #expect(object.location == Location(7, 8) && Custom.pointCount(realm) == 0)
        try realm.write {
            object.location = Location(5, 5)
            realm.create(
                Everything.self, value: ["id": 1, "location": NSNull()] as [String: Any], update: .modified)
            realm.create(Everything.self, value: ["id": 2, "location": NSNull()] as [String: Any])
        }
        #expect(realm.objects(Everything.self).map(\.location) == [Location(7, 8), Location(7, 8)])
        #expect(Custom.pointCount(realm) == 0)
    }

    @Test("Setting nil or a value of the embedded object outside a write is refused", arguments: [true, false])
    func outsideWrite(isNil: Bool) throws {
        let words = try misuseText {
            let realm = try Custom.realm()
            let object = Everything(value: ["id": 1, "location": Location(1, 2)])
            try realm.write { realm.add(object) }
            if isNil { object["location"] = nil } else { object.setValue(1, forKeyPath: "location.x") }
        }
        #expect(words?.contains("Cannot modify managed objects outside of a write transaction") == true)
    }
}
