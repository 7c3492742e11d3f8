// SPDX-License-Identifier: Apache-2.0
// The particular behaviour of real files, of files in memory, and of the helpers around them.

import Foundation
import RegnumSystem
import Testing

private func freshPath() -> String {
    var name: UInt64 = 0
    withUnsafeMutableBytes(of: &name) { PosixFileSystem.shared.fillRandom($0) }
    return FileManager.default.temporaryDirectory.path + "/regnum-tests-\(name)"
}

private func errorKind(_ body: () throws -> Void) -> SystemError.Kind? {
    do {
        try body()
        return nil
    } catch {
        return (error as? SystemError)?.kind
    }
}

extension File {
    fileprivate func write(_ bytes: [UInt8], at offset: Int) throws {
        try bytes.withUnsafeBytes { try write($0, at: offset) }
    }
}

@Suite("The real file system")
struct PosixFileSystemTests {
    private let files = PosixFileSystem.shared

    @Test("Reports a full device as no space")
    func fullDevice() throws {
        let file = try files.open("/dev/full", .readWrite)
        #expect(errorKind { try file.write([1], at: 0) } == .noSpace)
    }

    // Each once took 1 TiB of address space: some hundred files left nothing for the rest of the process.
    @Test("Many open files leave room in the address space")
    func manyRegions() throws {
        let path = freshPath()
        defer { try? files.remove(path) }
        let file = try files.open(path, .readWriteCreate)
        let regions = try (0..<100).map { _ in try file.makeRegion() }
        #expect(regions.allSatisfy { $0.capacity >= 1 << 30 })
        #expect(regions.reduce(0) { $0 + $1.capacity } <= (16 << 40) + 100 * (64 << 30))
    }

    @Test("Reports a missing parent, and a path with a zero in it, as not found")
    func missingParent() {
        #expect(errorKind { _ = try files.open(freshPath() + "/a", .readWriteCreate) } == .notFound)
        #expect(errorKind { _ = try files.open("/tmp\0/a", .readOnly) } == .notFound)
        #expect(errorKind { _ = try files.open("", .readOnly) } == .notFound)
    }

    @Test("Does not change the length if space cannot be reserved")
    func failedAllocation() throws {
        let path = freshPath()
        defer { try? files.remove(path) }
        let file = try files.open(path, .readWriteCreate)
        try file.write([1, 2, 3], at: 0)
        #expect(errorKind { try file.allocate(1 << 60) } != nil)
        #expect(try file.byteCount() == 3)
    }

    /// Most file systems cannot clone: set TMPDIR to one that can (XFS, Btrfs) to test the other case.
    @Test("A clone has the bytes and permissions of its original and is independent, or there is none")
    func clone() throws {
        let (path, copy) = (freshPath(), freshPath())
        defer { for path in [path, copy] { try? files.remove(path) } }
        #expect(!files.clone(path, to: copy))
        let file = try files.open(path, .createNew(permissions: 0o600))
        try file.write([1, 2, 3], at: 5000)
        guard files.clone(path, to: copy) else {
            #expect(try files.status(copy) == nil)
            return
        }
        try file.write([9], at: 5000)
        #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: copy)).suffix(3)) == [1, 2, 3])
        #expect(try files.status(copy)?.permissions == 0o600)
        #expect(!files.clone(path, to: copy), "an existing file is not replaced")
        #expect(try files.status(copy)?.byteCount == 5003)
    }

    @Test(
        "Finds the directory of a path",
        arguments: [
            ("/a/b", "/a"), ("/a", "/"), ("a", "."), ("a/b/", "a"), ("/", "/"), ("a//b", "a"),
            ("/a/b/c", "/a/b"),
        ])
    func parents(_ path: String, _ parent: String) {
        #expect(parentPath(path) == parent)
    }

    @Test("Explains an error in one line")
    func descriptions() {
        let error = SystemError(.noSpace, "write", "/x", code: 28)
        #expect(error.description == "Cannot write '/x': no space left (error 28)")
        #expect(SystemError(.isDirectory, "open", "/x").description == "Cannot open '/x': it is a directory")
    }
}

