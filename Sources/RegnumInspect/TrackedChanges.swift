// SPDX-License-Identifier: Apache-2.0
// Changes of single objects, one transaction each, that return what is needed to undo them.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// The effect that the delete of some objects would have. **Unstable**, like `Inspector`.
package struct DeletePreview: Sendable, Equatable {
    /// The objects that would be deleted, by class, the requested ones included.
    package var objects: [String: Int] = [:]
    /// The objects whose links would be cleared, by "class.property".
    package var clearedLinks: [String: Int] = [:]
    /// The reasons why a delete rule forbids it, at most 20.
    package var denials: [String] = []
    package var isUndoable = false
}

extension Inspector {
    /// A change of more objects than these cannot be undone.
    static let undoLimit = 10_000

    /// Changes the given properties of an object. `expected` has the JSON that each property is expected to have, as
    /// `ObjectFormatter` writes it. Returns nil if nothing differs. Throws `RefusedObject` for values that are not valid,
    /// `ChangeConflict` if the object is gone or has other values than expected, and `InspectionError`.
    package func change(
        _ className: String, _ number: UInt64, by json: [UInt8], expecting expected: [(name: String, json: String)]
    ) throws -> UndoStep? {
        let editor = try beginEditing(className)
        let (table, session, key) = (editor.table, editor.session, ObjectKey(number))
        let isThere = try inspecting(database.path) { () throws(EngineError) in
            Self.isNumber(number) ? try table.contains(key) : false
        }
        guard isThere else { throw ChangeConflict(description: "The object was deleted meanwhile.") }
        let writer = ObjectFormatter(session: session)
        for (name, json) in expected {
            guard let column = table.definition.column(named: name) else { continue }
            let now = try inspecting(database.path) { () throws(EngineError) in try writer.json(table, column, key) }
            if now != json {
                throw ChangeConflict(description: "The property '\(name)' was changed by another process meanwhile.")
            }
        }
        let columns = try Self.columns(of: json, table)
        let reader = ImageReader(session: session)
        let row = RowKey(table: table.definition.key, key: key)
        let before = try inspecting(database.path) { () throws(EngineError) in
            try reader.object(table, key, columns: columns)
        }
        guard try editor.replace(key, by: json) else { return nil }
        let after = try inspecting(database.path) { () throws(EngineError) in
            try reader.object(table, key, columns: columns)
        }
        try editor.commit()
        var step = UndoStep(session)
        step.changes = [.init(row: row, before: before, after: after)]
        return step
    }

    private static func columns(of json: [UInt8], _ table: Table) throws -> [Int] {
        guard case .object(let members)? = try? JSONParser.parse(json) else { return [] }
        return members.compactMap { table.definition.column(named: $0.key) }
    }

    private static func isNumber(_ number: UInt64) -> Bool { number > 0 && number < 1 << 62 }

    /// Creates an object; properties without a value are null, zero or empty. Throws `RefusedObject`, also if there is
    /// an object with the primary key, and `InspectionError`.
    package func create(_ className: String, json: [UInt8]) throws -> (key: UInt64, step: UndoStep) {
        let editor = try beginEditing(className)
        let key = try editor.insert(json)
        let table = editor.table
        let after = try inspecting(database.path) { () throws(EngineError) in
            try ImageReader(session: editor.session).object(table, key)
        }
        try editor.commit()
        let row = RowKey(table: table.definition.key, key: key)
        var step = UndoStep(editor.session)
        step.inserted = [.init(row: row, before: after, after: after)]
        return (key.rawValue, step)
    }

    /// The effect of a delete. Changes nothing. Throws `InspectionError`. O(objects and links visited).
    package func previewDelete(_ className: String, _ numbers: [UInt64]) throws -> DeletePreview {
        let session = try makeSession()
        let (table, rows) = try deletable(className, numbers, session)
        return try inspecting(database.path) { () throws(EngineError) in
            let plan = try session.planDelete(rows)
            var preview = DeletePreview(denials: Array(plan.denials.prefix(20)))
            for row in plan.rows {
                let name = session.table(row.table)?.definition.name ?? table.definition.name
                preview.objects[name, default: 0] += 1
            }
            preview.clearedLinks = try session.links(clearedBy: plan)
            let all = plan.rows.count + preview.clearedLinks.values.reduce(0, +)
            preview.isUndoable = all <= Self.undoLimit
            return preview
        }
    }

