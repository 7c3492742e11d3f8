// SPDX-License-Identifier: Apache-2.0
// One class of objects in one session: its row groups, indexes and backlinks. Reads are here, changes in Table+Writes
// and Table+Lists. Confined to the session.

import RegnumSystem

package final class Table {
    package let definition: TableDefinition
    unowned(unsafe) let session: Session
    /// `session` without reference counting, for use once per row.
    let uncountedSession: Unmanaged<Session>
    let map: ColumnMap
    let groups: GroupTree
    /// The index of the primary key's column, and the tree of its index, which `indexes` owns.
    private let primaryKey: Int?
    @exclusivity(unchecked) private var keyTree: Unmanaged<IndexTree>?
    /// By column number; nil if there is no index.
    @exclusivity(unchecked) var indexes: [ColumnIndex?]
    /// By column number; nil if there is no full-text or geospatial index.
    @exclusivity(unchecked) var contentIndexes: [ContentIndex?]
    /// By column number: (target key, object key) of each link of a link column; nil for others.
    @exclusivity(unchecked) var backlinkTrees: [LinkTree?]
    @exclusivity(unchecked) var uniques: [UniqueTree]
    /// Columns of all tables whose links point here; see `resolveOrigins`.
    @exclusivity(unchecked) var origins: [LinkOrigin] = []
    /// By column number: true if the targets are embedded; see Table+Ownership.
    @exclusivity(unchecked) var owns: [Bool] = []
    @exclusivity(unchecked) var ownsRows = false
    /// The rules that apply when one of the table's objects is deleted; see Table+DeleteRules.
    @exclusivity(unchecked) var deleteRules = TableDeleteRules()
    /// The key of the next new object.
    @exclusivity(unchecked) package internal(set) var nextKey: UInt64
    @exclusivity(unchecked) package internal(set) var count: Int
    /// True if inserts and deletes must update indexes or links.
    let hasGuards: Bool
    /// Indexes of the columns that have a tree: an index, or backlinks.
    let treeColumns: [Int]
    /// By column number: true if it holds one link per row and has no tree other than that of the backlinks.
    let isPlainLink: [Bool]
    /// Indexes of the columns whose values may be stored in blocks of their own.
    let byteColumns: [Int]
    /// The collections that were changed and not yet written back.
    @exclusivity(unchecked) package internal(set) var openCollections = OpenCollections()
    @exclusivity(unchecked) var lastLeaf: LastLeaf?
    /// The values of mixed columns that were changed inside and not yet written back, the latest first; see
    /// Table+NestedValues.
    @exclusivity(unchecked) var openMixed: OpenMixedValue?
    @exclusivity(unchecked) var lastNested: LastNested?
    /// Only a hint: see Table+ClearingLinks.
    @exclusivity(unchecked) var lastCleared = LastCleared()

    init(_ definition: TableDefinition, _ record: TableRecord, _ session: Session) throws(EngineError) {
        self.definition = definition
        self.session = session
        uncountedSession = .passUnretained(session)
        map = ColumnMap(definition.columns)
        let trees = TreeRecords(record)
        let inUnique = Set(definition.uniques.flatMap(\.columns))
        let guarded = definition.columns.map { column in
            column.isIndexed || column.isPrimaryKey || column.isContentIndexed || column.hasBacklinks
                || column.collection != .none
                || inUnique.contains(column.key)
        }
        hasGuards = guarded.contains(true)
        treeColumns = definition.columns.indices.filter {
            let column = definition.columns[$0]
            return column.isIndexed || column.isPrimaryKey || column.isContentIndexed || column.hasBacklinks
        }
        isPlainLink = definition.columns.map { column in
            column.type == .link && column.collection == .none && !column.isIndexed && !column.isPrimaryKey
                && !column.isContentIndexed && !inUnique.contains(column.key)
        }
        byteColumns = definition.columns.indices.filter { definition.columns[$0].writableForm == .slots }
        groups = GroupTree(
            space: session.space, columns: map, guarded: guarded, root: record.root, isShared: session.isFrozen,
            willMove: { [unowned(unsafe) session] in session.moved() })
        nextKey = record.nextObjectKey
        count = Int(record.count)
        primaryKey = definition.primaryKey
        indexes = []
        contentIndexes = []
        backlinkTrees = []
        uniques = []
        if !definition.uniques.isEmpty {
            var places: [ColumnKey: Int] = [:]
            for (i, column) in definition.columns.enumerated() { places[column.key] = i }
            uniques = definition.uniques.map { unique in
                UniqueTree(unique, definition, places, trees.first(unique.key, .unique), session)
            }
        }
        for column in definition.columns {
            let index = trees.first(column.key, .index)
            let links = trees.first(column.key, .backlinks)
            indexes.append(
                column.isIndexed || column.isPrimaryKey
                    ? ColumnIndex(column, space: session.space, root: index?.root ?? .none, count: index?.count ?? 0)
                    : nil)
            let text = trees.first(column.key, .content)
            contentIndexes.append(
                column.isContentIndexed
                    ? ContentIndex(column, space: session.space, root: text?.root ?? .none, count: text?.count ?? 0)
                    : nil)
            backlinkTrees.append(
                column.hasBacklinks
                    ? LinkTree(space: session.space, root: links?.root ?? .none, count: links?.count ?? 0) : nil)
        }
        noteKeyTree()
    }

    /// Call when `indexes` have been created or replaced.
    func noteKeyTree() { keyTree = primaryKey.flatMap { indexes[$0] }.map { .passUnretained($0.tree) } }

    /// Shows another version of the same definition.
    func show(_ record: TableRecord) {
        groups.reset(root: record.root)
        nextKey = record.nextObjectKey
        count = Int(record.count)
        dropOldGroups()
        openCollections.removeAll()
        (lastLeaf, openMixed, lastNested) = (nil, nil, nil)
        let trees = TreeRecords(record)
        for i in treeColumns {
            let key = definition.columns[i].key
            let index = trees.first(key, .index)
            let links = trees.first(key, .backlinks)
            indexes[i]?.tree.rollback(root: index?.root ?? .none, count: index?.count ?? 0)
            backlinkTrees[i]?.rollback(root: links?.root ?? .none, count: links?.count ?? 0)
            guard let text = contentIndexes[i] else { continue }
            let record = trees.first(key, .content)
            text.tree.rollback(root: record?.root ?? .none, count: record?.count ?? 0)
        }
        for unique in uniques { unique.show(trees.first(unique.definition.key, .unique)) }
    }

    /// Drops all decoded groups if they outnumber the table's groups, because those of past versions accumulate. The
    /// epoch must change with it.
    func dropOldGroups() {
        if groups.decodedGroupCount > 256 + count / 256 { groups.dropDecodedGroups() }
    }

    /// For tests.
    package var decodedGroupCount: Int { groups.decodedGroupCount }

    /// Determines which columns may link to this table: links to it, and all mixed values. Called when the session's
    /// tables change. `links` point to this table only, `mixed` to any; both are sorted.
    func resolveOrigins(_ links: [LinkOrigin], _ mixed: [LinkOrigin]) {
        // Most tables share one array, because there is one per table.
        origins = links.isEmpty ? mixed : links
        if !links.isEmpty && !mixed.isEmpty {
            origins = (links + mixed).sorted { ($0.table, $0.column) < ($1.table, $1.column) }
        }
        resolveOwnership()
        resolveDeleteRules(links)
    }

    /// Equal if and only if the rows are unchanged; no write may be running.
    package var rowsStamp: BlockRef? { groups.committedRoot }

    /// The session that the table belongs to.
    package var owner: Session { session }
    /// Returns another table of the session.
    package func other(_ key: TableKey) -> Table? { session.table(key) }

    // MARK: Objects

    /// Returns the location of the object, or nil if it does not exist. O(log n); about 5 ns near the last lookup.
    @inline(__always)
    package func locate(_ key: ObjectKey) throws(EngineError) -> RowLocation? { try groups.locate(key.rawValue) }

    package func contains(_ key: ObjectKey) throws(EngineError) -> Bool { try locate(key) != nil }

    /// True if no object was ever deleted: the object at position p has key p + 1.
    @inline(__always)
    private var isDense: Bool { UInt64(count) &+ 1 == nextKey }

    /// Returns the key of the object at `position` in key order. O(log n), O(1) if no object was ever deleted.
    package func key(atPosition position: Int) throws(EngineError) -> ObjectKey {
        precondition(position >= 0 && position < count, "position \(position) of \(count)")
        if isDense { return ObjectKey(UInt64(position) &+ 1) }
        return try location(atPosition: position).key
    }

    /// Like `location(atPosition:)`; nil if the position is out of range.
    package func locationIfAny(atPosition position: Int) throws(EngineError) -> RowLocation? {
        position >= 0 && position < count ? try location(atPosition: position) : nil
    }

    package func location(atPosition position: Int) throws(EngineError) -> RowLocation {
        precondition(position >= 0 && position < count, "position \(position) of \(count)")
        if isDense, let location = try groups.locate(UInt64(position) &+ 1) { return location }
        guard let (group, before) = try groups.group(atPosition: position) else {
            throw corrupted("a table's counts do not add up")
        }
        return RowLocation(group: group, row: position - before)
    }

    /// Returns the number of objects before it in key order, or nil if it does not exist. O(log n).
    package func position(of key: ObjectKey) throws(EngineError) -> Int? {
        guard try locate(key) != nil else { return nil }
        return try groups.rank(of: key.rawValue)
    }

    /// Calls `body` with each group in key order until it returns false. Pointers are valid until the epoch changes.
    /// `reads` adds the memory that `body` will read of a group: it is called for several groups before `body` gets the
    /// first.
    package func forEachGroup(
        readingAhead reads: (UnsafeMutablePointer<GroupView>, inout ScanPrefetch) -> Void = { _, _ in },
        _ body: (UnsafeMutablePointer<GroupView>) throws(EngineError) -> Bool
    ) throws(EngineError) {
        if count == 0 { return }
        guard let stop = session.scanStop else { return try groups.forEachGroup(readingAhead: reads, body) }
        try groups.forEachGroup(readingAhead: reads) { group throws(EngineError) in
            if stop.isStopped { throw EngineError.stopped }
            return try body(group)
        }
    }

    // MARK: Values

    package func value(_ column: Int, of key: ObjectKey) throws(EngineError) -> Value {
        guard let location = try locate(key) else { throw Self.missing(key) }
        return try value(column, at: location)
    }

    /// Returns the value of a column that is not a collection.
    package func value(_ column: Int, at location: RowLocation) throws(EngineError) -> Value {
        let view = location.group.columns[column]
        let row = location.row
        if view.isNull(row) { return .null }
        switch definition.columns[column].type {
        case .bool: return .bool(view.bit(row))
        case .int: return .int(view.integer(row))
        case .float: return .float(view.float(row))
        case .double: return .double(view.double(row))
        case .date: return .date(Timestamp(seconds: view.integer(row), nanoseconds: view.nanoseconds(row)))
        case .string: return .string(try withBytes(column, at: location) { StoredText.string($0) })
        case .data: return .data(try withBytes(column, at: location) { [UInt8]($0) })
        case .mixed:
            if let open = openMixed?.find(column, location.key) { return open.value }
            var bytes = view.bytes(row)
            if view.isBlob(row) { bytes = try blob(bytes) }
            return try MixedCodec.decode(bytes)
        case .objectID:
            let (low, high) = view.bytes12(row)
            return .objectID(low, high)
        case .uuid:
            let (low, high) = view.bytes16(row)
            return .uuid(low, high)
        case .decimal128:
            let (low, high) = view.bytes16(row)
            return .decimal128(low, high)
        case .link:
            let target = UInt64(bitPattern: view.integer(row))
            return target == 0 ? .null : .link(ObjectKey(target))
        }
    }

    /// Calls `body` with the bytes of a var-bytes value, inline or in a block of its own.
    @inline(__always)
    package func withBytes<R>(
        _ column: Int, at location: RowLocation, _ body: (UnsafeRawBufferPointer) -> R
    ) throws(EngineError) -> R {
        let view = location.group.columns[column]
        let bytes = view.bytes(location.row)
        guard view.isBlob(location.row) else { return body(bytes) }
        return body(try blob(bytes))
    }

    /// Returns the value that a blob record refers to.
    func blob(_ record: UnsafeRawBufferPointer) throws(EngineError) -> UnsafeRawBufferPointer {
        guard record.count == BlobRecord.byteCount, let base = record.baseAddress else {
            throw corrupted("a blob record has the wrong size")
        }
        let ref = BlockRef(reading: base)
        let block = try session.space.bytes(ref)
        let count = BlobRecord.length(base)
        guard ref.kind == BlockKind.blob.rawValue, count >= 0,
            UInt64(count) == block.load(fromByteOffset: 32, as: UInt64.self)
        else { throw corrupted("a blob is not what its record says", page: ref.page) }
        return UnsafeRawBufferPointer(start: block + BlobRecord.valueOffset, count: count)
    }

    // MARK: Lookups

    /// Returns the object with that primary key, or nil. O(log n).
    package func key(forPrimaryKey value: Value) throws(EngineError) -> ObjectKey? {
        guard let primaryKey, let index = indexes[primaryKey] else {
            preconditionFailure("no primary key")
        }
        return try index.first(value, self)
    }

    /// Like `key(forPrimaryKey:)` for an Int primary key, without a `Value`.
    package func key(forIntegerPrimaryKey value: Int64) throws(EngineError) -> ObjectKey? {
        guard let tree = keyTree else { preconditionFailure("no primary key") }
        return try tree.whileHeld { tree throws(EngineError) in
            try tree.firstKey(value: IndexKey.encode(value)).map { ObjectKey($0) }
        }
    }

    /// Returns the objects whose indexed column holds `value`, ascending. The search may stop at `limit` objects, but
    /// the result may have more.
    package func keys(
        inIndexOf column: Int, equalTo value: Value, limit: Int = .max
    ) throws(EngineError) -> [ObjectKey] {
        guard let index = indexes[column] else { preconditionFailure("no index") }
        return try index.all(value, self, limit: limit)
    }

    /// The number of those objects. O(log n) for numbers, and for texts of at most `IndexKey.exactByteCount` bytes;
    /// otherwise O(objects).
    package func count(inIndexOf column: Int, equalTo value: Value) throws(EngineError) -> Int {
        guard let index = indexes[column] else { preconditionFailure("no index") }
        return try index.count(value, self)
    }

    /// Returns a number above all values of an indexed Int column, and above the number of objects ever created; nil if
    /// there is none left. O(log n).
    package func nextNumber(_ column: Int) throws(EngineError) -> Int64? {
        guard let index = indexes[column] else { preconditionFailure("no index") }
        let made = Int64(truncatingIfNeeded: nextKey)
        guard let highest = try index.highestInteger(), highest >= made else { return made }
        return highest == .max ? nil : highest + 1
    }

    package func hasIndex(_ column: Int) -> Bool { indexes[column] != nil }

    /// True if `setLink` may be used: a store needs to update the link and its backlink only.
    package func isLinkAlone(_ column: Int) -> Bool { isPlainLink[column] && !owns[column] }

    /// Returns the word that stands for the object `target` of this table in the backlink tree of a column of `origin`.
    func targetWord(_ target: ObjectKey, in origin: Table, _ column: Int) -> UInt64 {
        origin.definition.columns[column].type == .mixed
            ? Value.targetWord(definition.key, target) : target.rawValue
    }

    /// Returns the objects of `origin` whose link or mixed column points to `target`, ascending, once per link.
    package func backlinks(
        to target: ObjectKey, from origin: Table, column: Int
    ) throws(EngineError) -> [ObjectKey] {
        guard let tree = origin.backlinkTrees[column] else { preconditionFailure("not a link column") }
        try origin.flushOpenCollections()
        var keys: [ObjectKey] = []
        try tree.settled().forEachKey(value: targetWord(target, in: origin, column)) { keys.append(ObjectKey($0)) }
        return keys
    }

    /// Returns object `position` of the result of `backlinks`. O(log n).
    package func backlink(
        to target: ObjectKey, from origin: Table, column: Int, at position: Int
    ) throws(EngineError) -> ObjectKey? {
        guard let tree = origin.backlinkTrees[column] else { preconditionFailure("not a link column") }
        try origin.flushOpenCollections()
        return try tree.settled().key(value: targetWord(target, in: origin, column), at: position).map { ObjectKey($0) }
    }

    /// True if a column of links or mixed values contains any link.
    package func hasLinks(in column: Int) -> Bool { backlinkTrees[column].map { $0.count > 0 } ?? false }

    /// The number of objects that `backlinks` returns. O(log n).
    package func backlinkCount(to target: ObjectKey, from origin: Table, column: Int) throws(EngineError) -> Int {
        guard let tree = origin.backlinkTrees[column] else { preconditionFailure("not a link column") }
        try origin.flushOpenCollections()
        return try tree.settled().count(value: targetWord(target, in: origin, column))
    }
}
