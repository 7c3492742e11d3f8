// SPDX-License-Identifier: Apache-2.0
// The byte locks of one file in memory. They behave like the system's: a lock belongs to an open file, and is either
// exclusive or shared by several.

/// The owners of each locked byte. Any thread; O(1), and O(locks) for queries about a range.
package final class MemoryByteLocks: Sendable {
    private struct Holders {
        var owners: Set<ObjectIdentifier>
        var isShared: Bool
    }
    private let holders = Lock<[Int: Holders]>([:])

    package init() {}

    /// Returns true if `owner` now holds the lock, even if it already held the lock before.
    package func tryLock(byte: Int, owner: ObjectIdentifier) -> Bool {
        take(byte, owner, isShared: false)
    }

    /// Like `tryLock`, but the lock may be shared with other owners.
    package func tryLockShared(byte: Int, owner: ObjectIdentifier) -> Bool {
        take(byte, owner, isShared: true)
    }

    private func take(_ byte: Int, _ owner: ObjectIdentifier, isShared: Bool) -> Bool {
        holders.withLock { holders in
            var owners = holders[byte]?.owners ?? []
            let isAlone = owners.isSubset(of: [owner])
            if !isAlone, !isShared || holders[byte]?.isShared == false { return false }
            owners.insert(owner)
            holders[byte] = Holders(owners: owners, isShared: isShared)
            return true
        }
    }

    /// Polls: the first pause is 20 µs, and pauses double up to 1 ms.
    package func lock(byte: Int, owner: ObjectIdentifier) {
        var pause: UInt64 = 20_000
        while !tryLock(byte: byte, owner: owner) {
            CurrentThread.sleep(nanoseconds: pause)
            pause = min(pause * 2, 1_000_000)
        }
    }

    package func unlock(byte: Int, owner: ObjectIdentifier) {
        holders.withLock { Self.remove(owner, from: &$0, byte) }
    }

    /// Releases all locks of `owner`.
    package func unlockAll(owner: ObjectIdentifier) {
        holders.withLock { holders in for byte in Array(holders.keys) { Self.remove(owner, from: &holders, byte) } }
    }

    private static func remove(_ owner: ObjectIdentifier, from holders: inout [Int: Holders], _ byte: Int) {
        guard holders[byte]?.owners.remove(owner) != nil else { return }
        if holders[byte]?.owners.isEmpty == true { holders[byte] = nil }
    }

    /// True if an owner other than `owner` holds one of the locks.
    package func isLocked(bytes: Range<Int>, except owner: ObjectIdentifier) -> Bool {
        lockedBytes(in: bytes, except: owner) != nil
    }

    /// The lowest byte whose lock is held by an owner other than `owner`.
    package func lockedBytes(in bytes: Range<Int>, except owner: ObjectIdentifier) -> Range<Int>? {
        holders.withLock { holders in
            let first = holders.lazy.filter { bytes.contains($0.key) && !$0.value.owners.isSubset(of: [owner]) }
                .map(\.key).min()
            return first.map { $0..<$0 + 1 }
        }
    }
}
