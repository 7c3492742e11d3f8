// SPDX-License-Identifier: Apache-2.0
// The file system of the machine, with folders that cannot be synced, and with a count of the attempts to lock a file.

import Foundation
import RegnumSystem
import Synchronization

final class FaultyFileSystem: FileSystem {
    private let base = PosixFileSystem.shared
    /// The error of each sync of a folder; nil for none.
    private let failure: SystemError.Kind?
    /// The names whose folders were synced, or not.
    private let syncs = Mutex<[String]>([])
    private let attempts = Atomic(0)

    init(failure: SystemError.Kind? = nil) { self.failure = failure }

    var syncedNames: [String] { syncs.withLock { $0 } }
    var lockAttempts: Int { attempts.load(ordering: .relaxed) }

    var isShared: Bool { base.isShared }

    func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
        let file = try base.open(path, mode)
        return mode == .readWrite ? CountingFile(file, self) : file
    }
    func status(_ path: String) throws(SystemError) -> FileStatus? { try base.status(path) }
    func linked(_ path: String) -> String { base.linked(path) }
    func filesLocked(at bytes: Range<Int>, besides file: FileIdentity) -> [any File] {
        base.filesLocked(at: bytes, besides: file)
    }
    func remove(_ path: String) throws(SystemError) { try base.remove(path) }
    func rename(_ source: String, to target: String) throws(SystemError) { try base.rename(source, to: target) }
    func renameIfAbsent(_ source: String, to target: String) throws(SystemError) {
        try base.renameIfAbsent(source, to: target)
    }
    func makeDirectories(_ path: String) throws(SystemError) { try base.makeDirectories(path) }
    func syncDirectory(containing path: String) throws(SystemError) {
        // The database syncs the folder of its temporary file itself.
        if path.hasSuffix(".new") { return try base.syncDirectory(containing: path) }
        syncs.withLock { $0.append(URL(fileURLWithPath: path).lastPathComponent) }
        if let failure { throw SystemError(failure, "sync directory", path) }
        try base.syncDirectory(containing: path)
    }
    func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) { base.fillRandom(buffer) }

    fileprivate func countAttempt() { attempts.add(1, ordering: .relaxed) }
}

private final class CountingFile: File {
    private let base: any File
    private let system: FaultyFileSystem

    init(_ base: any File, _ system: FaultyFileSystem) {
        self.base = base
        self.system = system
    }

    var identity: FileIdentity { base.identity }
    func byteCount() throws(SystemError) -> Int { try base.byteCount() }
    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
        try base.read(buffer, at: offset)
    }
    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        try base.write(buffer, at: offset)
    }
    func allocate(_ byteCount: Int) throws(SystemError) { try base.allocate(byteCount) }
    func fillHoles(_ byteCount: Int) throws(SystemError) { try base.fillHoles(byteCount) }
    func truncate(_ byteCount: Int) throws(SystemError) { try base.truncate(byteCount) }
    func sync(_ kind: SyncKind) throws(SystemError) { try base.sync(kind) }
    func makeRegion() throws(SystemError) -> any MappedRegion { try base.makeRegion() }
    func mapShared(_ byteCount: Int) throws(SystemError) -> UnsafeMutableRawPointer { try base.mapShared(byteCount) }
    func tryLock(byte: Int) throws(SystemError) -> Bool {
        system.countAttempt()
        return try base.tryLock(byte: byte)
    }
    func lock(byte: Int) throws(SystemError) { try base.lock(byte: byte) }
    func tryLockShared(byte: Int) throws(SystemError) -> Bool { try base.tryLockShared(byte: byte) }
    func unlock(byte: Int) { base.unlock(byte: byte) }
    func isLocked(bytes: Range<Int>) throws(SystemError) -> Bool { try base.isLocked(bytes: bytes) }
    func lockedBytes(in bytes: Range<Int>) throws(SystemError) -> Range<Int>? { try base.lockedBytes(in: bytes) }
    func close() { base.close() }
}
