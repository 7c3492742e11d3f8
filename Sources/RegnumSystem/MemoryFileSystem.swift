// SPDX-License-Identifier: Apache-2.0
// Files that live in the memory of this process and end with it.

import Synchronization

/// A file system without a disk. Directories are only names: a file may be created under any path, and a directory
/// exists once it was created or contains a file. A file lives as long as it has a name, an open file or a region.
package final class MemoryFileSystem: FileSystem {
    private struct State: ~Copyable {
        var files: [String: MemoryFileStorage] = [:]
        var directories: Set<String> = []
        var nextInode: UInt64 = 1
    }

    private static let nextDevice = Atomic<UInt64>(1)

    private let state = Lock(State())
    private let budget: MemoryBudget
    private let device: UInt64

    /// Growing a file fails with `.noSpace` if the lengths of all files together would exceed `capacityLimit`.
    package init(capacityLimit: Int = .max) {
        budget = MemoryBudget(limit: capacityLimit)
        // The highest bit keeps these device numbers apart from those of the system.
        device = Self.nextDevice.wrappingAdd(1, ordering: .relaxed).oldValue | 1 << 63
    }

    package var isShared: Bool { false }

    /// The limit on the total length of all files. Lowering it below the current total only prevents growth.
    package var capacityLimit: Int {
        get { budget.limit }
        set { budget.limit = newValue }
    }

    package func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
        let storage = try state.withLock { state throws(SystemError) in
            if let storage = state.files[path] {
                if case .createNew = mode { throw SystemError(.exists, "open", path) }
                return storage
            }
            if Self.isDirectory(path, state) { throw SystemError(.isDirectory, "open", path) }
            if state.files[parentPath(path)] != nil { throw SystemError(.notDirectory, "open", path) }
            if !mode.makesFiles { throw SystemError(.notFound, "open", path) }
            let identity = FileIdentity(device: device, inode: state.nextInode)
            let storage = try MemoryFileStorage(identity, path, budget)
            state.nextInode += 1
            state.files[path] = storage
            return storage
        }
        return MemoryFile(storage, path, isWritable: mode.writes)
    }

    package func status(_ path: String) throws(SystemError) -> FileStatus? {
        state.withLock { state in
            if let storage = state.files[path] {
                return FileStatus(kind: .file, byteCount: storage.byteCount, identity: storage.identity)
            }
            return Self.isDirectory(path, state) ? FileStatus(kind: .directory, byteCount: 0) : nil
        }
    }

    package func remove(_ path: String) throws(SystemError) {
        // Released after the lock, because the last reference unmaps the memory.
        let removed = try state.withLock { state throws(SystemError) in
            if let removed = state.files.removeValue(forKey: path) { return removed }
            throw SystemError(Self.isDirectory(path, state) ? .isDirectory : .notFound, "remove", path)
        }
        withExtendedLifetime(removed) {}
    }

    package func rename(_ source: String, to target: String) throws(SystemError) {
        try rename(source, to: target, replaces: true)
    }

    package func renameIfAbsent(_ source: String, to target: String) throws(SystemError) {
        try rename(source, to: target, replaces: false)
    }

    private func rename(_ source: String, to target: String, replaces: Bool) throws(SystemError) {
        let replaced = try state.withLock { state throws(SystemError) -> MemoryFileStorage? in
            if !replaces, state.files[target] != nil || Self.isDirectory(target, state) {
                throw SystemError(.exists, "rename", target)
            }
            guard let storage = state.files[source] else { throw SystemError(.notFound, "rename", source) }
            if source == target { return nil }
            if Self.isDirectory(target, state) { throw SystemError(.isDirectory, "rename", source) }
            state.files[source] = nil
            let replaced = state.files[target]
            state.files[target] = storage
            return replaced
        }
        withExtendedLifetime(replaced) {}
    }

    package func makeDirectories(_ path: String) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            if state.files[path] != nil { throw SystemError(.notDirectory, "make directory", path) }
            var directory = path
            while directory != "/", directory != ".", state.directories.insert(directory).inserted {
                directory = parentPath(directory)
            }
        }
    }

    package func syncDirectory(containing path: String) throws(SystemError) {}

    package func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) {
        SystemCalls.fillRandom(buffer)
    }

    private static func isDirectory(_ path: String, _ state: borrowing State) -> Bool {
        if path == "/" || path == "." || state.directories.contains(path) { return true }
        let prefix = path.hasSuffix("/") ? path : path + "/"
        return state.files.keys.contains { $0.hasPrefix(prefix) }
    }
}

