// SPDX-License-Identifier: Apache-2.0
// The stored classes: cities, the countries they link to, and the source of the data.

import RealmSwift

/// A country or territory.
final class Country: Object {
    /// ISO 3166-1 code of two letters.
    @Persisted(primaryKey: true) var iso: String
    @Persisted var name: String
    @Persisted var continentCode: String
    @Persisted var capital: String
    @Persisted var population: Int
    /// In square kilometres.
    @Persisted var area: Double
    @Persisted(originProperty: "country") var cities: LinkingObjects<City>
}

/// A city, with the number that GeoNames gave it.
final class City: Object {
    @Persisted(primaryKey: true) var geonameid: Int
    @Persisted var name: String
    @Persisted var latitude: Double
    @Persisted var longitude: Double
    @Persisted var countryCode: String
    @Persisted(indexed: true) var population: Int
    @Persisted var timezone: String
    @Persisted var admin1Code: String
    @Persisted var alternateNames: List<String>
    @Persisted var country: Country?
}

/// The files that filled the database; a loaded file has one such object.
final class LoadedData: Object {
    /// Names and sizes of the data files.
    @Persisted(primaryKey: true) var fingerprint: String
}
