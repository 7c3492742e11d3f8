// SPDX-License-Identifier: Apache-2.0
// A file system that loses power or fails on demand, reproducibly for each seed.

package import RegnumSystem
internal import Synchronization

/// A file system in memory that tracks what each sync has confirmed. Directories are only names, as in
/// `MemoryFileSystem`. Bytes written through `mapShared` are never durable. Any thread; but the numbering of calls, and
/// with it failures and crashes, is reproducible only if a single thread makes the calls.
package final class SimulatedFileSystem: FileSystem {
    private static let nextDevice = Atomic<UInt64>(1)

    package let isShared: Bool
    let disk: Mutex<SimulatedDisk>
    /// Called before each sync of a file takes effect, on the thread that syncs. At that moment everything in a commit
    /// is issued and nothing is confirmed, so one run yields the crash images of all its prefixes.
    package var beforeSync: (@Sendable (SimulatedFileSystem) -> Void)? {
        get { syncHook.withLock { $0.call } }
        set { syncHook.withLock { $0.call = newValue } }
    }
    private struct SyncHook {
        var call: (@Sendable (SimulatedFileSystem) -> Void)?
    }
    private let syncHook = Mutex(SyncHook())
    let reservedByteCount: Int
    let openCount = Atomic<Int>(0)
    private let device: UInt64

    /// `reservedByteCount` is the address space reserved for each open file, and therefore the maximum length of a
    /// file.
    package init(seed: UInt64 = 1, isShared: Bool = true, reservedByteCount: Int = 4 << 30) {
        self.isShared = isShared
        self.reservedByteCount = reservedByteCount
        disk = Mutex(SimulatedDisk(seed: seed))
        // This bit keeps the device numbers apart from those of the system and of files in memory.
        device = Self.nextDevice.wrappingAdd(1, ordering: .relaxed).oldValue | 1 << 62
    }

    package func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
        let (node, live) = try disk.withLock { disk throws(SystemError) in
            try disk.enter("open", path)
            if let node = disk.names[path] {
                if case .createNew = mode { throw SystemError(.exists, "open", path) }
                return (node, try node.openLive(reservedByteCount))
            }
            if disk.isDirectory(path) { throw SystemError(.isDirectory, "open", path) }
            if disk.names[parentPath(path)] != nil { throw SystemError(.notDirectory, "open", path) }
            if !mode.makesFiles { throw SystemError(.notFound, "open", path) }
            let node = makeNode(&disk, [])
            let live = try node.openLive(reservedByteCount)
            disk.names[path] = node
            disk.pending.append(.link(path: path, node))
            return (node, live)
        }
        return SimulatedFile(self, node, live, path, isWritable: mode.writes)
    }

    package func status(_ path: String) throws(SystemError) -> FileStatus? {
        try disk.withLock { disk throws(SystemError) in
            try disk.enter("inspect", path)
            if let node = disk.names[path] {
                return FileStatus(kind: .file, byteCount: node.byteCount, identity: node.identity)
            }
            return disk.isDirectory(path) ? FileStatus(kind: .directory, byteCount: 0) : nil
        }
    }

    package func remove(_ path: String) throws(SystemError) {
        try disk.withLock { disk throws(SystemError) in
            try disk.enter("remove", path)
            if disk.names.removeValue(forKey: path) == nil {
                throw SystemError(disk.isDirectory(path) ? .isDirectory : .notFound, "remove", path)
            }
            disk.pending.append(.unlink(path: path))
        }
    }

    package func rename(_ source: String, to target: String) throws(SystemError) {
        try rename(source, to: target, replaces: true)
    }

    package func renameIfAbsent(_ source: String, to target: String) throws(SystemError) {
        try rename(source, to: target, replaces: false)
    }

    private func rename(_ source: String, to target: String, replaces: Bool) throws(SystemError) {
        try disk.withLock { disk throws(SystemError) in
            try disk.enter("rename", source)
            guard let node = disk.names[source] else { throw SystemError(.notFound, "rename", source) }
            if !replaces, disk.names[target] != nil { throw SystemError(.exists, "rename", target) }
            if source == target { return }
            if disk.isDirectory(target) { throw SystemError(.isDirectory, "rename", source) }
            let operation = PendingOperation.rename(source: source, target: target, node)
            operation.apply(to: &disk.names)
            disk.pending.append(operation)
        }
    }

    /// Directories are durable immediately, because a new directory contains nothing that could be lost.
    package func makeDirectories(_ path: String) throws(SystemError) {
        try disk.withLock { disk throws(SystemError) in
            try disk.enter("make directory", path)
            if disk.names[path] != nil { throw SystemError(.notDirectory, "make directory", path) }
            var directory = path
            while directory != "/", directory != ".", disk.directories.insert(directory).inserted {
                directory = parentPath(directory)
            }
        }
    }

    /// If it fails, the names stay unconfirmed and a later call confirms them, because names go through the journal.
    package func syncDirectory(containing path: String) throws(SystemError) {
        let directory = parentPath(path)
        try disk.withLock { disk throws(SystemError) in
            try disk.enter("sync directory", directory)
            disk.confirmNames(in: directory)
        }
    }

    package func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) {
        disk.withLock { disk in
            for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: disk.random.next()) }
        }
    }

    private func makeNode(_ disk: inout SimulatedDisk, _ bytes: [UInt8]) -> SimulatedNode {
        let identity = FileIdentity(device: device, inode: disk.nextInode)
        disk.nextInode += 1
        return SimulatedNode(identity, durable: bytes)
    }
}

