// SPDX-License-Identifier: Apache-2.0
// The index of what is in the values of a column, not of the values themselves: of texts their words (TextIndex), of
// lists of numbers their place on the earth (PlaceIndex). Kept in the transaction that changes the values.

import RegnumSystem

package final class ContentIndex {
    let tree: IndexTree
    private let isText: Bool

    /// Keys of objects with texts must be below it.
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
    /// What is wrong with the index of contents of a column, in words. Every entry is looked for, and their number
    /// compared.
    func contentFindings(_ column: Int) throws(EngineError) -> [String] {
        definition.columns[column].type == .string ? try textFindings(column) : try placeFindings(column)
    }
}
