// SPDX-License-Identifier: Apache-2.0
// Several ranges of one index, united and intersected: compared with sets of single values, and as a way to find the
// objects that several conditions on one column leave, for numbers, long texts, and sets of all sizes.

import RegnumEngine
import RegnumSystem
import Testing

@testable import RegnumQuery

@Suite struct IndexRangesTests {
    /// An entry of an index.
    private enum Entry: Hashable {
        case null
        case number(Int64)
        case bytes([UInt8])
    }

    private static let numbers: [Int64] = {
        var numbers: [Int64] = Array(-4...9)
        numbers += [Int64.min, Int64.min + 1, Int64.max - 1, Int64.max]
        return numbers
    }()
    private static let texts: [[UInt8]] = {
        let letters: [UInt8] = [0, 97, 255]
        var texts: [[UInt8]] = [[]]
        for letter in letters {
            texts.append([letter])
            for other in letters { texts.append([letter, other]) }
        }
        return texts
    }()

    private static func contains(_ range: IndexRange, _ entry: Entry) -> Bool {
        switch (range, entry) {
        case (.nulls, .null): true
        case (.integers(let low, let high), .number(let number)): low <= number && number <= high
        case (.bytes(let low, let high), .bytes(let bytes)):
            !bytes.lexicographicallyPrecedes(low) && high.map { bytes.lexicographicallyPrecedes($0) } ?? true
        default: false
        }
    }

    /// Ranges of numbers or of texts, some of them empty, with nulls now and then.
    private static func ranges(ofTexts: Bool, _ random: inout QueryRandom) -> [IndexRange] {
        var ranges: [IndexRange] = []
        for _ in 0..<Int(random.next() % 5) {
            if random.next() % 6 == 0 {
                ranges.append(.nulls)
            } else if ofTexts {
                let low = texts.randomElement(using: &random) ?? []
                let high = texts.randomElement(using: &random) ?? []
                ranges.append(.bytes(low: low, high: random.next() % 4 == 0 ? nil : high))
            } else {
                let low = numbers.randomElement(using: &random) ?? 0
                ranges.append(.integers(low, numbers.randomElement(using: &random) ?? 0))
            }
        }
        return ranges
    }

    @Test("United and intersected ranges hold each value of their sources once", arguments: [false, true])
    func sets(ofTexts: Bool) {
        var random = QueryRandom(state: 8)
        var entries = [Entry.null]
        if ofTexts {
            for text in Self.texts { entries.append(.bytes(text)) }
        } else {
            for number in Self.numbers { entries.append(.number(number)) }
        }
        var joined = 0
        for _ in 0..<400 {
            let a = Self.ranges(ofTexts: ofTexts, &random)
            let b = Self.ranges(ofTexts: ofTexts, &random)
            let (one, other) = (IndexRange.united(a), IndexRange.united(b))
            let both = IndexRange.intersection(one, other)
            if one.count < a.count { joined += 1 }
            for entry in entries {
                let isInA = a.contains { Self.contains($0, entry) }
                let isInB = b.contains { Self.contains($0, entry) }
                let inOne = one.count { Self.contains($0, entry) }
                let inBoth = both.count { Self.contains($0, entry) }
                #expect(inOne == (isInA ? 1 : 0), "\(a): \(entry)")
                #expect(inBoth == (isInA && isInB ? 1 : 0), "\(a) \(b): \(entry)")
            }
            #expect(IndexRange.united(one) == one)
        }
        #expect(joined > 60)
        #expect(IndexRange.united([.integers(4, 5), .nulls, .integers(1, 3)]) == [.nulls, .integers(1, 5)])
        #expect(IndexRange.united([.integers(1, .max), .integers(.max, .max)]) == [.integers(1, .max)])
    }

    /// A condition on a column, and the same in Swift.
    private struct Condition<V> {
        let test: ValueTest
        let holds: (V?) -> Bool

        init(_ test: ValueTest, holds: @escaping (V?) -> Bool) {
            self.test = test
            self.holds = holds
        }

        /// A condition, or a compound of two, and so on; `depth` is the number of compounds around it.
        static func make(
            _ random: inout QueryRandom, depth: Int = 0, of leaf: (inout QueryRandom) -> Condition<V>
        ) -> Condition<V> {
            guard depth < 2, random.next() % 6 == 0 else { return leaf(&random) }
            let first = make(&random, depth: depth + 1, of: leaf)
            let second = make(&random, depth: depth + 1, of: leaf)
            if random.next() % 2 == 0 {
                return Condition<V>(.all([first.test, second.test])) { first.holds($0) && second.holds($0) }
            }
            return Condition<V>(.any([first.test, second.test])) { first.holds($0) || second.holds($0) }
        }
    }

