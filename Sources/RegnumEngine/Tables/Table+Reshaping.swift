// SPDX-License-Identifier: Apache-2.0
// Changes the definition of a table, in a write transaction. Row groups identify their columns by key: a column that a
// block does not hold reads as its default, and one that the definition no longer has is ignored. So columns are added
// and dropped without reading the rows, except for the structures that depend on them: values in blocks of their own,
// indexes, backlinks, and rows that only a dropped column owned.
//
//     kept      same key: the trees move over; name, index and primary key may differ
//     added     a key never used before; null, zero or empty in every row
//     dropped   its blobs, index and backlinks are freed, the rows it owned are deleted
//
// The type and kind of a column never change: another type means another column.

import RegnumSystem

extension Table {
    /// The same objects under another definition. `old` must not be used afterwards.
    convenience init(_ definition: TableDefinition, reshaping old: Table) throws(EngineError) {
        let record = TableRecord(
            key: definition.key, nextObjectKey: old.nextKey, count: UInt64(old.count), root: try old.groups.seal(),
            trees: [])
        try self.init(definition, record, old.session)
        for (i, column) in definition.columns.enumerated() {
            guard let before = old.definition.columns.firstIndex(where: { $0.key == column.key }) else { continue }
            if indexes[i] != nil, let index = old.indexes[before] { indexes[i] = index }
            if contentIndexes[i] != nil, let text = old.contentIndexes[before] { contentIndexes[i] = text }
            if let links = old.backlinkTrees[before] { backlinkTrees[i] = links }
        }
        noteKeyTree()
        for unique in uniques {
            if let kept = old.uniques.first(where: { $0.isSame(as: unique) }) { unique.takeOver(kept) }
        }
    }

    /// Deletes the rows that are owned only by columns that `definition` no longer has.
    func deleteOwned(notIn definition: TableDefinition) throws(EngineError) {
        for (i, column) in self.definition.columns.enumerated()
        where !definition.columns.contains(where: { $0.key == column.key }) {
            try deleteOwned(by: i)
        }
    }

    /// Frees everything that belongs to columns that `definition` no longer has, and the indexes that it drops.
    func release(notIn definition: TableDefinition) throws(EngineError) {
        for (i, column) in self.definition.columns.enumerated() {
            guard let kept = definition.columns.first(where: { $0.key == column.key }) else {
                try freeBlobs(i)
                try indexes[i]?.tree.freeAll()
                try contentIndexes[i]?.tree.freeAll()
                try backlinkTrees[i]?.freeAll()
                continue
            }
            precondition(kept.type == column.type && kept.collection == column.collection, "a column of another type")
            precondition(
                kept.target == column.target || backlinkTrees[i].map { $0.count == 0 } ?? true,
                "links to another table")
            if !kept.isIndexed && !kept.isPrimaryKey { try indexes[i]?.tree.freeAll() }
            if !kept.isContentIndexed { try contentIndexes[i]?.tree.freeAll() }
        }
        for unique in uniques where !unique.isKept(in: definition) { try unique.tree?.freeAll() }
    }

