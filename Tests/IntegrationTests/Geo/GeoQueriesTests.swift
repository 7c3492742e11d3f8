// SPDX-License-Identifier: Apache-2.0
// Points in areas: boxes, circles on the sphere and polygons with holes, as predicates and type-safe.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum GeoModels {
    class Location: EmbeddedObject {
        @Persisted var type = "Point"
        @Persisted var coordinates: List<Double>

        convenience init(_ latitude: Double, _ longitude: Double) {
            self.init()
            coordinates.append(objectsIn: [longitude, latitude])
        }
    }
    class Place: Object {
        @Persisted(primaryKey: true) var name = ""
        @Persisted var location: Location?
        @Persisted var stops: List<Location>
        @Persisted var near: Place?
    }
    class Wrong: EmbeddedObject {
        @Persisted var type = 1
        @Persisted var coordinates: List<Double>
    }
    class WrongPlace: Object {
        @Persisted var location: Wrong?
        @Persisted var other: Place?
    }
}

private typealias Place = GeoModels.Place
private typealias Location = GeoModels.Location

@Suite("Geographic queries")
struct GeoQueriesTests {
    private static let cities: [(String, Double, Double)] = [
        ("Oslo", 59.91, 10.75), ("Rome", 41.9, 12.48), ("Suva", -18.14, 178.44), ("Apia", -13.83, -171.77),
        ("Quito", -0.18, -78.47), ("Alert", 82.5, -62.35), ("Sydney", -33.87, 151.21),
    ]

    private func places() throws -> Realm {
        let realm = try memoryRealm(Place.self, Location.self)
        try realm.write {
            for (name, latitude, longitude) in Self.cities {
                let place = Place()
                place.name = name
                place.location = Location(latitude, longitude)
                realm.add(place)
            }
            realm.create(Place.self, value: ["name": "nowhere"])
            for (name, type, coordinates) in [
                ("line", "LineString", [10.75, 59.91]), ("short", "Point", [10.75]), ("off", "Point", [10.75, 91]),
                ("high", "Point", [10.75, 59.91, 300.0]),
            ] {
                let place = realm.create(Place.self, value: ["name": name])
                place.location = Location(value: ["type": type, "coordinates": coordinates])
            }
        }
        return realm
    }

    /// The result as a predicate and type-safe; also checks the negated query.
    private func found(
        _ realm: Realm, _ condition: (Query<GeoModels.Place>) -> Query<Bool>, _ shape: Any,
        _ location: SourceLocation = #_sourceLocation
    ) -> Set<String> {
        let all = realm.objects(Place.self)
        let names = Set(all.where(condition).map(\.name))
        #expect(Set(all.filter("location IN %@", shape).map(\.name)) == names, sourceLocation: location)
        let others = Set(all.where { !condition($0) }.map(\.name))
        #expect(others.isDisjoint(with: names) && others.count + names.count == all.count, sourceLocation: location)
        return names
    }

    private func circle(_ center: (Double, Double), _ radius: Distance?) throws -> GeoCircle {
        let radius = try #require(radius)
        return try #require(GeoCircle(center: center, radius: radius))
    }

    @Test("Boxes lie between parallels and meridians, even across the date line")
    func boxes() throws {
        let realm = try places()
        let europe = try #require(GeoBox(bottomLeft: (35, -10), topRight: (70, 40)))
        #expect(found(realm, { $0.location.geoWithin(europe) }, europe) == ["Oslo", "Rome", "high"])
        let pacific = try #require(GeoBox(bottomLeft: (-20, 170), topRight: (-10, -170)))
        #expect(found(realm, { $0.location.geoWithin(pacific) }, pacific) == ["Suva", "Apia"])
        let point = try #require(GeoBox(bottomLeft: (41.9, 12.48), topRight: (41.9, 12.48)))
        #expect(found(realm, { $0.location.geoWithin(point) }, point) == ["Rome"])
    }

