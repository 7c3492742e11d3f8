// SPDX-License-Identifier: Apache-2.0
// The changes of a whole database since a version: inserted, modified and deleted objects of each class, by primary
// key. A reader stores the cursor of the version that it has seen, and asks for the changes since then, also in another
// process. The older version comes from the history of the file (`RegnumEngine/History`); nothing else is recorded.

package import RegnumEngine

/// Names a version of a file. Compared with the file before it is used.
package struct FeedCursor: Hashable, Sendable {
    package var fileLow: UInt64
    package var fileHigh: UInt64
    package var version: UInt64
    /// Distinguishes commits with the same number, of which at most one is in the file.
    package var stamp: UInt64

    package init(_ session: Session) {
        (fileLow, fileHigh) = session.database.identifier
        (version, stamp) = (session.version, session.stamp)
    }

    /// 32 hexadecimal digits for the file, the version, 16 digits for the stamp.
    package var text: String { "\(Self.hex(fileHigh))\(Self.hex(fileLow))-\(version)-\(Self.hex(stamp))" }

    package init?(text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].utf8.count == 32, parts[2].utf8.count == 16,
            let high = UInt64(parts[0].prefix(16), radix: 16), let low = UInt64(parts[0].suffix(16), radix: 16),
            let version = UInt64(parts[1]), let stamp = UInt64(parts[2], radix: 16)
        else { return nil }
        (fileLow, fileHigh, self.version, self.stamp) = (low, high, version, stamp)
    }

    private static func hex(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// The reason why changes since a cursor, or an older version, cannot be read.
package enum FeedProblem: Error, Sendable, Equatable {
    /// The cursor is of another file, or of the file before it was compacted.
    case otherFile
    /// The file keeps no older versions.
    case noHistory
    /// The version is older than those that are kept.
    case notKept(version: UInt64, oldest: UInt64)
    /// The version is not in the file: a power loss undid the commit, or an earlier copy of the file was restored.
    case lost(version: UInt64)
    case engine(EngineError)

    /// Runs a call of the engine.
    package static func running<R>(_ body: () throws(EngineError) -> R) throws(FeedProblem) -> R {
        do throws(EngineError) { return try body() } catch { throw .engine(error) }
    }
}

/// The changes between two versions.
package struct VersionChanges: Sendable {
    package struct Object: Sendable, Hashable {
        package var key: ObjectKey
        /// Nil if the class has no primary key.
        package var primaryKey: Value?
    }

    package struct Modified: Sendable, Hashable {
        package var object: Object
        /// The columns that differ, in the order of the table.
        package var columns: [String]
    }

    package struct Class: Sendable {
        package var name: String
        package var inserted: [Object] = []
        package var modified: [Modified] = []
        package var deleted: [Object] = []
        package var isEmpty: Bool { inserted.isEmpty && modified.isEmpty && deleted.isEmpty }
    }

    /// The classes with changes, in the order of their tables; then those that are gone.
    package var classes: [Class] = []
    /// The version after the changes.
    package var cursor: FeedCursor
    /// True if classes or properties were added, changed or removed.
    package var isNewSchema = false
    package var isEmpty: Bool { classes.isEmpty && !isNewSchema }
}

extension VersionChanges {
    /// Computes the changes from `older` to `newer`. An object that was deleted, and created again with the same
    /// primary key, counts as modified in all its properties. The cost is that of the changed blocks and objects.
    package static func between(_ older: Session, _ newer: Session) throws(EngineError) -> VersionChanges {
        var all = VersionChanges(cursor: FeedCursor(newer))
        // The schema is also written again when it is moved, or when the history is switched on or off.
        all.isNewSchema =
            older.schemaStamp != newer.schemaStamp
            && !older.tables.elementsEqual(newer.tables) { $0.definition == $1.definition }
        var found: [TableKey: TableChanges] = [:]
        for changes in try newer.changes(since: older) { found[changes.table] = changes }
        for table in newer.tables {
            let before = older.table(table.definition.key)
            var changes = found[table.definition.key]
            if before == nil { changes = try newTable(table) }
            guard let changes else { continue }
            let made = try changed(changes, before, table)
            if !made.isEmpty { all.classes.append(made) }
        }
        for table in older.tables where newer.table(table.definition.key) == nil && table.count > 0 {
            var gone = Class(name: table.definition.name)
            gone.deleted = try objects(try keys(table), table)
            // A class that was removed and added again has another table. It is one class for the reader.
            guard let place = all.classes.firstIndex(where: { $0.name == gone.name }),
                let definition = newer.table(named: gone.name)?.definition
            else {
                all.classes.append(gone)
                continue
            }
            all.classes[place].deleted += gone.deleted
            joinReplaced(&all.classes[place], definition)
        }
        return all
    }

    private static func newTable(_ table: Table) throws(EngineError) -> TableChanges {
        var changes = TableChanges(table: table.definition.key)
        changes.inserted = try keys(table)
        return changes
    }

    private static func keys(_ table: Table) throws(EngineError) -> [ObjectKey] {
        var keys: [ObjectKey] = []
        keys.reserveCapacity(table.count)
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count { keys.append(ObjectKey(group.pointee.key(at: row))) }
            return true
        }
        return keys
    }

    private static func objects(_ keys: [ObjectKey], _ table: Table) throws(EngineError) -> [Object] {
        let primaryKey = table.definition.primaryKey
        var found: [Object] = []
        found.reserveCapacity(keys.count)
        for key in keys {
            var object = Object(key: key, primaryKey: nil)
            if let primaryKey { object.primaryKey = try table.value(primaryKey, of: key) }
            found.append(object)
        }
        return found
    }

    private static func changed(
        _ changes: TableChanges, _ before: Table?, _ table: Table
    ) throws(EngineError) -> Class {
        let definition = table.definition
        var all = Class(name: definition.name)
        all.inserted = try objects(changes.inserted, table)
        if let before { all.deleted = try objects(changes.deleted, before) }
        for (key, columns) in zip(changes.modified, changes.columns) {
            if let primaryKey = definition.primaryKey, columns.contains(primaryKey), let before {
                // A migration has changed the primary key.
                all.deleted += try objects([key], before)
                all.inserted += try objects([key], table)
                continue
            }
            let names = columns.columns.filter { !definition.columns[$0].isHidden }.map { definition.columns[$0].name }
            if names.isEmpty { continue }
            for object in try objects([key], table) { all.modified.append(Modified(object: object, columns: names)) }
        }
        joinReplaced(&all, definition)
        return all
    }

    /// Makes one modification of the deletion and the insertion of objects with the same primary key.
    private static func joinReplaced(_ all: inout Class, _ definition: TableDefinition) {
        if definition.primaryKey == nil || all.inserted.isEmpty || all.deleted.isEmpty { return }
        let new = Set(all.inserted.compactMap { identity($0) })
        let replaced = Set(all.deleted.lazy.compactMap { identity($0) }.filter { new.contains($0) })
        if replaced.isEmpty { return }
        func isReplaced(_ object: Object) -> Bool { identity(object).map { replaced.contains($0) } ?? false }
        let names = definition.columns.filter { !$0.isHidden && !$0.isPrimaryKey }.map(\.name)
        all.deleted.removeAll { isReplaced($0) }
        for object in all.inserted where isReplaced(object) {
            all.modified.append(Modified(object: object, columns: names))
        }
        all.inserted.removeAll { isReplaced($0) }
    }

    /// The primary key as it is stored: texts that look the same may be different keys. Nil if there was none, which is
    /// not the primary key nil.
    private static func identity(_ object: Object) -> Value? {
        if case .string(let text)? = object.primaryKey { return .data(Array(text.utf8)) }
        return object.primaryKey
    }
}

