// SPDX-License-Identifier: Apache-2.0
// The ranges of an index that a condition asks for. Those of a set are made one by one when they are walked: all ranges
// of a large one take longer than many a scan, which is chosen without them.

package import RegnumEngine

package enum IndexRanges: Sendable {
    case made([IndexRange])
    /// Of numbers, ascending and each once, that make so many ranges.
    case numbers([Int64], runCount: Int)
    /// Of each text.
    case texts(ByteStringSet)
    /// Of what each key stands for in a column of dates, object ids or uuids.
    case wide([WideKey], ColumnType)

    /// Numbers that follow each other are one range; `ascending` has each once. O(count).
    static func runs(of ascending: [Int64]) -> IndexRanges {
        var runCount = ascending.isEmpty ? 0 : 1
        for place in ascending.indices.dropFirst() where ascending[place] != ascending[place - 1] &+ 1 { runCount += 1 }
        return .numbers(ascending, runCount: runCount)
    }

    /// O(1).
    package var count: Int {
        switch self {
        case .made(let ranges): ranges.count
        case .numbers(_, let runCount): runCount
        case .texts(let set): set.count
        case .wide(let keys, _): keys.count
        }
    }
}

extension IndexRanges: Sequence {
    package struct Iterator: IteratorProtocol {
        fileprivate let ranges: IndexRanges
        /// Of the range that comes next; of numbers that of the first one in it.
        fileprivate var place = 0

        package mutating func next() -> IndexRange? {
            switch ranges {
            case .made(let ranges):
                guard place < ranges.count else { return nil }
                defer { place += 1 }
                return ranges[place]
            case .numbers(let ascending, _):
                guard place < ascending.count else { return nil }
                let run = IndexRange.run(of: ascending, from: place)
                place = run.next
                return run.range
            case .texts(let set):
                guard place < set.count else { return nil }
                defer { place += 1 }
                let text = set[place]
                return IndexRange.texts(from: text, to: text)
            case .wide(let keys, let type):
                guard place < keys.count else { return nil }
                defer { place += 1 }
                let value = keys[place].value(type)
                return IndexRange.values(from: value, to: value)
            }
        }
    }

    package func makeIterator() -> Iterator { Iterator(ranges: self) }
}

extension WideKey {
    /// What it stands for in a column of that type.
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
