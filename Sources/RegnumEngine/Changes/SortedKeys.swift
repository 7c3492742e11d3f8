// SPDX-License-Identifier: Apache-2.0
// Search in arrays of ascending keys.

extension Array where Element == ObjectKey {
    /// Returns the number of keys below `key`; the keys must ascend. O(log n).
    package func lowerBound(_ key: ObjectKey) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            if self[middle] < key { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// Returns the index of the key, or nil; the keys must ascend. O(log n).
    package func sortedIndex(of key: ObjectKey) -> Int? {
        let at = lowerBound(key)
        return at < count && self[at] == key ? at : nil
    }
}
