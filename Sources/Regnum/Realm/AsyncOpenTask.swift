// SPDX-License-Identifier: Apache-2.0
// An opening that goes on elsewhere.

public import Dispatch
internal import Foundation
internal import RegnumSystem

/// An opening by `Realm.asyncOpen`. Any thread.
public final class AsyncOpenTask: Sendable {
    /// How far a download is. There is none of local files.
    public struct Progress: Sendable {
        /// Bytes that have come.
        public let transferredBytes: Int
        /// Bytes that are to come in all.
        public let transferrableBytes: Int
    }

    private struct Callback: @unchecked Sendable {
        // Sendable: called on the queue that it was given for.
        let call: (Result<Realm, any Error>) -> Void
    }
    private let callback: Lock<Callback?>
    private let queue: DispatchQueue
    /// Of the migration, where there is one.
    let control = MigrationControl()

    init(_ queue: DispatchQueue, _ callback: @escaping (Result<Realm, any Error>) -> Void) {
        self.queue = queue
        self.callback = Lock(Callback(call: callback))
    }

    /// Calls back on the queue, unless that was done, with what `open` makes there.
    func finish(_ open: @escaping @Sendable () throws -> Realm) {
        queue.async {
            let callback = self.callback.withLock { callback in
                defer { callback = nil }
                return callback
            }
            callback?.call(Result { try open() })
        }
    }

    /// Calls back with an error of the POSIX domain, "Operation canceled", unless it was called back before. A
    /// migration under way is called off, and the file as it was; of no effect where its commit has begun.
    public func cancel() {
        guard control.cancel() else { return }
        let error = NSError(
            domain: NSPOSIXErrorDomain, code: Int(POSIXErrorCode.ECANCELED.rawValue),
            userInfo: [NSLocalizedDescriptionKey: "Operation canceled"])
        finish { throw error }
    }

    /// Never calls: local files are not downloaded.
    public func addProgressNotification(queue: DispatchQueue = .main, block: @escaping (Progress) -> Void) {}
}