    /// An indexed column of a table: the values of the objects 1, 2, 3 ...
    private struct Column<V> {
        let session: Session
        let table: TableKey
        let number: Int
        let type: ColumnType
        let values: [V?]

        /// Runs this many queries with one to three conditions made by `leaf`; returns how often an index was used.
        func ask(
            _ times: Int, _ random: inout QueryRandom, of leaf: (inout QueryRandom) -> Condition<V>
        ) throws -> Int {
            var byIndex = 0
            for _ in 0..<times {
                var parts: [Condition<V>] = []
                for _ in 0...Int(random.next() % 3) { parts.append(Condition<V>.make(&random, of: leaf)) }
                byIndex += try ask(parts)
            }
            return byIndex
        }

        /// Queries the intersection and the union of some conditions, in one test and in several; returns how often an
        /// index was used.
        func ask(_ parts: [Condition<V>]) throws -> Int {
            let path = BoundPath(end: .column(number, type))
            let tests = parts.map(\.test)
            let all = values.indices.filter { row in parts.allSatisfy { $0.holds(values[row]) } }
            let any = values.indices.filter { row in parts.contains { $0.holds(values[row]) } }
            let questions: [(BoundPredicate, [Int])] = [
                (.test(path, .all(tests)), all), (.test(path, .any(tests)), any),
                (.and(tests.map { .test(path, $0) }), all), (.or(tests.map { .test(path, $0) }), any),
            ]
            var byIndex = 0
            for (predicate, expected) in questions {
                let query = ObjectQuery(session: session, table: table, predicate: predicate)
                #expect(try query.keys() == expected.map { ObjectKey(UInt64($0 + 1)) }, "\(predicate)")
                #expect(try query.count() == expected.count, "\(predicate)")
                if try query.explain().indexes == [number] { byIndex += 1 }
            }
            return byIndex
        }
    }

    private static func numberCondition(_ random: inout QueryRandom) -> Condition<Int64> {
        let value = Int64(random.next() % 7)
        func compared(
            _ comparison: ComparisonOperator, _ holds: @escaping (Int64, Int64) -> Bool
        ) -> Condition<Int64> {
            Condition(.int(comparison, value)) { $0.map { holds($0, value) } ?? (comparison == .notEqual) }
        }
        switch random.next() % 10 {
        case 0, 1: return compared(.equal, ==)
        case 2: return compared(.notEqual, !=)
        case 3: return compared(.less, <)
        case 4: return compared(.lessOrEqual, <=)
        case 5: return compared(.greater, >)
        case 6: return compared(.greaterOrEqual, >=)
        case 7:
            let values = [value, 1, 3]
            return Condition(.intSet(IntegerSet(values))) { $0.map { values.contains($0) } ?? false }
        case 8: return Condition(.isNull) { $0 == nil }
        default: return Condition(.isNotNull) { $0 != nil }
        }
    }

    @Test("Several conditions on one indexed column find each matching object once")
    func tests() throws {
        // So few objects that an index is used for every range.
        let people = try People(count: 50, seed: 5, isIndexed: true)
        let ages = people.reference.people.map { person -> Int64? in
            if case .int(let age)? = person.values["age"] { return age }
            return nil
        }
        let column = Column(
            session: people.session, table: people.table, number: 1, type: .int, values: ages)
        var random = QueryRandom(state: 77)
        #expect(try column.ask(500, &random, of: Self.numberCondition) > 1000)
    }

