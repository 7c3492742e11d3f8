// SPDX-License-Identifier: Apache-2.0
// The system calls on files. Each returns its result, or the error as a negative number, so that `errno` is read only
// in the function that made the call. Calls interrupted by a signal are repeated here.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

enum SystemCalls {
    /// The path that a symbolic link leads to; nil if `path` is not a link, or if it leads nowhere.
    static func linkedPath(_ path: String) -> String? {
        var byte: CChar = 0
        guard readlink(path, &byte, 1) > 0, let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }

    /// Linux transfers at most 2 GiB - 4 KiB per call, so longer transfers are split well below that.
    static let longestTransfer = 1 << 30

    /// Repeats the call while signals interrupt it. Returns its result, or minus `errno`.
    @inline(__always)
    private static func call<Result: FixedWidthInteger>(_ body: () -> Result) -> Int {
        while true {
            let result = body()
            if result >= 0 { return Int(result) }
            let code = errno
            if code != EINTR { return -Int(code) }
        }
    }

    static func openFile(_ path: UnsafePointer<CChar>, _ mode: OpenMode) -> Int {
        let flags =
            switch mode {
            case .readOnly: O_RDONLY
            case .readWrite: O_RDWR
            case .readWriteCreate: O_RDWR | O_CREAT
            case .readWriteNoFollow: O_RDWR | O_NOFOLLOW
            // Without O_NONBLOCK, opening a pipe would wait for a writer.
            case .readOnlyNoFollow: O_RDONLY | O_NOFOLLOW | O_NONBLOCK
            case .createNew: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
            }
        var permissions: UInt32 = 0o644
        if case .createNew(let wanted) = mode { permissions = wanted & 0o666 }
        return call { open(path, flags | O_CLOEXEC, mode_t(permissions)) }
    }

