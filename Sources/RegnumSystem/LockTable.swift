// SPDX-License-Identifier: Apache-2.0
// The byte locks of one file that lives in memory, with the meaning of the system's: owned by an open file.

/// Who holds which byte. Any thread; O(1).
package final class LockTable: Sendable {
    private let owners = Lock<[Int: ObjectIdentifier]>([:])

    package init() {}

    /// True where the lock is now `owner`'s, also where it was before.
    package func tryLock(byte: Int, owner: ObjectIdentifier) -> Bool {
        owners.withLock { owners in
            if let holder = owners[byte] { return holder == owner }
            owners[byte] = owner
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
        owners.withLock { owners in
            if owners[byte] == owner { owners[byte] = nil }
        }
    }

    /// Gives back all locks of `owner`.
    package func unlockAll(owner: ObjectIdentifier) {
        owners.withLock { owners in owners = owners.filter { $0.value != owner } }
    }

    /// True where somebody other than `owner` holds one of the locks.
    package func isLocked(bytes: Range<Int>, except owner: ObjectIdentifier) -> Bool {
        owners.withLock { owners in owners.contains { bytes.contains($0.key) && $0.value != owner } }
    }
}
