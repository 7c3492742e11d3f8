// SPDX-License-Identifier: Apache-2.0
// The real file system: the files of this machine.

/// The real file system. Paths are UTF-8, absolute or relative to the working directory.
package final class PosixFileSystem: FileSystem {
    package static let shared = PosixFileSystem()

    package init() {}

    package var isShared: Bool { true }

    package func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
        let result = try call("open", path) { path in Descriptor.open { SystemCalls.openFile(path, mode) } }
        let descriptor = Descriptor(Int32(result))
        var information: SystemCalls.FileInformation?
        let inspected = SystemCalls.inspect(descriptor.number, &information)
        guard let information else { throw SystemError(code: Int32(-inspected), "open", path) }
        // The system opens a directory for reading without an error and fails only on the first read.
        if information.status.kind == .directory { throw SystemError(.isDirectory, "open", path) }
        return PosixFile(descriptor, information.identity, path)
    }

    /// Takes the exclusive lock of a whole file, which is independent of the locks of its bytes. Other programs use it.
    /// Returns nil if another open file holds a lock of it.
    package func lockWhole(_ path: String) throws(SystemError) -> WholeFileLock? {
        let result = try call("open", path) { path in Descriptor.open { SystemCalls.openFile(path, .readWrite) } }
        let descriptor = Descriptor(Int32(result))
        let locked = SystemCalls.lockWhole(descriptor.number)
        if locked < 0 { throw SystemError(code: Int32(-locked), "lock", path) }
        return locked == 0 ? WholeFileLock(descriptor) : nil
    }

    package func status(_ path: String) throws(SystemError) -> FileStatus? {
        var information: SystemCalls.FileInformation?
        do {
            _ = try call("inspect", path) { SystemCalls.inspect($0, &information) }
        } catch {
            if error.kind == .notFound || error.kind == .notDirectory { return nil }
            throw error
        }
        return information?.status
    }

    package func linked(_ path: String) -> String { SystemCalls.linkedPath(path) ?? path }

    package func remove(_ path: String) throws(SystemError) {
        _ = try call("remove", path) { SystemCalls.removeFile($0) }
    }

    package func rename(_ source: String, to target: String) throws(SystemError) {
        do throws(SystemError) {
            _ = try call("rename", source) { source in
                withUTF8Path(target) { SystemCalls.renameFile(source, $0) }
            }
        } catch {
            guard error.kind == .isDirectory else { throw error }
            // The error concerns a directory at the target, not at the source.
            throw SystemError(.isDirectory, "rename", target, code: error.code)
        }
    }

    package func renameIfAbsent(_ source: String, to target: String) throws(SystemError) {
        do throws(SystemError) { try renameInOneStepIfAbsent(source, to: target) } catch {
            if error.kind != .unsupported { throw error }
            // The only option is to check first.
            if try status(target) != nil { throw SystemError(.exists, "rename", target) }
            try rename(source, to: target)
        }
    }

    package func renameInOneStepIfAbsent(_ source: String, to target: String) throws(SystemError) {
        if target.utf8.contains(0) { throw SystemError(.notFound, "rename", source) }
        let result = withUTF8Path(source) { source in withUTF8Path(target) { SystemCalls.link(source, $0) } }
        // The file has its new name. Failing to remove the old name is not an error: the old name is removed later,
        // like other leftovers.
        if result == 0 {
            try? remove(source)
            return
        }
        if !SystemCalls.isUnsupportedLink(result) { throw SystemError(code: Int32(-result), "rename", target) }
        // The file system has no hard links.
        let renamed = withUTF8Path(source) { source in
            withUTF8Path(target) { SystemCalls.renameExclusively(source, $0) }
        }
        if renamed == 0 { return }
        if SystemCalls.isUnsupportedRename(renamed) {
            throw SystemError(.unsupported, "rename", target, code: Int32(-renamed))
        }
        throw SystemError(code: Int32(-renamed), "rename", target)
    }

    /// Makes `target` a copy of the file `source` in its current state, with its permissions. The copy shares the space
    /// of the original until one of them is written. Returns false, with nothing at `target`, if the file system cannot
    /// do that (most cannot; Btrfs, XFS and bcachefs can) or if there is no such file. O(1).
    package func clone(_ source: String, to target: String) -> Bool {
        guard let status = try? status(source), status.kind == .file else { return false }
        let opened = withUTF8Path(source) { path in Descriptor.open { SystemCalls.openFile(path, .readOnly) } }
        guard opened >= 0 else { return false }
        let original = Descriptor(Int32(opened))
        let made = withUTF8Path(target) { path in
            Descriptor.open { SystemCalls.openFile(path, .createNew(permissions: 0o600)) }
        }
        guard made >= 0 else { return false }
        let copy = Descriptor(Int32(made))
        _ = SystemCalls.copyAccess(from: original.number, to: copy.number, asReplacement: false)
        if SystemCalls.shareBytes(original.number, with: copy.number) >= 0 { return true }
        try? remove(target)
        return false
    }

    package func makeDirectories(_ path: String) throws(SystemError) {
        if let status = try status(path) {
            if status.kind == .directory { return }
            throw SystemError(.notDirectory, "make directory", path)
        }
        let parent = parentPath(path)
        if parent != path { try makeDirectories(parent) }
        do {
            _ = try call("make directory", path) { SystemCalls.makeDirectory($0) }
        } catch {
            // Another thread or process may have created it in the meantime.
            if error.kind != .exists { throw error }
        }
    }

    package func syncDirectory(containing path: String) throws(SystemError) {
        let directory = parentPath(path)
        let result = try call("sync directory", directory) { path in
            Descriptor.open { SystemCalls.openDirectory(path) }
        }
        let descriptor = Descriptor(Int32(result))
        let synced = SystemCalls.syncDirectory(descriptor.number)
        if synced < 0 { throw SystemError(code: Int32(-synced), "sync directory", directory) }
    }

    package func filesLocked(at bytes: Range<Int>, besides file: FileIdentity) -> [any File] {
        LockHolder.paths(at: bytes, besides: file).compactMap { try? open($0, .readWrite) }
    }

    /// A deleted file of Linux's file system in memory.
    package func fileInMemory() -> (any File)? {
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { fillRandom($0) }
        let path = "/dev/shm/regnum.\(String(word, radix: 16)).tmp"
        guard let made = try? open(path, .createNew(permissions: 0o600)) else { return nil }
        try? remove(path)
        return made
    }

    package func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) {
        SystemCalls.fillRandom(buffer)
    }

    private func call(
        _ operation: String, _ path: String, _ body: (UnsafePointer<CChar>) -> Int
    ) throws(SystemError) -> Int {
        // The system would end the path at the zero byte.
        if path.utf8.contains(0) { throw SystemError(.notFound, operation, path) }
        let result = withUTF8Path(path, body)
        if result < 0 { throw SystemError(code: Int32(-result), operation, path) }
        return result
    }
}

