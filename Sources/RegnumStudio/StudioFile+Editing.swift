// SPDX-License-Identifier: Apache-2.0
// Requests that change the database, one transaction each, and undo.

internal import Foundation
internal import RegnumEngine
internal import RegnumInspect
internal import RegnumSystem

extension StudioFile {
    /// Switches between reading and editing.
    func setEditing(_ call: StudioCall) throws -> JSONValue {
        guard case .bool(let wanted)? = call.member("on") else { throw StudioFailure.argument("on", "true or false") }
        try setEditing(wanted)
        return try state()
    }

    /// The state after a change: the page sees its own change at once.
    private func state() throws -> JSONValue {
        try refresh()
        return [
            "version": .int(session.version), "isEditing": .bool(isEditing),
            "undo": undoTitles, "undoNumber": undoNumber, "hasForgotten": .bool(takeForgotten()),
        ]
    }

    /// The last changes, the newest first.
    var undoTitles: JSONValue { .array(history.suffix(10).reversed().map { .string($0.title) }) }

    /// The number of the last change; null if there is none.
    var undoNumber: JSONValue { history.last.map { .int($0.number) } ?? .null }

    /// Changes properties of an object: `values` has the new ones as JSON texts, `expected` the old ones.
    func change(_ call: StudioCall) throws -> JSONValue {
        try requireEditing()
        let name = try call.text("class")
        let key = try call.key()
        let json = try Self.object(call.member("values"))
        var expected: [(name: String, json: String)] = []
        if case .object(let members)? = call.member("expected") {
            for member in members { if case .string(let text) = member.value { expected.append((member.key, text)) } }
        }
        if let step = try inspector.change(name, key, by: json, expecting: expected) {
            push("Change of \(name) #\(key)", step)
        }
        return try state()
    }

    /// The JSON object of an object whose members are JSON texts.
    private static func object(_ values: JSONValue?) throws -> [UInt8] {
        guard case .object(let members)? = values else { throw StudioFailure.argument("values", "an object") }
        var text = "{"
        for (index, member) in members.enumerated() {
            guard case .string(let json) = member.value else {
                throw StudioFailure.argument("values", "an object with JSON texts")
            }
            // Each text is one value, so that a text cannot add properties.
            do throws(JSONParser.Problem) { _ = try JSONParser.parse(Array(json.utf8)) } catch {
                throw StudioFailure(422, "refused", "Nothing was stored: '\(member.key)': \(error.message).")
            }
            if index > 0 { text += "," }
            JSONValue.quote(member.key, to: &text)
            text += ":" + json
        }
        return Array((text + "}").utf8)
    }

    func create(_ call: StudioCall) throws -> JSONValue {
        try requireEditing()
        let name = try call.text("class")
        let (key, step) = try inspector.create(name, json: try Self.object(call.member("values")))
        push("New \(name) #\(key)", step)
        return ["key": .int(key), "state": try state()]
    }

    func delete(_ call: StudioCall) throws -> JSONValue {
        try requireEditing()
        let name = try call.text("class")
        let keys = try call.keys()
        if let step = try inspector.delete(name, keys, undoBytes: options.undoByteLimit) {
            // Nothing is to be undone if others have deleted the objects already.
            if !step.isEmpty {
                push(keys.count == 1 ? "Delete of \(name) #\(keys[0])" : "Delete of \(keys.count) \(name)", step)
            }
        } else {
            // Older steps may concern the deleted objects.
            forgetHistory()
        }
        return try state()
    }

    /// Undoes the last change, which has the number `number` if the request has one. A change that cannot be undone
    /// stays the last one.
    func undo(_ call: StudioCall) throws -> JSONValue {
        try requireEditing()
        guard let last = history.last else { throw StudioFailure(409, "conflict", "There is nothing to undo.") }
        if case .number(let number)? = call.member("number"), number != "\(last.number)" {
            throw StudioFailure(409, "conflict", "Another change was made since then: it has to be undone first.")
        }
        pop(try inspector.undo(last.step))
        return try state()
    }

    /// Imports CSV or JSON in one transaction, if no object is refused.
    func importObjects(_ call: StudioCall) throws -> JSONValue {
        try requireEditing()
        let name = try call.text("class")
        let editor = try inspector.beginEditing(name)
        editor.record(atMost: options.undoByteLimit)
        let start = ContinuousClock.now
        let report = try StudioImport.run(call, editor) { [limit = options.timeLimit] in
            ContinuousClock.now - start > limit
        }
        let isKept = report.counts.refused == 0
        if isKept {
            let step = try editor.undoStep()
            try editor.commit()
            if let step, !step.isEmpty {
                push("Import into \(name)", step)
            } else if step == nil {
                // Older steps may concern the same objects.
                forgetHistory()
            }
        } else {
            editor.rollback()
        }
        return report.json(isKept: isKept, try state())
    }

    /// The answer to a preview of an import, which has changed nothing.
    func answer(_ report: StudioImport) throws -> JSONValue { report.json(isKept: false, try state()) }
}

extension StudioView {
    /// The effect of a delete.
    func previewDelete(_ call: StudioCall) throws -> JSONValue {
        let preview = try inspector.previewDelete(try call.text("class"), try call.keys())
        return [
            "objects": .counts(preview.objects), "clearedLinks": .counts(preview.clearedLinks),
            "denials": .array(preview.denials.map { .string($0) }), "isUndoable": .bool(preview.isUndoable),
        ]
    }
}
