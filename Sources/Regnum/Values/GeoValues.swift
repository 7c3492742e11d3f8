// SPDX-License-Identifier: Apache-2.0
// Points on the earth, and the areas of geospatial queries. Values only: the query checks that an area is valid (no
// crossing edges, holes inside the outer ring).

/// A point on the earth.
public struct GeoPoint: Hashable, Sendable {
    /// Latitude in degrees north, -90 ... 90.
    public let latitude: Double
    /// Longitude in degrees east, -180 ... 180.
    public let longitude: Double
    /// Altitude, 0 or more. Ignored by queries.
    public let altitude: Double

    /// Creates a point from degrees north and east. Returns nil if they are outside of -90 ... 90 and -180 ... 180, if
    /// the altitude is negative, and for NaN.
    public init?(latitude: Double, longitude: Double, altitude: Double = 0) {
        guard abs(latitude) <= 90, abs(longitude) <= 180, altitude >= 0 else { return nil }
        self.latitude = latitude
        self.longitude = longitude
        self.altitude = altitude
    }

    fileprivate init?(_ pair: (Double, Double)) { self.init(latitude: pair.0, longitude: pair.1) }
}

/// An area that queries search for points in: `GeoBox`, `GeoCircle` or `GeoPolygon`.
public protocol RLMGeospatial {}

/// A rectangle in degrees of latitude and longitude.
public struct GeoBox: RLMGeospatial, Hashable, Sendable {
    /// The south-western corner.
    public let bottomLeft: GeoPoint
    /// The north-eastern corner.
    public let topRight: GeoPoint

    /// Creates a box from two corners.
    public init(bottomLeft: GeoPoint, topRight: GeoPoint) {
        self.bottomLeft = bottomLeft
        self.topRight = topRight
    }

    /// Creates a box from two corners, latitude first; nil if a corner is not a valid point.
    public init?(bottomLeft: (Double, Double), topRight: (Double, Double)) {
        guard let low = GeoPoint(bottomLeft), let high = GeoPoint(topRight) else { return nil }
        self.init(bottomLeft: low, topRight: high)
    }
}

/// An area enclosed by a ring of points, without the holes in it.
public struct GeoPolygon: RLMGeospatial, Hashable, Sendable {
    /// The border. The last point equals the first.
    public let outerRing: [GeoPoint]
    /// Rings around the parts that do not belong to the area.
    public let holes: [[GeoPoint]]

    /// Creates a polygon; nil unless each ring has at least 4 points and ends where it begins.
    public init?(outerRing: [GeoPoint], holes: [[GeoPoint]] = []) {
        guard ([outerRing] + holes).allSatisfy({ $0.count >= 4 && $0.first == $0.last }) else { return nil }
        self.outerRing = outerRing
        self.holes = holes
    }

    /// Like `init(outerRing:holes:)`, with a variable number of holes.
    public init?(outerRing: [GeoPoint], holes: [GeoPoint]...) { self.init(outerRing: outerRing, holes: holes) }

    /// Like `init(outerRing:holes:)`, with pairs of latitude and longitude; nil if a pair is not a valid point.
    public init?(outerRing: [(Double, Double)], holes: [[(Double, Double)]] = []) {
        var rings: [[GeoPoint]] = []
        for ring in [outerRing] + holes {
            let points = ring.compactMap { GeoPoint($0) }
            guard points.count == ring.count else { return nil }
            rings.append(points)
        }
        self.init(outerRing: rings[0], holes: Array(rings.dropFirst()))
    }

    /// Like `init(outerRing:holes:)`, with pairs of latitude and longitude and a variable number of holes.
    public init?(outerRing: [(Double, Double)], holes: [(Double, Double)]...) {
        self.init(outerRing: outerRing, holes: holes)
    }
}

/// A distance on the surface of the earth, which is treated as a sphere with a radius of 6,378.1 km.
public struct Distance: Hashable, Sendable {
    private static let earthKilometers = 6378.1
    private static let kilometersPerMile = 1.609344
    /// The distance in radians of a great circle.
    public let radians: Double

    private init?(_ radians: Double) {
        guard radians >= 0 else { return nil }
        self.radians = radians
    }

    /// Creates a distance from kilometres; nil for a negative number or NaN.
    public static func kilometers(_ kilometers: Double) -> Distance? { Distance(kilometers / earthKilometers) }
    /// Creates a distance from miles of 1,609.344 m; nil for a negative number or NaN.
    public static func miles(_ miles: Double) -> Distance? {
        Distance(miles * kilometersPerMile / earthKilometers)
    }
    /// Creates a distance from degrees of a great circle; nil for a negative number or NaN.
    public static func degrees(_ degrees: Double) -> Distance? { Distance(degrees * .pi / 180) }
    /// Creates a distance from radians of a great circle; nil for a negative number or NaN.
    public static func radians(_ radians: Double) -> Distance? { Distance(radians) }

    /// Returns the distance in kilometres.
    public func asKilometers() -> Double { radians * Distance.earthKilometers }
    /// Returns the distance in miles of 1,609.344 m.
    public func asMiles() -> Double { radians * Distance.earthKilometers / Distance.kilometersPerMile }
    /// Returns the distance in degrees of a great circle.
    public func asDegrees() -> Double { radians * 180 / .pi }
}

/// The area within a distance of a point.
public struct GeoCircle: RLMGeospatial, Hashable, Sendable {
    /// The centre.
    public let center: GeoPoint
    /// The radius in radians of a great circle.
    public let radiusInRadians: Double

    /// Creates a circle; nil for a negative radius or NaN.
    public init?(center: GeoPoint, radiusInRadians: Double) {
        guard radiusInRadians >= 0 else { return nil }
        self.center = center
        self.radiusInRadians = radiusInRadians
    }

    /// Creates a circle around a point.
    public init(center: GeoPoint, radius: Distance) {
        self.center = center
        radiusInRadians = radius.radians
    }

    /// Creates a circle, with the latitude of the centre first; nil for a negative radius, NaN, or an invalid point.
    public init?(center: (Double, Double), radiusInRadians: Double) {
        guard let center = GeoPoint(center) else { return nil }
        self.init(center: center, radiusInRadians: radiusInRadians)
    }

    /// Creates a circle, with the latitude of the centre first; nil for an invalid point.
    public init?(center: (Double, Double), radius: Distance) {
        guard let center = GeoPoint(center) else { return nil }
        self.init(center: center, radius: radius)
    }
}