    /// Deletes the rows that only this column links to.
    private func deleteOwned(by column: Int) throws(EngineError) {
        guard owns[column], let target = definition.columns[column].target.flatMap({ session.table($0) }) else {
            return
        }
        var rows: [OwnedRow] = []
        try forEachGroupWatched { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                for link in try links(column, RowLocation(group: group, row: row)) {
                    rows.append(OwnedRow(table: target, key: ObjectKey(link)))
                }
            }
            return true
        }
        if session.isCalledOff || rows.isEmpty { return }
        // This is most of the work, and no other part of it reports progress.
        for start in stride(from: 0, to: rows.count, by: 1024) {
            guard session.goesOn(target, start, of: rows.count) else { return }
            try session.deleteOwned(Array(rows[start..<min(start + 1024, rows.count)]))
        }
        _ = session.goesOn(target, rows.count, of: rows.count)
    }

    private func freeBlobs(_ column: Int) throws(EngineError) {
        guard definition.columns[column].writableForm == .slots else { return }
        var left = ElementTree.blockLimit(session.space)
        try forEachGroupWatched { group throws(EngineError) in
            let view = group.columns[column]
            guard view.blobs != nil || view.form == .slots else { return true }
            for row in 0..<group.pointee.count {
                try freeBlob(column, RowLocation(group: group, row: row), &left)
            }
            // A long value of this transaction gets its block only when the group is sealed. The column would then be
            // unknown, and the block would never be freed.
            if view.isWritable { Memory.zero(view.data, RowGroupLayout.dataByteCount(.slots, group.pointee.count)) }
            return true
        }
    }

    /// Adds every object to the indexes that are new. O(n log n).
    func fillIndexes(notIn old: TableDefinition) throws(EngineError) {
        for (i, column) in definition.columns.enumerated() {
            if let text = contentIndexes[i],
                old.columns.first(where: { $0.key == column.key })?.isContentIndexed != true
            {
                try forEachGroupWatched { group throws(EngineError) in
                    for row in 0..<group.pointee.count {
                        let location = RowLocation(group: group, row: row)
                        try text.insert(location, i, group.pointee.key(at: row), self)
                    }
                    return true
                }
            }
            guard let index = indexes[i] else { continue }
            let before = old.columns.first { $0.key == column.key }
            if let before, before.isIndexed || before.isPrimaryKey { continue }
            try fill(index, i)
        }
        for unique in uniques where !unique.isKept(in: old) { try fill(unique) }
    }

    private func fill(_ index: ColumnIndex, _ column: Int) throws(EngineError) {
        // An index that enforces a constraint is searched for the value before each insert.
        let isUnique = uniques.contains { $0.tree == nil && $0.columns[0] == column }
        var fill = IndexFill(index.tree, expecting: isUnique ? 0 : count)
        try forEachGroupWatched { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                let key = group.pointee.key(at: row)
                if isUnique {
                    try insert(location, column, key, into: index)
                } else {
                    try index.collect(location, column, key, self, into: &fill)
                }
            }
            return true
        }
        if session.isCalledOff { return }
        try fill.enter()
    }

    // MARK: Nulls

    /// Call before a column becomes nullable: a row group that does not hold the column would then read as null.
    func writeOutDefaults(_ column: Int) throws(EngineError) {
        if definition.columns[column].collection != .none || definition.columns[column].type == .mixed { return }
        var firstKeys: [UInt64] = []
        try forEachGroup { group throws(EngineError) in
            if group.columns[column].data == ZeroBytes.base { firstKeys.append(group.pointee.key(at: 0)) }
            return true
        }
        for key in firstKeys { try groups.dirtyGroup(for: key)?.makeWritable(column) }
    }

    /// Call before a column becomes non-null: replaces nulls by zero or empty values, in collections for each element.
    func replaceNulls(_ column: Int) throws(EngineError) {
        let kind = definition.columns[column]
        if kind.type == .mixed || kind.type == .link { return }
        let zero = Value.zero(kind.type)
        var keys: [ObjectKey] = []
        try forEachGroupWatched { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let location = RowLocation(group: group, row: row)
                var hasNull = false
                if kind.collection == .none {
                    hasNull = group.columns[column].isNull(row)
                } else {
                    try forEachLeaf(column, location) { leaf in
                        for i in 0..<leaf.count where leaf.isNull(i) { hasNull = true }
                        return !hasNull
                    }
                }
                if hasNull { keys.append(location.key) }
            }
            return true
        }
        for (i, key) in keys.enumerated() {
            if i & 1023 == 0, !session.goesOn(self, i, of: keys.count) { break }
            switch kind.collection {
            case .none: try set(zero, column, of: key)
            case .list:
                for (i, value) in try listValues(column, of: key).enumerated() where value == .null {
                    try listSet(zero, column, of: key, at: i)
                }
            case .set:
                _ = try setRemove(.null, column, of: key)
                _ = try setInsert(zero, column, of: key)
            case .dictionary:
                for entry in try dictionaryEntries(column, of: key) where entry.value == .null {
                    try dictionarySet(entry.key, zero, column, of: key)
                }
            }
        }
        try flushOpenCollections()
    }

    // MARK: Uniqueness

    /// Returns a primary key value that two objects share, or nil; also nil if the write is cancelled. O(n log n).
    package func sharedPrimaryKey() throws(EngineError) -> Value? {
        guard let column = definition.primaryKey, let index = indexes[column] else { return nil }
        var shared: Value?
        try forEachGroupWatched { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let value = try value(column, at: RowLocation(group: group, row: row))
                if try index.all(value, self, limit: 2).count > 1 {
                    shared = value
                    return false
                }
            }
            return true
        }
        return shared
    }
}

