// SPDX-License-Identifier: Apache-2.0
// Changes to the objects of a table, in a write transaction.
//
// Laws maintained here
//  1. An index holds one entry for each object: its value (or null) and its key.
//  2. The backlink tree of a link or mixed column holds one entry for each link: target, object.
//  3. A full-text index holds one entry for each word of each object's text, a geospatial index one for its location.
//  4. No link points to an object that does not exist: deleting an object clears the links to it.

import RegnumSystem

extension Table {
    // MARK: Inserting

    /// Inserts a new object, all zero and null, in writable columns; its key is above all earlier keys. `finishInsert`
    /// must follow once its columns are filled. About 20 ns.
    @inline(__always)
    package func insertRow() throws(EngineError) -> RowLocation {
        try uncountedSession.whileHeld { session throws(EngineError) in try session.relieveIfDue() }
        let key = nextKey
        nextKey = key &+ 1
        count &+= 1
        do throws(EngineError) { return try groups.append(key) } catch { throw session.space.unfinished(error) }
    }

    /// Adds a new object, once filled, to indexes and backlinks.
    @inline(__always)
    package func finishInsert(_ location: RowLocation) throws(EngineError) {
        session.changeCount &+= 1
        guard hasGuards else { return }
        do throws(EngineError) { try enter(location) } catch { throw session.space.unfinished(error) }
    }

    private func enter(_ location: RowLocation) throws(EngineError) {
        let key = location.group.pointee.key(at: location.row)
        for column in treeColumns {
            if isPlainLink[column] {
                let target = UInt64(bitPattern: location.group.columns[column].integer(location.row))
                if target != 0 { try backlinkTrees[column]?.insert(target: target, origin: key) }
                continue
            }
            if let index = indexes[column] { try insert(location, column, key, into: index) }
            if let text = contentIndexes[column] { try text.insert(location, column, key, self) }
            if let tree = backlinkTrees[column], definition.columns[column].collection == .none {
                for target in try links(column, location) { try tree.insert(target: target, origin: key) }
            }
        }
        for unique in uniques where unique.tree != nil { try enter(location, key, in: unique) }
    }

    /// Returns the object with all columns of its group ready for stores; nil if there is no such object.
    package func makeWritable(_ key: ObjectKey) throws(EngineError) -> RowLocation? {
        try session.relieveIfDue()
        if openMixed?.find(where: { $0.key == key }) != nil { try writeBackMixed() }
        guard let group = try groups.dirtyGroup(for: key.rawValue) else { return nil }
        for column in definition.columns.indices { group.makeWritable(column) }
        return RowLocation(group: group.view, row: group.view.pointee.row(of: key.rawValue))
    }

    /// Stores a var-bytes value of a new object, before `finishInsert`. The caller sets the validity bit.
    @inline(__always)
    package func setBytes(_ bytes: UnsafeRawBufferPointer, _ column: Int, at location: RowLocation) {
        guard let tail = groups.uncountedTail else { preconditionFailure("no last group") }
        tail._withUnsafeGuaranteedRef { tail in
            precondition(tail.view == location.group, "not the last group")
            tail.setBytes(column, location.row, bytes)
        }
        if bytes.count > SpillLimits.longValue { session.noteLongValue(bytes.count) }
    }

    /// Stores a value of a new object, before `finishInsert`: of the column's type, or null if the column allows it.
    package func fill(_ value: Value, _ column: Int, at location: RowLocation) {
        guard let tail = groups.uncountedTail else { preconditionFailure("no last group") }
        tail._withUnsafeGuaranteedRef { tail in
            precondition(tail.view == location.group, "not the last group")
            store(value, column, tail, location.row)
        }
    }

    // MARK: Storing

    /// Stores a value of the column's type, or null if the column allows it. Deletes the row that the column owned
    /// before.
    package func set(_ value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) {
        try session.relieveIfDue()
        if let openMixed, openMixed.find(column, key) != nil { try writeBackMixed() }
        if !groups.guarded[column] { return try storeAlone(value, column, of: key) }
        try session.change { () throws(EngineError) in
            guard owns[column] else { return try replace(value, column, of: key) }
            let old = try self.value(column, of: key)
            try replace(value, column, of: key)
            if old != value { try disown(column, CollectionOfOne(old)) }
        }
    }

