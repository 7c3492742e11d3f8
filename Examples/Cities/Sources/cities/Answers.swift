// SPDX-License-Identifier: Apache-2.0
// The questions as queries, and the answers as JSON or as a table.

import Foundation
import RealmSwift

/// The answers of the program; the names are those of the JSON object.
struct Answers: Encodable {
    struct LargeCity: Encodable {
        let name: String
        let country: String
        let population: Int
    }

    let cities: Int
    let countries: Int
    /// The five most populous, cities of equal population by name.
    let largest: [LargeCity]
    /// Cities with 10,000,000 people or more.
    let tenMillion: Int
    /// Cities of Japan with more than 1,000,000 people.
    let japanOverMillion: Int
    /// Sum of the cities' populations by continent code.
    let populationByContinent: [String: Int]
    /// Cities with an alternate name that contains "york", ignoring case.
    let alternateNameYork: Int

    init(asking realm: Realm) {
        let all = realm.objects(City.self)
        let allCountries = realm.objects(Country.self)
        cities = all.count
        countries = allCountries.count
        largest = all.sorted(by: [
            SortDescriptor(keyPath: "population", ascending: false), SortDescriptor(keyPath: "name"),
        ]).prefix(5).map {
            LargeCity(name: $0.name, country: $0.country?.name ?? "", population: $0.population)
        }
        tenMillion = all.where { $0.population >= 10_000_000 }.count
        japanOverMillion = all.where { $0.population > 1_000_000 && $0.country.iso == "JP" }.count
        alternateNameYork = all.filter("ANY alternateNames CONTAINS[c] %@", "york").count

        var populations: [String: Int] = [:]
        for continent in Set(allCountries.filter("cities.@count > 0").map(\.continentCode)) {
            populations[continent] = all.where { $0.country.continentCode == continent }.sum(of: \.population)
        }
        populationByContinent = populations
    }

    /// One JSON object on one line.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// The answers as a table.
    func table() -> String {
        var lines = ["\(cities) cities in \(countries) countries", "", "The most populous cities"]
        for (index, city) in largest.enumerated() {
            lines.append(row("\(index + 1). \(city.name), \(city.country)", city.population))
        }
        lines += ["", "People in these cities, by continent"]
        for (code, population) in populationByContinent.sorted(by: { $0.value > $1.value }) {
            lines.append(row(Self.continents[code] ?? code, population))
        }
        lines += [
            "", "How many cities",
            row("have 10,000,000 people or more", tenMillion),
            row("in Japan have more than 1,000,000", japanOverMillion),
            row("are called something with \"york\"", alternateNameYork),
            "", "Data: GeoNames (geonames.org), CC BY 4.0.",
        ]
        return lines.joined(separator: "\n")
    }

    private func row(_ label: String, _ number: Int) -> String {
        let digits = Self.grouped(number)
        let gap = max(1, 64 - label.count - digits.count)
        return "  " + label + String(repeating: " ", count: gap) + digits
    }

    private static func grouped(_ number: Int) -> String {
        var result = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0 && index.isMultiple(of: 3) { result.append(",") }
            result.append(digit)
        }
        return String(result.reversed())
    }

    private static let continents = [
        "AF": "Africa", "AN": "Antarctica", "AS": "Asia", "EU": "Europe", "NA": "North America",
        "OC": "Oceania",
        "SA": "South America",
    ]
}