    @Test("Circles use the distance on the sphere")
    func circles() throws {
        let realm = try places()
        // Oslo and Rome are 2,008 km apart by the haversine formula on a sphere with a radius of 6,378.1 km.
        let oslo = (59.91, 10.75)
        let less = try circle(oslo, .kilometers(2000))
        #expect(found(realm, { $0.location.geoWithin(less) }, less) == ["Oslo", "high"])
        let more = try circle(oslo, .kilometers(2020))
        #expect(found(realm, { $0.location.geoWithin(more) }, more) == ["Oslo", "high", "Rome"])
        let nothing = try #require(GeoCircle(center: oslo, radiusInRadians: 0))
        #expect(found(realm, { $0.location.geoWithin(nothing) }, nothing) == ["Oslo", "high"])
        let pole = try circle((90, 0), .degrees(10))
        #expect(found(realm, { $0.location.geoWithin(pole) }, pole) == ["Alert"])
        let dateLine = try circle((-16, 180), .degrees(10))
        #expect(found(realm, { $0.location.geoWithin(dateLine) }, dateLine) == ["Suva", "Apia"])
        let earth = try #require(GeoCircle(center: oslo, radiusInRadians: 4))
        #expect(found(realm, { $0.location.geoWithin(earth) }, earth).count == 8)
    }

