// SPDX-License-Identifier: Apache-2.0
// Reading a file in Realm's own format, and importing it, beside our own insert of as many objects.

import ArgumentParser
import Foundation
import RegnumRealmFile
import RegnumRealmImport

struct OldFilesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "old-files", abstract: "Measures reading and importing a file in Realm's own format.")

    @Argument(help: "The file.")
    var file: String

    @Option(help: "The class whose objects are read.")
    var type = "Person"

    @Option(help: "One of its properties of type Int.")
    var number = "age"

    @Option(help: "One of its properties of type String.")
    var text = "name"

    @Option(help: "Runs, of which the fastest counts.")
    var runs = 5

    @Option(help: "Folder for the databases.")
    var directory = ".build-bench"

    func run() throws {
        let url = URL(fileURLWithPath: file)
        let folder = URL(fileURLWithPath: directory).appendingPathComponent("old-files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        guard let table = try RealmFile(url: url).classes.first(where: { $0.name == type }),
            let number = table.index(of: number), let text = table.index(of: text)
        else { throw Failure("the file has no class \(type) with these properties") }
        let count = table.objectCount
        print("\(count) objects of \(type)\n\n| task | each |\n|---|---|")
        try row("open the file and visit its objects", count) { try visit(url, count) { _ in } }
        try row("read an Int of each", count) { try visit(url, count) { _ = try $0.value(at: number) } }
        try row("read a String of each", count) { try visit(url, count) { _ = try $0.value(at: text) } }
        try row("read all properties of each", count) { try visit(url, count) { _ = try $0.values() } }
        try importFile(url, folder)
        let people = People(count: count)
        try row("I1: as many objects added, one durable write", count) { try insert(people, folder) }
    }

    private func visit(_ url: URL, _ count: Int, _ body: (RealmFileObject) throws -> Void) throws {
        let file = try RealmFile(url: url)
        guard let table = file.classes.first(where: { $0.name == type }) else { throw Failure("no class \(type)") }
        var seen = 0
        try file.forEachObject(of: table) { object in
            try body(object)
            seen += 1
        }
        guard seen == count else { throw Failure("\(seen) objects instead of \(count)") }
    }

    /// Per object of all classes.
    private func importFile(_ url: URL, _ folder: URL) throws {
        let all = try RealmFile(url: url).classes.reduce(0) { $0 + $1.objectCount }
        for verifies in [false, true] {
            try row("import into a new file\(verifies ? ", with its verification" : "")", all) {
                let new = folder.appendingPathComponent("new-\(UUID().uuidString).realm")
                var job = RealmFileImport(from: url, to: new)
                job.verifies = verifies
                guard try job.run().isComplete else { throw Failure("the import is not complete") }
            }
        }
    }

    private func insert(_ people: People, _ folder: URL) throws {
        let engine = RegnumEngine(inputs: Inputs(people, rows: people.rows.count, lookups: 0))
        try engine.open(folder.appendingPathComponent("\(UUID().uuidString).realm").path, indexed: false)
        try engine.insert(people.rows[...])
        try engine.close()
    }

    private func row(_ task: String, _ count: Int, _ body: () throws -> Void) throws {
        let times = try (0..<runs).map { _ in try nanoseconds(body) }
        print("| \(task) | \(((times.min() ?? 0) / Double(max(count, 1))).rounded()) ns |")
    }
}
