// SPDX-License-Identifier: Apache-2.0
// The checks of an access: `check` traps on the wrong thread, and `requireWrite` outside a write transaction. The fast
// paths of properties compare the same fields and come here only if they differ.

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

    /// Reports a programmer error unless the calling thread is in a write transaction of this Realm.
    package func requireWrite(
        _ outside: @autoclosure () -> String =
            "Can only add, remove, or create objects in a Realm in a write transaction - call "
            + "beginWrite() first.",
        frozen: @autoclosure () -> String =
            "Attempting to modify a frozen object - call thaw on the Object instance first."
    ) {
        check()
        if session.state.pointee.isWriting { return }
        misuse(isFrozen ? frozen() : outside())
    }
}

/// Reports a programmer error unless the object's Realm is in a write transaction.
@inline(__always)
func requireModifiable(_ object: ObjectBase) {
    if object.rowContext.unsafelyUnwrapped.pointee.session.pointee.isWriting { return }
    refuseModification(object)
}

@inline(never)
private func refuseModification(_ object: ObjectBase) {
    object.core.requireWrite(
        "Cannot modify managed objects outside of a write transaction. Put the change into `realm.write { }`."
    )
}
