// SPDX-License-Identifier: Apache-2.0
// Savepoints: states within a write transaction that can be restored.
//
//   begin      all tables are sealed: from now on every change makes new blocks, so that the roots are the state
//   release    the changes stay; the blocks that they replaced are dropped
//   roll back  the tables show the old roots again, and the blocks added since are discarded
//
// Laws
//  1. Rolling back restores exactly the state at the start: rows, links, backlinks, indexes, keys of new objects,
//     definitions of tables, the change of the history, and which rules are broken. It reads nothing and cannot fail.
//  2. Savepoints are nested: the end of one ends every later one.
//  3. Blocks that existed when a savepoint began are neither dropped nor reused before it ends. They may be spilled.
//  4. A rule that the changes in a savepoint break is reported at its end, as at a commit.
//
// Cost: beginning seals the changes made since the last sealing, like a commit that writes nothing; the ends cost
// O(blocks changed since + tables). A transaction without savepoints pays one comparison for each dropped block.

/// The state of a write transaction when a savepoint began. Confined to the session.
package final class Savepoint {
    fileprivate let mark: BlockSpace.Mark
    fileprivate let catalog: Catalog
    fileprivate let schema: SchemaBlock
    fileprivate let isSchemaChanged: Bool
    fileprivate let historyChange: HistoryChange?
    fileprivate let tables: [Table]
    /// The sealed state of `tables`.
    fileprivate let records: [TableRecord]
    fileprivate let refusal: EngineError?
    /// The suspects of unique constraints that had some.
    fileprivate let suspects: [(unique: UniqueTree, keys: [UInt64])]

    fileprivate init(
        of session: Session, _ mark: BlockSpace.Mark, _ records: [TableRecord],
        _ suspects: [(unique: UniqueTree, keys: [UInt64])]
    ) {
        self.mark = mark
        self.records = records
        self.suspects = suspects
        (catalog, schema, tables) = (session.catalog, session.schema, session.tables)
        (isSchemaChanged, refusal) = (session.isSchemaChanged, session.refusal)
        historyChange = session.historyChange
    }
}

extension Session {
    /// True in a write transaction if a savepoint has not ended.
    package var hasSavepoint: Bool { !savepoints.isEmpty }

    /// True if the savepoint has not ended.
    package func holds(_ savepoint: Savepoint) -> Bool { savepoints.contains { $0 === savepoint } }

    /// In a write, while no pointer into a group is held: begins a savepoint. Throws if a change has stopped halfway,
    /// because that state must not be restored, and if the changes cannot be sealed; a rollback is then due.
    package func beginSavepoint() throws(EngineError) -> Savepoint {
        precondition(isWriting && !isCalledOff, "a savepoint needs a write transaction")
        if let failure = space.failure { throw failure }
        try requireRoomToSeal()
        var records: [TableRecord] = []
        records.reserveCapacity(tables.count)
        try change { () throws(EngineError) in for table in tables { records.append(try table.seal()) } }
        moved()
        space.spillIfLarge()
        var suspects: [(unique: UniqueTree, keys: [UInt64])] = []
        for table in tables {
            for unique in table.uniques where !unique.suspects.isEmpty {
                suspects.append((unique, unique.suspects))
                // Those of the savepoint itself are checked at its end.
                unique.suspects = []
            }
        }
        let savepoint = Savepoint(of: self, space.protect(), records, suspects)
        savepoints.append(savepoint)
        return savepoint
    }

    /// Ends a savepoint and keeps its changes. Throws if they broke a rule or stopped halfway, as a commit would: the
    /// state at its start has then been restored. It must not have ended.
    package func release(_ savepoint: Savepoint) throws(EngineError) {
        // Savepoints after it have not ended only if the call that began them was abandoned.
        for later in savepoints.drop(while: { $0 !== savepoint }).dropFirst() { restoreSuspects(of: later) }
        do throws(EngineError) {
            if let failure = space.failure { throw failure }
            if savepoint.refusal == nil, let refusal { throw refusal }
            for table in tables { try table.checkUniqueness() }
        } catch {
            rollBack(to: savepoint)
            throw error
        }
        restoreSuspects(of: savepoint)
        end(savepoint)
        space.release(savepoint.mark)
    }

    /// Ends a savepoint and restores the state at its start. It must not have ended. Returns the tables in which keys
    /// were given to objects that are gone: later objects get these keys again.
    @discardableResult
    package func rollBack(to savepoint: Savepoint) -> Set<TableKey> {
        end(savepoint)
        let hadOtherTables = isSchemaChanged
        var reused: Set<TableKey> = []
        for record in savepoint.records where table(record.key)?.nextKey != record.nextObjectKey {
            reused.insert(record.key)
        }
        (catalog, schema, tables) = (savepoint.catalog, savepoint.schema, savepoint.tables)
        (isSchemaChanged, refusal) = (savepoint.isSchemaChanged, savepoint.refusal)
        historyChange = savepoint.historyChange
        space.failure = nil
        for (table, record) in zip(tables, savepoint.records) {
            table.abandon()
            table.show(record)
        }
        restoreSuspects(of: savepoint)
        space.restore(savepoint.mark)
        if hadOtherTables { resolveOrigins() }
        moved()
        return reused
    }

    /// Ends all savepoints and keeps their changes. Called by a commit, which checks all rules itself.
    func releaseSavepoints() {
        guard let first = savepoints.first else { return }
        for savepoint in savepoints { restoreSuspects(of: savepoint) }
        savepoints = []
        space.release(first.mark)
    }

    private func end(_ savepoint: Savepoint) {
        guard let index = savepoints.firstIndex(where: { $0 === savepoint }) else {
            preconditionFailure("a savepoint that has ended")
        }
        savepoints.removeLast(savepoints.count - index)
    }

    private func restoreSuspects(of savepoint: Savepoint) {
        for (unique, keys) in savepoint.suspects { unique.suspects = keys + unique.suspects }
    }
}
