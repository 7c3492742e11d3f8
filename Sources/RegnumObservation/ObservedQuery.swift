// SPDX-License-Identifier: Apache-2.0
// The observed objects of a table: the result of a query in the version last delivered to observers, and the changes to
// the result since. All observers of equal queries share one instance.
//
//     deciding objects (inserted, deleted, or changed in a column the query reads)
//       ├─ evaluated one by one ──▶ removed from their old positions, inserted at their new ones
//       └─ distinct, slices, too many ──▶ the query runs again and the two orders are compared
//
// The cost grows with the change: the position of an object is found by O(log n) comparisons in the chunks of
// `KeyChunks`, that of an object of a whole table by the counts in the table's tree. Memory is 8 to 16 bytes per
// object, and none for a whole table.

package import RegnumEngine
package import RegnumQuery

/// Counters of work, for tests that prove that it does not depend on the number of objects.
package struct ObservedWork: Equatable, Sendable {
    /// The number of runs of the whole query, including the first.
    package var runs = 0
    /// The number of objects for which the predicate was evaluated outside of runs.
    package var evaluated = 0
    /// The number of objects compared with others to find a position.
    package var compared = 0
    /// The number of passes over all elements.
    package var passes = 0

    package init() {}
}

/// Confined to the session's thread.
package final class ObservedQuery {
    package let table: TableKey
    /// Nil for all objects of the table, in key order.
    private let query: ObjectQuery?
    private let reads: QueryRegion?
    /// Nil for key order.
    private let order: RowOrder?
    /// The latest result; empty for a whole table.
    private var keys = KeyChunks([])
    private let chunkLength: Int
    /// The row stamps of all tables that the result depends on, at the version last delivered.
    private var rows: [BlockRef?] = []
    package private(set) var work = ObservedWork()

    /// The traversal that led to this version, while it exists. The next properties are the moves that it caused, and
    /// the last change set returned for it.
    private weak var walk: RegionTraversal?
    private var moves = CollectionChanges()
    /// New positions of objects that were inserted again; nil for those that were left out.
    private var places: [ObjectKey: Int?] = [:]
    private var told: (modified: Set<ObjectKey>, changes: CollectionChanges)?
    /// The deciding objects of the last traversal examined.
    private weak var decidedWalk: RegionTraversal?
    private var decided: Set<ObjectKey> = []

    /// Runs the query on the session's current version.
    package convenience init(table: TableKey, query: ObjectQuery?, in session: Session) throws(EngineError) {
        try self.init(table: table, query: query, in: session, chunkLength: KeyChunks.usualLength)
    }

    /// Uses another chunk length for `KeyChunks`, for tests with few objects.
    init(table: TableKey, query: ObjectQuery?, in session: Session, chunkLength: Int) throws(EngineError) {
        self.chunkLength = chunkLength
        self.table = table
        self.query = query
        reads = query.map { QueryRegion($0) }
        order = query.flatMap { RowOrder($0.orderings) }
        if let query { keys = try run(query, in: session) }
        rows = rows(in: session)
    }

    /// Copies the result of `other`, an equal query, at the session's current version.
    init(table: TableKey, query: ObjectQuery?, as other: ObservedQuery) {
        chunkLength = other.chunkLength
        self.table = table
        self.query = query
        reads = other.reads
        order = other.order
        keys = other.keys
        rows = other.rows
        work = other.work
    }

    /// True if the result matches the session's current version.
    package func isCurrent(in session: Session) -> Bool { rows == rows(in: session) }

    private func rows(in session: Session) -> [BlockRef?] {
        guard let reads else { return [] }
        return [session.table(table)?.rowsStamp] + reads.otherTables.map { session.table($0)?.rowsStamp }
    }

    /// The bytes of memory used for the elements.
    package var byteCount: Int { keys.byteCount }

    /// The number of elements; 0 for a whole table, for which none are stored.
    package var count: Int { keys.count }
    /// All keys in order; empty for a whole table. O(n).
    package var allKeys: [ObjectKey] { keys.all }
    /// The first keys in order; empty for a whole table.
    package func keys(first limit: Int) -> [ObjectKey] { (0..<min(limit, keys.count)).map { keys[$0] } }
    /// The last key in order; nil for a whole table.
    package var lastKey: ObjectKey? { keys.count == 0 ? nil : keys[keys.count - 1] }

    /// Runs the query in its own session.
    private func run(_ query: ObjectQuery, in session: Session) throws(EngineError) -> KeyChunks {
        work.runs += 1
        var keys = KeyChunks(try query.keys(), chunkLength: chunkLength)
        if let order, order.hasMarks {
            try keys.learnMarks { key throws(EngineError) in
                guard let row = try OrderedRow(key, table, in: session) else {
                    preconditionFailure("an object that was found is gone")
                }
                return try order.mark(of: row)
            }
        }
        return keys
    }

    /// Computes the change set and advances to the newer version; the work is done once for all observers. `modified`:
    /// the objects that count as changed.
    package func advance(_ walk: RegionTraversal, modified: Set<ObjectKey>) throws(EngineError) -> CollectionChanges {
        if self.walk !== walk {
            places = [:]
            moves = try follow(walk)
            self.walk = walk
            rows = rows(in: walk.newer)
            told = nil
        }
        if let told, told.modified == modified { return told.changes }
        var changes = moves
        changes.modifications = try modifications(modified, walk)
        told = (modified, changes)
        return changes
    }

    /// The object at a position in the version last delivered, which `session` shows.
    package func key(at position: Int, in session: Session) throws(EngineError) -> ObjectKey? {
        if query != nil { return keys[position] }
        return try session.table(table)?.key(atPosition: position)
    }

    // MARK: Background diff

    /// True if the changes require the whole query to run again, at a cost that grows with the table.
    package func runsAgain(behind walk: RegionTraversal) throws(EngineError) -> Bool {
        guard let reads else { return false }
        let deciding = try deciding(reads, walk)
        return !deciding.isEmpty && !isOneByOne(deciding, reads)
    }

    /// Returns a copy at the same version that can advance to the version of `session`, a frozen one, on any thread.
    func twin(in session: Session) -> ObservedQuery {
        ObservedQuery(table: table, query: query.map { ObjectQuery($0, in: session) }, as: self)
    }

    /// Takes over the version and the results of the twin, including its traversal.
    func adopt(_ twin: ObservedQuery) {
        keys = twin.keys
        rows = twin.rows
        work = twin.work
        walk = twin.walk
        moves = twin.moves
        places = twin.places
        told = twin.told
    }

    // MARK: Insertions, deletions and moves

    private func deciding(_ reads: QueryRegion, _ walk: RegionTraversal) throws(EngineError) -> Set<ObjectKey> {
        if decidedWalk === walk { return decided }
        decided = try reads.deciding(in: walk)
        decidedWalk = walk
        return decided
    }

    /// True if each deciding object is to be evaluated on its own.
    private func isOneByOne(_ deciding: Set<ObjectKey>, _ reads: QueryRegion) -> Bool {
        reads.isEachForItself && deciding.count <= Self.fewest + keys.count / 32
    }

    private func follow(_ walk: RegionTraversal) throws(EngineError) -> CollectionChanges {
        guard let query, let reads else { return try followTable(walk) }
        let deciding = try deciding(reads, walk)
        decided = []
        decidedWalk = nil
        if deciding.isEmpty { return CollectionChanges() }
        if isOneByOne(deciding, reads) { return try move(deciding, query, walk) }
        work.passes += 1
        let old = keys.all
        keys = try run(query, in: walk.newer)
        var changes = CollectionDiff.between(old, keys.all)
        changes.deletedKeys = changes.deletions.map { old[$0] }
        return changes
    }

    /// Up to this many objects are always evaluated one by one.
    private static let fewest = 64

    private func followTable(_ walk: RegionTraversal) throws(EngineError) -> CollectionChanges {
        var result = CollectionChanges()
        guard let changes = walk.changes[table], let before = walk.older.table(table),
            let after = walk.newer.table(table)
        else { return result }
        for key in changes.deleted {
            guard let at = try before.position(of: key) else { continue }
            result.deletions.append(at)
            result.deletedKeys.append(key)
        }
        for key in changes.inserted { if let at = try after.position(of: key) { result.insertions.append(at) } }
        return result
    }

    /// Removes the objects and inserts those that match at their new positions.
    private func move(
        _ deciding: Set<ObjectKey>, _ query: ObjectQuery, _ walk: RegionTraversal
    ) throws(EngineError) -> CollectionChanges {
        let finder = Finder(table: table, order: order, walk: walk, deciding: deciding)
        defer { work.compared += finder.compared }
        // Find their old positions.
        var old: [(position: Int, key: ObjectKey)] = []
        for key in deciding {
            guard let gap = try finder.gap(of: key, in: &keys, wasThere: true) else { continue }
            if gap < keys.count, keys[gap] == key { old.append((gap, key)) }
        }
        // Find their new positions.
        work.evaluated += deciding.count
        var matches = try query.matches(among: deciding.sorted())
        var moving = deciding
        if order == nil {
            // In key order an object that matches again has not moved.
            let staying = Set(matches).intersection(old.map(\.key))
            moving.subtract(staying)
            matches.removeAll { staying.contains($0) }
            old.removeAll { staying.contains($0.key) }
        }
        old.sort { $0.position < $1.position }
        let before = old.enumerated().map { Placed(key: $1.key, gap: $1.position - $0) }
        keys.remove(at: old.map(\.position))
        var after: [Placed] = []
        for key in matches {
            guard let gap = try finder.gap(of: key, in: &keys, wasThere: false) else {
                preconditionFailure("an object that matches is there")
            }
            after.append(Placed(key: key, gap: gap))
        }
        after = try finder.sorted(after)
        keys.insert(after.map { ($0.gap, $0.key) })
        for key in moving { places[key] = .some(nil) }
        for (i, placed) in after.enumerated() { places[placed.key] = placed.gap + i }
        return Self.moves(before, after)
    }

    /// An object between the same neighbours, in the same order, has not moved.
    private static func moves(_ before: [Placed], _ after: [Placed]) -> CollectionChanges {
        let oldGaps = Dictionary(before.map { ($0.key, $0.gap) }, uniquingKeysWith: { first, _ in first })
        let newGaps = Dictionary(after.map { ($0.key, $0.gap) }, uniquingKeysWith: { first, _ in first })
        let stayed = after.filter { oldGaps[$0.key] == $0.gap }.map(\.key)
        let stood = before.filter { newGaps[$0.key] == $0.gap }.map(\.key)
        var kept = Set(stayed)
        if stood != stayed {
            for at in CollectionDiff.between(stood, stayed).deletions { kept.remove(stood[at]) }
        }
        var changes = CollectionChanges()
        for (i, placed) in before.enumerated() where !kept.contains(placed.key) {
            changes.deletions.append(placed.gap + i)
            changes.deletedKeys.append(placed.key)
        }
        for (i, placed) in after.enumerated() where !kept.contains(placed.key) {
            changes.insertions.append(placed.gap + i)
        }
        return changes
    }

    // MARK: Modifications

    /// Old positions of the modified elements. All elements are at their new positions already.
    private func modifications(_ modified: Set<ObjectKey>, _ walk: RegionTraversal) throws(EngineError) -> [Int] {
        if modified.isEmpty { return [] }
        var positions: [Int] = []
        if query == nil {
            guard let after = walk.newer.table(table) else { return [] }
            for key in modified { if let at = try after.position(of: key) { positions.append(at) } }
        } else if modified.count > Self.fewest + keys.count / 32 {
            work.passes += 1
            keys.visit { position, key in
                if modified.contains(key) { positions.append(position) }
            }
        } else {
            let finder = Finder(table: table, order: order, walk: walk, deciding: [])
            defer { work.compared += finder.compared }
            for key in modified {
                if let known = places[key] {
                    if let known { positions.append(known) }
                    continue
                }
                guard let at = try finder.gap(of: key, in: &keys, wasThere: false) else { continue }
                if at < keys.count, keys[at] == key { positions.append(at) }
            }
        }
        positions.sort()
        return moves.oldPositions(of: positions)
    }
}

