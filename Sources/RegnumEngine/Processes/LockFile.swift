// SPDX-License-Identifier: Apache-2.0
// `<path>.lock`, the lock file: state shared by the processes that have one database file open. None of it has to
// survive a restart, and a process killed at any instruction leaves nothing to repair: a byte lock ends with its
// process, and a process that needs a slot or a pin tests its owner's lock first.
//
//   offset size  meaning
//        0    8  magic "RLCK" and layout 6
//        8   16  UUID of the database file
//       24   40  boot identifier of the machine (36 characters)
//       64   16  device and inode of this very file
//       80   16  device and inode of the database file
//       96    8  instance: changes each time the shared state is initialised
//      512    8  number of the newest version (atomic)
//      520    8  slots in use: no slot from this number on has ever been claimed (atomic)
//      528    8  the last writer: number of its slot + 1 (atomic)
//      536    8  number of the last version known to be durable (atomic)
//      544    8  number of failed syncs, in all processes (atomic)
//      552    8  that number when the first commit was made that is not durable yet (atomic)
//      560    8  number of syncs whose process ended before it recorded the result (atomic)
//      568    8  that number when the first commit was made that is not durable yet (atomic)
//     4096  256 process slots of 1,024 bytes:
//              0    8  oldest pin if the 62 below do not suffice: every version from it on is kept (atomic)
//              8  496  pinned versions, 0 = none (atomic)
//            504    8  process identifier (atomic)
//            512    8  1 if the process wants to be notified of commits (atomic)
//            520    8  when the process began to write, in milliseconds of the machine's clock; 0 if it is not writing
//            528   16  failed commits that the process still shows: highest number, first page after all of them;
//                      0 if none (atomic; `LockFile+FailedCommits.swift`)
//            544    8  syncs of the database file whose result the process has not recorded yet (atomic;
//                      `LockFile+Durability.swift`)
//
// Processes that want to be notified of commits watch this file. A writer notifies them by writing the byte at 1024,
// whose value has no meaning.
//
//   locked bytes, of the database file rather than of this one, which any program may delete: 2^62 the writer ·
//   2^62 + 1 opening · 2^62 + 1,000 + i the process of slot i, held as long as it has the file open. The slot bytes
//   are locked in this file too, so that it is not taken over for another database file.
//
// Each number carries 16 check bits (`Word`), so that overwritten numbers are recognised, and those of an earlier
// instance that another program has put back. A writer that finds one keeps everything, readers stay at their version,
// and the next writer restores the newest version's number.
//
// Pinning: store the pin, then read the newest version again; if it has changed, pin that one instead. A writer
// collects the pins after it has acquired the writer lock and before it allocates space, so either it sees a pin or the
// reader sees its version.
//
// The length of the file is checked before the mapped bytes are accessed, and the check is most of the cost of an
// access. So one call does everything that one step of a commit needs.

import RegnumSystem

/// One process's handle of the lock file. Guard: the mutex of `VersionRegistry` for pins, the opening lock for `join`
/// and `reset`; the rest is atomic or requires the writer lock.
final class LockFile: @unchecked Sendable {
    // Sendable: see above.
    static let byteCount = slotsOffset + slotCount * slotByteCount
    static let slotsOffset = 4096
    static let slotCount = 256
    static let slotByteCount = 1024
    static let pinsPerSlot = 62
    static let processWord = 63
    private static let listeningWord = 64
    static let writingWord = 65
    private static let bellOffset = 1024
    private static let lastWriterOffset = 528
    static let durableOffset = 536
    static let failuresOffset = 544
    static let unsyncedFailuresOffset = 552
    static let unknownSyncsOffset = 560
    static let unsyncedUnknownsOffset = 568
    static let instanceOffset = 96
    static let magic: UInt64 = 0x0000_0006_4B43_4C52
    static let writerByte = 1 << 62
    private static let openingByte = 1 << 62 + 1
    static let firstSlotByte = 1 << 62 + 1000
    static var slotBytes: Range<Int> { firstSlotByte..<firstSlotByte + slotCount }

    let path: String
    let fileSystem: any FileSystem
    /// The database file, whose bytes are locked.
    let database: any File
    /// Set by `join` or `reset`, before this object is shared.
    private(set) var file: (any File)?
    private(set) var base = ZeroBytes.base
    private(set) var slot = -1
    /// The instance that this process has joined or made.
    private var instance: UInt64 = 0
    /// True until the first commit of a process that has joined others. Guard: the writer lock.
    var mustAwaitSyncs = false
    /// The failed commits that `showFailed` has published. Guard: the mutex of `VersionRegistry`.
    var failed = Failed()
    private let generation = ForkWatch.generation

