// SPDX-License-Identifier: Apache-2.0
// Prefetch for scans: touches the memory that a scan is going to read in the next few groups. A scan of a table that is
// no longer in the processor's cache waits for memory. The hardware prefetcher follows a few streams of addresses at
// once, but one column of one group is a single short stream. Touched in turn, cache line by cache line, the columns of
// several groups are fetched in parallel (`Documentation/notes/PerformanceTrials.md`, "Reading ahead").

package struct ScanPrefetch {
    private struct Stretch {
        var start: UnsafeRawPointer
        var byteCount: Int
    }

    /// The maximum number of parallel streams; with more, scans become slower again.
    private static let wantedStretches = 16
    /// The maximum number of bytes, eight columns of `Double`: they must still be in the second-level cache when they
    /// are read.
    private static let wantedByteCount = 64 << 10
    /// The longest stretch to touch; the hardware prefetcher handles longer ones well enough.
    private static let longestByteCount = 16 << 10
    private static let capacity = 64

    private let stretches: UnsafeMutablePointer<Stretch>
    private var count = 0
    private var byteCount = 0

    package init() { stretches = .allocate(capacity: Self.capacity) }

    package func deallocate() { stretches.deallocate() }

    /// False if there is enough to touch.
    package var wantsMore: Bool { count < Self.wantedStretches && byteCount < Self.wantedByteCount }

    /// Adds the values of the first `rows` rows of a column that is not writable; for texts and data the offsets, and
    /// with `withBytes` also the bytes.
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

    /// Reads one byte of each cache line that was added, and clears the list. Returns the sum of the bytes.
    package mutating func touch() -> Int {
        var sum = 0
        // A single stretch gains nothing.
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
