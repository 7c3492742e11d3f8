// SPDX-License-Identifier: Apache-2.0
// Sets of an object: elements ascend by MixedOrder, each there once. `listCount`, `listValue` and `listValues` read
// them, `listRemove` clears them.

import RegnumSystem

extension Table {
    /// True where the value was not there yet. O(log n).
    @discardableResult
    package func setInsert(_ value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) -> Bool {
        try open(column, key)
        guard let (index, isFound) = openCollection?.search(value), !isFound else { return false }
        openCollection?.values.insert(value, at: index)
        try link(column, key, CollectionOfOne(value))
        collectionChanged()
        return true
    }

    /// True where the value was there. O(log n).
    @discardableResult
    package func setRemove(_ value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) -> Bool {
        try open(column, key)
        guard let (index, isFound) = openCollection?.search(value), isFound else { return false }
        try listRemove(index..<index + 1, column, of: key)
        return true
    }

    /// Where the value is, or nil. O(log n).
    package func setIndex(of value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) -> Int? {
        if let open = openCollection, open.column == column, open.key == key {
            let (index, isFound) = open.search(value)
            return isFound ? index : nil
        }
        var found: Int?
        var before = 0
        try forEachLeaf(column, try place(key)) { leaf in
            var (low, high) = (0, leaf.count)
            while low < high {
                let middle = (low + high) / 2
                if MixedOrder.compare(leaf.value(middle), value) < 0 { low = middle + 1 } else { high = middle }
            }
            if low < leaf.count, MixedOrder.areEqual(leaf.value(low), value) { found = before + low }
            before += leaf.count
            return low == leaf.count
        }
        return found
    }
}
