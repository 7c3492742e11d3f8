// SPDX-License-Identifier: Apache-2.0
// Lists of an object. A list is one var-bytes value (ListCodec); the one that the running transaction changed
// last is kept decoded, so that a loop of appends costs what an array's does.

import RegnumSystem

/// A list taken out of its bytes to be changed.
struct OpenList {
    var column: Int
    var key: ObjectKey
    var values: [Value]
    var isChanged = false
}

extension Table {
    // MARK: Reading

    package func listCount(_ column: Int, of key: ObjectKey) throws(EngineError) -> Int {
        if let open = openList, open.column == column, open.key == key { return open.values.count }
        return try withList(column, try place(key)) { $0.count }
    }

    package func listValue(_ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) -> Value {
        if let open = openList, open.column == column, open.key == key { return open.values[index] }
        return try withList(column, try place(key)) { list in
            precondition(index >= 0 && index < list.count, "element \(index) of \(list.count)")
            return list.value(index)
        }
    }

    package func listValues(_ column: Int, of key: ObjectKey) throws(EngineError) -> [Value] {
        if let open = openList, open.column == column, open.key == key { return open.values }
        return try withList(column, try place(key)) { $0.all }
    }

    /// As `listValues`, with the object located.
    package func listValues(_ column: Int, at location: RowLocation) throws(EngineError) -> [Value] {
        try flushOpenList()
        return try withList(column, location) { $0.all }
    }

    /// Calls `body` with the list's elements in place; changes made so far are seen.
    package func withList<R>(
        _ column: Int, _ location: RowLocation, _ body: (ListCodec.Reader) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        if openList != nil { try flushOpenList() }
        let view = location.group.pointee.columns[column]
        var bytes = view.bytes(location.row)
        if view.isBlob(location.row) { bytes = try blob(bytes) }
        return try body(try ListCodec.Reader(bytes, definition.columns[column].type))
    }

    private func place(_ key: ObjectKey) throws(EngineError) -> RowLocation {
        guard let location = try locate(key) else { preconditionFailure("no object \(key.rawValue)") }
        return location
    }

    // MARK: Changing

    package func listInsert(_ values: [Value], _ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) {
        try open(column, key)
        openList?.values.insert(contentsOf: values, at: index)
        try link(column, key, values)
        try changed(column)
    }

    package func listSet(_ value: Value, _ column: Int, of key: ObjectKey, at index: Int) throws(EngineError) {
        try open(column, key)
        guard let old = openList?.values[index] else { return }
        openList?.values[index] = value
        try unlink(column, key, CollectionOfOne(old))
        try link(column, key, CollectionOfOne(value))
        try changed(column)
    }

    package func listRemove(_ range: Range<Int>, _ column: Int, of key: ObjectKey) throws(EngineError) {
        try open(column, key)
        guard let old = openList?.values[range] else { return }
        try unlink(column, key, old)
        openList?.values.removeSubrange(range)
        try changed(column)
    }

    package func listMove(_ column: Int, of key: ObjectKey, from: Int, to: Int) throws(EngineError) {
        try open(column, key)
        guard let value = openList?.values.remove(at: from) else { return }
        openList?.values.insert(value, at: to)
        try changed(column)
    }

    /// Removes every element that equals `value`.
    func listRemoveAll(_ value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) {
        try open(column, key)
        guard let before = openList?.values else { return }
        try unlink(column, key, before.filter { $0 == value })
        openList?.values.removeAll { $0 == value }
        try changed(column)
    }

    private func link(_ column: Int, _ key: ObjectKey, _ values: some Collection<Value>) throws(EngineError) {
        guard let tree = backlinkTrees[column] else { return }
        for case .link(let target) in values { try tree.insert(target: target.rawValue, origin: key.rawValue) }
    }

    private func unlink(_ column: Int, _ key: ObjectKey, _ values: some Collection<Value>) throws(EngineError) {
        guard let tree = backlinkTrees[column] else { return }
        for case .link(let target) in values { _ = try tree.remove(target: target.rawValue, origin: key.rawValue) }
    }

    private func open(_ column: Int, _ key: ObjectKey) throws(EngineError) {
        if let open = openList, open.column == column, open.key == key { return }
        try flushOpenList()
        let values = try withList(column, try place(key)) { $0.all }
        openList = OpenList(column: column, key: key, values: values)
    }

    private func changed(_ column: Int) throws(EngineError) {
        openList?.isChanged = true
        session.changeCount &+= 1
    }

    /// Writes the decoded list back into its object.
    func flushOpenList() throws(EngineError) {
        guard let open = openList else { return }
        openList = nil
        guard open.isChanged, let group = try groups.dirtyGroup(for: open.key.rawValue) else { return }
        let row = group.view.pointee.row(of: open.key.rawValue)
        freeBlob(open.column, RowLocation(group: group.view, row: row))
        group.makeWritable(open.column)
        let bytes = ListCodec.encode(open.values, definition.columns[open.column].type)
        bytes.withUnsafeBytes { group.setBytes(open.column, row, $0) }
    }
}