    /// Like `set`, for a column without trees or links.
    private func storeAlone(_ value: Value, _ column: Int, of key: ObjectKey) throws(EngineError) {
        guard let group = try groups.dirtyGroup(for: key.rawValue) else { throw Self.missing(key) }
        let row = group.view.pointee.row(of: key.rawValue)
        session.changeCount &+= 1
        if group.view.columns[column].isBlob(row) {
            try session.change { () throws(EngineError) in
                try freeBlob(column, RowLocation(group: group.view, row: row))
            }
        }
        let definition = definition.columns[column]
        if case .int(let number) = value, definition.type == .int, !definition.isNullable {
            return group.setInteger(column, row, number)
        }
        group.makeWritable(column)
        store(value, column, group, row)
    }

    /// Like `set`, but does not delete a row that loses its owner. `withBacklinks`: false if the backlink tree already
    /// matches the new value.
    func replace(
        _ value: Value, _ column: Int, of key: ObjectKey, withBacklinks: Bool = true
    ) throws(EngineError) {
        if let openMixed, openMixed.find(column, key) != nil { try writeBackMixed() }
        guard let group = try groups.dirtyGroup(for: key.rawValue) else {
            throw Self.missing(key)
        }
        let row = group.view.pointee.row(of: key.rawValue)
        let location = RowLocation(group: group.view, row: row)
        session.changeCount &+= 1
        if let index = indexes[column] { try index.remove(location, column, key.rawValue, self) }
        var text = contentIndexes[column]
        if text != nil, try self.value(column, at: location) == value { text = nil }
        try text?.remove(location, column, key.rawValue, self)
        for unique in uniques where unique.hasTree(of: column) { try leave(location, key.rawValue, from: unique) }
        if withBacklinks, let tree = backlinkTrees[column], definition.columns[column].collection == .none {
            if tree.count > 0 {
                for old in try links(column, location) { _ = try tree.remove(target: old, origin: key.rawValue) }
            }
            try link(column, key, CollectionOfOne(value))
        }
        try freeBlob(column, location)
        group.makeWritable(column)
        store(value, column, group, row)
        if let index = indexes[column] { try insert(location, column, key.rawValue, into: index) }
        try text?.insert(location, column, key.rawValue, self)
        for unique in uniques where unique.hasTree(of: column) { try enter(location, key.rawValue, in: unique) }
    }

    /// Like `set`, for a column for which `isLinkAlone` is true.
    package func setLink(_ target: ObjectKey, _ column: Int, of key: ObjectKey) throws(EngineError) {
        try session.relieveIfDue()
        guard let group = try groups.dirtyGroup(for: key.rawValue) else { throw Self.missing(key) }
        let row = group.view.pointee.row(of: key.rawValue)
        session.changeCount &+= 1
        if let tree = backlinkTrees[column] {
            let old = UInt64(bitPattern: group.view.columns[column].integer(row))
            do throws(EngineError) {
                if old != 0 { _ = try tree.remove(target: old, origin: key.rawValue) }
                try tree.insert(target: target.rawValue, origin: key.rawValue)
            } catch { throw session.space.unfinished(error) }
        }
        group.makeWritable(column)
        group.setValid(column, row, true)
        group.view.columns[column].data.storeBytes(
            of: target.rawValue, toByteOffset: row &<< 3, as: UInt64.self)
    }

    func freeBlob(_ column: Int, _ location: RowLocation) throws(EngineError) {
        guard definition.columns[column].writableForm == .slots else { return }
        try forEachValueBlock(column, location) { (ref, _) throws(EngineError) in session.space.free(ref) }
    }

    /// As above for a var-bytes column, with a shared limit of block visits when values of many rows are freed: in a
    /// damaged file they may share blocks.
    func freeBlob(_ column: Int, _ location: RowLocation, _ left: inout Int) throws(EngineError) {
        try forEachValueBlock(column, location, &left) { (ref, _) throws(EngineError) in session.space.free(ref) }
    }

