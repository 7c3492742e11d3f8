// SPDX-License-Identifier: Apache-2.0
// The reasons for which a pool refuses a call, before its closure runs.

public import Foundation

/// Why a `RealmPool` has refused to run a closure. Nothing was read or written.
public enum RealmPoolError: Error, Sendable, Hashable {
    /// `close` was called before.
    case closed
    /// As many calls as `waitingLimit` allows are already waiting: a server should answer that it is overloaded.
    case tooManyWaiting(limit: Int)
}

extension RealmPoolError: LocalizedError, CustomStringConvertible {
    public var description: String {
        switch self {
        case .closed: "The pool is closed and runs no new closures. Make another pool to use the file again."
        case .tooManyWaiting(let limit):
            "The pool is overloaded: \(limit) calls are already waiting for it, as many as `waitingLimit` allows."
        }
    }

    public var errorDescription: String? { description }
}
