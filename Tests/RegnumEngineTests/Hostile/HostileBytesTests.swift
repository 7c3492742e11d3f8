// SPDX-License-Identifier: Apache-2.0
// Bytes changed by an attacker, with and without fresh checksums: the result is a thrown error or an answer, never a
// trap, a hang or high memory use. If the checksums are stale, the error names the block, and an answer is that of the
// newest state or of the one before.
//
// A case is a kind and a number. `REGNUM_HOSTILE_CASES` sets the number of cases of each kind (at most 20,000 random
// ones), REGNUM_SEED their start. REGNUM_HOSTILE_ONLY runs the case of that number alone. REGNUM_HOSTILE_TRACE=1 prints
// each case before it runs, so that the last one printed is the culprit.

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
    /// Set when no other tests run in parallel: see `PeakMemory`.
    static let measuresMemory = CurrentProcess.environment("REGNUM_HOSTILE_MEMORY") != nil
    static let isTraced = CurrentProcess.environment("REGNUM_HOSTILE_TRACE") != nil

    /// Whether a case has recomputed the checksums.
    enum Sealing { case fresh, left }

    /// Runs cases, spread over `0..<total` from starts that the seeds choose; all of them if they fit. `body` changes
    /// the bytes and describes the change.
    static func forEachCase(
        _ name: String, of total: Int, sealing: Sealing, atMost limit: Int = .max, mayLackHeader: Bool = false,
        _ body: (Int, inout HostileFile) -> String
    ) {
        forEachNumber(of: total, atMost: limit) { number in
            var file = Self.file
            let change = body(number, &file)
            run(name, number, change, file.bytes) {
                guard sealing == .left else {
                    HostileUse.run(file.bytes)
                    return []
                }
                return faults(file.bytes, states, nil, mayLackHeader: mayLackHeader)
            }
        }
    }

    private static func forEachNumber(of total: Int, atMost limit: Int = .max, _ body: (Int) -> Void) {
        if let only { return body(only % total) }
        let count = min(cases, total, limit)
        // If all cases fit, there is one start, so that none is left out.
        let seeds = count < total ? RunSeed.ofLongRuns : [RunSeed.ofLongRuns[0]]
        for i in 0..<count {
            let start = Int(seeds[i % seeds.count].value % UInt64(total))
            body((start + Int(UInt64(i) * UInt64(total) / UInt64(count))) % total)
        }
    }

    private static let only = CurrentProcess.environment("REGNUM_HOSTILE_ONLY").flatMap { Int($0) }

    /// Opens the file both ways.
    private static func faults(
        _ bytes: [UInt8], _ states: HostileUse.States, _ key: EncryptionKey?, mayLackHeader: Bool
    ) -> [String] {
        [true, false].flatMap { checksSmallFiles -> [String] in
            let outcome = HostileUse.outcome(bytes, checksSmallFiles: checksSmallFiles, key: key)
            // An empty file is a new one.
            if bytes.isEmpty { return outcome.errors.map { "\($0.step): the error \($0.error)" } }
            return states.faults(outcome, mayLackHeader: mayLackHeader)
                .map { checksSmallFiles ? "read whole when opened: \($0)" : $0 }
        }
    }

    /// Records the faults that `body` finds, with all that is needed to reproduce them, and excessive time and memory.
    private static func run(
        _ name: String, _ number: Int, _ change: String, _ bytes: [UInt8], _ body: () -> [String]
    ) {
        let label = "'\(name)' \(number) (REGNUM_HOSTILE_ONLY=\(number)): \(change)"
        if isTraced { trace("\(label)\n") }
        let begin = ThreadTime.seconds
        let before = measuresMemory ? PeakMemory.begin() : 0
        for fault in body() { Issue.record("\(label): \(fault)") }
        let took = ThreadTime.seconds - begin
        if measuresMemory {
            let grown = PeakMemory.byteCount() - before
            if grown > 64 << 20 + 4 * bytes.count { Issue.record("\(label) took \(grown) bytes") }
            largest.withLock { $0 = max($0, grown) }
        }
        if took > (RunScale.isOptimized ? 2 : 30) { Issue.record("\(label) took \(took) s") }
    }

    /// The states that a file with stale checksums may show.
    private static let states: HostileUse.States = {
        do { return try HostileUse.States(file.bytes) } catch { fatalError("\(error)") }
    }()

    private static let largest = Mutex(0)

    private static func trace(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }

    @Test("The file holds every kind of block, and can be read with fresh checksums")
    func undamaged() {
        for checksSmallFiles in [true, false] {
            let outcome = HostileUse.outcome(Self.file.bytes, checksSmallFiles: checksSmallFiles)
            #expect(outcome.isRight, "\(outcome)")
            #expect(Self.states.faults(outcome) == [])
        }
        #expect(Self.states.count == 2)
        var file = Self.file
        for page in file.usedBlocks { file.retag(page) }
        file.retagHeaders()
        #expect(HostileUse.run(file.bytes))
        let kinds = Set(file.usedBlocks.map { file.kind($0) })
        #expect(kinds == Set(BlockKind.allCases.map(\.rawValue)).subtracting([BlockKind.history.rawValue]))
        // The bit flips reach every kind of block.
        let reached = Set(Self.samplePages.map { file.kind(file.blocks[$0]) })
        #expect(reached == kinds)
    }

    static let fixedPages = [0, 4, 8, 12]

    private static func flip(_ number: Int, of pages: [Int], _ bytes: inout [UInt8]) -> (page: Int, what: String) {
        let (page, bit) = (pages[number / 32768], number % 32768)
        bytes[page * 4096 + bit / 8] ^= 1 << UInt8(bit % 8)
        return (page, "page \(page), byte \(bit / 8), bit \(bit % 8)")
    }

    @Test("A flipped bit of the headers and slots causes an error or leaves a known state", arguments: [false, true])
    func fixedBits(isRetagged: Bool) {
        Self.forEachCase(
            "fixed \(isRetagged)", of: Self.fixedPages.count * 32768, sealing: isRetagged ? .fresh : .left
        ) { number, file in
            let (page, what) = Self.flip(number, of: Self.fixedPages, &file.bytes)
            guard isRetagged else { return what }
            if page == 0 || page == 12 {
                file.retag(page * 4096, 4080, ContentHash(seedLow: 0, seedHigh: 0))
            } else {
                file.retag(page * 4096, 4080, file.hash)
            }
            return what
        }
    }

    /// All pages of the longest block of each kind that the newest version needs.
    static let samplePages: [Int] = {
        let reachable = (try? HostileFile.reachablePages(file.bytes)) ?? []
        let blocks = Set(reachable.map { file.blocks[$0] }).sorted()
        return BlockKind.allCases.flatMap { kind -> [Int] in
            let longest = blocks.filter { file.kind($0) == kind.rawValue }
                .max { file.pages(of: $0).count < file.pages(of: $1).count }
            return longest.map { Array(file.pages(of: $0)) } ?? []
        }
    }()

    @Test("A flipped bit of a block of each kind causes an error or leaves a known state", arguments: [false, true])
    func blockBits(isRetagged: Bool) {
        Self.forEachCase(
            "block \(isRetagged)", of: Self.samplePages.count * 32768, sealing: isRetagged ? .fresh : .left
        ) { number, file in
            let (page, what) = Self.flip(number, of: Self.samplePages, &file.bytes)
            if isRetagged { file.retag(file.blocks[page]) }
            return "\(what), kind of block \(file.kind(file.blocks[page]))"
        }
    }

    @Test("Random damage with fresh checksums causes an error or allows an answer")
    func randomDamage() {
        Self.forEachCase("random", of: 1 << 40, sealing: .fresh, atMost: Self.mostRandom) { number, file in
            var random = SeededRandom(seed: UInt64(number))
            let pages = file.usedBlocks
            var places: [Int] = []
            for _ in 0..<(1 + random.below(3)) {
                let page = pages[random.below(pages.count)]
                let end = Self.file.pages(of: page).upperBound
                let start = page * 4096 + 32
                for _ in 0..<(1 + random.below(4)) {
                    let limit = random.below(2) == 0 ? 400 : end * 4096 - start - 8
                    places.append(start + random.below(limit))
                    Self.damage(&file.bytes, places[places.count - 1], &random)
                }
                file.retag(page)
            }
            return "at the bytes \(places)"
        }
    }

    /// More random cases would only find what those of another seed find.
    private static let mostRandom = 20_000

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

    @Test("References to other blocks cause an error or allow an answer")
    func exchangedReferences() {
        let file = Self.file
        let refs = file.usedBlocks.flatMap { page in (file.holders[page] ?? []) }
        Self.forEachCase(
            "refs", of: refs.count * refs.count, sealing: .fresh, atMost: Self.mostRandom
        ) { number, file in
            let (to, from) = (refs[number / refs.count], refs[number % refs.count])
            let ref = Array(file.bytes[from..<from + 40])
            file.bytes.replaceSubrange(to..<to + 40, with: ref)
            if to / 4096 >= 16 { file.retag(file.blocks[to / 4096]) } else { file.retagSlots() }
            return "the one at byte \(from) over the one at byte \(to)"
        }
    }

    @Test("Random bytes with stale checksums cause an error or leave a known state")
    func unsealedDamage() {
        Self.forEachCase(
            "unsealed", of: 1 << 40, sealing: .left, atMost: Self.mostRandom, mayLackHeader: true
        ) { number, file in
            var random = SeededRandom(seed: UInt64(number))
            var places: [Int] = []
            for _ in 0..<(1 + random.below(20)) {
                places.append(random.below(file.bytes.count))
                file.bytes[places[places.count - 1]] = UInt8(truncatingIfNeeded: random.next())
            }
            return "at the bytes \(places)"
        }
    }

    @Test("A file truncated at or near a page boundary causes an error or leaves a known state")
    func truncated() {
        Self.forEachCase(
            "cut", of: Self.file.bytes.count / 4096 * 3, sealing: .left, mayLackHeader: true
        ) { number, file in
            let count = max(0, number / 3 * 4096 + number % 3 - 1)
            file.bytes.removeSubrange(min(count, file.bytes.count)...)
            return "to \(count) bytes"
        }
    }

    #if Encryption
        private static let encryptedStates: HostileUse.States = {
            do { return try HostileUse.States(HostileFile.encrypted, key: HostileFile.key) } catch {
                fatalError("\(error)")
            }
        }()

        @Test("An encrypted file can be read and written, in its newest state and in the one before")
        func undamagedEncrypted() {
            let outcome = HostileUse.outcome(HostileFile.encrypted, checksSmallFiles: false, key: HostileFile.key)
            #expect(outcome.isRight, "\(outcome)")
            #expect(Self.encryptedStates.count == 2)
        }

        @Test("A flipped bit of an encrypted file causes an error or leaves a known state")
        func encryptedBits() throws {
            let good = HostileFile.encrypted
            let reachable = try HostileFile.reachablePages(good, key: HostileFile.key)
            let pages = Self.fixedPages + reachable
            Self.forEachNumber(of: pages.count * 32768) { number in
                var bytes = good
                let (_, what) = Self.flip(number, of: pages, &bytes)
                Self.run("encrypted", number, what, bytes) {
                    Self.faults(bytes, Self.encryptedStates, HostileFile.key, mayLackHeader: false)
                }
            }
        }
    #endif

    /// The last test of the suite; it reports the maximum of the others.
    @Test("No case uses much memory", .enabled(if: measuresMemory))
    func memory() {
        Self.trace("the most memory that a case took: \(Self.largest.withLock { $0 }) bytes\n")
        #expect(Self.largest.withLock { $0 } > 0)
    }
}

/// The peak memory of this process since a moment, in bytes, including other threads.
enum PeakMemory {
    /// The current memory.
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
