// SPDX-License-Identifier: Apache-2.0
// Follows the changes of all classes of a file from a cursor on: which objects came, changed and went, by primary key.

public import Foundation
internal import RegnumEngine
internal import RegnumObservation

/// The changes between two versions of a file. **Unstable**, like `Inspector`.
public struct WatchedFeed: Sendable, Equatable {
    public struct Modification: Sendable, Equatable {
        /// See `Class.inserted`.
        public internal(set) var object: String
        public internal(set) var properties: [String]
    }

    public struct Class: Sendable, Equatable {
        public internal(set) var name: String
        /// Primary keys as JSON; for an object without one, a JSON object with its number as `key`.
        public internal(set) var inserted: [String]
        public internal(set) var modified: [Modification]
        /// See `inserted`.
        public internal(set) var deleted: [String]
    }

    public internal(set) var version: UInt64
    /// Names the version; a later `ChangeWatch` may begin after it.
    public internal(set) var cursor: String
    public internal(set) var isNewSchema: Bool
    public internal(set) var classes: [Class]
}

/// The changes of a file at one version after another. Confined to one thread. **Unstable**, like `Inspector`.
///
/// A file that may be written is opened as by any other process. Another one is opened again when it has changed.
public final class ChangeWatch {
    private let path: String
    private let encryptionKey: Data?
    private let reader: FeedReader
    private var inspector: Inspector
    private var stamp: FileStamp

    /// Begins after the version that `cursor` names, which the file must keep; after the newest version if it is nil.
    /// Throws `InspectionError`.
    public init(fileURL: URL, isReadOnly: Bool, encryptionKey: Data? = nil, since cursor: String? = nil) throws {
        path = fileURL.path
        self.encryptionKey = encryptionKey
        var start: FeedCursor?
        if let cursor {
            start = FeedCursor(text: cursor)
            guard start != nil else {
                throw InspectionError(
                    path: path,
                    description: "'\(cursor)' is not a change cursor: give one that was printed before, or 'now'.")
            }
        }
        stamp = FileStamp(path)
        inspector = try Inspector(path: path, isReadOnly: isReadOnly, encryptionKey: encryptionKey)
        do throws(FeedProblem) {
            reader = try FeedReader(inspector.database, since: start)
        } catch { throw Self.error(error, path) }
    }

    /// The version that was delivered last.
    public var version: UInt64 { reader.cursor.version }
    /// Names that version.
    public var cursor: String { reader.cursor.text }

    /// Returns the changes up to the newest version, or with `byCommit` up to the next one that the file keeps; nil if
    /// there is no newer version. Throws `InspectionError`.
    public func advance(byCommit: Bool = false) throws -> WatchedFeed? {
        if let found = try next(byCommit) { return found }
        guard inspector.database.options.isReadOnly else { return nil }
        let now = FileStamp(path)
        if now == stamp, stamp.isSettled { return nil }
        stamp = now
        inspector = try Inspector(path: path, isReadOnly: true, encryptionKey: encryptionKey)
        return try next(byCommit)
    }

    private func next(_ byCommit: Bool) throws -> WatchedFeed? {
        let older = reader.last
        do throws(FeedProblem) {
            guard let changes = try reader.next(in: inspector.database, byCommit: byCommit) else { return nil }
            let (oldWriter, writer) = (ObjectFormatter(session: older), ObjectFormatter(session: reader.last))
            return try FeedProblem.running { () throws(EngineError) -> WatchedFeed in
                var feed = WatchedFeed(
                    version: changes.cursor.version, cursor: changes.cursor.text, isNewSchema: changes.isNewSchema,
                    classes: [])
                for found in changes.classes {
                    var made = WatchedFeed.Class(name: found.name, inserted: [], modified: [], deleted: [])
                    for object in found.inserted { made.inserted.append(try Self.text(object, writer)) }
                    for modified in found.modified {
                        made.modified.append(
                            WatchedFeed.Modification(
                                object: try Self.text(modified.object, writer), properties: modified.columns))
                    }
                    for object in found.deleted { made.deleted.append(try Self.text(object, oldWriter)) }
                    feed.classes.append(made)
                }
                return feed
            }
        } catch { throw Self.error(error, path) }
    }

    private static func text(
        _ object: VersionChanges.Object, _ writer: ObjectFormatter
    ) throws(EngineError) -> String {
        guard let primaryKey = object.primaryKey else { return "{\"key\": \(object.key.rawValue)}" }
        return try writer.json(primaryKey: primaryKey)
    }

    private static func error(_ problem: FeedProblem, _ path: String) -> any Error {
        let words: String
        switch problem {
        case .engine(let error): return InspectionError(path: path, error)
        case .otherFile: words = "The cursor is of another file, or of this one before it was compacted or replaced."
        case .noHistory: words = "The file keeps no older versions."
        case .notKept(let version, let oldest):
            words = "Version \(version) is no longer kept: the oldest version is \(oldest)."
        case .lost(let version):
            words =
                "Commit \(version) is not in the file: a power loss undid it, or an earlier copy of the file was "
                + "restored."
        }
        return InspectionError(path: path, description: words)
    }
}
