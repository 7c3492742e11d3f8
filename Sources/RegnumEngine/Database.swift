// SPDX-License-Identifier: Apache-2.0
// One open file, or one database in memory, shared by all sessions of the process. Thread-safe.
//
// State and guards
//   versions               its own mutex
//   recorded               the writer lock, and the cross-process writer lock of the lock file: only the session
//                          between `beginWrite` and its end accesses it
//   line                   its own monitor
//   teller                 stored by the holder of the writer lock, read by any thread
//   open databases         `DatabaseRegistry`; holds databases weakly

package import RegnumSystem
import Synchronization

package final class Database: @unchecked Sendable {
    // Sendable: see the table above.
    package struct OpenOptions: Sendable {
        /// Never writes; the file must exist.
        package var isReadOnly: Bool
        /// If false, the file must already be a database: none is created.
        package var makesFile = true
        /// The file system is memory that lives as long as the database: no checksums, no slots, nothing to recover.
        var isVolatile = false
        /// Reads a file of at most `BlockWalk.pageLimit` pages completely when it is opened. Inspectors and tests
        /// switch it off to find damage later.
        package var checksSmallFiles = true
        /// If the catalog or the schema of the newest commit is unreadable, the commit before it is shown; if no commit
        /// is whole, the remains of the newest one (`passedOver`). For salvage. Only with `isReadOnly`.
        package var takesOlderCommit = false
        /// Encrypts a file that is created, or opens an encrypted one. The database does not keep the key.
        package var encryptionKey: EncryptionKey?
        /// Sizes at which large collections are split; tests make them small to get deep trees.
        package var elementTreeLimits = ElementTreeLimits()
        /// When a transaction spills; tests make the limits small.
        package var spillLimits = SpillLimits()
        /// When commits move blocks to shorten the file; tests make the limits small.
        package var shrinkLimits = ShrinkLimits()
        /// How long relaxed commits may wait for a background sync, in nanoseconds. Nil: there is no background thread,
        /// and tests sync explicitly.
        package var syncDelay: UInt64? = 500_000_000
        /// How long the cross-process writer lock may be kept from one commit to the next while other processes may be
        /// waiting for it, in nanoseconds.
        package var longestHold: UInt64 = 10_000_000
        /// How long an opening or a write waits for other threads and processes, in nanoseconds. Nil: 30 seconds for an
        /// opening, without limit for a write.
        package var busyTimeout: UInt64?
        /// A seeded bug that a test must find; nil everywhere else.
        package var mutant: ProtocolMutant?
        package init(isReadOnly: Bool = false) { self.isReadOnly = isReadOnly }
    }

    package let path: String
    package let fileSystem: any FileSystem
    package let options: OpenOptions
    let file: any File
    let header: FileHeader
    let seal: FileSeal
    package let reader: BlockReader
    package let versions: VersionRegistry
    /// How far the blocks of the file are proved to match their checksums.
    let proof = FileProof()
    /// The newest commit, if an older one or its remains are shown instead. Set once, before any other thread sees this
    /// object.
    package internal(set) var passedOver: PassedCommit?
    /// The writer lock within this process.
    let gate = Gate()
    /// The holder of the writer lock. Any thread reads it.
    let writer = Lock<WriterLockHolder?>(nil)
    /// The thread that notifies observers that a write begins; 0 if none does. Guard: writer lock; any thread reads it.
    private let teller = Atomic<UInt>(0)
    /// The number of threads about to begin a write, and the writer lock held for an asynchronous writer.
    let offers = WriterLockHandOff()
    /// The schema that was read last, so that sessions with the same schema read it once. Any thread.
    private let knownSchema: Lock<KnownSchema>
    /// The lock file, shared with other processes; nil if no other process can have the file open.
    let shared: LockFile?
    package var isVolatile: Bool { options.isVolatile }

    /// The commit queue.
    let line: CommitQueue
    /// Free space, read from the file before the first write. Guard: writer lock.
    var recorded: RecordedSpace?
    /// What the running transaction has spilled. Guard: writer lock.
    var spilled: Spill?
    /// Free pages before this one are quarantined: sessions of other processes show failed commits there. Guard: writer
    /// lock.
    var barred: UInt64 = 0
    /// Progress of the traversal that moves blocks to shorten the file. Guard: writer lock.
    var shrinking = Shrinking()
    /// The `line.generation` for which `recorded` is valid. Guard: writer lock.
    var recordedGeneration: UInt64 = 0

    init(
        path: String, fileSystem: any FileSystem, options: OpenOptions, file: any File, header: FileHeader,
        seal: FileSeal,
        reader: BlockReader, slot: CommitSlot, shared: LockFile?, schema: KnownSchema
    ) {
        self.path = path
        self.fileSystem = fileSystem
        var kept = options
        kept.encryptionKey = nil
        self.options = kept
        self.file = file
        self.header = header
        self.seal = seal
        self.reader = reader
        self.shared = shared
        knownSchema = Lock(schema)
        versions = VersionRegistry(Version(slot), shared: shared, options.mutant) { number throws(EngineError) in
            try Self.load(number, file, seal, reader)
        }
        line = CommitQueue(slot, options.mutant)
        versions.finish = { [weak self] number throws(EngineError) in
            guard let self, self.shared?.newest == number else { return }
            if try self.tryEnterWriter() { self.leaveWriter() } else { CurrentThread.sleep(nanoseconds: 100_000) }
        }
        versions.onUnpinnedUnpublished = { [weak self] in
            guard let self else { return }
            self.line.monitor.withLock { self.releaseLock() }
        }
    }

    struct KnownSchema: Sendable {
        var ref: BlockRef
        var schema: SchemaBlock
    }

    /// Returns the schema at a ref. Throws if it requires an unknown feature. Any thread.
    func schema(_ ref: BlockRef) throws(EngineError) -> SchemaBlock {
        let known = knownSchema.withLock { $0 }
        if known.ref == ref { return known.schema }
        let schema = try SchemaBlock.read(ref, try reader.bytes(ref))
        try schema.requireKnownFeatures(path)
        knownSchema.withLock { $0 = KnownSchema(ref: ref, schema: schema) }
        return schema
    }

    deinit {
        // The child of a fork must release nothing, and a thread of the parent may hold any lock.
        if isForked { return }
        DatabaseRegistry.shared.letsGo(of: file.identity)
        syncAtEnd()
        shared?.leave()
        file.close()
        DatabaseRegistry.shared.hasLetGo(of: file.identity)
    }

    private let generation = ForkWatch.generation
    /// True in a forked child of the process that opened it.
    package var isForked: Bool { generation != ForkWatch.generation }

    /// Reads version `number` from its slot, and maps its pages; nil if no slot holds it.
    private static func load(
        _ number: UInt64, _ file: any File, _ seal: FileSeal, _ reader: BlockReader
    ) throws(EngineError) -> Version? {
        guard let placed = try readSlots(file, seal).first(where: { $0.slot.version == number }) else { return nil }
        try reader.extend(toPages: placed.slot.highWater)
        return Version(placed.slot)
    }

    private static func readSlots(_ file: any File, _ seal: FileSeal) throws(EngineError) -> [CommitSlot.Placed] {
        do { return try CommitSlot.readAll(file, seal: seal) } catch { throw .system(error) }
    }

    // MARK: The writer lock

    /// Takes the writer lock: waits until no other thread and no other process writes, and catches up with the newest
    /// commit. Throws `.busy` after the timeout of the options, unless `waits`.
    func enterWriter(waits: Bool = false) throws(EngineError) {
        if offers.take() { return }
        let begin = options.busyTimeout == nil ? 0 : MonotonicClock.now()
        let deadline = waits ? Gate.never : options.writeDeadline
        let isEntered = gate.enter(patience: WriterWait.patience, until: deadline) { wait in
            WriterWait.shared.during(self) { wait() }
        }
        offers.hasEntered()
        guard isEntered else { throw busyError(since: begin) }
        do throws(EngineError) {
            _ = try lockWriter(until: deadline, since: begin)
        } catch {
            leaveWriter()
            throw error
        }
    }

    /// As `enterWriter`, without waiting: returns false if another thread or process writes.
    func tryEnterWriter() throws(EngineError) -> Bool {
        guard gate.tryEnter() else { return false }
        do throws(EngineError) {
            if try lockWriter(waits: false) { return true }
        } catch {
            leaveWriter()
            throw error
        }
        leaveWriter()
        return false
    }

    /// Takes the cross-process writer lock, unless it is still held for queued commits. Returns false if another
    /// process holds it and `waits` is false.
    private func lockWriter(
        waits: Bool = true, until deadline: UInt64 = Gate.never, since begin: UInt64 = 0
    ) throws(EngineError) -> Bool {
        let (heldSince, isKnown) = line.monitor.withLock { () -> (UInt64?, Bool) in
            line.isWriterInside = true
            return (line.isLockHeld ? line.lockedAt : nil, line.isKnown)
        }
        if let heldSince {
            // Catching up has failed, and the lock was kept.
            if !isKnown {
                try meetOthers(isKnown: false)
                return true
            }
            guard waits, MonotonicClock.now() - heldSince > options.longestHold, shared?.hasCompany ?? false else {
                return true
            }
            settle()
            let isReleased = line.monitor.withLock {
                line.isWriterInside = false
                releaseLock()
                line.isWriterInside = true
                return !line.isLockHeld
            }
            guard isReleased else { return true }
            // Yields the processor to a process that waits for the lock.
            CurrentThread.sleep(nanoseconds: 50_000)
        }
        if let shared, options.mutant != .writerNotLocked, try !shared.tryLockWriter() {
            guard waits else { return false }
            let isLocked = try WriterWait.shared.during(self) { () throws(EngineError) in
                try shared.lockWriter(until: deadline)
            }
            guard isLocked else { throw busyError(since: begin) }
        }
        let wasKnown = line.monitor.withLock {
            line.isLockHeld = shared != nil
            line.lockedAt = MonotonicClock.now()
            // Set only after catching up: the state of commits that wait for a sync here may be stale.
            defer { line.isKnown = false }
            return line.isKnown
        }
        if !isVolatile, !options.isReadOnly { try meetOthers(isKnown: wasKnown) }
        return true
    }

    /// Catches up with the newest commit of other processes. Commits that may not be on stable storage are made durable
    /// first: the next commit relies on them. Guard: both writer locks.
    private func meetOthers(isKnown: Bool) throws(EngineError) {
        guard let shared else {
            if isKnown { setKnown() } else { try meet(versions.newest.number, durable: nil) }
            return
        }
        // With that seeded bug, other processes see an older version than this process knows.
        let known = options.mutant == .unfinishedNotPublished ? 0 : versions.newest.number
        if let entry = shared.enter(header, knowing: known) {
            let isOurs = entry.isOurs || options.mutant == .othersNotMet
            if isKnown, isOurs { setKnown() } else { try meet(entry.newest, durable: entry.durable) }
        } else {
            try restoreShared(shared)
        }
        if line.monitor.withLock({ line.mustRewrite }) { try syncAll(evenIfLatched: true) }
    }

    private func setKnown() { line.monitor.withLock { line.isKnown = true } }

    /// Catches up with version `number`. `durable` is the newest version known to be on stable storage, if any.
    private func meet(_ number: UInt64, durable: UInt64?) throws(EngineError) {
        let slots = try Self.readSlots(file, seal)
        var found = slots.first { $0.slot.version == number }
        let isFound = found != nil
        // A process has ended between writing its slot and saying so.
        if found == nil { found = slots.filter { $0.slot.version > number }.max { $0.slot.version < $1.slot.version } }
        guard let found else { throw corrupted("the newest commit's slot is damaged") }
        if isFound, options.mutant != .ghostCommit {
            // The remains of a commit whose process ended before acknowledging it: its pages are not kept, and it must
            // never count. If the slot cannot be read, a process ended while clearing it.
            let other = slots.first { $0.byteOffset != found.byteOffset }
            if other.map({ $0.slot.version > number }) ?? true {
                try clearSlot(at: CommitSlot.otherByteOffset(found.byteOffset))
            }
        }
        try reader.extend(toPages: found.slot.highWater)
        line.monitor.withLock {
            while line.isBusy { line.monitor.wait() }
            line.meet(
                found, durable: durable, failures,
                hasFailed: options.mutant != .failureNotMet && shared?.hasFailedSinceUnsynced ?? false)
        }
        versions.learn(Version(found.slot))
        recorded = nil
        if durable != found.slot.version {
            do throws(EngineError) { try syncAll(evenIfLatched: true) } catch {
                line.monitor.withLock {
                    while line.isBusy { line.monitor.wait() }
                    line.forget()
                }
                throw error
            }
        }
        if !isFound, options.mutant != .unfinishedNotPublished {
            versions.publish(Version(found.slot), isDurable: true)
        }
    }

    private func clearSlot(at offset: Int) throws(EngineError) {
        do throws(SystemError) {
            try file.write([UInt8](repeating: 0, count: CommitSlot.byteCount), at: offset)
            try syncFile()
        } catch { throw .system(error) }
    }

    /// Restores the lock file after another program has overwritten it. The newest commit in the file counts, because a
    /// process writes its slot after everything else. Guard: both writer locks.
    private func restoreShared(_ shared: LockFile) throws(EngineError) {
        let newest = try Self.readSlots(file, seal).map(\.slot.version).max() ?? 0
        let number = max(newest, versions.newest.number)
        try meet(number, durable: shared.durable.flatMap { $0 <= number ? $0 : nil })
        versions.restore(header, newest: versions.newest.number)
    }

    /// Records whether the calling thread is notifying observers that the write begins. For the session that writes;
    /// the end of the write resets it.
    package func setTelling(_ isTelling: Bool) { teller.store(isTelling ? CurrentThread.id : 0, ordering: .relaxed) }

    /// True on the thread that is notifying observers: it would deadlock if it took the writer lock again.
    package var isTellingHere: Bool { teller.load(ordering: .relaxed) == CurrentThread.id }

    /// True on the thread that began the running write.
    package var hasBegunWriteHere: Bool {
        writer.withLock { note in
            if case .thread(let id)? = note?.holder { id == CurrentThread.id } else { false }
        }
    }

    func leaveWriter() {
        noteWriter(nil)
        setTelling(false)
        line.monitor.withLock {
            line.isWriterInside = false
            releaseLock()
        }
        gate.leave()
    }

    /// Opens the file at `path`, creating it if it does not exist. If the file is already open in this process, returns
    /// the same instance, whatever path led to it.
    package static func open(
        path: String, fileSystem: any FileSystem, options: OpenOptions = OpenOptions()
    ) throws(EngineError) -> Database {
        try DatabaseRegistry.shared.open(path: path, fileSystem: fileSystem, options: options)
    }

    /// Opens the file separately from its other users in this process, as another process would: file locks belong to
    /// open files, so tests can act as two processes in one.
    package static func openAsOtherProcess(
        path: String, fileSystem: any FileSystem, options: OpenOptions = OpenOptions()
    ) throws(EngineError) -> Database {
        let deadline = options.openingDeadline
        while true {
            let opening = try Opening(path: path, fileSystem: fileSystem, options: options)
            if let made = try opening.makeDatabase(until: deadline) {
                return made
            }
        }
    }

    /// Opens the file to read it once, separately from other users in this process, who may write meanwhile. Writes
    /// nothing.
    package static func openToRead(
        path: String, fileSystem: any FileSystem, encryptionKey: EncryptionKey?
    ) throws(EngineError) -> Database {
        var options = OpenOptions(isReadOnly: true)
        options.encryptionKey = encryptionKey
        return try openAsOtherProcess(path: path, fileSystem: fileSystem, options: options)
    }

    /// Returns the in-memory database with that name, creating it if necessary. It lives as long as a reference to it
    /// exists.
    package static func openInMemory(identifier: String) throws(EngineError) -> Database {
        try DatabaseRegistry.shared.openInMemory(identifier)
    }

    /// Returns the in-memory database with that name, or nil if no reference to it exists.
    package static func openedInMemory(identifier: String) -> Database? {
        DatabaseRegistry.shared.openedInMemory(identifier)
    }

    /// Calls `body` with true if the file at `path` is not open in this process, nor for writing in another, and none
    /// opens or compacts it meanwhile. Calls it with false if there is no file: another process may still create one,
    /// which must be left alone. Returns nil if the file is open, whatever path led to it. Throws if that cannot be
    /// determined.
    package static func whileUnused<R>(
        path: String, fileSystem: any FileSystem, _ body: (_ isThere: Bool) -> R
    ) throws(EngineError) -> R? {
        try DatabaseRegistry.shared.whileUnused(path: path, fileSystem: fileSystem, body)
    }

    /// Throws `.foreignLockFile` if something that is no lock file has the name of the lock file of a database at
    /// `path`: no database could be opened there.
    package static func checkLockFileName(path: String, fileSystem: any FileSystem) throws(EngineError) {
        do throws(SystemError) {
            let status = try fileSystem.status(path + ".lock")
            guard let status else { return }
            if status.kind == .file, try !LockFile.isTaken(path, fileSystem) { return }
        } catch { throw .system(error) }
        throw .foreignLockFile(path: path + ".lock")
    }

    package var isEncrypted: Bool { seal.cipher != nil }

    /// While the returned value lives, a caller that wants to delete or compact the file assumes that it is about to be
    /// closed, and waits a moment.
    package func lettingGo() -> LettingGo { LettingGo(file: file.identity) }

    /// The path of the file that other processes write to when they commit; nil if there are no other processes.
    package var sharedPath: String? { shared?.watchedPath }

    /// Asks other processes to announce their commits by writing to the file at `sharedPath`, or to stop doing so.
    package func listen(_ wanted: Bool) { shared?.listen(wanted) }

    /// The number of the newest version, including commits of other processes. One load.
    package var newestVersion: UInt64 { versions.latestNumber }

    /// True if the file opens with that key, or without a key if it is nil.
    func fits(_ key: EncryptionKey?) -> Bool { (try? FileSeal(header, key, path: path)) != nil }

    // MARK: Versions that are kept

    /// The number of versions from the oldest that is read, in this process or another, to the newest. Versions read
    /// only by the background proof do not count: it releases them soon by itself.
    package func activeVersionCount() throws(EngineError) -> UInt64 {
        let newest = versions.latestNumber
        var oldest = min(newest, versions.oldestPinned(but: proof.version.load(ordering: .relaxed)) ?? newest)
        for other in try shared?.pinsOfOthers() ?? [] {
            for number in other.pins + [other.floor ?? 0] where number > 0 { oldest = min(oldest, number) }
        }
        return newest - oldest + 1
    }

    /// Returns the versions that other processes keep readable, with the process ids.
    package func pinsOfOthers() throws(EngineError) -> [(process: UInt64, version: UInt64)] {
        try (shared?.pinsOfOthers() ?? []).flatMap { other in
            (other.pins.isEmpty ? [other.floor ?? 0] : other.pins).map { (other.process, $0) }
        }
    }

    package func makeSession(origin: SessionOrigin? = nil) throws(EngineError) -> Session {
        try Session(self, at: try versions.pinNewest(), origin: origin)
    }
}
