// SPDX-License-Identifier: Apache-2.0
// Bytes that somebody has changed, with and without fresh checksums: a thrown error or an answer, never a trap, a
// hang or much memory. A case is a number; `REGNUM_HOSTILE_CASES` says how many of each sort are run, REGNUM_SEED
// where they begin, REGNUM_HOSTILE_TRACE=1 prints each before it runs, so that the last one is the culprit.

import Foundation
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

@Suite(.serialized) struct HostileBytesTests {
    static let file = HostileFile.good
    static let cases =
        CurrentProcess.environment("REGNUM_HOSTILE_CASES").flatMap { Int($0) } ?? (RunScale.isOptimized ? 2000 : 2)
    static let seed = CurrentProcess.environment("REGNUM_SEED").flatMap { UInt64($0) } ?? 20_261_121
    /// Where no other tests run beside these: see `PeakMemory`.
    static let measuresMemory = CurrentProcess.environment("REGNUM_HOSTILE_MEMORY") != nil
    static let isTraced = CurrentProcess.environment("REGNUM_HOSTILE_TRACE") != nil

    /// Runs `count` cases, spread over `0..<total` from a place that the seed chooses, all of them where they fit.
    static func forEachCase(
        _ name: String, of total: Int, _ body: (Int, inout HostileFile) -> Void
    ) {
        let count = min(cases, total)
        let start = Int(seed % UInt64(total))
        let only = CurrentProcess.environment("REGNUM_HOSTILE_ONLY").flatMap { Int($0) }
        for i in 0..<count {
            let number = only ?? (start + Int((UInt64(i) * UInt64(total)) / UInt64(count))) % total
            var file = file
            body(number, &file)
            if isTraced { trace("\(name) \(number)\n") }
            let clock = ContinuousClock()
            let begin = clock.now
            let before = measuresMemory ? PeakMemory.begin() : 0
            HostileUse.run(file.bytes)
            let took = clock.now - begin
            if measuresMemory {
                let grown = PeakMemory.byteCount() - before
                if grown > 64 << 20 + 4 * file.bytes.count { Issue.record("\(name) \(number) took \(grown) bytes") }
                largest.withLock { $0 = max($0, grown) }
            }
            if took > .seconds(RunScale.isOptimized ? 2 : 30) { Issue.record("\(name) \(number) took \(took)") }
            if only != nil { break }
        }
    }

    private static let largest = Mutex(0)

    private static func trace(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }

    @Test("the file holds every kind of block, and reads also with fresh checksums")
    func undamaged() {
        #expect(HostileUse.run(Self.file.bytes))
        var file = Self.file
        for page in file.usedBlocks { file.retag(page) }
        file.retagHeaders()
        #expect(HostileUse.run(file.bytes))
        let kinds = Set(file.usedBlocks.map { file.kind($0) })
        #expect(kinds == Set(BlockKind.allCases.map(\.rawValue)).subtracting([BlockKind.manifest.rawValue]))
    }

    static let fixedPages = [0, 4, 8, 12]

    @Test("each bit of the headers and slots", arguments: [false, true])
    func fixedBits(isRetagged: Bool) {
        Self.forEachCase("fixed \(isRetagged)", of: Self.fixedPages.count * 4096 * 8) { number, file in
            let page = Self.fixedPages[number / 32768]
            file.bytes[page * 4096 + number % 32768 / 8] ^= 1 << UInt8(number % 8)
            guard isRetagged else { return }
            if page == 0 || page == 12 {
                file.retag(page * 4096, 4080, ContentHash(seedLow: 0, seedHigh: 0))
            } else {
                file.retag(page * 4096, 4080, file.hash)
            }
        }
    }

    /// One block of each kind, the newest.
    static let samplePages: [Int] = BlockKind.allCases.compactMap { kind in
        file.usedBlocks.last { file.kind($0) == kind.rawValue }
    }