    static func openDirectory(_ path: UnsafePointer<CChar>) -> Int {
        call { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    }

    /// Not repeated after a signal: on Linux the descriptor is closed even then.
    static func closeFile(_ descriptor: Int32) {
        _ = close(descriptor)
    }

    /// Reads at most `longestTransfer` bytes; may be short.
    static func readBytes(_ descriptor: Int32, _ target: UnsafeMutableRawPointer, _ count: Int, _ offset: Int)
        -> Int
    {
        call { pread(descriptor, target, min(count, longestTransfer), off_t(offset)) }
    }

    /// Writes at most `longestTransfer` bytes; may be short.
    static func writeBytes(_ descriptor: Int32, _ source: UnsafeRawPointer, _ count: Int, _ offset: Int)
        -> Int
    {
        call { pwrite(descriptor, source, min(count, longestTransfer), off_t(offset)) }
    }

    /// Starts writeback of bytes in the page cache; does nothing if the system has no such call. Errors at the start
    /// are returned; later ones are reported by the next sync.
    static func beginWriteback(_ descriptor: Int32, from offset: Int, count: Int) -> Int {
        guard let syncFileRange else { return 0 }
        // SYNC_FILE_RANGE_WRITE: does not wait for the writes that it starts.
        return call { syncFileRange(descriptor, Int64(offset), Int64(count), 2) }
    }

    private typealias SyncFileRange = @convention(c) (Int32, Int64, Int64, UInt32) -> Int32

    /// Linux only; looked up because the headers hide it.
    private static let syncFileRange: SyncFileRange? = {
        #if os(Linux)
            dlsym(nil, "sync_file_range").map { unsafeBitCast($0, to: SyncFileRange.self) }
        #else
            nil
        #endif
    }()

    static func setLength(_ descriptor: Int32, _ byteCount: Int) -> Int {
        call { ftruncate(descriptor, off_t(byteCount)) }
    }

    /// Reserves space and extends the file. If the file system cannot reserve space, `isUnsupported` is true for the
    /// result.
    static func reserveSpace(_ descriptor: Int32, from offset: Int, count: Int) -> Int {
        #if canImport(Darwin)
            var request = fstore_t()
            request.fst_flags = UInt32(F_ALLOCATEALL)
            request.fst_posmode = F_PEOFPOSMODE
            request.fst_length = off_t(count)
            let result = call { fcntl(descriptor, F_PREALLOCATE, &request) }
            return result < 0 ? result : setLength(descriptor, offset + count)
        #else
            // This function returns the error instead of setting `errno`.
            var code: Int32
            repeat { code = posix_fallocate(descriptor, off_t(offset), off_t(count)) } while code == EINTR
            return -Int(code)
        #endif
    }

    /// True if the file has at least `byteCount` bytes of space allocated.
    static func isReserved(_ descriptor: Int32, _ byteCount: Int) -> Bool {
        var raw = stat()
        guard call({ fstat(descriptor, &raw) }) == 0 else { return false }
        return Int(raw.st_blocks) * 512 >= byteCount
    }

    /// True for the error of `reserveSpace` on a file system that cannot reserve space.
    static func isUnsupported(_ result: Int) -> Bool {
        result == -Int(EOPNOTSUPP) || result == -Int(ENOTSUP) || result == -Int(ENOSYS)
            || result == -Int(EINVAL)
    }

    /// True for the error of a lock call on a file system without locks. ENOLCK is not one: it may be temporary.
    static func isUnsupportedLock(_ result: Int) -> Bool { isUnsupported(result) }

    static func syncFile(_ descriptor: Int32, _ kind: SyncKind) -> Int {
        #if canImport(Darwin)
            // On Darwin, fsync leaves the bytes in the drive's cache.
            return call { fcntl(descriptor, F_FULLFSYNC) }
        #else
            return switch kind {
            case .data: call { fdatasync(descriptor) }
            case .full: call { fsync(descriptor) }
            }
        #endif
    }

    /// Syncs a directory. Some file systems have nothing to sync there and return EINVAL.
    static func syncDirectory(_ descriptor: Int32) -> Int {
        let result = call { fsync(descriptor) }
        return result == -Int(EINVAL) ? 0 : result
    }

    /// Lets the open empty file `target` share the bytes of `source` until one of them is written. Returns an error if
    /// the file system or the platform does not support that.
    static func shareBytes(_ source: Int32, with target: Int32) -> Int {
        #if os(Linux)
            // FICLONE of linux/fs.h, a macro that is not imported.
            return call { ioctl(target, 0x4004_9409, source) }
        #else
            return -Int(ENOTSUP)
        #endif
    }

    static func removeFile(_ path: UnsafePointer<CChar>) -> Int {
        call { unlink(path) }
    }

    static func renameFile(_ source: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>) -> Int {
        call { rename(source, target) }
    }

    static func makeDirectory(_ path: UnsafePointer<CChar>) -> Int {
        call { mkdir(path, 0o755) }
    }

    /// Fills `buffer`. The system call returns at most 256 bytes, and never fails for up to 256.
    static func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let base = buffer.baseAddress else { return }
        var filled = 0
        while filled < buffer.count {
            let count = min(256, buffer.count - filled)
            let result = call { getentropy(base + filled, count) }
            precondition(result == 0, "the system returned no random bytes (error \(-result))")
            filled += count
        }
    }
}

// MARK: - Names that are given once

extension SystemCalls {
    /// Returns 0 or minus `errno`.
    static func link(_ source: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>) -> Int {
        while true {
            #if canImport(Glibc)
                let result = Glibc.link(source, target)
            #elseif canImport(Musl)
                let result = Musl.link(source, target)
            #else
                let result = Darwin.link(source, target)
            #endif
            if result == 0 { return 0 }
            let code = errno
            if code != EINTR { return -Int(code) }
        }
    }

    /// True if the file system does not support hard links.
    static func isUnsupportedLink(_ result: Int) -> Bool {
        result == -Int(EPERM) || result == -Int(EOPNOTSUPP) || result == -Int(ENOSYS) || result == -Int(EMLINK)
    }
}

#if canImport(Glibc)
    /// RENAME_NOREPLACE of Linux.
    private let renameNoReplace: UInt32 = 1

    /// Declared by hand: the C library shows it only to programs that ask for GNU extensions.
    @_silgen_name("renameat2")
    private func renameAt2(
        _ oldFolder: CInt, _ old: UnsafePointer<CChar>, _ newFolder: CInt, _ new: UnsafePointer<CChar>, _ flags: UInt32
    ) -> CInt
#endif

