// SPDX-License-Identifier: Apache-2.0
// The newest committed version, and the older ones that are still read: in this process by pin count, in other
// processes through the lock file.

import RegnumSystem
import Synchronization

/// A committed state of the database.
package struct Version: Sendable, Equatable {
    package var number: UInt64
    package var catalog: BlockRef
    package var freeLog: BlockRef
    /// The record of older versions that the file keeps; none for those versions.
    package var history: BlockRef
    package var highWater: UInt64
    /// `BlockReader.mark` of the catalog.
    var mark: SIMD4<UInt64>

    /// The commit of a slot, whose catalog is in the file.
    init(_ slot: CommitSlot, in reader: BlockReader) {
        number = slot.version
        catalog = slot.catalog
        freeLog = slot.freeLog
        history = slot.history
        highWater = slot.highWater
        mark = reader.mark(slot.catalog)
    }
}

/// The source location where a session was opened or frozen.
package struct SessionOrigin: Sendable {
    package enum Act: Sendable { case opened, frozen }
    package var act: Act
    package var fileID: StaticString
    package var line: UInt
    package init(_ act: Act, fileID: StaticString, line: UInt) {
        self.act = act
        self.fileID = fileID
        self.line = line
    }

    var frozen: SessionOrigin { SessionOrigin(.frozen, fileID: fileID, line: line) }

    /// The origin of a session opened on behalf of this one, whether this one was opened or frozen.
    package var opened: SessionOrigin { SessionOrigin(.opened, fileID: fileID, line: line) }
}

/// A session of this process and the version that it keeps.
package struct SessionPin: Sendable {
    package var version: UInt64
    package var origin: SessionOrigin?
    /// The `MonotonicClock` time at which the session moved to the version.
    package var since: UInt64
}

