// SPDX-License-Identifier: Apache-2.0
// Cells of the geospatial index: the ranges of a box contain the cells of all its points.

import RegnumEngine
import RegnumSimulation
import Testing

@Suite("Geospatial cells") struct PlaceCellTests {
    private static func degrees(_ limit: Double, _ random: inout SeededRandom) -> Double {
        switch random.below(6) {
        case 0: [limit, -limit, 0][random.below(3)]
        default: (Double(random.below(1 << 30)) / Double(1 << 29) - 1) * limit
        }
    }

    @Test("Every point of a box lies in one of the box's ranges, which ascend and are few")
    func ranges() {
        var random = SeededRandom(seed: 3)
        var outside = 0
        for _ in 0..<400 {
            let (a, b) = (Self.degrees(180, &random), Self.degrees(180, &random))
            let (c, d) = (Self.degrees(90, &random), Self.degrees(90, &random))
            let box = PlaceBox(south: min(c, d), north: max(c, d), west: min(a, b), east: max(a, b))
            let ranges = PlaceCell.ranges(of: box)
            #expect(!ranges.isEmpty && ranges.count <= 300)
            for (one, next) in zip(ranges, ranges.dropFirst()) { #expect(one.upperBound < next.lowerBound) }
            for _ in 0..<30 {
                let part = Double(random.below(1001)) / 1000
                let other = Double(random.below(1001)) / 1000
                let longitude = max(box.west, min(box.east, box.west + (box.east - box.west) * part))
                let latitude = max(box.south, min(box.north, box.south + (box.north - box.south) * other))
                let cell = PlaceCell.cell(longitude: longitude, latitude: latitude)
                #expect(ranges.contains { $0.contains(cell ?? 0) })
                let far = PlaceCell.cell(longitude: Self.degrees(180, &random), latitude: Self.degrees(90, &random))
                if !ranges.contains(where: { $0.contains(far ?? 0) }) { outside += 1 }
            }
        }
        #expect(outside > 1000)
        #expect(PlaceCell.cell(longitude: .nan, latitude: 0) == nil)
        #expect(PlaceCell.cell(longitude: 0, latitude: 90.1) == nil)
        #expect(PlaceCell.ranges(of: PlaceBox(south: 1, north: 0, west: 0, east: 1)).isEmpty)
    }
}
