// SPDX-License-Identifier: Apache-2.0
// A Realm being opened in the background.

public import Dispatch
internal import Foundation
internal import RegnumSystem

/// A Realm being opened by `Realm.asyncOpen`. Can be used on any thread.
public final class AsyncOpenTask: Sendable {
    /// The progress of a download. Local files are not downloaded.
    public struct Progress: Sendable {
        /// The number of bytes transferred so far.
        public let transferredBytes: Int
        /// The number of bytes to transfer in all.
        public let transferrableBytes: Int
    }

    private struct Callback: @unchecked Sendable {
        // Sendable: called only on the queue that it was passed for.
        let call: (Result<Realm, any Error>) -> Void
    }
    private let callback: Lock<Callback?>
    private let queue: DispatchQueue
    /// Controls the migration, if there is one.
    let control = MigrationControl()

    init(_ queue: DispatchQueue, _ callback: @escaping (Result<Realm, any Error>) -> Void) {
        self.queue = queue
        self.callback = Lock(Callback(call: callback))
    }

    /// Calls the callback on the queue with the result of `open`, unless it has been called already.
    func finish(_ open: @escaping @Sendable () throws -> Realm) {
        queue.async {
            let callback = self.callback.withLock { callback in
                defer { callback = nil }
                return callback
            }
            callback?.call(Result { try open() })
        }
    }

    /// Cancels opening the Realm, and calls the callback with an error of the POSIX domain, "Operation canceled",
    /// unless it has been called already. A running migration is cancelled and the file left unchanged. Has no effect
    /// once the commit of the migration has begun.
    public func cancel() {
        guard control.cancel() else { return }
        let error = NSError(
            domain: NSPOSIXErrorDomain, code: Int(POSIXErrorCode.ECANCELED.rawValue),
            userInfo: [NSLocalizedDescriptionKey: "Operation canceled"])
        finish { throw error }
    }

    /// Never calls `block`: local files are not downloaded.
    public func addProgressNotification(queue: DispatchQueue = .main, block: @escaping (Progress) -> Void) {}
}
