// SPDX-License-Identifier: Apache-2.0
// The operations that workloads need from an engine. An engine returns nil for an unsupported one.

import Foundation
import Synchronization

/// The result of a workload; compared with the reference answer before any time counts.
enum Answer: CustomStringConvertible {
    case whole(Int)
    /// A floating-point sum: the order of the additions affects the last digits.
    case fraction(Double)

    var description: String {
        switch self {
        case .whole(let value): "\(value)"
        case .fraction(let value): "\(value)"
        }
    }

    func agrees(with other: Answer) -> Bool {
        switch (self, other) {
        case (.whole(let left), .whole(let right)): left == right
        case (.fraction(let left), .fraction(let right)):
            abs(left - right) <= 1e-9 * max(abs(left), abs(right))
        default: false
        }
    }
}

/// The queries that are counted.
enum CountQuery {
    case age, ageActiveScore, namePrefix, nameContains, nameEquals, created, friendAge, hasBacklink
}

enum EngineName: String, CaseIterable {
    case ours, sqlite, grdb
}

/// The database that a workload runs on.
enum Fixture {
    /// An empty one, created again for each run.
    case empty
    /// All rows, kept open; workloads only read it, and before each run an unrelated row is committed to it.
    case loaded
    /// A copy of the loaded file, made again for each run.
    case copy
    /// All rows with a friend each, kept open.
    case linked
    /// All rows with an index on the name, created again for each run.
    case indexed
    /// All rows in memory, kept.
    case memory
    /// None: the workload opens the loaded file itself.
    case closed
}

/// A database engine with at most one open database. The workload methods are timed: everything that is not part of a
/// workload belongs in the others.
protocol Engine: AnyObject, SendableMetatype {
    init(inputs: Inputs)
    var name: EngineName { get }
    var inputs: Inputs { get }

    func open(_ path: String, indexed: Bool) throws
    /// Opens an in-memory database and fills it; false if the engine does not support the workload.
    func openMemory(_ people: People) throws -> Bool
    func close() throws
    /// Commits a row that no query matches: no cache of the previous version can answer.
    func commitUnrelated() throws

    /// In one durable write.
    func insert(_ rows: ArraySlice<PersonRow>) throws
    /// One durable write for each row, of ids from `rows` upward.
    func insertOneByOne(_ rows: [PersonRow]) throws
    /// Sum of the ages found by primary key.
    func sumAges(of keys: [Int]) throws -> Int?
    func sumAllAges() throws -> Int?
    func sumAllNameLengths() throws -> Int?
    /// One number of one object, `times` times.
    func readOneObject(times: Int) throws -> Int?
    func count(_ query: CountQuery) throws -> Int?
    /// The number of rows with these names, by an index on the name.
    func countByIndex(_ names: [String]) throws -> Int?
    func sumOfScores() throws -> Double?
    func averageAge() throws -> Double?
    /// `keyHash` of the primary keys of all people of 18 and more by age descending and name, or of the first ones.
    func sortedByAgeAndName(first: Int?) throws -> Int?
    func sortedByScore() throws -> Int?
    func setAges(_ changes: [(row: Int, age: Int)]) throws -> Bool
    func linkAll(_ friends: [Int]) throws -> Bool
    /// Sum of the ages of all friends; not timed.
    func sumOfFriendAges() throws -> Int
    /// Makes the index that a search for backlinks needs; not timed.
    func indexFriends() throws
    /// Adds an index on the name to the open database at `path`; false if the engine does not support the workload.
    func indexNames(_ path: String) throws -> Bool
    /// Deletes those younger than 10.
    func deleteYoung() throws -> Bool
    func delete(from id: Int) throws
    /// Opens the file, counts the rows and leaves it open.
    func openAndCount(_ path: String) throws -> Int?
    func refresh(times: Int) throws -> Bool
}

extension Engine {
    /// One durable write for each row, by `count` threads at once, each with its own open database.
    func insertFromThreads(_ count: Int, _ rows: [PersonRow], _ path: String) throws {
        let inputs = inputs
        let failures = Mutex<[String]>([])
        let group = DispatchGroup()
        for first in 0..<count {
            let own = stride(from: first, to: rows.count, by: count).map { rows[$0] }
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                do {
                    let engine = Self(inputs: inputs)
                    try engine.open(path, indexed: false)
                    try engine.insertOneByOne(own)
                    try engine.close()
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        group.wait()
        if let first = failures.withLock({ $0.first }) { throw Failure(first) }
    }
}

/// Depends on the order of the keys.
@inline(__always)
func keyHash(_ hash: Int, _ key: Int) -> Int { hash &* 31 &+ key }

extension Engine {
    func indexFriends() throws {}
    func openMemory(_ people: People) throws -> Bool { false }
    func insertOneByOne(_ rows: [PersonRow]) throws {
        throw Failure("\(name.rawValue) inserts no single rows")
    }
    func sumAllNameLengths() throws -> Int? { nil }
    func readOneObject(times: Int) throws -> Int? { nil }
    func countByIndex(_ names: [String]) throws -> Int? { nil }
    func sumOfScores() throws -> Double? { nil }
    func averageAge() throws -> Double? { nil }
    func sortedByScore() throws -> Int? { nil }
    func setAges(_ changes: [(row: Int, age: Int)]) throws -> Bool { false }
    func linkAll(_ friends: [Int]) throws -> Bool { false }
    func sumOfFriendAges() throws -> Int { 0 }
    func indexNames(_ path: String) throws -> Bool { false }
    func deleteYoung() throws -> Bool { false }
    func delete(from id: Int) throws {}
    func openAndCount(_ path: String) throws -> Int? { nil }
    func refresh(times: Int) throws -> Bool { false }
}

/// An error that ends the program, with a message for the user.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
