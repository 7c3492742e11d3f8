// SPDX-License-Identifier: Apache-2.0
// Copies of keys in memory that was released. The expanded form of an AES key has a pattern, so that it is found without
// knowing the key: of eight words of 32 bits, six are the exclusive or of the word before and the word eight before.

#if os(Linux) && Encryption
    import Foundation
    @testable import RegnumEngine
    import RegnumSimulation
    import RegnumSystem
    import Testing

    @Suite struct KeyTracesTests {
        /// The number of expanded AES-256 keys in `bytes`, except for that of zeros.
        static func count(_ bytes: UnsafeRawBufferPointer) -> Int {
            var found = 0
            var offset = 0
            while offset + 240 <= bytes.count {
                func word(_ i: Int) -> UInt32 { bytes.loadUnaligned(fromByteOffset: offset + i * 4, as: UInt32.self) }
                if word(9) == word(8) ^ word(1), word(10) == word(9) ^ word(2), isExpandedKey(word) { found += 1 }
                offset += 8
            }
            return found
        }

        private static func isExpandedKey(_ word: (Int) -> UInt32) -> Bool {
            for i in 8..<60 where i % 4 != 0 && word(i) != word(i - 8) ^ word(i - 1) { return false }
            return (0..<8).contains { word($0) != 0 } && Set((0..<8).map(word)).count > 2
        }

        /// The number of expanded keys in the private memory of this process.
        static func countInMemory() throws -> Int {
            let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
            let memory = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/mem"))
            var found = 0
            for line in maps.split(separator: "\n") {
                let words = line.split(separator: " ", omittingEmptySubsequences: true)
                guard words.count >= 5, words[1] == "rw-p" else { continue }
                let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
                // Larger regions are reserved address space.
                guard ends.count == 2, ends[1] - ends[0] <= 64 << 20 else { continue }
                do {
                    try memory.seek(toOffset: ends[0])
                    let bytes = try memory.read(upToCount: Int(ends[1] - ends[0])) ?? Data()
                    found += bytes.withUnsafeBytes { count($0) }
                } catch { continue }
            }
            return found
        }

        @Test("An expanded key is found, and other memory is not taken for one")
        func control() {
            var random = SeededRandom(seed: 3)
            var words = (0..<8).map { _ in UInt32(truncatingIfNeeded: random.next()) }
            for i in 8..<60 {
                words.append(i % 4 == 0 ? UInt32(truncatingIfNeeded: random.next()) : words[i - 8] ^ words[i - 1])
            }
            let padded = [UInt32](repeating: 7, count: 30) + words + [UInt32](repeating: 9, count: 100)
            #expect(padded.withUnsafeBytes { Self.count($0) } == 1)
            let noise = (0..<10_000).map { _ in UInt32(truncatingIfNeeded: random.next()) }
            #expect(noise.withUnsafeBytes { Self.count($0) } == 0)
            #expect([UInt32](repeating: 0, count: 10_000).withUnsafeBytes { Self.count($0) } == 0)
        }

        // In a process of its own: other tests use keys at the same time.
        @Test("After a database is closed, no expanded key is in the memory of the process")
        func closed() async {
            _ = await #expect(processExitsWith: .success) {
                let files = try EncryptedFileTests.make()
                var database: Database? = try EncryptedFileTests.open(files, EncryptedFileTests.key(1))
                let rows = try database.map { try EncryptedFileTests.read($0) }
                precondition(rows == EncryptedFileTests.expected())
                database = nil
                let found = try KeyTracesTests.countInMemory()
                precondition(found == 0, "\(found) expanded keys")
            }
        }
    }
#endif
