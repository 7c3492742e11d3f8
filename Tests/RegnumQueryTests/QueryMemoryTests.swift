// SPDX-License-Identifier: Apache-2.0
// The memory of running queries: sets and counts of objects by key, distinct values, and, in a process where nothing
// else allocates, all memory.

import Foundation
import RegnumEngine
import Testing

@testable import RegnumQuery

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct QueryMemoryTests {
    // Counts once took 4 bytes for each key for which a set takes a bit: 250 bytes per object if most objects had been
    // deleted.
    @Test(
        "Sets and counts of objects take 8 bytes per object, however sparse the keys are",
        arguments: [1, 2, 3, 100])
    func keys(step: Int) throws {
        let session = try makeSessionOfItsOwn()
        try session.beginWrite()
        try session.addTables([
            NewTable(name: "Target", columns: [NewColumn(name: "number", type: .int)]),
            NewTable(name: "Origin", columns: [NewColumn(name: "link", type: .link, targetName: "Target")]),
        ])
        let targets = try #require(session.table(named: "Target"))
        let origins = try #require(session.table(named: "Origin"))
        for row in 0..<6000 {
            let location = try targets.insertRow()
            try targets.finishInsert(location)
            try targets.set(.int(Int64(row % 7)), 0, of: location.key)
        }
        try session.commitWrite()
        try session.beginWrite()
        for key in 1...6000 where key % step != 0 { try targets.delete(ObjectKey(UInt64(key))) }
        // Fifty targets with two links each.
        let linked = (0..<100).map { step * (1 + $0 % 50) }
        for key in linked {
            let location = try origins.insertRow()
            try origins.finishInsert(location)
            try origins.set(.link(ObjectKey(UInt64(key))), 0, of: location.key)
        }
        try session.commitWrite()
        var schema = TableSchema(session.tables.map(\.definition))
        schema.addBacklinks("back", to: targets.definition.key, from: origins.definition.key, column: 0)
        let bound = 8 * targets.count + 9000
        func plan(_ text: String, _ table: Table) throws -> PlanNode {
            Planner.plan(
                try PredicateBinder.bind(PredicateParser.parse(text), to: table.definition.key, in: schema))
        }
        func found(_ plan: PlanNode, _ table: Table) throws -> Int {
            var count = 0
            try Evaluator(session: session, table: table, expectedRows: 6000).forEachGroup(plan) { _, rows in
                count += rows.rowCount
                return true
            }
            return count
        }

        let counting = try plan("back.@count == 2", targets)
        guard case .aggregate(let counted) = counting else {
            Issue.record("no count of backlinks")
            return
        }
        #expect(try found(counting, targets) == 50)
        // If a dense count would take more, they are counted object by object.
        #expect((counted.counts == nil) == (step == 100))
        #expect(counted.counts?.byteCount ?? 0 <= bound)

        let following = try plan("link.number == 3", origins)
        guard case .through(let through) = following else {
            Issue.record("no link")
            return
        }
        #expect(try found(following, origins) == linked.count { ($0 - 1) % 7 == 3 })
        let passing = try #require(through.passing)
        #expect(passing.byteCount <= bound)
    }

    @Test("Distinct values take memory for each value, not for each object", arguments: [5, 20_000])
    func distinct(values: Int) {
        let words = (0..<20_000).map { UInt64($0 % values) }
        var rows = DistinctRows([.words(words)])
        let kept = words.indices.count { rows.insert($0) }
        #expect(kept == values)
        #expect(rows.byteCount <= 48 * values + 12 * 1024)
    }

    @Test(
        "A query takes memory for its results, not for the objects that it reads",
        .enabled(if: MeasuredQueries.canMeasure, "the most memory of a process cannot be counted from a moment on"))
    func peak() async {
        await #expect(processExitsWith: .success) { try MeasuredQueries(count: 120_000).run() }
    }
}

