// SPDX-License-Identifier: Apache-2.0
// `location IN %@` with an area: which columns of the embedded class have the point.

import RegnumEngine

/// A test of an embedded object: it is a point, and the point lies in the area.
package struct GeoTest: Sendable, Hashable {
    /// Holds "Point".
    package let typeColumn: Int
    /// A list of longitude, latitude and what else there is.
    package let coordinatesColumn: Int
    let shape: GeoShape

    /// `latitude` and `longitude` in degrees; what lies off the earth is nowhere.
    func matches(latitude: Double, longitude: Double) -> Bool {
        abs(latitude) <= 90 && abs(longitude) <= 180 && shape.contains(latitude, longitude)
    }
}

extension GeoTest {
    /// Parts of the index of places that hold all objects of the area; nil where there is no index, or no bounds.
    func ranges(_ table: Table) -> [ClosedRange<UInt64>]? {
        guard table.hasPlaceIndex(coordinatesColumn), let bounds = shape.bounds else { return nil }
        // The boxes lie apart, but the squares at their edges may not.
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
                "A GEOWITHIN query can only operate on a link to an embedded class. '\(path.written)' is none.")
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
