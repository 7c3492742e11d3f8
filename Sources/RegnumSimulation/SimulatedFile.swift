// SPDX-License-Identifier: Apache-2.0
// An open file of the simulation, and its region.

import RegnumSystem
import Synchronization

final class SimulatedFile: File {
    private let fileSystem: SimulatedFileSystem
    private let node: SimulatedNode
    private let live: ReservedMemory
    private let path: String
    private let isWritable: Bool
    private let isClosed = Atomic<Bool>(false)
    /// The number of failed syncs of the file that this open file has reported, or that happened before it was opened.
    private let toldFailures: Atomic<Int>

    init(
        _ fileSystem: SimulatedFileSystem, _ node: SimulatedNode, _ live: ReservedMemory, _ path: String,
        isWritable: Bool
    ) {
        self.fileSystem = fileSystem
        self.node = node
        self.live = live
        self.path = path
        self.isWritable = isWritable
        toldFailures = Atomic(node.failedSyncs)
        fileSystem.openCount.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }

    deinit { close() }

    var identity: FileIdentity { node.identity }

    func byteCount() throws(SystemError) -> Int {
        try call("inspect") { _ in node.byteCount }
    }

    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
        try call("read") { _ throws(SystemError) in
            if offset < 0 { throw SystemError(.io, "read", path) }
            let count = max(0, min(buffer.count, node.byteCount - offset))
            if let target = buffer.baseAddress, count > 0 {
                Memory.copy(target, live.base + offset, count)
            }
            return count
        }
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        if isClosed.load(ordering: .acquiring) || !isWritable { throw SystemError(.io, "write", path) }
        try fileSystem.disk.withLock { disk throws(SystemError) in
            let (end, overflow) = offset.addingReportingOverflow(buffer.count)
            do throws(SystemError) {
                try disk.enter("write", path)
            } catch {
                if disk.hasPower, offset >= 0, end <= live.byteCount, !overflow {
                    let part = disk.random.below(buffer.count / 512 + 1) * 512
                    disk.write(node, live, UnsafeRawBufferPointer(rebasing: buffer.prefix(part)), at: offset)
                }
                throw error
            }
            if offset < 0 { throw SystemError(.io, "write", path) }
            if overflow || end > live.byteCount { throw SystemError(.noSpace, "write", path) }
            disk.write(node, live, buffer, at: offset)
        }
    }

    func allocate(_ byteCount: Int) throws(SystemError) {
        try call("allocate", writes: true) { disk throws(SystemError) in
            if byteCount > live.byteCount { throw SystemError(.noSpace, "allocate", path) }
            disk.grow(node, to: byteCount)
        }
    }

    func truncate(_ byteCount: Int) throws(SystemError) {
        try call("truncate", writes: true) { disk throws(SystemError) in
            if byteCount < 0 { throw SystemError(.io, "truncate", path) }
            disk.cut(node, to: byteCount)
        }
    }

    /// Both kinds confirm the bytes and the length. Neither confirms the name; `syncDirectory` does.
    func sync(_ kind: SyncKind) throws(SystemError) {
        if isClosed.load(ordering: .acquiring) { throw SystemError(.io, "sync", path) }
        fileSystem.beforeSync?(fileSystem)
        try fileSystem.disk.withLock { disk throws(SystemError) in
            try enterSync("sync", &disk)
            disk.confirm(node)
            let told = toldFailures.exchange(node.failedSyncs, ordering: .relaxed)
            if disk.tellsEachFile, told != node.failedSyncs { throw SystemError(.io, "sync", path) }
        }
    }

    /// Has no effect of its own: written bytes may reach the disk at any time anyway. Fails like a sync.
    func beginWriteback(_ range: Range<Int>) throws(SystemError) {
        if isClosed.load(ordering: .acquiring) { throw SystemError(.io, "writeback", path) }
        try fileSystem.disk.withLock { disk throws(SystemError) in try enterSync("writeback", &disk) }
    }

    /// Reports a failure to the caller, and to the next sync of every other open file.
    private func enterSync(_ operation: String, _ disk: inout SimulatedDisk) throws(SystemError) {
        do throws(SystemError) {
            try disk.enter(operation, path)
        } catch {
            if disk.hasPower {
                disk.distrust(node)
                toldFailures.store(node.failedSyncs, ordering: .relaxed)
            }
            throw error
        }
    }

    func makeRegion() throws(SystemError) -> any MappedRegion {
        try call("map") { _ in }
        return SimulatedRegion(fileSystem, node, live, path)
    }

    func mapShared(_ byteCount: Int) throws(SystemError) -> UnsafeMutableRawPointer {
        try call("map", writes: true) { _ throws(SystemError) in
            if byteCount > node.byteCount { throw SystemError(.io, "map", path) }
        }
        return live.base
    }

    func tryLock(byte: Int) throws(SystemError) -> Bool {
        try call("lock") { _ in }
        return node.locks.tryLock(byte: byte, owner: ObjectIdentifier(self))
    }

    func lock(byte: Int) throws(SystemError) {
        try call("lock") { _ in }
        node.locks.lock(byte: byte, owner: ObjectIdentifier(self))
    }

    func unlock(byte: Int) {
        node.locks.unlock(byte: byte, owner: ObjectIdentifier(self))
    }

    func tryLockShared(byte: Int) throws(SystemError) -> Bool {
        try call("lock") { _ in }
        return node.locks.tryLockShared(byte: byte, owner: ObjectIdentifier(self))
    }

    func lockedBytes(in bytes: Range<Int>) throws(SystemError) -> Range<Int>? {
        try call("lock") { _ in }
        return node.locks.lockedBytes(in: bytes, except: ObjectIdentifier(self))
    }

    func isLocked(bytes: Range<Int>) throws(SystemError) -> Bool {
        try call("lock") { _ in }
        return node.locks.isLocked(bytes: bytes, except: ObjectIdentifier(self))
    }

    func close() {
        if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
        node.locks.unlockAll(owner: ObjectIdentifier(self))
        fileSystem.openCount.wrappingSubtract(1, ordering: .acquiringAndReleasing)
    }

    /// Counts the call, and performs it unless it is to fail.
    private func call<Result: Sendable>(
        _ operation: String, writes: Bool = false,
        _ body: (inout SimulatedDisk) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        if isClosed.load(ordering: .acquiring) || (writes && !isWritable) {
            throw SystemError(.io, operation, path)
        }
        return try fileSystem.disk.withLock { disk throws(SystemError) in
            try disk.enter(operation, path)
            return try body(&disk)
        }
    }
}

final class SimulatedRegion: MappedRegion, @unchecked Sendable {
    // Unchecked: everything is constant except the byte count, and callers serialise `extend`.

    private let fileSystem: SimulatedFileSystem
    private let node: SimulatedNode
    private let live: ReservedMemory
    private let path: String
    private(set) var byteCount = 0

    init(_ fileSystem: SimulatedFileSystem, _ node: SimulatedNode, _ live: ReservedMemory, _ path: String) {
        self.fileSystem = fileSystem
        self.node = node
        self.live = live
        self.path = path
        fileSystem.openCount.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }

    deinit { fileSystem.openCount.wrappingSubtract(1, ordering: .acquiringAndReleasing) }

    var base: UnsafeRawPointer { UnsafeRawPointer(live.base) }

    var capacity: Int { live.byteCount }

    func extend(to newByteCount: Int) throws(SystemError) {
        if newByteCount <= byteCount { return }
        let available = try fileSystem.disk.withLock { disk throws(SystemError) in
            try disk.enter("map", path)
            return node.byteCount
        }
        if newByteCount > capacity { throw SystemError(.addressSpace, "map", path) }
        if newByteCount > available { throw SystemError(.io, "map", path) }
        byteCount = newByteCount
    }
}
