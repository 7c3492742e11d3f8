// SPDX-License-Identifier: Apache-2.0
// The 64 bytes that a user passes as the encryption key, held during an opening. They are a private copy, overwritten
// when the last reference is released. Keys derived from it are in `BlockCipher`. `FileProtection` checks whether it is
// the key of a file.

import RegnumSystem

package final class EncryptionKey: Sendable {
    package static let byteCount = 64

    /// Immutable after `init`, overwritten by `deinit`.
    private nonisolated(unsafe) let storage: UnsafeMutableRawPointer
    /// Frees the overwritten memory.
    private let release: @Sendable (UnsafeMutableRawPointer) -> Void

    /// Copies the key. `bytes` must be 64 bytes long. `release` frees the memory of the copy, on any thread: tests
    /// inspect it before it is freed.
    package init(
        _ bytes: UnsafeRawBufferPointer,
        release: @escaping @Sendable (UnsafeMutableRawPointer) -> Void = { $0.deallocate() }
    ) {
        self.release = release
        precondition(bytes.count == Self.byteCount, "an encryption key of \(bytes.count) bytes")
        storage = .allocate(byteCount: Self.byteCount, alignment: 16)
        storage.copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: Self.byteCount)
    }

    deinit {
        Memory.wipe(storage, Self.byteCount)
        release(storage)
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: storage, count: Self.byteCount) }
}
