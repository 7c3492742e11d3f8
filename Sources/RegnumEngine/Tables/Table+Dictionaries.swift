// SPDX-License-Identifier: Apache-2.0
// Dictionary properties of an object: String keys, ascending by their UTF-8 bytes, with values of the column's type.

import RegnumSystem

extension Table {
    // MARK: Reading

    /// The number of entries. O(1).
    package func dictionaryCount(_ column: Int, of key: ObjectKey) throws(EngineError) -> Int {
        try listCount(column, of: key)
    }

    /// Returns key `index` in ascending order. O(log n); O(1) near the last entry read.
    package func dictionaryKey(_ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) -> String {
        let (leaf, start) = try leaf(column, of: key, at: index)
        return leaf.key(index - start)
    }

    /// Returns the value of key `index`. O(log n); O(1) near the last entry read.
    package func dictionaryValue(_ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) -> Value {
        try listValue(column, of: key, at: index)
    }

    /// Returns the position of the key, or nil. O(log n).
    package func dictionaryIndex(of name: String, _ column: Int, of key: ObjectKey) throws(EngineError) -> Int? {
        let (index, isFound) = try search(.key(name), column, of: key)
        return isFound ? index : nil
    }

    /// Returns the value of a key; nil if there is none. O(log n).
    package func dictionaryValue(
        for name: String, _ column: Int, of key: ObjectKey, at location: RowLocation
    ) throws(EngineError) -> Value? {
        if let bytes = inlineElements(column, location) {
            let reader = try DictionaryCodec.Reader(bytes, definition.columns[column].type)
            let (index, isFound) = reader.search(name)
            return isFound ? reader.values.value(index) : nil
        }
        let (index, isFound) = try search(.key(name), column, of: key)
        return isFound ? try listValue(column, of: key, at: index) : nil
    }

    /// Returns all entries, ascending by key.
    package func dictionaryEntries(_ column: Int, of key: ObjectKey) throws(EngineError) -> [DictionaryEntry] {
        var entries: [DictionaryEntry] = []
        _ = try elementTree(column).forEachLeaf(try collection(column, try place(key))) { leaf in
            for i in 0..<leaf.count { entries.append(DictionaryEntry(key: leaf.key(i), value: leaf.value(i))) }
            return true
        }
        return entries
    }

    // MARK: Changing

    /// Stores a value for a key, replacing its old one. O(log n).
    package func dictionarySet(
        _ name: String, _ value: Value, _ column: Int, of key: ObjectKey
    ) throws(EngineError) {
        try session.relieveIfDue()
        let open = try open(column, key)
        let (index, isFound) = try open.search(.key(name))
        if isFound { return try replaceElement(value, column, of: key, at: index) }
        try session.change { () throws(EngineError) in
            try open.insert(value, key: name, at: index)
            try link(column, key, CollectionOfOne(value))
        }
        session.changeCount &+= 1
        noteIfLong(open.tree.type, CollectionOfOne(value))
    }

    /// Removes a key; true if it existed. O(log n).
    @discardableResult
    package func dictionaryRemove(_ name: String, _ column: Int, of key: ObjectKey) throws(EngineError) -> Bool {
        let (index, isFound) = try search(.key(name), column, of: key)
        if isFound { try listRemove(index..<index + 1, column, of: key) }
        return isFound
    }

    package func dictionaryRemoveAll(_ column: Int, of key: ObjectKey) throws(EngineError) {
        try listRemove(0..<(try dictionaryCount(column, of: key)), column, of: key)
    }
}
