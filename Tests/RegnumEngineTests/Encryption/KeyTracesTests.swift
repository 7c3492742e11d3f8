// SPDX-License-Identifier: Apache-2.0
// Copies of derived keys in memory that was released, sought in the whole memory of a process.

#if os(Linux) && Encryption
    import Crypto
    import Foundation
    @testable import RegnumEngine
    import RegnumSimulation
    import RegnumSystem
    import Testing

    @Suite struct KeyTracesTests {
        /// A key whose bytes are in memory only masked, so that a search for it does not find itself.
        struct MaskedKey {
            static let mask: UInt64 = 0x5A3C_96E1_7B4D_2F80
            var words: [UInt64]

            init(words: some Sequence<UInt64>) { self.words = Array(words) }

            init(_ key: SymmetricKey) {
                words = key.withUnsafeBytes { bytes in
                    (0..<bytes.count / 8).map {
                        bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) ^ Self.mask
                    }
                }
            }

            /// The number of times that the key is in `bytes`, at a multiple of four bytes.
            func count(in bytes: UnsafeRawBufferPointer) -> Int {
                var found = 0
                for offset in stride(from: 0, to: min(bytes.count - words.count * 8 + 1, 4096), by: 4) {
                    var i = 0
                    while i < words.count,
                        bytes.loadUnaligned(fromByteOffset: offset + i * 8, as: UInt64.self) ^ Self.mask == words[i]
                    {
                        i += 1
                    }
                    if i == words.count { found += 1 }
                }
                return found
            }

            /// The number of times that each of `keys` is in the private memory of this process.
            static func countInMemory(_ keys: [MaskedKey]) throws -> [Int] {
                let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
                let memory = open("/proc/self/mem", O_RDONLY)
                defer { close(memory) }
                let page = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096 + 32, alignment: 16)
                defer { page.deallocate() }
                var found = keys.map { _ in 0 }
                for line in maps.split(separator: "\n") {
                    let parts = line.split(separator: " ", omittingEmptySubsequences: true)
                    guard parts.count >= 5, parts[1] == "rw-p" else { continue }
                    let ends = parts[0].split(separator: "-").compactMap { Int($0, radix: 16) }
                    guard ends.count == 2 else { continue }
                    for offset in stride(from: ends[0], to: ends[1], by: 4096) {
                        let byteCount = pread(memory, page.baseAddress, page.count, offset)
                        guard byteCount > 0, let base = page.baseAddress, !Memory.isZero(base, byteCount) else {
                            continue
                        }
                        let bytes = UnsafeRawBufferPointer(rebasing: page[..<byteCount])
                        for (i, key) in keys.enumerated() { found[i] += key.count(in: bytes) }
                    }
                }
                return found
            }
        }

        private static func list(ofProcess id: Int32) -> URL {
            FileManager.default.temporaryDirectory.appendingPathComponent("regnum-keys-\(id)")
        }

        /// The keys that are derived for the file of `EncryptedFileTests.make`, whose salt is always the same.
        private static func derived() throws -> [SymmetricKey] {
            let header = try EncryptedFileTests.open(EncryptedFileTests.make(), EncryptedFileTests.key(1)).header
            var salt = try #require(header.encryption?.salt)
            let key = EncryptedFileTests.key(1)
            let code = withUnsafeBytes(of: &salt) { salt in
                HKDF<SHA256>.extract(
                    inputKeyMaterial: SymmetricKey(data: key.bytes), salt: UnsafeRawBufferPointer(salt))
            }
            withExtendedLifetime(key) {}
            let fileKey = SymmetricKey(data: code)
            func expand(_ purpose: String) -> SymmetricKey {
                HKDF<SHA256>.expand(
                    pseudoRandomKey: fileKey, info: Array(purpose.utf8) + [UInt8](repeating: 0, count: 8),
                    outputByteCount: 32)
            }
            return [fileKey, expand("regnum slot"), expand("regnum head"), expand("regnum block")]
        }

        // In a process of its own, which derives the keys only in the engine.
        @Test("While a database is open its keys are found in memory, and after it is closed they are not")
        func closed() async throws {
            let list = Self.list(ofProcess: getpid())
            defer { try? FileManager.default.removeItem(at: list) }
            let masked = try Self.derived().flatMap { MaskedKey($0).words }
            try masked.map(String.init).joined(separator: " ").write(to: list, atomically: true, encoding: .utf8)
            _ = await #expect(processExitsWith: .success) {
                let numbers = try String(contentsOf: KeyTracesTests.list(ofProcess: getppid()), encoding: .utf8)
                let words = numbers.split(separator: " ").compactMap { UInt64($0) }
                let keys = stride(from: 0, to: words.count, by: 4).map { MaskedKey(words: words[$0..<$0 + 4]) }
                precondition(keys.count == 4)
                let files = try EncryptedFileTests.make()
                var database: Database? = try EncryptedFileTests.open(files, EncryptedFileTests.key(1))
                let rows = try database.map { try EncryptedFileTests.read($0) }
                precondition(rows == EncryptedFileTests.expected())
                let used = try MaskedKey.countInMemory(keys)
                precondition(used[0] > 0 && used[1] > 0, "the search does not find the keys in use: \(used)")
                database = nil
                let found = try MaskedKey.countInMemory(keys)
                precondition(found == [0, 0, 0, 0], "keys are in memory after closing: \(found)")
            }
        }
    }
#endif
