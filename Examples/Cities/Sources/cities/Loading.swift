// SPDX-License-Identifier: Apache-2.0
// Fills a file from the data, in one write: after a crash or an error it holds all of the data or none.

import Foundation
import RealmSwift

/// Loads the file if necessary, and reports on standard error.
///
/// Without `folder` a loaded file is not changed, whatever its source. With a folder it is loaded again only if its
/// data came from other files.
func load(_ folder: DataFolder?, into realm: Realm) throws {
    let loaded = realm.objects(LoadedData.self).first
    if let loaded, folder == nil {
        note("The file holds \(loaded.fingerprint) already.")
        return
    }
    let folder = try folder ?? DataFolder.shipped()
    let fingerprint = try folder.fingerprint()
    if loaded?.fingerprint == fingerprint {
        note("The file holds \(fingerprint) already.")
        return
    }
    note("Loading \(fingerprint). Data: GeoNames (geonames.org), CC BY 4.0.")

    var progress = Progress()
    try realm.write {
        realm.delete(realm.objects(City.self))
        realm.delete(realm.objects(Country.self))
        realm.delete(realm.objects(LoadedData.self))
        let countries = try addCountries(folder.countries, to: realm, &progress)
        for file in folder.cities {
            try addCities(file, to: realm, countries, &progress)
        }
        realm.create(LoadedData.self, value: ["fingerprint": fingerprint])
    }
    progress.finish()
}

private func addCountries(_ file: URL, to realm: Realm, _ progress: inout Progress) throws -> [String:
    Country]
{
    var countries: [String: Country] = [:]
    try DataFolder.forEachLine(of: file, as: CountryLine.self) { line in
        let country = Country()
        country.iso = line.iso
        country.name = line.name
        country.continentCode = line.continentcode
        country.capital = line.capital
        country.population = line.population
        country.area = line.areakm2
        // .modified: a duplicate line is an update, not an error of the program.
        realm.add(country, update: .modified)
        countries[line.iso] = country
        progress.advance()
    }
    return countries
}

private func addCities(
    _ file: URL, to realm: Realm, _ countries: [String: Country], _ progress: inout Progress
) throws {
    try DataFolder.forEachLine(of: file, as: CityLine.self) { line in
        let city = City()
        city.geonameid = line.geonameid
        city.name = line.name
        city.latitude = line.latitude
        city.longitude = line.longitude
        city.countryCode = line.countrycode
        city.population = line.population
        city.timezone = line.timezone
        city.admin1Code = line.admin1code
        city.alternateNames.append(objectsIn: line.alternatenames)
        city.country = countries[line.countrycode]
        realm.add(city, update: .modified)
        progress.advance()
    }
}

/// Counts rows and shows their rate.
private struct Progress {
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var rows = 0
    /// On a terminal the line overwrites itself; in a log only the last one appears.
    private let isTerminal = isatty(STDERR_FILENO) == 1

    init() { start = clock.now }

    mutating func advance() {
        rows += 1
        if isTerminal && rows.isMultiple(of: 500) { write("\r" + line) }
    }

    func finish() { write((isTerminal ? "\r" : "") + line + "\n") }

    private var line: String {
        let seconds = (clock.now - start) / .seconds(1)
        return "\(rows) rows in \(rounded(seconds)) s, \(Int(Double(rows) / max(seconds, 0.000_001))) rows/s"
    }

    private func rounded(_ seconds: Double) -> String { String(format: "%.2f", seconds) }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}

/// Progress, paths and timings go to standard error, so that standard output holds answers alone.
func note(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}
