// SPDX-License-Identifier: Apache-2.0
// Where pages are taken: at the boundaries of sections, which files of a test seldom reach.

import RegnumEngine
import Testing

@Suite struct FreeSpaceTests {
    static let section = FormatLimits.sectionPages

    // Where a block was put behind a boundary, the pages before it could be given to it too and to the next commit as
    // free ones: no test had a file of 64 MiB, so nothing failed with `page = section` left out.
    @Test(
        "blocks at the end of the file do not cross the boundary of a section, and what they skip becomes free",
        arguments: 1...8)
    func appended(left: Int) throws {
        let start = Self.section - UInt64(left)
        var space = FreeSpace(highWater: start)
        let blocks = [1, 3, 2]
        let (pages, runs) = try space.place(blocks)
        var (next, skipped) = (start, [Extent]())
        for (page, count) in zip(pages, blocks) {
            if next / Self.section != (next + UInt64(count) - 1) / Self.section {
                skipped.append(Extent(page: next, pageCount: Int(Self.section - next)))
                next = Self.section
            }
            #expect(page == next)
            next += UInt64(count)
        }
        #expect(space.highWater == next)
        #expect(space.takeSkipped() == skipped)
        let used = Set(runs.flatMap { $0.page..<$0.end })
        #expect(used == Set(zip(pages, blocks).flatMap { $0..<$0 + UInt64($1) }))
    }

    @Test("a block of a whole section begins with one, a larger one where the file ends")
    func largeBlocks() throws {
        var space = FreeSpace(highWater: Self.section - 1)
        #expect(try space.place([Int(Self.section)]).pages == [Self.section])
        #expect(space.takeSkipped() == [Extent(page: Self.section - 1, pageCount: 1)])
        space = FreeSpace(highWater: Self.section - 1)
        #expect(try space.place([Int(Self.section) + 1]).pages == [Self.section - 1])
        #expect(space.takeSkipped() == [])
    }

    @Test("free pages on both sides of a boundary are two runs")
    func freeRuns() throws {
        var space = FreeSpace(highWater: 2 * Self.section)
        try space.release(Extent(page: Self.section - 2, pageCount: 5))
        #expect(
            space.freeExtents == [
                Extent(page: Self.section - 2, pageCount: 2), Extent(page: Self.section, pageCount: 3),
            ])
        #expect(try space.place([4]).pages == [2 * Self.section])
        #expect(try space.place([3]).pages == [Self.section])
        #expect(try space.place([2]).pages == [Self.section - 2])
        #expect(space.freePages == 0)
    }
}