/// The directory that contains the last component of `path`: "." for a bare name, "/" for the root.
package func parentPath(_ path: String) -> String {
    var rest = Substring(path)
    while rest.utf8.count > 1, rest.hasSuffix("/") { rest.removeLast() }
    guard let slash = rest.lastIndex(of: "/") else { return "." }
    rest = rest[..<slash]
    while rest.hasSuffix("/") { rest.removeLast() }
    return rest.isEmpty ? "/" : String(rest)
}

/// A file descriptor. It is closed when its last user releases it: the file, a region, or a call in progress. In the
/// child of a fork it is closed from the start.
final class Descriptor: Sendable {
    let number: Int32
    private let generation = ForkWatch.generation

    /// Takes ownership of a number that `open` returned.
    init(_ number: Int32) { self.number = number }

    /// Registers the descriptor that `call` opens. Returns its number, or the error as a negative number.
    static func open(_ call: () -> Int) -> Int {
        ForkWatch.withFiles { files -> Int in
            let number = call()
            if number >= 0 { files.descriptors.insert(Int32(number)) }
            return number
        }
    }

    /// False in the child of a fork, where the number may belong to another file.
    var isOurs: Bool { generation == ForkWatch.generation }

    deinit {
        guard isOurs else { return }
        ForkWatch.withFiles { files in
            files.descriptors.remove(number)
            SystemCalls.closeFile(number)
        }
    }
}

