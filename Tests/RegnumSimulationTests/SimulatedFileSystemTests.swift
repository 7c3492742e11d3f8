// SPDX-License-Identifier: Apache-2.0
// The data that the simulation may lose in a power loss, and the data that it must keep.

import RegnumSimulation
import RegnumSystem
import Testing

@Suite("A simulated power loss")
struct SimulatedFileSystemTests {
    @Test("Keeps synced data", arguments: LossModel.allCases)
    func durable(_ model: LossModel) throws {
        let (files, _) = try twoPages()
        #expect(files.pendingOperationCount == 0)
        #expect(images(files, model) == [filled(1, 8_192)])
    }

    @Test(
        "Loses a name whose directory was not synced, although the file was",
        arguments: [
            (LossModel.everything, false), (.prefix, true), (.writes, true), (.sectors, true),
        ])
    func names(_ model: LossModel, _ canLose: Bool) throws {
        let files = SimulatedFileSystem()
        let file = try files.open("a", .readWriteCreate)
        try file.write([1], at: 0)
        try file.sync(.full)
        #expect(images(files, model) == (canLose ? [nil, [1]] : [[1]]))
        try files.syncDirectory(containing: "b")
        #expect(images(files, model) == [[1]])
    }

    @Test("Keeps either name of a rename, never none and never both", arguments: LossModel.allCases)
    func renames(_ model: LossModel) throws {
        let (files, _) = try twoPages()
        files.setContents(of: "b", [5])
        try files.rename("a", to: "b")
        var random = SeededRandom(seed: 1)
        var seen: Set<[String]> = []
        for _ in 0..<100 {
            let image = files.crash(model: model, random: &random)
            seen.insert(image.paths)
            #expect(image.contents(of: "b") == (image.paths == ["b"] ? filled(1, 8_192) : [5]))
        }
        #expect(seen == (model == .everything ? [["b"]] : [["b"], ["a", "b"]]))
        try files.syncDirectory(containing: "b")
        #expect(files.pendingOperationCount == 0)
    }

    @Test("Brings back a removed file until the directory is synced")
    func removal() throws {
        let (files, _) = try twoPages()
        try files.remove("a")
        #expect(images(files, .writes) == [nil, filled(1, 8_192)])
        try files.syncDirectory(containing: "a")
        #expect(images(files, .writes) == [nil])
    }

    @Test("Loses whole writes in any combination")
    func wholeWrites() throws {
        let (files, file) = try twoPages()
        try file.write(filled(2), at: 0)
        try file.write(filled(3), at: 4_096)
        let expected = [(1, 1), (2, 1), (1, 3), (2, 3)].map { filled($0.0) + filled($0.1) }
        #expect(images(files, .writes) == Set(expected))
        #expect(images(files, .prefix) == Set([expected[0], expected[1], expected[3]]))
        #expect(images(files, .everything) == [expected[3]])
        #expect(images(files, .everything, keepingFirst: 1) == [expected[1]])
        #expect(images(files, .writes, keepingFirst: 1) == [expected[0], expected[1]])
        #expect(images(files, .writes, keepingFirst: 0) == [expected[0]])
        #expect(try file.bytes(0..<8_192) == expected[3])
    }

    @Test("Tears writes at sectors of 512 bytes, and only there", arguments: [LossModel.sectors, .garbage])
    func sectors(_ model: LossModel) throws {
        let (files, file) = try twoPages()
        try file.write(filled(2, 2_048), at: 1_024)
        var kept = 0, lost = 0, garbage = 0
        for image in images(files, model) {
            let image = try #require(image)
            #expect(image.prefix(1_024) == filled(1, 1_024)[...])
            #expect(image.suffix(5_120) == filled(1, 5_120)[...])
            for sector in 2..<6 {
                let bytes = Array(image[(sector * 512)..<((sector + 1) * 512)])
                if bytes == filled(1, 512) {
                    lost += 1
                } else if bytes == filled(2, 512) {
                    kept += 1
                } else {
                    garbage += 1
                }
            }
        }
        #expect(kept > 10 && lost > 10)
        #expect((garbage > 10) == (model == .garbage))
    }

    @Test("Garbles the neighbours in a torn sector")
    func tornNeighbours() throws {
        let (files, file) = try twoPages()
        try file.write([2], at: 700)
        #expect(images(files, .garbage).contains { $0?[512] != 1 || $0?[1_023] != 1 })
        #expect(images(files, .garbage).allSatisfy { $0?[511] == 1 && $0?[1_024] == 1 })
    }

