// SPDX-License-Identifier: Apache-2.0
// Savepoints: parts of a write transaction that are undone alone if they fail. An addition to RealmSwift's API, and
// therefore a member of a protocol extension. The engine's part is in `Session+Savepoints.swift`.

internal import RegnumEngine

extension RealmAdditions where Self == Realm {
    /// Runs `block` as a part of the running write transaction, and returns its result. If the block throws, exactly
    /// its changes are undone, and the transaction goes on from the state before it.
    ///
    /// ```swift
    /// try realm.write {
    ///     for record in records {
    ///         do {
    ///             try realm.savepoint { try importRecord(record, into: realm) }
    ///         } catch { failures.append((record, error)) }
    ///     }
    /// }
    /// ```
    ///
    /// - Undone are objects, values, links and their backlinks, collections, indexes, and the numbers of
    ///   auto-incremented properties. Objects that the block added become invalid, and objects that it deleted are
    ///   valid again. Observers are notified of the net change of the whole transaction.
    /// - Savepoints can be nested. The changes that an inner one has kept are undone if an outer one fails.
    /// - When the block returns, the rules of the file are checked as at a commit: if the block has violated a unique
    ///   constraint, or has deleted objects that a delete rule protects, the savepoint throws that error and is undone.
    /// - The block may cancel the transaction with `cancelWrite()`, which undoes everything; nothing more is then done.
    ///   It must not commit it: that is a programmer error.
    ///
    /// Rethrows the block's error. Throws `Realm.Error` if a rule is broken, or if the changes made so far cannot be
    /// kept, for example because the file is damaged. It is a programmer error to call this outside a write
    /// transaction, in a migration, or off the thread of the Realm.
    ///
    /// The start costs about as much as a commit of the changes since the last savepoint, without its disk writes;
    /// the end costs O(changes since + classes). Transactions without savepoints pay nothing.
    @discardableResult
    public func savepoint<Result>(_ block: () throws -> Result) throws -> Result {
        try (self as Realm).core.savepoint(block)
    }

    // Needed for a single-expression closure inside another closure that returns nothing; see `write`.

    /// Like `savepoint` with a block that returns a value.
    public func savepoint(_ block: () throws -> Void) throws { try (self as Realm).core.savepoint(block) }
}

extension RealmCore {
    fileprivate func savepoint<Result>(_ block: () throws -> Result) throws -> Result {
        requireWrite(
            "A savepoint needs a write transaction: put it into `realm.write { }`.",
            frozen: "Can't perform transactions on a frozen Realm")
        if settings.work != nil { misuse("A savepoint cannot be used in a migration, which is undone as a whole.") }
        let savepoint: Savepoint
        do throws(EngineError) { savepoint = try session.beginSavepoint() } catch {
            throw self.error("begin a savepoint in", error)
        }
        // References that the block hands to other threads end with the savepoint if that is undone.
        let outer = settings.writeFate
        settings.writeFate = nil
        let result: Result
        do {
            result = try block()
        } catch {
            undo(savepoint, outer)
            throw error
        }
        guard session.holds(savepoint) else {
            outer?.rollBack()
            return result
        }
        do throws(EngineError) { try session.release(savepoint) } catch {
            didUndoSavepoint(outer)
            throw self.error("write", error)
        }
        if let outer {
            if let inner = settings.writeFate { outer.join(inner) }
            settings.writeFate = outer
        }
        return result
    }

    private func undo(_ savepoint: Savepoint, _ outer: WriteOutcome?) {
        // The block may have cancelled the transaction, and may have begun another one.
        guard session.holds(savepoint) else {
            outer?.rollBack()
            return
        }
        didUndoSavepoint(outer, reused: session.rollBack(to: savepoint))
    }

    /// `reused`: the tables in which an object may have been added; nil for all.
    private func didUndoSavepoint(_ outer: WriteOutcome?, reused: Set<TableKey>? = nil) {
        noteRollback(in: reused)
        settings.writeFate?.rollBack()
        settings.writeFate = outer
    }

    /// Reports a programmer error if the block of a savepoint is running: a commit would take from it the means to
    /// undo its changes.
    func requireNoSavepoint() {
        if session.hasSavepoint {
            misuse(
                "Can't commit a write transaction within a savepoint: return from its block first. To give up its "
                    + "changes, throw; to give up all, call `cancelWrite()`.")
        }
    }
}
