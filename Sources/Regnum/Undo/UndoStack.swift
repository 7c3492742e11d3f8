// SPDX-License-Identifier: Apache-2.0
// Undo and redo of a Realm's own write transactions. Additions to RealmSwift's API, and therefore members of protocol
// extensions.
//
// Laws
//  1. A step is the difference between the version before a transaction and the version after it, not a list of calls.
//  2. Undo restores the values before: of each property that the transaction has changed, of each object that it has
//     deleted, with the links from others. Objects that it has inserted are deleted. Redo restores the values after.
//  3. Undo and redo are write transactions like others: durable, atomic, and observed.
//  4. Nothing that others have written since is lost: if one of these values is no longer the one that the transaction
//     has written, nothing is changed, and `UndoConflict` is thrown.
//  5. After n undos the objects are as before the first of these transactions, after n redos as after the last one.
//     Objects that were deleted in between are other accessors, with the same values and primary keys.
//
// The version before is kept only while a write transaction runs. A Realm without a stack pays one comparison for each
// transaction.

public import Foundation
internal import RegnumEngine

/// A step cannot be undone or redone, because others have changed the same objects since. Nothing was changed.
public struct UndoConflict: Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
    /// The kinds of conflict.
    public enum Reason: Sendable, Equatable {
        /// The property has another value than the one that the step has written.
        case changed
        /// The object was deleted.
        case deleted
        /// An object that would be restored exists, or another one has its primary key.
        case exists
        /// The property links to an object that would be deleted.
        case linked
        /// The property would link to an object that was deleted.
        case missingTarget
        /// The class has other properties than it had.
        case schemaChanged
    }

    public let reason: Reason
    /// The name of the class in the file.
    public let className: String
    /// The primary key of the object; nil for classes without one.
    public let primaryKey: SnapshotValue?
    /// The property; nil if the conflict concerns the whole object.
    public let property: String?

    init(_ reason: Reason, _ className: String, primaryKey: SnapshotValue? = nil, property: String? = nil) {
        (self.reason, self.className, self.primaryKey, self.property) = (reason, className, primaryKey, property)
    }

    public var description: String {
        let object = describedObject(className, primaryKey)
        let name = "'\(property ?? "")'"
        let words =
            switch reason {
            case .changed: "property \(name) of \(object) was changed since"
            case .deleted: "\(object) was deleted since"
            case .exists: "\(object), or another one with its primary key, exists"
            case .linked: "property \(name) of \(object) links to an object that would be deleted"
            case .missingTarget: "property \(name) of \(object) would link to an object that was deleted since"
            case .schemaChanged: "the properties of class '\(className)' were changed since"
            }
        return "The change cannot be undone or redone: \(words)."
    }

    public var errorDescription: String? { description }
}

extension RealmAdditions where Self == Realm {
    /// The undo stack of this Realm, which records the write transactions that are made through it from now on: with
    /// `write`, `beginWrite`, `writeAsync` and all others. Transactions of other Realms of the file, that is, those of
    /// other threads, queues, actors and processes, are not recorded.
    ///
    /// ```swift
    /// let stack = realm.undoStack()
    /// try realm.write { shape.width = 20 }
    /// try stack.undo()      // the old width
    /// try stack.redo()      // 20
    /// ```
    ///
    /// A Realm has one stack, which this returns as long as it is referenced; the limits of the last call count. Keep
    /// the stack: when it is released, recording ends. It keeps the Realm open.
    ///
    /// It is a programmer error to call this for a frozen or read-only Realm, with limits below 1, or off the Realm's
    /// thread.
    ///
    /// - Parameters:
    ///   - limit: the number of steps that can be undone; older ones are forgotten.
    ///   - byteLimit: the approximate memory for the values of all steps. A transaction that needs more than that cannot
    ///     be undone, and neither can those before it.
    public func undoStack(limit: Int = 100, byteLimit: Int = 32 << 20) -> UndoStack {
        let core = (self as Realm).core
        core.check()
        if core.isFrozen { misuse("A frozen Realm has no undo stack: use the Realm that was frozen.") }
        if core.isReadOnly { misuse("A read-only Realm has no undo stack: it cannot be changed.") }
        if limit < 1 || byteLimit < 1 { misuse("The limits of an undo stack must be at least 1.") }
        let stack = core.settings.undo ?? UndoStack(core)
        core.settings.undo = stack
        stack.setLimits(limit, byteLimit)
        return stack
    }
}

