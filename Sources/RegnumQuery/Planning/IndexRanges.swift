// SPDX-License-Identifier: Apache-2.0
// The index ranges of a condition. The ranges of a set are created lazily during iteration: creating all ranges of a
// large set takes longer than many a scan, and a scan can be chosen without them.

package import RegnumEngine

package enum IndexRanges: Sendable {
    case made([IndexRange])
    /// Distinct ascending numbers that form `runCount` ranges.
    case numbers([Int64], runCount: Int)
    /// One range for each text at these positions of the set; nil for all of them.
    case texts(ByteStringSet, places: [Int]?)
    /// One range for the value of each key in a column of dates, object ids or UUIDs.
    case wide([WideKey], ColumnType)
    /// Nulls, followed by the other ranges, which contain no nulls.
    indirect case nullsAnd(IndexRanges)

    /// Creates ranges in which consecutive numbers are merged; `ascending` contains no duplicates. O(count).
    static func runs(of ascending: [Int64]) -> IndexRanges {
        var runCount = ascending.isEmpty ? 0 : 1
        for place in ascending.indices.dropFirst() where ascending[place] != ascending[place - 1] &+ 1 { runCount += 1 }
        return .numbers(ascending, runCount: runCount)
    }

    /// The number of ranges. O(1).
    package var count: Int {
        switch self {
        case .made(let ranges): ranges.count
        case .numbers(_, let runCount): runCount
        case .texts(let set, let places): places?.count ?? set.count
        case .wide(let keys, _): keys.count
        case .nullsAnd(let others): others.count + 1
        }
    }
}

extension IndexRanges: Sequence {
    package struct Iterator: IteratorProtocol {
        private var ranges: IndexRanges
        /// The index of the next range; for numbers, of the first number in it.
        private var place = 0

        fileprivate init(_ ranges: IndexRanges) { self.ranges = ranges }

        package mutating func next() -> IndexRange? {
            switch ranges {
            case .nullsAnd(let others):
                ranges = others
                return .nulls
            case .made(let ranges):
                guard place < ranges.count else { return nil }
                defer { place += 1 }
                return ranges[place]
            case .numbers(let ascending, _):
                guard place < ascending.count else { return nil }
                let run = IndexRange.run(of: ascending, from: place)
                place = run.next
                return run.range
            case .texts(let set, let places):
                guard place < places?.count ?? set.count else { return nil }
                defer { place += 1 }
                let text = set[places?[place] ?? place]
                return IndexRange.texts(from: text, to: text)
            case .wide(let keys, let type):
                guard place < keys.count else { return nil }
                defer { place += 1 }
                let value = keys[place].value(type)
                return IndexRange.values(from: value, to: value)
            }
        }
    }

    package func makeIterator() -> Iterator { Iterator(self) }
}

extension ValueTest {
    /// Like `indexRanges`, but the ranges of a set are created lazily during iteration, even if the set is combined
    /// with null or with other conditions, which restrict its values.
    func rangesToWalk(_ type: ColumnType) -> (ranges: IndexRanges, isExact: Bool)? {
        if let found = rangesOfSet(type, passing: []) { return (found, true) }
        return indexRanges(type).map { (IndexRanges.made($0.ranges), $0.isExact) }
    }

    /// The ranges of the values in a set that pass the other tests; nil if there is no set, or none with ranges.
    func rangesOfSet(_ type: ColumnType, passing others: [ValueTest]) -> IndexRanges? {
        switch self {
        case .intSet(let set):
            if others.isEmpty { return .runs(of: set.values) }
            return .runs(of: set.values.filter { value in others.allSatisfy { $0.matches(int: value) } })
        case .wideSet(let set):
            guard hasRangesOfSet(type) else { return nil }
            if others.isEmpty { return .wide(set.values, type) }
            let kept = set.values.filter { key in
                let value = key.value(type)
                return others.allSatisfy { $0.matches(value) }
            }
            return .wide(kept, type)
        case .bytesSet(let set):
            guard hasRangesOfSet(type) else { return nil }
            if others.isEmpty { return .texts(set, places: nil) }
            let kept = (0..<set.count).filter { place in
                set[place].withUnsafeBytes { text in others.allSatisfy { $0.matches(bytes: text) } }
            }
            return .texts(set, places: kept)
        case .any(let tests):
            // The form of an IN whose values include null.
            guard tests.count == 2, let null = tests.firstIndex(of: .isNull),
                let ranges = tests[1 - null].rangesOfSet(type, passing: others)
            else { return nil }
            if case .nullsAnd = ranges { return ranges }
            return others.allSatisfy(\.matchesNull) ? .nullsAnd(ranges) : ranges
        case .all(let tests):
            // Search before copying anything: there may be thousands of conditions, and no set among them.
            guard let place = tests.firstIndex(where: { $0.hasRangesOfSet(type) }) else { return nil }
            var rest = tests
            rest.remove(at: place)
            return tests[place].rangesOfSet(type, passing: rest + others)
        default: return nil
        }
    }

    /// True if `rangesOfSet` returns ranges. O(tests), and O(values) for texts.
    private func hasRangesOfSet(_ type: ColumnType) -> Bool {
        switch self {
        case .intSet: true
        case .wideSet: type == .date || type == .objectID || type == .uuid
        // Long values share the range of their prefix, which must not be iterated twice.
        case .bytesSet(let set):
            type == .string && !set.isFolded && set.areShorter(than: IndexKey.exactByteCount - 1)
        case .any(let tests):
            tests.count == 2 && tests.contains(.isNull) && tests.contains { $0.hasRangesOfSet(type) }
        case .all(let tests): tests.contains { $0.hasRangesOfSet(type) }
        default: false
        }
    }

    /// The number of values of the largest set it contains; 0 if there is none. O(tests).
    var largestSet: Int {
        switch self {
        case .intSet(let set): set.values.count
        case .wideSet(let set): set.values.count
        case .bytesSet(let set): set.count
        case .all(let tests), .any(let tests): tests.reduce(0) { max($0, $1.largestSet) }
        default: 0
        }
    }
}

extension WideKey {
    /// The value it represents in a column of that type.
    fileprivate func value(_ type: ColumnType) -> Value {
        switch type {
        case .date:
            return .date(Timestamp(seconds: Int64(bitPattern: low), nanoseconds: Int32(truncatingIfNeeded: high)))
        case .objectID: return .objectID(low, UInt32(truncatingIfNeeded: high))
        case .uuid: return .uuid(low, high)
        default: preconditionFailure("no index has ranges of such values")
        }
    }
}
