// SPDX-License-Identifier: Apache-2.0
// The import of a JSON file as programs do it: Foundation's decoder makes objects of the schema, which are then added.

import Foundation
import RealmSwift

/// A line of cities15000.jsonl.
final class City: Object, Decodable {
    @Persisted(primaryKey: true) var geonameid: Int
    @Persisted var name: String
    @Persisted var latitude: Double
    @Persisted var longitude: Double
    @Persisted var countrycode: String
    @Persisted var population: Int
    @Persisted var timezone: String
    @Persisted var admin1code: String
    @Persisted var alternatenames: List<String>
}

/// Values that are read from the file for comparison, without any class.
private struct CityFacts: Decodable {
    let population: Int
    let alternatenames: [String]
}

extension TasksCommand {
    /// A row for the decoding and one for Regnum's part of the import; none without the file.
    func importCities(_ folder: URL) throws {
        let file = data.map { URL(fileURLWithPath: $0).appendingPathComponent("cities15000.jsonl") }
        guard let file, let text = try? String(contentsOf: file, encoding: .utf8) else {
            return note("The JSON import is not measured: --data names no folder with cities15000.jsonl.")
        }
        let lines = text.split(separator: "\n").map { Data($0.utf8) }
        let decoder = JSONDecoder()
        let facts = try lines.map { line in try decoder.decode(CityFacts.self, from: line) }
        var cities: [City] = []
        cities.reserveCapacity(lines.count)
        try row("a city, JSON to an object of 9 properties", of: lines.count) {
            for line in lines { cities.append(try decoder.decode(City.self, from: line)) }
        }
        let realm = try Realm(
            configuration: Realm.Configuration(
                fileURL: folder.appendingPathComponent("cities.realm"), objectTypes: [City.self]))
        try row("add(_:) of a decoded city, one durable write", of: lines.count) {
            try realm.write { realm.add(cities) }
        }
        let stored = realm.objects(City.self)
        let population: Int = stored.sum(of: \.population)
        var names = 0
        for city in stored { names += city.alternatenames.count }
        guard stored.count == lines.count, population == facts.reduce(0, { $0 + $1.population }),
            names == facts.reduce(0, { $0 + $1.alternatenames.count })
        else { throw Failure("the file holds other cities") }
    }
}
