// SPDX-License-Identifier: Apache-2.0
// The prefetch of scans touches each cache line of the data to be read, and no byte outside it.

import RegnumEngine
import Testing

@Suite("ScanPrefetch")
struct ScanPrefetchTests {
    private static let lineByteCount = 64

    /// Memory in which the first byte of each line up to `byteCount` is 1, and everything else 100.
    private static func makeMemory(_ byteCount: Int) -> UnsafeMutableRawPointer {
        let lines = (byteCount + lineByteCount - 1) / lineByteCount
        let memory = UnsafeMutableRawPointer.allocate(byteCount: (lines + 4) * lineByteCount, alignment: lineByteCount)
        for offset in 0..<(lines + 4) * lineByteCount {
            let isWanted = offset % lineByteCount == 0 && offset < byteCount
            memory.storeBytes(of: isWanted ? 1 : 100, toByteOffset: offset, as: UInt8.self)
        }
        return memory
    }

    @Test(
        "Every cache line of the values is touched once, and no byte outside them",
        arguments: [
            (ColumnForm.constant, 0), (.bits, 128), (.uint8, 1000), (.uint16, 2000), (.uint32, 4000), (.int64, 8000),
            (.float32, 4000), (.float64, 8000), (.bytes12, 12000), (.bytes16, 16000),
        ])
    func values(_ form: ColumnForm, _ byteCount: Int) {
        var lines = ScanPrefetch()
        defer { lines.deallocate() }
        let memory = (0..<3).map { _ in Self.makeMemory(byteCount) }
        defer { for memory in memory { memory.deallocate() } }
        let wanted = (byteCount + Self.lineByteCount - 1) / Self.lineByteCount
        for _ in 0..<2 {
            for memory in memory { lines.add(ColumnView(form: form, data: memory), 1000) }
            #expect(lines.touch() == 3 * wanted)
        }
        #expect(lines.touch() == 0)
    }

    @Test("Columns of different length are each touched to their end")
    func lengths() {
        var lines = ScanPrefetch()
        defer { lines.deallocate() }
        let (short, long) = (Self.makeMemory(1000), Self.makeMemory(8000))
        defer {
            short.deallocate()
            long.deallocate()
        }
        lines.add(ColumnView(form: .uint8, data: short), 1000)
        lines.add(ColumnView(form: .int64, data: long), 1000)
        #expect(lines.touch() == 16 + 125)
    }

    @Test("The bytes of texts are touched only if they will be read", arguments: [true, false])
    func texts(_ withBytes: Bool) {
        var lines = ScanPrefetch()
        defer { lines.deallocate() }
        let sample = SampleColumn(form: .text16, count: 1000, nulls: false, seed: 1)
        sample.fill(texts: (0..<1000).map { _ in [1, 1, 1, 1, 1] })
        let other = Self.makeMemory(1000)
        defer { other.deallocate() }
        func sum(_ data: UnsafeRawPointer, _ byteCount: Int) -> Int {
            stride(from: 0, to: byteCount, by: Self.lineByteCount).reduce(0) {
                $0 + Int(data.load(fromByteOffset: $1, as: UInt8.self))
            }
        }
        lines.add(sample.view, 1000, withBytes: withBytes)
        lines.add(ColumnView(form: .uint8, data: other), 1000)
        let bytes = withBytes ? (5000 + Self.lineByteCount - 1) / Self.lineByteCount : 0
        #expect(lines.touch() == sum(sample.view.data, 2000) + bytes + 16)
    }

    @Test("The limit is 16 columns or 64 KiB, and columns beyond it are skipped or touched, but stay counted")
    func limits() {
        var lines = ScanPrefetch()
        defer { lines.deallocate() }
        let memory = Self.makeMemory(8000)
        defer { memory.deallocate() }
        for count in 0..<100 {
            #expect(lines.wantsMore == (count < 16))
            lines.add(ColumnView(form: .uint8, data: memory), 64)
        }
        #expect((16...100).contains(lines.touch()))
        for count in 0..<9 {
            #expect(lines.wantsMore == (count * 8000 < 64 << 10))
            lines.add(ColumnView(form: .int64, data: memory), 1000)
        }
        #expect(lines.touch() == 9 * 125)
        #expect(lines.wantsMore)
    }
}
