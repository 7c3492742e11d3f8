// SPDX-License-Identifier: Apache-2.0
// The hot paths, one at a time, on a database in memory, or in a file to measure the cost of commits: for a profiler,
// and for Scripts/ci/instructions, which counts the instructions of each with callgrind and compares them with the
// counts in the repository.

import ArgumentParser
import Foundation
import RealmSwift

struct HotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hot", abstract: "Runs one hot path again and again, for a profiler.")

    @Argument(help: "The path; without one, their names are listed.")
    var path: String?

    @Option(help: "Objects.")
    var objects = 1_000_000

    @Option(help: "How often the path is run.")
    var times = 100

    @Option(help: "Makes the database in this file, which must not be there, instead of in memory.")
    var file: String?

    @Flag(help: "Fill and link the database, and run nothing.")
    var prepareOnly = false

    func run() throws {
        let names = (Array(HotPath.all.keys) + HotCollections.all.keys).sorted()
        guard let name = path else { return print(names.joined(separator: "\n")) }
        if let body = HotCollections.all[name] {
            let shelves = try HotCollections(objects: objects)
            return try run(name) { _ in try body(shelves) }
        }
        guard let body = HotPath.all[name] else {
            throw ValidationError("There is no path \(name); \(names.joined(separator: ", "))")
        }
        let people = People(count: objects)
        let engine = RegnumEngine(inputs: Inputs(people, rows: objects, lookups: 10_000))
        if let file {
            guard !FileManager.default.fileExists(atPath: file) else {
                throw ValidationError("\(file) is there already")
            }
            try engine.open(file, indexed: name.hasPrefix("index-"))
            try engine.insert(people.rows[..<objects])
        } else {
            try engine.openMemory(people, indexed: name.hasPrefix("index-"))
        }
        if name.hasPrefix("link-") { _ = try engine.linkAll(engine.inputs.friends) }
        try run(name) { turn in try body(engine, people, turn) }
    }

    private func run(_ name: String, _ body: @escaping (Int) throws -> Void) throws {
        // The first round pays for one-time work: caches of classes, views of row groups.
        try body(0)
        HotPath.current = { for turn in 1...max(times, 1) { try body(turn) } }
        if prepareOnly { return }
        let clock = ContinuousClock()
        let time = clock.measure { runHotPath() }.components
        let nanoseconds = Double(time.seconds) * 1e9 + Double(time.attoseconds) * 1e-9
        print("\(name): \((nanoseconds / Double(times) / 10).rounded() / 100) us a turn")
    }
}

/// In Scripts/ci/instructions, callgrind collects in this function.
@inline(never)
func runHotPath() {
    do { try HotPath.current() } catch { fatalError("A hot path failed: \(error)") }
}

enum HotPath {
    nonisolated(unsafe) static var current: () throws -> Void = {}

    typealias Body = @Sendable (RegnumEngine, People, Int) throws -> Void

    static let all: [String: Body] = [
        "insert": { engine, people, turn in
            let first = engine.inputs.rows + turn * 100
            try engine.insert(people.moved(to: first, count: 100)[...])
        },
        "commit": { engine, people, turn in
            try engine.insertOneByOne(people.moved(to: engine.inputs.rows + turn, count: 1))
        },
        // 16,000 commits in each round, in a file.
        "commit-threads": { engine, people, turn in
            guard let path = engine.path else { throw ValidationError("commit-threads needs --file") }
            let first = engine.inputs.rows + turn * 16_000
            try engine.insertFromThreads(16, people.moved(to: first, count: 16_000), path)
        },
        "lookup": { engine, _, _ in sink(try engine.sumAges(of: engine.inputs.lookups) ?? 0) },
        "index-find": { engine, _, _ in sink(try engine.countByIndex(engine.inputs.names) ?? 0) },
        "iterate-int": { engine, _, _ in sink(try engine.sumAllAges() ?? 0) },
        "iterate-string": { engine, _, _ in sink(try engine.sumAllNameLengths() ?? 0) },
        "count-int": { engine, _, _ in sink(try engine.count(.age) ?? 0) },
        "count-three": { engine, _, _ in sink(try engine.count(.ageActiveScore) ?? 0) },
        "count-date": { engine, _, _ in sink(try engine.count(.created) ?? 0) },
        "count-prefix": { engine, _, _ in sink(try engine.count(.namePrefix) ?? 0) },
        "count-contains": { engine, _, _ in sink(try engine.count(.nameContains) ?? 0) },
        "link-count": { engine, _, _ in sink(try engine.count(.friendAge) ?? 0) },
        "link-backlinks": { engine, _, _ in sink(try engine.count(.hasBacklink) ?? 0) },
        "link-set": { engine, _, _ in _ = try engine.linkAll(engine.inputs.friends) },
        "sum": { engine, _, _ in sink(Int(try engine.sumOfScores() ?? 0)) },
        "average": { engine, _, _ in sink(Int(try engine.averageAge() ?? 0)) },
        "sort-two": { engine, _, _ in sink(try engine.sortedByAgeAndName(first: nil) ?? 0) },
        "sort-one": { engine, _, _ in sink(try engine.sortedByScore() ?? 0) },
        "top": { engine, _, _ in sink(try engine.sortedByAgeAndName(first: 20) ?? 0) },
        "set": { engine, _, _ in _ = try engine.setAges(engine.inputs.changes) },
    ]
}

extension People {
    /// The first rows with other ids.
    fileprivate func moved(to first: Int, count: Int) -> [PersonRow] {
        rows[..<count].enumerated().map { offset, row in
            PersonRow(
                id: first + offset, name: row.name, age: row.age, score: row.score, active: row.active,
                created: row.created, email: row.email)
        }
    }
}
