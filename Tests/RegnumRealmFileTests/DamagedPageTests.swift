// SPDX-License-Identifier: Apache-2.0
// A damaged page of an encrypted file is an error when it is read, and only then.

#if Encryption
    import Foundation
    import RegnumSystem
    import Testing

    @testable import RegnumRealmFile

    @Suite("Damaged pages of encrypted files") struct DamagedPageTests {
        @Test("A page that an interrupted write has damaged does not affect the pages beside it")
        func tornPage() throws {
            let scratch = try Scratch()
            var raw = try Fixture.bytes("all_types_v24_encrypted.realm")
            let (page, byteCount) = (5, 4096)
            // The first of the 65 pages of a group has the metadata, with the counter of the write before at 32.
            raw[(page + 1) * byteCount + 100] ^= 1
            raw[page * 64 + 32] |= 1
            let file = try PosixFileSystem.shared.open(scratch.file(raw).path, .readOnly)
            let bytes = try FileBytes(EncryptedSource(PlainSource(file), key: Array(Fixture.key)))
            for neighbour in [page - 1, page + 1] {
                _ = try bytes.pointer(at: neighbour * byteCount, count: byteCount)
            }
            #expect {
                try bytes.pointer(at: page * byteCount - 8, count: 16)
            } throws: { error in
                let error = error as? RealmFileError
                return error?.code == .damaged && error?.ref == UInt64(page * byteCount - 8)
                    && error?.message.contains("page 5") == true
            }
        }
    }
#endif
