// SPDX-License-Identifier: Apache-2.0
// The number of bytes of the file that each part of a table occupies, for inspection.

/// Bytes, in whole pages, at the version that the session sees.
package struct TableSpace: Sendable, Equatable {
    /// Row groups and the nodes above them.
    package var rowGroupBytes = 0
    /// Values and lists in blocks of their own.
    package var blobBytes = 0
    package var indexBytes = 0
    /// The backlink trees of the table's links.
    package var backlinkBytes = 0
    package var totalBytes: Int { rowGroupBytes + blobBytes + indexBytes + backlinkBytes }
}

extension Table {
    /// Counts the bytes of the table's blocks. Reads all row groups. Call it outside a write transaction, in the thread
    /// that the session is confined to.
    package func measureSpace() throws(EngineError) -> TableSpace {
        var space = TableSpace()
        try groups.forEachBlock { space.rowGroupBytes += $0.byteCount }
        for tree in valueTrees { try tree.forEachBlock { space.indexBytes += $0.byteCount } }
        for tree in backlinkTrees { try tree?.settled().forEachBlock { space.backlinkBytes += $0.byteCount } }
        if byteColumns.isEmpty { return space }
        var blobBytes = 0
        try forEachGroup { group throws(EngineError) in
            for column in byteColumns {
                let view = group.columns[column]
                for row in 0..<group.pointee.count where view.isBlob(row) {
                    try forEachValueBlock(column, RowLocation(group: group, row: row)) { ref, _ in
                        blobBytes += ref.byteCount
                    }
                }
            }
            return true
        }
        space.blobBytes = blobBytes
        return space
    }
}
