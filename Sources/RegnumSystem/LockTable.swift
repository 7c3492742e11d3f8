// SPDX-License-Identifier: Apache-2.0
// The byte locks of one file that lives in memory, with the meaning of the system's: owned by an open file, each for one
// owner alone or shared by several.

/// Who holds which byte. Any thread; O(1), and O(locks) where a range is asked for.
package final class LockTable: Sendable {
    private struct Holders {
        var owners: Set<ObjectIdentifier>
        var isShared: Bool
    }
    private let holders = Lock<[Int: Holders]>([:])

    package init() {}

    /// True where the lock is now `owner`'s, also where it was before.
    package func tryLock(byte: Int, owner: ObjectIdentifier) -> Bool {
        take(byte, owner, isShared: false)
    }

    /// As `tryLock`, beside others who share the lock.
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

    /// Waits by asking again, at first after 20 microseconds, later every millisecond.
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

    /// Gives back all locks of `owner`.
    package func unlockAll(owner: ObjectIdentifier) {
        holders.withLock { holders in for byte in Array(holders.keys) { Self.remove(owner, from: &holders, byte) } }
    }

    private static func remove(_ owner: ObjectIdentifier, from holders: inout [Int: Holders], _ byte: Int) {
        guard holders[byte]?.owners.remove(owner) != nil else { return }
        if holders[byte]?.owners.isEmpty == true { holders[byte] = nil }
    }

    /// True where somebody other than `owner` holds one of the locks.
    package func isLocked(bytes: Range<Int>, except owner: ObjectIdentifier) -> Bool {
        lockedBytes(in: bytes, except: owner) != nil
    }

    /// The first byte of which somebody other than `owner` holds the lock.
    package func lockedBytes(in bytes: Range<Int>, except owner: ObjectIdentifier) -> Range<Int>? {
        holders.withLock { holders in
            let first = holders.lazy.filter { bytes.contains($0.key) && !$0.value.owners.isSubset(of: [owner]) }
                .map(\.key).min()
            return first.map { $0..<$0 + 1 }
        }
    }
}
