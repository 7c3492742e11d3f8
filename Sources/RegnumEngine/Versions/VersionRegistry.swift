// SPDX-License-Identifier: Apache-2.0
// Which committed version is the newest, and which older ones somebody still reads: in this process by count, in
// other processes through the shared file.

import Synchronization

/// A committed state of the database.
package struct Version: Sendable, Equatable {
    package var number: UInt64
    package var catalog: BlockRef
    package var freeLog: BlockRef
    package var highWater: UInt64
    package init(number: UInt64, catalog: BlockRef, freeLog: BlockRef, highWater: UInt64) {
        self.number = number
        self.catalog = catalog
        self.freeLog = freeLog
        self.highWater = highWater
    }

    init(_ slot: CommitSlot) {
        self.init(number: slot.version, catalog: slot.catalog, freeLog: slot.freeLog, highWater: slot.highWater)
    }
}

/// Any thread. State: the newest version known here and pin counts, guarded by the mutex.
package final class VersionRegistry: Sendable {
    private struct State {
        var newest: Version
        var pins: [UInt64: Int] = [:]
    }

    private let state: Mutex<State>
    private let newestNumber: Atomic<UInt64>
    /// Nil where no other process can have the file open.
    private let shared: SharedFile?
    /// Reads a version that another process has committed from its slot; nil where it is no longer the newest.
    private let load: @Sendable (UInt64) throws(EngineError) -> Version?

    init(
        _ newest: Version, shared: SharedFile?, load: @escaping @Sendable (UInt64) throws(EngineError) -> Version?
    ) {
        state = Mutex(State(newest: newest))
        newestNumber = Atomic(newest.number)
        self.shared = shared
        self.load = load
    }

    /// Number of the newest version. One load.
    package var latestNumber: UInt64 { shared?.newest ?? newestNumber.load(ordering: .acquiring) }

    /// The newest version that this process knows.
    package var newest: Version { state.withLock { $0.newest } }

    /// Keeps the newest version readable until `unpin`.
    package func pinNewest() throws(EngineError) -> Version {
        try state.withLock { state throws(EngineError) in
            while true {
                let number = latestNumber
                if state.pins[number] == nil { shared?.pin(number, oldest: state.pins.keys.min() ?? number) }
                guard latestNumber == number,
                    let version = try state.newest.number == number ? state.newest : load(number)
                else {
                    if state.pins[number] == nil { shared?.unpin(number, remaining: state.pins.keys) }
                    continue
                }
                state.newest = version
                newestNumber.store(number, ordering: .releasing)
                state.pins[number, default: 0] += 1
                return version
            }
        }
    }

    /// Keeps a version readable that is pinned already.
    package func pinAgain(_ version: Version) {
        state.withLock { state in
            precondition(state.pins[version.number, default: 0] > 0, "pinning a version that nobody holds")
            state.pins[version.number, default: 0] += 1
        }
    }

    package func unpin(_ number: UInt64) {
        state.withLock { state in
            let count = state.pins[number, default: 0]
            precondition(count > 0, "unpinning a version that nobody holds")
            state.pins[number] = count == 1 ? nil : count - 1
            if count == 1 { shared?.unpin(number, remaining: state.pins.keys) }
        }
    }

    /// Shows a new version to readers, already pinned once for its writer.
    package func publishPinned(_ version: Version) {
        state.withLock { state in
            state.newest = version
            state.pins[version.number, default: 0] += 1
            shared?.pin(version.number, oldest: state.pins.keys.min() ?? version.number)
            newestNumber.store(version.number, ordering: .releasing)
            shared?.newest = version.number
        }
    }

    /// Numbers of the versions that are pinned in this process, ascending.
    package var pinned: [UInt64] { state.withLock { $0.pins.keys.sorted() } }
}
