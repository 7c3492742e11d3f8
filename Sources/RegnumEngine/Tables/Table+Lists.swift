// SPDX-License-Identifier: Apache-2.0
// Lists of an object; reading is the same for sets. The collection that the running transaction changed last is
// kept decoded (OpenCollection), so that a loop of appends costs what an array's does.

import RegnumSystem

extension Table {
    // MARK: Reading

    /// Elements of a list or set. O(log n).
    package func listCount(_ column: Int, of key: ObjectKey) throws(EngineError) -> Int {
        if let open = openCollection, open.column == column, open.key == key { return open.values.count }
        return try elementCount(column, try place(key))
    }

    /// Element `index` of a list or set. O(log n).
    package func listValue(_ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) -> Value {
        if let open = openCollection, open.column == column, open.key == key { return open.values[index] }
        var found: Value?
        var left = index
        try forEachLeaf(column, try place(key)) { leaf in
            if left >= 0, left < leaf.count { found = leaf.value(left) }
            left -= leaf.count
            return left >= 0
        }
        guard let found else { preconditionFailure("no element \(index)") }
        return found
    }

    /// All elements of a list or set.
    package func listValues(_ column: Int, of key: ObjectKey) throws(EngineError) -> [Value] {
        if let open = openCollection, open.column == column, open.key == key { return open.values }
        return try listValues(column, at: try place(key))
    }

    /// As `listValues`, with the object located; of a dictionary its values.
    package func listValues(_ column: Int, at location: RowLocation) throws(EngineError) -> [Value] {
        var values: [Value] = []
        try forEachLeaf(column, location) { leaf in
            if values.isEmpty { values = leaf.all } else { values.append(contentsOf: leaf.all) }
            return true
        }
        return values
    }

    // MARK: Changing

    package func listInsert(_ values: [Value], _ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) {
        try open(column, key)
        openCollection?.values.insert(contentsOf: values, at: index)
        try link(column, key, values)
        collectionChanged()
    }

    package func listSet(_ value: Value, _ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) {
        try open(column, key)
        guard let old = openCollection?.values[index] else { return }
        openCollection?.values[index] = value
        try unlink(column, key, CollectionOfOne(old))
        try link(column, key, CollectionOfOne(value))
        collectionChanged()
        if old != value { try disown(column, CollectionOfOne(old)) }
    }

    /// Removes elements of a list or set.
    package func listRemove(_ range: Range<Int>, _ column: Int, of key: ObjectKey) throws(EngineError) {
        try open(column, key)
        guard let old = openCollection?.values[range] else { return }
        try unlink(column, key, old)
        let owned = owns[column] ? Array(old) : []
        openCollection?.values.removeSubrange(range)
        collectionChanged()
        try disown(column, owned)
    }

    package func listMove(_ column: Int, of key: ObjectKey, from: Int, to: Int) throws(EngineError) {
        try open(column, key)
        guard let value = openCollection?.values.remove(at: from) else { return }
        openCollection?.values.insert(value, at: to)
        collectionChanged()
    }

    // MARK: Links

    /// Enters the links in new values.
    func link(_ column: Int, _ key: ObjectKey, _ values: some Collection<Value>) throws(EngineError) {
        guard let tree = backlinkTrees[column] else { return }
        for value in values {
            try value.forEachLink { word throws(EngineError) in try tree.insert(target: word, origin: key.rawValue) }
        }
    }

    /// Takes the links in values that go away out.
    func unlink(_ column: Int, _ key: ObjectKey, _ values: some Collection<Value>) throws(EngineError) {
        guard let tree = backlinkTrees[column], tree.count > 0 else { return }
        for value in values {
            try value.forEachLink { word throws(EngineError) in
                _ = try tree.remove(target: word, origin: key.rawValue)
            }
        }
    }

    /// The target of a link goes away: lists and sets of links lose the elements that lead there, in dictionaries
    /// and mixed values the link becomes null; a set of mixed values loses the element.
    func clearLinks(inCollection column: Int, to word: UInt64, of key: ObjectKey) throws(EngineError) {
        try open(column, key)
        guard let before = openCollection?.values else { return }
        let old = before.filter { $0.leads(to: word) }
        if old.isEmpty { return }
        try unlink(column, key, old)
        let kind = definition.columns[column]
        if kind.collection == .set || kind.collection == .list && kind.type == .link {
            openCollection?.values.removeAll { $0.leads(to: word) }
        } else {
            let new = old.map { $0.clearingLinks(to: word) }
            openCollection?.values = before.map { $0.leads(to: word) ? $0.clearingLinks(to: word) : $0 }
            try link(column, key, new)
        }
        collectionChanged()
    }
}

extension Value {
    fileprivate func leads(to word: UInt64) -> Bool {
        switch self {
        case .link(let key): key.rawValue == word
        case .typedLink(let table, let key): Value.targetWord(table, key) == word
        case .list(let values): values.contains { $0.leads(to: word) }
        case .dictionary(let entries): entries.contains { $0.value.leads(to: word) }
        default: false
        }
    }
}
