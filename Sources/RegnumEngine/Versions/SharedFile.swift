// SPDX-License-Identifier: Apache-2.0
// `<path>.lock`: what the processes that have one file open tell each other. Nothing in it has to survive, and no
// process that is killed at any instruction leaves anything in it to repair: a lock on a byte ends with its
// process, and whoever needs a slot or a pin asks for the lock of its owner first.
//
//   offset size  meaning
//        0    8  magic "RLCK" and layout 5
//        8   16  UUID of the database file
//       24   40  boot identifier of the machine (36 characters)
//       64   16  device and inode of this very file
//       80   16  device and inode of the database file
//      512    8  number of the newest version (atomic)
//      520    8  slots in use: none from this number on has ever been claimed (atomic)
//      528    8  the last writer: number of its slot + 1 (atomic)
//      536    8  number of the last version known to be durable (atomic)
//      544    8  how many syncs have failed, in any process (atomic)
//      552    8  how many had when the first commit was made that is not durable (atomic)
//     4096  256 process slots of 1,024 bytes:
//              0    8  oldest pin from which on everything is kept, where the 62 below do not suffice (atomic)
//              8  496  pinned versions, 0 = none (atomic)
//            504    8  process identifier (atomic)
//            512    8  1 where the process wants to hear of commits (atomic)
//            520    8  when the process began to write, in milliseconds of the machine's clock; 0 where it does not
//            528   16  commits that have failed there and are shown: highest number, first page behind all of them;
//                      0 where none is (atomic; `SharedFile+Failed.swift`)
//
// A byte at 1024 is written, and means nothing, after commits that other processes want to hear of: they watch the
// file.
//
//   locked bytes, of the database file and not of this one, which may be deleted by anybody: 2^62 the writer ·
//   2^62 + 1 opening · 2^62 + 1,000 + i the process of slot i, held as long as it has the file open. The last ones
//   are locked in this file too, so that it is not taken over for another database file.
//
// Each number carries 16 bits of check (`Word`), so that what others have overwritten is recognised: a writer then
// keeps everything, readers stay where they are, and the next writer puts the newest version's number back.
//
// Pinning: store the pin, then read the newest version again; if it has moved, pin that one. A writer collects pins
// after it has the writer's lock and before it takes space, so it sees a pin or the reader sees its version.
//
// A look at the file's length comes before each use of the mapped bytes, and is most of what a use costs: so one call
// does all that a step of a commit needs.

import RegnumSystem

/// One process's end of the shared file. Guard: the mutex of `VersionRegistry` for pins, the opening lock for
/// `join` and `reset`; the rest is atomic or below the writer's lock.
final class SharedFile: @unchecked Sendable {
    // Sendable: see above.
    static let byteCount = slotsOffset + slotCount * slotByteCount
    private static let slotsOffset = 4096
    static let slotCount = 256
    static let slotByteCount = 1024
    static let pinsPerSlot = 62
    private static let processWord = 63
    private static let listeningWord = 64
    private static let writingWord = 65
    private static let bellOffset = 1024
    private static let lastWriterOffset = 528
    static let durableOffset = 536
    private static let failuresOffset = 544
    private static let unsyncedFailuresOffset = 552
    static let magic: UInt64 = 0x0000_0005_4B43_4C52
    static let writerByte = 1 << 62
    private static let openingByte = 1 << 62 + 1
    private static let firstSlotByte = 1 << 62 + 1000
    static var slotBytes: Range<Int> { firstSlotByte..<firstSlotByte + slotCount }

    let path: String
    let fileSystem: any FileSystem
    /// The database file, whose bytes are locked.
    let database: any File
    /// Set by `join` or `reset`, before anybody else sees this object.
    private(set) var file: (any File)?
    private(set) var base = ZeroBytes.base
    private(set) var slot = -1
    /// What `showFailed` has shown. Guard: the mutex of `VersionRegistry`.
    var failed = Failed()
    private let generation = ForkWatch.generation

    init(path: String, fileSystem: any FileSystem, database: any File) {
        self.path = path + ".lock"
        self.fileSystem = fileSystem
        self.database = database
    }

    deinit { leave() }

    /// In the child of a fork everything here is the parent's.
    private var isOurs: Bool { generation == ForkWatch.generation }

    /// Gives the slot back. Called before the database file, and with it the slot's lock, is closed.
    func leave() {
        guard isOurs else { return }
        if slot >= 0 {
            if isMapped { clearSlot(slot) }
            // In this order: who opens sees no process whose lock file is in use by nobody.
            database.unlock(byte: Self.firstSlotByte + slot)
        }
        slot = -1
        file?.close()
        file = nil
    }