    init(path: String, fileSystem: any FileSystem, database: any File) {
        self.path = path + ".lock"
        self.fileSystem = fileSystem
        self.database = database
    }

    deinit { leave() }

    /// False in the child of a fork, where everything here belongs to the parent.
    private var isOurs: Bool { generation == ForkWatch.generation }

    /// Releases the slot. Called before the database file is closed, which would release the slot's lock.
    func leave() {
        guard isOurs else { return }
        if slot >= 0 {
            if isMapped { clearSlot(slot) }
            // Before the lock file is closed: otherwise an opener could find a process that has no lock file open.
            database.unlock(byte: Self.firstSlotByte + slot)
        }
        slot = -1
        file?.close()
        file = nil
    }

    /// True if the mapped memory may be accessed. If another process has truncated the file, it is extended again. The
    /// length is queried once more if the first query fails: while a version or a pin is not published, others cannot
    /// join and may free pages that are still read.
    var isMapped: Bool {
        guard let file, isOurs else { return false }
        guard let count = (try? file.byteCount()) ?? (try? file.byteCount()) else { return false }
        if count >= Self.byteCount { return true }
        return (try? file.allocate(Self.byteCount)) != nil
    }

    // MARK: Opening

    /// Calls `body` while no other process opens the file; with `isShared`, others may, but only to join the processes
    /// that have it open. Throws `.busy` if `body` cannot start before `deadline`.
    func whileOpening<R>(
        isShared: Bool = false, until deadline: UInt64, _ body: () throws(EngineError) -> R
    ) throws(EngineError) -> R {
        let begin = MonotonicClock.now()
        do {
            guard try database.lock(byte: Self.openingByte, isShared: isShared, until: deadline) else {
                let seconds = (MonotonicClock.now() - begin) / 1_000_000_000
                throw EngineError.busy(
                    "It is being opened, compacted or deleted by \(holders(of: Self.openingByte)), or that process "
                        + "prevents others from opening it. Waited \(seconds) s: try again later.")
            }
        } catch let error as EngineError {
            throw error
        } catch let error as SystemError {
            throw .system(error)
        } catch {
            fatalError("an error of another type: \(error)")
        }
        defer { database.unlock(byte: Self.openingByte) }
        return try body()
    }

    /// Calls `body` if no other process has the file open, while preventing others from opening it.
    func ifAlone(_ body: () -> Void) {
        guard isOurs, (try? database.tryLock(byte: Self.openingByte)) == true else { return }
        defer { database.unlock(byte: Self.openingByte) }
        if (try? hasOthers()) == false, (try? hasReaders()) == false { body() }
    }

    /// True if another process has this very file open, so that its shared state is valid and must be joined.
    func hasOthers() throws(EngineError) -> Bool {
        do { return try database.isLocked(bytes: Self.slotBytes) } catch { throw .system(error) }
    }

    /// True if processes use the lock file at this path. They may have opened the database by another name, with a lock
    /// file next to that name, or they may be about to close it.
    func isLockFileInUse() throws(EngineError) -> Bool {
        do throws(SystemError) {
            let found = try fileSystem.open(path, .readWriteNoFollow)
            defer { found.close() }
            return try found.isLocked(bytes: Self.slotBytes)
        } catch {
            if error.kind == .permissionDenied || error.kind == .tooManyFiles { throw .system(error) }
            return false
        }
    }

    /// Joins the processes that have the file open. Throws `.lockFile` if the lock file next to the database is not
    /// theirs. Requires the opening lock.
    func join(_ header: FileHeader) throws(EngineError) {
        do {
            try open()
        } catch {
            if error.kind == .exists { throw .foreignLockFile(path: path) }
            if error.kind == .permissionDenied || error.kind == .tooManyFiles { throw .system(error) }
            throw .lockFile(path: path)
        }
        guard isMapped, isValid(header) else { throw .lockFile(path: path) }
        instance = Self.instance(base)
        mustAwaitSyncs = true
        try claimSlot()
    }

