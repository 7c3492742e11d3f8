// SPDX-License-Identifier: Apache-2.0
// Follows the results of a query while other processes commit: which objects were inserted, modified and deleted.

public import Foundation
internal import RegnumEngine
internal import RegnumObservation
internal import RegnumQuery

/// The difference between two versions of the results of a query. **Unstable**, like `Inspector`.
public struct WatchedChanges: Sendable, Equatable {
    public struct Element: Sendable, Equatable {
        /// The number of the object in its class.
        public internal(set) var key: UInt64
        /// The position in the results: the new ones, for a deletion the old ones.
        public internal(set) var index: Int
        /// The object as JSON; for a deletion as it was before. An object that moves in the results is not changed.
        public internal(set) var json: String
    }

    public internal(set) var version: UInt64 = 0
    /// True if the schema has changed, or the file was replaced. All results are then new.
    public internal(set) var isNewSchema = false
    /// The number of results.
    public internal(set) var count = 0
    public internal(set) var deletions: [Element] = []
    public internal(set) var insertions: [Element] = []
    /// Objects with changed properties, or with links to changed objects, up to four links away.
    public internal(set) var modifications: [Element] = []

    public var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty && !isNewSchema }
}

/// The results of a query at one version after another. Memory: 8 bytes for each result. Confined to one thread.
/// **Unstable**, like `Inspector`.
///
/// The versions are those of a `VersionFollower`.
public final class QueryWatch {
    private let path: String
    private let className: String
    private let text: String
    private let follower: VersionFollower
    private var session: Session
    private var keys: [ObjectKey] = []
    private var isOrdered = false

    /// Runs the query. Throws `InspectionError`.
    public init(
        fileURL: URL, isReadOnly: Bool, encryptionKey: Data? = nil, className: String,
        matching text: String = "TRUEPREDICATE"
    ) throws {
        path = fileURL.path
        self.className = className
        self.text = text
        follower = try VersionFollower(path: path, isReadOnly: isReadOnly, encryptionKey: encryptionKey)
        session = follower.session
        keys = try run(in: session)
    }

    /// The version shown.
    public var version: UInt64 { session.version }

    /// The number of results.
    public var count: Int { keys.count }

    /// All results. Calls `body` with each. Throws `InspectionError`, and any error that `body` throws.
    public func visit(_ body: (WatchedChanges.Element) throws -> Void) throws {
        let table = try follower.inspector.table(className, session)
        for (index, key) in keys.enumerated() {
            try body(try element(key, index, table, ObjectFormatter(session: session)))
        }
    }

    private func run(in session: Session) throws -> [ObjectKey] {
        let query = try follower.inspector.query(text, try follower.inspector.table(className, session), session)
        isOrdered = !query.orderings.isEmpty
        return try inspecting(path) { () throws(EngineError) in try query.keys() }
    }

    /// Advances to the newest version. Returns the changes; nil if there is no newer version. Throws `InspectionError`.
    public func advance() throws -> WatchedChanges? {
        let file = follower.fileNumber
        guard try follower.advance() else { return nil }
        let (older, newer) = (session, follower.session)
        session = newer
        if older.schemaStamp != newer.schemaStamp || follower.fileNumber != file {
            keys = try run(in: newer)
            return WatchedChanges(version: newer.version, isNewSchema: true, count: keys.count)
        }
        let changes = try inspecting(path) { () throws(EngineError) in try newer.changes(since: older) }
        var found = WatchedChanges(version: newer.version, count: keys.count)
        if changes.isEmpty { return found }
        let table = try follower.inspector.table(className, newer)
        let before = try follower.inspector.table(className, older)
        let walk = RegionTraversal(older: older, newer: newer, changes: changes)
        let modified = try inspecting(path) { () throws(EngineError) in
            try walk.modified(Region.everything(table.definition.key))
        }
        let old = keys
        keys = try run(in: newer)
        found.count = keys.count
        let (gone, new) = Self.difference(isOrdered ? old.sorted() : old, isOrdered ? keys.sorted() : keys)
        let (oldFormatter, formatter) = (ObjectFormatter(session: older), ObjectFormatter(session: newer))
        for (index, key) in places(of: gone, in: old) {
            found.deletions.append(try element(key, index, before, oldFormatter))
        }
        for (index, key) in places(of: new, in: keys) {
            found.insertions.append(try element(key, index, table, formatter))
        }
        for (index, key) in places(of: modified.subtracting(new), in: keys) {
            found.modifications.append(try element(key, index, table, formatter))
        }
        return found
    }

    private func element(
        _ key: ObjectKey, _ index: Int, _ table: Table, _ formatter: ObjectFormatter
    ) throws -> WatchedChanges.Element {
        let json = try inspecting(path) { () throws(EngineError) in try formatter.json(table, key) }
        return WatchedChanges.Element(key: key.rawValue, index: index, json: json)
    }

    /// The positions of those of the keys that are in the results, ascending.
    private func places(of wanted: Set<ObjectKey>, in keys: [ObjectKey]) -> [(Int, ObjectKey)] {
        if wanted.isEmpty { return [] }
        return keys.enumerated().compactMap { wanted.contains($1) ? ($0, $1) : nil }
    }

    /// The keys that are only in the first, and those that are only in the second of two ascending lists.
    private static func difference(_ old: [ObjectKey], _ new: [ObjectKey]) -> (
        gone: Set<ObjectKey>, new: Set<ObjectKey>
    ) {
        var (gone, came): (Set<ObjectKey>, Set<ObjectKey>) = ([], [])
        var (i, j) = (0, 0)
        while i < old.count || j < new.count {
            if j == new.count || i < old.count && old[i] < new[j] {
                gone.insert(old[i])
                i += 1
            } else if i == old.count || new[j] < old[i] {
                came.insert(new[j])
                j += 1
            } else {
                i += 1
                j += 1
            }
        }
        return (gone, came)
    }
}
