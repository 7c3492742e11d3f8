// SPDX-License-Identifier: Apache-2.0
// The current thread and process, when the process started, the boot of the machine, and the time.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The calling thread.
package enum CurrentThread {
    /// Differs between all threads alive in this process; reused after a thread has ended.
    package static var id: UInt {
        #if canImport(Glibc)
            return UInt(pthread_self())
        #else
            return UInt(bitPattern: pthread_self())
        #endif
    }

    /// Sleeps at least that long, unless a signal arrives.
    package static func sleep(nanoseconds: UInt64) {
        var duration = timespec()
        duration.tv_sec = Int(nanoseconds / 1_000_000_000)
        duration.tv_nsec = Int(nanoseconds % 1_000_000_000)
        _ = nanosleep(&duration, nil)
    }
}

/// Time that never goes backwards, from an unspecified start.
package enum MonotonicClock {
    /// Nanoseconds.
    package static func now() -> UInt64 { now(CLOCK_MONOTONIC) }

    fileprivate static func now(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}

/// The processor time of a thread, for tests that limit the work of a call: other load of the machine does not count.
package enum ThreadTime {
    /// The processor time of the calling thread, in seconds.
    package static var seconds: Double { Double(MonotonicClock.now(CLOCK_THREAD_CPUTIME_ID)) * 1e-9 }
}

/// The time of day, which the user or the network may set forwards and backwards.
package enum WallClock {
    /// Microseconds since 1970 (UTC).
    package static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
    }
}

/// This process and its environment.
package enum CurrentProcess {
    package static var id: Int32 { getpid() }

    /// The last component of the program's path.
    package static var name: String {
        let path = CommandLine.arguments.first ?? ""
        return path.split(separator: "/").last.map(String.init) ?? path
    }

    /// When this process started; see `startTime(of:)`.
    package static var startTime: UInt64 { startTime(of: id) ?? 0 }

    /// When a process started, in a unit of the system; nil if there is no such process. Together with the process id
    /// it identifies a process within one boot, although ids are reused.
    package static func startTime(of process: Int32) -> UInt64? {
        #if canImport(Darwin)
            var query: [Int32] = [CTL_KERN, KERN_PROC, KERN_PROC_PID, process]
            var information = kinfo_proc()
            var byteCount = MemoryLayout<kinfo_proc>.stride
            guard sysctl(&query, 4, &information, &byteCount, nil, 0) == 0, byteCount > 0 else { return nil }
            let start = information.kp_proc.p_starttime
            return UInt64(start.tv_sec) * 1_000_000 + UInt64(start.tv_usec)
        #else
            guard let text = smallFile("/proc/\(process)/stat") else { return nil }
            // The second field is the program's name in parentheses, which may contain spaces and parentheses, so
            // fields are counted from its end.
            guard let bracket = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
            let fields = text[(bracket + 1)...].split(separator: UInt8(ascii: " "))
            // The first field after the parenthesis is the third; the start time is the 22nd.
            guard fields.count > 19 else { return nil }
            return UInt64(String(decoding: fields[19], as: UTF8.self))
        #endif
    }

    /// The file mode creation mask of the process; nil if the system does not report it.
    static var creationMask: UInt32? {
        #if canImport(Darwin)
            return nil
        #else
            let name = Array("Umask:".utf8)
            let lines = smallFile("/proc/self/status")?.split(separator: UInt8(ascii: "\n")) ?? []
            guard let line = lines.first(where: { $0.starts(with: name) }) else { return nil }
            let digits = line.dropFirst(name.count).filter { $0 > 32 }
            return UInt32(String(decoding: digits, as: UTF8.self), radix: 8)
        #endif
    }

    /// The value of an environment variable, or nil. Not to be called per operation.
    package static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

/// The machine this process runs on.
package enum Machine {
    /// Text that differs for every boot of the machine (36 characters), or empty if the system does not report it. Read
    /// once, because no process survives a boot.
    package static let bootIdentifier = readBootIdentifier()

    private static func readBootIdentifier() -> String {
        #if canImport(Darwin)
            var bytes = [UInt8](repeating: 0, count: 64)
            var byteCount = bytes.count
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &byteCount, nil, 0) == 0 else { return "" }
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #else
            let bytes = smallFile("/proc/sys/kernel/random/boot_id") ?? []
            return String(decoding: bytes.prefix { $0 > 32 }, as: UTF8.self)
        #endif
    }
}

/// Reads up to 4,096 bytes of a file generated by the system (as in /proc); nil on failure.
func smallFile(_ path: String) -> [UInt8]? {
    let descriptor = withUTF8Path(path) { SystemCalls.openFile($0, .readOnly) }
    guard descriptor >= 0 else { return nil }
    defer { SystemCalls.closeFile(Int32(descriptor)) }
    var failed = false
    let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
        guard let base = buffer.baseAddress else { return }
        while count < buffer.count {
            let result = SystemCalls.readBytes(Int32(descriptor), base + count, buffer.count - count, count)
            if result < 0 { failed = true }
            if result <= 0 { return }
            count += result
        }
    }
    return failed ? nil : bytes
}

/// Calls `body` with the path as a zero-terminated UTF-8 string, as system calls expect it.
package func withUTF8Path<Result>(_ path: String, _ body: (UnsafePointer<CChar>) -> Result) -> Result {
    path.withCString(body)
}
