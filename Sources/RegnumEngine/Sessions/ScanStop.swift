// SPDX-License-Identifier: Apache-2.0
// Ends a long scan of a session from another thread.

import Synchronization

/// A request to end the scans of a session. The scan looks at it once per row group, and throws `EngineError.stopped`.
///
/// Thread: any. A stop is final.
package final class ScanStop: Sendable {
    private let flag = Atomic<Bool>(false)

    package init() {}

    package func stop() { flag.store(true, ordering: .relaxed) }

    package var isStopped: Bool { flag.load(ordering: .relaxed) }
}

extension Session {
    /// Throws `EngineError.stopped` if the running scan has to end. For loops without groups, called once per thousand
    /// rows or once per step.
    package func checkStop() throws(EngineError) {
        if let scanStop, scanStop.isStopped { throw EngineError.stopped }
    }
}
