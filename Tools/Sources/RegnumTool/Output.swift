// SPDX-License-Identifier: Apache-2.0
// Standard output, buffered so that writes are large, and standard error. If the reader of a pipe closes its end, the
// process ends silently, with 0 or the code that the command has set.

import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Standard output, to which results are written.
struct Output: TextOutputStream {
    func write(_ string: String) { OutputBuffer.shared.append(string) }
    func write(_ data: Data) { OutputBuffer.shared.append(data) }
    func line(_ string: String) { OutputBuffer.shared.append(string + "\n") }

    /// Writes the buffered output. Called before a question, a wait, or a message on standard error.
    static func flush() { OutputBuffer.shared.flush() }

    /// The exit code if the reader of a pipe closes its end; 0 without this call.
    static func setEnding(ofClosedPipe code: Int32) { OutputBuffer.shared.setEnding(ofClosedPipe: code) }

    /// Writes a line to standard error, after the output that precedes it.
    static func complain(_ line: String) {
        flush()
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }

    /// Shows a state on a single line of standard error if that is a terminal; nil removes it.
    static func progress(_ state: String?) {
        guard isatty(STDERR_FILENO) != 0 else { return }
        FileHandle.standardError.write(Data("\r\u{1B}[K\(state ?? "")".utf8))
    }

    /// Ignores SIGPIPE, so that writing to a closed pipe fails instead of ending the process within a transaction.
    /// Called once at the start.
    static func ignoreClosedPipe() { signal(SIGPIPE, SIG_IGN) }

    /// Restores the default effect of SIGPIPE, for a child process.
    static func restoreClosedPipe() { signal(SIGPIPE, SIG_DFL) }
}

private final class OutputBuffer: @unchecked Sendable {
    // Sendable: the lock guards the bytes.
    static let shared = OutputBuffer()

    private static let limit = 1 << 16
    private let lock = NSLock()
    private var bytes: [UInt8] = []
    private var closedPipeEnding: Int32 = 0

    func append(_ string: String) {
        lock.lock()
        defer { lock.unlock() }
        bytes.append(contentsOf: string.utf8)
        if bytes.count >= Self.limit { empty() }
    }

    func append(_ data: Data) {
        lock.lock()
        defer { lock.unlock() }
        bytes.append(contentsOf: data)
        if bytes.count >= Self.limit { empty() }
    }

    func flush() {
        lock.lock()
        defer { lock.unlock() }
        empty()
    }

    func setEnding(ofClosedPipe code: Int32) {
        lock.lock()
        defer { lock.unlock() }
        closedPipeEnding = code
    }

    private func empty() {
        var start = 0
        while start < bytes.count {
            let count = bytes.withUnsafeBytes { Self.writeOut($0.baseAddress! + start, bytes.count - start) }
            if count >= 0 {
                start += count
            } else if errno != EINTR && errno != EAGAIN {
                // The reader has closed the pipe, and needs no more output.
                if errno == EPIPE { exit(closedPipeEnding) }
                let reason = String(cString: strerror(errno))
                FileHandle.standardError.write(Data("regnum: The output cannot be written: \(reason).\n".utf8))
                exit(1)
            }
        }
        bytes.removeAll(keepingCapacity: true)
    }

    private static func writeOut(_ start: UnsafeRawPointer, _ count: Int) -> Int {
        #if canImport(Glibc)
            Glibc.write(STDOUT_FILENO, start, count)
        #elseif canImport(Musl)
            Musl.write(STDOUT_FILENO, start, count)
        #else
            Darwin.write(STDOUT_FILENO, start, count)
        #endif
    }
}
