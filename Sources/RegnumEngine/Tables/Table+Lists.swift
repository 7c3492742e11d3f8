// SPDX-License-Identifier: Apache-2.0
// List properties of an object; sets are read in the same way. Collections that the running transaction changes are
// kept open (OpenCollection), so that a loop of appends costs no more than with an array.

import RegnumSystem

extension Table {
    // MARK: Reading

    /// The number of elements of a list or set. O(1).
    package func listCount(_ column: Int, of key: ObjectKey) throws(EngineError) -> Int {
        if let open = openCollections.find(column, key) { return open.count }
        return try elementCount(column, try place(key))
    }

    /// Returns element `index` of a list or set. O(log n); O(1) near the last one read.
    package func listValue(_ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) -> Value {
        let (leaf, start) = try leaf(column, of: key, at: index)
        return leaf.value(index - start)
    }

    /// Returns all elements of a list or set. `listChunk` returns some at a time.
    package func listValues(_ column: Int, of key: ObjectKey) throws(EngineError) -> [Value] {
        try listValues(column, at: try place(key))
    }

    /// Like `listValues` for a located object; for a dictionary its values.
    package func listValues(_ column: Int, at location: RowLocation) throws(EngineError) -> [Value] {
        var values: [Value] = []
        _ = try elementTree(column).forEachLeaf(try collection(column, location)) { leaf in
            switch leaf {
            case .memory(let memory): values.append(contentsOf: memory.values)
            case .stored(let stored): values.append(contentsOf: stored.values.all)
            }
            return true
        }
        return values
    }

    /// Returns the elements of a list or set of Ints; nil if one is null.
    package func listIntegers(_ column: Int, at location: RowLocation) throws(EngineError) -> [Int]? {
        if let bytes = inlineElements(column, location) { return try ListCodec.Reader(bytes, .int).integers }
        return try elements(column, location) { reader in
            reader.integers
        } element: { value in
            if case .int(let number) = value { Int(number) } else { nil }
        }
    }

    /// Returns the elements of a list or set of Strings; nil if one is null.
    package func listTexts(_ column: Int, at location: RowLocation) throws(EngineError) -> [String]? {
        try elements(column, location) { reader in
            reader.texts
        } element: { value in
            if case .string(let text) = value { text } else { nil }
        }
    }

    /// Returns the targets of a list or set of links; nil if one is null.
    package func listKeys(_ column: Int, at location: RowLocation) throws(EngineError) -> [ObjectKey]? {
        try elements(column, location) { reader in
            reader.targets
        } element: { value in
            if case .link(let key) = value { key } else { nil }
        }
    }

    /// Collects the elements: `stored` converts a stored leaf, `element` one value of a leaf in memory. Returns nil if
    /// either returns nil.
    @inline(__always)
    private func elements<Element>(
        _ column: Int, _ location: RowLocation, stored: (ListCodec.Reader) -> [Element]?, element: (Value) -> Element?
    ) throws(EngineError) -> [Element]? {
        var all: [Element] = []
        let isWhole = try elementTree(column).forEachLeaf(try collection(column, location)) { leaf in
            switch leaf {
            case .stored(let leaf):
                guard let part = stored(leaf.values) else { return false }
                if all.isEmpty { all = part } else { all.append(contentsOf: part) }
            case .memory(let leaf):
                for value in leaf.values {
                    guard let value = element(value) else { return false }
                    all.append(value)
                }
            }
            return true
        }
        return isWhole ? all : nil
    }

    /// Returns the elements from `index` on in the same leaf, at least one, for loops over large collections. O(log n +
    /// elements returned).
    package func listChunk(_ column: Int, of key: ObjectKey, from index: Int) throws(EngineError) -> [Value] {
        let (leaf, start) = try leaf(column, of: key, at: index)
        return (index - start..<leaf.count).map { leaf.value($0) }
    }

    // MARK: Changing

