// SPDX-License-Identifier: Apache-2.0
// The areas of geospatial queries: their validation, which points they contain, and how messages show them.

internal import Foundation
internal import RegnumEngine
internal import RegnumQuery

/// A value that can be used as an area on the right of IN.
protocol GeoArea {
    var shape: GeoShape { get }
}

extension GeoPoint {
    fileprivate var shown: String {
        "[\(GeoPoint.text(longitude)), \(GeoPoint.text(latitude)), \(GeoPoint.text(altitude))]"
    }

    /// Integral numbers are shown without a fraction.
    fileprivate static func text(_ number: Double) -> String {
        abs(number) < 1e15 && number == number.rounded() ? "\(Int(number))" : "\(number)"
    }
}

private func shownPolygon(_ rings: [[GeoPoint]]) -> String {
    "GeoPolygon(" + rings.map { "{" + $0.map(\.shown).joined(separator: ", ") + "}" }.joined(separator: ", ") + ")"
}

extension GeoBox: GeoArea {
    /// The area between two parallels and two meridians; it crosses the date line if it begins east of its end.
    /// Includes its edges.
    var shape: GeoShape {
        let (south, north) = (bottomLeft.latitude, topRight.latitude)
        let (west, east) = (bottomLeft.longitude, topRight.longitude)
        let box = PlaceBox(south: south, north: north, west: west, east: east)
        return GeoShape(shown: shownPolygon([corners]), flaw: nil, bounds: box.parts) { latitude, longitude in
            guard latitude >= south, latitude <= north else { return false }
            return west <= east ? longitude >= west && longitude <= east : longitude >= west || longitude <= east
        }
    }

    private var corners: [GeoPoint] {
        let others = [
            GeoPoint(latitude: bottomLeft.latitude, longitude: topRight.longitude), topRight,
            GeoPoint(latitude: topRight.latitude, longitude: bottomLeft.longitude),
        ]
        return [bottomLeft] + others.compactMap { $0 } + [bottomLeft]
    }
}

extension GeoCircle: GeoArea {
    /// The area within the radius. Includes its edge.
    var shape: GeoShape {
        let shown = "GeoCircle(\(center.shown), \(GeoPoint.text(radiusInRadians)))"
        if radiusInRadians >= .pi { return GeoShape(shown: shown, flaw: nil, bounds: nil) { _, _ in true } }
        let middle = SpherePoint(center)
        // The square of the length of the chord between two points at that distance.
        let half = sin(radiusInRadians / 2)
        let limit = 4 * half * half
        // The circle extends no farther north or south than its radius.
        let reach = radiusInRadians * 180 / .pi + 1e-9
        let latitudes = (center.latitude - reach)...(center.latitude + reach)
        let bounds = PlaceBox.around(
            latitude: center.latitude, longitude: center.longitude, radius: radiusInRadians)
        return GeoShape(shown: shown, flaw: nil, bounds: bounds) { latitude, longitude in
            guard latitudes.contains(latitude) else { return false }
            let chord = SpherePoint(latitude: latitude, longitude: longitude) - middle
            return chord.dot(chord) <= limit
        }
    }
}

extension GeoPolygon: GeoArea {
    /// The area within the outer ring and outside the holes. Edges are arcs of great circles; of the two parts into
    /// which a ring divides the earth, the smaller one counts.
    var shape: GeoShape {
        let rings = [outerRing] + holes
        let points = rings.map(Self.distinctPoints)
        let loops = points.map { $0.count < 3 ? nil : SphereLoop($0) }
        let shown = shownPolygon(rings)
        if let flaw = Self.flaw(points, loops) {
            return GeoShape(shown: shown, flaw: flaw, bounds: nil) { _, _ in false }
        }
        let whole = loops.compactMap { $0 }
        return GeoShape(shown: shown, flaw: nil, bounds: Self.bounds(points[0])) { latitude, longitude in
            let point = SpherePoint(latitude: latitude, longitude: longitude)
            return whole[0].contains(point) && !whole.dropFirst().contains { $0.contains(point) }
        }
    }

