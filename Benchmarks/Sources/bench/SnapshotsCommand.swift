// SPDX-License-Identifier: Apache-2.0
// The cost of decoding objects as values of a user's type, beside a loop that creates the values by hand.

import ArgumentParser
import Foundation
import RealmSwift

final class Reader: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var email = ""
    @Persisted var age = 0
    @Persisted var score = 0.0
    @Persisted var isActive = false
    @Persisted var created = Date(timeIntervalSince1970: 0)
    @Persisted var nick: String?
    @Persisted var shade = Shade.light
    @Persisted var friend: Reader?
    @Persisted var loans: List<Loan>
}

final class Loan: Object {
    @Persisted var title = ""
    @Persisted var days = 0
}

/// Numbers, texts and a date, one of them optional.
struct FlatReader: Codable, Sendable, Equatable {
    var id: Int
    var name: String
    var email: String
    var age: Int
    var score: Double
    var isActive: Bool
    var created: Date
    var nick: String?
}

struct NamedReader: Codable, Sendable, Equatable {
    var id: Int
    var name: String
}

/// With a link.
struct LinkedReader: Codable, Sendable, Equatable {
    var id: Int
    var name: String
    var friend: NamedReader?
}

/// With an enum.
struct ShadedReader: Codable, Sendable, Equatable {
    enum Shade: Int, Codable { case light, dark }
    var id: Int
    var shade: Shade
}

/// With a list.
struct LendingReader: Codable, Sendable, Equatable {
    struct Loan: Codable, Sendable, Equatable {
        var title: String
        var days: Int
    }
    var id: Int
    var loans: [Loan]
}

struct SnapshotsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshots", abstract: "Measures snapshots(as:) beside a loop by hand.")

    @Option(name: .customLong("objects"), help: "Objects.")
    var rows = 200_000

    @Option(help: "Timed runs of each; medians are shown.")
    var runs = 7

    @Flag(help: "Fail if plain values take more than twice as long as by hand.")
    var check = false

    private static let limit = 2.0

    func run() throws {
        let realm = try Realm(
            configuration: Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [Reader.self, Loan.self]))
        try fill(realm)
        let all = realm.objects(Reader.self)
        print("| values | ns an object | by hand | ratio | million objects a second |\n|---|---|---|---|---|")
        let ratio = try row("flat", { try all.snapshots(as: FlatReader.self) }) {
            all.map {
                FlatReader(
                    id: $0.id, name: $0.name, email: $0.email, age: $0.age, score: $0.score, isActive: $0.isActive,
                    created: $0.created, nick: $0.nick)
            }
        }
        _ = try row("two properties", { try all.snapshots(as: NamedReader.self) }) {
            all.map { NamedReader(id: $0.id, name: $0.name) }
        }
        _ = try row("enum", { try all.snapshots(as: ShadedReader.self) }) {
            all.map { ShadedReader(id: $0.id, shade: $0.shade == .light ? .light : .dark) }
        }
        _ = try row("link", { try all.snapshots(as: LinkedReader.self) }) {
            all.map { reader in
                LinkedReader(
                    id: reader.id, name: reader.name,
                    friend: reader.friend.map { NamedReader(id: $0.id, name: $0.name) })
            }
        }
        _ = try row("list of two", { try all.snapshots(as: LendingReader.self) }) {
            all.map { reader in
                LendingReader(
                    id: reader.id, loans: reader.loans.map { LendingReader.Loan(title: $0.title, days: $0.days) })
            }
        }
        if check, ratio > Self.limit { throw ExitCode.failure }
    }

    private func fill(_ realm: Realm) throws {
        try realm.write {
            var before: Reader?
            for i in 0..<rows {
                let reader = Reader()
                reader.id = i
                reader.name = "Reader \(i)"
                reader.email = "reader.\(i)@example.com"
                reader.age = i % 90
                reader.score = Double(i) / 7
                reader.isActive = i & 1 == 0
                reader.created = Date(timeIntervalSince1970: Double(i))
                reader.nick = i % 3 == 0 ? nil : "nick \(i)"
                reader.shade = i & 1 == 0 ? .light : .dark
                reader.friend = i % 4 == 0 ? nil : before
                for place in 0..<2 {
                    let loan = Loan()
                    loan.title = "Title \(i) \(place)"
                    loan.days = i % 30
                    reader.loans.append(loan)
                }
                realm.add(reader)
                before = reader
            }
        }
    }

    /// Prints a line; returns how many times as long decoding takes as the loop by hand.
    private func row<Value: Equatable>(
        _ name: String, _ decoded: () throws -> [Value], byHand: () -> [Value]
    ) throws -> Double {
        guard try decoded() == byHand() else { fatalError("\(name): decoding gives other values than the loop") }
        let time = try nanoseconds { use(try decoded().count) }
        let hand = try nanoseconds { use(byHand().count) }
        print("| \(name) | \(shown(time)) | \(shown(hand)) | \(shown(time / hand)) | \(shown(1000 / time)) |")
        return time / hand
    }

    /// Median for an object.
    private func nanoseconds(_ body: () throws -> Void) throws -> Double {
        let clock = ContinuousClock()
        var times: [Double] = []
        for _ in 0..<runs {
            let time = try clock.measure(body).components
            times.append(Double(time.seconds) * 1e9 + Double(time.attoseconds) * 1e-9)
        }
        times.sort()
        return times[times.count / 2] / Double(rows)
    }

    private func shown(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}

/// Prevents the compiler from removing a loop.
@inline(never)
private func use(_ count: Int) {}
