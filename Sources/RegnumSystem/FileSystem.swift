// SPDX-License-Identifier: Apache-2.0
// The seam to the operating system: all input and output of the engine goes through `FileSystem` and `File`. There are
// three implementations: POSIX, in memory, and the simulated disk of RegnumSimulation, which crashes on demand. A call
// through the protocols costs 3 ns, which is little compared with a system call. Such calls are made once per
// operation, never per row: rows are read through `MappedRegion.base`.

/// How a file is opened.
package enum OpenMode: Sendable, Equatable {
    /// The file must exist; it is never written.
    case readOnly
    /// The file must exist.
    case readWrite
    /// The file is created, empty, if it is missing.
    case readWriteCreate
    /// The file must exist, and the last component of the path must not be a symbolic link (`.linkLoop`).
    case readWriteNoFollow
    /// Like `readWriteNoFollow`, but the file is never written.
    case readOnlyNoFollow
    /// The file is created; throws `.exists` if anything is at the path, even a symbolic link. `permissions` are POSIX
    /// permission bits, without the executable bits; the process's file mode creation mask may clear more of them.
    case createNew(permissions: UInt32)
}

extension OpenMode {
    /// True for the modes that create a missing file.
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
    /// The bytes and the length of the file are on stable storage (`fdatasync`).
    case data
    /// Like `data`, and all other metadata of the file (`fsync`). Needed for a file that was just created.
    case full
}

/// The status of a file or directory: kind, length, permissions and identity.
package struct FileStatus: Sendable, Equatable {
    package enum Kind: Sendable { case file, directory, other }
    package var kind: Kind
    package var byteCount: Int
    /// POSIX permission bits.
    package var permissions: UInt32
    package var identity: FileIdentity?
    /// The number of hard links.
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

/// Identifies a file independently of its path: two paths of one file have equal identities.
package struct FileIdentity: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    package init(device: UInt64, inode: UInt64) { self.device = device; self.inode = inode }
}

/// The files of one machine, real or simulated. All methods may be called from any thread.
package protocol FileSystem: AnyObject, Sendable {
    /// Opens `path`. Errors: `.notFound`, `.permissionDenied`, `.isDirectory`, `.notDirectory`, `.io`.
    func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File
    /// The status of the file or directory at `path`, or nil if there is none. Follows symbolic links.
    func status(_ path: String) throws(SystemError) -> FileStatus?
    /// The target of the symbolic link `path`; `path` itself if it is not a link, or if the target does not exist.
    func linked(_ path: String) -> String
    /// Removes the file; throws `.notFound` if there is none.
    func remove(_ path: String) throws(SystemError)
    /// Atomically renames `source` to `target`, replacing any file there.
    func rename(_ source: String, to target: String) throws(SystemError)
    /// Renames `source` to `target`; throws `.exists` if anything is at `target`.
    func renameIfAbsent(_ source: String, to target: String) throws(SystemError)
    /// As `renameIfAbsent`, but always in one step: of several processes that rename files to one target, one succeeds.
    /// Throws `.unsupported` if the file system cannot do that.
    func renameInOneStepIfAbsent(_ source: String, to target: String) throws(SystemError)
    /// Creates the directory `path` and its missing parents.
    func makeDirectories(_ path: String) throws(SystemError)
    /// Makes the entries of the directory that contains `path` (creation, rename, removal) durable.
    func syncDirectory(containing path: String) throws(SystemError)
    /// Fills `buffer` with random bytes for seeds, identifiers and nonces. Deterministic in a simulation.
    func fillRandom(_ buffer: UnsafeMutableRawBufferPointer)
    /// Finds the processes that hold a lock in `bytes` of `file`, and opens every other file, deleted or not, in which
    /// one of them holds a lock in `bytes`. Returns an empty array if the system does not show the locks of other
    /// processes.
    func filesLocked(at bytes: Range<Int>, besides file: FileIdentity) -> [any File]
    /// A new, empty file in memory that has no path: other processes can only open it by `filesLocked`. It needs no space
    /// on a disk. Nil if the system has no such files.
    func fileInMemory() -> (any File)?
    /// True if several processes can open one file, so that the lock file `<path>.lock` is needed.
    var isShared: Bool { get }
}

extension FileSystem {
    package func filesLocked(at bytes: Range<Int>, besides file: FileIdentity) -> [any File] { [] }
    package func fileInMemory() -> (any File)? { nil }
    package func linked(_ path: String) -> String { path }
    /// For file systems whose `renameIfAbsent` takes one step.
    package func renameInOneStepIfAbsent(_ source: String, to target: String) throws(SystemError) {
        try renameIfAbsent(source, to: target)
    }

    /// Makes the name of a created or renamed file durable, if the process has the permission: syncing a folder
    /// requires permission to read it, which creating files does not.
    package func syncName(of path: String) throws(SystemError) {
        do throws(SystemError) { try syncDirectory(containing: path) } catch {
            if error.kind != .permissionDenied { throw error }
        }
    }
}

