// SPDX-License-Identifier: Apache-2.0
// The particular behaviour of files in memory.

import RegnumSystem
import Testing

@Suite("The file system in memory")
struct MemoryFileSystemTests {
    @Test("Stops at its capacity and reuses freed space")
    func capacity() throws {
        let files = MemoryFileSystem(capacityLimit: 10_000)
        let one = try files.open("one", .readWriteCreate)
        do {
            let other = try files.open("other", .readWriteCreate)
            try one.allocate(6_000)
            #expect(errorKind { try other.allocate(4_001) } == .noSpace)
            #expect(try other.byteCount() == 0)
            try other.allocate(4_000)
            #expect(errorKind { try one.write([1], at: 6_000) } == .noSpace)
            try one.write([1], at: 5_999)
            try one.truncate(5_000)
            try other.write([1], at: 4_999)
            #expect(errorKind { try other.write([1], at: 5_000) } == .noSpace)
            other.close()
        }
        try files.remove("other")
        try one.allocate(10_000)
        files.capacityLimit = 5
        #expect(errorKind { try one.allocate(10_001) } == .noSpace)
    }

    @Test("Opens many files, each with room to grow")
    func manyFiles() throws {
        let files = MemoryFileSystem()
        let opened = try (0..<500).map { try files.open("\($0)", .readWriteCreate) }
        for file in opened { try file.write([1], at: 1 << 20) }
        #expect(Set(opened.map(\.identity)).count == 500)
        #expect(MemoryFileSystem().isShared == false)
    }
}
