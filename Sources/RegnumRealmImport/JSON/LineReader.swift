// SPDX-License-Identifier: Apache-2.0
// Reads the lines of a file at any offset, a piece of the file at a time. The file is not mapped, because reading a
// mapping of a file that another program shortens would end the process.

internal import RegnumSystem

final class LineReader {
    /// The number of bytes that are read at once. A longer line is read as a whole.
    private static let pieceByteCount = 1 << 20

    private let file: any File
    /// The bytes of the file from `start` on.
    private var piece: [UInt8] = []
    private var start = 0

    init(_ file: any File) { self.file = file }

    deinit { file.close() }

    /// Calls `body` with the line that begins at `offset`, without its line feed, and the offset of the next line.
    /// Returns nil at the end of the file.
    func line<R>(at offset: Int, _ body: (UnsafeRawBufferPointer, Int) throws -> R) throws -> R? {
        if offset < start || offset >= start + piece.count { try read(from: offset, Self.pieceByteCount) }
        guard offset < start + piece.count else { return nil }
        var searched = offset - start
        while true {
            if let end = lineFeed(from: searched) {
                let line = (offset - start)..<end
                return try piece.withUnsafeBytes { bytes in
                    try body(UnsafeRawBufferPointer(rebasing: bytes[line]), start + end + 1)
                }
            }
            // The line continues after the piece.
            searched = start + piece.count - offset
            let known = searched
            try read(from: offset, max(2 * known, Self.pieceByteCount))
            guard piece.count > known else {
                return try piece.withUnsafeBytes { bytes in try body(bytes, start + bytes.count + 1) }
            }
        }
    }

    private func lineFeed(from place: Int) -> Int? {
        piece.withUnsafeBytes { bytes in
            var place = place
            while place < bytes.count {
                if bytes[place] == 0x0a { return place }
                place += 1
            }
            return nil
        }
    }

    private func read(from offset: Int, _ count: Int) throws(SystemError) {
        var bytes = piece
        piece = []
        if bytes.count != count { bytes = [UInt8](repeating: 0, count: count) }
        var result: Result<Int, SystemError> = .success(0)
        bytes.withUnsafeMutableBytes { buffer in
            do throws(SystemError) { result = .success(try file.read(buffer, at: offset)) } catch {
                result = .failure(error)
            }
        }
        let found = try result.get()
        if found < count { bytes.removeLast(count - found) }
        (piece, start) = (bytes, offset)
    }
}
