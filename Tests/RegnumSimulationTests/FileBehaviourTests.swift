// SPDX-License-Identifier: Apache-2.0
// The behaviour that every file system must share: the real one, the one in memory and the simulated one.

import Foundation
import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

/// One of the three implementations, with a directory of its own.
enum Kind: String, CaseIterable, Sendable {
    case posix, memory, simulated
}

/// A new file system and a path prefix; `remove` deletes the files made on the real disk.
struct Place {
    let files: any FileSystem
    let directory: String

    init(_ kind: Kind) throws {
        switch kind {
        case .posix: files = PosixFileSystem.shared
        case .memory: files = MemoryFileSystem()
        case .simulated: files = SimulatedFileSystem()
        }
        var name: UInt64 = 0
        withUnsafeMutableBytes(of: &name) { PosixFileSystem.shared.fillRandom($0) }
        directory = FileManager.default.temporaryDirectory.path + "/regnum-tests-\(name)"
        try files.makeDirectories(directory)
    }

    func path(_ name: String) -> String { directory + "/" + name }

    func open(_ name: String, _ mode: OpenMode = .readWriteCreate) throws -> any File {
        try files.open(path(name), mode)
    }

    /// Must be called at the end.
    func remove() { try? FileManager.default.removeItem(atPath: directory) }
}

extension File {
    func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { buffer.deallocate() }
        buffer.copyBytes(from: bytes)
        try write(UnsafeRawBufferPointer(buffer), at: offset)
    }

    func bytes(_ range: Range<Int>) throws(SystemError) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: range.count, alignment: 1)
        defer { buffer.deallocate() }
        let count = try read(buffer, at: range.lowerBound)
        return [UInt8](buffer.prefix(count))
    }
}

/// The kind of the error that `body` throws, or nil.
func errorKind(_ body: () throws -> Void) -> SystemError.Kind? {
    do {
        try body()
        return nil
    } catch {
        return (error as? SystemError)?.kind
    }
}

/// The progress of the thread that waits for a lock.
private final class WaiterState: Sendable {
    let hasStarted = Atomic<Bool>(false)
    let lock = Atomic<Bool>(false)
    var hasLock: Bool { lock.load(ordering: .acquiring) }
}

@Suite("Every file system")
struct FileBehaviourTests {
    @Test("Reads back what was written, and short at the end", arguments: Kind.allCases)
    func readsBack(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        let file = try place.open("a")
        #expect(try file.byteCount() == 0)
        try file.write([1, 2, 3, 4], at: 0)
        try file.write([9, 9], at: 10)
        #expect(try file.byteCount() == 12)
        #expect(try file.bytes(0..<100) == [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 9, 9])
        #expect(try file.bytes(2..<4) == [3, 4])
        #expect(try file.bytes(50..<60) == [])
        try file.write([], at: 40)
        #expect(try file.byteCount() == 12)
    }

    @Test(
        "Allocates zeros, never shortens by allocating, never lengthens by truncating",
        arguments: Kind.allCases)
    func lengths(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        let file = try place.open("a")
        try file.write([UInt8](repeating: 7, count: 10_000), at: 0)
        try file.allocate(5_000)
        #expect(try file.byteCount() == 10_000)
        try file.truncate(20_000)
        #expect(try file.byteCount() == 10_000)
        try file.truncate(100)
        #expect(try file.byteCount() == 100)
        try file.allocate(30_000)
        #expect(try file.byteCount() == 30_000)
        #expect(try file.bytes(0..<100) == [UInt8](repeating: 7, count: 100))
        #expect(try file.bytes(100..<30_000) == [UInt8](repeating: 0, count: 29_900))
        try file.sync(.data)
        try file.sync(.full)
    }

