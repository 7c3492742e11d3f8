// SPDX-License-Identifier: Apache-2.0
// Read-only openings, beside other processes that may be writing. They write nothing and keep the newest version
// readable, see `Processes/LockFile+ReadOnlyProcesses.swift`.

import RegnumSystem

extension Opening {
    private static let othersWrite = EngineError.busy(
        "Other processes write to the file, and the newest version kept changing while it was read. Try again later.")

    /// The maximum number of attempts of a read-only opening, which starts over if other processes have written in the
    /// meantime.
    private static let readAttempts = 100

    /// Opens the newest version, whose pages writers do not reuse as long as the file is open here. Nothing is written.
    func openToRead() throws(EngineError) -> Database {
        let shared = LockFile(path: path, fileSystem: fileSystem, database: file)
        // Without locks there are no writers either, except on other machines.
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
                // Any mismatch may be caused by a write in progress, unless no process has written in the meantime. If
                // a `Database` was created before the error, the mismatch is damage, because its version does not
                // change. The file was closed with that `Database`, so the slots cannot be read here.
                guard let after = try? slotHeads(), let isInUseNow = try? shared.hasOthers(),
                    before != after || isInUseNow && !isInUse
                else { throw error }
                if attempts == Self.readAttempts { throw isInUse ? error : Self.othersWrite }
                CurrentThread.sleep(nanoseconds: 1_000_000)
            }
        }
    }

    /// The words of the slots that change with each commit.
    private func slotHeads() throws(EngineError) -> [UInt64] {
        var heads: [UInt64] = []
        for offset in CommitSlot.byteOffsets {
            let page = try readPage(at: offset)
            defer { page.deallocate() }
            for word in 0..<8 { heads.append(page.load(fromByteOffset: word * 8, as: UInt64.self)) }
        }
        return heads
    }

    /// Returns the slots that an opening considers, newest first, the page of a damaged one, and the clean-shutdown
    /// record. While other processes write, the second slot may be half written, and there is no clean-shutdown record.
    func findSlots(
        _ others: LockFile?, _ header: FileHeader, _ protection: FileProtection
    ) throws(EngineError) -> ([CommitSlot.Placed], UInt64?, CommitSlot.Placed?) {
        if let others { return (try publishedSlots(others, header, protection), nil, nil) }
        let slots = try readSlots(protection).sorted { $0.slot.version > $1.slot.version }
        return (slots, try pageOfDamagedSlot(slots), try readSettled(protection))
    }

    /// Returns the slot of the newest version of a file that other processes have open, and the other one if it is
    /// older. If no slot has that version, returns all slots whose hash is correct.
    private func publishedSlots(
        _ shared: LockFile, _ header: FileHeader, _ protection: FileProtection
    ) throws(EngineError) -> [CommitSlot.Placed] {
        for _ in 0..<Self.readAttempts {
            let number = shared.newestAtPath(header) ?? 0
            let slots = try readSlots(protection).sorted { $0.slot.version > $1.slot.version }
            if number > 0, let found = slots.firstIndex(where: { $0.slot.version == number }) {
                // A newer one is not published yet.
                return Array(slots[found...])
            }
            // Its slot is overwritten: the next commit is complete except for its number.
            if let newest = slots.first, newest.slot.version > number { return slots }
            CurrentThread.sleep(nanoseconds: 50_000)
        }
        return try readSlots(protection).sorted { $0.slot.version > $1.slot.version }
    }
}
