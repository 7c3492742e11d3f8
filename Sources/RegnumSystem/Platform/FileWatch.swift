// SPDX-License-Identifier: Apache-2.0
// Waiting for others to write to a file, without asking again and again.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// One thread waits, any thread ends the waiting. Where the system cannot tell of writes, only the time passes.
package final class FileWatch: Sendable {
    /// What the system tells of, or -1.
    private let events: Int32
    /// A pipe: its reading end becomes ready when the waiting is over.
    private let over: (reading: Int32, writing: Int32)

    /// Nil where the system has no descriptors left.
    package init?(path: String) {
        var ends: (Int32, Int32) = (-1, -1)
        let made = withUnsafeMutableBytes(of: &ends) { pipe($0.assumingMemoryBound(to: Int32.self).baseAddress) }
        guard made == 0 else { return nil }
        over = (ends.0, ends.1)
        for end in [over.reading, over.writing] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        #if os(Linux)
            events = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
            if events >= 0 { _ = inotify_add_watch(events, path, UInt32(IN_MODIFY)) }
        #else
            events = -1
        #endif
    }

    deinit {
        if events >= 0 { close(events) }
        close(over.reading)
        close(over.writing)
    }

    /// Returns when the file was written to, or the time is over; false after `stop`.
    package func wait(milliseconds: Int32) -> Bool {
        var waits = [pollfd(fd: over.reading, events: Int16(POLLIN), revents: 0)]
        if events >= 0 { waits.append(pollfd(fd: events, events: Int16(POLLIN), revents: 0)) }
        _ = poll(&waits, nfds_t(waits.count), milliseconds)
        if waits[0].revents != 0 { return false }
        if events >= 0 {
            // What happened is said by the file itself.
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
                while read(events, buffer.baseAddress, buffer.count) > 0 {}
            }
        }
        return true
    }

    /// Ends the waiting for good.
    package func stop() {
        var byte: UInt8 = 1
        _ = write(over.writing, &byte, 1)
    }
}
