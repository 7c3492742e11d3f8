// SPDX-License-Identifier: Apache-2.0
// An index of the content of a column's values: the words of texts (TextIndex, the full-text index), or the points on
// the earth that lists of numbers represent (PlaceIndex, the geospatial index). Updated in the transaction that changes
// the values.

import RegnumSystem

package final class ContentIndex {
    let tree: IndexTree
    private let isText: Bool

    /// The keys of objects in a full-text index must be below this.
    private static let keyLimit: UInt64 = 1 << 48

    init(_ column: ColumnDefinition, space: BlockSpace, root: BlockRef, count: UInt64) {
        isText = column.type == .string
        tree = IndexTree(space: space, kind: isText ? .bytes : .fixed, root: root, count: count)
    }

    func insert(_ location: RowLocation, _ column: Int, _ key: UInt64, _ table: Table) throws(EngineError) {
        guard isText else {
            if let cell = try table.placeCell(location, column) { try tree.insert(value: cell, key: key) }
            return
        }
        guard key < Self.keyLimit else { throw .limit("A class with full-text indexes had more than 2^48 objects.") }
        var words = 0
        try TextIndex.forEachWord(location, column, table) { (word, place) throws(EngineError) in
            try tree.insert(bytes: word, key: TextIndex.entryKey(key, place))
            words += 1
        }
        if words > 0 { try tree.insertNull(key: TextIndex.entryKey(key, words)) }
    }

    func remove(_ location: RowLocation, _ column: Int, _ key: UInt64, _ table: Table) throws(EngineError) {
        guard isText else {
            if let cell = try table.placeCell(location, column) { _ = try tree.remove(value: cell, key: key) }
            return
        }
        var words = 0
        try TextIndex.forEachWord(location, column, table) { (word, place) throws(EngineError) in
            _ = try tree.remove(bytes: word, key: TextIndex.entryKey(key, place))
            words += 1
        }
        if words > 0 { _ = try tree.removeNull(key: TextIndex.entryKey(key, words)) }
    }
}

extension Table {
    /// Returns the findings in the full-text or geospatial index of a column. Looks up every expected entry and
    /// compares their number with that of the tree.
    func contentFindings(_ column: Int) throws(EngineError) -> [String] {
        definition.columns[column].type == .string ? try textFindings(column) : try placeFindings(column)
    }
}