/// Reads the changes of a database from a cursor on. Confined to one thread at a time.
///
/// It holds the version that it has delivered last, which therefore stays readable while the reader exists, also in a
/// file without a history.
package final class FeedReader {
    /// The version that was delivered last.
    package private(set) var last: Session
    /// The numbers of the next versions that the file keeps, newest first, so that the list is not searched for each.
    private var upcoming: [UInt64] = []
    private static let upcomingLimit = 256

    package var cursor: FeedCursor { FeedCursor(last) }

    /// Begins after the version that `cursor` names; after the newest version if it is nil.
    package init(_ database: Database, since cursor: FeedCursor?) throws(FeedProblem) {
        guard let cursor else {
            last = try FeedProblem.running { () throws(EngineError) in try database.makeSession() }
            return
        }
        last = try Self.session(database, at: cursor)
    }

    /// Returns a session at the version that `cursor` names.
    package static func session(_ database: Database, at cursor: FeedCursor) throws(FeedProblem) -> Session {
        guard (cursor.fileLow, cursor.fileHigh) == database.identifier else { throw .otherFile }
        // A session of this process may show a commit that waits for its sync.
        if cursor.version > database.newestVersion {
            try FeedProblem.running { () throws(EngineError) in try database.makeDurable() }
        }
        if cursor.version == 0 || cursor.version > database.newestVersion { throw .lost(version: cursor.version) }
        let found = try FeedProblem.running { () throws(EngineError) in
            try database.makeSession(at: cursor.version)
        }
        guard let found else { throw try missing(database, cursor.version) }
        if found.stamp != cursor.stamp { throw .lost(version: cursor.version) }
        return found
    }

    /// The reason why a version that is not newer than the newest one is not kept.
    package static func missing(_ database: Database, _ version: UInt64) throws(FeedProblem) -> FeedProblem {
        let history = try FeedProblem.running { () throws(EngineError) in try database.makeSession().history() }
        guard let history else { return .noHistory }
        return version < history.oldest ? .notKept(version: version, oldest: history.oldest) : .lost(version: version)
    }

    /// Returns the changes up to the newest version, or with `byCommit` up to the next version that is kept; nil if
    /// there is no newer version. The result may be empty. `database` is the one of the last call, or another opening
    /// of the file. Throws `.otherFile` or `.lost` if the file has been replaced by another one, or by an earlier copy.
    package func next(in database: Database, byCommit: Bool) throws(FeedProblem) -> VersionChanges? {
        try requireSameFile(database)
        // One load, for readers that ask often.
        if database.newestVersion <= last.version { return nil }
        return try FeedProblem.running { () throws(EngineError) -> VersionChanges? in
            var newer = try database.makeSession()
            if newer.version <= last.version { return nil }
            if byCommit, let kept = try nextKept(in: database) { newer = kept }
            let changes = try VersionChanges.between(last, newer)
            last = newer
            return changes
        }
    }

    /// Returns a session at the oldest kept version after the one that was delivered last; nil if there is none, or if
    /// writers drop versions faster than this finds them.
    private func nextKept(in database: Database) throws(EngineError) -> Session? {
        while let number = upcoming.last, number <= last.version { upcoming.removeLast() }
        for _ in 0..<8 {
            if upcoming.isEmpty {
                var found: [UInt64] = []
                try database.makeSession().visitHistory(from: last.version + 1) { (version) throws(EngineError) in
                    found.append(version.number)
                    return found.count < Self.upcomingLimit
                }
                upcoming = found.reversed()
            }
            guard let next = upcoming.popLast() else { return nil }
            if let session = try database.makeSession(at: next) { return session }
            // It has been dropped in the meantime.
            upcoming = []
        }
        return nil
    }

    /// Throws if the file of another opening does not hold the version that was delivered last, as far as it shows that.
    private func requireSameFile(_ database: Database) throws(FeedProblem) {
        if database === last.database { return }
        guard database.identifier == last.database.identifier else { throw .otherFile }
        let number = last.version
        if database.newestVersion < number { throw .lost(version: number) }
        let same = try FeedProblem.running { () throws(EngineError) in try database.makeSession(at: number) }
        if let same, same.stamp != last.stamp { throw .lost(version: number) }
    }
}
