// SPDX-License-Identifier: Apache-2.0
// The kind of the file at a path, and the bytes of a file, a pipe or standard input.

import Foundation
import RegnumInspect

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

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

/// The bytes of standard input or a pipe in a temporary file, for commands that read them several times, or that must
/// have them all before a transaction begins, which keeps other processes from writing. The file has no name, so that
/// nothing is left however the command ends. It is in the folder TMPDIR: the database's folder may be protected. Keep
/// the spool while its bytes are read.
final class Spool {
    private let file: FileHandle

    /// Returns nil for a path that is neither `-` nor that of a pipe. Reads to the end.
    init?(of path: String) throws {
        guard path == "-" || FileKind(path) == .pipe else { return nil }
        file = try Self.makeFile()
        let input = path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        do {
            while let data = try input.read(upToCount: 1 << 20), !data.isEmpty { try file.write(contentsOf: data) }
            try file.seek(toOffset: 0)
        } catch {
            throw Refusal("The input cannot be kept in the folder for temporary files: \(error.localizedDescription)")
        }
    }

    private static func makeFile() throws -> FileHandle {
        let name = "regnum-\(UUID().uuidString)"
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw Refusal("'\(path)' cannot be written: \(reason). Set TMPDIR to a folder that can.")
        }
        unlink(path)
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// A path that leads to the file while the spool exists.
    var url: URL { URL(fileURLWithPath: "/dev/fd/\(file.fileDescriptor)") }

    /// The bytes from the start. Only one of these sources can be read at a time.
    func bytes() throws -> ByteSource {
        let file = self.file
        try file.seek(toOffset: 0)
        return ByteSource { [UInt8](try file.read(upToCount: 1 << 18) ?? Data()) }
    }
}
