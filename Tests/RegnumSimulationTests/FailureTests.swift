// SPDX-License-Identifier: Apache-2.0
// Failures on demand: the calls that fail, and the state after a failed call.

import RegnumSimulation
import RegnumSystem
import Testing

@Suite("A simulated failure")
struct FailureTests {
    @Test("Hits the call with its index, once or from then on", arguments: [false, true])
    func index(_ isPersistent: Bool) throws {
        let (files, file) = try twoPages()
        let start = files.operationCount
        files.failure = SimulatedFailure(call: start + 1, kind: .noSpace, isPersistent: isPersistent)
        try file.allocate(9_000)
        #expect(errorKind { try file.allocate(10_000) } == .noSpace)
        #expect(files.contents(of: "a")?.count == 9_000)
        #expect(errorKind { try file.allocate(10_000) } == (isPersistent ? .noSpace : nil))
        #expect(files.operationCount == start + 3)
        files.failure = nil
        try file.allocate(10_000)
        #expect(files.operationCount(of: "allocate") == 4)
    }

    @Test("Leaves some whole sectors of a failed write, from its start")
    func partialWrite() throws {
        let (files, file) = try twoPages()
        var counts: Set<Int> = []
        files.failure = SimulatedFailure(call: 0, kind: .io, isPersistent: true, operation: "write")
        for _ in 0..<100 {
            files.setContents(of: "a", filled(1, 8_192))
            #expect(errorKind { try file.write(filled(2, 2_048), at: 0) } == .io)
            let bytes = try #require(files.contents(of: "a"))
            let count = bytes.prefix { $0 == 2 }.count
            #expect(bytes.dropFirst(count).allSatisfy { $0 == 1 })
            counts.insert(count)
        }
        #expect(counts == [0, 512, 1_024, 1_536, 2_048])
    }

    @Test("Does nothing after the power is off")
    func powerOff() throws {
        let (files, file) = try twoPages()
        files.crashAfterCall(files.operationCount + 1)
        try file.write(filled(2), at: 0)
        #expect(errorKind { try file.write(filled(3), at: 0) } == .io)
        #expect(errorKind { try file.sync(.data) } == .io)
        #expect(errorKind { try files.remove("a") } == .io)
        #expect(errorKind { _ = try files.open("b", .readWriteCreate) } == .io)
        #expect(files.paths == ["a"])
        #expect(images(files, .writes) == [filled(1, 8_192), filled(2) + filled(1)])
    }

    @Test("Counts open files until they are closed, and regions until they are released")
    func openFiles() throws {
        let files = SimulatedFileSystem()
        do {
            let file = try files.open("a", .readWriteCreate)
            #expect(files.openFileCount == 1)
            let region = try file.makeRegion()
            #expect(files.openFileCount == 2)
            file.close()
            file.close()
            #expect(files.openFileCount == 1)
            withExtendedLifetime(region) {}
        }
        #expect(files.openFileCount == 0)
        files.failure = SimulatedFailure(call: 0, kind: .io, operation: "open")
        #expect(errorKind { _ = try files.open("a", .readWrite) } == nil)
        files.failure = SimulatedFailure(call: files.operationCount(of: "open"), kind: .io, operation: "open")
        #expect(errorKind { _ = try files.open("a", .readWrite) } == .io)
        #expect(files.openFileCount == 0)
    }

    @Test("Draws random bytes from the seed")
    func seededBytes() {
        func draw(_ seed: UInt64) -> [UInt8] {
            var bytes = filled(0, 32)
            bytes.withUnsafeMutableBytes { SimulatedFileSystem(seed: seed).fillRandom($0) }
            return bytes
        }
        #expect(draw(1) == draw(1))
        #expect(draw(1) != draw(2))
        var random = SeededRandom(seed: 1)
        #expect(Set((0..<500).map { _ in random.below(7) }) == Set(0..<7))
    }
}
