// SPDX-License-Identifier: Apache-2.0
// The thread check: every access to a Realm passes through `check`.

internal import RegnumEngine

extension RealmCore {
    /// Reports a programmer error unless access is allowed on this thread. Costs two loads and a comparison on the
    /// owner's thread, 20 ns for queues and actors.
    @inline(__always)
    package func check() {
        if session.state.pointee.owner != currentThreadWord() || asksAlways { checkSlowly() }
    }

    @inline(never)
    private func checkSlowly() {
        if session.database.isForked {
            misuse(
                "Realm used in the child of a fork. What was opened before the fork belongs to the parent process: "
                    + "open the Realm again in the child, or fork before you open one.")
        }
        if isFrozen {
            if isClosed { misuse("Cannot read from a frozen Realm which has been invalidated. Freeze it again.") }
            return
        }
        if adoptsCaller?() == true { return }
        let home = openedWith?.home ?? "another thread"
        misuse(
            "Realm accessed from incorrect thread. It was opened on \(home) and is used on "
                + "\(Confinement.callerDescription). Open a Realm there, or hand over a frozen copy or a "
                + "ThreadSafeReference.")
    }

    /// True if access is allowed on this thread; as `check`, but without reporting an error.
    var isAccessAllowed: Bool {
        if session.state.pointee.owner == currentThreadWord() && !asksAlways { return true }
        return isFrozen || adoptsCaller?() == true
    }
}
