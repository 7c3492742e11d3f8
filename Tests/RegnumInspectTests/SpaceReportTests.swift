// SPDX-License-Identifier: Apache-2.0
// The sizes in a report are exact: they are the sizes of the blocks in the file, and add up to the pages that are
// neither free nor pending.

import Foundation
import RegnumEngine
import RegnumInspect
import RegnumSystem
import Testing

@Suite struct SpaceReportTests {
    @Test("The bytes of a table are those of its blocks, with full-text, geospatial and unique indexes")
    func exact() throws {
        try BlockFile.withFolder { folder in
            let url = folder.appendingPathComponent("a.realm")
            try BlockFile.make(url, nil)
            let blocks = try BlockFile.blocks(url, at: try BlockFile.pages(url, nil))
            // Add a new kind of block to `BlockFile`.
            #expect(Set(blocks.map(\.kind)) == Set(BlockKind.allCases).subtracting([.freeLog, .history]))
            func bytes(_ kinds: BlockKind...) -> Int {
                blocks.filter { kinds.contains($0.kind) }.reduce(0) { $0 + $1.pageCount * 4096 }
            }
            let report = try Inspector(fileURL: url, isReadOnly: true).report()
            func sum(_ part: (TableSpaceReport) -> Int) -> Int { report.tables.reduce(0) { $0 + part($1) } }
            #expect(report.tables.map(\.objects) == [BlockFile.rows, 2])
            #expect(sum { $0.rowGroupBytes } == bytes(.rowGroup, .groupNode))
            #expect(sum { $0.blobBytes } == bytes(.blob, .elementNode))
            #expect(sum { $0.indexBytes + $0.backlinkBytes } == bytes(.indexLeaf, .indexBranch))
            // Five indexes and the backlinks; none fits into one page, except the few locations.
            #expect(sum { $0.indexBytes } >= (4 * 3 + 1) * 4096)
            #expect(report.tables[1].indexBytes == 0 && report.tables[1].blobBytes == 0)

            // The remaining pages in use: the roots and the record of free space.
            let database = try BlockFile.open(url)
            let newest = database.versions.newest
            let log = try RecordedSpace.load(newest.freeLog, highWater: newest.highWater, database.reader).chain
            let roots = bytes(.catalog, .schema) + log.reduce(0) { $0 + $1.pageCount * 4096 }
            #expect(report.reachablePages * 4096 == sum { $0.totalBytes } + roots)
            #expect(report.blocks == blocks.count)
        }
    }
}