extension SystemCalls {
    /// Renames a file unless something has the target's name. Returns 0 or minus `errno`.
    static func renameExclusively(_ source: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>) -> Int {
        #if canImport(Glibc)
            return call { renameAt2(AT_FDCWD, source, AT_FDCWD, target, renameNoReplace) }
        #elseif canImport(Musl)
            return -Int(ENOSYS)
        #else
            return call { renamex_np(source, target, UInt32(RENAME_EXCL)) }
        #endif
    }

    /// True if the file system or the kernel cannot do what `renameExclusively` does.
    static func isUnsupportedRename(_ result: Int) -> Bool {
        result == -Int(EINVAL) || result == -Int(ENOSYS) || result == -Int(EOPNOTSUPP) || result == -Int(ENOTSUP)
    }
}

// MARK: - File status

extension SystemCalls {
    struct FileInformation {
        var status: FileStatus
        var identity: FileIdentity

        init(_ source: stat) {
            let kind: FileStatus.Kind =
                switch source.st_mode & 0o170000 {
                case 0o100000: .file
                case 0o040000: .directory
                default: .other
                }
            identity = FileIdentity(
                device: UInt64(truncatingIfNeeded: source.st_dev),
                inode: UInt64(truncatingIfNeeded: source.st_ino))
            status = FileStatus(
                kind: kind, byteCount: Int(source.st_size), permissions: UInt32(source.st_mode) & 0o777,
                identity: identity, linkCount: Int(source.st_nlink))
        }
    }

    /// The length of an open file, in bytes. Not by `fstat`, which costs three times as much and makes Linux give the
    /// next write a new timestamp, so that a sync has to write the inode as well as the bytes. Moves the file position,
    /// which is not used.
    static func length(_ descriptor: Int32) -> Int { call { Int(lseek(descriptor, 0, SEEK_END)) } }

    /// Sets `information` if the result is 0.
    static func inspect(_ descriptor: Int32, _ information: inout FileInformation?) -> Int {
        var raw = stat()
        let result = call { fstat(descriptor, &raw) }
        if result == 0 { information = FileInformation(raw) }
        return result
    }

    /// Sets `information` if the result is 0.
    static func inspect(_ path: UnsafePointer<CChar>, _ information: inout FileInformation?) -> Int {
        var raw = stat()
        let result = call { stat(path, &raw) }
        if result == 0 { information = FileInformation(raw) }
        return result
    }
}

// MARK: - Access rights

extension SystemCalls {
    /// See `File.takeAccess`.
    static func copyAccess(from source: Int32, to target: Int32, asReplacement: Bool) -> Bool {
        var old = stat()
        var new = stat()
        guard call({ fstat(source, &old) }) == 0, call({ fstat(target, &new) }) == 0 else { return true }
        if asReplacement, new.st_uid != old.st_uid || new.st_gid != old.st_gid {
            // Only root may change the owner of a file; the owner may choose any group that they belong to.
            if fchown(target, old.st_uid, old.st_gid) != 0 { _ = fchown(target, uid_t.max, old.st_gid) }
            guard call({ fstat(target, &new) }) == 0 else { return true }
        }
        let had = UInt32(new.st_mode) & 0o777
        var permissions = UInt32(old.st_mode) & 0o666
        let list = AccessList.read(source)
        // The list refers to the owner and the group without naming them, so it is valid only if both are the same.
        if case .list(let list) = list, asReplacement, new.st_uid == old.st_uid, new.st_gid == old.st_gid,
            AccessList.write(list, to: target)
        {
            return true
        }
        // If there is a list, the permission bits do not show what the group may do.
        if list != .none, !asReplacement { permissions &= 0o600 }
        // The new file may have inherited a list from its directory. `fchmod` would let the users of that list in, and
        // without the list the group would get the permissions that the list allowed at most.
        if AccessList.read(target) != .none {
            _ = fchmod(target, mode_t(had & 0o600))
            AccessList.remove(target)
            if AccessList.read(target) != .none { permissions &= 0o600 }
            guard call({ fstat(target, &new) }) == 0 else { return list == .none }
        }
        let has = UInt32(new.st_mode) & 0o777
        if new.st_gid != old.st_gid {
            // A member of one group may be an outsider to the other, so both get only the permissions that both had.
            let both = permissions >> 3 & permissions & 0o6
            permissions = permissions & 0o600 | both << 3 | both
        }
        if !asReplacement { permissions = permissions & ~creationMask() | had & 0o600 }
        if permissions != has { _ = fchmod(target, mode_t(permissions)) }
        return list == .none || !asReplacement
    }

