// SPDX-License-Identifier: Apache-2.0
// Random queries on Regnum and on SQLite: the rows, their order, counts, aggregates and groups.

import Foundation
import RealmSwift

/// Runs this many queries on tables of several sizes; the same seed produces the same tables and queries.
struct Differential {
    let seed: UInt64
    let cases: Int

    private static let sizes = [0, 1, 7, 60, 300, 1_500]

    /// Lines that describe the differences; stops after a few.
    func differences() throws -> [String] {
        var found: [String] = []
        for (place, size) in Self.sizes.enumerated() {
            // Tables of no and one row get fewer queries.
            let questions = size < 2 ? cases / 40 : cases / 4
            var random = SeededNumbers(seed: seed &+ UInt64(place) << 32)
            let tables = try FactTables()
            try tables.add(size, &random)
            for number in 0..<questions {
                if size > 1, number % 100 == 99 { try tables.disturb(&random) }
                var question = Question(tables: tables, maker: ConditionMaker(random: random))
                let difference = try question.difference()
                random = question.maker.random
                if let difference { found.append("seed \(seed), \(size) rows, question \(number): \(difference)") }
                if found.count == 5 { return found }
            }
        }
        return found
    }

    /// The number of queries.
    var count: Int { Self.sizes.reduce(0) { $0 + ($1 < 2 ? cases / 40 : cases / 4) } }
}

/// One query in both languages.
private struct Question {
    let tables: FactTables
    var maker: ConditionMaker

    /// The difference; nil if the answers are equal.
    mutating func difference() throws -> String? {
        let condition = maker.condition(3)
        let results = tables.realm.objects(Fact.self).filter(
            NSPredicate(format: condition.text, argumentArray: condition.arguments))
        switch Int.random(in: 0..<6, using: &maker.random) {
        case 0: return try compare(condition, results.map { ["\($0.id)"] }, "SELECT id FROM fact t WHERE # ORDER BY id")
        case 1: return try ordered(condition, results)
        case 2: return try distinct(condition, results)
        case 3: return try figures(condition, results)
        case 4: return try groups(condition, results)
        default: return try counts(condition, results)
        }
    }

    private func compare(_ condition: Condition, _ answer: [[String]], _ sql: String) throws -> String? {
        let sql = sql.replacingOccurrences(of: "#", with: condition.sql)
        let wanted = try tables.sqlite.rows(sql)
        if answer == wanted { return nil }
        return """
            \(condition.text) with \(condition.arguments)
              SQL: \(sql)
              Regnum: \(Self.short(answer))
              SQLite: \(Self.short(wanted))
            """
    }

    private static func short(_ rows: [[String]]) -> String {
        "\(rows.count): " + rows.prefix(40).map { $0.joined(separator: ",") }.joined(separator: " ")
    }

    /// A descriptor and its SQL: nulls first, null links last.
    private mutating func order() -> (RealmSwift.SortDescriptor, String) {
        let column = maker.random.pick(FactColumn.all.filter { $0.type != .bool })
        let isAscending = maker.random.chance(1, of: 2)
        let word = isAscending ? "ASC" : "DESC"
        if maker.random.chance(1, of: 4) {
            let far = "(SELECT x.\(column.name) FROM fact x WHERE x.id = t.link)"
            return (
                RealmSwift.SortDescriptor(keyPath: "link.\(column.name)", ascending: isAscending),
                "(t.link IS NULL) \(word), \(far) \(word)"
            )
        }
        return (RealmSwift.SortDescriptor(keyPath: column.name, ascending: isAscending), "t.\(column.name) \(word)")
    }

    private mutating func ordered(_ condition: Condition, _ results: Results<Fact>) throws -> String? {
        let orders = (0..<Int.random(in: 1...3, using: &maker.random)).map { _ in order() }
        var found = results.sorted(by: orders.map(\.0))
        var sql = "SELECT id FROM fact t WHERE # ORDER BY \(orders.map(\.1).joined(separator: ", ")), id"
        if maker.random.chance(1, of: 3) {
            let (skipped, count) = (
                Int.random(in: 0...20, using: &maker.random), Int.random(in: 0...20, using: &maker.random)
            )
            found = found.offset(skipped).limit(count)
            sql += " LIMIT \(count) OFFSET \(skipped)"
        }
        return try compare(condition, found.map { ["\($0.id)"] }, sql)
    }

