// SPDX-License-Identifier: Apache-2.0
// Signals that arrive while a system call waits.

#if canImport(Glibc)
    import Foundation
    import Glibc
    import RegnumSystem
    import Synchronization
    import Testing

    /// Signals that this process has handled.
    private let interruptions = Atomic<Int>(0)

    @Suite struct InterruptedCallsTests {
        /// A forked child, because the system delivers a signal to any thread of a process, and the child has only one.
        @Test("A call that signals interrupt is repeated")
        func lock() async throws {
            await #expect(processExitsWith: .success) {
                // If a call waits for ever.
                alarm(1800)
                let path = FileManager.default.temporaryDirectory.path + "/regnum-interrupted-\(getpid())"
                let file = try PosixFileSystem.shared.open(path, .readWriteCreate)
                guard try file.tryLock(byte: 5), interruptions.load(ordering: .relaxed) == 0 else { exit(10) }
                var action = sigaction()
                // Without SA_RESTART: the system does not restart the call by itself.
                action.__sigaction_handler.sa_handler = { _ in
                    _ = interruptions.wrappingAdd(1, ordering: .relaxed)
                }
                var ends: [Int32] = [-1, -1]
                guard sigaction(SIGUSR1, &action, nil) == 0, pipe(&ends) == 0 else { exit(11) }
                let fork = unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> Int32).self)
                let child = fork()
                if child == 0 {
                    alarm(1800)
                    // Threads of a pool block all signals, and the child inherits the mask of the forking thread.
                    var none = sigset_t()
                    sigemptyset(&none)
                    pthread_sigmask(SIG_SETMASK, &none, nil)
                    guard let own = try? PosixFileSystem.shared.open(path, .readWrite) else { exit(1) }
                    var byte: UInt8 = 1
                    guard write(ends[1], &byte, 1) == 1 else { exit(2) }
                    guard (try? own.lock(byte: 5)) != nil else { exit(3) }
                    exit(interruptions.load(ordering: .relaxed) > 0 ? 0 : 4)
                }
                var byte: UInt8 = 0
                guard read(ends[0], &byte, 1) == 1 else { exit(12) }
                for _ in 0..<100 {
                    kill(child, SIGUSR1)
                    usleep(2000)
                }
                file.unlock(byte: 5)
                var status: Int32 = -1
                let isEnded = waitpid(child, &status, 0) == child
                try PosixFileSystem.shared.remove(path)
                exit(isEnded && status == 0 ? 0 : 13)
            }
        }
    }
#endif
