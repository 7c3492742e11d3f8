// SPDX-License-Identifier: Apache-2.0
// Dictionaries of an object: String keys, ascending by their UTF-8 bytes, to values of the column's type.

import RegnumSystem

extension Table {
    // MARK: Reading

    /// Entries. O(log n).
    package func dictionaryCount(_ column: Int, of key: ObjectKey) throws(EngineError) -> Int {
        try listCount(column, of: key)
    }

    /// Key `index` in ascending order. O(log n).
    package func dictionaryKey(_ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) -> String {
        if let open = openCollection, open.column == column, open.key == key { return open.keys[index] }
        var found: String?
        var left = index
        try forEachDictionaryLeaf(column, try place(key)) { leaf in
            if left >= 0, left < leaf.keys.count { found = String(decoding: leaf.keys.bytes(left), as: UTF8.self) }
            left -= leaf.keys.count
            return left >= 0
        }
        guard let found else { preconditionFailure("no entry \(index)") }
        return found
    }

    /// The value of key `index`. O(log n).
    package func dictionaryValue(_ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) -> Value {
        try listValue(column, of: key, at: index)
    }

    /// Where the key is, or nil. O(log n).
    package func dictionaryIndex(of name: String, _ column: Int, of key: ObjectKey) throws(EngineError) -> Int? {
        if let open = openCollection, open.column == column, open.key == key {
            let (index, isFound) = open.search(key: name)
            return isFound ? index : nil
        }
        var found: Int?
        var before = 0
        try forEachDictionaryLeaf(column, try place(key)) { leaf in
            let (index, isFound) = leaf.search(name)
            if isFound { found = before + index }
            before += leaf.keys.count
            return index == leaf.keys.count
        }
        return found
    }

    /// All entries, ascending by key.
    package func dictionaryEntries(_ column: Int, of key: ObjectKey) throws(EngineError) -> [DictionaryEntry] {
        if let open = openCollection, open.column == column, open.key == key {
            return zip(open.keys, open.values).map { DictionaryEntry(key: $0, value: $1) }
        }
        var entries: [DictionaryEntry] = []
        try forEachDictionaryLeaf(column, try place(key)) { leaf in
            for i in 0..<leaf.keys.count {
                entries.append(
                    DictionaryEntry(
                        key: String(decoding: leaf.keys.bytes(i), as: UTF8.self), value: leaf.values.value(i)))
            }
            return true
        }
        return entries
    }

    // MARK: Changing

    /// Stores a value, in the place of the key's old one if there is one. O(log n).
    package func dictionarySet(
        _ name: String, _ value: Value, _ column: Int, of key: ObjectKey
    ) throws(EngineError) {
        try open(column, key)
        guard let (index, isFound) = openCollection?.search(key: name) else { return }
        if isFound { return try listSet(value, column, of: key, at: index) }
        openCollection?.keys.insert(name, at: index)
        openCollection?.values.insert(value, at: index)
        try link(column, key, CollectionOfOne(value))
        collectionChanged()
    }

    /// True where the key was there. O(log n).
    @discardableResult
    package func dictionaryRemove(_ name: String, _ column: Int, of key: ObjectKey) throws(EngineError) -> Bool {
        try open(column, key)
        guard let (index, isFound) = openCollection?.search(key: name), isFound else { return false }
        openCollection?.keys.remove(at: index)
        try listRemove(index..<index + 1, column, of: key)
        return true
    }

    package func dictionaryRemoveAll(_ column: Int, of key: ObjectKey) throws(EngineError) {
        try open(column, key)
        openCollection?.keys.removeAll()
        try listRemove(0..<(openCollection?.values.count ?? 0), column, of: key)
    }
}
