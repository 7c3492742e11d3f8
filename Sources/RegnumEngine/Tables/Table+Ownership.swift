// SPDX-License-Identifier: Apache-2.0
// Ownership. A column whose links point to an embedded table owns its targets: each row of such a table has exactly one
// incoming link, and is deleted with it. Removing the link deletes the row and everything that it owns. Iterative,
// because chains may be as long as a table.

/// A row that has lost its owner.
struct OwnedRow {
    var table: Table
    var key: ObjectKey
}

extension Table {
    /// Determines which columns own their targets. Called when the session's tables change.
    func resolveOwnership() {
        owns = definition.columns.map { column in
            column.target.flatMap { session.table($0) }?.definition.isEmbedded ?? false
        }
        ownsRows = owns.contains(true)
    }

    /// True if the targets of the column are embedded and are deleted with its links.
    package func ownsTargets(of column: Int) -> Bool { owns[column] }

    /// Deletes the targets of links that `column` no longer holds.
    func disown(_ column: Int, _ values: some Sequence<Value>) throws(EngineError) {
        guard owns[column], let target = definition.columns[column].target.flatMap({ session.table($0) }) else {
            return
        }
        var rows: [OwnedRow] = []
        for case .link(let key) in values { rows.append(OwnedRow(table: target, key: key)) }
        try session.deleteOwned(rows)
    }

    /// The number of links to a row of an embedded table: one, unless the file is damaged.
    package func ownerCount(of key: ObjectKey) throws(EngineError) -> Int {
        var owners = 0
        for origin in origins {
            guard let other = session.table(origin.table) else { continue }
            owners += try backlinkCount(to: key, from: other, column: origin.column)
        }
        return owners
    }

    /// Returns the rows of an embedded table that no link points to. There are none, except while a file is being
    /// salvaged.
    package func ownerlessRows() throws(EngineError) -> [ObjectKey] {
        var found: [ObjectKey] = []
        try forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let key = ObjectKey(group.pointee.key(at: row))
                if try ownerCount(of: key) == 0 { found.append(key) }
            }
            return true
        }
        return found
    }

    /// In a write: deletes rows that no link points to, with everything they own.
    package func deleteOwnerless(_ keys: [ObjectKey]) throws(EngineError) {
        try session.deleteOwned(keys.map { OwnedRow(table: self, key: $0) })
    }

    /// Adds the rows that the row owns directly.
    func collectOwned(by key: ObjectKey, into rows: inout [OwnedRow]) throws(EngineError) {
        if !ownsRows { return }
        try flushOpenCollections(of: key)
        guard let location = try locate(key) else { return }
        for column in definition.columns.indices where owns[column] {
            guard let target = definition.columns[column].target.flatMap({ session.table($0) }) else { continue }
            for link in try links(column, location) { rows.append(OwnedRow(table: target, key: ObjectKey(link))) }
        }
    }
}

extension Session {
    /// Deletes rows whose owners no longer link to them, with everything they own. No other links point to them.
    func deleteOwned(_ rows: [OwnedRow]) throws(EngineError) {
        var rest = rows
        try change { () throws(EngineError) in
            while let row = rest.popLast() {
                try row.table.collectOwned(by: row.key, into: &rest)
                try row.table.removeRow(row.key)
            }
        }
    }

    /// In a write: deletes every object of every table.
    package func deleteAll() throws(EngineError) {
        precondition(state.pointee.isWriting)
        try change { () throws(EngineError) in for table in tables { try table.removeAllRows() } }
    }
}