    /// The bounds of a cap of the sphere around all corners. A cap of less than half the sphere contains the arcs
    /// between the corners, and the area that they surround.
    private static func bounds(_ ring: [SpherePoint]) -> [PlaceBox]? {
        var sum = (x: 0.0, y: 0.0, z: 0.0)
        for point in ring { sum = (sum.x + point.x, sum.y + point.y, sum.z + point.z) }
        let length = (sum.x * sum.x + sum.y * sum.y + sum.z * sum.z).squareRoot()
        guard length > 1e-6 * Double(ring.count) else { return nil }
        let middle = SpherePoint(x: sum.x / length, y: sum.y / length, z: sum.z / length)
        // From the chord, whose length is precise for small arcs too.
        let farthest = ring.map { ($0 - middle).dot($0 - middle) }.max() ?? 4
        let radius = 2 * asin(min(1, farthest.squareRoot() / 2)) + 1e-9
        guard radius < 1.4 else { return nil }
        return PlaceBox.around(
            latitude: asin(max(-1, min(1, middle.z))) * 180 / .pi, longitude: atan2(middle.y, middle.x) * 180 / .pi,
            radius: radius)
    }

    /// The points of the ring, without points equal to the previous one, and without a last point equal to the first.
    private static func distinctPoints(_ ring: [GeoPoint]) -> [SpherePoint] {
        var points: [SpherePoint] = []
        for point in ring {
            let next = SpherePoint(point)
            if points.last != next { points.append(next) }
        }
        if points.count > 1, points.first == points.last { points.removeLast() }
        return points
    }

    private static func flaw(_ rings: [[SpherePoint]], _ loops: [SphereLoop?]) -> String? {
        for (number, ring) in rings.enumerated() {
            if ring.count < 3 { return "Ring \(number) must have at least 3 different vertices" }
            if let flaw = flaw(in: ring) { return "Ring \(number) is not valid: \(flaw)" }
        }
        let whole = loops.compactMap { $0 }
        for number in rings.indices.dropFirst() {
            if let (edge, other) = sharedEdge(rings[number], rings[0]) {
                return "Duplicate edge: edge \(edge) of ring \(number) and edge \(other) of ring 0"
            }
            if crosses(rings[number], rings[0]) || leaves(rings[number], rings[0], whole[0]) {
                return "Secondary ring \(number) not contained by first exterior ring - secondary rings must be "
                    + "holes in the first ring"
            }
            for earlier in 1..<number {
                if let (edge, other) = sharedEdge(rings[number], rings[earlier]) {
                    return "Duplicate edge: edge \(edge) of ring \(number) and edge \(other) of ring \(earlier)"
                }
                if crosses(rings[number], rings[earlier]) {
                    return "Edges of rings \(earlier) and \(number) cross"
                }
                if enters(rings[number], rings[earlier], whole[earlier])
                    || enters(rings[earlier], rings[number], whole[number])
                {
                    return
                        "The rings \(earlier) and \(number) are nested - secondary rings must not contain one another"
                }
            }
        }
        return nil
    }

    /// True if a corner of the ring, or the middle of an edge, lies outside the other ring and not on its border.
    private static func leaves(_ ring: [SpherePoint], _ other: [SpherePoint], _ loop: SphereLoop) -> Bool {
        samples(ring).contains { !loop.contains($0) && !isOnBorder($0, other) }
    }

    /// True if a corner of the ring, or the middle of an edge, lies within the other ring and not on its border.
    private static func enters(_ ring: [SpherePoint], _ other: [SpherePoint], _ loop: SphereLoop) -> Bool {
        samples(ring).contains { loop.contains($0) && !isOnBorder($0, other) }
    }

    private static func samples(_ ring: [SpherePoint]) -> [SpherePoint] {
        ring + ring.indices.map { (ring[$0] + ring[($0 + 1) % ring.count]).unit }
    }

    /// True if the point is within some micrometres of an edge.
    private static func isOnBorder(_ point: SpherePoint, _ ring: [SpherePoint]) -> Bool {
        let margin = 1e-12
        return ring.indices.contains { place in
            let (start, end) = (ring[place], ring[(place + 1) % ring.count])
            let (toStart, toEnd) = (start - point, end - point)
            if toStart.dot(toStart) < margin * margin || toEnd.dot(toEnd) < margin * margin { return true }
            let normal = start.cross(end).unit
            // Near the great circle, and between the ends of the arc.
            guard abs(normal.dot(point)) < margin else { return false }
            return normal.cross(start).dot(point) >= 0 && normal.cross(end).dot(point) <= 0
        }
    }