    /// Deletes objects, and others by the delete rules. The step is nil if it cannot be undone: it has too many objects,
    /// or its values take more than `undoBytes`. Throws `InspectionError`, also if a delete rule denies it; nothing is
    /// deleted then.
    package func delete(_ className: String, _ numbers: [UInt64], undoBytes: Int = .max) throws -> UndoStep? {
        try writing { session in
            let (_, rows) = try deletable(className, numbers, session)
            return try inspecting(database.path) { () throws(EngineError) in
                let plan = try session.planDelete(rows)
                var step = try Self.images(plan, session, undoBytes)
                try session.delete(rows)
                let reader = ImageReader(session: session)
                for index in (step?.changes ?? []).indices {
                    guard let change = step?.changes[index], let table = session.table(change.row.table) else {
                        continue
                    }
                    step?.changes[index].after = try reader.object(
                        table, change.row.key, columns: Array(change.before.values.keys))
                }
                return step
            }
        }
    }

    /// Undoes a step in a transaction of its own. Throws `ChangeConflict` and `InspectionError`.
    package func undo(_ step: UndoStep) throws -> RestoredObjects {
        try writing { session in try step.undo(in: session, database.path) }
    }

    private func writing<R>(_ body: (Session) throws -> R) throws -> R {
        try requireWritable()
        let session = try makeSession()
        try inspecting(database.path) { () throws(EngineError) in try session.beginWrite() }
        do {
            let result = try body(session)
            try inspecting(database.path) { () throws(EngineError) in try session.commitWrite() }
            return result
        } catch {
            if session.isWriting { session.rollbackWrite() }
            throw error
        }
    }

    private func deletable(
        _ className: String, _ numbers: [UInt64], _ session: Session
    ) throws -> (table: Table, rows: [RowKey]) {
        let table = try table(className, session)
        if table.definition.isEmbedded {
            throw InspectionError(
                path: database.path,
                description: "Class '\(className)' is embedded: change the objects that its objects belong to.")
        }
        let rows = try inspecting(database.path) { () throws(EngineError) in
            var rows: [RowKey] = []
            for number in numbers where Self.isNumber(number) {
                if try table.contains(ObjectKey(number)) {
                    rows.append(RowKey(table: table.definition.key, key: ObjectKey(number)))
                }
            }
            return rows
        }
        return (table, rows)
    }

    /// The objects of the plan, and the objects whose links it clears; nil if they are too many, too large, or nested too
    /// deeply.
    private static func images(
        _ plan: DeletePlan, _ session: Session, _ undoBytes: Int
    ) throws(EngineError) -> UndoStep? {
        do throws(EngineError) { return try limitedImages(plan, session, undoBytes) } catch {
            if case .limit = error { return nil }
            throw error
        }
    }

    private static func limitedImages(
        _ plan: DeletePlan, _ session: Session, _ undoBytes: Int
    ) throws(EngineError) -> UndoStep? {
        var bytes = 0
        if plan.rows.count > undoLimit { return nil }
        let planned = Set(plan.rows)
        let reader = ImageReader(session: session)
        var step = UndoStep(session)
        // The columns of each object whose links are cleared.
        var holders: [RowKey: Set<Int>] = [:]
        for row in plan.rows {
            guard let table = session.table(row.table), !table.definition.isEmbedded else { continue }
            let image = try reader.object(table, row.key)
            bytes += image.byteCount
            if bytes > undoBytes { return nil }
            step.deleted.append((row, image))
            for origin in session.tables {
                for (column, definition) in origin.definition.columns.enumerated() {
                    let leadsHere = definition.type == .link && definition.target == row.table
                    guard leadsHere || definition.type == .mixed, origin.hasLinks(in: column) else { continue }
                    for key in try origin.backlinks(of: row.key, in: table, column) {
                        let holder = RowKey(table: origin.definition.key, key: key)
                        if !planned.contains(holder) { holders[holder, default: []].insert(column) }
                    }
                }
            }
            if holders.count + plan.rows.count > undoLimit { return nil }
        }
        for (row, columns) in holders {
            guard let table = session.table(row.table) else { continue }
            let before = try reader.object(table, row.key, columns: columns.sorted())
            // It is kept as it was and as it is.
            bytes += 2 * before.byteCount
            if bytes > undoBytes { return nil }
            step.changes.append(.init(row: row, before: before, after: before))
        }
        return step
    }
}

extension Table {
    /// The objects of this table whose column leads to an object of `table`.
    fileprivate func backlinks(
        of key: ObjectKey, in table: Table, _ column: Int
    ) throws(EngineError) -> [ObjectKey] {
        try table.backlinks(to: key, from: self, column: column)
    }
}
