// SPDX-License-Identifier: Apache-2.0
// Sets of an object: elements ascend by MixedOrder, each there once. `listCount`, `listValue` and `listValues` read
// them, `listRemove` clears them.

import RegnumSystem

extension Table {
    /// True where the value was not there yet. O(log n).
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

    /// True where the value was there. O(log n).
    @discardableResult
    package func setRemove(_ value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) -> Bool {
        let (index, isFound) = try search(.value(value), column, of: key)
        if isFound { try listRemove(index..<index + 1, column, of: key) }
        return isFound
    }

    /// Where the value is, or nil. O(log n).
    package func setIndex(of value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) -> Int? {
        let (index, isFound) = try search(.value(value), column, of: key)
        return isFound ? index : nil
    }
}
