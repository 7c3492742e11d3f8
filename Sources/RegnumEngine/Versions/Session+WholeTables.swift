// SPDX-License-Identifier: Apache-2.0
// Work of a write that goes through whole tables, as a migration's does: it tells how far it is, and ends early where
// it is called off. Then it is done in part, without an error, and nothing but a roll-back is left: tables have their
// new columns, but indexes miss objects, and nulls and long values may be where none are to be.

/// Is told the name of a table, how many of its objects are done, 0 at first, and how many there are, once for each row
/// group; false calls the write off. Within the write, on its thread; it must not use the session.
package typealias WholeTableWatch = (_ table: String, _ completed: Int, _ total: Int) -> Bool

extension Session {
    /// False where the work is to end here.
    func goesOn(_ table: Table, _ completed: Int, of total: Int) -> Bool {
        guard let watch else { return true }
        if !isCalledOff, !watch(table.definition.name, completed, total) { isCalledOff = true }
        return !isCalledOff
    }

    /// In a write, where no pointer into a group is held: seals the tables. It is most of what a commit does before it
    /// writes, so that it need not be done once a commit has begun.
    package func prepareCommit() throws(EngineError) {
        precondition(isWriting)
        try change { () throws(EngineError) in for table in tables { _ = try table.seal() } }
        moved()
        space.spillIfLarge()
    }
}

extension Table {
    /// As `forEachGroup`, for work that may be called off.
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
