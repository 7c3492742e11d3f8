// SPDX-License-Identifier: Apache-2.0
// One open file, or one database in memory, shared by all sessions of the process. Thread-safe.
//
// State and guards
//   versions               its own mutex
//   spaceManager           the writer lock, and the cross-process writer lock of the lock file: only the session
//                          between `beginWrite` and its end accesses it
//   queue                  its own monitor
//   writerLock             its own
//   counters               atomics
//   blockedWriters         its own mutex
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
        /// Reads a file of at most `BlockTraversal.pageLimit` pages completely when it is opened. Inspectors and tests
        /// switch it off to find damage later.
        package var checksSmallFiles = true
        /// If the catalog or the schema of the newest commit is unreadable, the commit before it is shown; if no commit
        /// is complete, the readable parts of the newest one (`passedOver`). For salvage. Only with `isReadOnly`.
        package var takesOlderCommit = false
        /// Encrypts a file that is created, or opens an encrypted one. The database does not keep the key.
        package var encryptionKey: EncryptionKey?
        /// Sizes at which large collections are split; tests make them small to get deep trees.
        package var elementTreeLimits = ElementTreeLimits()
        /// When a transaction spills; tests make the limits small.
        package var spillLimits = SpillLimits()
        /// When commits move blocks to shorten the file; tests make the limits small.
        package var shrinkLimits = ShrinkLimits()
        /// The time, in nanoseconds, for which relaxed commits may wait for a background sync. Nil: there is no
        /// background thread, and tests sync explicitly.
        package var syncDelay: UInt64? = 500_000_000
        /// How long the cross-process writer lock may be kept from one commit to the next while other processes may be
        /// waiting for it, in nanoseconds.
        package var longestHold: UInt64 = 10_000_000
        /// How long an opening or a write waits for other threads and processes, in nanoseconds. Nil: 30 seconds for an
        /// opening, without limit for a write.
        package var busyTimeout: UInt64?
        /// The time of day, in microseconds since 1970, that commits to a file with a history record.
        package var wallClock: @Sendable () -> Int64 = { WallClock.now() }
        /// A seeded bug that a test must find; nil everywhere else.
        package var mutant: ProtocolMutant?
        package init(isReadOnly: Bool = false) { self.isReadOnly = isReadOnly }
    }

    package let path: String
    package let fileSystem: any FileSystem
    package let options: OpenOptions
    let file: any File
    package let header: FileHeader
    let protection: FileProtection
    package let reader: BlockReader
    package let versions: VersionRegistry
    /// The state of the proof that the blocks of the file match their checksums.
    let proof = FileProof()
    /// The newest commit, if an older one or its readable parts are shown instead. Set once, before any other thread
    /// sees this object.
    package internal(set) var passedOver: PassedCommit?
    let writerLock = WriterLock()
    /// Counts of the operations of this process on the file.
    package let counters = OperationCounters()
    /// The threads that wait for the writer lock.
    package let blockedWriters = BlockedWriters()
    /// The schema that was read last, so that sessions with the same schema read it once. Any thread.
    private let knownSchema: Lock<KnownSchema>
    /// The lock file, shared with other processes; nil if no other process can have the file open.
    let shared: LockFile?
    package var isVolatile: Bool { options.isVolatile }

    /// The commit queue.
    let queue: CommitQueue
    /// The free space. Guard: writer lock.
    let spaceManager: SpaceManager
    /// The number of pages of the largest row group that this process has written. Written under the writer lock.
    let largestGroupPages = Atomic<Int>(0)

    init(
        path: String, fileSystem: any FileSystem, options: OpenOptions, file: any File, header: FileHeader,
        protection: FileProtection,
        reader: BlockReader, slot: CommitSlot, shared: LockFile?, schema: KnownSchema
    ) {
        self.path = path
        self.fileSystem = fileSystem
        var kept = options
        kept.encryptionKey = nil
        self.options = kept
        self.file = file
        self.header = header
        self.protection = protection
        self.reader = reader
        self.shared = shared
        knownSchema = Lock(schema)
        versions = VersionRegistry(Version(slot, in: reader), shared: shared, options.mutant) {
            number throws(EngineError) in
            try Self.load(number, file, protection, reader)
        }
        queue = CommitQueue(slot, options.mutant)
        spaceManager = SpaceManager(
            file, reader, versions: versions, queue: queue, lockFile: shared, mutant: options.mutant)
        versions.finish = { [weak self] number throws(EngineError) in
            guard let self, self.shared?.newest == number else { return }
            if try self.tryEnterWriter() { self.leaveWriter() } else { CurrentThread.sleep(nanoseconds: 100_000) }
        }
        versions.onUnpinnedUnpublished = { [weak self] in
            guard let self else { return }
            self.queue.monitor.withLock { self.releaseLock() }
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
        counters.noteClosed()
        DatabaseRegistry.shared.hasLetGo(of: file.identity)
    }

    private let generation = ForkWatch.generation
    /// True in a forked child of the process that opened it.
    package var isForked: Bool { generation != ForkWatch.generation }

    /// Reads version `number` from its slot, and maps its pages; nil if no slot holds it.
    private static func load(
        _ number: UInt64, _ file: any File, _ protection: FileProtection, _ reader: BlockReader
    ) throws(EngineError) -> Version? {
        guard let placed = try readSlots(file, protection).first(where: { $0.slot.version == number }) else {
            return nil
        }
        try reader.extend(toPages: placed.slot.highWater)
        // Another process has written it.
        reader.setTrusted(false)
        return Version(placed.slot, in: reader)
    }

    static func readSlots(_ file: any File, _ protection: FileProtection) throws(EngineError) -> [CommitSlot.Placed] {
        do { return try CommitSlot.readAll(file, protection: protection) } catch { throw .system(error) }
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

    /// Opens the file to read it once, separately from other users in this process, which may write in the meantime.
    /// Writes nothing.
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

    /// Calls `body` with true if the file at `path` is not open in this process, nor for writing in another, and no
    /// process opens or compacts it in the meantime. Calls it with false if there is no file: another process may still
    /// create one, which must be left alone. Returns nil if the file is open, whatever path led to it. Throws if that
    /// cannot be determined.
    package static func whileUnused<R>(
        path: String, fileSystem: any FileSystem, _ body: (_ isThere: Bool) -> R
    ) throws(EngineError) -> R? {
        try DatabaseRegistry.shared.whileUnused(path: path, fileSystem: fileSystem, body)
    }

    /// Throws `.foreignLockFile` if the lock file of a database at `path` could not be created, because something else
    /// has its name: no database could be opened there.
    package static func checkLockFileName(path: String, fileSystem: any FileSystem) throws(EngineError) {
        do throws(SystemError) {
            let status = try fileSystem.status(path + ".lock")
            guard let status else { return }
            if status.kind == .file, try !LockFile.isTaken(path, fileSystem) { return }
        } catch { throw .system(error) }
        throw .foreignLockFile(path: path + ".lock")
    }

    package var isEncrypted: Bool { protection.cipher != nil }

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
    func fits(_ key: EncryptionKey?) -> Bool { (try? FileProtection(header, key, path: path)) != nil }

    /// The syncs that have made queued commits of this process durable, and the number of these commits. One sync covers
    /// all commits that were queued when it began.
    package var commitGroups: (syncs: UInt64, commits: UInt64) { queue.monitor.withLock { queue.groups } }

    // MARK: Versions that are kept

    /// The number of versions from the oldest that is read, in this process or another, to the newest. Versions read
    /// only by the background proof do not count: it soon releases them on its own.
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
