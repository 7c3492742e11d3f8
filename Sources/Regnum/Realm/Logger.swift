// SPDX-License-Identifier: Apache-2.0
// The library's log: opened files, commits, schema changes. One logger serves the whole process; a program can install
// its own function to send the messages elsewhere.

internal import Foundation
internal import RegnumSystem
internal import Synchronization

/// The verbosity of a logger, and the severity of a message. Each level includes those before it.
public enum LogLevel: UInt, Sendable, CaseIterable {
    /// Nothing.
    case off = 0
    /// Errors that end the program.
    case fatal = 1
    /// Failures.
    case error = 2
    /// Possible mistakes.
    case warn = 3
    /// Rare and important events.
    case info = 4
    /// Opening and deletion of files.
    case detail = 5
    /// Commits, rollbacks and schema changes.
    case debug = 6
    /// The beginning of each read and write transaction.
    case trace = 7
    /// Everything.
    case all = 8
}

/// Receives the messages that the library logs.
///
/// ```swift
/// Logger.shared = Logger(level: .debug) { level, message in record(level, message) }
/// Logger.shared.level = .off
/// ```
///
/// Can be used on any thread.
public final class Logger: Sendable {
    private let threshold: Atomic<UInt>
    private let function: @Sendable (LogLevel, String) -> Void

    /// Creates a logger that calls `logFunction` for each message up to `level`, on the thread that logs it, with no
    /// lock held.
    public init(level: LogLevel, logFunction: @escaping @Sendable (LogLevel, String) -> Void) {
        threshold = Atomic(level.rawValue)
        function = logFunction
    }

    /// The most verbose level that is logged. Can be changed at any time.
    public var level: LogLevel {
        get { LogLevel(rawValue: threshold.load(ordering: .relaxed)) ?? .off }
        set { threshold.store(newValue.rawValue, ordering: .relaxed) }
    }

    private static let current = Lock(
        Logger(level: .info) { level, message in
            FileHandle.standardError.write(Data("Realm \(level): \(message)\n".utf8))
        })

    /// The logger of the process. By default it writes messages up to `.info` to standard error.
    public static var shared: Logger {
        get { current.withLock { $0 } }
        set {
            // The old logger is freed after the lock is released.
            let old = current.withLock { current in
                defer { current = newValue }
                return current
            }
            _ = old
        }
    }

    /// Logs to the shared logger. The message is built only if the level is enabled.
    static func log(_ level: LogLevel, _ message: @autoclosure () -> String) {
        let logger = shared
        guard level != .off, level.rawValue <= logger.threshold.load(ordering: .relaxed) else { return }
        logger.function(level, message())
    }
}
