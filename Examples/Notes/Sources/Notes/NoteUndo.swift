// SPDX-License-Identifier: Apache-2.0
// Takes back the last changes of notes, with their pictures: the Realm's undo stack restores notes, and the files of
// pictures that a change removed are kept in memory.

import Foundation
import RealmSwift

/// The last changes that were made through one manager. Use it on the thread of the manager's Realm.
public final class NoteUndo {
    private struct Step {
        let title: String
        /// The picture that the change has removed.
        var removed: (name: String, data: Data)?
        /// The file of the picture that the change has added.
        var added: String?
    }

    /// The number of changes that can be taken back.
    public static let limit = 20
    /// The bytes of removed pictures that are kept. A note that is restored later than that has no picture.
    static let byteLimit = 64 << 20

    private let manager: NoteManager
    private let stack: UndoStack
    /// By number; the name of a step of the stack is its number.
    private var steps: [Int: Step] = [:]
    private var last = 0

    /// Records from now on. Throws `RuntimeError.NoRealmSet` if the manager has no Realm.
    public init(_ manager: NoteManager) throws {
        self.manager = manager
        stack = try manager.requireRealm().undoStack(limit: Self.limit)
    }

    /// The title of the change that `undo` takes back; nil if there is none.
    public var title: String? { next?.step.title }

    private var next: (number: Int, step: Step)? {
        guard let number = stack.undoName.flatMap({ Int($0) }), let step = steps[number] else { return nil }
        return (number, step)
    }

    /// Runs `change`, which adds, changes or deletes the note with that id, and records it under a title.
    public func record<Result>(_ title: String, of id: String, _ change: () throws -> Result) throws -> Result {
        let before = try manager.imageName(of: id)
        let data = before.flatMap { manager.imageData(fileName: $0) }
        last += 1
        let result = try stack.group("\(last)", change)
        let after = try manager.imageName(of: id)
        var step = Step(title: title)
        if before != after {
            if let before, let data { step.removed = (name: before, data: data) }
            step.added = after
        }
        steps[last] = step
        steps[last - Self.limit] = nil
        forgetOldPictures()
        return result
    }

    /// Undoes the last change and returns its title; nil if there is none. Throws `UndoConflict` if the same data of the
    /// note was changed by others since. Then no change can be undone any more.
    public func undo() throws -> String? {
        guard let (number, step) = next else { return nil }
        // Before the note that has it: no reader sees the note without its picture.
        if let removed = step.removed { try manager.restoreImage(removed.data, fileName: removed.name) }
        do { try stack.undo() } catch {
            if let removed = step.removed { manager.removeImage(named: removed.name) }
            if error is UndoConflict {
                stack.removeAll()
                steps = [:]
            }
            throw error
        }
        if let added = step.added { manager.removeImage(named: added) }
        steps[number] = nil
        return step.title
    }

    private func forgetOldPictures() {
        var bytes = 0
        for number in steps.keys.sorted(by: >) {
            bytes += steps[number]?.removed?.data.count ?? 0
            if bytes > Self.byteLimit { steps[number]?.removed = nil }
        }
    }
}