extension Value {
    /// The value of a non-null column of that type in which nothing was stored.
    package static func zero(_ type: ColumnType) -> Value {
        switch type {
        case .bool: .bool(false)
        case .int: .int(0)
        case .float: .float(0)
        case .double: .double(0)
        case .string: .string("")
        case .data: .data([])
        case .date: .date(Timestamp(seconds: 0, nanoseconds: 0))
        case .objectID: .objectID(0, 0)
        case .uuid: .uuid(0, 0)
        case .decimal128: .decimal128(0, 0)
        case .link, .mixed: .null
        }
    }
}

extension Session {
    // MARK: Tables

    /// In a write: replaces the definitions of the tables with these keys. A column whose key is kept keeps its values;
    /// its name, nullability (null becomes zero or empty if it is no longer allowed), index and primary key may change.
    /// Columns with keys that the table never used are added, missing ones are dropped. Whether a table is embedded may
    /// change if every row has exactly one owner. O(1) except for dropped blobs, trees, nulls and new indexes.
    package func reshape(_ definitions: [TableDefinition]) throws(EngineError) {
        precondition(isWriting)
        for definition in definitions {
            guard let table = table(definition.key) else { preconditionFailure("no table to reshape") }
            guard definition.name.utf8.count <= FormatLimits.tableNameByteCount else {
                throw .limit(
                    "Class name '\(definition.name)' is longer than \(FormatLimits.tableNameByteCount) bytes.")
            }
            for column in definition.columns where column.name.utf8.count > FormatLimits.columnNameByteCount {
                throw .limit(
                    "Property name '\(column.name)' is longer than \(FormatLimits.columnNameByteCount) bytes.")
            }
            try table.flushOpenCollections()
        }
        try change { () throws(EngineError) in try giveShape(definitions) }
    }

    private func giveShape(_ definitions: [TableDefinition]) throws(EngineError) {
        // Delete owned rows before anything else is freed: they may have values in blocks of dropped columns.
        for definition in definitions { try table(definition.key)?.deleteOwned(notIn: definition) }
        for definition in definitions { try table(definition.key)?.release(notIn: definition) }
        for definition in definitions {
            guard let place = tables.firstIndex(where: { $0.definition.key == definition.key }) else { continue }
            let old = tables[place]
            for (i, column) in old.definition.columns.enumerated() {
                guard let kept = definition.columns.first(where: { $0.key == column.key }) else { continue }
                if kept.isNullable && !column.isNullable { try old.writeOutDefaults(i) }
                if !kept.isNullable && column.isNullable { try old.replaceNulls(i) }
            }
            let new = try Table(definition, reshaping: old)
            replaceTable(at: place, by: new)
            try new.fillIndexes(notIn: old.definition)
        }
        schemaMoved()
    }

    /// In a write: removes a table with all its objects; links to them in mixed values become null. No column of
    /// another table may have it as its target.
    package func removeTable(_ key: TableKey) throws(EngineError) {
        precondition(isWriting)
        guard let table = table(key) else { return }
        precondition(!isTarget(key), "a table that links lead to")
        try table.deleteAllPlainly()
        removeTable(table)
        schemaMoved()
    }

    /// In a write: removes every table.
    package func removeAllTables() throws(EngineError) {
        precondition(isWriting)
        try change { () throws(EngineError) in for table in tables { try table.removeAllRows() } }
        for table in tables { removeTable(table) }
        schemaMoved()
    }

    /// True if a column of another table may link to that table.
    package func isTarget(_ key: TableKey) -> Bool {
        tables.contains { table in
            table.definition.key != key && table.definition.columns.contains { $0.target == key }
        }
    }
}
