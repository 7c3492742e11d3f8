// SPDX-License-Identifier: Apache-2.0
// Where a test kit learns of write transactions, so that it can cancel those that an abandoned call has
// begun.

/// Where a test kit listens. Set once, before the first write it wants to see.
package enum WriteHook {
    /// Gets each Realm on which a write transaction has just begun, on the thread of the call.
    // unsafe: written once by the test kit before any write it wants to see.
    package nonisolated(unsafe) static var didBegin: ((RealmCore) -> Void)?
}

extension RealmCore {
    /// Cancels the write transaction where there is one. On the thread that the Realm is confined to.
    package func cancelAnyWrite() {
        if isWriting { rollBack() }
        SchemaUpdate.endAbandonedMigration(settings.place)
    }
}
