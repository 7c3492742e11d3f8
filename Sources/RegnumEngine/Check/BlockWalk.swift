// SPDX-License-Identifier: Apache-2.0
// Reads every block that the newest version needs against its checksum, and nothing else: no cross-checks (those
// are `IntegrityCheck`'s). Small files are read so when they are opened, because damage that is met later, where
// the API cannot throw, ends the program.

import RegnumSystem

package enum BlockWalk {
    /// Files of at most this many pages (16 MiB) are read whole at their first opening in the process.
    package static let pageLimit: UInt64 = 4096

    /// `check` for a small file that can be damaged at all.
    static func checkSmall(_ database: Database) throws(EngineError) {
        guard database.options.checksSmallFiles, !database.isVolatile,
            database.versions.newest.highWater <= pageLimit
        else { return }
        try check(database)
    }

    /// Throws `.corrupted` for the first block that is not what was written. Reads everything once: about 2 ms for
    /// 16 MiB.
    package static func check(_ database: Database) throws(EngineError) {
        let session = try database.makeSession()
        let version = session.current
        _ = try RecordedSpace.load(version.freeLog, highWater: version.highWater, database.reader)
        for table in session.tables {
            try table.groups.forEachBlock { ref throws(EngineError) in _ = try database.reader.bytes(ref) }
            var trees = table.indexes.compactMap { $0?.tree }
            for links in table.backlinkTrees { if let links { trees.append(try links.settled()) } }
            for tree in trees {
                try tree.forEachBlock { ref throws(EngineError) in _ = try database.reader.bytes(ref) }
            }
            if !table.byteColumns.isEmpty { try checkBlobs(table, database.reader) }
        }
    }

    /// The pages that the version which `session` sees needs, without its free log. Outside of a write.
    package static func pages(_ session: Session) throws(EngineError) -> Set<UInt64> {
        var pages: Set<UInt64> = []
        func add(_ ref: BlockRef) { for page in 0..<UInt64(ref.pageCount) { pages.insert(ref.page + page) } }
        add(session.current.catalog)
        add(try session.contents().0.schema)
        for table in session.tables {
            try table.groups.forEachBlock { add($0) }
            for index in table.indexes { try index?.tree.forEachBlock { add($0) } }
            for links in table.backlinkTrees { try links?.settled().forEachBlock { add($0) } }
            try table.forEachGroup { group throws(EngineError) in
                for column in table.byteColumns {
                    let view = group.pointee.columns[column]
                    for row in 0..<group.pointee.count where view.isBlob(row) {
                        let location = RowLocation(group: group, row: row)
                        try table.forEachValueBlock(column, location) { ref, _ in add(ref) }
                    }
                }
                return true
            }
        }
        return pages
    }

    private static func checkBlobs(_ table: Table, _ reader: BlockReader) throws(EngineError) {
        try table.forEachGroup { group throws(EngineError) in
            for column in table.byteColumns {
                let view = group.pointee.columns[column]
                guard view.blobs != nil || view.form == .slots else { continue }
                for row in 0..<group.pointee.count where view.isBlob(row) {
                    let location = RowLocation(group: group, row: row)
                    try table.forEachValueBlock(column, location) { (ref, _) throws(EngineError) in
                        _ = try reader.bytes(ref)
                    }
                }
            }
            return true
        }
    }
}
