// SPDX-License-Identifier: Apache-2.0
// The pages and the length of the file that a commit needs, also when the disk is full. Objects can be deleted to make
// room, because each commit leaves some allocated pages unused after the last page in use:
//
//     | header, slots | pages in use and free pages            | spare | room to grow |
//                                                 high-water mark              length of the file
//
// While the file can grow, nothing else matters. On a full disk
//
//   the blocks of a commit get free pages, even if few are free and they are scattered
//   a transaction that makes room commits, if its pages are allocated; its commit is synced, so that the pages that it
//     frees can be used by the next one
//   any other transaction commits only if it leaves the spare pages, allocated or free
//
// A transaction makes room if it frees at least as many pages as it writes. One that deletes more objects than it creates
// may write a few more, because the free log and paths of trees may grow. One that leaves no object may use the spare
// pages too: there is nothing to delete.

import RegnumSystem
import Synchronization

extension Database {
    /// The result of `placeAndLengthen`.
    struct Placement {
        /// The start page of each block, and the runs used, ascending.
        var pages: [UInt64]
        var runs: [Extent]
        /// Pages that the transaction has taken or skipped, and that are free.
        var unused: [Extent]
        var length: Length
    }

    struct Length {
        /// The length of the file in bytes before it was lengthened.
        var byteCount: Int
        /// True if the disk is full: the commit must be synced.
        var isShort = false
    }

    /// The number of bytes that stay allocated after the last of `pages`: an eighth of the file, or enough for two
    /// transactions that each delete an object, as the pages that the first one frees can be used by the third. The
    /// larger of the two may merge two row groups. At least 32 KiB, and at most 512 KiB or the length of the file. Any
    /// thread.
    func spareByteCount(_ pages: UInt64) -> Int {
        if isVolatile { return 0 }
        let deletions = 3 * largestGroupPages.load(ordering: .relaxed) + 16
        return min(max(Int(pages) / 8, deletions), max(Int(pages), 8), 128) << 12
    }

    /// True if the transaction, which frees that many pages, may use the spare pages: see above.
    func makesRoom(_ sealed: Sealed, freeing freed: Int) -> Bool {
        let objectCount = sealed.catalogs.after.objectCount
        if objectCount == 0 { return true }
        let sealer = sealed.blocks.sealer
        let written = sealer.livePages + sealer.spilledExtents.reduce(0) { $0 + $1.pageCount }
        let isDeletion = objectCount < sealed.catalogs.before?.objectCount ?? 0
        return written <= freed + (isDeletion ? 8 : 0)
    }

    private func noteGroups(_ sealer: Sealer) {
        // Only the holder of the writer lock writes it.
        let pages = sealer.largestGroupPages
        if pages > largestGroupPages.load(ordering: .relaxed) { largestGroupPages.store(pages, ordering: .relaxed) }
    }

    /// Allocates pages for the blocks of a commit, and lengthens the file to hold them. `spilled` and `unused` are
    /// pages that the transaction has spilled to and no longer needs.
    func placeAndLengthen(
        _ space: inout RecordedSpace, _ sealer: Sealer, spilled: [Extent], unused: [Extent],
        makesRoom: () -> Bool
    ) throws(EngineError) -> Placement {
        // A spill that has found no room leaves no runs.
        let isSpilled = spaceManager.spilled.map { !$0.runs.isEmpty } ?? false
        noteGroups(sealer)
        let placed = try space.free.place(sealer.pageCounts, first: spaceManager.shrinking.moved)
        // Spilled pages that are free now were returned in the meantime.
        let returned = space.free.extents(in: spilled)
        let skipped = unused + space.free.takeSkipped()
        for extent in skipped { try space.free.release(extent) }
        space.free.trim()
        do throws(EngineError) {
            let length = try lengthen(for: space.free, isGrowing: !isSpilled, makesRoom)
            return Placement(pages: placed.pages, runs: placed.runs, unused: returned + skipped, length: length)
        } catch {
            guard case .system(let system) = error, [.noSpace, .fileTooLarge].contains(system.kind), !isSpilled else {
                throw error
            }
        }
        // Everything that was placed at the end of the file is cut off again.
        for run in placed.runs { try space.free.release(run) }
        space.free.trim()
        let again = try space.free.placeScattered(sealer.pageCounts)
        let skippedAgain = space.free.takeSkipped()
        for extent in skippedAgain { try space.free.release(extent) }
        space.free.trim()
        let length = try lengthen(for: space.free, isGrowing: false, makesRoom)
        return Placement(pages: again.pages, runs: again.runs, unused: skippedAgain, length: length)
    }

    /// Lengthens the file to hold all pages and the spare ones; if `isGrowing`, in steps proportional to its length.
    private func lengthen(
        for free: FreeSpace, isGrowing: Bool, _ makesRoom: () -> Bool
    ) throws(EngineError) -> Length {
        let needed = Int(free.highWater) << 12
        let wanted = needed + spareByteCount(free.highWater)
        do throws(SystemError) {
            let now = try file.byteCount()
            guard wanted > now else { return Length(byteCount: now) }
            if isGrowing, shortage(allocating: max(wanted, now + Self.growth(now))) == nil {
                return Length(byteCount: now)
            }
            guard let shortage = shortage(allocating: wanted) else { return Length(byteCount: now) }
            guard makesRoom() || leavesSpare(free, fileByteCount: now) else { throw shortage }
            if needed > now { try file.allocate(needed) }
            return Length(byteCount: now, isShort: true)
        } catch { throw .system(error) }
    }

    /// True if the spare pages exist, although some of them are free pages before the last one in use. The largest row
    /// group must fit into one run.
    private func leavesSpare(_ free: FreeSpace, fileByteCount: Int) -> Bool {
        let atEnd = (fileByteCount >> 12) - Int(free.highWater)
        guard (atEnd + free.freePages) << 12 >= spareByteCount(free.highWater) else { return false }
        let group = largestGroupPages.load(ordering: .relaxed)
        return atEnd >= group || free.run(of: group, below: free.highWater) >= group
    }

    /// Lengthens the file to `byteCount` bytes. Returns the error if the system refuses it: a full disk, a limit of the
    /// length of files, or a failure, which a commit that needs no more pages survives.
    private func shortage(allocating byteCount: Int) -> SystemError? {
        do throws(SystemError) {
            try file.allocate(byteCount)
            return nil
        } catch { return error }
    }

    /// Lengthens the file to hold the pages of a spill, without spare pages: the commit checks these.
    func lengthen(toPages pages: UInt64) throws(EngineError) {
        let needed = Int(pages) << 12
        do throws(SystemError) {
            if try file.byteCount() < needed { try file.allocate(needed) }
        } catch { throw .system(error) }
    }
}
