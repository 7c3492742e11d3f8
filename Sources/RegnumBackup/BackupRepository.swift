// SPDX-License-Identifier: Apache-2.0
// A repository: the backups of one database, in a store. Each backup can be restored on its own. It stores only the
// blocks that no earlier backup has.
//
//   repository                  how the others are stored (RepositoryRecord); a copy in copies/repository
//   log/<number>                the backups, and the lease (LogEntry); a copy of each backup in copies/log/
//   maps/<token>-<digest>       segments of page maps (PageMap); copies in copies/maps/
//   packs/<token>-<digest>      blocks, as they are in the file; copies/packs/ has those that were healed, and
//                               copies/healing/packs/ the same while copies/packs/ is replaced
//
// A repository that is compressed, or encrypted with a key of its own, stores each object in frames (FrameCoder).
//
// A backup first puts packs, then maps, reads both back, and then puts its entry in the log: until then it does not
// exist, and what an interrupted one has put is deleted by a later `prune`.

public import Foundation
package import RegnumEngine
internal import RegnumSystem

/// Backups of a database. Confined: use it on one thread at a time. Any number of processes may read a repository at
/// once; one at a time makes backups.
public final class BackupRepository {
    /// One backup.
    public struct Backup: Sendable, Equatable {
        /// Its number in the repository; later ones have higher numbers, not consecutive.
        public let number: UInt64
        /// The number of the version of the database.
        public let version: UInt64
        /// The time when the backup began: it has all commits that were made until then.
        public let date: Date
        /// The length of a restored file.
        public let byteCount: Int
        /// The bytes that this backup has added to the repository: of blocks, page maps and its manifest, with their
        /// copies.
        public let storedByteCount: Int
        public let isEncrypted: Bool
        /// `date` in microseconds since 1970.
        let time: Int64

        init(_ entry: LogEntry, _ manifest: Manifest) {
            number = entry.number
            version = manifest.version
            time = manifest.time
            date = Date(timeIntervalSince1970: Double(manifest.time) / 1e6)
            byteCount = Int(manifest.pageCount) << 12
            storedByteCount = Int(manifest.storedByteCount)
            isEncrypted = manifest.isEncrypted
        }
    }

    /// Settings that tests change.
    package struct Options: Sendable {
        /// How long a process that has ended without releasing the repository excludes others, in microseconds.
        package var leaseDuration: Int64 = 30_000_000
        /// See `BackupLog.grace`.
        package var grace: Int64 = 3_600_000_000
        /// Bytes of a pack, unless a single block is larger.
        package var packByteCount = 4 << 20
        /// The time of day, in microseconds since 1970.
        package var clock: @Sendable () -> Int64 = { WallClock.now() }
        package init() {}
    }