/// The exclusive lock of a whole file. It is released with this object, or at the end of the process.
package final class WholeFileLock: Sendable {
    private let descriptor: Descriptor

    init(_ descriptor: Descriptor) { self.descriptor = descriptor }
}

/// An open file of the system.
final class PosixFile: File {
    let identity: FileIdentity
    private let path: String
    private let state: Lock<State>
    private let generation: UInt

    private struct State: ~Copyable {
        /// Nil after `close`.
        var descriptor: Descriptor?
        /// The mappings made by `mapShared`. They last as long as this object.
        var mappings: [(start: UInt, byteCount: Int)] = []
    }

    init(_ descriptor: Descriptor, _ identity: FileIdentity, _ path: String) {
        generation = ForkWatch.generation
        self.identity = identity
        self.path = path
        state = Lock(State(descriptor: descriptor))
    }

    deinit {
        // In the child of a fork, a thread of the parent may have held the lock.
        guard generation == ForkWatch.generation else { return }
        close()
        let mappings = state.withLock { $0.mappings }
        for mapping in mappings {
            guard let base = UnsafeMutableRawPointer(bitPattern: mapping.start) else { continue }
            ForkWatch.withFiles { files in
                files.mappings[base] = nil
                SystemCalls.unmap(base, mapping.byteCount)
            }
        }
    }

    /// Nil after `close`, and in the child of a fork.
    private var openDescriptor: Descriptor? {
        guard generation == ForkWatch.generation else { return nil }
        return state.withLock { $0.descriptor }
    }