    /// Like `join`, with the lock file that the other processes hold open although it was deleted or replaced at its
    /// path. Returns false if the system does not offer access to it.
    func joinDeleted(_ header: FileHeader) throws(EngineError) -> Bool {
        for found in fileSystem.filesLocked(at: Self.slotBytes, besides: database.identity) {
            guard (try? found.byteCount()) ?? 0 >= Self.byteCount, let mapped = try? found.mapShared(Self.byteCount),
                isHead(mapped, of: found, header)
            else {
                found.close()
                continue
            }
            (file, base, instance) = (found, mapped, Self.instance(mapped))
            mustAwaitSyncs = true
            try claimSlot()
            return true
        }
        return false
    }

    private func open() throws(SystemError) {
        let opened = try fileSystem.open(path, .readWriteNoFollow)
        guard try Self.isLockFile(opened) else {
            opened.close()
            throw SystemError(.exists, "open", path)
        }
        file = opened
        if try opened.byteCount() < Self.byteCount { try opened.allocate(Self.byteCount) }
        try opened.fillHoles(Self.byteCount)
        base = try opened.mapShared(Self.byteCount)
    }

    /// Initialises the shared state: no other process has the file open. Requires the opening lock. `permissions` are
    /// the database file's. `isDurable` is true if the newest version is known to be on stable storage; otherwise that
    /// is taken from the state that the last process left since the machine started.
    func reset(
        _ header: FileHeader, newest: UInt64, isDurable: Bool, permissions: UInt32
    ) throws(EngineError) {
        var durable = isDurable ? newest : nil
        var hasFailed = false
        do throws(SystemError) {
            if try reuse(header, permissions) {
                // All users of the database may use this file too, whichever of them created it. If an access list
                // cannot be preserved, its users get the permission bits that show: this file holds no data.
                file?.takeAccess(of: database, asReplacement: true)
                if isMapped { instance = Self.instance(base) }
                if durable == nil, isMapped, isValid(header) {
                    durable = self.durable.flatMap { $0 <= newest ? $0 : nil }
                    hasFailed = mayHaveFailedSinceUnsynced
                }
            } else {
                do throws(SystemError) { try make() } catch {
                    guard error.kind == .noSpace, makeInMemory() else { throw error }
                }
            }
        } catch {
            if error.kind == .exists, error.path == path { throw .foreignLockFile(path: path) }
            throw .system(error)
        }
        // System calls have been made since the last length check.
        guard isMapped else { throw .lockFile(path: path) }
        clear(header)
        // Larger than any before since the machine started, as numbers of other starts do not count.
        instance = MonotonicClock.now()
        writeHead(header)
        self.newest = newest
        if let durable { word(at: Self.durableOffset).value = durable }
        word(at: Self.failuresOffset).value = hasFailed ? 1 : 0
        for offset in [Self.unsyncedFailuresOffset, Self.unknownSyncsOffset, Self.unsyncedUnknownsOffset] {
            word(at: offset).value = 0
        }
        slotsInUse = 0
        try claimSlot()
    }

    /// Zeroes everything that was in use, which is every slot if the header is not valid. Skips pages that are zero
    /// already: the first store to a page of a mapped file is a page fault, and so are some first loads.
    private func clear(_ header: FileHeader) {
        let pageByteCount = FormatLimits.pageByteCount
        let used = isValid(header) ? slotsInUse : Self.slotCount
        let end = Self.slotsOffset + used * Self.slotByteCount
        for page in stride(from: 0, to: end, by: pageByteCount)
        where !Memory.isZero(base + page, pageByteCount) {
            Memory.zero(base + page, pageByteCount)
        }
    }

    private func writeHead(_ header: FileHeader) {
        guard let file else { return }
        base.storeBytes(of: header.identifierLow, toByteOffset: 8, as: UInt64.self)
        base.storeBytes(of: header.identifierHigh, toByteOffset: 16, as: UInt64.self)
        base.storeBytes(of: file.identity.device, toByteOffset: 64, as: UInt64.self)
        base.storeBytes(of: file.identity.inode, toByteOffset: 72, as: UInt64.self)
        base.storeBytes(of: database.identity.device, toByteOffset: 80, as: UInt64.self)
        base.storeBytes(of: database.identity.inode, toByteOffset: 88, as: UInt64.self)
        base.storeBytes(of: instance, toByteOffset: Self.instanceOffset, as: UInt64.self)
        for (i, word) in Self.bootWords.enumerated() {
            base.storeBytes(of: word, toByteOffset: 24 + i * 8, as: UInt64.self)
        }
        base.storeBytes(of: Self.magic, as: UInt64.self)
    }