@Suite("The file system in memory")
struct MemoryFileSystemTests {
    @Test("Stops at its capacity and reuses freed space")
    func capacity() throws {
        let files = MemoryFileSystem(capacityLimit: 10_000)
        let one = try files.open("one", .readWriteCreate)
        do {
            let other = try files.open("other", .readWriteCreate)
            try one.allocate(6_000)
            #expect(errorKind { try other.allocate(4_001) } == .noSpace)
            #expect(try other.byteCount() == 0)
            try other.allocate(4_000)
            #expect(errorKind { try one.write([1], at: 6_000) } == .noSpace)
            try one.write([1], at: 5_999)
            try one.truncate(5_000)
            try other.write([1], at: 4_999)
            #expect(errorKind { try other.write([1], at: 5_000) } == .noSpace)
            other.close()
        }
        try files.remove("other")
        try one.allocate(10_000)
        files.capacityLimit = 5
        #expect(errorKind { try one.allocate(10_001) } == .noSpace)
    }

    @Test("Opens many files, each with room to grow")
    func manyFiles() throws {
        let files = MemoryFileSystem()
        let opened = try (0..<500).map { try files.open("\($0)", .readWriteCreate) }
        for file in opened { try file.write([1], at: 1 << 20) }
        #expect(Set(opened.map(\.identity)).count == 500)
        #expect(MemoryFileSystem().isShared == false)
    }
}

@Suite("Memory and process")
struct HelperTests {
    @Test("Compares as unsigned bytes and finds the first of several")
    func memory() {
        let a: [UInt8] = [1, 200, 3, 3], b: [UInt8] = [1, 100, 3, 3]
        a.withUnsafeBytes { a in
            b.withUnsafeBytes { b in
                guard let a = a.baseAddress, let b = b.baseAddress else { return }
                #expect(Memory.compare(a, b, 4) > 0)
                #expect(Memory.compare(b, a, 4) < 0)
                #expect(Memory.compare(a, b, 1) == 0)
                #expect(Memory.find(3, in: a, 4) == 2)
                #expect(Memory.find(9, in: a, 4) == nil)
            }
        }
        let pages = Memory.allocatePages(byteCount: 8_192)
        defer { Memory.freePages(pages) }
        #expect(UInt(bitPattern: pages) % 4_096 == 0)
        Memory.fill(pages, with: 9, 8_192)
        Memory.zero(pages + 1, 10)
        Memory.move(pages + 2, pages, 4)
        #expect(pages.load(fromByteOffset: 2, as: UInt8.self) == 9)
        #expect(pages.load(fromByteOffset: 3, as: UInt8.self) == 0)
        #expect(pages.load(fromByteOffset: 11, as: UInt8.self) == 9)
    }

    @Test("Reservations that may be smaller are smaller once the process has many")
    func manyReservations() throws {
        let reserved = try (0..<400).map { _ in try ReservedMemory(byteCount: 64 << 30, minimum: 1 << 30) }
        #expect(reserved.reduce(0) { $0 + $1.byteCount } <= (16 << 40) + 400 * (4 << 30))
        #expect(try ReservedMemory(byteCount: 64 << 30).byteCount == 64 << 30)
    }