    /// True where the memory can be touched: the file may have been cut by others, then it is lengthened again. Where
    /// its length cannot be told it is asked for once more: while a version or a pin is not shown, others cannot join,
    /// and may free pages that are still read.
    var isMapped: Bool {
        guard let file, isOurs else { return false }
        guard let count = (try? file.byteCount()) ?? (try? file.byteCount()) else { return false }
        if count >= Self.byteCount { return true }
        return (try? file.allocate(Self.byteCount)) != nil
    }

    // MARK: Opening

    /// Calls `body` while no other process opens the file, or, where it is shared, while those who do join the ones that
    /// have it open. Throws `.busy` where that does not begin before `deadline`.
    func whileOpening<R>(
        isShared: Bool = false, until deadline: UInt64, _ body: () throws(EngineError) -> R
    ) throws(EngineError) -> R {
        let begin = MonotonicClock.now()
        do {
            guard try database.lock(byte: Self.openingByte, isShared: isShared, until: deadline) else {
                let seconds = (MonotonicClock.now() - begin) / 1_000_000_000
                throw EngineError.busy(
                    "It is being opened, compacted or deleted by \(holders(of: Self.openingByte)), or that process keeps "
                        + "others from it. Waited \(seconds) s: try again later.")
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

    /// Calls `body` if no other process has the file open, and while none opens it.
    func ifAlone(_ body: () -> Void) {
        guard isOurs, (try? database.tryLock(byte: Self.openingByte)) == true else { return }
        defer { database.unlock(byte: Self.openingByte) }
        if (try? hasOthers()) == false, (try? hasReaders()) == false { body() }
    }

    /// True if another process has this very file open, so that its state here counts and must be joined.
    func hasOthers() throws(EngineError) -> Bool {
        do { return try database.isLocked(bytes: Self.slotBytes) } catch { throw .system(error) }
    }

    /// True where processes use the lock file beside this path. Another name of the database file may have led them to
    /// one beside that name; or they are just leaving.
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

    /// Takes part in what others, who have the file open, tell each other. Throws `.lockFile` where the file beside
    /// the database is not theirs. Below the opening lock.
    func join(_ header: FileHeader) throws(EngineError) {
        do {
            try open()
        } catch {
            if error.kind == .exists { throw .foreignLockFile(path: path) }
            if error.kind == .permissionDenied || error.kind == .tooManyFiles { throw .system(error) }
            throw .lockFile(path: path)
        }
        guard isMapped, isValid(header) else { throw .lockFile(path: path) }
        try claimSlot()
    }

    /// As `join`, with the lock file that the others have open although it is not at its path any more: it was deleted or
    /// replaced. False where the system does not show it.
    func joinDeleted(_ header: FileHeader) throws(EngineError) -> Bool {
        for found in fileSystem.filesLocked(at: Self.slotBytes, besides: database.identity) {
            guard (try? found.byteCount()) ?? 0 >= Self.byteCount, let mapped = try? found.mapShared(Self.byteCount),
                isHead(mapped, of: found, header)
            else {
                found.close()
                continue
            }
            (file, base) = (found, mapped)
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

    /// Begins anew: nobody else has the file open. Below the opening lock. `permissions` are the database file's;
    /// `isDurable` says that the newest version is known to be on the medium, else what is left by the last process
    /// since the machine has started tells.
    func reset(
        _ header: FileHeader, newest: UInt64, isDurable: Bool, permissions: UInt32
    ) throws(EngineError) {
        var durable = isDurable ? newest : nil
        var hasFailed = false
        do {
            if try reuse(header, permissions) {
                // Others who may use the database use this one too, whoever has made it. Where an access list cannot be
                // kept its users come by the permissions that show: nothing of the data is in here.
                file?.takeAccess(of: database, asReplacement: true)
                if durable == nil, isMapped, isValid(header) {
                    durable = self.durable.flatMap { $0 <= newest ? $0 : nil }
                    hasFailed = hasFailedSinceUnsynced
                }
            } else {
                try make()
            }
        } catch {
            if error.kind == .exists, error.path == path { throw .foreignLockFile(path: path) }
            throw .system(error)
        }
        // Calls to the system lie behind the last look at it.
        guard isMapped else { throw .lockFile(path: path) }
        clear(header)
        writeHead(header)
        self.newest = newest
        if let durable { word(at: Self.durableOffset).value = durable }
        word(at: Self.failuresOffset).value = hasFailed ? 1 : 0
        word(at: Self.unsyncedFailuresOffset).value = 0
        slotsInUse = 0
        try claimSlot()
    }

    /// Zeros everything that was in use, as far as the head is one that says so. Not pages that are zero: the first store
    /// to a page of a mapped file is a fault, and so is the first look at some of them.
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
        for (i, word) in Self.bootWords.enumerated() {
            base.storeBytes(of: word, toByteOffset: 24 + i * 8, as: UInt64.self)
        }
        base.storeBytes(of: Self.magic, as: UInt64.self)
    }

    /// Opens what an earlier process has left; false where it is better replaced: it is a link, it has another name too,
    /// it can be read by others than the database, or processes use it for a database file that once had this name. Those that have used
    /// it for this one are just leaving; what they have told must not be lost.
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
            if [.permissionDenied, .noSpace, .exists].contains(error.kind) { throw error }
        }
        file?.close()
        file = nil
        return false
    }

    /// Makes the file under another name first: nobody sees half of it, and who has the old one keeps it.
    private func make() throws(SystemError) {
        let temporary = fileSystem.unusedPath(beside: path)
        let made = try fileSystem.open(temporary, .createNew(permissions: 0o600))
        do throws(SystemError) {
            try made.allocate(Self.byteCount)
            base = try made.mapShared(Self.byteCount)
            // Before it has its name: a process that ends in between must not leave one that others cannot open.
            made.takeAccess(of: database, asReplacement: true)
            try fileSystem.rename(temporary, to: path)
        } catch {
            made.close()
            try? fileSystem.remove(temporary)
            throw error
        }
        file = made
    }

    /// Takes a free slot, or that of a dead process.
    private func claimSlot() throws(EngineError) {
        do {
            for i in 0..<Self.slotCount where try database.tryLock(byte: Self.firstSlotByte + i) {
                // Who leaves the slot may have that of this file still.
                guard try file?.tryLock(byte: Self.firstSlotByte + i) != false else {
                    database.unlock(byte: Self.firstSlotByte + i)
                    continue
                }
                // It may have been cut meanwhile.
                guard isMapped else { break }
                clearSlot(i)
                pinWord(i, Self.processWord).value = UInt64(CurrentProcess.id)
                slot = i
                // Others may join at this moment.
                word(at: 520).update { $0.map { $0 < i + 1 } == true ? UInt64(i + 1) : nil }
                return
            }
        } catch { throw .system(error) }
        guard isMapped else { throw .lockFile(path: path) }
        throw .limit("More than \(Self.slotCount) processes have the file open.")
    }

    private func clearSlot(_ i: Int) { for word in 0...Self.failedEndWord { pinWord(i, word).value = 0 } }

    // MARK: Words

    private func word(at offset: Int) -> Word { Word(base, at: offset) }

    /// Word 0 of a slot is the floor, the others but the last are pins.
    func pinWord(_ slot: Int, _ word: Int) -> Word {
        self.word(at: Self.slotsOffset + slot * Self.slotByteCount + word * 8)
    }

    private var slotsInUse: Int {
        get { Int(min(word(at: 520).checked ?? UInt64(Self.slotCount), UInt64(Self.slotCount))) }
        set { word(at: 520).value = UInt64(newValue) }
    }

    // MARK: Versions

    /// Number of the newest version; nil where the file has been damaged. A look at the file's length and a load.
    var newest: UInt64? {
        get { isMapped ? word(at: 512).checked : nil }
        set { if isMapped { word(at: 512).value = newValue ?? 0 } }
    }

    /// Shows a version as pinned by this process. `pins` are all it pins, this one included or not: where there is
    /// no free word, everything from the oldest on is kept.
    func pin(_ number: UInt64, among pins: some Collection<UInt64>) {
        guard slot >= 0, isMapped else { return }
        show(number, among: pins)
    }

    private func show(_ number: UInt64, among pins: some Collection<UInt64>) {
        for word in 1...Self.pinsPerSlot {
            guard let found = pinWord(slot, word).checked else {
                showAll(pins, number)
                return
            }
            if found == 0 {
                pinWord(slot, word).value = number
                return
            }
        }
        pinWord(slot, 0).value = min(number, pins.min() ?? number)
    }

    /// Writes all words of the slot again after damage.
    private func showAll(_ pins: some Collection<UInt64>, _ number: UInt64) {
        let all = Set(pins).union([number]).sorted()
        pinWord(slot, 0).value = all[0]
        for word in 1...Self.pinsPerSlot { pinWord(slot, word).value = word <= all.count ? all[word - 1] : 0 }
        pinWord(slot, Self.processWord).value = UInt64(CurrentProcess.id)
        pinWord(slot, 0).value = all.count > Self.pinsPerSlot ? all[Self.pinsPerSlot] : 0
        writeFailed()
    }

    /// `remaining` are the versions this process still pins.
    func unpin(_ number: UInt64, remaining: some Collection<UInt64>) {
        guard slot >= 0, isMapped else { return }
        for word in 1...Self.pinsPerSlot where pinWord(slot, word).checked == number {
            pinWord(slot, word).value = 0
            break
        }
        guard pinWord(slot, 0).checked != 0 else { return }
        var shown: Set<UInt64> = []
        for word in 1...Self.pinsPerSlot { shown.insert(pinWord(slot, word).value) }
        let hidden = remaining.filter { !shown.contains($0) }
        pinWord(slot, 0).value = hidden.min() ?? 0
    }

    // MARK: Listening

    /// What to watch to hear of the commits of others.
    var watchedPath: String { path }

    /// Whether this process wants to hear of the commits of others. It ends with the process's slot.
    func listen(_ wanted: Bool) {
        if slot >= 0, isMapped { pinWord(slot, Self.listeningWord).value = wanted ? 1 : 0 }
    }

    /// Lets the others hear of a commit. A look at each slot where nobody listens.
    private func ring() {
        for i in 0..<slotsInUse where i != slot && pinWord(i, Self.listeningWord).value == 1 {
            // Who is not told looks for himself after a second.
            withUnsafeBytes(of: UInt8(1)) { try? file?.write($0, at: Self.bellOffset) }
            return
        }
    }

    // MARK: Writing

    /// Waits for the writer's lock among processes; false where it is not to be had before `deadline`.
    func lockWriter(until deadline: UInt64 = Gate.never) throws(EngineError) -> Bool {
        do throws(SystemError) {
            if deadline == Gate.never {
                try database.lock(byte: Self.writerByte)
            } else if try !database.lock(byte: Self.writerByte, isShared: false, until: deadline) {
                return false
            }
        } catch { throw .system(error) }
        showWriting(true)
        return true
    }

    /// As `lockWriter`; false where it would wait.
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

    /// For those who wait: nothing depends on it.
    private func showWriting(_ isWriting: Bool) {
        guard slot >= 0, isMapped else { return }
        pinWord(slot, Self.writingWord).value = isWriting ? MonotonicClock.now() / 1_000_000 : 0
    }

    /// Another process that writes, by what it says.
    var otherWriter: WriterNote? {
        guard isMapped else { return nil }
        // All that is there before the first call to the system, as in `pinsOfOthers`.
        let writers = (0..<slotsInUse).compactMap { i -> (slot: Int, since: UInt64, process: UInt64)? in
            let since = pinWord(i, Self.writingWord).value
            return i == slot || since == 0 ? nil : (i, since, pinWord(i, Self.processWord).value)
        }
        for (i, since, process) in writers where (try? database.isLocked(byte: Self.firstSlotByte + i)) == true {
            return WriterNote(.process(process), since: since &* 1_000_000)
        }
        return nil
    }

    /// What a writer finds.
    struct Entry {
        var newest: UInt64
        /// Whether this process was the last one to write.
        var isOurs: Bool
        /// The last version known to be durable; nil where that is not known.
        var durable: UInt64?
    }

    /// What a writer must know of the others; nil where the file has been damaged, or is an older one than that of the
    /// version `known`. Below the writer's lock.
    func enter(_ header: FileHeader, knowing known: UInt64) -> Entry? {
        guard slot >= 0, isMapped, isValid(header), let newest = word(at: 512).checked, newest >= known,
            word(at: 520).checked != nil
        else { return nil }
        let last = word(at: Self.lastWriterOffset)
        let isOurs = last.checked == UInt64(slot + 1)
        if !isOurs { last.value = UInt64(slot + 1) }
        return Entry(newest: newest, isOurs: isOurs, durable: word(at: Self.durableOffset).checked)
    }

    /// True where other processes have, or had, the file open.
    var hasCompany: Bool { isMapped && slotsInUse > 1 }

    /// Shows a new version to all; `unshown` are versions of it and before it that this process pins.
    func publish(_ number: UInt64, isDurable: Bool, unshown: [UInt64], among pins: some Collection<UInt64>) {
        guard slot >= 0, isMapped else { return }
        for number in unshown { show(number, among: pins) }
        word(at: 512).value = number
        if isDurable { word(at: Self.durableOffset).value = number }
        ring()
    }

    /// Also without the writer's lock: another process may know of a newer one by now.
    func noteDurable(_ number: UInt64) {
        if isMapped { word(at: Self.durableOffset).update { $0.map { $0 >= number } == true ? nil : number } }
    }

    /// How many syncs have failed; nil where the file has been damaged.
    var failureCount: UInt64? { isMapped ? word(at: Self.failuresOffset).checked : nil }

    /// The last version known to be durable; nil where the file has been damaged.
    var durable: UInt64? { isMapped ? word(at: Self.durableOffset).checked : nil }

    /// True where a sync has failed since the first commit that is not durable. The number noted may be that of an
    /// earlier one: if none has failed since then, none has since the other.
    var hasFailedSinceUnsynced: Bool {
        guard isMapped, let noted = word(at: Self.unsyncedFailuresOffset).checked,
            let now = word(at: Self.failuresOffset).checked
        else { return false }
        return noted != now
    }

    /// A commit has been published that is not durable, the first since all were; `failures` had failed before it.
    func noteUnsynced(_ failures: UInt64?) {
        if let failures, isMapped { word(at: Self.unsyncedFailuresOffset).value = failures }
    }

    func noteFailure() {
        if isMapped { word(at: Self.failuresOffset).update { (($0 ?? 0) + 1) & (1 << 47 - 1) } }
    }

    /// Writes the head again after damage. Pins of others count as unknown until they have been written again.
    /// Below the writer's lock.
    func restore(_ header: FileHeader, newest: UInt64, pins: some Collection<UInt64>) {
        guard isMapped, slot >= 0 else { return }
        showAll(pins, newest)
        slotsInUse = Self.slotCount
        self.newest = newest
        word(at: Self.lastWriterOffset).value = UInt64(slot + 1)
        if failureCount == nil { word(at: Self.failuresOffset).value = 0 }
        if word(at: Self.unsyncedFailuresOffset).checked == nil {
            word(at: Self.unsyncedFailuresOffset).value = failureCount ?? 0
        }
        writeHead(header)
    }

    /// What another process that has the file open pins.
    struct OtherPins {
        var process: UInt64
        /// Ascending; those above `floor` may be more.
        var pins: [UInt64]
        /// From here on everything is kept; 0 where the slot was damaged.
        var floor: UInt64?
        var failed = Failed()
    }

    /// The pins of other processes. Pins of processes that have ended are cleared. Below the writer's lock where
    /// space is given away for it; for information at any time.
    func pinsOfOthers() throws(EngineError) -> [OtherPins] {
        let readers = try pinsOfReaders()
        return try pinsOfMembers() + (readers.map { [$0] } ?? [])
    }

    private func pinsOfMembers() throws(EngineError) -> [OtherPins] {
        guard isMapped else { return try hasOthers() ? [OtherPins(process: 0, pins: [], floor: 0)] : [] }
        // All that is there before the first call to the system: the file may be cut while such a call is made.
        typealias Shown = (slot: Int, process: UInt64, words: [UInt64?], failed: Failed)
        let shown = (0..<slotsInUse).compactMap { i -> Shown? in
            if i == slot { return nil }
            let words = (0...Self.pinsPerSlot).map { pinWord(i, $0).checked }
            return words.contains { $0 != 0 } ? (i, pinWord(i, Self.processWord).value, words, shownFailed(of: i)) : nil
        }
        var others: [OtherPins] = []
        do {
            for (i, process, words, failed) in shown {
                guard try database.isLocked(byte: Self.firstSlotByte + i) else {
                    // Claimed only with this lock: whoever takes the slot clears it too.
                    if try database.tryLock(byte: Self.firstSlotByte + i) {
                        if isMapped { clearSlot(i) }
                        database.unlock(byte: Self.firstSlotByte + i)
                    }
                    continue
                }
                let isDamaged = words.contains { $0 == nil }
                others.append(
                    OtherPins(
                        process: process, pins: words.dropFirst().compactMap { $0 }.filter { $0 != 0 }.sorted(),
                        floor: isDamaged ? 0 : words[0] == 0 ? nil : words[0], failed: failed))
            }
        } catch { throw .system(error) }
        return others
    }
}
