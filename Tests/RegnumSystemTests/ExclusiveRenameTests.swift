// SPDX-License-Identifier: Apache-2.0
// Renames that fail if the name is taken, on file systems with and without hard links.

import Foundation
import Testing

@testable import RegnumSystem

@Suite struct ExclusiveRenameTests {
    private let files = PosixFileSystem.shared

    private func write(_ byte: UInt8) throws -> String {
        let path = freshPath()
        let file = try files.open(path, .createNew(permissions: 0o600))
        try file.write([byte], at: 0)
        file.close()
        return path
    }

    @Test("A rename in one step gives a name once")
    func names() throws {
        let (first, second, target) = (try write(1), try write(2), freshPath())
        defer { for path in [first, second, target] { try? files.remove(path) } }
        try files.renameInOneStepIfAbsent(first, to: target)
        #expect(errorKind { try files.renameInOneStepIfAbsent(second, to: target) } == .exists)
        #expect(errorKind { try files.renameInOneStepIfAbsent(first, to: second + "x") } == .notFound)
        #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: target))) == [1])
        #expect(try files.status(first) == nil)
        #expect(try files.status(second) != nil)
    }

    // Without hard links the name was looked up first, and two processes could both take it.
    @Test("The system's own exclusive rename, for file systems without hard links, gives a name once")
    func withoutLinks() throws {
        let (first, second, target) = (try write(1), try write(2), freshPath())
        defer { for path in [first, second, target] { try? files.remove(path) } }
        let result = SystemCalls.renameExclusively(first, target)
        if SystemCalls.isUnsupportedRename(result) { return }
        #expect(result == 0)
        #expect(SystemCalls.renameExclusively(second, target) < 0)
        #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: target))) == [1])
        #expect(try files.status(second) != nil)
    }
}
