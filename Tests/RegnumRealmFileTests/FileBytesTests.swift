// SPDX-License-Identifier: Apache-2.0
// The bytes of a file that are loaded in pieces: the ends of the file and of its pieces.

import Testing

@testable import RegnumRealmFile

private final class NumberedBytes: ByteSource {
    let byteCount: Int
    private(set) var readOffsets: [Int] = []
    init(_ byteCount: Int) { self.byteCount = byteCount }

    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(RealmFileError) -> Bool {
        readOffsets.append(offset)
        for index in buffer.indices where offset + index < byteCount {
            buffer[index] = UInt8(truncatingIfNeeded: offset + index)
        }
        return true
    }
    func check(_ range: Range<Int>) throws(RealmFileError) {}
}

extension FileBytesTests {
    @Test("A file of more bytes than there are addresses is an error", arguments: [Int.max, 1 << 62, 1 << 48])
    func tooLarge(byteCount: Int) {
        #expect { try FileBytes(NumberedBytes(byteCount)) } throws: { ($0 as? RealmFileError)?.code == .unreadable }
    }

    /// All chunks were once released together, those of the current object included.
    @Test("The chunks that were loaded last stay in memory")
    func trim() throws {
        let chunkByteCount = FileBytes.chunkByteCount
        let count = FileBytes.keptByteCount / chunkByteCount + 1
        let source = NumberedBytes(count * chunkByteCount)
        let bytes = try FileBytes(source)
        for chunk in 0..<count { _ = try bytes.pointer(at: chunk * chunkByteCount, count: 1) }
        bytes.trim()
        #expect(source.readOffsets.count == count)
        for chunk in [count - 1, count / 2 + 1] {
            #expect(try bytes.pointer(at: chunk * chunkByteCount + 5, count: 1).load(as: UInt8.self) == 5)
        }
        #expect(source.readOffsets.count == count)
        #expect(try bytes.pointer(at: 5, count: 1).load(as: UInt8.self) == 5)
        #expect(source.readOffsets.dropFirst(count) == [0])
    }

    @Test("A sparse file of many chunks takes memory only for those that are read, and none after it is trimmed")
    func sparse() throws {
        // The states of its chunks alone would take a gigabyte.
        let byteCount = 1 << 46
        let bytes = try FileBytes(NumberedBytes(byteCount))
        for offset in [0, byteCount / 2 + 3, byteCount - 1] {
            #expect(try bytes.pointer(at: offset, count: 1).load(as: UInt8.self) == UInt8(truncatingIfNeeded: offset))
        }
        let chunks = FileBytes.keptByteCount / FileBytes.chunkByteCount + 1
        for chunk in 0..<chunks { _ = try bytes.pointer(at: chunk * FileBytes.chunkByteCount, count: 1) }
        bytes.trim()
        #expect(try bytes.pointer(at: byteCount - 1, count: 1).load(as: UInt8.self) == 255)
    }
}

@Suite struct FileBytesTests {
    // An empty value at the end of a file whose pieces are all full once belonged to a piece that does not exist.
    @Test("Zero bytes can be read from any offset, including the end", arguments: [1, 65_535, 65_536, 65_537, 131_072])
    func noBytes(byteCount: Int) throws {
        let bytes = try FileBytes(NumberedBytes(byteCount))
        let first = try bytes.pointer(at: 0, count: 0)
        for offset in [0, byteCount / 2, byteCount] {
            #expect(try bytes.pointer(at: offset, count: 0) == first + offset)
        }
        #expect(try bytes.pointer(at: byteCount - 1, count: 1).load(as: UInt8.self) == UInt8((byteCount - 1) & 255))
    }
}