    func byteCount() throws(SystemError) -> Int {
        try lengthOf(try descriptor("inspect"))
    }

    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
        let descriptor = try descriptor("read")
        guard let base = buffer.baseAddress else { return 0 }
        var done = 0
        while done < buffer.count {
            let result = SystemCalls.readBytes(
                descriptor.number, base + done, buffer.count - done, offset + done)
            if result == 0 { break }
            done += try checked(result, "read")
        }
        return done
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        let descriptor = try descriptor("write")
        guard let base = buffer.baseAddress else { return }
        var done = 0
        while done < buffer.count {
            let result = SystemCalls.writeBytes(
                descriptor.number, base + done, buffer.count - done, offset + done)
            // A nonempty write that writes nothing would make this loop endless.
            if result == 0 { throw SystemError(.io, "write", path) }
            done += try checked(result, "write")
        }
    }

    func beginWriteback(_ range: Range<Int>) throws(SystemError) {
        let descriptor = try descriptor("write")
        let result = SystemCalls.beginWriteback(descriptor.number, from: range.lowerBound, count: range.count)
        if !SystemCalls.isUnsupported(result) { _ = try checked(result, "write") }
    }

    func allocate(_ byteCount: Int) throws(SystemError) {
        let descriptor = try descriptor("allocate")
        let before = try lengthOf(descriptor)
        if byteCount <= before { return }
        do {
            let result = SystemCalls.reserveSpace(descriptor.number, from: before, count: byteCount - before)
            if SystemCalls.isUnsupported(result) {
                try writeZeros(descriptor, before..<byteCount)
            } else {
                _ = try checked(result, "allocate")
            }
        } catch {
            // The system may have extended the file by the space that was left.
            _ = SystemCalls.setLength(descriptor.number, before)
            throw error
        }
    }

    func fillHoles(_ byteCount: Int) throws(SystemError) {
        let descriptor = try descriptor("allocate")
        if SystemCalls.isReserved(descriptor.number, byteCount) { return }
        let result = SystemCalls.reserveSpace(descriptor.number, from: 0, count: byteCount)
        if !SystemCalls.isUnsupported(result) { _ = try checked(result, "allocate") }
    }

    func truncate(_ byteCount: Int) throws(SystemError) {
        let descriptor = try descriptor("truncate")
        if try lengthOf(descriptor) <= byteCount { return }
        _ = try checked(SystemCalls.setLength(descriptor.number, byteCount), "truncate")
    }

    func sync(_ kind: SyncKind) throws(SystemError) {
        let descriptor = try descriptor("sync")
        _ = try checked(SystemCalls.syncFile(descriptor.number, kind), "sync")
    }

    func makeRegion() throws(SystemError) -> any MappedRegion {
        try PosixRegion(try descriptor("map"), path)
    }

    func show(_ range: Range<Int>, over target: UnsafeMutableRawPointer) -> Bool {
        let granularity = SystemCalls.mappingGranularity
        guard range.lowerBound % granularity == 0, range.count % granularity == 0,
            Int(bitPattern: target) % granularity == 0, let descriptor = openDescriptor,
            // Touching a page past the end of the file would kill the process.
            let length = try? lengthOf(descriptor), range.upperBound <= length
        else { return false }
        return SystemCalls.map(descriptor.number, from: range.lowerBound, count: range.count, over: target) >= 0
    }

    func mapShared(_ byteCount: Int) throws(SystemError) -> UnsafeMutableRawPointer {
        let descriptor = try descriptor("map")
        if try lengthOf(descriptor) < byteCount { throw SystemError(.io, "map", path) }
        var code: Int32 = 0
        let mapped = ForkWatch.withFiles { files -> UnsafeMutableRawPointer? in
            let base = SystemCalls.mapWritable(descriptor.number, count: byteCount, code: &code)
            if let base { files.mappings[base] = byteCount }
            return base
        }
        guard let base = mapped else { throw SystemError(code: code, "map", path) }
        state.withLock { $0.mappings.append((UInt(bitPattern: base), byteCount)) }
        return base
    }

    func tryLock(byte: Int) throws(SystemError) -> Bool {
        let descriptor = try descriptor("lock")
        return try checked(SystemCalls.lock(descriptor.number, byte: byte, waits: false), "lock") == 0
    }

    func lock(byte: Int) throws(SystemError) {
        let descriptor = try descriptor("lock")
        _ = try checked(SystemCalls.lock(descriptor.number, byte: byte, waits: true), "lock")
    }

    func unlock(byte: Int) {
        // After `close` there is nothing left to unlock.
        guard let descriptor = openDescriptor else { return }
        SystemCalls.unlock(descriptor.number, byte: byte)
    }

    func tryLockShared(byte: Int) throws(SystemError) -> Bool {
        let descriptor = try descriptor("lock")
        return try checked(SystemCalls.lockShared(descriptor.number, byte: byte), "lock") == 0
    }

    func lockedBytes(in bytes: Range<Int>) throws(SystemError) -> Range<Int>? {
        if bytes.isEmpty { return nil }
        let descriptor = try descriptor("lock")
        var found = bytes
        return try checked(SystemCalls.isLocked(descriptor.number, bytes: bytes, found: &found), "lock") == 1
            ? found : nil
    }

    func isLocked(bytes: Range<Int>) throws(SystemError) -> Bool {
        let descriptor = try descriptor("lock")
        return try checked(SystemCalls.isLocked(descriptor.number, bytes: bytes), "lock") == 1
    }

    func takeAccess(of other: any File, asReplacement: Bool) -> Bool {
        guard let source = (other as? PosixFile)?.openDescriptor, let own = openDescriptor else { return true }
        return SystemCalls.copyAccess(from: source.number, to: own.number, asReplacement: asReplacement)
    }

    func close() {
        // In the child of a fork there is nothing to close.
        guard generation == ForkWatch.generation else { return }
        let descriptor = state.withLock { state in
            let descriptor = state.descriptor
            state.descriptor = nil
            return descriptor
        }
        // A region may keep the descriptor open, and the locks with it.
        if let descriptor { SystemCalls.unlockAll(descriptor.number) }
    }

    // MARK: - Helpers

    private func descriptor(_ operation: String) throws(SystemError) -> Descriptor {
        guard let descriptor = openDescriptor else { throw SystemError(.io, operation, path) }
        return descriptor
    }

    private func checked(_ result: Int, _ operation: String) throws(SystemError) -> Int {
        if result < 0 { throw SystemError(code: Int32(-result), operation, path) }
        return result
    }

    private func lengthOf(_ descriptor: Descriptor) throws(SystemError) -> Int {
        try checked(SystemCalls.length(descriptor.number), "inspect")
    }

    /// Writes zeros, which occupy space on file systems that cannot reserve it.
    private func writeZeros(_ descriptor: Descriptor, _ range: Range<Int>) throws(SystemError) {
        let byteCount = min(range.count, 1 << 20)
        let zeros = Memory.allocatePages(byteCount: byteCount)
        defer { Memory.freePages(zeros) }
        Memory.zero(zeros, byteCount)
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = min(byteCount, range.upperBound - offset)
            let result = try checked(
                SystemCalls.writeBytes(descriptor.number, zeros, count, offset), "allocate")
            if result == 0 { throw SystemError(.io, "allocate", path) }
            offset += result
        }
    }
}

