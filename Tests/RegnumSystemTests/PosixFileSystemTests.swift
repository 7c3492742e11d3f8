// SPDX-License-Identifier: Apache-2.0
// The particular behaviour of real files.

import Foundation
import RegnumSystem
import Testing

@Suite("The real file system")
struct PosixFileSystemTests {
    private let files = PosixFileSystem.shared

    @Test("Reports a full device as no space")
    func fullDevice() throws {
        let file = try files.open("/dev/full", .readWrite)
        #expect(errorKind { try file.write([1], at: 0) } == .noSpace)
    }

    // Each once took 1 TiB of address space: some hundred files left nothing for the rest of the process.
    @Test("Many open files leave room in the address space")
    func manyRegions() throws {
        let path = freshPath()
        defer { try? files.remove(path) }
        let file = try files.open(path, .readWriteCreate)
        let regions = try (0..<100).map { _ in try file.makeRegion() }
        #expect(regions.allSatisfy { $0.capacity >= 1 << 30 })
        #expect(regions.reduce(0) { $0 + $1.capacity } <= (16 << 40) + 100 * (64 << 30))
    }

    @Test("Reports a missing parent, and a path with a zero in it, as not found")
    func missingParent() {
        #expect(errorKind { _ = try files.open(freshPath() + "/a", .readWriteCreate) } == .notFound)
        #expect(errorKind { _ = try files.open("/tmp\0/a", .readOnly) } == .notFound)
        #expect(errorKind { _ = try files.open("", .readOnly) } == .notFound)
    }

    @Test("Does not change the length if space cannot be reserved")
    func failedAllocation() throws {
        let path = freshPath()
        defer { try? files.remove(path) }
        let file = try files.open(path, .readWriteCreate)
        try file.write([1, 2, 3], at: 0)
        #expect(errorKind { try file.allocate(1 << 60) } != nil)
        #expect(try file.byteCount() == 3)
    }

    /// Most file systems cannot clone: set TMPDIR to one that can (XFS, Btrfs) to test the other case.
    @Test("A clone has the bytes and permissions of its original and is independent, or there is none")
    func clone() throws {
        let (path, copy) = (freshPath(), freshPath())
        defer { for path in [path, copy] { try? files.remove(path) } }
        #expect(!files.clone(path, to: copy))
        let file = try files.open(path, .createNew(permissions: 0o600))
        try file.write([1, 2, 3], at: 5000)
        guard files.clone(path, to: copy) else {
            #expect(try files.status(copy) == nil)
            return
        }
        try file.write([9], at: 5000)
        #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: copy)).suffix(3)) == [1, 2, 3])
        #expect(try files.status(copy)?.permissions == 0o600)
        #expect(!files.clone(path, to: copy), "an existing file is not replaced")
        #expect(try files.status(copy)?.byteCount == 5003)
    }

    @Test(
        "Finds the directory of a path",
        arguments: [
            ("/a/b", "/a"), ("/a", "/"), ("a", "."), ("a/b/", "a"), ("/", "/"), ("a//b", "a"),
            ("/a/b/c", "/a/b"),
        ])
    func parents(_ path: String, _ parent: String) {
        #expect(parentPath(path) == parent)
    }

    @Test("Explains an error in one line")
    func descriptions() {
        let error = SystemError(.noSpace, "write", "/x", code: 28)
        #expect(error.description == "Cannot write '/x': no space left (error 28)")
        #expect(SystemError(.isDirectory, "open", "/x").description == "Cannot open '/x': it is a directory")
    }
}