/// The space budget of one memory file system. Any thread.
final class MemoryBudget: Sendable {
    private let state: Lock<(limit: Int, used: Int)>

    init(limit: Int) { state = Lock((limit, 0)) }

    var limit: Int {
        get { state.withLock { $0.limit } }
        set { state.withLock { $0.limit = newValue } }
    }

    /// Returns false, and takes nothing, if the limit would be exceeded.
    func take(_ byteCount: Int) -> Bool {
        state.withLock { state in
            if byteCount > state.limit - state.used { return false }
            state.used += byteCount
            return true
        }
    }

    func giveBack(_ byteCount: Int) {
        state.withLock { $0.used -= byteCount }
    }
}

/// The bytes of one file, shared by its names, open files and regions. Any thread.
final class MemoryFileStorage: Sendable {
    let identity: FileIdentity
    let locks = MemoryByteLocks()
    let memory: ReservedMemory
    private let budget: MemoryBudget
    private let length = Atomic<Int>(0)
    /// Held while the length changes, so that the budget is charged once.
    private let growth = Lock(())

    init(_ identity: FileIdentity, _ path: String, _ budget: MemoryBudget) throws(SystemError) {
        self.identity = identity
        self.budget = budget
        do {
            memory = try ReservedMemory(byteCount: 64 << 30, minimum: 64 << 20, smallByteCount: 4 << 20)
        } catch {
            throw SystemError(.addressSpace, "open", path)
        }
    }

    deinit { budget.giveBack(length.load(ordering: .relaxed)) }

    var byteCount: Int { length.load(ordering: .acquiring) }

    /// Returns false if there is no space for that length. The new bytes are zeros.
    func grow(to byteCount: Int) -> Bool {
        if byteCount <= self.byteCount { return true }
        return growth.withLock { _ in
            let before = length.load(ordering: .relaxed)
            if byteCount <= before { return true }
            guard byteCount <= memory.byteCount, (try? memory.ensure(byteCount)) != nil,
                budget.take(byteCount - before)
            else { return false }
            length.store(byteCount, ordering: .releasing)
            return true
        }
    }

    /// A separate function that is never inlined: when optimised code ends a throwing function with a jump to
    /// `memmove`, it does not clear the error register (Swift 6.3.1, x86-64), and the caller sees an error that was
    /// never thrown. `Scripts/ci/static-linking` searches for such jumps.
    @inline(never)
    func put(_ bytes: UnsafeRawPointer, _ count: Int, at offset: Int) {
        Memory.move(memory.base + offset, bytes, count)
    }

    func shrink(to byteCount: Int) {
        growth.withLock { _ in
            let before = length.load(ordering: .relaxed)
            if byteCount >= before { return }
            length.store(byteCount, ordering: .releasing)
            memory.discard(byteCount..<before)
            budget.giveBack(before - byteCount)
        }
    }
}

/// An open file in memory.
final class MemoryFile: File {
    private let storage: MemoryFileStorage
    private let path: String
    private let isWritable: Bool
    private let isClosed = Atomic<Bool>(false)

    init(_ storage: MemoryFileStorage, _ path: String, isWritable: Bool) {
        self.storage = storage
        self.path = path
        self.isWritable = isWritable
    }

    deinit { close() }

    var identity: FileIdentity { storage.identity }