    /// Opens the lock file that an earlier process has left. Returns false if it is better replaced: it is a symbolic
    /// link, has another hard link, is accessible to more users than the database, has holes that a full disk cannot
    /// fill, or is in use for a database file that once had this name. Processes that have used it for this database
    /// are about to exit; the state that they recorded must be kept.
    private func reuse(_ header: FileHeader, _ permissions: UInt32) throws(SystemError) -> Bool {
        do throws(SystemError) {
            if let status = try fileSystem.status(path), status.linkCount > 1 {
                if try Self.isTaken(String(path.dropLast(5)), fileSystem) { throw SystemError(.exists, "open", path) }
                return false
            }
            try open()
            guard let file else { return false }
            let status = try fileSystem.status(path)
            if (status?.permissions ?? permissions) & ~permissions == 0 {
                if isMapped, isValid(header) { return true }
                if try !file.isLocked(bytes: Self.slotBytes) { return true }
            }
        } catch {
            if [.permissionDenied, .exists].contains(error.kind) { throw error }
        }
        file?.close()
        file = nil
        return false
    }

    /// Creates the file under a temporary name, so that no process sees an incomplete file, and a process that has the
    /// old file open keeps it.
    private func make() throws(SystemError) {
        let temporary = fileSystem.unusedPath(beside: path)
        let made = try fileSystem.open(temporary, .createNew(permissions: 0o600))
        do throws(SystemError) {
            try made.allocate(Self.byteCount)
            base = try made.mapShared(Self.byteCount)
            // Before the rename: a process that ends in between must not leave a file that others cannot open.
            made.takeAccess(of: database, asReplacement: true)
            try fileSystem.rename(temporary, to: path)
        } catch {
            made.close()
            try? fileSystem.remove(temporary)
            throw error
        }
        file = made
    }

    /// Without space for a lock file on the disk, uses a file in memory. Later processes find it like a deleted lock
    /// file (`joinDeleted`). Returns false if the system has no such files.
    private func makeInMemory() -> Bool {
        guard let made = fileSystem.fileInMemory() else { return false }
        guard (try? made.allocate(Self.byteCount)) != nil, let mapped = try? made.mapShared(Self.byteCount) else {
            made.close()
            return false
        }
        (file, base) = (made, mapped)
        return true
    }

    /// Claims a free slot, or that of a dead process.
    private func claimSlot() throws(EngineError) {
        do {
            for i in 0..<Self.slotCount where try database.tryLock(byte: Self.firstSlotByte + i) {
                // A process that is leaving the slot may still hold its byte in this file.
                guard try file?.tryLock(byte: Self.firstSlotByte + i) != false else {
                    database.unlock(byte: Self.firstSlotByte + i)
                    continue
                }
                // The file may have been truncated in the meantime.
                guard isMapped else { break }
                clearDeadSlot(i)
                pinWord(i, Self.processWord).value = UInt64(CurrentProcess.id)
                slot = i
                // Other processes may join at the same time.
                word(at: 520).update { $0.map { $0 < i + 1 } == true ? UInt64(i + 1) : nil }
                return
            }
        } catch { throw .system(error) }
        guard isMapped else { throw .lockFile(path: path) }
        throw .limit("More than \(Self.slotCount) processes have the file open.")
    }

    func clearSlot(_ i: Int) { for word in 0...Self.syncingWord { pinWord(i, word).value = 0 } }

    // MARK: Words

    func word(at offset: Int) -> Word { Word(base, at: offset, of: instance) }

    /// True if the bytes are of the instance that this process has joined.
    var isInstanceKept: Bool { slot < 0 || Self.instance(base) == instance }

    /// Word 0 of a slot is the oldest pin if the others do not suffice; the next 62 are pins.
    func pinWord(_ slot: Int, _ word: Int) -> Word {
        self.word(at: Self.slotsOffset + slot * Self.slotByteCount + word * 8)
    }

    var slotsInUse: Int {
        get { Int(min(word(at: 520).checked ?? UInt64(Self.slotCount), UInt64(Self.slotCount))) }
        set { word(at: 520).value = UInt64(newValue) }
    }

    // MARK: Versions

    /// Number of the newest version; nil if the file is damaged. Costs a length check and a load.
    var newest: UInt64? {
        get { isMapped ? word(at: 512).checked : nil }
        set { if isMapped { word(at: 512).value = newValue ?? 0 } }
    }

    // MARK: Listening

