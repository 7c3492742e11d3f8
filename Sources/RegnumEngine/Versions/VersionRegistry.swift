// SPDX-License-Identifier: Apache-2.0
// Which committed version is the newest, and which older ones somebody still reads: in this process by count, in
// other processes through the shared file.

import RegnumSystem
import Synchronization

/// A committed state of the database.
package struct Version: Sendable, Equatable {
    package var number: UInt64
    package var catalog: BlockRef
    package var freeLog: BlockRef
    package var highWater: UInt64
    /// `BlockReader.mark` of the catalog.
    var mark: SIMD4<UInt64>

    /// The commit of a slot, whose catalog is in the file.
    init(_ slot: CommitSlot, in reader: BlockReader) {
        number = slot.version
        catalog = slot.catalog
        freeLog = slot.freeLog
        highWater = slot.highWater
        mark = reader.mark(slot.catalog)
    }
}

/// Where in a program a session was made.
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

    /// That of a session which is opened for the sake of this one, whether that was frozen or not.
    package var opened: SessionOrigin { SessionOrigin(.opened, fileID: fileID, line: line) }
}

/// A session of this process and the version that it keeps readable.
package struct SessionPin: Sendable {
    package var version: UInt64
    package var origin: SessionOrigin?
    /// `MonotonicClock` when the session came to the version.
    package var since: UInt64
}

/// Any thread. State: the newest version known here, pin counts and sessions, guarded by the mutex.
package final class VersionRegistry: Sendable {
    private struct State {
        var newest: Version
        var pins: [UInt64: Int] = [:]
        /// Pinned versions that are not yet published, nor shown as pinned to other processes.
        var unshown: [UInt64] = []
        /// Pinned versions that will never be published, and that other processes keep clear of.
        var failed: [UInt64] = []
        /// By the address of the session's state.
        var sessions: [UInt: SessionPin] = [:]
    }

    private let state: Lock<State>
    private let newestNumber: Atomic<UInt64>
    /// Nil where no other process can have the file open.
    private let shared: SharedFile?
    /// Reads a version that another process has committed from its slot; nil where it is no longer the newest.
    private let load: @Sendable (UInt64) throws(EngineError) -> Version?
    /// Finishes a commit of which only the number is missing, unless somebody is at it: then it lets some time pass. The
    /// number is that of the version of which there is no slot. Set once, before anybody else sees this object.
    nonisolated(unsafe) var finish: (UInt64) throws(EngineError) -> Void = { _ in }
    /// Called when nobody shows a version any more that was never published. Set as `finish`.
    nonisolated(unsafe) var onUnpinnedUnpublished: () -> Void = {}

    private let mutant: ProtocolMutant?

    init(
        _ newest: Version, shared: SharedFile?, _ mutant: ProtocolMutant? = nil,
        load: @escaping @Sendable (UInt64) throws(EngineError) -> Version?
    ) {
        state = Lock(State(newest: newest))
        newestNumber = Atomic(newest.number)
        self.shared = shared
        self.mutant = mutant
        self.load = load
    }

    /// Number of the newest version. Where the shared file is damaged, or somebody has put an older one in its place, of
    /// the newest that this process knows.
    package var latestNumber: UInt64 {
        let known = newestNumber.load(ordering: .acquiring)
        guard let shown = shared?.newest else { return known }
        // That bug has no effect but for what others are shown.
        return mutant == .unfinishedNotPublished ? shown : max(shown, known)
    }

    /// The newest version that this process knows.
    package var newest: Version { state.withLock { $0.newest } }

    /// Keeps the newest version readable until `unpin`.
    package func pinNewest() throws(EngineError) -> Version {
        while true {
            let number = latestNumber
            if let version = try tryPinNewest() { return version }
            // Its slot is written over and the next number is not there: a process is at it, or has ended there.
            try finish(number)
        }
    }

    private func tryPinNewest() throws(EngineError) -> Version? {
        try state.withLock { state throws(EngineError) in
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

    /// Keeps a version readable that is not published yet, or has been by now.
    func pin(_ number: UInt64) {
        state.withLock { state in
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

    /// Takes notice of the newest version that another process has made. Guard: the gate.
    func learn(_ version: Version) {
        state.withLock { state in
            state.newest = version
            newestNumber.store(version.number, ordering: .releasing)
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
        let isUnpublished = state.withLock { state in
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

    /// True while a session shows a version that other processes know nothing of.
    var isUnpublishedPinned: Bool { state.withLock { !$0.unshown.isEmpty } }

    /// Lets other processes know of what they know nothing of and is pinned, which has failed and will never be
    /// published: that they keep clear of it, whose pages end before `end`. False where they cannot be told. Below the
    /// writer's lock.
    func showFailed(end: UInt64) -> Bool {
        state.withLock { state in
            guard let shared, let last = state.unshown.max(),
                shared.showFailed(
                    SharedFile.Failed(last: max(last, shared.failed.last), end: max(end, shared.failed.end)))
            else { return false }
            for number in state.unshown { shared.pin(number, among: state.pins.keys) }
            state.failed += state.unshown
            state.unshown = []
            return true
        }
    }

    /// Shows a new version to readers, pinned once for its writer.
    package func publishPinned(_ version: Version) {
        pin(version.number)
        publish(version, isDurable: false)
    }

    /// Shows a new version to readers.
    func publish(_ version: Version, isDurable: Bool) {
        state.withLock { state in
            state.newest = version
            newestNumber.store(version.number, ordering: .releasing)
            let shown = state.unshown.filter { $0 <= version.number }
            state.unshown.removeAll { $0 <= version.number }
            shared?.publish(version.number, isDurable: isDurable, unshown: shown, among: state.pins.keys)
        }
    }

    /// Writes what the processes share again after somebody has damaged it. Below the writer's lock.
    func restore(_ header: FileHeader, newest number: UInt64) {
        state.withLock { state in shared?.restore(header, newest: number, pins: state.pins.keys) }
    }

    /// Numbers of the versions that are pinned in this process, ascending.
    package var pinned: [UInt64] { state.withLock { $0.pins.keys.sorted() } }

    /// The oldest version that is pinned in this process, by somebody else than one that pins `number` once.
    func oldestPinned(but number: UInt64) -> UInt64? {
        state.withLock { state in
            var oldest: UInt64?
            for (pinned, count) in state.pins where pinned != number || count > 1 {
                oldest = min(oldest ?? pinned, pinned)
            }
            return oldest
        }
    }

    // MARK: Who pins

    /// Notes which version a session is at; nil: the session ends.
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
