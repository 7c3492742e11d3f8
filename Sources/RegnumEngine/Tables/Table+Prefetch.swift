// SPDX-License-Identifier: Apache-2.0
// Prefetch for random access: locates several objects together, so that the processor waits for their memory in
// parallel rather than in turn. In a table larger than the cache, these waits are most of the time.

extension Table {
    /// Stores the locations of objects that will be read soon, as far as they are known without reading a block; nil
    /// for the others. `column`: the column that will be read. Returns a sum that depends on the touched memory; the
    /// caller must use it, so that the reads are not optimized away. Nothing is known about small tables, in frozen
    /// sessions, or before many objects have been located.
    package func lookAhead(
        to keys: ArraySlice<ObjectKey>, column: Int?, _ places: UnsafeMutablePointer<RowLocation?>
    ) -> UInt8 {
        guard let directory = groups.directory else {
            for place in 0..<keys.count { places[place] = nil }
            return 0
        }
        for (place, key) in keys.enumerated() {
            places[place] = nil
            guard let group = directory.knownGroup(for: key.rawValue) else { continue }
            let row = group.pointee.row(of: key.rawValue)
            if row >= 0 { places[place] = RowLocation(group: group, row: row) }
        }
        var touched: UInt8 = 0
        guard let column, column < definition.columns.count else { return touched }
        for place in 0..<keys.count {
            if let found = places[place] { touched &+= found.group.columns[column].touch(found.row) }
        }
        return touched
    }
}

extension ColumnView {
    /// Reads a byte of the value, whatever its meaning.
    @inline(__always)
    fileprivate func touch(_ row: Int) -> UInt8 {
        switch form {
        case .constant: return 0
        case .bits: return data.load(fromByteOffset: row &>> 3, as: UInt8.self)
        case .text16, .text32:
            let bytes = bytes(row)
            return bytes.isEmpty ? 0 : bytes[0]
        default: return data.load(fromByteOffset: RowGroupLayout.dataByteCount(form, row), as: UInt8.self)
        }
    }
}
