// SPDX-License-Identifier: Apache-2.0
// Transactions that can only be rolled back: a rule of the file was broken, or a change has begun and not ended.
//
// A change touches rows, indexes and backlinks one after the other. Where it meets damage in between, some of them
// have the new state and some the old one, and nothing but a rollback brings them together again: so each change that
// can end half way runs in `change`, or tells of its failure by `unfinished`.

extension Session {
    /// In a write: from now on it can only be rolled back; `commitWrite` throws `.refused` with those words, or with
    /// the words of the first call.
    func refuse(_ why: EngineError.Refusal, _ words: String) {
        precondition(state.pointee.isWriting)
        if refusal == nil { refusal = .refused(why, words) }
    }

    /// In a write: runs a change. Where it throws, `commitWrite` will throw for it.
    @inline(__always)
    func change(_ body: () throws(EngineError) -> Void) throws(EngineError) {
        do throws(EngineError) { try body() } catch { throw space.unfinished(error) }
    }

    /// True where `commitWrite` is sure to throw.
    package var isRefused: Bool { refusal != nil || space.failure != nil }

    /// True where a delete may take more along than what the objects own, or be denied.
    package var hasDeleteRules: Bool { tables.contains { !$0.deleteRules.isEmpty } }

    /// Throws where the transaction must not be committed.
    func checkRules() throws(EngineError) {
        if let failure = space.failure ?? refusal { throw failure }
        for table in tables { try table.checkUniqueness() }
    }
}

extension BlockSpace {
    /// A change has ended half way, by that error: the transaction can only be rolled back. Returns the error.
    @inline(never)
    func unfinished(_ error: EngineError) -> EngineError {
        if failure == nil { failure = error.ofCommit }
        return error
    }
}

extension EngineError {
    /// What a commit says of a change that ended half way by this error.
    fileprivate var ofCommit: EngineError {
        let start = "a change of the transaction has ended half way, so nothing of the transaction was kept: "
        switch self {
        case .corrupted(var damage):
            damage.what = start + damage.what
            return .corrupted(damage)
        case .limit(let words): return .limit(start + words)
        default: return self
        }
    }
}
