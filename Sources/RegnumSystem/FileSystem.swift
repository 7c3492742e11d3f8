// SPDX-License-Identifier: Apache-2.0
// The seam: every effect of the engine on the outside goes through `FileSystem` and `File`. Three
// implementations: POSIX, memory, and the simulated one of RegnumSimulation that crashes on demand.
// Called once per operation (3 ns against a system call), never per row: reads of data go through
// `MappedRegion.base`.

/// How a file is opened.
package enum OpenMode: Sendable, Equatable {
    /// The file must exist; it is never written.
    case readOnly
    /// The file must exist.
    case readWrite
    /// The file is made, empty, where it is missing.
    case readWriteCreate
    /// The file must exist, and the last part of the path must be no symbolic link (`.io`).
    case readWriteNoFollow
    /// As `readWriteNoFollow`; the file is never written.
    case readOnlyNoFollow
    /// The file is made; `.exists` where anything is at the path, a symbolic link too. The permissions are those of
    /// POSIX, and none of the executable bits; the process may take away more.
    case createNew(permissions: UInt32)
}

extension OpenMode {
    /// True for the modes that make a file where none is.
    package var makesFiles: Bool {
        switch self {
        case .readWriteCreate, .createNew: true
        case .readOnly, .readWrite, .readWriteNoFollow, .readOnlyNoFollow: false
        }
    }

    /// False for the modes that only read.
    package var writes: Bool { self != .readOnly && self != .readOnlyNoFollow }
}

/// What a sync must achieve before it returns.
package enum SyncKind: Sendable {
    /// Bytes and length of the file are on the medium (`fdatasync`).
    case data
    /// Also everything else about the file (`fsync`), for a file just made.
    case full
}

/// What a path leads to.
package struct FileStatus: Sendable, Equatable {
    package enum Kind: Sendable { case file, directory, other }
    package var kind: Kind
    package var byteCount: Int
    /// Who may read and write it, as POSIX writes it.
    package var permissions: UInt32
    package var identity: FileIdentity?
    /// How many names the file has.
    package var linkCount: Int
    package init(
        kind: Kind, byteCount: Int, permissions: UInt32 = 0o644, identity: FileIdentity? = nil, linkCount: Int = 1
    ) {
        self.linkCount = linkCount
        self.kind = kind
        self.byteCount = byteCount
        self.permissions = permissions
        self.identity = identity
    }
}

/// Which file it is, whatever its path: two paths of one file have equal identities.
package struct FileIdentity: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    package init(device: UInt64, inode: UInt64) { self.device = device; self.inode = inode }
}

/// The files of one machine, or of one pretended machine. All methods may be called from any thread.
package protocol FileSystem: AnyObject, Sendable {
    /// Opens `path`. Errors: `.notFound`, `.permissionDenied`, `.isDirectory`, `.notDirectory`, `.io`.
    func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File
    /// What `path` leads to, or nil where nothing is. Symbolic links are followed.
    func status(_ path: String) throws(SystemError) -> FileStatus?
    /// Where the symbolic link `path` leads; `path` itself where it is none, or leads nowhere.
    func linked(_ path: String) -> String
    /// Removes the file; `.notFound` where there is none.
    func remove(_ path: String) throws(SystemError)
    /// Atomically gives `source` the name `target`, replacing what was there.
    func rename(_ source: String, to target: String) throws(SystemError)
    /// Gives `source` the name `target`; `.exists` where something has it.
    func renameIfAbsent(_ source: String, to target: String) throws(SystemError)
    /// Makes `path` and its missing parents.
    func makeDirectories(_ path: String) throws(SystemError)
    /// Makes the names in the directory of `path` durable (creation, rename, removal).
    func syncDirectory(containing path: String) throws(SystemError)
    /// Random bytes for seeds, identifiers and nonces. Deterministic in a simulation.
    func fillRandom(_ buffer: UnsafeMutableRawBufferPointer)
    /// Files, deleted or not, that processes which have locked some of `bytes` of `file` have open, and locked there too.
    /// None where the system does not show what others have open.
    func filesLocked(at bytes: Range<Int>, besides file: FileIdentity) -> [any File]
    /// True where several processes can open one file, so that the shared file `<path>.lock` is kept.
    var isShared: Bool { get }
}

extension FileSystem {
    package func filesLocked(at bytes: Range<Int>, besides file: FileIdentity) -> [any File] { [] }
    package func linked(_ path: String) -> String { path }
}

