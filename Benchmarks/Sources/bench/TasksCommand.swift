// SPDX-License-Identifier: Apache-2.0
// Tasks of programs besides the workloads: objects from dictionaries, upserts, large collections, held objects, reading
// while another thread commits, the program's own part of I1, and JSON (JSONImport.swift). SQLite has no equivalent to
// compare with.

import ArgumentParser
import Foundation
import RealmSwift
import Synchronization

final class Shelf: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var title: String
    @Persisted var numbers: List<Int>
    @Persisted var marks: MutableSet<Int>
    @Persisted var prices: Map<String, Int>

    func insertMarks(_ numbers: Range<Int>) { for number in numbers { marks.insert(scattered(number)) } }

    func insertPrices(_ numbers: Range<Int>) { for number in numbers { prices["key \(scattered(number))"] = number } }
}

/// A permutation of the numbers below a billion that looks random.
private func scattered(_ number: Int) -> Int { number &* 2_654_435_761 % 1_000_000_007 }

struct TasksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tasks", abstract: "Measures what programs do besides the workloads.")

    @Option(help: "Objects, and elements of a collection.")
    var objects = 200_000

    @Option(help: "Folder for the database.")
    var directory = ".build-bench"

    @Option(help: "The folder with cities15000.jsonl; without it no JSON is imported.")
    var data: String?

    func run() throws {
        let folder = URL(fileURLWithPath: directory).appendingPathComponent("tasks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("tasks.realm")
        let configuration = Realm.Configuration(fileURL: file, objectTypes: [Shelf.self])
        let realm = try Realm(configuration: configuration)
        print("| task | each |\n|---|---|")
        try writeObjects(realm)
        try writeCollections(realm)
        try holdObjects(realm)
        for readers in [1, 2, 4] { try read(readers, configuration) }
        try insertPeople(folder)
        try importCities(folder)
    }

    /// One durable write each.
    private func writeObjects(_ realm: Realm) throws {
        try row("create(value:) from a dictionary of two") {
            try realm.write {
                for id in 0..<objects { realm.create(Shelf.self, value: ["id": id, "title": "shelf \(id)"]) }
            }
        }
        try row("create(value:update: .modified) of objects that exist") {
            try realm.write {
                for id in 0..<objects {
                    realm.create(Shelf.self, value: ["id": id, "title": "shelf \(id + 1)"], update: .modified)
                }
            }
        }
        try row("add(_:update: .modified) of objects that exist") {
            try realm.write {
                for id in 0..<objects {
                    let shelf = Shelf()
                    shelf.id = id
                    shelf.title = "shelf \(id)"
                    realm.add(shelf, update: .modified)
                }
            }
        }
    }

    /// In one write, all into one object.
    private func writeCollections(_ realm: Realm) throws {
        guard let shelf = realm.object(ofType: Shelf.self, forPrimaryKey: 0) else {
            throw Failure("the first object is gone")
        }
        try row("List<Int>.append") { try realm.write { for number in 0..<objects { shelf.numbers.append(number) } } }
        var sum = 0
        try row("an element of a List<Int> in a loop") { for number in shelf.numbers { sum &+= number } }
        guard sum == objects * (objects - 1) / 2 else { throw Failure("the list holds other numbers") }
        try row("MutableSet<Int>.insert, random") {
            try realm.write { shelf.insertMarks(0..<objects) }
        }
        try row("a key of a Map<String, Int>, random") {
            try realm.write { shelf.insertPrices(0..<objects) }
        }
    }

    private func holdObjects(_ realm: Realm) throws {
        let before = privateMemory()
        let held = Array(realm.objects(Shelf.self))
        let bytes = privateMemory() - before
        guard held.count == objects else { throw Failure("\(held.count) objects") }
        print("| memory of an object that is held | \(bytes / objects) bytes |")
    }

    /// Sums of all primary keys by this many threads, while another one commits as fast as the disk allows.
    private func read(_ readers: Int, _ configuration: Realm.Configuration) throws {
        let isOver = Atomic(false)
        let commits = Atomic(0)
        let sums = Atomic(0)
        let failures = Mutex<[String]>([])
        let group = DispatchGroup()
        func start(_ body: @escaping @Sendable () throws -> Void) {
            group.enter()
            Thread.detachNewThread {
                do { try body() } catch { failures.withLock { $0.append("\(error)") } }
                group.leave()
            }
        }
        let objects = objects
        start {
            let realm = try Realm(configuration: configuration)
            while !isOver.load(ordering: .relaxed) {
                try realm.write { realm.objects(Shelf.self)[0].title = "\(commits.load(ordering: .relaxed))" }
                commits.add(1, ordering: .relaxed)
            }
        }
        for _ in 0..<readers {
            start {
                let realm = try Realm(configuration: configuration)
                while !isOver.load(ordering: .relaxed) {
                    realm.refresh()
                    var sum = 0
                    for shelf in realm.objects(Shelf.self) { sum &+= shelf.id }
                    guard sum == objects * (objects - 1) / 2 else { throw Failure("a sum is wrong") }
                    sums.add(1, ordering: .relaxed)
                }
            }
        }
        Thread.sleep(forTimeInterval: 2)
        isOver.store(true, ordering: .relaxed)
        group.wait()
        if let first = failures.withLock({ $0.first }) { throw Failure(first) }
        let done = sums.load(ordering: .relaxed)
        let each = done == 0 ? 0 : 2e9 * Double(readers) / Double(done * objects)
        print(
            "| \(readers) readers beside a writer, an object of one reader | \((each * 10).rounded() / 10) ns, "
                + "\(commits.load(ordering: .relaxed) / 2) commits a second |")
    }

    /// I1, and its lower bound for any database.
    private func insertPeople(_ folder: URL) throws {
        let people = People(count: objects)
        let engine = RegnumEngine(inputs: Inputs(people, rows: objects, lookups: 0))
        try engine.open(folder.appendingPathComponent("people.realm").path, indexed: false)
        defer { try? engine.close() }
        try row("floor of I1: its objects made, filled and dropped") { engine.makeAndDrop(people.rows[...]) }
        try row("I1: the same objects added, one durable write") { try engine.insert(people.rows[...]) }
        let ages = people.rows.reduce(0) { $0 + $1.age }
        guard try engine.sumAllAges() == ages else { throw Failure("the people have other ages") }
    }

    /// Prints the time for each of `count`, by default the number of objects.
    func row(_ task: String, of count: Int? = nil, _ body: () throws -> Void) throws {
        let elapsed = try nanoseconds(body)
        print("| \(task) | \((elapsed / Double(count ?? objects)).rounded()) ns |")
    }
}
