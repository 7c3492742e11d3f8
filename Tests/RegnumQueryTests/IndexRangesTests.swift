// SPDX-License-Identifier: Apache-2.0
// Several ranges of one index, joined and cut: against sets of single values, and as what finds the objects that
// several tests of one column leave.

import RegnumEngine
import RegnumQuery
import Testing

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

    @Test("united and intersected ranges hold what the ranges hold, each value once", arguments: [false, true])
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

    /// A test of an age, and the same for Swift.
    private struct Condition {
        let test: ValueTest
        let holds: (Int64?) -> Bool
    }

    private static func condition(_ random: inout QueryRandom, depth: Int = 0) -> Condition {
        let value = Int64(random.next() % 7)
        func compared(_ comparison: ComparisonOperator, _ holds: @escaping (Int64, Int64) -> Bool) -> Condition {
            Condition(test: .int(comparison, value)) { $0.map { holds($0, value) } ?? (comparison == .notEqual) }
        }
        switch random.next() % (depth < 2 ? 12 : 10) {
        case 0, 1: return compared(.equal, ==)
        case 2: return compared(.notEqual, !=)
        case 3: return compared(.less, <)
        case 4: return compared(.lessOrEqual, <=)
        case 5: return compared(.greater, >)
        case 6: return compared(.greaterOrEqual, >=)
        case 7:
            let values = [value, 1, 3]
            return Condition(test: .intSet(IntegerSet(values))) { $0.map { values.contains($0) } ?? false }
        case 8: return Condition(test: .isNull) { $0 == nil }
        case 9: return Condition(test: .isNotNull) { $0 != nil }
        case 10:
            let parts = [condition(&random, depth: depth + 1), condition(&random, depth: depth + 1)]
            return Condition(test: .all(parts.map(\.test))) { age in parts.allSatisfy { $0.holds(age) } }
        default:
            let parts = [condition(&random, depth: depth + 1), condition(&random, depth: depth + 1)]
            return Condition(test: .any(parts.map(\.test))) { age in parts.contains { $0.holds(age) } }
        }
    }

    @Test("several tests of one indexed column find what each of them leaves, each object once")
    func tests() throws {
        // So few objects that an index is used wherever there is a range.
        let people = try People(count: 50, seed: 5, isIndexed: true)
        let ages = people.reference.people.map { person -> Int64? in
            if case .int(let age)? = person.values["age"] { return age }
            return nil
        }
        let path = BoundPath(end: .column(1, .int))
        var random = QueryRandom(state: 77)
        var byIndex = 0
        for _ in 0..<500 {
            var parts: [Condition] = []
            for _ in 0...Int(random.next() % 3) { parts.append(Self.condition(&random)) }
            let tests = parts.map(\.test)
            let all = ages.indices.filter { row in parts.allSatisfy { $0.holds(ages[row]) } }
            let any = ages.indices.filter { row in parts.contains { $0.holds(ages[row]) } }
            let questions: [(BoundPredicate, [Int])] = [
                (.test(path, .all(tests)), all), (.test(path, .any(tests)), any),
                (.and(tests.map { .test(path, $0) }), all), (.or(tests.map { .test(path, $0) }), any),
            ]
            for (predicate, expected) in questions {
                let query = ObjectQuery(session: people.session, table: people.table, predicate: predicate)
                #expect(try query.keys() == expected.map { ObjectKey(UInt64($0 + 1)) }, "\(predicate)")
                #expect(try query.count() == expected.count, "\(predicate)")
                if try query.explain().indexes == [1] { byIndex += 1 }
            }
        }
        #expect(byIndex > 1000)
    }
}
