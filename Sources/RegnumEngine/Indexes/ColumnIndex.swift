// SPDX-License-Identifier: Apache-2.0
// The index of one column: converts values to entries of the tree. Int and Bool are fixed entries; String, Date,
// ObjectId and UUID are bytes whose order is the order of the values. Mixed values are bytes that are equal if the
// values are (MixedOrder); their order has no meaning.

import RegnumSystem

package final class ColumnIndex {
    let tree: IndexTree
    private let type: ColumnType

    init(_ column: ColumnDefinition, space: BlockSpace, root: BlockRef, count: UInt64) {
        type = column.type
        tree = IndexTree(space: space, kind: Self.kind(column.type), root: root, count: count)
    }

    private static func kind(_ type: ColumnType) -> IndexTree.Kind {
        switch type {
        case .int, .bool: .fixed
        default: .bytes
        }
    }

    // MARK: Changing

    @inline(__always)
    func insert(_ location: RowLocation, _ column: Int, _ key: UInt64, _ table: Table) throws(EngineError) {
        let view = location.group.columns[column]
        if type == .mixed ? view.bytes(location.row).isEmpty : view.isNull(location.row) {
            return try tree.insertNull(key: key)
        }
        switch type {
        case .int: try tree.insert(value: IndexKey.encode(view.integer(location.row)), key: key)
        case .bool: try tree.insert(value: IndexKey.encode(view.bit(location.row) ? 1 : 0), key: key)
        default:
            try withBytes(location, column, table) { bytes throws(EngineError) in
                try tree.insert(bytes: bytes, key: key)
            }
        }
    }

    /// Like `insert`; the entry is added to the tree by `fill.enter`.
    @inline(__always)
    func collect(
        _ location: RowLocation, _ column: Int, _ key: UInt64, _ table: Table, into fill: inout IndexFill
    ) throws(EngineError) {
        let view = location.group.columns[column]
        if type == .mixed ? view.bytes(location.row).isEmpty : view.isNull(location.row) {
            return try fill.addNull(key: key)
        }
        switch type {
        case .int: try fill.add(value: IndexKey.encode(view.integer(location.row)), key: key)
        case .bool: try fill.add(value: IndexKey.encode(view.bit(location.row) ? 1 : 0), key: key)
        default:
            try withBytes(location, column, table) { bytes throws(EngineError) in try fill.add(bytes: bytes, key: key) }
        }
    }

    func remove(_ location: RowLocation, _ column: Int, _ key: UInt64, _ table: Table) throws(EngineError) {
        let view = location.group.columns[column]
        if type == .mixed ? view.bytes(location.row).isEmpty : view.isNull(location.row) {
            _ = try tree.removeNull(key: key)
            return
        }
        switch type {
        case .int: _ = try tree.remove(value: IndexKey.encode(view.integer(location.row)), key: key)
        case .bool: _ = try tree.remove(value: IndexKey.encode(view.bit(location.row) ? 1 : 0), key: key)
        default:
            try withBytes(location, column, table) { bytes throws(EngineError) in
                _ = try tree.remove(bytes: bytes, key: key)
            }
        }
    }

    /// True if an object in the index has the row's value, unless that is null. For texts of more than 1,000 bytes,
    /// also true if the values may merely look equal.
    func mayHold(_ location: RowLocation, _ column: Int, _ table: Table) throws(EngineError) -> Bool {
        let view = location.group.columns[column]
        if type == .mixed ? view.bytes(location.row).isEmpty : view.isNull(location.row) { return false }
        switch type {
        case .int: return try tree.firstKey(value: IndexKey.encode(view.integer(location.row))) != nil
        case .bool: return try tree.firstKey(value: IndexKey.encode(view.bit(location.row) ? 1 : 0)) != nil
        default:
            var isHeld = false
            try withBytes(location, column, table) { bytes throws(EngineError) in
                isHeld = try tree.firstKey(bytes: bytes) != nil
            }
            return isHeld
        }
    }

    /// True if the index has the entry of this object with the row's value. O(log n), however many objects have that
    /// value.
    func contains(
        _ location: RowLocation, _ column: Int, _ key: UInt64, _ table: Table
    ) throws(EngineError) -> Bool {
        let view = location.group.columns[column]
        if type == .mixed ? view.bytes(location.row).isEmpty : view.isNull(location.row) {
            return try tree.containsNull(key: key)
        }
        switch type {
        case .int: return try tree.contains(value: IndexKey.encode(view.integer(location.row)), key: key)
        case .bool: return try tree.contains(value: IndexKey.encode(view.bit(location.row) ? 1 : 0), key: key)
        default:
            var isThere = false
            try withBytes(location, column, table) { bytes throws(EngineError) in
                isThere = try tree.contains(bytes: bytes, key: key)
            }
            return isThere
        }
    }

    // MARK: Looking up

    /// Returns the highest value of an Int column; nil if there is none.
    func highestInteger() throws(EngineError) -> Int64? {
        precondition(type == .int)
        var cursor = IndexCursor(tree)
        guard tree.count > 0, try cursor.seek(rank: Int(tree.count) - 1), !cursor.isNull else { return nil }
        return IndexKey.decode(cursor.value)
    }

    /// Returns the lowest key with that value. Values longer than the tree stores are compared with the object's own.
    func first(_ value: Value, _ table: Table) throws(EngineError) -> ObjectKey? {
        switch value {
        case .int(let integer) where type == .int:
            return try tree.firstKey(value: IndexKey.encode(integer)).map { ObjectKey($0) }
        case .string, .objectID, .uuid:
            if type == .mixed { return try all(value, table).first }
            let bytes = Self.bytes(value)
            guard IndexKey.isExact(byteCount: bytes.count) else { return try all(value, table).first }
            return try IndexBytes.borrow(bytes) { (bytes) throws(EngineError) in
                try tree.firstKey(bytes: bytes).map { ObjectKey($0) }
            }
        default: return try all(value, table).first
        }
    }

    /// Returns the keys with that value. With `limit`, at least that many if they exist, possibly more.
    func all(_ value: Value, _ table: Table, limit: Int = .max) throws(EngineError) -> [ObjectKey] {
        var keys: [ObjectKey] = []
        if type == .mixed { return try allMixed(value, table) }
        switch value {
        case .null: try tree.forEachNullKey(limit: limit) { keys.append(ObjectKey($0)) }
        case .int(let integer):
            try tree.forEachKey(value: IndexKey.encode(integer), limit: limit) { keys.append(ObjectKey($0)) }
        case .bool(let bit):
            try tree.forEachKey(value: IndexKey.encode(bit ? 1 : 0), limit: limit) { keys.append(ObjectKey($0)) }
        default:
            let bytes = Self.bytes(value)
            keys = try self.keys(bytes, limit: limit)
            if !IndexKey.isExact(byteCount: bytes.count) {
                let found = keys.count
                keys = try exact(keys, value, table)
                // Some entries only looked equal; later ones may be equal.
                if found == limit, keys.count < limit { return try all(value, table) }
            }
        }
        return keys
    }

    /// Returns the number of keys that `all` would return, without reading the entries if the tree's counts suffice.
    func count(_ value: Value, _ table: Table) throws(EngineError) -> Int {
        switch value {
        case .int(let integer) where type == .int: return try tree.count(value: IndexKey.encode(integer))
        case .string(var text) where type == .string && IndexKey.isExact(byteCount: text.utf8.count):
            // Does not use `bytes`, which allocates.
            var found: Result<Int, EngineError> = .success(0)
            text.withUTF8 { bytes in
                found = Result { () throws(EngineError) in try tree.count(bytes: UnsafeRawBufferPointer(bytes)) }
            }
            return try found.get()
        default: return try all(value, table).count
        }
    }

    private func keys(_ bytes: [UInt8], limit: Int = .max) throws(EngineError) -> [ObjectKey] {
        var keys: [ObjectKey] = []
        var error: EngineError?
        bytes.withUnsafeBytes { buffer in
            do throws(EngineError) {
                try tree.forEachKey(bytes: buffer, limit: limit) { keys.append(ObjectKey($0)) }
            } catch let thrown { error = thrown }
        }
        if let error { throw error }
        return keys
    }

    private func allMixed(_ value: Value, _ table: Table) throws(EngineError) -> [ObjectKey] {
        var keys: [ObjectKey] = []
        if value == .null {
            try tree.forEachNullKey { keys.append(ObjectKey($0)) }
            return keys
        }
        let bytes = Self.mixedBytes(value)
        keys = try self.keys(bytes)
        if IndexKey.isExact(byteCount: bytes.count) { return keys }
        guard let column = table.indexes.firstIndex(where: { $0 === self }) else { return keys }
        var kept: [ObjectKey] = []
        for key in keys where MixedOrder.areEqual(try table.value(column, of: key), value) { kept.append(key) }
        return kept
    }

    private func exact(_ keys: [ObjectKey], _ value: Value, _ table: Table) throws(EngineError) -> [ObjectKey] {
        guard let column = table.indexes.firstIndex(where: { $0 === self }) else { return keys }
        var kept: [ObjectKey] = []
        for key in keys where try table.value(column, of: key) == value { kept.append(key) }
        return kept
    }

    // MARK: Bytes

    /// Returns bytes whose unsigned order is the order of the values.
    static func bytes(_ value: Value) -> [UInt8] {
        switch value {
        case .string(let text): return Array(text.utf8)
        case .data(let bytes): return bytes
        case .date(let date): return dateBytes(date.seconds, date.nanoseconds)
        case .objectID(let low, let high):
            var out = [UInt8]()
            withUnsafeBytes(of: low) { out.append(contentsOf: $0) }
            withUnsafeBytes(of: high) { out.append(contentsOf: $0) }
            return out
        case .uuid(let low, let high):
            var out = [UInt8]()
            withUnsafeBytes(of: low) { out.append(contentsOf: $0) }
            withUnsafeBytes(of: high) { out.append(contentsOf: $0) }
            return out
        default: return []
        }
    }

    /// Returns bytes that are equal for equal mixed values: numbers of all types have one form.
    static func mixedBytes(_ value: Value) -> [UInt8] {
        switch value {
        case .int, .float, .double, .decimal128:
            return [MixedCodec.Tag.decimal128.rawValue] + (ExactNumber(value)?.canonicalBytes ?? [])
        case .list(let values):
            return [MixedCodec.Tag.list.rawValue] + values.flatMap { framed(mixedBytes($0)) }
        case .dictionary(let entries):
            return [MixedCodec.Tag.dictionary.rawValue]
                + entries.flatMap { framed(Array($0.key.utf8)) + framed(mixedBytes($0.value)) }
        default: return MixedCodec.encode(value)
        }
    }

    private static func framed(_ bytes: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: UInt32(bytes.count)) { [UInt8]($0) } + bytes
    }

    private static func dateBytes(_ seconds: Int64, _ nanoseconds: Int32) -> [UInt8] {
        var out = [UInt8]()
        withUnsafeBytes(of: (UInt64(bitPattern: seconds) ^ 1 << 63).bigEndian) { out.append(contentsOf: $0) }
        withUnsafeBytes(of: (UInt32(bitPattern: nanoseconds) ^ 1 << 31).bigEndian) { out.append(contentsOf: $0) }
        return out
    }

    /// Calls `body` with the row's value as bytes of the index.
    private func withBytes(
        _ location: RowLocation, _ column: Int, _ table: Table,
        _ body: (UnsafeRawBufferPointer) throws(EngineError) -> Void
    ) throws(EngineError) {
        let view = location.group.columns[column]
        switch type {
        case .mixed: try call(Self.mixedBytes(try table.value(column, at: location)), body)
        case .string, .data:
            var bytes = view.bytes(location.row)
            if view.isBlob(location.row) { bytes = try table.blob(bytes) }
            try body(bytes)
        case .date:
            let bytes = Self.dateBytes(view.integer(location.row), view.nanoseconds(location.row))
            try call(bytes, body)
        case .objectID:
            try body(UnsafeRawBufferPointer(start: view.data + location.row * 12, count: 12))
        default:
            try body(UnsafeRawBufferPointer(start: view.data + location.row * 16, count: 16))
        }
    }

    private func call(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(EngineError) -> Void)
        throws(EngineError)
    {
        let count = bytes.count
        let copy = UnsafeMutableRawPointer.allocate(byteCount: max(count, 1), alignment: 8)
        defer { copy.deallocate() }
        bytes.withUnsafeBytes { source in
            if let base = source.baseAddress { Memory.copy(copy, base, count) }
        }
        try body(UnsafeRawBufferPointer(start: copy, count: count))
    }
}