    @Test(
        "Zeros exactly the discarded bytes",
        arguments: [0..<1, 10..<4_096, 100..<20_000, 4_096..<8_192, 5..<5])
    func discard(_ range: Range<Int>) throws {
        let memory = try ReservedMemory(byteCount: 1 << 20)
        Memory.fill(memory.base, with: 1, 40_000)
        memory.discard(range)
        for index in 0..<40_000 where memory.base.load(fromByteOffset: index, as: UInt8.self) != 1 {
            #expect(range.contains(index))
        }
        for index in range { #expect(memory.base.load(fromByteOffset: index, as: UInt8.self) == 0) }
    }

    @Test(
        "Temporary memory can be filled from end to end",
        arguments: [1, 4_096, 4 << 20, 4 << 20 | 1, 9_000_000])
    func scratch(_ byteCount: Int) {
        let memory = Memory.allocateScratch(byteCount: byteCount)
        Memory.fill(memory, with: 7, byteCount)
        #expect(memory.load(fromByteOffset: byteCount - 1, as: UInt8.self) == 7)
        Memory.freeScratch(memory, byteCount: byteCount)
    }

    #if os(Linux)
        @Test("Large pages are requested after the small bytes, and again after a renewal")
        func largePages() throws {
            // If the system has no large pages, there is nothing to request.
            guard FileManager.default.fileExists(atPath: "/sys/kernel/mm/transparent_hugepage/enabled") else { return }
            let scratch = Memory.allocateScratch(byteCount: 8 << 20)
            defer { Memory.freeScratch(scratch, byteCount: 8 << 20) }
            #expect(try wantsLargePages(scratch + (4 << 20)))
            let plain = try ReservedMemory(byteCount: 16 << 20)
            #expect(try !wantsLargePages(plain.base + (8 << 20)))
            let memory = try ReservedMemory(byteCount: 16 << 20, smallByteCount: 4 << 20)
            #expect(try !wantsLargePages(memory.base + 4096))
            #expect(try wantsLargePages(memory.base + (4 << 20)))
            memory.renew(2 << 20..<6 << 20)
            #expect(try !wantsLargePages(memory.base + (3 << 20)))
            #expect(try wantsLargePages(memory.base + (5 << 20)))
        }

        /// By the flags of the mapping that holds the address.
        private func wantsLargePages(_ address: UnsafeMutableRawPointer) throws -> Bool {
            let wanted = UInt(bitPattern: address)
            var isInside = false
            // The file reports a length of zero, so it is read as one of unknown length.
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/smaps"))
            let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
            for line in text.split(separator: "\n") {
                let range = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
                if range.count == 2 { isInside = range[0] <= wanted && wanted < range[1] }
                if isInside, line.hasPrefix("VmFlags:") { return line.split(separator: " ").contains("hg") }
            }
            throw SystemError(.notFound, "find", "a mapping")
        }
    #endif

    @Test("Knows itself, its start and its boot")
    func process() {
        #expect(CurrentProcess.id > 0)
        #expect(CurrentProcess.startTime > 0)
        #expect(CurrentProcess.startTime(of: CurrentProcess.id) == CurrentProcess.startTime)
        #expect(CurrentProcess.startTime(of: 1) != CurrentProcess.startTime)
        #expect(CurrentProcess.startTime(of: .max) == nil)
        #expect(Machine.bootIdentifier.utf8.count == 36)
        #expect(!CurrentProcess.name.isEmpty)
        #expect(CurrentProcess.environment("PATH") != nil)
        #expect(CurrentProcess.environment("REGNUM_SURELY_UNSET") == nil)
        let before = MonotonicClock.now()
        CurrentThread.sleep(nanoseconds: 2_000_000)
        #expect(MonotonicClock.now() - before >= 2_000_000)
        #expect(CurrentThread.id == CurrentThread.id)
    }
}

@Suite struct LockTests {
    private static func add(_ threads: Int, to sum: LockedSum) {
        let isDone = Monitor()
        for _ in 0..<threads {
            _ = DetachedThread.start {
                for _ in 0..<2000 { sum.number.withLock { $0 += 1 } }
                isDone.withLock {
                    sum.ended += 1
                    isDone.tellAll()
                }
            }
        }
        for _ in 0..<2000 { sum.number.withLock { $0 += 1 } }
        isDone.withLock { while sum.ended < threads { isDone.wait() } }
    }

    private final class LockedSum: @unchecked Sendable {
        // Sendable: `ended` is accessed with the monitor of `add` only.
        let number = Lock(0)
        var ended = 0
    }

    @Test("One thread holds the lock at a time")
    func exclusion() {
        let sum = LockedSum()
        Self.add(3, to: sum)
        #expect(sum.number.withLock { $0 } == 8000)
    }