    private static let maskLock = Lock(0)

    /// The file mode creation mask of the process. Linux reports it. Elsewhere it can only be read by setting it: files
    /// that other threads create in the meantime are private to their owner.
    private static func creationMask() -> UInt32 {
        if let mask = CurrentProcess.creationMask { return mask }
        return maskLock.withLock { _ in
            let mask = umask(0o077)
            _ = umask(mask)
            return UInt32(mask)
        }
    }
}

// MARK: - Locks

extension SystemCalls {
    // Locks that belong to the open file, not to the process: closing another descriptor of the same file does not
    // release them. The constants of the headers are not imported, so their values are given here.
    #if canImport(Darwin)
        private static let testLock: Int32 = 92
        private static let setLock: Int32 = 90
        private static let awaitLock: Int32 = 91
    #else
        private static let testLock: Int32 = 36
        private static let setLock: Int32 = 37
        private static let awaitLock: Int32 = 38
    #endif

    private static func request(_ type: Int32, _ start: Int, _ count: Int) -> flock {
        var request = flock()
        request.l_type = Int16(type)
        request.l_whence = Int16(SEEK_SET)
        request.l_start = off_t(start)
        request.l_len = off_t(count)
        request.l_pid = 0
        return request
    }

    /// Returns 0 if the lock was taken, 1 if another open file holds it and `waits` is false.
    static func lock(_ descriptor: Int32, byte: Int, waits: Bool) -> Int {
        var request = request(Int32(F_WRLCK), byte, 1)
        let result = call { fcntl(descriptor, waits ? awaitLock : setLock, &request) }
        return !waits && (result == -Int(EAGAIN) || result == -Int(EACCES)) ? 1 : result
    }

    /// Returns 0 if the shared lock was taken, 1 if another open file holds the exclusive one.
    static func lockShared(_ descriptor: Int32, byte: Int) -> Int {
        var request = request(Int32(F_RDLCK), byte, 1)
        let result = call { fcntl(descriptor, setLock, &request) }
        return result == -Int(EAGAIN) || result == -Int(EACCES) ? 1 : result
    }

    /// Takes the exclusive lock of the whole file with `flock`, which is independent of the locks of bytes. Returns 0
    /// if the lock was taken, 1 if another open file holds a lock.
    static func lockWhole(_ descriptor: Int32) -> Int {
        let result = call { flock(descriptor, LOCK_EX | LOCK_NB) }
        return result == -Int(EWOULDBLOCK) ? 1 : result
    }

    static func unlock(_ descriptor: Int32, byte: Int) {
        var request = request(Int32(F_UNLCK), byte, 1)
        _ = call { fcntl(descriptor, setLock, &request) }
    }

    /// Releases every lock of this open file. A count of 0 means "to the end".
    static func unlockAll(_ descriptor: Int32) {
        var request = request(Int32(F_UNLCK), 0, 0)
        _ = call { fcntl(descriptor, setLock, &request) }
    }

    /// Returns 1 if another open file holds one of the locks, else 0.
    static func isLocked(_ descriptor: Int32, bytes: Range<Int>) -> Int {
        var request = request(Int32(F_WRLCK), bytes.lowerBound, bytes.count)
        let result = call { fcntl(descriptor, testLock, &request) }
        if result < 0 { return result }
        return request.l_type == Int16(F_UNLCK) ? 0 : 1
    }

    /// Like `isLocked`; sets `found` to the locked range of one of those locks, limited to `bytes`.
    static func isLocked(_ descriptor: Int32, bytes: Range<Int>, found: inout Range<Int>) -> Int {
        var request = request(Int32(F_WRLCK), bytes.lowerBound, bytes.count)
        let result = call { fcntl(descriptor, testLock, &request) }
        if result < 0 { return result }
        if request.l_type == Int16(F_UNLCK) { return 0 }
        let start = max(Int(request.l_start), bytes.lowerBound)
        // A length of 0 means "to the end".
        let (end, isOver) = Int(request.l_start).addingReportingOverflow(Int(request.l_len))
        let isOpen = request.l_len <= 0 || isOver
        found = start..<max(isOpen ? bytes.upperBound : min(end, bytes.upperBound), start + 1)
        return 1
    }
}
