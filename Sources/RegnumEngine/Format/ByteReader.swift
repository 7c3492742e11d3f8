// SPDX-License-Identifier: Apache-2.0
// Reads and writes the variable-length parts of blocks: reads are checked, writes grow a buffer.

import RegnumSystem

/// Reads a block's payload in order; every read past its end throws.
package struct ByteReader {
    private let bytes: UnsafeRawPointer
    private let end: Int
    private var offset: Int
    private let page: UInt64

    package init(_ bytes: UnsafeRawPointer, from start: Int, to end: Int, page: UInt64) {
        self.bytes = bytes
        self.end = end
        self.page = page
        offset = start
    }

    package mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws(EngineError) -> T {
        guard end - offset >= MemoryLayout<T>.size else { throw corrupted("a block ends too soon", page: page) }
        defer { offset += MemoryLayout<T>.size }
        return T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    package mutating func ref() throws(EngineError) -> BlockRef {
        guard end - offset >= BlockRef.byteCount else { throw corrupted("a block ends too soon", page: page) }
        let ref = BlockRef(reading: bytes + offset)
        guard !ref.isPending else { throw corrupted("a reference on disk says that its block is pending", page: page) }
        offset += BlockRef.byteCount
        return ref
    }

    package mutating func string() throws(EngineError) -> String {
        let count = Int(try integer(UInt16.self))
        guard end - offset >= count else { throw corrupted("a block ends too soon", page: page) }
        defer { offset += count }
        return String(decoding: UnsafeRawBufferPointer(start: bytes + offset, count: count), as: UTF8.self)
    }

    /// Throws unless `count` items of at least `size` bytes each can fit into the rest.
    package func require(_ count: Int, of size: Int) throws(EngineError) {
        let (product, overflow) = count.multipliedReportingOverflow(by: size)
        guard !overflow, product <= end - offset else { throw corrupted("a block's count is too large", page: page) }
    }
}

/// Builds a payload. Refs are recorded, so that pending ones can be completed when the block is placed.
package struct ByteWriter {
    package private(set) var bytes: [UInt8] = []
    package private(set) var refs: [(offset: Int, ref: BlockRef)] = []

    /// Reserves capacity for most blocks, so that the buffer need not grow.
    package init(capacity: Int = 512) {
        bytes.reserveCapacity(capacity)
        refs.reserveCapacity(capacity / 64)
    }

    package mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func ref(_ ref: BlockRef) {
        refs.append((bytes.count, ref))
        bytes.append(contentsOf: repeatElement(0, count: BlockRef.byteCount))
    }

    package mutating func string(_ string: String) {
        let utf8 = Array(string.utf8)
        integer(UInt16(utf8.count))
        bytes.append(contentsOf: utf8)
    }

    /// Adds a block with the payload after its header.
    package func seal(_ kind: BlockKind, into sealer: Sealer) -> SealedBlock {
        let block = sealer.addBlock(kind, byteCount: BlockHeader.byteCount + bytes.count)
        bytes.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            Memory.copy(block.bytes + BlockHeader.byteCount, base, bytes.count)
        }
        for (offset, ref) in refs { sealer.setRef(ref, in: block, at: BlockHeader.byteCount + offset) }
        return block
    }
}
