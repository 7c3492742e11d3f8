// SPDX-License-Identifier: Apache-2.0
// The geospatial index: points on the earth. A column of lists of numbers, whose first element is degrees east and
// whose second is degrees north, has a tree with one entry for each list that is a point.
//
//   value   cell: both degrees as 32 bits, longitude from -180 to 180 and latitude from -90 to 90, their bits
//           interleaved from the highest, longitude first (Z-order)
//   key     object key
//
// The first two elements that are not null are the degrees; a list that lacks them, or has one out of range, is not a
// point. The 32 bits of x, from -l to l, are (x + l) / 2l * 2^32 without its fraction, at most 2^32 - 1.
//
// Points that are close to each other on the earth are close in the tree: each area is covered by a few ranges.

import RegnumSystem

/// The area between two parallels and two meridians, `west` <= `east`, in degrees, edges included.
package struct PlaceBox: Sendable, Equatable {
    package var south: Double
    package var north: Double
    package var west: Double
    package var east: Double
    package init(south: Double, north: Double, west: Double, east: Double) {
        self.south = south
        self.north = north
        self.west = west
        self.east = east
    }
}

package enum PlaceCell {
    /// Returns the cell of a point, or nil if the degrees are out of range.
    package static func cell(longitude: Double, latitude: Double) -> UInt64? {
        guard abs(longitude) <= 180, abs(latitude) <= 90 else { return nil }
        return spread(part(longitude, 180)) << 1 | spread(part(latitude, 90))
    }

    /// Scales degrees to 32 bits, in ascending order. The degrees must be within the limit.
    static func part(_ degrees: Double, _ limit: Double) -> UInt32 {
        let scaled = (degrees + limit) / (2 * limit) * 4_294_967_296
        return scaled >= 4_294_967_295 ? .max : UInt32(max(0, scaled))
    }

    /// Moves bit i to bit 2 * i.
    static func spread(_ part: UInt32) -> UInt64 {
        var bits = UInt64(part)
        bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
        bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        bits = (bits | bits << 2) & 0x3333_3333_3333_3333
        return (bits | bits << 1) & 0x5555_5555_5555_5555
    }

    /// Returns ranges of cells, both ends included, ascending and disjoint, that cover every point in the box and some
    /// near its edge. The number of ranges is at most about `most`.
    package static func ranges(of box: PlaceBox, most: Int = 64) -> [ClosedRange<UInt64>] {
        let west = part(max(-180, min(180, box.west)), 180)
        let east = part(max(-180, min(180, box.east)), 180)
        let south = part(max(-90, min(90, box.south)), 90)
        let north = part(max(-90, min(90, box.north)), 90)
        guard west <= east, south <= north else { return [] }
        var whole: [Square] = []
        var open = [Square(x: 0, y: 0, level: 0)]
        // Each round splits the squares that the edge crosses into four.
        while !open.isEmpty, whole.count + open.count < most, let level = open.first?.level, level < 32 {
            var next: [Square] = []
            for square in open {
                for child in square.children {
                    let (xs, ys) = (child.columns, child.rows)
                    if xs.upperBound < west || xs.lowerBound > east || ys.upperBound < south || ys.lowerBound > north {
                        continue
                    }
                    let isInside =
                        xs.lowerBound >= west && xs.upperBound <= east && ys.lowerBound >= south
                        && ys.upperBound <= north
                    if isInside { whole.append(child) } else { next.append(child) }
                }
            }
            open = next
        }
        let sorted = (whole + open).map(\.cells).sorted { $0.lowerBound < $1.lowerBound }
        var joined: [ClosedRange<UInt64>] = []
        for range in sorted {
            if let last = joined.last, last.upperBound &+ 1 == range.lowerBound {
                joined[joined.count - 1] = last.lowerBound...range.upperBound
            } else {
                joined.append(range)
            }
        }
        return joined
    }

    /// A square in a grid of 2^level by 2^level squares.
    private struct Square {
        var x: UInt32
        var y: UInt32
        var level: Int

        var children: [Square] {
            [(0, 0), (0, 1), (1, 0), (1, 1)].map { Square(x: x << 1 | $0, y: y << 1 | $1, level: level + 1) }
        }
        var columns: ClosedRange<UInt32> { Self.span(x, level) }
        var rows: ClosedRange<UInt32> { Self.span(y, level) }

        private static func span(_ number: UInt32, _ level: Int) -> ClosedRange<UInt32> {
            if level == 0 { return 0...UInt32.max }
            let shift = UInt32(32 - level)
            return number << shift...(number << shift | UInt32((UInt64(1) << UInt64(shift)) - 1))
        }

        var cells: ClosedRange<UInt64> {
            let low = PlaceCell.spread(columns.lowerBound) << 1 | PlaceCell.spread(rows.lowerBound)
            let high = PlaceCell.spread(columns.upperBound) << 1 | PlaceCell.spread(rows.upperBound)
            return low...high
        }
    }
}

