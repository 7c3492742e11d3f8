// SPDX-License-Identifier: Apache-2.0
// Files with access control lists beyond the POSIX permissions: their replacements and their copies.

import Foundation
@testable import RegnumSystem
import Testing

#if os(Linux)
    @Suite("Access control lists")
    struct AccessListTests {
        private let files = PosixFileSystem.shared

        /// The owner and user 12,345 may read and write, the group and others may not. In the system's form: its
        /// version, then tag, permissions and user of each entry.
        private static let list: [UInt8] = {
            var bytes: [UInt8] = [2, 0, 0, 0]
            let entries: [(tag: UInt8, permissions: UInt8, user: UInt32)] = [
                (0x01, 6, .max), (0x02, 6, 12_345), (0x04, 0, .max), (0x10, 6, .max), (0x20, 0, .max),
            ]
            for entry in entries {
                bytes += [entry.tag, 0, entry.permissions, 0]
                withUnsafeBytes(of: entry.user.littleEndian) { bytes += $0 }
            }
            return bytes
        }()

        /// Runs `body` with the paths of two new files, the first or the second of which has the list. Skipped if the
        /// file system keeps no lists.
        private func withFiles(firstHasList: Bool, _ body: (String, String) throws -> Void) throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-" + UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let paths = ["a", "b"].map { folder.appendingPathComponent($0).path }
            for path in paths { try files.open(path, .createNew(permissions: 0o600)).close() }
            let hasList = try withDescriptor(paths[firstHasList ? 0 : 1]) { AccessList.write(Self.list, to: $0) }
            if hasList { try body(paths[0], paths[1]) }
        }

        private func withDescriptor<R>(_ path: String, _ body: (Int32) -> R) throws -> R {
            let handle = try #require(FileHandle(forUpdatingAtPath: path))
            defer { try? handle.close() }
            return body(handle.fileDescriptor)
        }

        private func list(_ path: String) throws -> AccessList.Found {
            try withDescriptor(path) { AccessList.read($0) }
        }

        private func takeAccess(_ source: String, _ target: String, asReplacement: Bool) throws -> UInt32? {
            let (old, new) = (try files.open(source, .readWrite), try files.open(target, .readWrite))
            defer { for file in [old, new] { file.close() } }
            new.takeAccess(of: old, asReplacement: asReplacement)
            return try files.status(target)?.permissions
        }

        // The group permissions of a file with a list show the maximum that the list allows. Its compacted copy once
        // had these without the list, so that the whole group gained access, and the users of the list lost theirs.
        @Test("A file that replaces another has its access list")
        func replacement() throws {
            try withFiles(firstHasList: true) { source, target in
                try #expect(takeAccess(source, target, asReplacement: true) == 0o660)
                try #expect(list(target) == .list(Self.list))
            }
        }

        @Test("Only its owner can use a copy of a file with an access list")
        func copy() throws {
            try withFiles(firstHasList: true) { source, target in
                try #expect(takeAccess(source, target, asReplacement: false) == 0o600)
                try #expect(list(target) == .none)
            }
        }

        @Test("The access list of a new file is removed if the file that it replaces has none")
        func without() throws {
            try withFiles(firstHasList: false) { source, target in
                try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: source)
                try #expect(takeAccess(source, target, asReplacement: true) == 0o640)
                try #expect(list(target) == .none)
            }
        }
    }
#endif
