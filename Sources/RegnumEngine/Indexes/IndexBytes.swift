// SPDX-License-Identifier: Apache-2.0
// Passes arrays of bytes to an index tree.

enum IndexBytes {
    static func borrow<R>(
        _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        try bytes.withUnsafeBufferPointer { (buffer: UnsafeBufferPointer<UInt8>) throws(EngineError) -> R in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }

    static func seek(_ cursor: inout IndexCursor, _ bytes: [UInt8], key: UInt64) throws(EngineError) -> Bool {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 8)
        defer { copy.deallocate() }
        copy.copyBytes(from: bytes)
        return try cursor.seek(bytes: UnsafeRawBufferPointer(rebasing: copy[..<bytes.count]), key: key)
    }

    /// Returns the first byte string after all that begin with `bytes`; nil if there is none.
    static func successor(_ bytes: [UInt8]) -> [UInt8]? {
        var next = bytes
        while let last = next.popLast() {
            if last < 255 { return next + [last + 1] }
        }
        return nil
    }
}