extension CollectionChanges {
    /// The old positions of elements at these new positions, which are ascending; inserted elements are left out.
    func oldPositions(of positions: [Int]) -> [Int] {
        if deletions.isEmpty, insertions.isEmpty { return positions }
        var old: [Int] = []
        var inserted = 0
        var deleted = 0
        for position in positions {
            while inserted < insertions.count, insertions[inserted] < position { inserted += 1 }
            if inserted < insertions.count, insertions[inserted] == position { continue }
            // The number of staying elements before it.
            let rank = position - inserted
            while deleted < deletions.count, deletions[deleted] - deleted <= rank { deleted += 1 }
            old.append(rank + deleted)
        }
        return old
    }
}

/// A deciding object, and the number of other objects before it that are not deciding.
private struct Placed {
    var key: ObjectKey
    var gap: Int
}

/// Finds positions in an order. Objects that are not deciding are equal in both versions, so they are only read in the
/// newer one, whose blocks are cached.
private final class Finder {
    private let table: TableKey
    private let order: RowOrder?
    private let walk: RegionTraversal
    private let deciding: Set<ObjectKey>
    private(set) var compared = 0

    init(table: TableKey, order: RowOrder?, walk: RegionTraversal, deciding: Set<ObjectKey>) {
        self.table = table
        self.order = order
        self.walk = walk
        self.deciding = deciding
    }

