// SPDX-License-Identifier: Apache-2.0
// Waits for another process to write to a file, without polling.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A wait for writes to a file. One thread waits; any thread can stop the wait. If the system does not report writes,
/// each wait lasts until its timeout.
package final class FileWatch: Sendable {
    private struct Descriptors: Sendable {
        /// The descriptor that reports writes, or -1.
        var events: Int32 = -1
        /// A pipe whose read end becomes ready when the wait is stopped.
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

    /// Starts to observe the file: writes after this call end a wait. Called once, by the waiting thread, before its
    /// first wait. Returns false if the system has no descriptors left, or after `stop`.
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

    /// Waits until the file is written or the timeout expires. Returns false after `stop`.
    package func wait(milliseconds: Int32) -> Bool {
        guard let descriptors = state.withLock({ $0.isOver ? nil : $0.descriptors }) else { return false }
        let events = descriptors.events
        var waits = [pollfd(fd: descriptors.over.reading, events: Int16(POLLIN), revents: 0)]
        if events >= 0 { waits.append(pollfd(fd: events, events: Int16(POLLIN), revents: 0)) }
        _ = poll(&waits, nfds_t(waits.count), milliseconds)
        if waits[0].revents != 0 { return false }
        if events >= 0 {
            // The events are discarded: the file itself shows what has changed.
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
                while read(events, buffer.baseAddress, buffer.count) > 0 {}
            }
        }
        return true
    }

    /// Ends the current wait and prevents further ones.
    package func stop() {
        state.withLock { state in
            state.isOver = true
            guard let descriptors = state.descriptors else { return }
            var byte: UInt8 = 1
            _ = write(descriptors.over.writing, &byte, 1)
        }
    }
}
