// SPDX-License-Identifier: Apache-2.0
// The geospatial index: areas find the same points with it and without it, everywhere on the earth, after every
// change.

import Foundation
import RealmSwift
import RegnumSimulation
import RegnumTestKit
import Testing

enum GeoIndexModels {
    class Spot: EmbeddedObject {
        @Persisted var type = "Point"
        @Persisted(indexed: .location) var coordinates: List<Double>
    }
    class PlainSpot: EmbeddedObject {
        @Persisted var type = "Point"
        @Persisted var coordinates: List<Double>
    }
    class Place: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var spot: Spot?
        @Persisted var plain: PlainSpot?
        @Persisted var n = 0
    }
    static let types: [ObjectBase.Type] = [Spot.self, PlainSpot.self, Place.self]
}

@Suite("Geospatial index") struct GeoIndexTests {
    typealias Place = GeoIndexModels.Place

    /// Degrees, with many at edges: poles, the date line, and borders of test areas.
    private static func degrees(_ limit: Double, _ random: inout SplitMix) -> Double {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: [limit, -limit, 0, limit - 1e-9].randomElement(using: &random) ?? 0
        case 1: Double(Int.random(in: -Int(limit)...Int(limit), using: &random))
        default: Double.random(in: -limit...limit, using: &random)
        }
    }

    private static func fill(_ place: Place, _ random: inout SplitMix) {
        place.n += 1
        if Int.random(in: 0..<20, using: &random) == 0 {
            (place.spot, place.plain) = (nil, nil)
            return
        }
        var numbers = [degrees(180, &random), degrees(90, &random)]
        switch Int.random(in: 0..<30, using: &random) {
        case 0: numbers = []
        case 1: numbers.removeLast()
        case 2: numbers[0] = .nan
        case 3: numbers[1] = 91
        case 4: numbers.append(17)
        default: break
        }
        let spot = place.spot ?? GeoIndexModels.Spot()
        let plain = place.plain ?? GeoIndexModels.PlainSpot()
        if place.spot == nil { (place.spot, place.plain) = (spot, plain) }
        let type = Int.random(in: 0..<15, using: &random) == 0 ? "Line" : "Point"
        place.spot?.type = type
        place.plain?.type = type
        place.spot?.coordinates.removeAll()
        place.spot?.coordinates.append(objectsIn: numbers)
        place.plain?.coordinates.removeAll()
        place.plain?.coordinates.append(objectsIn: numbers)
    }

    private static func point(_ random: inout SplitMix) -> GeoPoint {
        GeoPoint(latitude: degrees(90, &random), longitude: degrees(180, &random))!
    }

    private static func check(_ all: Results<Place>, _ random: inout SplitMix) {
        func expect(_ text: String, _ a: Results<Place>, _ b: Results<Place>) {
            let (found, expected) = (Array(a.map(\.id)), Array(b.map(\.id)))
            #expect(found == expected, "\(text)")
            #expect(a.count == expected.count)
        }
        let (a, b) = (point(&random), point(&random))
        let box = GeoBox(bottomLeft: a, topRight: b)
        expect("\(a) \(b)", all.where { $0.spot.geoWithin(box) }, all.where { $0.plain.geoWithin(box) })
        let radius = pow(10, Double.random(in: -4...0.55, using: &random))
        if let circle = GeoCircle(center: (a.latitude, a.longitude), radiusInRadians: radius) {
            expect("\(a) \(radius)", all.where { $0.spot.geoWithin(circle) }, all.where { $0.plain.geoWithin(circle) })
            expect(
                "n and \(a) \(radius)", all.where { $0.spot.geoWithin(circle) && $0.n > 1 },
                all.where { $0.plain.geoWithin(circle) && $0.n > 1 })
            expect(
                "not \(a) \(radius)", all.where { !$0.spot.geoWithin(circle) },
                all.where { !$0.plain.geoWithin(circle) })
        }
        let size = Double.random(in: 0.01...60, using: &random)
        var corners = (0..<3).map { corner -> GeoPoint in
            let turn = Double(corner) * 2 * .pi / 3 + radius
            let longitude = remainder(a.longitude + size * cos(turn), 360)
            return GeoPoint(latitude: a.latitude * 0.3 + size * sin(turn), longitude: longitude)!
        }
        // Around a pole.
        if size < 10 { corners = [0, 120, -120].map { GeoPoint(latitude: 90 - size, longitude: $0)! } }
        let polygon = GeoPolygon(outerRing: corners + [corners[0]])!
        expect("\(corners)", all.where { $0.spot.geoWithin(polygon) }, all.where { $0.plain.geoWithin(polygon) })
    }

    @Test("The index finds the same points as a comparison with every point", arguments: RunSeed.list(1...2))
    func differential(seed: RunSeed) throws {
        var random = SplitMix(state: seed.value)
        try withFile(GeoIndexModels.types) { configuration in
            try autoreleasepool {
                let realm = try Realm(configuration: configuration)
                try realm.write {
                    for id in 0..<600 { Self.fill(realm.create(Place.self, value: ["id": id]), &random) }
                }
                let all = realm.objects(Place.self)
                for round in 0..<6 {
                    try realm.write {
                        for _ in 0..<30 {
                            guard let place = all.randomElement(using: &random) else { continue }
                            if round % 3 == 1 { realm.delete(place) } else { Self.fill(place, &random) }
                        }
                        Self.check(all, &random)
                        if round == 4 { realm.cancelWrite() }
                    }
                    for _ in 0..<6 { Self.check(all, &random) }
                }
                let near = GeoCircle(center: (48.1, 11.6), radiusInRadians: 1e-4)!
                let explained = all.where { $0.spot.geoWithin(near) }.explain()
                #expect(explained.usesIndex(on: "spot"), "\(explained)")
            }
            expectIntegrity(of: configuration)
        }
    }
}

/// A seeded generator: SplitMix64.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
