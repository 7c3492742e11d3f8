// SPDX-License-Identifier: Apache-2.0
// The time to open a file of 200 classes: when its tables are created, when they exist, and until the first object of a
// class is available.

import ArgumentParser
import Foundation
import RealmSwift

struct OpeningCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "opening", abstract: "Measures opening a file of 200 classes.")

    @Option(help: "Files that are made; medians are shown.")
    var runs = 21

    @Option(help: "Folder for the databases.")
    var directory = ".build-bench"

    func validate() throws {
        guard runs >= 1 else { throw ValidationError("--runs must be at least 1.") }
    }

    func run() throws {
        let folder = URL(fileURLWithPath: directory).appendingPathComponent("opening-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Alone, because the process reads its class list only once.
        let first = try measure(folder.appendingPathComponent("first.realm"))
        var others: [Times] = []
        for run in 0..<runs { others.append(try measure(folder.appendingPathComponent("\(run).realm"))) }
        print("| \(manyClasses.count) classes | ms |\n|---|---|")
        row("first opening of the process: reads the classes, makes the tables, one durable write", [first.making])
        row("opening that makes the tables, one durable write", others.map(\.making))
        row("opening again, after the last Realm has gone", others.map(\.again))
        row("first objects(_:) of a Realm, and one Int of the first object", others.map(\.access))
    }

    /// In nanoseconds.
    private struct Times {
        var making: Double
        var again: Double
        var access: Double
    }

    private func measure(_ file: URL) throws -> Times {
        let configuration = Realm.Configuration(fileURL: file, objectTypes: manyClasses)
        let making = try opening(configuration) { realm in
            try realm.write { _ = realm.create(C001.self, value: ["id": 7]) }
        }
        var access = 0.0
        let again = try opening(configuration) { realm in
            var id: Int?
            access = nanoseconds { id = realm.objects(C001.self).first?.id }
            guard id == 7 else { throw Failure("the object of the first opening is not there") }
        }
        // Throws if a Realm is still open: then the file was not opened again.
        try Realm.deleteFiles(for: configuration)
        return Times(making: making, again: again, access: access)
    }

    /// The duration of the opening, without `body` and without closing the Realm after it.
    private func opening(_ configuration: Realm.Configuration, _ body: (Realm) throws -> Void) throws -> Double {
        var opened: Realm?
        let elapsed = try nanoseconds { opened = try Realm(configuration: configuration) }
        guard let realm = opened, realm.schema.objectSchema.count == manyClasses.count else {
            throw Failure("the Realm has other classes")
        }
        try body(realm)
        return elapsed
    }

    private func row(_ what: String, _ times: [Double]) {
        print("| \(what) | \(shortened(times.sorted()[times.count / 2] / 1_000_000)) |")
    }
}