    @Test("A polygon is the smaller side of its ring without its holes, in either direction of the ring")
    func polygons() throws {
        let realm = try places()
        let ring = [(35.0, -10.0), (35.0, 40.0), (70.0, 40.0), (70.0, -10.0), (35.0, -10.0)]
        let hole = [(41.0, 12.0), (41.0, 13.0), (43.0, 12.5), (41.0, 12.0)]
        for outer in [ring, ring.reversed()] {
            let whole = try #require(GeoPolygon(outerRing: outer))
            #expect(found(realm, { $0.location.geoWithin(whole) }, whole) == ["Oslo", "Rome", "high"])
            let holed = try #require(GeoPolygon(outerRing: outer, holes: [hole]))
            #expect(found(realm, { $0.location.geoWithin(holed) }, holed) == ["Oslo", "high"])
        }
        let pacific = try #require(
            GeoPolygon(outerRing: [(-25, 170), (-25, -165), (-5, -165), (-5, 170), (-25, 170)]))
        #expect(found(realm, { $0.location.geoWithin(pacific) }, pacific) == ["Suva", "Apia"])
        let pole = try #require(GeoPolygon(outerRing: [(70, 0), (70, 120), (70, -120), (70, 0)]))
        #expect(found(realm, { $0.location.geoWithin(pole) }, pole) == ["Alert"])
    }

    @Test("Edges are great circles: between two points of a parallel they bend towards the pole")
    func greatCircles() throws {
        let realm = try memoryRealm(Place.self, Location.self)
        // The middle of the great-circle arc from 60 N 0 E to 60 N 90 E is at 67.8 N.
        try realm.write {
            for latitude in [59.0, 63, 67.7, 67.9] {
                let place = realm.create(Place.self, value: ["name": "\(latitude)"])
                place.location = Location(latitude, 45)
            }
        }
        let shape = try #require(GeoPolygon(outerRing: [(60, 0), (10, 45), (60, 90), (60, 0)]))
        #expect(found(realm, { $0.location.geoWithin(shape) }, shape) == ["59.0", "63.0", "67.7"])
    }

    @Test("Random polygons contain the same points as by the winding number")
    func randomPolygons() throws {
        let realm = try memoryRealm(Place.self, Location.self)
        var random = SystemRandomNumberGenerator()
        var points: [(Double, Double)] = []
        try realm.write {
            for number in 0..<400 {
                let point = (Double.random(in: -80...80, using: &random), Double.random(in: -180...180, using: &random))
                points.append(point)
                let place = realm.create(Place.self, value: ["name": "\(number)"])
                place.location = Location(point.0, point.1)
            }
        }
        for _ in 0..<20 {
            // A star around a centre: its edges do not cross.
            let center = (Double.random(in: -40...40, using: &random), Double.random(in: -130...130, using: &random))
            var ring = (0..<9).map { corner -> (Double, Double) in
                let radius = Double.random(in: 5...40, using: &random)
                let angle = Double(corner) / 9 * 2 * .pi
                return (center.0 + radius * sin(angle), center.1 + radius * cos(angle))
            }
            ring.append(ring[0])
            let shape = try #require(GeoPolygon(outerRing: ring))
            let wanted = points.indices.filter { Winding.contains(ring, points[$0]) }
            #expect(found(realm, { $0.location.geoWithin(shape) }, shape) == Set(wanted.map { "\($0)" }))
        }
    }

    @Test("Areas can be queried through lists of embedded objects and through links")
    func paths() throws {
        let realm = try places()
        let europe = try #require(GeoBox(bottomLeft: (35, -10), topRight: (70, 40)))
        try realm.write {
            let all = realm.objects(Place.self)
            for place in all { place.near = all.first { $0.name == "Rome" } }
            all.first { $0.name == "Suva" }?.stops.append(objectsIn: [Location(0, 0), Location(50, 5)])
            all.first { $0.name == "Rome" }?.stops.append(Location(0, 0))
        }
        let all = realm.objects(Place.self)
        #expect(all.filter("ANY stops IN %@", europe).map(\.name) == ["Suva"])
        #expect(all.filter("near.location IN %@", europe).count == all.count)
        #expect(all.where { $0.near.location.geoWithin(europe) && $0.name == "Suva" }.count == 1)
        #expect(all.where { $0.near.location.geoWithin(europe) }._constructedText == "(near.location IN %@)")
    }

    @Test(
        "Invalid areas, and properties that are not locations, are refused",
        arguments: [
            MisuseCase(
                "Query 'location GEOWITHIN GeoCircle([0, 0, 0], 10)' links to data in the wrong format for a "
                    + "geoWithin query"
            ) {
                let circle = try #require(GeoCircle(center: (0, 0), radiusInRadians: 10))
                _ = try memoryRealm(GeoModels.WrongPlace.self, GeoModels.Wrong.self, Place.self, Location.self)
                    .objects(GeoModels.WrongPlace.self).filter("location IN %@", circle)
            },
            MisuseCase("A GEOWITHIN query can only operate on a link to an embedded class.") {
                let circle = try #require(GeoCircle(center: (0, 0), radiusInRadians: 10))
                _ = try memoryRealm(GeoModels.WrongPlace.self, GeoModels.Wrong.self, Place.self, Location.self)
                    .objects(GeoModels.WrongPlace.self).filter("other IN %@", circle)
            },
            MisuseCase("A GEOWITHIN query can only operate on a link to an embedded class.") {
                let box = try #require(GeoBox(bottomLeft: (0, 0), topRight: (1, 1)))
                _ = try memoryRealm(Place.self, Location.self).objects(Place.self).filter("name IN %@", box)
            },
            GeoQueriesTests.flaw([(0, 0), (10, 10), (0, 10), (10, 0), (0, 0)], [], "Edges 0 and 2 cross"),
            GeoQueriesTests.flaw(
                [(0, 0), (0, 0), (0, 10), (0, 0)], [], "Ring 0 must have at least 3 different vertices"),
            GeoQueriesTests.flaw([(0, 0), (0, 10), (10, 10), (0, 10), (0, 0)], [], "Duplicate vertices: 1 and 3"),
            GeoQueriesTests.flaw(
                [(0, 0), (0, 10), (10, 10), (0, 0)], [[(50, 50), (50, 51), (51, 51), (50, 50)]],
                "Secondary ring 1 not contained by first exterior ring"),
            GeoQueriesTests.flaw(
                [(0, 0), (0, 10), (10, 10), (10, 0), (0, 0)], [[(0, 0), (0, 10), (5, 5), (0, 0)]], "Duplicate edge"),
            // A hole around its ring, one beside the ring, and one that crosses a corner of the ring.
            GeoQueriesTests.flaw(
                [(0, 0), (0, 10), (10, 10), (0, 0)], [[(-5, -5), (-5, 20), (20, 20), (20, -5), (-5, -5)]],
                "Secondary ring 1 not contained by first exterior ring"),
            GeoQueriesTests.flaw(
                [(0, 0), (0, 10), (10, 10), (10, 0), (0, 0)], [[(2, 12), (2, 14), (4, 14), (2, 12)]],
                "Secondary ring 1 not contained by first exterior ring"),
            GeoQueriesTests.flaw(
                [(0, 0), (0, 10), (10, 10), (10, 0), (0, 0)], [[(5, 5), (0, 0), (-5, 2), (5, 5)]],
                "Secondary ring 1 not contained by first exterior ring"),
            // Corners on the ring, and edges in its notch.
            GeoQueriesTests.flaw(
                [(0, 0), (5, 5), (0, 10), (10, 10), (10, 0), (0, 0)], [[(0, 0), (4, 5), (0, 10), (0, 0)]],
                "Secondary ring 1 not contained by first exterior ring"),
            // A hole inside a hole, in either order, and the same hole twice.
            GeoQueriesTests.flaw(
                [(0, 0), (0, 10), (10, 10), (10, 0), (0, 0)],
                [[(1, 1), (1, 9), (9, 9), (9, 1), (1, 1)], [(3, 3), (3, 5), (5, 5), (3, 3)]],
                "The rings 1 and 2 are nested"),
            GeoQueriesTests.flaw(
                [(0, 0), (0, 10), (10, 10), (10, 0), (0, 0)],
                [[(3, 3), (3, 5), (5, 5), (3, 3)], [(1, 1), (1, 9), (9, 9), (9, 1), (1, 1)]],
                "The rings 1 and 2 are nested"),
            GeoQueriesTests.flaw(
                [(0, 0), (0, 10), (10, 10), (10, 0), (0, 0)],
                [[(3, 3), (3, 5), (5, 5), (3, 3)], [(3, 3), (3, 5), (5, 5), (3, 3)]], "Duplicate edge"),
        ])
    func misuse(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words))
    }

    private static func flaw(
        _ ring: [(Double, Double)], _ holes: [[(Double, Double)]], _ words: String
    ) -> MisuseCase {
        let shape = GeoPolygon(outerRing: ring, holes: holes)
        return MisuseCase(words) {
            let shape = try #require(shape)
            let text = try misuseText {
                _ = try memoryRealm(Place.self, Location.self).objects(Place.self)
                    .where { $0.location.geoWithin(shape) }
            }
            #expect(text?.hasPrefix("Invalid region in GEOWITHIN query for parameter 'GeoPolygon({[") == true)
            _ = try memoryRealm(Place.self, Location.self).objects(Place.self).filter("location IN %@", shape)
        }
    }
}

