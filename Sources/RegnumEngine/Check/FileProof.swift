// SPDX-License-Identifier: Apache-2.0
// Proof that a file is whole: each block of the newest version is compared with its checksum before the program needs
// it, in the call that asks for it or by a thread in the background. Blocks that were compared once are not compared
// again while the file is open in the process, so a proof that is begun again soon comes to where it was.
//
//   unproved --prove--> whole | damaged
//   unproved --proveInBackground--> running --> whole | damaged | unproved (nobody waits for it any more)

import RegnumSystem
import Synchronization

/// How far a database is proved. Any thread.
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
    /// The version that the thread in the background reads; 0 where it reads none.
    let version = Atomic<UInt64>(0)

    var result: Result? { state.withLock { $0.result } }

    func note(_ result: Result) { state.withLock { $0.result = result } }

    /// What a proof has ended with: damage is remembered, a refusal of the system is not.
    func note(_ error: EngineError) { if case .corrupted = error { note(.damaged(error)) } }

    /// The proof that is running, or the one that the caller is to start.
    func runningOr(_ made: BackgroundProof) -> BackgroundProof {
        state.withLock { state in
            if let running = state.running, !running.status.isOver.load(ordering: .acquiring) { return running }
            state.running = made
            return made
        }
    }
}

/// A proof that goes on while somebody holds this object. Any thread.
package final class BackgroundProof: Sendable {
    /// What the thread shares with the holders.
    final class Status: Sendable {
        let isOver = Atomic(false)
        /// Held from the end of the last holder to that of the thread: see `Database.lettingGo`.
        let lettingGo = Lock<LettingGo?>(nil)
    }

    let status = Status()
    private let file: FileIdentity

    init(file: FileIdentity) { self.file = file }

    /// The thread ends within a tenth of a second; who deletes the file meanwhile waits for that.
    deinit {
        status.lettingGo.withLock { lettingGo in
            if !status.isOver.load(ordering: .acquiring) { lettingGo = LettingGo(file: file) }
        }
        status.isOver.store(true, ordering: .releasing)
    }
}

extension Database {
    /// Throws `.corrupted` unless every block of the newest version is what was written. Reads everything once, about 8
    /// GB a second from memory; where the file was proved before, O(1). Of an encrypted file everything is decrypted into
    /// memory. Nothing for databases in memory.
    package func prove() throws(EngineError) {
        if isVolatile { return }
        switch proof.result {
        case .whole?: return
        case .damaged(let error)?: throw error
        case nil: break
        }
        do throws(EngineError) { try BlockWalk.check(self) } catch {
            proof.note(error)
            throw error
        }
    }

    /// As `prove`, on a thread of its own that works a quarter of the time, while the result is held; `report` gets what
    /// it ends with if that is an error, on that thread. Nil where the file was proved before; throws where it was found
    /// damaged before.
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
            // Without a thread: as good, and not left undone.
            made.status.isOver.store(true, ordering: .releasing)
            try prove()
        }
        return made
    }

    /// Nil where nothing is wrong, or nobody wants to know any more.
    private func proveSlowly(_ status: BackgroundProof.Status) -> EngineError? {
        var pace = ProofPace()
        while true {
            defer { proof.version.store(0, ordering: .relaxed) }
            var isInterrupted = false
            do throws(EngineError) {
                try BlockWalk.check(self) { version throws(EngineError) in
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

/// How a thread in the background takes its time. What it has read for long counts as work too, so that a slow disk has
/// three quarters of its time for others.
private struct ProofPace {
    private static let slice: UInt64 = 5_000_000
    private static let longestPause: UInt64 = 100_000_000

    private var sliceStart: UInt64
    private var versionStart: UInt64
    /// How long one version is kept readable, while its pages cannot be used again. Doubled each time that it did not
    /// suffice, so that a large file is proved in the end.
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