    private static func flaw(in ring: [SpherePoint]) -> String? {
        var places: [SpherePoint: Int] = [:]
        for (place, point) in ring.enumerated() {
            if let other = places.updateValue(place, forKey: point) {
                return "Duplicate vertices: \(other) and \(place)"
            }
            let next = ring[(place + 1) % ring.count]
            if point.dot(next) < -1 + 1e-15 { return "Vertices \(place) and \((place + 1) % ring.count) are antipodal" }
        }
        for place in ring.indices {
            for other in ring.indices.dropFirst(place + 2) {
                let end = (other + 1) % ring.count
                if end == place { continue }
                if SphereLoop.cross(ring[place], ring[place + 1], ring[other], ring[end]) {
                    return "Edges \(place) and \(other) cross"
                }
            }
        }
        return nil
    }

    private static func crosses(_ ring: [SpherePoint], _ other: [SpherePoint]) -> Bool {
        for place in ring.indices {
            let end = ring[(place + 1) % ring.count]
            for otherPlace in other.indices
            where SphereLoop.cross(ring[place], end, other[otherPlace], other[(otherPlace + 1) % other.count]) {
                return true
            }
        }
        return false
    }

    /// An edge that the rings share, in either direction.
    private static func sharedEdge(_ ring: [SpherePoint], _ other: [SpherePoint]) -> (Int, Int)? {
        var places: [SpherePoint: Int] = [:]
        for (place, point) in other.enumerated() { places[point] = place }
        for place in ring.indices {
            guard let first = places[ring[place]], let second = places[ring[(place + 1) % ring.count]] else { continue }
            if (first + 1) % other.count == second { return (place, first) }
            if (second + 1) % other.count == first { return (place, second) }
        }
        return nil
    }
}

extension Query where T: OptionalProtocol, T.Wrapped: EmbeddedObject {
    /// Matches if the embedded object is a point in the area: its class has `type`, a String with the value "Point",
    /// and `coordinates`, a List of Double, longitude first. An object without a location is in no area.
    public func geoWithin(_ value: GeoBox) -> Query<Bool> { comparison(.isIn, value) }

    /// Like `geoWithin(_:)` with a box.
    public func geoWithin(_ value: GeoCircle) -> Query<Bool> { comparison(.isIn, value) }

    /// Like `geoWithin(_:)` with a box. It is a programmer error if edges of the polygon cross, or if its holes are not
    /// inside it.
    public func geoWithin(_ value: GeoPolygon) -> Query<Bool> { comparison(.isIn, value) }

    /// Like `geoWithin(_:)` with a box, for code that is generic over the areas. Passing another type is a programmer
    /// error.
    public func geoWithin<Area: RLMGeospatial>(_ value: Area) -> Query<Bool> {
        guard value is any GeoArea else {
            misuse("'\(Area.self)' is not an area: pass a GeoBox, a GeoCircle or a GeoPolygon.")
        }
        return comparison(.isIn, value)
    }
}

extension PlaceBox {
    /// Boxes that contain all points within `radius`, in radians; nil for the whole earth.
    fileprivate static func around(latitude: Double, longitude: Double, radius: Double) -> [PlaceBox]? {
        if radius >= .pi / 2 { return nil }
        let margin = 1e-6
        let reach = radius * 180 / .pi + margin
        let (south, north) = (latitude - reach, latitude + reach)
        if south <= -90 || north >= 90 { return [PlaceBox(south: south, north: north, west: -180, east: 180)] }
        let sine = sin(radius + margin * .pi / 180) / cos(latitude * .pi / 180)
        let width = asin(min(1, sine)) * 180 / .pi + margin
        if width >= 90 { return [PlaceBox(south: south, north: north, west: -180, east: 180)] }
        let (west, east) = (longitude - width, longitude + width)
        let box =
            west < -180
            ? PlaceBox(south: south, north: north, west: west + 360, east: east)
            : PlaceBox(south: south, north: north, west: west, east: east > 180 ? east - 360 : east)
        return box.parts
    }

    /// The box, or two boxes if it crosses the date line.
    fileprivate var parts: [PlaceBox] {
        if west <= east { return [self] }
        return [
            PlaceBox(south: south, north: north, west: west, east: 180),
            PlaceBox(south: south, north: north, west: -180, east: east),
        ]
    }
}
