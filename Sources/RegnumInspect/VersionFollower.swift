// SPDX-License-Identifier: Apache-2.0
// Follows the versions of a file while other processes commit.

package import Foundation
package import RegnumEngine

/// The newest version of a file, as of the last `advance`. Confined to one thread at a time.
///
/// A file that may be written is opened as by any other process, which makes it cheap to ask for a new version. A file
/// that is only read is opened again when it has been written. A file that was replaced is opened again in both cases.
package final class VersionFollower {
    private let path: String
    private let encryptionKey: Data?
    private let busyTimeout: UInt64?
    package private(set) var inspector: Inspector
    package private(set) var session: Session
    private var stamp: FileStamp

    /// Opens the file. Throws `InspectionError`. `busyTimeout` is that of `Inspector`.
    package init(path: String, isReadOnly: Bool, encryptionKey: Data?, busyTimeout: UInt64? = nil) throws {
        self.path = path
        self.encryptionKey = encryptionKey
        self.busyTimeout = busyTimeout
        stamp = FileStamp(path)
        inspector = try Inspector(
            path: path, isReadOnly: isReadOnly, encryptionKey: encryptionKey, busyTimeout: busyTimeout)
        session = try inspector.makeSession()
    }

    /// Differs after `advance` if the file was replaced by another one.
    package var fileNumber: Int { stamp.number }

    package var isReadOnly: Bool { inspector.database.options.isReadOnly }

    /// Replaces `session` by one at the newest version. Returns false if there is no newer version. Throws
    /// `InspectionError`; the session is then the old one.
    package func advance() throws -> Bool {
        let now = FileStamp(path)
        // If the path leads to another file now, changes of the open one would be lost.
        let isOther = now.number != stamp.number
        if !isReadOnly, !isOther {
            if inspector.database.newestVersion == session.version { return false }
            let next = try inspector.makeSession()
            if next.version == session.version { return false }
            session = next
            return true
        }
        if now == stamp, stamp.isSettled { return false }
        let next = try Inspector(
            path: path, isReadOnly: isReadOnly, encryptionKey: encryptionKey, busyTimeout: busyTimeout)
        let newer = try next.makeSession()
        stamp = now
        if newer.version == session.version, !isOther { return false }
        inspector = next
        session = newer
        return true
    }
}

/// The state of a file before it is opened. Differs if the file has been written, or is another file.
struct FileStamp: Equatable {
    /// In microseconds.
    private let modified: Int
    private let size: Int
    /// 0 if there is no file.
    let number: Int
    /// False if the file may be written again without another time: the system's times advance in steps.
    let isSettled: Bool

    init(_ path: String) {
        let now = Date()
        let found = try? FileManager.default.attributesOfItem(atPath: path)
        let date = found?[.modificationDate] as? Date ?? .distantPast
        modified = Int(date.timeIntervalSince1970 * 1e6)
        size = found?[.size] as? Int ?? 0
        number = (found?[.systemFileNumber] as? NSNumber)?.intValue ?? 0
        isSettled = abs(now.timeIntervalSince(date)) > 0.1
    }

    static func == (a: FileStamp, b: FileStamp) -> Bool {
        a.modified == b.modified && a.size == b.size && a.number == b.number
    }
}
