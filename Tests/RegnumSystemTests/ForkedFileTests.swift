// SPDX-License-Identifier: Apache-2.0
// Files and their locks in a process that was forked.

import Foundation
import RegnumSystem
import Testing

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
            alarm(1800)
            let parent = fork()
            if parent == 0 {
                alarm(1800)
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
                    alarm(1800)
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
