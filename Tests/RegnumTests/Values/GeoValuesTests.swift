// SPDX-License-Identifier: Apache-2.0
// Geographic values: accepted and refused ones.

import Testing

@testable import Regnum

struct GeoValuesTests {
    @Test(arguments: [
        (90.0, 180.0, 0.0, true), (-90, -180, 1, true), (0, 0, 0, true), (90.1, 0, 0, false), (0, -180.1, 0, false),
        (0, 0, -0.1, false), (.nan, 0, 0, false), (0, .nan, 0, false), (0, 0, .nan, false),
    ])
    func `a point lies on the earth`(_ latitude: Double, _ longitude: Double, _ altitude: Double, _ isOne: Bool) {
        #expect((GeoPoint(latitude: latitude, longitude: longitude, altitude: altitude) != nil) == isOne)
    }

    @Test func `a box has two corners`() throws {
        let box = try #require(GeoBox(bottomLeft: (1, 2), topRight: (3, 4)))
        #expect(box.bottomLeft == GeoPoint(latitude: 1, longitude: 2) && box.topRight.longitude == 4)
        #expect(GeoBox(bottomLeft: (91, 2), topRight: (3, 4)) == nil)
    }

    @Test func `a polygon's rings are closed and have four points`() {
        let ring = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0)]
        #expect(GeoPolygon(outerRing: ring) != nil)
        #expect(
            GeoPolygon(outerRing: ring)
                == GeoPolygon(outerRing: ring.compactMap { GeoPoint(latitude: $0.0, longitude: $0.1) }))
        #expect(GeoPolygon(outerRing: ring, holes: [ring])?.holes.count == 1)
        #expect(GeoPolygon(outerRing: Array(ring.dropLast())) == nil)
        #expect(GeoPolygon(outerRing: [(0, 0), (0, 1), (1, 1), (2, 2)]) == nil)
        #expect(GeoPolygon(outerRing: ring, holes: [[(0, 0), (0, 1), (0, 0)]]) == nil)
        #expect(GeoPolygon(outerRing: [(0, 0), (0, 200), (1, 1), (0, 0)]) == nil)
    }

    @Test func `distances convert and are not negative`() throws {
        let distance = try #require(Distance.kilometers(6378.1))
        #expect(abs(distance.radians - 1) < 1e-12 && abs(distance.asDegrees() - 57.29577951308232) < 1e-9)
        #expect(abs(distance.asKilometers() - 6378.1) < 1e-9)
        #expect(abs(try #require(Distance.miles(1)).asKilometers() - 1.609344) < 1e-9)
        #expect(abs(try #require(Distance.degrees(180)).radians - .pi) < 1e-12)
        #expect(Distance.radians(-1) == nil && Distance.kilometers(.nan) == nil && Distance.miles(-0.1) == nil)
    }

    @Test func `a circle has a centre and a radius`() throws {
        let center = try #require(GeoPoint(latitude: 1, longitude: 2))
        #expect(GeoCircle(center: center, radiusInRadians: 0.5) == GeoCircle(center: (1, 2), radiusInRadians: 0.5))
        #expect(GeoCircle(center: center, radiusInRadians: -1) == nil)
        #expect(GeoCircle(center: center, radius: try #require(.radians(2))).radiusInRadians == 2)
        #expect(GeoCircle(center: (100, 2), radius: try #require(Distance.radians(2))) == nil)
    }
}
