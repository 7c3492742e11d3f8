// SPDX-License-Identifier: Apache-2.0
// Reads bytes from a file, standard input or memory, in chunks and with lookahead.

/// A source of bytes. **Unstable**, like `Inspector`.
public struct ByteSource {
    /// Returns the next bytes; empty at the end.
    private let read: () throws -> [UInt8]
    private var chunk: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    /// The number of bytes consumed.
    public private(set) var offset = 0

    public init(_ read: @escaping () throws -> [UInt8]) { self.read = read }

    /// `chunkLength` is for tests.
    public init(_ bytes: [UInt8], chunkLength: Int = .max) {
        var rest = bytes[...]
        read = {
            let next = rest.prefix(chunkLength)
            rest = rest.dropFirst(chunkLength)
            return Array(next)
        }
    }

    mutating func peekByte() throws -> UInt8? {
        if position < chunk.count { return chunk[position] }
        try fill()
        return position < chunk.count ? chunk[position] : nil
    }

    private mutating func fill() throws {
        if isAtEnd { return }
        let next = try read()
        isAtEnd = next.isEmpty
        chunk = Array(chunk[position...]) + next
        position = 0
    }

    /// Consumes bytes that `peekByte` or `peek` returned.
    mutating func skip(_ count: Int) {
        position += count
        offset += count
    }

    /// Returns the next `count` bytes without consuming them, or fewer at the end. An error counts as the end; the next
    /// call that throws reports it.
    mutating func peek(_ count: Int) -> [UInt8] {
        while chunk.count - position < count, !isAtEnd { guard (try? fill()) != nil else { break } }
        return Array(chunk[position...].prefix(count))
    }
}
