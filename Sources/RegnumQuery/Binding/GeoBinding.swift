// SPDX-License-Identifier: Apache-2.0
// `location IN %@` with an area: finds the columns of the embedded class that store the point.

import RegnumEngine

/// A test of an embedded object: it is a point, and the point lies in the area.
package struct GeoTest: Sendable, Hashable {
    /// The column that contains "Point".
    package let typeColumn: Int
    /// The column with a list of longitude, latitude and optional further values.
    package let coordinatesColumn: Int
    let shape: GeoShape

    /// `latitude` and `longitude` in degrees. Values outside their valid ranges never match.
    func matches(latitude: Double, longitude: Double) -> Bool {
        abs(latitude) <= 90 && abs(longitude) <= 180 && shape.contains(latitude, longitude)
    }
}

extension GeoTest {
    /// Ranges of the geospatial index that contain all matching objects; nil if there is no index, or if the area has
    /// no bounds.
    func ranges(_ table: Table) -> [ClosedRange<UInt64>]? {
        guard table.hasPlaceIndex(coordinatesColumn), let bounds = shape.bounds else { return nil }
        // The bounding boxes are disjoint, but the cells at their edges may overlap.
        var ranges: [ClosedRange<UInt64>] = []
        for range in bounds.flatMap({ PlaceCell.ranges(of: $0) }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = ranges.last, range.lowerBound <= last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                ranges.append(range)
            }
        }
        return ranges
    }
}

extension PredicateBinder {
    /// Binds `path IN shape`.
    func within(
        _ shape: GeoShape, _ path: ResolvedPath
    ) throws(QueryError) -> BoundPredicate {
        guard path.aggregate == nil, case .object = path.end, let target = path.targetClass, target.isEmbedded else {
            throw QueryError(
                .value,
                "A GEOWITHIN query can only operate on a link to an embedded class. "
                    + "'\(path.written)' is not such a link.")
        }
        guard case .column(let type, let typeDefinition)? = target.properties["type"],
            typeDefinition.type == .string, typeDefinition.collection == .none,
            case .column(let coordinates, let coordinatesDefinition)? = target.properties["coordinates"],
            coordinatesDefinition.type == .double, coordinatesDefinition.collection == .list
        else {
            throw QueryError(
                .value,
                "Query '\(path.written) GEOWITHIN \(shape.shown)' links to data in the wrong format for a geoWithin "
                    + "query. '\(target.name)' needs the properties 'type', a String, and 'coordinates', a list of "
                    + "Double.")
        }
        if let flaw = shape.flaw {
            throw QueryError(
                .value, "Invalid region in GEOWITHIN query for parameter '\(shape.shown)': '\(flaw)'")
        }
        return .geo(path.bound, GeoTest(typeColumn: type, coordinatesColumn: coordinates, shape: shape))
    }
}
