// SPDX-License-Identifier: Apache-2.0
// The kind of the file at a path, and the bytes of a file or of standard input, in chunks.

import Foundation
import RegnumInspect

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

extension ByteSource {
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
        self.init { [UInt8](try handle.read(upToCount: 1 << 18) ?? Data()) }
    }
}
