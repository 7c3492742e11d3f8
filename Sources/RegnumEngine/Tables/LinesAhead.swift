// SPDX-License-Identifier: Apache-2.0
// What a scan is going to read of the next few groups, touched before it does. A scan of a table that the processor's
// cache has let go of waits for memory, and one column of one group is soon at its end: the processor, which fetches
// ahead by itself along a few lines of addresses at once, has one to follow at a time. Touched in turn, line by line,
// the columns of several groups are fetched beside each other (`Documentation/notes/PerformanceTrials.md`,
// "Reading ahead").

package struct LinesAhead {
    private struct Stretch {
        var start: UnsafeRawPointer
        var byteCount: Int
    }

    /// More stretches beside each other are slower again.
    private static let wantedStretches = 16
    /// Eight columns of `Double`: so that what was touched is in the processor's second cache still when it is read.
    private static let wantedByteCount = 64 << 10
    /// Longer ones are fetched by themselves for long enough.
    private static let longestByteCount = 16 << 10
    private static let capacity = 64

    private let stretches: UnsafeMutablePointer<Stretch>
    private var count = 0
    private var byteCount = 0

    package init() { stretches = .allocate(capacity: Self.capacity) }

    package func deallocate() { stretches.deallocate() }

    /// False where enough is there to be touched.
    package var wantsMore: Bool { count < Self.wantedStretches && byteCount < Self.wantedByteCount }

    /// The values of the first `rows` rows of a column that is not writable; of texts and data how long they are, and
    /// the bytes themselves where they will be read.
    @inline(__always)
    package mutating func add(_ column: ColumnView, _ rows: Int, withBytes: Bool = true) {
        guard rows > 0, column.form != .slots else { return }
        add(column.data, RowGroupLayout.dataByteCount(column.form, rows))
        guard withBytes, let heap = column.aux, RowGroupLayout.isText(column.form) else { return }
        let end =
            column.form == .text16
            ? Int(column.data.load(fromByteOffset: 2 &* (rows &- 1), as: UInt16.self))
            : Int(column.data.load(fromByteOffset: 4 &* (rows &- 1), as: UInt32.self))
        add(heap, end)
    }

    @inline(__always)
    private mutating func add(_ start: UnsafeRawPointer, _ byteCount: Int) {
        guard byteCount > 0, byteCount <= Self.longestByteCount, count < Self.capacity else { return }
        stretches[count] = Stretch(start: start, byteCount: byteCount)
        count &+= 1
        self.byteCount &+= byteCount
    }

    /// Reads a byte of each line of what was added, and forgets it. Returns the sum of the bytes.
    package mutating func touch() -> Int {
        var sum = 0
        // Together, or there is nothing to be had by it.
        if count > 1 {
            var offset = 0
            var isLeft = true
            while isLeft {
                isLeft = false
                for place in 0..<count where offset < stretches[place].byteCount {
                    sum &+= Int(stretches[place].start.load(fromByteOffset: offset, as: UInt8.self))
                    isLeft = true
                }
                offset &+= GroupHandle.lineByteCount
            }
        }
        count = 0
        byteCount = 0
        return sum
    }
}