    @Test("A small set is looked up in the index, a large one is tested in a scan")
    func setsOfAllSizes() throws {
        let session = try makeSessionOfItsOwn()
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Row",
                columns: [
                    NewColumn(name: "number", type: .int, isIndexed: true),
                    NewColumn(name: "text", type: .string, isIndexed: true),
                    NewColumn(name: "date", type: .date, isIndexed: true),
                ])
        ])
        let table = try #require(session.table(named: "Row"))
        func number(_ row: Int) -> Int64 { Int64(row * 3) }
        func text(_ row: Int) -> String { "text \(row)" }
        func date(_ row: Int) -> Timestamp { Timestamp(seconds: Int64(row), nanoseconds: 5) }
        for row in 0..<3000 {
            let location = try table.insertRow()
            try table.finishInsert(location)
            try table.set(.int(number(row)), 0, of: location.key)
            try table.set(.string(text(row)), 1, of: location.key)
            try table.set(.date(date(row)), 2, of: location.key)
        }
        try session.commitWrite()
        for (step, isByIndex) in [(3000, true), (75, true), (2, false)] {
            let rows = Array(stride(from: 1, to: 3000, by: step))
            // Some of the values do not exist.
            let asked = Array(rows.reversed()) + [5000, 6000]
            let tests: [(ColumnType, ValueTest)] = [
                (.int, .intSet(IntegerSet(asked.map { number($0) }))),
                (.string, .bytesSet(ByteStringSet(asked.map { Array(text($0).utf8) }))),
                (.date, .wideSet(WideSet(asked.map { WideKey(date($0)) }))),
            ]
            for (column, (type, test)) in tests.enumerated() {
                let predicate = BoundPredicate.test(BoundPath(end: .column(column, type)), test)
                let query = ObjectQuery(session: session, table: table.definition.key, predicate: predicate)
                #expect(try query.keys() == rows.map { ObjectKey(UInt64($0 + 1)) }, "\(type), \(rows.count)")
                #expect(try query.count() == rows.count, "\(type), \(rows.count)")
                #expect(try query.explain().indexes == (isByIndex ? [column] : []), "\(type), \(rows.count)")
            }
        }
    }

    // All ranges were once made when the set was combined with null or another condition on the column: more work than
    // the scan that was then chosen.
    @Test("The ranges of a set are created lazily, even together with null and other conditions")
    func rangesOnTheWay() {
        let numbers = ValueTest.intSet(IntegerSet((0..<1000).map { Int64($0 * 2) }))
        let texts = ValueTest.bytesSet(ByteStringSet((0..<1000).map { Array("text \($0)".utf8) }))
        let dates = ValueTest.wideSet(
            WideSet((0..<1000).map { WideKey(Timestamp(seconds: Int64($0), nanoseconds: 0)) }))
        let date = Timestamp(seconds: 990, nanoseconds: 0)
        let cases: [(ValueTest, ColumnType, Int)] = [
            (numbers, .int, 1000), (.any([numbers, .isNull]), .int, 1001), (.any([.isNull, numbers]), .int, 1001),
            (.all([numbers, .int(.greaterOrEqual, 1980)]), .int, 10),
            (.all([.int(.notEqual, 4), .any([.isNull, numbers])]), .int, 1000),
            (.all([.isNotNull, .any([.isNull, numbers])]), .int, 1000),
            (.any([.isNull, .any([numbers, .isNull])]), .int, 1001),
            (texts, .string, 1000), (.any([.isNull, texts]), .string, 1001),
            (.all([texts, .bytes(BytesTest(.suffix, Array("99".utf8)))]), .string, 10),
            (dates, .date, 1000), (.any([.isNull, dates]), .date, 1001),
            (.all([.date(.less, date), dates, .date(.greater, Timestamp(seconds: 9, nanoseconds: 0))]), .date, 980),
        ]
        for (test, type, count) in cases {
            guard let (ranges, isExact) = test.rangesToWalk(type) else {
                Issue.record("no ranges: \(test)")
                continue
            }
            if case .made = ranges { Issue.record("made at once: \(test)") }
            #expect(isExact && ranges.count == count && Array(ranges).count == count, "\(test)")
        }
    }

    // Each of them was once taken for a set, and all others copied, before it was rejected: seconds for each query.
    @Test("Conditions without a set are visited once, however many there are")
    func manyConditions() throws {
        let count: Int64 = 30_000
        let tests = (0..<count).map { ValueTest.int(.notEqual, $0) }
        // Sets without ranges do not count either.
        let folded = (0..<count).map { ValueTest.bytesSet(ByteStringSet([Array("a\($0)".utf8)], isFolded: true)) }
        let start = ThreadTime.seconds
        if ValueTest.all(tests).rangesToWalk(.int) != nil { Issue.record("ranges of no set") }
        if ValueTest.all(folded).rangesToWalk(.string) != nil { Issue.record("ranges of folded texts") }
        #expect(ThreadTime.seconds - start < 2)
        let set = ValueTest.intSet(IntegerSet([-1, 5, 40_000]))
        guard let (ranges, isExact) = ValueTest.all(tests + [set]).rangesToWalk(.int) else {
            Issue.record("no ranges")
            return
        }
        #expect(isExact && Array(ranges) == [.integers(-1, -1), .integers(40_000, 40_000)])
    }

    // Its values were once tested against the other condition in each query, even for a table with ten objects.
    @Test("A set with more values than the table has rows is not looked up in the index beside conditions")
    func setLargerThanTable() throws {
        let session = try makeSessionOfItsOwn()
        try session.beginWrite()
        try session.addTables([
            NewTable(name: "Row", columns: [NewColumn(name: "text", type: .string, isIndexed: true)])
        ])
        let table = try #require(session.table(named: "Row"))
        for row in 0..<10 {
            let location = try table.insertRow()
            try table.finishInsert(location)
            try table.set(.string("text \(row)"), 0, of: location.key)
        }
        try session.commitWrite()
        let path = BoundPath(end: .column(0, .string))
        let cases: [(count: Int, indexes: [Int])] = [(64, [0]), (1000, [])]
        for (count, indexes) in cases {
            let set = ValueTest.bytesSet(ByteStringSet((0..<count).map { Array("text \($0)".utf8) }))
            let odd = ValueTest.bytes(BytesTest(.suffix, Array("5".utf8)))
            let predicate = BoundPredicate.and([.test(path, set), .test(path, odd)])
            let query = ObjectQuery(session: session, table: table.definition.key, predicate: predicate)
            #expect(try query.keys() == [ObjectKey(6)])
            #expect(try query.count() == 1)
            #expect(try query.explain().indexes == indexes, "\(count) values")
        }
    }

    // MARK: Long texts

    /// Short texts, and texts about as long as the prefix that an index stores, many of them equal up to that length.
    /// In byte order.
    private static let longTexts: [[UInt8]] = {
        var texts: [[UInt8]] = [[], [0], [97], [98]]
        for count in 998...1002 {
            let text = [UInt8](repeating: 97, count: count)
            texts.append(text)
            for last in [UInt8(0), 98] { texts.append(Array(text.dropLast()) + [last]) }
            // A letter of two bytes; in some texts it crosses the end of the prefix.
            texts.append(Array(text.dropLast(2)) + [0xC3, 0xA9])
        }
        return texts.sorted { $0.lexicographicallyPrecedes($1) }
    }()

    /// For each long text, the texts that begin with it.
    private static let beginning: [Set<Int>] = longTexts.map { prefix in
        Set(longTexts.indices.filter { longTexts[$0].starts(with: prefix) })
    }

    /// A condition on positions in the long texts.
    private static func textCondition(_ random: inout QueryRandom) -> Condition<Int> {
        let place = Int.random(in: longTexts.indices, using: &random)
        let text = longTexts[place]
        func compared(_ operation: BytesOperator, _ holds: @escaping (Int, Int) -> Bool) -> Condition<Int> {
            Condition(.bytes(BytesTest(operation, text))) { $0.map { holds($0, place) } ?? (operation == .notEqual) }
        }
        switch random.next() % 13 {
        case 0, 1: return compared(.equal, ==)
        case 2: return compared(.notEqual, !=)
        case 3: return compared(.less, <)
        case 4: return compared(.lessOrEqual, <=)
        case 5: return compared(.greater, >)
        case 6: return compared(.greaterOrEqual, >=)
        case 7, 8: return compared(.prefix) { !text.isEmpty && beginning[$1].contains($0) }
        case 9:
            let pattern = BytesTest(.like, text + [UInt8(ascii: "*")])
            return Condition(.bytes(pattern)) { $0.map { beginning[place].contains($0) } ?? false }
        case 10:
            // Half of the sets have only texts that an index stores completely.
            let short = longTexts.indices.filter { longTexts[$0].count < 999 }
            let others = random.next() % 2 == 0 ? short : Array(longTexts.indices)
            let places = (0..<3).map { _ in others.randomElement(using: &random) ?? 0 }
            let set = ByteStringSet(places.map { longTexts[$0] })
            return Condition(.bytesSet(set)) { $0.map { places.contains($0) } ?? false }
        case 11: return Condition(.isNull) { $0 == nil }
        default: return Condition(.isNotNull) { $0 != nil }
        }
    }

    @Test("Several conditions on texts near the stored prefix length find each matching object once")
    func testsOfLongTexts() throws {
        let session = try makeSessionOfItsOwn()
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Text", columns: [NewColumn(name: "text", type: .string, isNullable: true, isIndexed: true)])
        ])
        let table = try #require(session.table(named: "Text"))
        var random = QueryRandom(state: 21)
        // Each text occurs, and some more than once.
        var places = Self.longTexts.indices.map { Optional($0) }
        for _ in 0..<30 {
            places.append(random.next() % 5 == 0 ? nil : Int.random(in: Self.longTexts.indices, using: &random))
        }
        places.shuffle(using: &random)
        for place in places {
            let location = try table.insertRow()
            try table.finishInsert(location)
            guard let place else { continue }
            let text = String(decoding: Self.longTexts[place], as: UTF8.self)
            try table.set(.string(text), 0, of: location.key)
        }
        try session.commitWrite()
        let column = Column(
            session: session, table: table.definition.key, number: 0, type: .string, values: places)
        #expect(try column.ask(200, &random, of: Self.textCondition) > 300)
    }
}
