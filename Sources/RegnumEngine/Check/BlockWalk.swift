// SPDX-License-Identifier: Apache-2.0
// Reads every block that the newest version needs against its checksum, and asks of each that its pages do not count
// as free; no other cross-checks (those are `IntegrityCheck`'s). Small files are read so when they are opened, because
// damage that is met later, where the API cannot throw, ends the program, and because a block in use that is called
// free would be written over under the eyes of whoever reads it.

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
    /// 16 MiB. `step` is called before each block with the version that is read, and may end the walk.
    package static func check(
        _ database: Database, step: (UInt64) throws(EngineError) -> Void = { _ in }
    ) throws(EngineError) {
        let session = try database.makeSession()
        let version = session.current
        let space = try RecordedSpace.load(version.freeLog, highWater: version.highWater, database.reader)
        let vacant = try space.vacant()
        try space.checkRoots(version, vacant, database.reader)
        func visit(_ ref: BlockRef) throws(EngineError) {
            try step(version.number)
            _ = try database.reader.bytes(ref)
            try vacant.checkTaken(ref)
        }
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
        database.proof.note(.whole)
    }

    /// The pages that the version which `session` sees needs, without its free log. Outside of a write.
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

    /// `left`: visits to blocks of values that are left for all tables together.
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
    /// All pages that no block of the newest version may lie in: the free ones and those that older versions need.
    func vacant() throws(EngineError) -> FreeSpace {
        var all = free
        for entry in free.pending { try all.release(entry.extent) }
        return all
    }

    /// Throws `.corrupted` where the free log calls pages free that hold what every reader begins with: catalog,
    /// schema, free logs, and the roots of tables and trees.
    func checkRoots(_ version: Version, _ vacant: FreeSpace, _ reader: BlockReader) throws(EngineError) {
        let catalog = try Catalog.read(version.catalog, try reader.bytes(version.catalog))
        for ref in [version.catalog, catalog.schema] + chain { try vacant.checkTaken(ref) }
        for table in catalog.tables {
            for ref in [table.root] + table.trees.map(\.root) where !ref.isNone { try vacant.checkTaken(ref) }
        }
    }
}

extension FreeSpace {
    /// Throws `.corrupted` where a page of a block that is in use counts as free.
    func checkTaken(_ ref: BlockRef) throws(EngineError) {
        guard isTaken(Extent(page: ref.page, pageCount: ref.pageCount)) else {
            throw corrupted("a block is in use and free", page: ref.page)
        }
    }
}
