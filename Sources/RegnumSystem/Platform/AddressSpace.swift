// SPDX-License-Identifier: Apache-2.0
// What this process has reserved of its address space, of which systems give it 128 TiB: who can do with less takes less
// where much is gone, so that hundreds of open files leave room for each other.

import Synchronization

enum AddressSpace {
    private static let taken = Atomic<Int>(0)

    /// True where the process would have reserved more than `limit` with so much more.
    static func isScarce(with byteCount: Int, limit: Int) -> Bool {
        taken.load(ordering: .relaxed) + byteCount > limit
    }

    /// Until `release`; nil where the system refuses.
    static func reserve(_ byteCount: Int, isReadable: Bool) -> UnsafeMutableRawPointer? {
        guard let base = SystemCalls.reserve(byteCount, isReadable: isReadable) else { return nil }
        taken.wrappingAdd(byteCount, ordering: .relaxed)
        return base
    }

    static func release(_ base: UnsafeMutableRawPointer, _ byteCount: Int) {
        taken.wrappingSubtract(byteCount, ordering: .relaxed)
        // A file may stand there.
        ForkWatch.withFiles { files in
            files.mappings[base] = nil
            SystemCalls.unmap(base, byteCount)
        }
    }
}
