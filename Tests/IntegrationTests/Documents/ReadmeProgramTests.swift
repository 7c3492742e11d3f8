// SPDX-License-Identifier: Apache-2.0
// The first program of the README, which must also work if its file exists already.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private class Country: Object {
    @Persisted(primaryKey: true) var code: String
    @Persisted var name: String
    @Persisted(originProperty: "country") var cities: LinkingObjects<City>
}

private class City: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name: String
    @Persisted var population: Int
    @Persisted var country: Country?
    @Persisted var alternateNames: List<String>
}

@Suite("README's program") struct ReadmeProgramTests {
    private func run(_ url: URL) throws -> [String] {
        let realm = try Realm(configuration: .init(fileURL: url, objectTypes: [Country.self, City.self]))
        try realm.write {
            // Objects with these primary keys may be there already, from an earlier run.
            let japan = realm.create(Country.self, value: ["code": "JP", "name": "Japan"], update: .modified)
            realm.create(
                City.self, value: ["id": 1850147, "name": "Tokyo", "population": 9_733_276, "country": japan],
                update: .modified)
        }

        let large = realm.objects(City.self)
            .where { $0.country.code == "JP" && $0.population > 1_000_000 }
            .sorted(byKeyPath: "population", ascending: false)
        return large.map { "\($0.name) \($0.population) \($0.country?.cities.count ?? 0)" }
    }

    @Test("The program can be run repeatedly")
    func twice() throws {
        let folder = TestFolder()
        for _ in 1...3 { #expect(try run(folder.file("cities.realm")) == ["Tokyo 9733276 1"]) }
    }

    @Test("The program is the same as in the README")
    func sameText() throws {
        func lines(_ text: some StringProtocol) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let here = URL(fileURLWithPath: #filePath)
        let folder = here.deletingLastPathComponent()
        let root = folder.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let start = try #require(readme.range(of: "import RealmSwift\n\nclass Country"))
        let program = try #require(readme[start.lowerBound...].range(of: "```")).lowerBound
        let own = Set(lines(try String(contentsOf: here, encoding: .utf8)))
        for line in lines(readme[start.lowerBound..<program]).dropFirst()
        where !line.hasPrefix("class ") && !line.hasPrefix("let realm = ") && !line.hasPrefix("for city") {
            #expect(own.contains(line), "\(line)")
        }
    }
}
