// SPDX-License-Identifier: Apache-2.0
// The command: loads cities into a file, opens it again and queries it.

import ArgumentParser
import Foundation
import RealmSwift

@main
struct CitiesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cities",
        abstract: "Loads the cities of the world into a file and answers questions from it.",
        discussion: "Data: GeoNames (geonames.org), licensed CC BY 4.0."
    )

    @Option(
        help: "Folder with countries.jsonl and cities*.jsonl. Default: the part that comes with the program.")
    var data: String?

    @Option(help: "The database file, made if it does not exist. Default: a new file in a temporary folder.")
    var realm: String?

    @Flag(help: "Print one JSON object on standard output and nothing else.")
    var json = false

    func run() throws {
        let folder = try data.map { try DataFolder(URL(fileURLWithPath: $0, isDirectory: true)) }
        let file = try realm.map { URL(fileURLWithPath: $0) } ?? Self.temporaryFile()
        note("File: \(file.path)")
        do {
            // Each function opens and closes the file, so the answers come from written data.
            try Self.load(folder, into: file)
            let answers = try Self.ask(file)
            print(json ? try answers.json() : answers.table())
        } catch let error as Realm.Error {
            throw Failure(error.localizedDescription)
        }
    }

    private static func load(_ folder: DataFolder?, into file: URL) throws {
        try cities.load(folder, into: open(file))
    }

    private static func ask(_ file: URL) throws -> Answers {
        let clock = ContinuousClock()
        let start = clock.now
        let answers = Answers(asking: try open(file))
        note("Opened and answered in \(Int((clock.now - start) / .milliseconds(1))) ms.")
        return answers
    }

    private static func open(_ file: URL) throws -> Realm {
        try Realm(
            configuration: Realm.Configuration(
                fileURL: file, objectTypes: [City.self, Country.self, LoadedData.self]))
    }

    private static func temporaryFile() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "cities-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw Failure(
                "No temporary folder could be made: \(error.localizedDescription). Name a file: --realm FILE")
        }
        return folder.appendingPathComponent("cities.realm")
    }
}
