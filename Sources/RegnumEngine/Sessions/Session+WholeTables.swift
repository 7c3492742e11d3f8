// SPDX-License-Identifier: Apache-2.0
// Work of a write transaction that visits whole tables, such as a migration's: it reports progress and stops early when
// cancelled. A cancelled run stops without an error and leaves the work partly done, so only a rollback is possible:
// tables have their new columns, but indexes miss objects, and nulls and long values may be where they are not allowed.

/// Receives the name of a table, the number of its objects processed so far (0 at first) and its total, once per row
/// group; returns false to cancel the write. Called during the write, on its thread; must not use the session.
package typealias TableProgress = (_ table: String, _ completed: Int, _ total: Int) -> Bool

extension Session {
    /// Reports progress; returns false if the work must stop.
    func goesOn(_ table: Table, _ completed: Int, of total: Int) -> Bool {
        guard let watch else { return true }
        if !isCalledOff, !watch(table.definition.name, completed, total) { isCalledOff = true }
        return !isCalledOff
    }

    /// In a write, while no pointer into a group is held: seals the tables. This is most of the work of a commit before
    /// it writes, so doing it early keeps the commit itself short.
    package func prepareCommit() throws(EngineError) {
        precondition(isWriting)
        try change { () throws(EngineError) in for table in tables { _ = try table.seal() } }
        moved()
        space.spillIfLarge()
    }
}

extension Table {
    /// Like `forEachGroup`, for work that may be cancelled.
    func forEachGroupWatched(
        _ body: (UnsafeMutablePointer<GroupView>) throws(EngineError) -> Bool
    ) throws(EngineError) {
        guard session.watch != nil, count > 0 else { return try forEachGroup(body) }
        let total = count
        var completed = 0
        guard session.goesOn(self, completed, of: total) else { return }
        try forEachGroup { group throws(EngineError) in
            let rows = group.pointee.count
            guard try body(group) else { return false }
            completed += rows
            return session.goesOn(self, completed, of: total)
        }
    }
}
