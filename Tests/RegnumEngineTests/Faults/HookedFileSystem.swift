// SPDX-License-Identifier: Apache-2.0
// A file system whose calls run code of a test, to simulate another process at that moment.

import RegnumSystem

final class HookedFileSystem: FileSystem, @unchecked Sendable {
    // Unchecked: the hooks are set before the files are used, and run on the calling thread.
    enum Call: Equatable {
        case read(at: Int)
        case write(at: Int, byteCount: Int)
        case sync
        /// After a sync that has failed.
        case failedSync
        case beginWriteback(Range<Int>)
        /// A query of the file's length.
        case look
        case lock(byte: Int)
        case unlock(byte: Int)
    }

    enum Request: Equatable {
        case open(OpenMode)
        case rename
        case syncDirectory
        case takeAccess
        case tryLock
    }

    private let base: any FileSystem
    /// Asked before a call: the error to throw instead of the call.
    var refusal: (Request, String) -> SystemError? = { _, _ in nil }
    /// Called before a call; the path is the one by which the file was opened.
    var before: (Call, String) -> Void = { _, _ in }
    /// Bytes that replace all random ones of the file system.
    var random: UInt8?
    /// Called after a call.
    var after: (Call, String) -> Void = { _, _ in }

    init(_ base: any FileSystem) { self.base = base }

    var isShared: Bool { base.isShared }

    func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
        if let error = refusal(.open(mode), path) { throw error }
        return HookedFile(try base.open(path, mode), path, self)
    }
    func status(_ path: String) throws(SystemError) -> FileStatus? { try base.status(path) }
    func remove(_ path: String) throws(SystemError) { try base.remove(path) }
    func rename(_ source: String, to target: String) throws(SystemError) {
        if let error = refusal(.rename, source) { throw error }
        try base.rename(source, to: target)
    }
    func renameIfAbsent(_ source: String, to target: String) throws(SystemError) {
        try base.renameIfAbsent(source, to: target)
    }
    func makeDirectories(_ path: String) throws(SystemError) { try base.makeDirectories(path) }
    func syncDirectory(containing path: String) throws(SystemError) {
        if let error = refusal(.syncDirectory, path) { throw error }
        try base.syncDirectory(containing: path)
    }
    func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let random else { return base.fillRandom(buffer) }
        for index in buffer.indices { buffer[index] = random }
    }
}

private final class HookedFile: File {
    private let base: any File
    private let path: String
    private let fileSystem: HookedFileSystem

    init(_ base: any File, _ path: String, _ fileSystem: HookedFileSystem) {
        self.base = base
        self.path = path
        self.fileSystem = fileSystem
    }

    var identity: FileIdentity { base.identity }
    func byteCount() throws(SystemError) -> Int {
        let count = try base.byteCount()
        fileSystem.after(.look, path)
        return count
    }
    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
        let count = try base.read(buffer, at: offset)
        fileSystem.after(.read(at: offset), path)
        return count
    }
    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        let call = HookedFileSystem.Call.write(at: offset, byteCount: buffer.count)
        fileSystem.before(call, path)
        try base.write(buffer, at: offset)
        fileSystem.after(call, path)
    }
    func allocate(_ byteCount: Int) throws(SystemError) { try base.allocate(byteCount) }
    func truncate(_ byteCount: Int) throws(SystemError) { try base.truncate(byteCount) }
    func sync(_ kind: SyncKind) throws(SystemError) {
        fileSystem.before(.sync, path)
        do { try base.sync(kind) } catch {
            fileSystem.after(.failedSync, path)
            throw error
        }
        fileSystem.after(.sync, path)
    }
    func beginWriteback(_ range: Range<Int>) throws(SystemError) {
        fileSystem.before(.beginWriteback(range), path)
        try base.beginWriteback(range)
    }
    func makeRegion() throws(SystemError) -> any MappedRegion { try base.makeRegion() }
    func mapShared(_ byteCount: Int) throws(SystemError) -> UnsafeMutableRawPointer { try base.mapShared(byteCount) }
    func tryLock(byte: Int) throws(SystemError) -> Bool {
        fileSystem.before(.lock(byte: byte), path)
        if let error = fileSystem.refusal(.tryLock, path) { throw error }
        return try base.tryLock(byte: byte)
    }
    func lock(byte: Int) throws(SystemError) {
        fileSystem.before(.lock(byte: byte), path)
        try base.lock(byte: byte)
        fileSystem.after(.lock(byte: byte), path)
    }
    func unlock(byte: Int) {
        fileSystem.before(.unlock(byte: byte), path)
        base.unlock(byte: byte)
        fileSystem.after(.unlock(byte: byte), path)
    }
    func tryLockShared(byte: Int) throws(SystemError) -> Bool {
        fileSystem.before(.lock(byte: byte), path)
        if let error = fileSystem.refusal(.tryLock, path) { throw error }
        return try base.tryLockShared(byte: byte)
    }
    func isLocked(bytes: Range<Int>) throws(SystemError) -> Bool { try base.isLocked(bytes: bytes) }
    func lockedBytes(in bytes: Range<Int>) throws(SystemError) -> Range<Int>? { try base.lockedBytes(in: bytes) }
    func takeAccess(of other: any File, asReplacement: Bool) -> Bool {
        if fileSystem.refusal(.takeAccess, path) != nil { return false }
        return base.takeAccess(of: (other as? HookedFile)?.base ?? other, asReplacement: asReplacement)
    }
    func close() { base.close() }
}
