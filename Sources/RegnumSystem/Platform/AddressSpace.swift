// SPDX-License-Identifier: Apache-2.0
// What this process has reserved of its address space, of which systems give it 128 TiB: who can do with less takes less
// where much is gone, so that hundreds of open files leave room for each other.
//
// Where the system gives a process little (`ulimit -v`, small containers), what must not move is put where nobody else
// maps anything, and takes no more of it than it needs: so it can grow without moving.

import Synchronization

enum AddressSpace {
    private static let taken = Atomic<Int>(0)
    private static let isRefused = Atomic(false)

    /// True once the system has refused what it gives to others: there is little, and nobody takes more than needed.
    static var isLimited: Bool { isRefused.load(ordering: .relaxed) }

    /// True where the process would have reserved more than `limit` with so much more.
    static func isScarce(with byteCount: Int, limit: Int) -> Bool {
        taken.load(ordering: .relaxed) + byteCount > limit
    }

    /// Until `release`; nil where the system refuses.
    static func reserve(_ byteCount: Int, isReadable: Bool) -> UnsafeMutableRawPointer? {
        guard let base = SystemCalls.reserve(byteCount, isReadable: isReadable) else {
            if byteCount <= growingLimit { isRefused.store(true, ordering: .relaxed) }
            return nil
        }
        taken.wrappingAdd(byteCount, ordering: .relaxed)
        return base
    }

    /// How far what `reserveGrowing` gives can grow.
    static let growingLimit = 1 << 36
    /// Far from where systems put what they choose a place for: from 16 TiB to 64 TiB, in steps of `growingLimit`.
    private static let growingPlaces = 256..<1024

    /// As `reserve`, at a place where `grow` is likely to go on.
    static func reserveGrowing(_ byteCount: Int, isReadable: Bool) -> UnsafeMutableRawPointer? {
        for _ in 0..<16 {
            let number = Int.random(in: growingPlaces)
            guard let place = UnsafeMutableRawPointer(bitPattern: number * growingLimit),
                let base = SystemCalls.reserve(at: place, byteCount, isReadable: isReadable)
            else { continue }
            taken.wrappingAdd(byteCount, ordering: .relaxed)
            return base
        }
        return nil
    }

    /// Lengthens what `reserveGrowing` has given. False where the system refuses, or others are in the way.
    static func grow(
        _ base: UnsafeMutableRawPointer, from byteCount: Int, to newByteCount: Int, isReadable: Bool
    ) -> Bool {
        let added = newByteCount - byteCount
        guard newByteCount <= growingLimit,
            SystemCalls.reserve(at: base + byteCount, added, isReadable: isReadable) != nil
        else { return false }
        taken.wrappingAdd(added, ordering: .relaxed)
        return true
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
