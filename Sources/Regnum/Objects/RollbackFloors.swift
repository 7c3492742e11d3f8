// SPDX-License-Identifier: Apache-2.0
// The rollbacks of one class in one Realm: which accessors they have invalidated. A rollback gives the keys above a
// floor to later objects, so an accessor that is older than the rollback and has such a key is of an object that is
// gone.
//
// An accessor has the number of rollbacks before it, and is checked against the lowest floor since. Only floors that are
// below all later ones are kept, so that neither memory nor the check grows with the number of rollbacks alone.

struct RollbackFloors {
    /// The number of rollbacks.
    private(set) var count = 0
    /// Both ascend.
    private var floors: [(number: Int, key: UInt64)] = []

    /// Records a rollback after which new objects get keys above `key`.
    mutating func append(_ key: UInt64) {
        while let last = floors.last, last.key >= key { floors.removeLast() }
        floors.append((count, key))
        count += 1
    }

    /// Returns whether a rollback has taken back the object with `key` since there were `rollbacks` of them. O(log
    /// rollbacks).
    func hasTakenBack(_ key: UInt64, since rollbacks: Int) -> Bool {
        var (low, high) = (0, floors.count)
        while low < high {
            let middle = (low + high) / 2
            if floors[middle].number < rollbacks { low = middle + 1 } else { high = middle }
        }
        return low < floors.count && key > floors[low].key
    }
}