    /// The path to watch for commits of other processes.
    var watchedPath: String { path }

    /// Whether this process wants to be notified of commits by others. Reset when the slot is released.
    func listen(_ wanted: Bool) {
        if slot >= 0, isMapped { pinWord(slot, Self.listeningWord).value = wanted ? 1 : 0 }
    }

    /// Notifies other processes of a commit. Costs one load per slot if none listens.
    private func ring() {
        for i in 0..<slotsInUse where i != slot && pinWord(i, Self.listeningWord).value == 1 {
            // If the write fails, listeners find out by polling, within a second.
            withUnsafeBytes(of: UInt8(1)) { try? file?.write($0, at: Self.bellOffset) }
            return
        }
    }

    // MARK: Writing

    /// Waits for the writer lock among processes; false if it was not acquired before `deadline`.
    func lockWriter(until deadline: UInt64 = FairLock.never) throws(EngineError) -> Bool {
        do throws(SystemError) {
            if deadline == FairLock.never {
                try database.lock(byte: Self.writerByte)
            } else if try !database.lock(byte: Self.writerByte, isShared: false, until: deadline) {
                return false
            }
        } catch { throw .system(error) }
        showWriting(true)
        return true
    }

    /// Like `lockWriter`; false if it would have to wait.
    func tryLockWriter() throws(EngineError) -> Bool {
        do {
            guard try database.tryLock(byte: Self.writerByte) else { return false }
        } catch { throw .system(error) }
        showWriting(true)
        return true
    }

    func unlockWriter() {
        guard isOurs else { return }
        showWriting(false)
        database.unlock(byte: Self.writerByte)
    }

    /// Records when this process began to write. Informational only, for processes that wait.
    private func showWriting(_ isWriting: Bool) {
        guard slot >= 0, isMapped else { return }
        pinWord(slot, Self.writingWord).value = isWriting ? MonotonicClock.now() / 1_000_000 : 0
    }

    /// Another process that is writing, according to its slot.
    var otherWriter: WriterLockHolder? {
        guard isMapped else { return nil }
        // Read all words before the first system call, as in `pinsOfMembers`.
        let writers = (0..<slotsInUse).compactMap { i -> (slot: Int, since: UInt64, process: UInt64)? in
            let since = pinWord(i, Self.writingWord).value
            return i == slot || since == 0 ? nil : (i, since, pinWord(i, Self.processWord).value)
        }
        for (i, since, process) in writers where (try? database.isLocked(byte: Self.firstSlotByte + i)) == true {
            return WriterLockHolder(.process(process), since: since &* 1_000_000)
        }
        return nil
    }

    /// The shared state that a writer reads when it starts.
    struct Entry {
        var newest: UInt64
        /// True if this process was the last one to write.
        var isOurs: Bool
    }

    /// Returns the facts about other processes that a writer needs; nil if the file is damaged, or shows a version older
    /// than `known`. Requires the writer lock.
    func enter(_ header: FileHeader, knowing known: UInt64) -> Entry? {
        guard slot >= 0, isMapped, isValid(header), let newest = word(at: 512).checked, newest >= known,
            word(at: 520).checked != nil
        else { return nil }
        let last = word(at: Self.lastWriterOffset)
        let isOurs = last.checked == UInt64(slot + 1)
        if !isOurs { last.value = UInt64(slot + 1) }
        return Entry(newest: newest, isOurs: isOurs)
    }

    /// True if other processes have, or have had, the file open.
    var hasCompany: Bool { isMapped && slotsInUse > 1 }

    /// Publishes a new version; `unshown` are versions up to it that this process pins and has not published.
    func publish(_ number: UInt64, isDurable: Bool, unshown: [UInt64], among pins: some Collection<UInt64>) {
        guard slot >= 0, isMapped else { return }
        for number in unshown { show(number, among: pins) }
        word(at: 512).value = number
        if isDurable { word(at: Self.durableOffset).value = number }
        ring()
    }

    /// Rewrites the header after damage. Pins of other processes count as unknown until they publish them again.
    /// Requires the writer lock.
    func restore(_ header: FileHeader, newest: UInt64, pins: some Collection<UInt64>) {
        guard isMapped, slot >= 0 else { return }
        showAll(pins, newest)
        slotsInUse = Self.slotCount
        self.newest = newest
        word(at: Self.lastWriterOffset).value = UInt64(slot + 1)
        restoreSyncCounts()
        writeHead(header)
    }
}