    /// The first of each kind, in the previous order.
    private mutating func distinct(_ condition: Condition, _ results: Results<Fact>) throws -> String? {
        let columns = (0..<Int.random(in: 1...2, using: &maker.random)).map { _ in maker.random.pick(FactColumn.all) }
        let names = columns.map(\.name)
        let kinds = names.map { "t.\($0)" }.joined(separator: ", ")
        guard maker.random.chance(1, of: 2) else {
            return try compare(
                condition, results.distinct(by: names).map { ["\($0.id)"] },
                "SELECT min(id) FROM fact t WHERE # GROUP BY \(kinds) ORDER BY 1")
        }
        let (descriptor, order) = order()
        return try compare(
            condition, results.sorted(by: [descriptor]).distinct(by: names).map { ["\($0.id)"] },
            """
            SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY \(kinds) ORDER BY \(order), id) AS place,
                row_number() OVER (ORDER BY \(order), id) AS rank FROM fact t WHERE #) WHERE place = 1 ORDER BY rank
            """)
    }

    private func figures(_ condition: Condition, _ results: Results<Fact>) throws -> String? {
        let small = results.filter("whole BETWEEN {-1000, 1000} AND (part == NULL OR part BETWEEN {-1000, 1000})")
        func shown<T>(_ value: T?) -> String { value.map { "\($0)" } ?? "nil" }
        let answer = [
            "\(small.count)", "\(small.sum(of: \.whole))", shown(small.min(of: \.whole)),
            shown(small.max(ofProperty: "part") as Int?), shown(small.average(ofProperty: "whole") as Double?),
            "\(small.sum(ofProperty: "ratio") as Double)", shown(small.min(of: \.real)),
            shown(small.max(ofProperty: "ratio") as Double?), shown(small.average(ofProperty: "ratio") as Double?),
            shown((small.max(ofProperty: "day") as Date?).map { Int($0.timeIntervalSince1970) }),
        ]
        return try compare(
            condition, [answer],
            """
            SELECT count(*), coalesce(sum(whole), 0), min(whole), max(part), avg(whole), total(ratio), min(real),
                max(ratio), avg(ratio), max(day) FROM fact t WHERE # AND whole BETWEEN -1000 AND 1000
                AND (part IS NULL OR part BETWEEN -1000 AND 1000)
            """)
    }

    /// Compares the count, the first and the last, and whether there is any.
    private func counts(_ condition: Condition, _ results: Results<Fact>) throws -> String? {
        func shown(_ fact: Fact?) -> String { fact.map { "\($0.id)" } ?? "nil" }
        let answer = [
            "\(results.count)", shown(results.first), shown(results.last), results.isEmpty ? "0" : "1",
            shown(results.sorted(byKeyPath: "word", ascending: false).first),
        ]
        return try compare(
            condition, [answer],
            """
            SELECT count(*), min(id), max(id), count(*) > 0,
                (SELECT id FROM fact t WHERE # ORDER BY word DESC, id LIMIT 1) FROM fact t WHERE #
            """)
    }

    /// Groups by a text that may be nil.
    private func groups(_ condition: Condition, _ results: Results<Fact>) throws -> String? {
        let groups = results.grouped(by: \.note, over: [\Fact.real, \Fact.ratio])
        func shown<T>(_ value: T?) -> String { value.map { "\($0)" } ?? "nil" }
        let answer = groups.map { group in
            [
                group.key ?? "nil", "\(group.count)", "\(group.sum(of: \.real))", shown(group.min(of: \.ratio) ?? nil),
                shown(group.max(of: \.real)), shown(group.average(of: \.ratio)),
            ]
        }
        return try compare(
            condition, answer,
            """
            SELECT note, count(*), total(real), min(ratio), max(real), avg(ratio) FROM fact t WHERE #
                GROUP BY note ORDER BY min(id)
            """)
    }
}