/// Thread-safe. State: the newest version known here, pin counts and sessions, guarded by the mutex.
package final class VersionRegistry: Sendable {
    struct State {
        var newest: Version
        var pins: [UInt64: Int] = [:]
        /// Pinned versions that are neither published nor shown as pinned to other processes yet.
        var unshown: [UInt64] = []
        /// Pinned versions that will never be published and whose pages other processes avoid.
        var failed: [UInt64] = []
        /// By the address of the session's state.
        var sessions: [UInt: SessionPin] = [:]

        /// Returns what is wrong; empty if nothing is. O(pinned versions).
        var findings: [String] {
            var findings: [String] = []
            for (number, count) in pins where count <= 0 { findings.append("version \(number) has \(count) pins") }
            for number in unshown + failed where pins[number] == nil {
                findings.append("version \(number) was never published and nobody holds it")
            }
            if !failed.isEmpty, unshown.contains(where: { failed.contains($0) }) {
                findings.append("a failed version may still be published")
            }
            return findings
        }
    }

    private let state: Lock<State>
    private let newestNumber: Atomic<UInt64>
    /// Nil if no other process can have the file open.
    private let shared: LockFile?
    /// Reads a version committed by another process from its slot; nil if it is no longer the newest.
    private let load: @Sendable (UInt64) throws(EngineError) -> Version?
    /// Publishes a commit whose slot is written but whose number is not; if another process is doing so, it only waits
    /// for a moment. The argument is the number of the version that no longer has a slot. Set once, before this object
    /// is shared.
    nonisolated(unsafe) var finish: (UInt64) throws(EngineError) -> Void = { _ in }
    /// Called when the last pin of a version that was never published is released. Set once, like `finish`.
    nonisolated(unsafe) var onUnpinnedUnpublished: () -> Void = {}

    private let mutant: ProtocolMutant?

    init(
        _ newest: Version, shared: LockFile?, _ mutant: ProtocolMutant? = nil,
        load: @escaping @Sendable (UInt64) throws(EngineError) -> Version?
    ) {
        state = Lock(State(newest: newest))
        newestNumber = Atomic(newest.number)
        self.shared = shared
        self.mutant = mutant
        self.load = load
    }

    /// Runs a transition, and checks the state at its end; with many pins not each time.
    @inline(__always)
    private func transition<R, Failure: Error>(
        _ body: (inout State) throws(Failure) -> R
    ) throws(Failure) -> R {
        try state.withLock { state throws(Failure) in
            defer {
                if Invariants.isDue(oneIn: state.pins.count / 4) {
                    Invariants.require("version registry", isSeeded: mutant != nil, state.findings)
                }
            }
            return try body(&state)
        }
    }

    /// Breaks the state without a check, for tests.
    func corrupt(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    /// The number of the newest version. If the lock file is damaged or was replaced by an older one, that of the
    /// newest version known to this process.
    package var latestNumber: UInt64 {
        let known = newestNumber.load(ordering: .acquiring)
        guard let shown = shared?.newest else { return known }
        // This seeded bug affects only what other processes are shown.
        return mutant == .unfinishedNotPublished ? shown : max(shown, known)
    }

    /// The newest version known to this process.
    package var newest: Version { state.withLock { $0.newest } }

    /// Pins the newest version: it stays readable until `unpin`.
    package func pinNewest() throws(EngineError) -> Version {
        while true {
            let number = latestNumber
            if let version = try tryPinNewest() { return version }
            // Its slot is overwritten and the next number is not published: a process is doing so, or ended before.
            try finish(number)
        }
    }

    private func tryPinNewest() throws(EngineError) -> Version? {
        try transition { state throws(EngineError) in
            var misses = 0
            for _ in 0..<1000 {
                let number = latestNumber
                if state.pins[number] == nil { shared?.pin(number, among: state.pins.keys) }
                let isNewest = mutant == .pinNotChecked || latestNumber == number
                guard isNewest,
                    let version = try state.newest.number == number ? state.newest : load(number)
                else {
                    if state.pins[number] == nil { shared?.unpin(number, remaining: state.pins.keys) }
                    if isNewest, latestNumber == number {
                        misses += 1
                        if misses > 2 { return nil }
                    }
                    continue
                }
                state.newest = version
                newestNumber.store(number, ordering: .releasing)
                state.pins[number, default: 0] += 1
                return version
            }
            return nil
        }
    }

    /// Pins a version that is not published yet, or has been published by now.
    func pin(_ number: UInt64) {
        transition { state in
            if state.pins[number] == nil {
                if number <= state.newest.number {
                    shared?.pin(number, among: state.pins.keys)
                } else {
                    state.unshown.append(number)
                }
            }
            state.pins[number, default: 0] += 1
        }
    }

    /// Records the newest version that another process has committed. Requires the writer lock.
    func learn(_ version: Version) {
        transition { state in
            state.newest = version
            newestNumber.store(version.number, ordering: .releasing)
        }
    }

    /// Adds a pin to a version that is pinned already.
    package func pinAgain(_ version: Version) {
        transition { state in
            precondition(state.pins[version.number, default: 0] > 0, "pinning a version that nobody holds")
            state.pins[version.number, default: 0] += 1
        }
    }

    package func unpin(_ number: UInt64) {
        let isUnpublished = transition { state in
            let count = state.pins[number, default: 0]
            precondition(count > 0, "unpinning a version that nobody holds")
            state.pins[number] = count == 1 ? nil : count - 1
            guard count == 1 else { return false }
            if let place = state.unshown.firstIndex(of: number) {
                state.unshown.remove(at: place)
                return true
            }
            if let place = state.failed.firstIndex(of: number) {
                state.failed.remove(at: place)
                if state.failed.isEmpty { shared?.clearFailed() }
            }
            shared?.unpin(number, remaining: state.pins.keys)
            return false
        }
        if isUnpublished { onUnpinnedUnpublished() }
    }

    /// True while a session shows a version unknown to other processes.
    var isUnpublishedPinned: Bool { state.withLock { !$0.unshown.isEmpty } }

    /// Publishes the pinned versions that have failed, and so will never be published as commits: other processes then
    /// avoid their pages, which end before `end`. Returns false if other processes cannot be informed. Requires the
    /// writer lock.
    func showFailed(end: UInt64) -> Bool {
        transition { state in
            guard let shared, let last = state.unshown.max(),
                shared.showFailed(
                    LockFile.Failed(last: max(last, shared.failed.last), end: max(end, shared.failed.end)))
            else { return false }
            for number in state.unshown { shared.pin(number, among: state.pins.keys) }
            state.failed += state.unshown
            state.unshown = []
            return true
        }
    }

    /// Publishes a new version, pinned once for its writer.
    package func publishPinned(_ version: Version) {
        pin(version.number)
        publish(version, isDurable: false)
    }

    /// Publishes a new version to readers.
    func publish(_ version: Version, isDurable: Bool) {
        transition { state in
            state.newest = version
            newestNumber.store(version.number, ordering: .releasing)
            let shown = state.unshown.filter { $0 <= version.number }
            state.unshown.removeAll { $0 <= version.number }
            shared?.publish(version.number, isDurable: isDurable, unshown: shown, among: state.pins.keys)
        }
    }

    /// Rewrites the shared state after it was damaged. Requires the writer lock.
    func restore(_ header: FileHeader, newest number: UInt64) {
        state.withLock { state in shared?.restore(header, newest: number, pins: state.pins.keys) }
    }

    /// Numbers of the versions pinned in this process, ascending.
    package var pinned: [UInt64] { state.withLock { $0.pins.keys.sorted() } }

    /// The oldest version pinned in this process, not counting one pin of `number`.
    func oldestPinned(but number: UInt64) -> UInt64? {
        state.withLock { state in
            var oldest: UInt64?
            for (pinned, count) in state.pins where pinned != number || count > 1 {
                oldest = min(oldest ?? pinned, pinned)
            }
            return oldest
        }
    }

    // MARK: Pinning sessions

    /// Records the version that a session shows; nil if the session ends.
    func note(_ session: UInt, at version: UInt64?, _ origin: SessionOrigin?) {
        state.withLock { state in
            state.sessions[session] = version.map {
                SessionPin(version: $0, origin: origin, since: MonotonicClock.now())
            }
        }
    }

    /// The sessions of this process, oldest version first.
    package var sessions: [SessionPin] {
        state.withLock { state in
            state.sessions.values.sorted { ($0.version, $0.since) < ($1.version, $1.since) }
        }
    }
}
