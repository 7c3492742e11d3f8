// SPDX-License-Identifier: Apache-2.0
// Finds the processes that hold the lock of a byte of a file, for error messages. Works on Linux only, and only for
// processes that this one may inspect; otherwise no process is found.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A process that holds a lock.
package struct LockHolder: Sendable, Equatable {
    package var process: Int32
    /// The name of its program, without arguments, which may contain secrets (errors go to logs); empty if unknown.
    package var command: String

    package init(process: Int32) {
        self.process = process
        #if os(Linux)
            let first = (smallFile("/proc/\(process)/cmdline") ?? []).prefix { $0 != 0 }
            command = String(decoding: first.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
            if command.count > Self.commandLimit { command = command.prefix(Self.commandLimit) + "…" }
        #else
            command = ""
        #endif
    }

    private static let commandLimit = 200

    /// The process for a message, such as "process 12 ('server')".
    package var words: String { command.isEmpty ? "process \(process)" : "process \(process) ('\(command)')" }

    /// The processes that hold a lock of that byte. Reads the system's description of each open file of each process,
    /// which takes milliseconds.
    package static func find(_ file: FileIdentity, byte: Int) -> [LockHolder] {
        #if os(Linux)
            return processes.filter { process in
                locks(of: process).contains { lock in
                    // Files on other volumes may have the same inode number.
                    lock.inode == file.inode && lock.bytes.contains(byte)
                        && identity("/proc/\(process)/fd/\(lock.descriptor)") ?? file == file
                }
            }.map { LockHolder(process: $0) }
        #else
            return []
        #endif
    }

    /// The paths, under /proc, of the other files on which a process that holds a lock in `bytes` of `file` also holds
    /// a lock in `bytes`.
    static func paths(at bytes: Range<Int>, besides file: FileIdentity) -> [String] {
        #if os(Linux)
            return processes.flatMap { process -> [String] in
                let locks = locks(of: process).filter { bytes.overlaps($0.bytes) }
                guard locks.contains(where: { $0.inode == file.inode }) else { return [] }
                return locks.filter { $0.inode != file.inode }.map { "/proc/\(process)/fd/\($0.descriptor)" }
            }
        #else
            return []
        #endif
    }

    struct Lock: Equatable {
        var descriptor: String
        var inode: UInt64
        var bytes: ClosedRange<Int>
    }

    /// Parses the locks in the description of an open file, in lines such as
    /// "lock: 1: OFDLCK ADVISORY WRITE -1 fd:00:1234 0 EOF".
    static func locks(in text: [UInt8], of descriptor: String) -> [Lock] {
        text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let words = line.split { $0 == 32 || $0 == 9 }.map { String(decoding: $0, as: UTF8.self) }
            guard words.count >= 9, words[0] == "lock:",
                let inode = words[6].split(separator: ":").last.flatMap({ UInt64($0) }),
                let start = Int(words[7]), let end = words[8] == "EOF" ? Int.max : Int(words[8]), start <= end
            else { return nil }
            return Lock(descriptor: descriptor, inode: inode, bytes: start...end)
        }
    }

    #if os(Linux)
        /// Nil if the system does not show it.
        private static func identity(_ path: String) -> FileIdentity? {
            (try? PosixFileSystem.shared.status(path))?.identity
        }

        private static var processes: [Int32] { names(in: "/proc").compactMap { Int32($0) } }

        private static func locks(of process: Int32) -> [Lock] {
            let folder = "/proc/\(process)/fdinfo"
            return names(in: folder).flatMap { name in
                smallFile("\(folder)/\(name)").map { locks(in: $0, of: name) } ?? []
            }
        }

        private static func names(in folder: String) -> [String] {
            guard let directory = withUTF8Path(folder, { opendir($0) }) else { return [] }
            defer { closedir(directory) }
            var names: [String] = []
            while let entry = readdir(directory) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) { raw in
                    String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
                }
                if !name.hasPrefix(".") { names.append(name) }
            }
            return names
        }
    #endif
}