extension Table {
    /// True if the column, a list of numbers, has a geospatial index.
    package func hasPlaceIndex(_ column: Int) -> Bool {
        contentIndexes[column] != nil && definition.columns[column].type == .double
    }

    /// Returns the cell of the point that a stored list represents; nil if it is not a point.
    func placeCell(_ location: RowLocation, _ column: Int) throws(EngineError) -> UInt64? {
        var degrees = (0.0, 0.0)
        var count = 0
        _ = try elementTree(column).forEachLeaf(try storedCollection(column, location)) { leaf in
            guard case .stored(let stored) = leaf else { preconditionFailure("a stored collection that has changed") }
            for i in 0..<stored.values.count where count < 2 {
                if stored.values.isNull(i) { continue }
                let value = Double(bitPattern: stored.values.integer(i))
                if count == 0 { degrees.0 = value } else { degrees.1 = value }
                count += 1
            }
            return count < 2
        }
        return count == 2 ? PlaceCell.cell(longitude: degrees.0, latitude: degrees.1) : nil
    }

    private func placeTree(_ column: Int) throws(EngineError) -> IndexTree {
        guard let index = contentIndexes[column] else { preconditionFailure("no geospatial index") }
        try flushOpenCollections()
        return index.tree
    }

    /// Returns the number of entries that `keys(in:)` returns. O(ranges * log n).
    package func placeCount(
        in ranges: [ClosedRange<UInt64>], inIndexOf column: Int
    ) throws(EngineError) -> Int {
        let tree = try placeTree(column)
        var count = 0
        for range in ranges {
            let first = try tree.rank(value: range.lowerBound, key: 0)
            count += max(0, try tree.rank(value: range.upperBound, key: .max) - first)
        }
        return count
    }

    /// Returns the objects whose points lie in the ranges, ascending.
    package func keys(
        in ranges: [ClosedRange<UInt64>], inPlaceIndexOf column: Int
    ) throws(EngineError) -> [ObjectKey] {
        let tree = try placeTree(column)
        var keys: [ObjectKey] = []
        for range in ranges {
            let first = try tree.rank(value: range.lowerBound, key: 0)
            var left = try tree.rank(value: range.upperBound, key: .max) - first
            var cursor = IndexCursor(tree)
            var isThere = left > 0 ? try cursor.seek(value: range.lowerBound) : false
            while isThere, left > 0 {
                keys.append(ObjectKey(cursor.key))
                left -= 1
                isThere = try cursor.next()
            }
        }
        keys.sort()
        return keys
    }

    /// Returns the findings in a geospatial index.
    func placeFindings(_ column: Int) throws(EngineError) -> [String] {
        let tree = try placeTree(column)
        var entries = 0
        var missing = RepeatedFindings()
        try forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                guard let cell = try placeCell(location, column) else { continue }
                entries += 1
                if try !tree.contains(value: cell, key: group.pointee.key(at: row)) { missing.add(location) }
            }
            return true
        }
        var findings: [String] = []
        if entries != Int(clamping: tree.count) {
            findings.append("the index has \(tree.count) points, but the objects have \(entries)")
        }
        let what = ("has a point that is not in the index", "have points that are not in the index")
        if let words = missing.words(self, what) { findings.append(words) }
        return findings
    }
}
