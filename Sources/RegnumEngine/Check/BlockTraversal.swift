// SPDX-License-Identifier: Apache-2.0
// Reads every block that the newest version needs, verifies its checksum, and checks that its pages do not count as
// free; further cross-checks are in `IntegrityCheck`. Small files are read completely when they are opened, because
// damage that is found later, in a call that cannot throw, ends the program, and because a block in use that counts as
// free would be overwritten while it is being read. The older versions of a history are read when they are shown:
// damage to one of them leaves the newest version as it is.

import RegnumSystem

package enum BlockTraversal {
    /// Files of at most this many pages (16 MiB) are read completely at their first opening in the process.
    package static let pageLimit: UInt64 = 4096

    /// Runs `check` for a small file, unless it is in memory and so cannot be damaged.
    static func checkSmall(_ database: Database) throws(EngineError) {
        guard database.options.checksSmallFiles, !database.isVolatile,
            database.versions.newest.highWater <= pageLimit
        else { return }
        try check(database)
    }

    /// Like `checkSmall`, for a session that shows a kept version. Blocks that were verified before are not read again:
    /// O(blocks of the version).
    package static func checkSmall(kept session: Session) throws(EngineError) {
        let database = session.database
        guard database.options.checksSmallFiles, !database.isVolatile, session.highWater <= pageLimit else { return }
        try forEachBlock(session) { ref throws(EngineError) in _ = try database.reader.bytes(ref) }
    }

    /// Throws `.corrupted` for the first damaged block. Reads everything once: about 2 ms for 16 MiB. `step` is called
    /// before each block with the number of the version being read, and may throw to end the traversal.
    package static func check(
        _ database: Database, step: (UInt64) throws(EngineError) -> Void = { _ in }
    ) throws(EngineError) {
        let session = try database.makeSession()
        let version = session.current
        let space = try RecordedSpace.load(version, database.reader)
        let vacant = try space.vacant()
        try space.checkRoots(version, vacant, database.reader)
        try forEachBlock(session) { ref throws(EngineError) in
            try step(version.number)
            _ = try database.reader.bytes(ref)
            try vacant.checkTaken(ref)
        }
        database.proof.note(.whole)
    }

    /// Calls `visit` with the blocks below the catalog and the schema.
    private static func forEachBlock(
        _ session: Session, _ visit: (BlockRef) throws(EngineError) -> Void
    ) throws(EngineError) {
        var left = ElementTree.blockLimit(session.space)
        for table in session.tables {
            try table.groups.forEachBlock { ref throws(EngineError) in try visit(ref) }
            var trees = table.valueTrees
            for links in table.backlinkTrees { if let links { trees.append(try links.settled()) } }
            for tree in trees {
                try tree.forEachBlock { ref throws(EngineError) in try visit(ref) }
            }
            if !table.byteColumns.isEmpty { try checkBlobs(table, &left, visit) }
        }
    }

    /// Returns the pages that the version seen by `session` needs, except its free log. Must not be called inside a
    /// write transaction.
    package static func pages(_ session: Session) throws(EngineError) -> Set<UInt64> {
        var pages: Set<UInt64> = []
        func add(_ ref: BlockRef) { for page in 0..<UInt64(ref.pageCount) { pages.insert(ref.page + page) } }
        add(session.current.catalog)
        add(try session.contents().0.schema)
        for table in session.tables {
            try table.groups.forEachBlock { add($0) }
            for tree in table.valueTrees { try tree.forEachBlock { add($0) } }
            for links in table.backlinkTrees { try links?.settled().forEachBlock { add($0) } }
            try table.forEachGroup { group throws(EngineError) in
                for column in table.byteColumns {
                    let view = group.columns[column]
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

    /// `left`: the number of blocks of values that may still be visited, for all tables together.
    private static func checkBlobs(
        _ table: Table, _ left: inout Int, _ visit: (BlockRef) throws(EngineError) -> Void
    ) throws(EngineError) {
        try table.forEachGroup { group throws(EngineError) in
            for column in table.byteColumns {
                let view = group.columns[column]
                guard view.blobs != nil || view.form == .slots else { continue }
                for row in 0..<group.pointee.count where view.isBlob(row) {
                    let location = RowLocation(group: group, row: row)
                    try table.forEachValueBlock(column, location, &left) { (ref, _) throws(EngineError) in
                        try visit(ref)
                    }
                }
            }
            return true
        }
    }
}

// MARK: Free pages that are in use

extension RecordedSpace {
    /// Returns the pages that no block of the newest version may occupy: free pages, and those that only older versions
    /// need, except versions whose records were not read again.
    func vacant() throws(EngineError) -> FreeSpace {
        var all = free
        all.ledger = PageLedger()
        for entry in free.pending { try all.release(entry.extent) }
        for version in history?.versionsRead ?? [] { for block in version.freed { try all.release(block.extent) } }
        return all
    }

    /// Throws `.corrupted` if the free log lists pages as free that hold blocks every reader starts from: catalog,
    /// schema, free logs, and the roots of tables and trees.
    func checkRoots(_ version: Version, _ vacant: FreeSpace, _ reader: BlockReader) throws(EngineError) {
        let catalog = try Catalog.read(version.catalog, try reader.bytes(version.catalog))
        for ref in [version.catalog, catalog.schema] + chain + (history?.blocks ?? []) { try vacant.checkTaken(ref) }
        for table in catalog.tables {
            for ref in [table.root] + table.trees.map(\.root) where !ref.isNone { try vacant.checkTaken(ref) }
        }
    }
}

extension FreeSpace {
    /// Throws `.corrupted` if a page of a block in use counts as free.
    func checkTaken(_ ref: BlockRef) throws(EngineError) {
        guard isTaken(Extent(page: ref.page, pageCount: ref.pageCount)) else {
            throw corrupted("a block in use is marked as free", page: ref.page)
        }
    }
}