    @Test("Shows writes of another open file in a region whose base stays", arguments: Kind.allCases)
    func regions(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        let reader = try place.open("a")
        let writer = try place.open("a")
        #expect(reader.identity == writer.identity)
        try writer.write([UInt8](repeating: 5, count: 5_000), at: 0)
        let region = try reader.makeRegion()
        #expect(region.byteCount == 0)
        try region.extend(to: 5_000)
        let base = region.base
        #expect(base.load(fromByteOffset: 4_999, as: UInt8.self) == 5)
        try writer.write([6], at: 4_999)
        #expect(base.load(fromByteOffset: 4_999, as: UInt8.self) == 6)
        try writer.allocate(200_000)
        try writer.write([8], at: 199_999)
        try region.extend(to: 200_000)
        #expect(region.base == base)
        #expect(region.byteCount == 200_000)
        #expect(base.load(fromByteOffset: 199_999, as: UInt8.self) == 8)
        #expect(base.load(fromByteOffset: 4_999, as: UInt8.self) == 6)
        #expect(errorKind { try region.extend(to: 200_001) } == .io)
        #expect(errorKind { try region.extend(to: region.capacity + 1) } == .addressSpace)
        #expect(region.byteCount == 200_000)
    }

    @Test(
        "Keeps a region readable and extensible when the file is closed and removed", arguments: Kind.allCases
    )
    func regionOutlivesFile(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        let region: any MappedRegion
        do {
            let file = try place.open("a")
            try file.write([UInt8](repeating: 3, count: 20_000), at: 0)
            region = try file.makeRegion()
            try region.extend(to: 100)
            file.close()
        }
        try place.files.remove(place.path("a"))
        try region.extend(to: 20_000)
        #expect(region.base.load(fromByteOffset: 19_999, as: UInt8.self) == 3)
    }

    @Test("Shares a writable mapping between open files", arguments: Kind.allCases)
    func sharedMapping(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        let one = try place.open("a")
        let other = try place.open("a")
        #expect(errorKind { _ = try one.mapShared(8_192) } == .io)
        try one.allocate(8_192)
        let first = try one.mapShared(8_192)
        let second = try other.mapShared(8_192)
        first.storeBytes(of: 0xABCD, toByteOffset: 8_000, as: UInt64.self)
        #expect(second.load(fromByteOffset: 8_000, as: UInt64.self) == 0xABCD)
        #expect(try other.bytes(8_000..<8_002) == [0xCD, 0xAB])
    }

    @Test("Locks single bytes, by open file, until unlocked or closed", arguments: Kind.allCases)
    func locks(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        let one = try place.open("a")
        let other = try place.open("a")
        #expect(try one.tryLock(byte: 5))
        #expect(try one.tryLock(byte: 5))
        #expect(try !other.tryLock(byte: 5))
        #expect(try other.tryLock(byte: 6))
        #expect(try other.isLocked(byte: 5))
        #expect(try !one.isLocked(byte: 5))
        #expect(try !one.isLocked(byte: 7))
        other.unlock(byte: 5)
        #expect(try other.isLocked(byte: 5))
        one.unlock(byte: 5)
        #expect(try !other.isLocked(byte: 5))
        try other.lock(byte: 5)
        #expect(try one.isLocked(byte: 5))
        let region = try other.makeRegion()
        other.close()
        #expect(try !one.isLocked(byte: 5))
        #expect(try one.tryLock(byte: 6))
        #expect(region.byteCount == 0)
    }

    @Test("Waits for a lock until its owner releases it", arguments: Kind.allCases)
    func waitingLock(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        let one = try place.open("a")
        let other = try place.open("a")
        try one.lock(byte: 1)
        let state = WaiterState()
        // A separate thread: waiting would take one from the tests that run in parallel.
        Thread.detachNewThread {
            state.hasStarted.store(true, ordering: .releasing)
            try? other.lock(byte: 1)
            state.lock.store(true, ordering: .releasing)
        }
        while !state.hasStarted.load(ordering: .acquiring) { CurrentThread.sleep(nanoseconds: 100_000) }
        CurrentThread.sleep(nanoseconds: 20_000_000)
        #expect(!state.hasLock)
        one.unlock(byte: 1)
        let deadline = MonotonicClock.now() + 1_800_000_000_000
        while !state.hasLock, MonotonicClock.now() < deadline {
            CurrentThread.sleep(nanoseconds: 100_000)
        }
        #expect(state.hasLock)
        #expect(try one.isLocked(byte: 1))
    }