/// The steps of a Realm that can be undone and redone; see `undoStack(limit:byteLimit:)` of a Realm. Confined to the
/// Realm's thread, queue or actor.
public final class UndoStack {
    private let core: RealmCore
    /// The oldest first.
    private var undos: [UndoStep] = []
    /// The next one last.
    private var redos: [UndoStep] = []
    private var keys = UndoKeys()
    /// The number of keys at which those that no step needs are dropped.
    private var keyLimit = UndoStack.leastKeyLimit
    private static let leastKeyLimit = 1024
    private var limit = 0
    private var byteLimit = 0
    /// In a recorded write: the version before it.
    private var before: Session?
    /// In the write of an undo or redo: what takes effect when it is committed.
    private var replayed: (keys: UndoKeys, isRedo: Bool)?
    /// True if the next transaction begins a new step, whatever its name.
    private var isGroupClosed = false

    /// False while write transactions are not recorded, for example during an import. Steps before and after them can be
    /// undone as long as they do not concern the same properties. Takes effect with the next transaction.
    public var isRecording = true

    /// The name of the steps that the next transactions become; nil if they get none. Consecutive transactions with the
    /// same name form one step, unless others have changed the same properties in between.
    public var groupName: String?

    fileprivate init(_ core: RealmCore) { self.core = core }

    fileprivate func setLimits(_ limit: Int, _ byteLimit: Int) {
        (self.limit, self.byteLimit) = (limit, byteLimit)
        trim()
    }

    // MARK: State

    /// True if there is a step to undo.
    public var canUndo: Bool { undoCount > 0 }
    /// True if there is a step to redo.
    public var canRedo: Bool { redoCount > 0 }
    /// The number of steps that can be undone.
    public var undoCount: Int {
        core.check()
        return undos.count
    }
    /// The number of steps that can be redone: those undone since the last recorded transaction.
    public var redoCount: Int {
        core.check()
        return redos.count
    }
    /// The name of the step that `undo` takes back; nil if it has none, or if there is no step.
    public var undoName: String? {
        core.check()
        return undos.last?.name
    }
    /// The name of the step that `redo` repeats; nil if it has none, or if there is no step.
    public var redoName: String? {
        core.check()
        return redos.last?.name
    }
    /// The approximate memory that the values of all steps take.
    public var byteCount: Int {
        core.check()
        return (undos + redos).reduce(0) { $0 + $1.byteCount }
    }

    // MARK: Groups

    /// Runs `body` with `groupName` set to `name`, then restores it: the transactions in `body` form one step, together
    /// with those of the same name before it. Rethrows the error of `body`. On an actor, do not suspend in `body`; set
    /// `groupName` instead.
    public func group<Result>(_ name: String, _ body: () throws -> Result) rethrows -> Result {
        core.check()
        let old = groupName
        groupName = name
        defer { groupName = old }
        return try body()
    }

    /// Ends the step of the last transaction: the next one begins another step, even if it has the same name.
    public func closeGroup() {
        core.check()
        isGroupClosed = true
    }

    /// Forgets all steps.
    public func removeAll() {
        core.check()
        forgetAll()
    }

    private func forgetAll() { (undos, redos, keys) = ([], [], UndoKeys()) }

    // MARK: Undo and redo

