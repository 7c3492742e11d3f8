// SPDX-License-Identifier: Apache-2.0
// The lock on the decoded data of a frozen session, which several threads may read at once.

import RegnumSystem

/// Held during a cache lookup, or while one row group is decoded. Innermost lock: no other is taken while it is held.
final class FrozenSessionLock: Sendable {
    private let isHeld = Lock(())

    func enter() { isHeld.acquire() }
    func leave() { isHeld.release() }
}
