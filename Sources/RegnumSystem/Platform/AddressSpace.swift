// SPDX-License-Identifier: Apache-2.0
// The address space that this process has reserved. Systems give a process 128 TiB. When much of it is in use, callers
// that can make do with less reserve less, so that hundreds of files can be open at once.
//
// On systems that give a process little address space (`ulimit -v`, small containers), memory that must not move is
// reserved far from all other mappings and takes no more than it needs, so that it can grow without moving.

import Synchronization

enum AddressSpace {
    private static let taken = Atomic<Int>(0)
    private static let isRefused = Atomic(false)

    /// True after the system has refused a reservation that it usually grants: address space is limited, and
    /// reservations take no more than they need.
    static var isLimited: Bool { isRefused.load(ordering: .relaxed) }

    /// True if `byteCount` more bytes would bring the reservations of the process above `limit`.
    static func isScarce(with byteCount: Int, limit: Int) -> Bool {
        taken.load(ordering: .relaxed) + byteCount > limit
    }

    /// Reserves address space until `release`; nil if the system refuses.
    static func reserve(_ byteCount: Int, isReadable: Bool) -> UnsafeMutableRawPointer? {
        guard let base = SystemCalls.reserve(byteCount, isReadable: isReadable) else {
            if byteCount <= growingLimit { isRefused.store(true, ordering: .relaxed) }
            return nil
        }
        taken.wrappingAdd(byteCount, ordering: .relaxed)
        return base
    }

    /// The size up to which a reservation of `reserveGrowing` can grow.
    static let growingLimit = 1 << 36
    /// Addresses far from those that systems choose by default: from 16 TiB to 64 TiB, in steps of `growingLimit`.
    private static let growingPlaces = 256..<1024

    /// Like `reserve`, at an address where `grow` is likely to succeed.
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

    /// Extends a reservation of `reserveGrowing`. Returns false if the system refuses, or if another mapping is in the
    /// way.
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
        // A file may be mapped there.
        ForkWatch.withFiles { files in
            files.mappings[base] = nil
            SystemCalls.unmap(base, byteCount)
        }
    }
}
