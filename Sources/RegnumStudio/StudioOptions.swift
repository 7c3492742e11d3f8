// SPDX-License-Identifier: Apache-2.0
// The settings of a studio.

public import Foundation

/// The settings of a studio. **Unstable**, like `Inspector`.
public struct StudioOptions: Sendable {
    /// The database file.
    public var fileURL: URL
    public var encryptionKey: Data?
    /// The name that the page shows.
    public var name: String
    /// A sentence about the file that the page shows, such as that it is a copy.
    public var note: String?
    /// False if the page never offers to edit.
    public var allowsEditing = true
    /// The secret that each request for data has to carry. See `makeToken`. Nil if the server that the studio is
    /// mounted in authenticates its users by other means.
    public var token: String?
    /// The names that the Host field of a request may have, without the port. Other names are refused, so that a foreign
    /// page whose name leads to this machine reads nothing. Nil allows all names.
    public var hosts: Set<String>? = ["127.0.0.1", "localhost", "[::1]"]
    /// The longest body of a request, in bytes: the text of an import.
    public var bodyLimit = 256 << 20
    /// The memory for the values of changes that can be undone, in bytes. The oldest changes are forgotten beyond it.
    public var undoByteLimit = 64 << 20
    /// The time after which a request is answered with an error. A change that has begun is waited for, so that an error
    /// means that nothing was changed. It waits at most half of this time, and 5 seconds, for another process that writes.
    /// An export ends with an error if its reader takes nothing for four times as long.
    public var timeLimit: Duration = .seconds(30)

    public init(fileURL: URL, encryptionKey: Data? = nil, token: String?) {
        self.fileURL = fileURL
        self.encryptionKey = encryptionKey
        self.token = token
        name = fileURL.lastPathComponent
    }

    /// The seconds after which an export ends whose reader takes no more: it keeps an old version of the file.
    var longestPause: Double {
        let (seconds, attoseconds) = timeLimit.components
        return 4 * (Double(seconds) + Double(attoseconds) / 1e18)
    }

    /// The nanoseconds for which opening the file and a change wait for other processes. Other requests wait meanwhile.
    var busyTimeout: UInt64 {
        let limit: Duration = min(timeLimit / 2, .seconds(5))
        let (seconds, attoseconds) = max(limit, .zero).components
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