/// An open file. `read`, `write`, `byteCount` and locks may be called from any thread. In the child of a fork it is as
/// after `close`, and what is mapped of it reads as zeros: the parent's locks go with the parent.
package protocol File: AnyObject, Sendable {
    var identity: FileIdentity { get }
    /// The length now.
    func byteCount() throws(SystemError) -> Int
    /// Fills `buffer` from `offset`; returns how many bytes there were (fewer only at the end of the file).
    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int
    /// Writes all of `buffer`. `.noSpace` and `.io` may leave any part written. Never a short write.
    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError)
    /// Makes the file at least `byteCount` long with space reserved, zeros in the new part. All or nothing:
    /// `.noSpace` leaves the length as it was.
    func allocate(_ byteCount: Int) throws(SystemError)
    /// Reserves space for the holes of the first `byteCount` bytes: what is mapped of a hole ends the program where the
    /// disk is full. `.noSpace` changes nothing.
    func fillHoles(_ byteCount: Int) throws(SystemError)
    /// Cuts the file (never lengthens it).
    func truncate(_ byteCount: Int) throws(SystemError)
    /// Returns when everything written before the call is durable. After an error nothing is known of it,
    /// and it must not be tried again for the same bytes.
    func sync(_ kind: SyncKind) throws(SystemError)
    /// Lets the system begin to write these bytes to the disk, so that a later `sync` has less to do. Promises nothing, and
    /// waits at most for room in the disk's queue. Where it throws, what was written may be lost, as after a failed `sync`.
    func beginWriteback(_ range: Range<Int>) throws(SystemError)
    /// Reserves address space for the file's bytes. Nothing is mapped before `extend`.
    func makeRegion() throws(SystemError) -> any MappedRegion
    /// Lets bytes of the file stand, read-only, where private memory lies that holds the same bytes, which goes back to
    /// the system. False where that cannot be done: then the memory stays. `target` and the range lie on pages.
    func show(_ range: Range<Int>, over target: UnsafeMutableRawPointer) -> Bool
    /// A shared, writable mapping of the first `byteCount` bytes, for the small file that processes share.
    /// The file must be that long. It stays mapped as long as this object lives, also after `close`.
    func mapShared(_ byteCount: Int) throws(SystemError) -> UnsafeMutableRawPointer
    /// Takes the exclusive lock of one byte; false where another open file holds it. Owned by this open file,
    /// released by `unlock`, `close` or the end of the process.
    func tryLock(byte: Int) throws(SystemError) -> Bool
    /// As `tryLock`, but waits.
    func lock(byte: Int) throws(SystemError)
    /// As `lock`, or `tryLockShared` where it is shared; false where it was not to be had before `MonotonicClock` shows
    /// `deadline`.
    func lock(byte: Int, isShared: Bool, until deadline: UInt64) throws(SystemError) -> Bool
    /// Takes a shared lock of one byte, which several open files may hold at once, also files that are open for reading
    /// only. False if another open file holds the exclusive lock of `tryLock`.
    func tryLockShared(byte: Int) throws(SystemError) -> Bool
    func unlock(byte: Int)
    /// True where another open file holds the lock of one of those bytes.
    func isLocked(bytes: Range<Int>) throws(SystemError) -> Bool
    /// Of those bytes some that another open file has locked in one piece; nil if none is locked.
    func lockedBytes(in bytes: Range<Int>) throws(SystemError) -> Range<Int>?
    /// Lets those who can use `other` use this file, just made for its owner alone and still empty, and nobody else, as
    /// far as the system's three kinds of users go. `asReplacement`: it gets the owner and the group of `other`, where
    /// the process may give them, all permissions that this allows, and on Linux its access list; else the process's
    /// mask takes some away, and where `other` has such a list, all but those of the owner. False where `other` has a
    /// list that this file cannot get as a replacement: others may use it then than could use `other`. Nothing happens
    /// where files have no owners.
    @discardableResult
    func takeAccess(of other: any File, asReplacement: Bool) -> Bool
    /// Ends the use of the file and gives back its locks; regions stay mapped, and can be extended, until
    /// they are released. Every later call but `unlock` and `close` throws `.io`.
    func close()
}

extension File {
    package func fillHoles(_ byteCount: Int) throws(SystemError) {}

    /// Waits by asking again, at first after 20 microseconds, later every millisecond; every 50 microseconds where it is to
    /// be locked alone, for as long as who holds it lets go of it for others (`Database.lockWriter`).
    package func lock(byte: Int, isShared: Bool, until deadline: UInt64) throws(SystemError) -> Bool {
        var pause: UInt64 = 20_000
        while try !(isShared ? tryLockShared(byte: byte) : tryLock(byte: byte)) {
            if MonotonicClock.now() >= deadline { return false }
            CurrentThread.sleep(nanoseconds: pause)
            pause = min(pause * 2, isShared ? 1_000_000 : 50_000)
        }
        return true
    }

    package func beginWriteback(_ range: Range<Int>) {}
    package func show(_ range: Range<Int>, over target: UnsafeMutableRawPointer) -> Bool { false }
    package func takeAccess(of other: any File, asReplacement: Bool) -> Bool { true }

    /// The lowest of those bytes that another open file has locked, with those after it that are locked in one piece.
    package func firstLocked(in bytes: Range<Int>) throws(SystemError) -> Range<Int>? {
        var lowest: Range<Int>?
        while let found = try lockedBytes(in: bytes.lowerBound..<(lowest?.lowerBound ?? bytes.upperBound)) {
            lowest = found
            if found.lowerBound == bytes.lowerBound { break }
        }
        return lowest
    }

    /// True where another open file holds the lock of that byte.
    package func isLocked(byte: Int) throws(SystemError) -> Bool { try isLocked(bytes: byte..<byte + 1) }
}

/// The bytes of a file in memory, read-only. `base` never changes, so pointers into it stay good while it
/// lives. What another handle or process writes to the file shows here.
package protocol MappedRegion: AnyObject, Sendable {
    var base: UnsafeRawPointer { get }
    /// Bytes of address space reserved.
    var capacity: Int { get }
    /// Bytes readable so far.
    var byteCount: Int { get }
    /// Makes the first `byteCount` bytes of the file readable; the file must be that long. Serialised by the
    /// caller.
    func extend(to byteCount: Int) throws(SystemError)
}