    @Test("Threads of a forked child wait for each other as in any process")
    func forked() async throws {
        await #expect(processExitsWith: .success) {
            let sum = LockedSum()
            // The parent's thread has used the lock: anything cached about it is cached now.
            sum.number.withLock { $0 = 0 }
            let fork = unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> Int32).self)
            let child = fork()
            if child == 0 {
                LockTests.add(3, to: sum)
                exit(sum.number.withLock { $0 } == 8000 ? 0 : 1)
            }
            var status: Int32 = -1
            exit(waitpid(child, &status, 0) == child && status == 0 ? 0 : 2)
        }
    }
}

@Suite struct ForkedFileTests {
    /// The child releases everything that would keep the parent's locks: open files, read mappings, write mappings, and
    /// mappings over memory.
    @Test("The locks of a killed process are released, although a forked child lives on")
    func killedParent() async throws {
        await #expect(processExitsWith: .success) {
            let files = PosixFileSystem.shared
            let path = freshPath()
            let fork = unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> Int32).self)
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { exit(1) }
            // Ends the processes that a failed test leaves, here and below.
            alarm(120)
            let parent = fork()
            if parent == 0 {
                alarm(120)
                let file = try files.open(path, .readWriteCreate)
                try file.allocate(16_384)
                guard try file.tryLock(byte: 5) else { exit(2) }
                let region = try file.makeRegion()
                try region.extend(to: 8192)
                let base = try file.mapShared(8192)
                base.storeBytes(of: 7, as: UInt8.self)
                let memory = try ReservedMemory(byteCount: 1 << 20)
                guard memory.show(file, at: 0, over: 0..<8192), region.base.load(as: UInt8.self) == 7 else { exit(3) }
                var child = fork()
                if child == 0 {
                    // The child cannot use the parent's files either.
                    let isClosed = (try? file.byteCount()) == nil && (try? file.tryLock(byte: 6)) == nil
                    let isHidden = region.base.load(as: UInt8.self) == 0 && base.load(as: UInt8.self) == 0
                    // A file of its own may get the same number.
                    let own = try files.open(path + ".own", .readWriteCreate)
                    try own.allocate(4096)
                    file.close()
                    let isOwn = try own.byteCount() == 4096 && own.tryLock(byte: 5)
                    child = isClosed && isHidden && isOwn ? getpid() : -1
                    write(ends[1], &child, 4)
                    alarm(120)
                }
                withExtendedLifetime((file, region, memory)) { while true { sleep(10) } }
            }
            var child: Int32 = -1
            guard read(ends[0], &child, 4) == 4, child > 0 else { exit(4) }
            let other = try files.open(path, .readWrite)
            let wasLocked = try other.isLocked(bytes: 5..<6)
            kill(parent, SIGKILL)
            var status: Int32 = 0
            guard waitpid(parent, &status, 0) == parent else { exit(5) }
            let isLocked = try other.isLocked(bytes: 5..<6)
            let isAlive = kill(child, 0) == 0
            kill(child, SIGKILL)
            for end in ["", ".own"] { try files.remove(path + end) }
            exit(wasLocked && isAlive && !isLocked ? 0 : 6)
        }
    }

    @Test("A forked child that closes its parent's files keeps the parent's locks")
    func locks() async throws {
        await #expect(processExitsWith: .success) {
            let files = PosixFileSystem.shared
            let path = freshPath()
            var file: (any File)? = try files.open(path, .readWriteCreate)
            guard try file?.tryLock(byte: 5) == true else { exit(1) }
            let fork = unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> Int32).self)
            let child = fork()
            if child == 0 {
                file?.close()
                file = nil
                exit(0)
            }
            var status: Int32 = -1
            guard waitpid(child, &status, 0) == child, status == 0 else { exit(2) }
            let other = try files.open(path, .readWrite)
            let isLocked = try other.isLocked(bytes: 5..<6)
            try files.remove(path)
            withExtendedLifetime(file) {}
            exit(isLocked ? 0 : 3)
        }
    }
}