    func byteCount() throws(SystemError) -> Int {
        try check("inspect")
        return storage.byteCount
    }

    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
        try check("read")
        if offset < 0 { throw SystemError(.io, "read", path) }
        let count = max(0, min(buffer.count, storage.byteCount - offset))
        if let base = buffer.baseAddress, count > 0 {
            Memory.copy(base, storage.memory.base + offset, count)
        }
        return count
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        try check("write", writes: true)
        if offset < 0 { throw SystemError(.io, "write", path) }
        guard let base = buffer.baseAddress, buffer.count > 0 else { return }
        let (end, overflow) = offset.addingReportingOverflow(buffer.count)
        if overflow || !storage.grow(to: end) { throw SystemError(.noSpace, "write", path) }
        storage.put(base, buffer.count, at: offset)
    }

    func allocate(_ byteCount: Int) throws(SystemError) {
        try check("allocate", writes: true)
        if !storage.grow(to: byteCount) { throw SystemError(.noSpace, "allocate", path) }
    }

    func truncate(_ byteCount: Int) throws(SystemError) {
        try check("truncate", writes: true)
        if byteCount < 0 { throw SystemError(.io, "truncate", path) }
        storage.shrink(to: byteCount)
    }

    func sync(_ kind: SyncKind) throws(SystemError) {
        try check("sync")
    }

    func makeRegion() throws(SystemError) -> any MappedRegion {
        try check("map")
        return MemoryRegion(storage, path)
    }

    func mapShared(_ byteCount: Int) throws(SystemError) -> UnsafeMutableRawPointer {
        try check("map", writes: true)
        if byteCount > storage.byteCount { throw SystemError(.io, "map", path) }
        return storage.memory.base
    }

    func tryLock(byte: Int) throws(SystemError) -> Bool {
        try check("lock")
        return storage.locks.tryLock(byte: byte, owner: ObjectIdentifier(self))
    }

    func lock(byte: Int) throws(SystemError) {
        try check("lock")
        storage.locks.lock(byte: byte, owner: ObjectIdentifier(self))
    }

    func unlock(byte: Int) {
        storage.locks.unlock(byte: byte, owner: ObjectIdentifier(self))
    }

    func tryLockShared(byte: Int) throws(SystemError) -> Bool {
        try check("lock")
        return storage.locks.tryLockShared(byte: byte, owner: ObjectIdentifier(self))
    }

    func lockedBytes(in bytes: Range<Int>) throws(SystemError) -> Range<Int>? {
        try check("lock")
        return storage.locks.lockedBytes(in: bytes, except: ObjectIdentifier(self))
    }

    func isLocked(bytes: Range<Int>) throws(SystemError) -> Bool {
        try check("lock")
        return storage.locks.isLocked(bytes: bytes, except: ObjectIdentifier(self))
    }

    func close() {
        if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
        storage.locks.unlockAll(owner: ObjectIdentifier(self))
    }

    private func check(_ operation: String, writes: Bool = false) throws(SystemError) {
        if isClosed.load(ordering: .acquiring) || (writes && !isWritable) {
            throw SystemError(.io, operation, path)
        }
    }
}

/// A region over the bytes of a file in memory, without a copy.
final class MemoryRegion: MappedRegion, @unchecked Sendable {
    // Unchecked: everything is constant except the byte count, and callers serialise `extend`.

    private let storage: MemoryFileStorage
    private let path: String
    private(set) var byteCount = 0

    init(_ storage: MemoryFileStorage, _ path: String) {
        self.storage = storage
        self.path = path
    }

    var base: UnsafeRawPointer { UnsafeRawPointer(storage.memory.base) }

    var capacity: Int { storage.memory.byteCount }

    func extend(to newByteCount: Int) throws(SystemError) {
        if newByteCount <= byteCount { return }
        if newByteCount > capacity { throw SystemError(.addressSpace, "map", path) }
        if newByteCount > storage.byteCount { throw SystemError(.io, "map", path) }
        byteCount = newByteCount
    }
}
