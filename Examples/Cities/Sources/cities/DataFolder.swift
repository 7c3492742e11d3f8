// SPDX-License-Identifier: Apache-2.0
// The data files of a folder: one JSON object on each line, countries in one file and cities in others.

import Foundation

/// An error that ends the program, with a message for the user.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// One line of countries.jsonl; other keys are skipped.
struct CountryLine: Decodable {
    let iso, name, continentcode, capital: String
    let population: Int
    let areakm2: Double
}

/// One line of a file of cities.
struct CityLine: Decodable {
    let geonameid: Int
    let name: String
    let latitude, longitude: Double
    let countrycode: String
    let population: Int
    let timezone, admin1code: String
    let alternatenames: [String]
}

/// A folder with countries.jsonl and at least one cities*.jsonl.
struct DataFolder {
    let countries: URL
    let cities: [URL]

    /// The part of GeoNames that comes with the program.
    static func shipped() throws -> DataFolder {
        try DataFolder(Bundle.module.bundleURL.appendingPathComponent("Resources"))
    }

    init(_ folder: URL) throws {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        } catch {
            throw Failure("The folder \(folder.path) cannot be read: \(error.localizedDescription)")
        }
        guard names.contains("countries.jsonl") else {
            throw Failure("The folder \(folder.path) holds no countries.jsonl.")
        }
        countries = folder.appendingPathComponent("countries.jsonl")
        cities = names.filter { $0.hasPrefix("cities") && $0.hasSuffix(".jsonl") }.sorted()
            .map { folder.appendingPathComponent($0) }
        guard !cities.isEmpty else { throw Failure("The folder \(folder.path) holds no cities*.jsonl.") }
    }

    /// Names and sizes of the files: identifies a data set without reading it.
    func fingerprint() throws -> String {
        try ([countries] + cities).map { file in
            do {
                let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int ?? 0
                return "\(file.lastPathComponent) \(size)"
            } catch {
                throw Failure("\(file.path) cannot be read: \(error.localizedDescription)")
            }
        }.joined(separator: ", ")
    }

    /// Decodes a file line by line. An error names the file and the line.
    static func forEachLine<Line: Decodable>(of file: URL, as type: Line.Type, _ body: (Line) throws -> Void)
        throws
    {
        let data: Data
        do {
            data = try Data(contentsOf: file)
        } catch {
            throw Failure("\(file.path) cannot be read: \(error.localizedDescription)")
        }
        let decoder = JSONDecoder()
        for (index, bytes) in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        where !bytes.isEmpty {
            let line: Line
            do {
                line = try decoder.decode(type, from: bytes)
            } catch {
                throw Failure("\(file.path), line \(index + 1) is not what was expected: \(error)")
            }
            try body(line)
        }
    }
}