/// An open file. `read`, `write`, `byteCount` and the locks may be called from any thread. In the child of a fork the
/// file behaves as after `close`, and its mappings read as zeros, so that the parent's locks end with the parent.
package protocol File: AnyObject, Sendable {
    var identity: FileIdentity { get }
    /// The current length.
    func byteCount() throws(SystemError) -> Int
    /// Fills `buffer` from `offset`; returns the number of bytes read (fewer only at the end of the file).
    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int
    /// Writes all of `buffer`; there are no short writes. After `.noSpace` or `.io` any part of it may have been
    /// written.
    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError)
    /// Extends the file to at least `byteCount` bytes, with space reserved and zeros in the new part. All or nothing:
    /// `.noSpace` leaves the length unchanged.
    func allocate(_ byteCount: Int) throws(SystemError)
    /// Reserves space for the holes in the first `byteCount` bytes: writing to a mapped hole kills the process if the
    /// disk is full. `.noSpace` changes nothing.
    func fillHoles(_ byteCount: Int) throws(SystemError)
    /// Shortens the file; never extends it.
    func truncate(_ byteCount: Int) throws(SystemError)
    /// Returns when everything written before the call is durable. After an error the state of those bytes is unknown,
    /// and the sync must not be retried for them.
    func sync(_ kind: SyncKind) throws(SystemError)
    /// Starts writeback of these bytes, so that a later `sync` has less to do. Guarantees nothing, and waits at most
    /// for room in the disk's queue. If it throws, written data may be lost, as after a failed `sync`.
    func beginWriteback(_ range: Range<Int>) throws(SystemError)
    /// Reserves address space for the file's bytes. Nothing is mapped before `extend`.
    func makeRegion() throws(SystemError) -> any MappedRegion
    /// Replaces private memory by a read-only mapping of file bytes that must equal it, and so returns the memory to
    /// the system. Returns false, and leaves the memory in use, if that is not possible, for example because `target`
    /// or the range is not page-aligned.
    func show(_ range: Range<Int>, over target: UnsafeMutableRawPointer) -> Bool
    /// A shared, writable mapping of the first `byteCount` bytes, for the lock file. The file must be at least that
    /// long. The mapping lasts as long as this object, even after `close`.
    func mapShared(_ byteCount: Int) throws(SystemError) -> UnsafeMutableRawPointer
    /// Takes the exclusive lock of one byte; returns false if another open file holds it. The lock belongs to this open
    /// file and is released by `unlock`, `close` or the end of the process.
    func tryLock(byte: Int) throws(SystemError) -> Bool
    /// Like `tryLock`, but waits.
    func lock(byte: Int) throws(SystemError)
    /// Takes the exclusive lock, or the shared one if `isShared`, and waits until `deadline` of `MonotonicClock` at
    /// most. Returns false if the deadline passed first.
    func lock(byte: Int, isShared: Bool, until deadline: UInt64) throws(SystemError) -> Bool
    /// Takes a shared lock of one byte, which several open files may hold at once, even files opened for reading only.
    /// Returns false if another open file holds the exclusive lock.
    func tryLockShared(byte: Int) throws(SystemError) -> Bool
    func unlock(byte: Int)
    /// True if another open file holds a lock on one of those bytes.
    func isLocked(bytes: Range<Int>) throws(SystemError) -> Bool
    /// A range of those bytes that another open file has locked as one range; nil if none is locked.
    func lockedBytes(in bytes: Range<Int>) throws(SystemError) -> Range<Int>?
    /// Gives this file, which was just created for its owner alone and is still empty, the access rights of `other`.
    /// Afterwards the users of `other` can use this file and no other users can, as far as the permissions of owner,
    /// group and others can express that.
    ///
    /// With `asReplacement` the file gets the owner and the group of `other` if the process may set them, all
    /// permissions that this allows, and on Linux the access list. Otherwise the process's file mode creation mask
    /// clears some permissions, and if `other` has an access list, all but the owner's are cleared. Returns false if
    /// `other` has an access list that could not be copied to this replacement: then the two files are not accessible
    /// to the same users. Does nothing if files have no owners.
    @discardableResult
    func takeAccess(of other: any File, asReplacement: Bool) -> Bool
    /// Closes the file and releases its locks. Regions stay mapped, and can be extended, until they are released. Every
    /// later call except `unlock` and `close` throws `.io`.
    func close()
}

extension File {
    package func fillHoles(_ byteCount: Int) throws(SystemError) {}

    /// Polls: the first pause is 20 µs, and pauses double up to 1 ms. For an exclusive lock they double up to 50 µs,
    /// because a busy holder releases the lock for only that long (`Database.lockWriter`).
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

    /// The lowest of those bytes that another open file has locked, with the bytes after it in the same locked range.
    package func firstLocked(in bytes: Range<Int>) throws(SystemError) -> Range<Int>? {
        var lowest: Range<Int>?
        while let found = try lockedBytes(in: bytes.lowerBound..<(lowest?.lowerBound ?? bytes.upperBound)) {
            lowest = found
            if found.lowerBound == bytes.lowerBound { break }
        }
        return lowest
    }

    /// True if another open file holds a lock on that byte.
    package func isLocked(byte: Int) throws(SystemError) -> Bool { try isLocked(bytes: byte..<byte + 1) }
}

/// The bytes of a file in memory, read-only. `base` never changes, so pointers into the region stay valid while it
/// lives. Writes through other handles or by other processes are visible here.
package protocol MappedRegion: AnyObject, Sendable {
    var base: UnsafeRawPointer { get }
    /// The number of bytes of address space reserved.
    var capacity: Int { get }
    /// The number of bytes readable so far.
    var byteCount: Int { get }
    /// Makes the first `byteCount` bytes of the file readable; the file must be at least that long. The caller
    /// serialises calls.
    func extend(to byteCount: Int) throws(SystemError)
}