    @Test("Keeps or loses growth independently of the bytes, with zeros between")
    func growth() throws {
        let (files, file) = try twoPages()
        try file.write(filled(2), at: 8_192)
        let old = filled(1, 8_192)
        #expect(files.pendingOperationCount == 2)
        #expect(images(files, .lengths) == [old, old + filled(0), old + filled(2)])
        #expect(images(files, .writes) == [old + filled(0), old + filled(2)])
        #expect(images(files, .everything, keepingFirst: 1) == [old + filled(0)])
    }

    @Test("Keeps or loses a truncation, and never shows the old bytes after regrowth")
    func cuts() throws {
        let (files, file) = try twoPages()
        try file.truncate(4_096)
        #expect(images(files, .lengths) == [filled(1, 8_192), filled(1)])
        try file.allocate(8_192)
        #expect(images(files, .lengths) == [filled(1, 8_192), filled(1), filled(1) + filled(0)])
        try file.sync(.data)
        #expect(images(files, .garbage) == [filled(1) + filled(0)])
    }

    @Test(
        "Never makes pages durable by a later sync after a failed one",
        arguments: [LossModel.writes, .sectors])
    func failedSync(_ model: LossModel) throws {
        let (files, file) = try twoPages()
        try file.write(filled(2, 512), at: 0)
        files.failure = SimulatedFailure(call: 1, kind: .io, operation: "sync")
        #expect(errorKind { try file.sync(.data) } == .io)
        #expect(try file.bytes(0..<1) == [2])
        try file.sync(.data)
        let old = filled(1, 8_192)
        let changed = filled(2, 512) + filled(1, 7_680)
        #expect(images(files, model) == [old, changed])
        #expect(images(files, .everything) == [changed])
        try file.write(filled(3, 256), at: 128)
        try file.sync(.data)
        let middle = filled(3, 256)
        let lost = filled(1, 128) + middle + filled(1, 7_808)
        let kept = filled(2, 128) + middle + filled(2, 128) + filled(1, 7_680)
        let seen = images(files, model)
        #expect(seen.contains(lost) && seen.contains(kept))
        #expect(seen.allSatisfy { $0?[128..<384] == middle[...] })
        #expect(images(files, .garbage).allSatisfy { $0?[128..<384] == middle[...] })
        try file.write(filled(4, 512), at: 0)
        try file.sync(.data)
        #expect(images(files, .garbage) == [filled(4, 512) + filled(1, 7_680)])
        #expect(files.pendingOperationCount == 0)
    }

    @Test("Makes the same images from the same seed, and everything equals what programs saw")
    func deterministic() throws {
        func run(_ seed: UInt64) throws -> ([[UInt8]?], Bool) {
            let files = SimulatedFileSystem(seed: seed)
            var random = SeededRandom(seed: seed)
            var result: [[UInt8]?] = []
            var agrees = true
            let names = ["d/a", "d/b", "e/a"]
            for _ in 0..<400 {
                let name = names[random.below(3)]
                let file = try files.open(name, .readWriteCreate)
                switch random.below(8) {
                case 0: try file.truncate(random.below(5_000))
                case 1: try file.allocate(random.below(9_000))
                case 2: try file.sync(.data)
                case 3: try files.rename(name, to: names[random.below(3)])
                case 4: try files.syncDirectory(containing: name)
                case 5: try files.remove(name)
                default:
                    try file.write(
                        filled(UInt8(random.below(255)), random.below(3_000)), at: random.below(5_000))
                }
                let all = files.crash(model: .everything, random: &random)
                agrees = agrees && all.paths == files.paths
                for path in files.paths {
                    agrees = agrees && all.contents(of: path) == files.contents(of: path)
                }
                let model = LossModel.allCases[random.below(6)]
                let image = files.crash(model: model, random: &random)
                result += names.map { image.contents(of: $0) }
            }
            return (result, agrees)
        }
        let (first, agrees) = try run(5)
        #expect(agrees)
        #expect(try run(5).0 == first)
        #expect(try run(6).0 != first)
    }

    @Test("Has neither locks nor failures afterwards, and can be used and crashed again")
    func secondLife() throws {
        let (files, file) = try twoPages()
        try file.lock(byte: 1)
        files.crashAfterCall(files.operationCount)
        #expect(errorKind { try file.sync(.data) } == .io)
        var random = SeededRandom(seed: 1)
        let second = files.crash(model: .everything, random: &random)
        let reopened = try second.open("a", .readWrite)
        #expect(reopened.identity != file.identity)
        #expect(try reopened.tryLock(byte: 1))
        let region = try reopened.makeRegion()
        try region.extend(to: 8_192)
        #expect(region.base.load(fromByteOffset: 8_191, as: UInt8.self) == 1)
        try reopened.write(filled(9), at: 0)
        #expect(images(second, .writes) == [filled(1, 8_192), filled(9) + filled(1)])
    }
}
