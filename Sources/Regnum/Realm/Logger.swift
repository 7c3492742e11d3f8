// SPDX-License-Identifier: Apache-2.0
// What the library tells of its work: openings, commits, changes of schemas. One logger serves the whole process;
// a program gives its own function to send the lines elsewhere.

internal import Foundation
internal import RegnumSystem
internal import Synchronization

/// How much a logger tells, and how much a line matters: each level includes those before it.
public enum LogLevel: UInt, Sendable, CaseIterable {
    /// Nothing.
    case off = 0
    /// What ends the program.
    case fatal = 1
    /// What failed.
    case error = 2
    /// What may be a mistake.
    case warn = 3
    /// What happens seldom and matters.
    case info = 4
    /// Files that are opened and deleted.
    case detail = 5
    /// Commits, roll-backs and changes of schemas.
    case debug = 6
    /// The beginning of each read and write.
    case trace = 7
    /// Everything.
    case all = 8
}

/// Takes the lines that the library writes about its work.
///
/// ```swift
/// Logger.shared = Logger(level: .debug) { level, message in record(level, message) }
/// Logger.shared.level = .off
/// ```
///
/// May be used from any thread.
public final class Logger: Sendable {
    private let threshold: Atomic<UInt>
    private let function: @Sendable (LogLevel, String) -> Void

    /// Calls `logFunction` for each line up to `level`, on the thread where it arises and never with a lock held.
    public init(level: LogLevel, logFunction: @escaping @Sendable (LogLevel, String) -> Void) {
        threshold = Atomic(level.rawValue)
        function = logFunction
    }

    /// How much is told. May be changed at any time.
    public var level: LogLevel {
        get { LogLevel(rawValue: threshold.load(ordering: .relaxed)) ?? .off }
        set { threshold.store(newValue.rawValue, ordering: .relaxed) }
    }

    private static let current = Lock(
        Logger(level: .info) { level, message in
            FileHandle.standardError.write(Data("Realm \(level): \(message)\n".utf8))
        })

    /// The logger of the process. At first it writes lines up to `.info` to the standard error.
    public static var shared: Logger {
        get { current.withLock { $0 } }
        set {
            // What is replaced is freed after the lock is given back.
            let old = current.withLock { current in
                defer { current = newValue }
                return current
            }
            _ = old
        }
    }

    /// Tells the shared logger. The message is only made where it wants it.
    static func log(_ level: LogLevel, _ message: @autoclosure () -> String) {
        let logger = shared
        guard level != .off, level.rawValue <= logger.threshold.load(ordering: .relaxed) else { return }
        logger.function(level, message())
    }
}
