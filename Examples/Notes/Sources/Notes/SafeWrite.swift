// SPDX-License-Identifier: Apache-2.0
// Writes inside or outside a running transaction.

import RealmSwift

extension Realm {
    /// Runs `block` in the running write transaction, or in a new one.
    public func safeWrite(_ block: () throws -> Void) throws {
        if isInWriteTransaction {
            try block()
        } else {
            try write { try block() }
        }
    }
}
