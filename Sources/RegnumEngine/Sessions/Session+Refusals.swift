// SPDX-License-Identifier: Apache-2.0
// Transactions that can only be rolled back, because a rule of the file was broken or a change stopped halfway.
//
// A change touches rows, indexes and backlinks in turn. If it encounters damage in between, some of them have the new
// state and some the old one, and only a rollback makes them consistent again. So every change that can stop halfway
// runs inside `change`, or reports its failure through `unfinished`.

extension Session {
    /// In a write: marks the transaction as one that can only be rolled back. `commitWrite` then throws `.refused` with
    /// the message of the first call.
    func refuse(_ why: EngineError.Refusal, _ words: String) {
        precondition(state.pointee.isWriting)
        if refusal == nil { refusal = .refused(why, words) }
    }

    /// In a write: runs a change. If it throws, a later `commitWrite` throws too.
    @inline(__always)
    func change(_ body: () throws(EngineError) -> Void) throws(EngineError) {
        do throws(EngineError) { try body() } catch { throw space.unfinished(error) }
    }

    /// True if `commitWrite` is certain to throw.
    package var isRefused: Bool { refusal != nil || space.failure != nil }

    /// True if a delete may delete more than the objects and what they own, or may be denied.
    package var hasDeleteRules: Bool { tables.contains { !$0.deleteRules.isEmpty } }

    /// Throws if the transaction must not be committed.
    func checkRules() throws(EngineError) {
        if let failure = space.failure ?? refusal { throw failure }
        for table in tables { try table.checkUniqueness() }
    }
}

extension BlockSpace {
    /// Records that a change stopped halfway with `error`, so the transaction can only be rolled back. Returns `error`.
    @inline(never)
    func unfinished(_ error: EngineError) -> EngineError {
        if failure == nil { failure = error.ofCommit }
        return error
    }
}

extension EngineError {
    /// The error that a commit throws after a change stopped halfway with this error.
    fileprivate var ofCommit: EngineError {
        let start = "a change failed halfway, so the transaction was rolled back: "
        switch self {
        case .corrupted(var damage):
            damage.what = start + damage.what
            return .corrupted(damage)
        case .limit(let words): return .limit(start + words)
        default: return self
        }
    }
}
