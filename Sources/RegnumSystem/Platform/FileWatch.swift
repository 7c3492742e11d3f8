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
    private struct Descriptors: Sendable {
        /// What the system tells of, or -1.
        var events: Int32 = -1
        /// A pipe: its reading end becomes ready when the waiting is over.
        var over: (reading: Int32, writing: Int32) = (-1, -1)
    }

    private struct State: Sendable {
        var descriptors: Descriptors?
        var isOver = false
    }

    private let state = Lock(State())

    package init() {}

    deinit {
        guard let descriptors = state.withLock({ $0.descriptors }) else { return }
        if descriptors.events >= 0 { close(descriptors.events) }
        close(descriptors.over.reading)
        close(descriptors.over.writing)
    }

    /// To be called once, by the thread that waits, before it waits: what is written from here on is told. False where
    /// the system has no descriptors left, or it is over already.
    package func begin(path: String) -> Bool {
        var ends: (Int32, Int32) = (-1, -1)
        let made = withUnsafeMutableBytes(of: &ends) { pipe($0.assumingMemoryBound(to: Int32.self).baseAddress) }
        guard made == 0 else { return false }
        var descriptors = Descriptors()
        descriptors.over = (ends.0, ends.1)
        for end in [ends.0, ends.1] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        #if os(Linux)
            descriptors.events = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
            if descriptors.events >= 0 { _ = inotify_add_watch(descriptors.events, path, UInt32(IN_MODIFY)) }
        #endif
        return state.withLock { [descriptors] state in
            state.descriptors = descriptors
            return !state.isOver
        }
    }

    /// Returns when the file was written to, or the time is over; false after `stop`.
    package func wait(milliseconds: Int32) -> Bool {
        guard let descriptors = state.withLock({ $0.isOver ? nil : $0.descriptors }) else { return false }
        let events = descriptors.events
        var waits = [pollfd(fd: descriptors.over.reading, events: Int16(POLLIN), revents: 0)]
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
        state.withLock { state in
            state.isOver = true
            guard let descriptors = state.descriptors else { return }
            var byte: UInt8 = 1
            _ = write(descriptors.over.writing, &byte, 1)
        }
    }
}
