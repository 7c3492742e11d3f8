// SPDX-License-Identifier: Apache-2.0
// Rings of points on the unit sphere whose edges are arcs of great circles.

internal import Foundation

/// A point of the unit sphere: x points to 0° east, y to 90° east, z to the north pole.
typealias SpherePoint = SIMD3<Double>

extension SIMD3<Double> {
    /// Creates a point from degrees.
    init(latitude: Double, longitude: Double) {
        let latitude = latitude * .pi / 180
        let longitude = longitude * .pi / 180
        self.init(cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude))
    }

    init(_ point: GeoPoint) { self.init(latitude: point.latitude, longitude: point.longitude) }

    func dot(_ other: SpherePoint) -> Double { (self * other).sum() }

    func cross(_ other: SpherePoint) -> SpherePoint {
        SpherePoint(y * other.z - z * other.y, z * other.x - x * other.z, x * other.y - y * other.x)
    }

    /// The vector scaled to length 1; an arbitrary unit vector for the zero vector.
    var unit: SpherePoint {
        let length = dot(self).squareRoot()
        return length > 0 ? self / length : SpherePoint(1, 0, 0)
    }
}

/// A closed ring. Its interior is the smaller of the two parts into which it divides the sphere, whatever the direction
/// of its points.
struct SphereLoop: Sendable {
    /// Counterclockwise around the interior; the first is not repeated at the end.
    let vertices: [SpherePoint]
    /// A point of the interior, next to the middle of the longest edge.
    private let inside: SpherePoint
    /// The centre of a cap that contains the interior.
    private let middle: SpherePoint
    /// The least dot product with `middle` of a point in the cap; -2 if the ring is too wide for such a cap.
    private let capHeight: Double

    /// Creates a ring of at least three different points.
    init(_ points: [SpherePoint]) {
        let ring = Self.turning(points) >= 0 ? points : points.reversed()
        var longest = (chord: -1.0, at: 0)
        for index in ring.indices {
            let edge = ring[(index + 1) % ring.count] - ring[index]
            if edge.dot(edge) > longest.chord { longest = (edge.dot(edge), index) }
        }
        let start = ring[longest.at]
        let end = ring[(longest.at + 1) % ring.count]
        // About six millimetres (on the earth) to the left of the edge.
        inside = ((start + end).unit + start.cross(end).unit * 1e-9).unit
        let middle = ring.reduce(SpherePoint(repeating: 0), +).unit
        let least = ring.reduce(1.0) { Swift.min($0, middle.dot($1)) }
        // A cap of less than half the sphere is convex: it contains the edges and the interior.
        capHeight = least > 0.01 ? least - 1e-12 : -2
        self.middle = middle
        vertices = ring
    }

    /// The sum of the angles by which the ring turns left: a full turn minus this sum is the area on its left.
    private static func turning(_ points: [SpherePoint]) -> Double {
        var sum = 0.0
        for index in points.indices {
            let before = points[index]
            let here = points[(index + 1) % points.count]
            let after = points[(index + 2) % points.count]
            let first = before.cross(here)
            let second = here.cross(after)
            sum += atan2(first.cross(second).dot(here), first.dot(second))
        }
        return sum
    }

    /// True if the point lies inside. A point on an edge lies in one of the areas that meet there. O(vertices).
    func contains(_ point: SpherePoint) -> Bool {
        if middle.dot(point) < capHeight { return false }
        if inside.dot(point) > -0.9 { return crossings(inside, point) % 2 == 0 }
        // Nearly opposite points have no well-defined arc between them: go through a third point.
        let axis = abs(inside.x) < 0.5 ? SpherePoint(1, 0, 0) : SpherePoint(0, 1, 0)
        let way = inside.cross(axis).unit
        return (crossings(inside, way) + crossings(way, point)) % 2 == 0
    }

    private func crossings(_ from: SpherePoint, _ to: SpherePoint) -> Int {
        let normal = from.cross(to)
        var count = 0
        guard var start = vertices.last else { return 0 }
        var startSide = normal.dot(start) >= 0
        for end in vertices {
            let endSide = normal.dot(end) >= 0
            if startSide != endSide {
                // The ring crosses the great circle of the arc, upwards or downwards. It crosses the arc itself if the
                // ends of the arc are on different sides of the edge, and the edge is on the arc's side of the sphere.
                let edge = start.cross(end)
                let fromSide = edge.dot(from) >= 0
                if fromSide != (edge.dot(to) >= 0), fromSide != startSide { count += 1 }
            }
            start = end
            startSide = endSide
        }
        return count
    }

    /// True if the interiors of two arcs cross.
    static func cross(_ a: SpherePoint, _ b: SpherePoint, _ c: SpherePoint, _ d: SpherePoint) -> Bool {
        let ab = a.cross(b)
        let cd = c.cross(d)
        let first = -ab.dot(c)
        let others = (ab.dot(d), -cd.dot(b), cd.dot(a))
        return first * others.0 > 1e-30 && first * others.1 > 1e-30 && first * others.2 > 1e-30
    }
}
