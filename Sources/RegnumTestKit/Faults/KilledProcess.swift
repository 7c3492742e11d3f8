// SPDX-License-Identifier: Apache-2.0
// Kills a real process at a chosen call to the disk, for the body of an exit test.

internal import Foundation
public import Regnum
internal import RegnumSystem
internal import Synchronization

/// Opens a realm, runs `block`, and kills this process with SIGKILL just before call number `call` to the disk that
/// `block` causes, or after `block` if it causes fewer. It never returns, so it is used in an exit test, which runs in
/// a separate process:
///
/// ```swift
/// @MainActor @Test(arguments: 0..<12)
/// func aKilledProcessLosesNoCat(_ call: Int) async throws {
///     let test = try TestRealm(Cat.self, storage: .file)
///     try Shelter(realm: test.realm).take(1, "Tom")
///     let path = try #require(test.configuration.fileURL?.path)
///     await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, call = call as Int] in
///         let configuration = Realm.Configuration(fileURL: URL(fileURLWithPath: path), objectTypes: [Cat.self])
///         try killProcess(atDiskCall: call, of: configuration) { realm in
///             try Shelter(realm: realm).take(2, "Tiger")
///         }
///     }
///     test.realm.refresh()
///     #expect(test.realm.objects(Cat.self).first?.name == "Tom")
/// }
/// ```
///
/// Unlike `expectSurvival(of: [.killedProcess])`, which simulates the fault, this is real: the file, its locks, and
/// other processes that have it open. Each call needs a process of its own, which takes tens of milliseconds or more.
///
/// - Parameters:
///   - call: The number of the call, from 0. Calls that write, extend, truncate, sync, create, rename and remove files
///     are counted.
///   - configuration: The configuration of a file. Opening it is not counted.
///   - block: The code under test.
/// - Throws: `Realm.Error` if the realm cannot be opened, or the error that `block` throws; then nothing is killed.
/// - Thread: Any; `block` runs on the calling thread.
public func killProcess(
    atDiskCall call: Int, of configuration: Realm.Configuration, in block: (Realm) throws -> Void
) throws -> Never {
    precondition(configuration.inMemoryIdentifier == nil, "data in memory does not survive its process: use a file")
    let files = KillingFileSystem(configuration.extras.fileSystem ?? PosixFileSystem.shared)
    var configuration = configuration
    configuration.extras.fileSystem = files
    let realm = try Realm(configuration: configuration)
    files.arm(call)
    try block(realm)
    killNow()
}

private func killNow() -> Never {
    kill(getpid(), SIGKILL)
    // SIGKILL runs no handler, but the call may return before the signal arrives.
    while true { pause() }
}

/// The system's files, until the call at which the process is killed.
private final class KillingFileSystem: FileSystem {
    private let base: any FileSystem
    /// The number of calls left; negative while calls are not counted.
    private let left = Atomic(-1)

    init(_ base: any FileSystem) { self.base = base }

    func arm(_ call: Int) { left.store(max(call, 0), ordering: .sequentiallyConsistent) }

    /// Counts one call, and kills the process if it is the chosen one.
    fileprivate func step() {
        if left.load(ordering: .relaxed) < 0 { return }
        if left.subtract(1, ordering: .sequentiallyConsistent).oldValue == 0 { killNow() }
    }

    var isShared: Bool { base.isShared }

    func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
        if mode.makesFiles { step() }
        return KillingFile(try base.open(path, mode), self)
    }
    func status(_ path: String) throws(SystemError) -> FileStatus? { try base.status(path) }
    func linked(_ path: String) -> String { base.linked(path) }
    func filesLocked(at bytes: Range<Int>, besides file: FileIdentity) -> [any File] {
        base.filesLocked(at: bytes, besides: file)
    }
    func remove(_ path: String) throws(SystemError) {
        step()
        try base.remove(path)
    }
    func rename(_ source: String, to target: String) throws(SystemError) {
        step()
        try base.rename(source, to: target)
    }
    func renameIfAbsent(_ source: String, to target: String) throws(SystemError) {
        step()
        try base.renameIfAbsent(source, to: target)
    }
    func makeDirectories(_ path: String) throws(SystemError) {
        step()
        try base.makeDirectories(path)
    }
    func syncDirectory(containing path: String) throws(SystemError) {
        step()
        try base.syncDirectory(containing: path)
    }
    func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) { base.fillRandom(buffer) }
}

private final class KillingFile: File {
    private let base: any File
    private let system: KillingFileSystem

    init(_ base: any File, _ system: KillingFileSystem) {
        self.base = base
        self.system = system
    }

    var identity: FileIdentity { base.identity }
    func byteCount() throws(SystemError) -> Int { try base.byteCount() }
    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
        try base.read(buffer, at: offset)
    }
    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        system.step()
        try base.write(buffer, at: offset)
    }
    func allocate(_ byteCount: Int) throws(SystemError) {
        system.step()
        try base.allocate(byteCount)
    }
    func truncate(_ byteCount: Int) throws(SystemError) {
        system.step()
        try base.truncate(byteCount)
    }
    func beginWriteback(_ range: Range<Int>) throws(SystemError) {
        system.step()
        try base.beginWriteback(range)
    }
    func sync(_ kind: SyncKind) throws(SystemError) {
        system.step()
        try base.sync(kind)
    }
    func fillHoles(_ byteCount: Int) throws(SystemError) {
        system.step()
        try base.fillHoles(byteCount)
    }
    func takeAccess(of other: any File, asReplacement: Bool) -> Bool {
        system.step()
        return base.takeAccess(of: (other as? KillingFile)?.base ?? other, asReplacement: asReplacement)
    }
    func show(_ range: Range<Int>, over target: UnsafeMutableRawPointer) -> Bool { base.show(range, over: target) }
    func makeRegion() throws(SystemError) -> any MappedRegion { try base.makeRegion() }
    func mapShared(_ byteCount: Int) throws(SystemError) -> UnsafeMutableRawPointer { try base.mapShared(byteCount) }
    func tryLock(byte: Int) throws(SystemError) -> Bool { try base.tryLock(byte: byte) }
    func lock(byte: Int) throws(SystemError) { try base.lock(byte: byte) }
    func lock(byte: Int, isShared: Bool, until deadline: UInt64) throws(SystemError) -> Bool {
        try base.lock(byte: byte, isShared: isShared, until: deadline)
    }
    func unlock(byte: Int) { base.unlock(byte: byte) }
    func tryLockShared(byte: Int) throws(SystemError) -> Bool { try base.tryLockShared(byte: byte) }
    func isLocked(bytes: Range<Int>) throws(SystemError) -> Bool { try base.isLocked(bytes: bytes) }
    func lockedBytes(in bytes: Range<Int>) throws(SystemError) -> Range<Int>? { try base.lockedBytes(in: bytes) }
    func close() { base.close() }
}
