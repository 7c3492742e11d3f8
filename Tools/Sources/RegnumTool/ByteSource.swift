// SPDX-License-Identifier: Apache-2.0
// Reads bytes from a file, standard input or memory, in chunks and with lookahead.

import Foundation

/// The kind of the file at a path, after links.
enum FileKind {
    case file, folder, pipe
    /// A device or socket.
    case other

    /// Nil if nothing is at the path, or if that cannot be determined.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: self = .file
        case S_IFDIR: self = .folder
        case S_IFIFO: self = .pipe
        default: self = .other
        }
    }
}

struct ByteSource {
    /// Returns the next bytes; empty at the end.
    private let read: () throws -> [UInt8]
    private var chunk: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    /// The number of bytes consumed.
    private(set) var offset = 0

    init(_ read: @escaping () throws -> [UInt8]) { self.read = read }

    /// `chunkLength` is for tests.
    init(_ bytes: [UInt8], chunkLength: Int = .max) {
        var rest = bytes[...]
        read = {
            let next = rest.prefix(chunkLength)
            rest = rest.dropFirst(chunkLength)
            return Array(next)
        }
    }

    /// The file at a path; standard input for `-`.
    init(path: String) throws {
        let handle: FileHandle
        if path == "-" {
            handle = .standardInput
        } else {
            if FileKind(path) == .folder { throw Refusal("'\(path)' is a directory: name a file.") }
            do { handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path)) } catch {
                throw Refusal("'\(path)' cannot be read: \(error.localizedDescription)")
            }
        }
        read = { [UInt8](try handle.read(upToCount: 1 << 18) ?? Data()) }
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
