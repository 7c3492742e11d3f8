// SPDX-License-Identifier: Apache-2.0
// The files of one simulated process of a schedule: each call is a step, and after the process's death each call fails.

package import RegnumSystem

/// Used only by the thread of its process.
package final class SteppedFileSystem: FileSystem {
    private let base: any FileSystem
    fileprivate let schedule: Schedule
    fileprivate let process: Int

    init(_ base: any FileSystem, _ schedule: Schedule, _ process: Int) {
        self.base = base
        self.schedule = schedule
        self.process = process
    }

    /// A step without a call, for example between two reads of memory.
    package func pause() { try? schedule.step(process) }

    package var isDead: Bool { schedule.isDead(process) }

    package var isShared: Bool { base.isShared }

    package func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
        try schedule.step(process)
        let file = try base.open(path, mode)
        schedule.opened(file, by: process)
        return SteppedFile(file, self)
    }

    package func status(_ path: String) throws(SystemError) -> FileStatus? {
        try schedule.step(process)
        return try base.status(path)
    }

    package func remove(_ path: String) throws(SystemError) {
        try schedule.step(process)
        try base.remove(path)
    }

    package func rename(_ source: String, to target: String) throws(SystemError) {
        try schedule.step(process)
        try base.rename(source, to: target)
    }

    package func renameIfAbsent(_ source: String, to target: String) throws(SystemError) {
        try schedule.step(process)
        try base.renameIfAbsent(source, to: target)
    }

    package func makeDirectories(_ path: String) throws(SystemError) {
        try schedule.step(process)
        try base.makeDirectories(path)
    }

    package func syncDirectory(containing path: String) throws(SystemError) {
        try schedule.step(process)
        try base.syncDirectory(containing: path)
    }

    package func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) { base.fillRandom(buffer) }
}

final class SteppedFile: File {
    private let base: any File
    private let fileSystem: SteppedFileSystem

    init(_ base: any File, _ fileSystem: SteppedFileSystem) {
        self.base = base
        self.fileSystem = fileSystem
    }

    private func step() throws(SystemError) { try fileSystem.schedule.step(fileSystem.process) }

    var identity: FileIdentity { base.identity }

    func byteCount() throws(SystemError) -> Int {
        try step()
        return try base.byteCount()
    }

    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
        try step()
        return try base.read(buffer, at: offset)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        try step()
        // Another process may read a half-written range. The process is killed between the halves only if the first
        // ends at a page boundary, because the system writes pages as a whole.
        let isLong = buffer.count > 4096
        let half = buffer.count / 2 & (isLong ? ~4095 : ~511)
        if half > 0 {
            try base.write(UnsafeRawBufferPointer(rebasing: buffer[..<half]), at: offset)
            try fileSystem.schedule.step(fileSystem.process, mayDie: isLong)
        }
        try base.write(UnsafeRawBufferPointer(rebasing: buffer[half...]), at: offset + half)
    }

    func allocate(_ byteCount: Int) throws(SystemError) {
        try step()
        try base.allocate(byteCount)
    }

    func truncate(_ byteCount: Int) throws(SystemError) {
        try step()
        try base.truncate(byteCount)
    }

    func beginWriteback(_ range: Range<Int>) throws(SystemError) {
        try sparing { () throws(SystemError) in try base.beginWriteback(range) }
    }

    func sync(_ kind: SyncKind) throws(SystemError) { try sparing { () throws(SystemError) in try base.sync(kind) } }

    /// Prevents the process from being killed before it has reported a failed step. A failure is reported to the caller
    /// and to the open files only, so a process that opens the file after both are gone would not learn of it.
    private func sparing(_ call: () throws(SystemError) -> Void) throws(SystemError) {
        try step()
        do throws(SystemError) { try call() } catch {
            fileSystem.schedule.spare(fileSystem.process)
            throw error
        }
    }

    func makeRegion() throws(SystemError) -> any MappedRegion {
        try step()
        return try base.makeRegion()
    }

    func mapShared(_ byteCount: Int) throws(SystemError) -> UnsafeMutableRawPointer {
        try step()
        return try base.mapShared(byteCount)
    }

    func tryLock(byte: Int) throws(SystemError) -> Bool {
        try step()
        return try base.tryLock(byte: byte)
    }

    func lock(byte: Int) throws(SystemError) {
        try step()
        while try !base.tryLock(byte: byte) { try fileSystem.schedule.wait(fileSystem.process) }
    }

    func lock(byte: Int, isShared: Bool, until deadline: UInt64) throws(SystemError) -> Bool {
        try step()
        while try !(isShared ? base.tryLockShared(byte: byte) : base.tryLock(byte: byte)) {
            try fileSystem.schedule.wait(fileSystem.process)
        }
        return true
    }

    func unlock(byte: Int) {
        do throws(SystemError) { try step() } catch { return }
        base.unlock(byte: byte)
        fileSystem.schedule.wakeAll()
    }

    func tryLockShared(byte: Int) throws(SystemError) -> Bool {
        try step()
        return try base.tryLockShared(byte: byte)
    }

    func lockedBytes(in bytes: Range<Int>) throws(SystemError) -> Range<Int>? {
        try step()
        return try base.lockedBytes(in: bytes)
    }

    func isLocked(bytes: Range<Int>) throws(SystemError) -> Bool {
        try step()
        return try base.isLocked(bytes: bytes)
    }

    func close() {
        do throws(SystemError) { try step() } catch { return }
        base.close()
        fileSystem.schedule.wakeAll()
    }
}
