// SPDX-License-Identifier: Apache-2.0
// The lock of what a frozen session keeps decoded: several threads may read it at once.

import RegnumSystem

/// Held for the time of a lookup in a cache, or of decoding one row group. Innermost: nothing is locked inside.
final class SharedReading: Sendable {
    private let isHeld = Lock(())

    func enter() { isHeld.acquire() }
    func leave() { isHeld.release() }
}