    func store(_ value: Value, _ column: Int, _ group: DirtyGroup, _ row: Int) {
        let data = group.view.columns[column].data
        group.setValid(column, row, value != .null)
        if definition.columns[column].type == .mixed {
            let bytes = MixedCodec.encode(value)
            bytes.withUnsafeBytes { group.setBytes(column, row, $0) }
            if bytes.count > SpillLimits.longValue { session.noteLongValue(bytes.count) }
            return
        }
        switch value {
        case .null: storeZero(column, group, row)
        case .bool(let bit):
            let words = data.assumingMemoryBound(to: UInt64.self)
            let mask = UInt64(1) << UInt64(row & 63)
            if bit { words[row >> 6] |= mask } else { words[row >> 6] &= ~mask }
        case .int(let value): data.storeBytes(of: value, toByteOffset: row * 8, as: Int64.self)
        case .link(let target): data.storeBytes(of: target.rawValue, toByteOffset: row * 8, as: UInt64.self)
        case .float(let value): data.storeBytes(of: value, toByteOffset: row * 4, as: Float.self)
        case .double(let value): data.storeBytes(of: value, toByteOffset: row * 8, as: Double.self)
        case .date(let date):
            data.storeBytes(of: date.seconds, toByteOffset: row * 8, as: Int64.self)
            group.view.columns[column].aux?.storeBytes(
                of: date.nanoseconds, toByteOffset: row * 4, as: Int32.self)
        case .objectID(let low, let high):
            data.storeBytes(of: low, toByteOffset: row * 12, as: UInt64.self)
            data.storeBytes(of: high, toByteOffset: row * 12 + 8, as: UInt32.self)
        case .uuid(let low, let high), .decimal128(let low, let high):
            data.storeBytes(of: low, toByteOffset: row * 16, as: UInt64.self)
            data.storeBytes(of: high, toByteOffset: row * 16 + 8, as: UInt64.self)
        case .string(var text):
            text.withUTF8 { group.setBytes(column, row, UnsafeRawBufferPointer($0)) }
            if text.utf8.count > SpillLimits.longValue { session.noteLongValue(text.utf8.count) }
        case .data(let bytes):
            bytes.withUnsafeBytes { group.setBytes(column, row, $0) }
            if bytes.count > SpillLimits.longValue { session.noteLongValue(bytes.count) }
        case .typedLink, .list, .dictionary: preconditionFailure("a mixed value in a column of another type")
        }
    }

    private func storeZero(_ column: Int, _ group: DirtyGroup, _ row: Int) {
        let form = group.view.columns[column].form
        let data = group.view.columns[column].data
        if form == .bits {
            data.assumingMemoryBound(to: UInt64.self)[row >> 6] &= ~(1 << UInt64(row & 63))
            return
        }
        let width = RowGroupLayout.dataByteCount(form, 1)
        Memory.zero(data + row * width, width)
        if form == .int64, let aux = group.view.columns[column].aux { Memory.zero(aux + row * 4, 4) }
    }

    // MARK: Deleting

    /// Deletes the object with everything it owns, clears the links that point to it, and removes it from the lists
    /// that contain it. Applies delete rules: see `Session.delete`.
    package func delete(_ key: ObjectKey) throws(EngineError) {
        try session.relieveIfDue()
        if deleteRules.isEmpty { return try deletePlainly(key) }
        try session.delete([RowKey(table: definition.key, key: key)])
    }

    /// Like `delete` for each of the objects; skips those that do not exist. Deletes all of them or, if a delete rule
    /// denies it, none.
    package func delete(_ keys: [ObjectKey]) throws(EngineError) {
        try session.relieveIfDue()
        if deleteRules.isEmpty { return try deletePlainly(keys) }
        var rows: [RowKey] = []
        for key in keys where try contains(key) { rows.append(RowKey(table: definition.key, key: key)) }
        try session.delete(rows)
    }

