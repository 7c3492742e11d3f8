// SPDX-License-Identifier: Apache-2.0
// The difference of a table between two versions: deleted, inserted and modified objects, and the columns that differ.

/// A set of column numbers. Up to column 63 it needs no heap memory.
package struct ColumnSet: Hashable, Sendable {
    private var low: UInt64 = 0
    /// Columns from 64 on; no trailing zero words.
    private var high: [UInt64] = []

    package init() {}

    package init(_ columns: some Sequence<Int>) { for column in columns { insert(column) } }

    package var isEmpty: Bool { low == 0 && high.isEmpty }

    package mutating func insert(_ column: Int) {
        if column < 64 {
            low |= 1 << UInt64(column)
        } else {
            let word = column / 64 - 1
            while high.count <= word { high.append(0) }
            high[word] |= 1 << UInt64(column & 63)
        }
    }

    package func contains(_ column: Int) -> Bool {
        if column < 64 { return low >> UInt64(column) & 1 != 0 }
        let word = column / 64 - 1
        return word < high.count && high[word] >> UInt64(column & 63) & 1 != 0
    }

    package func intersects(_ other: ColumnSet) -> Bool {
        low & other.low != 0 || zip(high, other.high).contains { $0 & $1 != 0 }
    }

    package mutating func formUnion(_ other: ColumnSet) {
        low |= other.low
        for (i, word) in other.high.enumerated() {
            if i < high.count { high[i] |= word } else { high.append(word) }
        }
    }

    /// The column numbers, ascending.
    package var columns: [Int] {
        (0..<64 * (1 + high.count)).filter { contains($0) }
    }
}

/// The difference of one table between an older and a newer version. Keys ascend.
package struct TableChanges: Sendable {
    package var table: TableKey
    package var deleted: [ObjectKey] = []
    package var inserted: [ObjectKey] = []
    /// Objects in both versions whose value differs in at least one column.
    package var modified: [ObjectKey] = []
    /// The columns that differ, per modified object, as column numbers of the newer version.
    package var columns: [ColumnSet] = []

    package init(table: TableKey) { self.table = table }

    package var isEmpty: Bool { objectCount == 0 }

    /// The number of objects that differ.
    package var objectCount: Int { deleted.count + inserted.count + modified.count }

    /// Returns the columns in which an object differs; nil if it is not among the modified ones. O(log n).
    package func columns(of key: ObjectKey) -> ColumnSet? { modified.sortedIndex(of: key).map { columns[$0] } }

    package func isInserted(_ key: ObjectKey) -> Bool { inserted.sortedIndex(of: key) != nil }
    package func isDeleted(_ key: ObjectKey) -> Bool { deleted.sortedIndex(of: key) != nil }

    /// All columns in which some object differs.
    package var allColumns: ColumnSet {
        columns.reduce(into: ColumnSet()) { $0.formUnion($1) }
    }
}

extension Session {
    /// Returns the changes since the version that `older` shows. Tables that exist in only one of the two versions are
    /// left out; so are tables without a difference and those for which `wanted` returns false.
    ///
    /// Both sessions must show committed versions, and the caller must be allowed to use both. The cost is proportional
    /// to the changed blocks, not to the tables: subtrees shared by both versions are not visited.
    package func changes(
        since older: Session, in wanted: (TableKey) -> Bool = { _ in true }
    ) throws(EngineError) -> [TableChanges] {
        guard let all = try changes(since: older, in: wanted, atMost: .max) else {
            preconditionFailure("more changes than can be counted")
        }
        return all
    }

    /// Like `changes(since:in:)`; stops and returns nil if more than `limit` objects of one table differ, or if about
    /// an eighth as many row groups would have to be compared.
    package func changes(
        since older: Session, in wanted: (TableKey) -> Bool, atMost limit: Int
    ) throws(EngineError) -> [TableChanges]? {
        if version == older.version { return [] }
        var all: [TableChanges] = []
        for table in tables where wanted(table.definition.key) {
            guard let before = older.table(table.definition.key) else { continue }
            if before.groups.committedRoot == table.groups.committedRoot { continue }
            var diff = TableDiff(older: before, newer: table, limit: limit)
            guard let changes = try diff.run() else { return nil }
            if !changes.isEmpty { all.append(changes) }
        }
        return all
    }
}
