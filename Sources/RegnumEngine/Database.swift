// SPDX-License-Identifier: Apache-2.0
// One open file, or one database in memory: shared by all sessions of the process. Thread-safe.
//
// State and guards
//   versions               its own mutex
//   recorded               the writer gate and, among processes, the writer's lock of the shared file: only the
//                          session between `beginWrite` and its end touches it
//   line                   its own monitor
//   teller                 stored by the holder of the gate, read by all
//   open databases         `DatabaseRegistry`; holds databases weakly

package import RegnumSystem
import Synchronization

package final class Database: @unchecked Sendable {
    // Sendable: see the table above.
    package struct OpenOptions: Sendable {
        /// Never writes; the file must exist.
        package var isReadOnly: Bool
        /// The file must be a database already: none is made.
        package var makesFile = true
        /// The file system is memory that ends with the database: no checksums, no slots, nothing to recover.
        var isVolatile = false
        /// Reads a file of at most `BlockWalk.pageLimit` pages whole when it is opened. Inspectors and tests switch
        /// it off to meet damage later.
        package var checksSmallFiles = true
        /// Where the catalog or the schema of the newest commit cannot be read, the commit before it is shown; where no
        /// commit is whole, what is left of the newest one (`passedOver`). For whoever saves what is left of a file.
        /// Only with `isReadOnly`.
        package var takesOlderCommit = false
        /// Encrypts a file that is made, opens one that is encrypted; the database does not keep it.
        package var encryptionKey: EncryptionKey?
        /// Sizes that large collections are cut to; tests make them small to get deep trees.
        package var elementTreeLimits = ElementTreeLimits()
        /// When a transaction writes ahead of its commit; tests make them small.
        package var spillLimits = SpillLimits()
        /// When commits move blocks to make the file shorter; tests make them small.
        package var shrinkLimits = ShrinkLimits()
        /// How long relaxed commits may wait for a sync in the background, in nanoseconds. Nil: there is no such thread,
        /// and tests say when to sync.
        package var syncDelay: UInt64? = 500_000_000
        /// How long the lock among processes is kept from one commit to the next while others may be waiting for it, in
        /// nanoseconds.
        package var longestHold: UInt64 = 10_000_000
        /// How long an opening, and a write, wait for others, in nanoseconds; nil: an opening 30 seconds, a write as long as
        /// it takes.
        package var busyTimeout: UInt64?
        /// A bug to be found by a test; nil everywhere else.
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
    /// How far the file is proved to be whole.
    let proof = FileProof()
    /// The newest commit, where an older one is shown in its place. Set once, before anybody else sees this object.
    package internal(set) var passedOver: PassedCommit?
    /// The writer's turn.
    let gate = Gate()
    /// Who has the turn. Any thread reads it.
    let writer = Lock<WriterNote?>(nil)
    /// The thread that tells observers that a write begins; 0 where none does. Guard: gate; any thread reads it.
    private let teller = Atomic<UInt>(0)
    /// Who is about to begin a write, and the turn that waits for somebody to take it.
    let offers = TurnOffers()
    /// The schema that was read last, so that sessions of one schema read it once. Any thread.
    private let knownSchema: Lock<KnownSchema>
    /// What this process shares with others; nil where there can be none.
    let shared: SharedFile?
    package var isVolatile: Bool { options.isVolatile }

    /// Commits on their way to the medium.
    let line: CommitLine
    /// Free space, read from the file before the first write. Guard: gate.
    var recorded: RecordedSpace?
    /// Guard: gate.
    var spilled: Spill?
    /// Free pages before this one are left alone: sessions of other processes show what has failed there. Guard: gate.
    var barred: UInt64 = 0
    /// How far the way through the blocks has come that makes the file shorter. Guard: gate.
    var shrinking = Shrinking()
    /// `line.generation` for which `recorded` holds. Guard: gate.
    var recordedGeneration: UInt64 = 0

    init(
        path: String, fileSystem: any FileSystem, options: OpenOptions, file: any File, header: FileHeader,
        seal: FileSeal,
        reader: BlockReader, slot: CommitSlot, shared: SharedFile?, schema: KnownSchema
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
        versions = VersionRegistry(Version(slot, in: reader), shared: shared, options.mutant) {
            number throws(EngineError) in
            try Self.load(number, file, seal, reader)
        }
        line = CommitLine(slot, options.mutant)
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

    /// The schema at a ref, whose features are known. Any thread.
    func schema(_ ref: BlockRef) throws(EngineError) -> SchemaBlock {
        let known = knownSchema.withLock { $0 }
        if known.ref == ref { return known.schema }
        let schema = try SchemaBlock.read(ref, try reader.bytes(ref))
        try schema.requireKnownFeatures(path)
        knownSchema.withLock { $0 = KnownSchema(ref: ref, schema: schema) }
        return schema
    }

    deinit {
        // In the child of a fork nothing is to be given back, and a thread of the parent may have had a lock.
        if isForked { return }
        DatabaseRegistry.shared.letsGo(of: file.identity)
        syncAtEnd()
        shared?.leave()
        file.close()
        DatabaseRegistry.shared.hasLetGo(of: file.identity)
    }

    private let generation = ForkWatch.generation
    /// True in the child of a process that opened it.
    package var isForked: Bool { generation != ForkWatch.generation }

    /// The version `number` from its slot, with its pages mapped; nil where no slot holds it.
    private static func load(
        _ number: UInt64, _ file: any File, _ seal: FileSeal, _ reader: BlockReader
    ) throws(EngineError) -> Version? {
        guard let placed = try readSlots(file, seal).first(where: { $0.slot.version == number }) else { return nil }
        try reader.extend(toPages: placed.slot.highWater)
        return Version(placed.slot, in: reader)
    }

    private static func readSlots(_ file: any File, _ seal: FileSeal) throws(EngineError) -> [CommitSlot.Placed] {
        do { return try CommitSlot.readAll(file, seal: seal) } catch { throw .system(error) }
    }

    // MARK: The writer's turn

    /// Waits until no other thread and no other process writes, and learns what others have committed.
    /// `waits`: for as long as it takes, whatever the options say.
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

    /// As `enterWriter`; false where it would wait for another writer, of this process or another.
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

    /// The lock among processes, where it is not held still for commits that stand in line. False where it is not to be
    /// waited for, and another process has it.
    private func lockWriter(
        waits: Bool = true, until deadline: UInt64 = Gate.never, since begin: UInt64 = 0
    ) throws(EngineError) -> Bool {
        let (heldSince, isKnown) = line.monitor.withLock { () -> (UInt64?, Bool) in
            line.isWriterInside = true
            return (line.isLockHeld ? line.lockedAt : nil, line.isKnown)
        }
        if let heldSince {
            // The meeting has failed, and the lock was kept.
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
            // The processor to whoever waits.
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
            // Not before the others were met: what waits for a sync here may be old.
            defer { line.isKnown = false }
            return line.isKnown
        }
        if !isVolatile, !options.isReadOnly { try meetOthers(isKnown: wasKnown) }
        return true
    }

    /// Learns what others have committed. What may not be on the medium is made durable first: the next commit relies
    /// on it. Guard: gate and the writer's lock.
    private func meetOthers(isKnown: Bool) throws(EngineError) {
        guard let shared else {
            if isKnown { try setKnown() } else { try meet(versions.newest.number, durable: nil) }
            return
        }
        // With that bug others are shown less than this process knows.
        let known = options.mutant == .unfinishedNotPublished ? 0 : versions.newest.number
        if let entry = shared.enter(header, knowing: known) {
            let isOurs = entry.isOurs || options.mutant == .othersNotMet
            if isKnown, isOurs { try setKnown() } else { try meet(entry.newest, durable: entry.durable) }
        } else {
            try restoreShared(shared)
        }
        if line.monitor.withLock({ line.mustRewrite }) { try syncAll(evenIfLatched: true) }
    }

    private func setKnown() throws(EngineError) {
        try checkDurableSlot()
        line.monitor.withLock { line.isKnown = true }
    }

    /// `durable` is the newest version that is known to be on the medium, if any is.
    private func meet(_ number: UInt64, durable: UInt64?) throws(EngineError) {
        let slots = try Self.readSlots(file, seal)
        var found = slots.first { $0.slot.version == number }
        let isFound = found != nil
        // A process has ended between writing its slot and saying so.
        if found == nil {
            let later = slots.filter { $0.slot.version > number }
            // The other slot is that of the last durable commit, which is published.
            if later.count > 1, options.mutant != .overwrittenNotNoticed { throw .overwritten(path: path) }
            found = later.first
        }
        guard let found else { throw corrupted("the newest commit's slot is damaged") }
        try checkKnown(found.slot)
        if isFound, options.mutant != .ghostCommit {
            // What a process has left that ended before it acknowledged it: its pages are not kept, and it must never
            // count. Where the slot cannot be read, somebody has ended in clearing it.
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
        versions.learn(Version(found.slot, in: reader))
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
            versions.publish(Version(found.slot, in: reader), isDurable: true)
        }
    }

    private func clearSlot(at offset: Int) throws(EngineError) {
        do throws(SystemError) {
            try file.write([UInt8](repeating: 0, count: CommitSlot.byteCount), at: offset)
            try syncFile()
        } catch { throw .system(error) }
    }

    /// Somebody has written over the file that processes share: the newest commit in the file counts, because a
    /// process writes its slot after everything else. Guard: gate and the writer's lock.
    private func restoreShared(_ shared: SharedFile) throws(EngineError) {
        let newest = try Self.readSlots(file, seal).map(\.slot.version).max() ?? 0
        let number = max(newest, versions.newest.number)
        try meet(number, durable: shared.durable.flatMap { $0 <= number ? $0 : nil })
        versions.restore(header, newest: versions.newest.number)
    }

    /// For the session that writes: whether the calling thread is telling observers that the write begins. The end of
    /// the write ends that too.
    package func setTelling(_ isTelling: Bool) { teller.store(isTelling ? CurrentThread.id : 0, ordering: .relaxed) }

    /// True on that thread, which waits for ever where it wants the turn again.
    package var isTellingHere: Bool { teller.load(ordering: .relaxed) == CurrentThread.id }

    /// True on the thread on which the running write has begun.
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

    /// Opens the file at `path`, making it where it is missing. A file that is open in this process is shared:
    /// the same instance comes back, whatever path led to it.
    package static func open(
        path: String, fileSystem: any FileSystem, options: OpenOptions = OpenOptions()
    ) throws(EngineError) -> Database {
        try DatabaseRegistry.shared.open(path: path, fileSystem: fileSystem, options: options)
    }

    /// Opens the file apart from others of this process, as another process would: locks belong to open files, so
    /// tests can be two processes in one.
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

    /// Opens the file to read it once, apart from others of this process, who may write meanwhile. Nothing is written.
    package static func openToRead(
        path: String, fileSystem: any FileSystem, encryptionKey: EncryptionKey?
    ) throws(EngineError) -> Database {
        var options = OpenOptions(isReadOnly: true)
        options.encryptionKey = encryptionKey
        return try openAsOtherProcess(path: path, fileSystem: fileSystem, options: options)
    }

    /// The database in memory of that name: it lives as long as somebody holds it.
    package static func openInMemory(identifier: String) throws(EngineError) -> Database {
        try DatabaseRegistry.shared.openInMemory(identifier)
    }

    /// The database in memory of that name where somebody holds it, else nil.
    package static func openedInMemory(identifier: String) -> Database? {
        DatabaseRegistry.shared.openedInMemory(identifier)
    }

    /// Calls `body` with true if nobody has the file at `path` open, in this process or to write in another, and while
    /// nobody opens or compacts it. With false where there is no file: nothing keeps others from making one meanwhile,
    /// which must be left alone. Nil where somebody has it open, whatever path led to it. Throws where that cannot be
    /// found out.
    package static func whileUnused<R>(
        path: String, fileSystem: any FileSystem, _ body: (_ isThere: Bool) -> R
    ) throws(EngineError) -> R? {
        try DatabaseRegistry.shared.whileUnused(path: path, fileSystem: fileSystem, body)
    }

    package var isEncrypted: Bool { seal.cipher != nil }

    /// As long as the value lives, who wants to delete or compact the file takes it for one that is about to be let go
    /// of, and waits a moment.
    package func lettingGo() -> LettingGo { LettingGo(file: file.identity) }

    /// The file beside the database that tells of other processes' commits; nil where there are none.
    package var sharedPath: String? { shared?.watchedPath }

    /// Whether other processes are to tell of their commits, by writing to the file at `sharedPath`.
    package func listen(_ wanted: Bool) { shared?.listen(wanted) }

    /// Number of the newest version, of other processes too. One load.
    package var newestVersion: UInt64 { versions.latestNumber }

    /// True where the file opens with that key, or without one where it is nil.
    func fits(_ key: EncryptionKey?) -> Bool { (try? FileSeal(header, key, path: path)) != nil }

    // MARK: Versions that are kept

    /// Versions from the oldest that anybody reads, in this process or another, to the newest. What only the proof in the
    /// background reads does not count: it lets go of it soon by itself.
    package func activeVersionCount() throws(EngineError) -> UInt64 {
        let newest = versions.latestNumber
        var oldest = min(newest, versions.oldestPinned(but: proof.version.load(ordering: .relaxed)) ?? newest)
        for other in try shared?.pinsOfOthers() ?? [] {
            for number in other.pins + [other.floor ?? 0] where number > 0 { oldest = min(oldest, number) }
        }
        return newest - oldest + 1
    }

    /// Versions that other processes keep readable, with the process.
    package func pinsOfOthers() throws(EngineError) -> [(process: UInt64, version: UInt64)] {
        try (shared?.pinsOfOthers() ?? []).flatMap { other in
            (other.pins.isEmpty ? [other.floor ?? 0] : other.pins).map { (other.process, $0) }
        }
    }

    package func makeSession(origin: SessionOrigin? = nil) throws(EngineError) -> Session {
        try Session(self, at: try versions.pinNewest(), origin: origin)
    }
}