/// A range of address space in which a file grows without moving.
final class PosixRegion: MappedRegion, @unchecked Sendable {
    // Unchecked: everything is constant except the byte counts, and callers serialise `extend`. Readers learn of new
    // bytes from the caller of `extend`.

    let base: UnsafeRawPointer
    let capacity: Int
    private(set) var byteCount = 0
    private var mappedByteCount = 0
    /// Less than `capacity` if address space is limited: then the reservation grows with the file.
    private var reservedByteCount: Int
    private let reserved: UnsafeMutableRawPointer
    private let descriptor: Descriptor
    private let path: String

    /// The binary logarithm of 64 GiB. Larger reservations are skipped if address space is scarce and the file is far
    /// smaller.
    private static let modest = 36

    init(_ descriptor: Descriptor, _ path: String) throws(SystemError) {
        var information: SystemCalls.FileInformation?
        _ = SystemCalls.inspect(descriptor.number, &information)
        let length = information?.status.byteCount ?? 0
        guard let (reserved, byteCount, capacity) = Self.reserve(length) else {
            throw SystemError(.addressSpace, "map", path)
        }
        self.reserved = reserved
        base = UnsafeRawPointer(reserved)
        self.capacity = capacity
        reservedByteCount = byteCount
        self.descriptor = descriptor
        self.path = path
    }

    /// Reserves address space for a file of that length. Returns its start, its size, and the size to which it can
    /// grow.
    private static func reserve(_ length: Int) -> (UnsafeMutableRawPointer, byteCount: Int, capacity: Int)? {
        for shift in [40, 38, 36, 0, 34, 32, 30, 28] {
            if shift == 0 {
                let step = SystemCalls.mappingGranularity
                if length < AddressSpace.growingLimit,
                    let place = AddressSpace.reserveGrowing(step, isReadable: false)
                {
                    return (place, step, AddressSpace.growingLimit)
                }
                continue
            }
            let isMuch = shift > modest && length < 1 << (shift - 4)
            if isMuch, AddressSpace.isScarce(with: 1 << shift, limit: 1 << 44) { continue }
            if let place = AddressSpace.reserve(1 << shift, isReadable: false) {
                return (place, 1 << shift, 1 << shift)
            }
        }
        return nil
    }

    deinit {
        AddressSpace.release(reserved, reservedByteCount)
    }

    func extend(to newByteCount: Int) throws(SystemError) {
        if newByteCount <= byteCount { return }
        if newByteCount > capacity { throw SystemError(.addressSpace, "map", path) }
        guard descriptor.isOurs else { throw SystemError(.io, "map", path) }
        // Touching a page past the end of the file would kill the process.
        var information: SystemCalls.FileInformation?
        let inspected = SystemCalls.inspect(descriptor.number, &information)
        guard let information else { throw SystemError(code: Int32(-inspected), "map", path) }
        if information.status.byteCount < newByteCount { throw SystemError(.io, "map", path) }
        let end = SystemCalls.wholePages(newByteCount)
        if end > reservedByteCount {
            guard AddressSpace.grow(reserved, from: reservedByteCount, to: end, isReadable: false) else {
                throw SystemError(.addressSpace, "map", path)
            }
            reservedByteCount = end
        }
        if end > mappedByteCount {
            let result = ForkWatch.withFiles { files -> Int in
                let result = SystemCalls.map(
                    descriptor.number, from: mappedByteCount, count: end - mappedByteCount,
                    over: reserved + mappedByteCount)
                if result >= 0 { files.mappings[reserved] = end }
                return result
            }
            if result < 0 { throw SystemError(code: Int32(-result), "map", path) }
            mappedByteCount = end
        }
        byteCount = newByteCount
    }
}
