// SPDX-License-Identifier: Apache-2.0
// The collection that the running transaction changed last, taken out of its bytes: so that a loop of appends
// costs what an array's does.

import RegnumSystem

struct OpenCollection {
    var column: Int
    var key: ObjectKey
    /// Of a dictionary: as many as values.
    var keys: [String] = []
    var values: [Value]
    var isChanged = false

    /// The place of `value` in a set, or where it belongs.
    func search(_ value: Value) -> (index: Int, isFound: Bool) {
        search { MixedOrder.compare(values[$0], value) }
    }

    /// The place of `key` in a dictionary, or where it belongs.
    func search(key: String) -> (index: Int, isFound: Bool) {
        // Keys often come in order.
        if let last = keys.last, MixedOrder.compare(last, key) < 0 { return (keys.count, false) }
        return search { MixedOrder.compare(keys[$0], key) }
    }

    private func search(_ order: (Int) -> Int) -> (index: Int, isFound: Bool) {
        var (low, high) = (0, values.count)
        while low < high {
            let middle = (low + high) / 2
            let found = order(middle)
            if found == 0 { return (middle, true) }
            if found < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }
}

extension Table {
    func isOpen(_ column: Int, _ key: ObjectKey) -> Bool {
        guard let open = openCollection else { return false }
        return open.key == key && open.column == column
    }

    /// For an object that the caller has just seen: what led to it, an index or a link, is damaged.
    static func missing(_ key: ObjectKey) -> EngineError {
        corrupted("there is no object with the key \(key.rawValue)")
    }

    func place(_ key: ObjectKey) throws(EngineError) -> RowLocation {
        guard let location = try locate(key) else { throw Self.missing(key) }
        return location
    }

    /// Takes the collection out of its bytes; writes the one before it back.
    func open(_ column: Int, _ key: ObjectKey) throws(EngineError) {
        if isOpen(column, key) { return }
        try flushOpenCollection()
        var open = OpenCollection(column: column, key: key, values: [])
        if definition.columns[column].collection == .dictionary {
            try forEachDictionaryLeaf(column, try place(key)) { leaf in
                for i in 0..<leaf.keys.count {
                    open.keys.append(String(decoding: leaf.keys.bytes(i), as: UTF8.self))
                    open.values.append(leaf.values.value(i))
                }
                return true
            }
        } else {
            try forEachLeaf(column, try place(key)) { leaf in
                open.values.append(contentsOf: leaf.all)
                return true
            }
        }
        openCollection = open
    }

    func collectionChanged() {
        openCollection?.isChanged = true
        session.changeCount &+= 1
    }

    /// Writes the open collection back into its object.
    func flushOpenCollection() throws(EngineError) {
        guard let open = openCollection else { return }
        openCollection = nil
        guard open.isChanged, let group = try groups.dirtyGroup(for: open.key.rawValue) else { return }
        let row = group.view.pointee.row(of: open.key.rawValue)
        freeBlob(open.column, RowLocation(group: group.view, row: row))
        group.makeWritable(open.column)
        let column = definition.columns[open.column]
        let bytes =
            column.collection == .dictionary
            ? DictionaryCodec.encode(open.keys, open.values, column.type)
            : ListCodec.encode(open.values, column.type)
        bytes.withUnsafeBytes { group.setBytes(open.column, row, $0) }
    }

    // MARK: Elements in place

    /// Calls `body` with the elements of a list or set, or the values of a dictionary, in order, as many at a time
    /// as lie together, until it returns false; gives false then. Changes made so far are seen. What `body` is
    /// given holds until it returns; it must not change the collection.
    @discardableResult
    package func forEachLeaf(
        _ column: Int, _ location: RowLocation, _ body: (ListCodec.Reader) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        if definition.columns[column].collection == .dictionary {
            return try forEachDictionaryLeaf(column, location) { leaf throws(EngineError) in try body(leaf.values) }
        }
        let bytes = try collectionBytes(column, location)
        return bytes.isEmpty ? true : try body(try ListCodec.Reader(bytes, definition.columns[column].type))
    }

    /// As `forEachLeaf` for a dictionary, with its keys.
    @discardableResult
    package func forEachDictionaryLeaf(
        _ column: Int, _ location: RowLocation, _ body: (DictionaryCodec.Reader) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        let bytes = try collectionBytes(column, location)
        return bytes.isEmpty ? true : try body(try DictionaryCodec.Reader(bytes, definition.columns[column].type))
    }

    /// Elements of any collection. O(1).
    package func elementCount(_ column: Int, _ location: RowLocation) throws(EngineError) -> Int {
        var count = 0
        try forEachLeaf(column, location) { leaf in
            count += leaf.count
            return true
        }
        return count
    }

    private func collectionBytes(
        _ column: Int, _ location: RowLocation
    ) throws(EngineError) -> UnsafeRawBufferPointer {
        if openCollection != nil { try flushOpenCollection() }
        let view = location.group.pointee.columns[column]
        let bytes = view.bytes(location.row)
        return view.isBlob(location.row) ? try blob(bytes) : bytes
    }
}
