// SPDX-License-Identifier: Apache-2.0
// The library's copy of a key: it is overwritten when its last holder releases it, and an open database holds none.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

@Suite struct EncryptionKeyTests {
    /// The bytes left in the memory of a released key; nil as long as the key holds that memory.
    private final class Leavings: Sendable {
        private let bytes = Mutex<[UInt8]?>(nil)

        var found: [UInt8]? { bytes.withLock { $0 } }

        func key(_ byte: UInt8) -> EncryptionKey {
            let user = [UInt8](repeating: byte, count: EncryptionKey.byteCount)
            return user.withUnsafeBytes { given in
                EncryptionKey(given) { storage in
                    let left = Array(UnsafeRawBufferPointer(start: storage, count: EncryptionKey.byteCount))
                    self.bytes.withLock { $0 = left }
                    storage.deallocate()
                }
            }
        }
    }

    private static let zeros = [UInt8](repeating: 0, count: EncryptionKey.byteCount)

    // Without this test, the code that erases keys could be removed and all tests passed.
    @Test("The bytes of a key are overwritten before its memory is freed")
    func wiped() {
        let left = Leavings()
        var key: EncryptionKey? = left.key(7)
        withExtendedLifetime(key) { #expect(left.found == nil) }
        key = nil
        #expect(left.found == Self.zeros)
    }

    #if Encryption
        @Test("An open database does not keep the key that it was opened with")
        func notKept() throws {
            let files = try EncryptedFileTests.make()
            let left = Leavings()
            func open() throws -> Database {
                var options = Database.OpenOptions()
                options.encryptionKey = left.key(1)
                return try Database.openAsOtherProcess(
                    path: EncryptedFileTests.path, fileSystem: files, options: options)
            }
            let database = try open()
            #expect(left.found == Self.zeros)
            #expect(try EncryptedFileTests.read(database) == EncryptedFileTests.expected())
            #expect(IntegrityCheck.run(database).isClean)
        }
    #endif
}