    /// Takes back the last step, in a write transaction of its own. Returns false if there is none. Observers may be
    /// called before, as by every write; a step that they add is then the last one.
    ///
    /// Throws `UndoConflict` if others have changed what the step has written, or `Realm.Error` if the transaction
    /// fails, for example because a unique constraint is violated; nothing is changed then, and the step stays on the
    /// stack. It is a programmer error to call this in a write transaction. Cost: that of a write of the same changes.
    @discardableResult
    public func undo() throws -> Bool { try replay(isRedo: false) }

    /// Repeats the step that was undone last, like `undo`.
    @discardableResult
    public func redo() throws -> Bool { try replay(isRedo: true) }

    private func replay(isRedo: Bool) throws -> Bool {
        core.check()
        if core.isWriting {
            misuse(
                "Cannot undo or redo in a write transaction: each is a transaction of its own. End the open one first.")
        }
        func next() -> UndoStep? { isRedo ? redos.last?.inverted : undos.last }
        if next() == nil { return false }
        isGroupClosed = true
        var isDone = false
        try Realm(core: core).write {
            // This transaction is not recorded.
            before = nil
            // Observers that were called when it began may have changed the steps.
            guard let step = next() else { return }
            var replay = UndoReplay(step, keys, in: core)
            do { try replay.run() } catch let error as EngineError { throw core.error("undo a change in", error) }
            replayed = (replay.keys, isRedo)
            isDone = true
        }
        return isDone
    }

    // MARK: Recording

    /// Called when a write has begun.
    func didBegin() {
        (before, replayed) = (nil, nil)
        if !isRecording { return }
        before = try? core.session.freezeForLibrary()
        // The transaction cannot be undone, and so neither can earlier ones.
        if before == nil { forgetAll() }
    }

    /// Called when a write has been rolled back.
    func didRollBack() { (before, replayed) = (nil, nil) }

    /// Called when asynchronous commits have failed, possibly after the Realm has left their versions.
    func didLoseCommits() { forgetAll() }

    /// Called when a write has been committed, while the Realm shows its version.
    func didCommit() {
        if let replayed { return didCommit(replayed) }
        guard let older = before else { return }
        before = nil
        // If the versions cannot be read or compared, or the step is too large, nothing can be undone.
        guard var step = try? UndoStep(from: older, to: core.session, keys, byteLimit: byteLimit) else {
            return forgetAll()
        }
        if step.isEmpty { return }
        redos = []
        step.name = groupName
        push(step)
        trim()
    }

    /// Called before observers, which may use the stack, are notified of the undo or redo.
    private func didCommit(_ done: (keys: UndoKeys, isRedo: Bool)) {
        replayed = nil
        keys = done.keys
        isGroupClosed = true
        if done.isRedo {
            if let step = redos.popLast() { undos.append(step) }
        } else if let step = undos.popLast() {
            redos.append(step)
        }
    }

    private func push(_ step: UndoStep) {
        let isNew = isGroupClosed
        isGroupClosed = false
        if !isNew, let name = step.name, let last = undos.last, last.name == name, var whole = last.joined(with: step) {
            undos.removeLast()
            whole.name = name
            // The step before it was a step of its own, and stays one.
            if whole.isEmpty { isGroupClosed = true } else { undos.append(whole) }
        } else {
            undos.append(step)
        }
    }

    private func trim() {
        if undos.count > limit { undos.removeFirst(undos.count - limit) }
        if redos.count > limit { redos.removeFirst(redos.count - limit) }
        var bytes = (undos + redos).reduce(0) { $0 + $1.byteCount }
        while bytes > byteLimit, let oldest = undos.first {
            bytes -= oldest.byteCount
            undos.removeFirst()
        }
        while bytes > byteLimit, let latest = redos.first {
            bytes -= latest.byteCount
            redos.removeFirst()
        }
        if keys.count < keyLimit { return }
        var rows: Set<RowKey> = []
        for step in undos + redos { step.forEachRow { rows.insert($0) } }
        keys.keep(rows)
        keyLimit = max(Self.leastKeyLimit, 2 * keys.count)
    }
}