// MARK: - Failures

extension SimulatedFileSystem {
    /// The number of calls so far that can throw, of the file system and all its files and regions.
    package var operationCount: Int { disk.withLock { $0.callCount } }

    /// The number of calls so far of one operation, named as in errors.
    package func operationCount(of operation: String) -> Int {
        disk.withLock { $0.callCounts[operation, default: 0] }
    }

    /// The call that fails, if any. A failing write still writes some part of its bytes, from the beginning. After a
    /// failing sync it stays unknown for good whether the bytes written before it are durable. Every other failing call
    /// does nothing.
    package var failure: SimulatedFailure? {
        get { disk.withLock { $0.failure } }
        set { disk.withLock { $0.failure = newValue } }
    }

    /// Whether a failed sync also makes the next sync of every other open file of the same file fail, as on Linux. If
    /// not, only the caller learns of the failure.
    package var tellsEachFile: Bool {
        get { disk.withLock { $0.tellsEachFile } }
        set { disk.withLock { $0.tellsEachFile = newValue } }
    }

    /// The operations of the calls since this was set to an empty list, in order; nil if they are not recorded.
    package var recordedCalls: [String]? {
        get { disk.withLock { $0.recordedCalls } }
        set { disk.withLock { $0.recordedCalls = newValue } }
    }

    /// Makes every call from index `call` on fail with `.io` and do nothing, as if the power were off.
    package func crashAfterCall(_ call: Int) {
        disk.withLock { $0.powerEnds = call }
    }
}

// MARK: - Power loss

extension SimulatedFileSystem {
    /// The number of operations that no sync has confirmed. A write that extends the file counts as two.
    package var pendingOperationCount: Int { disk.withLock { $0.pending.count } }

    /// Creates the file system that a power loss now would leave: nothing unconfirmed, no locks, no failures. This one
    /// is unchanged.
    package func crash(model: LossModel, random: inout SeededRandom) -> SimulatedFileSystem {
        crash(keepingFirst: .max, model: model, random: &random)
    }

    /// Like `crash(model:random:)`, as if only the first `count` of the unconfirmed operations had been issued.
    package func crash(
        keepingFirst count: Int, model: LossModel, random: inout SeededRandom
    ) -> SimulatedFileSystem {
        let (directories, names, files) = disk.withLock { disk in
            var image = CrashImage(disk, keepingFirst: count, model: model, random: &random)
            let (names, files) = image.build(&random)
            return (disk.directories, names, files)
        }
        let result = SimulatedFileSystem(
            seed: random.next(), isShared: isShared, reservedByteCount: reservedByteCount)
        result.disk.withLock { disk in
            disk.directories = directories
            var nodes: [ObjectIdentifier: SimulatedNode] = [:]
            for path in names.keys.sorted() {
                guard let identifier = names[path], let bytes = files[identifier] else { continue }
                let node = nodes[identifier] ?? result.makeNode(&disk, bytes)
                nodes[identifier] = node
                disk.names[path] = node
                disk.durableNames[path] = node
            }
        }
        return result
    }
}

// MARK: - Whole files, for tests

extension SimulatedFileSystem {
    /// The paths of all files, sorted. Not counted as a call.
    package var paths: [String] { disk.withLock { $0.names.keys.sorted() } }

    /// The number of open files, with their locks, and of regions, which also keep a file open in a real system. Not
    /// counted as a call.
    package var openFileCount: Int { openCount.load(ordering: .acquiring) }

    /// The bytes of a file as programs see them; nil if there is no such file. Not counted as a call.
    package func contents(of path: String) -> [UInt8]? {
        disk.withLock { $0.names[path]?.liveBytes }
    }

    /// Replaces or creates a file, durable immediately, even if the file is open. Not counted as a call.
    package func setContents(of path: String, _ bytes: [UInt8]) {
        disk.withLock { disk in
            if let node = disk.names[path] {
                disk.pending.removeAll { $0.node === node }
                node.reset(to: bytes)
                disk.durableNames[path] = node
            } else {
                let node = makeNode(&disk, bytes)
                disk.names[path] = node
                disk.durableNames[path] = node
            }
        }
    }
}