    let store: ObjectStore
    /// The bytes of the object 'repository'.
    let record: [UInt8]
    let hasher: Hasher128
    let log: BackupLog
    let objects: ObjectAccess
    let options: Options
    /// True if the objects are compressed where that makes them shorter.
    public let isCompressed: Bool
    /// True if the repository is encrypted with a key of its own.
    public let isEncrypted: Bool
    /// Random, for this object: distinguishes its entries in the log from those of others.
    let owner = SIMD2<UInt64>(UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))

    /// Opens the repository in `store`. If there is none, creates one if `creating`, and throws `.noRepository`
    /// otherwise. A process that always creates one begins a new repository on the local disk if the file system of a
    /// folder is not mounted: create a repository once, and then open it.
    ///
    /// - Parameters:
    ///   - encryptionKey: 64 bytes, for a repository that is encrypted with a key of its own, which then applies to
    ///     everything in it, also to the names of its objects. Nil if it is not. The blocks of an encrypted database
    ///     are always stored encrypted with the key of that database.
    ///   - isCompressed: with `creating`, a new repository stores its objects compressed (zlib, RFC 1950) where that
    ///     makes them an eighth shorter. Those of encrypted databases do not become shorter. A repository that exists
    ///     stays as it is.
    ///
    /// Throws `BackupError`: `.wrongKey`; `.unsupported` without the trait `Encryption` or `Compression` that it needs;
    /// `.newerFormat`; `.damaged`; and errors of the store as they are.
    public convenience init(
        _ store: any BackupStore, creating: Bool = false, encryptionKey: Data? = nil, isCompressed: Bool = false
    ) throws {
        try self.init(
            store, creating: creating, encryptionKey: encryptionKey, isCompressed: isCompressed, options: Options())
    }

    package init(
        _ store: any BackupStore, creating: Bool, encryptionKey: Data? = nil, isCompressed: Bool = false,
        options: Options
    ) throws {
        self.options = options
        var found = try Self.find(store, encryptionKey)
        if found == nil {
            guard creating else { throw BackupError(.noRepository, "There is no repository of backups.") }
            let new = try RepositoryRecord(
                time: options.clock(), isCompressed: isCompressed, encryptionKey: encryptionKey)
            _ = try store.putIfAbsent(ObjectName.repository, new.bytes)
            // That of another process, if it was faster.
            found = try Self.find(store, encryptionKey)
        }
        guard let found else {
            throw BackupError(.storage, "The store has lost the object 'repository'.")
        }
        record = found.bytes
        hasher = found.hasher
        self.isCompressed = found.isCompressed
        isEncrypted = found.key != nil
        self.store = ObjectStore(store, found.coder)
        // If this fails, the repository has no copy of its record, which `verify` reports.
        if creating, (try? store.byteCount(of: Self.recordCopy)) == nil {
            _ = try? store.putIfAbsent(Self.recordCopy, record)
        }
        log = BackupLog(self.store, hasher, record: record, clock: options.clock, grace: options.grace)
        objects = ObjectAccess(self.store, hasher)
    }

    private static let recordCopy = ObjectName.copies + ObjectName.repository

    /// Returns the record of the repository, from its copy if it is missing or damaged; nil if there is none.
    private static func find(_ store: any BackupStore, _ encryptionKey: Data?) throws -> RepositoryRecord? {
        var problem: BackupError?
        for name in [ObjectName.repository, recordCopy] {
            guard let bytes = try store.get(name) else { continue }
            // A changed bit may also look like another format.
            do { return try RepositoryRecord(bytes, encryptionKey: encryptionKey) } catch let error as BackupError {
                problem = problem ?? error
            }
        }
        if let problem { throw problem }
        return nil
    }

    /// The backups, oldest first. Damaged ones are omitted: see `verify`.
    public func backups() throws -> [Backup] {
        let state = try log.read()
        return state.backups.compactMap { state.summaries[$0.number] }
    }

    // MARK: Making a backup

    /// Backs up the newest version of the database file at `fileURL`, which this or other processes may be writing.
    ///
    /// Stores the blocks that the newest backup lacks; with `isComplete`, all blocks, which replaces damaged ones.
    /// Returns nil if that backup has this version already. The blocks of an encrypted file are stored encrypted; the
    /// key is only needed to find them. The backup exists when the call returns: everything it needs is on stable
    /// storage before.
    ///
    /// - Parameters:
    ///   - rate: the maximum number of bytes to read per second, from the database and back from the store; nil for no
    ///     limit.
    ///   - progress: called with the number of bytes of blocks that have been stored, and with the number to store,
    ///     which is 0 until it is known. It is called for each block, also of those that are only read, and while the
    ///     backup waits at least ten times per second; not during a call of the store. An error that it throws cancels
    ///     the backup and is rethrown.
    ///
    /// Throws `BackupError`: `.inUse` while another process makes backups to the repository, `.fenced` if another
    /// process took over, `.storage` if the store no longer has the repository or does not return what was put, and
    /// errors of the store as they are. Writers of the database never wait for it. Reads the tree down to the blocks
    /// that have changed, and with `isComplete` the whole file; reads everything back that it has put.
    @discardableResult
    public func backUp(
        _ fileURL: URL, encryptionKey: Data? = nil, isComplete: Bool = false, rate: Int? = nil,
        progress: (Int, Int) throws -> Void = { _, _ in }
    ) throws -> Backup? {
        let database = try Self.open(fileURL.path, encryptionKey)
        return try backUp(database, isComplete: isComplete, rate: rate, progress: progress)
    }

    /// Opens a database for reading. Throws `BackupError`.
    private static func open(_ path: String, _ key: Data?) throws -> Database {
        do throws(EngineError) {
            return try Database.openToRead(
                path: path, fileSystem: PosixFileSystem.shared, encryptionKey: try engineKey(key, path))
        } catch { throw BackupError(error, database: path) }
    }

    static func engineKey(_ key: Data?, _ path: String) throws(EngineError) -> EncryptionKey? {
        guard let key else { return nil }
        guard key.count == EncryptionKey.byteCount else { throw .encryption(path: path, .wrongKey) }
        return key.withUnsafeBytes { EncryptionKey($0) }
    }

    @discardableResult
    package func backUp(
        _ database: Database, isComplete: Bool = false, rate: Int? = nil,
        progress: (Int, Int) throws -> Void = { _, _ in }
    ) throws -> Backup? {
        let lease = try log.claim(owner: owner, duration: options.leaseDuration)
        defer { lease.release() }
        do { return try backUp(database, lease, isComplete: isComplete, rate: rate, progress: progress) } catch {
            throw BackupError.converting(error, path: database.path)
        }
    }

    /// Backs up the newest version while holding `lease`.
    func backUp(
        _ database: Database, _ lease: Lease, isComplete: Bool, rate: Int?, progress: (Int, Int) throws -> Void
    ) throws -> Backup? {
        try log.checkRepository()
        let time = log.now()
        let image = try VersionImage(newestOf: database)
        let base = try isComplete ? nil : lease.newestBackup().flatMap { try? Manifest($0.payload) }
        let catalogTag = SIMD2(image.catalog.tagLow, image.catalog.tagHigh)
        if let base, base.file == image.fileIdentifier, base.version == image.version, base.catalogTag == catalogTag {
            return nil
        }
        // A map that cannot be read is no base: all blocks are stored again.
        let map = try base.flatMap { (base: Manifest) throws -> PageMap? in
            do {
                return try objects.map(base) {
                    try progress(0, 0)
                    try lease.keep()
                }
            } catch let error as BackupError {
                if error.code == .damaged { return nil }
                throw error
            }
        }
        return try withoutActuallyEscaping(progress) { (progress) throws -> Backup? in
            var writer = BackupWriter(self, image, lease, time: time, rate: rate, progress: progress)
            let manifest = try writer.run(base: map == nil ? nil : base, map ?? PageMap())
            let entry = try lease.append(.backup, payload: manifest.payload)
            // If this fails, the backup exists without a copy of its manifest, which `verify` reports.
            _ = try? store.putIfAbsent(ObjectName.copies + ObjectName.entry(entry.number), entry.bytes(hasher))
            return Backup(entry, manifest)
        }
    }
}
