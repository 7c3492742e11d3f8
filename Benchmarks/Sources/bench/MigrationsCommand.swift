// SPDX-License-Identifier: Apache-2.0
// A migration that computes a property of each object, beside the insertion of the same objects: the numbers for
// migrations in Documentation/PERFORMANCE.md.

import ArgumentParser
import Foundation
import RealmSwift

/// `Person` in the next version of the program.
final class GrownPerson: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var age: Int
    @Persisted var score: Double
    @Persisted var active: Bool
    @Persisted var created: Date
    @Persisted var email: String?
    @Persisted var friend: GrownPerson?
    @Persisted var months: Int
    @Persisted var label: String

    override class func _realmObjectName() -> String? { "Person" }
}

struct MigrationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrations", abstract: "Measures migrations of all objects of a class.")

    @Option(help: "Objects.")
    var objects = 1_000_000

    @Option(help: "Runs of each; the median is shown.")
    var runs = 3

    @Option(help: "Folder for the database.")
    var directory = ".build-bench"

    @Flag(help: "Exit with an error where a migration takes more than twice the insertion.")
    var check = false

    func run() throws {
        let folder = URL(fileURLWithPath: directory).appendingPathComponent("migrations-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let people = People(count: objects)
        var inserting: [Double] = []
        var migrating = [[Double]](repeating: [], count: Computed.all.count)
        for run in 0..<runs {
            let original = folder.appendingPathComponent("original-\(run).realm")
            inserting.append(try seconds { try insert(people, into: original) })
            for (number, computed) in Computed.all.enumerated() {
                let file = folder.appendingPathComponent("\(number)-\(run).realm")
                try FileManager.default.copyItem(at: original, to: file)
                migrating[number].append(try seconds { try migrate(file, computed) })
                try FileManager.default.removeItem(at: file)
            }
        }
        let insertion = median(inserting)
        print("| what | ns for each object | of the insertion |\n|---|---|---|")
        print("| insertion | \(whole(insertion)) | 1 |")
        var worst = 0.0
        for (computed, times) in zip(Computed.all, migrating) {
            let ratio = median(times) / insertion
            worst = max(worst, ratio)
            print("| \(computed.name) | \(whole(median(times))) | \((ratio * 100).rounded() / 100) |")
        }
        if check, worst > 2 { throw ExitCode.failure }
    }

    private func whole(_ seconds: Double) -> Int { Int(seconds * 1e9 / Double(objects)) }

    private func insert(_ people: People, into file: URL) throws {
        let realm = try Realm(configuration: Realm.Configuration(fileURL: file, objectTypes: [Person.self]))
        try realm.write { for row in people.rows[..<objects] { realm.add(Person(row)) } }
    }

    private func migrate(_ file: URL, _ computed: Computed) throws {
        let configuration = Realm.Configuration(
            fileURL: file, schemaVersion: 1,
            migrationBlock: { migration, _ in migration.enumerateObjects(ofType: "Person", computed.block) },
            objectTypes: [GrownPerson.self])
        let realm = try Realm(configuration: configuration)
        guard computed.isRight(realm.objects(GrownPerson.self), objects) else {
            throw Failure("\(computed.name): the file holds other values")
        }
    }

    private func seconds(_ body: () throws -> Void) rethrows -> Double {
        let time = try ContinuousClock().measure(body).components
        return Double(time.seconds) + Double(time.attoseconds) * 1e-18
    }

    private func median(_ times: [Double]) -> Double { times.sorted()[times.count / 2] }
}

/// The value that a migration computes for each object.
private struct Computed: Sendable {
    var name: String
    var block: @Sendable (MigrationObject?, MigrationObject?) -> Void
    var isRight: @Sendable (Results<GrownPerson>, Int) -> Bool

    static let all = [
        Computed(
            name: "a number of a number",
            block: { old, new in new?["months"] = (old?["age"] as? Int ?? 0) * 12 },
            isRight: { people, _ in
                let ages: Int = people.sum(of: \.age)
                return people.sum(of: \.months) == ages * 12
            }),
        Computed(
            name: "a text of a text and a number",
            block: { old, new in
                new?["label"] = "\(old?["name"] as? String ?? "") (\(old?["age"] as? Int ?? 0))"
            },
            isRight: { people, count in people.where { $0.label.ends(with: ")") }.count == count }),
    ]
}
