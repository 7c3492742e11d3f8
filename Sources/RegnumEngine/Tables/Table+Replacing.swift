// SPDX-License-Identifier: Apache-2.0
// Changes that restore an earlier state of objects: exactly the given rows and elements, without the effects that the
// same changes have on behalf of a user (delete rules, deletion of rows that lose their owner).

extension Table {
    /// The columns of any table whose links may point to this table.
    package var linkColumns: [(table: TableKey, column: Int)] { origins }

    /// In a write: replaces all elements of a list. Rows of an embedded table that lose their owner stay: the caller
    /// gives them another one, or deletes them. O(old + new elements).
    package func listReplace(with values: [Value], _ column: Int, of key: ObjectKey) throws(EngineError) {
        precondition(definition.columns[column].collection == .list, "not a list")
        try session.relieveIfDue()
        let open = try open(column, key)
        session.changeCount &+= UInt64(max(values.count, 1))
        try session.change { () throws(EngineError) in
            if backlinkTrees[column] == nil {
                try open.removeAll()
            } else {
                try open.remove(0..<open.count) { old throws(EngineError) in try unlink(column, key, old) }
            }
            try open.insert(values, at: 0)
            try link(column, key, values)
        }
        noteIfLong(open.tree.type, values)
    }
}

extension Session {
    /// In a write: deletes objects with everything they own and clears the links to them, regardless of delete rules;
    /// ignores objects that do not exist.
    package func deleteWithoutRules(_ rows: [TableKey: [ObjectKey]]) throws(EngineError) {
        precondition(isWriting)
        try relieveIfDue()
        try deleteTogether(rows)
    }
}
