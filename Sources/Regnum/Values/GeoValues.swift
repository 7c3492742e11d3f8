// SPDX-License-Identifier: Apache-2.0
// Points on the earth, and the areas that queries look for them in. Values only: whether an area is one (no
// crossing edges, holes inside) is up to the query.

/// A point on the earth.
public struct GeoPoint: Hashable, Sendable {
    /// Degrees north, -90 ... 90.
    public let latitude: Double
    /// Degrees east, -180 ... 180.
    public let longitude: Double
    /// 0 or more. Without effect on queries.
    public let altitude: Double

    /// Degrees north and east; nil outside of -90 ... 90 and -180 ... 180, for a negative altitude, and for NaN.
    public init?(latitude: Double, longitude: Double, altitude: Double = 0) {
        guard abs(latitude) <= 90, abs(longitude) <= 180, altitude >= 0 else { return nil }
        self.latitude = latitude
        self.longitude = longitude
        self.altitude = altitude
    }

    fileprivate init?(_ pair: (Double, Double)) { self.init(latitude: pair.0, longitude: pair.1) }
}

/// The areas that queries look for points in: `GeoBox`, `GeoCircle` and `GeoPolygon`.
public protocol RLMGeospatial {}

/// A rectangle of degrees.
public struct GeoBox: RLMGeospatial, Hashable, Sendable {
    /// The south-western corner.
    public let bottomLeft: GeoPoint
    /// The north-eastern corner.
    public let topRight: GeoPoint

    /// Between two corners.
    public init(bottomLeft: GeoPoint, topRight: GeoPoint) {
        self.bottomLeft = bottomLeft
        self.topRight = topRight
    }

    /// Between two corners, latitude first; nil where one is no point.
    public init?(bottomLeft: (Double, Double), topRight: (Double, Double)) {
        guard let low = GeoPoint(bottomLeft), let high = GeoPoint(topRight) else { return nil }
        self.init(bottomLeft: low, topRight: high)
    }
}

/// An area within a ring of points, without the holes in it.
public struct GeoPolygon: RLMGeospatial, Hashable, Sendable {
    /// The border; the last point is the first one.
    public let outerRing: [GeoPoint]
    /// Rings of what does not belong to the area.
    public let holes: [[GeoPoint]]

    /// Nil unless each ring has 4 points or more and ends where it begins.
    public init?(outerRing: [GeoPoint], holes: [[GeoPoint]] = []) {
        guard ([outerRing] + holes).allSatisfy({ $0.count >= 4 && $0.first == $0.last }) else { return nil }
        self.outerRing = outerRing
        self.holes = holes
    }

    /// As `init(outerRing:holes:)`, holes one after the other.
    public init?(outerRing: [GeoPoint], holes: [GeoPoint]...) { self.init(outerRing: outerRing, holes: holes) }

    /// As `init(outerRing:holes:)` with pairs of latitude and longitude; nil where one is no point.
    public init?(outerRing: [(Double, Double)], holes: [[(Double, Double)]] = []) {
        var rings: [[GeoPoint]] = []
        for ring in [outerRing] + holes {
            let points = ring.compactMap { GeoPoint($0) }
            guard points.count == ring.count else { return nil }
            rings.append(points)
        }
        self.init(outerRing: rings[0], holes: Array(rings.dropFirst()))
    }

    /// As `init(outerRing:holes:)` with pairs of latitude and longitude, holes one after the other.
    public init?(outerRing: [(Double, Double)], holes: [(Double, Double)]...) {
        self.init(outerRing: outerRing, holes: holes)
    }
}

/// A length on the surface of the earth, which counts as a ball with a radius of 6,378.1 km.
public struct Distance: Hashable, Sendable {
    private static let earthKilometers = 6378.1
    private static let kilometersPerMile = 1.609344
    /// In radians of a great circle.
    public let radians: Double

    private init?(_ radians: Double) {
        guard radians >= 0 else { return nil }
        self.radians = radians
    }

    /// Nil for negative numbers and NaN.
    public static func kilometers(_ kilometers: Double) -> Distance? { Distance(kilometers / earthKilometers) }
    /// Nil for negative numbers and NaN.
    public static func miles(_ miles: Double) -> Distance? {
        Distance(miles * kilometersPerMile / earthKilometers)
    }
    /// Nil for negative numbers and NaN.
    public static func degrees(_ degrees: Double) -> Distance? { Distance(degrees * .pi / 180) }
    /// Nil for negative numbers and NaN.
    public static func radians(_ radians: Double) -> Distance? { Distance(radians) }

    /// In kilometres.
    public func asKilometers() -> Double { radians * Distance.earthKilometers }
    /// In miles of 1,609.344 m.
    public func asMiles() -> Double { radians * Distance.earthKilometers / Distance.kilometersPerMile }
    /// In degrees of a great circle.
    public func asDegrees() -> Double { radians * 180 / .pi }
}

/// The area within a distance of a point.
public struct GeoCircle: RLMGeospatial, Hashable, Sendable {
    /// The middle.
    public let center: GeoPoint
    /// In radians of a great circle.
    public let radiusInRadians: Double

    /// Nil for a negative radius and NaN.
    public init?(center: GeoPoint, radiusInRadians: Double) {
        guard radiusInRadians >= 0 else { return nil }
        self.center = center
        self.radiusInRadians = radiusInRadians
    }

    /// Around a point.
    public init(center: GeoPoint, radius: Distance) {
        self.center = center
        radiusInRadians = radius.radians
    }

    /// Latitude first; nil for a negative radius, NaN, and what is no point.
    public init?(center: (Double, Double), radiusInRadians: Double) {
        guard let center = GeoPoint(center) else { return nil }
        self.init(center: center, radiusInRadians: radiusInRadians)
    }

    /// Latitude first; nil for what is no point.
    public init?(center: (Double, Double), radius: Distance) {
        guard let center = GeoPoint(center) else { return nil }
        self.init(center: center, radius: radius)
    }
}
