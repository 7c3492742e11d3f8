// SPDX-License-Identifier: Apache-2.0
// The rows that a query found, group by group. Each takes two bytes, so that the rows of many objects stay in the
// processor's cache while their values are read.

import RegnumEngine

struct RowList {
    /// Consecutive rows of the list that belong to one group.
    struct Run {
        var group: UnsafeMutablePointer<GroupView>
        /// The index after its last row.
        var end: Int
    }

    private(set) var runs: [Run] = []
    /// The number of each row within its group.
    private(set) var numbers: [UInt16] = []

    var count: Int { numbers.count }

    init() {}

    /// Creates a list of the rows in the given order.
    init(_ rows: [RowLocation]) {
        numbers.reserveCapacity(rows.count)
        for row in rows {
            numbers.append(UInt16(truncatingIfNeeded: row.row))
            if let last = runs.last, last.group == row.group {
                runs[runs.count &- 1].end = numbers.count
            } else {
                runs.append(Run(group: row.group, end: numbers.count))
            }
        }
    }

    mutating func reserveCapacity(_ count: Int) { numbers.reserveCapacity(count) }

    /// Appends the rows whose bits are set.
    mutating func append(_ rows: RowBitmap, of group: UnsafeMutablePointer<GroupView>) {
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 64 * RowBitmap.rowWords) { found in
            var count = 0
            for word in 0..<RowBitmap.rowWords {
                var bits = rows[word]
                while bits != 0 {
                    found[count] = UInt16(truncatingIfNeeded: word &<< 6 &+ bits.trailingZeroBitCount)
                    count &+= 1
                    bits &= bits &- 1
                }
            }
            if count > 0 {
                numbers.append(contentsOf: found[..<count])
                runs.append(Run(group: group, end: numbers.count))
            }
        }
    }

    /// A sample of the rows at equal distances.
    func sample(_ count: Int) -> RowList {
        var sample = RowList()
        let step = max(self.count / max(count, 1), 1)
        var next = 0
        for run in runs where next < run.end {
            while next < run.end {
                sample.numbers.append(numbers[next])
                next += step
            }
            sample.runs.append(Run(group: run.group, end: sample.count))
        }
        return sample
    }

    /// Calls `body` with each run's group and the indices of its rows until it returns true; returns whether it did.
    @inline(__always)
    func anyRun(_ body: (UnsafeMutablePointer<GroupView>, UnsafeBufferPointer<UInt16>, Range<Int>) -> Bool) -> Bool {
        numbers.withUnsafeBufferPointer { numbers in
            var start = 0
            for run in runs {
                if body(run.group, numbers, start..<run.end) { return true }
                start = run.end
            }
            return false
        }
    }

    /// The greatest object key; 0 if there are no rows.
    var greatestKey: UInt64 {
        var greatest: UInt64 = 0
        _ = anyRun { group, numbers, run in
            var last: UInt16 = 0
            for index in run { last = max(last, numbers[index]) }
            greatest = max(greatest, group.pointee.key(at: Int(last)))
            return false
        }
        return greatest
    }

    /// The keys of the objects.
    var keys: [ObjectKey] {
        [ObjectKey](unsafeUninitializedCapacity: count) { target, initialized in
            _ = anyRun { group, numbers, run in
                for index in run {
                    (target.baseAddress.unsafelyUnwrapped + index)
                        .initialize(to: ObjectKey(group.pointee.key(at: Int(numbers[index]))))
                }
                return false
            }
            initialized = count
        }
    }

    var locations: [RowLocation] {
        var locations: [RowLocation] = []
        locations.reserveCapacity(count)
        _ = anyRun { group, numbers, run in
            for index in run { locations.append(RowLocation(group: group, row: Int(numbers[index]))) }
            return false
        }
        return locations
    }
}
