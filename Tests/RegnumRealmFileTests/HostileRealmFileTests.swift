// SPDX-License-Identifier: Apache-2.0
// Changed bytes, truncated files and foreign bytes cause an error or yield values: never a trap, never a hang.

import Foundation
import RegnumRealmFile
import Testing

@Suite("Hostile files in Realm's format") struct HostileRealmFileTests {
    /// Numbers that repeat (SplitMix64).
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var z = state
            z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
            z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
            return z ^ (z >> 31)
        }
    }

    /// Reads all of a file: the number of values, or the error.
    private func readAll(_ url: URL, _ snapshot: RealmFileSnapshot = .current) throws -> Result<Int, RealmFileError> {
        do {
            let file = try RealmFile(url: url, snapshot: snapshot)
            var count = 0
            for table in file.tables {
                try file.forEachObject(of: table) { object in count += try object.values().count }
            }
            return .success(count)
        } catch let error as RealmFileError {
            #expect(!error.description.isEmpty && error.filePath == url.path)
            return .failure(error)
        }
    }

    @Test(
        "A changed byte causes an error that names the file, or yields values",
        arguments: ["all_types_v22", "all_types_v24_streaming"])
    func changedBytes(_ name: String) throws {
        let scratch = try Scratch()
        let bytes = try Fixture.bytes("\(name).realm")
        let seed = ProcessInfo.processInfo.environment["REGNUM_ROTATING"].flatMap(UInt64.init) ?? 1
        var numbers = Numbers(state: seed)
        var failures = 0
        let caseCount = ProcessInfo.processInfo.environment["REGNUM_HOSTILE_CASES"].flatMap(Int.init) ?? 12
        for _ in 0..<caseCount {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...40, using: &numbers) {
                // Headers of nodes are at multiples of 8: their last four bytes matter.
                let offset =
                    Int.random(in: 0..<bytes.count / 8, using: &numbers) * 8 + Int.random(in: 0..<8, using: &numbers)
                changed[offset] = UInt8.random(in: 0...255, using: &numbers)
            }
            let url = try scratch.file(changed)
            if case .failure(let error) = try readAll(url) {
                #expect(error.code == .damaged || error.code == .notARealmFile, "seed \(seed)")
                failures += 1
            }
            _ = try readAll(url, .previous)
        }
        #expect(failures > 0)
    }

    @Test(
        "A changed byte of formats up to 9 causes an error or yields values", arguments: OldFormatSamples.all.indices
    )
    func changedBytesOfOldFormats(_ sample: Int) throws {
        let scratch = try Scratch()
        var builder = FileBuilder(format: 9)
        let bytes = builder.file(tables: OldFormatSamples.all[sample](&builder))
        guard case .success = try readAll(scratch.file(bytes)) else {
            Issue.record("the sample itself cannot be read")
            return
        }
        var failures = 0
        // Sizes and types of nodes are in bytes 4 to 7 of each 8, contents in all of them.
        for offset in 16..<bytes.count {
            let values = offset % 2 == 0 ? [0, bytes[offset] ^ 0x40] : [0xff, bytes[offset] &+ 1]
            for value in values where value != bytes[offset] {
                var changed = bytes
                changed[offset] = value
                if case .failure = try readAll(scratch.file(changed)) { failures += 1 }
            }
        }
        #expect(failures > bytes.count / 16)
    }

    @Test("A truncated file is refused, or the rest is read")
    func truncated() throws {
        let scratch = try Scratch()
        let bytes = try Fixture.bytes("all_types_v24.realm")
        for count in [1, 7, 8, 16, 20, 23] {
            #expect(try code { try RealmFile(url: scratch.file(Array(bytes[..<count]))) } == .notARealmFile)
        }
        for count in [24, 25, 32, 4096, bytes.count / 2, bytes.count / 2 + 4] {
            let result = try readAll(scratch.file(Array(bytes[..<count])))
            guard case .failure(let error) = result else {
                Issue.record("\(count) bytes were read as a complete file")
                continue
            }
            #expect(error.code == .damaged)
        }
    }

    @Test("An empty file, a database that was never written, and foreign files cause different errors")
    func otherFiles() throws {
        let scratch = try Scratch()
        #expect(try code { try RealmFile(url: scratch.file([])) } == .notARealmFile)
        #expect(try code { try RealmFile(url: scratch.url.appendingPathComponent("none.realm")) } == .notFound)
        #expect(try code { try RealmFile(url: scratch.url) } == .unreadable)
        #expect(try code { try RealmFile(url: URL(fileURLWithPath: "/dev/zero")) } == .notARealmFile)
        let pipe = scratch.url.appendingPathComponent("pipe.realm")
        try #require(mkfifo(pipe.path, 0o600) == 0)
        #expect(try code { try RealmFile(url: pipe) } == .notARealmFile)
        #expect(try code { try RealmFile(url: scratch.file(Array(repeating: 0x41, count: 8192))) } == .notARealmFile)
        let empty = Array(repeating: UInt8(0), count: 16) + Array("T-DB".utf8) + [0, 0, 0, 0]
        let file = try RealmFile(url: scratch.file(empty))
        #expect(file.formatVersion == 0 && file.tables.isEmpty && file.schemaVersion == nil)
        var newer = try Fixture.bytes("all_types_v24.realm")
        newer[20] = 25
        newer[21] = 25
        #expect(try code { try RealmFile(url: scratch.file(newer)) } == .unsupportedFormat(25))
        newer[20] = 1
        newer[21] = 1
        #expect(try code { try RealmFile(url: scratch.file(newer)) } == .unsupportedFormat(1))
    }

    @Test("Cycles of nodes, and nodes with many parents, end with an error")
    func circles() throws {
        let scratch = try Scratch()
        // A tree of inner nodes, each of which has the next one a hundred times as a child: 100^12 leaves.
        var builder = FileBuilder(format: 9)
        var node = builder.integers(Array(repeating: 1, count: 8))
        for _ in 0..<12 {
            node = builder.refs([Tagged(8)] + Array(repeating: node, count: 100) + [Tagged(1 << 30)], isInner: true)
        }
        let url = try scratch.file(builder.file(tables: [("class_Bomb", builder.legacyTable([("x", 0, 0, node)]))]))
        guard case .failure(let error) = try readAll(url) else {
            Issue.record("a file of \(try Data(contentsOf: url).count) bytes was read without an error")
            return
        }
        #expect(error.code == .damaged)
        // An inner node that is its own child.
        var circle = FileBuilder(format: 9)
        let place = circle.nextRef
        let loop = circle.refs([Tagged(8), place, Tagged(8)], isInner: true)
        #expect(loop == place)
        let second = try scratch.file(circle.file(tables: [("class_Loop", circle.legacyTable([("x", 0, 0, loop)]))]))
        guard case .failure(let other) = try readAll(second) else {
            Issue.record("a cycle was read without an error")
            return
        }
        #expect(other.code == .damaged)
    }
}
