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
    /// Counts the bytes of the table's blocks. Reads all row groups. Call it outside a write transaction, on the thread
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

/// Bytes that belong to one column. Unlike `TableSpace`, row bytes are those of the values alone.
package struct ColumnSpace: Sendable, Equatable {
    /// The encoded values in row groups.
    package var rowBytes = 0
    /// Values and collections in blocks of their own, in whole pages.
    package var blobBytes = 0
    package var indexBytes = 0
    package var backlinkBytes = 0
}

extension Table {
    /// Counts the bytes of each column, in the order of the columns. Same rules as `measureSpace`.
    package func measureColumnSpace() throws(EngineError) -> [ColumnSpace] {
        var spaces = definition.columns.map { _ in ColumnSpace() }
        let numbers = Dictionary(
            definition.columns.enumerated().map { ($1.key.rawValue, $0) }, uniquingKeysWith: { first, _ in first })
        try groups.forEachGroupBlock { block in
            for i in 0..<RowGroupLayout.columnCount(block) {
                guard let segment = RowGroupLayout.descriptor(block, i), let number = numbers[segment.columnKey] else {
                    continue
                }
                spaces[number].rowBytes += Int(segment.byteCount)
            }
        }
        for i in definition.columns.indices {
            try indexes[i]?.tree.forEachBlock { spaces[i].indexBytes += $0.byteCount }
            try contentIndexes[i]?.tree.forEachBlock { spaces[i].indexBytes += $0.byteCount }
            try backlinkTrees[i]?.settled().forEachBlock { spaces[i].backlinkBytes += $0.byteCount }
        }
        if byteColumns.isEmpty { return spaces }
        try forEachGroup { group throws(EngineError) in
            for column in byteColumns {
                let view = group.columns[column]
                for row in 0..<group.pointee.count where view.isBlob(row) {
                    try forEachValueBlock(column, RowLocation(group: group, row: row)) { ref, _ in
                        spaces[column].blobBytes += ref.byteCount
                    }
                }
            }
            return true
        }
        return spaces
    }
}

extension GroupTree {
    /// Calls `body` with the bytes of each row group. Call it outside a write transaction.
    fileprivate func forEachGroupBlock(_ body: (UnsafeRawPointer) -> Void) throws(EngineError) {
        try visitBlocks { (ref, isSource) throws(EngineError) in
            if !isSource, ref.kind == BlockKind.rowGroup.rawValue { body(try space.bytes(ref)) }
        }
    }
}