extension Results where Element == GeoModels.Place {
    /// The predicate text of `where`.
    fileprivate var _constructedText: String {
        let query = Query<GeoModels.Place>._constructForTesting()
        guard let box = GeoBox(bottomLeft: (0, 0), topRight: (1, 1)) else { return "" }
        return query.near.location.geoWithin(box)._constructPredicate().0
    }
}

/// The reference implementation: the angles of the edges as seen from a point add up to a full turn if the ring
/// surrounds the point.
private enum Winding {
    static func contains(_ ring: [(Double, Double)], _ point: (Double, Double)) -> Bool {
        var sum = 0.0
        for (from, to) in zip(ring, ring.dropFirst()) {
            var step = bearing(point, to) - bearing(point, from)
            while step > .pi { step -= 2 * .pi }
            while step < -.pi { step += 2 * .pi }
            sum += step
        }
        // The antipode of a point also sees the ring turn, in the opposite direction.
        guard abs(sum) > .pi else { return false }
        let middle = ring.dropLast().reduce((0.0, 0.0)) { ($0.0 + $1.0 / 9, $0.1 + $1.1 / 9) }
        return distance(point, middle) < .pi / 2
    }

    private static func radians(_ point: (Double, Double)) -> (Double, Double) {
        (point.0 * .pi / 180, point.1 * .pi / 180)
    }

    private static func bearing(_ from: (Double, Double), _ to: (Double, Double)) -> Double {
        let (a, b) = (radians(from), radians(to))
        return atan2(
            sin(b.1 - a.1) * cos(b.0), cos(a.0) * sin(b.0) - sin(a.0) * cos(b.0) * cos(b.1 - a.1))
    }

    private static func distance(_ from: (Double, Double), _ to: (Double, Double)) -> Double {
        let (a, b) = (radians(from), radians(to))
        return acos(sin(a.0) * sin(b.0) + cos(a.0) * cos(b.0) * cos(b.1 - a.1))
    }
}
