// SPDX-License-Identifier: Apache-2.0
// Set properties of an object: unique elements, ascending by MixedOrder. `listCount`, `listValue` and `listValues` read
// them, `listRemove` clears them.

import RegnumSystem

extension Table {
    /// Inserts a value; true if it was not yet in the set. O(log n).
    @discardableResult
    package func setInsert(_ value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) -> Bool {
        try session.relieveIfDue()
        let open = try open(column, key)
        let (index, isFound) = try open.search(.value(value))
        if isFound { return false }
        try session.change { () throws(EngineError) in
            try open.insert(value, at: index)
            try link(column, key, CollectionOfOne(value))
        }
        session.changeCount &+= 1
        noteIfLong(open.tree.type, CollectionOfOne(value))
        return true
    }

    /// Removes a value; true if it was in the set. O(log n).
    @discardableResult
    package func setRemove(_ value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) -> Bool {
        let (index, isFound) = try search(.value(value), column, of: key)
        if isFound { try listRemove(index..<index + 1, column, of: key) }
        return isFound
    }

    /// Returns the position of the value, or nil. O(log n).
    package func setIndex(of value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) -> Int? {
        let (index, isFound) = try search(.value(value), column, of: key)
        return isFound ? index : nil
    }
}
