// SPDX-License-Identifier: Apache-2.0
// Follows the versions of a file while other processes commit.

package import Foundation
package import RegnumEngine

/// The newest version of a file, as of the last `advance`. Confined to one thread at a time.
///
/// A file that may be written is opened as by any other process, which makes it cheap to ask for a new version. A file
/// that is only read is opened again when it has been written.
package final class VersionFollower {
    private let path: String
    private let encryptionKey: Data?
    package private(set) var inspector: Inspector
    package private(set) var session: Session
    private var stamp: [Int]

    /// Opens the file. Throws `InspectionError`.
    package init(path: String, isReadOnly: Bool, encryptionKey: Data?) throws {
        self.path = path
        self.encryptionKey = encryptionKey
        stamp = Self.stamp(path)
        inspector = try Inspector(path: path, isReadOnly: isReadOnly, encryptionKey: encryptionKey)
        session = try inspector.makeSession()
    }

    package var isReadOnly: Bool { inspector.database.options.isReadOnly }

    /// Replaces `session` by one at the newest version. Returns false if there is no newer version. Throws
    /// `InspectionError`; the session is then the old one.
    package func advance() throws -> Bool {
        if !isReadOnly {
            if inspector.database.newestVersion == session.version { return false }
            let next = try inspector.makeSession()
            if next.version == session.version { return false }
            session = next
            return true
        }
        let now = Self.stamp(path)
        if now == stamp { return false }
        let next = try Inspector(path: path, isReadOnly: true, encryptionKey: encryptionKey)
        let newer = try next.makeSession()
        stamp = now
        if newer.version == session.version { return false }
        inspector = next
        session = newer
        return true
    }

    /// Differs if the file has been written.
    static func stamp(_ path: String) -> [Int] {
        let found = try? FileManager.default.attributesOfItem(atPath: path)
        let date = (found?[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
        return [Int(date * 1e6), found?[.size] as? Int ?? 0, found?[.systemFileNumber] as? Int ?? 0]
    }
}
