// SPDX-License-Identifier: Apache-2.0
// Searches by full-text and geospatial indexes and by many values: text and locations over the cities of GeoNames, IN
// over numbers and texts. Each query runs again after a commit, so that no cache answers.

import ArgumentParser
import Foundation
import RealmSwift

final class TownSpot: EmbeddedObject {
    @Persisted var type = "Point"
    @Persisted(indexed: .location) var coordinates: List<Double>
}

final class PlainSpot: EmbeddedObject {
    @Persisted var type = "Point"
    @Persisted var coordinates: List<Double>
}

final class Town: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted(indexed: .fullText) var alternateNames: List<String>
    @Persisted var spot: TownSpot?
    @Persisted var plain: PlainSpot?
}

final class Figure: Object {
    @Persisted var number: Int
    @Persisted var small: Int
    @Persisted var word: String
}

/// A line of cities15000.jsonl.
private struct TownLine: Decodable {
    let geonameid: Int
    let name: String
    let latitude: Double
    let longitude: Double
    let alternatenames: [String]
}

struct SearchesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "searches", abstract: "Measures full text, places and IN of many values.")

    @Option(help: "The folder with cities15000.jsonl; without it full text and places are left out.")
    var data: String?

    @Option(name: .customLong("objects"), help: "Rows for IN.")
    var rows = 1_000_000

    @Option(help: "Values for IN.")
    var values = 40_000

    @Option(help: "Timed runs of each search.")
    var runs = 21

    @Flag(help: "Fail if a target is missed.")
    var check = false

    func run() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("searches-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let realm = try Realm(
            configuration: Realm.Configuration(
                fileURL: folder.appendingPathComponent("searches.realm"),
                objectTypes: [Town.self, TownSpot.self, PlainSpot.self, Figure.self, Unrelated.self]))
        print("| search | median | 90% | found | target |\n|---|---|---|---|---|")
        var isMissed = false
        if let data {
            try load(URL(fileURLWithPath: data), realm)
            for search in Self.texts + Self.places { isMissed = try measure(search, realm) || isMissed }
        }
        for search in try many(realm) { isMissed = try measure(search, realm) || isMissed }
        if check, isMissed { throw ExitCode.failure }
    }

    // MARK: Measuring

    private struct Search {
        let title: String
        /// In nanoseconds for each row if a row count is given, otherwise in microseconds.
        var rows: Int?
        var target: Double?
        /// Reads all results, and returns their number.
        let find: (Realm) throws -> Int
    }

    /// Prints a row; returns whether the target is missed.
    private func measure(_ search: Search, _ realm: Realm) throws -> Bool {
        var times: [Double] = []
        var found = 0
        for _ in 0..<runs {
            try realm.write { _ = realm.create(Unrelated.self) }
            let clock = ContinuousClock()
            let time = try clock.measure { found = try search.find(realm) }
            let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
            times.append(search.rows.map { seconds * 1e9 / Double($0) } ?? seconds * 1e6)
        }
        times.sort()
        let unit = search.rows == nil ? "us" : "ns/row"
        func shown(_ value: Double) -> String { "\((value * 10).rounded() / 10) \(unit)" }
        let median = times[times.count / 2]
        print(
            "| \(search.title) | \(shown(median)) | \(shown(times[times.count * 9 / 10])) | \(found) |",
            "\(search.target.map(shown) ?? "") |")
        return search.target.map { median > $0 } ?? false
    }

    // MARK: Cities

    private func load(_ folder: URL, _ realm: Realm) throws {
        let text = try String(contentsOf: folder.appendingPathComponent("cities15000.jsonl"), encoding: .utf8)
        let decoder = JSONDecoder()
        let lines = try text.split(separator: "\n").map { try decoder.decode(TownLine.self, from: Data($0.utf8)) }
        try realm.write {
            for line in lines {
                let town = Town()
                town.id = line.geonameid
                town.name = line.name
                town.alternateNames.append(objectsIn: line.alternatenames)
                let (spot, plain) = (TownSpot(), PlainSpot())
                spot.coordinates.append(objectsIn: [line.longitude, line.latitude])
                plain.coordinates.append(objectsIn: [line.longitude, line.latitude])
                town.spot = spot
                town.plain = plain
                realm.add(town)
            }
        }
    }

    private static func text(_ words: String, _ target: Double? = nil) -> Search {
        Search(title: "alternateNames TEXT '\(words)', all", target: target) { realm in
            realm.objects(Town.self).filter("alternateNames TEXT %@", words).reduce(0) { sum, _ in sum + 1 }
        }
    }

    private static var texts: [Search] {
        [
            text("san", 1_000), text("de", 1_000), text("city", 1_000), text("san de", 1_000), text("reykjavik", 1_000),
            text("sant*"), text("\"new york\""), text("san OR saint"), text("san -de"),
            Search(title: "search('san'), the 10 best with snippets", target: nil) { realm in
                realm.objects(Town.self).search("san", in: \.alternateNames, limit: 10)
                    .reduce(0) { $0 + ($1.snippet().text.isEmpty ? 0 : 1) }
            },
        ]
    }

    private static func place(_ title: String, _ area: any Sendable) -> [Search] {
        [
            Search(title: "\(title), indexed") { realm in
                realm.objects(Town.self).filter("spot IN %@", area).reduce(0) { sum, _ in sum + 1 }
            },
            Search(title: "\(title), not indexed") { realm in
                realm.objects(Town.self).filter("plain IN %@", area).reduce(0) { sum, _ in sum + 1 }
            },
        ]
    }

    private static var places: [Search] {
        guard let alps = GeoBox(bottomLeft: (45, 5), topRight: (48, 15)),
            let europe = GeoBox(bottomLeft: (35, -10), topRight: (70, 30)),
            let near = Distance.kilometers(50), let far = Distance.kilometers(500),
            let city = GeoCircle(center: (48.2, 16.37), radius: near),
            let country = GeoCircle(center: (48.2, 16.37), radius: far),
            let island = GeoPolygon(outerRing: [(35.0, 12.0), (38.5, 11.5), (38.5, 16.0), (36.5, 15.5), (35.0, 12.0)])
        else { return [] }
        return place("box of 3 by 10 degrees", alps) + place("box of 35 by 40 degrees", europe)
            + place("circle of 50 km", city) + place("circle of 500 km", country) + place("polygon of 4 sides", island)
    }

    // MARK: Many values

    private func many(_ realm: Realm) throws -> [Search] {
        var random = SeededNumbers(seed: 0x1A)
        var numbers: [Int] = []
        var words: [String] = []
        try realm.write {
            for row in 0..<rows {
                let number = Int(truncatingIfNeeded: random.next() >> 8)
                realm.create(
                    Figure.self,
                    value: ["number": number, "small": number % 1_000_000, "word": "word \(number % 500_000)"])
                if row % max(rows / values, 1) == 0, numbers.count < values {
                    numbers.append(number)
                    words.append("word \(number % 500_000)")
                }
            }
        }
        let small = numbers.map { $0 % 1_000_000 }
        func search(_ name: String, _ values: [any Sendable], _ target: Double?) -> Search {
            Search(title: "\(name) IN \(values.count) values", rows: rows, target: target) { realm in
                realm.objects(Figure.self).filter("\(name) IN %@", values).count
            }
        }
        return [search("number", numbers, 10), search("small", small, 10), search("word", words, nil)]
    }
}
