// SPDX-License-Identifier: Apache-2.0
// Writing without asking whether a write is going on.

import RealmSwift

extension Realm {
    /// Runs `block` in the write that is going on, or in a new one.
    public func safeWrite(_ block: () throws -> Void) throws {
        if isInWriteTransaction {
            try block()
        } else {
            try write { try block() }
        }
    }
}
