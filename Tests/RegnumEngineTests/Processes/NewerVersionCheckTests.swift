// SPDX-License-Identifier: Apache-2.0
// A refresh without a system call.

import Foundation
import RegnumSystem
import Testing

@testable import RegnumEngine

@Suite struct NewerVersionCheckTests {
    private func database() throws -> Database {
        let path = FileManager.default.temporaryDirectory.path + "/regnum-slots-\(UInt64.random(in: 0 ... .max)).realm"
        return try Database.open(path: path, fileSystem: PosixFileSystem())
    }

    @Test("A refresh that finds nothing new only reads the slots, and the next one finds a later commit")
    func refresh() throws {
        let database = try database()
        defer { for end in ["", ".lock"] { try? PosixFileSystem().remove(database.path + end) } }
        let reader = try database.makeSession()
        let writer = try database.makeSession()
        for _ in 0..<3 {
            #expect(try !reader.refresh())
            #expect(try !reader.refresh())
            try writer.beginWrite()
            try writer.commitWrite()
            #expect(try reader.refresh())
        }
    }

    @Test("The slots count as seen only if their newest commit is published")
    func later() throws {
        let database = try database()
        defer { for end in ["", ".lock"] { try? PosixFileSystem().remove(database.path + end) } }
        var check = try #require(NewerVersionCheck(database))
        let words = SIMD4<UInt64>(7, 1, 8, 2)
        check.note(words, newest: 7)
        #expect(!check.isSeen(words))
        check.note(words, newest: 8)
        #expect(check.isSeen(words))
        #expect(!check.isSeen(SIMD4(7, 1, 8, 3)))
    }
}