    @Test("Throws after close, except that unlocking and closing again are harmless", arguments: Kind.allCases)
    func closed(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        let file = try place.open("a")
        file.close()
        file.close()
        file.unlock(byte: 1)
        #expect(errorKind { try file.write([1], at: 0) } == .io)
        #expect(errorKind { _ = try file.bytes(0..<1) } == .io)
        #expect(errorKind { _ = try file.byteCount() } == .io)
        #expect(errorKind { try file.sync(.data) } == .io)
        #expect(errorKind { _ = try file.makeRegion() } == .io)
        #expect(errorKind { _ = try file.tryLock(byte: 1) } == .io)
    }

    @Test("Distinguishes missing files, directories and parents that are files", arguments: Kind.allCases)
    func openErrors(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        for mode in [OpenMode.readOnly, .readWrite] {
            #expect(errorKind { _ = try place.open("a", mode) } == .notFound)
        }
        for mode in [OpenMode.readOnly, .readWrite, .readWriteCreate] {
            #expect(errorKind { _ = try place.files.open(place.directory, mode) } == .isDirectory)
        }
        _ = try place.open("a")
        #expect(errorKind { _ = try place.open("a/b") } == .notDirectory)
        #expect(errorKind { try place.files.makeDirectories(place.path("a")) } == .notDirectory)
        #expect(errorKind { try place.files.remove(place.path("b")) } == .notFound)
        #expect(errorKind { try place.files.rename(place.path("b"), to: place.path("c")) } == .notFound)
        #expect(errorKind { try place.open("a", .readOnly).write([1], at: 0) } == .io)
    }

    @Test("Reports the kind of a path's target", arguments: Kind.allCases)
    func status(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        #expect(try place.files.status(place.path("a")) == nil)
        try place.open("a").write([1, 2, 3], at: 0)
        let status = try place.files.status(place.path("a"))
        #expect(status?.kind == .file)
        #expect(status?.byteCount == 3)
        #expect(try place.files.status(place.path("a/b")) == nil)
        #expect(try place.files.status(place.directory)?.kind == .directory)
        try place.files.makeDirectories(place.path("x/y/z"))
        #expect(try place.files.status(place.path("x/y"))?.kind == .directory)
        try place.files.makeDirectories(place.path("x/y/z"))
    }

    @Test("Renames over a file that stays open without a name", arguments: Kind.allCases)
    func rename(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        let source = try place.open("a")
        let replaced = try place.open("b")
        try source.write([1], at: 0)
        try replaced.write([2, 2], at: 0)
        try place.files.rename(place.path("a"), to: place.path("b"))
        try place.files.syncDirectory(containing: place.path("b"))
        #expect(try place.files.status(place.path("a")) == nil)
        #expect(try place.open("b", .readOnly).bytes(0..<9) == [1])
        #expect(try place.open("b").identity == source.identity)
        #expect(try replaced.bytes(0..<9) == [2, 2])
        try place.files.remove(place.path("b"))
        #expect(try source.bytes(0..<9) == [1])
        let fresh = try place.open("b")
        #expect(fresh.identity != source.identity)
        #expect(try fresh.byteCount() == 0)
    }

    @Test("Fills buffers of any length with random bytes", arguments: Kind.allCases)
    func randomBytes(_ kind: Kind) throws {
        let place = try Place(kind)
        defer { place.remove() }
        let files = place.files
        var bytes = [UInt8](repeating: 0, count: 1_001)
        bytes.withUnsafeMutableBytes { files.fillRandom($0) }
        // The chance that one of 250 values is missing from each tail is far below that of a broken machine.
        #expect(Set(bytes).count > 200)
        #expect(bytes.suffix(40).contains { $0 != 0 })
        files.fillRandom(UnsafeMutableRawBufferPointer(start: nil, count: 0))
    }
}