    /// The number of elements before an object, in its old or its new state; nil if it does not exist in that state.
    /// With `wasThere` the deciding elements are read in their old state.
    func gap(of key: ObjectKey, in keys: inout KeyChunks, wasThere: Bool) throws(EngineError) -> Int? {
        guard let order else {
            return keys.partition { other in
                compared += 1
                return other < key
            }
        }
        guard let row = try OrderedRow(key, table, in: wasThere ? walk.older : walk.newer) else { return nil }
        let isBefore = { (other: ObjectKey) throws(EngineError) -> Bool in
            self.compared += 1
            if other == key { return false }
            let result = try order.compare(self.row(other, wasThere), row)
            return result < 0 || result == 0 && other < key
        }
        guard order.hasMarks else { return try keys.partition(isBefore) }
        let mark = try order.mark(of: row)
        let markOf = { (other: ObjectKey) throws(EngineError) in try order.mark(of: self.row(other, wasThere)) }
        if wasThere { return try keys.partition(at: key, mark, markOf: markOf, isBefore) }
        return try keys.partition(mark, markOf: markOf, isBefore)
    }

    /// An element in its old or new state.
    private func row(_ key: ObjectKey, _ wasThere: Bool) throws(EngineError) -> OrderedRow {
        let isOld = wasThere && deciding.contains(key)
        guard let row = try OrderedRow(key, table, in: isOld ? walk.older : walk.newer) else {
            preconditionFailure("an observed object is gone and was not deleted")
        }
        return row
    }

    /// Sorts objects of the newer version. Only objects between the same neighbours are compared with each other.
    func sorted(_ placed: [Placed]) throws(EngineError) -> [Placed] {
        guard let order, placed.count > 1 else { return placed }
        var rows: [ObjectKey: OrderedRow] = [:]
        for one in placed { rows[one.key] = try OrderedRow(one.key, table, in: walk.newer) }
        var failure: EngineError?
        let sorted = placed.sorted { a, b in
            if a.gap != b.gap { return a.gap < b.gap }
            compared += 1
            guard failure == nil, let row = rows[a.key], let other = rows[b.key] else { return false }
            do throws(EngineError) {
                let result = try order.compare(row, other)
                return result < 0 || result == 0 && a.key < b.key
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        return sorted
    }
}
