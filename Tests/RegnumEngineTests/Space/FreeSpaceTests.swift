// SPDX-License-Identifier: Apache-2.0
// Allocation of pages at the boundaries of sections, which test files seldom reach.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct FreeSpaceTests {
    static let section = FormatLimits.sectionPages

    // When a block was moved past a boundary, it and the next commit could both get the pages before it as free. No
    // test had a file of 64 MiB, so nothing failed with `page = section` removed.
    @Test(
        "Blocks at the end of the file do not cross the boundary of a section, and skipped pages become free",
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

    @Test("A block of a whole section begins at one, and a larger block begins at the end of the file")
    func largeBlocks() throws {
        var space = FreeSpace(highWater: Self.section - 1)
        #expect(try space.place([Int(Self.section)]).pages == [Self.section])
        #expect(space.takeSkipped() == [Extent(page: Self.section - 1, pageCount: 1)])
        space = FreeSpace(highWater: Self.section - 1)
        #expect(try space.place([Int(Self.section) + 1]).pages == [Self.section - 1])
        #expect(space.takeSkipped() == [])
    }

    @Test("A commit of many blocks uses the largest runs, and at most as many as its slot can name")
    func manyRuns() throws {
        var space = FreeSpace(highWater: 4000)
        // 500 runs of one page, and 150 of two.
        for i in 0..<500 { try space.release(Extent(page: UInt64(20 + 2 * i), pageCount: 1)) }
        for i in 0..<150 { try space.release(Extent(page: UInt64(1500 + 3 * i), pageCount: 2)) }
        let (pages, runs) = try space.place([Int](repeating: 1, count: 400), runLimit: 128)
        #expect(Set(pages).count == 400)
        #expect(runs.count <= 129)
        // 128 of the runs of two pages, and the end of the file.
        #expect(pages.filter { $0 < 1500 }.isEmpty)
        #expect(pages.filter { $0 >= 4000 }.count == 400 - 256)
    }

    @Test("The count of free runs equals their list, up to a limit", arguments: RunSeed.list(1...5))
    func counted(seed: RunSeed) throws {
        var random = SeededRandom(seed: seed.value)
        var space = FreeSpace(highWater: 3 * Self.section)
        var page = UInt64(random.below(300) + 20)
        while page < space.highWater - 400 {
            let count = random.below(10) == 0 ? 300 : random.below(70) + 1
            try space.release(Extent(page: page, pageCount: count))
            page += UInt64(count + random.below(5) * random.below(40))
        }
        #expect(space.countFreeExtents() == space.freeExtents.count)
        let count = space.freeExtents.count
        #expect((50..<50 + 64).contains(space.countFreeExtents(upTo: 50)))
        for limit in [count, count + 1, .max] { #expect(space.countFreeExtents(upTo: limit) == count) }
        for _ in 0..<50 { _ = try space.place([1, 2, 3]) }
        #expect(space.countFreeExtents() == space.freeExtents.count)
        #expect(FreeSpace(highWater: 500).countFreeExtents() == 0)
    }

    @Test("The count of free runs equals their list at the edges of words and sections")
    func countedAtEdges() throws {
        let section = Self.section
        for (extents, runs) in [
            ([(127, 1), (192, 1)], 2), ([(127, 1), (128, 1)], 1), ([(64, 64), (256, 64)], 2), ([(60, 140)], 1),
            ([(section - 1, 2)], 2), ([(section - 64, 64), (section + 64, 1)], 2), ([(section - 70, 140)], 2),
            ([(section - 1, 1), (2 * section, 1)], 2),
        ] as [([(UInt64, Int)], Int)] {
            var space = FreeSpace(highWater: 3 * section)
            for (page, count) in extents { try space.release(Extent(page: page, pageCount: count)) }
            #expect(space.countFreeExtents() == runs, "\(extents)")
            #expect(space.freeExtents.count == runs, "\(extents)")
        }
    }

    @Test("Blocks that are allocated first get the lowest run that fits, and their pages in order")
    func first() throws {
        let free = [Extent(page: 20, pageCount: 5), Extent(page: 40, pageCount: 4), Extent(page: 60, pageCount: 50)]
        var long = FreeSpace(highWater: 200)
        for extent in free { try long.release(extent) }
        // The lower half has room for all.
        #expect(try long.place([10, 2, 1, 20], first: 1..<3).pages == [60, 70, 72, 73])
        var space = FreeSpace(highWater: 120)
        for extent in free { try space.release(extent) }
        let (pages, runs) = try space.place([10, 2, 1, 20], first: 1..<3)
        #expect(pages == [60, 20, 22, 70])
        #expect(runs == [Extent(page: 20, pageCount: 3), Extent(page: 60, pageCount: 30)])
        // Adjacent runs count as one.
        #expect(try space.place([1, 1, 1], first: 1..<1).pages == [40, 41, 42])
        #expect(try space.place([1, 1, 1], first: 2..<3).pages == [90, 91, 23])
    }

    // A transaction whose sealed blocks were all dropped spilled nothing, and once recorded an empty run.
    @Test("An empty list of blocks takes no run")
    func nothing() throws {
        var space = FreeSpace(highWater: 100)
        try space.release(Extent(page: 50, pageCount: 20))
        let (pages, runs) = try space.place([])
        #expect(pages.isEmpty && runs.isEmpty && space.freePages == 20)
    }

    @Test("Free pages on both sides of a boundary are two runs")
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

    // Pages of a failed commit are free according to the file, while another process may still show them.
    @Test("Nothing is allocated in quarantined pages: neither in free runs, nor at the end of the file")
    func barred() throws {
        var space = FreeSpace(highWater: 400)
        try space.release(Extent(page: 20, pageCount: 100))
        try space.release(Extent(page: 200, pageCount: 80))
        space.barred = 210
        // In one run, in several, and for blocks that are moved.
        #expect(try space.place([60]).pages == [210])
        #expect(space.run(of: 20, below: 300) == 10)
        #expect(try space.place([8, 12]).pages == [270, 400])
        space.barred = 500
        #expect(try space.place([4]).pages == [500])
        #expect(space.takeSkipped() == [Extent(page: 412, pageCount: 88)])
        #expect(space.highWater == 504)
        // The pages are free nevertheless.
        #expect(space.freeExtents.prefix(2) == [Extent(page: 20, pageCount: 100), Extent(page: 200, pageCount: 10)])
    }

    // A skipped range is one extent until all free space is recorded, which splits it at every section. A log without
    // room for this was not written, and no process could write to the file any more.
    @Test("A free log has room for every section of a quarantined range at the end of the file")
    func barredSections() throws {
        let sealer = Sealer()
        _ = sealer.addBlock(.rowGroup, byteCount: 4096)
        var space = RecordedSpace(free: FreeSpace(highWater: 100))
        space.free.barred = 40 * Self.section
        let room = Database.logByteCount(space, 0, 0, true, sealer)
        let pages = try space.free.place(sealer.pageCounts).pages
        #expect(pages == [40 * Self.section])
        for extent in space.free.takeSkipped() { try space.free.release(extent) }
        let freed = space.free.freeExtents.map { PendingExtent(extent: $0, birth: 0, death: 0) }
        #expect(freed.count == 40)
        #expect(FreeLog.byteCount(freed: freed.count, taken: 0) <= room)
    }

    @Test("The pages that an abandoned commit skipped after the end of the file are free")
    func abandoned() throws {
        // The free log of a file after a failed commit that had spilled once lacked these pages.
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: "/f.realm", fileSystem: files)
        let newest = database.versions.newest
        let end = newest.highWater
        let reserved = [(5, 1), (2, 2)].map { (distance, count) in
            PendingExtent(
                extent: Extent(page: end + UInt64(distance), pageCount: count), birth: newest.number + 1,
                death: newest.number + 2)
        }
        let space = try RecordedSpace.load(newest.freeLog, highWater: end, database.reader, reserving: reserved).free
        #expect(space.highWater == end + 6)
        let taken = (end..<end + 6).filter { space.isTaken(Extent(page: $0, pageCount: 1)) }
        #expect(taken == [end + 2, end + 3, end + 5])
    }

    @Test("A block that extends past the end of the file uses pages that are not taken")
    func behindTheEnd() {
        let space = FreeSpace(highWater: 20)
        #expect(space.isTaken(Extent(page: 18, pageCount: 2)))
        #expect(!space.isTaken(Extent(page: 18, pageCount: 3)))
        #expect(!space.isTaken(Extent(page: 20, pageCount: 1)))
    }
}