/// Queries; each ends the process if it takes more memory than its limit.
private struct MeasuredQueries {
    private let session: Session
    private let table: Table
    private let schema: TableSchema
    private let count: Int
    /// The minimum memory of any query; Linux updates its count late, by some pages. It is less than a key for each of
    /// the objects with a number above 3.
    private let least = 512 << 10

    init(count: Int) throws {
        let session = try makeSessionOfItsOwn()
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Row",
                columns: [
                    NewColumn(name: "number", type: .int), NewColumn(name: "text", type: .string),
                    NewColumn(name: "link", type: .link, targetName: "Row"),
                ])
        ])
        let table = try #require(session.table(named: "Row"))
        for row in 0..<count {
            let location = try table.insertRow()
            try table.finishInsert(location)
            try table.set(.int(Int64(row * 7919 % 10)), 0, of: location.key)
            try table.set(.string("text \(row * 104_729 % count)"), 1, of: location.key)
            try table.set(.link(ObjectKey(UInt64(row % 100 + 1))), 2, of: location.key)
        }
        try session.commitWrite()
        (self.session, self.table, self.count) = (session, table, count)
        schema = TableSchema(session.tables.map(\.definition))
    }

    private func query(_ text: String, _ orderings: [Ordering] = []) throws -> ObjectQuery {
        let bound = try PredicateBinder.bind(
            PredicateParser.parse(text), to: table.definition.key, in: schema)
        return ObjectQuery(session: session, table: table.definition.key, predicate: bound, orderings: orderings)
    }

    private func key(_ name: String) throws -> SortKey {
        try SortKey.bind(name, to: table.definition.key, in: schema)
    }

    func run() throws {
        let tenth = count / 10
        try measure("a count", 0) { try query("number > 3").count() == count - 4 * tenth }
        try measure("a count behind a link", 0) { try query("link.number == 3").count() == tenth }
        try measure("a sum", 0) { try query("number > 3").aggregate(.sum, 0) == .int(Int64(39 * tenth)) }
        let order = Ordering.sort([try key("text"), try key("number")])
        try measure("the first of an order", 0) { try query("number > 3", [order]).keys(first: 20).count == 20 }
        let all = try query("number >= 0").keys()
        let number = try key("number")
        try measure("groups", 0) {
            try Grouping.groups(of: all, by: number, over: [number], in: table.definition.key, session).count == 10
        }
        // These read the values of all results before they can return the first.
        try measure("what is distinct", 160 * count) {
            try query("number >= 0", [.distinct([number])]).keys().count == 10
        }
        try measure("a whole order", 256 * count) { try query("number >= 0", [order]).keys().count == count }
    }

    /// `limit`: bytes that it may take besides the minimum.
    private func measure(_ name: String, _ limit: Int, _ body: () throws -> Bool) throws {
        // The first read of the program's file and of the objects counts too: so the first run is not measured.
        var isRight = try body()
        precondition(isRight, "\(name) of \(count) has a wrong answer")
        // Memory that others freed would be reused without being counted.
        Self.giveBack()
        precondition(Self.countFromNow(), "the most memory cannot be counted from now on")
        let before = Self.mostMemory()
        isRight = try body()
        let grown = Self.mostMemory() - before
        precondition(isRight, "\(name) of \(count) has a wrong answer")
        precondition(before > 0 && grown <= limit + least, "\(name) of \(count) took \(grown) bytes")
    }

    /// False if the system has no such count, or does not let it restart.
    static var canMeasure: Bool { countFromNow() && mostMemory() > 0 }

    /// Returns free memory to the system. Swift does not import the call, which not every C library has.
    private static func giveBack() {
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(symbol, to: (@convention(c) (Int) -> Int32).self)(0)
    }

    /// Makes the current memory the new peak. False if that is not possible.
    private static func countFromNow() -> Bool {
        guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else { return false }
        do {
            try file.write(contentsOf: Data("5".utf8))
            try file.close()
            return true
        } catch { return false }
    }

    /// The peak memory of this process, in bytes.
    private static func mostMemory() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let number = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        return number.flatMap { Int($0) }.map { $0 << 10 } ?? 0
    }
}
