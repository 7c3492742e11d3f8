// SPDX-License-Identifier: Apache-2.0
// A small map in an array, sorted by key. The parts of an object are few, and are read in order.

/// A map whose entries are in the order of their keys.
/// - Complexity: finding is logarithmic; adding and removing an entry moves the ones after it.
public struct SortedTable<Key: Comparable & Sendable, Value: Sendable>: Sendable {
    public struct Entry: Sendable {
        public let key: Key
        public var value: Value
    }

    public private(set) var entries: [Entry] = []

    public init() {}

    public var isEmpty: Bool { entries.isEmpty }
    public var count: Int { entries.count }

    public subscript(key: Key) -> Value? {
        get {
            let index = place(of: key)
            return isEntry(index, key) ? entries[index].value : nil
        }
        set {
            let index = place(of: key)
            switch (isEntry(index, key), newValue) {
            case (true, let value?): entries[index].value = value
            case (true, nil): entries.remove(at: index)
            case (false, let value?): entries.insert(Entry(key: key, value: value), at: index)
            case (false, nil): break
            }
        }
    }

    public mutating func removeAll(where condition: (Entry) -> Bool) {
        if entries.contains(where: condition) { entries.removeAll(where: condition) }
    }

    /// The first place whose key is not less.
    private func place(of key: Key) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func isEntry(_ index: Int, _ key: Key) -> Bool { index < entries.count && entries[index].key == key }
}

extension SortedTable.Entry: Equatable where Value: Equatable {}
extension SortedTable: Equatable where Value: Equatable {}