    @Test("each bit of a block of each kind", arguments: [false, true])
    func blockBits(isRetagged: Bool) {
        Self.forEachCase("block \(isRetagged)", of: Self.samplePages.count * 4096 * 8) { number, file in
            let page = Self.samplePages[number / 32768]
            file.bytes[page * 4096 + number % 32768 / 8] ^= 1 << UInt8(number % 8)
            if isRetagged { file.retag(page) }
        }
    }

    @Test("random damage anywhere behind fresh checksums")
    func randomDamage() {
        Self.forEachCase("random", of: 1 << 40) { number, file in
            var random = SeededRandom(seed: UInt64(number))
            let pages = file.usedBlocks
            for _ in 0..<(1 + random.below(3)) {
                let page = pages[random.below(pages.count)]
                let end = (Self.file.blocks.lastIndex(of: page) ?? page) + 1
                let start = page * 4096 + 32
                for _ in 0..<(1 + random.below(4)) {
                    let limit = random.below(2) == 0 ? 400 : end * 4096 - start - 8
                    Self.damage(&file.bytes, start + random.below(limit), &random)
                }
                file.retag(page)
            }
        }
    }

    private static func damage(_ bytes: inout [UInt8], _ at: Int, _ random: inout SeededRandom) {
        let words: [UInt64] = [0, 1, .max, 1 << 31, 1 << 32, 1 << 63, 0x7fff_ffff_ffff_ffff, 0xffff_ffff, 0xffff]
        switch random.below(6) {
        case 0: bytes[at] ^= 1 << UInt8(random.below(8))
        case 1: bytes[at] = UInt8(truncatingIfNeeded: random.next())
        case 2: bytes[at] = bytes[at] &+ (random.below(2) == 0 ? 1 : 255)
        case 3:
            let word = words[random.below(words.count)]
            bytes.withUnsafeMutableBytes { $0.storeBytes(of: word, toByteOffset: at & ~7, as: UInt64.self) }
        case 4:
            let word = UInt32(truncatingIfNeeded: words[random.below(words.count)])
            bytes.withUnsafeMutableBytes { $0.storeBytes(of: word, toByteOffset: at & ~3, as: UInt32.self) }
        default:
            let other = random.below(at + 1)
            for i in 0..<8 { bytes[at + i] = bytes[max(65536, other) + i] }
        }
    }

    @Test("references that lead to other blocks")
    func exchangedReferences() {
        let file = Self.file
        let refs = file.usedBlocks.flatMap { page in (file.holders[page] ?? []) }
        Self.forEachCase("refs", of: refs.count * refs.count) { number, file in
            let (to, from) = (refs[number / refs.count], refs[number % refs.count])
            let ref = Array(file.bytes[from..<from + 40])
            file.bytes.replaceSubrange(to..<to + 40, with: ref)
            if to / 4096 >= 16 { file.retag(file.blocks[to / 4096]) } else { file.retagSlots() }
        }
    }

    @Test("random bytes without fresh checksums")
    func unsealedDamage() {
        Self.forEachCase("unsealed", of: 1 << 40) { number, file in
            var random = SeededRandom(seed: UInt64(number))
            for _ in 0..<(1 + random.below(20)) {
                file.bytes[random.below(file.bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            }
        }
    }

    @Test("files cut off at and around every page")
    func truncated() {
        Self.forEachCase("cut", of: Self.file.bytes.count / 4096 * 3) { number, file in
            let count = max(0, number / 3 * 4096 + number % 3 - 1)
            file.bytes.removeSubrange(min(count, file.bytes.count)...)
        }
    }

    /// The last of the suite; it says what the others have found.
    @Test("no case takes much memory", .enabled(if: measuresMemory))
    func memory() {
        Self.trace("the most memory that a case took: \(Self.largest.withLock { $0 }) bytes\n")
        #expect(Self.largest.withLock { $0 } > 0)
    }
}

/// The most memory that this process has had since a moment, in bytes; all of it, of other threads too.
enum PeakMemory {
    /// What it has now.
    static func begin() -> Int {
        try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
        return byteCount()
    }

    static func byteCount() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first).flatMap { Int($0) }
            .map { $0 << 10 } ?? 0
    }
}