    /// Appends an element. O(1) in a loop, otherwise O(log n).
    package func listAppend(_ value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) {
        try session.relieveIfDue()
        let open = try open(column, key)
        try session.change { () throws(EngineError) in
            try open.insert(value, at: open.count)
            try link(column, key, CollectionOfOne(value))
        }
        session.changeCount &+= 1
        noteIfLong(open.tree.type, CollectionOfOne(value))
    }

    /// Inserts elements at `index`. O(log n + elements inserted).
    package func listInsert(_ values: [Value], _ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) {
        try session.relieveIfDue()
        let open = try open(column, key)
        precondition(index >= 0 && index <= open.count, "place \(index) of \(open.count)")
        try session.change { () throws(EngineError) in
            try open.insert(values, at: index)
            if hasGuards { try link(column, key, values) }
        }
        // Counts as one change per element, so that the memory of the write is checked just as often.
        session.changeCount &+= UInt64(max(values.count, 1))
        noteIfLong(open.tree.type, values)
    }

    /// Replaces element `index`. O(log n).
    package func listSet(_ value: Value, _ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) {
        try session.relieveIfDue()
        try replaceElement(value, column, of: key, at: index)
    }

    /// Like `listSet`, as part of another change.
    func replaceElement(_ value: Value, _ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) {
        let open = try open(column, key)
        try session.change { () throws(EngineError) in
            let old = try open.replace(index, value)
            try unlink(column, key, CollectionOfOne(old))
            try link(column, key, CollectionOfOne(value))
            session.changeCount &+= 1
            if old != value { try disown(column, CollectionOfOne(old)) }
        }
        noteIfLong(open.tree.type, CollectionOfOne(value))
    }

    /// Counts long stored elements for the memory checks of the write, as single values are counted.
    func noteIfLong(_ type: ColumnType, _ values: some Collection<Value>) {
        switch type {
        case .string, .data, .mixed: for value in values { session.noteIfLong(value) }
        default: break
        }
    }

    /// Removes elements of any collection. O(log n + elements removed).
    package func listRemove(_ range: Range<Int>, _ column: Int, of key: ObjectKey) throws(EngineError) {
        try session.relieveIfDue()
        try removeElements(range, column, of: key)
    }

    /// Like `listRemove`, as part of another change.
    private func removeElements(_ range: Range<Int>, _ column: Int, of key: ObjectKey) throws(EngineError) {
        let open = try open(column, key)
        session.changeCount &+= UInt64(max(range.count, 1))
        try session.change { () throws(EngineError) in
            if range == 0..<open.count, backlinkTrees[column] == nil { return try open.removeAll() }
            var owned: [Value] = []
            try open.remove(range) { values throws(EngineError) in
                try unlink(column, key, values)
                if owns[column] { owned.append(contentsOf: values) }
            }
            try disown(column, owned)
        }
    }

    /// Moves an element. O(log n).
    package func listMove(_ column: Int, of key: ObjectKey, from: Int, to: Int) throws(EngineError) {
        try session.relieveIfDue()
        let open = try open(column, key)
        precondition(to >= 0 && to < open.count, "place \(to) of \(open.count)")
        let value = try open.value(from)
        try session.change { () throws(EngineError) in
            try open.remove(from..<from + 1) { _ in }
            try open.insert(value, at: to)
        }
        session.changeCount &+= 1
    }

    // MARK: Links

    /// Adds the links in new values to the backlink tree.
    func link(_ column: Int, _ key: ObjectKey, _ values: some Collection<Value>) throws(EngineError) {
        guard let tree = backlinkTrees[column] else { return }
        for value in values {
            try value.forEachLink { word throws(EngineError) in try tree.insert(target: word, origin: key.rawValue) }
        }
    }

    /// Removes the links in removed values from the backlink tree.
    func unlink(_ column: Int, _ key: ObjectKey, _ values: some Collection<Value>) throws(EngineError) {
        guard let tree = backlinkTrees[column], tree.count > 0 else { return }
        for value in values {
            try value.forEachLink { word throws(EngineError) in
                _ = try tree.remove(target: word, origin: key.rawValue)
            }
        }
    }
}