    /// Like `delete`, regardless of delete rules.
    func deletePlainly(_ key: ObjectKey) throws(EngineError) {
        guard try groups.dirtyGroup(for: key.rawValue) != nil else { throw Self.missing(key) }
        try session.change { () throws(EngineError) in
            for origin in origins { try clearLinks(to: [key.rawValue], from: origin) }
            var owned: [OwnedRow] = []
            try collectOwned(by: key, into: &owned)
            try removeRow(key)
            try session.deleteOwned(owned)
        }
    }

    /// Deletes a row that no link points to.
    func removeRow(_ key: ObjectKey) throws(EngineError) {
        try flushOpenCollections(of: key)
        guard let group = try groups.dirtyGroup(for: key.rawValue) else { return }
        let location = RowLocation(group: group.view, row: group.view.pointee.row(of: key.rawValue))
        if hasGuards { try leave(location, key.rawValue) }
        for column in byteColumns { try freeBlob(column, location) }
        guard count > 0 else { throw corrupted("table \(definition.name) has more objects than its record says") }
        try groups.remove(key.rawValue)
        count -= 1
        session.changeCount &+= 1
    }

    private func leave(_ location: RowLocation, _ key: UInt64) throws(EngineError) {
        for unique in uniques where unique.tree != nil { try leave(location, key, from: unique) }
        for column in treeColumns {
            try leave(location, key, column: column, index: true, backlinks: true)
        }
    }

    /// Removes a row from a column's trees.
    func leave(
        _ location: RowLocation, _ key: UInt64, column: Int, index: Bool, backlinks: Bool
    ) throws(EngineError) {
        if index { try indexes[column]?.remove(location, column, key, self) }
        try contentIndexes[column]?.remove(location, column, key, self)
        guard backlinks, let tree = backlinkTrees[column] else { return }
        for target in try links(column, location) { _ = try tree.remove(target: target, origin: key) }
    }

    /// Returns the target words (`Value.targetWord`) of the links in a link or mixed column, or in a collection of
    /// them.
    package func links(_ column: Int, _ location: RowLocation) throws(EngineError) -> [UInt64] {
        let isLink = definition.columns[column].type == .link
        var words: [UInt64] = []
        if definition.columns[column].collection == .none {
            if isLink {
                let target = UInt64(bitPattern: location.group.columns[column].integer(location.row))
                return target == 0 ? [] : [target]
            }
            try value(column, at: location).forEachLink { word in words.append(word) }
            return words
        }
        try forEachLeaf(column, location) { leaf throws(EngineError) in
            for i in 0..<leaf.count where !leaf.isNull(i) {
                if isLink {
                    words.append(leaf.integer(i))
                } else {
                    try leaf.value(i).forEachLink { word in words.append(word) }
                }
            }
            return true
        }
        return words
    }

    /// Deletes every object of the table with everything they own. Applies delete rules: see `Session.delete`.
    package func deleteAll() throws(EngineError) {
        if deleteRules.isEmpty { return try deleteAllPlainly() }
        try session.delete(try allKeys().map { RowKey(table: definition.key, key: ObjectKey($0)) })
    }

    /// Like `deleteAll`, regardless of delete rules.
    package func deleteAllPlainly() throws(EngineError) {
        try flushOpenCollections()
        if count == 0 { return }
        try session.change { () throws(EngineError) in try deleteAllObjects() }
    }

    private func deleteAllObjects() throws(EngineError) {
        for origin in origins where origin.table != definition.key && session.links(of: origin) > 0 {
            try clearLinks(to: try allKeys(), from: origin)
        }
        var owned: [OwnedRow] = []
        if ownsRows {
            for key in try allKeys() { try collectOwned(by: ObjectKey(key), into: &owned) }
            // Owners of rows in their own table are deleted with the table.
            owned.removeAll { $0.table === self }
        }
        try removeAllRows()
        try session.deleteOwned(owned)
    }

    /// Empties the table. No link of another table may point here, unless that table is emptied too.
    func removeAllRows() throws(EngineError) {
        // Open collections must be written back before the rows are freed, so that freed blocks and rows agree.
        try flushOpenCollections()
        if count == 0 { return }
        try session.change { () throws(EngineError) in
            try freeAllBlobs()
            try groups.removeAll()
            for index in indexes { try index?.tree.freeAll() }
            for text in contentIndexes { try text?.tree.freeAll() }
            for tree in backlinkTrees { try tree?.freeAll() }
            for unique in uniques { try unique.tree?.freeAll() }
        }
        count = 0
        session.moved()
    }

