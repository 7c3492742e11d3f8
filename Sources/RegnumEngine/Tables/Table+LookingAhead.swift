// SPDX-License-Identifier: Apache-2.0
// Finding several objects together that lie anywhere in the table: the processor waits for the memory of all of them at
// once instead of for that of each in turn, which is most of the time where a table is larger than its cache.

extension Table {
    /// Where objects are that will be looked at soon, as far as that is known without reading a block; nil for the others.
    /// `column`: whose value will be read of each. Returns a sum that depends on what was touched, to be kept. Nothing is
    /// known of small tables, in frozen sessions, and before many objects have been located.
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
    /// A byte of the value, whatever it says.
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
