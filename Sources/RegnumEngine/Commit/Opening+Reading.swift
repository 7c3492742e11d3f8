// SPDX-License-Identifier: Apache-2.0
// Openings that write nothing, beside others who may be writing: they keep the newest version as it is, see
// `Versions/SharedFile+Readers.swift`.

import RegnumSystem

extension Opening {
    private static let othersWrite = EngineError.busy(
        "Other processes write to the file, and each version was replaced before it could be read. Try again later.")

    /// How often an opening that only reads begins again because others have written meanwhile.
    private static let readAttempts = 100

    /// Shows the newest version, which writers leave alone as long as the file is open here. Nothing is written.
    func openToRead() throws(EngineError) -> Database {
        let shared = SharedFile(path: path, fileSystem: fileSystem, database: file)
        // Without locks there are no writers either, but for other machines.
        guard try shared.keepAsReader(0) else { return try openAlone(nil) }
        defer { shared.releaseAsReader(0) }
        var attempts = 0
        while true {
            let (isInUse, before) = (try shared.hasOthers(), try slotHeads())
            do throws(EngineError) {
                let database = isInUse ? try recover(nil, inUseBy: shared) : try openAlone(nil)
                guard try shared.keepAsReader(database.versions.newest.number) else { throw Self.othersWrite }
                return database
            } catch {
                attempts += 1
                // Whatever does not fit may be what others are writing, until nobody has written meanwhile. Where a database
                // was made of it, it is damage: that version stays as it is. The file was closed with it.
                guard let after = try? slotHeads(), let isInUseNow = try? shared.hasOthers(),
                    before != after || isInUseNow && !isInUse
                else { throw error }
                if attempts == Self.readAttempts { throw isInUse ? error : Self.othersWrite }
                CurrentThread.sleep(nanoseconds: 1_000_000)
            }
        }
    }

    /// What of the slots changes with each commit.
    private func slotHeads() throws(EngineError) -> [UInt64] {
        var heads: [UInt64] = []
        for offset in CommitSlot.byteOffsets {
            let page = try readPage(at: offset)
            defer { page.deallocate() }
            for word in 0..<8 { heads.append(page.load(fromByteOffset: word * 8, as: UInt64.self)) }
        }
        return heads
    }

    /// The slot of the newest version of a file that others have open, and the other one if it is older. Those that hold
    /// where no slot has it.
    private func publishedSlots(
        _ shared: SharedFile, _ header: FileHeader, _ seal: FileSeal
    ) throws(EngineError) -> [CommitSlot.Placed] {
        for _ in 0..<Self.readAttempts {
            let number = shared.newestAtPath(header) ?? 0
            let slots = try readSlots(seal).sorted { $0.slot.version > $1.slot.version }
            if number > 0, let found = slots.firstIndex(where: { $0.slot.version == number }) {
                // A newer one is not published yet.
                return Array(slots[found...])
            }
            // Its slot is written over: the next one has all but its number.
            if let newest = slots.first, newest.slot.version > number { return slots }
            CurrentThread.sleep(nanoseconds: 50_000)
        }
        return try readSlots(seal).sorted { $0.slot.version > $1.slot.version }
    }

    /// The slots that an opening looks at, newest first, the page of one that is damaged, and the settled slot. While others
    /// write, the second slot may be half written, and nothing is settled.
    func findSlots(
        _ others: SharedFile?, _ header: FileHeader, _ seal: FileSeal
    ) throws(EngineError) -> ([CommitSlot.Placed], UInt64?, CommitSlot.Placed?) {
        if let others { return (try publishedSlots(others, header, seal), nil, nil) }
        let slots = try readSlots(seal).sorted { $0.slot.version > $1.slot.version }
        return (slots, try pageOfDamagedSlot(slots), try readSettled(seal))
    }
}
