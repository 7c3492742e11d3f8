// SPDX-License-Identifier: Apache-2.0
// Notifies a test kit of write transactions, so that it can cancel those that an abandoned call has begun.

/// A hook for a test kit. Set once, before the first write that it wants to observe.
package enum WriteHook {
    /// Receives each Realm on which a write transaction has just begun, on the calling thread.
    // unsafe: written once by the test kit, before any write that it wants to observe.
    package nonisolated(unsafe) static var didBegin: ((RealmCore) -> Void)?
}

extension RealmCore {
    /// Cancels the write transaction, if there is one. Call on the Realm's thread, queue or actor.
    package func cancelAnyWrite() {
        if isWriting { rollBack() }
        OpeningMigration.endAbandonedMigration(settings.place)
    }
}
