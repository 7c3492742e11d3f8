// SPDX-License-Identifier: Apache-2.0
// The class and the table for random queries, and random rows for both.

import Foundation
import RealmSwift

/// Doubles are quarters and numbers small, so that sums are exact in any order; no text has a NUL, which ends a string
/// for SQLite's functions.
final class Fact: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var whole: Int
    @Persisted(indexed: true) var part: Int?
    @Persisted var real: Double
    @Persisted var ratio: Double?
    @Persisted(indexed: true) var word: String
    @Persisted var note: String?
    /// ASCII only: SQLite folds no other letters.
    @Persisted var plain: String
    @Persisted var flag: Bool?
    @Persisted var day: Date?
    @Persisted var link: Fact?
    @Persisted var friends: List<Fact>
}

enum FactType { case int, double, text, ascii, bool, date }

/// A property and the column of the same name.
struct FactColumn {
    let name: String
    let type: FactType
    let isOptional: Bool

    static let all: [FactColumn] = [
        FactColumn(name: "id", type: .int, isOptional: false), FactColumn(name: "whole", type: .int, isOptional: false),
        FactColumn(name: "part", type: .int, isOptional: true),
        FactColumn(name: "real", type: .double, isOptional: false),
        FactColumn(name: "ratio", type: .double, isOptional: true),
        FactColumn(name: "word", type: .text, isOptional: false),
        FactColumn(name: "note", type: .text, isOptional: true),
        FactColumn(name: "plain", type: .ascii, isOptional: false),
        FactColumn(name: "flag", type: .bool, isOptional: true),
        FactColumn(name: "day", type: .date, isOptional: true),
    ]

    var isNumber: Bool { type == .int || type == .double }
    var isText: Bool { type == .text || type == .ascii }
}

extension SeededNumbers {
    mutating func chance(_ part: Int, of whole: Int) -> Bool { Int.random(in: 0..<whole, using: &self) < part }
    mutating func pick<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &self)] }
}

/// A value as Regnum and SQL write it.
struct FactValue {
    /// Nil for none.
    let value: Any?
    let sql: String

    static var none: FactValue { FactValue(value: nil, sql: "NULL") }

    static func text(_ text: String) -> FactValue { FactValue(value: text, sql: quoted(text)) }

    static func quoted(_ text: String) -> String { "'" + text.replacingOccurrences(of: "'", with: "''") + "'" }

    private static let letters = ["a", "b", "A", "B", "z", "é", "É", "ß", "日", " ", "%", "_", "'", "🙂"]
    private static let asciiLetters = ["a", "b", "A", "B", "z", "Z", " ", "1"]

    static func random(_ type: FactType, _ random: inout SeededNumbers) -> FactValue {
        switch type {
        case .int:
            let edges = [Int.min, -(1 << 31), 1 << 31, 1 << 53]
            let value = random.chance(1, of: 40) ? random.pick(edges) : Int.random(in: -20...120, using: &random)
            return FactValue(value: value, sql: value == .min ? "(-9223372036854775807 - 1)" : "\(value)")
        case .double:
            let value = Double(Int.random(in: -80...400, using: &random)) / 4
            return FactValue(value: value, sql: "\(value)")
        case .bool:
            let value = random.chance(1, of: 2)
            return FactValue(value: value, sql: value ? "1" : "0")
        case .date:
            let seconds = Int.random(in: -50...50, using: &random) * 86_400
            return FactValue(value: Date(timeIntervalSince1970: TimeInterval(seconds)), sql: "\(seconds)")
        case .text, .ascii: return text(word(type, 0...5, &random))
        }
    }

    static func word(_ type: FactType, _ length: ClosedRange<Int>, _ random: inout SeededNumbers) -> String {
        let letters = type == .ascii ? asciiLetters : letters
        return (0..<Int.random(in: length, using: &random)).map { _ in random.pick(letters) }.joined()
    }
}

/// The same rows in a Realm in memory and in a SQLite database in memory.
struct FactTables {
    let realm: Realm
    let sqlite: SQLiteMemory

    init() throws {
        realm = try Realm(
            configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Fact.self]))
        sqlite = try SQLiteMemory()
        try sqlite.execute(
            """
            CREATE TABLE fact(id INTEGER PRIMARY KEY, whole INTEGER NOT NULL, part INTEGER, real REAL NOT NULL,
                ratio REAL, word TEXT NOT NULL, note TEXT, plain TEXT NOT NULL, flag INTEGER, day INTEGER, link INTEGER);
            CREATE TABLE friends(owner INTEGER NOT NULL, target INTEGER NOT NULL);
            CREATE INDEX friends_owner ON friends(owner);
            """)
    }

    /// Adds `count` rows, some with links to rows before them and to themselves.
    func add(_ count: Int, _ random: inout SeededNumbers) throws {
        let first = realm.objects(Fact.self).max(of: \.id).map { $0 + 1 } ?? 0
        realm.beginWrite()
        try sqlite.execute("BEGIN")
        for id in first..<first + count {
            let fact = realm.create(Fact.self, value: ["id": id])
            try sqlite.execute("INSERT INTO fact(id, whole, real, word, plain) VALUES(\(id), 0, 0, '', '')")
            try change(fact, FactColumn.all.dropFirst().map { $0 }, &random)
            try relink(fact, &random)
        }
        try sqlite.execute("COMMIT")
        try realm.commitWrite()
    }

    /// Changes a tenth of the rows and deletes a few, so that caches cannot answer.
    func disturb(_ random: inout SeededNumbers) throws {
        realm.beginWrite()
        try sqlite.execute("BEGIN")
        for fact in Array(realm.objects(Fact.self)) where random.chance(1, of: 10) {
            try change(fact, [random.pick(FactColumn.all.dropFirst().map { $0 })], &random)
            if random.chance(1, of: 3) { try relink(fact, &random) }
        }
        for fact in Array(realm.objects(Fact.self)) where random.chance(1, of: 50) {
            let id = fact.id
            realm.delete(fact)
            try sqlite.execute(
                """
                DELETE FROM fact WHERE id = \(id); UPDATE fact SET link = NULL WHERE link = \(id);
                DELETE FROM friends WHERE owner = \(id) OR target = \(id);
                """)
        }
        try sqlite.execute("COMMIT")
        try realm.commitWrite()
    }

    private func change(_ fact: Fact, _ columns: [FactColumn], _ random: inout SeededNumbers) throws {
        for column in columns {
            let isNone = column.isOptional && random.chance(1, of: 4)
            let value = isNone ? .none : FactValue.random(column.type, &random)
            fact[column.name] = value.value
            try sqlite.execute("UPDATE fact SET \(column.name) = \(value.sql) WHERE id = \(fact.id)")
        }
    }

    private func relink(_ fact: Fact, _ random: inout SeededNumbers) throws {
        let all = realm.objects(Fact.self)
        let target = random.chance(1, of: 3) ? nil : all[Int.random(in: 0..<all.count, using: &random)]
        fact.link = target
        try sqlite.execute("UPDATE fact SET link = \(target.map { "\($0.id)" } ?? "NULL") WHERE id = \(fact.id)")
        fact.friends.removeAll()
        try sqlite.execute("DELETE FROM friends WHERE owner = \(fact.id)")
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let friend = all[Int.random(in: 0..<all.count, using: &random)]
            fact.friends.append(friend)
            try sqlite.execute("INSERT INTO friends VALUES(\(fact.id), \(friend.id))")
        }
    }
}
