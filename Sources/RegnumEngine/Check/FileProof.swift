// SPDX-License-Identifier: Apache-2.0
// Proves that a file is undamaged: each block of the newest version is compared with its checksum before the program
// needs it, in the calling thread or by a background thread. Blocks that have been compared once are not compared again
// while the file is open in the process, so a proof that starts over soon catches up with the previous one.
//
//   unproved --prove--> whole | damaged
//   unproved --proveInBackground--> running --> whole | damaged | unproved (its result is no longer wanted)

import RegnumSystem
import Synchronization

/// The state of the proof of one database. Any thread.
final class FileProof: Sendable {
    enum Result: Sendable {
        case whole
        case damaged(EngineError)
    }

    private struct State: Sendable {
        var result: Result?
        weak var running: BackgroundProof?
    }

    private let state = Lock(State())
    /// The version that the background thread reads; 0 if none.
    let version = Atomic<UInt64>(0)

    var result: Result? { state.withLock { $0.result } }

    func note(_ result: Result) { state.withLock { $0.result = result } }

    /// Records the error that ended a proof: damage is remembered, a failure of the system is not.
    func note(_ error: EngineError) { if case .corrupted = error { note(.damaged(error)) } }

    /// Returns the running proof, or records `made`, which the caller must start.
    func runningOr(_ made: BackgroundProof) -> BackgroundProof {
        state.withLock { state in
            if let running = state.running, !running.status.isOver.load(ordering: .acquiring) { return running }
            state.running = made
            return made
        }
    }
}

/// A proof that continues while a reference to this object exists. Any thread.
package final class BackgroundProof: Sendable {
    /// State shared between the thread and the holders of the proof.
    final class Status: Sendable {
        let isOver = Atomic(false)
        /// Set from the release of the last reference until the thread ends: see `Database.lettingGo`.
        let lettingGo = Lock<LettingGo?>(nil)
    }

    let status = Status()
    private let file: FileIdentity

    init(file: FileIdentity) { self.file = file }

    /// Ends the thread within a tenth of a second; a caller that deletes the file in the meantime waits for that.
    deinit {
        status.lettingGo.withLock { lettingGo in
            if !status.isOver.load(ordering: .acquiring) { lettingGo = LettingGo(file: file) }
        }
        status.isOver.store(true, ordering: .releasing)
    }
}

extension Database {
    /// Throws `.corrupted` unless every block of the newest version is undamaged. Reads everything once, about 8 GB per
    /// second from memory; O(1) if the file was proved before. The whole content of an encrypted file is decrypted into
    /// memory. Does nothing for databases in memory.
    package func prove() throws(EngineError) {
        if isVolatile { return }
        switch proof.result {
        case .whole?: return
        case .damaged(let error)?: throw error
        case nil: break
        }
        do throws(EngineError) { try BlockTraversal.check(self) } catch {
            proof.note(error)
            throw error
        }
    }

    /// Like `prove`, but on a thread of its own, which works a quarter of the time, and only while the result is
    /// retained. If the proof ends with an error, calls `report` on that thread. Returns nil if the file was proved
    /// before; throws if it was found damaged before.
    package func proveInBackground(
        report: @escaping @Sendable (EngineError) -> Void
    ) throws(EngineError) -> BackgroundProof? {
        if isVolatile { return nil }
        switch proof.result {
        case .whole?: return nil
        case .damaged(let error)?: throw error
        case nil: break
        }
        let made = BackgroundProof(file: file.identity)
        let running = proof.runningOr(made)
        if running !== made { return running }
        let isStarted = DetachedThread.start { [status = made.status, weak self] in
            if let error = self?.proveSlowly(status) { report(error) }
            status.lettingGo.withLock { lettingGo in
                lettingGo = nil
                status.isOver.store(true, ordering: .releasing)
            }
        }
        if !isStarted {
            // Without a thread the proof runs here, rather than never.
            made.status.isOver.store(true, ordering: .releasing)
            try prove()
        }
        return made
    }

    /// Returns nil if the file is undamaged, or if the proof is no longer wanted.
    private func proveSlowly(_ status: BackgroundProof.Status) -> EngineError? {
        var pace = ProofPace()
        while true {
            defer { proof.version.store(0, ordering: .relaxed) }
            var isInterrupted = false
            do throws(EngineError) {
                try BlockTraversal.check(self) { version throws(EngineError) in
                    proof.version.store(version, ordering: .relaxed)
                    pace.pauseIfDue()
                    if status.isOver.load(ordering: .acquiring) || pace.isVersionOld {
                        isInterrupted = true
                        throw .latched("the proof was interrupted")
                    }
                }
                return nil
            } catch {
                if !isInterrupted {
                    proof.note(error)
                    return error
                }
                if status.isOver.load(ordering: .acquiring) { return nil }
                pace.beginVersion()
            }
        }
    }
}

/// Throttles a background thread. Time spent reading counts as work too, so that even a slow disk is free for others
/// three quarters of the time.
private struct ProofPace {
    private static let slice: UInt64 = 5_000_000
    private static let longestPause: UInt64 = 100_000_000

    private var sliceStart: UInt64
    private var versionStart: UInt64
    /// The time, in nanoseconds, for which one version is kept readable. During this time its pages cannot be reused.
    /// Doubled each time the proof does not finish, so that even a large file is proved eventually.
    private var longestVersion: UInt64 = 10_000_000_000

    init() {
        sliceStart = MonotonicClock.now()
        versionStart = sliceStart
    }

    var isVersionOld: Bool { sliceStart - versionStart > longestVersion }

    mutating func beginVersion() {
        versionStart = sliceStart
        longestVersion &*= 2
    }

    mutating func pauseIfDue() {
        let worked = MonotonicClock.now() - sliceStart
        guard worked > Self.slice else { return }
        CurrentThread.sleep(nanoseconds: min(worked * 3, Self.longestPause))
        sliceStart = MonotonicClock.now()
    }
}