    func allKeys() throws(EngineError) -> [UInt64] {
        var keys: [UInt64] = []
        try forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count { keys.append(group.pointee.key(at: row)) }
            return true
        }
        return keys
    }

    private func freeAllBlobs() throws(EngineError) {
        var left = ElementTree.blockLimit(session.space)
        try forEachGroup { group throws(EngineError) in
            for column in byteColumns {
                let view = group.columns[column]
                guard view.blobs != nil || view.form == .slots else { continue }
                for row in 0..<group.pointee.count {
                    try freeBlob(column, RowLocation(group: group, row: row), &left)
                }
            }
            return true
        }
    }

    // MARK: The end of a transaction

    /// Approximate memory used by the changes of the transaction, in bytes.
    var changedByteCount: Int {
        var count = groups.changedByteCount + openCollections.sum(\.changedByteCount)
        // A number takes about three times its size when unpacked.
        if let openMixed { count += 3 * openMixed.totalByteCount }
        for i in definition.columns.indices {
            count += indexes[i]?.tree.changedByteCount ?? 0
            count += contentIndexes[i]?.tree.changedByteCount ?? 0
            count += backlinkTrees[i]?.changedByteCount ?? 0
        }
        for unique in uniques { count += unique.tree?.changedByteCount ?? 0 }
        return count
    }

    /// Seals the changes; the record holds pending refs.
    func seal() throws(EngineError) -> TableRecord {
        try flushOpenCollections()
        var record = TableRecord(
            key: definition.key, nextObjectKey: nextKey, count: UInt64(count), root: try groups.seal(), trees: [])
        record.trees.reserveCapacity(treeColumns.count + uniques.count)
        for i in treeColumns {
            let key = definition.columns[i].key
            if let index = indexes[i] {
                let root = try index.tree.seal(into: session.space.sealer)
                record.trees.append(
                    TreeRecord(column: key, role: .index, count: UInt64(index.tree.count), root: root))
            }
            if let text = contentIndexes[i] {
                let root = try text.tree.seal(into: session.space.sealer)
                record.trees.append(
                    TreeRecord(column: key, role: .content, count: text.tree.count, root: root))
            }
            if let tree = backlinkTrees[i] {
                let root = try tree.settled().seal(into: session.space.sealer)
                record.trees.append(
                    TreeRecord(column: key, role: .backlinks, count: UInt64(tree.count), root: root))
            }
        }
        for unique in uniques {
            guard let tree = unique.tree else { continue }
            let root = try tree.seal(into: session.space.sealer)
            record.trees.append(
                TreeRecord(column: unique.definition.key, role: .unique, count: tree.count, root: root))
        }
        return record
    }

    /// Call after a commit: the record holds the final refs.
    func adopt(_ record: TableRecord) {
        groups.dropPendingGroups()
        groups.reset(root: record.root)
        dropOldGroups()
        for i in treeColumns {
            let key = definition.columns[i].key
            if let tree = indexes[i]?.tree,
                let r = record.trees.first(where: { $0.column == key && $0.role == .index })
            {
                tree.rollback(root: r.root, count: r.count)
            }
            if let text = contentIndexes[i],
                let r = record.trees.first(where: { $0.column == key && $0.role == .content })
            {
                text.tree.rollback(root: r.root, count: r.count)
            }
            if let tree = backlinkTrees[i],
                let r = record.trees.first(where: { $0.column == key && $0.role == .backlinks })
            {
                tree.rollback(root: r.root, count: r.count)
            }
        }
        for unique in uniques {
            unique.show(record.trees.first { $0.column == unique.definition.key && $0.role == .unique })
        }
    }

    /// Call after a rollback: discards everything that belongs to the transaction.
    func abandon() {
        openCollections.removeAll()
        (lastLeaf, openMixed, lastNested) = (nil, nil, nil)
        groups.dropPendingGroups()
    }
}
